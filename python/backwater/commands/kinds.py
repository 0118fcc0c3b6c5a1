"""Detects the kind of a file, so that a wrong kind gives one error instead of many."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from difflib import get_close_matches
from enum import Enum
from pathlib import Path
from shlex import quote

import click

from backwater.errors import ScenarioError

_LARGE = 200_000
"""A larger TOML file, in bytes, is taken for a scenario. Other files are shorter."""

_PARQUET = b"PAR1"


class Kind(Enum):
    """Kinds of files and directories, each with a label and a hint about the right command.

    ``{path}`` in a hint is replaced by the path.
    """

    SCENARIO = (
        "a scenario",
        "simulate it: backwater run {path}, or name it in a sweep: scenario = …",
    )
    SWEEP = "a sweep", "make its runs: backwater sweep {path}"
    FIGURE = "a figure of a paper", "reproduce it: backwater paper {path}"
    WORKLOAD = "a workload", "estimate it: backwater estimate {path}, or name it in a scenario"
    TABLE = "a table of a run", "read it with any reader of Parquet, or: backwater report {parent}"
    RUN = "the directory of a run", "repeat it: backwater run {path}/resolved.toml"
    RESULTS = "a directory of results", "print it: backwater show {path}"
    DIRECTORY = "a directory", "name a file in it{files}"

    def __init__(self, label: str, hint: str) -> None:
        self.label, self.hint = label, hint


def expecting(*kinds: Kind) -> Callable[[Path], None]:
    """Return a check that refuses missing files and files of other kinds.

    A file of an unknown kind passes, because the command reports its errors in more detail.
    """
    taken = " or ".join(kind.label for kind in kinds)

    def check(path: Path) -> None:
        try:
            path.stat()
        except (FileNotFoundError, NotADirectoryError):
            raise ScenarioError(_missing(path, kinds)) from None
        except OSError:
            return  # The command reports why it cannot read the file.
        found = kind_of(path, long_scenario=Kind.SCENARIO in kinds)
        if found is None or found in kinds:
            return
        command = click.get_current_context().command_path
        files = ", ".join(sorted(p.name for p in path.glob("*.toml"))[:3])
        hint = found.hint.format(
            path=quote(str(path)),
            parent=quote(str(path.parent)),
            files=f", such as {files}" if files else "",
        )
        raise ScenarioError(
            f"error: {path} is {found.label}, and `{command}` takes {taken}\n  = {hint}"
        )

    return check


def _missing(path: Path, kinds: Sequence[Kind]) -> str:
    """Return the error for a missing file, with a similar name if there is one."""
    endings = {".toml", ".parquet"} if Kind.WORKLOAD in kinds else {".toml"}
    try:
        there = {one.stem: one for one in path.parent.iterdir() if one.suffix in endings}
    except OSError:
        there = {}
    near = get_close_matches(path.stem, there, 1)
    hint = ""
    if near:
        hint = f"\n  = did you mean {there[near[0]]}?"
    elif not path.parent.is_dir():
        hint = f"\n  = there is no directory {path.parent}"
    elif Kind.SCENARIO in kinds and path.suffix == ".toml":
        hint = f"\n  = write a first scenario: backwater init {quote(str(path))}"
    return f"error: {path}: there is no such file{hint}"


def kind_of(path: Path, long_scenario: bool = True) -> Kind | None:
    """Return the kind of a file or directory; None if it is not certain.

    If ``long_scenario`` is set, a long file is not parsed, because it is probably a scenario.
    """
    import tomllib

    try:
        if path.is_dir():
            return _directory(path)
        if not path.is_file():  # A pipe can be read only once.
            return None
        with path.open("rb") as file:
            if file.read(len(_PARQUET)) == _PARQUET:
                return _parquet(path)
        if long_scenario and path.stat().st_size > _LARGE:
            return None
        return _toml(tomllib.loads(path.read_text(encoding="utf-8")).keys())
    except (OSError, ValueError):
        return None


def _directory(path: Path) -> Kind:
    from backwater.results import RESULTS, SUMMARY

    if (path / SUMMARY).exists():
        return Kind.RUN
    return Kind.RESULTS if (path / RESULTS).exists() else Kind.DIRECTORY


def _parquet(path: Path) -> Kind:
    from backwater.workloads import METADATA_KEY

    with path.open("rb") as file:
        file.seek(-8, 2)
        length = int.from_bytes(file.read(4), "little")
        file.seek(-min(8 + length, path.stat().st_size), 2)
        is_workload = METADATA_KEY.encode() in file.read(length)
    return Kind.WORKLOAD if is_workload else Kind.TABLE


def _toml(keys: Set[str]) -> Kind | None:
    """Return the only kind of TOML file that has these top-level keys, or None."""
    found = {
        Kind.SCENARIO: {"topology", "traffic", "workload", "switch"} & keys,
        Kind.SWEEP: {"scenario", "scenarios", "axes", "zip", "schemes", "seeds"} & keys,
        Kind.FIGURE: {"runs", "panels", "measures", "claims"} & keys,
    }
    of = [kind for kind, there in found.items() if there]
    return of[0] if len(of) == 1 else None
