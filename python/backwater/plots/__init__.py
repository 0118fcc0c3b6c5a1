"""Figures of results with matplotlib."""
