"""`config.txt` of HPCC's simulator and its descendants: keys, values, and ns-3's own defaults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
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


Reader = Callable[[Words, str], Any]
"""Takes the value of a key from the words after it."""


def _flag(words: Words, key: str) -> bool:
    """Take a 0 or 1. As in C++, every other number is true."""
    return words.integer(key) != 0


def _word(words: Words, key: str) -> str:
    return words.next(f"the value of {key}")


def _share(words: Words, key: str) -> Decimal:
    return words.number(key, "0", "1")


def _link(words: Words, key: str) -> tuple[int, ...]:
    return tuple(words.integer(key, 0, 2**63) for _ in range(3))


def _up_to(high: int) -> Reader:
    return lambda words, key: words.integer(key, 0, high)


def _by_rate(take: Reader) -> Reader:
    """Return a reader of a map from rates to values, written as `count (rate value){count}`."""

    def read(words: Words, key: str) -> dict[int, Any]:
        result = {}
        for _ in range(words.integer(f"the number of rates of {key}", 0, 10_000)):
            word = words.next(f"a rate of {key}")
            rate = rate_bps(word) if word.isascii() and word.isdigit() else None
            if rate is None:
                words.fail(
                    f"a rate of {key} should be a whole number of bit/s, found {shown(word)}",
                    hint=f"{key} is the number of rates, then a rate and its value for each",
                )
            result[rate] = take(words, key)
        return result

    return read


@dataclass(frozen=True, slots=True)
class Key:
    """A key of the simulator's configuration."""

    take: Reader
    default: Any = REQUIRED
    """Value of ns-3 if the key is missing."""

    example: str = ""
    """A value, for keys without a default."""


KEYS: dict[str, Key] = {
    "ENABLE_QCN": Key(_flag, True),
    "USE_DYNAMIC_PFC_THRESHOLD": Key(_flag, True),
    "PAUSE_TIME": Key(Words.number, Decimal(5)),
    "DATA_RATE": Key(_word, ""),
    "LINK_DELAY": Key(_word, ""),
    "PACKET_PAYLOAD_SIZE": Key(Words.integer, 1000),
    "TOPOLOGY_FILE": Key(_word, example="topology.txt"),
    "FLOW_FILE": Key(_word, example="flow.txt"),
    "TRACE_FILE": Key(_word, ""),
    "TRACE_OUTPUT_FILE": Key(_word, ""),
    "FCT_OUTPUT_FILE": Key(_word, "fct.txt"),
    "PFC_OUTPUT_FILE": Key(_word, "pfc.txt"),
    "SIMULATOR_STOP_TIME": Key(Words.number, Decimal("3.01")),
    "CC_MODE": Key(Words.integer, 1),
    "ALPHA_RESUME_INTERVAL": Key(Words.number, Decimal(55)),
    "RATE_DECREASE_INTERVAL": Key(Words.number, Decimal(4)),
    "CLAMP_TARGET_RATE": Key(_flag, False),
    "RP_TIMER": Key(Words.number, example="300"),
    # The default of ns-3 is 1/16 in integer arithmetic, which is 0. This is not useful.
    "EWMA_GAIN": Key(Words.number, example="0.00390625"),
    "FAST_RECOVERY_TIMES": Key(Words.integer, 5),
    "RATE_AI": Key(Words.rate, example="50Mb/s"),
    "RATE_HAI": Key(Words.rate, example="100Mb/s"),
    "MIN_RATE": Key(Words.rate, 100_000_000),
    "DCTCP_RATE_AI": Key(Words.rate, 1_000_000_000),
    "ERROR_RATE_PER_LINK": Key(Words.number, Decimal(0)),
    "L2_CHUNK_SIZE": Key(Words.integer, 0),
    "L2_ACK_INTERVAL": Key(Words.integer, 0),
    "L2_BACK_TO_ZERO": Key(_flag, False),
    "HAS_WIN": Key(_flag, True),
    "GLOBAL_T": Key(Words.integer, 1),
    "VAR_WIN": Key(_flag, False),
    "FAST_REACT": Key(_flag, True),
    "U_TARGET": Key(Words.number, Decimal("0.95")),
    "MI_THRESH": Key(Words.integer, 5),
    "INT_MULTI": Key(Words.integer, 1),
    "MULTI_RATE": Key(_flag, True),
    "SAMPLE_FEEDBACK": Key(_flag, False),
    "PINT_LOG_BASE": Key(Words.number, Decimal("1.05")),
    "PINT_PROB": Key(Words.number, Decimal(1)),
    "RATE_BOUND": Key(_flag, True),
    "ACK_HIGH_PRIO": Key(_flag, False),
    "LINK_DOWN": Key(_link, (0, 0, 0)),
    "ENABLE_TRACE": Key(_flag, True),
    # Thresholds in KB, and probabilities, for each rate.
    "KMAX_MAP": Key(_by_rate(Words.integer), {}),
    "KMIN_MAP": Key(_by_rate(Words.integer), {}),
    "PMAX_MAP": Key(_by_rate(_share), {}),
    # The value is in MiB. ns-3 multiplies it in 32 bits.
    "BUFFER_SIZE": Key(_up_to(4095), 16),
    "QLEN_MON_FILE": Key(_word, ""),
    "QLEN_MON_START": Key(_up_to(2**63), 2_000_000_000),
    "QLEN_MON_END": Key(_up_to(2**63), 2_100_000_000),
}

_STAND_INS: dict[Reader, Any] = {Words.number: Decimal(1), Words.rate: 1, _word: ""}
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
        """Return the value of a key that only a fork of ns-3 has, as a whole number.

        If the value is not such a number, an error is reported and ``default`` is returned.
        """
        value = self.foreign.get(key)
        if value is None:
            return default
        if not (value.isascii() and value.isdigit() and len(value) < 8):
            message = f"{key} should be a whole number, found {shown(value)}"
            self.words.error(message, self.places[key] + 1)
            return default
        return int(value)

    def foreign_flag(self, key: str, default: bool) -> bool:
        """Return the value of a key that only a fork of ns-3 has, as a flag (0 is false)."""
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
        """Return a message about a value; it begins with the default if the key is missing."""
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
            self.values[key] = _STAND_INS[KEYS[key].take]


def read(path: Path, findings: Findings) -> Config:
    """Read a configuration file, `config.txt`."""
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
                value = KEYS[word].take(words, word)
                if isinstance(value, dict):  # As in ns-3, a further map extends the first one.
                    value = config.values[word] | value
                config.values[word] = value
            except ScenarioError:  # The error is reported at the end, together with all others.
                config.unread.add(word)
                if config.values[word] is REQUIRED:
                    config.values[word] = _STAND_INS[KEYS[word].take]
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
