"""``backwater recommend``: thresholds from published rules, and a search around them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from backwater._base.units import bytes_text
from backwater.commands.common import (
    Jobs,
    Json,
    Out,
    Overrides,
    Scenario,
    Scheme,
    Seed,
    chosen,
    say,
)
from backwater.commands.declare import App, Option
from backwater.commands.quantities import in_units

if TYPE_CHECKING:
    from backwater.running.search import Steps
    from backwater.scenario.recommend import Reason, Thresholds


def register(app: App) -> None:
    """Add `recommend`."""
    app.add(
        recommend,
        example="backwater recommend scenarios/demo.toml --scheme dcqcn --runs 0\n"
        "backwater recommend scenarios/demo.toml --scheme dcqcn --minimize fct.long.p99",
    )


def recommend(
    scenario: Scenario,
    scheme: Scheme = None,
    overrides: Overrides = None,
    seed: Seed = None,
    response: Annotated[
        float | None,
        Option(
            "--response",
            metavar="TIME",
            help="Time from the arrival of a PAUSE until a device stops sending.",
            show_default="pfc.response of the scenario, else 2.02us of IEEE 802.3",
            parser=in_units("time", "", "500ns", least=-1),
        ),
    ] = None,
    minimize: Annotated[
        str, Option("--minimize", metavar="COLUMN", help="Number of the summary to minimise.")
    ] = "fct.short.p99",
    runs: Annotated[
        int, Option("--runs", min=0, max=10_000, help="Settings to simulate at most; 0: none.")
    ] = 20,
    seeds: Annotated[int, Option("--seeds", min=1, max=1000, help="Runs of each setting.")] = 1,
    out: Out = None,
    jobs: Jobs = None,
    as_json: Json = False,
) -> None:
    """Recommend PFC and ECN thresholds for a fabric.

    The values follow published rules for headroom, ECN and the PFC threshold. A search by
    simulation then doubles and halves Kmin, Kmax and alpha around them, and keeps what lowers the
    objective without a lost packet. Runs are cached.
    """
    from backwater.running.search import scaled, search, simulated
    from backwater.scenario import recommend as rules

    given = chosen(scenario, scheme, overrides, seed)
    facts = given.thresholds()
    by_rule, reasons = rules.recommend(facts, None if response is None else int(response))
    if not as_json:
        _print_rules(reasons)
    found: dict[Steps, float] = {}
    if runs:
        store = (out or Path("out") / f"recommend-{scenario.stem}") / "store"
        first = int(given.values["seed"])
        numbers = range(first, first + seeds)
        evaluate = simulated(given, by_rule, numbers, store, minimize, jobs)
        found = search(3, evaluate, runs)
    best = min(found, key=lambda point: (found[point], point != (0, 0, 0)), default=(0, 0, 0))
    if found and math.isinf(found[best]):
        say("warning: every simulated setting lost packets or violated a check")
        best = (0, 0, 0)
    values = scaled(by_rule, best)
    about: dict[str, Any] = {
        "overrides": values.overrides(),
        "rules": [_reason(reason) for reason in reasons],
        "by_rule": by_rule.overrides(),
        "minimize": minimize,
        "simulated": [
            {
                "overrides": scaled(by_rule, point).overrides(),
                "value": None if math.isinf(value) else value,
            }
            for point, value in found.items()
        ],
    }
    if as_json:
        print(json.dumps(about, indent=2, ensure_ascii=False))
    else:
        _print(values, found, best, minimize)


def _reason(reason: Reason) -> dict[str, Any]:
    names = ("name", "value", "unit", "rule", "source", "bound", "margin")
    return {name: getattr(reason, name) for name in names}


def _value(value: float, unit: str) -> str:
    return bytes_text(value) if unit == "B" else f"{value:g}"


def _print_rules(reasons: list[Reason]) -> None:
    print("By published rules:")
    for reason in reasons:
        print(f"  {reason.name:<28}{_value(reason.value, reason.unit):>10}  {reason.rule}")
        margin = reason.margin
        bound = "" if margin is None else f"; bound {_value(reason.bound or 0, reason.unit)}"
        held = "" if margin is None else f", margin {margin:.2f}" + (" (violated)" * (margin <= 1))
        print(f"  {'':<38}  source: {reason.source}{bound}{held}")


def _print(chosen: Thresholds, found: dict[Steps, float], best: Steps, minimize: str) -> None:
    if found:
        valid = sum(not math.isinf(value) for value in found.values())
        print(f"\nSimulated: {len(found)} settings, {valid} valid and without loss; {minimize}:")
        start = found.get((0, 0, 0), math.inf)
        print(f"  by the rules  {_number(start)}")
        print(f"  best          {_number(found[best])}")
        print("  Repeat it with --seeds 5 before you rely on a difference.")
    print("\nRecommended:" if found else "\nRecommended (not simulated):")
    for override in chosen.overrides():
        print(f"  --set {override}")


def _number(value: float) -> str:
    return "lost packets or violated a check" if math.isinf(value) else f"{value:.4g}"
