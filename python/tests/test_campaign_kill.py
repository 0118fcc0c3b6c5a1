"""A campaign that is killed at any moment goes on where it was."""

import os
import random
import subprocess
import time
from pathlib import Path
from subprocess import DEVNULL

from campaigns import short, substance

import backwater
from backwater.results.store import Store
from conftest import COMMAND
from tools import PATIENCE

RUNS = 100
KILLS = 10


def test_a_campaign_that_is_killed_many_times(tmp_path):
    """SIGKILL at random times does not lose, double or change a result."""
    short(tmp_path)
    sweep = tmp_path / "sweep.toml"
    sweep.write_text(
        'scenario = "short.toml"\nseeds = { from = 1, to = 50 }\nschemes = ["hpcc", "dcqcn"]\n'
    )
    out = tmp_path / "killed"
    words = [COMMAND, "sweep", sweep, "-o", out, "--jobs", "2"]
    chance = random.Random(8)
    killed = 0
    while killed < KILLS and (seen := _finished(out)) < RUNS:
        with subprocess.Popen(words, stdout=DEVNULL, stderr=DEVNULL) as campaign:
            # Some runs further on, and then at any point of what is being done.
            wanted = seen + chance.randint(0, RUNS // KILLS - 2)
            while campaign.poll() is None and _finished(out) < wanted:
                time.sleep(0.002)
            time.sleep(chance.uniform(0, 0.03 if wanted > seen else 0.6))
            killed += campaign.poll() is None
            campaign.kill()
    # A very fast machine may finish before the last kill.
    assert killed > KILLS // 2

    last = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert last.returncode == 0, last.stderr
    assert "100 runs, 100 finished" in last.stdout
    assert "damaged" not in last.stderr
    assert sorted(os.listdir(out / "store" / "work")) == []

    campaign = backwater.load(out)
    undisturbed = backwater.sweep(sweep, out=tmp_path / "undisturbed", jobs=2, report=False)
    assert campaign.store.keys() == {point.key for point in campaign.points}
    assert len(campaign.store.keys()) == RUNS
    assert campaign.points == undisturbed.points
    assert campaign.runs.select("scheme", "seed").n_unique() == RUNS
    for key in campaign.rows:
        assert substance(campaign.files(key)) == substance(undisturbed.files(key))


def _finished(out: Path) -> int:
    return len(Store(out / "store").keys())
