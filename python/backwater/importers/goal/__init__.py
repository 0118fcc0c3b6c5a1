"""GOAL schedules of LogGOPSim and ATLAHS."""
