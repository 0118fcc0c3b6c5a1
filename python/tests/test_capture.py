"""Captures of runs, read by tshark with our dissector."""

import struct
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_wire import WRONG, tshark

from backwater.results.files import RunFiles
from conftest import TINY
from tools import simulated

SHORT = TINY.replace('"400us"', '"60us"').replace('every = "100us"', 'every = "20us"')
ALL = ("--capture", "*:*")


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(SHORT)
    return path


def blocks(path: Path) -> Iterator[tuple[int, bytes]]:
    """Give type and body of each block of a pcapng file, and check its lengths."""
    data = path.read_bytes()
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert struct.unpack_from("<I", data, at + length - 4)[0] == length
        yield kind, data[at + 8 : at + length - 4]
        at += length


def packets(path: Path) -> list[tuple[int, int, int]]:
    """Return interface, ticks and length of each frame."""
    found = []
    for kind, body in blocks(path):
        if kind == 6:
            interface, high, low, _, length = struct.unpack_from("<5I", body)
            found.append((interface, high << 32 | low, length))
    return found


# RCD-30, RCD-31
def test_a_capture_changes_no_result_and_threads_change_no_capture(scenario, tmp_path):
    without = simulated(scenario, scheme="hpcc", out=tmp_path / "without")
    capture = ['record.capture.links=["*:*"]']
    one = simulated(scenario, capture, scheme="hpcc", out=tmp_path / "one")
    two = simulated(scenario, capture, scheme="hpcc", out=tmp_path / "two", threads=2)
    assert one.summary["digest"] == two.summary["digest"] == without.summary["digest"]
    files = [run.path / "capture.pcapng" for run in (one, two)]
    assert files[0].read_bytes() == files[1].read_bytes()
    assert not (without.path / "capture.pcapng").exists()
    seen = packets(files[0])
    # Frames that cross a link are the unit of work of a run; the last may still be under way.
    assert len(seen) >= one.summary["performance"]["packet_hops"]
    assert [ticks for _, ticks, _ in seen] == sorted(ticks for _, ticks, _ in seen)


def test_int_grows_hop_by_hop(command, scenario, tmp_path):
    for layout in ("exact", "wire"):
        out = tmp_path / layout
        words = ("--scheme", "hpcc", "--set", f'scheme.int.format="{layout}"', *ALL)
        command("run", scenario, *words, "-o", out)
        fields = ["frame.interface_name", "bw.message", "bw.flow", "bw.number", "bwint.hops"]
        frames = tshark(out / "capture.pcapng", [*fields, "bwint.hop.queue", *WRONG])
        assert all(frame[name] == "" for frame in frames for name in WRONG)
        hops = defaultdict(list)
        for frame in frames:
            if frame["bw.message"] == "0":
                assert len([q for q in frame["bwint.hop.queue"].split(",") if q]) == int(
                    frame["bwint.hops"]
                )
                hops[frame["bw.flow"], frame["bw.number"]].append(int(frame["bwint.hops"]))
        grown = [way for way in hops.values() if way == [0, 1, 2, 3]]
        assert len(grown) > 100, "from leaf to leaf over a spine"
        assert {tuple(way) for way in hops.values()} <= {tuple(range(n)) for n in range(1, 5)}, (
            "nothing is sent twice here"
        )


@pytest.mark.parametrize(
    ("scheme", "filter", "field"),
    [
        ("bfc", "bwlink.scheme == 1 && bwlink.pause == 1", "bwlink.queue"),
        ("dcqcn", "macc.cbfc.enbv", "macc.cbfc.enbv"),
        ("dcqcn+floodgate", "bwlink.scheme == 2", "bwlink.destination"),
        ("dcqcn+cbfc", "bwlink.scheme == 3", "bwlink.class"),
        ("expresspass", "bw.message == 14", "bw.number"),
        ("ndp", "bw.message == 12", "bw.number"),
        ("homa", "bw.message == 0 && bw.credit", "bw.credit"),
        ("swift", "bw.message == 1 && bw.sent", "bw.sent"),
    ],
)
def test_tshark_reads_the_frames_of_every_kind_of_scheme(
    scheme, filter, field, command, scenario, tmp_path
):
    out = tmp_path / "out"
    buffer = ("--set", 'switch.buffer="300KB"') if scheme == "dcqcn" else ()
    command("run", scenario, "--scheme", scheme, *buffer, *ALL, "-o", out)
    file = out / "capture.pcapng"
    assert all(frame[name] == "" for frame in tshark(file, WRONG) for name in WRONG)
    frames = tshark(file, [field], "-Y", filter)
    assert frames
    assert all(frame[field] for frame in frames)


# RCD-31
def test_interfaces_have_names_and_speeds_and_stamps_are_finer_than_a_nanosecond(
    command, scenario, tmp_path
):
    out = tmp_path / "out"
    command("run", scenario, "--capture", "leaf0->spine1, host0:*", "-o", out)
    names, speeds, resolutions = [], set(), set()
    for kind, body in blocks(out / "capture.pcapng"):
        at = 8
        while kind == 1 and at < len(body):
            code, length = struct.unpack_from("<HH", body, at)
            value = body[at + 4 : at + 4 + length]
            names += [value.decode()] if code == 2 else []
            speeds |= {int.from_bytes(value, "little")} if code == 8 else set()
            resolutions |= {value[0]} if code == 9 else set()
            at += 4 + (length + 3) // 4 * 4
    assert names == ["host0->leaf0", "leaf0->host0", "leaf0->spine1"]
    assert (speeds, resolutions) == ({100_000_000_000}, {10})
    stamps = {ticks % 10 for _, ticks, _ in packets(out / "capture.pcapng")}
    assert len(stamps) > 1
    frames = tshark(out / "capture.pcapng", ["frame.interface_name", "eth.src"])
    senders = {(frame["frame.interface_name"], frame["eth.src"]) for frame in frames}
    assert len(senders) == 3, "each interface has one sender"


# RCD-32
def test_a_full_file_says_what_it_left_out_and_a_ring_keeps_the_last(command, scenario, tmp_path):
    out = tmp_path / "out"
    command("run", scenario, *ALL, "-o", out)
    everything = packets(out / "capture.pcapng")
    limit = ("--set", 'record.capture.limit="100KB"')
    command("run", scenario, *ALL, *limit, "-o", out, "--force")
    first = packets(out / "capture.pcapng")
    assert (out / "capture.pcapng").stat().st_size <= 100_000
    assert first == everything[: len(first)]
    warning = RunFiles(out).summary["warnings"][-1]
    assert f"{len(everything) - len(first)} frames are missing" in warning
    command("run", scenario, *ALL, *limit, "--set", "record.capture.files=3", "-o", out, "--force")
    ring = sorted(out.glob("capture*"))
    assert [file.name for file in ring] == [f"capture-0{n}.pcapng" for n in (1, 2, 3)]
    kept = [frame for file in ring for frame in packets(file)]
    assert kept == everything[-len(kept) :]
    assert all(file.stat().st_size <= 100_000 for file in ring)
    assert not list(out.glob("*.part"))
    command("run", scenario, "-o", out, "--force")
    assert not list(out.glob("capture*")), "nothing of an earlier run stays"


# RCD-30
def test_from_and_until_cut_time(command, scenario, tmp_path):
    out = tmp_path / "out"
    window = ("--set", 'record.capture.from="20us"', "--set", 'record.capture.until="25us"')
    command("run", scenario, *ALL, *window, "-o", out)
    stamps = [ticks for _, ticks, _ in packets(out / "capture.pcapng")]
    assert stamps
    assert min(stamps) >= 200_000
    assert max(stamps) < 250_000


# RCD-33
@pytest.mark.parametrize(
    ("links", "words"),
    [
        ("leaf0", '"leaf0" names no links'),
        ("leav0->spine1", 'did you mean "leaf0"?'),
        ("spine0->spine1", 'no link is like "spine0->spine1"'),
        ("rack*:*", 'no link is like "rack*:*"'),
        (" ", "has an empty name"),
    ],
)
def test_a_pattern_that_names_no_link_is_refused(links, words, command, scenario):
    done = command("run", scenario, "--capture", links, code=2)
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_capture_of_no_link_is_refused(command, scenario):
    done = command("run", scenario, "--set", "record.capture={links=[]}", code=2)
    assert "no link is named" in done.stderr
