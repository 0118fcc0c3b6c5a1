"""Data of figures by class of flows and role of ports (`backwater.analysis.breakdown`)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from backwater_papers.samples import Lines, Samples, of_ports, recorded

if TYPE_CHECKING:
    import polars

    from backwater.results.files import RunFiles
    from backwater_papers.figure import Source

_COLUMNS = {"data": "tx_data_bytes", "replies": "tx_reply_bytes", "credits": "tx_credit_bytes"}
"""Kinds of frames that ports count separately, each with its column of sent bytes."""


def port_buffer(source: Source, run: RunFiles) -> Samples:
    """Return the maximum number of bytes that waited for each port."""
    from backwater.analysis.breakdown import port_bytes

    ports = _of_roles(source, run, run.table("ports"))
    return Samples(ports.select(b=port_bytes(ports))["b"].to_numpy().astype(float))


def port_queue(source: Source, run: RunFiles) -> Samples:
    """Return the maximum number of bytes queued at each port, without Floodgate's VOQs."""
    ports = _of_roles(source, run, run.table("ports"))
    return Samples(ports["max_queue_bytes"].to_numpy().astype(float))


def queuing_time(source: Source, run: RunFiles) -> Samples:
    """Return the mean waiting time of data at each port, in ps, weighted by the packets."""
    import polars as pl

    table = recorded(run, "waiting")
    if source.incast is not None:
        table = table.filter(pl.col("incast") == source.incast)
    table = _of_roles(source, run, table)
    return Samples(table["mean_ps"].to_numpy().astype(float), table["packets"].to_numpy())


def sent(source: Source, run: RunFiles) -> Samples:
    """Return the bytes of one kind of frames that ports sent, divided by the ports' capacity."""
    ports = _of_roles(source, run, run.table("ports"))
    could = float(ports["rate_bps"].sum()) * run.summary["end_ps"] / 8e12
    share = float(ports[_COLUMNS[source.frames]].sum()) / could if could else math.nan
    return Samples(np.array([share]))


def buffer_course(source: Source, run: RunFiles) -> Lines:
    """Return the bytes in the buffer of each switch at each probe, as time series."""
    import polars as pl

    table = run.measured_queues().with_columns(pl.col("name", "tier").cast(pl.String))
    if source.tiers:
        table = table.filter(pl.col("tier").is_in(source.tiers))
    if source.nodes:
        table = table.filter(pl.col("name").is_in(source.nodes))
    if source.window:
        table = table.filter(pl.col("at_ps").is_between(*source.window))
    wide = table.sort("at_ps").pivot("name", index="at_ps", values="used_bytes").fill_null(0)
    times = wide["at_ps"].to_numpy().astype(float)
    names = [name for name in wide.columns if name != "at_ps"]
    return Lines(times, {name: wide[name].to_numpy().astype(float) for name in sorted(names)})


def _of_roles(source: Source, run: RunFiles, table: polars.DataFrame) -> polars.DataFrame:
    import polars as pl

    from backwater.analysis.breakdown import port_roles

    if source.ports:
        table = of_ports(source, run, table)
    if source.tiers:
        table = table.filter(pl.col("tier").cast(pl.String).is_in(source.tiers))
    roles = port_roles(run)
    if source.roles:
        roles = roles.filter(pl.col("role").is_in(source.roles))
    return table.join(roles, on=["node", "port"])
