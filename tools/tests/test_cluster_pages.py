"""The examples of the page about clusters work, with stand-ins for SLURM and for containers."""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from campaigns import SHORT

import backwater
from tools import PATIENCE, ROOT

pytest.importorskip("distributed", reason="pip install 'backwater[cluster]'")

PAGE = (ROOT / "docs/guide/cluster.md").read_text(encoding="utf-8")
SWEEP = 'scenario = "short.toml"\nschemes = ["hpcc"]\nseeds = { from = 1, to = 3 }\n'
LOCAL = "127.0.0.1"


def shown(language: str, word: str = "") -> str:
    """Return the only block of the page in a language that contains a word."""
    found = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (block,) = (block for block in found if word in block)
    return str(block)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "short.toml").write_text(SHORT, encoding="utf-8")
    (tmp_path / "load.toml").write_text(SWEEP, encoding="utf-8")
    return tmp_path


@pytest.fixture
def port() -> int:
    with socket.socket() as free:
        free.bind((LOCAL, 0))
        return int(free.getsockname()[1])


def stand_in(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/bash\n{script}\n", encoding="utf-8")
    (folder / name).chmod(0o755)


def test_the_job_of_slurm(folder: Path, port: int) -> None:
    commands = folder / "bin"
    # `sbatch` starts the script on the first node; `srun` its command on every node.
    stand_in(commands, "sbatch", 'SLURM_CPUS_PER_TASK=1 exec bash "$1"')
    stand_in(commands, "srun", 'for node in 1 2; do "$@" & done; wait')
    stand_in(commands, "hostname", f"echo {LOCAL}")
    job = shown("bash")
    assert job.startswith("#!/bin/bash\n#SBATCH ")
    (folder / "campaign.sh").write_text(job.replace("8786", str(port)), encoding="utf-8")
    here = Path(sys.executable).parent
    done = subprocess.run(
        ["sbatch", "campaign.sh"],
        cwd=folder,
        env={**os.environ, "PATH": f"{commands}:{here}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    campaign = backwater.load(folder / "out/load")
    assert (len(campaign.rows), campaign.ok) == (3, True)


def test_a_slurm_job_per_worker(folder: Path) -> None:
    commands, jobs = folder / "bin", folder / "jobs"
    jobs.mkdir()
    # `sbatch` keeps the script and starts it; `scancel` ends the jobs that it names.
    start = 'cp "$1" $n.sh; SLURM_JOB_ID=$n setsid bash $n.sh >$n.log 2>&1 & echo $! >$n.pid'
    number = f"cd {jobs}; n=$((1 + $(ls *.pid 2>/dev/null | wc -l)))"
    stand_in(commands, "sbatch", f'{number}; {start}; echo "Submitted batch job $n"')
    stand_in(commands, "scancel", f'cd {jobs}; for n in "$@"; do kill -- -$(cat "$n.pid"); done')
    script = shown("python", "SLURMCluster").replace("cores=16", "cores=1")
    assert "cores=1, processes=1" in script
    (folder / "campaign.py").write_text(f"{script}cluster.close()\n", encoding="utf-8")
    here = Path(sys.executable).parent
    done = subprocess.run(
        [sys.executable, "campaign.py"],
        cwd=folder,
        env={
            **os.environ,
            "PATH": f"{commands}:{here}:{os.environ['PATH']}",
            "DASK_JOBQUEUE__SLURM__INTERFACE": "lo",
        },
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(list(jobs.glob("*.pid"))) >= 1
    campaign = backwater.load(folder / "out/load")
    assert (len(campaign.rows), campaign.ok) == (3, True)


def test_the_objects_of_kubernetes(folder: Path, port: int) -> None:
    objects = list(yaml.safe_load_all(shown("yaml")))
    kinds = [(one["kind"], one["metadata"]["name"]) for one in objects]
    assert kinds == [
        ("Service", "backwater-scheduler"),
        ("Deployment", "backwater-scheduler"),
        ("Deployment", "backwater-worker"),
        ("Job", "backwater-campaign"),
    ]
    service, *workloads = objects
    assert service["spec"]["selector"] == workloads[0]["spec"]["template"]["metadata"]["labels"]
    for deployment in workloads[:2]:
        labels = deployment["spec"]["template"]["metadata"]["labels"]
        assert deployment["spec"]["selector"]["matchLabels"] == labels
    here = Path(sys.executable).parent
    running = []
    try:
        for workload in workloads:
            (container,) = workload["spec"]["template"]["spec"]["containers"]
            # The name of the service stands for the machine of the scheduler, and a processor
            # for the four of a worker.
            words = [
                word.replace("backwater-scheduler:8786", f"{LOCAL}:{port}").replace(
                    "8786", str(port)
                )
                for word in container["command"]
            ]
            words = ["1" if word == "4" else word for word in words]
            running.append(
                subprocess.Popen(
                    [here / words[0], *words[1:]], cwd=folder, stderr=subprocess.DEVNULL
                )
            )
        assert running[-1].wait(PATIENCE) == 0, shlex.join(map(str, running[-1].args))
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(PATIENCE)
    campaign = backwater.load(folder / "out/load")
    assert (len(campaign.rows), campaign.ok) == (3, True)
