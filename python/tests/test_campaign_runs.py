"""Tasks are made once, kept whole, and come back; what fails is told and hurts no other."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from campaigns import SHORT, SHORT_S, by_seed, endless, listed, short, substance, tasks
from lab import wait_until

import backwater
from backwater.results.store import STORED, Failure, Session, Store, sweep_away
from backwater.running.engine import Status, run_all
from backwater.scenario.scenario import version
from conftest import COMMAND
from tools import PATIENCE, simulated


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    return short(tmp_path)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def slow(tmp_path: Path) -> backwater.Scenario:
    return backwater.Scenario(endless(tmp_path), seed=3)


def faulty(folder: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Let the processes that make runs begin with some code, as Python allows every user."""
    place = folder / "faults"
    place.mkdir()
    (place / "sitecustomize.py").write_text(code, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(place))


# --- Keys ------------------------------------------------------------------------------------


def test_a_key_is_about_what_a_run_depends_on(scenario):
    one = backwater.Scenario(scenario, seed=1)
    assert one.key == backwater.Scenario(scenario, ("seed=1",), seed=1).key
    assert one.key == backwater.Scenario(scenario, ('switch.buffer="12MB"',), seed=1).key
    others = [
        backwater.Scenario(scenario, seed=2),
        backwater.Scenario(scenario, scheme="dcqcn", seed=1),
        backwater.Scenario(scenario, ("switch.buffer=8MB",), seed=1),
    ]
    assert len({one.key, *(other.key for other in others)}) == 4


def test_comments_and_the_order_of_keys_change_no_key(scenario):
    before = backwater.Scenario(scenario).key
    scenario.write_text("# A comment.\n" + SHORT.replace('size = "2KB"\n', "") + 'size = "2KB"\n')
    assert backwater.Scenario(scenario).key == before


def test_another_version_has_other_keys(scenario, monkeypatch):
    before = backwater.Scenario(scenario).key
    monkeypatch.setattr("backwater.scenario.scenario.version", lambda: "0.1.0+other")
    assert backwater.Scenario(scenario).key != before
    assert version().startswith(backwater.__version__ + "+")


def test_the_contents_of_files_count_and_their_places_do_not(tmp_path):
    keys = []
    for name, size in (("a", 1000), ("b", 1000), ("c", 2000)):
        folder = tmp_path / name
        folder.mkdir()
        keys.append(backwater.Scenario(listed(folder, f"0,1,{size},0us", name)).key)
    assert keys[0] == keys[1] != keys[2]


def test_a_scenario_that_is_wrong_is_told_before_anything_runs(scenario, store):
    wrong = backwater.Scenario(scenario, ("switch.bufer=8MB",))
    with pytest.raises(backwater.ScenarioError, match="bufer"):
        run_all([*tasks(scenario, 2), wrong], store)
    assert not store.path.exists()


# --- Runs ------------------------------------------------------------------------------------


def test_a_run_of_a_campaign_is_the_run_that_anyone_gets(scenario, store, tmp_path):
    task = backwater.Scenario(scenario, ("switch.buffer=8MB",), scheme="hpcc", seed=7)
    run = run_all([task], store).runs[task]
    alone = simulated(
        scenario, ["switch.buffer=8MB"], scheme="hpcc", seed=7, out=tmp_path / "alone"
    )
    assert substance(run) == substance(alone)
    assert run.path == store.path_of(task.key)
    noted = json.loads((run.path / STORED).read_text())
    assert noted["command"] == task.command
    assert noted["version"] == version()


def test_a_run_that_reads_files(tmp_path, store):
    (tmp_path / "f.csv").write_text("src,dst,bytes,start,class\n0,1,1000,0us,0\n2,1,5000,1us,0\n")
    head = "name = s\norigin = me\nunit = bytes\ninterpolation = linear\n"
    (tmp_path / "s.dist").write_text(f"{head}0 0\n5000 1\n")
    path = tmp_path / "files.toml"
    more = '\n[[traffic]]\nname = "more"\npattern = "list"\nfile = "f.csv"\n'
    path.write_text(SHORT.replace('size = "2KB"', 'sizes = { file = "s.dist" }') + more)
    task = backwater.Scenario(path)
    run = run_all([task], store).runs[task]
    assert substance(run) == substance(simulated(path, out=tmp_path / "alone"))
    assert len(task.files) == 2


def test_a_file_that_changes_meanwhile_is_found(tmp_path, store):
    task = backwater.Scenario(listed(tmp_path))
    assert task.key
    listed(tmp_path, "0,1,2000,0us")
    outcome = run_all([task], store)
    assert "was changed since the runs began" in outcome.failed[task].message


def test_nothing_is_made_twice(scenario, store):
    wanted = tasks(scenario, 5)
    first = run_all([*wanted, *wanted, backwater.Scenario(scenario, ("seed=0",), seed=0)], store)
    assert (first.made, len(first.runs), first.ok) == (5, 6, True)
    again = run_all(tasks(scenario, 6), store)
    assert (again.made, len(again.runs)) == (1, 6)
    assert by_seed(first).items() <= by_seed(again).items()


def test_listeners_hear_how_far_it_is(scenario, store):
    heard: list[tuple[int, int]] = []
    run_all(tasks(scenario, 3), store)

    def listener(status: Status) -> None:
        heard.append((status.done, status.left))

    run_all(tasks(scenario, 8), store, listener=listener)
    assert heard[-1] == (5, 0)
    assert Status(total=4, done=2, seconds=10.0).seconds_left == pytest.approx(10.0)
    assert Status(total=4).seconds_left is None


# --- Failures --------------------------------------------------------------------------------


def test_a_run_that_takes_too_long_is_ended_and_remembered(scenario, slow, store):
    outcome = run_all([slow, *tasks(scenario, 4)], store, jobs=2, timeout_s=SHORT_S)
    failure = outcome.failed[slow]
    assert (failure.kind, failure.seed) == ("timeout", 3)
    assert failure.command == f"backwater run {scenario.with_name('endless.toml')} --seed 3"
    assert len(outcome.runs) == 4
    assert not outcome.ok
    # It would fail again, so it is not tried; with more time it might not.
    assert run_all([slow], store, timeout_s=SHORT_S).failed[slow] == failure
    assert not failure.stands(timeout_s=2 * SHORT_S, memory_bytes=None)
    assert not failure.stands(timeout_s=None, memory_bytes=None)
    retried = run_all([slow], store, timeout_s=0.4, retry_failed=True).failed[slow]
    assert retried.timeout_s == 0.4


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory need Linux")
def test_a_run_that_takes_too_much_memory_is_ended(slow, store):
    outcome = run_all([slow], store, memory_bytes=1_000_000, timeout_s=PATIENCE)
    assert outcome.failed[slow].kind == "memory"


def test_a_process_that_dies_takes_only_its_run_along(scenario, store, tmp_path, monkeypatch):
    # The run of one seed ends its process, as a fault of the simulator or the system might.
    faulty(
        tmp_path,
        monkeypatch,
        "import os, signal, backwater.running.worker as worker\n"
        "simulate = worker._simulate\n"
        "def dies(job, work, tell):\n"
        "    if job.about['seed'] == 2:\n"
        "        os.kill(os.getpid(), signal.SIGSEGV)\n"
        "    return simulate(job, work, tell)\n"
        "worker._simulate = dies\n",
    )
    # `-m` makes a second copy of the module, which the patch does not reach: call the first.
    monkeypatch.setattr(
        "backwater.running.child.ORDER",
        ("-c", "from backwater.running import worker; worker.main()"),
    )
    wanted = tasks(scenario, 5)
    outcome = run_all(wanted, store, jobs=1)
    assert [task.seed for task in outcome.failed] == [2]
    failure = outcome.failed[wanted[2]]
    assert failure.kind == "crash"
    assert "SIGSEGV" in failure.message
    monkeypatch.undo()
    healed = run_all(wanted, store, retry_failed=True)
    assert (healed.made, healed.ok) == (1, True)
    assert store.failure(wanted[2].key) is None


def test_a_failure_that_cannot_be_read_is_tried_again(scenario, store):
    task = backwater.Scenario(scenario)
    store.keep_failure(task.key, Failure("error", "it was so", task.command))
    assert run_all([task], store).failed[task].message == "it was so"
    (store.path / "failures" / f"{task.key}.json").write_text('{"kind": "err')
    assert run_all([task], store).made == 1


def test_processes_that_cannot_be_started_stop_the_campaign(scenario, store, monkeypatch):
    monkeypatch.setattr("backwater.running.child.ORDER", ("-c", "raise SystemExit(3)"))
    task = backwater.Scenario(scenario)
    with pytest.raises(backwater.RunError, match="it ends at once with status 3"):
        run_all([task], store)
    assert store.failure(task.key) is None


# --- Trouble with the disk -------------------------------------------------------------------


def test_a_full_disk_stops_the_campaign_and_loses_nothing(scenario, store, tmp_path, monkeypatch):
    wanted = tasks(scenario, 12)
    run_all(wanted[:2], store)
    # Syncing the sixtieth file finds the disk full.
    faulty(
        tmp_path,
        monkeypatch,
        "import errno, os\n"
        "sync, left = os.fsync, [60]\n"
        "def full(handle):\n"
        "    left[0] -= 1\n"
        "    if left[0] < 0:\n"
        "        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))\n"
        "    sync(handle)\n"
        "os.fsync = full\n",
    )
    with pytest.raises(backwater.RunError, match="No space left on device; free some space") as e:
        run_all(wanted, store, jobs=1)
    assert "are kept; the same command goes on from there" in str(e.value)
    monkeypatch.undo()
    finished = sum(store.get(task.key) is not None for task in wanted)
    assert 2 < finished < 12
    assert os.listdir(store.path / "work") == []
    outcome = run_all(wanted, store)
    assert (outcome.made, len(outcome.runs)) == (12 - finished, 12)


def test_a_place_that_cannot_be_written(scenario, tmp_path):
    if not Path("/sys/kernel").is_dir():
        pytest.skip("needs a file system in which nobody can make directories")
    with pytest.raises(backwater.RunError, match="cannot write"):
        run_all(tasks(scenario, 1), Store("/sys/kernel/backwater"))
    (tmp_path / "file").write_text("")
    with pytest.raises(backwater.RunError, match="Not a directory"):
        run_all(tasks(scenario, 1), Store(tmp_path / "file" / "store"))


def harm(path: Path, how: str) -> None:
    """Damage the files of a run."""
    flows = path / "flows.parquet"
    content = bytearray(flows.read_bytes())
    if how == "cut":
        flows.write_bytes(content[:-100])
    elif how == "changed":
        content[len(content) // 2] ^= 0xFF
        flows.write_bytes(content)
    elif how == "unreadable":
        (path / STORED).write_text("{")
    else:
        (path / {"gone": "summary.json", "no note": STORED}[how]).unlink()


@pytest.mark.parametrize("how", ["cut", "gone", "changed", "unreadable", "no note"])
def test_a_damaged_run_is_set_aside_and_made_again(scenario, store, how):
    wanted = tasks(scenario, 3)
    before = by_seed(run_all(wanted, store))
    victim = store.path_of(wanted[1].key)
    harm(victim, how)
    outcome = run_all(wanted, store)
    assert outcome.made == 1
    assert by_seed(outcome) == before
    (notice,) = outcome.notices
    assert "damaged" in notice
    assert victim.with_name(f"{victim.name}.damaged-1").is_dir()
    assert set(store.keys()) == {task.key for task in wanted}


def test_what_a_run_records_is_kept_and_guarded(tmp_path, store):
    path = tmp_path / "recorded.toml"
    path.write_text(SHORT + '[record]\nrtt = { bin = "100ns" }\n', encoding="utf-8")
    task = backwater.Scenario(path)
    (before,) = run_all([task], store).runs.values()
    samples = before.table("rtt")["samples"].sum()
    assert samples == before.summary["rtt"]["samples"] > 0
    (store.path_of(task.key) / "rtt.parquet").unlink()
    outcome = run_all([task], store)
    assert outcome.made == 1
    assert "rtt.parquet is missing" in outcome.notices[0]
    (again,) = outcome.runs.values()
    assert again.table("rtt")["samples"].sum() == samples


def test_clocks_do_not_matter(scenario, store):
    wanted = tasks(scenario, 4)
    run_all(wanted[:3], store)
    # As if all of it had been written by a clock that was set back since.
    for path in sorted(store.path.rglob("*")):
        os.utime(path, (4_102_444_800, 4_102_444_800))
    outcome = run_all(wanted, store)
    assert (outcome.made, outcome.notices) == (1, [])


def test_the_index_can_be_torn_or_lost(scenario, store):
    wanted = tasks(scenario, 4)
    run_all(wanted, store)
    keys = [task.key for task in wanted]
    whole = store.table(keys)
    index = store.path / "index.jsonl"
    index.write_bytes(index.read_bytes()[:-40])
    assert store.table(keys) == whole
    assert Store(store.path).table(keys) == whole
    index.write_bytes(b'\x00\xff{]\n"word"\n[1]\n' + index.read_bytes())
    assert store.table(keys) == whole
    index.unlink()
    assert store.table([*keys, "0" * 40]) == whole


def test_work_of_the_dead_is_cleared_and_that_of_the_living_is_not(store):
    with store.session() as alive:
        (alive.path / "run").mkdir()
        dead = store.path / "work" / "dead"
        dead.mkdir()
        (dead / "lock").touch()
        (store.path / "work" / "trash-1").mkdir()
        sweep_away(store.path / "work")
        assert os.listdir(store.path / "work") == [alive.path.name]
        assert isinstance(alive, Session)
    assert os.listdir(store.path / "work") == []


def test_two_campaigns_on_one_store(scenario, store):
    wanted = tasks(scenario, 40)
    outcomes = []

    def campaign() -> None:
        outcomes.append(run_all(tasks(scenario, 40), Store(store.path), jobs=2))

    threads = [threading.Thread(target=campaign) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 2
    assert by_seed(outcomes[0]) == by_seed(outcomes[1])
    assert all(len(o.runs) == 40 and o.ok and not o.notices for o in outcomes)
    assert store.keys() == {task.key for task in wanted}
    assert os.listdir(store.path / "work") == []


def test_ctrl_c_keeps_what_is_finished(scenario, slow, store):
    wanted = [*tasks(scenario, 3), slow]

    def listener(status: Status) -> None:
        if status.done == 3:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(backwater.Interrupted) as stop:
        run_all(wanted, store, jobs=1, listener=listener)
    assert len(stop.value.result.runs) == 3
    assert sum(store.get(task.key) is not None for task in wanted) == 3


def test_processes_end_with_the_campaign(tmp_path):
    """SIGKILL leaves no time to tidy up: the processes find out by themselves."""
    words = [COMMAND, "run", endless(tmp_path), "--seeds", "1-2", "-o", tmp_path / "out"]
    campaign = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    threads = Path(f"/proc/{campaign.pid}/task")
    children: list[int] = []
    wait_until(lambda: bool(children.extend(children_of(threads)) or children))
    campaign.kill()
    campaign.wait()
    wait_until(lambda: not any(_alive(child) for child in children))


def children_of(threads: Path) -> list[int]:
    """Return the children of a process on Linux."""
    listed = [(thread / "children").read_text() for thread in threads.iterdir()]
    return [int(number) for numbers in listed for number in numbers.split()]


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
