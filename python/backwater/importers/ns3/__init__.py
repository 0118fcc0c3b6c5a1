"""Inputs and outputs of HPCC's ns-3 simulator and its forks."""
