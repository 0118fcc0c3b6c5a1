"""Imports inputs of other programs and exports results to them. Each program has its own folder."""
