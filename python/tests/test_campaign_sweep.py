"""What a sweep file requests, what is wrong with it, and what the command makes of it."""

import json
import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest
from campaigns import SHORT, SHORT_S, short
from hypothesis import given
from hypothesis import strategies as st
from test_report import Nesting

import backwater
from backwater._base import positions, quantity
from backwater._base.toml import toml
from backwater.results.files import RunFiles
from backwater.results.results import Results
from backwater.running.run import plan
from backwater.scenario.sweep import Sweep
from conftest import Backwater

SCENARIOS = Path(__file__).parents[2] / "scenarios"


def swept(folder: Path, text: str) -> Sweep:
    short(folder)
    path = folder / "sweep.toml"
    path.write_text('scenario = "short.toml"\n' + text, encoding="utf-8")
    return Sweep.read(path)


def wrong(folder: Path, text: str) -> str:
    with pytest.raises(backwater.ScenarioError) as error:
        swept(folder, text).points()
    return str(error.value)


# --- Where things stand ----------------------------------------------------------------------

AWKWARD = """\
a = 1 # comment = [
"quo.ted"."k\\u0065y" = 'x # no comment'
long = \"\"\"
[not.a.table] \\\"\"\" still
\"\"\"
lit = '''it's ''''
[t.u]
v = [ 1, [2, "]"], { w = 3, 'x y' = {} }, # inside
  4,
]
[[list]]
n = 1
[[list]]
n = 2
[list.deep]
m = 2024-01-01 00:00:00
[[list.inner]]
z = -1.5e3
"""


def leaves(value: Any, where: positions.Path = ()) -> dict[positions.Path, Any]:
    found = {where: value}
    if isinstance(value, dict):
        for key, inner in value.items():
            found |= leaves(inner, (*where, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            found |= leaves(inner, (*where, index))
    return found


@pytest.mark.parametrize(
    "text",
    [AWKWARD, SHORT, *(p.read_text(encoding="utf-8") for p in sorted(SCENARIOS.rglob("*.toml")))],
)
def test_every_value_is_found_where_it_stands(text):
    spans = positions.locate(text)
    wanted = leaves(tomllib.loads(text))
    assert spans.keys() <= wanted.keys()
    for where, value in wanted.items():
        if isinstance(value, dict | list):
            continue
        span = spans[where]
        assert tomllib.loads(f"v = {text[span.start : span.end]}")["v"] == value


def test_lines_and_columns_begin_at_one():
    assert positions.line_column("ab\ncd", 0) == (1, 1)
    assert positions.line_column("ab\ncd", 4) == (2, 2)


# --- Values ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_range", "values"),
    [
        ("{ from = 1, to = 5, steps = 5 }", [1, 2, 3, 4, 5]),
        ("{ from = 0.1, to = 0.5, by = 0.1 }", [0.1, 0.2, 0.3, 0.4, 0.5]),
        ("{ from = 1, to = 10, by = 4 }", [1, 5, 9]),
        ('{ from = "4MB", to = "16MB", by = "4MB" }', ["4MB", "8MB", "12MB", "16MB"]),
        (
            '{ from = "1us", to = "1ms", steps = 4, scale = "log" }',
            ["1us", "10us", "100us", "1000us"],
        ),
        ("{ from = 1, to = 100, steps = 3, scale = 'log' }", [1, 10, 100]),
        ('{ from = "0%", to = "100%", steps = 3 }', ["0%", "50%", "100%"]),
        ('{ from = "1KiB", to = "2KiB", steps = 4 }', ["1KiB", "1365B", "1707B", "2KiB"]),
        ("[1, 'a', true, [1, 2], { x = 1 }]", [1, "a", True, [1, 2], {"x": 1}]),
    ],
)
def test_lists_and_ranges(tmp_path, given_range, values):
    (axis,) = swept(tmp_path, f"[axes]\na.b = {given_range}\n").axes
    assert axis.keys == ("a.b",)
    assert [value for (value,) in axis.values] == values


@given(
    first=st.integers(1, 10**4),
    ratio=st.integers(2, 50),
    steps=st.integers(2, 30),
    log=st.booleans(),
    unit=st.sampled_from(["", "MB", "KiB", "us", "Gbps"]),
)
def test_ranges_meet_their_ends_and_rise(first, ratio, steps, log, unit):
    ends = [quantity.parse(f"{n}{unit}" if unit else n) for n in (first, first * ratio)]
    steps_made = quantity.by_steps(ends[0], ends[1], steps, log)
    values = [quantity.number(value) for value in steps_made]
    assert values[0] == float(ends[0].value)
    assert values[-1] == float(ends[1].value)
    assert values == sorted(set(values))  # type: ignore[type-var]


@given(
    st.recursive(
        st.text() | st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.floats(allow_nan=False),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    )
)
def test_values_are_written_as_toml(value):
    assert tomllib.loads(f"v = {toml(value)}")["v"] == value


# --- Sweeps ----------------------------------------------------------------------------------


def test_axes_are_crossed_and_zips_go_together(tmp_path):
    sweep = swept(
        tmp_path,
        'schemes = ["hpcc", "dcqcn"]\nseeds = [1, 2]\n'
        '[set]\nrun.until = "1ms"\n'
        '[axes]\nswitch.buffer = ["8MB", "16MB"]\n'
        '[[zip]]\ntopology.hosts = [4, 6]\n"traffic.web.size" = ["2KB", "3KB"]\n',
    )
    points = sweep.points()
    assert len(points) == sweep.size == 2 * 2 * 2 * 2
    assert sweep.keys == ["switch.buffer", "topology.hosts", "traffic.web.size"]
    together = {(p.values["topology.hosts"], p.values["traffic.web.size"]) for p in points}
    assert together == {(4, "2KB"), (6, "3KB")}
    for point in points:
        told = point.scenario.values
        assert told["switch"]["buffer"] == point.values["switch.buffer"]
        assert told["topology"]["hosts"] == point.values["topology.hosts"]
        assert told["run"]["until"] == "1ms"
        assert (told["scheme"]["preset"], told["seed"]) == (point.scheme, point.seed)
    assert len({point.scenario.key for point in points}) == 16


def test_a_parameter_of_one_scheme_leaves_the_others_as_they_are(tmp_path):
    sweep = swept(
        tmp_path, 'schemes = ["hpcc", "dcqcn"]\n[axes]\nscheme.hpcc.eta = [0.8, 0.9, 0.95]\n'
    )
    keys: dict[str, set[str]] = {}
    for point in sweep.points():
        keys.setdefault(point.scheme, set()).add(point.scenario.key)
    assert {scheme: len(found) for scheme, found in keys.items()} == {"hpcc": 3, "dcqcn": 1}


def test_a_changed_value_makes_only_what_it_changes(tmp_path):
    before = {
        p.scenario.key for p in swept(tmp_path, "[axes]\ntopology.hosts = [4, 5, 6]\n").points()
    }
    after = {
        p.scenario.key for p in swept(tmp_path, "[axes]\ntopology.hosts = [4, 5, 7]\n").points()
    }
    assert len(before & after) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sceme = 1", "unknown key `sceme`\n --> {path}:2:1\n"),
        ("switch.buffer = [1]", "unknown key `switch`\n --> {path}:2:1\n"),
        ("switch.buffer = [1]", "keys of the scenario stand under [axes]"),
        ("seeds = [1, -1]", "{path}:2:13\n"),
        ("seeds = [3, 3]", "seed 3 is named twice\n --> {path}:2:13"),
        ("seeds = 5", "`seeds`: expected a list"),
        ("schemes = []", "with at least one entry"),
        ('schemes = ["hpcc", "hpcc"]', "`hpcc` is named twice\n --> {path}:2:20"),
        ("[axes]\na.b = 5", "expected a list of values or a range\n --> {path}:3:7"),
        ("[axes]\na.b = []", "a list without values"),
        ("[axes]\na.b = [1, 1]", "the same value twice\n --> {path}:3:11"),
        ("[axes]\na.b = { from = 1, to = 3 }", "needs `steps` or `by`\n --> {path}:3:7"),
        ("[axes]\na.b = { from = 1, too = 3 }", "did you mean `to`?"),
        ("[axes]\na.b = { from = 3, to = 1, steps = 2 }", "`to` is less than `from`"),
        ('[axes]\na.b = { from = "1us", to = "1MB", steps = 2 }', "a size and `from` is a time"),
        ("[axes]\na.b = { from = 0, to = 1, steps = 3, scale = 'log' }", "begins above 0"),
        ("[axes]\na.b = { from = 0, to = 1, steps = 2, by = 1 }", "do not go together"),
        ("[axes]\na.b = { from = 0, to = 1, by = 0 }", "`by`: expected a number above 0"),
        ("[axes]\na.b = { from = 0, to = 1000000, by = 1 }", "too many values"),
        ("[axes]\na.b = [1]\n[set]\na.b = 2", "`a.b` is given twice\n".rstrip()),
        ("[axes]\nseed = [1]", "use the list `seeds`"),
        ("[[zip]]\na.b = [1]\na.c = [1, 2]", "(a.b: 1, a.c: 2)\n --> {path}:2:1"),
        ("[[zip]]", "[[zip]] without keys"),
        ("axes = 1", "`axes`: expected a table"),
        ("[axes]\na = [1, 2", "is not valid TOML: "),
        ("[axes]\nswitch.bufer = [1]", "unknown key `bufer`"),
        (
            '[axes]\nswitch.buffer = ["8MB", "9XB"]',
            "`XB` is not a unit of size\n --> {path}:3:25\n",
        ),
        ('[set]\nswitch.buffer = "9XB"', "`XB` is not a unit of size\n --> {path}:3:17\n"),
        ('schemes = ["hpc"]', "with the scheme hpc"),
        ("seeds = { from = 1, to = 900000, by = 1 }", "too many values"),
    ],
)
def test_mistakes_are_told_with_their_place(tmp_path, text, said):
    assert said.format(path=tmp_path / "sweep.toml") in wrong(tmp_path, text)


def test_a_mistake_is_told_once_for_all_values_and_schemes(tmp_path):
    text = 'schemes = ["bfc", "hpcc", "ideal-fq"]\nseeds = [1, 2]\n[axes]\nswitch.bufer = [1, 2]'
    told = wrong(tmp_path, text)
    assert told.count("error: ") == told.count("unknown key `bufer`") == 1
    assert "sweep.toml: all 2 combinations of values are wrong:\n" in told
    assert "sweep.toml:5:8\n" in told  # The key.
    assert "with the scheme" not in told
    hosts = "topology.hosts = [4, 5]"
    told = wrong(tmp_path, f'[axes]\nswitch.buffer = ["1XB", "2MB", "2XB"]\n{hosts}\n')
    assert "sweep.toml: 4 of 6 combinations of values are wrong:\n" in told
    assert "sweep.toml:3:18\n" in told
    assert '= the same of "2XB"' in told
    text = 'schemes = ["bfc", "hpcc", "dcqcn"]\n[set]\nscheme.pfc.headroom = "1GB"'
    assert "with the schemes hpcc, dcqcn)" in wrong(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("seeds = [1]\n", "`scenario` is missing"),
        ('scenario = "none.toml"\n', "none.toml is not a file"),
        (None, "cannot read"),
    ],
)
def test_a_sweep_without_its_scenario(tmp_path, text, said):
    if text is not None:
        (tmp_path / "sweep.toml").write_text(text)
    with pytest.raises(backwater.ScenarioError) as error:
        Sweep.read(tmp_path / "sweep.toml")
    assert said in str(error.value)


def test_sweeps_that_are_too_large_are_refused(tmp_path):
    numbers = list(range(1, 1001))
    with pytest.raises(backwater.ScenarioError, match="1,000,000 runs"):
        swept(tmp_path, f"[axes]\na.b = {numbers}\na.c = {numbers}\n")


def test_the_sweeps_that_come_along_are_right():
    found = sorted((SCENARIOS / "sweeps").glob("*.toml"))
    assert found
    for path in found:
        assert Sweep.read(path).points()


# --- The command -----------------------------------------------------------------------------

SWEEP = """\
scenario = "short.toml"
schemes = ["hpcc", "dcqcn"]
seeds = { from = 1, to = 3 }

[axes]
topology.hosts = [4, 6]
switch.buffer = ["8MB", "12MB"]
"""


@pytest.fixture(scope="module")
def campaign_path(command: Backwater, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("campaign")
    short(folder)
    (folder / "sweep.toml").write_text(SWEEP)
    planned = command("sweep", folder / "sweep.toml", "-o", folder / "out", "--dry-run")
    assert re.search(r"to run +24\n", planned.stdout)
    # Nothing tells how long a run takes before there is one.
    assert not re.search("^time", planned.stdout, re.MULTILINE)
    assert not (folder / "out").exists()
    done = command("sweep", folder / "sweep.toml", "-o", folder / "out")
    assert done.stderr.endswith(f"report: {folder / 'out/report.html'}\n")
    assert done.stdout.endswith("\n24 runs, 24 finished\n")
    planned = command("sweep", folder / "sweep.toml", "-o", folder / "out", "--dry-run")
    assert re.search(r"^time +about 0 s \(there is nothing to run\)$", planned.stdout, re.MULTILINE)
    return folder


@pytest.fixture
def campaign(campaign_path: Path) -> Results:
    return backwater.load(campaign_path / "out")


def test_the_table_has_a_row_per_run(campaign):
    table = campaign.runs
    assert table.height == 24
    assert table.columns[:5] == ["topology.hosts", "switch.buffer", "scheme", "seed", "state"]
    assert set(table["state"]) == {"done"}
    for row in table.iter_rows(named=True):
        run = RunFiles(Path(row["path"]))
        assert (row["digest"], row["seed"], row["scheme"]) == (run.digest, run.seed, run.scheme)
        assert row["fct.short.p99"] == run.summary["fct"]["short"]["slowdown"]["p99"]
    assert campaign.ok
    assert len(table.to_dicts()) == 24


def test_flows_know_their_run(campaign):
    flows = campaign.scan("flows").collect()
    assert flows.columns[:4] == ["topology.hosts", "switch.buffer", "scheme", "seed"]
    counts = flows.group_by("topology.hosts", "scheme", "seed").len()
    assert (counts["len"] == 2 * counts["topology.hosts"]).all()
    point = campaign.points[0]
    one = flows.rows_by_key(flows.columns[:4], named=True)
    ends = [flow["received_ps"] for flow in one[*point.values, point.scheme, point.seed]]
    assert sorted(ends) == sorted(campaign.files(point.key).table("flows")["received_ps"])
    assert campaign.table("ports").height > 0


def test_statistics_are_over_seeds(campaign):
    column = "fct.short.slowdown.p50"
    table = campaign.statistics(column, percentiles=(0.5, 0.9))
    assert table.height == 8
    assert set(table["seeds"]) == {3}
    by_seed = campaign.values(column)[((4, "8MB"), "hpcc")]
    assert table["mean"][0] == pytest.approx(sum(by_seed.values()) / 3)
    assert (table["mean_low"] <= table["mean"]).all()
    assert table["p50_low"].null_count() == 8
    differences = campaign.differences(column, "dcqcn")
    assert set(differences["scheme"]) == {"hpcc"}
    with pytest.raises(backwater.RunError, match="did you mean"):
        campaign.statistics("fct.short.p9")
    with pytest.raises(backwater.RunError, match="no scheme `bfc`"):
        campaign.differences(column, "bfc")


def test_the_report(campaign_path, command):
    out = campaign_path / "out"
    page = (out / "report.html").read_text(encoding="utf-8")
    tags = Nesting()
    tags.feed(page)
    assert tags.open == []
    assert len(tags.ids) == len(set(tags.ids))
    assert "difference to hpcc at the same seed" in page
    assert re.search(r"[\d.]+ <small>\[", page)
    (out / "report.html").unlink()
    assert command("report", out).stdout.strip() == str(out / "report.html")
    assert (out / "report.html").read_text(encoding="utf-8") == page


def test_reports_of_runs_and_folders(comparison, command, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(comparison["bfc"].path, run)  # Others look at what a comparison leaves.
    assert Path(command("report", run).stdout.strip()).is_file()
    command("report", tmp_path / "none", code=2)
    command("report", run, run, code=2)  # The name of the page is missing.
    assert command("report", tmp_path).stdout == f"{tmp_path / 'index.html'}\n"


def test_a_campaign_goes_on(campaign_path, command, tmp_path):
    sweep = campaign_path / "more.toml"
    sweep.write_text(SWEEP.replace("to = 3", "to = 4"))
    out, store = tmp_path / "out", campaign_path / "out" / "store"
    planned = plan(sweep, out=out, store=store)
    assert (planned.runs, planned.cached, planned.todo) == (32, 24, 8)
    assert planned.seconds > 0
    said = command("sweep", sweep, "-o", out, "--store", store, "--dry-run", "--json")
    told = json.loads(said.stdout)
    assert told["todo"] == len(told["commands"]) == 8
    assert all(words.endswith("--seed 4") for words in told["commands"])
    done = backwater.sweep(sweep, out=out, store=store, report=False)
    assert (len(done.rows), done.ok) == (32, True)
    assert plan(sweep, out=out, store=store).todo == 0


def test_failures_are_told_and_the_end_is_not_zero(command, tmp_path):
    (tmp_path / "short.toml").write_text(
        SHORT.replace("permutation", "uniform").replace(
            'size = "2KB"', 'size = "1MB"\nevery = "5us"\nwindow = ["0us", "10us"]'
        )
    )
    sweep = tmp_path / "sweep.toml"
    sweep.write_text(
        'scenario = "short.toml"\n[axes]\ntraffic.web.window = [["0us", "10us"], ["0us", "20s"]]\n'
    )
    out = tmp_path / "out"
    done = command("sweep", sweep, "-o", out, "--timeout", f"{SHORT_S:g}s", "--jobs", "1", code=1)
    assert done.stdout == "2 runs, 1 finished, 1 failed\n"
    assert "error: timeout: took longer than 5 s\n  backwater run" in done.stderr
    campaign = backwater.load(out)
    assert campaign.runs["state"].to_list() == ["done", "failed"]
    assert not campaign.ok
    assert "took longer than 5 s" in (out / "report.html").read_text(encoding="utf-8")
    # What failed is not tried again, and said again.
    again = backwater.sweep(sweep, out=out, timeout_s=SHORT_S, report=False)
    assert [failure.kind for failure in again.failed.values()] == ["timeout"]


def test_wrong_input_ends_with_two(command, tmp_path):
    sweep = tmp_path / "sweep.toml"
    sweep.write_text('scenario = "none.toml"\n')
    command("sweep", sweep, "-o", tmp_path / "out", code=2)
    short(tmp_path)
    sweep.write_text('scenario = "short.toml"\n')
    for words in (["--timeout", "5"], ["--memory", "0GB"], ["--jobs", "1", "--scheduler", "x"]):
        command("sweep", sweep, "-o", tmp_path / "out", *words, code=2)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").touch()
    refused = command("sweep", sweep, "-o", tmp_path / "full", code=1)
    assert "thesis.tex" in refused.stderr


def test_another_campaign_is_left_alone(command, tmp_path):
    short(tmp_path)
    for name in ("first", "second"):
        (tmp_path / f"{name}.toml").write_text('scenario = "short.toml"\n')
    out = tmp_path / "out"
    first, second = (["sweep", tmp_path / f"{n}.toml", "-o", out] for n in ("first", "second"))
    for words in (first, first, [*second, "--force"]):
        command(*words)
    refused = command(*first, code=1)
    assert "holds results of `second`, and this is `first`" in refused.stderr


def test_a_campaign_that_is_damaged_says_so(tmp_path):
    (tmp_path / "results.json").write_text("{")
    with pytest.raises(backwater.RunError, match="repeat the run"):
        backwater.load(tmp_path)
    (tmp_path / "results.json").write_text(
        '{"format": 99, "store": "", "keys": [], "axes": [], "points": []}'
    )
    with pytest.raises(backwater.RunError, match="another version"):
        backwater.load(tmp_path)
