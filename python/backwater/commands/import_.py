"""``backwater import``: makes scenarios from inputs of other programs."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from backwater.commands.common import Json, print_json, print_problems, say
from backwater.commands.declare import App, Argument, Option
from backwater.commands.quantities import in_units

if TYPE_CHECKING:
    from backwater.importers.importing import Imported, Wishes


@dataclass
class Target:
    """Options about the scenario file that an import writes."""

    out: Annotated[
        Path | None,
        Option("-o", "--out", metavar="FILE", help="The scenario.", show_default="NAME.toml"),
    ] = None
    force: Annotated[bool, Option("--force", help="Write over FILE even if no import made it.")] = (
        False
    )
    as_json: Json = False


@dataclass
class WithNetwork(Target):
    """Options about the scenario file that an import writes, and about its network."""

    topology: Annotated[
        Path | None,
        Option(
            "--topology",
            metavar="FILE",
            help="The network: a .topo file of htsim, or a topology of SimAI or HPCC's ns-3.",
        ),
    ] = None
    sets: Annotated[
        list[str] | None,
        Option(
            "--set",
            metavar="KEY=VALUE",
            help="A key of the topology, such as topology.link.rate=100Gbps.",
        ),
    ] = None

    def wishes(self) -> Wishes:
        """Return the options for the network."""
        from backwater.importers.importing import Wishes

        return Wishes(self.topology, self.sets or [])


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
    target: Target,
) -> None:
    """Make a scenario of config.txt and the topology and flows that it names."""
    from backwater.importers.common.output import scenario_name
    from backwater.importers.ns3 import scenario as importing

    out = target.out or Path(f"{scenario_name(config.resolve().parent.name)}.toml")
    result = importing.write(config, out, target.force)
    run = f"backwater run {shlex.quote(str(out))}"
    hint = f"run it as ns-3 would with: {run} --profile ns3" if result.profile else f"run it: {run}"
    _print(out, result.warnings, (), hint, target.as_json)


def import_goal(
    path: Annotated[Path, Argument(help="GOAL schedule, text or binary.")],
    target: WithNetwork,
    host: Annotated[
        str,
        Option(
            "--host",
            metavar="NAME",
            help="Whose defaults for the time and the eager limit of messages at a host: "
            "loggopsim, atlahs-ai or atlahs-hpc.",
        ),
    ] = "loggopsim",
) -> None:
    """Make a scenario of a GOAL schedule (LogGOPSim, ATLAHS)."""
    from backwater.importers import importing

    _finish(importing.import_goal(path, target.wishes(), host), target)


def import_chakra(
    path: Annotated[
        Path, Argument(help="Execution traces: their folder, their prefix, or one of them.")
    ],
    target: WithNetwork,
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
) -> None:
    """Make a scenario of Chakra execution traces (ASTRA-sim)."""
    from backwater.importers import importing

    files = (system, network, comm_group)
    _finish(importing.import_chakra(path, target.wishes(), *files, ctrl_deps), target)


def import_htsim(
    path: Annotated[Path, Argument(help="Connection matrix of htsim, a .cm file.")],
    target: WithNetwork,
    end: Annotated[
        str | None,
        Option(
            "--end",
            metavar="TIME",
            help="When the run ends, such as 2ms.",
            show_default="100 ms after the last start; 1 ms where a connection has no size",
        ),
    ] = None,
) -> None:
    """Make a scenario of a connection matrix of htsim."""
    from backwater.importers import importing

    _finish(importing.import_htsim(path, target.wishes(), end), target)


def import_simai(
    path: Annotated[Path, Argument(help="Workload of SimAI or AICB, a text file.")],
    target: WithNetwork,
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
) -> None:
    """Make a scenario of a SimAI workload."""
    from backwater.importers import importing

    options = (ranks, send_latency, passes)
    _finish(importing.import_simai(path, target.wishes(), *options), target)


def import_msccl(
    path: Annotated[Path, Argument(help="Algorithm of a collective in MSCCL's XML.")],
    target: WithNetwork,
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
) -> None:
    """Make a scenario of a collective algorithm in MSCCL's XML."""
    from backwater.importers import importing

    size_bytes = None if size is None else int(size)
    _finish(importing.import_msccl(path, target.wishes(), size_bytes, reduction or 0), target)


def _finish(imported: Imported, target: Target) -> None:
    from backwater.importers import importing
    from backwater.importers.common.output import scenario_name

    out = target.out or Path(f"{scenario_name(imported.source.stem)}.toml")
    notes = importing.write(imported, out, target.force)
    hint = f"run it with: backwater run {shlex.quote(str(out))}"
    _print(out, imported.warnings, notes, hint, target.as_json)


def _print(
    out: Path, warnings: list[dict[str, Any]], notes: Sequence[str], hint: str, as_json: bool
) -> None:
    if as_json:
        return print_json({"scenario": str(out), "warnings": warnings, "notes": [*notes]})
    print_problems(warnings)
    for note in notes:
        say(f"note: {note}")
    say(f"scenario: {out}")
    say(hint)
