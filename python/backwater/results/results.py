"""The results of one run or of many runs."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

from backwater._base.attached import provided
from backwater._base.lazy import pl
from backwater._base.units import some_text
from backwater.errors import InputError
from backwater.results import REPORT, RESULTS, SUMMARY, TABLES, columns, statistics
from backwater.results.columns import Column
from backwater.results.files import RunFiles, read_json, reading, scan
from backwater.results.store import RUNS, Failure, Store

FORMAT = 2
DONE, PARTIAL, FAILED, MISSING = "done", "partial", "failed", "missing"

Group = tuple[Any, ...]
"""Values of the varied keys, in the order of the keys."""


@dataclass(frozen=True, slots=True)
class Point:
    """One requested run: its coordinates and its directory."""

    key: str
    values: Group
    scheme: str
    seed: int
    command: str = ""
    path: str | None = None
    """Directory of the run if it is not in the store."""


class Results:
    """The results of one run or of many.

    :func:`backwater.load` and :func:`backwater.run` return it. The state of the runs is read once.
    Load the directory again to see which runs have finished since.

    Attributes
    ----------
    path : Path
        The directory.
    keys : list of str
        The varied keys of the scenario.
    failed : dict
        Failures by key of the run, each with its ``kind``, ``message`` and ``command``.

    """

    def __init__(self, path: Path, about: dict[str, Any], points: Sequence[Point]) -> None:
        self.path = path
        self.about = about
        self.points = list(points)
        self.keys: list[str] = about["keys"]
        self.store = Store(path / about["store"])
        self._files: dict[str, RunFiles] = {}
        for point in self.points:
            if point.path is not None:
                self._files[point.key] = RunFiles(path / point.path)
        outside = {key: run for key, run in self._files.items() if not run.partial}
        self.rows: dict[str, dict[str, Any]] = {
            key: columns.row(run.summary) for key, run in outside.items()
        }
        """Columns of each finished run, by key."""

        wanted = [point.key for point in self.points if point.path is None]
        if wanted:
            self.rows |= self.store.table(wanted)
        missing = [key for key in wanted if key not in self.rows]
        self.failed: dict[str, Failure] = {
            key: failure for key in missing if (failure := self.store.failure(key)) is not None
        }
        self._partial = {
            key: run for key in missing if (run := self.store.partial(key)) is not None
        } | {key: run for key, run in self._files.items() if run.partial}

    @classmethod
    def of_run(cls, run: RunFiles) -> Results:
        """Return the results of one run in its own directory."""
        about = {"name": run.name, "keys": [], "axes": [], "store": "store"}
        key = str(run.summary.get("key") or run.digest)
        found = cls(run.path, about, [Point(key, (), run.scheme, run.seed, path=".")])
        found._files[key] = run
        return found

    @classmethod
    def open(cls, path: Path) -> Results:
        """Open the directory of many runs."""
        about = read_json(path / RESULTS, ("format", "store", "keys", "axes", "points"))
        if about["format"] != FORMAT:
            raise InputError(
                f"{path}: written by another version (format {about['format']}); repeat the runs"
            )
        points = [Point(**(p | {"values": tuple(p["values"])})) for p in about.pop("points")]
        return cls(path, about, points)

    @classmethod
    def together(cls, parts: Sequence[Results]) -> Results:
        """Return several results as one, with their names as the coordinate ``results``."""
        names = [str(part.path) for part in parts]
        keys = list(dict.fromkeys(key for part in parts for key in part.keys))
        points = []
        for name, part in zip(names, parts, strict=True):
            for point in part.points:
                own = dict(zip(part.keys, point.values, strict=True))
                values = (name, *(own.get(key) for key in keys))
                where = part.path_of(point.key)
                if where is not None:
                    points.append(replace(point, values=values, path=str(where.absolute())))
        axes = [["results"], *([key] for key in keys)]
        about = {"name": ", ".join(names), "keys": ["results", *keys], "axes": axes, "store": "."}
        return cls(Path(), about, points)

    def __repr__(self) -> str:
        counts = ", ".join(f"{n} {state}" for state, n in self.counts.items() if n)
        return f"Results({self.name!r}, {counts or 'no runs'}, path={str(self.path)!r})"

    def _repr_html_(self) -> str:
        """Show the table of results in a notebook."""
        shown: str = provided("html")(self)
        return shown

    def __len__(self) -> int:
        return len(self.points)

    # --- Which runs --------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Name of the scenario or sweep."""
        return str(self.about["name"])

    @property
    def schemes(self) -> list[str]:
        """The schemes, in the order of the request."""
        return list(dict.fromkeys(point.scheme for point in self.points))

    @property
    def seeds(self) -> list[int]:
        """The seeds, in the order of the request."""
        return list(dict.fromkeys(point.seed for point in self.points))

    @property
    def groups(self) -> list[Group]:
        """The combinations of values of the varied keys, in the order of the request."""
        return list(dict.fromkeys(point.values for point in self.points))

    def state(self, key: str) -> str:
        """Return the state of a run: ``done``, ``partial``, ``failed`` or ``missing``."""
        if key in self.rows:
            return DONE
        if key in self._partial:
            return PARTIAL
        return FAILED if key in self.failed else MISSING

    @property
    def counts(self) -> dict[str, int]:
        """Number of distinct runs by state."""
        states = [self.state(key) for key in dict.fromkeys(point.key for point in self.points)]
        return {state: states.count(state) for state in (DONE, PARTIAL, FAILED, MISSING)}

    @property
    def partial(self) -> bool:
        """True if runs are missing, or if only their first part was run."""
        return any(self.state(point.key) in (PARTIAL, MISSING) for point in self.points)

    @property
    def ok(self) -> bool:
        """True if every run finished and no run violated a check.

        For the results of a single run, it is also false if the run stalled.
        """
        if len(self.points) == 1 and not self.failed and not self.keys:
            found = self.labelled()
            return bool(found) and all(run.ok for run in found.values())
        return not self.partial and not self.failed and not self.violated

    @property
    def violated(self) -> list[Point]:
        """Runs that violated a check."""
        return [p for p in self.points if "violated" in self.rows.get(p.key, {}).get("audit", "")]

    @property
    def stalled(self) -> list[Point]:
        """Runs that stalled."""
        return [p for p in self.points if self.rows.get(p.key, {}).get("run.stalled")]

    def path_of(self, key: str) -> Path | None:
        """Return the directory of a run, or ``None`` if it has no results."""
        if key in self._files:
            return self._files[key].path
        if key in self._partial:
            return self._partial[key].path
        return self.store.path_of(key) if key in self.rows else None

    def files(self, key: str) -> RunFiles:
        """Return the files of one run."""
        if key not in self._files:
            run = self._partial.get(key) or self.store.get(key)
            if run is None:
                raise InputError(f"{self.store.path_of(key)}: no finished run here; repeat the run")
            self._files[key] = run
        return self._files[key]

    def is_ideal(self, scheme: str) -> bool:
        """Return true if a scheme has unlimited buffers, so that no switch can have it."""
        keys = (p.key for p in self.points if p.scheme == scheme and p.key in self.rows)
        first = next(keys, None)
        if first is None:
            return False
        resolved = tomllib.loads(self.files(first).resolved)
        return bool(resolved["scheme"].get("admission") == "unlimited")

    def label(self, point: Point, with_seed: bool = True) -> str:
        """Return a short text for a run: the coordinates that differ between the runs."""
        parts = [point.scheme] if len(self.schemes) > 1 or not self.keys else []
        parts += [
            f"{key}={value}" if key not in ("scenario", "results") else str(value)
            for key, value in zip(self.keys, point.values, strict=True)
        ]
        if with_seed and len(self.seeds) > 1:
            parts.append(f"seed {point.seed}")
        return ", ".join(parts)

    def labelled(self) -> dict[str, RunFiles]:
        """Return the files of all finished and partial runs by label."""
        return {
            self.label(point): self.files(point.key)
            for point in self.points
            if self.state(point.key) in (DONE, PARTIAL)
        }

    @property
    def only(self) -> RunFiles:
        """The files of the one run: its summary, its digest, its resolved scenario.

        Raises :class:`~backwater.InputError` if there are several runs.
        """
        there = {p.key: p for p in self.points if self.state(p.key) in (DONE, PARTIAL)}
        if len(there) == 1:
            return self.files(next(iter(there)))
        places = [str(self._named_place(point)) for point in list(there.values())[:4]]
        more = f" and {len(there) - 4} more" if len(there) > 4 else ""
        some = f"name one of them: {', '.join(places)}{more}" if there else "none of them finished"
        raise InputError(f"{self.path} holds several runs; {some}")

    def _named_place(self, point: Point) -> Path | None:
        """Return the directory of a run; the link with the name of its scheme if there is one."""
        place, link = self.path_of(point.key), self.path / self.label(point)
        return link if place is not None and link.resolve() == place.resolve() else place

    def select(self, scheme: str | None = None, seed: int | None = None, **values: Any) -> Results:
        """Return the runs with a scheme, with a seed, or with values of varied keys.

        Values of keys with dots are passed as ``select(**{"switch.buffer": "8MB"})``.
        """
        for key in values:
            if key not in self.keys:
                known = ", ".join(self.keys) or "none"
                raise InputError(f"`{key}` was not varied here; varied keys: {known}")
        kept = [
            point
            for point in self.points
            if (scheme is None or point.scheme == scheme)
            and (seed is None or point.seed == seed)
            and all(point.values[self.keys.index(key)] == value for key, value in values.items())
        ]
        if not kept:
            raise InputError(
                f"{self.path}: no run has these coordinates; schemes: {', '.join(self.schemes)}; "
                f"seeds: {', '.join(map(str, self.seeds[:10]))}"
            )
        found = Results.__new__(Results)
        found.__dict__.update(self.__dict__)
        found.__dict__.pop("runs", None)
        found.points = kept
        keys = {point.key for point in kept}
        found.failed = {key: failure for key, failure in self.failed.items() if key in keys}
        return found

    def __getitem__(self, scheme: str) -> Results:
        """Return the runs with a scheme."""
        return self.select(scheme)

    # --- As data frames ----------------------------------------------------------------------

    @cached_property
    def runs(self) -> pl.DataFrame:
        """One row per run: its coordinates, its state, and the columns of its summary.

        The coordinates are the varied keys (as they were written, such as ``"12MB"``), ``scheme``
        and ``seed``. ``state`` is ``done``, ``partial``, ``failed`` or ``missing``; ``path`` is the
        directory. :func:`backwater.columns` describes the other columns and their units. Each
        counter of the summaries has a column, such as ``counters.timeouts``.
        """
        points = self.points
        found: dict[str, list[Any]] = {
            key: [point.values[i] for point in points] for i, key in enumerate(self.keys)
        }
        paths = [self.path_of(point.key) for point in points]
        found |= {
            "scheme": [point.scheme for point in points],
            "seed": [point.seed for point in points],
            "state": [self.state(point.key) for point in points],
            "error": [f.message if (f := self.failed.get(p.key)) else None for p in points],
            "path": [None if path is None else str(path) for path in paths],
        }
        rows = [self._row(point.key) for point in points]
        there = {name for row in rows for name in row}
        types: dict[str, Any] = {"seed": pl.UInt64, "error": pl.String, "path": pl.String}
        for column in columns.known(there):
            found[column.name] = [
                row.get(column.name, column.absent if row else None) for row in rows
            ]
            kinds = {"text": pl.String, "count": pl.Int64, "ps": pl.Float64}
            types[column.name] = kinds.get(column.unit, pl.Float64)
            if column.unit in ("ps", "bytes"):
                whole = all(isinstance(v, int | None) for v in found[column.name])
                types[column.name] = pl.Int64 if whole else pl.Float64
        return pl.DataFrame(
            [pl.Series(n, v, dtype=types.get(n), strict=False) for n, v in found.items()]
        )

    def _row(self, key: str) -> dict[str, Any]:
        if key in self.rows or key not in self._partial:
            return self.rows.get(key, {})
        return columns.row(self._partial[key].summary)

    def table(self, name: str) -> pl.DataFrame:
        """Return a table of all runs, with the coordinates of the runs as first columns.

        Parameters
        ----------
        name
            Such as ``"flows"``, ``"ports"`` or ``"collectives"``; ``backwater.catalogue("tables")``
            describes all tables and their columns.

        Raises
        ------
        InputError
            If there is no such table, or a run did not record it.

        """
        scanned = self.scan(name)
        with reading(self.path / f"{name}.parquet"):
            return scanned.collect()

    def scan(self, name: str) -> pl.LazyFrame:
        """Return a table as :meth:`table` does, but read it when the result is collected."""
        points = [p for p in self.points if self.state(p.key) in (DONE, PARTIAL)]
        if not points:
            raise InputError(f"{self.path}: no run is finished")
        paths = [self.path_of(point.key) or self.path for point in points]
        where = {key: [point.values[i] for point in points] for i, key in enumerate(self.keys)} | {
            "scheme": [p.scheme for p in points],
            "seed": [p.seed for p in points],
        }
        # Equal runs of several points share one directory.
        places = list(dict.fromkeys(paths))
        scanned = scan(places, name)
        told = pl.DataFrame(where, schema_overrides={"seed": pl.UInt64}, strict=False)
        if len(places) == 1 and len(points) == 1:
            return scanned.select(
                *(pl.lit(told[key][0], dtype=told[key].dtype).alias(key) for key in told.columns),
                pl.all(),
            )
        files = pl.Series("file", [str(path / f"{name}.parquet") for path in paths])
        if len(places) == 1:
            scanned = scanned.with_columns(file=pl.lit(files[0]))
        return told.with_columns(files).lazy().join(scanned, on="file").drop("file")

    # --- Over seeds --------------------------------------------------------------------------

    def column(self, name: str) -> Column:
        """Return a column of :attr:`runs` by its name or an earlier one."""
        found = columns.column(name)
        if self.rows and not any(found.name in row for row in self.rows.values()):
            there = sorted({one for row in self.rows.values() for one in row} - {found.name})
            hint = columns.near(found.name, there)
            raise InputError(f"no run has a value of `{found.name}`; {hint}")
        return found

    def values(self, name: str) -> dict[tuple[Group, str], dict[int, float]]:
        """Collect the values of a column by varied values and scheme, and then by seed."""
        column = self.column(name)
        found: dict[tuple[Group, str], dict[int, float]] = {}
        for point in self.points:
            group = found.setdefault((point.values, point.scheme), {})
            row = self.rows.get(point.key)
            value = None if row is None else row.get(column.name, column.absent)
            if value is not None:
                group[point.seed] = value
        return found

    def statistics(self, name: str, percentiles: Sequence[float] = (0.5,)) -> pl.DataFrame:
        """Return mean and percentiles of a column over seeds, with 95 % intervals.

        There is one row per combination of varied values and scheme.
        """
        least = self.column(name).least
        rows = []
        for (values, scheme), by_seed in self.values(name).items():
            numbers = [float(v) for v in by_seed.values()]
            row: dict[str, Any] = dict(zip(self.keys, values, strict=True))
            row |= {"scheme": scheme, "seeds": len(numbers)}
            row |= _interval("mean", statistics.mean(numbers, least=least))
            for share in percentiles:
                row |= _interval(f"p{share * 100:g}", statistics.percentile(numbers, share))
            rows.append(row)
        return _frame(rows, self.keys)

    def differences(self, name: str, baseline: str | None = None) -> pl.DataFrame:
        """Return mean differences of a column to a baseline scheme at the same seed.

        They have 95 % intervals. The default baseline is the first scheme.
        """
        baseline = self.schemes[0] if baseline is None else baseline
        if baseline not in self.schemes:
            raise InputError(f"no scheme `{baseline}` here; there are {', '.join(self.schemes)}")
        groups = self.values(name)
        rows = []
        for (values, scheme), by_seed in groups.items():
            if scheme == baseline:
                continue
            row: dict[str, Any] = dict(zip(self.keys, values, strict=True))
            row |= {"scheme": scheme, "baseline": baseline}
            difference = statistics.paired(by_seed, groups.get((values, baseline), {}))
            row |= {"seeds": difference.count if difference else 0}
            rows.append(row | _interval("difference", difference))
        return _frame(rows, self.keys)

    # --- For people --------------------------------------------------------------------------

    @property
    def plot(self) -> Any:
        """Figures with all runs, such as ``plot.slowdown()``."""
        if not (runs := self.labelled()):
            raise InputError(f"{self.path}: no run is finished")
        return provided("plot")(runs, {self.label(p): self.label(p, False) for p in self.points})

    def report(self, path: str | Path | None = None, **options: Any) -> Path:
        """Write the HTML report.

        Parameters
        ----------
        path
            The file; by default ``report.html`` in the directory of the results.
        **options
            ``minimize``, ``maximize`` and ``subject_to`` define the ranking of many runs.

        Returns
        -------
        Path
            The file.

        """
        file = self.path / REPORT if path is None else Path(path)
        written: Path = provided("report")(file, self, **options)
        return written


def _interval(name: str, interval: statistics.Interval | None) -> dict[str, float | None]:
    if interval is None:
        return {name: None, f"{name}_low": None, f"{name}_high": None}
    return {name: interval.estimate, f"{name}_low": interval.low, f"{name}_high": interval.high}


def _frame(rows: Sequence[Mapping[str, Any]], keys: list[str]) -> pl.DataFrame:
    told = {*keys, "scheme", "baseline", "seeds"}
    numbers = {name: pl.Float64 for row in rows for name in row if name not in told}
    return pl.DataFrame(rows, infer_schema_length=None, schema_overrides=numbers)


def load(*paths: str | Path) -> Results:
    """Open the results in a directory, or those in several directories as one.

    Parameters
    ----------
    *paths
        Directories that :func:`backwater.run`, a sweep or a command wrote. Results of several
        directories have the coordinate ``results``, which names the directory.

    Returns
    -------
    Results
        The runs.

    Raises
    ------
    InputError
        If a directory holds no results, or they are damaged.

    """
    if not paths:
        raise InputError("load: name a directory of results")
    for path in paths:
        if not isinstance(path, str | PathLike):
            example = "each directory is an argument of its own, as in load('a', 'b')"
            raise InputError(f"load: a {type(path).__name__} is not a path; {example}")
    found = [_load(Path(path)) for path in paths]
    return found[0] if len(found) == 1 else Results.together(found)


def _load(path: Path) -> Results:
    if path.is_file():
        raise InputError(
            f"{path}: this is a file; name the directory that holds the results of a run "
            f"(`backwater run SCENARIO -o DIR` makes one)"
        )
    if not path.exists():
        raise InputError(f"{path}: no such directory{_meant(path)}")
    if (path / RUNS).is_dir() and (path.parent / RESULTS).exists():
        path = path.parent  # The store of these results.
    if (path / RESULTS).exists():
        return Results.open(path)
    if not (path / SUMMARY).exists() and (inside := results_in(path)):
        places = some_text([str(place) for place in inside], 3)
        raise InputError(f"{path}: no finished run here, but in {places}; name one of them")
    return Results.of_run(RunFiles(path))


def _meant(path: Path) -> str:
    """Return a hint with the most similar directory name, if there is one."""
    try:
        there = [entry.name for entry in path.parent.iterdir() if entry.is_dir()]
    except OSError:
        return ""
    near = get_close_matches(path.name, there, 1)
    return f"; did you mean {path.with_name(near[0])}?" if near else ""


def results_in(path: Path) -> list[Path]:
    """Return the directories of results that lie directly in a directory."""
    names: Iterable[str] = (SUMMARY, RESULTS)
    return sorted({found.parent for name in names for found in path.glob(f"*/{name}")})


__all__ = ["TABLES", "Failure", "Results", "load"]
