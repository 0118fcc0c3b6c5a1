"""The diagrams of docs/hardware are those that `diagrams.py` draws."""

from __future__ import annotations

import sys

from simulator import HARDWARE

sys.path.insert(0, str(HARDWARE))

from diagrams import FOLDER, drawings


def test_diagrams_are_up_to_date() -> None:
    found = drawings()
    assert set(found) == {path.name for path in FOLDER.glob("*.svg")}
    for name, content in found.items():
        assert (FOLDER / name).read_text(encoding="utf-8") == content, "run hardware/diagrams.py"
