"""Synthesises each circuit with Yosys and prints its size as a Markdown table.

    python hardware/cost.py [--only TEXT]

The target is a Xilinx UltraScale+ device: LUTs of up to six inputs, flip-flops, carry blocks of
eight bits, DSP blocks. There is no place and route, so there is no frequency.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HARDWARE = Path(__file__).resolve().parent

CIRCUITS = {
    "SPFC, state of a port": ("spfc_port_state", {}),
    "PFC, decision of an ingress and class": ("pfc_ingress", {}),
    "dynamic threshold": ("dynamic_threshold", {}),
    "PFC, pauses received by a port": ("pfc_pause_timer", {}),
    "PFC, pauses sent by a port": ("pfc_generator", {}),
    "lossless buffer, 32 ports": ("spfc_buffer", {"PORTS": 32}),
    "HPCC, telemetry of a port": ("hpcc_int_egress", {}),
    "HPCC, table of reciprocals": ("hpcc_reciprocal", {}),
    "HPCC, sender of 50 flows": ("hpcc_sender", {"FLOWS": 50}),
    "HPCC, flow scheduler of 50 flows": ("hpcc_scheduler", {"FLOWS": 50}),
    "BFC, flow table of a pipeline": ("bfc_flow_table", {"ENTRIES": 25_600, "INDEX": 15}),
    "BFC, pause counters of a pipeline": ("bfc_pause_counters", {}),
    "BFC, ingress pipeline": ("bfc_ingress_pipeline", {}),
    "BFC, pause frames of a pipeline": ("bfc_pause_generator", {}),
    "BFC, pause frames of a pipeline of two ports": (
        "bfc_pause_generator",
        {"PORTS": 2, "PORT": 1},
    ),
    "BFC, egress port": ("bfc_egress_port", {}),
    "Floodgate, windows": ("fg_window_table", {}),
    "Floodgate, ingress pipeline": ("fg_ingress_pipeline", {}),
    "Floodgate, ingress pipeline with VUPs": ("fg_ingress_pipeline", {"WITH_VUP": 1}),
    "Floodgate, emitting counters": ("fg_emitting_counters", {}),
}


def size(top: str, parameters: dict[str, int]) -> dict[str, int]:
    """Return the cells of a module by kind, after synthesis."""
    # Read only the modules of the circuit. Others would change generated names, and so the result.
    (source,) = HARDWARE.glob(f"*/{top}.sv")
    folders = sorted({path.parent for path in HARDWARE.glob("*/*.sv")})
    libraries = "".join(f" -libdir {folder}" for folder in folders)
    sets = "".join(f" -set {name} {value}" for name, value in parameters.items())
    change = f"chparam{sets} {top}; " if parameters else ""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "stat.txt"
        # Memories are counted before they become cells.
        script = f"read_verilog -sv {source}; {change}hierarchy{libraries} -top {top}"
        script += "; proc; flatten; opt"
        script += f"; tee -o {report} stat; synth_xilinx -family xcup -flatten -top {top}"
        script += f"; tee -a {report} stat"
        # These warnings are about memories that become registers or narrow blocks, as intended.
        expected = "Resizing cell port|Replacing memory"
        subprocess.run(["yosys", "-q", "-w", expected, "-p", script], check=True)
        text = report.read_text(encoding="utf-8")
    bits = re.search(r"Number of memory bits:\s+(\d+)", text)
    cells = {kind: int(count) for kind, count in re.findall(r"^\s+(\w+)\s+(\d+)$", text, re.M)}
    return {**cells, "memory bits": int(bits[1]) if bits else 0}


def main() -> None:
    """Synthesise the circuits, and print a table with the cells of each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="part of the names of the modules")
    only = parser.parse_args().only
    print("| circuit | module | LUTs | flip-flops | carry blocks | DSP blocks | memory bits |")
    print("|---|---|---|---|---|---|---|")
    for name, (top, parameters) in CIRCUITS.items():
        if only not in top:
            continue
        cells = size(top, parameters)
        luts = sum(count for kind, count in cells.items() if re.fullmatch(r"LUT\d", kind))
        flops = sum(count for kind, count in cells.items() if re.fullmatch(r"FD\w+", kind))
        carry = cells.get("CARRY8", 0) + cells.get("CARRY4", 0)
        dsp = sum(count for kind, count in cells.items() if kind.startswith("DSP48"))
        counts = (luts, flops, carry, dsp, cells["memory bits"])
        print(f"| {name} | `{top}` | {' | '.join(f'{n:,}' for n in counts)} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
