"""The switch between real interfaces, with real clients, in network namespaces of the tests."""

from __future__ import annotations

import json
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import COMMAND, Backwater
from lab import Lab
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
    ) -> Switch:
        """Start the switch."""
        path = self.folder / "lab.toml"
        path.write_text(SCENARIO.format(rate=rate, scheme=scheme, buffer=buffer))
        words = [str(COMMAND), "switch", str(path), "--ports", "p1,p2", "--metrics", "9100"]
        return Switch(self, self.start(*words, "--json", *more))


class Switch:
    """A switch that runs."""

    def __init__(self, lab: SwitchLab, process: subprocess.Popen[str]) -> None:
        self.lab, self.process = lab, process
        assert process.stderr is not None
        line = process.stderr.readline()
        assert "forwards between p1 (to host0), p2 (to host1)" in line, line + process.stderr.read()

    def page(self, path: str) -> str:
        """What its page says."""
        script = f"import urllib.request as u; print(u.urlopen('http://127.0.0.1:9100{path}').read().decode())"
        return self.lab.call(sys.executable, "-c", script)

    def state(self) -> dict[str, Any]:
        """What it counts now."""
        state: dict[str, Any] = json.loads(self.page("/state.json"))
        return state

    def stop(self) -> dict[str, Any]:
        """Stop it as batch systems do; what it counted."""
        self.process.send_signal(signal.SIGTERM)
        said, errors = self.process.communicate(timeout=30)
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
    """Require that an answer comes to each of several requests."""
    told = lab.call(program("ping"), "-c", str(count), "-i", "0.2", "-W", "5", "10.9.0.2", at="h1")
    assert " 0% packet loss" in told, told


def tcp(lab: SwitchLab, seconds: int) -> dict[str, Any]:
    """Send by TCP from host 1 to host 2 for some seconds; what iperf3 says."""
    iperf = program("iperf3")
    lab.start(iperf, "-s", "-1", at="h2")
    time.sleep(1)
    told: dict[str, Any] = json.loads(
        lab.call(iperf, "-c", "10.9.0.2", "-t", str(seconds), "-J", at="h1")
    )
    end: dict[str, Any] = told["end"]
    return end


# WSW-01, WSW-02, WSW-30, WSW-31
def test_ping_and_tcp_go_through_at_the_rate_of_the_ports(lab: SwitchLab) -> None:
    switch = lab.switch()
    ping(lab)
    sent = tcp(lab, 4)
    mbps = sent["sum_received"]["bits_per_second"] / 1e6
    assert 50 < mbps < 200, mbps  # 200 less headers; a busy machine may do less
    last = switch.stop()
    ports = {port["interface"]: dict(port["counters"]) for port in last["ports"]}
    assert ports["p1"]["received"] > 1000
    assert ports["p1"]["socket_unfinished"] == 0
    assert dict(last["counters"])["oversized"] == 0
    assert last["stations"] == 2


# WSW-21
def test_tcp_that_knows_ecn_is_marked_and_backs_off(lab: SwitchLab) -> None:
    for host in (1, 2):
        lab.call("sh", "-c", "echo 1 > /proc/sys/net/ipv4/tcp_ecn", at=f"h{host}")
    queues, marks, lost = [], [], []
    for scheme in (MARKS, NO_MARKS):
        switch = lab.switch("--lossless", "3", rate="50Mbps", scheme=scheme, buffer="2MB")
        ping(lab)
        iperf = program("iperf3")
        server = lab.start(iperf, "-s", "-1", at="h2")
        time.sleep(1)
        client = lab.start(iperf, "-c", "10.9.0.2", "-C", "reno", "-t", "8", "-J", at="h1")
        time.sleep(3)
        seen = []
        for _ in range(12):
            seen.append(switch.state()["ports"][1]["queued_bytes"])
            time.sleep(0.25)
        told, _ = client.communicate(timeout=60)
        server.wait(timeout=30)
        last = switch.stop()
        queues.append(statistics.mean(seen))
        marks.append(dict(last["counters"])["ecn_marked_frames"])
        lost.append(json.loads(told)["end"]["sum_sent"]["retransmits"])
    assert marks[0] > 5
    assert marks[1] == 0
    assert queues[0] < queues[1] / 2, queues


RECEIVE = """
import socket, struct, sys, time
from scapy.all import Ether, sendp
from scapy.contrib.mac_control import MACControlClassBasedFlowControl
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
s.bind(("eth0", 0)); s.settimeout(0.2)
of_3 = MACControlClassBasedFlowControl(c3_enabled=1, c3_pause_time=20000)
pause = Ether(dst="01:80:c2:00:00:01") / of_3
start, paused, seen = time.monotonic(), None, {3: [], 5: []}
while time.monotonic() < start + 5:
    if paused is None and time.monotonic() > start + 1.5:
        sendp(pause, iface="eth0", verbose=False)
        paused = time.monotonic()
    try: frame = s.recv(2000)
    except TimeoutError: continue
    if len(frame) > 100 and frame[23] == 17 and frame[15] >> 5 in seen:
        seen[frame[15] >> 5].append(time.monotonic())
for priority, times in seen.items():
    gaps = [(b - a, a) for a, b in zip(times, times[1:])]
    print(priority, len(times), *max(gaps), paused)
"""

SEND = """
import socket, time
sockets = []
for priority in (3, 5):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, priority << 5)
    sockets.append(s)
end = time.monotonic() + 6
while time.monotonic() < end:
    for s in sockets: s.sendto(bytes(100), ("10.9.0.2", 7000))
    time.sleep(0.005)
"""


# WSW-22, QNT-01, QNT-02, QNT-03
def test_a_pause_of_scapy_holds_the_priority_it_names_for_its_quanta(lab: SwitchLab) -> None:
    switch = lab.switch("--lossless", "3,5", rate="10Mbps")
    ping(lab)
    receiver = lab.start(sys.executable, "-c", RECEIVE, at="h2")
    time.sleep(1)
    lab.start(sys.executable, "-c", SEND, at="h1")
    said, errors = receiver.communicate(timeout=60)
    assert receiver.returncode == 0, errors
    lines = [line.split() for line in said.splitlines()]
    gaps = {int(line[0]): float(line[2]) for line in lines}
    # 20000 quanta of 512 bits at 10 Mb/s; packets come every 5 ms, and the machine may be busy.
    assert 1.024 * 0.95 < gaps[3] < 1.024 * 1.05 + 0.15, said
    assert gaps[5] < 0.5, said
    state = switch.stop()
    assert dict(state["ports"][1]["counters"])["pauses_received"] == 1
    assert dict(state["counters"])["pfc_expiries"] == 1
    assert dict(state["counters"])["dropped_buffer"] == 0


# WSW-40, WSW-42, WSW-43
def test_it_stops_starts_again_survives_a_flap_and_keeps_no_rights(lab: SwitchLab) -> None:
    for _ in range(2):
        switch = lab.switch()
        ping(lab, 1)
        lab.call("ip", "link", "set", "p2", "down")
        time.sleep(0.5)
        assert switch.state()["ports"][1]["up"] is False
        lab.call("ip", "link", "set", "p2", "up")
        time.sleep(1)
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
def test_a_burst_beyond_the_machine_is_dropped_at_the_socket(lab: SwitchLab) -> None:
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
    time.sleep(3)
    last = switch.stop()
    counted = dict(last["ports"][0]["counters"])
    assert counted["socket_dropped"] > 1000, counted
    assert dict(last["counters"])["dropped_buffer"] == 0
    assert counted["socket_dropped"] + counted["received"] >= 40000


TAGGED = """
import sys
from scapy.all import Dot1Q, Ether, Raw, sendp, sniff
tagged = Dot1Q(vlan=5, prio=3, type=0x9000) / Raw(b"tagged")
if sys.argv[1] == "send":
    sendp(Ether(dst="ff:ff:ff:ff:ff:ff") / tagged, iface="eth0", count=3)
else:
    ready = lambda: print("ready", flush=True)
    is_one = lambda frame: b"tagged" in bytes(frame)
    for frame in sniff(iface="eth0", lfilter=is_one, count=3, timeout=15, started_callback=ready):
        print(frame[Dot1Q].vlan, frame[Dot1Q].prio)
"""


def test_tags_and_frames_longer_than_a_page_arrive_as_they_were(lab: SwitchLab) -> None:
    for host in (1, 2):
        lab.call("ip", "link", "set", f"p{host}", "mtu", "9000")
        lab.call("ip", "link", "set", "eth0", "mtu", "9000", at=f"h{host}")
    switch = lab.switch("--mtu", "9000")
    # Without fragments and with a content that is compared.
    words = ("-c", "3", "-i", "0.2", "-W", "5", "-s", "8972", "-M", "do", "-p", "0123456789abcdef")
    told = lab.call(program("ping"), *words, "10.9.0.2", at="h1")
    assert " 0% packet loss" in told, told
    assert "wrong data byte" not in told, told
    receiver = lab.start(sys.executable, "-c", TAGGED, "receive", at="h2")
    assert receiver.stdout is not None
    assert receiver.stdout.readline() == "ready\n"
    time.sleep(1)
    lab.call(sys.executable, "-c", TAGGED, "send", at="h1")
    said, errors = receiver.communicate(timeout=60)
    assert said.split("\n") == ["5 3", "5 3", "5 3", ""], said + errors
    last = switch.stop()
    assert dict(last["counters"])["oversized"] == 0


def test_what_is_missing_is_said(lab: SwitchLab, tmp_path: Path, command: Backwater) -> None:
    path = tmp_path / "lab.toml"
    path.write_text(SCENARIO.format(rate="1Gbps", scheme=MARKS, buffer="4MB"))
    absent_port = lab.start(str(COMMAND), "switch", str(path), "--ports", "p1,eth77")
    _, errors = absent_port.communicate(timeout=60)
    assert absent_port.returncode == 1
    assert "there is no Ethernet interface eth77" in errors
    words = (program("unshare"), "-U", str(COMMAND), "switch", str(path), "--ports", "p1,p2")
    _, errors = lab.start(*words).communicate(timeout=60)
    assert "CAP_NET_RAW" in errors
    looped = command("switch", path, "--ports", "lo,p2")
    assert looped.returncode == 1
    assert "there is no Ethernet interface lo" in looped.stderr
    for bad, what in (
        (("--lossless", "9"), "from 0 to 7"),
        (("--station", "nobody"), "ADDRESS=INTERFACE"),
        (("--station", "02:00:00:00:00:01=eth9"), "not among --ports"),
        (("--socket", "xdp"), "--socket was removed"),
    ):
        said = command("switch", path, "--ports", "p1,p2", *bad)
        assert said.returncode == 2
        assert what in said.stderr
