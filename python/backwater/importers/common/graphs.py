"""Sorts operations by their dependencies. Files may name operations before they define them."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush


class CycleError(ValueError):
    """Operations that wait for each other. Each of ``members`` waits for the next one."""

    def __init__(self, members: list[int]) -> None:
        super().__init__("operations wait for each other")
        self.members = members


def in_order(count: int, edges: Iterable[tuple[int, int]]) -> list[int]:
    """Sort operations 0 to ``count - 1`` so that each comes after all that it waits for.

    ``edges`` are pairs (later, earlier). Operations with smaller numbers come first if several
    orders are possible. So a valid order remains unchanged. Raises ``CycleError`` if there is no
    order.
    """
    after: dict[int, list[int]] = {}
    waiting = [0] * count
    for later, earlier in edges:
        after.setdefault(earlier, []).append(later)
        waiting[later] += 1
    ready = [index for index in range(count) if waiting[index] == 0]
    heapify(ready)
    order = []
    while ready:
        index = heappop(ready)
        order.append(index)
        for later in after.get(index, ()):
            waiting[later] -= 1
            if waiting[later] == 0:
                heappush(ready, later)
    if len(order) < count:
        raise CycleError(_cycle(after, waiting))
    return order


def _cycle(after: dict[int, list[int]], waiting: list[int]) -> list[int]:
    """Return a cycle among the operations that still wait."""
    before = {
        later: earlier
        for earlier, laters in after.items()
        if waiting[earlier]
        for later in laters
        if waiting[later]
    }
    seen: dict[int, int] = {}
    at = next(iter(before))
    while at not in seen:
        seen[at] = len(seen)
        at = before[at]
    return [index for index, number in seen.items() if number >= seen[at]]
