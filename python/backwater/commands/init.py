"""`backwater init`: writes a first scenario from a few questions."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from backwater.commands.common import Json, print_json, print_problems, say
from backwater.commands.declare import App, Argument, Option
from backwater.errors import ScenarioError

if TYPE_CHECKING:
    from backwater.scenario.draft import Answers


def register(app: App) -> None:
    """Add `init`."""
    app.add(
        init,
        example="backwater init first.toml --yes\n"
        "backwater init gpus.toml --hosts 64 --rails 8 --rate 400Gbps --mtu 4096B --yes",
    )


QUESTIONS = {
    "hosts": "Hosts in the fabric",
    "leaves": "Leaves, the switches with hosts",
    "spines": "Spines, the switches above them",
    "rate": "Rate of a host's link",
    "uplink": "Rate of the links between leaves and spines",
    "buffer": "Buffer of a switch, in all",
    "sizes": "Sizes of flows (`backwater list workloads`)",
    "load": "Load of the links between leaves and spines",
    "incast": "Senders of an incast, 0 for none",
    "schemes": "Schemes to compare (`backwater list schemes`)",
}
"""Question about each value, in the order in which the questions are asked."""


@dataclass
class Values:
    """Options for the values of the new scenario; None if the user did not give the option."""

    hosts: Annotated[
        int | None, Option("--hosts", min=2, max=100_000, help=QUESTIONS["hosts"] + ".")
    ] = None
    leaves: Annotated[
        int | None, Option("--leaves", min=1, max=10_000, help=QUESTIONS["leaves"] + ".")
    ] = None
    spines: Annotated[
        int | None, Option("--spines", min=1, max=10_000, help=QUESTIONS["spines"] + ".")
    ] = None
    rate: Annotated[str | None, Option("--rate", metavar="RATE", help=QUESTIONS["rate"] + ".")] = (
        None
    )
    uplink: Annotated[
        str | None, Option("--uplink", metavar="RATE", help=QUESTIONS["uplink"] + ".")
    ] = None
    delay: Annotated[
        str | None, Option("--delay", metavar="TIME", help="Propagation of a link, one way.")
    ] = None
    buffer: Annotated[
        str | None, Option("--buffer", metavar="SIZE", help=QUESTIONS["buffer"] + ".")
    ] = None
    sizes: Annotated[
        str | None, Option("--sizes", metavar="NAME", help=QUESTIONS["sizes"] + ".")
    ] = None
    load: Annotated[
        str | None, Option("--load", metavar="FRACTION", help=QUESTIONS["load"] + ".")
    ] = None
    incast: Annotated[int | None, Option("--incast", min=0, help=QUESTIONS["incast"] + ".")] = None
    duration: Annotated[
        str | None, Option("--duration", metavar="TIME", help="For how long flows start.")
    ] = None
    schemes: Annotated[
        str | None, Option("--schemes", metavar="A,B,…", help=QUESTIONS["schemes"] + ".")
    ] = None
    mtu: Annotated[
        str | None,
        Option("--mtu", metavar="SIZE", help="Payload of a full packet, such as 4096B."),
    ] = None
    response: Annotated[
        str | None,
        Option("--response", metavar="TIME", help="Time until a device obeys a PAUSE."),
    ] = None
    rails: Annotated[
        int | None,
        Option("--rails", min=2, max=64, help="GPUs per server of a rail-optimised fabric."),
    ] = None


def init(
    scenario: Annotated[Path, Argument(help="The scenario to write, a TOML file.")],
    values: Values,
    yes: Annotated[
        bool, Option("--yes", help="Ask nothing: what is not given has its default.")
    ] = False,
    force: Annotated[bool, Option("--force", help="Write over the file.")] = False,
    as_json: Json = False,
) -> None:
    """Write a first scenario: a leaf-spine or rail-optimised fabric, traffic, schemes to compare.

    On a terminal it asks for the values that no option gives.
    """
    from backwater._base.files import write_whole
    from backwater.scenario import Scenario, draft

    if scenario.exists() and not force:
        raise ScenarioError(f"error: {scenario}: is there already; --force writes over it")
    given = {name: value for name, value in vars(values).items() if value is not None}
    answers = draft.checked(draft.changed(draft.Answers(), **given))
    if not yes and sys.stdin.isatty():
        answers = _ask(answers, given)
    write_whole(scenario, draft.text(answers, scenario), parents=True)
    problems = Scenario(scenario).check()
    if as_json:
        about = {"scenario": str(scenario), "schemes": answers.names, "problems": problems}
        return print_json(about)
    print_problems(problems)
    name = shlex.quote(str(scenario))
    print(f"wrote {scenario}; next:")
    print(f"  backwater inspect {name}")
    print(f"  backwater run {name} --schemes {','.join(answers.names)}")


def _ask(answers: Answers, given: dict[str, object]) -> Answers:
    """Ask for the values that are not given. Repeat a question if the answer is invalid."""
    from backwater.scenario import draft

    for question, words in QUESTIONS.items():
        if question in given:
            continue
        default = getattr(answers, question)
        while True:
            answer = click.prompt(words, default=default, type=type(default))
            tried = draft.changed(draft.Answers(), **given, **{question: answer})
            why = draft.mistake(tried)
            if why is None:
                break
            say(f"  {why}")
        given[question] = answer
        answers = tried
    return answers
