"""Workloads with dependencies: build one in a few lines, write it, read it.

>>> work = Workload(ranks=2, options={"overhead_ps": 1_500_000})
>>> ready = work.calc(0, duration_ps=5_000_000)
>>> work.send(0, to=1, size_bytes=1_000_000, tag=7, after=[ready])
1
>>> work.recv(1, peer=0, size_bytes=1_000_000, tag=7)
0

The file, its columns and all options are described in docs/workloads.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from backwater._base.files import whole
from backwater._base.lazy import pl
from backwater.errors import InputError

VERSION = 1
"""Version of the file format."""

METADATA_KEY = "backwater.workload"
"""The key in a file's metadata with the header, which applies to all ranks."""

COLLECTIVES = (
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "all-to-allv",
    "broadcast",
    "barrier",
)

TRIGGERS = ("one-shot", "multi-shot", "barrier")

ROWS_PER_GROUP = 4096
"""Rows of a Parquet row group. A reader reads the operations of ranks in this unit."""

_ROWS_PER_FRAME = 65536
"""Number of rows that are collected in lists before they become a compact data frame."""

_ALWAYS = ("rank", "index", "kind")


class WorkloadError(ValueError):
    """An invalid operation, group or trigger. The message describes what was expected."""


@cache
def _types() -> dict[str, pl.DataType]:
    """Return the columns of a file with their types."""
    return {
        "rank": pl.UInt32(),
        "index": pl.UInt32(),
        "kind": pl.String(),
        "peer": pl.UInt32(),
        "tag": pl.UInt64(),
        "bytes": pl.UInt64(),
        "duration_ps": pl.UInt64(),
        "after_end": pl.List(pl.UInt32()),
        "after_start": pl.List(pl.UInt32()),
        "resource": pl.UInt16(),
        "nic": pl.UInt16(),
        "channel": pl.UInt16(),
        "class": pl.UInt8(),
        "latency_ps": pl.UInt64(),
        "priority": pl.UInt64(),
        "group": pl.String(),
        "algorithm": pl.String(),
        "to_each": pl.List(pl.UInt64()),
        "from_each": pl.List(pl.UInt64()),
        "trigger": pl.UInt32(),
        "on_sent": pl.UInt32(),
        "on_received": pl.UInt32(),
        "part_of": pl.UInt32(),
        "name": pl.String(),
    }


def _column(name: str, values: list[Any], dtype: pl.DataType) -> pl.Series:
    """Return a column of operations.

    All elements of lists are collected first, because adding lists one by one is much slower.
    """
    if not isinstance(dtype, pl.List):
        return pl.Series(name, values, dtype, strict=True)
    rows = [row for row, value in enumerate(values) for _ in value or ()]
    items = pl.Series(name, [item for value in values for item in value or ()], dtype.inner)
    lists = (
        pl.DataFrame([pl.Series("row", rows, pl.UInt32), items])
        .group_by("row", maintain_order=True)
        .agg(name)
    )
    every = pl.DataFrame({"row": pl.arange(len(values), dtype=pl.UInt32, eager=True)})
    return every.join(lists, on="row", how="left", maintain_order="left")[name]


class Workload:
    """A workload under construction.

    ``ranks`` is the number of ranks. ``options`` has the options of docs/workloads.md by name.
    ``groups`` has lists of ranks by name. ``source`` has facts about the origin of the workload.

    Each method that adds an operation returns its index. Later operations of the same rank refer to
    this index in ``after`` (it must have ended) and ``after_start`` (it must have started). All
    methods raise ``WorkloadError`` for invalid arguments.
    """

    def __init__(
        self,
        ranks: int,
        *,
        options: Mapping[str, Any] | None = None,
        groups: Mapping[str, Sequence[int]] | None = None,
        source: Mapping[str, Any] | None = None,
    ) -> None:
        if ranks < 1:
            raise WorkloadError(f"{ranks} ranks; expected at least 1")
        self.ranks = ranks
        self.options = dict(options or {})
        self.source = dict(source or {})
        self.groups: dict[str, list[int]] = {}
        self._members: dict[str, frozenset[int]] = {}
        """The ranks of each group, for fast lookups."""
        self.triggers: list[dict[str, Any]] = []
        self.collectives: list[dict[str, Any]] = []
        self._counts = [0] * ranks
        self._rows: list[dict[str, Any]] = []
        self._frames: list[pl.DataFrame] = []
        for name, members in (groups or {}).items():
            self.group(name, members)

    def __len__(self) -> int:
        """Return the number of operations of all ranks."""
        return sum(self._counts)

    def count(self, rank: int) -> int:
        """Return the number of operations of a rank, which is the index of its next one."""
        self._check_rank(rank, "rank")
        return self._counts[rank]

    def group(self, name: str, ranks: Sequence[int]) -> str:
        """Define a group of ranks, in the order that algorithms use, and return its name."""
        members = [int(rank) for rank in ranks]
        if name in self.groups and self.groups[name] != members:
            raise WorkloadError(f'group "{name}" is defined already, with other ranks')
        if not members or len(set(members)) != len(members):
            raise WorkloadError(f'group "{name}" must have ranks that are all different: {members}')
        for rank in members:
            self._check_rank(rank, f'a rank of group "{name}"')
        self.groups[name] = members
        self._members[name] = frozenset(members)
        return name

    def trigger(self, kind: str, count: int | None = None) -> int:
        """Define a trigger (``one-shot``, ``multi-shot`` or ``barrier``), and return its number.

        ``count`` is the number of activations that a barrier needs.
        """
        if kind not in TRIGGERS:
            raise WorkloadError(f"a trigger is one of {', '.join(TRIGGERS)}, not {kind!r}")
        if (kind == "barrier") != (count is not None) or (count is not None and count < 1):
            raise WorkloadError("a barrier, and nothing else, needs a count of at least 1")
        self.triggers.append({"kind": kind} | ({} if count is None else {"count": count}))
        return len(self.triggers) - 1

    def composed(self, kind: str, size_bytes: int = 0, group: str | None = None) -> int:
        """Define a collective that consists of operations of a group (default: all ranks).

        Returns its number, which ``calc``, ``send`` and ``recv`` accept as ``part_of``. Results
        then report it as one collective, with times and bandwidths. ``size_bytes`` is S, the bytes
        of the whole vector.
        """
        if kind not in COLLECTIVES or kind == "all-to-allv":
            known = [word for word in COLLECTIVES if word != "all-to-allv"]
            raise WorkloadError(f"{kind!r} cannot be composed; expected {', '.join(known)}")
        if (kind == "barrier") != (size_bytes == 0) or size_bytes < 0:
            raise WorkloadError(f"{size_bytes} bytes; expected more than 0, but for a barrier")
        if group is not None and group not in self.groups:
            raise WorkloadError(f'there is no group "{group}"; define it with group()')
        self.collectives.append(
            {"kind": kind, "bytes": size_bytes} | ({} if group is None else {"group": group})
        )
        return len(self.collectives) - 1

    def calc(
        self,
        rank: int,
        duration_ps: int,
        *,
        after: Iterable[int] = (),
        after_start: Iterable[int] = (),
        **columns: Any,
    ) -> int:
        """Add a computation of ``duration_ps`` to a rank, and return its index.

        ``columns``: ``resource``, ``priority``, ``trigger``, ``part_of``, ``name``.
        """
        return self._add(rank, "calc", after, after_start, columns, {"duration_ps": duration_ps})

    def send(
        self,
        rank: int,
        to: int,
        size_bytes: int,
        tag: int = 0,
        *,
        after: Iterable[int] = (),
        after_start: Iterable[int] = (),
        **columns: Any,
    ) -> int:
        """Add a send. ``columns`` may set any other column of the file that applies to sends."""
        self._check_rank(to, "the receiver")
        if to == rank:
            raise WorkloadError(f"rank {rank} sends to itself; use calc for what stays on a rank")
        given = {"peer": to, "bytes": size_bytes, "tag": tag}
        return self._add(rank, "send", after, after_start, columns, given)

    def recv(
        self,
        rank: int,
        peer: int | None = None,
        size_bytes: int = 0,
        tag: int | None = None,
        *,
        after: Iterable[int] = (),
        after_start: Iterable[int] = (),
        **columns: Any,
    ) -> int:
        """Add a receive. Without ``peer`` it accepts any rank, and without ``tag`` any tag."""
        if peer is not None:
            self._check_rank(peer, "the sender")
        given = {"peer": peer, "bytes": size_bytes, "tag": tag}
        return self._add(rank, "recv", after, after_start, columns, given)

    def collective(
        self,
        rank: int,
        kind: str,
        size_bytes: int = 0,
        group: str | None = None,
        *,
        instance: int | None = None,
        algorithm: str | None = None,
        root: int | None = None,
        to_each: Sequence[int] | None = None,
        from_each: Sequence[int] | None = None,
        after: Iterable[int] = (),
        after_start: Iterable[int] = (),
        **columns: Any,
    ) -> int:
        """Add one rank's part in a collective operation of a group (all ranks if it is not given).

        ``size_bytes`` is S, the bytes of the whole vector. ``instance`` is the number of the
        collective in its group; by default the collectives are counted. ``root`` is the position in
        the group of the rank that broadcasts. ``to_each`` and ``from_each`` are the bytes of an
        all-to-allv.
        """
        if kind not in COLLECTIVES:
            raise WorkloadError(f"{kind!r} is no collective; expected {', '.join(COLLECTIVES)}")
        if group is not None and group not in self.groups:
            raise WorkloadError(f'there is no group "{group}"; define it with group()')
        members = range(self.ranks) if group is None else self._members[group]
        if rank not in members:
            raise WorkloadError(f'rank {rank} is not in group "{group}"')
        for each in (to_each, from_each):
            if (kind == "all-to-allv") != (each is not None):
                raise WorkloadError("an all-to-allv, and nothing else, has to_each and from_each")
            if each is not None and len(each) != len(members):
                raise WorkloadError(f"{len(each)} sizes for a group of {len(members)} ranks")
        given = {
            "bytes": size_bytes,
            "group": group,
            "tag": instance,
            "algorithm": algorithm,
            "peer": root,
            "to_each": to_each,
            "from_each": from_each,
        }
        return self._add(rank, kind, after, after_start, columns, given)

    def _check_rank(self, rank: int, what: str) -> None:
        if not 0 <= rank < self.ranks:
            raise WorkloadError(f"{what} is {rank}; ranks are 0 to {self.ranks - 1}")

    def _add(
        self,
        rank: int,
        kind: str,
        after: Iterable[int],
        after_start: Iterable[int],
        columns: dict[str, Any],
        given: dict[str, Any],
    ) -> int:
        self._check_rank(rank, "rank")
        index = self._counts[rank]
        row = {"rank": rank, "index": index, "kind": kind, **given}
        if columns:
            if unknown := columns.keys() - _types().keys():
                raise WorkloadError(f"there is no column {sorted(unknown)[0]!r} in a workload")
            if twice := columns.keys() & (row.keys() | {"after_end", "after_start"}):
                raise WorkloadError(f"{sorted(twice)[0]!r} is set by an argument of its own")
            row.update(columns)
            self._check_part(row)
        for column, earlier in (("after_end", after), ("after_start", after_start)):
            if not (waits := sorted(set(earlier))):
                continue
            for before in (waits[0], waits[-1]):
                if not 0 <= before < index:
                    raise WorkloadError(
                        f"operation {index} of rank {rank} cannot wait for operation {before}; "
                        f"expected an index below {index}"
                    )
            row[column] = waits
        self._rows.append(row)
        self._counts[rank] += 1
        if len(self._rows) == _ROWS_PER_FRAME:
            self._pack()
        return index

    def _check_part(self, row: dict[str, Any]) -> None:
        if (whole := row.get("part_of")) is None:
            return
        if row["kind"] in COLLECTIVES:
            raise WorkloadError(f"{row['kind']!r} is no part of a collective, but one by itself")
        if not 0 <= whole < len(self.collectives):
            raise WorkloadError(f"there is no collective {whole}; define it with composed()")
        group = self.collectives[whole].get("group")
        if group is not None and row["rank"] not in self._members[group]:
            raise WorkloadError(f'rank {row["rank"]} is not in group "{group}"')

    def _pack(self) -> None:
        try:
            frame = pl.DataFrame(
                [
                    _column(name, [row.get(name) for row in self._rows], dtype)
                    for name, dtype in _types().items()
                ]
            )
        except (TypeError, OverflowError, pl.exceptions.PolarsError) as error:
            raise WorkloadError(f"a value does not fit its column: {error}") from error
        self._frames.append(frame)
        self._rows = []

    def frame(self) -> pl.DataFrame:
        """Return the operations as a data frame with a row each, sorted by rank and index."""
        if self._rows or not self._frames:
            self._pack()
        if len(self._frames) > 1:
            self._frames = [pl.concat(self._frames)]
        frame = self._frames[0].sort("rank", "index")
        self._frames = [frame]
        return frame

    def header(self) -> dict[str, Any]:
        """Return the header of the file, which applies to all ranks."""
        return {
            "version": VERSION,
            "ranks": self.ranks,
            "groups": self.groups,
            "options": self.options,
            "triggers": self.triggers,
            # Earlier versions can read a file without this key.
            **({"collectives": self.collectives} if self.collectives else {}),
            "source": self.source,
        }

    def write(self, path: str | Path) -> Path:
        """Write the workload to a file, without empty optional columns.

        Raises ``RunError`` if the file cannot be written.
        """
        path = Path(path)
        frame = self.frame()
        used = [c for c in frame.columns if c in _ALWAYS or frame[c].null_count() < frame.height]
        with whole(path) as part:
            frame.select(used).write_parquet(
                part,
                compression="snappy",
                row_group_size=ROWS_PER_GROUP,
                metadata={METADATA_KEY: json.dumps(self.header())},
            )
        return path


@dataclass(frozen=True, slots=True)
class Read:
    """A workload that was read from a file."""

    header: dict[str, Any]
    """Data for all ranks: version, ranks, groups, options, triggers, collectives, source."""

    operations: pl.DataFrame
    """A row for each operation, with all columns of the format."""


def header(path: str | Path) -> dict[str, Any]:
    """Read the header of a workload. Raises ``InputError`` as :func:`read` does."""
    with _reading(path):
        text = pl.read_parquet_metadata(path).get(METADATA_KEY)
    if text is None:
        raise InputError(
            f"{path}: this is no workload: its metadata has no entry {METADATA_KEY!r}; "
            "write it with backwater.workloads"
        )
    found: dict[str, Any] = json.loads(text)
    return found


@contextmanager
def _reading(path: str | Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: cannot read: {error.strerror or error}", error.errno) from error
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{path}: this is no Parquet file: {error}") from error


def read(path: str | Path) -> Read:
    """Read a workload. Raises ``InputError`` if the file is not a readable workload."""
    facts = header(path)
    with _reading(path):
        frame = pl.read_parquet(path)
    missing = [
        pl.lit(None, dtype).alias(column)
        for column, dtype in _types().items()
        if column not in frame.columns
    ]
    return Read(facts, frame.with_columns(missing).select(*_types()))


def parallel_groups(degrees: Mapping[str, int], names: Iterable[str]) -> dict[str, list[int]]:
    """Return the groups of ranks that share their work in some dimensions.

    ``degrees`` has the dimensions of parallelism, such as
    ``{"tensor": 8, "data": 4, "pipeline": 2}`` for 64 ranks. The first dimension changes fastest
    with the rank. Each name in ``names`` is a dimension, or several joined by ``+``. Its groups
    are named ``tensor-0``, ``tensor-1``, and so on. The ranks of a group differ only in these
    dimensions.

    >>> parallel_groups({"tensor": 2, "data": 2}, ["tensor", "data"])
    {'tensor-0': [0, 1], 'tensor-1': [2, 3], 'data-0': [0, 2], 'data-1': [1, 3]}
    """
    groups: dict[str, list[int]] = {}
    for name in names:
        inside = name.split("+")
        for dimension in inside:
            if dimension not in degrees:
                raise WorkloadError(f"{dimension!r} is none of {', '.join(degrees)}")
        members: dict[tuple[int, ...], list[int]] = {}
        ranges = [range(degree) for degree in reversed(list(degrees.values()))]
        for rank, slowest_first in enumerate(product(*ranges)):
            place = dict(zip(degrees, reversed(slowest_first), strict=True))
            outside = tuple(at for dimension, at in place.items() if dimension not in inside)
            members.setdefault(outside, []).append(rank)
        for number, ranks in enumerate(members.values()):
            groups[f"{name}-{number}"] = ranks
    return groups
