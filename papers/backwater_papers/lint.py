"""Refuses claims that cannot fail, and our own statements that are marked as claims of a paper.

A claim is useful only if it can be false. These claims are refused:

- a comparison that a tie meets,
- a band that contains "no difference",
- a bound that every number meets.

They are allowed if the paper states that there is no difference (``alike = true``).
"""

from __future__ import annotations

from collections.abc import Iterator

from backwater_papers.figure import Bound, Claim, Figure, Pick
from backwater_papers.quantities import Quantity

_OURS = ("specs/", "docs/", "ours")


def complaints(figure: Figure) -> list[str]:
    """Return a text for each fault of the claims of a figure."""
    return [
        f"{figure.name}: {claim.text}: {fault}"
        for claim in figure.claims
        for fault in _of_claim(claim)
    ]


def _of_claim(claim: Claim) -> Iterator[str]:
    if claim.source == "paper" and claim.place.startswith(_OURS):
        yield f'`{claim.place}` is not a place of the paper; set source = "ours"'
    if claim.alike or claim.curve:
        return
    divided = isinstance(claim.over, Pick) and claim.over.measure == claim.value.measure
    for bound in claim.bounds:
        yield from _of_bound(bound, divided)
    if divided and _contains(claim, 1.0):
        yield (
            "its band contains 1, no difference; narrow it, or set `alike = true` if the "
            "paper states that there is none"
        )


def _of_bound(bound: Bound, divided: bool) -> Iterator[str]:
    if isinstance(bound.than, Pick):
        if not bound.strict:
            yield "a tie meets it: use `above` or `below`, or `alike = true`"
        return
    if bound.low and bound.than.value < (0 if bound.strict else 1e-300):
        yield "every number meets its lower bound"
    if divided and not bound.strict and bound.than.value == 1:
        yield "a tie meets it: use `above` or `below`, or `alike = true`"


def _contains(claim: Claim, value: float) -> bool:
    """Return true if a number meets all bounds of a claim."""
    for bound in claim.bounds:
        if not isinstance(bound.than, Quantity):
            return False
        edge = bound.than.value
        beyond = value < edge if bound.low else value > edge
        if beyond or (bound.strict and value == edge):
            return False
    return True
