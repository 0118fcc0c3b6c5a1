"""``backwater inspect --resources``: shows the state that schemes need in switches."""

from __future__ import annotations

from typing import Annotated, Any

from backwater._base.units import bytes_text, time_text
from backwater.commands.common import Json, Profiled, columns, print_json
from backwater.commands.declare import App, Option


def register(app: App) -> None:
    """Add `resources`, which has options that `inspect --resources` lacks."""
    app.add(resources, hidden=True)


def resources(
    given: Profiled,
    packet_bytes: Annotated[
        float | None,
        Option(
            "--packet",
            metavar="BYTES",
            min=1,
            help="Mean size of packets on the wire.",
            show_default="that of the scenario's traffic",
        ),
    ] = None,
    destinations: Annotated[
        int | None,
        Option(
            "--destinations",
            metavar="N",
            min=1,
            help="Destinations that Floodgate has memory for.",
            show_default="those of the network",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what BFC, Floodgate, SPFC and HPCC need in the switches: counters, registers, bits."""
    cost = given.load().resources(packet_bytes=packet_bytes, destinations=destinations)
    if as_json:
        print_json(cost)
    else:
        print_resources(cost, packet_bytes is not None)


def print_resources(cost: dict[str, Any], has_packet_size: bool) -> None:
    """Print the state that the systems need in the switches of a scenario."""
    print("\n".join(_system_lines(cost["systems"])))
    if cost["floodgate"] is not None:
        print("\n" + "\n".join(floodgate_lines(cost["floodgate"])))
        return
    if not any(switch["table_entries"] or switch["counters"] for switch in cost["switches"]):
        return
    print()
    mean, share = cost["packet_bytes"], cost["short_share"]
    mix = f", {share:.0%} of them not full" if share is not None else ""
    if not has_packet_size and not cost["of_traffic"]:
        mix = ", full ones, because a workload has no mean size (give it by --packet)"
    print(f"packets of {mean:.0f} B on average{mix}; {cost['header_bytes']} B of each go back")
    for switch in cost["switches"]:
        print("\n" + "\n".join(_switch_lines(switch, cost["limit"])))


_NAMES = {"bfc": "BFC", "floodgate": "Floodgate", "spfc": "SPFC", "hpcc": "HPCC"}


# BFC-54, FG-64, SPFC-45, HPCC-40: state of a switch as counters, registers and bits
def _system_lines(systems: dict[str, Any]) -> list[str]:
    """Describe the state of each system, averaged over the ports of each kind of switch."""
    head = ["system", "scheme", "switch", "ports", "counters", "registers", "bits", "of the switch"]
    rows, problems = [head], []
    for system, found in systems.items():
        scheme = found["scheme"] or "of the scenario"
        if "problem" in found:
            first = found["problem"].splitlines()[0]
            problems.append(f"{_NAMES[system]} cannot be put into this scenario: {first}")
        for one in found["switches"]:
            alike = f" (x{one['count']})" if one["count"] > 1 else ""
            each = [one[f"{what}_per_port"] for what in ("counters", "registers", "bits")]
            row = [_NAMES[system], scheme, f"{one['name']}{alike}", str(one["ports"])]
            amounts = [f"{amount:,.0f}" for amount in each]
            rows.append([*row, *amounts, bytes_text(one["bits"] / 8)])
    lines = columns(rows, "<<<>")
    notes = ["Counters, registers and bits are means per port."]
    if nic := systems["hpcc"].get("nic"):
        flow_bits = nic["sender_bits"] + nic["scheduler_bits"]
        notes.append(
            f"HPCC in a NIC: {nic['entries']:,} reciprocals for an error of {nic['epsilon']:.1%}, "
            f"{bytes_text(nic['table_bits'] / 8)}; {flow_bits} bits per flow, "
            f"{nic['flows']} flows per engine."
        )
    return [*lines, *notes, *problems]


def _switch_lines(s: dict[str, Any], limit: float) -> list[str]:
    thresholds = ", ".join(
        f"{bytes_text(t['bytes'])} at {t['rate_bps'] / 1e9:g} Gbps" for t in s["thresholds"]
    )
    bits = " + ".join(str(bits) for bits in s["entry_bits"])
    alike = f" (and {s['count'] - 1} like it)" if s["count"] > 1 else ""
    verdict = "fits" if s["fits"] else "too much: sample packets (bfc.sampling)"
    return [
        f"{s['name']}{alike}: {s['ports']} ports, {s['capacity_bps'] / 1e9:g} Gbps",
        f"  flow table      {s['table_entries']:,} entries of {bits} bits, "
        f"{bytes_text(s['table_bytes'])}",
        f"  pause counters  {s['counters']:,}, {bytes_text(s['counter_bytes'])}",
        f"  threshold       {thresholds or 'none'}, for a queue alone at its port",
        f"  1-hop RTT       {time_text(s['hrtt_ps'])}, sticky for {time_text(s['sticky_ps'])}",
        f"  recirculation   {s['recirculated_per_s'] / 1e6:.0f} of "
        f"{s['packets_per_s'] / 1e6:.0f} million packets/s, {s['recirculated_share']:.1%} of the "
        f"capacity, {limit:.0%} at most: {verdict}",
    ]


# FG-62: memory of Floodgate in a switch
def floodgate_lines(cost: dict[str, Any]) -> list[str]:
    """Describe Floodgate's memory in each kind of switch if all destinations are in use at once."""
    lines = [f"for {cost['destinations']:,} destinations, all of them in use at once"]
    for switch in cost["switches"]:
        lines += ["", *_floodgate_switch_lines(switch)]
    return lines


def _floodgate_switch_lines(s: dict[str, Any]) -> list[str]:
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
