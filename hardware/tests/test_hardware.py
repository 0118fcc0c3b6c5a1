"""Simulates the circuits with Icarus Verilog: against their models, and against the dataplane."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulator import EVENTS, simulate, write_trace
from traces import read

STATES = {
    "counted": {},
    "at-count": {"VICTIM_AT_COUNT": 1},
    "resume-at-once": {"RESUME_AT_ONCE": 1},
    "waits": {"WAITS_FOR_RESUME": 1},
    "at-count-waits": {"VICTIM_AT_COUNT": 1, "WAITS_FOR_RESUME": 1},
}


# SPFC-10, SPFC-11, SPFC-12, SPFC-16, SPFC-17, SPFC-20
@pytest.mark.parametrize("variant", STATES)
def test_state_of_a_port(variant: str, tmp_path: Path) -> None:
    parameters = {"PULSES": 3, "WIDTH": 6, **STATES[variant]}
    simulate("spfc_port_state", "port_state", tmp_path, parameters)


# SW-10, SW-12, SW-13, SW-14, SW-18, SPFC-01, SPFC-02, SPFC-08
def test_decision_of_an_ingress(tmp_path: Path) -> None:
    simulate("pfc_ingress", "ingress", tmp_path)


# QNT-01, QNT-02, QNT-03, QNT-04
@pytest.mark.parametrize("cycles", [1, 8])
def test_pauses_that_a_port_receives(cycles: int, tmp_path: Path) -> None:
    simulate("pfc_pause_timer", "pause_timer", tmp_path, {"CYCLES": cycles})


# QNT-01
def test_a_pause_lasts_its_quanta(tmp_path: Path) -> None:
    simulate("pfc_pause_timer", "a_pause_lasts_its_quanta", tmp_path, {"CYCLES": 2})


# SW-44, QNT-05, QNT-06
@pytest.mark.parametrize("refresh", [0, 3])
def test_pauses_that_a_port_sends(refresh: int, tmp_path: Path) -> None:
    parameters = {"CYCLES": 4, "QUANTA": 9, "REFRESH": refresh}
    simulate("pfc_generator", "generator", tmp_path, parameters)


UNIT = """\
name = "unit"
topology = { kind = "star", hosts = 12, link = { rate = "100Gbps", delay = "2us" } }
switch = { buffer = "1MB" }
run = { until = "100ms" }

# SPFC, III-A, Fig. 3(a): host 0 sends to hosts 10 and 11, the others send bursts to host 11.
[[traffic]]
name = "long"
pattern = "list"
flows = [{ src = 0, dst = 10, bytes = "1GB" }, { src = 0, dst = 11, bytes = "1GB" }]

[[traffic]]
name = "burst"
pattern = "between"
senders = { first = 1, count = 9 }
receivers = [11]
together = true
size = "64KB"
every = "25us"
window = ["10us", "90ms"]

[scheme]
parameters = "spfc-paper"
"""

# A multiple of the 64 pulses that the timeout clock counts.
INTERVAL = "scheme.spfc.interval=70400ns"

TRACES = {
    "spfc": ("dcqcn+spfc", [INTERVAL]),
    "spfc-at-once": (
        "dcqcn+spfc",
        ["scheme.spfc.interval=35200ns", "scheme.spfc.after_resume=at-once"],
    ),
    "spfc-at-count": ("dcqcn+spfc", [INTERVAL, "scheme.spfc.detect=at-once"]),
    "spfc-beside": ("dcqcn+spfc", ["scheme.spfc.interval=70400ns", "scheme.spfc.beside=buffer"]),
    "spfc-bytes": ("dcqcn+spfc", ["scheme.spfc.interval=70400ns", "scheme.spfc.count=bytes"]),
    "dt": ("dcqcn+dt", []),
    "st": ("dcqcn+st", []),
    "quanta": ("dcqcn+dt", ["scheme.pfc.pause=quanta", "scheme.pfc.quanta=300"]),
}


PAUSES_FROM = 5000
"""Events until the first pauses and resumes."""


def trace_of(name: str, folder: Path) -> Path:
    """Write the trace of a scheme and return its file."""
    scheme, values = TRACES[name]
    scenario = folder / "unit.toml"
    scenario.write_text(UNIT, encoding="utf-8")
    return write_trace(folder, "buffer", scenario, scheme, values, max(EVENTS, PAUSES_FROM))


# SPFC-21; Fig. 4 and Fig. 5 of SPFC
@pytest.mark.parametrize("name", [name for name in TRACES if name != "quanta"])
def test_buffer_against_the_dataplane(name: str, tmp_path: Path) -> None:
    path = trace_of(name, tmp_path)
    trace = read(path)
    assert any(numbers[-1] for numbers in trace.all("enqueue")), "the scenario pauses"
    assert any(numbers[-1] for numbers in trace.all("dequeue")), "and resumes"
    options = ("VICTIM_AT_COUNT", "RESUME_AT_ONCE")
    chosen = {option: trace.config.get(option.lower(), 0) for option in options}
    parameters = {"PORTS": 12, "COUNT": 24, **chosen}
    simulate("spfc_buffer", "buffer_trace", tmp_path, parameters, {"HARDWARE_TRACE": str(path)})


# QNT-01, QNT-02, QNT-04
def test_pauses_against_the_dataplane(tmp_path: Path) -> None:
    path = trace_of("quanta", tmp_path)
    simulate(
        "pfc_pause_timer", "pause_trace", tmp_path, {"CYCLES": 64}, {"HARDWARE_TRACE": str(path)}
    )
