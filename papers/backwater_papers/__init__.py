"""Reproduces figures of papers and judges which statements of the papers hold.

A figure is a TOML file (``figures/PAPER/NAME.toml``). Each module does one step:

- :mod:`~backwater_papers.files` reads the file.
- :mod:`~backwater_papers.reproduce` runs the simulations.
- :mod:`~backwater_papers.measures` computes numbers from the runs, and
  :mod:`~backwater_papers.bootstrap` their uncertainty over seeds.
- :mod:`~backwater_papers.claims` judges the claims.
- :mod:`~backwater_papers.drawing` draws the picture.
- :mod:`~backwater_papers.table` writes the list of claims.
"""

__version__ = "0.1.0"
