//! Servers with GPUs: their links, the ports and FCTs of flows, and the division among threads at
//! the links of NICs.

use crate::common::*;
use dataplane::units::{MS, NS, Rate, Time, US};
use fabric::engine::flow_paths;
use fabric::link_failures::{LinkFailure, LinkFailures};
use fabric::paths::{FrameSizes, PathProfile, Paths};
use fabric::topology::{
    CapacityOf, Graph, LinkSpec, Loss, Servers, TopologyError, TopologySpec, Wiring,
};
use fabric::{LinkId, NodeId};
use std::sync::Arc;

const fn link(gbps: u64, delay_ps: Time) -> LinkSpec {
    LinkSpec {
        rate: Rate::from_gbps(gbps),
        delay_ps,
        loss: Loss::NONE,
    }
}

const SCALE_UP: LinkSpec = link(2400, 500 * NS);
const NIC: LinkSpec = link(400, US);
const UPLINK: LinkSpec = link(800, 2 * US);

/// 4 servers with 4 GPUs each, in segments of 2 servers, with 3 spines in each plane.
const fn servers(wiring: Wiring, nic_ports: u32, planes: u32) -> Servers {
    Servers {
        wiring,
        servers: 4,
        gpus_per_server: 4,
        servers_per_segment: 2,
        nic_ports,
        planes,
        spines: 3,
        scale_up: SCALE_UP,
        link: NIC,
        uplink: UPLINK,
    }
}

fn build(servers: Servers) -> Graph {
    let spec = TopologySpec::Servers(servers);
    spec.build().unwrap_or_else(|error| panic!("{error}"))
}

fn peers(graph: &Graph, name: &str) -> Vec<String> {
    let node = graph.find(name).expect("the node exists");
    let ports = graph.links_of(node).map(|port| graph.port(port).peer);
    ports.map(|peer| graph.name(peer)).collect()
}

// TOP-23
#[test]
fn gpu_i_of_each_server_is_linked_to_rail_i_of_its_segment() {
    let graph = build(servers(Wiring::Rails, 1, 1));
    assert_eq!((graph.hosts(), graph.switches()), (16, 4 + 8 + 3));
    assert_eq!(peers(&graph, "gpu6"), ["nvswitch1", "leaf2"]);
    assert_eq!(peers(&graph, "gpu15"), ["nvswitch3", "leaf7"]);
    assert_eq!(peers(&graph, "nvswitch1"), ["gpu4", "gpu5", "gpu6", "gpu7"]);
    assert_eq!(
        peers(&graph, "leaf2"),
        ["gpu2", "gpu6", "spine0", "spine1", "spine2"]
    );
    let port = |name: &str, port| {
        let node = graph.find(name).expect("the node exists");
        let port = graph.port(graph.link(node, port));
        (port.rate.bps() / 1_000_000_000, port.delay_ps)
    };
    assert_eq!(port("gpu6", 0), (2400, 500 * NS));
    assert_eq!(port("gpu6", 1), (400, US));
    assert_eq!(port("leaf2", 2), (800, 2 * US));
}

// TOP-23
#[test]
fn racks_take_all_gpus_of_a_server_and_each_port_of_a_nic_has_its_leaf() {
    let graph = build(servers(Wiring::Racks, 2, 1));
    assert_eq!(graph.switches(), 4 + 2 * 2 + 3);
    assert_eq!(peers(&graph, "gpu7"), ["nvswitch1", "leaf0", "leaf1"]);
    assert_eq!(peers(&graph, "gpu8"), ["nvswitch2", "leaf2", "leaf3"]);
    assert_eq!(graph.ports(graph.find("leaf3").expect("leaf")), 8 + 3);
}

// TOP-23
#[test]
fn planes_meet_in_the_nics_alone() {
    let graph = build(servers(Wiring::Rails, 2, 2));
    // Leaf 2r + p of a segment is connected to port p of the NICs of rail r. Spines 0 to 2 are in
    // plane 0.
    let plane = |name| peers(&graph, name).split_off(2);
    assert_eq!(plane("leaf4"), ["spine0", "spine1", "spine2"]);
    assert_eq!(plane("leaf5"), ["spine3", "spine4", "spine5"]);
    let gpu = graph.find("gpu9").expect("gpu");
    let of: Vec<u32> = graph.links_of(gpu).map(|e| graph.plane_of(e)).collect();
    assert!(of[0] != of[1] && of[1] != of[2] && of[0] != of[2]);
    let other = graph.links_of(NodeId::new(0)).map(|e| graph.plane_of(e));
    let other: Vec<u32> = other.collect();
    assert_eq!(other[1..], of[1..]);
    assert_ne!(other[0], of[0], "servers have no scale-up domain in common");
}

#[test]
fn counts_that_do_not_fit_are_refused() {
    let error = |servers: Servers| TopologySpec::Servers(servers).build().unwrap_err();
    assert_eq!(
        error(servers(Wiring::Rails, 3, 2)),
        TopologyError::UnevenPlanes {
            planes: 2,
            nic_ports: 3
        }
    );
    let none = Servers {
        spines: 0,
        ..servers(Wiring::Racks, 1, 1)
    };
    assert_eq!(
        error(none),
        TopologyError::Zero {
            shape: "gpu-racks",
            key: "spines"
        }
    );
}

// TOP-12, TOP-13
#[test]
fn loads_and_racks_leave_out_the_scale_up_domain() {
    let gbps = 1_000_000_000;
    let rails = build(servers(Wiring::Rails, 2, 2));
    assert_eq!(rails.capacity_bps(CapacityOf::Hosts), Ok(16 * 800 * gbps));
    assert_eq!(
        rails.capacity_bps(CapacityOf::Core),
        Ok(16 * 3 * 800 * gbps)
    );
    assert_eq!(
        rails.rack_of(NodeId::new(2)),
        rails.rack_of(NodeId::new(6)),
        "one rail"
    );
    assert_ne!(
        rails.rack_of(NodeId::new(2)),
        rails.rack_of(NodeId::new(3)),
        "two rails"
    );
    assert_ne!(
        rails.rack_of(NodeId::new(2)),
        rails.rack_of(NodeId::new(10)),
        "two segments"
    );
    let racks = build(servers(Wiring::Racks, 1, 1));
    assert_eq!(racks.rack_of(NodeId::new(0)), racks.rack_of(NodeId::new(7)));
    assert_ne!(racks.rack_of(NodeId::new(7)), racks.rack_of(NodeId::new(8)));
}

fn setup(servers: Servers, flows: Vec<traffic::Flow>) -> Setup {
    line_rate(TopologySpec::Servers(servers), flows)
}

/// Flows between all pairs of GPUs, with long gaps so that no two flows overlap.
fn all_pairs(bytes: u64) -> Vec<traffic::Flow> {
    let pairs = (0..16).flat_map(|src| (0..16).map(move |dst| (src, dst)));
    (0..)
        .zip(pairs.filter(|(src, dst)| src != dst))
        .map(|(id, (src, dst))| flow(id, Time::from(id) * 50 * US, src, dst, bytes))
        .collect()
}

/// Returns, per flow, the nodes on the path with the egress port.
fn ways(setup: &Setup) -> Vec<Vec<(String, u16)>> {
    let graph = setup.topology.build().expect("a network");
    let paths = flow_paths(setup.clone().plan()).expect("one path per flow");
    let mut from = 0;
    let way = |&end: &u32| {
        let links = &paths.links[from as usize..end as usize];
        from = end;
        let named = links.iter().map(|&link| {
            let node = graph.sender(link);
            (graph.name(node), link.port(graph.first_link(node)))
        });
        named.collect()
    };
    paths.ends.iter().map(way).collect()
}

// ENG-11, TOP-24
#[test]
fn flows_take_the_scale_up_domain_the_rail_or_the_spines() {
    for (wiring, nic_ports, planes) in [
        (Wiring::Rails, 1, 1),
        (Wiring::Rails, 2, 1),
        (Wiring::Rails, 2, 2),
        (Wiring::Racks, 1, 1),
        (Wiring::Racks, 2, 2),
    ] {
        let setup = setup(servers(wiring, nic_ports, planes), all_pairs(1000));
        let mut ports_used = std::collections::BTreeSet::new();
        for (flow, way) in setup.flows.iter().zip(ways(&setup)) {
            let kinds: Vec<&str> = way.iter().map(|(name, _)| kind(name)).collect();
            let (server, place) = (|gpu| gpu / 4, |gpu| gpu % 4);
            let near = match wiring {
                Wiring::Rails => place(flow.src) == place(flow.dst),
                Wiring::Racks => true,
            } && flow.src / 8 == flow.dst / 8;
            if server(flow.src) == server(flow.dst) {
                assert_eq!(kinds, ["gpu", "nvswitch"], "{flow:?}");
            } else if near {
                assert_eq!(kinds, ["gpu", "leaf"], "{flow:?}");
            } else {
                assert_eq!(kinds, ["gpu", "leaf", "spine", "leaf"], "{flow:?}");
                ports_used.insert(way[0].1);
            }
        }
        assert_eq!(ports_used.len() as u32, nic_ports);
    }
}

fn kind(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit())
}

// TOP-14, ENG-11
#[test]
fn completion_times_are_those_of_the_rates_and_delays_of_the_way() {
    let bytes = 1_000_000;
    let flows = vec![
        flow(0, 0, 0, 3, bytes),       // inside a server
        flow(1, MS, 1, 5, bytes),      // through one leaf
        flow(2, 2 * MS, 1, 9, bytes),  // another segment
        flow(3, 3 * MS, 1, 14, bytes), // another segment and rail
    ];
    let (outcome, kept) = setup(servers(Wiring::Rails, 1, 1), flows).run();
    assert!(outcome.violations.is_empty());
    let alone = |hops: &[LinkSpec]| {
        let hops = hops.iter().map(|link| (link.rate, link.delay_ps)).collect();
        PathProfile { hops }.ideal_received_ps(bytes, 1000, 48)
    };
    // The transmission of 1000 packets of 1048 B, and then the path of the last packet.
    let frame = |gbps| (1048 * 8 * 1000_u64).div_ceil(gbps);
    assert_eq!(
        kept.fct(0),
        1001 * frame(2400) + 2 * 500 * NS,
        "store and forward at one switch"
    );
    assert_eq!(kept.fct(0), alone(&[SCALE_UP, SCALE_UP]));
    assert_eq!(kept.fct(1), 1001 * frame(400) + 2 * US);
    let across = [NIC, UPLINK, UPLINK, NIC];
    assert_eq!(kept.fct(2), alone(&across));
    assert_eq!(kept.fct(2), 1001 * frame(400) + 2 * frame(800) + 6 * US);
    assert_eq!(kept.fct(3), kept.fct(2));
    for record in &kept.flows {
        let took = record.received_ps.expect("finished") - record.flow.start_ps;
        assert_eq!(took, record.ideal_received_ps);
    }
}

// TOP-10: pairs of ports without a path are ignored.
#[test]
fn the_longest_round_trip_is_that_over_the_spines() {
    let mut paths = Paths::new(Arc::new(build(servers(Wiring::Rails, 2, 2))));
    assert_eq!(paths.max_base_rtt_ps(0, 0), 12 * US);
    let frames = FrameSizes {
        mtu: 1000,
        header: 48,
        ack: 60,
    };
    // GPU 0 has ports 0 to 2, and GPU 1 has ports 3 to 5. The first port of each leads to the
    // scale-up switch.
    assert_eq!(paths.hops(LinkId::new(0), LinkId::new(3)), 2);
    assert_eq!(paths.hops(LinkId::new(1), LinkId::new(4)), 4);
    assert!(
        paths.ideal_acked_ps(LinkId::new(0), LinkId::new(3), 1000, frames)
            < paths.ideal_acked_ps(LinkId::new(1), LinkId::new(4), 1000, frames)
    );
}

#[test]
#[should_panic(expected = "different planes")]
fn no_time_is_told_where_no_way_leads() {
    let mut paths = Paths::new(Arc::new(build(servers(Wiring::Rails, 1, 1))));
    paths.hops(LinkId::new(0), LinkId::new(3)); // from the scale-up port of gpu0 to the NIC of gpu1
}

// PAR-01: the links of NICs are longer than those of the scale-up domain, so the network is divided
// at the NICs.
#[test]
fn threads_are_cut_apart_at_the_nics_and_change_nothing() {
    for wiring in [Wiring::Rails, Wiring::Racks] {
        let servers = Servers {
            servers: 8,
            ..servers(wiring, 1, 1)
        };
        let flows = (0..400).map(|id| {
            let (src, step) = (id % 32, 1 + id / 32 * 5 % 31);
            flow(id, Time::from(id / 32) * US, src, (src + step) % 32, 30_000)
        });
        let setup = setup(servers, flows.collect());
        let (one, kept) = setup.clone().run();
        for asked in [2, 4] {
            let many = Setup {
                threads: forced(asked),
                ..setup.clone()
            };
            let (many, keep) = many.run_raw();
            assert_eq!(many.threads.used, asked);
            // A control frame of 60 B at 400 Gbit/s takes 1200 ps; the smallest frame has 16 B.
            assert!(many.threads.lookahead_ps >= Some(US), "cut at NICs");
            assert_eq!((many.digest, &keep.flows), (one.digest, &kept.flows));
        }
    }
}

// LNK-15: a GPU whose NIC is down from the start can still reach its own server.
#[test]
fn a_gpu_without_its_nic_uses_the_scale_up_domain() {
    let spec = TopologySpec::Servers(servers(Wiring::Rails, 1, 1));
    let graph = spec.build().expect("a network");
    let nic = graph.links_of(NodeId::new(1)).nth(1).expect("a NIC");
    let mut setup = line_rate(spec, vec![flow(0, 0, 1, 2, 1000), flow(1, 0, 1, 5, 1000)]);
    let failure = LinkFailure {
        link: nic,
        from_ps: 0,
        until_ps: None,
    };
    setup.link_failures = Some(LinkFailures::new(&graph, &[failure], 0));
    setup.until_ps = 10 * MS;
    let (_, kept) = setup.run_raw();
    assert_eq!(kept.fct(0), 2 * (1048 * 8 * 1000_u64).div_ceil(2400) + US);
    let unfinished = kept.flows.iter().find(|record| record.flow.id == 1);
    assert!(unfinished.is_none_or(|record| record.received_ps.is_none()));
}
