//! Routes are shortest paths, complete, balanced, and equal for equal seeds. Rules TOP-07 to
//! TOP-09, and TOP-22.

use dataplane::config::PathChoice;
use dataplane::hash::mix32;
use dataplane::packet::{Kind, Packet};
use dataplane::route::Routes;
use dataplane::units::{Rate, US};
use fabric::routing::{RoutingError, routes};
use fabric::topology::{Graph, LinkSpec, Loss, TopologySpec};
use fabric::{LinkId, NodeId};
use kernel::{Purpose, Stream};
use proptest::prelude::*;
use std::collections::VecDeque;

fn link() -> LinkSpec {
    LinkSpec {
        rate: Rate::from_gbps(100),
        delay_ps: US,
        loss: Loss::NONE,
    }
}

fn leaf_spine(leaves: u32, spines: u32, hosts_per_leaf: u32) -> Graph {
    let spec = TopologySpec::LeafSpine {
        leaves,
        spines,
        hosts_per_leaf,
        link: link(),
        uplink: link(),
    };
    spec.build().expect("a good topology")
}

fn clos(pods: u32, tors: u32, aggs: u32, cores: u32, hosts: u32) -> Graph {
    let spec = TopologySpec::Clos {
        pods,
        tors_per_pod: tors,
        aggs_per_pod: aggs,
        cores,
        hosts_per_tor: hosts,
        link: link(),
        agg_link: link(),
        core_link: link(),
    };
    spec.build().expect("a good topology")
}

fn fat_tree(k: u32) -> Graph {
    let spec = TopologySpec::FatTree {
        k,
        link: link(),
        fabric_link: link(),
    };
    spec.build().expect("a good topology")
}

/// Hosts `h0`, `h1`, … and switches `s0`, `s1`, … with listed links.
fn links(hosts: u32, switches: u32, lines: &[(u32, u32)]) -> TopologySpec {
    TopologySpec::Links {
        hosts: (0..hosts).map(|i| format!("h{i}")).collect(),
        switches: (0..switches).map(|i| format!("s{i}")).collect(),
        links: lines.iter().map(|&(a, b)| (a, b, link())).collect(),
    }
}

fn packet(dst: u32, hash: u32, psn: u32) -> Packet {
    Packet {
        dst,
        hash,
        psn,
        ..Packet::new(Kind::Data, 1, 1048)
    }
}

/// Returns the switches on the path of a packet between two endpoints. Panics if the packet is lost
/// or loops.
fn path_of(graph: &Graph, tables: &[Routes], src: u32, packet: &Packet) -> Vec<u32> {
    let mut at = graph.port(LinkId::from_bits(src));
    let mut passed = Vec::new();
    loop {
        let node = at.peer;
        let Some(switch) = graph.switch_number(node) else {
            let arrived = graph.link(node, at.peer_port).bits();
            assert_eq!(
                arrived, packet.dst,
                "delivered to the endpoint that was meant"
            );
            return passed;
        };
        passed.push(switch);
        assert!(
            passed.len() <= graph.switches() as usize,
            "the packet loops"
        );
        let port = tables[switch as usize].port(packet, || 0).expect("a route");
        at = graph.port(graph.link(node, port));
    }
}

/// Returns the distance of each switch from switch `from`, computed by a simple search.
fn distances(graph: &Graph, from: u32) -> Vec<usize> {
    let mut distance = vec![usize::MAX; graph.switches() as usize];
    distance[from as usize] = 0;
    let mut queue = VecDeque::from([from]);
    while let Some(switch) = queue.pop_front() {
        for index in graph.links_of(NodeId::from_bits(graph.hosts() + switch)) {
            let peer = graph.port(index).peer;
            if let Some(peer) = graph.switch_number(peer)
                && distance[peer as usize] == usize::MAX
            {
                distance[peer as usize] = distance[switch as usize] + 1;
                queue.push_back(peer);
            }
        }
    }
    distance
}

fn check_all_pairs(graph: &Graph, choice: PathChoice, draws: u32) {
    let tables = routes(graph, 7, choice).expect("routes");
    let mut stream = Stream::new(1, 0, Purpose::Test);
    for src in graph.endpoint_ids() {
        let distance = distances(graph, graph.switch_of(src));
        for dst in graph.endpoint_ids().filter(|&dst| dst != src) {
            for _ in 0..draws {
                let random = stream.next_u64();
                let packet = packet(dst.bits(), random as u32, (random >> 40) as u32);
                let passed = path_of(graph, &tables, src.bits(), &packet);
                assert_eq!(passed.len(), distance[graph.switch_of(dst) as usize] + 1);
            }
        }
    }
}

#[test]
fn every_host_reaches_every_host_on_a_shortest_path() {
    // TOP-07: with a path per flow and with a path per packet.
    let star = TopologySpec::Star {
        hosts: 9,
        link: link(),
    }
    .build()
    .expect("a star");
    let dumbbell = TopologySpec::Dumbbell {
        left: 3,
        right: 2,
        link: link(),
        core: link(),
    };
    let dual = links(
        3,
        3,
        &[
            (0, 3),
            (0, 4),
            (1, 4),
            (1, 5),
            (2, 5),
            (2, 3),
            (3, 4),
            (4, 5),
        ],
    );
    let graphs = [
        star,
        dumbbell.build().expect("a dumbbell"),
        leaf_spine(5, 3, 4),
        // These networks need more than two batches of 64 searches.
        leaf_spine(130, 2, 1),
        clos(3, 2, 2, 4, 3),
        fat_tree(4),
        fat_tree(6),
        dual.build().expect("dual-homed"),
    ];
    for graph in &graphs {
        for choice in [PathChoice::Flow, PathChoice::Packet] {
            check_all_pairs(graph, choice, 2);
        }
    }
}

fn switch_named(graph: &Graph, name: &str) -> usize {
    let node = graph.find(name).expect("a node");
    graph.switch_number(node).expect("a switch") as usize
}

fn set_of<'a>(graph: &Graph, tables: &'a [Routes], switch: &str, host: &str) -> &'a [u16] {
    let table = &tables[switch_named(graph, switch)];
    let host = graph.find(host).expect("a host");
    table.towards(graph.group_of(graph.first_link(host)))
}

#[test]
fn the_hpcc_clos_has_the_paths_that_its_wiring_gives() {
    let graph = clos(5, 4, 4, 16, 16);
    let tables = routes(&graph, 1, PathChoice::Flow).expect("routes");
    let set = |switch, host| set_of(&graph, &tables, switch, host).to_vec();
    // `tor0` is in pod 0 with `tor1` to `tor3`. A pod has 64 hosts. The 16 ports to hosts come
    // first.
    assert_eq!(
        set("tor0", "host16"),
        [16, 17, 18, 19],
        "another ToR of the pod"
    );
    assert_eq!(set("tor0", "host64"), [16, 17, 18, 19], "another pod");
    assert_eq!(set("agg0", "host16"), [1], "down to tor1");
    assert_eq!(
        set("agg0", "host64"),
        [4, 5, 6, 7],
        "up to its share of the cores"
    );
    assert_eq!(set("core0", "host64"), [1], "down to pod 1");
    assert_eq!(set("core15", "host319"), [4], "down to pod 4");
    // A switch has few distinct sets of ports, even with many groups.
    let sets = |name| tables[switch_named(&graph, name)].sets().len();
    assert_eq!(
        [sets("tor0"), sets("agg0"), sets("core0")],
        [1 + 1, 1 + 4 + 1, 1 + 5]
    );
}

#[test]
fn a_fat_tree_of_four_routes_as_drawn_by_hand() {
    let graph = fat_tree(4);
    let tables = routes(&graph, 1, PathChoice::Flow).expect("routes");
    let set = |switch, host| set_of(&graph, &tables, switch, host).to_vec();
    assert_eq!(set("edge0", "host2"), [2, 3]);
    assert_eq!(set("edge0", "host15"), [2, 3]);
    assert_eq!(set("agg0", "host2"), [1]);
    assert_eq!(set("agg0", "host4"), [2, 3]);
    for (host, port) in [("host0", 0), ("host5", 1), ("host10", 2), ("host15", 3)] {
        assert_eq!(set("core2", host), [port]);
    }
    // The switch of an endpoint has a route to the port of the endpoint.
    let edge0 = &tables[0];
    assert_eq!(
        [0, 1, 2].map(|host| edge0.is_own(host)),
        [true, true, false]
    );
    assert_eq!(
        [0, 1].map(|host| edge0.port(&packet(host, 99, 0), || 0)),
        [Some(0), Some(1)]
    );
    let core = &tables[16];
    assert!(!(0..16).any(|host| core.is_own(host)));
}

/// Two triangles of switches joined by a bridge, hosts on three of them:
///
/// ```text
///   h0 - s0 --- s1       s4 - h1
///          \   /  \     /  \
///            s2 --- s3 ---- s5 - h2, h3
/// ```
#[test]
fn routes_of_a_small_network_written_out_by_hand() {
    let lines = [
        (0, 4),
        (1, 8),
        (2, 9),
        (3, 9),
        (4, 5),
        (4, 6),
        (5, 6),
        (5, 7),
        (6, 7),
        (7, 8),
        (7, 9),
        (8, 9),
    ];
    let graph = links(4, 6, &lines).build().expect("a good topology");
    let tables = routes(&graph, 3, PathChoice::Flow).expect("routes");
    let mut text = String::new();
    for (switch, table) in tables.iter().enumerate() {
        text += &format!("s{switch}:");
        for index in graph.links_of(NodeId::from_bits(graph.hosts() + switch as u32)) {
            text += &format!(" {}", graph.name(graph.port(index).peer));
        }
        for (group, ports) in table.groups().enumerate() {
            let target = graph.name(NodeId::from_bits(
                graph.hosts() + graph.group_switch(group as u32),
            ));
            text += &format!(" | {target} by {ports:?}");
        }
        text += "\n";
    }
    let expected = "\
s0: h0 s1 s2 | s0 by [] | s4 by [1, 2] | s5 by [1, 2]
s1: s0 s2 s3 | s0 by [0] | s4 by [2] | s5 by [2]
s2: s0 s1 s3 | s0 by [0] | s4 by [2] | s5 by [2]
s3: s4 s5 s1 s2 | s0 by [2, 3] | s4 by [0] | s5 by [1]
s4: h1 s5 s3 | s0 by [2] | s4 by [] | s5 by [1]
s5: h2 h3 s4 s3 | s0 by [3] | s4 by [2] | s5 by []
";
    assert_eq!(text, expected);
}

#[test]
fn a_dual_homed_endpoint_is_reached_through_its_own_switch_only() {
    // h0 is connected to s0 (endpoint 0) and s1 (endpoint 1), h1 to s2 (endpoint 2). s2 is linked
    // to both.
    let graph = links(2, 3, &[(0, 2), (0, 3), (1, 4), (2, 4), (3, 4)])
        .build()
        .expect("dual-homed");
    let tables = routes(&graph, 1, PathChoice::Flow).expect("routes");
    for hash in 0..200 {
        assert_eq!(path_of(&graph, &tables, 2, &packet(0, hash, 0)), [2, 0]);
        assert_eq!(path_of(&graph, &tables, 2, &packet(1, hash, 0)), [2, 1]);
        // A path from one port of h0 to h1 never passes h0 itself.
        assert_eq!(path_of(&graph, &tables, 0, &packet(2, hash, 0)), [0, 2]);
    }
    // s1, the other switch of h0, forwards packets for endpoint 0 to another switch instead of to
    // h0.
    assert_eq!(tables[1].port(&packet(0, 5, 0), || 0), Some(1));
    let endpoints = tables[0].endpoints();
    assert_eq!(
        (&endpoints.group[..], &endpoints.port[..]),
        (&[0, 1, 2][..], &[0, 0, 0][..])
    );
    assert!(
        tables
            .iter()
            .all(|table| std::ptr::eq(table.endpoints(), endpoints)),
        "shared by all"
    );
}

#[test]
fn parallel_links_are_paths_of_their_own() {
    // TOP-05, TOP-07: each parallel link is a path
    let spec = links(2, 2, &[(0, 2), (1, 3), (2, 3), (2, 3), (2, 3)]);
    let graph = spec.build().expect("a sound network");
    let tables = routes(&graph, 1, PathChoice::Flow).expect("routes");
    assert_eq!(set_of(&graph, &tables, "s0", "h1"), [1, 2, 3]);
}

/// Returns Pearson's chi-squared statistic of counts with equal expected values.
fn chi_square(counts: &[u32]) -> f64 {
    let mean = counts.iter().sum::<u32>() as f64 / counts.len() as f64;
    counts
        .iter()
        .map(|&count| (f64::from(count) - mean) * (f64::from(count) - mean) / mean)
        .sum()
}

#[test]
fn flows_spread_evenly_over_all_paths() {
    // TOP-08, TOP-09: the choices of aggregation switch and core must be independent. Otherwise
    // half of the paths would be unused. There are 16 paths, so 15 degrees of freedom; the value
    // 37.7 is exceeded with a probability of 1/1000. The seeds are fixed.
    let graph = fat_tree(8);
    let path = |passed: &[u32]| (passed[2] - 64) as usize;
    for seed in 1..=5 {
        let tables = routes(&graph, seed, PathChoice::Flow).expect("routes");
        let mut stream = Stream::new(seed, 1, Purpose::Test);
        let mut counts = [0; 16];
        for _ in 0..8_000 {
            let packet = packet(127, stream.next_u64() as u32, 0);
            counts[path(&path_of(&graph, &tables, 0, &packet))] += 1;
        }
        assert!(chi_square(&counts) < 37.7, "seed {seed}: {counts:?}");
    }
    // One flow uses one path under ECMP, and all paths under spraying.
    let tables = routes(&graph, 1, PathChoice::Flow).expect("routes");
    let core = |psn| path(&path_of(&graph, &tables, 0, &packet(127, 12_345, psn)));
    assert!((0..1_000).all(|psn| core(psn) == core(0)));
    let tables = routes(&graph, 1, PathChoice::Packet).expect("routes");
    let mut counts = [0; 16];
    for psn in 0..8_000 {
        counts[path(&path_of(&graph, &tables, 0, &packet(127, 12_345, psn)))] += 1;
    }
    assert!(chi_square(&counts) < 37.7, "{counts:?}");
}

#[test]
fn seeds_differ_by_switch_and_run_and_nothing_else() {
    // TOP-09: hash seeds depend on the switch and the seed of the run
    let graph = fat_tree(4);
    let seeds = |seed| -> Vec<u32> {
        let tables = routes(&graph, seed, PathChoice::Flow).expect("routes");
        tables.iter().map(|table| table.seed).collect()
    };
    assert_eq!(seeds(1), seeds(1));
    assert!(seeds(1).iter().zip(seeds(2)).all(|(&a, b)| a != b));
    let mut distinct = seeds(1);
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), 20);
    // The hash seed of a switch does not depend on the size of the network.
    let larger = routes(&fat_tree(6), 1, PathChoice::Flow).expect("routes");
    assert_eq!(larger[3].seed, seeds(1)[3]);
}

/// In a regular topology every switch computes its routes by a formula. They are equal to those of
/// a table.
// TOP-08, TOP-22
#[test]
fn regular_shapes_are_routed_by_formula() {
    let star = leaf_spine(1, 1, 5);
    let leaves = leaf_spine(6, 3, 4);
    let tiers = clos(5, 4, 2, 8, 3);
    for graph in [star, leaves, tiers, fat_tree(4), fat_tree(6)] {
        for routes in &routes(&graph, 1, PathChoice::Flow).expect("routes") {
            assert!(routes.has_formula());
            for (dst, hash) in graph
                .endpoint_ids()
                .flat_map(|dst| [(dst, 5), (dst, !dst.bits())])
            {
                let ports = match routes.is_own(dst.bits()) {
                    true => &[graph.port(dst).peer_port],
                    false => routes.towards(graph.group_of(dst)),
                };
                let nth = (u64::from(mix32(hash ^ routes.seed)) * ports.len() as u64) >> 32;
                let port = routes.port(&packet(dst.bits(), hash, 0), || 0);
                assert_eq!(port, Some(ports[nth as usize]));
            }
        }
    }
    // Two hosts on one switch and one host on the other are not regular, so switches have tables.
    let lines = [(0, 3), (1, 3), (2, 4), (3, 4)];
    let graph = links(3, 2, &lines).build().expect("a network");
    let routes = routes(&graph, 1, PathChoice::Flow).expect("routes");
    assert!(!routes.iter().any(Routes::has_formula));
}

#[test]
fn tables_beyond_memory_are_refused() {
    let graph = leaf_spine(40_000, 1, 1);
    let error = routes(&graph, 1, PathChoice::Flow).expect_err("too large");
    assert_eq!(
        error,
        RoutingError::TooLarge {
            entries: 40_001 * 40_000
        }
    );
    assert!(error.to_string().contains("1600040000 entries"));
}

#[test]
fn a_long_chain_takes_no_time() {
    let switches = 3_000;
    let mut lines: Vec<(u32, u32)> = (0..switches).map(|i| (i, switches + i)).collect();
    lines.extend((0..switches - 1).map(|i| (switches + i, switches + i + 1)));
    let graph = links(switches, switches, &lines).build().expect("a chain");
    let tables = routes(&graph, 1, PathChoice::Flow).expect("routes");
    let passed = path_of(&graph, &tables, 0, &packet(switches - 1, 4, 0));
    assert_eq!(passed, (0..switches).collect::<Vec<_>>());
}

#[test]
fn a_hundred_thousand_hosts_are_routed() {
    let graph = fat_tree(74);
    assert_eq!(graph.hosts(), 101_306);
    let tables = routes(&graph, 1, PathChoice::Flow).expect("routes");
    let mut stream = Stream::new(9, 0, Purpose::Test);
    let half = 37;
    for _ in 0..2_000 {
        let [src, dst] = [(); 2].map(|()| stream.below(graph.hosts().into()) as u32);
        if src == dst {
            continue;
        }
        let passed = path_of(
            &graph,
            &tables,
            src,
            &packet(dst, stream.next_u64() as u32, 0),
        );
        let expected = match () {
            () if src / half == dst / half => 1,
            () if src / (half * half) == dst / (half * half) => 3,
            () => 5,
        };
        assert_eq!(passed.len(), expected);
    }
}

prop_compose! {
    /// A connected network: a random tree of switches, additional links between them (also parallel
    /// ones), and hosts with one or two ports.
    fn networks()(
        switches in 1u32..90,
        hosts in 2u32..100,
        extra in 0u32..120,
        seed: u64,
    ) -> Graph {
        let mut stream = Stream::new(seed, 0, Purpose::Test);
        let mut below = |n: u32| stream.below(n.into()) as u32;
        let mut lines: Vec<(u32, u32)> =
            (1..switches).map(|s| (hosts + s, hosts + below(s))).collect();
        for _ in 0..extra {
            let (a, b) = (below(switches), below(switches));
            if a != b {
                lines.push((hosts + a, hosts + b));
            }
        }
        for host in 0..hosts {
            for _ in 0..1 + below(2) {
                lines.push((host, hosts + below(switches)));
            }
        }
        // Leaves of the tree without hosts are also switches that hosts can reach.
        links(hosts, switches, &lines)
            .build()
            .expect("a connected network")
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// TOP-07, TOP-08: the sets are exactly the ports that a naive search finds, in ascending
    /// order.
    #[test]
    fn sets_are_those_of_a_naive_search(graph in networks()) {
        let tables = routes(&graph, 1, PathChoice::Flow).expect("routes");
        for group in 0..graph.groups() {
            let target = graph.group_switch(group);
            let distance = distances(&graph, target);
            for switch in 0..graph.switches() {
                let node = graph.switch_node(switch);
                let nearer = |&port: &u16| {
                    let peer = graph.port(graph.link(node, port)).peer;
                    graph
                        .switch_number(peer)
                        .is_some_and(|peer| distance[peer as usize] + 1 == distance[switch as usize])
                };
                let naive: Vec<u16> = (0..graph.ports(node)).filter(nearer).collect();
                let table = &tables[switch as usize];
                prop_assert_eq!(&naive[..], table.towards(group));
            }
        }
    }
}
