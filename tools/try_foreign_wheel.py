"""Run a wheel for another processor under emulation; it must have the digests of this machine.

Debian's Python for that processor runs under qemu-user, with the wheels that PyPI has for it. It
needs root (debootstrap), `debootstrap`, `dpkg`, `qemu-user`, and the backwater command of .venv.

Usage: python tools/try_foreign_wheel.py out/wheels [aarch64]
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SCENARIO = ROOT / "scenarios/first.toml"
SCHEMES = "bfc,hpcc,dcqcn,timely,dctcp,swift,powertcp,dcqcn+floodgate,homa,ndp,ideal-fq"
DEBIAN = {"aarch64": "arm64"}
RELEASE, PYTHON = "bookworm", "3.11"
START = "import sys; sys.argv[0] = 'backwater'; from backwater.__main__ import main; main()"


def call(*words: str | Path) -> str:
    """Run a command and return its output; exit with its messages if it fails."""
    done = subprocess.run([*map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


def interpreter(home: Path, machine: str) -> Path:
    """Unpack Debian's Python for a processor, with its dependencies; return the root folder."""
    root = home / "root"
    options = (f"--arch={DEBIAN[machine]}", "--variant=minbase", "--foreign", "--include=python3")
    call("debootstrap", *options, RELEASE, root)
    for package in (root / "var/cache/apt/archives").glob("*.deb"):
        call("dpkg", "-x", package, root)
    return root


def packages(home: Path, machine: str, wheel: Path) -> Path:
    """Unpack the wheel and its dependencies for a processor; return their folder."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    glibc = [f"--platform=manylinux_2_{minor}_{machine}" for minor in (17, 24, 26, 27, 28)]
    abi = (f"--abi=cp{PYTHON.replace('.', '')}", "--abi=abi3", "--abi=none")
    of = ("--only-binary=:all:", f"--python-version={PYTHON}", "--implementation=cp")
    pip = (sys.executable, "-m", "pip", "download", "--quiet", "-d", home / "wheels")
    call(*pip, *of, *abi, *glibc, f"--platform=manylinux2014_{machine}", *project["dependencies"])
    site = home / "site"
    for file in (*(home / "wheels").glob("*.whl"), wheel):
        with zipfile.ZipFile(file) as packed:
            packed.extractall(site)
    return site


def main() -> None:
    """Check the wheel; exit with a message if the check fails."""
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    folder, machine = Path(sys.argv[1]), (*sys.argv[2:], "aarch64")[0]
    if machine not in DEBIAN:
        sys.exit(f"{machine}: known are {', '.join(DEBIAN)}")
    emulator = f"qemu-{machine}"
    missing = [tool for tool in ("debootstrap", "dpkg", emulator) if shutil.which(tool) is None]
    if missing:
        sys.exit(f"not installed: {', '.join(missing)} (Debian: debootstrap, dpkg, qemu-user)")
    wheels = sorted(folder.glob(f"backwater-*-abi3-*_{machine}.whl"))
    if len(wheels) != 1:
        sys.exit(f"{folder}: one wheel for {machine} was expected; there are {len(wheels)}")
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        root = interpreter(home, machine)
        site = packages(home, machine, wheels[0])
        python = (root / f"usr/bin/python{PYTHON}", "-c", START)
        emulated = (emulator, "-L", root, "-E", f"PYTHONPATH={site}", *python)
        print(call(*emulated, "--version").strip())

        def digests(command: tuple[str | Path, ...], out: Path) -> dict[str, str]:
            words = ("compare", SCENARIO, "--schemes", SCHEMES, "-o", out, "--json")
            runs = json.loads(call(*command, *words))["runs"]
            if not (out / "report.html").is_file() or not all(run["ok"] for run in runs.values()):
                sys.exit(f"{out}: there is no report, or a run violated a check")
            return {scheme: run["digest"] for scheme, run in runs.items()}

        there = digests(emulated, home / "there")
        here = digests((ROOT / ".venv/bin/backwater",), home / "here")
    different = [scheme for scheme in here if there.get(scheme) != here[scheme]]
    if different:
        sys.exit(f"other digests than here: {', '.join(different)}")
    print(f"{wheels[0].name} works; {len(here)} schemes have the digests of this machine")


if __name__ == "__main__":
    main()
