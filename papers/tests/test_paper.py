"""Figures from the file to the picture, by the command as a user calls it."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from backwater_papers import files, reproduce, table
from backwater_papers.figure import Size
from conftest import Backwater

FIGURE = """\
title = "Two schemes"
place = "Paper, Fig. 1"
about = "A figure of the tests."
size = "50 µs of arrivals"
minutes = 0.5
interpretations = ["a light load: 3 of 3 hold, 2 here"]

[[runs]]
scenario = "scenarios/tiny.toml"
seeds = [1, 2]
chance = false
axes = [
    { schemes = ["hpcc", "dcqcn"] },
    { name = "load", key = "traffic.background.load.fraction", values = [0.3, 0.6] },
]
set = ["traffic.background.window=[\\"0us\\", \\"100us\\"]", "traffic.incast.limit=1"]
quick = { set = ["traffic.background.window=[\\"0us\\", \\"20us\\"]"] }

[formulas.worst]
formula = "worst-empty-share"

[data.flows]
of = "slowdown"

[measures.p95]
data = "flows"
statistic = "p95"

[measures.fct]
of = "fct"
statistic = "mean"

[measures.buffer]
of = "buffer"
statistic = "max"

[[panels]]
kind = "by-size"
data = "flows"
statistic = "p95"
by = "scheme"
select = { load = "0.6" }
y_scale = "log"
marks = [{ y = 2, text = "2" }]

[[panels]]
kind = "by-size"
data = "flows"
statistic = "p95"
by = "scheme"
select = { load = "0.6" }
edges = ["1KB", "10KB", "100KB"]
published_from = "nobody"
published = [{ point = "hpcc", y = [1, 2, 3] }, { text = "other", y = [2, 2, 2] }]

[[panels]]
kind = "curves"
formulas = ["worst"]
x_limits = [0.1, 10]
x_scale = "log"

[[panels]]
kind = "bars"
measure = "buffer"
x = "load"
by = "scheme"

[[panels]]
kind = "lines"
measure = "fct"
x = "load"
by = "scheme"
published_from = "nobody"
published = [{ point = "dcqcn", y = ["1us", "2us"] }]
unjudged = "it is invented"

[[panels]]
kind = "cdf"
of = "fct"
by = "scheme"
select = { load = "0.6" }
x_scale = "log"

[[claims]]
text = "no flow is faster than it could be"
place = "1"
paper = "≥ 1"
measure = { name = "p95", scheme = ["hpcc", "dcqcn"], load = ["0.3", "0.6"] }
at_least = 1

[[claims]]
text = "all is done in no time"
place = "2"
paper = "1 ns"
measure = { name = "fct", scheme = "hpcc", load = "0.6" }
at_most = "1ns"
cause = "it takes time. It is so always."

[[claims]]
text = "more load, more buffer"
place = "3"
paper = "more"
measure = { name = "buffer", scheme = "dcqcn", load = "0.6" }
over = { name = "buffer", load = "0.3" }
at_least = 0.1
"""


@pytest.fixture(scope="module")
def figure(tmp_path_factory: pytest.TempPathFactory, tiny: Path) -> Path:
    folder = tmp_path_factory.mktemp("figures") / "mine"
    (folder / "scenarios").mkdir(parents=True)
    scenario = tiny.read_text(encoding="utf-8")
    (folder / "scenarios/tiny.toml").write_text(scenario, encoding="utf-8")
    (folder / "fig1.toml").write_text(FIGURE, encoding="utf-8")
    return folder / "fig1.toml"


@pytest.fixture(scope="module")
def reproduced(
    command: Backwater, figure: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Result, Path]:
    out = tmp_path_factory.mktemp("reproduced")
    return command("paper", figure, "-o", out), out


def test_the_claims_are_printed_with_both_values(
    reproduced: tuple[Result, Path],
) -> None:
    done, _ = reproduced
    assert "mine/fig1  Two schemes  (Paper, Fig. 1)" in done.stdout
    assert "50 µs of arrivals: 8 runs, 2 seeds" in done.stdout
    assert "  holds        no flow is faster than it could be (1)" in done.stdout
    assert "  differs      all is done in no time (2)" in done.stdout
    assert "paper: 1 ns; ours: " in done.stdout
    assert "expected: ≤ 1 ns\n" in done.stdout
    assert "cause: it takes time" in done.stdout


def test_picture_and_table_are_written(reproduced: tuple[Result, Path]) -> None:
    _, out = reproduced
    assert (out / "mine/fig1.png").read_bytes().startswith(b"\x89PNG")
    about = json.loads((out / "mine/fig1.json").read_text(encoding="utf-8"))
    verdicts = [claim["verdict"] for claim in about["claims"] if not claim["curve"]]
    assert verdicts == ["holds", "differs", "holds"]
    curve = [claim["curve"] for claim in about["claims"] if claim["curve"]]
    assert [point["x"] for point in curve] == ["up to 1 KB", "up to 10 KB", "up to 100 KB"]
    assert {point["line"] for point in curve} == {"hpcc"}
    assert (about["runs"], about["seeds"], about["unfinished"]) == (8, 2, 0)
    listed = (out / "claims.md").read_text(encoding="utf-8")
    statements, points = table.score([about])[:5], table.score([about])[5:]
    assert statements == [3, 2, 1, 0, 0]
    assert points[0] == 3
    assert f"| mine | {' | '.join(map(str, [*statements, *points]))} |" in listed
    assert "- no flow is faster than it could be: holds\n" in listed
    assert "- all is done in no time: **differs** (1 ns / " in listed
    assert "). it takes time.\n" in listed, "only the first sentence of a cause"
    assert "- Or: a light load: 3 of 3 hold, 2 here\n" in listed
    assert about["seconds"] >= 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", about["ended"])


def test_a_cause_and_a_point_of_a_curve_are_listed_once() -> None:
    def claim(text: str, **more: Any) -> dict[str, Any]:
        case = {"at": "", "ours": "2 [1, 3]", "verdict": "differs"}
        base = {"text": text, "paper": "5", "expected": "5 ± 15 %", "verdict": "differs"}
        rest = {"source": "paper", "was": "", "cause": "It is slow.", "curve": None}
        return {**base, **rest, "cases": [case], **more}

    point = {"panel": "a", "line": "bfc", "x": "1 KB"}
    first = [claim("one"), claim("two", was="6"), claim("a", curve=point, paper="1.5")]
    second = [claim("b", curve=point, paper="1.5"), claim("ours", source="ours")]
    entries = [
        {"figure": f"p/{n}", "title": n, "claims": own, "interpretations": []}
        for n, own in (("f", first), ("g", second))
    ]
    assert table.score(entries) == [2, 0, 2, 0, 1, 1, 0, 1, 0]
    assert table.first_sentence("As in Fig. 3 (Figs. 4). And\nmore.") == "As in Fig. 3 (Figs. 4)."


def test_a_plan_says_what_is_missing(
    command: Backwater, figure: Path, reproduced: tuple[Result, Path], tmp_path: Path
) -> None:
    _, out = reproduced
    done = command("paper", figure, "--dry-run", "-o", tmp_path)
    assert done.stdout == "mine/fig1: 8 runs, 0 cached, 8 to run, about 0.5 min on one core\n"
    assert list(tmp_path.iterdir()) == []
    done = command("paper", figure, "--dry-run", "-o", out)
    assert done.stdout == "mine/fig1: 8 runs, 8 cached, 0 to run\n"
    done = command("paper", figure, "bfc/fig07", "--dry-run", "--full", "-o", out)
    assert done.stdout.splitlines()[-1] == "all: 6 to run"


def test_results_of_an_earlier_version_are_left_out(
    figure: Path, reproduced: tuple[Result, Path], tmp_path: Path
) -> None:
    _, out = reproduced
    found = files.load(str(figure))
    state, counts = reproduce.state(found, out)
    assert (state, counts["differs"] >= 1) == ("current", True)
    assert reproduce.state(found, tmp_path) == ("not run", {})
    about = json.loads((out / "mine/fig1.json").read_text(encoding="utf-8"))
    (tmp_path / "mine").mkdir()
    path = tmp_path / "mine/fig1.json"
    path.write_text(json.dumps(about | {"estimated": True}), encoding="utf-8")
    assert reproduce.state(found, tmp_path)[0] == "estimated"
    del about["interpretations"]
    path.write_text(json.dumps(about), encoding="utf-8")
    assert reproduce.state(found, tmp_path)[0] == "outdated"
    assert table.write_table(tmp_path, ["mine/fig1"]) is None


def test_runs_are_kept_and_pictures_repeat(
    command: Backwater, figure: Path, reproduced: tuple[Result, Path]
) -> None:
    first, out = reproduced
    picture = (out / "mine/fig1.png").read_bytes()
    kept = sorted((out / "runs").rglob("summary.json"))
    times = [path.stat().st_mtime_ns for path in kept]
    again = command("paper", figure, "-o", out)
    assert again.stdout == first.stdout
    assert [path.stat().st_mtime_ns for path in kept] == times
    assert (out / "mine/fig1.png").read_bytes() == picture


def test_results_take_the_words_of_their_file_without_a_run(
    command: Backwater, figure: Path, reproduced: tuple[Result, Path], tmp_path: Path
) -> None:
    _, out = reproduced
    shutil.copytree(figure.parent, tmp_path / "mine")
    shutil.copytree(out / "mine", tmp_path / "results/mine")
    reworded = tmp_path / "mine/fig1.toml"

    def reword(old: str, new: str, code: int = 0) -> Result:
        assert FIGURE.count(old) == 1
        reworded.write_text(FIGURE.replace(old, new), encoding="utf-8")
        return command("paper", reworded, "--relabel", "-o", tmp_path / "results", code=code)

    def about() -> dict[str, Any]:
        return json.loads((tmp_path / "results/mine/fig1.json").read_text(encoding="utf-8"))

    before = about()
    reword("it takes time. It is so always.", "light is slow")
    listed = (tmp_path / "results/claims.md").read_text(encoding="utf-8")
    assert "light is slow" in listed
    causes = [claim.pop("cause") for found in (before, about()) for claim in found["claims"]]
    assert "it takes time. It is so always." in causes
    assert "light is slow" in causes
    # What changes a run or a verdict is no matter of words.
    for old, new, said in (
        ("seeds = [1, 2]", "seeds = [1, 2, 3]", "the figure file makes other runs"),
        ('at_most = "1ns"', 'at_most = "2ns"', "claims or their bounds are not those"),
        ("traffic.incast.limit=1", "traffic.incast.limit=2", "the figure file makes other runs"),
        ("50 µs of arrivals", "60 µs", "the size in the figure file is: 60 µs"),
        ("Two schemes", "Two of them", "the picture has another title"),
    ):
        found = about()
        done = reword(old, new, code=1)
        assert said in done.stderr
        assert "run the figure again" in done.stderr
        assert about() == found
    done = command("paper", figure, "--relabel", "-o", tmp_path / "nothing", code=1)
    assert "there are no results to reword" in done.stderr
    done = command("paper", figure, "--relabel", "--quick", "-o", tmp_path / "results", code=2)
    assert "--relabel simulates nothing" in done.stderr


def test_some_seeds_are_told_in_the_command(
    command: Backwater, figure: Path, reproduced: tuple[Result, Path], tmp_path: Path
) -> None:
    _, out = reproduced
    store = out / "runs"
    done = command("paper", figure, "--seeds", "1", "--json", "-o", tmp_path, "--store", store)
    (about,) = json.loads(done.stdout)
    assert (about["runs"], about["seeds"]) == (4, 1)
    assert about["command"] == "backwater paper mine/fig1 --seeds 1"


def test_quick_is_smaller_and_says_so(command: Backwater, figure: Path, tmp_path: Path) -> None:
    done = command("paper", figure, "--quick", "--json", "-o", tmp_path, "--store", tmp_path / "s")
    (about,) = json.loads(done.stdout)
    assert (about["quick"], about["runs"], about["seeds"]) == (True, 4, 1)
    assert (tmp_path / "s/runs").is_dir()


def test_full_runs_what_the_file_says_and_every_seed_that_is_asked_for(
    command: Backwater, figure: Path, tmp_path: Path
) -> None:
    copied = shutil.copytree(figure.parent, tmp_path / "mine")
    figure = copied / figure.name
    text = figure.read_text(encoding="utf-8")
    quick = 'quick = { set = ["traffic.background.window=[\\"0us\\", \\"20us\\"]"] }\n'
    assert quick in text
    full = quick.replace("quick", "full").replace(" }", ', size = "20 µs of arrivals" }')
    fewer = 'where = [{ at = { scheme = "dcqcn", load = "0.6" }, full_seeds = 2 }]\n'
    text = text.replace("chance = false\n", "").replace(quick, quick + full + fewer)
    figure.write_text(text, encoding="utf-8")
    store = tmp_path / "s"
    done = command("paper", figure, "--full", "--json", "-o", tmp_path, "--store", store)
    (about,) = json.loads(done.stdout)
    assert (about["full"], about["runs"], about["seeds"]) == (True, 32, 10)
    asked = {claim["text"]: claim["seeds"] for claim in about["claims"]}
    assert set(asked.values()) == {2, 10}, "two where a claim is about what has two"
    assert about["command"] == "backwater paper mine/fig1 --full"
    assert about["size"] == "20 µs of arrivals"
    both = command("paper", figure, "--full", "--quick", "-o", tmp_path, code=2)
    assert "--quick and --full are two sizes" in both.stderr


def test_a_figure_that_cannot_run_does_not_stop_the_others(
    command: Backwater, figure: Path, reproduced: tuple[Result, Path]
) -> None:
    _, out = reproduced
    bad = figure.with_name("fig2.toml")
    bad.write_text(FIGURE.replace("traffic.incast.limit=1", "switch.bufer=1MB"), encoding="utf-8")
    done = command("paper", bad, figure, "-o", out, code=2)
    assert "mine/fig2 cannot be run" in done.stderr
    assert "did you mean `buffer`" in done.stderr.lower()
    assert "mine/fig1  Two schemes" in done.stdout


def test_a_bad_figure_file_is_an_error_of_the_input(
    command: Backwater, figure: Path, tmp_path: Path
) -> None:
    bad = figure.with_name("bad.toml")
    bad.write_text(FIGURE.replace('statistic = "p95"', 'statistic = "p9x"', 1), encoding="utf-8")
    done = command("paper", bad, "-o", tmp_path, code=2)
    assert f"{bad}:27: `measures.p95.statistic`: `p9x` is none of" in done.stderr
    assert "Traceback" not in done.stderr
    missing = command("paper", "no/such.toml", "-o", tmp_path, code=2)
    assert "no/such.toml: there is no such file" in missing.stderr
    unknown = command("paper", "hpcc/fig99", "-o", tmp_path, code=2)
    assert "there is no figure" in unknown.stderr


def test_a_run_that_fails_is_told(command: Backwater, figure: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("", encoding="utf-8")
    done = command("paper", figure, "--quick", "-o", tmp_path, "--store", blocked, code=1)
    assert "error:" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_was_not_recorded_is_told(command: Backwater, figure: Path, tmp_path: Path) -> None:
    bad = figure.with_name("fig3.toml")
    bad.write_text(FIGURE.replace('of = "buffer"', 'of = "rtt"'), encoding="utf-8")
    done = command("paper", bad, "--quick", "-o", tmp_path, code=1)
    assert "mine/fig3" in done.stderr
    assert "[record]" in done.stderr


# --- The figures that come with the package --------------------------------------------------


def test_list_names_them_all(command: Backwater) -> None:
    done = command("paper", "list")
    names = [line.split()[0] for line in done.stdout.splitlines()]
    assert names == files.available()
    entries = json.loads(command("paper", "list", "--json").stdout)
    assert [entry["name"] for entry in entries] == names


@pytest.mark.parametrize("name", files.available())
def test_each_figure_is_whole(name: str) -> None:
    figure = files.load(name)
    assert figure.claims
    assert figure.about
    for size in Size:
        for task in reproduce.tasks(figure, size).values():
            assert task.resolved


RESULTS = Path(__file__).parents[2] / "docs/figures"


@pytest.mark.parametrize("name", files.available())
def test_the_results_in_docs_are_those_of_the_file(name: str) -> None:
    about = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    figure = files.load(name)
    assert reproduce.outdated(figure, about) is None
    for claim in about["claims"]:
        if claim["source"] == "paper" and claim["verdict"] == "differs" and not claim["curve"]:
            assert claim["cause"], f"{claim['text']}: what differs has a cause"


def test_the_list_of_claims_in_docs_is_that_of_the_results(tmp_path: Path) -> None:
    for name in files.available():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(RESULTS / f"{name}.json", tmp_path / f"{name}.json")
    written = table.write_table(tmp_path, files.available())
    assert written is not None
    assert written.read_bytes() == (RESULTS / "claims.md").read_bytes(), "paper all --relabel"


@pytest.mark.parametrize("paper", ["hpcc", "bfc", "floodgate", "spfc"])
def test_the_numbers_of_the_evidence_are_those_of_the_results(paper: str) -> None:
    page = (RESULTS.parent / f"evidence/{paper}.md").read_text(encoding="utf-8")
    names = files.wanted([paper])
    results = {n: json.loads((RESULTS / f"{n}.json").read_text("utf-8")) for n in names}
    score = table.score(list(results.values()))
    sentences = (
        f"Of {score[0]} statements {score[1]} hold, {score[2]} differ and {score[3]} are "
        f"inconclusive. {score[4]} bounds were changed after a result was known.",
        f"Of {score[5]} points of published curves {score[6]} are within 15 %, {score[7]} differ "
        f"and {score[8]} are inconclusive.",
    )
    text = " ".join(page.split())
    assert all(sentence in text for sentence in sentences[: 2 if score[5] else 1]), sentences
    rows = re.findall(r"^\| .+ \| .+ \| (.+) \| (\w+) \| (\w[\w-]*) \|$", page, re.MULTILINE)
    rows = [row for row in rows if row[1] != "verdict"]
    assert rows
    for ours, verdict, figure in rows:
        claims = results[f"{paper}/{figure}"]["claims"]
        texts = [c["ours"] for claim in claims for c in claim["cases"] if c["verdict"] == verdict]
        numbers = re.findall(r"\d[\d.]*", ours.partition(" in ")[0])
        found = any(set(numbers) <= set(re.findall(r"\d[\d.]*", text)) for text in texts)
        assert numbers
        assert found, f"{figure}: no claim that {verdict} has {ours}"


def test_the_evidence_is_short() -> None:
    pages = [RESULTS / "claims.md", *(RESULTS.parent / "evidence").glob("*.md")]
    assert len(pages) == 5
    words = [word for page in pages for word in page.read_text(encoding="utf-8").split()]
    assert sum(any(map(str.isalnum, word)) for word in words) <= 15_000


def test_the_figures_of_bfc_are_there() -> None:
    numbers = (2, 3, 4, *range(7, 31))
    wanted = [f"bfc/fig{n}" for n in numbers] + ["bfc/table1"]
    assert set(files.wanted(wanted)) <= set(files.available())
    assert {f"bfc/fig{n:02}" for n in numbers} <= set(files.available())


def test_the_figures_of_hpcc_are_there() -> None:
    wanted = [f"hpcc/fig{n}" for n in (2, 3, 6, 10, 11, 12, 13, 14)]
    wanted += [f"hpcc/fig9{part}" for part in "abcdefgh"]
    assert set(files.wanted(wanted)) <= set(files.available())


def test_the_figures_of_floodgate_are_there() -> None:
    numbers = (2, 6, *range(8, 19), *range(20, 25))
    wanted = [f"floodgate/fig{n}" for n in numbers] + ["floodgate/table2"]
    assert set(files.wanted(wanted)) <= set(files.available())


def test_the_figures_of_spfc_are_there() -> None:
    wanted = [f"spfc/fig{n}" for n in (4, 5, 6, 9, 11, 12, 13, 14, 15, 16)]
    wanted += ["spfc/table3", "spfc/adds", "spfc/choices"]
    assert set(files.wanted(wanted)) <= set(files.available())


def test_a_scenario_is_not_a_figure(command: Backwater, tiny: Path) -> None:
    done = command("paper", tiny, code=2)
    assert "is a scenario" in done.stderr
