"""The network over time, for the page: buffers of switches, and busy or paused links.

All runs share one layout and one division of time into frames. Optional records (``[record]``) are
shown if a run has them. Pause trees need ``pauses``. The utilisation of links over time needs
``utilisation``; without it, the picture shows the utilisation over the whole run.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from backwater._base.lazy import pl
from backwater.errors import RunError
from backwater.plots.curves import Array, divided, in_order
from backwater.results.files import RunFiles

FRAMES = 160
"""Maximum number of frames of a run."""

CELLS = 80_000
"""Maximum number of values (frames times ports) per run and quantity, to limit the page size."""

PORTS = 4000
"""Maximum number of ports in the picture.

A larger network is drawn without hosts. If its switches exceed the limit, there is no picture.
"""

ROOTS = 254
"""Number of congested ports with their own colour. All others share one colour."""


@dataclass(frozen=True)
class Layout:
    """Nodes with their coordinates, and directed links between them, as in ``ports.parquet``."""

    names: list[str]
    tiers: list[str]
    x: list[float]
    y: list[float]
    ports: dict[tuple[int, int], int]
    """Index of the link by node and port."""

    nodes: dict[int, int]
    """Index in the lists by the number of the node."""

    links: list[tuple[int, int]]


def gather(runs: Mapping[str, RunFiles]) -> dict[str, Any] | None:
    """Return the data from which the page draws the network: its layout, and values over time.

    None is returned if the network is too large, or if the runs have different networks.
    """
    first, *others = runs.values()
    ends = ["node", "port", "peer", "rate_bps"]
    if any(
        not run.table("ports").select(ends).equals(first.table("ports").select(ends))
        for run in others
    ):
        return None
    layout = lay_out(first)
    if layout is None:
        return None
    end_ps = max(run.summary["end_ps"] for run in runs.values())
    probes = max((run.table("queues")["at_ps"].n_unique() for run in runs.values()), default=0)
    frames = min(FRAMES, CELLS // max(len(layout.links), len(layout.names)), max(probes, 1))
    frame_ps = max(-(-end_ps // frames), 1)
    switches = [i for i, tier in enumerate(layout.tiers) if tier != layout.tiers[0]]
    return {
        "names": layout.names,
        "tiers": layout.tiers,
        "x": layout.x,
        "y": layout.y,
        "links": [list(link) for link in layout.links],
        "switches": switches,
        "frames": frames,
        "frame_ms": frame_ps / 1e9,
        "runs": {
            name: {
                "end_ms": run.summary["end_ps"] / 1e9,
                **_buffers(run, layout, switches, frames, frame_ps),
                **_utilisation(run, layout, frames, frame_ps),
                **_pauses(run, layout, frames, frame_ps),
            }
            for name, run in runs.items()
        },
    }


def lay_out(run: RunFiles) -> Layout | None:
    """Place the nodes of a network in one row per tier, ordered by the nodes below them."""
    ports = run.table("ports")
    tiers = list(run.summary["tiers"])
    if ports.height > PORTS:
        hosts = tiers.pop(0)
        ports = ports.filter(
            (pl.col("tier").cast(pl.String) != hosts)
            & (pl.col("peer_tier").cast(pl.String) != hosts)
        )
    if not 0 < ports.height <= PORTS:
        return None
    columns = ("node", "name", "tier", "port", "peer")
    rows = list(zip(*(ports[name].to_list() for name in columns), strict=True))
    found = {node: (name, tier) for node, name, tier, _, _ in rows}
    below: dict[int, list[int]] = {node: [] for node in found}
    for node, _, _, _, peer in rows:
        below[node].append(peer)
    x: dict[int, float] = {}
    for tier in in_order([tiers, [tier for _, tier in found.values()]]):
        members = [node for node in found if found[node][1] == tier]
        placed = {n: [x[peer] for peer in below[n] if peer in x] for n in members}
        members.sort(key=lambda n: (sum(placed[n]) / len(placed[n]) if placed[n] else 0.0, n))
        x |= {node: (i + 0.5) / len(members) for i, node in enumerate(members)}
    nodes = {node: i for i, node in enumerate(found)}
    height = {tier: i for i, tier in enumerate(tiers)}
    links = [(nodes[node], nodes[peer]) for node, _, _, _, peer in rows]
    return Layout(
        [name for name, _ in found.values()],
        [tier for _, tier in found.values()],
        [round(x[node], 5) for node in found],
        [height.get(tier, 0) / max(len(tiers) - 1, 1) for _, tier in found.values()],
        {(node, port): i for i, (node, _, _, port, _) in enumerate(rows)},
        nodes,
        links,
    )


def _buffers(
    run: RunFiles, layout: Layout, switches: list[int], frames: int, frame_ps: int
) -> dict[str, Any]:
    """Return the maximum buffer occupancy of each switch in each frame, from the probes."""
    held = np.zeros((frames, len(layout.names)))
    table = run.table("queues")
    place = _places(table["node"].to_numpy(), layout.nodes)
    known = place >= 0
    frame = np.minimum(table["at_ps"].to_numpy()[known] // frame_ps, frames - 1)
    np.maximum.at(held, (frame.astype(int), place[known]), table["used_bytes"].to_numpy()[known])
    most = int(held.max(initial=0))
    return {
        "most_bytes": most,
        "buffers": _packed(held[:, switches] * (65535 / max(most, 1)), "<u2"),
    }


def _utilisation(run: RunFiles, layout: Layout, frames: int, frame_ps: int) -> dict[str, Any]:
    """Return the utilisation of each link in each frame, or over the whole run if not recorded."""
    if not (run.path / "utilisation.parquet").exists():
        table = run.table("ports")
        bits = table["tx_bytes"].to_numpy() * 8
        most = table["rate_bps"].to_numpy() * (run.summary["end_ps"] / 1e12)
        used = np.zeros((1, len(layout.links)))
        place = _port_places(table, layout)
        used[0, place[place >= 0]] = (bits / np.maximum(most, 1))[place >= 0]
        return {"used": _packed(used * 200, "u1"), "used_over_time": False}
    table = run.table("utilisation")
    every = run.interval_ps("utilisation")
    place = _port_places(table, layout)
    end = table["at_ps"].to_numpy().astype(np.int64)[place >= 0]
    pieces = divided(end - every, end, frames, frame_ps)
    busy = table["busy_ps"].to_numpy()[place >= 0] / every
    used = np.zeros((frames, len(layout.links)))
    np.add.at(used, (pieces.frame, place[place >= 0][pieces.row]), pieces.share * busy[pieces.row])
    return {"used": _packed(used.clip(max=1) * 200, "u1"), "used_over_time": True}


def _pauses(run: RunFiles, layout: Layout, frames: int, frame_ps: int) -> dict[str, Any]:
    """Return the share of each frame for which PFC paused each port, and the root ports."""
    table = run.table("pauses")
    paused = np.zeros((frames, len(layout.links)))
    place = _port_places(table, layout)
    known = place >= 0
    if not known.any():
        return {"paused": None}
    place = place[known]
    start = table["from_ps"].to_numpy()[known].astype(np.int64)
    end = table["to_ps"].to_numpy()[known].astype(np.int64)
    pieces = divided(start, end, frames, frame_ps)
    np.add.at(paused, (pieces.frame, place[pieces.row]), pieces.share)
    found: dict[str, Any] = {"paused": _packed(paused.clip(max=1) * 200, "u1")}
    root, names = _roots(run, table, known)
    if root is not None:
        colour = np.zeros((frames, len(layout.links)), dtype=int)
        colour[pieces.frame, place[pieces.row]] = root[pieces.row]
        found |= {"root": _packed(colour, "u1"), "roots": names}
    return found


def _roots(
    run: RunFiles, pauses: pl.DataFrame, known: Array
) -> tuple[Array | None, list[tuple[str, str]]]:
    """Return the index of the congested root port of each pause, and the names of these ports.

    Indices start at 1. The index is 0 if the root is unknown.
    """
    try:
        causes = run.table("pause_causes")
    except RunError:
        return None, []
    keys = ["node", "port", "class", "number"]
    roots = causes.select("peer", "peer_port", "class", "number", "root_name", "root_peer_name")
    roots = roots.rename({"peer": "node", "peer_port": "port"})
    joined = pauses.join(roots, on=keys, how="left", maintain_order="left", nulls_equal=False)
    if joined.height != pauses.height:
        return None, []
    ends = list(zip(joined["root_name"].to_list(), joined["root_peer_name"].to_list(), strict=True))
    counts: dict[tuple[str, str], int] = {}
    for root in ends:
        if root[0] is not None:
            counts[root] = counts.get(root, 0) + 1
    names = sorted(counts, key=lambda root: -counts[root])[:ROOTS]
    numbers = {name: i for i, name in enumerate(names, 1)}
    number = np.array([0 if r[0] is None else numbers.get(r, ROOTS + 1) for r in ends], dtype=int)
    return number[known], names


def _places(nodes: Array, place: Mapping[int, int]) -> Array:
    """Return the index of each node in the layout, or -1."""
    by_number = np.full(max([*place, int(nodes.max(initial=0))]) + 1, -1)
    by_number[list(place)] = list(place.values())
    found: Array = by_number[nodes]
    return found


def _port_places(table: pl.DataFrame, layout: Layout) -> Array:
    """Return the index of the link of each row, by its ``node`` and ``port``, or -1."""
    keys = zip(table["node"].to_list(), table["port"].to_list(), strict=True)
    return np.array([layout.ports.get(key, -1) for key in keys], dtype=int)


def _packed(values: Array, kind: str) -> str:
    """Round numbers to integers of type ``kind`` and encode them in base64, row by row."""
    rounded = np.round(values).clip(0, np.iinfo(kind).max).astype(kind)
    return base64.b64encode(np.ascontiguousarray(rounded).tobytes()).decode("ascii")
