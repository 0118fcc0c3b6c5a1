"""Finds cases with results of another simulator and runs them with Backwater.

Each kind of case recognises its folders, reads the results of the other simulator, and measures the
same quantities with Backwater. To add a simulator, write a class with the methods of
:class:`~validation.observed.Case` and add its finder to :data:`FINDERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from backwater._base.files import readable
from backwater.errors import InputError
from validation.bfc_case import find_bfc
from validation.floodgate_case import find_floodgate
from validation.lines import lines_of
from validation.observed import (
    Case,
    FlowKey,
    FlowTimes,
    Measured,
    Observed,
    complaints,
)


@dataclass(frozen=True, slots=True)
class Ns3Case:
    """A folder with `config.txt` of HPCC's simulator, and the completion times of its run."""

    folder: Path
    name: str
    simulator: str = "ns-3"
    chance: bool = False

    def expected(self) -> Observed:
        """Read the completion times and, if it exists, the list of pauses."""
        return read_ns3(self.folder)

    def measure(self, folder: Path, seed: int) -> Measured:
        """Import the case, run it with the profile of ns-3, export the results, and read them."""
        from backwater.importers.ns3 import export as exporting
        from backwater.importers.ns3 import scenario as importing
        from backwater.running.single import run_one
        from backwater.scenario import Scenario

        scenario = folder / "scenario.toml"
        imported = importing.write(self.folder / "config.txt", scenario, force=True)
        run = run_one(Scenario(scenario, profile="ns3", seed=seed), out=folder / "run", force=True)
        exporting.export_ns3(run, folder / "ns3", force=True)
        warnings = [w["message"] for w in imported.warnings]
        found = read_ns3(folder / "ns3")
        return Measured(found, run.digest, complaints(run), warnings)


def find_ns3(root: Path) -> Iterator[Ns3Case]:
    """Find the folders of ns-3's cases at and below a folder."""
    for config in sorted(root.rglob("config.txt")):
        if _output_of(config.parent, "FCT_OUTPUT_FILE", "fct.txt") is None:
            continue
        inner = config.parent.relative_to(root).as_posix()
        yield Ns3Case(config.parent, root.resolve().name if inner == "." else inner)


FINDERS: list[Callable[[Path], Iterator[Case]]] = [find_ns3, find_bfc, find_floodgate]
"""One finder for each kind of case."""


def find(root: Path) -> list[Case]:
    """Find all cases at and below a folder."""
    if not root.is_dir():
        raise InputError(f"{root}: is no folder")
    found = [case for finder in FINDERS for case in finder(root)]
    if not found:
        raise InputError(
            f"{root}: no case here; a case is a folder with the config.txt of an ns-3 run and its "
            "FCT_OUTPUT_FILE (fct.txt), or with flows_fct.csv, flows and completion times, of the "
            "simulator of BFC's authors, or that and cfg.ini of the simulator of Floodgate's "
            "authors"
        )
    return found


def read_ns3(folder: Path) -> Observed:
    """Read the completion times and pauses of a folder, packed or not.

    The files are those that `config.txt` names, or `fct.txt` and `pfc.txt`.
    """
    path = _output_of(folder, "FCT_OUTPUT_FILE", "fct.txt")
    pfc = _output_of(folder, "PFC_OUTPUT_FILE", "pfc.txt")
    if path is None:
        raise InputError(f"{folder}: fct.txt is missing")
    flows: dict[FlowKey, FlowTimes] = {}
    for number, line in lines_of(path):
        words = line.split()
        key, times = _fct_line(path, number, words)
        if key in flows:
            raise InputError(f"{path}:{number}: this flow has a line already")
        flows[key] = times
    pauses = None
    if pfc is not None:
        pauses = sum(_is_pause(pfc, number, line.split()) for number, line in lines_of(pfc))
    return Observed(flows, pauses)


def _fct_line(path: Path, number: int, words: list[str]) -> tuple[FlowKey, FlowTimes]:
    try:
        src, dst = (_node(word) for word in words[:2])
        sport, dport, size, start, fct, alone = map(int, words[2:])
    except ValueError:
        raise InputError(
            f"{path}:{number}: expected `sip dip sport dport bytes start_ns fct_ns alone_ns`, "
            f"found `{' '.join(words)[:80]}`"
        ) from None
    return FlowKey(src, dst, sport, dport, size), FlowTimes(start, fct, alone)


def _node(word: str) -> int:
    """Return the number of a host. ``word`` is its address in 8 hexadecimal digits, or the number.

    ConWeave writes numbers.
    """
    return int(word, 16) >> 8 & 0xFFFF if len(word) == 8 else int(word)


def _is_pause(path: Path, number: int, words: list[str]) -> bool:
    if len(words) != 5 or words[4] not in ("0", "1"):
        raise InputError(f"{path}:{number}: expected `time node type port 0|1`")
    return words[4] == "1"


def _output_of(folder: Path, key: str, default: str) -> Path | None:
    """Return the file that ns-3 wrote for a key of its configuration; None if there is none.

    ns-3 writes from its working directory, which is usually one folder above the configuration. The
    file may also lie beside the configuration, with its own name or the default one.
    """
    config = folder / "config.txt"
    with readable():
        words = config.read_text("utf-8", "replace").split() if config.is_file() else []
    named = [value for word, value in pairwise(words) if word == key]
    name = Path(named[-1] if named else default)
    places = [folder / name, folder / name.name, folder / default]
    if name.parent != Path():
        places.append(folder.parent / name)
    return next((file for place in places if (file := _lines_file(place))), None)


def _lines_file(path: Path) -> Path | None:
    packed = path.with_name(f"{path.name}.gz")
    return next((one for one in (path, packed) if one.is_file()), None)
