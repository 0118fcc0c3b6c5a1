"""Drives a module cycle by cycle from cocotb."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from cocotb.triggers import Timer

Values = Mapping[str, int]

MOST_CYCLES = 50_000
"""Longest time that a circuit may need to clear its memories."""


QUIET_CYCLES = 3
"""More cycles than a pipeline has stages."""


class Bench:
    """A module with a clock and a reset. Inputs that a cycle does not name keep their value."""

    def __init__(self, dut: Any, outputs: Iterable[str]) -> None:
        """Keep the handles of the outputs that `cycle` returns."""
        self.dut = dut
        self.outputs = {name: getattr(dut, name) for name in outputs}
        self.inputs: dict[str, Any] = {}
        self.last: dict[str, int] = {}

    def set(self, values: Values) -> None:
        """Set inputs; those that do not change are left alone."""
        for name, value in values.items():
            if self.last.get(name) != value:
                if name not in self.inputs:
                    self.inputs[name] = getattr(self.dut, name)
                self.inputs[name].value = value
                self.last[name] = value

    async def edge(self) -> None:
        """Let the clock rise and fall."""
        self.dut.clk.value = 1
        await Timer(1, "step")
        self.dut.clk.value = 0

    async def reset(self, values: Values) -> None:
        """Reset the module with these inputs."""
        self.dut.clk.value = 0
        self.set({**values, "rst": 1})
        await Timer(1, "step")
        await self.edge()
        self.set({"rst": 0})

    async def cycle(self, values: Values) -> dict[str, int]:
        """Apply inputs for one cycle and return the outputs of that cycle."""
        self.set(values)
        await Timer(1, "step")
        read = {name: int(handle.value) for name, handle in self.outputs.items()}
        await self.edge()
        return read

    async def advance(self, values: Values) -> None:
        """Apply inputs for one cycle and read nothing: outputs may still be undefined."""
        self.set(values)
        await Timer(1, "step")
        await self.edge()

    async def quiet(self, values: Values, outputs: Iterable[str], high: Iterable[str] = ()) -> None:
        """Run the first cycles after a reset and check that these outputs are 0 or `high`."""
        expected = {**dict.fromkeys(outputs, 0), **dict.fromkeys(high, 1)}
        for _ in range(QUIET_CYCLES):
            self.set(values)
            await Timer(1, "step")
            for name, value in expected.items():
                assert int(getattr(self.dut, name).value) == value, f"{name} after a reset"
            await self.edge()

    async def clear(self, values: Values) -> int:
        """Run cycles until the memories are clear (`ready`) and return their number."""
        count = 0
        while not int(self.dut.ready.value):
            await self.advance(values)
            await Timer(1, "step")
            count += 1
            assert count < MOST_CYCLES, "the memories are never clear"
        return count
