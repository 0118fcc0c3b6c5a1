"""Compares runs of Backwater with stored results of other simulators.

These are scripts for maintainers who have such results. No wheel contains them. Run them in the
root of a checkout: ``python -m validation DIR``.
"""
