"""Each call has a directory of its own: no call replaces the results of another one."""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import backwater
from backwater.results.files import RunFiles
from backwater.results.results import Results
from backwater.running.single import Lockstep, run_one
from conftest import TINY
from tools import simulated


@pytest.fixture
def tiny_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A scenario in an empty working directory."""
    monkeypatch.chdir(tmp_path)
    scenario = tmp_path / "tiny.toml"
    scenario.write_text(TINY)
    return scenario


def is_whole(run: RunFiles) -> bool:
    return run.table("flows").height == run.summary["flows"]["started"]


def test_runs_of_a_loop_keep_their_own_results(tiny_here):
    runs = {seed: simulated(tiny_here, seed=seed) for seed in (1, 2, 3)}
    assert len({run.path for run in runs.values()}) == 3
    assert runs[1].path == Path("out/tiny")
    assert {seed: run.seed for seed, run in runs.items()} == {1: 1, 2: 2, 3: 3}
    assert all(is_whole(run) for run in runs.values())
    assert len({run.table("flows")["bytes"].sum() for run in runs.values()}) == 3

    buffers = [simulated(tiny_here, [f"switch.buffer={n}MB"]) for n in (1, 2)]
    assert len({run.path for run in [*runs.values(), *buffers]}) == 5
    profiled = simulated(tiny_here, scheme="hpcc", profile="ns3")
    assert profiled.path != simulated(tiny_here, scheme="hpcc").path


def test_the_same_run_again_has_the_same_directory(tiny_here):
    first = simulated(tiny_here, seed=1)
    other = simulated(tiny_here, seed=2)
    again = [simulated(tiny_here, seed=seed) for seed in (1, 2)]
    assert [run.path for run in again] == [first.path, other.path]
    # The same results took their place, so that both can be read.
    assert all(map(is_whole, [first, other, *again]))
    # A comment does not change the results.
    tiny_here.write_text(TINY + "# the end\n")
    assert simulated(tiny_here, seed=1).path == first.path


def test_an_edited_scenario_or_input_file_is_another_run(tiny_here):
    flows = tiny_here.with_name("flows.csv")
    flows.write_text("src,dst,bytes,start\n0,1,5000,0us\n")
    text = TINY[: TINY.index("[[traffic]]")]
    tiny_here.write_text(text + '[[traffic]]\nname = "l"\npattern = "list"\nfile = "flows.csv"\n')
    first = simulated(tiny_here)
    flows.write_text("src,dst,bytes,start\n0,1,5000,0us\n1,2,700,0us\n")
    second = simulated(tiny_here)
    assert first.path != second.path
    assert (first.table("flows").height, second.table("flows").height) == (1, 2)
    tiny_here.write_text(tiny_here.read_text().replace("spines = 2", "spines = 1"))
    assert simulated(tiny_here).path not in (first.path, second.path)


def test_runs_at_the_same_time_get_different_directories(tiny_here):
    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(lambda seed: simulated(tiny_here, seed=seed), range(1, 5)))
    assert len({run.path for run in runs}) == 4
    assert all(map(is_whole, runs))


def test_comparisons_share_a_directory_and_keep_their_own_runs(tiny_here):
    def compare(seed: int, schemes: Sequence[str] = ("bfc", "hpcc")) -> Results:
        scenario = backwater.Scenario(tiny_here, seed=seed)
        return backwater.compare(scenario, schemes, report=False)

    found = [compare(1), compare(2), compare(1, ["bfc"])]
    assert {one.path for one in found} == {Path("out/tiny-compare")}
    assert [one.seeds for one in found] == [[1], [2], [1]]
    # Later results do not replace the runs of earlier ones, and equal runs are made once.
    digests = [{run.digest for run in one.labelled().values()} for one in found]
    assert digests[0] > digests[2]
    assert not digests[0] & digests[1]
    assert len(found[0].store.keys()) == 4
    assert all(is_whole(run) for one in found for run in one.labelled().values())
    # The link has the name of the scheme and leads to the run of the last call.
    assert Path("out/tiny-compare/bfc").resolve() == found[2].only.path.resolve()


def test_a_named_directory_keeps_other_results_unless_forced(tiny_here):
    first = simulated(tiny_here, seed=1, out="here")
    with pytest.raises(backwater.RunError, match="--force"):
        simulated(tiny_here, seed=2, out="here")
    assert is_whole(first)
    second = simulated(tiny_here, seed=2, out="here", force=True)
    assert is_whole(second)
    unread = (
        lambda: first.table("ports"),
        lambda: first.resolved,
        lambda: first.select_flows(["bytes"]),
        lambda: first.table("rtt"),
    )
    assert is_whole(first), "what was read before is kept"
    first._tables.clear()
    for read in (*unread, lambda: first.table("flows")):
        with pytest.raises(backwater.InputError, match=first.digest):
            read()

    backwater.compare(tiny_here, ["bfc"], out="both", report=False)
    tiny_here.write_text(TINY.replace('"tiny"', '"other"'))
    with pytest.raises(backwater.RunError, match="holds results of `tiny`"):
        backwater.compare(tiny_here, ["bfc"], out="both", report=False)
    with pytest.raises(backwater.RunError, match="results of many runs"):
        backwater.run(tiny_here, out="both")


def test_a_comparison_leaves_a_run_in_its_directory_alone(tiny_here):
    mine = simulated(tiny_here, scheme="bfc", seed=7, out="both/bfc")
    with pytest.raises(backwater.RunError, match="--force"):
        backwater.compare(tiny_here, ["bfc", "hpcc"], out="both")
    assert is_whole(mine)
    assert not Path("both/hpcc").exists()


def test_results_without_a_key_are_left_alone(tiny_here):
    old = simulated(tiny_here)
    summary = old.path / "summary.json"
    about = json.loads(summary.read_text())
    del about["key"]
    summary.write_text(json.dumps(about))
    assert simulated(tiny_here).path != old.path
    with pytest.raises(backwater.RunError, match="--force"):
        simulated(tiny_here, out=old.path)


def test_no_argument_is_ignored_in_lockstep(tiny_here):
    for threads in (0, 2):
        with pytest.raises(backwater.ScenarioError, match=f"threads={threads}"):
            run_one(backwater.Scenario(tiny_here), threads=threads, lockstep=Lockstep())
    # The replay of ns-3 knows more than frames say.
    with pytest.raises(backwater.RunError, match="cannot run in lockstep"):
        run_one(backwater.Scenario(tiny_here, scheme="hpcc", profile="ns3"), lockstep=Lockstep())
    assert not list(Path("out").iterdir()), "a run that failed leaves no empty directory"


def test_jobs_are_for_this_machine(tiny_here):
    with pytest.raises(backwater.ScenarioError, match="jobs=2"):
        backwater.run(tiny_here, seeds=[1], jobs=2, scheduler="tcp://127.0.0.1:1")
    with pytest.raises(backwater.ScenarioError, match="timeout_s=0"):
        backwater.run(tiny_here, seeds=[1], timeout_s=0)
    assert not Path("out").exists(), "options are checked before a directory is made"
