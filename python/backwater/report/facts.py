"""Short descriptions of runs for the head of a page."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from typing import Any

from backwater.results.files import RunFiles
from backwater.results.results import Results

_SIZES = {
    "hosts": "hosts",
    "leaves": "leaves",
    "spines": "spines",
    "hosts_per_leaf": "hosts per leaf",
    "servers": "servers",
    "gpus_per_server": "GPUs per server",
    "k": "ary",
    "pods": "pods",
}


def of_runs(runs: Iterable[RunFiles], results: Results) -> list[tuple[str, str]]:
    """Return label and text of facts that all runs share, such as topology, buffer and load."""
    first, *others = (_of_run(run, results) for run in runs)
    return [fact for fact in first if all(fact in found for found in others)]


def _of_run(run: RunFiles, results: Results) -> list[tuple[str, str]]:
    values = tomllib.loads(run.resolved)
    topology = values.get("topology", {})
    facts = [
        ("topology", "topology", _topology(topology)),
        ("links", "topology", _links(topology)),
        ("failures", "topology", ", ".join(map(_failure, topology.get("failures", ())))),
        ("buffer", "switch.buffer", str(values.get("switch", {}).get("buffer", ""))),
        ("workloads", "workload", ", ".join(map(_workload, values.get("workload", ())))),
        ("traffic", "traffic", ", ".join(map(_traffic, values.get("traffic", ())))),
        ("changed", "", ", ".join(results.about.get("changes", ()))),
    ]
    # A varied value does not apply to all runs.
    return [
        (name, text)
        for name, key, text in facts
        if text and not (key and any(one.startswith(key) for one in results.keys))
    ]


def _topology(topology: dict[str, Any]) -> str:
    sizes = [
        f"{topology[key]} {label}"
        for key, label in _SIZES.items()
        if isinstance(topology.get(key), int)
    ]
    return ", ".join([str(topology.get("kind", "")), *sizes])


def _links(topology: dict[str, Any]) -> str:
    parts = []
    for key, label in (("link", ""), ("uplink", " up"), ("scale_up", " in a server")):
        link = topology.get(key)
        if isinstance(link, dict) and "rate" in link:
            parts.append(f"{link['rate']}, {link.get('delay', '0')}{label}")
    return "; ".join(dict.fromkeys(parts))


def _failure(failure: dict[str, Any]) -> str:
    links = failure.get("links")
    what = " ".join(links) if links else f"{failure.get('random', 0)} random links"
    until = f" until {failure['until']}" if "until" in failure else ""
    return f"{what} from {failure.get('at', '0us')}{until}"


def _workload(work: dict[str, Any]) -> str:
    what = work.get("collective")
    size = f" of {work['size']}" if what and "size" in work else ""
    return f"{work['name']}" + (f" ({what}{size})" if what else "")


def _traffic(traffic: dict[str, Any]) -> str:
    load = traffic.get("load")
    if isinstance(load, dict) and "fraction" in load:
        fraction = load["fraction"]
        shown = f"{fraction:.0%}" if isinstance(fraction, float) else str(fraction)
        return f"{traffic['name']} ({shown} of {load.get('of', 'the links')})"
    return f"{traffic['name']} ({traffic.get('pattern', '')})"


def seeds(found: Sequence[int]) -> str:
    """Return the seeds as text; of several seeds, their number and the first six."""
    if len(found) == 1:
        return str(found[0])
    shown = ", ".join(map(str, found[:6]))
    return f"{len(found)} ({shown}{', …' if len(found) > 6 else ''})"
