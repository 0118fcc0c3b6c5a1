"""Draws stimuli for a module: short ones of hypothesis, long ones at random."""

from __future__ import annotations

import os
import random
from collections.abc import Awaitable, Callable
from typing import Any

from cocotb.task import bridge, resume
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

EXAMPLES = int(os.environ.get("HARDWARE_EXAMPLES", "60"))
EVENTS = int(os.environ.get("HARDWARE_EVENTS", "10000"))
SHRINK = os.environ.get("HARDWARE_SHRINK", "1") == "1"
"""True if failing examples are reduced to small ones, which takes long."""
LENGTH = 500
"""Cycles of one random example of the long tests."""


def mask(priorities: set[int]) -> int:
    """Return the bits of a set of priorities."""
    return sum(1 << priority for priority in priorities)


async def check(strategy: st.SearchStrategy[Any], body: Callable[[Any], Awaitable[None]]) -> None:
    """Run `body` in the simulator for examples of a strategy. Failing examples are reduced."""

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[phase for phase in Phase if SHRINK or phase != Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def examples(example: Any) -> None:
        resume(body)(example)

    await bridge(examples)()


async def follow_long(
    follow: Callable[[Any], Awaitable[None]], drawn: Callable[[random.Random, int], Any]
) -> None:
    """Run `follow` for long random examples with `HARDWARE_EVENTS` cycles in total."""
    rng = random.Random(7)
    for _ in range(max(EVENTS // LENGTH, 1)):
        await follow(drawn(rng, LENGTH))
