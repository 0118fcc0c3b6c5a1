"""Connection matrices and topologies of htsim."""

import tomllib
from collections import Counter

import pytest
from import_files import THREE_TIERS, refused

import backwater
from backwater.errors import ScenarioError
from backwater.importers import importing, networks
from backwater.importers.common.source import Findings
from backwater.importers.htsim import matrix as htsim
from backwater.importers.htsim import operations as htsim_operations
from backwater.importers.htsim import topology as htsim_topology
from backwater.importers.htsim.matrix import Fires, Matrix
from backwater.importers.htsim.topology import FatTree
from backwater.importers.importing import Wishes

CHAIN = """\
Nodes 4
Connections 4
Triggers 3
Failures 1
# a comment
0->1 id 1 start 1500 size 1000 send_done_trigger 1
0->2 id 2 trigger 1 size 2000 recv_done_trigger 2 prio 3
2->3 id 3 trigger 2 size 3000 recv_done_trigger 3
3->0 id 4 trigger 3 size 4000 msg 1
trigger id 1 oneshot
trigger id 2 multishot
trigger id 3 barrier count 1
failure switch_type AGG switch_id 1 link_id 1
"""

TWO_TIERS = """\
Nodes 8
Tiers 2
Podsize 8
Tier 0
Downlink_speed_Gbps 100
Radix_Down 4
Radix_Up 2
Oversubscribed 2
Downlink_Latency_ns 1000
Tier 1
Downlink_speed_Gbps 100
Radix_Down 4
Bundle 2
Downlink_Latency_ns 1000
"""


def matrix(text: str, findings: Findings | None = None) -> Matrix:
    return htsim.parse("x.cm", text.splitlines(), findings or Findings())


def tree(text: str, findings: Findings | None = None) -> FatTree:
    return htsim_topology.parse("x.topo", text.splitlines(), findings or Findings())


def topology(network: networks.Network) -> dict:
    return tomllib.loads("\n".join(network.lines))["topology"]


def test_a_matrix_is_read():
    found = matrix(CHAIN)
    assert found.nodes == 4
    assert [(c.src, c.dst, c.id, c.bytes) for c in found.connections] == [
        (0, 1, 1, 1000),
        (0, 2, 2, 2000),
        (2, 3, 3, 3000),
        (3, 0, 4, 4000),
    ]
    assert [c.start_ps for c in found.connections] == [1500, None, None, None]
    assert [(c.trigger, c.send_done, c.recv_done) for c in found.connections] == [
        (0, 1, 0),
        (1, 0, 2),
        (2, 0, 3),
        (3, 0, 0),
    ]
    kinds = [found.triggers[n].fires for n in (1, 2, 3)]
    assert kinds == [Fires.ONESHOT, Fires.MULTISHOT, Fires.BARRIER]
    assert found.failures[0].switch == "AGG"


def test_operations_of_a_matrix():
    findings = Findings()
    found = matrix(CHAIN)
    assert not htsim_operations.is_flow_list(found)
    workload = htsim_operations.convert(found, findings)
    assert workload.options["matching"] == "none"
    assert workload.triggers == [
        {"kind": "one-shot"},
        {"kind": "multi-shot"},
        {"kind": "barrier", "count": 1},
    ]
    rows = workload.frame()
    assert rows["kind"].to_list() == ["calc", "send", "send", "send", "send"]
    assert rows["duration_ps"][0] == 1500
    assert rows["after_end"].to_list() == [None, [0], None, None, None]
    assert rows["trigger"].to_list() == [None, None, 0, 1, 2]
    assert rows["on_sent"].to_list() == [None, 0, None, None, None]
    assert rows["on_received"].to_list() == [None, None, 1, 2, None]


def test_messages_of_a_connection_share_a_queue_pair():
    text = (
        "Nodes 2\nConnections 3\n0->1 id 1 msg 1 start 0 size 5\n0->1 id 1 msg start 0 size 5\n"
        "0->1 id 2 start 0 size 5\n"
    )
    rows = htsim_operations.convert(matrix(text), Findings()).frame()
    assert rows["channel"].to_list() == [0, 0, 1]


def test_plain_connections_are_a_list_of_flows(tmp_path):
    (tmp_path / "x.cm").write_text(
        "Nodes 3\nConnections 2\n1->2 start 2e6 size 10\n0->2 id 7 start 0.5 size 20\n"
    )
    imported = importing.import_htsim(tmp_path / "x.cm", Wishes())
    notes = importing.write(imported, tmp_path / "x.toml")
    assert (tmp_path / "x.flows.csv").read_text() == (
        "src,dst,bytes,start\n0,2,20,0ps\n1,2,10,2000000ps\n"
    )
    scenario = tomllib.loads((tmp_path / "x.toml").read_text())
    assert scenario["topology"]["hosts"] == 3
    assert scenario["traffic"][0]["file"] == "x.flows.csv"
    assert "400Gbps" in notes[0]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.cm", "x.flows.csv", "x.toml"]


def test_connections_without_a_size_last_until_the_end(tmp_path):
    path = tmp_path / "x.cm"
    path.write_text("Nodes 2\nConnections 2\n0->1 start 5 size 0\n1->0 start 0\n")
    for end, says in (
        ("5", "expected a time such as 1ms"),
        ("0ms", "expected a time such as 1ms"),
        ("40001ms", "a link of 400Gbps sends in 40 s"),
    ):
        with pytest.raises(ScenarioError, match=says):
            importing.import_htsim(path, Wishes(), end)
    importing.write(importing.import_htsim(path, Wishes(), "1.5ms"), tmp_path / "x.toml")
    assert (tmp_path / "x.flows.csv").read_text() == (
        "src,dst,bytes,start\n1,0,2000000000000,0ps\n0,1,2000000000000,5ps\n"
    )
    assert tomllib.loads((tmp_path / "x.toml").read_text())["run"] == {"until": "1500us"}
    # The latest end follows from the rate of the links.
    slow = Wishes(sets=["topology.link.rate=10Gbps"])
    importing.write(importing.import_htsim(path, slow, "1600s"), tmp_path / "x.toml")
    with pytest.raises(ScenarioError, match=r"a link of 10Gbps sends in 1\.6e\+03 s"):
        importing.import_htsim(path, slow, "1601s")

    imported = importing.import_htsim(path, Wishes())
    [told] = imported.warnings
    assert "x.cm:3:1" in told["text"]
    assert "1 ms is taken, as in htsim" in told["text"]
    importing.write(imported, tmp_path / "x.toml")
    assert tomllib.loads((tmp_path / "x.toml").read_text())["run"] == {"until": "1ms"}


@pytest.mark.parametrize("hosts", [40, 8192])
def test_a_wide_default_network_has_room_for_headroom(hosts, tmp_path):
    path = tmp_path / "x.cm"
    path.write_text(f"Nodes {hosts}\nConnections 1\n0->1 start 0 size 10\n")
    importing.write(importing.import_htsim(path, Wishes()), tmp_path / "x.toml")
    # Twice 100 KB of a round trip of 2 us at 400 Gbps and four frames, for each port.
    buffer = tomllib.loads((tmp_path / "x.toml").read_text()).get("switch")
    assert buffer == (None if hosts == 40 else {"buffer": "2243MB"})
    problems = backwater.Scenario(tmp_path / "x.toml", scheme="hpcc").check()
    assert {problem["severity"] for problem in problems} <= {"note"}


STARTED = "0->1 size 1 start 0 recv_done_trigger 1\n"
STATEMENTS = [
    ("Connections 0", "there is no connection"),
    ("0->2 start 0 size 1", "node 2 does not exist"),
    ("0->0 start 0 size 1", "node 0 would send to itself"),
    ("0-> start 0 size 1", "expected two nodes such as 0->1"),
    ("0->1 size 0 start 0 send_done_trigger 1", "it activates no trigger"),
    ("0->1 size 1 start 0\n1->0 size 1 trigger 1 recv_done_trigger 1", "is activated 0 times"),
    (f"{STARTED}1->0 size 1 trigger 1\ntrigger id 1 barrier count 2", "activated 1 of 2 times"),
    (f"{STARTED}1->0 size 1 trigger 1\n1->0 size 2 trigger 1\ntrigger id 1 multishot", "x.cm:4:1"),
    ("0->1 size 5", "neither `start` nor `trigger`"),
    ("0->1 id 1 size 5 start 0 trigger 1", "both `start` and `trigger`"),
    ("0->1 size 5 start x", "x.cm:2:19"),
    ("0->1 size 5 start 0 sise 5", "did you mean size?"),
    ("0->1 size 5 size 6 start 0", "`size` is given twice"),
    ("0->1 size", "the line ends"),
    ("0->1 id 0 size 5 start 0", "expected 1 to"),
    ("0->1 id 1 size 5 start 0\n1->0 id 1 size 5 start 0", "that of line 2"),
    ("0->1 id 1 msg 1 size 5 start 0\n1->0 id 1 msg 2 size 5 start 0", "from 1 to 0"),
    ("trigger oneshot", "the trigger has no `id`"),
    ("trigger id 1", "`multishot` and `barrier`"),
    ("trigger id 1 barrier", "needs a `count`"),
    ("trigger id 1 oneshot\ntrigger id 1 oneshot", "defined twice"),
    ("0->1 size 5 trigger 1\ntrigger id 1 oneshot", "nothing activates"),
    ("failure switch_type HUB", "expected `TOR` or `AGG` or `CORE`"),
    ("failure switch_type TOR", "a `switch_id` and a `link_id`"),
    ("Conections 1", "did you mean Connections?"),
]
"""What follows the number of nodes, and the error."""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Connections 0\n", "the file has no `Nodes`"),
        ("Nodes two\n", "x.cm:1:7"),
        ("Nodes 2\nNodes 2\n", "given twice"),
        ("0->1 start 0 size 1\nNodes 2\n", "`Nodes` has to come before"),
        *((f"Nodes 2\n{statements}\n", says) for statements, says in STATEMENTS),
    ],
)
def test_what_is_wrong_in_a_matrix_is_said(text, says):
    assert says in refused(lambda findings: matrix(text, findings))


def test_what_is_doubtful_in_a_matrix_is_a_warning():
    findings = Findings()
    found = matrix(
        "Nodes 3\nConnections 7\n2->1 size 5 start 0 send_done_trigger 4 prio 1\n"
        "2->0 size 1 trigger 4\n1->0 size 1 trigger 3\n0->1 size 1 start 0 send_done_trigger 3\n"
        "1->0 size 1 trigger 5\n0->1 size 1 start 0 send_done_trigger 5\n0->1 size 1 trigger 5\n"
        "0->1 size 1 start 0 recv_done_trigger 5\n"
        "trigger id 3 oneshot count 2\ntrigger id 5 multishot\ntrigger id 6 oneshot\n",
        findings,
    )
    htsim_operations.warn_of_priorities(found, findings)
    htsim_operations.convert(found, findings)
    told = "\n".join(w["text"] for w in findings.warnings())
    assert "announces 7 connections, but there are 8" in told
    assert "there are 4 triggers, but the header has no `Triggers`" not in told
    assert "trigger 4 is not defined" in told
    assert "the count of a oneshot trigger has no effect" in told
    assert "trigger 6 starts nothing" in told
    assert "prio is not imported" in told
    assert "in the order of their sources" in told


# --- Topologies ----------------------------------------------------------------------------------


def test_a_fat_tree_of_three_tiers():
    findings = Findings()
    found = topology(networks.of_fat_tree(tree(THREE_TIERS), findings))
    shape = {k: found[k] for k in ("kind", "pods", "tors_per_pod", "aggs_per_pod", "cores")}
    assert shape == {"kind": "clos", "pods": 4, "tors_per_pod": 2, "aggs_per_pod": 2, "cores": 4}
    assert found["hosts_per_tor"] == 2
    # Half of what a packet waits in a switch is on each of its links.
    assert found["link"] == {"rate": "100Gbps", "delay": "1005ns"}
    assert found["agg_link"]["delay"] == "1020ns"
    assert found["core_link"]["delay"] == "2015ns"
    assert "Queue_Up and Queue_Down are not imported" in findings.warnings()[0]["text"]


def test_a_fat_tree_of_two_tiers_with_bundles():
    findings = Findings()
    found = topology(networks.of_fat_tree(tree(TWO_TIERS, findings), findings))
    # Each link of a bundle is one of its own, with its own rate.
    assert (found["kind"], found["switches"]) == ("links", ["leaf0", "leaf1", "spine0"])
    ends = Counter((edge["a"], edge["b"], edge["rate"]) for edge in found["links"])
    assert ends["leaf0", "spine0", "100Gbps"] == ends["leaf1", "spine0", "100Gbps"] == 2
    assert ends["host0", "leaf0", "100Gbps"] == 1
    assert len(found["links"]) == 2 * 2 + len(found["hosts"])


def test_links_that_fail_are_named():
    findings = Findings()
    network = networks.of_fat_tree(tree(THREE_TIERS), findings)
    text = "Nodes 16\n0->1 size 5 start 0\n" + "".join(
        f"failure switch_type {kind} switch_id {switch} link_id {link}\n"
        for kind, switch, link in (("TOR", 3, 1), ("AGG", 3, 1), ("CORE", 3, 1), ("AGG", 3, 1))
    )
    networks.fail_links(network, matrix(text).failures, findings)
    # Core c of htsim hangs on aggregation switch c mod 2 of each pod, as its link c div 2.
    assert network.failures == ["tor3--agg3", "agg3--core3"]
    wrong = "Nodes 16\n0->1 size 5 start 0\nfailure switch_type AGG switch_id 8 link_id 0\n"
    said = refused(lambda f: networks.fail_links(network, matrix(wrong).failures, f))
    assert "there are 8 switches AGG" in said
    said = refused(
        lambda f: networks.fail_links(networks.non_blocking(4), matrix(CHAIN).failures, f)
    )
    assert "give the .topo file with --topology" in said


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("Nodes 16", "Nodes 18", "18 nodes do not fill pods of 4"),
        ("Nodes 16\n", "", "the file has no `Nodes`"),
        ("Tiers 3", "Tiers 4", "expected 2 to 3"),
        ("Tiers 3", "Tiers 3\nTiers 3", "given twice"),
        ("Tier 1", "Tier 5", "the tier is 5"),
        ("Tier 1", "Tier 0", "tier 0 comes twice"),
        (" Radix_Down 2\n Radix_Up 2\n Queue", " Radix_Up 2\n Queue", "tier 0 has no radix_down"),
        (" Radix_Down 4\n", " Radix_Down 4\n Radix_Up 1\n", "the top tier has no links upwards"),
        (" Radix_Down 4\n", " Radix_Down 5\n", "expected 4"),
        ("Switch_Latency_ns 10", "Switch_Latency 10", "did you mean switch_latency_ns?"),
        ("Queue_Up 100000", "Queue_Up 1 2", "expected the end of the line"),
        ("Queue_Up 100000", "Radix_Up 2", "is given twice for this tier"),
        ("Downlink_speed_Gbps 100\n Radix_Down 2", "Downlink_speed_Gbps 200\n Radix_Down 2", "2:1"),
    ],
)
def test_what_is_wrong_in_a_topology_is_said(old, new, says):
    assert old in THREE_TIERS
    said = refused(lambda findings: tree(THREE_TIERS.replace(old, new, 1), findings))
    assert says in said
    assert "x.topo:" in said


def test_nothing_is_left_of_an_import_that_fails(tmp_path):
    (tmp_path / "x.cm").write_text("Nodes 3\nConnections 1\n1->2 start 0 size 10\n")
    wishes = Wishes(sets=["topology.link.rate=400Gpbs"])
    imported = importing.import_htsim(tmp_path / "x.cm", wishes)
    (tmp_path / "x.toml").write_text("# Imported from htsim by hand\n")
    with pytest.raises(ScenarioError, match="unit"):
        importing.write(imported, tmp_path / "x.toml")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.cm", "x.toml"]
    assert (tmp_path / "x.toml").read_text() == "# Imported from htsim by hand\n"
