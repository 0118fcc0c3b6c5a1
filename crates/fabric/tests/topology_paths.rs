//! RTTs, BDPs and ideal FCTs of pairs of hosts in an empty network. Rules TOP-10, TOP-11, TOP-14 to
//! TOP-16.

use fabric::LinkId;
use std::sync::Arc;

use dataplane::config::PathChoice;
use dataplane::route::Routes;
use dataplane::units::{NS, Rate, Time, US};
use fabric::paths::{FrameSizes, PathProfile, Paths};
use fabric::routing::routes;
use fabric::topology::{Graph, LinkSpec, Loss, TopologySpec};
use kernel::{Purpose, Stream};
use proptest::prelude::*;

const FRAMES: FrameSizes = FrameSizes {
    mtu: 1_000,
    header: 48,
    ack: 60,
};

fn link(gbps: u64) -> LinkSpec {
    LinkSpec {
        rate: Rate::from_gbps(gbps),
        delay_ps: US,
        loss: Loss::NONE,
    }
}

fn graph(spec: &TopologySpec) -> Arc<Graph> {
    Arc::new(spec.build().unwrap_or_else(|error| panic!("{error}")))
}

/// The BFC paper's network: 8 ToRs, 8 spines, 128 hosts, all links 100 Gbps and 1 µs.
fn bfc() -> Arc<Graph> {
    graph(&TopologySpec::LeafSpine {
        leaves: 8,
        spines: 8,
        hosts_per_leaf: 16,
        link: link(100),
        uplink: link(100),
    })
}

/// The HPCC paper's network: 320 hosts, 100 Gbps to hosts, 400 Gbps elsewhere, 1 µs.
fn hpcc() -> Arc<Graph> {
    graph(&TopologySpec::Clos {
        pods: 5,
        tors_per_pod: 4,
        aggs_per_pod: 4,
        cores: 16,
        hosts_per_tor: 16,
        link: link(100),
        agg_link: link(400),
        core_link: link(400),
    })
}

/// Hosts `h0`, `h1`, … and switches `s0`, `s1`, … with listed links.
fn links(hosts: u32, switches: u32, lines: Vec<(u32, u32, LinkSpec)>) -> Arc<Graph> {
    let spec = TopologySpec::Links {
        hosts: (0..hosts).map(|i| format!("h{i}")).collect(),
        switches: (0..switches).map(|i| format!("s{i}")).collect(),
        links: lines,
    };
    Arc::new(spec.build().unwrap_or_else(|error| panic!("{error}")))
}

/// Returns the arrival of the last packet, computed packet by packet and link by link.
fn naive_received_ps(hops: &[(Rate, Time)], bytes: u64, mtu: u16, header: u16) -> Time {
    let mut arrivals = Vec::new();
    let mut rest = bytes;
    while rest > 0 {
        let payload = rest.min(mtu.into());
        arrivals.push((0, payload + u64::from(header)));
        rest -= payload;
    }
    for &(rate, delay_ps) in hops {
        let mut free = 0;
        for (at, size) in &mut arrivals {
            free = free.max(*at) + rate.serialisation_ps(*size);
            *at = free + delay_ps;
        }
    }
    arrivals.last().expect("a flow has a packet").0
}

fn naive_one_way_ps(hops: &[(Rate, Time)], bytes: u64) -> Time {
    hops.iter()
        .map(|&(rate, delay_ps)| rate.serialisation_ps(bytes) + delay_ps)
        .sum()
}

fn any_hops() -> impl Strategy<Value = Vec<(Rate, Time)>> {
    let rate = prop_oneof![
        (1_000_000u64..400_000_000_000).prop_map(Rate::from_bps),
        prop::sample::select(vec![10u64, 25, 40, 100, 400]).prop_map(Rate::from_gbps),
    ];
    prop::collection::vec((rate, 0..10 * US), 1..9)
}

proptest! {
    /// TOP-14: the closed form agrees with a packet-by-packet simulation of the links, to the
    /// picosecond.
    #[test]
    fn the_closed_form_is_the_packet_by_packet_tandem(
        hops in any_hops(),
        bytes in 1u64..100_000,
        mtu in 1u16..3_000,
        header in 0u16..200,
    ) {
        let naive = naive_received_ps(&hops, bytes, mtu, header);
        let path = PathProfile { hops };
        prop_assert_eq!(path.ideal_received_ps(bytes, mtu, header), naive);
    }
}

#[test]
fn ideal_times_by_hand() {
    // TOP-14. 1048 bytes at 100 Gbps take 83 840 ps.
    let full = 83_840;
    let mut paths = Paths::new(bfc());
    // Two links within a rack, four links between racks.
    assert_eq!(
        paths.ideal_received_ps(LinkId::new(0), LinkId::new(1), 1_000, FRAMES),
        2 * full + 2 * US
    );
    assert_eq!(
        paths.ideal_received_ps(LinkId::new(0), LinkId::new(16), 1_000, FRAMES),
        4 * full + 4 * US
    );
    let long = paths.ideal_received_ps(LinkId::new(0), LinkId::new(16), 10_000_000, FRAMES);
    assert_eq!(long, 10_003 * full + 4 * US);
    // 1000 + 500 payload bytes: the short packet (43 840 ps) waits for the full packet at each
    // switch.
    let short = paths.ideal_received_ps(LinkId::new(0), LinkId::new(1), 1_500, FRAMES);
    assert_eq!(short, 2 * full + 43_840 + 2 * US);
    // A flow of one byte: the header and the byte.
    assert_eq!(
        paths.ideal_received_ps(LinkId::new(0), LinkId::new(1), 1, FRAMES),
        2 * 49 * 80 + 2 * US
    );
    // TOP-15: an ACK of 60 bytes takes 4 800 ps per link.
    let acked = paths.ideal_acked_ps(LinkId::new(0), LinkId::new(16), 10_000_000, FRAMES);
    assert_eq!(acked, long + 4 * 4_800 + 4 * US);
    assert_eq!(paths.hops(LinkId::new(0), LinkId::new(16)), 4);
}

#[test]
fn a_slow_link_in_the_middle_sets_the_pace() {
    let spec = TopologySpec::Dumbbell {
        left: 2,
        right: 2,
        link: link(100),
        core: link(40),
    };
    let mut paths = Paths::new(graph(&spec));
    // 1048 bytes at 40 Gbit/s take 209 600 ps. There are 100 packets, and the first one also passes
    // two fast links.
    let expected = 100 * 209_600 + 2 * 83_840 + 3 * US;
    assert_eq!(
        paths.ideal_received_ps(LinkId::new(0), LinkId::new(2), 100_000, FRAMES),
        expected
    );
    assert_eq!(
        paths.bottleneck(LinkId::new(0), LinkId::new(2)),
        Rate::from_gbps(40)
    );
    assert_eq!(
        paths.bottleneck(LinkId::new(0), LinkId::new(1)),
        Rate::from_gbps(100)
    );
}

#[test]
fn base_round_trips_of_the_papers_networks() {
    // TOP-10, BFC paper section 6.1: an RTT of at most 8 µs (propagation only), and 2 µs over one
    // hop.
    let bfc = bfc();
    let mut paths = Paths::new(Arc::clone(&bfc));
    assert_eq!(paths.max_base_rtt_ps(0, 0), 8 * US);
    assert_eq!(
        [
            paths.base_rtt_ps(LinkId::new(0), LinkId::new(1), 0, 0),
            paths.base_rtt_ps(LinkId::new(0), LinkId::new(127), 0, 0)
        ],
        [4 * US, 8 * US]
    );
    assert_eq!(
        paths.base_rtt_ps(LinkId::new(0), LinkId::new(127), 1_048, 60),
        8 * US + 4 * (83_840 + 4_800)
    );
    // TOP-11: 8 µs at 100 Gbit/s are 100 kB.
    assert_eq!(
        paths.bdp_bytes(LinkId::new(0), LinkId::new(127), 0, 0),
        100_000
    );
    assert_eq!(
        paths.bdp_bytes(LinkId::new(0), LinkId::new(127), 1_048, 60),
        (8_354_560u64 * 100).div_euclid(8_000)
    );

    // HPCC paper section 5.1: 12 µs, here plus the transmission time of 1090 bytes (with INT).
    let mut paths = Paths::new(hpcc());
    assert_eq!(paths.max_base_rtt_ps(0, 0), 12 * US);
    let serialised = 2 * (87_200 + 4_800) + 4 * (21_800 + 1_200);
    assert_eq!(
        paths.base_rtt_ps(LinkId::new(0), LinkId::new(319), 1_090, 60),
        12 * US + serialised
    );
    assert_eq!(paths.max_base_rtt_ps(1_090, 60), 12 * US + serialised);
    // Hosts in the same rack, in the same pod and in another pod.
    let rtts = [15, 16, 64].map(|dst| paths.base_rtt_ps(LinkId::new(0), LinkId::new(dst), 0, 0));
    assert_eq!(rtts, [4 * US, 8 * US, 12 * US]);
    assert!((0..320).all(|dst| paths.alternatives(LinkId::new(7), LinkId::new(dst)).len() == 1));
}

/// Returns the largest base RTT, computed for every pair.
fn slow_max_rtt_ps(graph: &Arc<Graph>, frame: u16, ack: u16) -> Time {
    let mut paths = Paths::new(Arc::clone(graph));
    let mut longest = 0;
    for src in graph.endpoint_ids() {
        for dst in graph.endpoint_ids() {
            if graph.host_of(src) != graph.host_of(dst) {
                longest = longest.max(paths.base_rtt_ps(src, dst, frame, ack));
            }
        }
    }
    longest
}

#[test]
fn one_rack_stands_for_all_where_all_are_alike() {
    // TOP-10: the largest base RTT, with different kinds of hosts
    let slow_host = LinkSpec {
        rate: Rate::from_gbps(10),
        delay_ps: 3 * US,
        loss: Loss::NONE,
    };
    let dumbbell = |left, right, core| TopologySpec::Dumbbell {
        left,
        right,
        link: slow_host,
        core,
    };
    let leaf_spine = |hosts_per_leaf| TopologySpec::LeafSpine {
        leaves: 3,
        spines: 2,
        hosts_per_leaf,
        link: slow_host,
        uplink: link(40),
    };
    let clos = |pods, tors_per_pod, hosts_per_tor| TopologySpec::Clos {
        pods,
        tors_per_pod,
        aggs_per_pod: 2,
        cores: 4,
        hosts_per_tor,
        link: link(100),
        agg_link: link(25),
        core_link: slow_host,
    };
    let shapes = [
        TopologySpec::Star {
            hosts: 3,
            link: slow_host,
        },
        dumbbell(1, 1, link(1)),
        dumbbell(1, 3, link(1)),
        dumbbell(3, 1, link(1)),
        leaf_spine(1),
        leaf_spine(3),
        clos(1, 1, 2),
        clos(1, 3, 1),
        clos(3, 1, 1),
        clos(3, 2, 2),
        TopologySpec::FatTree {
            k: 4,
            link: link(100),
            fabric_link: slow_host,
        },
    ];
    let dual_homed = |pairs, hosts| TopologySpec::DualHomed {
        pairs,
        hosts,
        aggs: 2,
        link: slow_host,
        uplink: link(40),
    };
    let dual = [(1, 2), (2, 2), (2, 5), (3, 4)].map(|(pairs, hosts)| dual_homed(pairs, hosts));
    for spec in shapes.iter().chain(&dual) {
        let graph = graph(spec);
        let fast = Paths::new(Arc::clone(&graph)).max_base_rtt_ps(1_048, 60);
        assert_eq!(fast, slow_max_rtt_ps(&graph, 1_048, 60), "{spec:?}");
    }
}

/// Returns the same network as a list of links, without its regular structure.
fn as_links(graph: &Graph) -> Arc<Graph> {
    let mut lines = Vec::new();
    for node in graph.node_ids() {
        for index in graph.links_of(node) {
            let port = graph.port(index);
            if port.peer > node {
                let link = LinkSpec {
                    rate: port.rate,
                    delay_ps: port.delay_ps,
                    loss: Loss::NONE,
                };
                lines.push((node.bits(), port.peer.bits(), link));
            }
        }
    }
    links(graph.hosts(), graph.switches(), lines)
}

#[test]
fn a_regular_shape_answers_like_its_list_of_links() {
    // TOP-17: the regular topology uses symmetry, the list of links does not. TOP-03: their ports
    // have the same order.
    let clos = TopologySpec::Clos {
        pods: 3,
        tors_per_pod: 2,
        aggs_per_pod: 2,
        cores: 4,
        hosts_per_tor: 2,
        link: link(100),
        agg_link: link(200),
        core_link: link(400),
    };
    let dumbbell = TopologySpec::Dumbbell {
        left: 2,
        right: 3,
        link: link(100),
        core: link(40),
    };
    let fat_tree = TopologySpec::FatTree {
        k: 6,
        link: link(100),
        fabric_link: link(40),
    };
    let star = TopologySpec::Star {
        hosts: 3,
        link: link(100),
    };
    let dual_homed = TopologySpec::DualHomed {
        pairs: 3,
        hosts: 7,
        aggs: 2,
        link: link(25),
        uplink: link(100),
    };
    for regular in [
        graph(&dual_homed),
        graph(&clos),
        graph(&dumbbell),
        graph(&fat_tree),
        graph(&star),
        bfc(),
    ] {
        let listed = as_links(&regular);
        for index in 0..regular.port_count() as usize {
            assert_eq!(
                regular.port(LinkId::new(index)),
                listed.port(LinkId::new(index))
            );
        }
        let (mut a, mut b) = (Paths::new(Arc::clone(&regular)), Paths::new(listed));
        for src in 0..regular.endpoints() {
            for dst in 0..regular.endpoints() {
                assert_eq!(
                    a.alternatives(LinkId::from_bits(src), LinkId::from_bits(dst)),
                    b.alternatives(LinkId::from_bits(src), LinkId::from_bits(dst))
                );
            }
        }
        assert_eq!(a.max_base_rtt_ps(1_048, 60), b.max_base_rtt_ps(1_048, 60));
    }
}

/// Returns the links of all shortest paths between two endpoints, found by following the routes.
fn all_paths(graph: &Graph, tables: &[Routes], src: u32, dst: u32) -> Vec<Vec<(Rate, Time)>> {
    let first = graph.port(LinkId::from_bits(src));
    let switch = graph.switch_of(LinkId::from_bits(src));
    let mut open = vec![(switch, vec![(first.rate, first.delay_ps)])];
    let mut found = Vec::new();
    while let Some((switch, hops)) = open.pop() {
        let table = &tables[switch as usize];
        let group = graph.group_of(LinkId::from_bits(dst));
        let own = [table.endpoints().port[dst as usize]];
        let ports: &[u16] = if table.is_own(dst) {
            &own
        } else {
            table.towards(group)
        };
        for &port in ports {
            let port = graph.port(graph.switch_link(switch, port));
            let mut hops = hops.clone();
            hops.push((port.rate, port.delay_ps));
            match graph.switch_number(port.peer) {
                None => found.push(hops),
                Some(switch) => open.push((switch, hops)),
            }
        }
    }
    found
}

prop_compose! {
    /// A small connected network whose links differ in rate and delay. Hosts have one or two ports.
    fn networks()(
        switches in 1u32..9,
        hosts in 2u32..7,
        extra in 0u32..14,
        seed: u64,
    ) -> Arc<Graph> {
        let mut stream = Stream::new(seed, 0, Purpose::Test);
        let mut below = |n: u32| stream.below(n.into()) as u32;
        let mut pairs: Vec<(u32, u32)> =
            (1..switches).map(|s| (hosts + s, hosts + below(s.min(3)))).collect();
        for _ in 0..extra {
            let (a, b) = (below(switches), below(switches));
            if a != b {
                pairs.push((hosts + a, hosts + b));
            }
        }
        for host in 0..hosts {
            for _ in 0..1 + below(2) {
                pairs.push((host, hosts + below(switches)));
            }
        }
        let mut kind = || LinkSpec {
            rate: Rate::from_bps([10_000_000_000, 25_000_000_000, 99_999_999_977][below(3) as usize]),
            delay_ps: [0, 100 * NS, 333_333][below(3) as usize],
            loss: Loss::NONE,
        };
        links(hosts, switches, pairs.into_iter().map(|(a, b)| (a, b, kind())).collect())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    /// TOP-10, TOP-14 to TOP-16: the ideal FCT is that of the fastest shortest path, for short and
    /// for long flows.
    #[test]
    fn the_ideal_is_the_fastest_of_all_shortest_paths(graph in networks()) {
        let tables = routes(&graph, 1, PathChoice::Flow).expect("routes");
        let mut paths = Paths::new(Arc::clone(&graph));
        for src in graph.endpoint_ids() {
            for dst in graph.endpoint_ids().filter(|&dst| dst != src) {
                let there = all_paths(&graph, &tables, src.bits(), dst.bits());
                let back = all_paths(&graph, &tables, dst.bits(), src.bits());
                let ack = back.iter().map(|hops| naive_one_way_ps(hops, 60)).min().unwrap_or(0);
                for bytes in [1, 1_000, 1_700, 40_321] {
                    let naive =
                        there.iter().map(|hops| naive_received_ps(hops, bytes, 1_000, 48)).min();
                    let received = paths.ideal_received_ps(src, dst, bytes, FRAMES);
                    prop_assert_eq!(Some(received), naive);
                    let acked = paths.ideal_acked_ps(src, dst, bytes, FRAMES);
                    prop_assert_eq!(acked, received + ack);
                }
                let data = there.iter().map(|hops| naive_one_way_ps(hops, 1_048)).min();
                let rtt = paths.base_rtt_ps(src, dst, 1_048, 60);
                prop_assert_eq!(Some(rtt), data.map(|data| data + ack));
            }
        }
    }

    /// TOP-10: the largest base RTT is exact, even with dual-homed hosts and unequal links.
    #[test]
    fn the_largest_base_rtt_is_that_of_the_slowest_pair(graph in networks()) {
        let expected = slow_max_rtt_ps(&graph, 1_048, 60);
        prop_assert_eq!(Paths::new(graph).max_base_rtt_ps(1_048, 60), expected);
    }
}

#[test]
fn two_hosts_that_share_both_switches_are_not_their_own_farthest_pair() {
    // TOP-10: the two ports of h0 have the slowest links of both switches, but h0 does not send to
    // itself.
    let slow = LinkSpec {
        rate: Rate::from_gbps(100),
        delay_ps: 50 * US,
        loss: Loss::NONE,
    };
    let lines = vec![
        (0, 2, slow),
        (0, 3, slow),
        (1, 2, link(100)),
        (2, 3, link(100)),
    ];
    let mut paths = Paths::new(links(2, 2, lines));
    // From h0's port at s1 through s0 to h1.
    assert_eq!(paths.max_base_rtt_ps(0, 0), 2 * (50 + 1 + 1) * US);
}

#[test]
fn short_flows_take_the_near_path_and_long_ones_the_fast_one() {
    // TOP-16: s0 and s1 are connected by a long, fast path through s2 and a short, slow path
    // through s3.
    let far = LinkSpec {
        rate: Rate::from_gbps(100),
        delay_ps: 50 * US,
        loss: Loss::NONE,
    };
    let near = LinkSpec {
        rate: Rate::from_gbps(10),
        delay_ps: US,
        loss: Loss::NONE,
    };
    let lines = vec![
        (0, 2, link(100)),
        (1, 3, link(100)),
        (2, 4, far),
        (4, 3, far),
        (2, 5, near),
        (5, 3, near),
    ];
    let mut paths = Paths::new(links(2, 4, lines));
    assert_eq!(paths.alternatives(LinkId::new(0), LinkId::new(1)).len(), 2);
    // A frame of 1048 bytes takes 83 840 ps at 100 Gbit/s, and 838 400 ps at 10 Gbit/s.
    assert_eq!(
        paths.ideal_received_ps(LinkId::new(0), LinkId::new(1), 1_000, FRAMES),
        2 * 83_840 + 2 * 838_400 + 4 * US
    );
    assert_eq!(
        paths.ideal_received_ps(LinkId::new(0), LinkId::new(1), 1_000_000, FRAMES),
        1_003 * 83_840 + 102 * US
    );
    assert_eq!(
        paths.bottleneck(LinkId::new(0), LinkId::new(1)),
        Rate::from_gbps(100)
    );
    // The RTT of one frame uses the short path in both directions.
    assert_eq!(
        paths.base_rtt_ps(LinkId::new(0), LinkId::new(1), 0, 0),
        8 * US
    );
}

#[test]
fn too_many_incomparable_paths_are_summed_up_from_below() {
    // TOP-16: forty paths, each a little faster and a little longer than the one before.
    let way = |i: u32| LinkSpec {
        rate: Rate::from_gbps(10 + u64::from(i)),
        delay_ps: US * (1 + Time::from(i)),
        loss: Loss::NONE,
    };
    let network = |ways: u32| {
        let mut lines = vec![(0, 2, link(100)), (1, 3, link(100))];
        for i in 0..ways {
            lines.push((2, 4 + i, way(i)));
            lines.push((4 + i, 3, way(i)));
        }
        links(2, 2 + ways, lines)
    };
    let mut few = Paths::new(network(32));
    assert_eq!(few.alternatives(LinkId::new(0), LinkId::new(1)).len(), 32);
    let graph = network(40);
    let tables = routes(&graph, 1, PathChoice::Flow).expect("routes");
    let mut many = Paths::new(Arc::clone(&graph));
    assert!(many.alternatives(LinkId::new(0), LinkId::new(1)).len() <= 32);
    // The bound is the best rate and delay of all paths, link by link.
    let best = (Rate::from_gbps(49), US);
    let end = (Rate::from_gbps(100), US);
    for bytes in [1, 10_000, 1_000_000] {
        let ideal = many.ideal_received_ps(LinkId::new(0), LinkId::new(1), bytes, FRAMES);
        assert!(ideal >= naive_received_ps(&[end, best, best, end], bytes, 1_000, 48));
        for hops in all_paths(&graph, &tables, 0, 1) {
            assert!(ideal <= naive_received_ps(&hops, bytes, 1_000, 48));
        }
    }
}

#[test]
fn absurd_flows_saturate() {
    let path = PathProfile {
        hops: vec![(Rate::from_bps(1), 5), (Rate::from_bps(3), 5)],
    };
    assert_eq!(
        path.ideal_received_ps(u64::MAX, u16::MAX, u16::MAX),
        Time::MAX
    );
    assert_eq!(path.ideal_received_ps(u64::MAX, 0, 0), Time::MAX);
    // A flow of 0 bytes is one packet with only a header.
    let path = PathProfile {
        hops: vec![(Rate::from_gbps(100), US)],
    };
    assert_eq!(path.ideal_received_ps(0, 1_000, 48), 48 * 80 + US);
}

#[test]
fn a_hundred_thousand_hosts_need_no_table_of_pairs() {
    let spec = TopologySpec::FatTree {
        k: 74,
        link: link(100),
        fabric_link: link(100),
    };
    let graph = graph(&spec);
    let mut paths = Paths::new(Arc::clone(&graph));
    assert_eq!(paths.max_base_rtt_ps(0, 0), 12 * US);
    let mut stream = Stream::new(3, 0, Purpose::Test);
    let (rack, pod) = (37, 37 * 37);
    for _ in 0..300 {
        let [src, dst] = [(); 2].map(|()| stream.below(graph.hosts().into()) as u32);
        let links = match () {
            () if src / rack == dst / rack => 2,
            () if src / pod == dst / pod => 4,
            () => 6,
        };
        assert_eq!(
            paths.hops(LinkId::from_bits(src), LinkId::from_bits(dst)),
            links
        );
        assert_eq!(
            paths.ideal_received_ps(
                LinkId::from_bits(src),
                LinkId::from_bits(dst),
                1_000,
                FRAMES
            ),
            links as u64 * (83_840 + US)
        );
    }
}
