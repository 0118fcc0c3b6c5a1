//! Topologies: node IDs, ports, names, errors and capacities. Rules TOP-01 to TOP-06, TOP-12,
//! TOP-13.

use dataplane::units::{Rate, US};
use fabric::topology::{
    CapacityOf, Graph, LinkSpec, Loss, NodeKind, PairScope, TopologyError, TopologySpec,
};
use fabric::{LinkId, NodeId};

fn link(gbps: u64) -> LinkSpec {
    LinkSpec {
        rate: Rate::from_gbps(gbps),
        delay_ps: US,
        loss: Loss::NONE,
    }
}

fn star(hosts: u32) -> TopologySpec {
    TopologySpec::Star {
        hosts,
        link: link(100),
    }
}

fn dumbbell(left: u32, right: u32) -> TopologySpec {
    TopologySpec::Dumbbell {
        left,
        right,
        link: link(100),
        core: link(40),
    }
}

fn leaf_spine(leaves: u32, spines: u32, hosts_per_leaf: u32) -> TopologySpec {
    TopologySpec::LeafSpine {
        leaves,
        spines,
        hosts_per_leaf,
        link: link(100),
        uplink: link(400),
    }
}

fn clos(pods: u32, tors: u32, aggs: u32, cores: u32, hosts: u32) -> TopologySpec {
    TopologySpec::Clos {
        pods,
        tors_per_pod: tors,
        aggs_per_pod: aggs,
        cores,
        hosts_per_tor: hosts,
        link: link(100),
        agg_link: link(400),
        core_link: link(800),
    }
}

fn fat_tree(k: u32) -> TopologySpec {
    TopologySpec::FatTree {
        k,
        link: link(100),
        fabric_link: link(100),
    }
}

fn links(hosts: &[&str], switches: &[&str], links: &[(u32, u32)]) -> TopologySpec {
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    TopologySpec::Links {
        hosts: names(hosts),
        switches: names(switches),
        links: links.iter().map(|&(a, b)| (a, b, link(100))).collect(),
    }
}

fn build(spec: &TopologySpec) -> Graph {
    spec.build().unwrap_or_else(|error| panic!("{error}"))
}

fn error(spec: &TopologySpec) -> TopologyError {
    spec.build().expect_err("this topology must be refused")
}

/// Returns the names of the neighbours of a node, in the order of its ports.
fn peers(graph: &Graph, name: &str) -> Vec<String> {
    let node = graph.find(name).expect("the node exists");
    graph
        .links_of(node)
        .map(|index| graph.name(graph.port(index).peer))
        .collect()
}

fn counts(graph: &Graph) -> [u32; 4] {
    [
        graph.hosts(),
        graph.switches(),
        graph.link_count(),
        graph.groups(),
    ]
}

#[test]
fn every_shape_has_the_nodes_and_links_that_it_should() {
    assert_eq!(counts(&build(&star(7))), [7, 1, 7, 1]);
    assert_eq!(counts(&build(&dumbbell(3, 4))), [7, 2, 8, 2]);
    assert_eq!(
        counts(&build(&leaf_spine(8, 8, 16))),
        [128, 16, 128 + 64, 8]
    );
    // The network of the HPCC paper: 20 ToRs, 20 aggregation switches, 16 cores, 320 servers.
    assert_eq!(
        counts(&build(&clos(5, 4, 4, 16, 16))),
        [320, 56, 320 + 80 + 80, 20]
    );
    for k in [2, 4, 6, 8, 16] {
        let hosts = k * k * k / 4;
        assert_eq!(
            counts(&build(&fat_tree(k))),
            [hosts, 5 * k * k / 4, 3 * hosts, k * k / 2]
        );
    }
    // The fat-tree of the Floodgate paper.
    assert_eq!(counts(&build(&fat_tree(8))), [128, 80, 384, 32]);
}

#[test]
fn both_ends_of_every_link_agree() {
    let dual = links(
        &["a", "b"],
        &["x", "y"],
        &[(0, 2), (0, 3), (1, 2), (1, 3), (2, 3)],
    );
    let shapes = [
        star(5),
        dumbbell(2, 3),
        leaf_spine(4, 3, 2),
        clos(3, 2, 2, 4, 2),
        fat_tree(4),
        dual,
    ];
    for spec in &shapes {
        let graph = build(spec);
        let mut next = 0;
        for node in graph.node_ids() {
            assert_eq!(graph.links_of(node).len(), usize::from(graph.ports(node)));
            for (port, index) in graph.links_of(node).enumerate() {
                assert_eq!(
                    index,
                    LinkId::new(next),
                    "TOP-01: ports are numbered node by node"
                );
                next += 1;
                assert_eq!(graph.link(node, port as u16), index);
                assert_eq!(graph.sender(index), node);
                let there = graph.port(index);
                let back = graph.port(graph.reverse(index));
                assert_eq!((back.peer, usize::from(back.peer_port)), (node, port));
                assert_eq!((back.rate, back.delay_ps), (there.rate, there.delay_ps));
                assert_eq!(there.delay_ps, US);
            }
        }
        assert_eq!(next as u32, graph.port_count());
        assert_eq!(graph.port_count(), 2 * graph.link_count());
    }
}

#[test]
fn a_fat_tree_of_four_is_wired_as_drawn_by_hand() {
    let graph = build(&fat_tree(4));
    assert_eq!(peers(&graph, "host0"), ["edge0"]);
    assert_eq!(peers(&graph, "host15"), ["edge7"]);
    // TOP-03: down-links first.
    assert_eq!(peers(&graph, "edge0"), ["host0", "host1", "agg0", "agg1"]);
    assert_eq!(peers(&graph, "edge5"), ["host10", "host11", "agg4", "agg5"]);
    assert_eq!(peers(&graph, "agg0"), ["edge0", "edge1", "core0", "core1"]);
    assert_eq!(peers(&graph, "agg1"), ["edge0", "edge1", "core2", "core3"]);
    assert_eq!(peers(&graph, "agg7"), ["edge6", "edge7", "core2", "core3"]);
    assert_eq!(peers(&graph, "core0"), ["agg0", "agg2", "agg4", "agg6"]);
    assert_eq!(peers(&graph, "core3"), ["agg1", "agg3", "agg5", "agg7"]);
    let tiers: Vec<u32> = ["host3", "edge3", "agg3", "core3"]
        .iter()
        .map(|name| graph.tier(graph.find(name).expect("it exists")))
        .collect();
    assert_eq!(tiers, [0, 1, 2, 3], "TOP-04");
}

#[test]
fn the_clos_shares_its_cores_out_among_the_aggregation_switches() {
    // TOP-02: the cores are divided among the aggregation switches
    let graph = build(&clos(5, 4, 4, 16, 16));
    assert_eq!(
        peers(&graph, "tor5")[16..],
        ["agg4", "agg5", "agg6", "agg7"]
    );
    assert_eq!(
        peers(&graph, "agg6"),
        [
            "tor4", "tor5", "tor6", "tor7", "core8", "core9", "core10", "core11"
        ]
    );
    assert_eq!(
        peers(&graph, "core9"),
        ["agg2", "agg6", "agg10", "agg14", "agg18"]
    );
    let rate = |a: &str, port: u16| {
        let node = graph.find(a).expect("it exists");
        graph.port(graph.link(node, port)).rate.bps() / 1_000_000_000
    };
    assert_eq!(
        [rate("host9", 0), rate("tor0", 15), rate("tor0", 16)],
        [100, 100, 400]
    );
    assert_eq!(
        [rate("agg0", 3), rate("agg0", 4), rate("core0", 0)],
        [400, 800, 800]
    );
}

#[test]
fn names_go_both_ways() {
    for spec in [
        star(3),
        dumbbell(1, 2),
        leaf_spine(3, 2, 2),
        clos(2, 2, 2, 2, 2),
        fat_tree(4),
    ] {
        let graph = build(&spec);
        for node in graph.node_ids() {
            assert_eq!(graph.find(&graph.name(node)), Some(node));
        }
    }
    let graph = build(&leaf_spine(8, 8, 16));
    assert_eq!(
        [
            graph.name(NodeId::new(17)),
            graph.name(NodeId::new(131)),
            graph.name(NodeId::new(138))
        ],
        ["host17", "leaf3", "spine2"]
    );
    for unknown in [
        "", "host", "host128", "host01", "leaf+1", "leaf8", "tor0", "spine-1", "4",
    ] {
        assert_eq!(graph.find(unknown), None, "{unknown}");
    }
    let graph = build(&links(&["left one", "7"], &["host0"], &[(0, 2), (1, 2)]));
    assert_eq!(
        ["host0", "7", "host1"].map(|name| graph.find(name).map(NodeId::bits)),
        [Some(2), Some(1), None]
    );
}

#[test]
fn racks_and_endpoints_of_single_homed_hosts_follow_the_numbering() {
    let graph = build(&leaf_spine(3, 2, 4));
    assert_eq!(graph.endpoints(), 12);
    for host in 0..12 {
        let (node, endpoint) = (NodeId::from_bits(host), LinkId::from_bits(host));
        assert_eq!(graph.host_of(endpoint), node);
        assert_eq!(graph.links_of(node).collect::<Vec<_>>(), [endpoint]);
        assert_eq!(
            [
                graph.rack_of(node),
                graph.switch_of(endpoint),
                graph.group_of(endpoint)
            ],
            [host / 4; 3]
        );
        assert_eq!(graph.kind(node), NodeKind::Host);
    }
    assert_eq!(graph.kind(NodeId::new(12)), NodeKind::Switch);
    let endpoints: Vec<u32> = graph.endpoints_on(1).map(LinkId::bits).collect();
    assert_eq!(endpoints, [4, 5, 6, 7]);
    assert_eq!(
        [graph.group_of_switch(2), graph.group_of_switch(3)],
        [Some(2), None]
    );
}

#[test]
fn a_dual_homed_host_has_an_endpoint_for_each_port() {
    // TOP-01: each port of a host is an endpoint
    let spec = links(
        &["a", "b", "c"],
        &["x", "y"],
        &[(0, 3), (0, 4), (1, 4), (1, 3), (2, 4), (3, 4)],
    );
    let graph = build(&spec);
    assert_eq!(graph.endpoints(), 5);
    assert_eq!(
        graph
            .endpoint_ids()
            .map(|e| graph.host_of(e).bits())
            .collect::<Vec<_>>(),
        [0, 0, 1, 1, 2]
    );
    assert_eq!(
        (0..5)
            .map(|e| graph.switch_of(LinkId::new(e)))
            .collect::<Vec<_>>(),
        [0, 1, 1, 0, 1]
    );
    // TOP-13: hosts that are connected to the same switches are in one rack, in any order of their
    // ports.
    assert_eq!(
        (0..3)
            .map(|h| graph.rack_of(NodeId::new(h)))
            .collect::<Vec<_>>(),
        [0, 0, 1]
    );
    let endpoints: Vec<u32> = graph.endpoints_on(0).map(LinkId::bits).collect();
    assert_eq!(endpoints, [0, 3]);
    assert_eq!(peers(&graph, "y"), ["a", "b", "c", "x"]);
}

#[test]
fn ports_of_listed_links_go_down_then_sideways_then_up() {
    // TOP-03, TOP-04: the links of `top` are listed first, those of the hosts last.
    let lines = [(5, 2), (5, 3), (5, 4), (2, 3), (3, 4), (1, 3), (0, 2)];
    let graph = build(&links(&["a", "b"], &["s", "t", "u", "top"], &lines));
    assert_eq!(peers(&graph, "s"), ["a", "t", "top"]);
    assert_eq!(peers(&graph, "t"), ["b", "s", "top", "u"]);
    // `u` has no hosts and is one link away from `t`, so it is in the same tier as `top`.
    assert_eq!(peers(&graph, "u"), ["t", "top"]);
    assert_eq!(peers(&graph, "top"), ["s", "t", "u"]);
    assert_eq!(
        (2..6)
            .map(|node| graph.tier(NodeId::new(node)))
            .collect::<Vec<_>>(),
        [1, 1, 2, 2]
    );
}

#[test]
fn counts_of_zero_name_their_key() {
    let cases = [
        (star(0), "hosts"),
        (dumbbell(0, 4), "left"),
        (dumbbell(4, 0), "right"),
        (leaf_spine(0, 1, 1), "leaves"),
        (leaf_spine(1, 0, 1), "spines"),
        (leaf_spine(1, 1, 0), "hosts_per_leaf"),
        (clos(0, 1, 1, 1, 1), "pods"),
        (clos(1, 0, 1, 1, 1), "tors_per_pod"),
        (clos(1, 1, 0, 1, 1), "aggs_per_pod"),
        (clos(1, 1, 1, 0, 1), "cores"),
        (clos(1, 1, 1, 1, 0), "hosts_per_tor"),
    ];
    for (spec, expected) in cases {
        match error(&spec) {
            TopologyError::Zero { key, .. } => assert_eq!(key, expected),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn impossible_regular_shapes_are_refused() {
    assert_eq!(error(&star(1)), TopologyError::TooFewHosts { hosts: 1 });
    for k in [0, 1, 5] {
        assert_eq!(error(&fat_tree(k)), TopologyError::BadK { k });
    }
    assert_eq!(
        error(&clos(2, 2, 4, 6, 2)),
        TopologyError::UnevenCores {
            cores: 6,
            aggs_per_pod: 4
        }
    );
    assert_eq!(
        error(&star(65_536)),
        TopologyError::TooManyPorts {
            node: "switch0".into(),
            ports: 65_536
        }
    );
    assert_eq!(build(&star(65_535)).ports(NodeId::new(65_535)), 65_535);
    let slow = LinkSpec {
        rate: Rate::from_gbps(1),
        delay_ps: 1_000_000_000_000_001,
        loss: Loss::NONE,
    };
    let spec = TopologySpec::Star {
        hosts: 2,
        link: slow,
    };
    assert_eq!(
        error(&spec),
        TopologyError::DelayTooLong {
            delay_ps: slow.delay_ps
        }
    );
}

#[test]
fn absurd_sizes_are_refused_before_anything_is_allocated() {
    let most = u32::MAX;
    let cases = [
        (star(most), "hosts"),
        (dumbbell(most, most), "hosts"),
        (leaf_spine(most, most, most), "hosts"),
        (leaf_spine(1 << 22, 1, 1), "switches"),
        (leaf_spine(1 << 16, 1 << 10, 1), "links"),
        (clos(most, most, most, most, most), "hosts"),
        (fat_tree(258), "hosts"),
        (fat_tree(most - 1), "hosts"),
    ];
    for (spec, expected) in cases {
        match error(&spec) {
            TopologyError::TooLarge { what, count, limit } => {
                assert_eq!(what, expected);
                assert!(count > u128::from(limit));
            }
            other => panic!("{other}"),
        }
    }
}

#[test]
fn wrong_lists_of_links_are_refused() {
    use TopologyError as E;
    let hosts = ["a", "b"];
    let cases: Vec<(TopologySpec, TopologyError)> = vec![
        (links(&[], &["x"], &[]), E::TooFewHosts { hosts: 0 }),
        (
            links(&["a"], &["x"], &[(0, 1)]),
            E::TooFewHosts { hosts: 1 },
        ),
        (links(&["a", ""], &["x"], &[]), E::EmptyName { node: 1 }),
        (
            links(&hosts, &["a"], &[]),
            E::RepeatedName { name: "a".into() },
        ),
        (
            links(&hosts, &["x"], &[(0, 2), (1, 3)]),
            E::UnknownNode {
                link: 2,
                node: 3,
                nodes: 3,
            },
        ),
        (
            links(&hosts, &["x"], &[(2, 2)]),
            E::SelfLoop {
                link: 1,
                node: "x".into(),
            },
        ),
        (
            links(&hosts, &["x"], &[(0, 2)]),
            E::NoLink { node: "b".into() },
        ),
        (
            links(&hosts, &["x", "y"], &[(0, 2), (1, 2)]),
            E::NoLink { node: "y".into() },
        ),
        // TOP-06: each two hosts need a path through switches
        (
            links(&hosts, &["x", "y"], &[(0, 2), (1, 3)]),
            E::Unreachable {
                host: "b".into(),
                switch: "y".into(),
                from: "a".into(),
            },
        ),
        (
            links(&hosts, &["x", "y", "z"], &[(0, 2), (1, 2), (3, 4)]),
            E::StraySwitch { switch: "y".into() },
        ),
    ];
    for (spec, expected) in cases {
        assert_eq!(error(&spec), expected);
    }
}

#[test]
fn hosts_are_no_bridge_between_switches() {
    // TOP-06: `a` is connected to both switches, but `b` and `c` cannot communicate through it.
    let spec = links(
        &["a", "b", "c"],
        &["x", "y"],
        &[(0, 3), (0, 4), (1, 3), (2, 4)],
    );
    let expected = TopologyError::Unreachable {
        host: "c".into(),
        switch: "y".into(),
        from: "b".into(),
    };
    assert_eq!(error(&spec), expected);
    // With a port at `y`, `b` reaches both other hosts.
    let spec = links(
        &["a", "b", "c"],
        &["x", "y"],
        &[(0, 3), (0, 4), (1, 3), (1, 4), (2, 4)],
    );
    assert_eq!(
        build(&spec).plane_of(LinkId::new(0)),
        build(&spec).plane_of(LinkId::new(2))
    );
    // A switch that is not between two hosts is an error.
    let spec = links(&["a", "b"], &["x", "y"], &[(0, 2), (1, 2), (1, 3)]);
    let expected = TopologyError::StraySwitch { switch: "y".into() };
    assert_eq!(error(&spec), expected);
}

#[test]
fn errors_are_sentences_that_say_what_to_do() {
    assert_eq!(
        error(&leaf_spine(2, 0, 2)).to_string(),
        "topology leaf-spine: spines is 0; it must be at least 1"
    );
    assert_eq!(
        error(&star(65_536)).to_string(),
        "switch0 would have 65536 ports; a node can have at most 65535; spread its links over more nodes"
    );
}

#[test]
fn parallel_links_have_ports_and_names_of_their_own() {
    // TOP-05: names of parallel links
    let spec = links(
        &["a", "b"],
        &["x", "y"],
        &[(0, 2), (1, 3), (2, 3), (3, 2), (2, 0)],
    );
    let graph = build(&spec);
    let names = |node| -> Vec<String> {
        let ports = graph.links_of(node);
        ports.map(|index| graph.port_name(index)).collect()
    };
    // Both ends number parallel links in the order of the list.
    assert_eq!(names(NodeId::new(0)), ["a->x#1", "a->x#2"]);
    assert_eq!(names(NodeId::new(1)), ["b->y"]);
    assert_eq!(
        names(NodeId::new(2)),
        ["x->a#1", "x->a#2", "x->y#1", "x->y#2"]
    );
    assert_eq!(names(NodeId::new(3)), ["y->b", "y->x#1", "y->x#2"]);
    for index in graph.link_ids() {
        let ends = [index, graph.reverse(index)];
        let numbers = ends.map(|end| graph.port_name(end).split_once('#').map(|n| n.1.to_owned()));
        assert_eq!(numbers[0], numbers[1], "one number for both directions");
    }
    assert_eq!(graph.link_name(graph.link(NodeId::new(2), 3)), "x--y#2");
    let graph = build(&links(
        &["a", "b"],
        &["x", "y"],
        &[(0, 2), (1, 3), (2, 3), (3, 2)],
    ));
    assert_eq!(peers(&graph, "x"), ["a", "y", "y"]);
    for port in [1, 2] {
        let index = graph.link(NodeId::new(2), port);
        assert_eq!(
            (graph.port(index).peer.bits(), graph.port(index).peer_port),
            (3, port)
        );
    }
    assert_eq!(graph.capacity_bps(CapacityOf::Core), Ok(200_000_000_000));
}

#[test]
fn capacities_count_each_link_once() {
    // TOP-12: capacity of host links and of the core
    let capacity =
        |spec: &TopologySpec, of| build(spec).capacity_bps(of).map(|bps| bps / 1_000_000_000);
    let core = |spec: &TopologySpec| capacity(spec, CapacityOf::Core);
    let hosts = |spec: &TopologySpec| capacity(spec, CapacityOf::Hosts);
    assert_eq!(hosts(&star(10)), Ok(1_000));
    assert_eq!(
        core(&star(10)),
        Err(TopologyError::NoCore { shape: "star" })
    );
    assert_eq!(
        (hosts(&dumbbell(3, 4)), core(&dumbbell(3, 4))),
        (Ok(700), Ok(40))
    );
    assert_eq!(core(&leaf_spine(8, 4, 16)), Ok(8 * 4 * 400));
    // The links from the ToRs upward count. The links of the cores (800 Gbit/s) do not.
    assert_eq!(core(&clos(5, 4, 4, 16, 16)), Ok(20 * 4 * 400));
    assert_eq!(hosts(&clos(5, 4, 4, 16, 16)), Ok(32_000));
    assert_eq!(core(&fat_tree(4)), Ok(1_600));
    // Both ports of a dual-homed host count.
    let dual = links(&["a", "b"], &["x", "y"], &[(0, 2), (0, 3), (1, 2), (2, 3)]);
    assert_eq!((hosts(&dual), core(&dual)), (Ok(300), Ok(100)));
}

#[test]
fn the_crossing_fraction_is_exact() {
    // TOP-13: fraction of host pairs in different racks
    let any = |spec: &TopologySpec| build(spec).crossing_fraction(PairScope::Any);
    let inter = |spec: &TopologySpec| build(spec).crossing_fraction(PairScope::InterRack);
    assert_eq!(any(&star(4)), Ok(0.0));
    assert_eq!(inter(&star(4)), Err(TopologyError::OneRack));
    // 128 hosts in racks of 16: 112 of the other 127 hosts are in other racks.
    assert_eq!(any(&leaf_spine(8, 8, 16)), Ok(112.0 / 127.0));
    assert_eq!(inter(&leaf_spine(8, 8, 16)), Ok(1.0));
    // 3 and 4 hosts: 2 * 3 * 4 of 7 * 6 ordered pairs.
    assert_eq!(any(&dumbbell(3, 4)), Ok(24.0 / 42.0));
    assert_eq!(any(&clos(5, 4, 4, 16, 16)), Ok(304.0 / 319.0));
    let dual = links(
        &["a", "b", "c"],
        &["x", "y"],
        &[(0, 3), (0, 4), (1, 3), (2, 4), (3, 4)],
    );
    // No two hosts have the same set of switches, although `a` shares one switch with each other
    // host.
    assert_eq!(any(&dual), Ok(1.0));
}

fn dual_homed(pairs: u32, hosts: u32, aggs: u32) -> TopologySpec {
    TopologySpec::DualHomed {
        pairs,
        hosts,
        aggs,
        link: link(25),
        uplink: link(100),
    }
}

// TOP-18
#[test]
fn dual_homed_hosts_hang_on_both_tors_of_their_pair() {
    let graph = build(&dual_homed(2, 5, 3));
    assert_eq!((graph.hosts(), graph.switches()), (5, 7));
    assert_eq!(graph.link_count(), 2 * 5 + 4 * 3);
    for host in 0..3 {
        assert_eq!(peers(&graph, &format!("host{host}")), ["tor0", "tor1"]);
    }
    for host in 3..5 {
        assert_eq!(peers(&graph, &format!("host{host}")), ["tor2", "tor3"]);
    }
    assert_eq!(
        peers(&graph, "tor1"),
        ["host0", "host1", "host2", "agg0", "agg1", "agg2"]
    );
    assert_eq!(peers(&graph, "agg2"), ["tor0", "tor1", "tor2", "tor3"]);
    // TOP-13: dual-homed hosts of one pair of ToRs are one rack
    let racks: Vec<u32> = (0..5)
        .map(|host| graph.rack_of(NodeId::new(host)))
        .collect();
    assert_eq!(racks, [0, 0, 0, 1, 1]);
}

// TOP-18
#[test]
fn dual_homed_hosts_are_shared_out_as_evenly_as_can_be() {
    let graph = build(&dual_homed(8, 230, 8));
    let mut hosts_in = [0; 8];
    for host in 0..230 {
        hosts_in[graph.rack_of(NodeId::new(host)) as usize] += 1;
    }
    assert_eq!(hosts_in, [29, 29, 29, 29, 29, 29, 28, 28]);
    assert_eq!(
        dual_homed(3, 2, 1).build().unwrap_err(),
        TopologyError::EmptyPair { pairs: 3, hosts: 2 }
    );
}

// TOP-12, TOP-13
#[test]
fn load_of_dual_homed_hosts_counts_both_their_links_and_crosses_between_pairs() {
    let graph = build(&dual_homed(2, 32, 1));
    let gbps = 1_000_000_000;
    assert_eq!(graph.capacity_bps(CapacityOf::Hosts), Ok(32 * 50 * gbps));
    assert_eq!(graph.capacity_bps(CapacityOf::Core), Ok(4 * 100 * gbps));
    assert_eq!(graph.crossing_fraction(PairScope::Any), Ok(16.0 / 31.0));
    assert_eq!(
        build(&dual_homed(1, 4, 1)).crossing_fraction(PairScope::InterRack),
        Err(TopologyError::OneRack)
    );
}

fn multi_dc(sites: u32) -> TopologySpec {
    TopologySpec::MultiDc {
        sites,
        leaves: 2,
        spines: 3,
        hosts_per_leaf: 4,
        link: link(100),
        uplink: link(100),
        gateway_link: link(100),
        interconnect: LinkSpec {
            rate: Rate::from_gbps(200),
            delay_ps: 200 * US,
            loss: Loss::NONE,
        },
    }
}

// TOP-21
#[test]
fn sites_are_joined_by_their_gateways_alone() {
    let graph = build(&multi_dc(3));
    assert_eq!((graph.hosts(), graph.switches()), (24, 18));
    assert_eq!(graph.link_count(), 3 * (8 + 6 + 3) + 3);
    assert_eq!(
        peers(&graph, "leaf3"),
        [
            "host12", "host13", "host14", "host15", "spine3", "spine4", "spine5"
        ]
    );
    assert_eq!(peers(&graph, "spine5"), ["leaf2", "leaf3", "gateway1"]);
    assert_eq!(
        peers(&graph, "gateway1"),
        ["spine3", "spine4", "spine5", "gateway0", "gateway2"]
    );
    // TOP-12: the uplinks of the leaves.
    assert_eq!(
        graph.capacity_bps(CapacityOf::Core),
        Ok(18 * 100_000_000_000)
    );
    assert_eq!(
        multi_dc(0).build().unwrap_err(),
        TopologyError::Zero {
            shape: "multi-dc",
            key: "sites"
        }
    );
}

#[test]
fn links_between_hosts_are_planes_of_their_own() {
    // TOP-06: a link between hosts is a separate plane
    let ring = build(&links(
        &["a", "b", "c", "d"],
        &[],
        &[(0, 1), (1, 2), (2, 3), (3, 0)],
    ));
    assert_eq!((ring.switches(), ring.groups()), (0, 0));
    for (a, b, joined) in [
        (0, 1, true),
        (1, 0, true),
        (0, 3, true),
        (0, 2, false),
        (1, 3, false),
    ] {
        assert_eq!(
            ring.reach_each_other(NodeId::new(a), NodeId::new(b)),
            joined,
            "{a} and {b}"
        );
    }
    assert_eq!(ring.first_apart(), Some((NodeId::new(0), NodeId::new(2))));
    let racks: Vec<u32> = (0..4).map(|host| ring.rack_of(NodeId::new(host))).collect();
    assert_eq!(racks, [0, 1, 2, 3], "hosts without a switch share no rack");
    assert_eq!(ring.capacity_bps(CapacityOf::Hosts), Ok(800_000_000_000));
    // With a switch in addition to the host-to-host link, all three hosts are connected.
    let mixed = build(&links(
        &["a", "b", "c"],
        &["x"],
        &[(0, 1), (0, 3), (1, 3), (2, 3)],
    ));
    assert_eq!(mixed.first_apart(), None);
    assert_eq!(
        (mixed.rack_of(NodeId::new(0)), mixed.rack_of(NodeId::new(2))),
        (0, 0)
    );
    assert_eq!(mixed.name(mixed.port(LinkId::new(0)).peer), "b");
    assert_eq!(mixed.port_name(LinkId::new(0)), "a->b");
}
