"""Flow model of SPFC: for which divisors K it detects victim ports (SPFC paper, IV-C and appendix).

N burst ports send at line rate to a congested port. A victim port sends the share ``epsilon`` of
its line rate to that port as well, and the rest to other ports. Rates are in units of the line rate
C. All arguments can be numbers or arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

Numbers = TypeVar("Numbers", float, "Array")


# SPFC-30
def least_k(bursts: Numbers, epsilon: float) -> Numbers:
    """Return the K above which SPFC detects the victim port as a victim, Eq. 8 (right)."""
    return (bursts + 1) / ((1 - epsilon) * (bursts + 1) + 1)


def largest_k(bursts: Numbers) -> Numbers:
    """Return the K below which SPFC does not take burst ports for victims, Eq. 8 (left)."""
    return bursts + 1


# SPFC-31
def covered_epsilon(k: float | Array, bursts: float | Array) -> Array:
    """Return the largest share towards the congested port at which K detects a victim port.

    The result is at most 1. It is 0 if K is at least N + 1, because burst ports then count as
    victims at any share.
    """
    import numpy as np

    seen = np.minimum(1 - 1 / np.asarray(k) + 1 / (np.asarray(bursts) + 1), 1.0)
    shares: Array = np.where(np.asarray(k) < np.asarray(bursts) + 1, seen, 0.0)
    return shares
