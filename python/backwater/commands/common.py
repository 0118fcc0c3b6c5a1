"""Exit codes, options and output that several commands share."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from backwater.commands.declare import INTERRUPTED, Argument, BadParameter, Option
from backwater.commands.kinds import Kind, expecting
from backwater.errors import ScenarioError

if TYPE_CHECKING:
    from backwater import scenario as described
    from backwater.results.files import RunFiles
    from backwater.results.results import Results

GOOD, FAILED, BAD_INPUT, STOPPED = 0, 1, 2, INTERRUPTED

Scenario = Annotated[Path, Argument(help="Scenario, a TOML file.", check=expecting(Kind.SCENARIO))]
Scheme = Annotated[str | None, Option("--scheme", metavar="NAME", help="Use this preset instead.")]
Overrides = Annotated[
    list[str] | None,
    Option("--set", metavar="KEY=VALUE", help="Change a value, such as switch.buffer=24MB."),
]
Seed = Annotated[int | None, Option("--seed", min=0, max=2**64 - 1, help="Use this seed instead.")]
Profile = Annotated[
    str | None,
    Option("--profile", metavar="NAME", help="Imitate another simulator, such as ns3."),
]
Schemes = Annotated[
    str | None,
    Option(
        "--schemes",
        metavar="A,B,…",
        help="Compare these presets on the same flows, and write a report.",
    ),
]
Seeds = Annotated[
    str | None,
    Option("--seeds", metavar="N-M", help="Run each of these seeds, such as 1-5 or 1,2,7."),
]
Jobs = Annotated[
    int | None,
    Option("--jobs", min=1, help="Runs at a time.", show_default="processors / threads"),
]
Out = Annotated[
    Path | None,
    Option("-o", "--out", metavar="DIR", help="Where results go.", show_default="out/…"),
]
Threads = Annotated[
    int,
    Option(
        "--threads",
        min=0,
        max=1024,
        metavar="N",
        help="Processors for one run; 0: all. Changes no result.",
    ),
]
Capture = Annotated[
    str | None,
    Option(
        "--capture",
        metavar="LINKS",
        help="Write the frames of links for Wireshark, such as 'leaf0->spine1,host0:*'.",
    ),
]
Minimize = Annotated[
    str | None,
    Option("--minimize", metavar="COLUMN", help="Rank by this column, such as fct.short.p99."),
]
Maximize = Annotated[
    str | None,
    Option("--maximize", metavar="COLUMN", help="Rank by this column, the highest first."),
]
SubjectTo = Annotated[
    list[str] | None,
    Option("--subject-to", metavar="BOUND", help="Rank last what breaks it, as in pfc.time=0."),
]
Force = Annotated[
    bool,
    Option("--force", help="Write into DIR even if it is not empty or has results of another run."),
]
Json = Annotated[bool, Option("--json", help="Print as JSON, for programs.")]
Run = Annotated[Path, Argument(metavar="RUN", help="Directory of a run.")]


@dataclass
class Given:
    """Options that name the scenario of a command and change its values."""

    scenario: Scenario
    scheme: Scheme = None
    overrides: Overrides = None
    seed: Seed = None

    def load(self, capture: str | None = None) -> described.Scenario:
        """Return the scenario that the options describe.

        ``capture`` is the value of ``--capture``: the links whose frames are captured. Raises
        ``ScenarioError`` if both ``--set`` and ``--scheme`` choose a scheme, because the results
        would have the wrong name.
        """
        from backwater.scenario import Scenario

        changes = [*(self.overrides or [])]
        if capture is not None:
            changes.append(f"record.capture.links={json.dumps(listed(capture, '--capture'))}")
        profile = getattr(self, "profile", None)
        found = Scenario(
            self.scenario, changes, scheme=self.scheme, seed=self.seed, profile=profile
        )
        refuse_schemes(found, [] if self.scheme is None else [self.scheme])
        return found


@dataclass
class Profiled(Given):
    """Options that name the scenario of a command which can imitate another simulator."""

    profile: Profile = None


@dataclass
class Ranked:
    """Options that describe how results are ranked."""

    minimize: Minimize = None
    maximize: Maximize = None
    subject_to: SubjectTo = None

    def options(self) -> dict[str, Any]:
        """Return the arguments of the functions that rank results."""
        bounds = self.subject_to or []
        return {"minimize": self.minimize, "maximize": self.maximize, "subject_to": bounds}


@dataclass
class Making:
    """Options of runs: the directory of their results, and how many run at a time."""

    out: Out = None
    jobs: Jobs = None
    threads: Threads = 1
    force: Force = False
    as_json: Json = False


def listed(text: str, option: str) -> list[str]:
    """Split the comma-separated value of an option into names.

    Raises ``BadParameter`` if a name is empty.
    """
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise BadParameter(
            f"`{text}` has an empty name; expected names with one comma between each two",
            param_hint=option,
        )
    return names


def seeds_of(text: str) -> list[int]:
    """Return the seeds of the value of ``--seeds``, such as ``1-5`` or ``1,2,7``."""
    found: list[int] = []
    for part in listed(text, "--seeds"):
        first, dash, last = part.partition("-")
        if not (first.isdecimal() and (last.isdecimal() or not dash)):
            raise BadParameter(
                f"`{part}`: expected seeds such as 1-5 or 1,2,7", param_hint="--seeds"
            )
        found += range(int(first), int(last or first) + 1)
    return found


def refuse_schemes(scenario: described.Scenario, schemes: Sequence[str]) -> None:
    """Raise ``ScenarioError`` if ``--set`` changes the scheme and ``schemes`` is not empty."""
    for override in scenario.overrides if schemes else ():
        key, _, value = override.partition("=")
        if key.strip() == "scheme.preset" or (key.strip() == "scheme" and "preset" in value):
            raise ScenarioError(
                f"error: `{override}` would replace the chosen scheme: {', '.join(schemes)}\n"
                "  = name each scheme once: by --scheme or --schemes, or by --set"
            )


def warn(scenario: described.Scenario, schemes: Sequence[str | None]) -> set[str]:
    """Print the warnings about a scenario with each of the schemes.

    A warning that applies to several schemes is printed once. The function also warns of overrides
    that are ignored because they do not apply to a scheme, and of presets that are equal in this
    scenario. Errors are not printed, because the run reports them in more detail. Returns the
    messages of the warnings about the scenario.
    """
    from backwater.scenario.equal import equal_presets

    found: dict[tuple[str, str], list[str]] = {}
    valid: dict[str, described.Scenario] = {}
    for scheme, fit in scenario.with_schemes(schemes).items():
        for sentence in fit.left_out:
            say(f"warning: {sentence}\n")
        problems = fit.scenario.check()
        if scheme is not None and all(one["severity"] != "error" for one in problems):
            valid[scheme] = fit.scenario
        for problem in problems:
            if problem["severity"] == "warning":
                warning = (problem["message"], problem["text"])
                found.setdefault(warning, []).append(scheme or "")
    for sentence in equal_presets(valid) if len(valid) > 1 else []:
        say(f"warning: {sentence}\n")
    for (_, text), concerned in found.items():
        of = "" if len(concerned) == len(schemes) else f"{', '.join(concerned)}: "
        say(text.replace("warning: ", f"warning: {of}", 1) + "\n")
    return {short for short, _ in found}


def one_run(path: Path) -> RunFiles:
    """Open the directory of one run.

    Raises ``InputError`` as :func:`backwater.load` does, and if there are several runs.
    """
    from backwater.results.results import load

    return load(path).only


def shown(result: Results | None) -> str:
    """Return the path of a directory of results, or ``nowhere`` if there are no results."""
    return "nowhere" if result is None else str(result.path)


def print_problems(problems: Iterable[Mapping[str, Any]]) -> None:
    """Print errors, warnings and notes of a scenario on standard error."""
    for problem in problems:
        say(problem["text"] + "\n" * (problem["severity"] != "note"))


def print_json(data: Any) -> None:
    """Print data on standard output as JSON."""
    print(json.dumps(data, indent=2, ensure_ascii=False, default=str))


def columns(
    rows: Sequence[Sequence[str]], align: str = "<>", indent: str = "", gap: str = "  "
) -> list[str]:
    """Return rows of cells as lines with aligned columns. Cells are never shortened.

    ``align`` has ``<`` or ``>`` for each column. The last one applies to all further columns. Cells
    of columns that the first row lacks are not aligned.
    """
    widths = [max(len(row[i]) for row in rows if i < len(row)) for i in range(len(rows[0]))]
    signs = align + align[-1] * len(widths)
    lines = []
    for row in rows:
        cells = zip(row, signs, [*widths, 0], strict=False)
        line = gap.join(f"{cell:{sign}{width}}" for cell, sign, width in cells)
        lines.append(f"{indent}{line}".rstrip())
    return lines


def say(text: str) -> None:
    """Print a line to standard error."""
    print(text, file=sys.stderr)


def with_account(run: RunFiles, record: bool) -> RunFiles:
    """Return the run with the delay breakdown of its flows, as :func:`with_accounts` does."""
    return with_accounts({run.scheme: run}, record)[run.scheme]


def with_accounts(runs: Mapping[str, RunFiles], record: bool) -> dict[str, RunFiles]:
    """Return the runs with the delay breakdown of their flows, if there is one.

    The breakdown is in the run itself, or in a repetition of the run in a neighbouring directory.
    In the second case a line reports the directory. If there is no breakdown and ``record`` is set,
    the run is repeated with a breakdown.
    """
    from backwater.analysis import blame

    found = {name: blame.recorded(run) for name, run in runs.items()}
    beside = [str(one.path) for name, one in found.items() if one and one is not runs[name]]
    if beside:
        same = "the same run" if len(beside) == 1 else "the same runs"
        say(f"using the delay breakdown in {', '.join(beside)}: {same}, with the same digest")
    return {
        name: one or (_repeated_with_account(runs[name]) if record else runs[name])
        for name, one in found.items()
    }


def _repeated_with_account(run: RunFiles) -> RunFiles:
    """Repeat the run with the delay breakdown in a neighbouring directory."""
    from backwater.analysis import blame
    from backwater.running.progress import display
    from backwater.running.single import run_one
    from backwater.scenario import Scenario

    out = blame.again(run)
    with display(run.scheme) as listener:
        scenario = Scenario(run.path / "resolved.toml", [blame.RECORD])
        again = run_one(scenario, out=out, force=True, listener=listener)
    if run.partial:
        say(f"recorded in {out}: the whole run, of which {run.path} is the first part")
    elif again.digest == run.digest:
        say(f"recorded in {out}, with the same digest")
    else:
        say(f"recorded in {out}, with ANOTHER DIGEST: {again.digest}; a different version ran it")
    return again
