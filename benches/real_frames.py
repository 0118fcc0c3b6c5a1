"""Measures the rate and the round-trip times of frames between two hosts through a switch.

    python benches/real_frames.py
    python benches/real_frames.py --repeat 5

Two processes of `backwater host` and one of `backwater switch` run in network namespaces of one
machine (Linux, iproute2, no privileges). Prints the tables of docs/host.md. The first has the rate
of one long flow for several numbers of packets in flight, and the processor time of the switch per
frame, which other programs hardly change. The second has the completion times of flows of one
packet, one at a time.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

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
"""The links are faster than any program here, so that the programs limit the rate."""
BACKWATER = Path(sys.executable).with_name("backwater")
LONG_BYTES = 40_000_000
"""Size of the long flow."""
SHORT = 500
"""Number of flows of one packet."""
SPACE_MS = 10
"""Time between the starts of the flows of one packet."""


class Sent(NamedTuple):
    """Measurements of the flows that host 0 sent."""

    times_ps: list[int]
    """Time of each flow from its start to its last acknowledgement."""
    lost: int
    """Frames that sockets or the switch dropped."""
    switch_seconds: float
    """Processor time of the switch."""


def cpu_seconds(process: subprocess.Popen[str]) -> float:
    """Return the processor seconds of a process so far, user and system."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Lab:
    """Network namespaces of two hosts and of the switch between them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        words = ["unshare", "-Urnm", "--kill-child", "sh", "-c", SETUP]
        self.holder = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert self.holder.stdout is not None
        if self.holder.stdout.readline() != "ready\n":
            sys.exit("network namespaces cannot be made here: see docs/live.md")

    def start(self, node: str, *words: str) -> subprocess.Popen[str]:
        """Start a node, and wait until it is ready."""
        into = ["nsenter", "-t", str(self.holder.pid), "-U", "-m", "-n"]
        into.append("--preserve-credentials")
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

    def send(self, flows: str, mtu: int, window: int) -> Sent:
        """Send flows from host 0, and return the measurements."""
        scenario = self.folder / "rate.toml"
        scenario.write_text(SCENARIO.format(flows=flows, mtu=mtu, window=window))
        ports = ("--ports", "p0,p1", "--mtu", "9000")
        running = [self.start("switch", "switch", str(scenario), *ports)]
        for host in (1, 0):
            words = ("host", str(scenario), "--node", f"host{host}", "--ports", "eth0")
            out = ("--force", "-o", str(self.folder / f"host{host}"))
            running.append(self.start(f"h{host}", *words, *out))
        sender = running.pop()
        idle = cpu_seconds(running[0])
        said, errors = sender.communicate()
        busy = cpu_seconds(running[0]) - idle
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
        table = pl.read_parquet(self.folder / "host0" / "flows.parquet")
        return Sent(table["fct_ps"].to_list(), lost, busy)

    def close(self) -> None:
        """Remove the namespaces."""
        self.holder.kill()
        self.holder.wait()


def rates(lab: Lab, repeat: int) -> None:
    """Print the table of rates of a long flow, by packets in flight: medians of the repeats."""
    flow = f'{{ src = 0, dst = 1, bytes = "{LONG_BYTES}B" }}'
    print("| payload | in flight | frames/s | Mbps of payload | µs of the switch | lost |")
    print("|---|---|---|---|---|---|")
    for mtu, packets in ((1000, 1), (1000, 16), (1000, 128), (4000, 128)):
        seen = [lab.send(flow, mtu, packets * mtu) for _ in range(repeat)]
        # For each packet the switch forwards the data and the acknowledgement.
        frames = 2 * LONG_BYTES / mtu
        seconds = statistics.median(sent.times_ps[0] for sent in seen) / 1e12
        each = statistics.median(sent.switch_seconds for sent in seen) / frames
        lost = sum(sent.lost for sent in seen)
        line = f"| {mtu:,} B | {packets} | {frames / seconds:,.0f} "
        mbps = 8e-6 * LONG_BYTES / seconds
        print(f"{line}| {mbps:,.0f} | {1e6 * each:.1f} | {lost} |", flush=True)


def times(lab: Lab, repeat: int) -> None:
    """Print the table of round trips: flows of one packet, each alone, of all repetitions."""
    flows = ", ".join(
        f'{{ src = 0, dst = 1, bytes = "1000B", start = "{100 + nth * SPACE_MS}ms" }}'
        for nth in range(SHORT)
    )
    print("\n| round trip, µs: p1 | median | p90 | p99 | longest |")
    print("|---|---|---|---|---|")
    seen: list[float] = []
    for _ in range(repeat):
        seen += [time / 1e6 for time in lab.send(flows, 1000, 1000).times_ps]
    all_times = pl.Series(seen)
    at = [all_times.quantile(q, "nearest") for q in (0.01, 0.5, 0.9, 0.99, 1.0)]
    print("| " + " | ".join(f"{time:,.0f}" for time in at) + " |")


def main() -> None:
    """Measure, and print the tables."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--repeat", type=int, default=1, help="how often each is measured")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(Path(folder))
        try:
            rates(lab, chosen.repeat)
            times(lab, chosen.repeat)
            print(f"\nload of the machine: {os.getloadavg()[1]:.1f} on {os.cpu_count()} processors")
        finally:
            lab.close()


if __name__ == "__main__":
    main()
