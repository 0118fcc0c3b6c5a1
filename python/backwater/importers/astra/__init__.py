"""Inputs of ASTRA-sim: Chakra traces, system and network files."""
