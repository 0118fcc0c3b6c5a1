//! Network data as the ns-3 simulator computes them, compared with numbers that were computed by
//! hand.

use fabric::LinkId;
use std::sync::Arc;

use dataplane::config::PathChoice;
use dataplane::packet::{Kind, Packet};
use dataplane::route::ports;
use dataplane::units::{NS, Rate, US};
use fabric::engine::Clock;
use fabric::ns3::{Baselines, address, node_numbers};
use fabric::routing::routes;
use fabric::topology::{Graph, LinkSpec, Loss, TopologySpec};

fn link(gbps: u64, delay_ps: u64) -> LinkSpec {
    LinkSpec {
        rate: Rate::from_gbps(gbps),
        delay_ps,
        loss: Loss::NONE,
    }
}

fn star(hosts: u32) -> Arc<Graph> {
    let spec = TopologySpec::Star {
        hosts,
        link: link(100, US),
    };
    Arc::new(spec.build().unwrap())
}

fn leaf_spine(uplink: LinkSpec) -> Arc<Graph> {
    let spec = TopologySpec::LeafSpine {
        leaves: 8,
        spines: 8,
        hosts_per_leaf: 16,
        link: link(100, US),
        uplink,
    };
    Arc::new(spec.build().unwrap())
}

// NS3-43, NS3-45
#[test]
fn round_trips_and_windows() {
    // RTT: 1 µs of propagation on two links in both directions, and 80 ns per link for a packet of
    // 1000 bytes.
    assert_eq!(Baselines::new(star(2), 1000).largest(), (4160 * NS, 52_000));
    let mut plain = Baselines::new(leaf_spine(link(100, US)), 1000);
    assert_eq!(plain.largest(), (8320 * NS, 104_000));
    assert_eq!(
        plain.of_pair(LinkId::new(0), LinkId::new(1)),
        (4160 * NS, 52_000),
        "one rack"
    );
    // Faster uplinks take 20 ns per packet. The host links remain the bottleneck.
    let mut fast = Baselines::new(leaf_spine(link(400, US)), 1000);
    assert_eq!(fast.largest(), (8200 * NS, 102_500));
    // Slow uplinks of 30 Gbit/s take 266 ns (truncated). The path with the longest RTT is then not
    // the path with the largest BDP.
    let mut slow = Baselines::new(leaf_spine(link(30, NS)), 1000);
    let far = 4 * 1000 + 4 + 2 * 80 + 2 * 266;
    assert_eq!(
        slow.of_pair(LinkId::new(0), LinkId::new(127)),
        (far * NS, far * 30 / 8)
    );
    assert_eq!(slow.largest(), (far * NS, 52_000));
}

// NS3-42
#[test]
fn names_that_are_numbers_are_the_numbers() {
    let named = |hosts: [&str; 2], switch: &str| {
        let spec = TopologySpec::Links {
            hosts: hosts.map(str::to_owned).to_vec(),
            switches: vec![switch.to_owned()],
            links: (0..2).map(|host| (host, 2, link(100, US))).collect(),
        };
        node_numbers(&spec.build().unwrap()).to_vec()
    };
    assert_eq!(named(["7", "3"], "0"), [7, 3, 0]);
    assert_eq!(named(["7", "a"], "0"), [0, 1, 2]);
    assert_eq!(named(["7", "07"], "0"), [0, 1, 2], "not different numbers");
    assert_eq!(node_numbers(&star(2)).to_vec(), [0, 1, 2]);
}

// NS3-41
#[test]
fn addresses_and_ports() {
    assert_eq!(address(1), 0x0b00_0101);
    assert_eq!(address(258), 0x0b01_0201);
    assert_eq!(ports(10_000, 100), 10_000 | 100 << 16);
}

// NS3-40, NS3-44
#[test]
fn a_flow_takes_the_spine_that_its_tuple_says() {
    let graph = leaf_spine(link(100, US));
    let tables = routes(&graph, 1, PathChoice::Tuple).unwrap();
    let packet = |dst, src_port| Packet {
        dst,
        hash: ports(src_port, 100),
        ..Packet::new(Kind::Data, 2, 1048)
    };
    // Known from a run of ns-3: the first flow from host 0 to host 127 uses spine 138, which is the
    // sixth in the list 143, 142, …, 136, and is connected to port 16 + 2 of the ToR.
    assert_eq!(tables[0].port(&packet(127, 10_000), || 0), Some(18));
    // Other flows of the pair use other spines.
    let spines: std::collections::BTreeSet<_> = (10_000..10_100)
        .map(|port| tables[0].port(&packet(127, port), || 0))
        .collect();
    assert_eq!(spines.len(), 8);
    assert_eq!(
        tables[0].port(&packet(3, 10_000), || 0),
        Some(3),
        "the own rack"
    );
}

// NS3-03
#[test]
fn starts_are_cut_as_the_clock_shows_them() {
    let clock = Clock::Nanoseconds {
        epoch_ps: 2_000_000 * US,
    };
    assert_eq!(clock.start(0), 0);
    assert_eq!(clock.start(686 * NS), 685 * NS);
    assert_eq!(clock.start(775 * NS), 775 * NS);
    assert_eq!(Clock::Exact.start(686 * NS + 1), 686 * NS + 1);
}
