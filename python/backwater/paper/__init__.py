"""Figures of papers: what runs, what is drawn, and which statements of the paper hold here.

A figure is a TOML file (``figures/PAPER/NAME.toml``). :mod:`~backwater.paper.files` reads it,
:mod:`~backwater.paper.reproduce` runs it, :mod:`~backwater.paper.measures` makes numbers of the
runs, :mod:`~backwater.paper.claims` judges, :mod:`~backwater.paper.readings` judges under other
readings of the paper, :mod:`~backwater.paper.drawing` draws, and :mod:`~backwater.paper.table`
writes the table of claims.
"""
