"""``backwater list``."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

from backwater._base.units import bytes_text
from backwater.commands.common import Json, columns, print_json
from backwater.commands.declare import App, Argument


def register(app: App) -> None:
    """Add `list`."""
    app.add(list_, "list", example="backwater list schemes")


class Catalogue(StrEnum):
    """Lists that can be printed."""

    SCHEMES = "schemes"
    WORKLOADS = "workloads"
    TOPOLOGIES = "topologies"


def list_(
    what: Annotated[Catalogue, Argument(help="What to list.")],
    as_json: Json = False,
) -> None:
    """List what is built in."""
    from backwater.scenario import catalogue

    entries = catalogue(what.value)
    if as_json:
        return print_json(entries)
    print("\n".join(columns([(entry["name"], _described(entry)) for entry in entries], "<")))


def _described(entry: dict[str, Any]) -> str:
    if "mean_bytes" not in entry:
        return str(entry["summary"])
    sizes = (f"{part} {bytes_text(entry[f'{part}_bytes'])}" for part in ("mean", "median", "max"))
    return ", ".join(sizes)
