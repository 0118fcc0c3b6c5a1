"""The tutorials work as typed: each file that they show is saved, and each command is run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools import ROOT

TUTORIALS = [ROOT / f"docs/guide/tutorial-{name}.md" for name in ("ai", "engineer", "researcher")]
FILE = re.compile(r"as\s+`([\w.-]+)`[^`]*?:(?:[^`]*?[.:])?\n\n```\w+\n(.*?)^```$", re.M | re.S)
COMMANDS = re.compile(r"^```sh\n(.*?)^```$", re.M | re.S)


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_works_as_typed(tutorial: Path, tmp_path: Path) -> None:
    page = tutorial.read_text(encoding="utf-8")
    files = FILE.findall(page)
    assert len(files) >= 2
    for name, text in files:
        (tmp_path / name).write_text(text, encoding="utf-8")
    script = "".join(COMMANDS.findall(page))
    assert script.count("backwater ") >= 7
    # The commands of this installation, whatever is on the path.
    functions = (
        f'backwater() {{ "{sys.executable}" -m backwater "$@"; }}\n'
        f'python() {{ "{sys.executable}" "$@"; }}\n'
    )
    done = subprocess.run(
        ["bash", "-euc", functions + script], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
