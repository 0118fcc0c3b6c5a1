"""``backwater paper``: reproduces figures of papers and says which of their claims hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from backwater.commands.common import BAD_INPUT, FAILED, GOOD, STOPPED, Threads, say
from backwater.commands.declare import App, Argument, Exit, Option
from backwater.commands.kinds import Kind, expecting
from backwater.errors import Interrupted, RunError, ScenarioError

if TYPE_CHECKING:
    from backwater.paper.figure import Figure, Size
    from backwater.paper.reproduce import Place, Reproduced, Results
    from backwater.results.store import Failure
    from backwater.running.runner import Outcome
    from backwater.scenario.task import Task


def register(app: App) -> None:
    """Add the command."""
    app.add(paper)


def paper(
    names: Annotated[
        list[str],
        Argument(
            metavar="FIGURE…",
            help="Figures such as hpcc/fig13, a paper such as hpcc, all; or list.",
        ),
    ],
    quick: Annotated[
        bool, Option("--quick", help="Run a reduced size, to see that it works.")
    ] = False,
    full: Annotated[
        bool, Option("--full", help="Run all that claims need: every seed, and longer.")
    ] = False,
    seeds: Annotated[
        int | None,
        Option("--seeds", min=1, metavar="N", help="Run the first N seeds of each case only."),
    ] = None,
    out: Annotated[
        Path, Option("-o", "--out", metavar="DIR", help="Where pictures and tables go.")
    ] = Path("out/paper"),
    store: Annotated[
        Path | None,
        Option(
            "--store", metavar="DIR", help="Where runs are kept.", show_default="DIR of -o, /runs"
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        Option("--jobs", min=1, help="Runs at a time.", show_default="processors / threads"),
    ] = None,
    retry_failed: Annotated[
        bool, Option("--retry-failed", help="Try runs again that failed before.")
    ] = False,
    words: Annotated[
        bool,
        Option("--words", help="Run nothing; give results in DIR the words of their file."),
    ] = False,
    readings: Annotated[
        bool,
        Option("--readings", help="Judge claims under the other readings of their file, too."),
    ] = False,
    as_json: Annotated[bool, Option("--json", help="Print claims as JSON.")] = False,
    threads: Threads = 1,
) -> None:
    """Reproduce figures of papers: runs, pictures, and which claims hold.

    Runs are kept and used again, so an interrupted figure goes on where it was. A claim that
    differs is a result and no failure.
    """
    from backwater.paper import files

    if names == ["list"]:
        _list(as_json)
        return
    wanted = files.wanted(names)
    for name in wanted:
        if name.endswith(".toml"):
            expecting(Kind.FIGURE)(Path(name))
    figures = [files.load(name) for name in wanted]
    if words:
        if quick or full or seeds or store or jobs or retry_failed or readings or as_json:
            raise ScenarioError("--words runs nothing: it goes with -o alone")
        raise Exit(_reword(figures, out))
    work: _Work
    if readings:
        figures = [figure for figure in figures if figure.readings]
        if not figures:
            raise ScenarioError("none of these figures has [[readings]]")
        few = seeds or (None if full else READING_SEEDS)
        work = _Readings(figures, _size(quick, full), few, out, as_json)
    else:
        work = _Claims(figures, _size(quick, full), seeds, out, as_json)
    raise Exit(work.run(store or out / "runs", jobs, retry_failed, threads))


def _size(quick: bool, full: bool) -> Size:
    from backwater.paper.figure import Size

    if quick and full:
        raise ScenarioError("--quick and --full say two sizes; give one of them")
    return Size.QUICK if quick else Size.FULL if full else Size.USUAL


def _list(as_json: bool) -> None:
    from backwater.paper import files

    figures = [files.load(name) for name in files.available()]
    if as_json:
        entries = [
            {"name": f.name, "title": f.title, "place": f.place, "claims": len(f.claims)}
            for f in figures
        ]
        print(json.dumps(entries, indent=2, ensure_ascii=False))
        return
    width = max((len(figure.name) for figure in figures), default=0)
    for figure in figures:
        count = f"{len(figure.claims)} claim{'s' if len(figure.claims) != 1 else ''}"
        print(f"{figure.name:<{width}}  {figure.title} ({count})")


class _Work:
    """Some figures that are to be run, each as its file has it or under several readings."""

    def __init__(
        self, figures: list[Figure], size: Size, seeds: int | None, out: Path, as_json: bool
    ) -> None:
        self.figures, self.size, self.seeds = figures, size, seeds
        self.out, self.as_json = out, as_json
        self.told: list[dict[str, Any]] = []
        self.done: list[Figure] = []
        self.code = GOOD

    def variants(self, figure: Figure) -> dict[str, Figure]:
        """Return what is run of a figure, by names that tell its variants apart."""
        raise NotImplementedError

    def finish(self, figure: Figure, results: dict[str, Results]) -> dict[str, Any]:
        """Write what came of the variants of a figure, print it, and return it as JSON."""
        raise NotImplementedError

    def run(self, store: Path, jobs: int | None, retry_failed: bool, threads: int) -> int:
        """Run everything that is missing, then finish figure after figure."""
        from backwater.results.store import Store
        from backwater.running.display import display
        from backwater.running.runner import Outcome, run_tasks

        tasks = self._resolve()
        wanted = [task for of in tasks.values() for own in of.values() for task in own.values()]
        with display("paper") as tell:
            try:
                outcome = run_tasks(
                    wanted,
                    Store(store),
                    jobs=jobs,
                    retry_failed=retry_failed,
                    listener=tell,
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
        _write_tables(self.done, self.out)
        if self.as_json:
            print(json.dumps(self.told, indent=2, ensure_ascii=False))
        if self.code == STOPPED:
            say(f"Interrupted. Finished runs are kept in {store}; the same command goes on there.")
        return self.code

    def _resolve(self) -> dict[str, dict[str, dict[Place, Task]]]:
        """Find out which runs are needed; a figure that cannot be run does not stop the others."""
        from backwater.paper.reproduce import tasks

        resolved = {}
        for figure in self.figures:
            found = {
                name: tasks(variant, self.size, self.seeds)
                for name, variant in self.variants(figure).items()
            }
            try:
                for task in (task for own in found.values() for task in own.values()):
                    _ = task.key
            except ScenarioError as error:
                say(f"error: {figure.name} cannot be run:\n{error}\n  run: {task.command}")
                self.code = BAD_INPUT
            else:
                resolved[figure.name] = found
        return resolved

    def _finish(
        self, figure: Figure, tasks: dict[str, dict[Place, Task]], outcome: Outcome
    ) -> None:
        from backwater.paper import reproduce

        wanted = dict.fromkeys(task for own in tasks.values() for task in own.values())
        failures = {task.command: outcome.failed[task] for task in wanted if task in outcome.failed}
        if failures:
            _tell_failures(figure, failures)
            self.code = self.code or FAILED
            return
        missing = sum(task not in outcome.runs for task in wanted)
        if missing:
            say(f"{figure.name}: {missing} of {len(wanted)} runs are missing")
            return
        for task in wanted:
            run = outcome.runs[task]
            if not run.ok:
                said = "; ".join(v["message"] for v in run.summary["violations"]) or "stalled"
                say(f"error: {figure.name}: {task.command}: {said}")
                self.code = self.code or FAILED
        results = {
            name: reproduce.Results(
                variant,
                {place: outcome.runs[task] for place, task in tasks[name].items()},
                self.size,
                self.seeds,
            )
            for name, variant in self.variants(figure).items()
        }
        try:
            self.told.append(self.finish(figure, results))
        except RunError as error:
            say(f"error: {figure.name}: {error}")
            self.code = self.code or FAILED
            return
        self.done.append(figure)

    def command(self, figure: Figure, *options: str) -> str:
        """Return the command that does this for one figure."""
        words = ["backwater paper", figure.name, *options]
        if self.size != "usual":
            words.append(f"--{self.size}")
        return " ".join(words)


class _Claims(_Work):
    """Figures as their files have them: pictures, and claims."""

    def variants(self, figure: Figure) -> dict[str, Figure]:
        return {"": figure}

    def finish(self, figure: Figure, results: dict[str, Results]) -> dict[str, Any]:
        from backwater.paper import reproduce

        command = self.command(figure, *([f"--seeds {self.seeds}"] if self.seeds else []))
        done = reproduce.finish(results[""], self.out, command)
        if not self.as_json:
            _print(done)
        return done.about


READING_SEEDS = 5
"""How many seeds other readings are judged by where nothing is said, but for ``--full``."""


class _Readings(_Work):
    """Figures under other readings than that of their files."""

    def variants(self, figure: Figure) -> dict[str, Figure]:
        from backwater.paper import readings

        return readings.variants(figure)

    def finish(self, figure: Figure, results: dict[str, Results]) -> dict[str, Any]:
        from backwater.paper import readings

        options = ["--readings"]
        if self.seeds not in {None, READING_SEEDS}:
            options.append(f"--seeds {self.seeds}")
        about = readings.finish(figure, results, self.out, self.command(figure, *options))
        if not self.as_json:
            print("\n".join([f"{figure.name}  {figure.title}", *readings.lines(about), ""]))
        return about


def _write_tables(figures: list[Figure], out: Path) -> None:
    """Write the table of claims of each paper that one of the figures is of."""
    from backwater.paper import files
    from backwater.paper.table import write_table

    names = list(dict.fromkeys([*files.available(), *(figure.name for figure in figures)]))
    for paper in dict.fromkeys(figure.name.partition("/")[0] for figure in figures):
        table = write_table(out, paper, names)
        if table is not None:
            say(f"claims: {table}")


def _reword(figures: list[Figure], out: Path) -> int:
    """Give results the words of their figure files, and say which need more than that."""
    from backwater.paper import readings, reproduce

    code, done = GOOD, []
    for figure in figures:
        try:
            reproduce.reword(figure, out)
            readings.reword(figure, out)
        except RunError as error:
            say(f"error: {figure.name}: {error}")
            code = FAILED
        else:
            done.append(figure)
    _write_tables(done, out)
    return code


def _tell_failures(figure: Figure, failures: dict[str, Failure]) -> None:
    for command, failure in failures.items():
        say(f"error: {figure.name}: a run failed ({failure.kind}): {failure.message}")
        say(f"  run: {command}")
    say("  --retry-failed tries them again")


def _print(done: Reproduced) -> None:
    """Print the claims of a figure: the paper's value, ours, and the verdict."""
    from rich.console import Console
    from rich.text import Text

    from backwater.paper.table import size_text

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
        seeds = f"; holds in {verdict.seeds_that_hold} of {verdict.seeds} seeds"
        console.print(
            Text(
                f"               paper: {verdict.paper}; ours: {verdict.ours}; "
                f"expected: {verdict.expected}{seeds if verdict.seeds > 1 else ''}"
            )
        )
        if verdict.cause and not holds:
            console.print(Text(f"               cause: {verdict.cause}"))
    console.print(Text(f"  picture: {done.picture}\n"))
