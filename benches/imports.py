"""Measure how the time of each import grows with its input.

The exit status is 1 if the time of an import grows with the square of the input.

python benches/imports.py
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from backwater.importers import importing
from backwater.importers.importing import Wishes
from backwater.importers.ns3 import scenario as ns3
from backwater.workloads import Workload

Write = Callable[[Path, int], Callable[[], object]]
"""Writes an input of a given size into a folder, and returns a function that imports it."""

GROWTH = 8
"""How many times larger the second input is."""

BOUND = 24
"""Limit of the ratio of the times: a linear import has 8, a quadratic one 64."""


def triggers(folder: Path, n: int) -> Callable[[], object]:
    """Write a chain of ``n`` connections, each started by a multishot trigger of its own."""
    lines = [f"Nodes 8\nConnections {n}\nTriggers {n - 1}"]
    for i in range(1, n + 1):
        start = f"trigger {i - 1}" if i > 1 else "start 0"
        end = f" send_done_trigger {i}" if i < n else ""
        lines.append(f"{i % 8}->{(i + 1) % 8} id {i} {start} size 1000{end}")
    lines += [f"trigger id {i} multishot" for i in range(1, n)]
    return htsim(folder, lines)


def one_trigger(folder: Path, n: int) -> Callable[[], object]:
    """Write one multishot trigger that starts ``n`` connections, each after another."""
    lines = [f"Nodes 8\nConnections {n + 1}\nTriggers 1"]
    lines += ["0->1 id 1 start 0 size 1 send_done_trigger 1"]
    lines += [f"0->1 id {i} trigger 1 size 1 send_done_trigger 1" for i in range(2, n + 2)]
    return htsim(folder, [*lines, "trigger id 1 multishot"])


def htsim(folder: Path, lines: list[str]) -> Callable[[], object]:
    """Write a connection matrix of htsim, and return a function that imports it."""
    path = folder / "x.cm"
    path.write_text("\n".join(lines))
    return lambda: importing.import_htsim(path, Wishes())


def goal(folder: Path, n: int) -> Callable[[], object]:
    """Write a chain of ``n`` messages from one rank to another."""
    path = folder / "x.goal"
    blocks = []
    for rank, what in enumerate(("send 8b to 1", "recv 8b from 0")):
        lines = [f"l{i}: {what} tag {i}" for i in range(n)]
        lines += [f"l{i} requires l{i - 1}" for i in range(1, n)]
        blocks.append("\n".join([f"rank {rank} {{", *lines, "}"]))
    path.write_text("\n".join(["num_ranks 2", *blocks]))
    return lambda: importing.import_goal(path, Wishes())


def members(_: Path, n: int) -> Callable[[], object]:
    """Return a function that builds a workload whose ``n`` ranks do one collective in a group."""

    def build() -> None:
        workload = Workload(n, groups={"all": range(n)})
        for rank in range(n):
            workload.collective(rank, "all-reduce", 1000, "all")

    return build


def recomputed(folder: Path, n: int) -> Callable[[], object]:
    """Write a workload of ``n`` layers, each with a checkpoint from which it is computed again."""
    path = folder / "x.txt"
    layers = " ".join(map(str, range(n)))
    head = (
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 all_gpus: 2 "
        f"checkpoints: {n} {layers} checkpoint_initiates: {n} {layers}"
    )
    lines = [f"l{i} -1 1 NONE 0 1 NONE 0 1 NONE 0 1" for i in range(n)]
    path.write_text("\n".join([head, str(n), *lines]))
    return lambda: importing.import_simai(path, Wishes())


def msccl(folder: Path, n: int) -> Callable[[], object]:
    """Write an all-gather of two gpus whose ``n`` thread blocks send a chunk each."""
    path = folder / "x.xml"
    gpus = []
    for rank in range(2):
        send = (
            'type="{}" srcbuf="{}" srcoff="{}" dstbuf="o" dstoff="{}" cnt="1" depid="{}" deps="{}"'
        )
        blocks = []
        for i in range(n):
            before = (i - 1, 0) if i else (-1, -1)
            mine = send.format("s", "i", i, rank * n + i, *before)
            theirs = send.format("r", "i", i, (1 - rank) * n + i, -1, -1)
            kept = send.format("cpy", "i", i, rank * n + i, -1, -1)
            blocks.append(
                f'<tb id="{i}" send="{1 - rank}" recv="{1 - rank}" chan="{i}">'
                f'<step s="0" {mine}/><step s="1" {theirs}/><step s="2" {kept}/></tb>'
            )
        gpus.append(f'<gpu id="{rank}" i_chunks="{n}" o_chunks="{2 * n}">{"".join(blocks)}</gpu>')
    head = f'<algo name="x" coll="allgather" nchannels="{n}" nchunksperloop="{2 * n}" ngpus="2">'
    path.write_text(f"{head}{''.join(gpus)}</algo>")
    return lambda: importing.import_msccl(path, Wishes(), 1 << 20)


def flows(folder: Path, n: int) -> Callable[[], object]:
    """Write inputs of ns-3: ``n`` hosts on a switch, with two flows each."""
    (folder / "topology.txt").write_text(
        f"{n + 1} 1 {n}\n{n}\n" + "\n".join(f"{i} {n} 100Gbps 1us 0" for i in range(n))
    )
    listed = [f"{i} {(i + 1) % n} 3 100 1000 2.0" for i in range(n) for _ in range(2)]
    (folder / "flow.txt").write_text("\n".join([str(2 * n), *listed]))
    (folder / "config.txt").write_text(
        "TOPOLOGY_FILE topology.txt\nFLOW_FILE flow.txt\nL2_ACK_INTERVAL 1\nCC_MODE 3\n"
        "RATE_AI 50Mb/s\nBUFFER_SIZE 32\nVAR_WIN 1\n"
    )
    return lambda: ns3.import_ns3(folder / "config.txt", "x", "x.csv")


INPUTS: dict[Write, int] = {
    triggers: 2000,
    one_trigger: 6000,
    goal: 2000,
    members: 4000,
    recomputed: 800,
    msccl: 120,
    flows: 1000,
}
"""The size of the smaller input of each kind."""


def seconds(write: Write, size: int) -> float:
    """Return the processor time of an import, the smaller of two measurements."""
    with tempfile.TemporaryDirectory() as folder:
        run = write(Path(folder), size)
        took = []
        for _ in range(2):
            before = time.process_time()
            run()
            took.append(time.process_time() - before)
        return min(took)


def main() -> None:
    """Print the times of both sizes and their ratio; exit with status 1 if a ratio is too large."""
    failed = False
    for write, size in INPUTS.items():
        small, large = seconds(write, size), seconds(write, GROWTH * size)
        failed |= large > BOUND * small
        print(f"{write.__name__:12} {small:8.3f} s {large:8.3f} s  ratio {large / small:5.1f}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
