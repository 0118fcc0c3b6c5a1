"""``backwater recommend``: thresholds from published rules, and a search around them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from backwater._base.units import bytes_text
from backwater.commands.common import Given, Jobs, Json, Out, print_json, say
from backwater.commands.declare import App, Option
from backwater.commands.quantities import in_units

if TYPE_CHECKING:
    from backwater.running.search import Simulations, Steps
    from backwater.scenario.recommend import Reason

RULES = (0, 0, 0)
"""The point where the search begins: no value differs from that of the rules."""


def register(app: App) -> None:
    """Add `recommend`."""
    app.add(
        recommend,
        example="backwater recommend scenarios/demo.toml --scheme dcqcn --runs 0\n"
        "backwater recommend scenarios/demo.toml --scheme dcqcn --minimize fct.long.p99",
    )


def recommend(
    given: Given,
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
    seeds: Annotated[int, Option("--seeds", min=1, max=1000, help="Runs of each setting.")] = 3,
    out: Out = None,
    jobs: Jobs = None,
    as_json: Json = False,
) -> None:
    """Recommend PFC and ECN thresholds for a fabric.

    The values follow published rules for headroom, ECN and the PFC threshold. A search by
    simulation then doubles and halves Kmin, Kmax and alpha around them. Its best setting without a
    lost packet replaces that of the rules if the seeds show that it is better. Runs are cached, and
    `backwater show` ranks them.
    """
    from backwater.results.columns import column
    from backwater.running.search import Simulations, scaled, search
    from backwater.scenario import recommend as rules

    scenario = given.load()
    facts = scenario.thresholds()
    by_rule, reasons = rules.recommend(facts, None if response is None else int(response))
    if not as_json:
        _print_rules(reasons)
    first = int(scenario.values["seed"])
    path = out or Path("out") / f"recommend-{given.scenario.stem}"
    numbers = range(first, first + seeds)
    runs_of = Simulations(scenario, by_rule, numbers, path, column(minimize), jobs)
    found = search(3, runs_of.means, runs) if runs else {}
    best = min(found, key=lambda point: (found[point], point != RULES), default=RULES)
    better = best != RULES and runs_of.decided(best, RULES)
    values = scaled(by_rule, best if better else RULES)
    broken = [reason.name for reason in rules.ecn_reasons(facts, values) if reason.is_violated]
    about: dict[str, Any] = {
        "overrides": values.overrides(),
        "violated": broken,
        "rules": [_reason(reason) for reason in reasons],
        "by_rule": by_rule.overrides(),
        "minimize": minimize,
        "decided": better,
        "simulated": [
            {
                "overrides": scaled(by_rule, point).overrides(),
                "value": None if math.isinf(value) else value,
                "by_seed": runs_of.by_seed(point) if point in runs_of.rows else {},
            }
            for point, value in found.items()
        ],
    }
    if as_json:
        return print_json(about)
    if found:
        _print_search(runs_of, found, best, better)
    print("\nRecommended:" if found else "\nRecommended (not simulated):")
    for override in values.overrides():
        print(f"  --set {override}")
    for name in broken:
        print(f"  warning: the rule `{name}` is violated{'' if better else ', see above'}")


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
        held = (
            "" if margin is None else f", margin {margin:.2f}{' (violated)' * reason.is_violated}"
        )
        print(f"  {'':<38}  source: {reason.source}{bound}{held}")
    print("Devices need more headroom than the formula: 2 to 3 times in tables of vendors, for")
    print("buffer cells, preambles and slow responses (docs/thresholds.md).")


def _print_search(
    runs_of: Simulations, found: dict[Steps, float], best: Steps, better: bool
) -> None:
    """Print the settings of a search, the best first, and whether it is significantly better."""
    from backwater.results import statistics
    from backwater.results.columns import column
    from backwater.running.search import scaled

    longs, paused = column("fct.long.p99"), column("pfc.time")
    name = runs_of.column.name
    print(f"\nSimulated {len(runs_of.rows)} settings x {len(runs_of.seeds)} seeds, means:")
    print(f"  {'kmin':>9}{'kmax':>10}{'alpha':>9}  {name} (95 % interval), {longs.name}")
    for point in sorted(runs_of.rows, key=found.__getitem__):
        values = scaled(runs_of.start, point)
        about = [f"{_value(values.kmin_bytes, 'B'):>9}{_value(values.kmax_bytes, 'B'):>10}"]
        about.append(f"{values.alpha:>9g}  {_number(found[point])}")
        interval = statistics.mean(
            list(runs_of.by_seed(point).values()), least=runs_of.column.least
        )
        if interval and interval.low is not None and not math.isinf(found[point]):
            about.append(f" ({interval.low:.4g} to {interval.high:.4g})")
        cost = list(runs_of.by_seed(point, longs).values())
        about.append(f", {sum(cost) / len(cost):.4g}" if cost else "")
        about.append("  by the rules" if point == RULES else "")
        print("".join(about))
    if all(not any(runs_of.by_seed(point, paused).values()) for point in runs_of.rows):
        say(
            "warning: PFC paused no port in these runs, so they say nothing about alpha and "
            "headroom; simulate more load, or incasts"
        )
    if all(math.isinf(value) for value in found.values()):
        say("warning: every simulated setting lost packets or violated a check")
    elif best == RULES:
        print("No other setting is better than that of the rules.")
    elif better:
        print("The best setting is better than that of the rules in these seeds.")
    else:
        print(
            "The seeds do not show that the best setting is better than that of the rules, which "
            "is kept. More seeds may: --seeds 10."
        )


def _number(value: float) -> str:
    return "lost packets or violated a check" if math.isinf(value) else f"{value:.4g}"
