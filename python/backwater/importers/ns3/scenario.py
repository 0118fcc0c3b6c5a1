"""Converts inputs of ns-3 into a scenario.

The scenario contains the settings of `config.txt`. ``--profile ns3`` imitates behaviour of ns-3
that no key changes (rounding, header sizes, thresholds, ties). `docs/ns3.md` has a table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from backwater import __version__
from backwater._base.files import write_whole
from backwater._base.toml import number, one_line, rate, time, toml
from backwater.importers import networks
from backwater.importers.common.output import IMPORTED, refuse_foreign, scenario_name
from backwater.importers.common.source import Findings, Words, shown
from backwater.importers.ns3 import config as ns3_config
from backwater.importers.ns3 import dialects as ns3_dialects
from backwater.importers.ns3 import flows as ns3_flows
from backwater.importers.ns3 import topology as ns3_topology
from backwater.importers.ns3.config import Config
from backwater.importers.ns3.dialects import FOREIGN
from backwater.importers.ns3.flows import DATA_GROUP, Flow
from backwater.importers.ns3.topology import Dialect, Topology

MARK = f"{IMPORTED}ns-3 by backwater"

_MS = 10**9
_SECOND = 10**12
_SAMPLE_PS = 100_000
_RATES_IN_3_BITS = {gbps * 10**9 for gbps in (10, 25, 50, 100, 200, 400, 800)}
"""Rates that an INT record can encode if 17 bits are used for the queue length."""

_DCQCN, _HPCC, _TIMELY, _DCTCP, _PINT = 1, 3, 7, 8, 10


@dataclass(frozen=True, slots=True)
class Imported:
    """A scenario made of ns-3's files."""

    scenario: str
    """The scenario as TOML."""

    flows: str
    """The list of flows of the scenario, in CSV."""

    warnings: list[dict[str, Any]]

    profile: bool = True
    """True if the scenario should run with `--profile ns3`."""


@dataclass(slots=True)
class Inputs:
    """Contents of the input files of an ns-3 simulation."""

    config: Config
    topology: Topology
    flows: list[Flow]
    findings: Findings

    @property
    def epoch_ps(self) -> int:
        """Time of ns-3's clock at time 0 of the scenario: the last whole ms before the first flow.

        ns-3 truncates the start to nanoseconds, which must not move it before time 0. Only whole
        seconds are exact. So for other start times at a whole millisecond, the previous millisecond
        is used.
        """
        first = min(flow.start_ps for flow in self.flows)
        epoch = first // _MS * _MS
        return epoch - _MS if epoch == first and first % _SECOND else epoch


@dataclass(slots=True)
class _Table:
    """Lines of a TOML table, each with the corresponding key of `config.txt`."""

    lines: list[str] = field(default_factory=list)

    def put(self, key: str, value: Any, why: str = "") -> None:
        self.lines.append(f"{key} = {toml(value)}" + (f"  # {why}" if why else ""))


def import_ns3(config: Path, name: str, flow_file: str) -> Imported:
    """Read a configuration and the files that it names.

    The scenario has the name ``name``. It refers to ``flow_file`` as the list of its flows, whose
    text is part of the result. Raises :class:`~backwater.ScenarioError` with all errors.
    """
    findings = Findings()
    inputs = _read(config, findings)
    parts = [
        _head(inputs, name),
        topology_lines(inputs),
        switch_lines(inputs),
        _traffic(inputs, flow_file),
    ]
    parts += [_run(inputs), _record(inputs), scheme_lines(inputs)]
    findings.stop_if_wrong()
    text = "\n".join("\n".join(lines) + "\n" for lines in parts if lines)
    profile = not inputs.config.foreign_flag("ENABLE_IRN", False)
    return Imported(text, _flow_list(inputs), findings.warnings(), profile)


def write(config: Path, out: Path, force: bool = False) -> Imported:
    """Import a configuration into the file ``out``, with the list of flows in a second file."""
    flow_file = out.with_name(f"{out.stem}.flows.csv")
    result = import_ns3(config, scenario_name(out.stem), flow_file.name)
    if not force:
        refuse_foreign(out)
    for path, text in ((flow_file, result.flows), (out, result.scenario)):
        write_whole(path, text, parents=True)
    return result


# --- Reading ---------------------------------------------------------------------------------


def _read(path: Path, findings: Findings) -> Inputs:
    config = ns3_config.read(path, findings)
    _check_dialect(config)
    topology_file, flow_file = _beside(config, "TOPOLOGY_FILE"), _beside(config, "FLOW_FILE")
    check_control(config)
    if topology_file is None or flow_file is None:
        raise findings.failure()
    before = findings.wrong
    topology = ns3_topology.read(topology_file, findings)
    flows = ns3_flows.read(flow_file, topology, findings)
    if findings.wrong > before:  # Further checks are useless if the network is wrong.
        findings.stop_if_wrong()
    _check_trace(config, topology)
    _warn_of_command_line(topology, config)
    return Inputs(config, topology, flows, findings)


def _beside(config: Config, key: str) -> Path | None:
    """Return the path of a file that a configuration names; add an error if there is none."""
    config.need(key)
    if not config[key]:
        return None
    places = _places(config, key)
    found = _first_file(places)
    if found is None:
        tried = ", ".join(dict.fromkeys(str(place) for place in places))
        config.error(key, f"there is no file {config[key]}", f"looked for {tried}")
    return found


def _places(config: Config, key: str) -> list[Path]:
    """Return the possible paths of a file that a configuration names.

    ns-3 resolves names from its working directory, which is usually one folder above the
    configuration.
    """
    name = Path(config[key])
    base = config.path.parent
    return [name] if name.is_absolute() else [base / name, name, base.parent / name]


def _first_file(places: list[Path]) -> Path | None:
    for place in places:
        try:
            if place.is_file():
                return place
        except (OSError, ValueError):
            continue
    return None


def _check_dialect(config: Config) -> None:
    """Refuse fork values that change the model and cannot be imported.

    Warn of keys without effect.
    """
    findings = config.words.findings
    if drawn := ns3_dialects.of_bfc(config.foreign):
        findings.error(
            f"{config.words.name}: {', '.join(drawn)}: this is a configuration of BFC's simulator, "
            "which draws its flows and has its network in its code",
            "compare with its results by `python -m validation` in a source checkout, or "
            "write a scenario with the preset bfc",
        )
    for key, value in config.foreign.items():
        about = FOREIGN[key]
        if about.imported is not None and value not in about.imported:
            what, _, hint = about.otherwise.partition("; ")
            config.error(key, f"{key} {shown(value)}: {what}", hint or None)
    left_out = sorted(key for key in config.foreign if FOREIGN[key].is_left_out)
    if left_out:
        forks = sorted({fork for key in left_out for fork in FOREIGN[key].forks})
        findings.warning(
            f"{config.words.name}: keys of other simulators ({', '.join(forks)}) have no "
            f"counterpart and are left out: {', '.join(left_out)}"
        )


def _warn_of_command_line(topology: Topology, config: Config) -> None:
    """Warn that PowerTCP's simulator reads its congestion control from the command line."""
    if topology.dialect is Dialect.POWERTCP:
        config.warning(
            "CC_MODE",
            "the topology is one of PowerTCP's simulator, which takes the control from its "
            "command line (--algorithm, --wien, --delayWien) and ignores CC_MODE; the scenario "
            "has that of CC_MODE",
            "for PowerTCP run it with `--scheme powertcp` or `--scheme theta-powertcp`",
        )


def _check_trace(config: Config, topology: Topology) -> None:
    """Check the list of traced nodes, which has no effect here."""
    if not config["TRACE_FILE"] or not config["ENABLE_TRACE"]:
        return
    path = _first_file(_places(config, "TRACE_FILE"))
    if path is None:
        config.warning("TRACE_FILE", f"there is no file {config['TRACE_FILE']}; nothing is traced")
        return
    words = Words.read(path, config.words.findings, "list of traced nodes")
    for _ in range(words.integer("the number of traced nodes")):
        node = words.integer("a traced node", 0, 2**64)
        if node >= topology.nodes:
            words.warning(
                f"node {node} does not exist; ns-3 skips it silently",
                words.at - 1,
                kind="traced nodes that do not exist",
            )
    config.warning(
        "ENABLE_TRACE", "packets are not traced here; the list of traced nodes is left out"
    )


# --- Writing ---------------------------------------------------------------------------------


def _head(inputs: Inputs, name: str) -> list[str]:
    config = inputs.config
    files = f"{config['TOPOLOGY_FILE']}, {config['FLOW_FILE']}"
    return [
        f"{MARK} {__version__}: {one_line(config.path.name)}, {one_line(files)}.",
        "# What ns-3 does whatever these files say is added by `backwater run --profile ns3`.",
        f"name = {toml(name)}",
    ]


def topology_lines(inputs: Inputs) -> list[str]:
    """Return the lines of the network, with its links."""
    topology, config = inputs.topology, inputs.config
    ends = topology.ends()
    everywhere = config["ERROR_RATE_PER_LINK"]
    if everywhere > 1:
        config.error("ERROR_RATE_PER_LINK", f"a share of lost packets of {everywhere}")
    links = [replace(link, loss=link.loss or everywhere) for link in topology.links]
    if any(link.loss > 0 for link in links):
        inputs.findings.warning(
            "frames get lost on links: each simulator draws its own, so results can only agree on "
            "average; and ns-3 never sends the lost end of a flow again"
        )
    return networks.linked(
        topology.linked_hosts,
        (n for n in topology.switches if n in ends),
        ((x.a, x.b, networks.link(x.rate_bps, x.delay_ps, x.loss)) for x in links),
        f"In the order of {one_line(config['TOPOLOGY_FILE'])}: it numbers the ports.",
    )


def switch_lines(inputs: Inputs) -> list[str]:
    """Return the lines of the switch buffers."""
    table = _Table()
    table.put("buffer", f"{inputs.config['BUFFER_SIZE']}MiB", "BUFFER_SIZE")
    if inputs.config["BUFFER_SIZE"] == 0:
        inputs.config.error("BUFFER_SIZE", "switches without a buffer")
    return ["[switch]", *table.lines]


def _traffic(inputs: Inputs, flow_file: str) -> list[str]:
    groups = {flow.group for flow in inputs.flows}
    if len(groups) > 1:
        inputs.findings.error(
            f"{inputs.config['FLOW_FILE']}: flows have the priority groups "
            f"{', '.join(map(str, sorted(groups)))}; ns-3 serves groups in turns, packet by "
            "packet, while classes are served strictly one before the other here",
            f"put all flows into group {DATA_GROUP}",
        )
    elif groups == {0}:
        inputs.findings.error(
            f"{inputs.config['FLOW_FILE']}: all flows have priority group 0, which ns-3's switches "
            "keep for PFC frames: never paused and not counted",
            f"put all flows into group {DATA_GROUP}",
        )
    elif groups != {DATA_GROUP}:
        inputs.findings.warning(
            f"{inputs.config['FLOW_FILE']}: all flows have priority group {groups.pop()}: ns-3 "
            f"would keep ACKs apart from them, in group {DATA_GROUP}; here they share a queue"
        )
    return [
        "[[traffic]]",
        'name = "flows"',
        'pattern = "list"',
        f"file = {toml(flow_file)}",
    ]


def _run(inputs: Inputs) -> list[str]:
    config, epoch = inputs.config, inputs.epoch_ps
    stop = int(config["SIMULATOR_STOP_TIME"] * 10**12)
    last = inputs.flows[-1].start_ps
    table = _Table()
    table.put("epoch", time(epoch), "what ns-3's clock shows at time 0 of this scenario")
    if stop <= inputs.flows[0].start_ps:
        config.error("SIMULATOR_STOP_TIME", "the simulation stops before the first flow starts")
    else:
        if stop <= last:
            config.warning(
                "SIMULATOR_STOP_TIME",
                f"the simulation stops before the last flow starts, at {Decimal(last) / 10**12} s",
            )
        if config.has("SIMULATOR_STOP_TIME") or not ns3_dialects.is_conweave(config.foreign):
            table.put("until", time(stop - epoch), "SIMULATOR_STOP_TIME")
    return ["[run]", *table.lines]


def _record(inputs: Inputs) -> list[str]:
    config, epoch = inputs.config, inputs.epoch_ps
    start, end = (config[f"QLEN_MON_{x}"] * 1000 for x in ("START", "END"))
    # ns-3 samples at the start, and continues before the end.
    samples = max(0, -(-(end - start) // _SAMPLE_PS)) + 1
    early = min(samples, max(0, -(-(epoch - start) // _SAMPLE_PS)))
    if early == samples:
        return []
    first = start + early * _SAMPLE_PS - epoch
    window = f'["{time(first)}", "{time(first + (samples - early) * _SAMPLE_PS)}"]'
    return [
        "[record]",
        "# QLEN_MON_START, QLEN_MON_END",
        f'histogram = {{ every = "100ns", bin = "1KB", window = {window} }}',
    ]


# --- The scheme ------------------------------------------------------------------------------


def scheme_lines(inputs: Inputs, rename: Callable[[str], str] = lambda preset: preset) -> list[str]:
    """Return the lines of the scheme. ``rename`` may replace the preset by another one."""
    config = inputs.config
    makers: dict[int, Callable[[Inputs, _Table], str]] = {
        _DCQCN: _dcqcn,
        _HPCC: _hpcc,
        _TIMELY: _timely,
        _DCTCP: _dctcp,
    }
    mode = config["CC_MODE"]
    if mode not in makers:
        inputs.findings.stop_if_wrong()
    parameters = _Table()
    preset = makers[mode](inputs, parameters)
    table = _Table()
    table.put("preset", rename(preset), "CC_MODE, HAS_WIN, VAR_WIN")
    table.put("parameters", "hpcc-paper")
    table.put("mtu", f"{config['PACKET_PAYLOAD_SIZE']}B", "PACKET_PAYLOAD_SIZE")
    if config["GLOBAL_T"] != 1:
        table.put("base_rtt", "ns3-pair", "GLOBAL_T")
    _losses(config, table)
    high = config["ACK_HIGH_PRIO"]
    if ns3_dialects.is_conweave(config.foreign) and not config.has("ACK_HIGH_PRIO"):
        high = True
    table.put("ack.pausable", not high, "ACK_HIGH_PRIO")
    if config.foreign.get("SYMMETRIC_ROUTING_MODE") == "1":
        table.put("ack.path", "reverse", "SYMMETRIC_ROUTING_MODE")
    return ["[scheme]", *table.lines, *parameters.lines]


def _losses(config: Config, table: _Table) -> None:
    """Write the behaviour at a full buffer and after a loss.

    In ConWeave's simulator ENABLE_PFC 0 leaves only the thresholds of egress queues (alpha 1). Its
    IRN has timeouts of 100 and 320 us without PFC, and no timeouts with PFC. Its go-back-N has no
    timeout.
    """
    pfc = config.foreign_flag("ENABLE_PFC", True)
    irn = config.foreign_flag("ENABLE_IRN", False)
    if not pfc:
        table.put("admission", "egress-dynamic", "ENABLE_PFC 0")
    if not irn:
        table.put("recovery", "go-back-n", "L2_BACK_TO_ZERO 0")
        if timeout := config.foreign_number("RTO_us"):
            table.put("go-back-n.timeout", f"{timeout}us", "RTO_us")
        return
    table.put("recovery", "irn", "ENABLE_IRN")
    low, high = ("100us", "320us") if not pfc else ("1s", "1s")
    why = "as in ConWeave's simulator" if not pfc else "ConWeave's IRN has no timeouts with PFC"
    table.put("irn.rto_low", low, why)
    table.put("irn.rto_high", high, why)
    config.warning(
        "ENABLE_IRN",
        "`--profile ns3` repeats all packets from the first missing one on; so a scenario with "
        "IRN runs without it",
    )


_COMMON = (
    "CC_MODE PACKET_PAYLOAD_SIZE SIMULATOR_STOP_TIME MIN_RATE HAS_WIN GLOBAL_T VAR_WIN RATE_BOUND "
    "ACK_HIGH_PRIO BUFFER_SIZE"
)
_OWN = {
    _DCQCN: "ALPHA_RESUME_INTERVAL RATE_DECREASE_INTERVAL CLAMP_TARGET_RATE FAST_RECOVERY_TIMES",
    _HPCC: "FAST_REACT U_TARGET MI_THRESH INT_MULTI MULTI_RATE SAMPLE_FEEDBACK",
    _TIMELY: "",
    _DCTCP: "DCTCP_RATE_AI",
}
"""Keys with a default that affect a congestion control, by its CC_MODE."""

_NEEDED = {
    _DCQCN: "EWMA_GAIN RATE_AI RATE_HAI RP_TIMER",
    _HPCC: "RATE_AI",
    _TIMELY: "RATE_AI RATE_HAI",
    _DCTCP: "EWMA_GAIN",
}
"""Required keys without a usable default, by CC_MODE."""


def check_control(config: Config) -> None:
    """Check the congestion control of a configuration. The checks do not depend on the network."""
    mode = config["CC_MODE"]
    _check_common(config)
    if mode not in _NEEDED:
        known = "1 DCQCN, 3 HPCC, 7 TIMELY, 8 DCTCP"
        what = "HPCC-PINT is not modelled" if mode == _PINT else "unknown"
        config.error("CC_MODE", f"CC_MODE {mode}: {what}", f"imported are {known}")
        return
    config.need(*_NEEDED[mode].split())
    optional = ("SIMULATOR_STOP_TIME", "ACK_HIGH_PRIO")
    unset = optional if ns3_dialects.is_conweave(config.foreign) else ()
    keys = f"{_COMMON} {_OWN[mode]}".split()
    missing = [key for key in keys if not config.has(key) and key not in unset]
    if missing:
        taken = ", ".join(f"{k} = {ns3_config.value_text(config[k])}" for k in missing)
        config.words.findings.warning(
            f"{config.words.name}: ns-3's own defaults are taken for what is not said: {taken}"
        )


def _check_common(config: Config) -> None:
    payload = config["PACKET_PAYLOAD_SIZE"]
    if not 64 <= payload <= 9000:
        config.error("PACKET_PAYLOAD_SIZE", f"packets of {payload} bytes; expected 64 to 9000")
    if config["L2_BACK_TO_ZERO"]:
        config.error(
            "L2_BACK_TO_ZERO", "going back to the start of a chunk is not modelled", "set it to 0"
        )
    if config["L2_ACK_INTERVAL"] > payload:
        config.error(
            "L2_ACK_INTERVAL",
            "fewer ACKs than packets are not modelled as ns-3 has them",
            f"set it to 1 to {payload}, which is an ACK for each packet",
        )
    elif config["L2_ACK_INTERVAL"] == 0:
        config.error(
            "L2_ACK_INTERVAL",
            "ns-3 acknowledges only the ends of chunks then, which is not modelled",
            "write `L2_ACK_INTERVAL 1`: an ACK for each packet",
        )
    if any(config["LINK_DOWN"]):
        config.error(
            "LINK_DOWN", "links that fail are not modelled", "set it to 0 0 0, or remove it"
        )
    if not config["RATE_BOUND"]:
        config.error(
            "RATE_BOUND",
            "flows that are not paced are not modelled for these controls",
            "set it to 1",
        )
    if not config["USE_DYNAMIC_PFC_THRESHOLD"]:
        config.warning(
            "USE_DYNAMIC_PFC_THRESHOLD",
            "it has no effect in ns-3, whose thresholds are always dynamic",
        )


def _window(inputs: Inputs, out: _Table, control: str) -> bool:
    """Return true if a window limits the data in flight; write the mode of a fixed window."""
    config = inputs.config
    if config["HAS_WIN"] and not config["VAR_WIN"]:
        out.put(f"{control}.window", "bdp", "VAR_WIN")
    return bool(config["HAS_WIN"])


def _need_variable_window(inputs: Inputs, control: str) -> None:
    config = inputs.config
    if config["HAS_WIN"] and not config["VAR_WIN"]:
        config.error(
            "VAR_WIN",
            f"{control} with a window that does not follow the rate is not modelled",
            "set VAR_WIN to 1",
        )


def _dcqcn(inputs: Inputs, out: _Table) -> str:
    config = inputs.config
    window = _window(inputs, out, "dcqcn")
    _marks(inputs, out)
    out.put("dcqcn.g", number(config["EWMA_GAIN"]), "EWMA_GAIN")
    for key, ours in (
        ("ALPHA_RESUME_INTERVAL", "alpha_timer"),
        ("RATE_DECREASE_INTERVAL", "decrease_interval"),
        ("RP_TIMER", "increase_timer"),
    ):
        out.put(f"dcqcn.{ours}", _microseconds(config, key), key)
    out.put("dcqcn.fast_recovery", config["FAST_RECOVERY_TIMES"], "FAST_RECOVERY_TIMES")
    out.put("dcqcn.clamp_target", config["CLAMP_TARGET_RATE"], "CLAMP_TARGET_RATE")
    _rates(inputs, out, "dcqcn", ("RATE_AI", "ai"), ("RATE_HAI", "hai"), ("MIN_RATE", "min_rate"))
    return "dcqcn+win" if window else "dcqcn"


def _hpcc(inputs: Inputs, out: _Table) -> str:
    config = inputs.config
    _need_variable_window(inputs, "HPCC")
    if not config["HAS_WIN"]:
        config.error("HAS_WIN", "HPCC without a window is not modelled", "set both to 1")
    _maps_if_missing(inputs)
    target = config["U_TARGET"]
    if not 0 < target <= 1:
        config.error("U_TARGET", f"a target utilisation of {target}; expected up to 1")
    reaction = "combined" if config["FAST_REACT"] else "per-rtt"
    out.put("hpcc.eta", number(target), "U_TARGET")
    out.put("hpcc.max_stage", config["MI_THRESH"], "MI_THRESH")
    out.put("hpcc.reaction", reaction, "FAST_REACT")
    out.put("hpcc.alpha_fair", "max-min" if config["MULTI_RATE"] else "off", "MULTI_RATE")
    if config["SAMPLE_FEEDBACK"]:
        out.put("hpcc.sample_feedback", True, "SAMPLE_FEEDBACK")
    _rates(inputs, out, "hpcc", ("RATE_AI", "wai"), ("MIN_RATE", "min_rate"))
    if config["INT_MULTI"] == 0:
        config.error("INT_MULTI", "units of 0 bytes", "the default is 1")
    out.put("int.format", "wire")
    out.put("int.multiplier", config["INT_MULTI"], "INT_MULTI")
    if not {link.rate_bps for link in inputs.topology.links} <= _RATES_IN_3_BITS:
        out.put("int.qlen_bits", 16, "so that a record of INT can state every rate")
    return "hpcc"


def _timely(inputs: Inputs, out: _Table) -> str:
    window = _window(inputs, out, "timely")
    _maps_if_missing(inputs)
    _rates(inputs, out, "timely", ("RATE_AI", "ai"), ("RATE_HAI", "hai"), ("MIN_RATE", "min_rate"))
    return "timely+win" if window else "timely"


def _dctcp(inputs: Inputs, out: _Table) -> str:
    config = inputs.config
    _need_variable_window(inputs, "DCTCP")
    if not config["HAS_WIN"]:
        out.put("dctcp.window", False, "HAS_WIN")
    _marks(inputs, out)
    out.put("dctcp.g", number(config["EWMA_GAIN"]), "EWMA_GAIN")
    _rates(inputs, out, "dctcp", ("DCTCP_RATE_AI", "ai"), ("MIN_RATE", "min_rate"))
    return "dctcp"


def _rates(inputs: Inputs, out: _Table, table: str, *keys: tuple[str, str]) -> None:
    for key, ours in keys:
        out.put(f"{table}.{ours}", rate(inputs.config[key]), key)


def _marks(inputs: Inputs, out: _Table) -> None:
    """Add the ECN thresholds for each rate of a switch port to a table."""
    config = inputs.config
    if not config["ENABLE_QCN"]:
        config.error("ENABLE_QCN", "this control needs the marks that ENABLE_QCN 0 takes away")
    maps = [config[key] for key in ("KMIN_MAP", "KMAX_MAP", "PMAX_MAP")]
    profiles = []
    # Without switches no packet is marked, but a scenario needs at least one profile.
    for bps in inputs.topology.switch_rates() or sorted(maps[0])[:1]:
        lacking = _lacking(config, bps)
        if lacking:
            config.error(
                lacking[0],
                f"{' and '.join(lacking)} without the rate {bps} of a switch port",
                "without assertions ns-3 would mark with thresholds of 0",
            )
            continue
        kmin, kmax, pmax = (one[bps] for one in maps)
        if kmin > kmax:
            config.error("KMIN_MAP", f"at {bps} bit/s Kmin {kmin} KB is above Kmax {kmax} KB")
        profiles.append(
            {"rate": rate(bps), "kmin": f"{kmin}KB", "kmax": f"{kmax}KB", "pmax": number(pmax)}
        )
    out.put("ecn.profiles", profiles, "KMIN_MAP, KMAX_MAP, PMAX_MAP")


def _maps_if_missing(inputs: Inputs) -> None:
    """Warn of rates without ECN thresholds if the congestion control does not use ECN.

    ns-3 refuses such configurations.
    """
    config = inputs.config
    for bps in inputs.topology.switch_rates():
        lacking = _lacking(config, bps)
        if lacking:
            config.warning(
                lacking[0],
                f"{' and '.join(lacking)} without the rate {bps} of a switch port: ns-3 with "
                "assertions stops here; this control looks at no marks",
            )


def _lacking(config: Config, rate: int) -> list[str]:
    return [key for key in ("KMIN_MAP", "KMAX_MAP", "PMAX_MAP") if rate not in config[key]]


# --- The list of flows -----------------------------------------------------------------------


def _flow_list(inputs: Inputs) -> str:
    index = {number: i for i, number in enumerate(inputs.topology.linked_hosts)}
    epoch = inputs.epoch_ps
    lines = ["src,dst,bytes,start,port"]
    lines += [
        f"{index[f.src]},{index[f.dst]},{f.bytes},{time(f.start_ps - epoch)},{f.port}"
        for f in inputs.flows
    ]
    return "\n".join(lines) + "\n"


def _microseconds(config: Config, key: str) -> str:
    ps = config[key] * 10**6
    if ps != int(ps) or ps == 0:
        config.error(key, f"{key} is {config[key]}; expected a time in µs above 0")
    return time(int(ps))
