"""Keys of forks of HPCC's simulator in `config.txt`, and their effect on the model.

The keys come from the public sources of these forks: ConWeave (conweave-project/conweave-ns3 at
236a801a), Floodgate (NASA-NJU/Floodgate-NS3 at 5071599d), SimAI (aliyun/SimAI), and BFC. PowerTCP
(inet-tub/ns3-datacenter at 6ddb4a40) adds no keys.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass

BFC, CONWEAVE, FLOODGATE, SIMAI = "BFC", "ConWeave", "Floodgate", "SimAI"


@dataclass(frozen=True, slots=True)
class Foreign:
    """A key of a fork, which has one value."""

    forks: tuple[str, ...]
    imported: frozenset[str] | None = None
    """Accepted values, which are imported or have no effect on the model. ``None``: all values."""
    otherwise: str = ""
    """Reason why other values are refused; the advice follows after a semicolon."""
    applied: bool = False
    """True if the scenario contains the setting."""

    @property
    def is_left_out(self) -> bool:
        """Return true if the value has no effect on the scenario."""
        return not self.applied and self.imported is None


def _only(fork: str, values: str, otherwise: str, applied: bool = False) -> Foreign:
    return Foreign((fork,), frozenset(values.split()), otherwise, applied)


_LEFT_OUT = {
    BFC: (
        "APP_START_TIME APP_STOP_TIME CREATE_INCAST ENABLE_BUFFER_STATS ENABLE_WINDOW "
        "FIXED_WINDOW_SIZE FLOW_SIZE_IN_INCAST INTER_DC_TRAFFIC L2_TEST_READ "
        "NUMBER_OF_INCAST_SOURCES POISSON_DISTRIBUTION QCOUNT SEND_IN_CHUNKS UTILIZATION_FACTOR "
        "WORKLOAD"
    ),
    CONWEAVE: (
        "CNP_OUTPUT_FILE CONN_MON_FILE CONWEAVE_DEFAULT_VOQ_WAITING_TIME "
        "CONWEAVE_EXTRA_VOQ_FLUSH_TIME CONWEAVE_PATH_PAUSE_TIME CONWEAVE_REPLY_TIMEOUT_EXTRA "
        "CONWEAVE_TX_EXPIRY_TIME EST_ERROR_MON_FILE FLOWGEN_START_TIME FLOWGEN_STOP_TIME "
        "FLOW_INPUT_FILE LOAD RANDOM_SEED SW_MONITORING_INTERVAL UPLINK_MON_FILE "
        "VOQ_MON_DETAIL_FILE VOQ_MON_FILE"
    ),
    FLOODGATE: (
        "AVG_MESSAGE_PER_QP BUFFER_INTERVAL BW_INTERVAL BW_OUTPUT_FILE DRILL_LOAD_MODE "
        "FLOODGATE_CONFIG_FILE FLOW_CDF FLOW_NUM INCAST_CDF INCAST_FLOW_SIZE INCAST_INTERVAL "
        "INCAST_LOAD INCAST_MIX INCAST_SCALE INCAST_TIME LOAD NACK_REACTION "
        "OUTPUT_REALTIME_BUFFER PFC_DST_ALHPA PFC_TH_STATIC QUEUEING_OUTPUT_FILE "
        "QUEUE_STATISTIC_INTERVAL_US REALTIME_BUFFER_BW_FILE RESET_ONLY_TOR_SWITCH_WIN "
        "RESET_PER_QP_MSG RESET_QP_RATE SEED SWITCH_ABSOLUTE_PSN SWITCH_ACK_TH_M "
        "SWITCH_SYN_TIMEOUT_US SWITCH_WIN_M SWTICH_ACK_MODE SWTICH_BYTE_COUNTER "
        "SWTICH_CREDIT_INTERVAL"
    ),
    SIMAI: (
        "BW_MON_FILE BW_MON_INTERVAL CNP_MON_FILE MON_END MON_START NIC_TOTAL_PAUSE_TIME "
        "QLEN_MON_INTERVAL QP_MON_INTERVAL RATE_MON_FILE SEND_LAT TOTAL_FLOW_FILE"
    ),
}
"""Keys without an effect if flows come from a file and the keys of `_PHYSICS` are checked."""

_PHYSICS: dict[str, Foreign] = {
    "ENABLE_PFC": Foreign((CONWEAVE,), applied=True),
    "ENABLE_IRN": Foreign((CONWEAVE,), applied=True),
    "LB_MODE": _only(
        CONWEAVE,
        "0",
        "packets are balanced by DRILL (2), CONGA (3), LetFlow (6) or ConWeave (9), which are not "
        "modelled; write `LB_MODE 0`, which is ECMP by flow",
    ),
    "USE_FLOODGATE": _only(
        FLOODGATE,
        "0",
        "Floodgate is not among the schemes that are imported; set it to 0 to import the network "
        "and its congestion control, and run it with `--scheme dcqcn+floodgate` or the like",
    ),
    "FLOW_FROM_FILE": _only(
        FLOODGATE,
        "1",
        "the simulator draws its flows itself; write the flows that it drew into FLOW_FILE, and "
        "set FLOW_FROM_FILE to 1",
    ),
    "ROUTING_MODE": _only(
        FLOODGATE, "0", "packets are balanced by DRILL, which is not modelled; set it to 0 for ECMP"
    ),
    "SRCTOR_DST_PFC": _only(
        FLOODGATE,
        "0",
        "hosts are paused by destination and switches not at all, which is not imported; set it "
        "to 0 for PFC on all links",
    ),
    "QP_MODE": _only(
        FLOODGATE,
        "0",
        "messages share queue pairs, which is not imported; set it to 0 for a queue pair per flow",
    ),
    "SYMMETRIC_ROUTING_MODE": _only(FLOODGATE, "0 1", "unknown", applied=True),
    "RTO_us": Foreign((FLOODGATE,), applied=True),
}
"""Keys that change the model. Each is applied, or refused unless its value is accepted."""


def _all() -> dict[str, Foreign]:
    found: dict[str, Foreign] = dict(_PHYSICS)
    for fork, keys in _LEFT_OUT.items():
        for key in keys.split():
            others = found[key].forks if key in found else ()
            found[key] = Foreign((*others, fork))
    return found


FOREIGN = _all()
"""All keys of forks."""

_DRAWN = ("WORKLOAD", "UTILIZATION_FACTOR", "POISSON_DISTRIBUTION", "CREATE_INCAST", "QCOUNT")
"""Keys that identify a configuration of BFC's simulator."""


def of_bfc(keys: Container[str]) -> list[str]:
    """Return the given keys that identify a configuration of BFC's simulator."""
    return [key for key in _DRAWN if key in keys]


def is_conweave(keys: Iterable[str]) -> bool:
    """Return true if at least one of the keys exists only in ConWeave's simulator."""
    return any(FOREIGN[key].forks == (CONWEAVE,) for key in keys)
