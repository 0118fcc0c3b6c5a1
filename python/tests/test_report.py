"""The report as a browser finds it."""

import base64
import json
import re
import shutil
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from bokeh.core.serialization import Deserializer
from bokeh.models import GlyphRenderer, Step

import backwater
from backwater.plots import figures
from backwater.plots.curves import Array, divided
from backwater.report import network, render, workloads, write_report
from backwater.report.document import _json
from backwater.results.files import RunFiles
from backwater.results.results import Point, Results
from backwater.results.store import Failure
from conftest import TINY
from tools import Runs, simulated

VOID = {"meta", "br", "link", "img", "input"}
FIGURES = (*("slowdown", "classes", "incast", "buffer", "timeline", "active"), "network")


class Nesting(HTMLParser):
    """Fails where tags do not close in order, and gathers identifiers and text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.ids += [value for name, value in attrs if name == "id" and value]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value for name, value in attrs if name == "id" and value]

    def handle_endtag(self, tag: str) -> None:
        assert self.open
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def page(comparison: Runs) -> str:
    return (comparison.path / "report.html").read_text(encoding="utf-8")


def data(page: str) -> dict[str, Any]:
    """Return what the scripts of a page draw."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    content: dict[str, Any] = json.loads(found[1])
    return content


def steps(item: dict[str, Any]) -> dict[str, list[Array]]:
    """Return the points of the steps that BokehJS draws for an item, by the name of the line."""
    root = Deserializer().decode(item["doc"]["roots"][0])
    return {
        drawn.name: [
            values[np.isfinite(values)]
            for name in (drawn.glyph.x.field, drawn.glyph.y.field)
            for values in [np.asarray(drawn.data_source.data[name], dtype=float)]
        ]
        for drawn in root.select({"type": GlyphRenderer})
        if isinstance(drawn.glyph, Step)
    }


def render_runs(runs: dict[str, RunFiles]) -> str:
    """Return the page about some runs by label."""
    results = Results.of_run(next(iter(runs.values())))
    results.labelled = lambda: runs  # type: ignore[method-assign]
    return render(results)


def test_the_page_is_well_formed_with_unique_identifiers(page):
    parser = Nesting()
    parser.feed(page)
    assert parser.open == []
    assert len(parser.ids) == len(set(parser.ids))
    assert set(FIGURES) <= set(parser.ids)


def test_figures_are_told_as_tables_too(page):
    drawn = data(page)["figures"]
    assert "slowdown" in drawn
    for key in drawn:
        figure = page[page.index(f'<figure id="{key}">') :].partition("</figure>")[0]
        assert "<figcaption>" in figure
        assert '<table class="values sort' in figure


def test_lines_hold_the_numbers_of_the_summary(page, comparison):
    for name, (x, y) in steps(data(page)["figures"]["classes"][1]).items():
        slowdown = comparison[name].summary["fct"]["short"]["slowdown"]
        at = next(place for place, share in zip(x, y, strict=True) if share >= 0.99)
        assert at == pytest.approx(slowdown["p99"], rel=0.05)
        assert x[-1] == pytest.approx(slowdown["max"], rel=1e-4)
        assert y[-1] == 1


def test_the_network_is_the_network(page, comparison):
    network = data(page)["network"]
    ports = comparison["bfc"].table("ports")
    assert len(network["links"]) == ports.height
    assert set(network["names"]) == {*ports["name"].cast(str)}
    ends = {(network["names"][a], network["names"][b]) for a, b in network["links"]}
    assert ends == set(zip(ports["name"].cast(str), ports["peer_name"].cast(str), strict=True))
    run = network["runs"]["bfc"]
    assert run["most_bytes"] == comparison["bfc"].table("queues")["used_bytes"].max()
    held = np.frombuffer(base64.b64decode(run["buffers"]), "<u2")
    assert held.max() == 65535
    assert len(held) == network["frames"] * len(network["switches"])


def test_the_timeline_counts_what_is_under_way(comparison):
    chart = figures.timeline(comparison, figures.read(comparison))
    panels = {panel.title: panel for panel in chart.views[0].panels}
    assert {"flows under way", "fullest leaf switch", "fullest spine switch"} <= set(panels)
    assert len({panel.x for panel in panels.values()}) == 1
    for line in panels["flows under way"].lines:
        run = comparison[line.name]
        for at_ms, number in list(zip(line.x, line.y, strict=True))[::40]:
            begun = run.table("flows").filter(pl.col("start_ps") < round(at_ms * 1e9))
            assert number == begun.filter(pl.col("received_ps") >= round(at_ms * 1e9)).height
        assert line.y[-1] == run.summary["flows"]["unfinished"]
    for line in panels["fullest leaf switch"].lines:
        leaves = (
            comparison[line.name].table("queues").filter(pl.col("tier").cast(pl.String) == "leaf")
        )
        assert max(line.y) == leaves["used_bytes"].max() / 1e6


def test_intervals_are_cut_at_the_ends_of_frames():
    start, end = np.array([1500, 0, 9000, 3999]), np.array([3250, 1000, 9500, 4001])
    pieces = divided(start, end, 5, 1000)
    found = list(zip(pieces.row.tolist(), pieces.frame.tolist(), pieces.share, strict=True))
    cut = [(0, 1, 0.5), (0, 2, 1), (0, 3, 0.25), (1, 0, 1), (3, 3, 0.001), (3, 4, 0.001)]
    assert found == cut


def test_pauses_fill_their_part_of_a_frame(comparison):
    run = comparison["bfc"]
    first = run.table("ports").row(0, named=True)
    held = {"node": [first["node"]], "port": [first["port"]], "class": [2]}
    run._tables["pauses"] = pl.DataFrame(held | {"from_ps": [1500], "to_ps": [3250]})
    try:
        packed = network._pauses(run, network.lay_out(run), 4, 1000)["paused"]
    finally:
        del run._tables["pauses"]
    shares = np.frombuffer(base64.b64decode(packed), "u1").reshape(4, -1) / 200
    assert shares[:, 0].tolist() == [0, 0.5, 1, 0.25]
    assert shares[:, 1:].max() == 0


PAUSED = TINY.replace('"200KB"', '"20MB"') + '[switch]\nbuffer = "1MB"\n'


def test_pause_trees_name_their_congested_ports(tmp_path):
    (tmp_path / "x.toml").write_text(PAUSED + "[record]\npauses = { flows = false }\n")
    run = simulated(tmp_path / "x.toml", scheme="dcqcn", out=tmp_path / "out")
    causes = run.table("pause_causes")
    roots = set(zip(causes["root_name"], causes["root_peer_name"], strict=True))
    assert roots
    told = network.gather({"dcqcn": run})["runs"]["dcqcn"]
    assert set(told["roots"]) == roots
    numbers = np.frombuffer(base64.b64decode(told["root"]), "u1")
    assert set(numbers.tolist()) <= {*range(len(roots) + 1)}
    assert numbers.any()


def test_the_picture_tells_what_was_not_recorded(comparison, tmp_path):
    def caption(runs: dict[str, RunFiles]) -> str:
        figure = render_runs(runs).partition('<figure id="network">')[2]
        return re.sub(r"<[^>]*>", "", figure.partition("<figcaption>")[2].partition("</fig")[0])

    made = {}
    record = '[record]\npauses = { flows = false }\nutilisation = { every = "10us" }\n'
    for name, more in (("plain", ""), ("trees", record)):
        (tmp_path / f"{name}.toml").write_text(PAUSED + more)
        made[name] = simulated(tmp_path / f"{name}.toml", scheme="dcqcn", out=tmp_path / name)
    plain = caption({"plain": made["plain"]})
    assert plain.count("not recorded") == 2
    assert "pauses = { flows = false }" in plain
    assert "not recorded" not in caption({"trees": made["trees"]})
    assert caption(made).count(" of plain is not recorded") == 1
    assert caption(made).count(" of plain are not recorded") == 1
    # What PFC never paused has no trees to record.
    assert not comparison["bfc"].table("pauses").height
    assert "Pause trees" not in caption({"bfc": comparison["bfc"]})


def test_utilisation_over_time_is_that_of_the_whole_run(tmp_path):
    (tmp_path / "used.toml").write_text(TINY + '[record]\nutilisation = { every = "7us" }\n')
    run = simulated(tmp_path / "used.toml", scheme="hpcc", out=tmp_path / "out")
    picture = network.gather({"hpcc": run})
    told = picture["runs"]["hpcc"]
    assert told["used_over_time"]
    shares = np.frombuffer(base64.b64decode(told["used"]), "u1").reshape(picture["frames"], -1)
    busy_ps = run.table("utilisation").group_by("node", "port").agg(pl.col("busy_ps").sum())
    by_port = {(node, port): busy for node, port, busy in busy_ps.iter_rows()}
    ends = zip(run.table("ports")["node"], run.table("ports")["port"], strict=True)
    busy = np.array([by_port.get(end, 0) for end in ends])
    assert busy.max() > 0
    # Each value is rounded to half a percent of its frame.
    frame_ps = picture["frame_ms"] * 1e9
    rounding = picture["frames"] * frame_ps / 400
    assert shares.sum(axis=0) / 200 * frame_ps == pytest.approx(busy, abs=rounding)


def test_a_network_that_is_too_large_is_shown_without_hosts_or_not(comparison, monkeypatch):
    run = comparison["bfc"]
    monkeypatch.setattr(network, "PORTS", 10)
    layout = network.lay_out(run)
    assert set(layout.tiers) == {"leaf", "spine"}
    monkeypatch.setattr(network, "PORTS", 1)
    assert network.gather({"bfc": run}) is None


def test_runs_of_different_networks_have_no_common_picture(comparison, bare):
    assert network.gather(dict(comparison)) is not None
    assert network.gather({"bfc": comparison["bfc"], "bare": bare}) is None


def test_the_head_has_the_range_of_what_the_schemes_do_not_share(comparison, monkeypatch):
    first, *others = comparison.values()
    shown = f"<dt>seed</dt><dd>{first.seed}</dd>"
    for run in others:
        monkeypatch.setitem(run.summary, "measure_to_ps", first.summary["measure_to_ps"] + 10**9)
        monkeypatch.setitem(run.summary, "backwater", "another")
    page = render_runs({first.scheme: first, **{run.scheme: run for run in others}})
    measured = (first.summary["measure_to_ps"] - first.summary["measure_from_ps"]) / 1e9
    assert f"<dd>{measured:g} ms to {measured + 1:g} ms</dd>" in page
    assert f"<dd>{first.summary['backwater']}, another</dd>" in page
    assert shown in page


def test_the_page_needs_no_network(page):
    own = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    addresses = re.findall(r'(?:src|href)="([^"]*)"', own)
    assert all(address.startswith(("#", "data:")) for address in addresses)
    assert "@import" not in own


def test_text_of_a_run_cannot_leave_its_script():
    assert "</script>" not in _json({"name": "</script><script>alert(1)"})


def test_the_page_says_how_to_repeat_it(page, comparison):
    assert "backwater run" in page
    assert "--schemes bfc,dcqcn" in page
    assert "hosts_per_leaf" in page
    for run in comparison.values():
        assert run.digest in page


def test_the_same_runs_make_the_same_page(page, comparison):
    assert render(comparison.results) == page


def test_a_run_where_nothing_happened_has_a_report(bare):
    page = Results.of_run(bare).report().read_text(encoding="utf-8")
    Nesting().feed(page)
    assert '<p class="nothing">' not in page
    assert data(page)["figures"] == {}


def test_the_page_shows_until_when_flows_count(bare):
    assert "to its last byte at the receiver" in render(Results.of_run(bare))
    bare.summary["fct_until"] = "acked"
    page = render(Results.of_run(bare))
    assert "until its last ACK is back" in page
    assert "last byte at the receiver" not in page


def test_what_is_wrong_stands_in_front(bare):
    bare.summary["violations"] = [{"check": "conservation", "message": "1 byte < 2 & gone"}]
    bare.summary["ok"] = False
    bare.summary["warnings"] = ["nobody read <INT>"]
    results = Results.of_run(bare)
    results.points.append(Point("1" * 40, (), "dcqcn", 3))
    results.failed["1" * 40] = Failure("error", "disk full", "backwater run x")
    page = render(results)
    assert "1 byte &lt; 2 &amp; gone" in page
    assert "nobody read &lt;INT&gt;" in page
    assert "<b>dcqcn</b> failed: disk full" in page
    assert page.index("nobody read") < page.index("<h2>Results</h2>")


def test_captions_say_what_a_run_left_unfinished(trained, tmp_path):
    scenario = trained.path.parent / "step.toml"
    cut = simulated(scenario, ["run.until=100us"], out=tmp_path / "cut")
    flows = cut.summary["flows"]
    (work,) = cut.summary["workloads"]
    assert flows["unfinished"]
    assert work["finished"] < work["ranks"]
    found = render_runs({"cut": cut, "whole": trained["dcqcn"]})
    captions = dict(re.findall(r'<figure id="(\w+)">.*?<figcaption>(.*?)<', found, re.DOTALL))
    words = f"not in it: {flows['unfinished']:,} of {flows['started']:,} with cut."
    assert {key for key, caption in captions.items() if words in caption} == {
        *("slowdown", "classes", "blame")
    }
    at_work = f"their run ended: {work['ranks'] - work['finished']} of 8 of train with cut."
    assert at_work in captions["bandwidths"]


def test_a_report_that_cannot_be_written_is_an_error(bare, tmp_path):
    with pytest.raises(backwater.RunError, match=r"report\.html: cannot write"):
        write_report(tmp_path / "missing" / "report.html", Results.of_run(bare))


# RNK-11
def test_lanes_of_ranks_are_their_time(trained):
    (chart,) = [c for c in workloads.charts(trained) if c.key == "ranks"]
    assert [view.label for view in chart.views] == ["dcqcn", "bfc"]
    for view, run in zip(chart.views, trained.values(), strict=True):
        (panel,) = view.panels
        assert [words for _, words in panel.y.ticks] == [str(rank) for rank in range(8)]
        assert [line.name for line in panel.lines] == list(workloads.STATES)
        for line, column in zip(
            panel.lines, ("computing_ps", "exposed_ps", "idle_ps"), strict=True
        ):
            lasted = np.bincount(line.y, np.subtract(line.until, line.x) * 1e9, 8)
            assert lasted == pytest.approx(
                run.table("ranks").sort("rank")[column].to_numpy(), abs=1
            )
            assert len(line.words) == len(line.x)


def test_lanes_are_bounded():
    """Three ranks that compute and send a thousand times each, without a gap."""
    made = pl.DataFrame(
        {
            "lane": np.repeat(np.arange(3), 2000),
            "start_ps": np.tile(np.arange(2000) * 10, 3),
            "end_ps": np.tile(np.arange(2000) * 10 + 10, 3),
            "kind": ["calc", "send"] * 3000,
        },
        schema_overrides={"lane": pl.Int64},
    )
    busy, computing = workloads.merged(made), workloads.merged(made.filter(kind="calc"))
    assert (len(busy.lane), len(computing.lane)) == (3, 3000)
    exposed = workloads.without(busy, computing)
    assert (exposed.end_ps - exposed.start_ps).sum() == 3 * 10_000
    whole = workloads.Stretches(np.arange(3), np.zeros(3, int), np.full(3, 25_000))
    idle = workloads.without(whole, busy)
    assert (idle.start_ps.tolist(), idle.end_ps.tolist()) == ([20_000] * 3, [25_000] * 3)
    # Of equal halves the first state counts; what is idle stays so.
    parts = workloads.in_slices(whole, busy, computing, 10)
    assert [len(part.lane) for part in parts] == [3, 0, 3]
    assert parts[0].end_ps.tolist() == parts[2].start_ps.tolist() == [20_000] * 3
    fine = workloads.in_slices(whole, busy, computing, 2500)
    assert [len(part.lane) for part in fine] == [3000, 3000, 3]


def test_of_many_ranks_the_last_and_some_are_shown():
    many: Any = SimpleNamespace(
        table=lambda _: pl.DataFrame(
            {
                "workload": ["w"] * 200,
                "rank": range(200),
                "end_ps": [None if rank == 77 else (rank * 37) % 200 for rank in range(200)],
            }
        )
    )

    shown = workloads.chosen(many, "w")
    assert shown.height == workloads.LANES
    assert shown["rank"].is_sorted()
    latest = {rank for rank in range(200) if (rank * 37) % 200 >= 200 - workloads.LAST + 1}
    assert {77, *latest} <= set(shown["rank"])
    assert shown["rank"].to_list()[0] <= 5
    assert shown["rank"].to_list()[-1] >= 195
    assert workloads.chosen(many, "other").height == 0  # type: ignore[arg-type]


# OPS-61, RNK-17
def test_bars_of_bandwidth_stay_below_their_bounds(trained):
    (chart,) = [c for c in workloads.charts(trained) if c.key == "bandwidths"]
    (panel,) = chart.views[0].panels
    assert {words for _, words in panel.x.ticks} == {
        "all-reduce, tensor (4), 400 KB",
        "all-reduce, data (2), 1 MB",
        "all-to-allv, all ranks (8), 128 KB",
    }
    for line in panel.lines:
        assert all(0 < bus <= bound for bus, bound in zip(line.y, line.marks, strict=True))
    assert {row[2] for row in chart.table.rows} >= {"group tensor-1 (4)", "group data-3 (2)"}


def test_late_collectives_have_their_links(trained):
    page = (trained.path / "report.html").read_text(encoding="utf-8")
    late = page[page.index('<section id="late">') :].partition("</section>")[0]
    assert "Links on which the sends of these paths lost time" in late
    found = workloads.late(trained)
    assert {row[0] for row in found.links.rows} == {"dcqcn", "bfc"}
    assert len(found.collectives.rows) == 2 * workloads.LATE
    assert found.unrecorded == []


def test_runs_without_ranks_have_nothing_of_workloads(page):
    for key in ("ranks", "bandwidths", "late"):
        assert f'id="{key}"' not in page


def test_several_results_get_an_index(comparison, command, tmp_path):
    folder = tmp_path / "all"
    shutil.copytree(comparison.path, folder / "a b" / "compared")
    shutil.copytree(comparison["bfc"].path, folder / "one")
    (folder / "other").mkdir()
    done = command("report", folder)
    assert done.stdout == f"{folder / 'index.html'}\n"
    page = (folder / "index.html").read_text(encoding="utf-8")
    rows = [re.findall(r"<td>(.*?)</td>", row) for row in re.findall(r"<tr>(<td>.*?)</tr>", page)]
    assert [(row[1], row[3]) for row in rows] == [("many runs", ""), ("run", "bfc")]
    assert rows[0][0] == '<a href="a%20b/compared/report.html">a b/compared</a>'
    assert rows[1][0] == "one"
    assert rows[1][6] == f"{comparison['bfc'].summary['flows']['started']:,}"
    nothing = command("report", folder / "other", code=2)
    assert "no result" in nothing.stderr
