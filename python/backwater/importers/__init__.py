"""Reads inputs of other programs, and writes results in their formats; one folder per program."""
