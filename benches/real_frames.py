"""Measures how many frames a second, and how late, pass from host to host through a switch.

    python benches/real_frames.py

Two processes of `backwater host` and one of `backwater switch` stand in network namespaces of one
machine (Linux, iproute2, no privileges). Prints the table of docs/host.md: the rate of one long
flow with this number of packets in flight, and the times of flows of one packet that go alone.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl

SETUP = """
set -e
mount -t tmpfs none /run
for n in 0 1; do
    ip netns add h$n
    ip link add p$n type veth peer name eth0 netns h$n
    ip link set p$n mtu 9000 up
    ip -n h$n link set eth0 mtu 9000 up
done
until [ "$(ip -o link show | grep -c ' p[01].* state UP')" = 2 ]; do sleep 0.1; done
echo ready
exec sleep 3600
"""
SCENARIO = """
name = "rate"
[topology]
kind = "star"
hosts = 2
link = {{ rate = "40Gbps", delay = "1us" }}
[switch]
buffer = "100MB"
[[traffic]]
name = "flows"
pattern = "list"
flows = [{flows}]
[scheme]
preset = "fixed-window"
mtu = "{mtu}B"
fixed-window = {{ window = "{window}B" }}
go-back-n = {{ timeout = "1s" }}
"""
"""Links faster than any program here, so that it is the program that is measured."""
BACKWATER = Path(sys.executable).with_name("backwater")
LONG_BYTES = 40_000_000
"""Of the long flow."""
SHORT = 500
"""Flows of one packet, one after the other."""
SPACE_MS = 10
"""Between their starts."""


class Lab:
    """Namespaces of two hosts, and of the switch between them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        words = ["unshare", "-Urnm", "--kill-child", "sh", "-c", SETUP]
        self.holder = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert self.holder.stdout is not None
        if self.holder.stdout.readline() != "ready\n":
            sys.exit("network namespaces cannot be made here: see docs/live.md")

    def start(self, node: str, *words: str) -> subprocess.Popen[str]:
        """Start a node, and wait until it is ready."""
        into = ["nsenter", "-t", str(self.holder.pid), "-U", "-m", "-n", "--preserve-credentials"]
        if node != "switch":
            into += ["nsenter", f"--net=/run/netns/{node}"]
        started = subprocess.Popen(
            [*into, str(BACKWATER), *words, "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert started.stderr is not None
        line = started.stderr.readline()
        if "Ctrl-C" not in line:
            sys.exit(line + started.stderr.read())
        return started

    def send(self, flows: str, mtu: int, window: int) -> tuple[pl.DataFrame, int]:
        """Let host 0 send flows; their table, and frames that sockets or the switch dropped."""
        scenario = self.folder / "rate.toml"
        scenario.write_text(SCENARIO.format(flows=flows, mtu=mtu, window=window))
        switch = self.start("switch", "switch", str(scenario), "--ports", "p0,p1", "--mtu", "9000")
        running = [switch]
        for host in (1, 0):
            words = ("host", str(scenario), "--node", f"host{host}", "--ports", "eth0", "--force")
            running.append(self.start(f"h{host}", *words, "-o", str(self.folder / f"host{host}")))
        sender = running.pop()
        said, errors = sender.communicate()
        assert sender.returncode == 0, errors
        all_said = [said]
        for node in running:
            node.send_signal(signal.SIGTERM)
            all_said.append(node.communicate()[0])
        lost = 0
        for one in map(json.loads, all_said):
            lost += dict(one["counters"]).get("dropped", 0)
            for port in one["ports"]:
                counted = dict(port["counters"])
                lost += counted["socket_dropped"] + counted["socket_unsent"]
        return pl.read_parquet(self.folder / "host0" / "flows.parquet"), lost

    def close(self) -> None:
        """End it."""
        self.holder.kill()
        self.holder.wait()


def rate(lab: Lab, mtu: int, packets: int) -> str:
    """Return a line of the table of rates: a long flow with this many packets in flight."""
    flow = f'{{ src = 0, dst = 1, bytes = "{LONG_BYTES}B" }}'
    table, lost = lab.send(flow, mtu, packets * mtu)
    seconds = table["fct_ps"][0] / 1e12
    frames = LONG_BYTES / mtu / seconds
    mbps = 8e-6 * LONG_BYTES / seconds
    return f"| {mtu:,} B | {packets} | {frames:,.0f} | {2 * frames:,.0f} | {mbps:,.0f} | {lost} |"


def latency(lab: Lab) -> str:
    """Return the line of times: flows of one packet, each alone, until the sender has its ACK."""
    flows = ", ".join(
        f'{{ src = 0, dst = 1, bytes = "1000B", start = "{100 + nth * SPACE_MS}ms" }}'
        for nth in range(SHORT)
    )
    table, _ = lab.send(flows, 1000, 1000)
    times = table["fct_ps"] / 1e6
    at = [times.quantile(q, "nearest") for q in (0.01, 0.5, 0.9, 0.99, 1.0)]
    return "| " + " | ".join(f"{time:,.0f}" for time in at) + " |"


def main() -> None:
    """Measure, and print the tables."""
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(Path(folder))
        try:
            print("| payload | in flight | data frames/s | frames/s | Mbps of payload | lost |")
            print("|---|---|---|---|---|---|")
            for mtu, packets in ((1000, 1), (1000, 16), (1000, 128), (4000, 128)):
                print(rate(lab, mtu, packets), flush=True)
            print("\n| round trip, µs: p1 | median | p90 | p99 | longest |\n|---|---|---|---|---|")
            print(latency(lab))
        finally:
            lab.close()


if __name__ == "__main__":
    main()
