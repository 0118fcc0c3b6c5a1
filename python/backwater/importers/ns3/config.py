"""`config.txt` of HPCC's simulator and its descendants: keys, values, and ns-3's own defaults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum, auto
from functools import partial
from pathlib import Path
from typing import Any

from backwater.errors import ScenarioError
from backwater.importers.common.source import (
    FULLY_SHOWN,
    Findings,
    Where,
    Words,
    meant,
    rate_bps,
    shown,
)
from backwater.importers.ns3.dialects import FOREIGN

REQUIRED = object()
"""Default of a key for which ns-3 has no usable default."""


class Kind(Enum):
    """Formats of values."""

    FLAG = auto()
    WHOLE = auto()
    NUMBER = auto()
    RATE = auto()
    WORD = auto()
    KILOBYTES_OF_RATE = auto()
    SHARE_OF_RATE = auto()
    LINK = auto()


@dataclass(frozen=True, slots=True)
class Key:
    """A key of the simulator's configuration."""

    kind: Kind
    default: Any = REQUIRED
    """Value of ns-3 if the key is missing."""

    high: int = 2**32 - 1
    example: str = ""
    """A value, for keys without a default."""


KEYS: dict[str, Key] = {
    "ENABLE_QCN": Key(Kind.FLAG, True),
    "USE_DYNAMIC_PFC_THRESHOLD": Key(Kind.FLAG, True),
    "PAUSE_TIME": Key(Kind.NUMBER, Decimal(5)),
    "DATA_RATE": Key(Kind.WORD, ""),
    "LINK_DELAY": Key(Kind.WORD, ""),
    "PACKET_PAYLOAD_SIZE": Key(Kind.WHOLE, 1000),
    "TOPOLOGY_FILE": Key(Kind.WORD, example="topology.txt"),
    "FLOW_FILE": Key(Kind.WORD, example="flow.txt"),
    "TRACE_FILE": Key(Kind.WORD, ""),
    "TRACE_OUTPUT_FILE": Key(Kind.WORD, ""),
    "FCT_OUTPUT_FILE": Key(Kind.WORD, "fct.txt"),
    "PFC_OUTPUT_FILE": Key(Kind.WORD, "pfc.txt"),
    "SIMULATOR_STOP_TIME": Key(Kind.NUMBER, Decimal("3.01")),
    "CC_MODE": Key(Kind.WHOLE, 1),
    "ALPHA_RESUME_INTERVAL": Key(Kind.NUMBER, Decimal(55)),
    "RATE_DECREASE_INTERVAL": Key(Kind.NUMBER, Decimal(4)),
    "CLAMP_TARGET_RATE": Key(Kind.FLAG, False),
    "RP_TIMER": Key(Kind.NUMBER, example="300"),
    # The default of ns-3 is 1/16 in integer arithmetic, which is 0. This is not useful.
    "EWMA_GAIN": Key(Kind.NUMBER, example="0.00390625"),
    "FAST_RECOVERY_TIMES": Key(Kind.WHOLE, 5),
    "RATE_AI": Key(Kind.RATE, example="50Mb/s"),
    "RATE_HAI": Key(Kind.RATE, example="100Mb/s"),
    "MIN_RATE": Key(Kind.RATE, 100_000_000),
    "DCTCP_RATE_AI": Key(Kind.RATE, 1_000_000_000),
    "ERROR_RATE_PER_LINK": Key(Kind.NUMBER, Decimal(0)),
    "L2_CHUNK_SIZE": Key(Kind.WHOLE, 0),
    "L2_ACK_INTERVAL": Key(Kind.WHOLE, 0),
    "L2_BACK_TO_ZERO": Key(Kind.FLAG, False),
    "HAS_WIN": Key(Kind.FLAG, True),
    "GLOBAL_T": Key(Kind.WHOLE, 1),
    "VAR_WIN": Key(Kind.FLAG, False),
    "FAST_REACT": Key(Kind.FLAG, True),
    "U_TARGET": Key(Kind.NUMBER, Decimal("0.95")),
    "MI_THRESH": Key(Kind.WHOLE, 5),
    "INT_MULTI": Key(Kind.WHOLE, 1),
    "MULTI_RATE": Key(Kind.FLAG, True),
    "SAMPLE_FEEDBACK": Key(Kind.FLAG, False),
    "PINT_LOG_BASE": Key(Kind.NUMBER, Decimal("1.05")),
    "PINT_PROB": Key(Kind.NUMBER, Decimal(1)),
    "RATE_BOUND": Key(Kind.FLAG, True),
    "ACK_HIGH_PRIO": Key(Kind.FLAG, False),
    "LINK_DOWN": Key(Kind.LINK, (0, 0, 0)),
    "ENABLE_TRACE": Key(Kind.FLAG, True),
    "KMAX_MAP": Key(Kind.KILOBYTES_OF_RATE, {}),
    "KMIN_MAP": Key(Kind.KILOBYTES_OF_RATE, {}),
    "PMAX_MAP": Key(Kind.SHARE_OF_RATE, {}),
    # The value is in MiB. ns-3 multiplies it in 32 bits.
    "BUFFER_SIZE": Key(Kind.WHOLE, 16, 4095),
    "QLEN_MON_FILE": Key(Kind.WORD, ""),
    "QLEN_MON_START": Key(Kind.WHOLE, 2_000_000_000, 2**63),
    "QLEN_MON_END": Key(Kind.WHOLE, 2_100_000_000, 2**63),
}

_STAND_INS = {Kind.NUMBER: Decimal(1), Kind.RATE: 1, Kind.WORD: ""}
"""Values for missing required keys, so that the rest of the file can be checked."""

ALL_KEYS = frozenset({*KEYS, *FOREIGN})


@dataclass(slots=True)
class Config:
    """The keys and values of a configuration, with their places."""

    path: Path
    words: Words
    values: dict[str, Any]
    places: dict[str, int] = field(default_factory=dict)
    """Index of the word of each key in the file. Defaults have none."""

    foreign: dict[str, str] = field(default_factory=dict)
    """Keys of forks with their values."""

    unread: set[str] = field(default_factory=set)
    """Keys with an invalid value, for which an error was added. Their value is a default."""

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    def has(self, key: str) -> bool:
        """Return true if the file has the key."""
        return key in self.places

    def foreign_number(self, key: str, default: int = 0) -> int:
        """Return the whole number of a fork's key."""
        value = self.foreign.get(key)
        if value is None:
            return default
        if not (value.isascii() and value.isdigit() and len(value) < 8):
            message = f"{key} should be a whole number, found {shown(value)}"
            self.words.error(message, self.places[key] + 1)
            return default
        return int(value)

    def foreign_flag(self, key: str, default: bool) -> bool:
        """Return the flag (0 or 1) of a fork's key."""
        return self.foreign_number(key, int(default)) != 0

    def error(self, key: str, message: str, hint: str | None = None) -> None:
        """Add an error about the value of a key, from the file or a default of ns-3."""
        if key not in self.unread:
            self.words.findings.error(self._about(key, message), hint, None, self._place(key))

    def warning(self, key: str, message: str, hint: str | None = None) -> None:
        """Add a warning about the value of a key."""
        self.words.findings.warning(self._about(key, message), hint, None, self._place(key))

    def _place(self, key: str) -> Where:
        return partial(self.words.place, self.places[key]) if key in self.places else None

    def _about(self, key: str, message: str) -> str:
        """Return a message about a value, which says so if the value is a default."""
        if key in self.places:
            return message
        default = self.values[key]
        taken = f", and ns-3 takes {value_text(default)}" if default not in ("", {}) else ""
        return f"{self.words.name}: {key} is missing{taken}: {message}"

    def need(self, *keys: str) -> None:
        """Report each of these keys that is missing, because they have no usable default.

        A missing key gets a placeholder, so that the other keys can be checked.
        """
        for key in keys:
            if self.values[key] is not REQUIRED:
                continue
            why = "ns-3 has no default for it"
            if key == "EWMA_GAIN":
                why = "ns-3's own default comes out as 0, so that marks would teach nothing"
            example = f"say it, as in `{key} {KEYS[key].example}`"
            self.words.findings.error(f"{self.words.name}: {key} is missing: {why}", example)
            self.values[key] = _STAND_INS[KEYS[key].kind]


def read(path: Path, findings: Findings) -> Config:
    """Read a configuration file."""
    return parse(path, Words.read(path, findings, "configuration", 1 << 22))


def parse(path: Path, words: Words) -> Config:
    """Parse the words of a configuration. Relative file names start at the folder of ``path``."""
    config = Config(path, words, {k: key.default for k, key in KEYS.items()})
    lines = words.line_starts()
    unknown: dict[str, tuple[int, list[str]]] = {}
    while words:
        at = words.at
        word = words.next("a key")
        if word in KEYS:
            if word in config.places:
                words.warning(f"{word} is said twice; as in ns-3 the later one holds", at)
            config.places[word] = at
            try:
                config.values[word] = _value(words, word, config.values[word])
            except ScenarioError:  # The error is reported at the end, together with all others.
                config.unread.add(word)
                if config.values[word] is REQUIRED:
                    config.values[word] = _STAND_INS[KEYS[word].kind]
                _pass_over(words, lines)
        elif word in FOREIGN:
            config.foreign[word] = words.next(f"the value of {word}")
            config.places[word] = at
        else:
            _pass_over(words, lines)
            unknown.setdefault(word, (at, words.words[at : words.at]))
    _warn_of_unknown(words, unknown)
    return config


def _warn_of_unknown(words: Words, unknown: dict[str, tuple[int, list[str]]]) -> None:
    """Warn of every unknown key, because it may change the model in an unknown fork."""
    for at, skipped in list(unknown.values())[:FULLY_SHOWN]:
        words.warning(
            f"{shown(' '.join(skipped[:4]))}: no such key; ns-3 skips it silently, and so does "
            "this import",
            at,
            meant(skipped[0], sorted(ALL_KEYS)),
        )
    if more := list(unknown)[FULLY_SHOWN:]:
        words.warning(
            "no known simulator has these keys either, and they are skipped: "
            + ", ".join(shown(word).strip("`") for word in more),
            unknown[more[0]][0],
            "if a key changes the simulation, set its counterpart in the scenario",
        )


def _pass_over(words: Words, lines: set[int]) -> None:
    while words and words.at not in lines and words.words[words.at] not in ALL_KEYS:
        words.at += 1


def value_text(value: Any) -> str:
    """Return a value in the notation of the file."""
    return str(int(value)) if isinstance(value, bool) else str(value)


def _value(words: Words, key: str, old: Any) -> Any:
    about = KEYS[key]
    takers: dict[Kind, Callable[[], Any]] = {
        Kind.FLAG: lambda: words.integer(key) != 0,
        Kind.WHOLE: lambda: words.integer(key, 0, about.high),
        Kind.NUMBER: lambda: words.number(key),
        Kind.RATE: lambda: words.rate(key),
        Kind.WORD: lambda: words.next(f"the value of {key}"),
        Kind.KILOBYTES_OF_RATE: lambda: _map(words, key, old, lambda: words.integer(key)),
        Kind.SHARE_OF_RATE: lambda: _map(words, key, old, lambda: words.number(key, "0", "1")),
        Kind.LINK: lambda: tuple(words.integer(key, 0, 2**63) for _ in range(3)),
    }
    return takers[about.kind]()


def _map(words: Words, key: str, old: dict[int, Any], take: Callable[[], Any]) -> dict[int, Any]:
    """Read `count (rate value){count}`. Further maps of a key extend the first one, as in ns-3."""
    count = words.integer(f"the number of rates of {key}", 0, 10_000)
    result = dict(old)
    for _ in range(count):
        word = words.next(f"a rate of {key}")
        rate = rate_bps(word) if word.isascii() and word.isdigit() else None
        if rate is None:
            words.fail(
                f"a rate of {key} should be a whole number of bit/s, found {shown(word)}",
                hint=f"{key} is the number of rates, then a rate and its value for each",
            )
        result[rate] = take()
    return result
