"""Files of other programs as tests write them, and what an import says of wrong ones."""

import shlex
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from backwater.errors import ScenarioError
from backwater.importers.astra import schema as chakra_schema
from backwater.importers.common.source import Findings
from backwater.importers.goal.schedule import ANY, Kind, Operation, Rank, Schedule
from backwater.workloads.estimates import Estimate, estimate


def refused(read: Callable[[Findings], object]) -> str:
    """Return what is said of an input that is wrong."""
    with pytest.raises(ScenarioError) as raised:
        read(Findings())
    return str(raised.value)


def estimated(note: str, record: bool = False) -> Estimate:
    """Run the estimate whose command the note of an import names."""
    command = note.partition("backwater estimate ")[2]
    path, *networks = shlex.split(command.replace("--network", ""))
    return estimate(Path(path), networks, record=record)


# --- GOAL ----------------------------------------------------------------------------------------


def goal_text(schedule: Schedule) -> str:
    """Write a schedule as text; all operations have labels."""

    def statement(index: int, operation: Operation) -> str:
        kind, amount, peer, tag, cpu, nic = operation
        if kind is Kind.CALC:
            return f"l{index}: calc {amount} cpu {cpu} nic {nic}"
        to = "to" if kind is Kind.SEND else "from"
        what = f"{kind.name.lower()} {amount}b {to} {-1 if peer == ANY else peer}"
        return f"l{index}: {what} tag {-1 if tag == ANY else tag} cpu {cpu} nic {nic}"

    lines = [f"num_ranks {len(schedule.ranks)}"]
    for number, rank in enumerate(schedule.ranks):
        lines.append(f"rank {number} {{")
        lines += [statement(i, operation) for i, operation in enumerate(rank.operations)]
        lines += [f"l{a} requires l{b}" for a, b in rank.after_end]
        lines += [f"l{a} irequires l{b}" for a, b in rank.after_start]
        lines.append("}")
    return "\n".join(lines) + "\n"


def goal_binary(schedule: Schedule) -> bytes:
    """Write a schedule in binary."""
    blocks = [_goal_block(rank) for rank in schedule.ranks]
    operations = [operation for rank in schedule.ranks for operation in rank.operations]
    head = struct.pack(
        "<IBB",
        len(blocks),
        max((o.cpu for o in operations), default=0),
        max((o.nic for o in operations), default=0),
    )
    at = len(head) + 16 * len(blocks)
    for block in blocks:
        head += struct.pack("<QQ", at, at + len(block))
        at += len(block)
    return struct.pack("<Q", 4223) + head + b"".join(blocks)


def _goal_block(rank: Rank) -> bytes:
    count = len(rank.operations)
    waits = [0] * count
    for later, _ in (*rank.after_end, *rank.after_start):
        waits[later] += 1
    free = [index for index in range(count) if waits[index] == 0]
    records, appendix = b"", []
    for index, operation in enumerate(rank.operations):
        kind, amount, peer, tag, cpu, nic = operation
        columns = []
        for edges in (rank.after_end, rank.after_start):
            followers = [later for later, earlier in edges if earlier == index]
            columns += [len(followers), len(appendix)]
            appendix += followers
        records += struct.pack(
            "<IBIQIBBIIII", waits[index], kind, peer, amount, tag, cpu, nic, *columns
        )
    lists = struct.pack(f"<{len(free)}I", *free), struct.pack(f"<{len(appendix)}I", *appendix)
    return struct.pack("<II", count, len(free)) + lists[0] + records + lists[1]


# --- Chakra --------------------------------------------------------------------------------------


def attribute(name: str, value: Any, kind: str | None = None) -> Any:
    """Make an attribute, of a kind that is told or that fits the value."""
    made = chakra_schema.messages()["AttributeProto"](name=name)
    if kind is None:
        kind = {bool: "bool_val", int: "int64_val", float: "double_val", str: "string_val"}.get(
            type(value), "bool_list"
        )
    if kind.endswith("_list"):
        getattr(made, kind).values.extend(value)
    else:
        setattr(made, kind, value)
    return made


def node(number: int, kind: int, *deps: int, name: str = "", **attributes: Any) -> Any:
    """Make a node; `duration_us`, `ctrl` and `inputs` are fields, all else attributes."""
    made = chakra_schema.messages()["Node"](id=number, type=kind, name=name or f"n{number}")
    made.duration_micros = attributes.pop("duration_us", 0)
    made.ctrl_deps.extend(attributes.pop("ctrl", ()))
    made.inputs.values = attributes.pop("inputs", "")
    made.data_deps.extend(deps)
    made.attr.extend(attribute(key, value) for key, value in attributes.items())
    return made


def trace(*nodes: Any, version: str = "0.0.4") -> bytes:
    """Write the trace of one rank."""
    head = chakra_schema.messages()["GlobalMetadata"](version=version)
    return b"".join(delimited(m.SerializeToString()) for m in (head, *nodes))


def delimited(message: bytes) -> bytes:
    """Put the length in front of a message."""
    length, prefix = len(message), b""
    while length > 0x7F:
        prefix += bytes([length & 0x7F | 0x80])
        length >>= 7
    return prefix + bytes([length]) + message


# --- htsim ---------------------------------------------------------------------------------------

THREE_TIERS = """\
# K = 4
Nodes 16
Tiers 3
Podsize 4
Tier 0
 Downlink_speed_Gbps 100
 Radix_Down 2
 Radix_Up 2
 Queue_Up 100000
 Queue_Down 100000
 Switch_Latency_ns 10
 Downlink_Latency_ns 1000
Tier 1
 DOWNLINK_SPEED_GBPS 100
 Radix_Down 2
 Radix_Up 2
 Switch_Latency_ns 30
 Downlink_Latency_ns 1000
Tier 2
 Downlink_speed_Gbps 100
 Radix_Down 4
 Downlink_Latency_ns 2000
"""
"""A fat tree of 16 hosts with k = 4."""
