"""Explains results of a run: delay breakdown, critical paths, pauses."""
