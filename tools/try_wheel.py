"""Install a wheel into an empty environment, without Rust, and run the demo with it.

The demo is the comparison of `make demo` with traffic for 300 us instead of 5 ms, and takes some
seconds. The wheel is installed with its extra `cluster`, as in the Containerfile.

Usage: python tools/try_wheel.py out/wheels
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

DEMO = Path(__file__).resolve().parents[1] / "scenarios/demo.toml"
SCHEMES = DEMO.with_suffix(".schemes").read_text(encoding="utf-8").strip()
WINDOW = '["0us", "300us"]'


def fitting(folder: Path) -> Path:
    """Return the wheel for this machine's processor."""
    wheels = sorted(folder.glob(f"backwater-*-abi3-*_{platform.machine()}.whl"))
    if len(wheels) != 1:
        found = ", ".join(path.name for path in sorted(folder.glob("*.whl"))) or "none"
        sys.exit(f"{folder}: one wheel for {platform.machine()} was expected; there are: {found}")
    return wheels[0]


def foreign(names: list[str]) -> list[str]:
    """Return the files of a wheel that are not of the package ``backwater`` itself."""
    return [
        name
        for name in names
        if not re.match(r"backwater(-[\w.]+\.dist-info)?/", name)
        or re.match(r"backwater/(paper|validation)", name)
        or "/tests/" in name
    ]


def main() -> None:
    """Check the wheel; exit with a message if the check fails."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    wheel = fitting(Path(sys.argv[1])).resolve()
    with zipfile.ZipFile(wheel) as file:
        if extra := foreign(file.namelist()):
            sys.exit(f"{wheel.name} contains what belongs to other packages: {', '.join(extra)}")
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        venv.create(home / "venv", with_pip=True)
        python = home / "venv/bin/python"
        # No Rust, no C compiler, no sources on the path.
        environment = {"PATH": f"{home}/venv/bin", "HOME": place, "LANG": "C.UTF-8"}
        kept = ("PIP_INDEX_URL", "PIP_CERT", "PIP_FIND_LINKS", "PIP_CONFIG_FILE", "SSL_CERT_FILE")
        environment |= {name: os.environ[name] for name in kept if name in os.environ}

        def call(*words: str | Path) -> str:
            done = subprocess.run(
                [*map(str, words)], cwd=home, env=environment, capture_output=True, text=True
            )
            if done.returncode != 0:
                sys.exit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
            return done.stdout

        with_dask = f"{wheel}[cluster]"
        call(python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", with_dask)
        print(call("backwater", "--version").strip())
        print(call("dask", "--version").strip())
        words: list[str | Path] = ["compare", DEMO, "--schemes", SCHEMES, "-o", "out", "--json"]
        for traffic in ("background", "incast"):
            words += ["--set", f"traffic.{traffic}.window={WINDOW}"]
        runs = json.loads(call("backwater", *words))["runs"]
        for scheme, summary in runs.items():
            print(f"{scheme}: digest {summary['digest']}, ok: {summary['ok']}")
        if not all(summary["ok"] for summary in runs.values()) or ",".join(runs) != SCHEMES:
            sys.exit("a run is missing or violated a check")
        if not (home / "out/report.html").is_file():
            sys.exit("there is no report")
    print(f"{wheel.name} works without Rust")


if __name__ == "__main__":
    main()
