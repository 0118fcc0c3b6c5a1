"""Runs htsim and this simulator on the same connections over the same fat tree.

    python benches/peers.py [--htsim FOLDER] [--repeats N] [-o FOLDER]

FOLDER has the programs htsim_roce and htsim_hpcc, as their makefile leaves them; without it, and
without the variable HTSIM, only this simulator runs, and a line says so. Connections and topology
are written here and imported as a user's are. Seconds are those of processors for the whole
process, start and results included, the least of the repeats. Packet-hops of htsim are its count of
packets times the links of their ways, and as many for the ACKs. Writes peers.json.
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

HOSTS, PER_RACK, PER_POD = 128, 4, 16
"""A fat tree of switches with 8 ports: 32 racks, 8 pods, 16 cores."""

MTU = 4096
RATE_GBPS = 100
DELAY_NS = 1000
END_US = 100_000
"""Long after the last packet: it only bounds the run."""

PEERS = {"htsim_roce": "line-rate", "htsim_hpcc": "hpcc"}
"""Programs of htsim, and the scheme here that does the same: PFC alone, and HPCC."""

HEAD = ("connections", "simulator", "scheme", "s", "M packet-hops", "Mhops/s", "last flow, us")


@dataclass(frozen=True)
class Flow:
    """A connection."""

    source: int
    receiver: int
    bytes: int

    @property
    def links(self) -> int:
        """How many links its packets cross."""
        for near, links in ((PER_RACK, 2), (PER_POD, 4)):
            if self.source // near == self.receiver // near:
                return links
        return 6


def permutation(size: int) -> list[Flow]:
    """Each host sends to another one, chosen with a seed."""
    order = list(range(HOSTS))
    random.Random(1).shuffle(order)
    ring = zip(order, order[1:] + order[:1], strict=True)
    return [Flow(source, receiver, size) for source, receiver in sorted(ring)]


def incast(size: int) -> list[Flow]:
    """100 hosts send to host 0."""
    return [Flow(source, 0, size) for source in range(1, 101)]


def all_to_all(size: int) -> list[Flow]:
    """32 hosts of different racks send to each other."""
    hosts = range(0, HOSTS, PER_RACK)
    return [Flow(a, b, size) for a in hosts for b in hosts if a != b]


CONNECTIONS: dict[str, Callable[[], list[Flow]]] = {
    "permutation of 128, 16 MB each": lambda: permutation(16_000_000),
    "incast of 100, 4 MB each": lambda: incast(4_000_000),
    "all-to-all of 32, 2 MB each": lambda: all_to_all(2_000_000),
}


def matrix(flows: list[Flow]) -> str:
    """Write connections as htsim reads them."""
    lines = [f"Nodes {HOSTS}", f"Connections {len(flows)}"]
    lines += [
        f"{flow.source}->{flow.receiver} id {number} start 0 size {flow.bytes}"
        for number, flow in enumerate(flows, 1)
    ]
    return "\n".join(lines) + "\n"


def topology() -> str:
    """Write the fat tree that htsim builds of 128 nodes."""
    lines = [f"Nodes {HOSTS}", "Tiers 3", f"Podsize {PER_POD}"]
    for tier, down in enumerate((4, 4, 8)):
        lines += [f"Tier {tier}", f"Downlink_speed_Gbps {RATE_GBPS}", f"Radix_Down {down}"]
        lines += ["Radix_Up 4"] if tier < 2 else []
        lines += [f"Downlink_Latency_ns {DELAY_NS}"]
    return "\n".join(lines) + "\n"


def of_htsim(program: Path, flows: list[Flow], folder: Path, repeats: int) -> dict[str, Any]:
    """Return what a program of htsim took."""
    command = [str(program), "-nodes", str(HOSTS), "-tm", str(folder / "x.cm")]
    command += ["-strat", "ecmp_host", "-paths", "128", "-queue_type", "lossless_input"]
    command += ["-linkspeed", str(RATE_GBPS * 1000), "-hop_latency", str(DELAY_NS / 1000)]
    command += ["-mtu", str(MTU), "-end", str(END_US), "-seed", "1", "-o", str(folder / "log")]
    told = folder / "told"
    seconds = min(run(command, told) for _ in range(repeats))
    text = told.read_text(encoding="utf-8", errors="replace")
    ends = [float(at) for at in re.findall(r" finished at ([0-9.]+)", text)]
    hops = sum(-(-flow.bytes // MTU) * 2 * flow.links for flow in flows)
    finished = len(ends) == len(flows)
    return {"s": seconds, "hops": hops, "last_us": max(ends) if finished else None}


def of_ours(scheme: str, folder: Path, repeats: int) -> dict[str, Any]:
    """Return what this simulator took."""
    command = [str(BACKWATER), "run", str(folder / "x.toml"), "--scheme", scheme]
    command += ["--set", f"scheme.mtu={MTU}B", "--force", "-o", str(folder / "run")]
    seconds = min(run(command, folder / "told") for _ in range(repeats))
    summary = json.loads((folder / "run" / "summary.json").read_text(encoding="utf-8"))
    hops = summary["performance"]["packet_hops"]
    return {"s": seconds, "hops": hops, "last_us": summary["end_ps"] / 1e6}


def run(command: list[str], told: Path) -> float:
    """Run a command; return the seconds of processors that it took."""
    # htsim leaves files where it runs.
    status, seconds, _ = spend(command, told, told.parent)
    if status != 0:
        sys.exit(f"{' '.join(command)} ended with status {status}:\n{told.read_text()[-2000:]}")
    return seconds


def measure(folder: Path | None, repeats: int) -> list[dict[str, Any]]:
    """Run all pairs, one after the other."""
    rows = []
    for name, made in CONNECTIONS.items():
        flows = made()
        with tempfile.TemporaryDirectory() as scratch:
            at = Path(scratch)
            (at / "x.cm").write_text(matrix(flows), encoding="utf-8")
            (at / "x.topo").write_text(topology(), encoding="utf-8")
            given = ["--topology", str(at / "x.topo"), "-o", str(at / "x.toml")]
            run([str(BACKWATER), "import", "htsim", str(at / "x.cm"), *given], at / "told")
            for program, scheme in PEERS.items():
                if folder is not None:
                    took = of_htsim(folder.resolve() / program, flows, at, repeats)
                    rows.append({"connections": name, "simulator": program, "scheme": "", **took})
                took = of_ours(scheme, at, repeats)
                rows.append(
                    {"connections": name, "simulator": "backwater", "scheme": scheme, **took}
                )
    return rows


def markdown(rows: list[dict[str, Any]]) -> str:
    """Write a table."""
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
    """Measure, print a table, and keep the numbers."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    given = os.environ.get("HTSIM")
    parser.add_argument("--htsim", type=Path, default=Path(given) if given else None)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("-o", "--out", type=Path)
    options = parser.parse_args()
    if options.htsim is None:
        print("no htsim: name the folder of its programs with --htsim or HTSIM", file=sys.stderr)
    else:
        missing = [name for name in PEERS if not (options.htsim / name).is_file()]
        if missing:
            sys.exit(f"{options.htsim} has no {' and no '.join(missing)}")
    rows = measure(options.htsim, options.repeats)
    print(markdown(rows))
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        text = json.dumps(rows, indent=1) + "\n"
        (options.out / "peers.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
