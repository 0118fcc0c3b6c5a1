"""The tutorials work as typed, and the notebooks of the documentation run."""

from __future__ import annotations

import gc
import re
import subprocess
import sys
from pathlib import Path

import nbclient
import nbformat
import pytest

from tools import PATIENCE, ROOT

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
    # Use the commands of this installation, not others on the path.
    functions = (
        f'backwater() {{ "{sys.executable}" -m backwater "$@"; }}\n'
        f'python() {{ "{sys.executable}" "$@"; }}\n'
    )
    done = subprocess.run(
        ["bash", "-euc", functions + script], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))
assert len(NOTEBOOKS) == 4


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: str(path.stem))
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_notebook_runs(path: Path, tmp_path: Path) -> None:
    book = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    # Outputs are made when the site is built, and are not kept in the repository.
    assert [cell.outputs for cell in code if cell.outputs] == []
    nbclient.NotebookClient(
        book,
        timeout=PATIENCE,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    ).execute()
    shown = [output for cell in code for output in cell.outputs if "data" in output]
    pages = [output["data"]["text/html"] for output in shown if "text/html" in output["data"]]
    assert pages
    if path.stem == "compare":
        assert sum("image/png" in output["data"] for output in shown) == 2
        assert any("<th" in page and "ideal-fq" in page and "Slowdown" in page for page in pages)
        # The progress bars are removed when the runs are finished.
        assert not any("<progress" in page for page in pages)
    # The client leaves event loops open, which causes a warning when they are collected. Collect
    # them here, where the warning is ignored.
    gc.collect()
