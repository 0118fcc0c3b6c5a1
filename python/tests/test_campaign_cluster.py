"""Campaigns on a Dask cluster, here of processes on this machine, some of which are killed."""

import contextlib
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from campaigns import SHORT_S, by_seed, endless, listed, short, substance, tasks

import backwater
from backwater.results.store import Store
from backwater.running.engine import Status, run_all
from tools import simulated

distributed = pytest.importorskip("distributed", reason="pip install 'backwater[cluster]'")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=60
    ) as found:
        yield found


def test_a_cluster_whose_workers_are_killed(cluster, tmp_path):
    wanted = tasks(short(tmp_path), 40)
    kills = 0

    def listener(status: Status) -> None:
        nonlocal kills
        if kills < 3 and status.done >= 10 * (kills + 1):
            kills += 1
            workers = list(cluster.workers.values())
            victim = workers[kills % len(workers)]
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim.pid, signal.SIGKILL)

    outcome = run_all(
        wanted, Store(tmp_path / "cluster"), scheduler=cluster.scheduler_address, listener=listener
    )
    assert kills == 3
    assert (outcome.made, outcome.ok) == (40, True)
    assert by_seed(outcome) == by_seed(run_all(wanted, Store(tmp_path / "local")))


def test_a_cluster_gets_files_limits_and_a_client(cluster, tmp_path):
    good, slow = backwater.Scenario(listed(tmp_path)), backwater.Scenario(endless(tmp_path))
    with distributed.Client(cluster, set_as_default=False) as client:
        outcome = run_all(
            [good, slow], Store(tmp_path / "store"), scheduler=client, timeout_s=SHORT_S
        )
        assert client.status == "running"
    assert outcome.failed[slow].kind == "timeout"
    assert substance(outcome.runs[good]) == substance(
        simulated(tmp_path / "listed.toml", out=tmp_path / "alone")
    )


def test_a_worker_with_another_version_is_refused(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr("backwater.running.cluster.version", lambda: "0.0.9+old")
    task = backwater.Scenario(short(tmp_path))
    outcome = run_all([task], Store(tmp_path / "store"), scheduler=cluster.scheduler_address)
    assert "install the same on all" in outcome.failed[task].message


def test_a_scheduler_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setattr("backwater.running.cluster._CONNECT_S", 1)
    with pytest.raises(backwater.RunError, match="no Dask scheduler answers there"):
        run_all(tasks(short(tmp_path), 1), Store(tmp_path / "store"), scheduler="tcp://127.0.0.1:9")
