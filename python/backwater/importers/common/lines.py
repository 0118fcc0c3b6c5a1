"""Lines of a text file, their words, and where these stand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NoReturn

from backwater.importers.common.limits import LONGEST_PS
from backwater.importers.common.source import Findings, Place, decimal, read_text, shown

WORD = re.compile(r"\S+")


class Line:
    """The words of one line, taken one after the other."""

    def __init__(
        self, name: str, number: int, text: str, findings: Findings, word: re.Pattern[str] = WORD
    ) -> None:
        self.name = name
        self.number = number
        self.text = text
        self.findings = findings
        self.words: list[str] = word.findall(text)
        self.at = 0
        self._word = word

    def __bool__(self) -> bool:
        """Whether words are left."""
        return self.at < len(self.words)

    def place(self, index: int) -> Place:
        """Where a word stands; behind the last one, where the line ends."""
        for count, match in enumerate(self._word.finditer(self.text)):
            if count == index:
                return Place(
                    self.name, self.number, match.start() + 1, self.text, len(match.group())
                )
        return Place(self.name, self.number, len(self.text.rstrip()) + 1, self.text, 1)

    def fail(self, message: str, index: int | None = None, hint: str | None = None) -> NoReturn:
        """Give up because of a word; of the one that was taken last where none is given."""
        self.findings.fail(message, self.place(self.at - 1 if index is None else index), hint)

    def warning(
        self, message: str, index: int | None = None, hint: str | None = None, kind: str = ""
    ) -> None:
        """Note what is doubtful about a word; of one ``kind`` only the first are told in full."""
        if self.findings.wanted("warning", kind or message):
            place = self.place(self.at - 1 if index is None else index)
            self.findings.add("warning", message, place, hint)

    def peek(self) -> str:
        """Look at the next word; empty where the line ends."""
        return self.words[self.at] if self.at < len(self.words) else ""

    def next(self, what: str) -> str:
        """Take the next word, which should be ``what``."""
        if self.at >= len(self.words):
            self.fail(f"the line ends where {what} should come", self.at)
        self.at += 1
        return self.words[self.at - 1]

    def expect(self, *words: str) -> str:
        """Take the next word, which should be one of ``words``."""
        word = self.peek()
        if word not in words:
            wanted = " or ".join(f"`{word}`" for word in words)
            word = self.next(wanted)
            self.fail(f"expected {wanted}, found {shown(word)}")
        self.at += 1
        return word

    def integer(self, what: str, low: int = 0, high: int = 2**32 - 1) -> int:
        """Take a whole number."""
        word = self.next(what)
        digits = word[1:] if word.startswith("-") else word
        if not (digits.isascii() and digits.isdigit()) or len(word) > 25:
            self.fail(f"{what} should be a whole number, found {shown(word)}")
        value = int(word)
        if not low <= value <= high:
            self.fail(f"{what} is {word}; expected {low} to {high}")
        return value

    def cut(self) -> None:
        """Cut the decimals of the next word, as programs do that read a whole number of it."""
        whole, point, rest = self.peek().partition(".")
        if point and whole.isdigit() and (rest.isdigit() or not rest):
            self.words[self.at] = whole

    def picoseconds(self, what: str) -> int:
        """Take a time in picoseconds, decimals allowed as in `1e6` or `0.5`; cut to whole ones."""
        word = self.next(what)
        value = decimal(word)
        if value is None:
            self.fail(f"{what} should be a number of picoseconds, found {shown(word)}")
        if value > LONGEST_PS:
            self.fail(f"{what} is {shown(word)} ps, more than 20 hours")
        return int(value)

    def end(self) -> None:
        """Make sure that nothing follows."""
        if self:
            self.fail(f"expected the end of the line, found {shown(self.peek())}", self.at)


def read_lines(path: Path, findings: Findings, what: str) -> list[str]:
    """Read a text file whole, without the line ends; ``what`` says what it is for."""
    return read_text(path, findings, what).splitlines()
