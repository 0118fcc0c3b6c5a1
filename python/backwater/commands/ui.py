"""The command that shows results in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from backwater.commands.common import say
from backwater.commands.declare import App, Argument, Option


def register(app: App) -> None:
    """Add `ui`."""
    app.add(ui)


def ui(
    results: Annotated[
        Path, Argument(metavar="RESULTS", help="Directory of runs, comparisons and campaigns.")
    ],
    port: Annotated[
        int, Option("--port", min=0, max=65535, help="Port to listen on; 0: any that is free.")
    ] = 0,
    browser: Annotated[
        bool, Option("--browser", help="Also open the address in the browser.")
    ] = False,
) -> None:
    """Show a directory of results in the browser: browse, compare, repeat with changed keys."""
    import webbrowser

    from backwater.ui.server import Server

    server = Server(results, port)
    try:
        print(server.address, flush=True)
        say(
            "Only this machine reaches it, and only with the token in this address. Ctrl-C ends it."
        )
        if browser:
            webbrowser.open(server.address)
        server.serve_forever(poll_interval=0.2)
    except KeyboardInterrupt:
        say("Stopped.")
    finally:
        server.close()
