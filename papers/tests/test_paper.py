"""Figures from the file to the picture, by the command as a user calls it."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from backwater_papers import files, readings, reproduce, table
from backwater_papers.figure import Figure, Size

Command = Callable[..., CompletedProcess[str]]

FIGURE = """\
title = "Two schemes"
place = "Paper, Fig. 1"
about = "A figure of the tests."
size = "50 µs of arrivals"

[[runs]]
scenario = "scenarios/tiny.toml"
seeds = [1, 2]
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
judged = "50%"
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
cause = "it takes time"
because = "shown"

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
    command: Command, figure: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[CompletedProcess[str], Path]:
    out = tmp_path_factory.mktemp("reproduced")
    return command("paper", figure, "-o", out), out


def test_the_claims_are_printed_with_both_values(
    reproduced: tuple[CompletedProcess[str], Path],
) -> None:
    done, _ = reproduced
    # A claim that differs is a result.
    assert done.returncode == 0, done.stderr
    assert "mine/fig1  Two schemes  (Paper, Fig. 1)" in done.stdout
    assert "50 µs of arrivals: 8 runs, 2 seeds" in done.stdout
    assert "  holds        no flow is faster than it could be (1)" in done.stdout
    assert "  differs      all is done in no time (2)" in done.stdout
    assert "paper: 1 ns; ours: " in done.stdout
    assert "expected: ≤ 1 ns; holds in 0 of 2 seeds" in done.stdout
    assert "cause: it takes time" in done.stdout


def test_picture_and_table_are_written(reproduced: tuple[CompletedProcess[str], Path]) -> None:
    _, out = reproduced
    assert (out / "mine/fig1.png").read_bytes().startswith(b"\x89PNG")
    about = json.loads((out / "mine/fig1.json").read_text(encoding="utf-8"))
    verdicts = [claim["verdict"] for claim in about["claims"] if not claim["curve"]]
    assert verdicts == ["holds", "differs", "holds"]
    curve = [claim["curve"] for claim in about["claims"] if claim["curve"]]
    assert [point["x"] for point in curve] == ["up to 1 KB", "up to 10 KB", "up to 100 KB"]
    assert {point["line"] for point in curve} == {"hpcc"}
    assert (about["runs"], about["seeds"], about["unfinished"]) == (8, 2, 0)
    table = (out / "mine/claims.md").read_text(encoding="utf-8")
    assert "| statements of the paper | 3 | 2 | 1 | 0 | 3 | 0 |" in table
    assert "| points of its curves | 3 | " in table
    assert "| no flow is faster than it could be | 1 | ≥ 1 | ≥ 1 | hpcc, 0.3: " in table
    assert about["seconds"] >= 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", about["ended"])
    hops = f"{about['packet_hops'] / 1e6:.3g} M"
    assert f"| mine/fig1 | 8 | 2 | {hops} | {about['seconds'] / 60:.2g} | " in table
    assert "- *all is done in no time* (shown): it takes time" in table
    assert "| 1 | runs that change one thing, or a calculation, show why" in table
    assert "Command: `backwater paper mine/fig1`. 50 µs of arrivals: 8 runs" in table


def test_runs_are_kept_and_pictures_repeat(
    command: Command, figure: Path, reproduced: tuple[CompletedProcess[str], Path]
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
    command: Command, figure: Path, reproduced: tuple[CompletedProcess[str], Path], tmp_path: Path
) -> None:
    _, out = reproduced
    shutil.copytree(figure.parent, tmp_path / "mine")
    shutil.copytree(out / "mine", tmp_path / "results/mine")
    reworded = tmp_path / "mine/fig1.toml"

    def reword(old: str, new: str) -> CompletedProcess[str]:
        assert FIGURE.count(old) == 1
        reworded.write_text(FIGURE.replace(old, new), encoding="utf-8")
        return command("paper", reworded, "--relabel", "-o", tmp_path / "results")

    def about() -> dict[str, Any]:
        return json.loads((tmp_path / "results/mine/fig1.json").read_text(encoding="utf-8"))

    before = about()
    done = reword('cause = "it takes time"', 'cause = "light is slow"')
    assert done.returncode == 0, done.stderr
    assert "*all is done in no time* (shown): light is slow" in (
        tmp_path / "results/mine/claims.md"
    ).read_text(encoding="utf-8")
    causes = [claim.pop("cause") for found in (before, about()) for claim in found["claims"]]
    assert "it takes time" in causes
    assert "light is slow" in causes
    # What changes a run or a verdict is no matter of words.
    for old, new, said in (
        ("seeds = [1, 2]", "seeds = [1, 2, 3]", "the figure file makes other runs"),
        ('at_most = "1ns"', 'at_most = "2ns"', "claims or their bounds are not those"),
        ("traffic.incast.limit=1", "traffic.incast.limit=2", "the figure file makes other runs"),
        ("50 µs of arrivals", "60 µs", "the figure file says of its size: 60 µs"),
        ("Two schemes", "Two of them", "the picture has another title"),
    ):
        found = about()
        done = reword(old, new)
        assert done.returncode == 1
        assert said in done.stderr
        assert "run the figure again" in done.stderr
        assert about() == found
    done = command("paper", figure, "--relabel", "-o", tmp_path / "nothing")
    assert done.returncode == 1
    assert "there are no results to reword" in done.stderr
    done = command("paper", figure, "--relabel", "--quick", "-o", tmp_path / "results")
    assert done.returncode == 2
    assert "--relabel simulates nothing" in done.stderr


READINGS = """
[[readings]]
name = "big frames"
kind = "guess"
why = "the paper does not say how large frames are"
set = ["scheme.mtu=4KB"]

[[readings]]
name = "a light load"
kind = "words"
why = "a load may be that of the core"
where = [
    { at = { scheme = "dcqcn", load = "0.6" }, set = ["traffic.background.load.fraction=0.1"] },
]
"""


@pytest.fixture
def read_otherwise(figure: Path, tmp_path: Path) -> Path:
    copied = shutil.copytree(figure.parent, tmp_path / "mine") / figure.name
    assert FIGURE.count("at_least = 0.1") == 1
    text = FIGURE.replace('"buffer", ', '"fct", ').replace("at_least = 0.1", "at_least = 1.0001")
    text = text.replace("seeds = [1, 2]", "seeds = [2]")
    copied.write_text(text + READINGS, encoding="utf-8")
    return copied


def test_claims_are_judged_under_other_readings(
    command: Command,
    read_otherwise: Path,
    reproduced: tuple[CompletedProcess[str], Path],
    tmp_path: Path,
) -> None:
    store = reproduced[1] / "runs"
    assert command("paper", read_otherwise, "-o", tmp_path, "--store", store).returncode == 0
    plain = (tmp_path / "mine/fig1.json").read_bytes()
    done = command("paper", read_otherwise, "--readings", "-o", tmp_path, "--store", store)
    assert done.returncode == 0, done.stderr
    about = json.loads((tmp_path / "mine/readings/fig1.json").read_text(encoding="utf-8"))
    here, frames, light = about["readings"]
    assert (about["seeds"], about["command"]) == (5, "backwater paper mine/fig1 --readings")
    assert (here["name"], frames["kind"], light["kind"]) == ("as here", "guess", "words")
    assert here["verdicts"] == ["holds", "differs", "holds"]
    assert frames["ours"] != here["ours"], "it changes all runs"
    # A load of 0.1 against one of 0.3, of DCQCN only: what HPCC has stays what it is.
    assert light["verdicts"] == ["holds", "differs", "differs"]
    assert light["ours"][1] == here["ours"][1] != frames["ours"][1]
    table = (tmp_path / "mine/claims.md").read_text(encoding="utf-8")
    assert "| as here |  | 2 | 1 | 0 |  |  |" in table
    assert "| a light load | words | 1 | 2 | 0 | 0 | 1 |" in table
    assert "- a light load: a load may be that of the core" in table
    said = " ".join(table.split())
    assert "by what they are of: 1 words (the paper's words allow it), 1 guess (nothing" in said
    assert (
        "figures that have some: 1. Statements of these figures that do not hold here: 1," in said
    )
    assert "of which under some reading hold 0, under none 1. So 2 of 3 (66.7 %) hold here" in said
    told = "2 of 3 statements would hold (66.7 %), and 2 (66.7 %) without guesses."
    assert told in said, "what no reading gives, none takes away"
    told = "more buffer* (paper: more; ≥ 1): as here: "
    assert told in " ".join(table.split())
    assert "| a light load | words | 1 | 2 | 0 | 0 | 1 |" in done.stdout
    assert (tmp_path / "mine/fig1.json").read_bytes() == plain, "the figure stays what it is"
    assert readings.outdated(files.load(str(read_otherwise)), about) is None
    one = command(
        "paper",
        read_otherwise,
        "--readings",
        "--seeds",
        "1",
        "--json",
        "-o",
        tmp_path,
        "--store",
        store,
    )
    assert json.loads(one.stdout)[0]["command"] == "backwater paper mine/fig1 --readings --seeds 1"


def test_what_guesses_gain_is_told_apart() -> None:
    def under(kind: str, *verdicts: str) -> dict[str, Any]:
        return {"kind": kind, "verdicts": verdicts}

    here = under("", "holds", "differs", "differs", "inconclusive")
    guess, code = ("holds", "holds", "holds", "differs"), ("differs", "holds", "holds", "differs")
    about = {"readings": [here, under("guess", *guess), under("code", *code)]}
    score = {"mine/fig1": here["verdicts"], "mine/fig2": ("holds",)}
    told = " ".join(readings.summary(score, {"mine/fig1": about}))
    assert "4 of 5 statements would hold (80.0 %), and 3 (60.0 %) without guesses." in told
    assert "hold 2, under none 1. So 4 of 5 (80.0 %) hold here or under some reading" in told
    # With all seeds the second statement holds as it is, so that its reading gains nothing.
    score["mine/fig1"] = ("holds", "holds", "differs", "inconclusive")
    told = " ".join(readings.summary(score, {"mine/fig1": about}))
    assert "4 of 5 statements would hold (80.0 %), and 3 (60.0 %) without guesses." in told


def test_readings_take_the_words_of_their_file(
    command: Command,
    read_otherwise: Path,
    reproduced: tuple[CompletedProcess[str], Path],
    tmp_path: Path,
) -> None:
    store, out = reproduced[1] / "runs", ("-o", tmp_path)
    for options in ((), ("--readings",)):
        done = command("paper", read_otherwise, *options, *out, "--store", store)
        assert done.returncode == 0, done.stderr
    text = read_otherwise.read_text(encoding="utf-8")
    read_otherwise.write_text(text.replace("a load may be", "load might be"), encoding="utf-8")
    assert command("paper", read_otherwise, "--relabel", *out).returncode == 0
    table = (tmp_path / "mine/claims.md").read_text(encoding="utf-8")
    assert "- a light load: load might be that of the core" in table
    for old, new, said in (
        ("mtu=4KB", "mtu=2KB", "the figure file makes other runs"),
        ("a light load", "light", "its readings are not those of the figure file"),
    ):
        read_otherwise.write_text(text.replace(old, new), encoding="utf-8")
        done = command("paper", read_otherwise, "--relabel", *out)
        assert done.returncode == 1
        assert f"{said}; judge the readings again" in done.stderr


def test_readings_of_other_claims_and_those_that_are_gone_are_left_out(
    command: Command,
    read_otherwise: Path,
    reproduced: tuple[CompletedProcess[str], Path],
    tmp_path: Path,
) -> None:
    options = ("-o", tmp_path, "--store", reproduced[1] / "runs")
    text = read_otherwise.read_text(encoding="utf-8")

    def table() -> str:
        return (tmp_path / "mine/claims.md").read_text(encoding="utf-8")

    for more in ((), ("--readings",)):
        assert command("paper", read_otherwise, *more, *options).returncode == 0
    assert "a light load" in table()
    read_otherwise.write_text(text.replace("at_least = 1.0001", "at_least = 2"), encoding="utf-8")
    assert command("paper", read_otherwise, *options).returncode == 0
    assert "a light load" not in table(), "they were judged by another bound"
    read_otherwise.write_text(text.replace(READINGS, ""), encoding="utf-8")
    for more in (options, ("--relabel", "-o", tmp_path)):
        assert command("paper", read_otherwise, *more).returncode == 0
    assert not (tmp_path / "mine/readings/fig1.json").exists()
    assert "a light load" not in table()


def test_a_figure_without_readings_says_so(command: Command, figure: Path, tmp_path: Path) -> None:
    done = command("paper", figure, "--readings", "-o", tmp_path)
    assert done.returncode == 2
    assert "none of these figures has [[readings]]" in done.stderr


def test_some_seeds_are_told_in_the_command(
    command: Command, figure: Path, reproduced: tuple[CompletedProcess[str], Path], tmp_path: Path
) -> None:
    _, out = reproduced
    store = out / "runs"
    done = command("paper", figure, "--seeds", "1", "--json", "-o", tmp_path, "--store", store)
    (about,) = json.loads(done.stdout)
    assert (about["runs"], about["seeds"]) == (4, 1)
    assert about["command"] == "backwater paper mine/fig1 --seeds 1"
    assert ", 5 seeds asked |" in (tmp_path / "mine/claims.md").read_text(encoding="utf-8")


def test_quick_is_smaller_and_says_so(command: Command, figure: Path, tmp_path: Path) -> None:
    done = command("paper", figure, "--quick", "--json", "-o", tmp_path, "--store", tmp_path / "s")
    assert done.returncode == 0, done.stderr
    (about,) = json.loads(done.stdout)
    assert (about["quick"], about["runs"], about["seeds"]) == (True, 4, 1)
    assert "QUICK" in (tmp_path / "mine/claims.md").read_text(encoding="utf-8")
    assert (tmp_path / "s/runs").is_dir()


def test_full_runs_what_the_file_says_and_every_seed_that_is_asked_for(
    command: Command, figure: Path, tmp_path: Path
) -> None:
    copied = shutil.copytree(figure.parent, tmp_path / "mine")
    figure = copied / figure.name
    text = figure.read_text(encoding="utf-8")
    quick = 'quick = { set = ["traffic.background.window=[\\"0us\\", \\"20us\\"]"] }\n'
    assert quick in text
    full = quick.replace("quick", "full").replace(" }", ', size = "20 µs of arrivals" }')
    fewer = 'where = [{ at = { scheme = "dcqcn", load = "0.6" }, full_seeds = 2 }]\n'
    figure.write_text(text.replace(quick, quick + full + fewer), encoding="utf-8")
    store = tmp_path / "s"
    done = command("paper", figure, "--full", "--json", "-o", tmp_path, "--store", store)
    assert done.returncode == 0, done.stderr
    (about,) = json.loads(done.stdout)
    assert (about["full"], about["runs"], about["seeds"]) == (True, 17, 5)
    asked = {claim["text"]: claim["seeds"] for claim in about["claims"]}
    assert set(asked.values()) == {2, 5}, "two where a claim is about what has two"
    assert about["command"] == "backwater paper mine/fig1 --full"
    assert about["size"] == "20 µs of arrivals"
    both = command("paper", figure, "--full", "--quick", "-o", tmp_path)
    assert both.returncode == 2
    assert "--quick and --full say two sizes" in both.stderr


def test_a_figure_that_cannot_run_does_not_stop_the_others(
    command: Command, figure: Path, reproduced: tuple[CompletedProcess[str], Path]
) -> None:
    _, out = reproduced
    bad = figure.with_name("fig2.toml")
    bad.write_text(FIGURE.replace("traffic.incast.limit=1", "switch.bufer=1MB"), encoding="utf-8")
    done = command("paper", bad, figure, "-o", out)
    assert done.returncode == 2
    assert "mine/fig2 cannot be run" in done.stderr
    assert "did you mean `buffer`" in done.stderr.lower()
    assert "mine/fig1  Two schemes" in done.stdout


def test_a_bad_figure_file_is_an_error_of_the_input(
    command: Command, figure: Path, tmp_path: Path
) -> None:
    bad = figure.with_name("bad.toml")
    bad.write_text(FIGURE.replace('statistic = "p95"', 'statistic = "p9x"', 1), encoding="utf-8")
    done = command("paper", bad, "-o", tmp_path)
    assert done.returncode == 2
    assert f"{bad}:24: `measures.p95.statistic`: `p9x` is none of" in done.stderr
    assert "Traceback" not in done.stderr
    missing = command("paper", "no/such.toml", "-o", tmp_path)
    assert missing.returncode == 2
    assert "no/such.toml: there is no such file" in missing.stderr
    unknown = command("paper", "hpcc/fig99", "-o", tmp_path)
    assert (unknown.returncode, "there is no figure" in unknown.stderr) == (2, True)


def test_a_run_that_fails_is_told(command: Command, figure: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("", encoding="utf-8")
    done = command("paper", figure, "--quick", "-o", tmp_path, "--store", blocked)
    assert done.returncode == 1
    assert "error:" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_was_not_recorded_is_told(command: Command, figure: Path, tmp_path: Path) -> None:
    bad = figure.with_name("fig3.toml")
    bad.write_text(FIGURE.replace('of = "buffer"', 'of = "rtt"'), encoding="utf-8")
    done = command("paper", bad, "--quick", "-o", tmp_path)
    assert done.returncode == 1
    assert "mine/fig3" in done.stderr
    assert "[record]" in done.stderr


# --- The figures that come with the package --------------------------------------------------


def test_list_names_them_all(command: Command) -> None:
    done = command("paper", "list")
    assert done.returncode == 0
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


@pytest.mark.parametrize("name", [name for name in files.available() if files.load(name).readings])
def test_each_reading_changes_a_run(name: str) -> None:
    variants = readings.variants(files.load(name))

    def made(figure: Figure) -> set[str]:
        tasks = reproduce.tasks(figure, most_seeds=1)
        return {re.sub(r"#.*", "", task.resolved) for task in tasks.values()}

    here = made(variants.pop(readings.AS_HERE))
    for reading, figure in variants.items():
        assert made(figure) != here, f"{reading} does nothing"


RESULTS = Path(__file__).parents[2] / "docs/figures"


@pytest.mark.parametrize("name", files.available())
def test_the_results_in_docs_are_those_of_the_file(name: str) -> None:
    about = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    figure = files.load(name)
    assert reproduce.outdated(figure, about) is None
    for claim in about["claims"]:
        if claim["source"] == "paper" and claim["verdict"] == "differs" and not claim["curve"]:
            assert claim["cause"], f"{claim['text']}: what differs has a cause"
            if name.partition("/")[0] in {"hpcc", "bfc", "floodgate", "spfc"}:
                assert claim["because"], f"{claim['text']}: what kind of cause is it?"
    under = readings.load(name, RESULTS)
    assert (under is not None) == bool(figure.readings), "`--readings` makes what is missing"
    assert under is None or readings.outdated(figure, under) is None


def statements_of(about: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the statements of the paper in a figure's results, apart from points of curves."""
    return [c for c in about["claims"] if c["source"] == "paper" and not c["curve"]]


@pytest.mark.parametrize("paper", ["hpcc", "bfc", "floodgate", "spfc"])
def test_the_scores_in_the_documentation_are_those_of_the_results(paper: str) -> None:
    results = [json.loads(path.read_text("utf-8")) for path in (RESULTS / paper).glob("*.json")]
    statements = [claim for about in results for claim in statements_of(about)]

    def count(chosen: list[dict[str, Any]]) -> str:
        found = [sum(c["verdict"] == verdict for c in chosen) for verdict in table.VERDICTS]
        return f"{' / '.join(map(str, found))} of {len(chosen)}"

    page = (RESULTS.parent / "paper.md").read_text(encoding="utf-8")
    numeric = count([c for c in statements if c["numeric"]])
    assert f"](figures/{paper}/claims.md) | {count(statements)} | {numeric} |" in page
    runs = f"{sum(about['runs'] for about in results):,}".replace(",", " ")
    hops = sum(about["packet_hops"] for about in results) / 1e9
    assert f" | {len(results)} | {runs} | {hops:.0f} G | {hops / 36:.1f} | " in page


@pytest.mark.parametrize(
    ("paper", "called"), [("hpcc", "HPCC"), ("bfc", "BFC"), ("floodgate", "Floodgate")]
)
def test_what_readings_give_in_the_documentation_is_that_of_the_results(
    paper: str, called: str
) -> None:
    score, abouts = {}, {}
    for name in files.wanted([paper]):
        about = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
        score[name] = [claim["verdict"] for claim in statements_of(about)]
        if (under := readings.load(name, RESULTS)) is not None:
            abouts[name] = under
        else:
            assert set(score[name]) <= {"holds"}, f"{name}: no reading was tried"
    found = readings.reach(score, abouts)
    assert found is not None

    def share(number: int) -> str:
        return f"{number} ({100 * number / found.of:.1f} %)"

    row = [
        called,
        str(found.of),
        share(found.hold),
        str(found.figures),
        str(found.kinds.total()),
        f"{found.somewhere} of {found.missing}",
        share(found.upper),
        share(found.best),
        share(found.supported),
    ]
    page = (RESULTS.parent / "readings.md").read_text(encoding="utf-8")
    assert f"| {' | '.join(row)} |" in page


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


def test_a_scenario_is_not_a_figure(command: Command, tiny: Path) -> None:
    done = command("paper", tiny)
    assert (done.returncode, "is a scenario" in done.stderr) == (2, True)
