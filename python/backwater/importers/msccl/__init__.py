"""Algorithms of collectives in the XML of MSCCL."""
