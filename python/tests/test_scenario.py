"""A scenario and its changes, results of many runs, and how both are misused."""

import tomllib
from pathlib import Path

import polars as pl
import pytest
from campaigns import SHORT, short

import backwater
from backwater import Results, Scenario
from backwater.results import columns, ranking
from backwater.results.store import Failure


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    return short(tmp_path)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Two schemes, two seeds and two buffers."""
    folder = tmp_path_factory.mktemp("many")
    return backwater.run(
        short(folder),
        schemes=["hpcc", "dcqcn"],
        seeds=range(2),
        vary={"switch.buffer": ["8MB", "4MB"]},
        out=folder / "out",
        report=False,
    )


# --- A scenario ------------------------------------------------------------------------------


def test_a_path_a_dict_and_text_are_the_same_scenario(scenario):
    keys = {Scenario(one).key for one in (scenario, str(scenario), SHORT, tomllib.loads(SHORT))}
    assert len(keys) == 1


def test_set_returns_another_scenario(scenario):
    first = Scenario(scenario)
    second = first.set({"switch.buffer": "8MB", "scheme": "dcqcn"}, seed=2)
    assert (first.overrides, first.scheme, first.seed) == ((), None, None)
    assert second.values["switch"]["buffer"] == "8MB"
    assert (second.values["scheme"]["preset"], second.values["seed"]) == ("dcqcn", 2)
    # The last value of a key counts.
    assert second.set({"switch.buffer": "4MB"}).overrides == ('switch.buffer="4MB"',)
    assert second.key == Scenario(scenario, ["switch.buffer=8MB"], scheme="dcqcn", seed=2).key


def test_toml_of_a_changed_scenario_is_that_scenario(scenario):
    for one in (Scenario(scenario), Scenario(scenario).set({"switch.buffer": "8MB"}, seed=3)):
        assert Scenario(one.to_toml()).key == one.key


def test_files_of_a_dict_start_from_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("f.csv").write_text("src,dst,bytes,start\n0,1,1000,0us\n")
    values = tomllib.loads(SHORT)
    values["traffic"] = [{"name": "listed", "pattern": "list", "file": "f.csv"}]
    result = backwater.run(values)
    assert (result.path, result.table("flows").height) == (Path("out/short"), 1)


@pytest.mark.parametrize(
    ("misuse", "named"),
    [
        (lambda s: Scenario(3), "int is not a scenario"),  # type: ignore[arg-type]
        (lambda s: s.set("switch.buffer=8MB"), "expected a dict"),
        (lambda s: s.set([3]), "not a text"),
        (lambda s: s.set({"switch.buffer": 3j}), "switch.buffer"),
        (lambda s: s.set(seed=-1), "seed=-1"),
        (lambda s: s.set(seed=[1, 2]), "several seeds are an argument of run"),
        (lambda s: s.set(seed=True), "seed=True"),
        (lambda s: s.set(scheme=["bfc"]), "not a name"),
        (lambda s: backwater.run(s, schemes="bfc"), "expected a list"),
        (lambda s: backwater.run(s, schemes=["bfc", "bfc"]), "named twice"),
        (lambda s: backwater.run(s, schemes=[]), "no scheme"),
        (lambda s: backwater.run(s, seeds=5), "expected a list"),
        (lambda s: backwater.run(s, seeds=[1, 1]), "each seed once"),
        (lambda s: backwater.run(s, vary=["switch.buffer"]), "expected a dict"),
        (lambda s: backwater.run(s, vary={"switch.buffer": "8MB"}), "list of values"),
        (lambda s: backwater.run(s, vary={"seed": [1]}), "argument seeds"),
        (lambda s: backwater.run(s, vary={"switch.bufer": ["8MB"]}), "bufer"),
        (lambda s: backwater.run(s, seeds=[1], jobs=0), "jobs=0"),
        (lambda s: backwater.run(s, threads=-3), "-3 threads"),
        (lambda s: backwater.run(s, threads="4"), "threads='4'"),
        (lambda s: backwater.run([]), "no scenario"),
        (lambda s: backwater.run(None), "NoneType"),
        (lambda s: backwater.run(s, schemes=[3]), "`3`"),
        (lambda s: backwater.run(s, schemes=["bcf"]), "bcf"),
        (lambda s: backwater.run(s, vary={"switch.buffer": []}), "switch.buffer"),
        (lambda s: backwater.run(s, seeds=[1], timeout_s="10min"), "timeout_s"),
        (lambda s: backwater.run(s, seeds=[1], memory_bytes=-1), "memory_bytes"),
        (lambda s: backwater.compare(s, []), "no scheme"),
        (lambda s: s.set({"switch.buffer": 8}).resolved, "buffer"),
        (lambda s: s.set({"switch.bufer": "8MB"}).resolved, "buffer"),
        (lambda s: s.set(profile=3), "profile"),
        (lambda s: Scenario({"a": object()}), "`a`"),
    ],
)
def test_a_wrong_argument_is_named(scenario, misuse, named):
    with pytest.raises(backwater.ScenarioError) as error:
        misuse(Scenario(scenario))
    assert named in str(error.value)
    assert not Path("out/short-compare").exists()


def test_a_missing_file_is_refused_at_once(tmp_path):
    with pytest.raises(backwater.ScenarioError) as error:
        Scenario(tmp_path / "nope.toml")
    assert [one["code"] for one in error.value.problems] == ["unreadable"]


def test_one_word_stands_for_a_list_of_one(scenario):
    assert Scenario(scenario, ["scheme.link=llr"]).values["scheme"]["link"] == "llr"
    for key, known in (("link", "llr"), ("control", "timely")):
        (problem,) = Scenario(scenario, [f"scheme.{key}=foo"]).check()
        assert (problem["code"], known in problem["hint"]) == ("unknown-name", True)


def test_a_note_is_one_line_of_check_and_no_warning_of_a_run(scenario, command):
    fast = Scenario(scenario, {"topology.link.rate": "400Gbps"}, scheme="dcqcn")
    notes = fast.check()
    assert {note["severity"] for note in notes} == {"note"}
    assert [note["key"] for note in notes] == ["scheme.mtu", "scheme.pfc.response"]
    words = (scenario, "--scheme", "dcqcn", "--set", "topology.link.rate=400Gbps")
    checked = command("check", *words)
    assert checked.stdout == f"{scenario}: ok, 2 notes\n"
    assert checked.stderr.splitlines() == [note["text"] for note in notes]
    run = command("run", *words, "-o", scenario.with_name("fast"))
    assert "note: " not in run.stderr


def test_errors_of_a_dict_name_no_temporary_file():
    (problem, *_) = Scenario({"nam": "x"}).check()
    assert problem["source"] == "<scenario>"
    assert "backwater-" not in problem["text"]


def test_names_of_the_first_version_warn_with_their_successor(scenario):
    with pytest.warns(DeprecationWarning, match=r"backwater\.Results"):
        assert backwater.Run is Results  # type: ignore[attr-defined]
    with pytest.warns(DeprecationWarning, match=r"Scenario\(…\)\.check"):
        assert backwater.check(scenario) == []  # type: ignore[attr-defined]
    with pytest.warns(DeprecationWarning, match=r"Scenario\(…\)\.set"):
        old = backwater.run(scenario, seed=4, out=scenario.with_name("old"))
    assert old.only.seed == 4


# --- Results ---------------------------------------------------------------------------------


def test_results_have_a_row_per_run_and_tables_with_coordinates(many):
    coordinates = ["switch.buffer", "scheme", "seed"]
    assert many.runs.columns[:3] == coordinates
    assert many.runs.height == len(many) == 8
    flows = many.table("flows")
    assert flows.columns[:3] == coordinates
    assert flows.group_by(coordinates).len().height == 8
    late = flows.select(pl.col("start_ps") - pl.col("received_ps"))["start_ps"]
    assert late.max() < 0  # type: ignore[operator]


def test_results_are_selected_by_their_coordinates(many):
    one = many.select("hpcc", seed=1, **{"switch.buffer": "4MB"})
    assert one.only.digest == one.runs["digest"][0]
    assert set(many["dcqcn"].runs["scheme"]) == {"dcqcn"}
    with pytest.raises(backwater.InputError, match="holds several runs"):
        _ = many.only
    with pytest.raises(backwater.InputError, match="was not varied"):
        many.select(**{"switch.bufer": "4MB"})
    with pytest.raises(backwater.InputError, match="no run has these"):
        many.select("bfc")


@pytest.mark.parametrize(
    ("misuse", "named"),
    [
        (lambda r: r.table("flow"), "flows"),
        (lambda r: r.table(3), "`3`"),
        (lambda r: r.table("rtt"), "rtt = "),
        (lambda r: r.scan("flow"), "flows"),
        (lambda r: r.scan("rtt"), "rtt = "),
        (lambda r: r.select("bfc"), "hpcc, dcqcn"),
        (lambda r: r[3], "hpcc, dcqcn"),
        (lambda r: r.select(sed=1), "switch.buffer"),
        (lambda r: r.values("fct.short.p9"), "fct.short.p99"),
        (lambda r: r.values(3), "3"),
        (lambda r: r.differences("fct.short.p99", "bfc"), "hpcc, dcqcn"),
        (lambda r: backwater.load(), "directory"),
        (lambda r: backwater.load(3), "int"),
        (lambda r: backwater.load([r.path]), "list"),
        (lambda r: backwater.load(r.path / "none"), "none"),
        (lambda r: backwater.load(r.path.parent), "out"),
        (lambda r: backwater.load(r.path / "results.json"), "directory"),
    ],
)
def test_misuse_of_results_is_told_with_what_there_is(many, misuse, named):
    with pytest.raises(backwater.InputError) as error:
        misuse(many)
    assert named in str(error.value)


def test_results_without_a_finished_run_can_be_looked_at(many, tmp_path):
    failed = Results.open(many.path)
    key = failed.points[0].key
    failed.points, failed.rows = failed.points[:1], {}
    failed.failed = {key: Failure("error", "disk full", "backwater run x")}
    assert (failed.ok, failed.runs["state"].to_list()) == (False, ["failed"])
    assert failed.statistics("fct.short.p99")["seeds"].to_list() == [0]
    assert "disk full" in failed._repr_html_()
    for look in (
        lambda: failed.table("flows"),
        lambda: failed.plot.slowdown(),
        lambda: failed.report(tmp_path / "report.html"),
    ):
        with pytest.raises(backwater.RunError, match="no run is finished"):
            look()


def test_frames_can_be_those_of_pandas(many):
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    assert many.runs.to_pandas().shape == many.runs.shape


def test_columns_have_units_and_earlier_names(many):
    described = backwater.columns()
    counters = {name for name in many.runs.columns if name.startswith(columns.COUNTERS)}
    assert set(described["name"]) >= {*many.runs.columns[6:]} - counters
    assert described["about"].str.ends_with(".").all()
    assert columns.column("slowdown_short_p99") is columns.column("fct.short.p99")
    assert columns.column("fct.short.slowdown.p99") is columns.column("fct.short.p99")
    with pytest.raises(backwater.InputError, match=r"did you mean `fct\.short\.p99`"):
        columns.column("fct.short.p98")
    assert len({one.name for one in columns.COLUMNS}) == len(columns.COLUMNS)


def test_each_counter_of_the_summaries_has_a_column(many, command):
    first = many.points[0]
    counted = many.files(first.key).summary["counters"]
    row = many.runs.row(0, named=True)
    assert counted["acks"] > 0
    assert {name: row[f"counters.{name}"] for name in counted} == counted
    # Summaries omit some counters that are 0: if one run has it, the others have 0.
    many.rows[first.key]["counters.seldom"] = 7
    try:
        values = many.values("counters.seldom").values()
        assert sorted(v for by_seed in values for v in by_seed.values()) == [0] * 7 + [7]
    finally:
        del many.rows[first.key]["counters.seldom"]
    ranked = ranking.rank(many, maximize="counters.acks", subject_to=["counters.timeouts=0"])
    assert ranked.column.name == "counters.acks"
    shown = command("show", many.path, "--columns", "counters.acks,digest")
    assert f"{row['counters.acks']:,}" in shown.stdout
    wrong = command("show", many.path, "--columns", "counters.ack", code=2)
    assert "counters.acks" in wrong.stderr


def test_several_scenarios_have_a_coordinate(scenario):
    other = scenario.with_name("wide.toml")
    other.write_text(SHORT.replace('"short"', '"wide"').replace("hosts = 4", "hosts = 6"))
    both = backwater.run([scenario, other], out=scenario.with_name("both"), report=False)
    assert both.runs["scenario"].to_list() == ["short", "wide"]
    assert both.runs["run.flows"].to_list() == [4, 6]


def test_results_of_several_directories_are_opened_together(scenario, command):
    places = [scenario.with_name(name) for name in ("a", "b")]
    for seed, place in enumerate(places):
        backwater.run(Scenario(scenario, seed=seed), out=place)
    found = backwater.load(*places)
    assert found.runs["results"].to_list() == [str(place) for place in places]
    page = found.report(scenario.with_name("both.html"))
    assert "Ranked by the mean" in page.read_text(encoding="utf-8")
    shown = command("show", *places).stdout
    for run in found.labelled().values():  # The table of both, and their ranking.
        assert f"digest {run.digest}" in shown
    assert "95 % interval" in shown


def test_invalid_combinations_are_skipped_and_listed(scenario):
    vary = {"switch.buffer": ["8MB", "1B"]}
    with pytest.raises(backwater.ScenarioError):
        backwater.run(scenario, vary=vary, out=scenario.with_name("none"))
    found = backwater.run(scenario, vary=vary, skip_invalid=True, out=scenario.with_name("out"))
    assert found.runs["switch.buffer"].to_list() == ["8MB"]
    (skipped,) = found.about["skipped"]
    assert skipped["values"] == {"switch.buffer": "1B"}
    assert skipped["why"]


# --- The ranking -----------------------------------------------------------------------------


class _Fake(Results):
    def is_ideal(self, scheme: str) -> bool:
        return scheme == "ideal"


def fake(values: dict[str, list[float]], pauses: dict[str, int]) -> Results:
    """Return results of some schemes with a column per seed."""
    from backwater.results.results import Point

    found = _Fake.__new__(_Fake)
    found.path, found.keys, found.about = Path("fake"), [], {"name": "fake", "axes": []}
    found.points, found.rows, found.failed, found._partial, found._files = [], {}, {}, {}, {}
    for scheme, by_seed in values.items():
        for seed, value in enumerate(by_seed):
            key = f"{scheme}-{seed}"
            found.points.append(Point(key, (), scheme, seed))
            found.rows[key] = {"fct.short.p99": value, "pfc.time": pauses[scheme], "audit": "ok"}
    return found


def test_the_ranking_marks_a_winner_only_if_the_seeds_decide_it():
    none = {"a": 0, "b": 0}
    clear = ranking.rank(fake({"a": [3, 3.1, 3.2], "b": [8, 8.1, 8.3]}, none))
    assert (clear.rows[0].scheme, clear.decided, clear.wins) == ("a", True, 3)
    mixed = ranking.rank(fake({"a": [3, 9, 3], "b": [8, 2, 6]}, none))
    assert not mixed.decided
    one = fake({"a": [3], "b": [8]}, none)
    single = ranking.rank(one)
    assert not single.decided
    assert "One seed" in ranking.sentence(one, single)


def test_a_scheme_with_unlimited_buffers_is_ideal(scenario):
    out = scenario.with_name("ideal")
    schemes = ["ideal-fq", "hpcc"]
    found = backwater.run(scenario, schemes=schemes, out=out, report=False)
    assert [found.is_ideal(name) for name in schemes] == [True, False]
    changed = Scenario(scenario, ["scheme.admission=unlimited"], scheme="fixed-window")
    alone = backwater.run(changed, out=scenario.with_name("alone"))
    assert alone.is_ideal("fixed-window")


def test_what_breaks_a_bound_comes_last():
    results = fake({"a": [3, 3], "b": [8, 9], "ideal": [1, 1]}, {"a": 5, "b": 0, "ideal": 0})
    found = ranking.rank(results, minimize="fct.short.p99", subject_to=["pfc.time=0"])
    assert [row.scheme for row in found.rows] == ["b", "ideal", "a"]
    assert found.rows[-1].broken == ("pfc.time=0",)
    # A run without a value does not satisfy a bound.
    without = fake({"a": [3, 3], "b": [8, 9]}, {"a": 0, "b": 0})
    del without.rows["a-1"]["pfc.time"]
    found_without = ranking.rank(without, minimize="fct.short.p99", subject_to=["pfc.time=0"])
    assert [row.scheme for row in found_without.rows] == ["b", "a"]
    # Neither a scheme that breaks the bound nor an ideal one is a rival of the winner.
    assert "ideal" not in ranking.sentence(results, found)
    assert "3" not in ranking.sentence(results, found)
    equal = fake({"a": [3], "b": [3], "c": [3]}, {"a": 0, "b": 5, "c": 0})
    tied = ranking.rank(equal, minimize="fct.short.p99", subject_to=["pfc.time=0"])
    assert ranking.sentence(equal, tied).startswith("a and c have the lowest")
    assert "among those with pfc.time=0, the same: 3" in ranking.sentence(equal, tied)
    for wrong in ("pfc.time", "pfc.tim=0", "pfc.time=soon"):
        with pytest.raises(backwater.InputError):
            ranking.rank(results, subject_to=[wrong])
