//! Deadlocks: predicted from links and routes, and found during a run.

use super::*;
use dataplane::config::{Admission, Classify, PathChoice, PauseTime, PfcThreshold, Recovery};
use dataplane::units::{MS, US};
use fabric::LinkId;
use fabric::backpressure_graph::{BackpressureGraph, shortest_cycle};
use fabric::engine::OnDeadlock;
use fabric::record::Ending;
use fabric::routing::routes;
use fabric::topology::TopologySpec;
use proptest::prelude::*;

/// The pod in Fig. 17 of the SPFC paper: two leaves (here spines) above four ToRs (here leaves).
fn pod(hosts_per_tor: u32) -> TopologySpec {
    leaf_spine(4, 2, hosts_per_tor)
}

/// The two links that fail in this figure: L0-T3 and L1-T0.
const FAILED: [(&str, &str); 2] = [("spine0", "leaf3"), ("spine1", "leaf0")];

fn failures(graph: &Graph, from_ps: Time, until_ps: Option<Time>) -> Vec<LinkFailure> {
    FAILED
        .into_iter()
        .map(|(a, b)| LinkFailure {
            link: link_of(graph, a, b),
            from_ps,
            until_ps,
        })
        .collect()
}

fn foreseen(graph: &Graph) -> (BackpressureGraph, Vec<String>) {
    let routes = routes(graph, 1, PathChoice::Flow).unwrap();
    let found = BackpressureGraph::new(graph, &routes);
    let cycle = shortest_cycle(graph, &found.used);
    let names = cycle.iter().map(|&port| graph.port_name(port)).collect();
    (found, names)
}

// LNK-40
#[test]
fn two_failed_links_close_a_cycle_in_a_pod_that_has_none() {
    let graph = pod(16).build().unwrap();
    let (healthy, cycle) = foreseen(&graph);
    assert!(healthy.cycles.is_empty() && cycle.is_empty());
    let down: Vec<LinkId> = FAILED.iter().map(|(a, b)| link_of(&graph, a, b)).collect();
    let (one, _) = foreseen(&graph.without(&down[..1]));
    assert!(one.cycles.is_empty(), "one of them closes none");
    let (both, cycle) = foreseen(&graph.without(&down));
    assert_eq!(both.cycles.len(), 2, "one each way round L0, T1, L1, T2");
    assert!(both.cycles.iter().all(|cycle| cycle.len() == 4));
    assert_eq!(cycle.len(), 4);
    let text = cycle.join(" ");
    for through in [
        "spine0->leaf",
        "leaf1->spine",
        "spine1->leaf",
        "leaf2->spine",
    ] {
        assert!(text.contains(through), "{text}");
    }
    // Each port leads to the switch that owns the next port.
    for (port, next) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
        assert_eq!(port.split("->").nth(1), next.split("->").next(), "{text}");
    }
}

/// Random flows from the hosts of each ToR to those of the opposite ToR, with more load than the
/// links between ToRs and spines can carry.
fn crowd(seed: u64, hosts_per_tor: u32) -> Vec<Flow> {
    let h = hosts_per_tor;
    let mut random = Stream::new(seed, 1, Purpose::Test);
    let mut flows = Vec::new();
    for _ in 0..20 * h {
        let src = random.below(u64::from(4 * h)) as u32;
        let away = [3, 2, 1, 0][(src / h) as usize];
        let dst = away * h + random.below(u64::from(h)) as u32;
        flows.push(flow(
            0,
            random.below(100 * US),
            src,
            dst,
            50_000 + random.below(300_000),
        ));
    }
    flows.sort_by_key(|f| f.start_ps);
    for (id, f) in (0..).zip(&mut flows) {
        f.id = id;
    }
    flows
}

/// PFC with a static threshold and senders at line rate, so that pauses start early and last long.
fn eager(topology: TopologySpec, flows: Vec<Flow>) -> Setup {
    let mut s = line_rate(topology, flows);
    s.switch.mmu.reserved_bytes = 0;
    let Admission::Pfc(pfc) = &mut s.switch.mmu.admission else {
        panic!("this is PFC")
    };
    pfc.threshold = PfcThreshold::Static(20_000);
    s.nic.recovery = Recovery::go_back_n(MS);
    s
}

fn pod_run(seed: u64, from_ps: Time, until_ps: Option<Time>) -> Setup {
    let s = eager(pod(4), crowd(seed, 4));
    let link_failures = failures(&s.graph(), from_ps, until_ps);
    s.with(&link_failures, 0, Stranded::Drop)
}

// LNK-41, LNK-42, LNK-43
#[test]
fn the_pod_with_failed_links_deadlocks_and_says_when_where_and_who() {
    let (outcome, _) = pod_run(1, 0, None).run_twice();
    assert_eq!(outcome.ending, Ending::Stalled);
    let first = &outcome.deadlocks[0];
    assert!(
        first.at_ps <= first.seen_ps && first.seen_ps < 5 * MS,
        "{first:?}"
    );
    assert!(
        first.seen_ps < outcome.end_ps,
        "long before the run came to a stand"
    );
    assert_eq!(first.ports.len(), 4, "{first:?}");
    for (port, next) in first.ports.iter().zip(first.ports.iter().cycle().skip(1)) {
        assert_eq!((port.peer, port.class), (next.node, 2));
        assert!(port.bytes > 0);
    }
    assert!(!first.flows.is_empty());
    assert!(first.flows.windows(2).all(|w| w[0] < w[1]));
    let (ended, keep) = Setup {
        on_deadlock: OnDeadlock::End,
        ..pod_run(1, 0, None)
    }
    .run();
    assert_eq!(ended.ending, Ending::Deadlocked);
    assert_eq!(ended.deadlocks[..], outcome.deadlocks[..1]);
    assert!(ended.end_ps <= first.seen_ps && ended.end_ps >= first.at_ps);
    assert!(
        ended.stall[0].starts_with("deadlock: "),
        "{:?}",
        ended.stall[0]
    );
    let unfinished: Vec<u32> = keep
        .flows
        .iter()
        .filter(|r| r.received_ps.is_none())
        .map(|r| r.flow.id)
        .collect();
    assert!(
        first.flows.iter().all(|id| unfinished.contains(id)),
        "who is named is stuck"
    );
}

// QNT-11, QNT-12
#[test]
fn pauses_that_are_repeated_hold_each_other_as_long() {
    let timed = |on_deadlock| {
        let mut s = pod_run(1, 0, None);
        let Admission::Pfc(pfc) = &mut s.switch.mmu.admission else {
            panic!("this is PFC")
        };
        pfc.pause = PauseTime::Quanta {
            quanta: 1000,
            refresh: 500,
        };
        s.on_deadlock = on_deadlock;
        s
    };
    let (outcome, _) = timed(OnDeadlock::GoOn).run_twice();
    assert_eq!(
        outcome.ending,
        Ending::Stalled,
        "and the run ends by itself"
    );
    assert_eq!(outcome.deadlocks[0].ports.len(), 4);
    assert_eq!(outcome.counters.hop["pfc_expiries"], 0);
    let (ended, _) = timed(OnDeadlock::End).run();
    assert_eq!(ended.ending, Ending::Deadlocked);
}

// LNK-41
#[test]
fn the_pod_as_it_was_built_never_deadlocks() {
    for seed in 1..4 {
        let (outcome, _) = eager(pod(4), crowd(seed, 4)).run();
        assert_eq!(
            (outcome.ending, outcome.deadlocks.len()),
            (Ending::Drained, 0)
        );
        assert!(outcome.counters.hop["pfc_pauses"] > 50);
    }
}

// LNK-21, LNK-41
#[test]
fn links_that_come_back_free_a_deadlock_if_they_stand_in_it() {
    // The failed links cause the routes that close the cycle, but are not part of the cycle. So new
    // routes alone do not release the packets in it.
    let (outcome, _) = pod_run(1, 0, Some(10 * MS)).run_twice();
    assert!(!outcome.deadlocks.is_empty());
    assert_eq!(outcome.ending, Ending::Stalled);
    // A link of the cycle itself fails and recovers, and both of its ends start without pauses.
    let s = pod_run(1, 0, None);
    let graph = s.graph();
    let mut link_failures = failures(&graph, 0, Some(20 * MS));
    let dead = &outcome.deadlocks[0].ports[0];
    link_failures.push(LinkFailure {
        link: graph.link(dead.node, dead.port),
        from_ps: 20 * MS,
        until_ps: Some(21 * MS),
    });
    let (outcome, _) = s.with(&link_failures, 0, Stranded::Drop).run_twice();
    assert!(!outcome.deadlocks.is_empty());
    assert_eq!(outcome.ending, Ending::Drained);
    assert_eq!(outcome.finished, outcome.started);
}

// LNK-25
#[test]
fn pairs_that_new_routes_could_deadlock_hold_nobody_from_then_on() {
    let run = |elide: bool| {
        let mut s = bfc(pod(4), crowd(3, 4));
        s.switch.classify = Classify::Dynamic {
            queues: 1,
            table: 100,
            sticky_ps: 4 * US,
        };
        s.nic.recovery = Recovery::go_back_n(MS);
        let link_failures = failures(&s.graph(), 5 * US, None);
        let mut s = s.with(&link_failures, 0, Stranded::Drop);
        if let Some(link_failures) = &mut s.link_failures {
            link_failures.elide_backpressure = elide;
        }
        s.run().0
    };
    let held = run(false);
    assert!(!held.deadlocks.is_empty() && held.ending == Ending::Stalled);
    let free = run(true);
    assert_eq!((free.ending, free.deadlocks.len()), (Ending::Drained, 0));
    assert!(
        free.counters.hop["bfc_pauses"] > 0,
        "the other pairs still pause"
    );
}

/// A ring of switches, each with `hosts` hosts that send to the next switch but one.
fn ring(switches: u32, hosts: u32) -> (TopologySpec, Vec<Flow>) {
    let all = switches * hosts;
    let mut links: Vec<_> = (0..all).map(|h| (h, all + h / hosts, LINK)).collect();
    links.extend((0..switches).map(|s| (all + s, all + (s + 1) % switches, LINK)));
    let topology = TopologySpec::Links {
        hosts: (0..all).map(|i| format!("h{i}")).collect(),
        switches: (0..switches).map(|i| format!("s{i}")).collect(),
        links,
    };
    let two_on = |h| flow(h, 0, h, (h + 2 * hosts) % all, 1_000_000);
    (topology, (0..all).map(two_on).collect())
}

// LNK-41
#[test]
fn a_cycle_of_bfc_pauses_is_found_too_and_none_where_pairs_are_left_out() {
    let (topology, flows) = ring(5, 2);
    let mut s = bfc(topology, flows);
    s.switch.classify = Classify::Dynamic {
        queues: 1,
        table: 100,
        sticky_ps: 4 * US,
    };
    let (outcome, _) = s.clone().run_raw();
    assert_eq!(
        (outcome.ending, outcome.deadlocks.len()),
        (Ending::Stalled, 1)
    );
    let found = &outcome.deadlocks[0];
    assert_eq!((found.ports.len(), found.at_ps), (5, found.seen_ps));
    s.backpressure = Some(foreseen(&s.graph()).0.allowed());
    let (outcome, _) = s.run();
    assert_eq!(
        (outcome.ending, outcome.deadlocks.len()),
        (Ending::Drained, 0)
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    // LNK-41
    #[test]
    fn a_lossless_run_stalls_exactly_if_a_deadlock_was_found(
        seed in any::<u64>(),
        threshold in 5_000u64..200_000,
        from_ps in prop_oneof![Just(0), 0..100 * US],
        until in prop_oneof![Just(None), (0..200 * US).prop_map(Some)],
        round in any::<bool>(),
    ) {
        let mut s = if round {
            let (topology, _) = ring(5, 2);
            eager(topology, busy(10, 80, 50 * US, 400_000, seed))
        } else {
            let s = pod_run(seed, from_ps, until.map(|u| from_ps + 1 + u));
            Setup { seed, ..s }
        };
        if let Admission::Pfc(pfc) = &mut s.switch.mmu.admission {
            pfc.threshold = PfcThreshold::Static(threshold);
        }
        let (outcome, _) = s.run_raw();
        prop_assert_eq!(&outcome.violations, &[]);
        let stalled = outcome.ending == Ending::Stalled;
        prop_assert_eq!(stalled, !outcome.deadlocks.is_empty(), "{:?} {:?}", outcome.ending, outcome.stall);
        prop_assert_eq!(stalled, outcome.finished < outcome.started);
    }
}

// CBFC-34: classes without credits can wait for each other in a cycle, like paused classes.
#[test]
fn credits_can_close_a_cycle_too() {
    let config = dataplane::link::cbfc::CbfcConfig {
        limit: dataplane::link::cbfc::Limit::Credits(60),
        ..dataplane::link::cbfc::CbfcConfig::STANDARD
    };
    let found = (0..8).any(|seed| {
        let s = with_credits(line_rate(pod(4), crowd(seed, 4)), config);
        let link_failures = failures(&s.graph(), 0, None);
        let (outcome, _) = s.with(&link_failures, 0, Stranded::Drop).run_raw();
        !outcome.deadlocks.is_empty()
    });
    assert!(found);
}
