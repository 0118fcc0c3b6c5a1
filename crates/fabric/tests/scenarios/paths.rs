//! Path policies of senders in networks with a known outcome. Rules in specs/paths.md.

use super::*;
use crate::common::*;
use dataplane::config::{
    Admission, Alpha, EcnConfig, IrnConfig, IrnWindow, PathChoice, Recovery, Red, SprayConfig,
};
use dataplane::units::{MS, Rate, US};
use fabric::NodeId;
use fabric::link_failures::{LinkFailure, LinkFailures};

/// Adds a path policy of senders to a setup.
fn sprayed(mut s: Setup, policy: SprayConfig, recovery: Recovery) -> Setup {
    s.switch.path = PathChoice::Entropy;
    s.nic.spray = Some(policy);
    s.nic.reorders = true;
    s.nic.recovery = recovery;
    s
}

/// IRN with a delay before overtaken packets count as lost.
fn patient() -> Recovery {
    Recovery::Irn(IrnConfig {
        window: IrnWindow::Off,
        lost_after: 100_000,
        rto_low_ps: MS,
        rto_high_ps: MS,
        ..IrnConfig::paper()
    })
}

/// Two hosts on two switches, which are connected by one spine per entry of `gbps`, the rate of its
/// links.
fn spines(gbps: &[u64], s: fn(TopologySpec, Vec<traffic::Flow>) -> Setup, bytes: u64) -> Setup {
    let mut links = vec![(0, 2, LINK), (1, 3, LINK)];
    for (spine, &gbps) in (4..).zip(gbps) {
        links.push((2, spine, link(gbps, US)));
        links.push((spine, 3, link(gbps, US)));
    }
    let topology = named(2, 2 + gbps.len() as u32, links);
    s(topology, vec![flow(0, 0, 0, 1, bytes)])
}

/// ECN that marks every packet above a queue threshold.
const fn step(bytes: u64) -> Red {
    Red {
        kmin_bytes: bytes,
        kmax_bytes: bytes + 1,
        pmax: 1.0,
    }
}

/// Returns the number of data packets that the first switch sends to each spine.
fn shares(outcome: &Outcome, spines: u32) -> Vec<u64> {
    let to = |spine| port(outcome, 2, 4 + spine).tx_data_packets;
    (0..spines).map(to).collect()
}

// SPR-01, SPR-02, SPR-06, SPR-20
#[test]
fn two_equal_paths_share_the_load_evenly() {
    // 16,384 packets with as many entropy values. Each is hashed to one of two ports: 8192 ± 64
    // packets per port.
    let s = spines(&[100, 100], line_rate, 16_384_000);
    let (outcome, keep) = sprayed(s.clone(), OBLIVIOUS, Recovery::NONE).run();
    let shares = shares(&outcome, 2);
    assert_eq!(shares.iter().sum::<u64>(), 16_384);
    assert!(shares[0].abs_diff(8192) < 4 * 64, "{shares:?}");
    assert_eq!(outcome.violations, []);
    // The flow is as fast as on one path. Without spraying, one path carries all packets.
    let (one, single) = s.run();
    assert!(self::shares(&one, 2).contains(&16_384));
    assert!(keep.fct(0) < single.fct(0) + 2 * US);
    assert_eq!(outcome.counters.overtaken, 0, "both paths are equally long");
}

// SPR-03, SPR-11, SPR-12, SPR-30, SPR-31
#[test]
fn feedback_avoids_a_slow_path_and_a_hash_does_not() {
    // One of four paths has a tenth of the rate, and its switch marks packets if more than 5 KB are
    // queued.
    let marked = |topology, flows| {
        let mut s = line_rate(topology, flows);
        s.switch.ecn = Some(EcnConfig {
            profiles: vec![
                (Rate::from_gbps(10), step(5_000)),
                (Rate::from_gbps(100), step(50_000)),
            ],
            ..red(0, 0, 1.0)
        });
        s
    };
    let run = |policy: Option<SprayConfig>| {
        let s = spines(&[10, 100, 100, 100], marked, 8_000_000);
        match policy {
            Some(policy) => sprayed(s, policy, patient()).run(),
            None => s.run(),
        }
    };
    let fct = |policy| run(policy).1.fct(0);
    let (outcome, keep) = run(Some(REPS));
    let slow = shares(&outcome, 4)[0];
    assert!(slow * 16 < 8000, "{slow} of 8000 packets on the slow path");
    assert!(
        outcome.counters.overtaken > 0,
        "packets on the slow path are overtaken"
    );
    let reps = keep.fct(0);
    assert!(reps < 2 * 8_000 * FRAME_PS, "{reps}");
    assert!(fct(Some(BITMAP)) < fct(Some(OBLIVIOUS)));
    assert!(2 * reps < fct(Some(OBLIVIOUS)));
    // With a hash, a few flows use the slow path.
    let seeds = (0..32).map(|seed| {
        let mut s = spines(&[10, 100, 100, 100], marked, 8_000_000);
        s.seed = seed;
        s.run().1.fct(0)
    });
    assert!(
        seeds.max() > Some(5 * reps),
        "a flow on the slow path is slow"
    );
}

// SPR-04, SPR-13
#[test]
fn a_frozen_flow_leaves_a_failed_path() {
    // Routes change 100 ms after the failure. Until then packets on the failed path are lost.
    let failing = |policy| {
        let mut s = sprayed(spines(&[100; 4], line_rate, 20_000_000), policy, patient());
        let graph = s.topology.build().expect("a sound topology");
        let mut ports = graph.links_of(NodeId::new(2));
        let link = ports.find(|&index| graph.port(index).peer == NodeId::new(4));
        let failure = LinkFailure {
            link: link.expect("the two are neighbours"),
            from_ps: 200 * US,
            until_ps: None,
        };
        s.link_failures = Some(LinkFailures::new(&graph, &[failure], 100 * MS));
        s.run()
    };
    let (reps, keep) = failing(REPS);
    let (oblivious, other) = failing(OBLIVIOUS);
    assert_eq!((reps.finished, oblivious.finished), (1, 1));
    let (few, many) = (
        reps.counters.retransmissions,
        oblivious.counters.retransmissions,
    );
    assert!(few * 2 < many, "{few} and {many} packets are sent again");
    assert!(keep.fct(0) < other.fct(0));
}

// SPR-05
#[test]
fn bfc_assigns_a_queue_to_a_flow_however_it_is_sprayed() {
    let mut s = spines(&[100, 100], bfc, 4_000_000);
    s.flows = (0..4).map(|id| flow(id, 0, 0, 1, 1_000_000)).collect();
    let (outcome, _) = sprayed(s, OBLIVIOUS, Recovery::NONE).run();
    assert_eq!((outcome.finished, outcome.violations), (4, vec![]));
    let hop = &outcome.counters.hop;
    assert_eq!(hop["bfc_table_collisions"], 0, "{hop:?}");
}

// SPR-04: with ideal recovery the receiver counts packets in any order, and the sender still has
// the entropy value of each packet.
#[test]
fn losses_on_a_slow_path_are_charged_to_its_values() {
    let lost = |policy| {
        let mut s = spines(&[10, 100], line_rate, 8_000_000);
        s.switch.mmu.buffer_bytes = 100_000;
        s.switch.mmu.admission = Admission::EgressDynamic {
            alpha: Alpha::new(1.0),
            per_queue: false,
        };
        let (outcome, _) = sprayed(s, policy, Recovery::ideal(None)).run();
        assert_eq!(outcome.finished, 1, "{policy:?}");
        outcome.counters.retransmissions
    };
    let [bitmap, oblivious] = [BITMAP, OBLIVIOUS].map(lost);
    assert!(0 < bitmap && bitmap < oblivious, "{bitmap} {oblivious}");
    assert!(lost(REPS) > 0);
}
