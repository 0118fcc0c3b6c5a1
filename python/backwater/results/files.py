"""The files of one run, read when they are first used."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from backwater._base import quantity
from backwater._base.files import readable
from backwater._base.lazy import cs, pl
from backwater.errors import InputError
from backwater.results import HOST, RECORDED_FILES, RUN_FILES, SUMMARY, TABLES


def run_files(path: Path) -> list[str]:
    """Return the names of the files of the run in a directory, including recorded tables."""
    return [*RUN_FILES, *(name for name in RECORDED_FILES if (path / name).exists())]


class RunFiles:
    """The directory of one finished or interrupted run.

    Times are in picoseconds, sizes in bytes, rates in bits per second. The suffixes of the columns
    show the unit.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.summary: dict[str, Any] = read_json(self.path / SUMMARY, _SUMMARISED)
        self._tables: dict[str, pl.DataFrame] = {}

    def __repr__(self) -> str:
        partial = ", partial" if self.partial else ""
        return f"RunFiles({self.scheme!r}, digest={self.digest}{partial}, path={str(self.path)!r})"

    @property
    def name(self) -> str:
        """Name of the scenario."""
        return str(self.summary["name"])

    @property
    def scheme(self) -> str:
        """Name of the scheme."""
        return str(self.summary["scheme"])

    @property
    def seed(self) -> int:
        """Seed of the random streams."""
        return int(self.summary["seed"])

    @property
    def digest(self) -> str:
        """Hash of the trajectory: 64 bits in hexadecimal. Equal trajectories have equal digests."""
        return str(self.summary["digest"])

    @property
    def partial(self) -> bool:
        """True if the run was interrupted. All its results then cover its first part only."""
        return bool(self.summary["partial"])

    @property
    def ok(self) -> bool:
        """True if no check was violated and the network did not stall."""
        return bool(self.summary["ok"]) and self.summary["ending"] != "stalled"

    @property
    def deadlocks(self) -> list[dict[str, Any]]:
        """Cycles of ports that wait for each other for ever, in the order of detection.

        Each has the times at which it formed (``at_ps``) and was detected (``seen_ps``). ``ports``
        lists its ports in the order in which they wait. ``bytes`` is the content of their queues,
        and ``flows`` are the flows that block others.
        """
        found: list[dict[str, Any]] = self.summary["deadlocks"]
        return found

    @cached_property
    def resolved(self) -> str:
        """The scenario with every value filled in, as TOML."""
        path = self.path / "resolved.toml"
        with self._own_files(), readable(path):
            return path.read_text(encoding="utf-8")

    @property
    def fct_until(self) -> str:
        """End of a flow in statistics: ``received`` (its last byte) or ``acked`` (its last ACK)."""
        until: str = self.summary.get("fct_until", "received")  # Older runs lack the key.
        return until

    @property
    def flow_ends(self) -> list[pl.Expr]:
        """Expressions for ``ended_ps`` and ``slowdown``, as :attr:`fct_until` selects them."""
        slowdown = "slowdown" if self.fct_until == "received" else "slowdown_acked"
        return [
            pl.col(f"{self.fct_until}_ps").alias("ended_ps"),
            pl.col(slowdown).alias("slowdown"),
        ]

    def measured_flows(
        self, columns: Sequence[str | pl.Expr] | None = None, where: pl.Expr | None = None
    ) -> pl.DataFrame:
        """Return the flows that statistics use: they finished, and started after the warm-up.

        With ``columns`` only these are read and returned. ``where`` is a further condition on the
        flows.
        """
        wanted = pl.col("finished")
        if self.summary["measure_from_ps"]:  # Without a warm-up the column need not be read.
            wanted &= pl.col("start_ps") >= self.summary["measure_from_ps"]
        if where is not None:
            wanted &= where
        if columns is None:
            return self.table("flows").filter(wanted)
        return self.select_flows(columns, wanted)

    def select_flows(
        self, columns: Sequence[str | pl.Expr], where: pl.Expr | None = None
    ) -> pl.DataFrame:
        """Return some columns of ``flows``. The others are not read from disk."""
        if "flows" in self._tables:
            table = self._tables["flows"]
            return (table if where is None else table.filter(where)).select(columns)
        with self._own_files(), reading(self.path / "flows.parquet"):
            found = self.scan("flows")
            return (found if where is None else found.filter(where)).select(columns).collect()

    def measured_queues(self) -> pl.DataFrame:
        """Return the probes that statistics use: those in the measured time, with one row each."""
        first, last = self.summary["measure_from_ps"], self.summary["measure_to_ps"]
        table = self.table("queues")
        if "probes" in table.columns:
            touching = (pl.col("at_ps") >= first) & (pl.col("from_ps") <= last)
            table = _one_by_one(table.filter(touching))
        return table.filter(pl.col("at_ps").is_between(first, last))

    def interval_ps(self, record: str) -> int:
        """Return the value of ``every`` in ``[record]`` for a record, in ps."""
        every = tomllib.loads(self.resolved)["record"][record]["every"]
        return int(quantity.number(every) or 0)

    def table(self, name: str) -> pl.DataFrame:
        """Return a table by its name. :data:`TABLES` lists all tables and their columns.

        Raises :class:`~backwater.errors.InputError` if the run did not record it.
        """
        if name not in self._tables:
            with self._own_files(), reading(self.path / f"{name}.parquet"):
                self._tables[name] = self.scan(name).collect()
        return self._tables[name]

    def scan(self, name: str) -> pl.LazyFrame:
        """Return a table as a lazy frame, which is read when the result is collected."""
        with self._own_files():
            return scan([self.path], name)

    @contextmanager
    def _own_files(self) -> Iterator[None]:
        """Raise ``InputError`` if another run replaced the directory since the summary was read.

        Tables are read on first use, so the directory may have changed by that time.
        """
        error: InputError | None = None
        try:
            yield
        except InputError as failure:
            error = failure
        try:
            now = json.loads((self.path / SUMMARY).read_text(encoding="utf-8"))
            own = all(now.get(key) == self.summary.get(key) for key in ("digest", "key"))
        except (OSError, ValueError, AttributeError):
            own = False
        if not own:
            raise InputError(
                f"{self.path}: holds another run now (this one has digest {self.digest}); give "
                "each run a directory of its own, or open this one again with backwater.load"
            ) from error
        if error is not None:
            raise error


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Convert errors of the body, which reads a table, to ``InputError`` with the table's path."""
    try:
        yield
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path}: cannot be read ({error}); repeat the run") from error


def scan(paths: Sequence[Path], name: str) -> pl.LazyFrame:
    """Return one table of several runs as a lazy frame, which is not read yet.

    Unsigned 64-bit numbers become signed, so that differences can be negative. If there are several
    runs, the column ``file`` has the file of each row.
    """
    examples = {table["name"]: table["record"] for table in TABLES}
    if name not in examples:
        raise InputError(f"there is no table `{name}`; there are {', '.join(examples)}")
    example = examples[name]
    for path in paths if example is not None else ():
        if not (path / f"{name}.parquet").exists():
            if example.startswith("[["):
                raise InputError(f"{path}: this run has no {example}, and so no {name}")
            how = example if example.startswith("[") else f"[record] with {example}"
            raise InputError(f"{path}: {name} was not recorded; add {how}")
    files = [path / f"{name}.parquet" for path in paths]
    with reading(files[0]):
        found = pl.scan_parquet(files, include_file_paths="file" if len(files) > 1 else None)
        return found.with_columns(cs.by_dtype(pl.UInt64).cast(pl.Int64, strict=False))


def _one_by_one(queues: pl.DataFrame) -> pl.DataFrame:
    """Split rows that stand for several probes into one row per probe."""
    between = (pl.col("at_ps") - pl.col("from_ps")) // (pl.col("probes") - 1).clip(1)
    number = pl.int_ranges(0, pl.col("probes").cast(pl.Int64), dtype=pl.Int64)
    spread = queues.with_columns(between.alias("between"), number.alias("number"))
    at = pl.col("from_ps") + pl.col("number") * pl.col("between")
    return spread.explode("number").select(
        at.alias("at_ps"),
        pl.exclude("at_ps", "from_ps", "probes", "between", "number"),
    )


_SUMMARISED = ("name", "scheme", "seed", "digest", "ending", "partial", "ok", "fct")


def read_json(path: Path, keys: Sequence[str]) -> dict[str, Any]:
    """Read a JSON file of results; raise ``InputError`` if it lacks one of the given keys."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        if (path.parent / HOST).exists():
            raise InputError(
                f"{path.parent}: of a host on real frames; its flows are in flows.parquet, what it "
                f"counted in {HOST} (docs/host.md)"
            ) from error
        raise InputError(f"{path.parent}: no finished run here ({path.name} is missing)") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error}); repeat the run") from error
    if not isinstance(content, dict) or (missing := [key for key in keys if key not in content]):
        without = f"`{missing[0]}` is missing" if isinstance(content, dict) else "it is no table"
        raise InputError(f"{path}: not as this version writes it ({without}); repeat the run")
    return content
