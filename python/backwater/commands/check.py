"""``backwater check``."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

from backwater.commands.common import BAD_INPUT, GOOD, Json, Profiled, print_json, print_problems
from backwater.commands.declare import App, Exit, Option
from backwater.commands.inspect import print_thresholds


def register(app: App) -> None:
    """Add `check`."""
    app.add(check, example="backwater check scenarios/demo.toml --scheme dcqcn")


def check(
    given: Profiled,
    resolved: Annotated[
        bool, Option("--resolved", help="Print every value, defaults included.")
    ] = False,
    explain: Annotated[
        bool,
        Option("--explain", help="Like `backwater inspect --thresholds`."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Check a scenario for errors, warnings, and values that real networks do not have (notes)."""
    scenario = given.load()
    problems = scenario.check()
    errors = sum(problem["severity"] == "error" for problem in problems)
    if as_json:
        print_json(problems)
        raise Exit(BAD_INPUT if errors else GOOD)
    print_problems(problems)
    if errors:
        raise Exit(BAD_INPUT)
    if resolved:
        print(scenario.resolved, end="")
    if explain:
        print_thresholds(scenario)
    if not (resolved or explain):
        counts = Counter(problem["severity"] for problem in problems)
        found = [f"{n} {kind}{'s' * (n > 1)}" for kind, n in counts.items()]
        print(", ".join([f"{given.scenario}: ok", *found]))
