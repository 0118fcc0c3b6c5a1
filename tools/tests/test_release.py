"""Wheels have their own files, and the container file installs the right one."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import tomllib
import zipfile
from pathlib import Path

import hatchling.build
import pytest

from tools import ROOT

VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"][
    "version"
]


def text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def test_papers_are_a_wheel_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "papers")
    wheel = tmp_path / hatchling.build.build_wheel(str(tmp_path))
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
    shipped = subprocess.run(
        ["git", "ls-files", "backwater_papers"], check=True, capture_output=True, text=True
    )
    assert {n for n in names if ".dist-info/" not in n} == set(shipped.stdout.split())


@pytest.mark.parametrize(
    ("name", "is_foreign"),
    [
        ("backwater/cli.py", False),
        ("backwater-0.1.0.dist-info/RECORD", False),
        ("backwater/paper/figure.py", True),
        ("backwater_papers/figure.py", True),
        ("backwater/tests/test_x.py", True),
    ],
)
def test_a_wheel_with_files_of_other_packages_is_refused(name: str, is_foreign: bool) -> None:
    foreign = runpy.run_path(str(ROOT / "tools/try_wheel.py"))["foreign"]
    assert foreign([name]) == ([name] if is_foreign else [])


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_container_installs_the_wheel_of_its_machine(tmp_path: Path, machine: str) -> None:
    """Run the RUN instruction of the Containerfile, with stand-ins for its programs."""
    (copied,) = re.findall(r"^COPY (\S+) (\S+)$", text("Containerfile"), re.MULTILINE)
    assert copied[0].startswith("out/wheels/")
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    for kind in ("x86_64", "aarch64"):
        (wheels / f"backwater-{VERSION}-cp311-abi3-manylinux_2_17_{kind}.whl").touch()
    stand_ins = tmp_path / "bin"
    stand_ins.mkdir()
    for name, script in {
        "uname": f"echo {machine}",
        "pip": f'echo "$@" > {tmp_path}/pip',
        "useradd": f'echo "$@" > {tmp_path}/useradd',
    }.items():
        (stand_ins / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (stand_ins / name).chmod(0o755)
    (run,) = re.findall(r"^RUN ((?:.*\\\n)*.*)$", text("Containerfile"), re.MULTILINE)
    script = run.replace("\\\n", " ").replace(copied[1].rstrip("/"), str(wheels))
    path = f"{stand_ins}:{os.environ['PATH']}"
    subprocess.run(["sh", "-euc", script], env={"PATH": path}, check=True)
    assert not wheels.exists()
    installed = (tmp_path / "pip").read_text(encoding="utf-8").split()[-1]
    assert installed.endswith(f"_{machine}.whl[cluster]")
    (user,) = re.findall(r"^USER (\w+)$", text("Containerfile"), re.MULTILINE)
    assert (tmp_path / "useradd").read_text(encoding="utf-8").split()[-1] == user
