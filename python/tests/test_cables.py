"""Hosts that links join: what runs record of them, and workloads on them."""

import backwater
from backwater.scenario import thresholds
from tools import simulated

RING = """\
name = "ring"
[topology]
kind = "links"
hosts = ["a", "b", "c", "d"]
switches = []
links = [
    { a = "a", b = "b", rate = "100Gbps", delay = "1us" },
    { a = "b", b = "c", rate = "100Gbps", delay = "1us" },
    { a = "c", b = "d", rate = "100Gbps", delay = "1us" },
    { a = "d", b = "a", rate = "100Gbps", delay = "1us" },
]
"""

FLOWS = """
[[traffic]]
name = "x"
pattern = "list"
flows = [{ src = "a", dst = "b", bytes = "1MB" }, { src = "d", dst = "a", bytes = "1MB" }]
"""

RECORD = """
[record]
utilisation = { every = "10us" }
throughput = { every = "10us" }
blame = {}
capture = { links = ["a:*"] }
"""


def test_everything_that_concerns_hosts_is_recorded(tmp_path):
    (tmp_path / "ring.toml").write_text(RING + FLOWS + RECORD)
    ring = backwater.Scenario(tmp_path / "ring.toml")
    said = list(thresholds.lines(ring.thresholds(), ring.resources(), ring.values["scheme"]))
    assert said[0] == "The fabric: 4 hosts, the slowest at 100 Gbps"
    assert len(said) > 3, "also without a switch"
    run = simulated(tmp_path / "ring.toml", out=tmp_path / "run")
    assert run.summary["flows"]["unfinished"] == 0
    ports = {(r["name"], r["peer_name"]): r for r in run.table("ports").to_dicts()}
    assert len(ports) == 8
    # 1000 packets of 1048 bytes, and ACKs of the other flow on no link of this one.
    assert ports["a", "b"]["tx_bytes"] == ports["d", "a"]["tx_bytes"] == 1000 * 1048
    assert ports["b", "a"]["tx_bytes"] == ports["a", "d"]["tx_bytes"] == 1000 * 60
    assert run.table("flows")["slowdown"].max() == 1.0
    assert (tmp_path / "run" / "capture.pcapng").stat().st_size > 100_000
