"""Reads input files, with places of words and a list of findings."""

from __future__ import annotations

import gzip
import re
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from difflib import get_close_matches
from functools import partial
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from backwater._base.positions import Place, framed, place_at, stated
from backwater.errors import ScenarioError

LONGEST_PS = 1 << 56
"""The longest computation or wait that an importer accepts: 20 hours."""

LARGEST_BYTES = 1 << 48
"""The largest message, and the largest vector of a collective."""

MAX_BYTES = 1 << 30
"""Maximum size of an input file, before and after unpacking."""

FULLY_SHOWN = 3
"""Number of findings of one kind that are shown in full."""

_Parsed = TypeVar("_Parsed")

_GZIP = b"\x1f\x8b"

_WORD = re.compile(r"\S+")
_QUANTITY = re.compile(r"((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)(.*)", re.DOTALL)
"""A number, and the unit after it."""

_BITS = {"b": 1, "B": 8}
_PREFIXES = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
RATE_UNITS = {"": 1} | {
    f"{prefix}{bit}{per}": scale * bits
    for prefix, scale in {**_PREFIXES, **_BINARY}.items()
    for bit, bits in _BITS.items()
    for per in ("ps", "/s")
}
"""Units of ns-3's rates, in bits per second. A bare number is in bits per second."""

TIME_UNITS = {
    "": Decimal(10**12),
    "s": Decimal(10**12),
    "ms": Decimal(10**9),
    "us": Decimal(10**6),
    "ns": Decimal(1000),
    "ps": Decimal(1),
    "fs": Decimal("0.001"),
}
"""Units of ns-3's times, in picoseconds. A bare number is in seconds."""

Where = Place | Callable[[], Place] | None
"""The place of a finding, or a function that finds it if the finding is shown."""


@dataclass(slots=True)
class Findings:
    """Errors and warnings about the imported files."""

    problems: list[dict[str, Any]] = field(default_factory=list)
    _counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def error(
        self, message: str, hint: str | None = None, kind: str | None = None, place: Where = None
    ) -> None:
        """Add an error that makes the import impossible. Only the first of one ``kind`` are shown.

        Reading goes on, so that all errors are reported together.
        """
        self._note("error", message, hint, kind, place)

    def warning(
        self, message: str, hint: str | None = None, kind: str | None = None, place: Where = None
    ) -> None:
        """Add a warning. Only the first of one ``kind`` are shown in full."""
        self._note("warning", message, hint, kind, place)

    def _note(
        self, severity: str, message: str, hint: str | None, kind: str | None, place: Where
    ) -> None:
        if self.is_shown(severity, kind or message):
            found = place() if callable(place) else place
            self.problems.append(problem(severity, message, found, hint))

    def is_shown(self, severity: str, kind: str) -> bool:
        """Count a finding of a kind; return true for the first :data:`FULLY_SHOWN` of them."""
        self._counts[severity, kind] += 1
        return self._counts[severity, kind] <= FULLY_SHOWN

    def fail(self, message: str, place: Place | None = None, hint: str | None = None) -> NoReturn:
        """Add an error after which reading cannot continue, and raise all findings."""
        self.problems.append(problem("error", message, place, hint))
        raise self.failure()

    def stop_if_wrong(self) -> None:
        """Raise all findings if there is an error."""
        if self.wrong:
            raise self.failure()

    def failure(self) -> ScenarioError:
        """Return all findings as an exception, errors first."""
        found = sorted(self.all(), key=lambda p: p["severity"] != "error")
        return ScenarioError("\n\n".join(p["text"] for p in found), found)

    @property
    def wrong(self) -> int:
        """Number of errors."""
        return sum(p["severity"] == "error" for p in self.problems)

    def warnings(self) -> list[dict[str, Any]]:
        """Return all warnings."""
        return [p for p in self.all() if p["severity"] == "warning"]

    def all(self) -> list[dict[str, Any]]:
        """Return all findings, with a summary for each kind of which only the first are shown."""
        more = [
            problem(severity, f"{count - FULLY_SHOWN} more like it: {kind}")
            for (severity, kind), count in self._counts.items()
            if count > FULLY_SHOWN
        ]
        return [*self.problems, *more]


def problem(
    severity: str, message: str, place: Place | None = None, hint: str | None = None
) -> dict[str, Any]:
    """Return an error or warning as a dictionary, whose ``text`` is for people."""
    return {
        "severity": severity,
        "code": "import",
        "key": None,
        "message": stated(message, place),
        "hint": hint,
        "source": place.file if place else None,
        "line": place.line or None if place else None,
        "column": place.column or None if place else None,
        "text": framed(severity, message, place, hint),
    }


class Words:
    """The words of a file or of one line, which are taken one after the other.

    White space separates words, as in a C++ stream, unless ``word`` is another pattern. ``line`` is
    the number of the line if the text is only one line of the file.
    """

    def __init__(
        self,
        name: str,
        text: str,
        findings: Findings,
        line: int | None = None,
        word: re.Pattern[str] = _WORD,
    ) -> None:
        self.name = name
        self.text = text
        self.findings = findings
        self.line = line or 1
        """Number of the first line of the text in the file."""
        self.words: list[str] = word.findall(text)
        self.at = 0
        self._word = word
        self._whole = "file" if line is None else "line"

    @classmethod
    def read(cls, path: Path, findings: Findings, what: str, limit: int = MAX_BYTES) -> Words:
        """Read a file; ``what`` describes it in errors."""
        return cls(str(path), read_text(path, findings, what, limit), findings)

    def __len__(self) -> int:
        """Return the number of words that are left."""
        return len(self.words) - self.at

    def line_starts(self) -> set[int]:
        """Return the indices of words that are the first of their line."""
        starts, count = set(), 0
        for line in self.text.splitlines():
            starts.add(count)
            count += len(line.split())
        return starts

    def place(self, index: int) -> Place:
        """Return the place of a word, or of the text's end for an index after the last word."""
        match = next(islice(self._word.finditer(self.text), index, None), None)
        start = match.start() if match else len(self.text.rstrip())
        width = len(match.group()) if match else 1
        return place_at(self.name, self.text, start, width, self.line)

    def fail(self, message: str, index: int | None = None, hint: str | None = None) -> NoReturn:
        """Raise an error at a word; by default at the word that was taken last."""
        self.findings.fail(message, self._where(index)(), hint)

    def error(
        self, message: str, index: int | None = None, hint: str | None = None, kind: str = ""
    ) -> None:
        """Add an error about a word, and continue."""
        self.findings.error(message, hint, kind, self._where(index))

    def warning(
        self, message: str, index: int | None = None, hint: str | None = None, kind: str = ""
    ) -> None:
        """Add a warning about a word. Only the first warnings of one ``kind`` are shown in full."""
        self.findings.warning(message, hint, kind, self._where(index))

    def _where(self, index: int | None) -> Callable[[], Place]:
        return partial(self.place, self.at - 1 if index is None else index)

    def peek(self) -> str:
        """Return the next word without taking it; empty after the last word."""
        return self.words[self.at] if self else ""

    def next(self, what: str) -> str:
        """Take the next word; ``what`` describes it in errors."""
        if not self:
            self.fail(f"the {self._whole} ends where {what} should come", self.at)
        self.at += 1
        return self.words[self.at - 1]

    def expect(self, *words: str) -> str:
        """Take the next word, which must be one of ``words``."""
        wanted = " or ".join(f"`{word}`" for word in words)
        word = self.next(wanted)
        if word not in words:
            self.fail(f"expected {wanted}, found {shown(word)}")
        return word

    def integer(self, what: str, low: int = 0, high: int = 2**32 - 1) -> int:
        """Take the next word, which must be a whole number from ``low`` to ``high``."""
        word = self.next(what)
        return bounded(whole(word), word, what, (low, high), self.fail)

    def cut(self) -> None:
        """Remove the decimals of the next word. Some programs read only the whole part."""
        before, point, rest = self.peek().partition(".")
        if point and before.isdigit() and (rest.isdigit() or not rest):
            self.words[self.at] = before

    def number(self, what: str, low: str = "0", high: str = "1e30") -> Decimal:
        """Take the next word, a decimal number from ``low`` to ``high``, without rounding."""
        value = self._parsed(decimal, what, "a number")
        if not Decimal(low) <= value <= Decimal(high):
            self.fail(f"{what} is {self.words[self.at - 1]}; expected {low} to {high}")
        return value

    def rate(self, what: str) -> int:
        """Take a rate in the notation of ns-3, such as ``50Mb/s``, and return bits per second."""
        return self._parsed(rate_bps, what, "a rate such as 100Gbps or 50Mb/s")

    def time(self, what: str) -> Decimal:
        """Take a time in the notation of ns-3, such as ``1000ns``, and return picoseconds."""
        return self._parsed(time_ps, what, "a time such as 1us or 1000ns")

    def picoseconds(self, what: str) -> int:
        """Take a time in picoseconds.

        Decimals such as `1e6` or `0.5` are allowed and rounded down.
        """
        value = self._parsed(decimal, what, "a number of picoseconds")
        if value > LONGEST_PS:
            self.fail(f"{what} is {shown(self.words[self.at - 1])} ps, more than 20 hours")
        return int(value)

    def _parsed(self, parse: Callable[[str], _Parsed | None], what: str, form: str) -> _Parsed:
        """Take a word that ``parse`` accepts; ``form`` describes such words in errors."""
        word = self.next(what)
        value = parse(word)
        if value is None:
            self.fail(f"{what} should be {form}, found {shown(word)}")
        return value

    def end(self) -> None:
        """Raise an error if words are left."""
        if self:
            self.fail(f"expected the end of the line, found {shown(self.peek())}", self.at)


def lines_of(name: str, texts: Iterable[str], findings: Findings) -> Iterator[Words]:
    """Yield the words of each line of a file."""
    for number, text in enumerate(texts, 1):
        yield Words(name, text, findings, number)


def read_text(path: Path, findings: Findings, what: str, limit: int = MAX_BYTES) -> str:
    """Read a whole text file, or raise an error with the reason."""
    return decoded(path, read_bytes(path, findings, what, limit), findings, what)


def decoded(path: Path, data: bytes, findings: Findings, what: str) -> str:
    """Return the bytes of a file as text, or raise an error with the place of the wrong byte."""
    try:
        # Some editors write a byte order mark before the text.
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        findings.fail(f"the {what} {path} is not text: byte {error.start} is wrong")


def read_bytes(path: Path, findings: Findings, what: str, limit: int = MAX_BYTES) -> bytes:
    """Read a whole file and unpack it if gzip compressed it, or raise an error with the reason."""
    try:
        size = path.stat().st_size
        data = path.read_bytes() if size <= limit else b""
    except OSError as error:
        findings.fail(f"cannot read the {what} {path}: {error.strerror}")
    except ValueError as error:  # The name has a byte 0.
        findings.fail(f"cannot read the {what} {path!s}: {error}")
    if size > limit:
        findings.fail(f"{path} is larger than {limit >> 20} MiB, which is no {what}")
    return unpacked(str(path), data, findings, limit)


def unpacked(name: str, data: bytes, findings: Findings, limit: int = MAX_BYTES) -> bytes:
    """Unpack the bytes of a file if they begin like those of gzip. ``name`` is for errors."""
    if not data.startswith(_GZIP):
        return data
    try:
        found = gzip.GzipFile(fileobj=BytesIO(data)).read(limit + 1)
    except EOFError:
        findings.fail(f"{name}: the compressed file is cut off")
    except (OSError, zlib.error) as error:
        findings.fail(f"{name}: it begins like a file of gzip, but cannot be unpacked: {error}")
    if len(found) > limit:
        findings.fail(f"{name}: it unpacks to more than {limit >> 20} MiB")
    return found


def whole(word: str) -> int | None:
    """Parse a whole number; return ``None`` if the word is not one."""
    digits = word.removeprefix("-")
    return int(word) if digits.isascii() and digits.isdigit() and len(word) <= 25 else None


def bounded(
    value: int | None,
    word: str,
    what: str,
    bounds: tuple[int, int],
    fail: Callable[[str], NoReturn],
) -> int:
    """Return a whole number of a file, or call ``fail`` if it is none or outside its bounds.

    ``word`` is its text in the file, and ``what`` describes it in the error.
    """
    low, high = bounds
    if value is None:
        fail(f"{what} should be a whole number, found {shown(word)}")
    if not low <= value <= high:
        fail(f"{what} is {word}; expected {low} to {high}")
    return value


def decimal(word: str) -> Decimal | None:
    """Parse a decimal number without sign; return ``None`` if the word is not one."""
    split = _split(word)
    return split[0] if split and not split[1] else None


def rate_bps(word: str) -> int | None:
    """Parse a rate in the notation of ns-3; return bit/s, or ``None`` if it is not a rate."""
    value = _quantity(word, RATE_UNITS)
    return None if value is None else int(value)


def time_ps(word: str) -> Decimal | None:
    """Parse a time in the notation of ns-3; return ps, or ``None`` if it is not a time."""
    return _quantity(word, TIME_UNITS)


def _quantity(word: str, units: Mapping[str, Decimal | int]) -> Decimal | None:
    number, unit = _split(word) or (Decimal(0), "?")
    return number * units[unit] if unit in units and number <= 10**18 else None


def _split(word: str) -> tuple[Decimal, str] | None:
    """Divide a word into a number and its unit; return ``None`` if it begins with no number."""
    match = _QUANTITY.fullmatch(word) if word.isascii() and len(word) <= 60 else None
    return (Decimal(match[1]), match[2]) if match else None


def shown(word: str) -> str:
    """Return a word of a file as printable text, shortened if it is long."""
    cut = word if len(word) <= 40 else f"{word[:37]}..."
    return f"`{cut if cut.isprintable() else ascii(cut)}`"


def known_are(word: str, known: Collection[str]) -> str:
    """Return a hint with the most similar known word, or with all known words."""
    return meant(word, known) or f"known are {', '.join(known)}"


def meant(word: str, known: Iterable[str]) -> str | None:
    """Return a hint with the most similar known word, or ``None``."""
    found = get_close_matches(word, list(known), n=1, cutoff=0.75)
    return f"did you mean {found[0]}?" if found else None
