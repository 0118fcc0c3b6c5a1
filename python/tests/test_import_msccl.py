"""Algorithms of collectives in MSCCL's XML."""

import polars as pl
import pytest
from import_files import refused

from backwater.importers.common import xml_tree
from backwater.importers.common.source import Findings
from backwater.importers.msccl import algorithm as msccl
from backwater.importers.msccl import chunks as msccl_chunks
from backwater.importers.msccl import operations as msccl_operations
from backwater.importers.msccl.algorithm import Algorithm
from backwater.report import workloads
from backwater.results.results import load

STEP = '<step s="{s}" type="{type}" cnt="{cnt}" depid="{depid}" deps="{deps}" hasdep="0"/>'


def step(s: int, kind: str, cnt: int = 1, depid: int = -1, deps: int = -1) -> str:
    return STEP.format(s=s, type=kind, cnt=cnt, depid=depid, deps=deps)


def text(first: str, second: str, ngpus: int = 2) -> str:
    return (
        f'<algo name="try" coll="allreduce" nchannels="2" nchunksperloop="4" ngpus="{ngpus}">\n'
        f'<gpu id="0">\n{first}\n</gpu>\n<gpu id="1">\n{second}\n</gpu>\n</algo>\n'
    )


def tb(number: int, send: int, recv: int, *steps: str, chan: int = 0) -> str:
    inside = "\n".join(steps)
    return f'<tb id="{number}" send="{send}" recv="{recv}" chan="{chan}">\n{inside}\n</tb>'


GOOD = text(
    tb(0, 1, 1, step(0, "s", 2), step(1, "rrc", 2), step(2, "nop", 0, 1, 0), chan=1)
    + tb(1, -1, -1, step(0, "cpy", 0, 0, 1)),
    tb(0, 0, 0, step(0, "rrs", 2), chan=1),
)


STUCK = tb(0, -1, -1, step(0, "nop", 0, 1, 0)) + tb(1, -1, -1, step(0, "nop", 0, 0, 0))


def placed(side: str, buffer: str, offset: int, kind: str = "s") -> str:
    """State where a step of gpu 0 takes its two chunks, or puts them."""
    known = GOOD.replace('<gpu id="0"', '<gpu id="0" i_chunks="4" o_chunks="2" s_chunks="0"')
    place = f'{side}buf="{buffer}" {side}off="{offset}" '
    return known.replace(f'type="{kind}" ', f'type="{kind}" {place}', 1)


def algorithm(source: str, findings: Findings | None = None) -> Algorithm:
    return msccl.from_tree(xml_tree.parse("x.xml", source, findings or Findings()))


def test_attributes_that_say_none_may_be_missing():
    short = GOOD.replace(' depid="-1" deps="-1"', "").replace(' send="-1" recv="-1"', "")
    short = short.replace(' cnt="0"', "")
    assert len(short) < len(GOOD) - 80
    made = [
        msccl_operations.convert("x.xml", algorithm(source), 4000, 0, Findings()).frame()
        for source in (GOOD, short)
    ]
    assert made[0].equals(made[1])


def test_operations_of_an_algorithm():
    findings = Findings()
    made = msccl_operations.convert("x.xml", algorithm(GOOD), 4001, 10.0, findings)
    rows = made.frame()
    mine = rows.filter(pl.col("rank") == 0)
    assert mine["kind"].to_list() == ["send", "recv", "calc", "calc", "calc"]
    # The nop waits for the copy, which waits for the reduction.
    assert mine["name"].to_list()[-2:] == ["gpu 0 tb 1 step 0", "gpu 0 tb 0 step 2"]
    assert mine["after_end"].to_list() == [None, [0], [1], [2], [2, 3]]
    assert mine["bytes"].to_list()[:2] == [2002, 2002]
    assert mine["channel"].to_list()[0] == 1
    assert mine["duration_ps"].to_list()[2] == 20020
    other = rows.filter(pl.col("rank") == 1)
    assert other["kind"].to_list() == ["recv", "calc", "send"]
    assert other["after_end"].to_list() == [None, [0], [1]]
    assert "4001 bytes are no multiple of 4 chunks" in findings.warnings()[0]["text"]


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("", "this is no XML"),
        ("<algo", "x.xml:1:"),
        ("<mscl/>", "expected <algo>, found <mscl>"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><algo/>', "entities are not read"),
        (GOOD.replace('ngpus="2"', 'ngpus="3"'), "there is no <gpu> 2"),
        (GOOD.replace('<gpu id="1">', '<gpu id="0">'), "gpu 0 comes twice"),
        (GOOD.replace("<gpu", "<gpus").replace("</gpu", "</gpus"), "expected <gpu>"),
        (GOOD.replace('type="rrc"', 'type="rrx"'), "x.xml:5:1"),
        (GOOD.replace(' nchunksperloop="4"', ""), "<algo> has no nchunksperloop"),
        (GOOD.replace('s="1"', 's="7"'), "this is step 1 of its thread block, but s is 7"),
        (GOOD.replace('depid="1"', 'depid="8"'), "which gpu 0 does not have"),
        (GOOD.replace('deps="0"', 'deps="-1"'), "both -1, or none"),
        (placed("src", "i", 3), "x.xml:4:1"),
        (placed("src", "i", 3), "srcoff 3 and cnt 2"),
        (placed("dst", "o", 1, "rrc"), "dstoff 1 and cnt 2"),
        (placed("dst", "o", 3, "rrc").replace('o_chunks="2"', 'o_chunks="0"'), "by i_chunks"),
        (placed("src", "s", 0, "rrc"), "the scratch buffer of gpu 0, which has 0 chunks"),
        (placed("src", "x", 0), "srcbuf of <step> is `x`"),
        (placed("src", "i", -2), "srcoff of <step> is -2"),
        (GOOD.replace('deps="0"', 'deps="zero"'), "deps of <step> should be a whole number"),
        (GOOD.replace('send="1" recv="1"', 'send="-1" recv="1"'), "whose send is -1"),
        (GOOD.replace('send="1" recv="1"', 'send="0" recv="1"'), "would send to itself"),
        (GOOD.replace('<tb id="1"', '<tb id="0"'), "thread block 0 of gpu 0 comes twice"),
        (GOOD.replace('type="rrc"', 'type="nop"'), "what is sent here from gpu 1 to gpu 0"),
        (GOOD.replace('s="0" type="s"', 's="0" type="nop"'), "what is received here"),
        (GOOD.replace('type="rrs" cnt="2"', 'type="rrs" cnt="3"'), "3 chunks are received here"),
        (text(STUCK, tb(0, -1, -1)), "can never finish"),
    ],
)
def test_what_is_wrong_in_an_algorithm_is_said(source, says):
    def read(findings: Findings) -> None:
        msccl_operations.convert("x.xml", algorithm(source, findings), 1000, 0, findings)

    said = refused(read)
    assert says in said
    assert "x.xml:" in said


@pytest.mark.parametrize(
    "source",
    [
        GOOD,
        placed("src", "i", 2),
        placed("dst", "o", 0, "rrc"),
        # A send writes nothing here: that place is the receiver's.
        placed("dst", "o", 7),
        placed("src", "i", -1),
        # In place the output may have no size of its own.
        placed("dst", "o", 2, "rrc").replace('o_chunks="2"', 'o_chunks="0"'),
        # Nothing says how large it is.
        placed("src", "i", 30).replace(' i_chunks="4"', "").replace(' o_chunks="2"', ""),
    ],
)
def test_an_algorithm_that_stays_in_its_buffers_is_read(source):
    findings = Findings()
    algorithm(source, findings)
    assert findings.warnings() == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (('coll="allreduce"', 'coll="bogus"'), "coll of <algo> is `bogus`, which is unknown"),
        (('coll="allreduce"', 'coll="allreduc"'), "did you mean allreduce?"),
        (('name="try"', 'name="try" proto="bogus"'), "known are Simple, LL, LL128"),
        (('nchannels="2"', 'nchannels="1"'), "chan of <tb> is 1, but <algo> announces 1 channel"),
        (('name="try"', 'name="try" colour="red"'), "`colour` of <algo> is unknown"),
        (('<gpu id="1"', '<gpu id="1" i_chunk="2"'), "did you mean i_chunks?"),
        (('type="cpy"', 'type="cpy" dstof="2"'), "did you mean dstoff?"),
    ],
)
def test_what_is_doubtful_in_an_algorithm_is_a_warning(change, says):
    findings = Findings()
    source = GOOD.replace(*change)
    algorithm(source, findings)
    told = findings.warnings()
    assert len(told) == (2 if "nchannels" in change[0] else 1)
    assert says in told[0]["text"]
    changed = next(n for n, line in enumerate(source.splitlines(), 1) if line not in GOOD)
    assert told[0]["line"] == (3 if "nchannels" in change[0] else changed)


def test_protocols_and_collectives_may_be_written_small():
    findings = Findings()
    algorithm(GOOD.replace('name="try"', 'name="try" proto="simple" inplace="0"'), findings)
    assert findings.warnings() == []


# --- Where chunks end ----------------------------------------------------------------------------


Move = tuple[str, str, int, str, int]
"""A step: its type, the buffer and chunk that it reads, those that it writes."""


def written(
    coll: str, chunks: int, gpus: list[list[tuple[int, int, list[Move]]]], more: str
) -> str:
    """Write an algorithm: for each gpu thread blocks, which send to a gpu and receive from one."""
    lines = [f'<algo coll="{coll}" nchunksperloop="{chunks}" ngpus="{len(gpus)}"{more}>']
    for gpu, blocks in enumerate(gpus):
        lines.append(f'<gpu id="{gpu}">')
        for number, (send, recv, moves) in enumerate(blocks):
            steps = [
                f'<step s="{s}" type="{kind}" srcbuf="{a}" srcoff="{i}" dstbuf="{b}" dstoff="{j}" '
                'cnt="1"/>'
                for s, (kind, a, i, b, j) in enumerate(moves)
            ]
            lines.append(tb(number, send, recv, *steps))
        lines.append("</gpu>")
    return "\n".join([*lines, "</algo>"])


def ring(ranks: int, out: str) -> str:
    """An all-reduce in place whose last steps are received into a buffer."""
    gpus = []
    for rank in range(ranks):
        moves: list[Move] = []
        for number in range(2 * ranks - 2):
            there, here = (rank - number) % ranks, (rank - number - 1) % ranks
            kind = "rrc" if number < ranks - 1 else "r"
            moves += [("s", "i", there, "i", there), (kind, "i", here, out, here)]
        gpus.append([((rank + 1) % ranks, (rank - 1) % ranks, moves)])
    return written("allreduce", ranks, gpus, ' inplace="1"')


def fused_ring(ranks: int) -> str:
    """A reduce-scatter whose steps receive, add and pass on at once."""
    gpus = []
    for rank in range(ranks):
        moves: list[Move] = [("s", "i", (rank - 1) % ranks, "i", 0)]
        moves += [("rrs", "i", (rank - 1 - n) % ranks, "i", 0) for n in range(1, ranks - 1)]
        moves += [("rrc", "i", rank, "o", 0)]
        gpus.append([((rank + 1) % ranks, (rank - 1) % ranks, moves)])
    return written("reduce_scatter", ranks, gpus, "")


def to_each(coll: str, ranks: int, copies: bool = True) -> str:
    """An all-gather or all-to-all of single sends, with a copy of what is a gpu's own."""
    gpus = []
    for rank in range(ranks):
        own = rank if coll == "alltoall" else 0
        blocks: list[tuple[int, int, list[Move]]] = []
        if copies:
            blocks.append((-1, -1, [("cpy", "i", own, "o", rank)]))
        for peer in (p for p in range(ranks) if p != rank):
            sent = peer if coll == "alltoall" else 0
            moves: list[Move] = [("s", "i", sent, "o", rank), ("r", "i", 0, "o", peer)]
            blocks.append((peer, peer, moves))
        gpus.append(blocks)
    return written(coll, ranks, gpus, f' inplace="{int(not copies)}"')


def mixed_up(source: str) -> str:
    """Let gpu 0 put what it receives from gpus 1 and 2 into each other's place."""
    receives = [f'type="r" srcbuf="i" srcoff="0" dstbuf="o" dstoff="{peer}"' for peer in (1, 2)]
    one, other = (source.index(receive) for receive in receives)
    assert one < other < source.index('<gpu id="1">')
    between = source[one + len(receives[0]) : other]
    return source[:one] + receives[1] + between + receives[0] + source[other + len(receives[1]) :]


def looked_through(source: str) -> list[str]:
    findings = Findings()
    msccl_chunks.check(algorithm(source, findings))
    return [w["text"] for w in findings.warnings()]


@pytest.mark.parametrize(
    "source",
    [
        ring(4, "i"),
        ring(5, "o"),
        fused_ring(4),
        fused_ring(4).replace("reduce_scatter", "custom").replace('"i"', '"s"'),
        to_each("allgather", 3),
        to_each("allgather", 4, copies=False),
        to_each("alltoall", 4),
    ],
)
def test_an_algorithm_that_does_what_it_promises_is_not_doubted(source):
    assert looked_through(source) == []


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (ring(4, "i").replace('"rrc"', '"r"', 1), "allreduce chunk 3 of the output of gpu 0"),
        (ring(4, "i").replace('inplace="1"', 'inplace="0"'), "is not the one"),
        (ring(4, "i").replace("allreduce", "alltoall"), "alltoall chunk 0 of the output of gpu 0"),
        (fused_ring(4).replace('"rrs"', '"rcs"', 1), "reduce_scatter chunk 0"),
        (mixed_up(to_each("allgather", 3)), "chunk 1 of the output of gpu 0 lacks"),
        (to_each("allgather", 3).replace('"cpy"', '"nop"', 1), "chunk 0 of the output of gpu 0"),
        (to_each("alltoall", 3).replace('srcoff="2"', 'srcoff="1"', 1), "chunk 0 of the output"),
        (to_each("allgather", 3).replace("allgather", "alltoall"), "of gpu 1 is not the one"),
    ],
)
def test_an_algorithm_that_ends_otherwise_is_told(source, says):
    [told] = looked_through(source)
    assert says in told
    assert "its messages are run as they are" in told


def test_an_algorithm_whose_gpus_wait_for_each_other_is_told_with_the_step():
    receives = [("r", "i", 0, "o", 1), ("s", "i", 0, "o", 0)]
    gpus = [[(1 - rank, 1 - rank, receives)] for rank in range(2)]
    [told] = looked_through(written("allgather", 2, gpus, ""))
    assert "gpu 0 never comes beyond this step" in told
    assert "x.xml:4:1" in told


# OPS-38
@pytest.mark.parametrize(
    ("coll", "kind"),
    [
        ("allreduce", "all-reduce"),
        ("reduce_scatter", "reduce-scatter"),
        ("AllGather", "all-gather"),
        ("alltoall", "all-to-all"),
        ("broadcast", "broadcast"),
        ("custom", None),
    ],
)
def test_the_steps_of_an_algorithm_are_parts_of_its_collective(coll, kind):
    source = algorithm(GOOD.replace("allreduce", coll))
    made = msccl_operations.convert("x.xml", source, 4000, 0, Findings())
    rows = made.frame()
    if kind is None:
        assert made.collectives == []
        assert rows["part_of"].null_count() == rows.height
    else:
        assert made.collectives == [{"kind": kind, "bytes": 4000}]
        assert (rows["part_of"] == 0).all()


# OPS-38, RNK-20
def test_an_imported_algorithm_is_one_collective_of_a_run(tmp_path, command):
    (tmp_path / "ring.xml").write_text(ring(4, "i"), encoding="utf-8")
    size = ("--bytes", "8000000")
    command("import", "msccl", "ring.xml", *size, "-o", "s.toml", cwd=tmp_path)
    command("run", "s.toml", "-o", "out", cwd=tmp_path)
    run = load(tmp_path / "out").only
    [whole] = run.table("collectives").to_dicts()
    assert (whole["kind"], whole["bytes"], whole["ranks"]) == ("all-reduce", 8_000_000, 4)
    assert whole["composed"]
    assert whole["group"] is None
    # OPS-61: 2 (n - 1) / n of S by the time from the first start to the last end.
    times = run.table("operations").select(pl.col("start_ps").min(), pl.col("end_ps").max()).row(0)
    assert (whole["start_ps"], whole["end_ps"]) == times
    assert whole["bus_bps"] == pytest.approx(12e6 * 8e12 / (times[1] - times[0]))
    assert run.table("operations")["part_of"].to_list() == [0] * 60
    assert run.summary["workloads"][0]["collectives"] == 1
    shown = command("collectives", "out", cwd=tmp_path)
    assert "s: all-reduce 0 of all ranks (4), 8 MB: " in shown.stdout
    assert "; bus bandwidth " in shown.stdout
    assert "Its critical path has 6 sends" in shown.stdout
    told = command("estimate", "s.operations.parquet", cwd=tmp_path).stdout
    assert 'all-reduce 0 of group "all" (4 ranks, 8 MB): ' in told
    [view] = workloads.ranks({"s": run}).views
    words = {words for line in view.panels[0].lines for words in line.words or ()}
    assert len(words) == 4
    assert all(said.endswith(", part of all-reduce 0 of all ranks") for said in words), words
