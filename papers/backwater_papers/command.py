"""``backwater paper``: reproduces figures of papers and reports which of their claims hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from backwater.commands.common import BAD_INPUT, FAILED, GOOD, STOPPED, say
from backwater.commands.kinds import Kind, expecting
from backwater.errors import Interrupted, RunError, ScenarioError

if TYPE_CHECKING:
    from backwater.results.store import Failure
    from backwater.running.engine import Outcome
    from backwater.scenario import Scenario
    from backwater_papers.figure import Figure, Size
    from backwater_papers.reproduce import Place, Reproduced

_ALL_PROCESSORS = "processors / threads"
_EXAMPLES = """\b
Examples:
  backwater paper list
  backwater paper hpcc/fig13 --quick
  backwater paper bfc -o out/bfc --jobs 4"""


@click.command(epilog=_EXAMPLES, no_args_is_help=True)
@click.argument("names", metavar="FIGURE…", nargs=-1, required=True)
@click.option("--quick", is_flag=True, help="Run a reduced size, to see that it works.")
@click.option("--full", is_flag=True, help="Run all that claims need: every seed, and longer.")
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    metavar="N",
    help="Run only the first N seeds of each case.",
)
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    default=Path("out/paper"),
    show_default=True,
    help="Directory of pictures and tables.",
)
@click.option(
    "--store",
    type=click.Path(path_type=Path),
    metavar="DIR",
    show_default="DIR of -o, /runs",
    help="Directory of the runs.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    show_default=_ALL_PROCESSORS,
    help="Number of runs at a time.",
)
@click.option("--retry-failed", is_flag=True, help="Repeat runs that failed earlier.")
@click.option(
    "--relabel",
    is_flag=True,
    help="Do not simulate; update titles and explanations of the results in DIR.",
)
@click.option("--dry-run", is_flag=True, help="Do not simulate; print what would run and how long.")
@click.option("--json", "as_json", is_flag=True, help="Print the claims as JSON.")
@click.option(
    "--threads",
    type=click.IntRange(0, 1024),
    metavar="N",
    default=1,
    show_default=True,
    help="Processors for one run; 0: all. The results do not depend on it.",
)
def paper(
    names: tuple[str, ...],
    quick: bool,
    full: bool,
    seeds: int | None,
    out: Path,
    store: Path | None,
    jobs: int | None,
    retry_failed: bool,
    relabel: bool,
    dry_run: bool,
    as_json: bool,
    threads: int,
) -> None:
    """Reproduce figures of papers and report which of their claims hold.

    FIGURE is a figure such as hpcc/fig13, a paper such as hpcc, the file of a figure, or `all`;
    `list` lists the figures with their duration and their results in DIR. Runs are cached, so an
    interrupted figure continues with the runs that are missing. A claim that differs is a result
    and not a failure.
    """
    from backwater_papers import files

    if names == ("list",):
        _list(out, as_json)
        return
    wanted = files.wanted(list(names))
    for name in wanted:
        if name.endswith(".toml"):
            expecting(Kind.FIGURE)(Path(name))
    figures = [files.load(name) for name in wanted]
    if relabel:
        if quick or full or seeds or store or jobs or retry_failed or dry_run or as_json:
            raise ScenarioError("--relabel simulates nothing: it can be combined only with -o")
        raise click.exceptions.Exit(_reword(figures, out))
    work = _Work(figures, _size(quick, full), seeds, out, as_json)
    store = store or out / "runs"
    code = work.plan(store) if dry_run else work.run(store, jobs, retry_failed, threads)
    raise click.exceptions.Exit(code)


def _size(quick: bool, full: bool) -> Size:
    from backwater_papers.figure import Size

    if quick and full:
        raise ScenarioError("--quick and --full are two sizes; give one of them")
    return Size.QUICK if quick else Size.FULL if full else Size.USUAL


def _list(out: Path, as_json: bool) -> None:
    """Print all figures: duration, verdicts of the last results in a directory, and their state."""
    from backwater_papers import files, reproduce

    entries: list[dict[str, Any]] = []
    for name in files.available():
        figure = files.load(name)
        state, verdicts = reproduce.state(figure, out)
        entries.append(
            {
                "name": figure.name,
                "title": figure.title,
                "place": figure.place,
                "claims": len(figure.claims),
                "minutes": figure.minutes,
                "state": state,
                "verdicts": verdicts,
            }
        )
    if as_json:
        print(json.dumps(entries, indent=2, ensure_ascii=False))
        return
    width = max((len(entry["name"]) for entry in entries), default=0)
    for entry in entries:
        counts = ", ".join(f"{n} {verdict}" for verdict, n in entry["verdicts"].items())
        print(
            f"{entry['name']:<{width}}  {_minutes(entry['minutes']):>8}  {entry['title']} "
            f"({entry['claims']} claims; {entry['state']}{': ' if counts else ''}{counts})"
        )


def _minutes(minutes: float) -> str:
    return f"{minutes / 60:.1f} h" if minutes >= 90 else f"{max(minutes, 0.1):.2g} min"


class _Work:
    """Resolves the runs of some figures, runs them, and judges each figure."""

    def __init__(
        self, figures: list[Figure], size: Size, seeds: int | None, out: Path, as_json: bool
    ) -> None:
        self.figures, self.size, self.seeds = figures, size, seeds
        self.out, self.as_json = out, as_json
        self.reports: list[dict[str, Any]] = []
        self.done: list[Figure] = []
        self.code = GOOD

    def plan(self, store: Path) -> int:
        """Print how many runs are missing for each figure, and how long they take."""
        from backwater.results.store import Store

        known = Store(store).keys()
        usual = self.size == "usual" and self.seeds is None
        to_run: set[str] = set()
        total_minutes = 0.0

        def show(label: str, runs: int, minutes: float) -> None:
            about = f", about {_minutes(minutes)} on one core" if usual and minutes else ""
            print(f"{label}{runs} to run{about}")

        for figure in self.figures:
            tasks = self._resolve([figure]).get(figure.name)
            if tasks is None:
                continue
            wanted = {task.key for task in tasks.values()}
            missing = wanted - known
            cached = len(wanted) - len(missing)
            minutes = figure.minutes * len(missing) / max(len(wanted), 1)
            label = f"{figure.name}: {len(wanted)} runs, {cached} cached, "
            show(label, len(missing), minutes)
            to_run |= missing
            total_minutes += minutes
        if len(self.figures) > 1:
            show("all: ", len(to_run), total_minutes)
        return self.code

    def run(self, store: Path, jobs: int | None, retry_failed: bool, threads: int) -> int:
        """Run all missing simulations, then finish each figure."""
        from backwater.results.store import Store
        from backwater.running.engine import Outcome, run_all
        from backwater.running.progress import display

        tasks = self._resolve(self.figures)
        wanted = [task for own in tasks.values() for task in own.values()]
        with display("paper") as listener:
            try:
                outcome = run_all(
                    wanted,
                    Store(store),
                    jobs=jobs,
                    retry_failed=retry_failed,
                    listener=listener,
                    threads=threads,
                )
            except Interrupted as stop:
                assert isinstance(stop.result, Outcome)
                outcome, self.code = stop.result, STOPPED
        for notice in outcome.notices:
            say(f"warning: {notice}")
        for figure in self.figures:
            if figure.name in tasks:
                self._finish(figure, tasks[figure.name], outcome)
        _write_table(self.done, self.out)
        if self.as_json:
            print(json.dumps(self.reports, indent=2, ensure_ascii=False))
        if self.code == STOPPED:
            say(f"Interrupted. Finished runs are kept in {store}; the same command continues.")
        return self.code

    def _resolve(self, figures: list[Figure]) -> dict[str, dict[Place, Scenario]]:
        """Return the runs of each figure; print an error for a figure that cannot be run."""
        from backwater_papers.reproduce import tasks

        resolved = {}
        for figure in figures:
            found = tasks(figure, self.size, self.seeds)
            try:
                for task in found.values():
                    _ = task.key
            except ScenarioError as error:
                say(f"error: {figure.name} cannot be run:\n{error}\n  run: {task.command}")
                self.code = BAD_INPUT
            else:
                resolved[figure.name] = found
        return resolved

    def _finish(self, figure: Figure, tasks: dict[Place, Scenario], outcome: Outcome) -> None:
        from backwater_papers import reproduce

        wanted = dict.fromkeys(tasks.values())
        failures = {task.command: outcome.failed[task] for task in wanted if task in outcome.failed}
        if failures:
            _print_failures(figure, failures)
            self.code = self.code or FAILED
            return
        missing = sum(task not in outcome.runs for task in wanted)
        if missing:
            say(f"{figure.name}: {missing} of {len(wanted)} runs are missing")
            return
        for task in wanted:
            run = outcome.runs[task]
            if not run.ok:
                faults = "; ".join(v["message"] for v in run.summary["violations"]) or "stalled"
                say(f"error: {figure.name}: {task.command}: {faults}")
                self.code = self.code or FAILED
        runs = {place: outcome.runs[task] for place, task in tasks.items()}
        results = reproduce.Results(figure, runs, self.size, self.seeds)
        try:
            done = reproduce.finish(results, self.out, self._command(figure))
        except RunError as error:
            say(f"error: {figure.name}: {error}")
            self.code = self.code or FAILED
            return
        self.reports.append(done.about)
        self.done.append(figure)
        if not self.as_json:
            _print(done)

    def _command(self, figure: Figure) -> str:
        """Return the command that reproduces one figure with these options."""
        words = ["backwater paper", figure.name]
        if self.seeds:
            words.append(f"--seeds {self.seeds}")
        if self.size != "usual":
            words.append(f"--{self.size}")
        return " ".join(words)


def _write_table(figures: list[Figure], out: Path) -> None:
    """Write the list of claims of all results in a directory."""
    from backwater_papers import files
    from backwater_papers.table import write_table

    names = dict.fromkeys([*files.available(), *(figure.name for figure in figures)])
    table = write_table(out, list(names)) if figures else None
    if table is not None:
        say(f"claims: {table}")


def _reword(figures: list[Figure], out: Path) -> int:
    """Update the texts of results from their figure files; report results that must be rerun."""
    from backwater_papers import reproduce

    code, done = GOOD, []
    for figure in figures:
        try:
            reproduce.reword(figure, out)
        except RunError as error:
            say(f"error: {figure.name}: {error}")
            code = FAILED
        else:
            done.append(figure)
    _write_table(done, out)
    return code


def _print_failures(figure: Figure, failures: dict[str, Failure]) -> None:
    for command, failure in failures.items():
        say(f"error: {figure.name}: a run failed ({failure.kind}): {failure.message}")
        say(f"  run: {command}")
    say("  --retry-failed repeats them")


def _print(done: Reproduced) -> None:
    """Print the claims of a figure: the paper's value, ours, and the verdict."""
    from rich.console import Console
    from rich.text import Text

    from backwater_papers.table import size_text

    console = Console(highlight=False, soft_wrap=True)
    figure = done.figure
    console.print(Text(f"{figure.name}  {figure.title}  ({figure.place})", style="bold"))
    console.print(Text(f"  {size_text(done.about)}"))
    styles = {"holds": "green", "differs": "red", "inconclusive": "yellow"}
    for verdict in done.verdicts:
        holds = verdict.verdict == "holds"
        words = Text("  ")
        words.append(f"{verdict.verdict:<12}", style=styles[verdict.verdict])
        words.append(f" {verdict.text} ({verdict.place})")
        console.print(words)
        cases = [f"{case.at}: {case.ours}" if case.at else case.ours for case in verdict.cases]
        console.print(
            Text(
                f"               paper: {verdict.paper}; ours: {'; '.join(cases)}; "
                f"expected: {verdict.expected}"
            )
        )
        if verdict.cause and not holds:
            console.print(Text(f"               cause: {verdict.cause}"))
    console.print(Text(f"  picture: {done.picture}\n"))
