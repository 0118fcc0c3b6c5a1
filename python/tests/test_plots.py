"""Figures: what they show, and that they hold when there is little to show."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

import backwater
from backwater.plots import charts, curves
from backwater.plots import drawing as plots
from backwater.results.results import Results

FIGURES = ["slowdown", "buffer", "pauses", "active", "incast"]


def words(figure: Figure) -> set[str]:
    """Return every text of a figure, of its axes too."""
    figure.canvas.draw()
    return {text.get_text() for text in figure.findobj(lambda a: hasattr(a, "get_text"))}  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["slowdown", "buffer", "active", "incast"])
def test_lines_carry_the_names_of_their_schemes(comparison, name):
    figure = getattr(comparison.results.plot, name)()
    assert {"bfc", "dcqcn"} <= words(figure)


@pytest.mark.parametrize("name", ["slowdown", "buffer", "active", "incast"])
def test_a_scheme_has_one_colour_in_all_figures(comparison, name):
    figure = getattr(comparison.results.plot, name)()
    drawn = {line.get_color() for axes in figure.axes for line in axes.lines}
    look = curves.styles(["bfc", "dcqcn"])
    assert drawn == {look["bfc"].colour, look["dcqcn"].colour}


def test_pauses_are_bars_per_tier_and_direction(comparison):
    run = comparison["dcqcn"]
    run.summary["links"][0]["paused_fraction"] = 0.25
    try:
        figure = plots.Plots({"dcqcn": run, "bfc": comparison["bfc"]}).pauses()
    finally:
        run.summary["links"][0]["paused_fraction"] = 0.0
    (axes,) = figure.axes
    assert max(bar.get_height() for bar in axes.patches) == 0.25
    assert {"host → leaf", "leaf → spine", "spine → leaf", "leaf → host"} <= words(figure)
    assert {"dcqcn", "bfc"} <= words(figure)


@pytest.mark.parametrize("name", FIGURES)
def test_nothing_to_show_is_said_in_words(bare, name):
    figure = getattr(Results.of_run(bare).plot, name)()
    (sentence,) = [text for text in words(figure) if text]
    assert sentence.endswith(".")


@pytest.mark.parametrize("name", FIGURES)
def test_a_run_with_nothing_stands_beside_one_with_something(comparison, bare, name):
    figure = getattr(plots.Plots({"bfc": comparison["bfc"], "hpcc": bare}), name)()
    figure.canvas.draw()


@pytest.mark.parametrize("name", FIGURES)
def test_a_single_flow_is_enough(bare, comparison, name):
    bare._tables["flows"] = comparison["bfc"].table("flows").head(1)
    bare._tables["queues"] = comparison["bfc"].table("queues").head(1)
    bare._tables["active"] = comparison["bfc"].table("active").tail(1)
    getattr(Results.of_run(bare).plot, name)().canvas.draw()


def test_tiers_are_named_as_people_do():
    tiers = ("leaf", "switch", "switch2", "nvswitch")
    called = [curves.switch_of(tier) for tier in tiers]
    assert called == ["leaf switch", "switch", "tier 2 switch", "nvswitch"]


def test_a_point_alone_is_seen(bare, comparison):
    bare._tables["flows"] = comparison["bfc"].table("flows").filter(~pl.col("incast")).head(1)
    markers = [
        line.get_marker()
        for panel in Results.of_run(bare).plot.slowdown().axes
        for line in panel.lines
    ]
    assert markers == ["o"] * 3


def test_schemes_keep_their_styles_apart():
    schemes = ["bfc", "hpcc", "dcqcn", "dctcp", "timely", "ideal-fq", *(f"x{i}" for i in range(20))]
    look = curves.styles(schemes)
    assert len({(style.colour, style.line) for style in look.values()}) == len(schemes)
    assert curves.styles(["bfc"])["bfc"] == look["bfc"]


sizes = st.lists(st.integers(1, 10**9), min_size=1, max_size=400).map(np.array)


@given(sizes, st.integers(1, 30))
def test_every_flow_is_in_one_size_bin(sample, bins):
    flows = curves.by_size(sample, np.arange(len(sample)))
    edges = curves.equal_count_edges([flows], bins)
    assert (np.diff(edges) > 0).all()
    found = curves.in_bins(flows, edges)
    assert sorted(np.concatenate([flow for _, flow in found])) == list(range(len(sample)))
    for (_, held), low, high in zip(found, edges[:-1], edges[1:], strict=True):
        assert (sample[held] > low).all()
        assert (sample[held] <= high).all()
    for middle, held in found:
        assert middle == pytest.approx(np.median(sample[held]))
        for take in curves.STATISTICS.values():
            assert take(held) == pytest.approx(take(np.sort(held)))
    assert len(found) <= bins + 8


@given(sizes, st.sampled_from([1, 2**12]))
def test_flows_are_in_the_order_of_their_sizes(sample, scale):
    """The same whether sizes have 32 bits or more."""
    sizes = sample.astype(np.uint64) * np.uint64(scale)
    values = np.arange(len(sample), dtype=np.float32)
    flows = curves.by_size(sizes, values)
    assert (np.diff(flows.sizes.astype(float)) >= 0).all()
    assert flows.values.dtype == np.float32
    assert (sizes[flows.values.astype(int)] == flows.sizes).all()
    assert sorted(flows.values) == values.tolist()


def test_bins_hold_about_the_same_number_of_flows_and_the_largest_are_split():
    flows = curves.by_size(np.arange(1, 8001), np.ones(8000))
    found = curves.in_bins(flows, curves.equal_count_edges([flows]))
    counts = [len(held) for _, held in found]
    assert counts == [500] * (curves.BINS - 1) + [250, 125, 125]


def test_names_of_lines_do_not_lie_on_each_other():
    rising, share = np.linspace(1, 2, 300), np.linspace(0.001, 1, 300)
    lines = [charts.Line(f"scheme{i}", rising + i / 500, share) for i in range(6)]
    panel = charts.Panel("", charts.Axis("x"), charts.Axis("share", start=0, end=1.02), lines)
    figure = plots.draw(charts.Chart("x", "", "", "step", [charts.View("", [panel])]))
    figure.canvas.draw()
    (panel,) = figure.axes
    boxes = [text.get_window_extent() for text in panel.texts]
    assert len(boxes) == 6
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])


@given(st.lists(st.floats(0, 1e12), min_size=1, max_size=3000))
def test_a_distribution_rises_to_one(values):
    x, share = curves.cdf(np.array(values), points=50)
    assert (np.diff(x) > 0).all()
    assert (np.diff(share) > 0).all()
    assert share[-1] == 1.0
    assert x[-1] == max(values)
    assert len(x) <= 52


AXIS = charts.Axis("", ticks=[(0, "a"), (1, "b")])
ENDS = {"low": [1.0, 2.0], "high": [3.0, 4.0]}
KINDS: dict[charts.Kind, charts.Line] = {
    "line": charts.Line("bfc", [1, 2], [2.0, 3.0], **ENDS),
    "points": charts.Line("bfc", [1, 2], [2.0, 3.0], **ENDS),
    "step": charts.Line("bfc", [1, 2], [0.5, 1.0]),
    "bars": charts.Line("bfc", [0, 1], [2.0, 3.0], **ENDS, marks=[4.0, None]),
    "stack": charts.Line("part", [0, 1], [2.0, 3.0], colour="#123456"),
    "lanes": charts.Line("busy", [0, 1], [0, 1], colour="#123456", until=[1, 2], words=["p", "q"]),
    "cells": charts.Line("bfc", [0, 1], [0, 1], until=[0.0, 1.0], words=["p", "q"]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_chart_is_drawn(kind):
    line = KINDS[kind]
    y = AXIS if kind in ("lanes", "cells") else charts.Axis("")
    x = AXIS if kind in ("bars", "stack", "cells") else charts.Axis("")
    view = charts.View("", [charts.Panel("", x, y, [line])])
    figure = plots.draw(charts.Chart("x", "", "", kind, [view]))
    figure.canvas.draw()
    (panel,) = figure.axes
    lengths = [segment for found in panel.collections for segment in found.get_paths()]
    if line.low is not None:  # A band or an interval reaches from the lowest to the highest value.
        low, high = min(path.vertices.min(axis=0)[1] for path in lengths), panel.get_ylim()[1]
        assert low == 1.0
        assert high >= 4.0
    if kind in ("bars", "stack"):
        assert [bar.get_height() for bar in panel.patches] == [2.0, 3.0]
    if kind == "lanes":
        assert [(bar.get_x(), bar.get_width()) for bar in panel.patches] == [(0, 1), (1, 1)]
    if kind == "cells":
        assert {"p", "q"} <= words(figure)
    if not panel.patches:
        assert panel.lines[0].get_ydata()[-1] == line.y[-1]


def test_the_seeds_of_a_scheme_are_one_curve(tmp_path):
    traffic = {
        "name": "t",
        "pattern": "uniform",
        "sizes": "google-allrpc@bfc",
        "load": {"fraction": 0.3, "of": "hosts"},
        "window": ["0us", "200us"],
    }
    star = {"kind": "star", "hosts": 4, "link": {"rate": "100Gbps", "delay": "1us"}}
    scenario = backwater.Scenario({"name": "s", "topology": star, "traffic": [traffic]})
    results = backwater.run(scenario, schemes=["bfc", "hpcc"], seeds=[1, 2], out=tmp_path / "out")
    assert {len(panel.get_lines()) for panel in results.plot.slowdown().axes} == {2}
