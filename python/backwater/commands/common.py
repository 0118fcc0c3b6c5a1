"""What several commands share: exit codes, options, and ways to speak to the user."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from backwater.commands.declare import INTERRUPTED, Argument, BadParameter, Option
from backwater.commands.kinds import Kind, expecting
from backwater.errors import InputError

if TYPE_CHECKING:
    from backwater.results import Comparison, Run
    from backwater.results.dataset import Campaign

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
Out = Annotated[
    Path | None,
    Option("-o", "--out", metavar="DIR", help="Where results go.", show_default="out/…"),
]
Jobs = Annotated[
    int | None,
    Option("--jobs", min=1, help="Runs at a time.", show_default="processors / threads"),
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
Force = Annotated[
    bool,
    Option("--force", help="Write into DIR even if it is not empty or has results of another run."),
]
Json = Annotated[bool, Option("--json", help="Print the summary as JSON.")]


_NAMED = 4
"""Runs that a message names at most."""


def listed(text: str, option: str) -> list[str]:
    """Return the names of a text that has commas between them, the value of an option."""
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise BadParameter(
            f"`{text}` has an empty name; expected names with one comma between each two",
            param_hint=option,
        )
    return names


def captured(capture: str | None, overrides: list[str] | None) -> list[str] | None:
    """Add the links whose frames are to be written to the changed values."""
    if capture is None:
        return overrides
    return [*(overrides or []), f"record.capture.links={json.dumps(listed(capture, '--capture'))}"]


def warn(
    scenario: Path,
    overrides: list[str] | None,
    seed: int | None,
    schemes: list[str | None],
    profile: str | None = None,
) -> set[str]:
    """Print each warning once, with the schemes that it concerns, and what does not apply to some.

    Returns the warnings in the form that summaries of runs have. Errors are left to the run, which
    reports them in more detail.
    """
    from backwater.running import simulate

    found: dict[tuple[str, str], list[str]] = {}
    fits = simulate.fitting(scenario, schemes, overrides or [], seed, profile)
    for scheme, fit in fits.items():
        for sentence in fit.left_out:
            say(f"warning: {sentence}\n")
        for problem in simulate.check(
            scenario, scheme=scheme, overrides=fit.overrides, seed=seed, profile=profile
        ):
            if problem["severity"] == "warning":
                told = (_of_summary(problem), problem["text"])
                found.setdefault(told, []).append(scheme or "")
    for (_, text), concerned in found.items():
        of = "" if len(concerned) == len(schemes) else f"{', '.join(concerned)}: "
        say(text.replace("warning: ", f"warning: {of}", 1) + "\n")
    return {short for short, _ in found}


def _of_summary(problem: Mapping[str, Any]) -> str:
    """Return a warning as the summary of a run has it, in one line and after its place, if any."""
    place = [str(problem[part]) for part in ("source", "line", "column") if problem[part]]
    return ": ".join([":".join(place), problem["message"]] if place else [problem["message"]])


def one_run(path: Path) -> Run:
    """Open the directory of one run.

    Raises ``InputError`` as :func:`backwater.load` does, and where there are several.
    """
    from backwater.results import Run, load

    found = load(path)
    if not isinstance(found, Run):
        raise of_several(found)
    return found


def of_several(found: Comparison | Campaign) -> InputError:
    """Return the error where several runs are given and one is needed; it names some."""
    from backwater.results import Comparison

    if isinstance(found, Comparison):
        paths = [run.path for run in found.runs.values()]
    else:
        paths = [found.store.path_of(key) for key in found.facts]
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    some = f"name one of them: {', '.join(map(str, paths[:_NAMED]))}{more}"
    return InputError(
        f"{found.path} holds several runs; {some if paths else 'none of them is there yet'}"
    )


def shown(result: Run | Comparison | Campaign | None) -> str:
    """Return the place of results, as it is shown."""
    return "nowhere" if result is None else str(result.path)


def say(text: str) -> None:
    """Print a line for the user beside the output."""
    print(text, file=sys.stderr)


def with_account(run: Run, record: bool) -> Run:
    """Return the same run with the account of its flows, as :func:`with_accounts` does."""
    return with_accounts({run.scheme: run}, record)[run.scheme]


def with_accounts(runs: Mapping[str, Run], record: bool) -> dict[str, Run]:
    """Return the same runs with the accounts of their flows, where there are any.

    An account is in the run itself or in the same run beside it, of which the user is told; where
    there is none, ``record`` makes that run.
    """
    from backwater.analysis import blame

    found = {name: blame.recorded(run) for name, run in runs.items()}
    beside = [str(one.path) for name, one in found.items() if one and one is not runs[name]]
    if beside:
        same = "the same run" if len(beside) == 1 else "the same runs"
        say(f"using the account in {', '.join(beside)}: {same}, with the same digest")
    return {
        name: one or (_with_account_made(runs[name]) if record else runs[name])
        for name, one in found.items()
    }


def _with_account_made(run: Run) -> Run:
    """Run it again with the account, beside it."""
    from backwater.analysis import blame
    from backwater.running import simulate
    from backwater.running.progress import display

    out = blame.again(run)
    with display([run.scheme]) as tell:
        again = simulate.run(
            run.path / "resolved.toml",
            overrides=[blame.RECORD],
            out=out,
            force=True,
            listener=lambda _, progress: tell(run.scheme, progress),
        )
    if run.partial:
        say(f"recorded in {out}: the whole run, of which {run.path} is the first part")
    elif again.digest == run.digest:
        say(f"recorded in {out}, with the same digest")
    else:
        say(f"recorded in {out}, with ANOTHER DIGEST: {again.digest}; a different version ran it")
    return again
