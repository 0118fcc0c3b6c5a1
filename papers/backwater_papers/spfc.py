"""The flow model of SPFC: which ports its divisor K tells apart (SPFC paper, IV-C and appendix).

N burst ports send at line rate to a congested port. A victim port sends the share ``epsilon`` of
its line there as well, and the rest elsewhere. Rates are in units of the line rate C; all arguments
may be numbers or arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

Numbers = TypeVar("Numbers", float, "Array")


# SPFC-30
def burst_rate(bursts: Numbers) -> Numbers:
    """Departure rate of a burst port, Eq. 5: all N + 1 ports share the congested one."""
    return 1 / (bursts + 1)


def victim_rate(bursts: Numbers, epsilon: float) -> Numbers:
    """Departure rate of the victim port, Eq. 6: what goes elsewhere, and its share."""
    return (1 - epsilon) + 1 / (bursts + 1)


def least_k(bursts: Numbers, epsilon: float) -> Numbers:
    """Return the K above which the victim port is seen as one, Eq. 8 (right)."""
    return (bursts + 1) / ((1 - epsilon) * (bursts + 1) + 1)


def largest_k(bursts: Numbers) -> Numbers:
    """Return the K below which burst ports are no victim ports, Eq. 8 (left)."""
    return bursts + 1


def tells_apart(k: float, bursts: Numbers, epsilon: float) -> Any:
    """Whether K is in the range of Eq. 8: victim ports above C/K, burst ports below."""
    return (least_k(bursts, epsilon) < k) & (k < largest_k(bursts))


# SPFC-31
def covered_epsilon(k: float | Array, bursts: float | Array) -> Array:
    """Largest share towards the congested port with which K still sees a victim port, at most 1.

    0 where K is no less than N + 1: there burst ports count as victims, whatever the share.
    """
    import numpy as np

    seen = np.minimum(1 - 1 / np.asarray(k) + 1 / (np.asarray(bursts) + 1), 1.0)
    shares: Array = np.where(np.asarray(k) < np.asarray(bursts) + 1, seen, 0.0)
    return shares
