"""The command that shows flows by their class and ports by their role."""

from __future__ import annotations

from backwater._base.lazy import pl
from backwater._base.units import bytes_text, time_text
from backwater.commands.common import Json, Run, columns, one_run, print_json
from backwater.commands.declare import App


def register(app: App) -> None:
    """Add `breakdown`."""
    app.add(breakdown, example="backwater breakdown out/first")


def breakdown(
    path: Run,
    as_json: Json = False,
) -> None:
    """Show a run's flows by class (incast, its victims, others), and its ports by role."""
    from backwater.analysis.breakdown import by_class, by_role

    run = one_run(path)
    flows, ports = by_class(run), by_role(run)
    if as_json:
        return print_json({"flows": flows.to_dicts(), "ports": ports.to_dicts()})
    print("\n".join([*_flow_lines(flows), "", *_port_lines(ports)]))


def _flow_lines(table: pl.DataFrame) -> list[str]:
    if not table.height:
        return ["No flow finished within the measured time."]
    head = ("flows", "number", "mean FCT", "p99 FCT", "mean slowdown")
    rows = [
        (
            row["flow_class"],
            str(row["flows"]),
            time_text(row["mean_fct_ps"]),
            time_text(row["p99_fct_ps"]),
            f"{row['mean_slowdown']:.2f}",
        )
        for row in table.iter_rows(named=True)
    ]
    return columns([head, *rows])


def _port_lines(table: pl.DataFrame) -> list[str]:
    waited = "mean_wait_ps" in table.columns
    rows = [("ports", "number", "fullest", *(("mean wait",) if waited else ()))]
    for row in table.iter_rows(named=True):
        cells = (row["role"], str(row["ports"]), bytes_text(row["max_bytes"]))
        mean = row.get("mean_wait_ps")
        rows.append((*cells, *(("-" if mean is None else time_text(mean),) if waited else ())))
    lines = columns(rows)
    return (
        lines
        if waited
        else [*lines, "How long data waited needs [record] waiting in the scenario."]
    )
