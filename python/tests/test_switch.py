"""The switch between real interfaces, with real clients, in network namespaces of the tests."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab import PATIENCE, Lab, wait_for_line, wait_until

from conftest import COMMAND
from tools import program

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="raw sockets of Linux")

# Two hosts behind veth pairs. The switch's ends of the pairs are in the namespace of the lab.
SETUP = """\
ip link set lo up
for i in 1 2; do
    ip netns add h$i
    ip link add p$i type veth peer name eth0 netns h$i
    echo 1 > /proc/sys/net/ipv6/conf/p$i/disable_ipv6
    ip -n h$i addr add 10.9.0.$i/24 dev eth0
    ip -n h$i link set eth0 up
    ip link set p$i up
done
"""

SCENARIO = """\
name = "lab"
[topology]
kind = "star"
hosts = 2
link = {{ rate = "{rate}", delay = "1us" }}
[switch]
buffer = "{buffer}"
[[traffic]]
name = "none"
pattern = "list"
flows = [{{ src = 0, dst = 1, bytes = "1KB" }}]
[scheme]
{scheme}
"""

MARKS = 'preset = "dctcp"\necn = { kmin = "30KB", kmax = "30KB" }'
NO_MARKS = 'preset = "line-rate"'


class SwitchLab(Lab):
    """Two hosts, and a switch between them."""

    def switch(
        self, *more: str, rate: str = "200Mbps", scheme: str = MARKS, buffer: str = "4MB"
    ) -> "Switch":
        """Start the switch."""
        path = self.folder / "lab.toml"
        path.write_text(SCENARIO.format(rate=rate, scheme=scheme, buffer=buffer))
        words = [str(COMMAND), "switch", str(path), "--ports", "p1,p2", "--metrics", "9100"]
        return Switch(self, self.start(*words, "--json", *more))


class Switch:
    """A switch that runs."""

    def __init__(self, lab: SwitchLab, process: subprocess.Popen[str]) -> None:
        self.lab, self.process = lab, process
        line = process.stderr.readline()
        assert "forwards between p1 (to host0), p2 (to host1)" in line, line + process.stderr.read()

    def page(self, path: str) -> str:
        """Return a page of its metrics."""
        script = f"import urllib.request as u; print(u.urlopen('http://127.0.0.1:9100{path}').read().decode())"
        return self.lab.call(sys.executable, "-c", script)

    def state(self) -> dict[str, Any]:
        """Return its present counters."""
        return json.loads(self.page("/state.json"))

    def port(self, number: int) -> dict[str, Any]:
        """Return the present state of a port."""
        return self.state()["ports"][number]

    def counted(self, number: int) -> dict[str, int]:
        """Return the present counters of a port."""
        return dict(self.port(number)["counters"])

    def wait_for_link(self, number: int, *, up: bool) -> None:
        """Wait until the switch has noticed the state of a link."""
        wait_until(lambda: self.port(number)["up"] is up)

    def stop(self) -> dict[str, Any]:
        """Stop it as batch systems do, and return its counters."""
        self.process.send_signal(signal.SIGTERM)
        said, errors = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0, errors
        last: dict[str, Any] = json.loads(said)
        assert last["broken"] == []
        assert dict(last["counters"])["unwritable"] == 0
        return last


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[SwitchLab]:
    made = SwitchLab(tmp_path, SETUP)
    yield made
    made.close()


def ping(lab: SwitchLab, count: int = 3) -> None:
    """Require an answer to each of several requests, after the first answer ever."""
    words = (program("ping"), "-i", "0.2", "10.9.0.2")
    once = [*lab.at("h1"), *words, "-c", "1", "-W", "10"]
    wait_until(lambda: subprocess.run(once, capture_output=True, check=False).returncode == 0)
    told = lab.call(*words, "-c", str(count), "-W", "60", at="h1")
    assert " 0% packet loss" in told, told


def tcp(lab: SwitchLab, megabytes: int, *more: str) -> dict[str, Any]:
    """Send some MiB by TCP from host 1 to host 2, and return the report of iperf3."""
    iperf = program("iperf3")
    server = lab.start(iperf, "-s", "-1", "--forceflush", at="h2")
    wait_for_line(server, "Server listening")
    words = (iperf, "-c", "10.9.0.2", "-n", f"{megabytes}M", "-J", *more)
    end = json.loads(lab.call(*words, at="h1"))["end"]
    server.communicate(timeout=PATIENCE)
    return end


# WSW-01, WSW-02, WSW-30, WSW-31
def test_ping_and_tcp_go_through_no_faster_than_the_rate_of_the_ports(lab):
    switch = lab.switch(rate="50Mbps")
    ping(lab)
    started = time.monotonic()
    sent = tcp(lab, 10)
    elapsed = time.monotonic() - started
    # A busy machine takes longer, and none takes less.
    assert elapsed > sent["sum_received"]["bytes"] * 8 / 50e6
    assert sent["sum_sent"]["bytes"] >= 10 * 2**20
    last = switch.stop()
    ports = {port["interface"]: dict(port["counters"]) for port in last["ports"]}
    assert ports["p1"]["received"] > 1000
    assert ports["p1"]["socket_unfinished"] == 0
    assert dict(last["counters"])["oversized"] == 0
    assert last["stations"] == 2


# WSW-21
def test_tcp_that_knows_ecn_is_marked_and_backs_off(lab):
    for host in (1, 2):
        lab.call("sh", "-c", "echo 1 > /proc/sys/net/ipv4/tcp_ecn", at=f"h{host}")
    longest, marks = [], []
    for scheme in (MARKS, NO_MARKS):
        switch = lab.switch("--lossless", "3", rate="50Mbps", scheme=scheme, buffer="2MB")
        ping(lab)
        tcp(lab, 12, "-C", "reno")
        last = switch.stop()
        longest.append(last["ports"][1]["queued_most_bytes"])
        marks.append(dict(last["counters"])["ecn_marked_frames"])
    assert marks[0] > 5
    assert marks[1] == 0
    assert longest[0] < longest[1], longest


# Prints the priority of each datagram that arrives.
RECEIVE = """
import socket
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
s.bind(("eth0", 0))
print("ready", flush=True)
while True:
    frame = s.recv(2000)
    if len(frame) > 100 and frame[23] == 17: print(frame[15] >> 5, flush=True)
"""

# Pauses priority 3 again and again, until its input names the quanta of the last pause.
PAUSE = """
import select, sys
from scapy.all import Ether, sendp
from scapy.contrib.mac_control import MACControlClassBasedFlowControl
def pause(quanta):
    of_3 = MACControlClassBasedFlowControl(c3_enabled=1, c3_pause_time=quanta)
    sendp(Ether(dst="01:80:c2:00:00:01") / of_3, iface="eth0", verbose=False)
pause(65535)
while not select.select([sys.stdin], [], [], 2)[0]: pause(65535)
pause(int(sys.stdin.readline()))
"""

# Sends 20 datagrams of each of two priorities, in turn.
SEND = """
import socket
sockets = []
for priority in (3, 5):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, priority << 5)
    sockets.append(s)
for _ in range(20):
    for s in sockets: s.sendto(bytes(100), ("10.9.0.2", 7000))
"""


# WSW-22, QNT-01, QNT-02, QNT-03: exact times are in crates/live/tests/conformance.rs
def test_a_pause_of_scapy_holds_the_priority_it_names_for_its_quanta(lab):
    # The longest pause, 65535 quanta of 512 bits, lasts 34 s at this rate. It is sent every 2 s.
    switch = lab.switch("--lossless", "3,5", rate="1Mbps")
    ping(lab)
    receiver = lab.start(sys.executable, "-c", RECEIVE, at="h2")
    wait_for_line(receiver, "ready")
    pauser = lab.start(sys.executable, "-c", PAUSE, at="h2")
    wait_until(lambda: switch.port(1)["paused"] == [3])
    lab.call(sys.executable, "-c", SEND, at="h1")
    assert [receiver.stdout.readline() for _ in range(20)] == ["5\n"] * 20
    assert switch.port(1)["paused"] == [3]
    assert dict(switch.state()["counters"])["pfc_expiries"] == 0
    _, errors = pauser.communicate("100\n", timeout=PATIENCE)
    assert pauser.returncode == 0, errors
    assert [receiver.stdout.readline() for _ in range(20)] == ["3\n"] * 20
    state = switch.stop()
    assert dict(state["ports"][1]["counters"])["pauses_received"] > 1
    assert dict(state["counters"])["pfc_expiries"] == 1
    assert dict(state["counters"])["dropped_buffer"] == 0


# WSW-40, WSW-42, WSW-43
def test_it_stops_starts_again_survives_a_flap_and_keeps_no_rights(lab):
    for _ in range(2):
        switch = lab.switch()
        ping(lab, 1)
        lab.call("ip", "link", "set", "p2", "down")
        switch.wait_for_link(1, up=False)
        lab.call("ip", "link", "set", "p2", "up")
        switch.wait_for_link(1, up=True)
        ping(lab, 1)
        text = switch.page("/metrics")
        assert 'backwater_port_up{switch="switch0",port="p1"} 1' in text, text
        assert "queues" in switch.page("/state.json")
        assert "<table>" in switch.page("/")
        threads = list(Path(f"/proc/{switch.process.pid}/task").glob("*/status"))
        assert len(threads) > 1
        for thread in threads:
            lines = thread.read_text().splitlines()
            held = {line.split()[1] for line in lines if line.startswith(("CapEff", "CapPrm"))}
            assert [int(rights, 16) for rights in held] == [1 << 13], (thread, held)
        last = switch.stop()
        assert dict(last["ports"][1]["counters"])["link_changes"] == 2


# WSW-41
def test_a_burst_beyond_the_machine_is_dropped_at_the_socket(lab):
    switch = lab.switch(rate="1Gbps", buffer="64MB")
    ping(lab, 1)
    switch.process.send_signal(signal.SIGSTOP)
    burst = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(40000):
    s.sendto(bytes(1400), ("10.9.0.2", 7))
"""
    lab.call(sys.executable, "-c", burst, at="h1")
    switch.process.send_signal(signal.SIGCONT)

    def is_complete() -> bool:
        counted = switch.counted(0)
        return counted["socket_dropped"] + counted["received"] >= 40000

    wait_until(is_complete)
    last = switch.stop()
    counted = dict(last["ports"][0]["counters"])
    assert counted["socket_dropped"] > 1000, counted
    assert dict(last["counters"])["dropped_buffer"] == 0


TAGGED = """
import sys
from scapy.all import Dot1Q, Ether, Raw, sendp, sniff
tagged = Dot1Q(vlan=5, prio=3, type=0x9000) / Raw(b"tagged")
if sys.argv[1] == "send":
    sendp(Ether(dst="ff:ff:ff:ff:ff:ff") / tagged, iface="eth0", count=3)
else:
    ready = lambda: print("ready", flush=True)
    is_one = lambda frame: b"tagged" in bytes(frame)
    for frame in sniff(iface="eth0", lfilter=is_one, count=3, started_callback=ready):
        print(frame[Dot1Q].vlan, frame[Dot1Q].prio)
"""


def test_tags_and_frames_longer_than_a_page_arrive_as_they_were(lab):
    for host in (1, 2):
        lab.call("ip", "link", "set", f"p{host}", "mtu", "9000")
        lab.call("ip", "link", "set", "eth0", "mtu", "9000", at=f"h{host}")
    switch = lab.switch("--mtu", "9000")
    ping(lab, 1)
    # Without fragments and with a content that is compared.
    words = ("-c", "3", "-i", "0.2", "-W", "60", "-s", "8972", "-M", "do", "-p", "0123456789abcdef")
    told = lab.call(program("ping"), *words, "10.9.0.2", at="h1")
    assert " 0% packet loss" in told, told
    assert "wrong data byte" not in told, told
    receiver = lab.start(sys.executable, "-c", TAGGED, "receive", at="h2")
    wait_for_line(receiver, "ready")
    lab.call(sys.executable, "-c", TAGGED, "send", at="h1")
    said, errors = receiver.communicate(timeout=PATIENCE)
    assert said.split("\n") == ["5 3", "5 3", "5 3", ""], said + errors
    last = switch.stop()
    assert dict(last["counters"])["oversized"] == 0


def test_what_is_missing_is_said(lab, tmp_path, command):
    path = tmp_path / "lab.toml"
    path.write_text(SCENARIO.format(rate="1Gbps", scheme=MARKS, buffer="4MB"))
    absent_port = lab.start(str(COMMAND), "switch", str(path), "--ports", "p1,eth77")
    _, errors = absent_port.communicate(timeout=PATIENCE)
    assert absent_port.returncode == 1
    assert "there is no Ethernet interface eth77" in errors
    words = (program("unshare"), "-U", str(COMMAND), "switch", str(path), "--ports", "p1,p2")
    _, errors = lab.start(*words).communicate(timeout=PATIENCE)
    assert "CAP_NET_RAW" in errors
    looped = command("switch", path, "--ports", "lo,p2", code=1)
    assert "there is no Ethernet interface lo" in looped.stderr
    for bad, what in (
        (("--lossless", "9"), "from 0 to 7"),
        (("--station", "nobody"), "ADDRESS=INTERFACE"),
        (("--station", "02:00:00:00:00:01=eth9"), "not among --ports"),
        (("--socket", "xdp"), "--socket was removed"),
    ):
        said = command("switch", path, "--ports", "p1,p2", *bad, code=2)
        assert what in said.stderr
