"""The command as a user calls it."""

import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from importlib.metadata import EntryPoints
from pathlib import Path
from resource import RLIMIT_FSIZE, setrlimit
from typing import Any

import click
import pytest
from click.testing import CliRunner
from lab import wait_until

import backwater
from backwater import cli
from backwater.cli import app
from backwater.workloads import Workload
from conftest import COMMAND
from tools import PATIENCE, Runs

TABLES = ("active", "flows", "pauses", "ports", "queues")
RUN_FILES = {"resolved.toml", "summary.json", *(f"{name}.parquet" for name in TABLES)}


def names(path: Path) -> set[str]:
    return {entry.name for entry in path.iterdir()}


def summary_of(out: Path) -> dict[str, Any]:
    return json.loads((out / "summary.json").read_text(encoding="utf-8"))


def test_run_leaves_a_run_directory_and_prints_the_table(command, tiny, tmp_path):
    done = command("run", tiny, "--scheme", "hpcc", cwd=tmp_path)
    out = tmp_path / "out/tiny-hpcc"
    assert names(out) == RUN_FILES
    assert summary_of(out)["digest"] in done.stdout
    assert str(out.relative_to(tmp_path)) in done.stderr


def test_seed_and_set_change_a_run(command, tiny, tmp_path):
    def run(*more: str) -> dict[str, Any]:
        done = command("run", tiny, "--json", "--force", "-o", tmp_path / "out", *more)
        return json.loads(done.stdout)

    assert run()["digest"] == run("--seed", "3")["digest"] != run("--seed", "4")["digest"]
    assert run("--set", 'name="other"')["name"] == "other"
    assert '"other"' in (tmp_path / "out/resolved.toml").read_text(encoding="utf-8")


def test_compare_writes_runs_a_table_and_a_report(compared):
    done, out = compared
    assert names(out) == {"bfc", "dcqcn", "results.json", "report.html", "store"}
    assert names(out / "bfc") == names(out / "dcqcn") == {*RUN_FILES, "stored.json"}
    for label in ("p50", "p95", "p99", "PFC pause time", "drops", "packet-hops/s", "digest"):
        assert label in done.stdout
    assert str(out / "report.html") in done.stderr


def test_a_comparison_sets_the_parameters_of_the_schemes_that_have_them(command, tiny, tmp_path):
    words = ["compare", tiny, "--schemes", "bfc,hpcc", "-o", tmp_path / "out", "--set"]
    command(*words, "scheme.hpcc.eta=0.9")
    resolved = {s: (tmp_path / "out" / s / "resolved.toml").read_text() for s in ("bfc", "hpcc")}
    assert "eta = 0.9 " in resolved["hpcc"]
    assert "eta" not in resolved["bfc"]
    assert "scheme.dcqcn" in command(*words, "scheme.dcqcn.g=0.5", code=2).stderr
    assert "the scheme bfc:" in command(*words, 'scheme.recovery="none"', code=2).stderr


def test_a_wide_table_is_not_cut(command, tiny, tmp_path):
    schemes = "bfc,bfc-single,bfc-stochastic,hpcc,hpcc+sfq,dcqcn,dcqcn+win,dctcp,timely,ideal-fq"
    done = command("compare", tiny, "--schemes", schemes, "-o", tmp_path / "out")
    assert "…" not in done.stdout
    assert schemes.replace(",", " ").split() == done.stdout.split()[:10]


def test_all_schemes_meet_the_same_flows(comparison):
    asked = ["id", "source", "src", "dst", "bytes", "start_ps", "ideal_received_ps"]
    bfc, dcqcn = (run.table("flows").sort("id").select(asked) for run in comparison.values())
    assert bfc.height > 20
    assert bfc.equals(dcqcn)


def test_check_says_that_all_is_well_or_prints_every_value(command, tiny):
    assert command("check", tiny).stdout == f"{tiny}: ok\n"
    done = command("check", tiny, "--resolved", "--scheme", "hpcc")
    assert tomllib.loads(done.stdout)["scheme"]["preset"] == "hpcc"


@pytest.mark.parametrize(
    ("what", "expected"),
    [("schemes", "ideal-fq"), ("workloads", "google-allrpc@bfc"), ("topologies", "leaf-spine")],
)
def test_list(command, what, expected):
    shown = command("list", what).stdout
    assert expected in [line.split()[0] for line in shown.splitlines()]
    entries = json.loads(command("list", what, "--json").stdout)
    assert expected in [entry["name"] for entry in entries]


def test_version(command):
    done = command("--version")
    assert re.fullmatch(r"backwater \d+\.\d+\.\d+\n", done.stdout)


HEAVY = {"polars", "matplotlib", "numpy", "pandas", "rich", "typer", "pydantic", "distributed"}
OURS = {"backwater._core", "backwater.running.run", "backwater.results"}


@pytest.mark.parametrize(
    ("words", "forbidden"),
    [
        ("--help", {*HEAVY, *OURS}),
        ("run --help", {*HEAVY, *OURS}),
        ("check {tiny}", HEAVY),
        ("run {tiny} -o {out}", HEAVY),
    ],
)
def test_the_first_minute_loads_nothing_heavy(tiny, tmp_path, words, forbidden):
    asked = words.format(tiny=tiny, out=tmp_path / "out").split()
    script = (
        "import sys\nfrom backwater.cli import app\n"
        f"app({asked!r}, standalone_mode=False)\n"
        f"print(sorted({forbidden!r} & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert len(done.stdout.splitlines()) > 1
    assert done.stdout.splitlines()[-1] == "[]"


PRESSED = """
import sys
class Pressed:
    def find_spec(self, name, *_):
        if name == "click":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Pressed())
from backwater.__main__ import main
main()
"""


def test_ctrl_c_is_heard_before_the_command_is_read():
    done = subprocess.run([sys.executable, "-c", PRESSED], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


# --- Bad input: one clear message, exit code 2, nothing written -------------------------------


@pytest.mark.parametrize(
    ("line", "place"),
    [("sede = 4", "tiny.toml:1:1"), ("name = ", "tiny.toml:1"), ('seed = "4 a"', "tiny.toml:1")],
)
def test_a_mistake_in_the_scenario_is_told_with_its_place(command, tiny, tmp_path, line, place):
    scenario = tmp_path / "tiny.toml"
    rest = tiny.read_text(encoding="utf-8").split("\n", 2)[2]
    scenario.write_text(f"{line}\n{rest}", encoding="utf-8")
    out = ("-o", tmp_path / "out")
    assert place in command("run", scenario, *out, code=2).stderr
    assert place in command("compare", scenario, "--schemes", "bfc", *out, code=2).stderr
    command("check", scenario, code=2)
    assert not out[1].exists()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("run none.toml", "none.toml"),
        ("run {} --scheme bcf", "bfc"),
        ("run {} --set switch.bufer=1MB", "buffer"),
        ("run {} --capture a->b,,", "`a->b,,`"),
        ("run {} --seed -1", "--seed"),
        ("compare {}", "--schemes"),
        ("compare {} --schemes bfc,nope", "nope"),
        ("compare {} --schemes bfc,bfc", "twice"),
        ("compare {} --schemes ../bfc", "../bfc"),
        *((f"compare {{}} --schemes={empty}", f"`{empty}`") for empty in (",", "bfc,,hpcc")),
        ("comapre {}", "'compare'"),
        ("list fruit", "schemes"),
        ("import nothing {}", "ns3"),
        ("import msccl x.xml --reduction nan", "nan"),
        ("import msccl x.xml --size 8MBit", "8MBit"),
        ("host x.toml --node a --ports x --for -1", "-1"),
        ("explain . --percentile nan", "nan"),
        ("resources x.toml --packet inf", "inf"),
    ],
)
def test_bad_words_on_the_command_line(command, tiny, tmp_path, words, expected):
    """The message has the wrong word or the right one, and nothing is written."""
    called = [word.replace("{}", str(tiny)) for word in words.split()]
    assert expected in command(*called, cwd=tmp_path, code=2).stderr
    assert names(tmp_path) == set()


@pytest.mark.parametrize("other", ["scheme.preset=bfc", 'scheme = { preset = "bfc" }'])
def test_no_override_makes_another_scheme_of_one(command, tiny, tmp_path, other):
    out = tmp_path / "out"
    for words in (("run", "--scheme", "hpcc"), ("compare", "--schemes", "hpcc,dcqcn")):
        assert other in command(*words, tiny, "--set", other, "-o", out, code=2).stderr
        assert not out.exists()
    command("run", tiny, "--set", other, "--set", "run.until=1us", "-o", out)
    assert summary_of(out)["scheme"] == "bfc"


def test_a_directory_with_other_things_is_left_alone(command, tiny, tmp_path):
    (tmp_path / "thesis.tex").write_text("dear")
    for words in (["run", tiny], ["compare", tiny, "--schemes", "bfc"]):
        done = command(*words, "-o", tmp_path, code=1)
        assert "thesis.tex" in done.stderr
        assert "--force" in done.stderr
        assert names(tmp_path) == {"thesis.tex"}
    command("run", tiny, "-o", tmp_path, "--force")
    assert names(tmp_path) == {"thesis.tex", *RUN_FILES}


def test_results_of_another_run_are_left_alone(command, tiny, tmp_path):
    other = tmp_path / "other.toml"
    other.write_text(tiny.read_text().replace('name = "tiny"', 'name = "other"'))
    out = tmp_path / "out"
    command("run", tiny, "-o", out)
    kept = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    for changed in ([other], [tiny, "--seed", "9"], [tiny, "--set", "switch.buffer=1MB"]):
        done = command("run", *changed, "-o", out, code=1)
        assert done.stderr.startswith(f"error: {out}")
        assert "--force" in done.stderr
        assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == kept
    # The same again is done again.
    command("run", tiny, "-o", out)
    command("run", other, "-o", out, "--force")
    assert summary_of(out)["name"] == "other"


def test_what_a_host_measured_is_left_alone(command, tiny, tmp_path):
    (tmp_path / "host.json").write_text("{}")
    done = command("run", tiny, "-o", tmp_path, code=1)
    assert "a host on real frames" in done.stderr
    assert names(tmp_path) == {"host.json"}


def within(limit: int) -> dict[str, Any]:
    """Return options of a process in which no file may have more bytes than this."""
    return {"preexec_fn": lambda: setrlimit(RLIMIT_FSIZE, (limit, limit))}


def test_a_place_that_takes_no_results_is_told(command, process, tiny, tmp_path):
    (tmp_path / "file").write_text("precious")
    for out in (tmp_path / "file", tmp_path / "file/below"):
        assert "a file has this name" in command("run", tiny, "-o", out, code=1).stderr
    assert (tmp_path / "file").read_text() == "precious"
    # A table that is smaller than what is held back of it fails when it is closed. More hosts make
    # the table of ports larger than the scenario.
    wide = ("run", tiny, "--set", "topology.hosts_per_leaf=8")
    command(*wide, "-o", tmp_path / "first")
    limit = (tmp_path / "first/ports.parquet").stat().st_size - 1
    assert limit > (tmp_path / "first/resolved.toml").stat().st_size
    limited = process(
        *wide, "-o", tmp_path / "out", preexec_fn=lambda: setrlimit(RLIMIT_FSIZE, (limit, limit))
    )
    assert limited.returncode == 1
    assert re.search(r"/ports\.parquet\.part: cannot write: File too large", limited.stderr)
    assert names(tmp_path / "out") == set()


def test_a_report_that_has_no_room_loses_no_run(command, process, tiny, tmp_path):
    out = tmp_path / "out"
    limited = process(
        "compare",
        tiny,
        "--schemes",
        "bfc,hpcc",
        "-o",
        out,
        preexec_fn=lambda: setrlimit(RLIMIT_FSIZE, (10**6, 10**6)),
    )
    assert limited.returncode == 1
    assert "report.html: cannot write: File too large" in limited.stderr
    assert names(out / "bfc") == names(out / "hpcc") == {*RUN_FILES, "stored.json"}
    command("report", out)
    assert "report.html" in names(out)


def test_a_comparison_leaves_other_files_alone(command, tiny, tmp_path):
    out = tmp_path / "out"
    (out / "dcqcn").mkdir(parents=True)
    (out / "dcqcn/thesis.tex").write_text("dear")
    words = ("compare", tiny, "--schemes", "bfc,dcqcn", "-o", out)
    refused = command(*words, code=1)
    assert "dcqcn" in refused.stderr
    command(*words, "--force")
    assert names(out / "bfc") == {*RUN_FILES, "stored.json"}
    assert names(out / "dcqcn") == {"thesis.tex"}
    assert set(backwater.load(out).runs["state"]) == {"done"}


# --- Ctrl-C -----------------------------------------------------------------------------------


def wait_for(folder: Path, part: str, process: subprocess.Popen[str]) -> None:
    """Wait until a command has begun to write."""
    wait_until(lambda: any(folder.glob(part)) or process.poll() is not None)
    assert process.poll() is None, process.communicate()[1]
    time.sleep(0.5)


def interrupted(words: list[str], folder: Path, part: str) -> tuple[int, str, str]:
    """Start a command, press Ctrl-C once it has begun to write, and return what it said."""
    with subprocess.Popen(
        [COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        wait_for(folder, part, process)
        process.send_signal(signal.SIGINT)
        said, errors = process.communicate(timeout=PATIENCE)
    return process.returncode, said, errors


def test_a_warning_is_told_once_and_of_its_schemes(command, tiny, tmp_path):
    late = ("--set", "scheme.ecn.kmin=5MB", "--set", "scheme.ecn.kmax=6MB", "-o", tmp_path / "out")
    for words, start in (
        (("run", tiny, "--scheme", "dcqcn"), "warning: "),
        (("compare", tiny, "--schemes", "dcqcn,hpcc", "--force"), "warning: dcqcn: "),
    ):
        told = [line for line in command(*words, *late).stderr.splitlines() if "ECN starts" in line]
        assert len(told) == len(set(told)) == 2
        assert all(line.startswith(start) for line in told)


def test_ctrl_c_keeps_what_a_run_has_computed(long, tmp_path):
    out = tmp_path / "out"
    words = ["run", str(long), "-o", str(out), "--json"]
    code, said, errors = interrupted(words, out, "flows.parquet.part")
    assert code == 130, errors
    summary = json.loads(said)
    assert summary["partial"]
    assert summary["flows"]["finished"] > 0
    assert names(out) == RUN_FILES
    assert str(out) in errors
    assert "Traceback" not in errors


def test_ctrl_c_keeps_what_a_comparison_has_computed(long, tmp_path):
    out = tmp_path / "out"
    words = ["compare", str(long), "--schemes", "bfc,hpcc,dcqcn", "--jobs", "1", "-o", str(out)]
    code, _, errors = interrupted(words, out, "store/work/*/*/run/flows.parquet.part")
    assert code == 130, errors
    assert names(out) == {"bfc", "results.json", "report.html", "store"}
    results = backwater.load(out)
    assert results.runs["state"].to_list() == ["partial", "missing", "missing"]
    assert results.partial
    assert results["bfc"].table("flows")["finished"].any()
    assert "interrupted" in (out / "report.html").read_text(encoding="utf-8")


def test_two_runs_do_not_share_a_directory(process, long, tmp_path):
    out = tmp_path / "out"
    words = [str(w) for w in (COMMAND, "run", long, "-o", out)]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as first:
        wait_for(out, "flows.parquet.part", first)
        second = process(*words[1:])
        # Batch systems stop a job with SIGTERM: as Ctrl-C.
        first.send_signal(signal.SIGTERM)
        first.communicate(timeout=PATIENCE)
    assert second.returncode == 1
    assert "another run is writing here" in second.stderr
    assert first.returncode == 130
    assert names(out) == RUN_FILES


def test_nothing_that_a_shell_can_say_gives_a_traceback(tiny, tmp_path):
    run = f"{COMMAND} run {tiny} -o {tmp_path}/out"
    for line, code in (
        (f"{run} --seed {2**64}", 2),
        (f"{run} --set $'name=\\xff'", 2),
        (f"{COMMAND} list schemes >/dev/full", 1),
        (f"{COMMAND} list schemes >&-", 0),
    ):
        done = subprocess.run(["bash", "-c", line], stderr=subprocess.PIPE, timeout=PATIENCE)
        assert done.returncode == code, done.stderr
        assert bool(done.stderr) == bool(code)
        assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("summary", ["", "[]", "{}", '{"name": "half'])
def test_results_that_are_no_results_are_told(summary, command, tmp_path):
    (tmp_path / "summary.json").write_text(summary, encoding="utf-8")
    for name in ("report", "explain", "pauses", "breakdown", "timeline"):
        done = command(name, tmp_path, code=2)
        assert done.stderr.startswith(f"error: {tmp_path}/summary.json: ")
        assert "repeat the run" in done.stderr
        command(name, tmp_path / "summary.json", code=2)


def commands(group: click.Group, *above: str) -> Iterator[tuple[str, click.Command]]:
    """Give all commands with their words, those of `import` one by one."""
    for name, one in group.commands.items():
        if isinstance(one, click.Group):
            yield from commands(one, *above, name)
        else:
            yield " ".join([*above, name]), one


def reads_a_file(command: click.Command) -> bool:
    """Whether its first argument is a path; that of `init` is written."""
    parameters = command.get_params(click.Context(command))
    kinds = [p.type for p in parameters if p.param_type_name == "argument"]
    return command.name != "init" and bool(kinds) and isinstance(kinds[0], click.Path)


NEEDED = {
    "compare": ["--schemes", "bfc"],
    **{f"export {what}": ["-o", "out"] for what in ("ns3", "operations")},
    "host": ["--node", "host0", "--ports", "lo"],
    "switch": ["--ports", "lo"],
}
"""Options without which a command does not look at its input."""


@pytest.mark.parametrize("name", [name for name, one in commands(app) if reads_a_file(one)])
def test_input_that_is_not_there_is_wrong_input(name, command, tmp_path):
    done = command(*name.split(), "not-there", *NEEDED.get(name, []), cwd=tmp_path, code=2)
    assert done.stderr.startswith("error: ")
    assert "not-there" in done.stderr
    assert (done.stdout, names(tmp_path)) == ("", set())


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        *((f"{name} min.toml", "did you mean mine.toml?") for name in ("run", "estimate", "sweep")),
        ("run other.toml", "backwater init other.toml"),
        ("report ou", "did you mean out?"),
        ("check no/mine.toml", "there is no directory no"),
    ],
)
def test_a_file_that_is_not_there_is_answered_by_the_nearest(command, tiny, tmp_path, words, hint):
    shutil.copy(tiny, tmp_path / "mine.toml")
    (tmp_path / "out").mkdir()
    assert hint in command(*words.split(), cwd=tmp_path, code=2).stderr


@pytest.fixture
def files(tiny: Path, comparison: Runs, tmp_path: Path) -> Path:
    """A folder with a file of each kind."""
    folder = tmp_path / "files"
    folder.mkdir()
    shutil.copy(tiny, folder / "scenario.toml")
    (folder / "sweep.toml").write_text('scenario = "scenario.toml"\naxes.seed = [1]\n')
    (folder / "figure.toml").write_text('title = "x"\n[[runs]]\n')
    Workload(2).write(folder / "workload.parquet")
    shutil.copytree(comparison["bfc"].path, folder / "run")
    (folder / "compared").mkdir()
    shutil.copy(comparison.path / "results.json", folder / "compared")
    return folder


KINDS = {
    "scenario.toml": ("a scenario", "backwater run scenario.toml"),
    "sweep.toml": ("a sweep", "backwater sweep sweep.toml"),
    "figure.toml": ("a figure of a paper", "backwater paper figure.toml"),
    "workload.parquet": ("a workload", "backwater estimate workload.parquet"),
    "run/flows.parquet": ("a table of a run", "backwater report run"),
    "run": ("the directory of a run", "backwater run run/resolved.toml"),
    "compared": ("a directory of results", "backwater show compared"),
    ".": ("a directory", "such as figure.toml, scenario.toml, sweep.toml"),
}
"""What each is called, and what is said to do with it."""


@pytest.mark.parametrize(
    ("words", "taken"),
    [
        ("run", {"scenario.toml"}),
        ("compare", {"scenario.toml"}),
        ("check", {"scenario.toml"}),
        ("graph", {"scenario.toml"}),
        ("sweep", {"sweep.toml"}),
        ("estimate", {"scenario.toml", "workload.parquet"}),
    ],
)
def test_a_file_of_another_kind_gets_one_answer(words, taken, command, files):
    for file, (kind, what_to_do) in KINDS.items():
        if file not in taken:
            told = command(words, file, *NEEDED.get(words, []), cwd=files, code=2).stderr
            assert told.startswith(f"error: {file} is {kind}, and `backwater {words}` takes a ")
            assert what_to_do in told
            assert told.count("error: ") == 1


def test_a_command_of_a_package_that_is_not_installed_names_the_package(monkeypatch):
    monkeypatch.setattr(cli, "_plugins", lambda: EntryPoints())
    done = CliRunner().invoke(cli.app, ["paper", "list"])
    assert (done.exit_code, "backwater-papers" in done.stderr) == (2, True)


def test_commands_have_a_section_and_an_example():
    shown = [name for name, command in app.commands.items() if not command.hidden]
    placed = [name for names in app.sections.values() for name in names]
    assert sorted(shown) == sorted(placed)
    without = [name for name in shown if "Examples:" not in (app.commands[name].epilog or "")]
    assert without == []


@pytest.mark.parametrize("name", [name for name, one in commands(app) if one.epilog])
def test_examples_have_valid_options(name):
    command = dict(commands(app))[name]
    for line in str(command.epilog).splitlines():
        if line.strip().startswith("backwater "):
            words = shlex.split(line.partition(" > ")[0])[1:]
            group: click.Command = app
            while isinstance(group, click.Group):
                group = group.commands[words.pop(0)]
            assert group is command or name in ("import", "export")
            group.make_context(group.name, words)


def test_every_command_prints_json(command, comparison, tmp_path):
    def told(*words: str | Path) -> dict[str, Any]:
        return json.loads(command(*words, "--json").stdout)

    def has_json(one: click.Command) -> bool:
        return any("--json" in p.opts for p in one.get_params(click.Context(one)))

    # The command `schema` prints nothing else.
    assert {name for name, one in commands(app) if not has_json(one)} == {"schema"}
    goal = tmp_path / "ring.goal"
    goal.write_text("num_ranks 2\nrank 0 { send 8b to 1 }\nrank 1 { recv 8b from 0 }")
    out, path = tmp_path / "out", tmp_path / "first.toml"
    files = told("export", "ns3", comparison["bfc"].path, "-o", out)["files"]
    assert sorted(map(Path, files)) == sorted(out.iterdir())
    init = told("init", path, "--yes")
    assert init == {"scenario": str(path), "schemes": init["schemes"], "problems": []}
    imported = told("import", "goal", goal, "-o", tmp_path / "goal.toml")
    assert imported["scenario"] == str(tmp_path / "goal.toml")
    assert Path(told("dissector")["dissector"]).is_file()
    drawn = told("timeline", comparison["bfc"].path, "-o", tmp_path / "trace.json")
    assert (drawn["trace"], drawn["cut_ps"]) == (str(tmp_path / "trace.json"), None)
    report = told("report", comparison.path, "-o", tmp_path / "report.html")
    assert report == {"report": str(tmp_path / "report.html")}


def test_show_prints_the_table_of_existing_results(command, comparison, tmp_path):
    shown = command("show", comparison.path).stdout
    assert all(f"digest {run.digest}" in shown for run in comparison.values())
    summaries = json.loads(command("show", comparison.path, "--json").stdout)
    assert summaries == {name: run.summary for name, run in comparison.items()}
    one = json.loads(command("show", comparison["bfc"].path, "--json").stdout)
    assert one == {"bfc": comparison["bfc"].summary}
    command("show", tmp_path, code=2)


def test_inspect_shows_what_its_aliases_show(command, tiny):
    for part in ("links", "graph", "resources"):
        assert command("inspect", tiny, f"--{part}").stdout == command(part, tiny).stdout
    assert command("inspect", tiny).stdout == command("check", tiny, "--explain").stdout
    several = json.loads(command("inspect", tiny, "--links", "--graph", "--json").stdout)
    assert list(several) == ["links", "graph"]
    assert command("inspect", tiny, "--dot").stdout == command("graph", tiny, "--dot").stdout


# PRE-291
def test_presets_that_a_scenario_makes_equal_are_named(command, tiny, tmp_path):
    same = "bfc and bfc-single have the same values here: they differ in scheme.queues"
    words = ("run", tiny, "--schemes", "bfc,bfc-single,hpcc")
    done = command(*words, "--set", "scheme.queues=16", "-o", tmp_path / "equal")
    assert f"warning: the presets {same}" in done.stderr
    assert done.stderr.count("have the same values") == 1
    assert same in json.loads((tmp_path / "equal" / "results.json").read_text())["notes"][-1]
    assert "have the same values" not in command(*words, "-o", tmp_path / "out").stderr


def test_run_with_schemes_compares(command, tiny, tmp_path):
    done = command("run", tiny, "--schemes", "bfc,hpcc", "-o", tmp_path / "out", "--json")
    assert list(json.loads(done.stdout)["runs"]) == ["bfc", "hpcc"]
    assert (tmp_path / "out" / "report.html").is_file()
    for words in (["--scheme", "bfc", "--schemes", "bfc,hpcc"], ["--jobs", "2"]):
        command("run", tiny, *words, "-o", tmp_path / "wrong", code=2)
