"""Order in graphs of operations, whose files let an operation name later ones."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush


class CircleError(ValueError):
    """Operations that wait for each other; ``members`` has them, each waiting for the next."""

    def __init__(self, members: list[int]) -> None:
        super().__init__("operations wait for each other")
        self.members = members


def in_order(count: int, edges: Iterable[tuple[int, int]]) -> list[int]:
    """Sort operations 0 to ``count - 1`` so that none comes before one that it waits for.

    ``edges`` are pairs (later, earlier). Of several possible orders it is that of the smallest
    numbers, so numbers that fit already stay as they are. Raises ``CircleError`` where there is
    none.
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
        raise CircleError(_circle(after, waiting))
    return order


def _circle(after: dict[int, list[int]], waiting: list[int]) -> list[int]:
    """Find operations that wait for each other among those that still wait."""
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
