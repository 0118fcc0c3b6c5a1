"""Operations of a connection matrix of htsim, or its list of flows if this is sufficient."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

from backwater._base.toml import rate, time
from backwater.importers.common.source import Findings
from backwater.importers.htsim.matrix import Fires, Matrix
from backwater.workloads import Workload

ENDLESS_BYTES = 2 * 10**12
"""Size of a connection that sends until the end.

It is below 2^31 packets of 1000 B, the maximum of a flow.
"""

DEFAULT_END_PS = 10**9
"""Default end of a run in htsim: 1 ms."""

_TRIGGERS = {
    Fires.ONESHOT: "one-shot",
    Fires.MULTISHOT: "multi-shot",
    Fires.BARRIER: "barrier",
}


def is_flow_list(matrix: Matrix) -> bool:
    """Return true if all connections are plain flows with a start and without triggers."""
    return all(not (c.trigger or c.send_done or c.recv_done or c.msg) for c in matrix.connections)


def find_end(
    matrix: Matrix, end_ps: int | None, fastest_bps: int, findings: Findings
) -> int | None:
    """Return the end of the run if connections have no size, and set their size.

    ``fastest_bps`` is the rate of the fastest link. The size is so large that no connection can
    finish before the end.
    """
    endless = [c for c in matrix.connections if c.bytes == 0]
    if not endless:
        return end_ps
    if end_ps is None:
        end_ps = DEFAULT_END_PS
        endless[0].line.warning(
            "a connection without a size sends until the end of the run: 1 ms is taken, as in "
            "htsim where it has no -end",
            0,
            "another end is given by --end",
        )
    latest_ps = ENDLESS_BYTES * 8 * 10**12 // max(fastest_bps, 1)
    if end_ps > latest_ps:
        findings.fail(
            f"--end {time(end_ps)}: a connection without a size has {ENDLESS_BYTES // 10**12} TB "
            f"here, which a link of {rate(fastest_bps)} sends in {latest_ps / 10**12:.3g} s",
            None,
            "give an earlier end, slower links, or sizes",
        )
    for connection in endless:
        connection.bytes = ENDLESS_BYTES
    return end_ps


def warn_of_priorities(matrix: Matrix, findings: Findings) -> None:
    """Warn that priorities have no effect."""
    for connection in matrix.connections:
        if connection.prio is not None:
            connection.line.warning(
                "prio is not imported: in htsim it tells a receiver which sender to pull from "
                "first; here all connections are alike",
                connection.line.words.index("prio"),
                kind="connections with a prio",
            )


def flow_list(matrix: Matrix) -> str:
    """Return the connections as a list of flows in CSV."""
    ordered = sorted(matrix.connections, key=lambda c: c.start_ps or 0)
    lines = [f"{c.src},{c.dst},{c.bytes},{c.start_ps}ps" for c in ordered]
    return "\n".join(["src,dst,bytes,start", *lines]) + "\n"


def convert(matrix: Matrix, findings: Findings) -> Workload:
    """Return the operations of a connection matrix: a send for each connection.

    The start of a connection is a computation without a resource before the send. Messages of one
    connection share a queue pair, as a channel of their two nodes.
    """
    shared = any(connection.msg for connection in matrix.connections)
    workload = Workload(
        matrix.nodes,
        options={
            "matching": "none",
            "send_end": "acknowledged",
            "queue_pairs": "per-channel" if shared else "per-message",
        },
        source={"format": "htsim"},
    )
    _warn_of_order(matrix, findings)
    number = {
        trigger.id: workload.trigger(
            _TRIGGERS[trigger.fires], trigger.count if trigger.fires is Fires.BARRIER else None
        )
        for trigger in matrix.triggers.values()
    }
    channels: dict[tuple[int, int], dict[object, int]] = defaultdict(dict)
    for connection in matrix.connections:
        src = connection.src
        of_pair = channels[src, connection.dst]
        key = ("id", connection.id) if connection.id else ("line", connection.line.line)
        after = []
        if connection.start_ps:
            after = [workload.calc(src, connection.start_ps)]
        workload.send(
            src,
            connection.dst,
            connection.bytes,
            after=after,
            channel=of_pair.setdefault(key, len(of_pair)),
            trigger=number.get(connection.trigger),
            on_sent=number.get(connection.send_done),
            on_received=number.get(connection.recv_done),
            name=f"connection {connection.id}" if connection.id else f"line {connection.line.line}",
        )
    return workload


def _warn_of_order(matrix: Matrix, findings: Findings) -> None:
    """Warn if a multishot trigger starts its connections in another order than htsim does."""
    for number, started in matrix.started().items():
        trigger = matrix.triggers[number]
        if trigger.fires is not Fires.MULTISHOT:
            continue
        if any(later.src < earlier.src for earlier, later in pairwise(started)):
            trigger.line.warning(
                f"trigger {trigger.id} starts its connections in the order of their sources; in "
                "htsim it does so in the order of the file",
                0,
                kind="multishot triggers whose connections are not sorted by source",
            )
