"""The command that prints the path of the dissector for Wireshark."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

from backwater.commands.common import Json, print_json, say
from backwater.commands.declare import App, Option
from backwater.errors import RunError
from backwater.wireshark import DISSECTOR


def register(app: App) -> None:
    """Add `dissector`."""
    app.add(dissector, example="backwater dissector -o backwater.lua")


def dissector(
    out: Annotated[
        Path | None, Option("-o", "--out", metavar="PATH", help="Copy it to this file or folder.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print the path of the dissector with which Wireshark reads the frames of docs/wire.md."""
    path = Path(DISSECTOR)
    if out is not None:
        try:
            path = Path(shutil.copy(DISSECTOR, out))
        except OSError as error:
            raise RunError(f"cannot write {out}: {error.strerror}") from error
    if as_json:
        return print_json({"dissector": str(path)})
    print(path)
    if out is not None:
        say("Wireshark reads it with -X lua_script:PATH, or from its folder of Lua plugins.")
