"""Classes of flows by the effects of incasts, and roles of ports on the path of a packet.

The data are in every run: flows, ports (the topology) and pauses. Paths of flows follow from the
scenario. The terms are those of Floodgate's paper (`docs/breakdown.md`).
"""

from __future__ import annotations

from backwater import _core
from backwater._base.lazy import np, pl
from backwater.errors import RunError
from backwater.results.files import RunFiles

CLASSES = ("incast", "victim-of-incast", "victim-of-pfc", "other")
"""Classes of flows. If several apply to a flow, it has the first one."""

ROLES = ("tor-up", "agg-up", "core", "agg-down", "tor-down")
"""Roles of switch ports on a packet's path, in order from its sender to its receiver."""


def levels(run: RunFiles) -> dict[int, int]:
    """Return the distance of each node from the nearest host, in links. Hosts have 0."""
    links = run.table("ports").select("node", "peer", pl.col("tier").cast(pl.String))
    near: dict[int, list[int]] = {}
    for node, peer, _ in links.iter_rows():
        near.setdefault(node, []).append(peer)
    first = run.summary["tiers"][0]
    level = {node: 0 for node, _, tier in links.iter_rows() if tier == first}
    edge = list(level)
    while edge:
        reached = {peer for node in edge for peer in near[node] if peer not in level}
        farther = level[edge[0]] + 1
        level |= dict.fromkeys(sorted(reached), farther)
        edge = sorted(reached)
    return level


def port_roles(run: RunFiles) -> pl.DataFrame:
    """Return a row per switch port: ``node``, ``port`` and ``role``.

    A ToR is a switch with hosts. Its ports to hosts are ``tor-down``, and all others are
    ``tor-up``. Ports of the switches farthest from the hosts are ``core``. Ports of switches in
    between are ``agg-up`` or ``agg-down``.
    """
    level = levels(run)
    top = max(level.values())
    rows = run.table("ports").select("node", "port", "peer").iter_rows()
    found = [
        (node, port, _role(level[node], level[peer], top))
        for node, port, peer in rows
        if level[node] > 0
    ]
    schema = {"node": pl.UInt32, "port": pl.UInt16, "role": pl.String}
    return pl.DataFrame(found, schema=schema, orient="row")


def _role(own: int, peer: int, top: int) -> str:
    if own == top and own > 1:
        return "core"
    tier = "tor" if own == 1 else "agg"
    return f"{tier}-down" if peer < own else f"{tier}-up"


def flow_classes(run: RunFiles) -> pl.DataFrame:
    """Return a row per flow: ``id`` and ``flow_class``, one of :data:`CLASSES`.

    ``victim-of-incast``: the flow is not part of an incast, and its receiver is on the same ToR as
    the receiver of an incast. ``victim-of-pfc``: neither applies, and PFC paused a port on the path
    while the flow was in flight. If packets of a flow take several paths, no flow is a
    ``victim-of-pfc``.
    """
    flows = run.table("flows").select(
        "id", "src", "dst", "incast", "start_ps", "received_ps", "finished"
    )
    racks = _racks(run)
    rack = pl.col("dst").replace_strict(racks, return_dtype=pl.UInt32)
    struck = sorted({racks[dst] for dst in flows.filter("incast")["dst"].to_list()})
    held = held_flows(run)
    return flows.select(
        "id",
        flow_class=pl.when("incast")
        .then(pl.lit("incast"))
        .when(rack.is_in(struck))
        .then(pl.lit("victim-of-incast"))
        .when(pl.col("id").is_in(held))
        .then(pl.lit("victim-of-pfc"))
        .otherwise(pl.lit("other")),
    )


def _racks(run: RunFiles) -> dict[int, int]:
    """Return the switch of each host, or the first one if it has several."""
    level = levels(run)
    first = run.table("ports").group_by("node").agg(pl.col("peer").min())
    return {node: switch for node, switch in first.iter_rows() if level[node] == 0}


def held_flows(run: RunFiles) -> list[int]:
    """Return the sorted numbers of flows that were in flight while PFC paused a port of their path.

    A flow is in flight from its start to its last byte at the receiver, or to the end of the run.
    """
    pauses = run.table("pauses")
    paths = flow_paths(run) if pauses.height else None
    if paths is None:
        return []
    end = pl.when("finished").then(pl.col("received_ps")).otherwise(run.summary["end_ps"])
    flows = run.table("flows").select("id", "start_ps", end_ps=end)
    ports = pauses.select("node", "port").unique()
    crossed = paths.join(ports, on=["node", "port"]).join(flows, on="id")
    held: set[int] = set()
    for (node, port), in_flight in crossed.partition_by("node", "port", as_dict=True).items():
        when = pauses.filter((pl.col("node") == node) & (pl.col("port") == port)).sort("from_ps")
        # Pauses of a port's classes may overlap. So the end is the latest end so far.
        begins = when["from_ps"].to_numpy()
        ends = np.maximum.accumulate(when["to_ps"].to_numpy())
        next_end = np.searchsorted(ends, in_flight["start_ps"].to_numpy(), side="right")
        some = next_end < len(ends)
        begin = begins[next_end.clip(max=len(ends) - 1)]
        met = some & (begin < in_flight["end_ps"].to_numpy())
        held.update(in_flight["id"].filter(pl.Series(met)).to_list())
    return sorted(held)


def flow_paths(run: RunFiles) -> pl.DataFrame | None:
    """Return a row per flow and egress port, in path order: ``id``, ``node``, ``port``.

    The paths are computed from the scenario without a simulation. ``None`` is returned if packets
    of a flow take several paths.
    """
    found = _core.Scenario(str(run.path / "resolved.toml"), []).flow_paths()
    if found is None:
        return None
    ends = np.frombuffer(found[0], np.uint32)
    if len(ends) < run.table("flows").height:
        raise RunError(
            f"{run.path}: {run.table('flows').height:,} flows, but its scenario has {len(ends)}"
        )
    lengths = np.diff(ends, prepend=np.uint32(0))
    return pl.DataFrame(
        {
            "id": np.repeat(np.arange(len(ends), dtype=np.uint32), lengths),
            "node": np.frombuffer(found[1], np.uint32),
            "port": np.frombuffer(found[2], np.uint16),
        }
    )


def by_class(run: RunFiles) -> pl.DataFrame:
    """Return the completion times of measured flows by class: number, mean and p99 in ps.

    As `run.fct` of the scenario defines, a time ends with the last byte or with its ACK.
    """
    fct = pl.col("ended_ps") - pl.col("start_ps")
    table = run.measured_flows(["id", "start_ps", *run.flow_ends]).join(flow_classes(run), on="id")
    found = table.group_by("flow_class").agg(
        flows=pl.len(),
        mean_fct_ps=fct.mean(),
        p99_fct_ps=fct.quantile(0.99, "higher"),
        mean_slowdown=pl.col("slowdown").mean(),
    )
    return found.sort(pl.col("flow_class").cast(pl.Enum(CLASSES)))


def by_role(run: RunFiles) -> pl.DataFrame:
    """Return a row per role: number of ports, bytes in the fullest port, and mean waiting time.

    The waiting time is that of flows that are not part of an incast. It is present only if the run
    has ``[record] waiting``.
    """
    roles = port_roles(run)
    ports = run.table("ports").join(roles, on=["node", "port"])
    found = ports.group_by("role").agg(ports=pl.len(), max_bytes=port_bytes(ports).max())
    if (run.path / "waiting.parquet").exists():
        waited = run.table("waiting").filter(~pl.col("incast")).join(roles, on=["node", "port"])
        mean = (pl.col("mean_ps") * pl.col("packets")).sum() / pl.col("packets").sum()
        found = found.join(waited.group_by("role").agg(mean_wait_ps=mean), on="role", how="left")
    return found.sort(pl.col("role").cast(pl.Enum(ROLES)))


def port_bytes(ports: pl.DataFrame) -> pl.Expr:
    """Return an expression for the maximum number of bytes that waited for a port, even in VOQs."""
    held = "max_port_bytes"
    return pl.col(held if held in ports.columns else "max_queue_bytes")
