"""GOAL schedules: text, binary, and the operations that they become."""

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from import_files import estimated, goal_binary, goal_text, refused

from backwater.errors import ScenarioError
from backwater.importers import importing
from backwater.importers.common.source import Findings
from backwater.importers.goal import binary
from backwater.importers.goal import operations as goal_operations
from backwater.importers.goal import schedule as goal
from backwater.importers.goal.schedule import ANY, Kind, Operation, Rank, Schedule
from backwater.importers.importing import Wishes
from tools import simulated

SMALL = """\
/* two ranks,
   three kinds */
num_ranks 3

rank 0 {
  first: calc 500 cpu 1  // computes
  second: send 4096b to 1 tag 7 cpu 1 nic 2
  second requires first
  third: recv 8b from -1 tag -1
  third irequires second
  send 1 b to 2
}
rank 1 { recv 4096b from 0 tag 7 }
rank 2 {
send 8b to 0 tag 3
recv 1b from 0
}
"""


def parsed(text: str, findings: Findings | None = None) -> Schedule:
    return goal.parse("x.goal", text, findings or Findings())


def converted(text: str, findings: Findings | None = None):
    found = findings or Findings()
    host = goal_operations.HOSTS["loggopsim"]
    return goal_operations.convert(parsed(text, found), host, found)


def test_a_schedule_is_read():
    ranks = parsed(SMALL).ranks
    assert ranks[0].operations == [
        Operation(Kind.CALC, 500, cpu=1),
        Operation(Kind.SEND, 4096, 1, 7, 1, 2),
        Operation(Kind.RECV, 8, ANY, ANY),
        Operation(Kind.SEND, 1, 2),
    ]
    assert ranks[0].after_end == [(1, 0)]
    assert ranks[0].after_start == [(2, 1)]
    assert ranks[1].operations == [Operation(Kind.RECV, 4096, 0, 7)]
    assert [len(r.operations) for r in ranks] == [4, 1, 2]


def test_operations_of_a_schedule():
    findings = Findings()
    workload = converted(SMALL, findings)
    assert workload.options["send_end"] == "eager"
    assert workload.options["overhead_ps"] == 1_500_000
    assert workload.options["rendezvous_above_bytes"] == 65_535
    rows = workload.frame()
    assert rows["kind"].to_list() == ["calc", "send", "recv", "send", "recv", "send", "recv"]
    assert rows["duration_ps"][0] == 500_000
    assert rows["peer"].to_list() == [None, 1, None, 2, 0, 0, 0]
    assert rows["tag"].to_list() == [None, 7, None, 0, 7, 3, 0]
    assert rows["resource"].to_list() == [1, 1, 0, 0, 0, 0, 0]
    assert rows["nic"].to_list()[:2] == [None, 2]
    assert rows["after_end"].to_list()[:3] == [None, [0], None]
    assert rows["after_start"].to_list()[:3] == [None, None, [1]]
    assert rows["name"].to_list()[:4] == ["first", "second", "third", None]
    assert findings.warnings() == []


def test_an_operation_may_wait_for_one_that_comes_later():
    text = "num_ranks 1\nrank 0 {\na: calc 1\nb: calc 2\na requires b\n}\n"
    rows = converted(text).frame()
    assert rows["name"].to_list() == ["b", "a"]
    assert rows["after_end"].to_list() == [None, [0]]
    assert rows["priority"].to_list() == [1, 0]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "x.goal:1:1"),
        ("rank 0 {\n}\n", "`num_ranks` has to come before the first rank"),
        ("num_ranks 1\nrank 1 {\n}\n", "the number of a rank is 1; expected 0 to 0"),
        ("num_ranks 1\nrank 0 {\n}\nrank 0 {\n}\n", "x.goal:4:6"),
        ("num_ranks 1\nrank 0 {\ncalc 5\n", "the file ends inside a rank"),
        ("num_ranks 1\nrank 0 {\n  calc x\n}\n", "x.goal:3:8"),
        ("num_ranks 1\nrank 0 {\nsend 5 to 0\n}\n", "expected `b`, found `to`"),
        ("num_ranks 2\nrank 0 {\nsend 5b from 1\n}\n", "expected `to`, found `from`"),
        ("num_ranks 2\nrank 0 {\nsend 5b to -1\n}\n", "expected 0 to 1"),
        ("num_ranks 2\nrank 0 {\nsend 5b to 1 tag -1\n}\n", "the tag is -1"),
        ("num_ranks 2\nrank 0 {\nsend 5b to 1 cpu 300\n}\n", "expected 0 to 255"),
        ("num_ranks 2\nrank 0 {\nsend 5b to 1 tag 1 tag 2\n}\n", "`tag` is given twice"),
        ("num_ranks 2\nrank 0 {\nsend 5b to 1 nick 2\n}\n", "expected the end of the line"),
        ("num_ranks 1\nrank 0 {\na: calc 1\na requires b\n}\n", "x.goal:4:12"),
        ("num_ranks 1\nrank 0 {\na: calc 1\na requires a\n}\n", "a would wait for itself"),
        ("num_ranks 1\nrank 0 {\na b\n}\n", "expected `:` or `requires` or `irequires`"),
        ("num_ranks 1\n/* never\n", "x.goal:2:1"),
        ("num_ranks 0\n", "the number of ranks is 0"),
        ("num_ranks 1 num_ranks 1", "given twice"),
        ("num_ranks 1\nrank 0 {\n}\nwhat\n", "expected `num_ranks` or `rank`, found `what`"),
        ("num_ranks 1\nrank 0 {\ncalc 5 -\n}\n", "x.goal:3:8"),
    ],
)
def test_what_is_wrong_in_a_text_is_said(text, says):
    assert says in refused(lambda findings: parsed(text, findings))


def test_circles_and_messages_to_oneself_are_refused():
    circle = "num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\na requires b\nb irequires a\n}\n"
    said = refused(lambda findings: converted(circle, findings))
    assert "rank 0 can never finish: a requires b requires a\n --> x.goal:3:1" in said
    own = "num_ranks 1\nrank 0 {\nm: send 1b to 0\nn: calc 1\nn requires m\n}\n"
    said = refused(lambda findings: converted(own, findings))
    assert "rank 0 sends to itself (m)\n --> x.goal:3:1" in said
    own = own.replace("send 1b to", "recv 1b from")
    assert "rank 0 receives from itself (m)" in refused(lambda findings: converted(own, findings))


@pytest.mark.parametrize("statement", ["a: calc 72057594037928", "a: send 281474976710657b to 1"])
def test_amounts_have_a_limit(statement):
    text = f"num_ranks 2\nrank 0 {{\n{statement}\n}}\nrank 1 {{\n}}\n"
    said = refused(lambda findings: converted(text, findings))
    assert "rank 0: a has" in said
    assert "x.goal:3:1" in said


def test_what_is_doubtful_is_a_warning():
    findings = Findings()
    text = (
        "num_ranks 3\nrank 1 {\nrecv 5b from 0\na: calc 1\na: calc 2\n}\n"
        "rank 0 {\nsend 5b to 1 tag 9\n}\n"
    )
    converted(text, findings)
    told = "\n".join(w["text"] for w in findings.warnings())
    assert "no block for rank 2" in told
    assert "the label a is taken already" in told
    assert "there are 1 sends and 0 receives: 1 are never received\n --> x.goal:8:1" in told
    assert "there are 0 sends and 1 receives: 1 receives wait for ever\n --> x.goal:3:1" in told
    assert "here their order is free" in told


UNEQUAL = """\
num_ranks 2
rank 0 {
send 7b to 1
  a: send 10b to 1 tag 1
send 9b to 1
send 9b to 1
}
rank 1 { recv 9b from 0
recv 7b from 0 recv 11b from 0 tag 1
recv 9b from 0
}
"""


def test_messages_of_other_sizes_than_their_receives_are_told():
    text = UNEQUAL.replace("recv 7b from 0 recv", "recv 7b from 0\nrecv")
    findings = Findings()
    schedule = parsed(text, findings)
    goal_operations.convert(schedule, goal_operations.HOSTS["loggopsim"], findings)
    # Those of tag 0 have the same sizes in another order: which takes which is not known here.
    [told] = [w["text"] for w in findings.warnings()]
    assert "from rank 0 to 1 with tag 1 this receive is of 11 bytes, but the message" in told
    assert "has 10 (line 4)\n  --> x.goal:10:1" in told
    # In a binary file, with its bytes.
    findings = Findings()
    data = goal_binary(schedule)
    read = binary.parse("x.bin", data, findings)
    goal_operations.convert(read, goal_operations.HOSTS["loggopsim"], findings)
    [told] = [w["text"] for w in findings.warnings()]
    send, recv = read.ranks[0].places[1], read.ranks[1].places[2]
    assert f"warning: x.bin: byte {recv}: from rank 0 to 1" in told
    assert f"has 10 (byte {send})" in told
    # A record has the bytes of its message behind four words and a byte.
    assert [int.from_bytes(data[at + 9 : at + 17], "little") for at in (send, recv)] == [10, 11]


def test_the_first_message_that_nobody_receives_is_named():
    text = "num_ranks 2\nrank 0 {\nsend 1b to 1\nsend 1b to 1\n}\nrank 1 {\nrecv 1b from 0\n}\n"
    findings = Findings()
    converted(text, findings)
    [told] = findings.warnings()
    assert (told["line"], told["column"]) == (4, 1)
    assert "there are 2 sends and 1 receives: 1 are never received" in told["text"]


# --- Round trips ---------------------------------------------------------------------------------


ranks_of_schedules = st.integers(1, 3)
sizes = st.integers(0, 2**63 - 1)
tags = st.integers(0, 2**32 - 2)
small = st.integers(0, 255)


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    count = draw(ranks_of_schedules)
    peers = st.integers(0, count - 1)
    anything, none = st.just(ANY), st.just(0)
    operations = (
        st.tuples(st.just(Kind.CALC), sizes, none, none, small, small)
        | st.tuples(st.just(Kind.SEND), sizes, peers, tags, small, small)
        | st.tuples(st.just(Kind.RECV), sizes, peers | anything, tags | anything, small, small)
    )
    ranks = []
    for _ in range(count):
        rank = Rank([Operation(*x) for x in draw(st.lists(operations, max_size=4))])
        number = len(rank.operations)
        pairs = [(a, b) for a in range(number) for b in range(number) if a != b]
        if pairs:
            chosen = st.lists(st.sampled_from(pairs), max_size=4)
            # The binary format keeps edges by the operation that comes first.
            rank.after_end = sorted(draw(chosen), key=lambda e: e[1])
            rank.after_start = sorted(draw(chosen), key=lambda e: e[1])
        ranks.append(rank)
    return Schedule(ranks)


@settings(max_examples=60)
@given(schedules())
def test_text_and_binary_say_the_same(schedule):
    from_text = parsed(goal_text(schedule))
    assert from_text == schedule
    assert binary.parse("x.bin", goal_binary(from_text), Findings()) == schedule


def test_a_note_says_how_to_estimate_what_loggopsim_would_say(tmp_path):
    lines = ["num_ranks 8"]
    for rank in range(8):
        children = [1 << k for k in range(3) if rank % (2 << k) == 0]
        received = [f"r{bit}: recv 1024b from {rank + bit} tag 0" for bit in children]
        lines += [f"rank {rank} {{", *received]
        if rank:
            lines.append(f"s: send 1024b to {rank & (rank - 1)} tag 0")
            lines += [f"s requires r{bit}" for bit in children]
        lines.append("}")
    (tmp_path / "reduce.goal").write_text("\n".join(lines))
    imported = importing.import_goal(tmp_path / "reduce.goal", Wishes())
    *_, note = importing.write(imported, tmp_path / "x.toml")
    found = estimated(note, record=True).operations
    ends = found.group_by("rank").agg(pl.col("end_ps").max()).sort("rank")["end_ps"]
    # As LogGOPSim's README has them.
    published = [34_914, 1500, 13_138, 1500, 24_776, 1500, 13_138, 1500]
    assert [end // 1000 for end in ends] == published


def binary_tree(ranks: int) -> str:
    """Write a broadcast of one byte: rank r sends to r + 2^k for each 2^k above r."""
    lines = [f"num_ranks {ranks}"]
    for rank in range(ranks):
        bits = [1 << k for k in range(rank.bit_length(), ranks.bit_length() - 1)]
        lines += [f"rank {rank} {{"]
        if rank:
            lines.append(f"r: recv 1b from {rank - (1 << rank.bit_length() - 1)} tag 0")
        for bit in bits:
            lines.append(f"s{bit}: send 1b to {rank + bit} tag 0")
            lines += [f"s{bit} requires r"] * bool(rank)
        lines.append("}")
    return "\n".join(lines)


def ends_of_binary_tree(ranks: int) -> list[int]:
    """Return when each rank ends, ns: o = 1500 for each message at either end, and L = 2500."""
    received, ends = [0] * ranks, [0] * ranks
    for rank in range(ranks):
        sends = range(rank.bit_length(), ranks.bit_length() - 1)
        for place, k in enumerate(sends):
            received[rank + (1 << k)] = received[rank] + 1500 * (place + 1) + 2500 + 1500
        ends[rank] = received[rank] + 1500 * len(sends)
    return ends


def two_of(first: str, last: str) -> str:
    between = "\n".join(f"rank {rank} {{\n}}" for rank in range(1, 15))
    return f"num_ranks 16\nrank 0 {{\n{first}\n}}\n{between}\nrank 15 {{\n{last}\n}}\n"


RENDEZVOUS_NS = 1500 + 3 * 2500 + 6 * (80_000_000 - 1) + 1500
"""80 MB are above S: o; an announcement, its answer and the message, each L; G for each byte but
the first; and o. In LogGOPSim the first two of these are no messages (OPS-13), so 2 L less."""

SCHEDULES = {
    "binary_tree_32": (binary_tree(32), ends_of_binary_tree(32)),
    "comp": (
        two_of(
            "l1: recv 80000000b from 15 tag 0",
            "l1: calc 8000\nl2: send 80000000b to 0 tag 0\nl2 requires l1",
        ),
        [8000 + RENDEZVOUS_NS],
    ),
    "comp1": (two_of("", "l1: calc 8000"), [0] * 15 + [8000]),
    "incast_8_1_2MiB": (
        two_of(
            "l1: send 80000000b to 15 tag 0\nl2: recv 80000000b from 15 tag 0",
            "l1: recv 80000000b from 0 tag 0\nl2: send 80000000b to 0 tag 0\nl2 requires l1",
        ),
        [2 * RENDEZVOUS_NS],
    ),
}
"""Schedules as LogGOPSim and HTSIM have them under these names, and ends of their ranks, ns."""


@pytest.mark.parametrize("name", SCHEDULES)
def test_estimates_of_schedules_are_those_that_paper_gives(tmp_path, name):
    text, ends = SCHEDULES[name]
    (tmp_path / "x.goal").write_text(text)
    imported = importing.import_goal(tmp_path / "x.goal", Wishes())
    assert not imported.warnings
    *_, note = importing.write(imported, tmp_path / "x.toml")
    found = [end // 1000 for end in estimated(note).summary["rank_end_ps"]]
    assert found[: len(ends)] == ends
    assert max(found) == max(ends)


def test_a_broadcast_has_five_levels_of_5500_ns():
    """Each rank of 1, 3, 7, … is the first to which its parent sends; then it sends itself."""
    ends = ends_of_binary_tree(32)
    assert [ends[rank] for rank in (1, 3, 7, 15, 31)] == [11_500, 15_500, 19_500, 23_500, 27_500]


def test_a_binary_schedule_that_is_cut_is_refused():
    whole = goal_binary(parsed(SMALL))
    for end in range(len(whole)):
        said = refused(lambda findings, end=end: binary.parse("x.bin", whole[:end], findings))
        assert "x.bin: byte" in said


def test_a_binary_schedule_that_was_run_is_refused():
    data = bytearray(goal_binary(Schedule([Rank()])))
    data[:2] = (2342).to_bytes(2, "little")
    said = refused(lambda findings: binary.parse("x.bin", bytes(data), findings))
    assert "LogGOPSim has run this schedule" in said


def test_what_is_wrong_in_a_binary_schedule_has_the_file_for_programs_too():
    with pytest.raises(ScenarioError) as error:
        binary.parse("x.bin", b"", Findings())
    [problem] = error.value.problems
    assert (problem["source"], problem["line"], problem["column"]) == ("x.bin", None, None)
    assert problem["text"].startswith("error: x.bin: byte 0: this is no binary GOAL schedule")


def of_nics(folder: Path, nics: int, sends: int = 4, size: int = 1_000_000) -> Path:
    """Write a schedule of sends from one rank to another, over some NICs in turn."""
    blocks = []
    for rank, what in enumerate(("send {}b to 1", "recv {}b from 0")):
        lines = [f"{what.format(size)} tag {i} cpu {i} nic {i % nics}" for i in range(sends)]
        blocks.append("\n".join([f"rank {rank} {{", *lines, "}"]))
    path = folder / "nics.goal"
    path.write_text("\n".join(["num_ranks 2", *blocks, ""]))
    return path


@pytest.mark.parametrize("nics", [1, 2, 4])
def test_each_nic_of_a_rank_has_a_link_of_its_own(tmp_path, nics):
    imported = importing.import_goal(of_nics(tmp_path, nics), Wishes())
    assert imported.warnings == []
    importing.write(imported, tmp_path / "s.toml")
    run = simulated(tmp_path / "s.toml", scheme="line-rate", out=tmp_path / "run")
    [work] = run.summary["workloads"]
    # Packets of 1000 bytes have 48 bytes of headers; an overhead of 3 us and a few us of delays.
    alone_ps = 4 // nics * 1_000_000 * 1.048 * 8 / 400e9 * 1e12
    assert alone_ps < work["took_ps"] < alone_ps + 15e6


@pytest.mark.parametrize(
    ("links", "warns"), [("0 2 400Gbps 1us 0\n1 2 400Gbps 1us 0\n", True), ("two", False)]
)
def test_a_network_with_fewer_ports_than_nics_is_told(tmp_path, links, warns):
    head = "3 1 2\n2\n"
    if links == "two":
        head = "4 2 4\n2 3\n"
        links = "".join(f"{h} {s} 400Gbps 1us 0\n" for h in (0, 1) for s in (2, 3))
    (tmp_path / "t.txt").write_text(head + links)
    imported = importing.import_goal(of_nics(tmp_path, 2), Wishes(tmp_path / "t.txt"))
    told = [w["message"] for w in imported.warnings]
    assert any("2 NICs" in message for message in told) == warns
    assert 'ports = "rail"' in imported.scenario("s", "s.operations.parquet")


def test_a_kind_of_network_with_unknown_ports_is_told(tmp_path):
    sets = ["topology.kind=star", "topology.hosts=2"]
    imported = importing.import_goal(of_nics(tmp_path, 3), Wishes(sets=sets))
    [warning] = imported.warnings
    assert "may have fewer ports" in warning["message"]
    changed = importing.import_goal(of_nics(tmp_path, 3), Wishes(sets=["topology.link.rate=1Gbps"]))
    assert changed.warnings == []
    assert changed.network.host_ports == 3
