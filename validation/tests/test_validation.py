"""Limits, verdicts and cases of the comparison with other simulators."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import Result

from backwater.errors import RunError
from validation import cases, verdicts
from validation.cases import FlowKey, FlowTimes, Measured, Observed
from validation.limits import Verdict, compare, percentile, validate

Validated = Callable[..., Result]

# --- Limits ----------------------------------------------------------------------------------


def key(index: int, size: int = 1000) -> FlowKey:
    return FlowKey(index, 0, 10_000, 100, size)


def observed(fcts: list[int], pauses: int | None = 0, alone: int = 1000) -> Observed:
    return Observed({key(i): FlowTimes(0, fct, alone) for i, fct in enumerate(fcts)}, pauses)


def held(theirs: list[int], ours: list[int], pauses: tuple[int, int] = (0, 0)) -> bool:
    return compare("x", "ns-3", observed(theirs, pauses[0]), observed(ours, pauses[1])).held


def test_limits_of_a_single_flow() -> None:
    assert held([5000], [5002])
    assert held([5000], [4998])
    assert not held([5000], [5003])


def test_limits_of_few_flows() -> None:
    assert held([100_000] * 8, [100_500] * 8)
    assert not held([100_000] * 8, [100_000] * 7 + [100_501])


def test_limits_of_more_flows() -> None:
    theirs = [100_000 + i for i in range(9)]
    assert held(theirs, [t * 102 // 100 for t in theirs], (10, 12))
    assert not held(theirs, [t * 1021 // 1000 for t in theirs])
    assert not held(theirs, [*theirs[:-1], 103_000])
    assert not held(theirs, theirs, (10, 13))
    assert not held(theirs, theirs, (0, 1))
    # Only the median and the largest FCT are compared.
    assert held(theirs, [50_000, *theirs[1:]])


def spread(scale: float = 1.0, large: float = 1.0) -> Observed:
    """Return results of 700 flows of two sizes, with slowdowns from 0.9 to 7.9."""
    flows = {}
    for i in range(700):
        size = 1000 if i % 2 else 50_000
        fct = (900 + 10 * i) * scale * (large if size > 1000 else 1)
        flows[key(i, size)] = FlowTimes(0, round(fct), 1000)
    return Observed(flows, 5)


def test_limits_of_many_flows() -> None:
    verdict = compare("x", "ns-3", spread(), spread(1.019))
    assert verdict.held
    assert [(b.low, b.high, len(b.ours)) for b in verdict.bins] == [
        (1000, 1000, 350),
        (50_000, 50_000, 350),
    ]
    assert verdict.bins[0].theirs[0] == 1.0, "slowdowns below 1 count as 1"
    assert not compare("x", "ns-3", spread(), spread(1.021)).held
    # One bin alone can exceed its limits.
    apart = compare("x", "ns-3", spread(), spread(1.0, 1.06))
    broken = [(c.what, c.of) for c in apart.checks if not c.held]
    assert broken == [("p50", "50000 to 50000 B"), ("p95", "50000 to 50000 B")]


def test_a_flow_that_finishes_in_one_only() -> None:
    verdict = compare("x", "ns-3", observed([5000, 6000]), observed([5000]))
    assert not verdict.held
    assert verdicts.broken(verdict) == ["2 flows finished there and 1 here"]
    assert not compare("x", "ns-3", observed([5000]), observed([])).held


def test_percentiles_are_those_of_the_scripts() -> None:
    values = list(range(100))
    assert [percentile(values, p) for p in (0.5, 0.95, 0.99, 1.0)] == [50, 95, 99, 99]


# --- Cases -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Told:
    """A case whose results are known beforehand."""

    name: str
    theirs: Observed
    ours: Observed | None
    simulator: str = "ns-3"
    chance: bool = False

    def expected(self) -> Observed:
        return self.theirs

    def measure(self, folder: Path, seed: int) -> Measured:
        assert folder.is_dir()
        if self.ours is None:
            raise RunError("it broke")
        return Measured(self.ours, "0123456789abcdef", None, [])


@pytest.fixture
def found() -> list[Verdict]:
    many = observed(list(range(100_000, 100_020)), 10)
    return validate(
        [
            Told("big/hpcc", spread(), spread(1.01)),
            Told("big/dcqcn", spread(), spread(1.5)),
            Told("mid/hpcc", many, many),
            Told("one", observed([5000], None), observed([5001], None)),
            Told("none", observed([5000]), None),
        ]
    )


def test_a_case_that_fails_stops_no_other(found: list[Verdict]) -> None:
    assert [(v.name, v.held, v.failed) for v in found] == [
        ("big/hpcc", True, None),
        ("big/dcqcn", False, None),
        ("mid/hpcc", True, None),
        ("one", True, None),
        ("none", False, "it broke"),
    ]


def test_verdicts_are_written(found: list[Verdict], tmp_path: Path) -> None:
    verdicts.write_results(tmp_path, found)
    about = json.loads((tmp_path / "validation.json").read_text(encoding="utf-8"))
    assert about["held"] is False
    assert [case["held"] for case in about["cases"]] == [True, False, True, True, False]
    assert about["cases"][3]["checks"][1]["apart"] == 1
    written = verdicts.write_markdown(tmp_path / "page.md", found, "python -m validation DIR")
    names = ["page.md", "page-big-slowdown.png", "page-mid-fct.png"]
    assert [path.name for path in written] == names
    assert all((tmp_path / name).stat().st_size > 1000 for name in names)
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "| one | 1 | 0% | 1 ns |  |  |  |  |  | holds |" in page
    assert "| big/dcqcn | 700 | 0% |  | **50.00%**" in page
    assert "![big, slowdown](page-big-slowdown.png)" in page
    assert "3 of 5 cases hold" in page


def test_the_table(found: list[Verdict], capsys: pytest.CaptureFixture[str]) -> None:
    verdicts.print_verdicts(found)
    said = capsys.readouterr().out
    assert "3 of 5 cases hold" in said
    assert any(line.split()[:2] == ["mid/hpcc", "20"] for line in said.splitlines())


def put(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True)
    for name, text in files.items():
        if name.endswith("_gz"):
            (folder / f"{name[:-3]}.txt.gz").write_bytes(gzip.compress(text.encode()))
        else:
            (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    return folder


FCT = "0b000101 0b000001 10000 100 500 2000000000 5000 4000\n"


def test_cases_are_found_and_read(tmp_path: Path) -> None:
    put(tmp_path / "a" / "x", config="", fct_gz=FCT, pfc="1 2 0 1 1\n2 2 0 1 0\n")
    put(tmp_path / "a" / "y", config="", fct=FCT.replace("0b000101 0b000001", "1 0"))
    put(tmp_path / "b", config="")
    got = cases.find(tmp_path)
    assert [case.name for case in got] == ["a/x", "a/y"]
    one = {FlowKey(1, 0, 10_000, 100, 500): FlowTimes(2_000_000_000, 5000, 4000)}
    assert [case.expected() for case in got] == [Observed(one, 1), Observed(one, None)]
    assert [case.name for case in cases.find(tmp_path / "a" / "x")] == ["x"]
    with pytest.raises(RunError, match="no case here"):
        cases.find(tmp_path / "b")


@pytest.mark.parametrize("there", ["mix/fct_fat.txt", "run/mix/fct_fat.txt", "run/fct_fat.txt"])
def test_the_configuration_names_the_results(there: str, tmp_path: Path) -> None:
    put(tmp_path / "run", config="KMIN_MAP 1 2 3\nFCT_OUTPUT_FILE mix/fct_fat.txt\n")
    file = tmp_path / there
    file.parent.mkdir(exist_ok=True)
    file.write_text(FCT, encoding="utf-8")
    (case,) = cases.find(tmp_path)
    assert len(case.expected().flows) == 1


@pytest.mark.parametrize(
    ("fct", "message"),
    [("1 2 3\n", "fct.txt:1: expected"), (f"{FCT}{FCT}", "fct.txt:2: this flow has a line")],
)
def test_bad_results_are_told(fct: str, message: str, tmp_path: Path) -> None:
    folder = put(tmp_path / "a", config="", fct=fct)
    with pytest.raises(RunError, match=message):
        cases.read_ns3(folder)


def test_a_folder_without_cases(tmp_path: Path, validated: Validated) -> None:
    done = validated(tmp_path)
    assert (done.exit_code, "no case here" in done.stderr) == (2, True)
