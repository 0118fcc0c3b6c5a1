"""What runs left behind, as data frames."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backwater import _core
from backwater.errors import InputError

if TYPE_CHECKING:
    import polars

    from backwater.plots.figures import Plots
    from backwater.results.dataset import Campaign

SUMMARY = "summary.json"
COMPARISON = "comparison.json"
CAMPAIGN = "campaign.json"
HOST = "host.json"
STORE = "store"
REPORT = "report.html"
TABLES: tuple[dict[str, Any], ...] = tuple(json.loads(_core.catalogue("tables")))
"""The tables of a run as the program declares them: ``name``, ``file``, ``about``, ``columns`` and
``record``, an example of what makes ``[record]`` of a scenario record it, or None where every run
has it."""
RUN_FILES = (
    "resolved.toml",
    *(table["file"] for table in TABLES if table["record"] is None),
    SUMMARY,
)
"""What a run leaves; the `results` crate writes them."""
RECORDED_FILES = tuple(table["file"] for table in TABLES if table["record"] is not None)
"""What a run leaves besides, where ``[record]`` of its scenario requests it."""


def run_files(path: Path) -> list[str]:
    """Name the files of the run in a directory: all that it must have, and what it recorded."""
    return [*RUN_FILES, *(name for name in RECORDED_FILES if (path / name).exists())]


class Run:
    """One finished (or interrupted) run: a directory whose files are read when they are first used.

    Times are in picoseconds, sizes in bytes, rates in bits per second; the names of the columns
    say so.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.summary: dict[str, Any] = _read_json(self.path / SUMMARY, _SUMMARISED)

    def __repr__(self) -> str:
        partial = ", partial" if self.partial else ""
        return f"Run({self.scheme!r}, digest={self.digest}{partial}, path={str(self.path)!r})"

    def _repr_html_(self) -> str:
        """Show the table of results in a notebook."""
        from backwater.report.notebook import table

        return table({self.scheme: self})

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
        """64 bits, in hexadecimal, that are the same if and only if the trajectory is."""
        return str(self.summary["digest"])

    @property
    def partial(self) -> bool:
        """The run was interrupted: everything is about its first part."""
        return bool(self.summary["partial"])

    @property
    def ok(self) -> bool:
        """No check was violated, and the network did not come to a standstill."""
        return bool(self.summary["ok"]) and self.summary["ending"] != "stalled"

    @property
    def deadlocks(self) -> list[dict[str, Any]]:
        """Circles of ports that wait for each other for ever, in the order of being found.

        Each says when it formed (``at_ps``) and was seen (``seen_ps``), its ``ports`` in the order
        in which they wait, the ``bytes`` in their queues, and the ``flows`` that hold others.
        """
        found: list[dict[str, Any]] = self.summary["deadlocks"]
        return found

    @cached_property
    def flows(self) -> polars.DataFrame:
        """A row per flow: size, times, slowdown."""
        return self._table("flows")

    @cached_property
    def operations(self) -> polars.DataFrame:
        """A row per operation of a workload that has ended: rank, kind, bytes, times."""
        return self.table("operations")

    @cached_property
    def collectives(self) -> polars.DataFrame:
        """A row per collective that all its ranks have ended: times, bandwidths, the last rank."""
        return self.table("collectives")

    @cached_property
    def ranks(self) -> polars.DataFrame:
        """A row per rank of a workload: time computing, exposed communication, idle time."""
        return self.table("ranks")

    @cached_property
    def ports(self) -> polars.DataFrame:
        """A row per port (its sending direction): what it carried, marked, dropped, waited."""
        return self._table("ports")

    @cached_property
    def queues(self) -> polars.DataFrame:
        """A row per probe and switch: bytes in its buffer.

        While the network is empty a row stands for ``probes`` probes at equal distances, the first
        at ``from_ps``, the last at ``at_ps``; ``measured_queues`` has a row for each of them.
        """
        return self._table("queues")

    @cached_property
    def active(self) -> polars.DataFrame:
        """A row per port and number of active flows: how many probes saw that number."""
        return self._table("active")

    @cached_property
    def pauses(self) -> polars.DataFrame:
        """A row per interval during which PFC held a port's class.

        ``node`` and ``port`` had to wait, from ``from_ps`` to ``to_ps``. Where ``open`` is true the
        pause had not ended when the run did, and ``to_ps`` is the end of the run. ``number`` tells
        which pause it was, where single pauses are followed.
        """
        return self._table("pauses")

    @cached_property
    def throughput(self) -> polars.DataFrame:
        """A row per interval and flow whose receiver got something: ``[record] throughput``.

        ``at_ps`` is the end of the interval, ``bytes`` the payload received in order within it.
        """
        return self.table("throughput")

    @cached_property
    def utilisation(self) -> polars.DataFrame:
        """A row per interval and port that sent something: ``[record] utilisation``.

        ``at_ps`` is the end of the interval. Frames of ``bytes`` began within it, and the port of
        ``node`` towards ``peer`` sent for ``busy_ps`` of it.
        """
        return self.table("utilisation")

    @cached_property
    def port_queues(self) -> polars.DataFrame:
        """Queues of switch ports over time: ``[record] queues``.

        ``bytes`` are those of all classes that wait for the port of ``node`` towards ``peer``.
        There is a row where the value differs from the port's sample before, so it holds until the
        port's next row: draw it in steps (``drawstyle="steps-post"``).
        """
        return self.table("port_queues")

    @cached_property
    def port_ingress(self) -> polars.DataFrame:
        """What ports of switches let in and still hold, over time: ``[record] ingress``.

        ``bytes`` are those of ``class`` that came to ``node`` from ``peer``; its neighbour is
        paused where those of them in the pool are more than ``threshold_bytes``. As in
        :attr:`port_queues`, a row holds until the next one of its port and class.
        """
        return self.table("port_ingress")

    @cached_property
    def queue_histogram(self) -> polars.DataFrame:
        """A row per switch port and bin of its queue: ``[record] histogram``.

        ``samples`` instants saw a queue of at least ``bin_bytes`` and less than the next bin's.
        """
        return self.table("queue_histogram")

    @cached_property
    def rtt(self) -> polars.DataFrame:
        """A row per bin of the round trips that senders saw: ``[record] rtt``.

        ``samples`` ACKs came back at least ``bin_ps`` and less than the next bin's picoseconds
        after the transmission of their packet had begun.
        """
        return self.table("rtt")

    @cached_property
    def delay_histogram(self) -> polars.DataFrame:
        """A row per switch port and bin of how long data packets waited there: ``[record] delay``.

        ``samples`` packets waited at least ``bin_ps`` and less than the next bin's picoseconds.
        With Homa those that needed a grant have ``scheduled``; with other schemes all have.
        """
        return self.table("delay_histogram")

    @cached_property
    def pause_causes(self) -> polars.DataFrame:
        """A row per PAUSE that a switch decided on: ``[record] pauses``.

        ``node`` paused ``peer`` at its ``port``, when the ingress held ``held_bytes``. Most of them
        waited for ``egress``; ``parent`` is the number of the pause that holds that port and caused
        this one, if one did, and ``root_name``, ``root_peer_name`` name the congested port.
        """
        return self.table("pause_causes")

    @cached_property
    def held_flows(self) -> polars.DataFrame:
        """A row per flow, port at which PFC held it, and congested port: ``[record] pauses``.

        A ``victim`` does not go to the congested port.
        """
        return self.table("held_flows")

    @cached_property
    def waiting(self) -> polars.DataFrame:
        """Per switch port, incasts apart: how long data waited there: ``[record] waiting``.

        ``packets`` left by the port of ``node`` towards ``peer``; each had waited, from its arrival
        at the switch to the start of its transmission, ``mean_ps`` on average, ``max_ps`` at most.
        """
        return self.table("waiting")

    @cached_property
    def blame(self) -> polars.DataFrame:
        """A row per flow that arrived whole: what its time consists of: ``[record] blame``.

        All columns but ``flow`` and ``fct_ps`` are parts, in picoseconds, that add up to
        ``fct_ps``: ``nic_*`` at its NIC, all others of the packet that completed it.
        """
        return self.table("blame")

    @cached_property
    def blame_hops(self) -> polars.DataFrame:
        """The waits by port that the last packet left by, the NIC's first: ``[record] blame``.

        ``spent_ps`` went to ``part`` at the port of ``node`` towards ``peer``; a pause goes back to
        the port ``root_port`` of ``root_node``.
        """
        return self.table("blame_hops")

    @property
    def blame_losses(self) -> polars.DataFrame:
        """A row per flow, port and cause for which packets were dropped: ``[record] blame``.

        ``packets`` carried data, ``answers`` are ACKs and the like; ``port`` of ``node`` leads to
        the link that lost them, or is the one that they waited for. Rows are of all flows, also of
        those that did not finish.
        """
        return self.table("blame_losses")

    @cached_property
    def resolved(self) -> str:
        """The scenario with every value filled in, as TOML."""
        with self._own_files():
            try:
                return (self.path / "resolved.toml").read_text(encoding="utf-8")
            except OSError as error:
                raise InputError(
                    f"{self.path}: cannot read resolved.toml: {error.strerror}", error.errno
                ) from error

    @property
    def plot(self) -> Plots:
        """Figures of this run."""
        from backwater.plots.figures import Plots

        return Plots({self.scheme: self})

    def report(self) -> Path:
        """Write ``report.html`` into the directory of the run."""
        from backwater.report.run import write_report

        return write_report(self.path / REPORT, {self.scheme: self})

    @property
    def fct_until(self) -> str:
        """Until when flows count: ``received``, their last byte, or ``acked``, their last ACK."""
        until: str = self.summary.get("fct_until", "received")  # Runs of before it was told.
        return until

    @property
    def flow_ends(self) -> list[polars.Expr]:
        """Columns of ``flows`` by which it is counted, as ``ended_ps`` and ``slowdown``."""
        import polars as pl

        slowdown = "slowdown" if self.fct_until == "received" else "slowdown_acked"
        return [
            pl.col(f"{self.fct_until}_ps").alias("ended_ps"),
            pl.col(slowdown).alias("slowdown"),
        ]

    def measured_flows(
        self, columns: Sequence[str | polars.Expr] | None = None, where: polars.Expr | None = None
    ) -> polars.DataFrame:
        """Flows that finished and started after the warm-up: those of the statistics.

        With ``columns`` only these are read and returned; with ``where`` only flows for which it
        holds.
        """
        import polars as pl

        wanted = pl.col("finished")
        if self.summary["measure_from_ps"]:  # Else that column need not be read.
            wanted &= pl.col("start_ps") >= self.summary["measure_from_ps"]
        if where is not None:
            wanted &= where
        return self.flows.filter(wanted) if columns is None else self.select_flows(columns, wanted)

    def select_flows(
        self, columns: Sequence[str | polars.Expr], where: polars.Expr | None = None
    ) -> polars.DataFrame:
        """Return some columns of ``flows``; the others are not read from disk for it."""
        import polars as pl

        path = self.path / "flows.parquet"
        if "flows" in self.__dict__:
            table = self.flows.lazy()
            return (table if where is None else table.filter(where)).select(columns).collect()
        with self._own_files(), _reading(path):
            table = pl.scan_parquet(path)
            return (table if where is None else table.filter(where)).select(columns).collect()

    def measured_queues(self) -> polars.DataFrame:
        """Probes of the measured time, a row for each: those of the statistics."""
        import polars as pl

        first, last = self.summary["measure_from_ps"], self.summary["measure_to_ps"]
        table = self.queues
        if "probes" in table.columns:
            touching = (pl.col("at_ps") >= first) & (pl.col("from_ps") <= last)
            table = _one_by_one(table.filter(touching))
        return table.filter(pl.col("at_ps").is_between(first, last))

    def interval_ps(self, record: str) -> int:
        """Return how often something was recorded that ``[record]`` has ``every`` so long."""
        import tomllib

        from backwater._base import quantity

        every = tomllib.loads(self.resolved)["record"][record]["every"]
        return int(quantity.number(every) or 0)

    def table(self, name: str) -> polars.DataFrame:
        """Return a table by its name; :data:`TABLES` has all of them with their columns.

        Raises :class:`~backwater.errors.InputError` where the run did not record it.
        """
        examples = {table["name"]: table["record"] for table in TABLES}
        if name not in examples:
            raise InputError(f"there is no table `{name}`; there are {', '.join(examples)}")
        example = examples[name]
        with self._own_files():
            if example is not None and not (self.path / f"{name}.parquet").exists():
                if example.startswith("[["):
                    raise InputError(f"{self.path}: this run has no {example}, and so no {name}")
                how = example if example.startswith("[") else f"[record] with {example}"
                raise InputError(f"{self.path}: {name} was not recorded; add {how}")
        return self._table(name)

    def _table(self, name: str) -> polars.DataFrame:
        import polars as pl

        path = self.path / f"{name}.parquet"
        with self._own_files(), _reading(path):
            return pl.read_parquet(path)

    @contextmanager
    def _own_files(self) -> Iterator[None]:
        """Raise ``InputError`` if another run replaced the directory while it was read.

        Files are read late, and another run may have replaced them since the summary was read.
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
def _reading(path: Path) -> Iterator[None]:
    """Say which file it was, where a table cannot be read."""
    import polars as pl

    try:
        yield
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path}: cannot be read ({error}); repeat the run") from error


class Comparison(Mapping[str, Run]):
    """Several schemes on the same flows, by name of the scheme."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.about: dict[str, Any] = _read_json(self.path / COMPARISON, _COMPARED)
        self._runs = {name: Run(self.path / name) for name in self.about["schemes"]}

    def __repr__(self) -> str:
        failed = f", failed={list(self.failed)}" if self.failed else ""
        return f"Comparison({list(self._runs)}{failed}, path={str(self.path)!r})"

    def _repr_html_(self) -> str:
        """Show the table of results in a notebook, a column per scheme."""
        from backwater.report.notebook import table

        return table(self._runs, self.failed)

    def __getitem__(self, scheme: str) -> Run:
        return self._runs[scheme]

    def __iter__(self) -> Iterator[str]:
        return iter(self._runs)

    def __len__(self) -> int:
        return len(self._runs)

    @property
    def runs(self) -> dict[str, Run]:
        """The runs by scheme."""
        return dict(self._runs)

    @property
    def failed(self) -> dict[str, str]:
        """Why schemes that are missing have failed."""
        failed: dict[str, str] = self.about["failed"]
        return failed

    @property
    def partial(self) -> bool:
        """The comparison was interrupted: runs are missing, or only their first part is there."""
        return bool(self.about["interrupted"]) or any(run.partial for run in self.values())

    @property
    def ok(self) -> bool:
        """Every scheme ran, and no check was violated."""
        return not self.failed and all(run.ok for run in self.values())

    @cached_property
    def summary(self) -> polars.DataFrame:
        """The table of results: a row per scheme."""
        import polars as pl

        from backwater.results.tables import ROWS

        return pl.DataFrame(
            [
                {"scheme": name} | {row.key: row.value(run.summary) for row in ROWS}
                for name, run in self.items()
            ],
            infer_schema_length=None,
        )

    @property
    def plot(self) -> Plots:
        """Figures with all schemes."""
        from backwater.plots.figures import Plots

        return Plots(self._runs)

    def report(self) -> Path:
        """Write ``report.html`` into the directory of the comparison."""
        from backwater.report.run import write_report

        return write_report(self.path / REPORT, self._runs, self.about)


def _one_by_one(queues: polars.DataFrame) -> polars.DataFrame:
    """Probes that share a row get one each."""
    import polars as pl

    between = (pl.col("at_ps") - pl.col("from_ps")) // (pl.col("probes") - 1).clip(1)
    number = pl.int_ranges(0, pl.col("probes").cast(pl.Int64), dtype=pl.UInt64)
    spread = queues.with_columns(between.alias("between"), number.alias("number"))
    at = pl.col("from_ps") + pl.col("number") * pl.col("between")
    return spread.explode("number").select(
        at.alias("at_ps"),
        pl.exclude("at_ps", "from_ps", "probes", "between", "number"),
    )


def load(path: str | Path) -> Run | Comparison | Campaign:
    """Open the directory of an earlier run, comparison or campaign."""
    path = Path(path)
    if path.is_file():
        raise InputError(
            f"{path}: this is a file; name the directory that holds the results of a run "
            f"(`backwater run SCENARIO -o DIR` makes one)"
        )
    if not path.exists():
        raise InputError(f"{path}: no such directory{_meant(path)}")
    if (path / CAMPAIGN).exists():
        from backwater.results.dataset import Campaign

        return Campaign(path)
    if (path / COMPARISON).exists():
        return Comparison(path)
    if not (path / SUMMARY).exists() and (inside := _results_in(path)):
        more = f" and {len(inside) - 3} more" if len(inside) > 3 else ""
        raise InputError(
            f"{path}: no finished run here, but in {', '.join(inside[:3])}{more}; name one of "
            f"them, or list all by `backwater report {path}`"
        )
    return Run(path)


def _meant(path: Path) -> str:
    """Ask whether the directory beside it with the most similar name is meant."""
    from difflib import get_close_matches

    try:
        there = [entry.name for entry in path.parent.iterdir() if entry.is_dir()]
    except OSError:
        return ""
    near = get_close_matches(path.name, there, 1)
    return f"; did you mean {path.with_name(near[0])}?" if near else ""


def _results_in(path: Path) -> list[str]:
    """Name the directories of results that lie directly in a directory."""
    names = (SUMMARY, COMPARISON, CAMPAIGN)
    return sorted({str(found.parent) for name in names for found in path.glob(f"*/{name}")})


_SUMMARISED = ("name", "scheme", "seed", "digest", "ending", "partial", "ok", "fct")
_COMPARED = ("command", "schemes", "failed", "interrupted")


def _read_json(path: Path, keys: Sequence[str]) -> dict[str, Any]:
    """Read a file of results, which must have some keys."""
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
