"""Finds presets that a scenario makes equal, so that a comparison would show one of them twice."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from backwater.scenario.scenario import Scenario

_ONE_FLOW = {
    "name": "one-flow",
    "topology": {"kind": "star", "hosts": 2, "link": {"rate": "100Gbps", "delay": "1us"}},
    "traffic": [{"name": "one", "pattern": "permutation", "size": "1MB"}],
}
"""A scenario that sets no key of a scheme."""


def equal_presets(scenarios: Mapping[str, Scenario]) -> list[str]:
    """Return a sentence for each preset that has the same values as an earlier one.

    ``scenarios`` has the scenario with each preset. The sentence names the keys in which the
    presets differ, and which the scenario or a change sets to one value (PRE-291).
    """
    sentences = []
    different: dict[str, dict[str, Any]] = {}
    for name, scenario in scenarios.items():
        scheme = scenario.values["scheme"] | {"preset": ""}
        same = next((one for one, known in different.items() if known == scheme), None)
        if same is None:
            different[name] = scheme
            continue
        keys = _differences(same, name, scheme["parameters"], scheme["profile"])
        why = f": they differ in {', '.join(keys)}, and the scenario sets that" if keys else ""
        sentences.append(f"the presets {same} and {name} have the same values here{why}")
    return sentences


@cache
def _differences(one: str, other: str, parameters: str, profile: str) -> list[str]:
    """Return the keys in which two presets differ if the scenario sets none of them."""
    layers = {"parameters": parameters, "profile": profile}
    found = [
        dict(_leaves(Scenario(_ONE_FLOW | {"scheme": layers}, scheme=preset).values["scheme"]))
        for preset in (one, other)
    ]
    keys = [*found[0], *(key for key in found[1] if key not in found[0])]
    return [
        f"scheme.{key}"
        for key in keys
        if key != "preset" and found[0].get(key) != found[1].get(key)
    ]


def _leaves(table: Mapping[str, Any], path: str = "") -> list[tuple[str, Any]]:
    """Return the dotted keys of nested tables with their values."""
    found: list[tuple[str, Any]] = []
    for key, value in table.items():
        inner = isinstance(value, Mapping)
        found += _leaves(value, f"{path}{key}.") if inner else [(f"{path}{key}", value)]
    return found
