"""Other input files of ASTRA-sim: the system layer (JSON) and the network (YAML or JSON)."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from math import prod
from typing import Any, NoReturn

from backwater._base.positions import Place, in_file, place_at
from backwater._base.toml import time
from backwater.importers.astra.traces import load_json, place_of_key
from backwater.importers.common.extras import need
from backwater.importers.common.source import (
    Findings,
    bounded,
    decimal,
    known_are,
    meant,
    shown,
    whole,
)

COLLECTIVES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")
MAX_RANKS = 1 << 20

_ALGORITHMS = ("ring", "oneRing", "doubleBinaryTree", "halvingDoubling", "oneHalvingDoubling")
_WITH_WINDOW = ("direct", "oneDirect")
_BLOCKS = ("Ring", "Switch", "FullyConnected")
_GIB = 2**30
_ACCESSES = 3
"""Number of memory accesses per byte of a reduction: two reads and a write."""

_PRINTED = ("boost-mode", "trace-enabled", "track-local-mem", "local-mem-trace-filename")
"""Keys that affect only ASTRA-sim's output or its speed."""

_NO_EFFECT = (
    "model-shared-bus",
    "local-reduction-delay",
    "local-mem-latency",
    "remote-mem-bw",
    "remote-mem-latency",
    "inter-dimension-scheduling",
    "intra-dimension-scheduling",
    "L",
    "o",
    "g",
    "G",
)
"""Keys of ASTRA-sim's models of buses, memory and the order of chunks.

These models are not imported, and the importer warns of the keys.
"""


@dataclass(slots=True)
class System:
    """Contents of a system layer file: parameters of collectives and computations."""

    name: str
    policy: str = "LIFO"
    endpoint_delay_ns: int = 0
    active_chunks: int = 1
    splits: int = 1
    implementations: dict[str, list[str]] = field(default_factory=dict)
    """For each collective, one algorithm per dimension."""
    custom: dict[str, str] = field(default_factory=dict)
    """For each collective, the common prefix of the traces that form its algorithm."""
    local_bw_aware: bool = False
    replay_only: bool = False
    roofline: tuple[Decimal, Decimal] | None = None
    """Peak performance in operations per second, and memory bandwidth in bytes per second."""
    memory_gbytes: Decimal = Decimal(0)
    """Memory bandwidth in 10^9 bytes per second; 0 if it is not given."""
    places: dict[str, Place] = field(default_factory=dict)
    """Places of keys that are checked again with the traces."""

    def place(self, key: str) -> Place:
        """Return the place of a key in the file, or the file itself if the place is unknown."""
        return self.places.get(key, in_file(self.name))

    def times(self) -> dict[str, float]:
        """Return the workload options for the time that a rank adds to a collective, in ps."""
        found: dict[str, float] = {"copy_ps": self.endpoint_delay_ns * 1000}
        if self.memory_gbytes:
            found["reduction_per_byte_ps"] = float(_ACCESSES * 1000 / self.memory_gbytes)
            found["reduction_grain_ps"] = _ACCESSES * 1000
        return found


@dataclass(frozen=True, slots=True)
class Dimension:
    """One dimension of ASTRA-sim's network: its kind of links, ranks, rate and latency."""

    block: str
    """`Ring`, `Switch` or `FullyConnected`."""
    ranks: int
    rate_bps: int
    latency_ps: int

    @property
    def estimate(self) -> str:
        """Text that describes the dimension to `backwater estimate --network`.

        The estimate then rounds times to nanoseconds, as ASTRA-sim does (`grain=1ns`).
        """
        kind = {"Ring": "ring", "Switch": "switch", "FullyConnected": "fully-connected"}[self.block]
        link = f"rate={self.rate_bps}bps,latency={time(self.latency_ps)}"
        return f"{kind}:size={self.ranks},{link},grain=1ns"


def system_of(name: str, text: str, findings: Findings) -> System:
    """Parse the text of a system layer file. Raises ``ScenarioError`` for invalid values."""
    found = _Keys(name, text, findings)
    system = System(name)
    system.policy = found.word("scheduling-policy", ("LIFO", "FIFO", "EXPLICIT"), "LIFO")
    system.endpoint_delay_ns = found.whole("endpoint-delay", 0, 10**9, 10)
    system.active_chunks = found.whole("active-chunks-per-dimension", 1, 1 << 16, 1)
    system.splits = found.whole("preferred-dataset-splits", 1, 1 << 16, 1)
    if system.policy != "FIFO" and system.splits > 1 and "scheduling-policy" in found.table:
        found.warning(
            "scheduling-policy",
            f"scheduling-policy {system.policy}: no effect here",
            f"the {system.splits} chunks of a collective have the same size, and go in their order",
        )
    for collective in COLLECTIVES:
        key = f"{collective}-implementation"
        if listed := found.words(key):
            system.implementations[collective] = [_algorithm(found, key, x) for x in listed]
            system.places[key] = found.place(key)
        if prefix := found.words(f"{key}-custom"):
            if len(prefix) > 1:
                found.fail(f"{key}-custom", "names several algorithms; expected one")
            system.custom[collective] = prefix[0]
    optimization = found.word("collective-optimization", ("baseline", "localBWAware"), "baseline")
    system.local_bw_aware = optimization == "localBWAware"
    system.replay_only = found.whole("replay-only", 0, 1, 0) == 1
    peak = found.number("peak-perf")
    memory = system.memory_gbytes = found.number("local-mem-bw")
    if found.whole("roofline-enabled", 0, 1, 0):
        if not peak or not memory:
            found.fail("roofline-enabled", "needs peak-perf and local-mem-bw")
        system.roofline = (peak * 10**12, memory * 10**9)
    if "per-node-custom-implementation" in found.table:
        found.fail("per-node-custom-implementation", "is not imported", "give one for all nodes")
    found.rest()
    return system


def _algorithm(found: _Keys, key: str, word: str) -> str:
    for name in _WITH_WINDOW:
        window = word.removeprefix(name)
        if word.startswith(name) and (window == "" or (window.isascii() and window.isdigit())):
            return word
    if word not in _ALGORITHMS:
        known = (*_ALGORITHMS, *_WITH_WINDOW)
        found.fail(key, f"names the algorithm {shown(word)}", known_are(word, known))
    return word


class _Keys:
    """The keys of a JSON object. Errors contain the name of the key."""

    def __init__(self, name: str, text: str, findings: Findings) -> None:
        table = load_json(name, text, findings)
        if not isinstance(table, dict):
            findings.fail("expected a table of keys", in_file(name))
        self.name = name
        self.text = text
        self.table: dict[str, Any] = table
        self.findings = findings
        self.read: set[str] = set()

    def place(self, key: str) -> Place:
        """Return the place of a key."""
        return place_of_key(self.name, self.text, key)

    def fail(self, key: str, message: str, hint: str | None = None) -> None:
        self.findings.fail(f"{key} {message}", self.place(key), hint)

    def warning(self, key: str, message: str, hint: str | None = None) -> None:
        self.findings.warning(message, hint, place=self.place(key))

    def get(self, key: str) -> Any:
        self.read.add(key)
        return self.table.get(key)

    def whole(self, key: str, low: int, high: int, default: int) -> int:
        value = self.get(key)
        if value is None:
            return default
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or not low <= value <= high:
            self.fail(key, f"is {shown(str(value))}; expected a whole number, {low} to {high}")
        return int(value)

    def number(self, key: str) -> Decimal:
        value = self.get(key)
        if value is None:
            return Decimal(0)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
            self.fail(key, f"is {shown(str(value))}; expected a number from 0 on")
        return Decimal(str(value))

    def word(self, key: str, known: tuple[str, ...], default: str) -> str:
        value = self.get(key)
        if value is None:
            return default
        if value not in known:
            self.fail(key, f"is {shown(str(value))}; expected {' or '.join(known)}")
        return str(value)

    def words(self, key: str) -> list[str]:
        value = self.get(key)
        if value is None:
            return []
        listed = value if isinstance(value, list) else [value]
        if not listed or not all(isinstance(x, str) for x in listed):
            self.fail(key, "should be a list of names")
        return listed

    def rest(self) -> None:
        """Warn of keys that are never read, and of keys whose model is not imported."""
        known = sorted(self.read | set(_NO_EFFECT) | set(_PRINTED))
        if idle := [key for key in _NO_EFFECT if self.table.get(key)]:
            self.warning(
                idle[0],
                f"{', '.join(idle)}: no effect here",
                "its models of buses and of the order of chunks are not imported",
            )
        for key in self.table:
            if key not in known:
                message = f"{shown(key)} is unknown and has no effect"
                self.warning(key, message, meant(key, known))


def network_of(name: str, text: str, findings: Findings) -> tuple[list[int], list[Dimension]]:
    """Parse a network file; return the ranks of each dimension, and the dimensions.

    A file of logical dimensions has only the ranks.
    """
    need("yaml", "chakra", "a network file of ASTRA-sim")
    import yaml

    try:
        # JSON is a subset of YAML.
        found = yaml.safe_load(text)
        tree = yaml.compose(text, yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = place_at(name, text, mark.index) if mark else in_file(name)
        findings.fail(f"this is no YAML: {error.problem}", place)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        findings.fail(f"this is no YAML: {error}", in_file(name))
    if not isinstance(found, dict):
        message = "expected keys such as topology, npus_count, bandwidth, latency"
        findings.fail(message, in_file(name))
    lists = _Lists(name, text, found, tree, findings)
    if "logical-dims" in found:
        count = len(lists.values("logical-dims"))
        if not count:
            findings.fail("logical-dims has no dimension", lists.place("logical-dims"))
        dims = [lists.ranks("logical-dims", d) for d in range(count)]
        return lists.checked("logical-dims", dims), []
    return _network(lists)


def _network(lists: _Lists) -> tuple[list[int], list[Dimension]]:
    columns = {}
    for key in ("topology", "npus_count", "bandwidth", "latency"):
        if key not in lists.found:
            lists.findings.fail(f"{key} is missing", in_file(lists.name))
        columns[key] = lists.values(key)
    for key in lists.found:
        if key not in columns:
            message = f"{shown(str(key))} is unknown and has no effect"
            lists.findings.warning(message, place=lists.place(key))
    count = len(columns["topology"])
    odd = next((key for key, column in columns.items() if len(column) != count), None)
    if odd or not count:
        lengths = ", ".join(f"{key} {len(column)}" for key, column in columns.items())
        message = f"each list has an entry for each dimension, but there are {lengths}"
        lists.findings.fail(message, lists.place(odd or "topology"))
    dimensions = []
    for d, block in enumerate(columns["topology"]):
        if block not in _BLOCKS:
            known = f"known are {', '.join(_BLOCKS)}"
            lists.fail("topology", d, f"topology {shown(str(block))}", known)
        ranks = lists.ranks("npus_count", d)
        rate = int(lists.number("bandwidth", d) * _GIB * 8)
        delay = int(lists.number("latency", d) * 1000)
        if not 10**6 <= rate <= 10**15:
            message = f"bandwidth {columns['bandwidth'][d]} GB/s; expected 0.001 to 100000"
            lists.fail("bandwidth", d, message)
        if delay > 10**12:
            lists.fail("latency", d, f"latency {columns['latency'][d]} ns is more than a second")
        dimensions.append(Dimension(block, ranks, rate, delay))
    return lists.checked("npus_count", [d.ranks for d in dimensions]), dimensions


class _Lists:
    """The keys of a network file with their places. Each key has one value per dimension."""

    def __init__(
        self, name: str, text: str, found: dict[str, Any], tree: Any, findings: Findings
    ) -> None:
        self.name = name
        self.found = found
        self.findings = findings
        self._text = text
        self._nodes = {key.value: (key, value) for key, value in tree.value}

    def values(self, key: str) -> list[Any]:
        value = self.found[key]
        return value if isinstance(value, list) else [value]

    def place(self, key: Any, dimension: int | None = None) -> Place:
        """Return the place of a key, or of its value for a dimension."""
        if str(key) not in self._nodes:  # The key comes from a YAML merge (`<<`), or is not a text.
            return in_file(self.name)
        node, value = self._nodes[str(key)]
        if dimension is not None:
            listed = isinstance(self.found.get(key), list) and isinstance(value.value, list)
            node = value.value[dimension] if listed else value
        mark, end = node.start_mark, node.end_mark
        width = end.column - mark.column if end.line == mark.line else 1
        return place_at(self.name, self._text, mark.index, width)

    def fail(self, key: str, dimension: int, message: str, hint: str | None = None) -> NoReturn:
        self.findings.fail(message, self.place(key, dimension), hint)

    def ranks(self, key: str, dimension: int) -> int:
        value = self.values(key)[dimension]
        found = whole(str(value)) if isinstance(value, int | str) else None
        return bounded(found, str(value), key, (1, MAX_RANKS), partial(self.fail, key, dimension))

    def number(self, key: str, dimension: int) -> Decimal:
        value = self.values(key)[dimension]
        # YAML reads numbers such as 1e3 as text, but ASTRA-sim reads them as numbers.
        number: Any = decimal(value) if isinstance(value, str) else value
        if type(number) not in (int, float, Decimal) or not 0 <= number < 10**12:
            message = f"{key} has {shown(str(value))}; expected numbers from 0 on"
            self.fail(key, dimension, message)
        return Decimal(str(number))

    def checked(self, key: str, dims: list[int]) -> list[int]:
        if prod(dims) > MAX_RANKS:
            message = f"{prod(dims)} ranks are more than {MAX_RANKS}"
            self.findings.fail(message, self.place(key))
        return dims
