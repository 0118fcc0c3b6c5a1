"""Execution traces of Chakra: `.et` files, one for each rank.

A file may be compressed by gzip. It contains messages, each after its length as a varint. The first
message has the metadata. Then there is one message for each node of the graph. The module `schema`
lists the fields.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any, NoReturn

from backwater._base.positions import Place, in_file, place_at
from backwater.importers.astra import schema as chakra_schema
from backwater.importers.common.source import Findings, bounded, read_bytes, shown, whole

_FILE = re.compile(r"(?P<prefix>.*)\.(?P<rank>\d{1,9})\.et(?:\.gz)?", re.DOTALL)

_OLDEST, _NEWEST = (0, 0, 4), (1, 0, 2)
"""Oldest and newest schema version whose fields are known. A suffix after `-` is not compared."""

PROCESS_GROUPS = "process_group:init"
"""Part of the name of the METADATA node whose inputs list the communicator groups."""


class NodeType(IntEnum):
    """Types of nodes."""

    INVALID = 0
    METADATA = 1
    MEM_LOAD = 2
    MEM_STORE = 3
    COMP = 4
    COMM_SEND = 5
    COMM_RECV = 6
    COMM_COLL = 7
    STORAGE = 8
    BATCH = 9
    CHECKPOINT = 10


class CollectiveType(IntEnum):
    """The `comm_type` of a COMM_COLL node."""

    ALL_REDUCE = 0
    REDUCE = 1
    ALL_GATHER = 2
    GATHER = 3
    SCATTER = 4
    BROADCAST = 5
    ALL_TO_ALL = 6
    REDUCE_SCATTER = 7
    REDUCE_SCATTER_BLOCK = 8
    BARRIER = 9


@dataclass(frozen=True, slots=True)
class Node:
    """A node in the graph of one rank: a computation, a communication, or metadata."""

    id: int
    name: str
    type: NodeType
    data_deps: tuple[int, ...]
    ctrl_deps: tuple[int, ...]
    duration_us: int
    attributes: dict[str, Any]
    """Attribute values by name: numbers, booleans, texts, or lists of them."""
    inputs: str = ""
    trace: Trace = field(kw_only=True, compare=False, repr=False)

    @property
    def rank(self) -> int:
        """The rank of the trace."""
        return self.trace.rank

    @property
    def place(self) -> Place:
        """The node in its file."""
        return in_file(self.trace.path, f"node {self.id} {shown(self.name)}")

    def fail(self, message: str, hint: str | None = None) -> NoReturn:
        """Raise an error at this node."""
        self.trace.findings.fail(message, self.place, hint)

    def warning(self, message: str, hint: str | None = None, kind: str | None = None) -> None:
        """Add a warning about this node."""
        self.trace.findings.warning(message, hint, kind, self.place)

    def whole(self, key: str, high: int, default: int | None = None) -> int:
        """Read an attribute as a whole number from 0 to ``high``. It may have any numeric type.

        Raises an error at this node if the value is invalid, or missing without a ``default``.
        """
        value = self.attributes.get(key)
        if value is None:
            if default is None:
                self.fail(f"the attribute {key} is missing")
            return default
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        found = whole(str(value)) if not isinstance(value, float) else None
        return bounded(found, str(value), key, (0, high), self.fail)


@dataclass(slots=True)
class Trace:
    """The execution trace of one rank, which is one file."""

    path: str
    version: str
    nodes: list[Node] = field(default_factory=list)
    findings: Findings = field(default_factory=Findings)
    rank: int = 0

    def check_version(self) -> None:
        """Warn of a schema version whose fields may differ from the known ones."""
        numbers = re.fullmatch(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})(-.*)?", self.version, re.ASCII)
        known = numbers and _OLDEST <= tuple(int(x) for x in numbers.groups()[:3]) <= _NEWEST
        if self.version and not known:
            self.findings.warning(
                f"{self.path}: the schema's version {shown(self.version)} is unknown: the trace is "
                "read as one of 1.0.2-chakra.0.0.4",
                "known are 0.0.4 to 1.0.2-chakra.0.0.4",
                f"unknown versions of the schema: {shown(self.version)}",
            )


def find(path: Path, findings: Findings) -> list[Path]:
    """Find the files of all ranks from a folder, a prefix, or one file. Rank 0 comes first."""
    folder, prefix = (path, None) if path.is_dir() else (path.parent, path.name)
    if prefix is not None and (one := _FILE.fullmatch(prefix)) and path.is_file():
        prefix = one["prefix"]
    found: dict[str, dict[int, Path]] = {}
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        findings.fail(f"cannot read the traces {path}: {error.strerror}")
    for entry in entries:
        match = _FILE.fullmatch(entry.name)
        if match is None or (prefix is not None and match["prefix"] != prefix):
            continue
        ranks = found.setdefault(match["prefix"], {})
        rank = int(match["rank"])
        if rank in ranks:
            findings.fail(f"{ranks[rank]} and {entry} are both of rank {rank}")
        ranks[rank] = entry
    if not found:
        what = f"{path}/*.RANK.et" if prefix is None else f"{path}.RANK.et"
        hint = "name the folder of the traces, or their common prefix"
        findings.fail(f"there is no file {what}", None, hint)
    if len(found) > 1:
        several = ", ".join(sorted(found))
        hint = f"name one of them, such as {folder / min(found)}"
        findings.fail(f"{path} has traces of several runs: {several}", None, hint)
    ranks = next(iter(found.values()))
    missing = next((r for r in range(len(ranks)) if r not in ranks), None)
    if missing is not None:
        name = next(iter(found))
        findings.fail(
            f"there are {len(ranks)} traces up to rank {max(ranks)}, but no "
            f"{folder / name}.{missing}.et: each rank has a file"
        )
    return [ranks[rank] for rank in range(len(ranks))]


def read(path: Path, findings: Findings) -> Trace:
    """Read the trace of one rank."""
    return parse(str(path), read_bytes(path, findings, "trace"), findings)


def parse(name: str, data: bytes, findings: Findings) -> Trace:
    """Parse the bytes of a trace."""
    return _Reader(name, findings).trace(data)


class _Reader:
    def __init__(self, name: str, findings: Findings) -> None:
        self.name = name
        self.findings = findings

    def fail(self, message: str, hint: str | None = None) -> NoReturn:
        self.findings.fail(message, in_file(self.name), hint)

    def trace(self, data: bytes) -> Trace:
        classes = chakra_schema.messages()
        trace = Trace(self.name, "", findings=self.findings)
        seen: set[int] = set()
        at = 0
        while at < len(data):
            start, end = self._span(data, at)
            what = "metadata" if at == 0 else f"node {len(trace.nodes)}"
            message = self._message(
                classes["GlobalMetadata" if at == 0 else "Node"], data[start:end], start, what
            )
            if at == 0:
                trace.version = message.version or _version(message)
                trace.check_version()
            else:
                node = self._node(message, trace, start, what)
                if node.id in seen:
                    self.fail(f"byte {start}: the id {node.id} is that of an earlier node")
                seen.add(node.id)
                trace.nodes.append(node)
            at = end
        if at == 0:
            self.fail("the file is empty")
        for node in trace.nodes:
            for other in node.data_deps:
                if other not in seen:
                    node.fail(f"it waits for node {other}, which does not exist")
        return trace

    def _span(self, data: bytes, at: int) -> tuple[int, int]:
        """Read a length, and return the begin and end of the message after it."""
        length = shift = 0
        start = at
        while True:
            if start >= len(data) or shift > 63:
                self.fail(f"byte {at}: expected the length of a message")
            byte = data[start]
            length |= (byte & 0x7F) << shift
            start, shift = start + 1, shift + 7
            if byte < 0x80:
                break
        if start + length > len(data):
            self.fail(
                f"byte {at}: a message of {length} bytes begins here, but the file has only "
                f"{len(data) - start} more",
                "is this a trace of Chakra, and is it whole?",
            )
        return start, start + length

    def _message(self, cls: Any, data: bytes, at: int, what: str) -> Any:
        from google.protobuf.message import DecodeError

        try:
            return cls.FromString(data)
        except (DecodeError, UnicodeDecodeError, ValueError) as error:
            self.fail(f"byte {at}: {what} cannot be read: {error}")

    def _node(self, message: Any, trace: Trace, at: int, what: str) -> Node:
        try:
            kind = NodeType(message.type)
        except ValueError:
            self.fail(f"byte {at}: {what} has the unknown type {message.type}")
        return Node(
            message.id,
            message.name,
            kind,
            tuple(message.data_deps),
            tuple(message.ctrl_deps),
            message.duration_micros,
            {a.name: _value(a) for a in message.attr},
            message.inputs.values,
            trace=trace,
        )


def _version(metadata: Any) -> str:
    """Return the schema version in the metadata. Newer programs write it as an attribute."""
    values = {a.name: _value(a) for a in metadata.attr}
    return str(values.get("schema", "") or values.get("version", ""))


def _value(attribute: Any) -> Any:
    which = attribute.WhichOneof("value")
    if which is None:
        return None
    value = getattr(attribute, which)
    return list(value.values) if which.endswith("_list") else value


# --- Communicator groups -----------------------------------------------------------------------


def groups_of_text(
    name: str, text: str, ranks: int, findings: Findings
) -> dict[str, tuple[int, ...]]:
    """Parse a communicator file, which is JSON such as ``{"1": [0, 1], "2": [2, 3]}``."""
    found = load_json(name, text, findings)
    if not isinstance(found, dict):
        findings.fail('expected groups such as {"1": [0, 1]}', in_file(name))
    for key, listed in found.items():
        if wrong := _wrong_members(listed, ranks):
            findings.fail(f"group {shown(key)}: {wrong}", place_of_key(name, text, key))
    return {key: tuple(listed) for key, listed in found.items()}


def groups_of_node(node: Node, ranks: int) -> dict[str, tuple[int, ...]]:
    """Parse the groups of a METADATA node, such as ``[{"pg_name": "1", "ranks": [0, 1]}]``.

    PyTorch writes them as a text, which is the only text in a list of inputs.
    """
    where = f"{node.trace.path}: node {node.id}"
    text = node.inputs.strip()
    if text.startswith("['") and text.endswith("']"):
        text = text[2:-2]
    found = load_json(where, text, node.trace.findings)
    if isinstance(found, list) and len(found) == 1 and isinstance(found[0], str):
        found = load_json(where, found[0], node.trace.findings)
    groups = {}
    for entry in found if isinstance(found, list) else [None]:
        if not isinstance(entry, dict) or "pg_name" not in entry:
            node.fail('expected a list of groups such as {"pg_name": "1", "ranks": [0, 1]}')
        name = str(entry["pg_name"])
        listed = entry.get("ranks", [])
        if listed == []:
            # The default group lists no ranks and contains all.
            groups[name] = tuple(range(ranks))
        elif wrong := _wrong_members(listed, ranks):
            node.trace.findings.fail(f"{where}: group {shown(name)}: {wrong}")
        else:
            groups[name] = tuple(listed)
    return groups


def load_json(name: str, text: str, findings: Findings) -> Any:
    """Parse JSON, or raise an error with the place of the mistake."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        findings.fail(f"this is no JSON: {error.msg}", place_at(name, text, error.pos))
    except RecursionError:
        findings.fail("this JSON is nested too deeply", in_file(name))


def place_of_key(name: str, text: str, key: str) -> Place:
    """Return the place of a key in JSON.

    If it occurs twice, the last one is used, as the parser does.
    """
    found = [*re.finditer(rf'"({re.escape(key)})"\s*:', text)]
    if not found:  # The key is written with escapes.
        return in_file(name)
    return place_at(name, text, found[-1].start(1), len(key))


def _wrong_members(listed: Any, ranks: int) -> str | None:
    """Return an error about the ranks of a group, or ``None``."""
    if not isinstance(listed, list) or not listed or any(type(r) is not int for r in listed):
        return "expected a list of ranks"
    for rank in listed:
        if not 0 <= rank < ranks:
            return f"rank {rank} does not exist: there are {ranks}"
    return "a rank is listed twice" if len(set(listed)) != len(listed) else None
