"""Drives a circuit cycle by cycle from cocotb, inside the bench of `simulator.py`."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import wraps
from typing import Any

import cocotb
from cocotb.handle import Immediate
from cocotb.triggers import Timer

Values = Mapping[str, int]

MOST_CYCLES = 50_000
"""Longest time that a circuit may need to clear its memories."""


QUIET_CYCLES = 3
"""More cycles than a pipeline has stages."""


def circuit_test(body: Callable[[Any], Awaitable[None]]) -> Any:
    """Register a cocotb test whose argument is the circuit inside the bench."""

    @wraps(body)
    async def run(bench: Any) -> None:
        await Timer(2, "step")  # The bench has initialised its variables.
        await body(bench.circuit)

    return cocotb.test(run)


def values(dut: Any, *names: str) -> list[int]:
    """Return parameters or signals of a circuit."""
    return [int(getattr(dut, name).value) for name in names]


class Bench:
    """A circuit with a clock and a reset. Inputs that a cycle does not name keep their value.

    All inputs are packed into one signal. All outputs, as they are before the rising edge of a
    cycle, are packed into another one. The reason is that each access of a signal from Python takes
    several microseconds.
    """

    def __init__(self, dut: Any, outputs: Iterable[str] = ()) -> None:
        """Find the places of inputs and outputs; `cycle` returns the outputs that are named."""
        self.dut = dut
        bench = cocotb.top
        self.stimulus, self.observed = bench.stimulus, bench.observed
        self.inputs: dict[str, tuple[int, int]] = {}
        self.last: dict[str, int] = {}
        place = 0
        for name in os.environ["HARDWARE_INPUTS"].split():
            width = len(getattr(bench, name))
            self.inputs[name] = (place, (1 << width) - 1)
            self.last[name] = 0
            place += width
        self.packed = 0
        # Places in the text of the outputs, whose first character is the highest bit.
        end = len(self.observed)
        self.outputs: dict[str, slice] = {}
        for name in os.environ["HARDWARE_OUTPUTS"].split():
            width = len(getattr(bench, name))
            self.outputs[name] = slice(end - width, end)
            end -= width
        self.returned = {name: self.outputs[name] for name in outputs}
        self.bits = ""
        self.period = Timer(2, "step")

    def set(self, values: Values) -> None:
        """Set inputs for the next cycle."""
        for name, value in values.items():
            change = value - self.last[name]
            if change:
                place, most = self.inputs[name]
                assert 0 <= value <= most, f"{name} cannot be {value}"
                self.packed += change << place
                self.last[name] = value

    async def advance(self, values: Values) -> None:
        """Apply inputs for one cycle and read nothing: outputs may still be undefined."""
        self.set(values)
        self.stimulus.value = Immediate(self.packed)
        await self.period
        self.bits = str(self.observed.value)

    async def cycle(self, values: Values) -> dict[str, int]:
        """Apply inputs for one cycle and return the outputs of that cycle."""
        await self.advance(values)
        bits = self.bits
        return {name: int(bits[place], 2) for name, place in self.returned.items()}

    def output(self, name: str) -> int:
        """Return an output of the last cycle."""
        return int(self.bits[self.outputs[name]], 2)

    async def reset(self, values: Values) -> None:
        """Reset the circuit with these inputs."""
        await self.advance({**values, "rst": 1})
        self.set({"rst": 0})

    async def quiet(self, values: Values, outputs: Iterable[str], high: Iterable[str] = ()) -> None:
        """Run the first cycles after a reset and check that these outputs are 0 or `high`."""
        expected = {**dict.fromkeys(outputs, 0), **dict.fromkeys(high, 1)}
        for _ in range(QUIET_CYCLES):
            await self.advance(values)
            for name, value in expected.items():
                assert self.output(name) == value, f"{name} after a reset"

    async def clear(self, values: Values) -> int:
        """Run cycles until the memories are clear (`ready`) and return their number."""
        count = 0
        while not int(self.dut.ready.value):
            await self.advance(values)
            count += 1
            assert count < MOST_CYCLES, "the memories are never clear"
        return count
