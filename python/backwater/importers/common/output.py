"""Files that an importer writes."""

from __future__ import annotations

from pathlib import Path

from backwater.errors import RunError

IMPORTED = "# Imported from "
"""Start of every scenario that an importer wrote."""


def scenario_name(stem: str) -> str:
    """Return a valid scenario name that is similar to a file name."""
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "._+-") else "-" for c in stem)
    return kept.strip("-._+") or "imported"


def refuse_foreign(out: Path) -> None:
    """Raise an error if a file exists that was not written by an import."""
    try:
        with out.open(encoding="utf-8", errors="replace") as file:
            first = file.readline(200)
    except FileNotFoundError:
        return
    except OSError as error:
        raise RunError(f"{out}: cannot write: {error.strerror}", error.errno) from error
    if not first.startswith(IMPORTED):
        raise RunError(f"{out}: exists and was not imported; choose another name, or use --force")
