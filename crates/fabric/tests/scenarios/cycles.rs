//! Backpressure in a cycle: the backpressure graph finds the cycle, a run that it blocks reports
//! it, and runs without the pairs that the graph removes are not blocked.

use super::*;
use crate::common::*;
use dataplane::config::{Classify, PathChoice, Recovery};
use dataplane::switch::DATA_CLASS;
use dataplane::units::{MS, US};
use dataplane::watchdog::{Action, StormCounters, WatchdogConfig};
use fabric::backpressure_graph::BackpressureGraph;
use fabric::record::{Ending, StormRecord};
use fabric::routing::routes;
use fabric::{LinkId, NodeId};

fn graph_of(topology: &TopologySpec) -> (fabric::topology::Graph, BackpressureGraph) {
    let graph = topology.build().expect("a sound topology");
    let routes = routes(&graph, 1, PathChoice::Flow).expect("a connected network");
    let found = BackpressureGraph::new(&graph, &routes);
    (graph, found)
}

/// A ring of switches, each with `hosts` hosts.
fn ring(switches: u32, hosts: u32) -> TopologySpec {
    let all = switches * hosts;
    let mut links: Vec<_> = (0..all).map(|h| (h, all + h / hosts, LINK)).collect();
    links.extend((0..switches).map(|s| (all + s, all + (s + 1) % switches, LINK)));
    named(all, switches, links)
}

// BFC-50, BFC-51
#[test]
fn up_and_down_has_no_cycle() {
    let shapes = [
        star(8),
        leaf_spine(4, 3, 2),
        TopologySpec::FatTree {
            k: 4,
            link: LINK,
            fabric_link: LINK,
        },
        TopologySpec::Dumbbell {
            left: 2,
            right: 3,
            link: LINK,
            core: LINK,
        },
        ring(3, 2), // a ring of three: no packet crosses a third switch
    ];
    for shape in shapes {
        let (graph, found) = graph_of(&shape);
        assert!(found.cycles.is_empty(), "{}", graph.shape());
        assert!(found.removed.is_empty());
        assert_eq!(found.allowed(), found.used);
    }
}

// BFC-50
#[test]
fn nodes_edges_and_pairs_of_a_leaf_spine_are_what_can_be_counted_by_hand() {
    let (graph, found) = graph_of(&leaf_spine(4, 3, 2));
    // 4 leaves with 2 + 3 ports, 3 spines with 4 ports.
    assert_eq!(found.nodes, 4 * 5 + 3 * 4);
    // At a leaf, each of 3 uplink ports leads to 2 hosts. At a spine, each of 4 ports leads to the
    // 3 other leaves.
    assert_eq!(found.edges, 4 * 3 * 2 + 3 * 4 * 3);
    assert_eq!(found.all_edges(&graph).count() as u64, found.edges);
    let leaf = &found.used[0];
    // Ports of the leaf: 0 and 1 lead to hosts, 2 to 4 to spines.
    assert!(leaf.contains(0, 1) && leaf.contains(0, 3) && leaf.contains(3, 0));
    assert!(!leaf.contains(2, 3), "nothing comes down and goes up");
    assert!(!leaf.contains(0, 0));
}

// BFC-50, BFC-51, BFC-52
#[test]
fn a_ring_has_two_cycles_and_loses_one_pair_of_each() {
    // The two directions give two cycles: in a ring of five, the shortest path has one or two
    // links.
    let (graph, found) = graph_of(&ring(5, 1));
    assert_eq!(found.cycles.len(), 2, "one in each direction");
    assert!(found.cycles.iter().all(|c| c.len() == 5));
    let name = graph.port_name(LinkId::new(found.cycles[0][0].index()));
    assert!(name == "s0->s1" || name == "s0->s4", "{name}");
    assert_eq!(found.removed.len(), 2);
    let allowed = found.allowed();
    for edge in &found.removed {
        assert!(found.used[edge.switch as usize].contains(edge.ingress, edge.egress));
        assert!(!allowed[edge.switch as usize].contains(edge.ingress, edge.egress));
    }
}

/// Two leaves without a common spine: their packets come down from a spine to a third leaf and go
/// up again.
// BFC-51
#[test]
fn what_goes_down_and_up_again_is_removed_before_anything_else() {
    // Leaves l0 to l3 in a ring. Each pair of neighbours has its own spine.
    let hosts = 4;
    let mut links: Vec<_> = (0..hosts).map(|h| (h, hosts + h, LINK)).collect();
    for spine in 0..4 {
        links.push((hosts + spine, hosts + 4 + spine, LINK));
        links.push((hosts + (spine + 1) % 4, hosts + 4 + spine, LINK));
    }
    let (graph, found) = graph_of(&named(hosts, 8, links));
    assert!(!found.cycles.is_empty());
    assert!(!found.removed.is_empty());
    for edge in &found.removed {
        assert_eq!(
            graph.tier(NodeId::from_bits(graph.hosts() + edge.switch)),
            1,
            "at a leaf"
        );
    }
}

/// Every host of a ring sends to a host two switches further.
fn two_hops_on(switches: u32, hosts: u32, bytes: u64) -> Vec<traffic::Flow> {
    let all = switches * hosts;
    (0..all)
        .map(|h| flow(h, 0, h, (h + 2 * hosts) % all, bytes))
        .collect()
}

/// Puts all flows of a port into one queue, as with PFC, so that a flow that waits for one flow
/// waits for all flows.
fn single(switches: u32, hosts: u32) -> Setup {
    let flows = two_hops_on(switches, hosts, 1_000_000);
    let mut s = bfc(ring(switches, hosts), flows);
    s.switch.classify = Classify::Dynamic {
        queues: 1,
        table: 100,
        sticky_ps: 4 * US,
    };
    s
}

// BFC-35, BFC-52, AUD-08, AUD-09, ENG-14
#[test]
fn a_cycle_of_pauses_stops_a_run_that_names_it_and_goes_on_without() {
    let setup = single(5, 2);
    let (outcome, _) = setup.clone().run_raw();
    assert_eq!(outcome.ending, Ending::Stalled, "{:?}", outcome.counters);
    assert!(outcome.finished < outcome.started);
    let said = &outcome.stall[0];
    assert!(said.starts_with("deadlock: s"), "{said}");
    assert_eq!(said.matches("waits for").count(), 5, "{said}");
    assert!(said.contains("s0->s1") && said.contains("s4->s0"), "{said}");
    // The run also stalls if nothing is retransmitted and no timer is left.
    let mut plain = setup.clone();
    plain.nic.recovery = Recovery::NONE;
    assert_eq!(plain.run_raw().0.ending, Ending::Stalled);

    let (_, found) = graph_of(&setup.topology);
    let free = Setup {
        backpressure: Some(found.allowed()),
        ..setup
    };
    let (outcome, _) = free.run();
    assert_eq!(outcome.ending, Ending::Drained);
    assert_eq!(outcome.finished, outcome.started);
    assert!(
        outcome.counters.hop["bfc_pauses"] > 0,
        "the other pairs still pause"
    );
}

// PFCWD-01, PFCWD-07, PFCWD-08
#[test]
fn a_watchdog_breaks_the_deadlock_of_a_ring() {
    let setup = |watchdog| {
        let mut s = line_rate(ring(5, 2), two_hops_on(5, 2, 1_000_000));
        s.switch.guard = watchdog;
        s
    };
    let (stalled, _) = setup(None).run_raw();
    assert_eq!(stalled.ending, Ending::Stalled);
    for action in [Action::Drop, Action::Forward] {
        let watchdog = WatchdogConfig {
            detection_ps: 100 * US,
            restoration_ps: 100 * US,
            action,
        };
        let (outcome, _) = setup(Some(watchdog)).run_raw();
        let counters = &outcome.counters;
        assert_eq!(outcome.ending, Ending::Drained, "{action:?}: {counters:?}");
        assert_eq!(outcome.finished, outcome.started);
        assert!(counters.storms > 0 && counters.storms_restored > 0);
        assert_eq!(counters.storm_drops > 0, action == Action::Drop);
        let sum = |of: fn(&StormCounters) -> u64| -> u64 {
            outcome.storms.iter().map(|storm| of(&storm.counts)).sum()
        };
        assert_eq!(sum(|of| of.storms), counters.storms);
        assert_eq!(sum(|of| of.restorations), counters.storms_restored);
        assert_eq!(sum(|of| of.drops), counters.storm_drops);
        assert_eq!(sum(|of| of.sent) > 0, action == Action::Forward);
        // Storms occur at the ports of the ring, in the data class.
        let of_ring = |of: &StormRecord| of.peer.bits() >= 10 && of.class == DATA_CLASS;
        assert!(outcome.storms.iter().all(of_ring), "{:?}", outcome.storms);
        assert!(outcome.violations.is_empty(), "{:?}", outcome.violations);
    }
}

// BFC-52
#[test]
fn without_a_cycle_nothing_stops_whatever_the_flows() {
    for seed in 1..6u32 {
        let flows: Vec<_> = (0..60)
            .map(|i| {
                let src = (i * 7 + seed) % 16;
                let dst = (src + 1 + (i * seed) % 15) % 16;
                flow(i, u64::from(i / 8) * US, src, dst, 60_000)
            })
            .collect();
        let mut s = bfc(leaf_spine(4, 2, 4), flows);
        s.seed = u64::from(seed);
        s.switch.classify = Classify::Dynamic {
            queues: 1,
            table: 100,
            sticky_ps: 4 * US,
        };
        s.until_ps = 100 * MS;
        let (outcome, _) = s.run();
        assert_eq!(outcome.ending, Ending::Drained, "seed {seed}");
    }
}
