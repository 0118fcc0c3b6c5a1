"""`backwater resources` counts the memories and registers of the circuits."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulator import state_bits, write_trace
from test_bfc import INCAST
from test_floodgate import CIRCUIT, FAT_TREE
from test_hardware import UNIT
from test_hpcc import FIXED, TREE


def configuration(
    folder: Path, kind: str, text: str, scheme: str, values: list[str]
) -> dict[str, int]:
    """Return the configuration of a trace, which includes the numbers of `backwater resources`."""
    scenario = folder / "scenario.toml"
    scenario.write_text(text, encoding="utf-8")
    trace = write_trace(folder, kind, scenario, scheme, values, events=1)
    lines = [line.split() for line in trace.read_text(encoding="utf-8").splitlines()]
    return {line[1]: int(line[2]) for line in lines if line[0] == "config" and len(line) == 3}


# BFC-16, BFC-53, BFC-54
def test_bfc(tmp_path: Path) -> None:
    pipelined = ["scheme.dynamic.pipelines=4"]
    config = configuration(tmp_path, "bfc:0", INCAST, "bfc", pipelined)
    ports, pipelines = config["ports"], config["pipelines"]
    entries = ports * config["per_port"]
    counters = ports // pipelines * config["upstream"]
    table, _ = state_bits("bfc_flow_table", {"ENTRIES": entries, "INDEX": entries.bit_length()})
    of_counters = {"ENTRIES": counters, "KEY": counters.bit_length()}
    pauses, _ = state_bits("bfc_pause_counters", of_counters)
    assert pipelines * (table + pauses) == config["bfc.bits.switch0"]
    assert pipelines * (entries + counters) == config["bfc.counters.switch0"]
    assert pipelines * 2 * entries == config["bfc.registers.switch0"]


# SPFC-45: one counter per port more than dynamic thresholds
@pytest.mark.parametrize(
    ("values", "parameters"),
    [
        ([], {}),
        (["scheme.spfc.count=bytes"], {}),
        (["scheme.spfc.after_resume=at-once"], {"RESUME_AT_ONCE": 1}),
        (["scheme.spfc.unpaused=waits"], {"WAITS_FOR_RESUME": 1}),
    ],
)
def test_spfc(values: list[str], parameters: dict[str, int], tmp_path: Path) -> None:
    config = configuration(tmp_path, "buffer", UNIT, "dcqcn+spfc", values)
    ports, number = config["ports"], config["counting_number.0"]
    # The command gives TC 16 bits.
    widths = {"PULSES": (1 << 16) - 1, "WIDTH": number.bit_length(), "CLASSES": 1}
    bits = state_bits("spfc_port_state", {**widths, **parameters})
    assert (0, config["spfc.bits.switch0"]) == (bits[0], ports * bits[1])
    assert config["spfc.counters.switch0"] == ports
    assert config["spfc.registers.switch0"] == ports * (3 + len(parameters))


# HPCC-40
@pytest.mark.parametrize("epsilon", ["0.01", "0.02"])
def test_hpcc(epsilon: str, tmp_path: Path) -> None:
    values = [*FIXED, f"scheme.hpcc.epsilon={epsilon}"]
    config = configuration(tmp_path, "hpcc", TREE, "hpcc", values)
    assert state_bits("hpcc_int_egress", {"SIZE": 14}) == (0, config["hpcc.bits.edge0"] // 4)
    precision = {"EPSILON_PPM": config["epsilon_ppm"]}
    assert state_bits("hpcc_reciprocal", precision)[0] == config["nic.table"]
    flows = config["nic.flows"]
    sender, _ = state_bits("hpcc_sender", {**precision, "FLOWS": flows})
    assert sender == config["nic.table"] + flows * config["nic.sender"]
    scheduler, _ = state_bits("hpcc_scheduler", {"FLOWS": flows})
    assert scheduler == flows * config["nic.scheduler"]


# FG-06, FG-61, FG-62, FG-64
@pytest.mark.parametrize("variant", ["plain", "vup", "hashed"])
def test_floodgate(variant: str, tmp_path: Path) -> None:
    values = {"plain": [], "vup": ["vup=2us"], "hashed": ["table=5"]}[variant]
    values = ["window=6KB", "voqs=6", *values]
    values = [*CIRCUIT, *(f"scheme.floodgate.{value}" for value in values)]
    config = configuration(tmp_path, "floodgate:8", FAT_TREE, "dcqcn+floodgate", values)
    ports, destinations, voqs = (config[name] for name in ("ports", "destinations", "voqs"))
    bits = {"DST": (destinations - 1).bit_length(), "VOQ": (voqs - 1).bit_length()}
    sizes = {"PORTS": ports, "DESTINATIONS": destinations, "VOQS": voqs, "SPLIT": voqs // 2}
    widths = {**bits, "PORT": 2, "PLACE": (ports * destinations - 1).bit_length()}
    options = {"WITH_VUP": int(variant == "vup"), "HASHED": config["hashed"]}
    memory, _ = state_bits("fg_switch", {**sizes, **widths, **options})
    voq = {"VOQS": voqs, "VOQ": bits["VOQ"]}
    _, users = state_bits("fg_voq_bitmap", {**voq, "USERS": bits["DST"] + 1})
    _, scheduler = state_bits("fg_voq_scheduler", voq)
    # The scheduler also stores the numbers of two VOQs, and a flag.
    ready = scheduler - 2 * bits["VOQ"] - 1
    assert memory + users + ready == config["floodgate.bits.agg0"]
