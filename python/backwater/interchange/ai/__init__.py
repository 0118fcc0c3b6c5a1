"""Workloads of machine learning as other programs write them: one file for each format.

A module reads one format into plain data and knows nothing of scenarios; `convert` makes operations
and a scenario of them. docs/import.md has the rules of each format.
"""
