"""Runs tests inside the logic simulator, and builds the program that writes traces."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner

HARDWARE = Path(__file__).resolve().parent.parent
ROOT = HARDWARE.parent
SOURCES = sorted(Path(os.environ.get("HARDWARE_SOURCES", HARDWARE)).glob("*/*.sv"))
SIMULATOR = os.environ.get("HARDWARE_SIMULATOR", "icarus")
BUILD = {"icarus": [], "verilator": ["--timing", "-Wno-fatal"]}
"""Options of a simulator. Verilator warns of widths in the bench."""
EVENTS = int(os.environ.get("HARDWARE_EVENTS", "10000"))


def width(signal: str) -> str:
    """Return the width of a declared signal as an expression of its parameters."""
    ends = re.search(r"\[(.+):(.+)\]", signal)
    return f"({ends[1]})-({ends[2]})+1" if ends else "1"


def write_bench(top: str, folder: Path) -> tuple[Path, dict[str, str]]:
    """Write a module with a circuit, a clock, one signal of all inputs, and one of all outputs.

    Return its file, and environment variables that list the inputs and outputs, the ones at the
    lowest bits first.
    """
    [source] = [path for path in SOURCES if path.stem == top]
    text = source.read_text(encoding="utf-8")
    [parameters] = re.findall(r"^module \w+ #\((.+?)^\) \(", text, re.DOTALL | re.MULTILINE)
    ports = re.findall(r"^    (input|output) +(logic .*?(\w+)),?$", text, re.MULTILINE)
    inputs, outputs = (
        {name: width(signal) for of, signal, name in ports if of == side and name != "clk"}
        for side in ("input", "output")
    )
    passed = ", ".join(f".{name}({name})" for name in re.findall(r"\w+ (\w+) =", parameters))
    signals = " ".join(f"{signal};" for _, signal, name in ports if name != "clk")
    bench = folder / "bench.sv"
    bench.write_text(
        f"""\
module bench #({parameters}) ();
  {signals}
  logic clk = 1'b0;
  logic [{" + ".join(inputs.values())}-1:0] stimulus;
  logic [{" + ".join(outputs.values())}-1:0] observed;
  assign {{{", ".join(reversed(inputs))}}} = stimulus;
  {top} #({passed}) circuit (.*);
  // Icarus takes a variable without an assignment for a constant.
  initial stimulus = '0;
  always begin
    #1 clk = 1'b1;
    #1 clk = 1'b0;
  end
  always @(posedge clk) observed <= {{{", ".join(reversed(outputs))}}};
endmodule
""",
        encoding="utf-8",
    )
    return bench, {"HARDWARE_INPUTS": " ".join(inputs), "HARDWARE_OUTPUTS": " ".join(outputs)}


def simulate(
    top: str,
    test: str,
    folder: Path,
    parameters: Mapping[str, int] | None = None,
    environment: Mapping[str, str] | None = None,
    module: str = "circuits",
) -> None:
    """Build a circuit with parameters, and run the test named `test` of a Python module on it."""
    bench, names = write_bench(top, folder)
    runner = get_runner(SIMULATOR)
    runner.build(
        sources=[*SOURCES, bench],
        hdl_toplevel="bench",
        parameters=parameters or {},
        build_dir=folder,
        build_args=BUILD[SIMULATOR],
        always=True,
    )
    results = runner.test(
        test_module=module,
        hdl_toplevel="bench",
        testcase=test,
        build_dir=folder,
        test_dir=folder,
        extra_env={
            "PYTHONPATH": str(Path(__file__).parent),
            "COCOTB_LOG_LEVEL": "WARNING",
            **names,
            **(environment or {}),
        },
    )
    ran, failed = get_results(results)
    assert (ran, failed) == (1, 0), f"see the output above; {ran} tests ran, {failed} failed"


@cache
def trace_program() -> Path:
    """Build the program that writes traces of the dataplane, and return its file."""
    command = ["cargo", "build", "--locked", "--quiet", "-p", "backwater-scenario"]
    subprocess.run([*command, "--example", "hardware_trace"], cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "debug" / "examples" / "hardware_trace"


def write_trace(
    folder: Path, kind: str, scenario: Path, scheme: str, values: list[str], events: int = EVENTS
) -> Path:
    """Run the dataplane with changes to the scheme (`values`); return the file of its trace."""
    path = folder / "trace.txt"
    command = [str(trace_program()), kind, str(scenario), scheme, str(events), *values]
    with path.open("w", encoding="utf-8") as file:
        subprocess.run(command, check=True, stdout=file)
    return path


def state_bits(top: str, parameters: Mapping[str, int]) -> tuple[int, int]:
    """Return the bits of the memories and of the flip-flops of a circuit."""
    [source] = [path for path in SOURCES if path.stem == top]
    folders = "".join(f" -libdir {folder}" for folder in sorted({path.parent for path in SOURCES}))
    sets = "".join(f" -set {name} {value}" for name, value in parameters.items())
    script = f"read_verilog -sv {source}; chparam{sets} {top}; hierarchy{folders} -top {top}"
    command = ["yosys", "-p", f"{script}; proc; flatten; opt; tee -o /dev/stderr stat -width"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    memory = re.findall(r"Number of memory bits:\s+(\d+)", printed)[-1]
    registers = re.findall(r"\$\w*dff\w*_(\d+)\s+(\d+)", printed)
    return int(memory), sum(int(width) * int(count) for width, count in registers)
