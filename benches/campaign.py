"""Measures the overhead of campaigns, that is, of calls that make many runs.

    python benches/campaign.py [RUNS]

Prints the time per run beyond the simulation, with one process and with one per processor, and how
long it takes to list a campaign of 4000 finished runs.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from backwater.results import columns
from backwater.results.store import Store
from backwater.running.engine import run_all
from backwater.running.single import processors
from backwater.scenario import Scenario
from backwater.scenario.sweep import Sweep

SHORT = """\
name = "short"
topology = { kind = "star", hosts = 4, link = { rate = "100Gbps", delay = "1us" } }
[[traffic]]
name = "web"
pattern = "permutation"
size = "2KB"
"""
LISTED = 4000


def main() -> None:
    """Measure the overhead per run, and the time to list finished runs."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = Path(name)
        scenario = folder / "short.toml"
        scenario.write_text(SHORT, encoding="utf-8")
        for jobs in dict.fromkeys((1, processors())):
            overhead(scenario, folder / f"store-{jobs}", runs, jobs)
        listing(folder)


def overhead(scenario: Path, place: Path, runs: int, jobs: int) -> None:
    """Print the time of short runs in addition to the simulation time that they report."""
    tasks = [Scenario(scenario, seed=seed) for seed in range(runs)]
    began = time.perf_counter()
    for task in tasks:
        assert task.key
    keys_s = time.perf_counter() - began
    began = time.perf_counter()
    outcome = run_all(tasks, Store(place), jobs=jobs)
    whole_s = time.perf_counter() - began
    assert outcome.made == runs
    simulated_s = sum(r.summary["performance"]["wall_seconds"] for r in outcome.runs.values())
    # `jobs` processes work in parallel, so the cost of a run is the time of one process.
    each_ms = (whole_s * jobs - simulated_s) / runs * 1e3
    began = time.perf_counter()
    assert run_all(tasks, Store(place)).made == 0
    again_s = time.perf_counter() - began
    print(
        f"{runs} runs, {jobs} at a time: {each_ms:.1f} ms per run beside the simulation "
        f"({simulated_s / runs * 1e3:.1f} ms), starting the processes included; "
        f"keys {keys_s / runs * 1e3:.2f} ms each; found again {again_s / runs * 1e3:.2f} ms each"
    )


def listing(folder: Path) -> None:
    """Measure how long a new process takes to list thousands of copies of a finished run."""
    sweep = folder / "sweep.toml"
    sweep.write_text(
        f'scenario = "short.toml"\nseeds = {{ from = 1, to = {LISTED} }}\n', encoding="utf-8"
    )
    from backwater.running.run import _list_requested

    out = folder / "listed"
    out.mkdir()
    began = time.perf_counter()
    asked = Sweep.read(sweep)
    points = asked.points()
    print(f"{LISTED} runs planned in {time.perf_counter() - began:.2f} s")
    store = Store(out / "store")
    done = run_all([points[0].scenario], store).runs[points[0].scenario]
    _list_requested(out, store.path, asked, points, "")
    for point in points[1:]:
        path = store.path_of(point.scenario.key)
        path.mkdir(parents=True)
        for file in done.path.iterdir():
            (path / file.name).hardlink_to(file)
    row = columns.row(done.summary)
    store.note((point.scenario.key, row) for point in points[1:])
    listed = (
        "import time; began = time.perf_counter(); import backwater, json; "
        f"table = backwater.load({str(out)!r}).runs; "
        "print(json.dumps([table.height, time.perf_counter() - began]))"
    )
    for what in ("", " again"):
        told = subprocess.run(
            [sys.executable, "-c", listed], capture_output=True, text=True, check=True
        )
        height, seconds = json.loads(told.stdout)
        assert height == LISTED
        print(f"{LISTED} finished runs listed{what} in {seconds:.2f} s, imports included")


if __name__ == "__main__":
    main()
