"""Figures of papers: what runs, what is drawn, and which statements of the paper hold here.

A figure is a TOML file (``figures/PAPER/NAME.toml``). :mod:`~backwater_papers.files` reads it,
:mod:`~backwater_papers.reproduce` runs it, :mod:`~backwater_papers.measures` makes numbers of the
runs, :mod:`~backwater_papers.claims` judges, :mod:`~backwater_papers.readings` judges under other
readings of the paper, :mod:`~backwater_papers.drawing` draws, and :mod:`~backwater_papers.table`
writes the table of claims.
"""

__version__ = "0.1.0"
