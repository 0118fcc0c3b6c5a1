"""A campaign as a table: what was requested, and what became of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backwater.errors import InputError
from backwater.results import CAMPAIGN, REPORT, Run, statistics
from backwater.results.facts import least
from backwater.results.store import Failure, Store

if TYPE_CHECKING:
    import polars

FORMAT = 1
DONE, FAILED, MISSING = "done", "failed", "missing"

Group = tuple[Any, ...]
"""Values of the swept keys."""


@dataclass(frozen=True, slots=True)
class Row:
    """One run of a campaign."""

    key: str
    values: Group
    scheme: str
    seed: int
    command: str


class Campaign:
    """The directory of a campaign, finished or not.

    It is read when it is made; make another one to see how far the campaign is by then.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.about: dict[str, Any] = _read(self.path / CAMPAIGN)
        self.store = Store(self.path / self.about["store"])
        self.keys: list[str] = self.about["keys"]
        self.rows = [
            Row(p["key"], tuple(p["values"]), p["scheme"], p["seed"], p["command"])
            for p in self.about["points"]
        ]
        self.facts: dict[str, dict[str, Any]] = self.store.table(row.key for row in self.rows)
        """Per finished run what its summary says, flattened."""

        self.failed: dict[str, Failure] = {
            row.key: failure
            for row in self.rows
            if row.key not in self.facts and (failure := self.store.failure(row.key)) is not None
        }

    def __repr__(self) -> str:
        return (
            f"Campaign({self.name!r}, {len(self.rows)} runs, {len(self.facts)} finished, "
            f"{len(self.failed)} failed, path={str(self.path)!r})"
        )

    @property
    def name(self) -> str:
        """Name of the campaign."""
        return str(self.about["name"])

    @property
    def schemes(self) -> list[str]:
        """The schemes, in the order of the sweep."""
        return list(dict.fromkeys(row.scheme for row in self.rows))

    @property
    def seeds(self) -> list[int]:
        """The seeds, in the order of the sweep."""
        return list(dict.fromkeys(row.seed for row in self.rows))

    @property
    def missing(self) -> int:
        """Runs that are neither finished nor failed."""
        return sum(r.key not in self.facts and r.key not in self.failed for r in self.rows)

    @property
    def ok(self) -> bool:
        """Every run is there, and none violated a check."""
        return not self.failed and not self.missing and not self.violated

    @property
    def violated(self) -> list[Row]:
        """Runs that violated a check."""
        return [r for r in self.rows if (f := self.facts.get(r.key)) and not f["ok"]]

    @property
    def stalled(self) -> list[Row]:
        """Runs that came to a standstill: a result, and often the one that was looked for."""
        return [r for r in self.rows if (f := self.facts.get(r.key)) and f["stalled"]]

    def run(self, key: str) -> Run:
        """Open a run."""
        run = self.store.get(key)
        if run is None:
            raise InputError(
                f"{self.store.path_of(key)}: no finished run here; repeat the campaign"
            )
        return run

    @cached_property
    def table(self) -> polars.DataFrame:
        """A row per run: swept keys, scheme, seed, state, and what its summary says.

        Quantities of swept keys are as they were written, such as ``"12MB"``; everything else is
        in picoseconds, bytes and bits per second.
        """
        import polars as pl

        columns: dict[str, list[Any]] = {
            key: [row.values[i] for row in self.rows] for i, key in enumerate(self.keys)
        }
        columns |= {
            "scheme": [row.scheme for row in self.rows],
            "seed": [row.seed for row in self.rows],
            "state": [self._state(row.key) for row in self.rows],
            "error": [f.message if (f := self.failed.get(r.key)) else None for r in self.rows],
            "key": [row.key for row in self.rows],
        }
        found = [self.facts.get(row.key, {}) for row in self.rows]
        for name in dict.fromkeys(name for one in found for name in one):
            if name not in columns:
                columns[name] = [one.get(name) for one in found]
        types = {"seed": pl.UInt64, "error": pl.String}
        return pl.DataFrame(
            [pl.Series(n, v, dtype=types.get(n), strict=False) for n, v in columns.items()]
        )

    def flows(self, name: str = "flows") -> polars.LazyFrame:
        """Give the flows of all finished runs, read when the result is collected.

        The first columns say which run a flow belongs to: the swept keys, scheme and seed. The
        other tables of runs (``ports``, ``queues``, ``active``, ``pauses``) are had by their name.
        """
        import polars as pl

        done = self.table.filter(pl.col("state") == DONE)
        if done.is_empty():
            raise InputError(f"{self.path}: no run is finished")
        files = [str(self.store.path_of(key) / f"{name}.parquet") for key in done["key"]]
        told = done.select(*self.keys, "scheme", "seed", pl.Series("file", files))
        # Runs that are the same for several points have one file and several rows here.
        scanned = pl.scan_parquet(list(dict.fromkeys(files)), include_file_paths="file")
        return told.lazy().join(scanned, on="file", how="inner").drop("file")

    def values(self, column: str) -> dict[tuple[Group, str], dict[int, float]]:
        """Collect a column of the table by swept values and scheme, and in that by seed."""
        known = {name for one in self.facts.values() for name in one}
        if self.facts and column not in known:
            import difflib

            near = difflib.get_close_matches(column, known, 1)
            hint = f"; did you mean `{near[0]}`?" if near else ""
            raise InputError(f"no run has a column `{column}`{hint}")
        found: dict[tuple[Group, str], dict[int, float]] = {}
        for row in self.rows:
            group = found.setdefault((row.values, row.scheme), {})
            value = self.facts.get(row.key, {}).get(column)
            if value is not None:
                group[row.seed] = value
        return found

    def statistics(self, column: str, percentiles: Sequence[float] = (0.5,)) -> polars.DataFrame:
        """Mean and percentiles of a column over seeds, with 95 % intervals.

        A row per swept values and scheme.
        """
        rows = []
        for (values, scheme), by_seed in self.values(column).items():
            numbers = [float(v) for v in by_seed.values()]
            row: dict[str, Any] = dict(zip(self.keys, values, strict=True))
            row |= {"scheme": scheme, "seeds": len(numbers)}
            row |= _columns("mean", statistics.mean(numbers, least=least(column)))
            for share in percentiles:
                name = f"p{share * 100:g}"
                row |= _columns(name, statistics.percentile(numbers, share))
            rows.append(row)
        return _frame(rows, self.keys)

    def differences(self, column: str, baseline: str | None = None) -> polars.DataFrame:
        """Mean difference of a column to a baseline scheme at the same seed, with 95 % intervals.

        The baseline is the first scheme, if none is named.
        """
        baseline = self.schemes[0] if baseline is None else baseline
        if baseline not in self.schemes:
            raise InputError(f"no scheme `{baseline}` here; there are {', '.join(self.schemes)}")
        groups = self.values(column)
        rows = []
        for (values, scheme), by_seed in groups.items():
            if scheme == baseline:
                continue
            against = groups.get((values, baseline), {})
            row: dict[str, Any] = dict(zip(self.keys, values, strict=True))
            row |= {"scheme": scheme, "baseline": baseline}
            difference = statistics.paired(by_seed, against)
            row |= {"seeds": difference.count if difference else 0}
            rows.append(row | _columns("difference", difference))
        return _frame(rows, self.keys)

    def report(self) -> Path:
        """Write ``report.html`` into the directory of the campaign."""
        from backwater.report.sweep import write_report

        return write_report(self.path / REPORT, self)

    def _state(self, key: str) -> str:
        if key in self.facts:
            return DONE
        return FAILED if key in self.failed else MISSING


def _columns(name: str, interval: statistics.Interval | None) -> dict[str, float | None]:
    if interval is None:
        return {name: None, f"{name}_low": None, f"{name}_high": None}
    return {name: interval.estimate, f"{name}_low": interval.low, f"{name}_high": interval.high}


def _frame(rows: Sequence[Mapping[str, Any]], keys: list[str]) -> polars.DataFrame:
    import polars as pl

    told = {*keys, "scheme", "baseline", "seeds"}
    numbers = {name: pl.Float64 for row in rows for name in row if name not in told}
    return pl.DataFrame(rows, infer_schema_length=None, schema_overrides=numbers)


def _read(path: Path) -> dict[str, Any]:
    try:
        about: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        version = about["format"]
        missing = {"store", "keys", "points"} - about.keys()
    except FileNotFoundError as error:
        raise InputError(f"{path.parent}: no campaign here ({path.name} is missing)") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: cannot be read ({error}); repeat the campaign") from error
    if version != FORMAT:
        raise InputError(f"{path}: written by another version (format {version}); repeat it")
    if missing:
        raise InputError(f"{path}: not whole ({', '.join(sorted(missing))} missing); repeat it")
    return about
