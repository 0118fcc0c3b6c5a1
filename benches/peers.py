"""Runs htsim and this simulator on the same connections over the same fat tree.

    python benches/peers.py [--htsim FOLDER] [--repeats N] [--only TEXT] [-o FOLDER]

FOLDER has the programs htsim_roce and htsim_hpcc, as their makefile leaves them. Without it and
without the variable HTSIM only this simulator runs, and a line reports this. The script writes
connections and topology, and imports them as a user does. In a ring a trigger starts the next
message of a receiver after the last ACK of a message. Times are processor seconds of the whole
process, including start and results; the fastest repeat counts. Packet-hops of htsim are its
packets times the links of their paths, and as many for the ACKs. Writes peers.json.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from limits import BACKWATER, spend

MTU = 4096
RATE_GBPS = 100
DELAY_NS = 1000
END_US = 100_000
"""End of a run in us, long after the last packet."""

STEPS = 64
"""Number of simulated steps of a ring all-reduce of 64 MB on 1024 hosts, which has 2046 steps.

htsim builds all connections before it starts. It took about 20 times as long for 64 steps as for 8.
"""

PEERS = {"htsim_roce": "line-rate", "htsim_hpcc": "hpcc"}
"""Programs of htsim, each with the equivalent scheme of this simulator: PFC alone, and HPCC."""

HEAD = ("connections", "simulator", "scheme", "s", "M packet-hops", "Mhops/s", "last flow, us")


@dataclass(frozen=True)
class Tree:
    """The fat tree that htsim builds from switches with this number of ports."""

    ports: int

    @property
    def per_rack(self) -> int:
        """Number of hosts of a ToR."""
        return self.ports // 2

    @property
    def per_pod(self) -> int:
        """Number of hosts of a pod."""
        return self.per_rack**2

    @property
    def hosts(self) -> int:
        """Number of all hosts. There are as many pods as a switch has ports."""
        return self.per_pod * self.ports

    def links(self, a: int, b: int) -> int:
        """Return the number of links on the path between two hosts."""
        for near, links in ((self.per_rack, 2), (self.per_pod, 4)):
            if a // near == b // near:
                return links
        return 6

    def text(self) -> str:
        """Return the topology in the format of htsim."""
        half = self.ports // 2
        lines = [f"Nodes {self.hosts}", "Tiers 3", f"Podsize {self.per_pod}"]
        for tier, down in enumerate((half, half, self.ports)):
            lines += [f"Tier {tier}", f"Downlink_speed_Gbps {RATE_GBPS}", f"Radix_Down {down}"]
            lines += [f"Radix_Up {half}"] if tier < 2 else []
            lines += [f"Downlink_Latency_ns {DELAY_NS}"]
        return "\n".join(lines) + "\n"


SMALL, LARGE = Tree(8), Tree(16)
"""A fat tree of 128 hosts in 32 racks and 8 pods, and one of 1024 in 128 racks and 16 pods."""


@dataclass(frozen=True)
class Flow:
    """A connection."""

    source: int
    receiver: int
    bytes: int
    after: int = 0
    """The trigger that starts the connection; 0: it starts at once."""
    then: int = 0
    """The trigger that the end of the connection activates; 0: none."""

    def line(self, number: int) -> str:
        """Return the connection in the format of htsim."""
        begin = f"trigger {self.after}" if self.after else "start 0"
        end = f" send_done_trigger {self.then}" if self.then else ""
        return f"{self.source}->{self.receiver} id {number} {begin} size {self.bytes}{end}"


def permutation(tree: Tree, size: int) -> list[Flow]:
    """Return flows from each host to another one, which is drawn with a fixed seed."""
    order = list(range(tree.hosts))
    random.Random(1).shuffle(order)
    ring = zip(order, order[1:] + order[:1], strict=True)
    return [Flow(source, receiver, size) for source, receiver in sorted(ring)]


def incast(size: int) -> list[Flow]:
    """Return flows of this size from 100 hosts to host 0."""
    return [Flow(source, 0, size) for source in range(1, 101)]


def all_to_all(hosts: range, size: int) -> list[Flow]:
    """Return a flow from each of these hosts to each other one."""
    return [Flow(a, b, size) for a in hosts for b in hosts if a != b]


def ring(hosts: int, size: int, steps: int) -> list[Flow]:
    """Return the messages of a ring.

    In each step a host sends to the next host what it received in the step before.
    """
    return [
        Flow(
            source,
            (source + 1) % hosts,
            size,
            # The number of a trigger is that of the message that activates it.
            after=(step - 1) * hosts + (source - 1) % hosts + 1 if step else 0,
            then=step * hosts + source + 1 if step + 1 < steps else 0,
        )
        for step in range(steps)
        for source in range(hosts)
    ]


CONNECTIONS: dict[str, tuple[Tree, Callable[[], list[Flow]]]] = {
    "permutation of 128, 16 MB each": (SMALL, lambda: permutation(SMALL, 16_000_000)),
    "incast of 100, 4 MB each": (SMALL, lambda: incast(4_000_000)),
    "all-to-all of 32, 2 MB each": (SMALL, lambda: all_to_all(range(0, 128, 4), 2_000_000)),
    # 16 MB among 256 of 1024 hosts, two of each rack.
    "all-to-all of 256, 62.5 KB each": (LARGE, lambda: all_to_all(range(0, 1024, 4), 62_500)),
    f"ring of 1024, {STEPS} steps of 62.5 KB": (LARGE, lambda: ring(1024, 62_500, STEPS)),
}


def matrix(tree: Tree, flows: list[Flow]) -> str:
    """Return connections and their triggers in the format of htsim."""
    triggers = [flow.then for flow in flows if flow.then]
    lines = [f"Nodes {tree.hosts}", f"Connections {len(flows)}"]
    lines += [f"Triggers {len(triggers)}"] if triggers else []
    lines += [flow.line(number) for number, flow in enumerate(flows, 1)]
    lines += [f"trigger id {number} oneshot" for number in triggers]
    return "\n".join(lines) + "\n"


def of_htsim(
    program: Path, tree: Tree, flows: list[Flow], folder: Path, repeats: int
) -> dict[str, Any]:
    """Run a program of htsim; return its time, its packet-hops, and the end of the last flow."""
    command = [str(program), "-nodes", str(tree.hosts), "-tm", str(folder / "x.cm")]
    command += ["-strat", "ecmp_host", "-paths", "128", "-queue_type", "lossless_input"]
    command += ["-linkspeed", str(RATE_GBPS * 1000), "-hop_latency", str(DELAY_NS / 1000)]
    command += ["-mtu", str(MTU), "-end", str(END_US), "-seed", "1", "-o", str(folder / "log")]
    told = folder / "told"
    seconds = min(run(command, told) for _ in range(repeats))
    text = told.read_text(encoding="utf-8", errors="replace")
    ends = [float(at) for at in re.findall(r" finished at ([0-9.]+)", text)]
    hops = sum(-(-f.bytes // MTU) * 2 * tree.links(f.source, f.receiver) for f in flows)
    finished = len(ends) == len(flows)
    return {"s": seconds, "hops": hops, "last_us": max(ends) if finished else None}


def of_ours(scheme: str, folder: Path, repeats: int) -> dict[str, Any]:
    """Run this simulator; return its time, its packet-hops, and the end of the run."""
    command = [str(BACKWATER), "run", str(folder / "x.toml"), "--scheme", scheme]
    command += ["--set", f"scheme.mtu={MTU}B", "--force", "-o", str(folder / "run")]
    seconds = min(run(command, folder / "told") for _ in range(repeats))
    summary = json.loads((folder / "run" / "summary.json").read_text(encoding="utf-8"))
    hops = summary["performance"]["packet_hops"]
    return {"s": seconds, "hops": hops, "last_us": summary["end_ps"] / 1e6}


def run(command: list[str], told: Path) -> float:
    """Run a command and return its processor seconds; exit if it fails."""
    # htsim writes files into its working directory.
    status, seconds, _ = spend(command, told, told.parent)
    if status != 0:
        sys.exit(f"{' '.join(command)} ended with status {status}:\n{told.read_text()[-2000:]}")
    return seconds


def measure(folder: Path | None, repeats: int, only: str) -> list[dict[str, Any]]:
    """Run both simulators on all connections whose name contains ``only``."""
    rows = []
    for name, (tree, made) in CONNECTIONS.items():
        if only not in name:
            continue
        flows = made()
        with tempfile.TemporaryDirectory() as scratch:
            at = Path(scratch)
            (at / "x.cm").write_text(matrix(tree, flows), encoding="utf-8")
            (at / "x.topo").write_text(tree.text(), encoding="utf-8")
            given = ["--topology", str(at / "x.topo"), "-o", str(at / "x.toml")]
            run([str(BACKWATER), "import", "htsim", str(at / "x.cm"), *given], at / "told")
            for program, scheme in PEERS.items():
                if folder is not None:
                    took = of_htsim(folder.resolve() / program, tree, flows, at, repeats)
                    rows.append({"connections": name, "simulator": program, "scheme": "", **took})
                took = of_ours(scheme, at, repeats)
                rows.append(
                    {"connections": name, "simulator": "backwater", "scheme": scheme, **took}
                )
    return rows


def markdown(rows: list[dict[str, Any]]) -> str:
    """Return the rows as a table in Markdown."""
    lines = [f"| {' | '.join(HEAD)} |", "|" + "---|" * len(HEAD)]
    for row in rows:
        last = "not all" if row["last_us"] is None else f"{row['last_us']:.0f}"
        cells = (
            *(row["connections"], row["simulator"], row["scheme"], f"{row['s']:.2f}"),
            *(f"{row['hops'] / 1e6:.2f}", f"{row['hops'] / row['s'] / 1e6:.2f}", last),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Run all pairs, print the table, and write peers.json."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    given = os.environ.get("HTSIM")
    parser.add_argument("--htsim", type=Path, default=Path(given) if given else None)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="", help="part of the name of the connections")
    parser.add_argument("-o", "--out", type=Path)
    options = parser.parse_args()
    if options.htsim is None:
        print("no htsim: name the folder of its programs with --htsim or HTSIM", file=sys.stderr)
    else:
        missing = [name for name in PEERS if not (options.htsim / name).is_file()]
        if missing:
            sys.exit(f"{options.htsim} has no {' and no '.join(missing)}")
    rows = measure(options.htsim, options.repeats, options.only)
    print(markdown(rows))
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        text = json.dumps(rows, indent=1) + "\n"
        (options.out / "peers.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
