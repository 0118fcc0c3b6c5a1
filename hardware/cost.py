"""Synthesises each circuit with Yosys and prints its size as a Markdown table.

    python hardware/cost.py

The target is a Xilinx UltraScale+ device: LUTs of up to six inputs, flip-flops, carry blocks of
eight bits, DSP blocks. There is no place and route, so there is no frequency.
"""

from __future__ import annotations

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
}


def size(top: str, parameters: dict[str, int]) -> dict[str, int]:
    """Return the cells of a module by kind, after synthesis."""
    sources = " ".join(str(path) for path in sorted(HARDWARE.glob("*/*.sv")))
    sets = "".join(f" -set {name} {value}" for name, value in parameters.items())
    change = f"chparam{sets} {top}; " if parameters else ""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "stat.txt"
        script = (
            f"read_verilog -sv {sources}; {change}synth_xilinx -family xcup -flatten -top {top}"
        )
        script += f"; tee -o {report} stat"
        subprocess.run(["yosys", "-q", "-p", script], check=True)
        text = report.read_text(encoding="utf-8")
    return {kind: int(count) for kind, count in re.findall(r"^\s+(\w+)\s+(\d+)$", text, re.M)}


def main() -> None:
    """Print the table."""
    print("| circuit | module | LUTs | flip-flops | carry blocks | DSP blocks |")
    print("|---|---|---|---|---|---|")
    for name, (top, parameters) in CIRCUITS.items():
        cells = size(top, parameters)
        luts = sum(count for kind, count in cells.items() if re.fullmatch(r"LUT\d", kind))
        flops = sum(count for kind, count in cells.items() if re.fullmatch(r"FD\w+", kind))
        carry = cells.get("CARRY8", 0) + cells.get("CARRY4", 0)
        dsp = sum(count for kind, count in cells.items() if kind.startswith("DSP48"))
        print(f"| {name} | `{top}` | {luts:,} | {flops:,} | {carry:,} | {dsp:,} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
