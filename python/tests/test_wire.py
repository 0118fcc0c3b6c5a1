"""Frames of docs/wire.md as other programs read them: Wireshark with our dissector, and scapy."""

import importlib.util
import json
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from backwater.wireshark import DISSECTOR
from tools import ROOT, absent, program

FRAMES = ROOT / "crates/wire/tests/frames.pcap"
SAMPLES: list[dict[str, Any]] = json.loads(FRAMES.with_suffix(".json").read_text())
WRONG = ["_ws.malformed", "_ws.expert.message", "_ws.lua.error"]


def tshark(file: Path, fields: list[str], *options: str) -> list[dict[str, str]]:
    """Return fields of each frame of a file; of a field that is there several times all values."""
    words = [program("tshark"), "-r", file, "-X", f"lua_script:{DISSECTOR}", "-T", "fields"]
    words += ["-E", "separator=|", "-E", "occurrence=a", *options]
    words += [word for field in fields for word in ("-e", field)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [dict(zip(fields, line.split("|"), strict=True)) for line in done.stdout.splitlines()]


def plain(value: str) -> list[int | str]:
    """Return the values of a field as numbers, where they are some."""

    def one(word: str) -> int | str:
        try:
            return int(word, 0)
        except ValueError:
            return word

    return [one(word) for word in value.split(",")]


def test_tshark_reads_every_kind_of_frame_as_we_say():
    names = sorted({name for sample in SAMPLES for name in sample["fields"]})
    frames = tshark(FRAMES, [*names, *WRONG])
    assert len(frames) == len(SAMPLES) >= 27
    for sample, frame in zip(SAMPLES, frames, strict=True):
        assert [frame[name] for name in WRONG] == ["", "", ""], sample["name"]
        seen = {name: plain(frame[name]) for name in sample["fields"]}
        said = {name: plain(value) for name, value in sample["fields"].items()}
        assert seen == said, sample["name"]


def test_without_the_dissector_tshark_finds_nothing_malformed():
    words = [program("tshark"), "-r", FRAMES, "-Y", "_ws.malformed"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout == ""


def frames_of(pcap: Path) -> Iterator[bytes]:
    """Give the frames of a file in the classic format."""
    data = pcap.read_bytes()
    at = 24
    while at < len(data):
        _, _, there, _ = struct.unpack_from("<4I", data, at)
        yield data[at + 16 : at + 16 + there]
        at += 16 + there


def without_telemetry(frame: bytes, port: int) -> bytes:
    """Return an IPv4 frame with a tag as it would be without INT."""
    udp = 18 + 20
    rest = frame[udp + 8 :]
    taken = 2 + 8 * (rest[0] >> 4) if port == 49790 else 4 + 4 * rest[1]
    (total,), (length,) = (struct.unpack_from("!H", frame, at) for at in (20, udp + 4))
    head = bytearray(frame[: udp + 8])
    struct.pack_into("!H", head, 20, total - taken)
    struct.pack_into("!HH", head, udp + 2, 4791, length - taken)
    return bytes(head) + rest[taken:]


def test_scapy_computes_the_same_icrc():
    if importlib.util.find_spec("scapy") is None:
        absent("scapy")
    from scapy.contrib.roce import BTH
    from scapy.layers.inet import UDP
    from scapy.layers.l2 import Ether

    checked = 0
    for sample, frame in zip(SAMPLES, frames_of(FRAMES), strict=True):
        packet = Ether(frame)
        if UDP not in packet or packet[UDP].dport == 49792:
            continue
        port = packet[UDP].dport
        if port != 4791:
            packet = Ether(without_telemetry(frame, port))
        stated = packet[BTH].icrc
        packet[BTH].icrc = None
        assert Ether(bytes(packet))[BTH].icrc == stated, sample["name"]
        notified = "CNP" in sample["name"]
        marked = "of a whole flow" in sample["name"]
        assert packet[BTH].becn == (notified or marked)
        checked += 1
    assert checked == 14


def test_the_dissector_is_handed_out(command, tmp_path):
    assert command("dissector").stdout.strip() == str(DISSECTOR)
    copied = command("dissector", "-o", tmp_path)
    assert copied.stdout.strip() == str(tmp_path / "backwater.lua")
    assert (tmp_path / "backwater.lua").read_text() == DISSECTOR.read_text()
    nowhere = command("dissector", "-o", tmp_path / "no" / "where.lua", code=1)
    assert "no/where.lua: No such file or directory" in nowhere.stderr
