"""``backwater schema``."""

from __future__ import annotations

from backwater.commands.common import print_json
from backwater.commands.declare import App


def register(app: App) -> None:
    """Add `schema`."""
    app.add(schema, example="backwater schema > backwater.schema.json")


def schema() -> None:
    """Print the JSON Schema of a scenario, for editors."""
    from backwater.scenario import schema as described

    print_json(described())
