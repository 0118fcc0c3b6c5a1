"""Directories of results: what may be written into one that holds something already.

Results of the same scenario, known by its name, are replaced. Those of another one, and anything
else, are left alone unless ``force`` is given.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from backwater.errors import RunError
from backwater.files import cannot_write
from backwater.results import (
    CAMPAIGN,
    COMPARISON,
    HOST,
    RECORDED_FILES,
    REPORT,
    RUN_FILES,
    STORE,
    SUMMARY,
    Comparison,
)

_WAYS_OUT = "choose another directory, or use --force to replace it"


def claim_run(path: Path, resolved: str, force: bool) -> None:
    """Refuse a run's directory where it holds results of another scenario than this resolved one.

    What is no result of a run the writer of the run refuses.
    """
    if force:
        return
    if (path / HOST).exists():
        raise RunError(f"{path}: holds what a host on real frames measured; {_WAYS_OUT}")
    _refuse_another("a run of the scenario", path, _scenario_of(path), _name(resolved))


def claim_comparison(path: Path, schemes: Iterable[str], resolved: str, force: bool) -> None:
    """Refuse a directory that holds something else than a comparison of this scenario.

    An earlier comparison of it is removed, but for its runs.
    """
    entries = _entries(path)
    # A comparison that was killed leaves runs that say nothing about it.
    runs = {entry.name for entry in entries if _is_run(entry)}
    ours = {COMPARISON, REPORT, *schemes, *runs}
    if (path / COMPARISON).exists():
        try:
            earlier = Comparison(path)
            ours |= {*earlier, *earlier.failed}
        except (RunError, KeyError, TypeError):
            pass  # Not what it seems: everything beside it is foreign.
    if not force:
        _refuse_foreign("comparison", path, entries, ours)
        for entry in entries:
            name = _scenario_of(entry)
            _refuse_another("a comparison of the scenario", path, name, _name(resolved))
    _remove(path, (COMPARISON, REPORT))


def claim_campaign(path: Path, name: str, force: bool) -> None:
    """Refuse a directory that holds something else than the campaign of this name."""
    entries = _entries(path)
    if not force:
        _refuse_foreign("campaign", path, entries, {CAMPAIGN, REPORT, STORE})
        _refuse_another("the campaign", path, _kept(path / CAMPAIGN), name)


def claim_export(path: Path, files: Sequence[str], force: bool) -> None:
    """Refuse a directory that holds other things than these files; those are removed."""
    entries = _entries(path)
    if not force:
        _refuse_foreign("export", path, entries, files)
    _remove(path, files)


def _refuse_foreign(what: str, path: Path, entries: Iterable[Path], ours: Iterable[str]) -> None:
    """Refuse a directory with entries of other names than those that an earlier ``what`` leaves."""
    kept = set(ours)
    names = sorted(entry.name for entry in entries)
    # What was not finished has a temporary name.
    foreign = next((n for n in names if n not in kept and not n.endswith(".part")), None)
    if foreign is not None:
        raise RunError(
            f"{path}: holds something else than an earlier {what} (`{foreign}`); "
            "choose an empty or new directory, or use --force to write beside it"
        )


def _refuse_another(what: str, path: Path, there: str | None, name: str) -> None:
    if there is not None and there != name:
        raise RunError(f"{path}: holds {what} `{there}`, and this is `{name}`; {_WAYS_OUT}")


def _entries(path: Path) -> list[Path]:
    """Make a directory where there is none, and return what is in it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        return sorted(path.iterdir())
    except OSError as error:
        why = f"{path}: cannot use the directory: {error.strerror}"
        raise RunError(why, error.errno) from error


def _remove(path: Path, names: Iterable[str]) -> None:
    try:
        for name in names:
            (path / name).unlink(missing_ok=True)
    except OSError as error:
        raise RunError(f"{path}: {cannot_write(error)}", error.errno) from error


def _is_run(path: Path) -> bool:
    """Whether a directory holds a run, whole or not, and nothing else."""
    if not path.is_dir():
        return False
    names = {entry.name.removesuffix(".part") for entry in path.iterdir()}
    return "resolved.toml" in names and names <= {*RUN_FILES, *RECORDED_FILES, "lock"}


def _scenario_of(run: Path) -> str | None:
    """Return the name of the scenario of a whole run; ``None`` where there is none."""
    return _kept(run / SUMMARY)


def _kept(path: Path) -> str | None:
    """Return the name in a file of results; ``None`` where it is none."""
    try:
        name = json.loads(path.read_text(encoding="utf-8"))["name"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return name if isinstance(name, str) else None


def _name(resolved: str) -> str:
    """Return the name of a resolved scenario, which may be large, without reading all of it."""
    found = re.search(r'^name = "(.*?)"', resolved, re.MULTILINE)
    assert found is not None  # Every resolved scenario has one.
    return found[1]
