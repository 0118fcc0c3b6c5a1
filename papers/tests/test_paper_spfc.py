"""The flow model of the SPFC paper."""

from __future__ import annotations

import numpy as np

from backwater_papers import spfc


def tells_apart(k: float, bursts: float, epsilon: float) -> bool:
    """Return true if K is in the range of Eq. 8: victim ports above C/K, burst ports below."""
    return spfc.least_k(bursts, epsilon) < k < spfc.largest_k(bursts)


# SPFC-30
def test_the_flow_model_is_that_of_the_appendix() -> None:
    for n in range(1, 40):
        for epsilon in (0.0, 0.3, 0.75, 0.9, 1.0):
            # Eq. 7 and Eq. 8 are the same statement.
            for k in (1.5, 3, 5, 9.5):
                # Eqs. 5 and 6: rates of a burst port and of the victim port.
                burst, victim = 1 / (n + 1), (1 - epsilon) + 1 / (n + 1)
                assert tells_apart(k, n, epsilon) == (victim > 1 / k > burst), (n, epsilon, k)


# SPFC-31
def test_five_covers_what_the_paper_says() -> None:
    n = np.arange(1, 32)
    covered = spfc.covered_epsilon(5, n)
    assert (covered[:4] == 0).all()
    assert np.allclose(covered[4:], np.minimum(0.8 + 1 / (n[4:] + 1), 1))
    for bursts, share in zip(n[4:], covered[4:], strict=True):
        assert tells_apart(5, bursts, share - 1e-9)
        assert share == 1 or not tells_apart(5, bursts, share + 1e-9)
