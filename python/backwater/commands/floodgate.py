"""What commands say of Floodgate: the memory that it takes of a switch."""

from __future__ import annotations

from typing import Any


# FG-62
def floodgate_lines(cost: dict[str, Any]) -> list[str]:
    """Memory of each kind of switch in lines, the worst case of that many destinations."""
    lines = [f"for {cost['destinations']:,} destinations, all of them in use at once"]
    for switch in cost["switches"]:
        lines += ["", *_switch_lines(switch)]
    return lines


def _switch_lines(s: dict[str, Any]) -> list[str]:
    from backwater._base.units import bytes_text

    alike = f" (and {s['count'] - 1} like it)" if s["count"] > 1 else ""
    return [
        f"{s['name']}{alike}: {s['host_ports']} ports to hosts, {s['switch_ports']} to switches",
        f"  windows         {s['windows']:,}, {bytes_text(s['window_bytes'])}",
        f"  VOQs            {s['voqs']:,}, {bytes_text(s['voq_bytes'])}",
        f"  credit counters {s['credit_counters']:,}, {bytes_text(s['credit_bytes'])}",
        f"  numbers         {bytes_text(s['number_bytes'])}",
        f"  pauses          {bytes_text(s['pause_bytes'])}",
        f"  in all          {bytes_text(s['bytes'])}",
    ]
