"""Hosts of the dataplane on real interfaces, through its switches, in namespaces of the tests.

Rates are low, and the assertions hold however late the machine runs a program: the headroom of PFC
and the sockets have room for all packets of both senders.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from lab import PATIENCE, Lab

import backwater
from backwater.errors import RunError
from conftest import COMMAND

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="raw sockets of Linux")

Links = list[tuple[str, str, str]]

# Two senders and a receiver with a slower link, behind one switch or behind two.
ONE_SWITCH = [("a", "s", "100Mbps"), ("b", "s", "100Mbps"), ("c", "s", "25Mbps")]
TWO_SWITCHES = [*ONE_SWITCH[:2], ("s", "t", "100Mbps"), ("c", "t", "25Mbps")]
HOSTS = ("a", "b", "c")
BYTES = 1_000_000

SCENARIO = """\
name = "lab"
[topology]
kind = "links"
hosts = [{hosts}]
switches = [{switches}]
links = [
{links}
]
[switch]
buffer = "20MB"
[[traffic]]
name = "incast"
pattern = "list"
flows = [
    {{ src = 0, dst = 2, bytes = "{bytes}B" }},
    {{ src = 1, dst = 2, bytes = "{bytes}B" }},
]
[scheme]
mtu = "1000B"
go-back-n = {{ timeout = "1s" }}
{scheme}
"""


def written(folder: Path, links: Links, scheme: str) -> Path:
    """Write the scenario of these links."""
    quoted = [
        f'    {{ a = "{a}", b = "{b}", rate = "{rate}", delay = "200us" }},' for a, b, rate in links
    ]
    path = folder / "lab.toml"
    path.write_text(
        SCENARIO.format(
            hosts=", ".join(f'"{name}"' for name in HOSTS),
            switches=", ".join(f'"{name}"' for name in switches_of(links)),
            links="\n".join(quoted),
            bytes=BYTES,
            scheme=scheme,
        )
    )
    return path


def switches_of(links: Links) -> list[str]:
    """Names of the switches."""
    return sorted({name for link in links for name in link[:2]} - set(HOSTS))


class Network(Lab):
    """A scenario of hosts and switches, each in a namespace of its own."""

    def __init__(self, folder: Path, links: Links) -> None:
        self.links = links
        self.switches = switches_of(links)
        lines = []
        for name in (*HOSTS, *self.switches):
            lines.append(f"ip netns add {name}")
            quiet = "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6"
            lines.append(f"ip netns exec {name} sh -c '{quiet}'")
        for a, b, _ in links:
            lines.append(f"ip link add to-{b} netns {a} type veth peer name to-{a} netns {b}")
            lines.extend((f"ip -n {a} link set to-{b} up", f"ip -n {b} link set to-{a} up"))
        # The kernel takes up to a second to report that a link is up.
        for name in (*HOSTS, *self.switches):
            count = f"ip -n {name} -o link show | grep -c ' to-.* state UP'"
            up = f'[ "$({count})" = {len(self.ports(name))} ]'
            lines.append(f"until {up}; do sleep 0.1; done")
        super().__init__(folder, "\n".join(lines))

    def ports(self, name: str) -> list[str]:
        """The interfaces of a node, those to hosts first."""
        peers = [a if b == name else b for a, b, _ in self.links if name in (a, b)]
        return [f"to-{peer}" for peer in sorted(peers, key=lambda peer: peer not in HOSTS)]

    def scenario(self, scheme: str) -> Path:
        """Write the scenario."""
        return written(self.folder, self.links, scheme)

    def run_at(self, command: str, name: str, scenario: Path, *more: str) -> subprocess.Popen[str]:
        """Start a switch or a host, and wait until it is ready."""
        ports = ",".join(self.ports(name))
        words = [str(COMMAND), command, str(scenario), "--node", name, "--ports", ports, "--json"]
        process = self.start(*words, *more, at=name)
        line = process.stderr.readline()
        assert line.startswith(f"{name} "), line + process.stderr.read()
        for port in self.ports(name):
            assert f"{port} (to {port.removeprefix('to-')})" in line
        return process

    def host(self, name: str, scenario: Path, *more: str) -> subprocess.Popen[str]:
        """Start a host that writes its results into a folder of its name."""
        return self.run_at("host", name, scenario, "--force", "-o", str(self.folder / name), *more)

    def incast(self, scheme: str, *more: str) -> dict[str, dict[str, Any]]:
        """Let a and b send to c; what every node counted."""
        scenario = self.scenario(scheme)
        switches = {name: self.run_at("switch", name, scenario) for name in self.switches}
        receiver = self.host("c", scenario)
        senders = {name: self.host(name, scenario, "--for", str(PATIENCE), *more) for name in "ab"}
        said = {name: finished(process) for name, process in senders.items()}
        for name, process in {"c": receiver, **switches}.items():
            said[name] = stopped(process)
        for name in self.switches:
            counted = dict(said[name]["counters"])
            assert said[name]["broken"] == []
            assert counted["dropped"] == 0, counted
        for name in "ab":
            assert said[name]["flows"]["finished"] == 1
        assert dict(said["c"]["counters"])["delivered_bytes"] == 2 * BYTES
        for name in HOSTS:
            counted = dict(said[name]["counters"])
            wrong = ("misdirected", "impostors", "malformed", "unexpected", "unwritable")
            assert not any(counted[what] for what in wrong), counted
        return said


def finished(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Return the output of a node that ends by itself."""
    said, errors = process.communicate(timeout=2 * PATIENCE)
    assert process.returncode == 0, said + errors
    return json.loads(said)


def stopped(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Stop a node as batch systems do, and return its output."""
    process.send_signal(signal.SIGTERM)
    return finished(process)


def network(folder: Path, links: Links) -> Iterator[Network]:
    made = Network(folder, links)
    yield made
    made.close()


@pytest.fixture
def star(tmp_path: Path) -> Iterator[Network]:
    yield from network(tmp_path, ONE_SWITCH)


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[Network]:
    yield from network(tmp_path, TWO_SWITCHES)


def counted(said: dict[str, dict[str, Any]], name: str) -> dict[str, int]:
    """The counters of a node."""
    return dict(said[name]["counters"])


def sent_once(said: dict[str, dict[str, Any]], name: str) -> bool:
    """True if a host sent no packet again, or if the machine was too slow: frames found no room at
    a socket, or an answer took longer than the timeout.
    """
    ports = [dict(port["counters"]) for one in said.values() for port in one["ports"]]
    lost = sum(port["socket_dropped"] + port["socket_unsent"] for port in ports)
    sender = counted(said, name)
    return sender["retransmissions"] == 0 or lost > 0 or sender["timeouts"] > 0


# Headroom for all packets of both senders, so that no delay of a sender makes the switch drop.
PFC = 'pfc = { response = "200ms", xoff = "100KB" }'
# DCQCN's lowest rate is the rate of the senders' links, so only pauses slow them down.
DCQCN = f"""\
preset = "dcqcn"
ecn = {{ kmin = "10KB", kmax = "40KB", pmax = 0.2, rate = "25Mbps" }}
{PFC}
"""


# HST-01, HST-04, HST-10, HST-20, HST-30, HST-31
def test_marks_come_back_as_cnps_and_pauses_hold_senders(star):
    said = star.incast(DCQCN)
    receiver, switch = counted(said, "c"), counted(said, "s")
    assert receiver["ecn_marks_received"] > 20
    assert receiver["cnps_sent"] > 5
    assert switch["ecn_marks"] >= receiver["ecn_marks_received"]
    assert switch["pfc_pauses"] > 0
    for name in "ab":
        sender = counted(said, name)
        assert sender["cnps_received"] > 2
        assert sender["pauses_obeyed"] > 0
        assert sent_once(said, name)
    table = pl.read_parquet(star.folder / "a" / "flows.parquet").to_dicts()
    assert [(row["src"], row["dst"], row["bytes"]) for row in table] == [(0, 2, BYTES)]
    assert table[0]["finished"]
    assert table[0]["fct_ps"] == table[0]["acked_ps"] - table[0]["start_ps"]
    # Its payload alone takes 0.32 s at 25 Mbps.
    assert table[0]["fct_ps"] > 0.32e12
    assert table[0]["slowdown_acked"] > 1
    assert json.loads((star.folder / "a" / "host.json").read_text()) == said["a"]
    with pytest.raises(RunError, match="of a host on real frames"):
        backwater.load(star.folder / "a")


SLOW_LINKS = """\
[scheme.dcqcn]
min_rate = "1Mbps"
ai = "500kbps"
hai = "2Mbps"
alpha_timer = "2ms"
increase_timer = "10ms"
decrease_interval = "2ms"
cnp_interval = "2ms"
"""


def test_dcqcn_slows_senders_down_with_rates_and_times_of_slow_links(star):
    slow = counted(star.incast(DCQCN + SLOW_LINKS), "c")
    fast = counted(star.incast(DCQCN), "c")
    assert slow["cnps_sent"] < slow["ecn_marks_received"]
    # Senders that keep the rate of their links have nearly all packets marked.
    assert slow["ecn_marks_received"] < fast["ecn_marks_received"]


def test_telemetry_is_written_by_each_switch_and_read_by_senders(chain):
    said = chain.incast(f'preset = "hpcc"\n{PFC}')
    for name in "ab":
        sender = counted(said, name)
        assert sender["int_stacks_received"] > 100
        assert sender["int_hops_received"] == 2 * sender["int_stacks_received"]
    for name in chain.switches:
        assert counted(said, name)["int_hops"] >= 2 * BYTES // 1000


# HST-20, WSW-23
def test_bfc_holds_queues_of_the_switch_before_and_of_hosts(chain):
    said = chain.incast('preset = "bfc"')
    for name in chain.switches:
        assert counted(said, name)["bfc_pauses"] > 0
        assert counted(said, name)["bfc_resumes"] > 0
    # Pauses of t reach s, which pauses the hosts in turn.
    to_t = next(port for port in said["s"]["ports"] if port["interface"] == "to-t")
    assert to_t["queued_most_bytes"] > 0
    for name in "ab":
        assert counted(said, name)["pauses_obeyed"] > 0
        assert sent_once(said, name)


def test_floodgate_holds_an_incast_at_the_switch_before(chain):
    said = chain.incast(DCQCN.replace('"dcqcn"', '"dcqcn+floodgate"'))
    first, last = counted(said, "s"), counted(said, "t")
    assert first["floodgate_held"] > 0
    assert first["floodgate_released"] == first["floodgate_held"]
    assert last["floodgate_credit_frames"] > 0
    assert last["floodgate_held"] == 0


# HST-05, HST-30
def test_flows_of_a_file_go_both_ways_and_a_signal_keeps_what_was_measured(star):
    flows = star.folder / "flows.csv"
    flows.write_text(
        "src,dst,bytes,start\n0,1,30000,0us\n2,0,20000,100ms\n2,1,1000,200ms\n0,1,1000,3600s\n"
    )
    scenario = star.scenario(DCQCN)
    switch = star.run_at("switch", "s", scenario)
    more = ("--flows", str(flows))
    listening = {name: star.host(name, scenario, *more, "--listen") for name in "ba"}
    last = finished(star.host("c", scenario, *more, "--for", str(PATIENCE)))
    assert last["flows"]["started"] == last["flows"]["finished"] == 2
    said = {name: stopped(process) for name, process in listening.items()}
    assert dict(said["b"]["counters"])["delivered_bytes"] == 31_000
    # The flow of the next hour has not begun.
    assert said["a"]["flows"]["started"] == said["a"]["flows"]["finished"] == 1
    table = pl.read_parquet(star.folder / "c" / "flows.parquet").to_dicts()
    assert [(row["dst"], row["bytes"], row["start_ps"]) for row in table] == [
        (0, 20_000, 100_000_000_000),
        (1, 1000, 200_000_000_000),
    ]
    stopped(switch)


# HST-30: what is unfinished is named
def test_a_peer_that_never_answers_is_named(star):
    alone = star.host("a", star.scenario(DCQCN), "--for", "2")
    said, errors = alone.communicate(timeout=PATIENCE)
    assert alone.returncode == 1
    assert "flow 0 to c is not finished: 0 of 1,000,000 B acknowledged" in errors
    assert "nothing ever came from c" in errors
    last = json.loads(said)
    assert (last["flows"]["started"], last["flows"]["finished"]) == (1, 0)
    assert [flow["id"] for flow in last["unfinished"]] == [0]
    table = pl.read_parquet(star.folder / "a" / "flows.parquet").to_dicts()
    assert [(row["finished"], row["acked_ps"]) for row in table] == [(False, None)]


def hurried(star: Network) -> Path:
    """A scenario with links that are faster than any machine."""
    path = star.scenario('preset = "line-rate"')
    fast = path.read_text().replace('"100Mbps"', '"400Gbps"').replace('"25Mbps"', '"400Gbps"')
    path.write_text(fast.replace(f"{BYTES}B", "4GB").replace('"20MB"', '"1GB"'))
    return path


# WSW-30
def test_a_link_faster_than_the_machine_does_not_keep_it_from_stopping(star):
    alone = star.host("a", hurried(star), "--for", "2")
    said, errors = alone.communicate(timeout=PATIENCE)
    assert "links were slower than the scenario says" in errors
    last = json.loads(said)
    assert dict(last["counters"])["overruns"] > 0


# WSW-30: each answer makes the sender catch up
def test_nor_do_answers_that_come_meanwhile(star):
    scenario = hurried(star)
    switch = star.run_at("switch", "s", scenario)
    receiver = star.host("c", scenario)
    said, _ = star.host("a", scenario, "--for", "2").communicate(timeout=PATIENCE)
    last = json.loads(said)
    counters = dict(last["counters"])
    assert counters["overruns"] > 0
    assert counters["frames_received"] > 0, counters
    for process in (receiver, switch):
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)


# HST-22
def test_an_interface_that_goes_ends_the_run_and_keeps_its_results(star):
    sender = star.host("a", star.scenario(DCQCN))
    star.call("ip", "link", "del", "to-s", at="a")
    said, errors = sender.communicate(timeout=PATIENCE)
    assert sender.returncode == 1
    assert "error: interface to-s no longer exists" in errors
    assert json.loads((star.folder / "a" / "host.json").read_text()) == json.loads(said)


# HST-22
def test_frames_longer_than_the_interface_takes_are_an_error(star):
    star.call("ip", "link", "set", "to-s", "mtu", "600", at="a")
    sender = star.host("a", star.scenario(DCQCN), "--for", str(PATIENCE))
    _, errors = sender.communicate(timeout=2 * PATIENCE)
    assert sender.returncode == 1
    assert "to-s does not accept frames of" in errors
    assert "give it a larger MTU" in errors


# HST-02
@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (("--node", "d", "--ports", "x"), "the scenario has no host d; it has a to c"),
        (("--node", "a", "--ports", "x,y"), "a has 1 port in the scenario, but 2 interfaces"),
        (("--node", "a", "--ports", "x,x"), "an interface is named twice"),
        (("--node", "a", "--ports", "nothing"), "there is no Ethernet interface nothing"),
        (("--node", "a", "--ports", "lo"), "there is no Ethernet interface lo"),
        (("--node", "a", "--ports", "x", "--peer", "b=1:2"), "expected HOST=ADDRESS"),
        (("--node", "a", "--ports", "x", "--peer", "d=2:0:0:0:0:1"), "the scenario has no host d"),
        (("--node", "a", "--ports", "x", "--for", "-1"), "such as 30s"),
        (("--node", "a", "--ports", "x", "--socket=xdp"), "--socket was removed"),
        (("--node", "a", "--ports", "x", "--flows", "none.csv"), "none.csv"),
        (("--node", "a", "--ports", "x", "--scheme", "ndp"), "receiver-driven transports"),
    ],
)
def test_what_is_wrong_is_said(more, expected, tmp_path, command):
    scenario = written(tmp_path, ONE_SWITCH, 'preset = "line-rate"')
    said = command("host", scenario, "-o", tmp_path / "out", *more, code=None)
    assert said.exit_code in (1, 2)
    assert expected in said.stderr
    assert not (tmp_path / "out" / "host.json").exists()
