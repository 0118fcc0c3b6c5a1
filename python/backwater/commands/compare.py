"""``backwater compare``, the older name of ``backwater run --schemes``."""

from __future__ import annotations

from typing import Annotated

from backwater.commands.common import (
    Capture,
    Making,
    Overrides,
    Profile,
    Profiled,
    Scenario,
    Seed,
    Seeds,
)
from backwater.commands.declare import App, Option
from backwater.commands.run import run


def register(app: App) -> None:
    """Add `compare`."""
    app.add(compare, example="backwater compare scenarios/demo.toml --schemes bfc,hpcc,dcqcn")


def compare(
    scenario: Scenario,
    *,
    schemes: Annotated[
        str,
        Option(
            "--schemes",
            metavar="A,B,…",
            help="Presets to compare, such as bfc,hpcc,dcqcn (`backwater list schemes`).",
            missing="Such as --schemes bfc,hpcc,dcqcn; `backwater list schemes` has all.",
            show_default=False,
        ),
    ],
    overrides: Overrides = None,
    seed: Seed = None,
    seeds: Seeds = None,
    profile: Profile = None,
    capture: Capture = None,
    making: Making,
) -> None:
    """Simulate a scenario with several schemes on the same flows, and report.

    `backwater run --schemes` does the same.
    """
    given = Profiled(scenario, None, overrides, seed, profile)
    run(given, schemes=schemes, seeds=seeds, capture=capture, making=making)
