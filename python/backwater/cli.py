"""The command line.

Exit codes: 0 success; 1 a run failed or violated a check, or its results cannot be written; 2 the
input is wrong or missing; 130 Ctrl-C.
"""

from __future__ import annotations

import os
import signal
import sys
from functools import cache
from importlib.metadata import EntryPoints, entry_points
from types import ModuleType

import click

from backwater.commands import (
    breakdown,
    check,
    collectives,
    compare,
    dissector,
    estimate,
    explain,
    export,
    graph,
    host,
    import_,
    init,
    inspect,
    links,
    list_,
    live,
    pauses,
    recommend,
    report,
    resources,
    run,
    schema,
    show,
    sweep,
    switch,
    timeline,
)
from backwater.commands.common import BAD_INPUT, FAILED, say
from backwater.commands.declare import App, Exit
from backwater.errors import InputError, RunError, ScenarioError

ELSEWHERE = {
    "paper": "It is part of the package backwater-papers, which is not installed.",
    "validate": "It was removed; a source checkout has it: python -m validation DIR",
    "ui": "It was removed; `backwater report DIR` writes a page that lists the results in DIR.",
}
"""Commands that this package lacks, each with a hint where to find it or its replacement."""


class _Backwater(App):
    """The command line: the commands of this package, then those of installed plug-ins.

    A plug-in is an entry point of the group ``backwater.commands`` that loads a click command.
    """

    def list_commands(self, context: click.Context) -> list[str]:
        return [*super().list_commands(context), *sorted(_plugins().names)]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        found = super().get_command(context, name)
        if found is None and name in _plugins().names:
            loaded = _plugins()[name].load()
            assert isinstance(loaded, click.Command), f"plug-in {name} is not a click command"
            return loaded
        return found

    def hint(self, context: click.Context, name: str) -> str:
        return ELSEWHERE.get(name) or super().hint(context, name)


@cache
def _plugins() -> EntryPoints:
    return entry_points(group="backwater.commands")


app = _Backwater(
    "backwater", "Simulate flow control and congestion control in lossless data-centre networks."
)


def _version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        from backwater._core import __version__

        print(f"backwater {__version__}")
        raise Exit


app.params.append(
    click.Option(
        ["--version"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_version,
        help="Print the version.",
        show_default=False,
    )
)


SECTIONS: dict[str, tuple[ModuleType, ...]] = {
    "Scenario": (init, check, inspect, recommend, schema, list_),
    "Simulate": (run, compare, sweep, estimate),
    "Results": (
        *(show, report, explain, pauses, collectives, breakdown, timeline, export),
        *(graph, links, resources),  # These aliases are hidden, and are kept for one version.
    ),
    "Other simulators": (import_,),
    "Real frames": (live, switch, host, dissector),
}

for _title, _modules in SECTIONS.items():
    app.begin_section(_title)
    for _module in _modules:
        _module.register(app)


def main() -> None:
    """Run the command line and exit."""
    # Batch systems send SIGTERM. It is handled like Ctrl-C, so that finished results are kept.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if sys.stdout is None:  # The shell has closed standard output (`>&-`).
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    try:
        app()
        sys.stdout.flush()
    except ScenarioError as error:
        text = str(error)
        marked = any(line.startswith("error: ") for line in text.splitlines())
        say(text if marked else f"error: {text}")
        sys.exit(BAD_INPUT)
    except RunError as error:
        say(f"error: {error}")
        sys.exit(BAD_INPUT if isinstance(error, InputError) else FAILED)
    except UnicodeEncodeError as error:
        say(f"error: an argument is not valid UTF-8 ({error.reason}): {error.object!r}")
        sys.exit(BAD_INPUT)
    except BrokenPipeError:
        _drop_output()
        sys.exit(FAILED)
    except OSError as error:
        say(f"error: cannot write to standard output: {error.strerror}")
        _drop_output()
        sys.exit(FAILED)


def _drop_output() -> None:
    """Discard all further output, including buffered output at the end of the process."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
