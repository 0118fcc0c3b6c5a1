"""The command that shows flows by their class and ports by their role."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from backwater._base.units import bytes_text, time_text
from backwater.commands.common import Json, one_run
from backwater.commands.declare import App, Argument


def register(app: App) -> None:
    """Add `breakdown`."""
    app.add(breakdown, example="backwater breakdown out/first")


def breakdown(
    path: Annotated[Path, Argument(metavar="RUN", help="Directory of a run.")],
    as_json: Json = False,
) -> None:
    """Show a run's flows by class (incast, its victims, others), and its ports by role."""
    from backwater.analysis.breakdown import by_class, by_role

    run = one_run(path)
    flows, ports = by_class(run), by_role(run)
    if as_json:
        print(json.dumps({"flows": flows.to_dicts(), "ports": ports.to_dicts()}, indent=2))
        return
    print("\n".join([*_flow_lines(flows), "", *_port_lines(ports)]))


def _flow_lines(table: Any) -> list[str]:
    if not table.height:
        return ["No flow finished within the measured time."]
    lines = [f"{'flows':<18}{'number':>8}{'mean FCT':>12}{'p99 FCT':>12}{'mean slowdown':>15}"]
    return lines + [
        f"{row['flow_class']:<18}{row['flows']:>8}{time_text(row['mean_fct_ps']):>12}"
        f"{time_text(row['p99_fct_ps']):>12}{row['mean_slowdown']:>15.2f}"
        for row in table.iter_rows(named=True)
    ]


def _port_lines(table: Any) -> list[str]:
    waited = "mean_wait_ps" in table.columns
    lines = [f"{'ports':<18}{'number':>8}{'fullest':>12}" + f"{'mean wait':>12}" * waited]
    for row in table.iter_rows(named=True):
        line = f"{row['role']:<18}{row['ports']:>8}{bytes_text(row['max_bytes']):>12}"
        if waited:
            mean = row["mean_wait_ps"]
            line += f"{'-' if mean is None else time_text(mean):>12}"
        lines.append(line)
    if not waited:
        lines.append("How long data waited needs [record] waiting in the scenario.")
    return lines
