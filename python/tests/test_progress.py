"""What a terminal shows while runs go on, and that nothing of it is shown elsewhere."""

import contextlib
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from pathlib import Path

import pytest

import backwater
from conftest import COMMAND, TINY
from tools import PATIENCE, simulated


def in_terminal(columns: int, *words: str | Path) -> list[str]:
    """Run a command in a terminal of this width and return all lines that it ever showed."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR")}
    started = subprocess.Popen(
        [COMMAND, *map(str, words)],
        stdin=theirs,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env={**environment, "TERM": "xterm"},
    )
    os.close(theirs)
    said = b""
    with contextlib.suppress(OSError):  # The terminal is gone with its last process.
        while block := os.read(ours, 65536):
            said += block
    os.close(ours)
    assert started.wait(60) == 0
    return re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", said.decode()))


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("progress") / "some.toml"
    path.write_text(TINY.replace('"400us"', '"10ms"'))
    return path


def test_each_scheme_has_a_line_with_buffers(scenario, tmp_path):
    said = in_terminal(
        200, "compare", scenario, "--schemes", "bfc,dcqcn", "--jobs", "1", "-o", tmp_path / "out"
    )
    assert any(re.match(r"dcqcn .*waits", line) for line in said)
    for scheme in ("bfc", "dcqcn"):
        last = [line for line in said if line.startswith(f"{scheme} ")][-1]
        assert re.search(r"100%.* left .* M hops/s .* flows", last)
    assert any(re.search(r"(leaf|spine)\d holds [\d.]+ [KM]?B", line) for line in said)
    assert any(re.search(r"[\d.]+ [mµn]?s of 10 ms", line) for line in said)


WORK = """\
name = "work"
topology = { kind = "star", hosts = 8, link = { rate = "100Gbps", delay = "1us" } }

[[workload]]
name = "reduce"
collective = "all-reduce"
size = "64MB"
compute = "1ms"
repeats = 2

[scheme]
preset = "line-rate"
"""


def test_a_workload_says_how_many_of_its_operations_are_over(tmp_path):
    path = tmp_path / "work.toml"
    path.write_text(WORK, encoding="utf-8")
    told: list[backwater.Progress] = []

    def listener(status: backwater.Status) -> None:
        told.extend(filter(None, status.running.values()))

    simulated(path, out=tmp_path / "out", listener=listener)
    done = [progress.fraction for progress in told]
    assert len(done) > 3
    assert done == sorted(done)
    assert done[0] < 0.5 < done[-1]
    # The last one is of the whole run, when it is over.
    assert all(progress.until_ps is None for progress in told[:-1])
    assert {progress.operations[1] for progress in told if progress.operations} == {32}
    # Of a collective that no rank has ended its steps count.
    assert any(part % 1 for progress in told if progress.operations for part in progress.operations)

    said = in_terminal(200, "run", path, "-o", tmp_path / "shown")
    bars = [line for line in said if line.startswith("work ")]
    assert any(re.search(r"\d+ of 32 operations", line) for line in bars)
    assert any(re.search(r"\d:\d\d left", line) for line in bars)
    assert not any(" of 100 " in line for line in bars)


def test_a_narrow_terminal_leaves_out_what_has_no_room(scenario, tmp_path):
    said = in_terminal(80, "run", scenario, "-o", tmp_path / "out")
    bars = [line for line in said if line.startswith("some ")]
    assert len(bars) > 3
    assert any("left" in line for line in bars)
    assert not any("holds" in line or "flows" in line for line in bars)
    assert all(len(line) <= 80 for line in bars)


def test_a_file_gets_no_bars(scenario, tmp_path):
    done = subprocess.run(
        [COMMAND, "run", scenario, "-o", tmp_path / "out"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    assert "hops/s" not in done.stderr
    assert "\x1b" not in done.stderr
