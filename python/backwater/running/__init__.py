"""Runs simulations: one, or many on this machine or on a cluster."""
