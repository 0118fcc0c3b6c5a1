"""``backwater import``: makes scenarios from inputs of other programs."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from backwater.commands.common import Json, print_problems, say
from backwater.commands.declare import App, Argument, Option
from backwater.commands.quantities import in_units

if TYPE_CHECKING:
    from backwater.importers.importing import Imported, Wishes

Out = Annotated[
    Path | None,
    Option("-o", "--out", metavar="FILE", help="The scenario.", show_default="NAME.toml"),
]
Force = Annotated[bool, Option("--force", help="Write over FILE even if no import made it.")]
Topology = Annotated[
    Path | None,
    Option(
        "--topology",
        metavar="FILE",
        help="The network: a .topo file of htsim, or a topology of SimAI or HPCC's ns-3.",
    ),
]
Sets = Annotated[
    list[str] | None,
    Option(
        "--set",
        metavar="KEY=VALUE",
        help="A key of the topology, such as topology.link.rate=100Gbps.",
    ),
]


def register(app: App) -> None:
    """Add `import` with a command for each format."""
    importers = App("import", "Convert inputs of another program to a scenario.")
    importers.add(import_ns3, "ns3")
    importers.add(import_goal, "goal")
    importers.add(import_chakra, "chakra")
    importers.add(import_htsim, "htsim")
    importers.add(import_simai, "simai")
    importers.add(import_msccl, "msccl")
    app.add_group(
        importers, example="backwater import chakra traces/ --system system.json -o step.toml"
    )


def import_ns3(
    config: Annotated[Path, Argument(help="config.txt of HPCC's ns-3 simulator.")],
    out: Out = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Make a scenario of config.txt and the topology and flows that it names."""
    from backwater.importers.common.output import scenario_name
    from backwater.importers.ns3 import scenario as importing

    if out is None:
        out = Path(f"{scenario_name(config.resolve().parent.name)}.toml")
    result = importing.write(config, out, force)
    run = f"backwater run {shlex.quote(str(out))}"
    hint = f"run it as ns-3 would with: {run} --profile ns3" if result.profile else f"run it: {run}"
    _print(out, result.warnings, (), hint, as_json)


def import_goal(
    path: Annotated[Path, Argument(help="GOAL schedule, text or binary.")],
    out: Out = None,
    topology: Topology = None,
    sets: Sets = None,
    host: Annotated[
        str,
        Option(
            "--host",
            metavar="NAME",
            help="Whose defaults for the time and the eager limit of messages at a host: "
            "loggopsim, atlahs-ai or atlahs-hpc.",
        ),
    ] = "loggopsim",
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Make a scenario of a GOAL schedule (LogGOPSim, ATLAHS)."""
    from backwater.importers import importing

    _finish(importing.import_goal(path, _wishes(topology, sets), host), out, force, as_json)


def import_chakra(
    path: Annotated[
        Path, Argument(help="Execution traces: their folder, their prefix, or one of them.")
    ],
    out: Out = None,
    system: Annotated[
        Path | None, Option("--system", metavar="FILE", help="System layer of ASTRA-sim, JSON.")
    ] = None,
    network: Annotated[
        Path | None,
        Option(
            "--network",
            metavar="FILE",
            help="Network of ASTRA-sim, YAML; or its logical dimensions, JSON.",
        ),
    ] = None,
    comm_group: Annotated[
        Path | None,
        Option("--comm-group", metavar="FILE", help="Communicator groups of ASTRA-sim, JSON."),
    ] = None,
    ctrl_deps: Annotated[
        bool,
        Option("--ctrl-deps", help="Wait for control dependencies too; ASTRA-sim ignores them."),
    ] = False,
    topology: Topology = None,
    sets: Sets = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Make a scenario of Chakra execution traces (ASTRA-sim)."""
    from backwater.importers import importing

    wishes = _wishes(topology, sets)
    _finish(
        importing.import_chakra(path, wishes, system, network, comm_group, ctrl_deps),
        *(out, force, as_json),
    )


def import_htsim(
    path: Annotated[Path, Argument(help="Connection matrix of htsim, a .cm file.")],
    out: Out = None,
    topology: Topology = None,
    sets: Sets = None,
    end: Annotated[
        str | None,
        Option(
            "--end",
            metavar="TIME",
            help="When the run ends, such as 2ms.",
            show_default="100 ms after the last start; 1 ms where a connection has no size",
        ),
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Make a scenario of a connection matrix of htsim."""
    from backwater.importers import importing

    _finish(importing.import_htsim(path, _wishes(topology, sets), end), out, force, as_json)


def import_simai(
    path: Annotated[Path, Argument(help="Workload of SimAI or AICB, a text file.")],
    out: Out = None,
    topology: Topology = None,
    sets: Sets = None,
    ranks: Annotated[
        int | None,
        Option("--ranks", min=2, max=1 << 20, help="Number of GPUs.", show_default="the file's"),
    ] = None,
    send_latency: Annotated[
        str | None,
        Option(
            "--send-latency",
            metavar="TIME",
            help="Time that each message waits at its sender, such as 6us (AS_SEND_LAT); or LL, "
            "LL128 or Simple for the tables of that protocol.",
            show_default="6us",
        ),
    ] = None,
    passes: Annotated[
        int, Option("--passes", min=1, max=1000, help="How often the layers are run.")
    ] = 1,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Make a scenario of a SimAI workload."""
    from backwater.importers import importing

    wishes = _wishes(topology, sets)
    _finish(importing.import_simai(path, wishes, ranks, send_latency, passes), out, force, as_json)


def import_msccl(
    path: Annotated[Path, Argument(help="Algorithm of a collective in MSCCL's XML.")],
    out: Out = None,
    size: Annotated[
        float | None,
        Option(
            "--size",
            "--bytes",
            metavar="SIZE",
            help="Size of the data of each rank, such as 8MB.",
            show_default="1MiB",
            parser=in_units("size", "B", "8MB"),
        ),
    ] = None,
    reduction: Annotated[
        float | None,
        Option(
            "--reduction",
            metavar="TIME",
            help="Time of a reduction for each byte, such as 5ps.",
            parser=in_units("time", "ps", "5ps", least=-1),
        ),
    ] = None,
    topology: Topology = None,
    sets: Sets = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Make a scenario of a collective algorithm in MSCCL's XML."""
    from backwater.importers import importing

    imported = importing.import_msccl(
        path, _wishes(topology, sets), None if size is None else int(size), reduction or 0
    )
    _finish(imported, out, force, as_json)


def _wishes(topology: Path | None, sets: list[str] | None) -> Wishes:
    from backwater.importers.importing import Wishes

    return Wishes(topology, sets or [])


def _finish(imported: Imported, out: Path | None, force: bool, as_json: bool) -> None:
    from backwater.importers import importing
    from backwater.importers.common.output import scenario_name

    if out is None:
        out = Path(f"{scenario_name(imported.source.stem)}.toml")
    notes = importing.write(imported, out, force)
    hint = f"run it with: backwater run {shlex.quote(str(out))}"
    _print(out, imported.warnings, notes, hint, as_json)


def _print(
    out: Path, warnings: list[dict[str, Any]], notes: Sequence[str], hint: str, as_json: bool
) -> None:
    if as_json:
        about = {"scenario": str(out), "warnings": warnings, "notes": [*notes]}
        print(json.dumps(about, indent=2, ensure_ascii=False))
        return
    print_problems(warnings)
    for note in notes:
        say(f"note: {note}")
    say(f"scenario: {out}")
    say(hint)
