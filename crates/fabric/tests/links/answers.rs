//! Link failures with a known outcome.

use fabric::{LinkId, NodeId};
use std::sync::Arc;

use super::*;
use dataplane::config::{Admission, Recovery, Sending, TransportConfig};
use dataplane::link::llr::LlrConfig;
use dataplane::sink::DROP_CAUSES;
use dataplane::units::{MS, US};
use fabric::record::Ending;

/// Four leaves with four hosts each, and two spines.
fn fabric() -> fabric::topology::TopologySpec {
    leaf_spine(4, 2, 4)
}

// LNK-10, LNK-11, LNK-12
#[test]
fn with_a_link_down_from_the_start_the_others_carry_everything() {
    for (name, preset) in PRESETS {
        let s = preset(fabric(), busy(16, 120, 200 * US, 60_000, 1));
        let graph = Arc::new(s.graph());
        let s = s.failing("leaf0", "spine0", 0, None);
        let (outcome, keep) = s.run_twice();
        assert_eq!(outcome.ending, Ending::Drained, "{name}");
        assert_eq!((outcome.finished, keep.flows.len()), (120, 120), "{name}");
        for (from, to) in [("leaf0", "spine0"), ("spine0", "leaf0")] {
            assert_eq!(port(&outcome, &graph, from, to).tx_packets, 0, "{name}");
        }
        assert!(port(&outcome, &graph, "leaf0", "spine1").tx_packets > 0);
        assert!(
            port(&outcome, &graph, "spine0", "leaf1").tx_packets > 0,
            "{name}: ECMP is left elsewhere"
        );
        assert_eq!(
            outcome.counters.drops, [0; DROP_CAUSES],
            "{name}: nothing was under way"
        );
        assert_eq!(
            (outcome.counters.link_changes, outcome.counters.reroutes),
            (0, 0)
        );
        assert!(
            outcome.checks.contains(&"slowdown"),
            "{name}: paths do not change"
        );
    }
}

/// A link fails while 150 flows are active, and recovers: all flows finish, and the retransmitted
/// packets are those that the link lost.
fn repairs_what_a_link_took(name: &str, s: Setup) -> Outcome {
    let graph = Arc::new(s.graph());
    let s = s.failing("leaf0", "spine0", 100 * US, Some(250 * US));
    let (outcome, _) = s.run_twice();
    assert_eq!(outcome.ending, Ending::Drained, "{name}");
    assert_eq!(outcome.finished, 150, "{name}");
    let c = &outcome.counters;
    let on_it = port(&outcome, &graph, "leaf0", "spine0").dropped[LOST]
        + port(&outcome, &graph, "spine0", "leaf0").dropped[LOST];
    assert!(on_it > 0, "{name}: frames were under way or in queues");
    assert_eq!(on_it, c.drops[LOST], "{name}: and on no other link");
    assert!(c.retransmissions > 0, "{name}");
    outcome
}

// LNK-01, LNK-02, LNK-12, LNK-20, LNK-30
#[test]
fn down_and_up_again_loses_what_was_under_way_and_recovery_repairs_it() {
    for (name, preset) in PRESETS {
        let mut s = preset(fabric(), busy(16, 150, 300 * US, 200_000, 2));
        s.nic.recovery = Recovery::go_back_n(200 * US);
        let outcome = repairs_what_a_link_took(name, s);
        let c = outcome.counters;
        assert_eq!((c.link_changes, c.reroutes), (2, 2), "{name}");
        for check in ["conservation", "links", "flows", "delivery", "pauses"] {
            assert!(outcome.checks.contains(&check), "{name}: {check}");
        }
        assert!(
            !outcome.checks.contains(&"slowdown"),
            "{name}: paths change"
        );
    }
}

// LNK-20, LNK-23, LNK-28
#[test]
fn receiver_driven_transports_repair_what_a_link_took() {
    for (name, preset) in DRIVEN {
        let mut s = preset(fabric(), busy(16, 150, 300 * US, 200_000, 2));
        match &mut s.nic.control {
            Sending::Transport(TransportConfig::ExpressPass(c)) => c.timeout_ps = 200 * US,
            Sending::Transport(TransportConfig::Ndp(c)) => c.timeout_ps = 200 * US,
            Sending::Transport(TransportConfig::Homa(c)) => c.timeout_ps = 200 * US,
            _ => unreachable!(),
        }
        let outcome = repairs_what_a_link_took(name, s);
        for check in ["conservation", "links", "flows", "delivery", "receivers"] {
            assert!(outcome.checks.contains(&check), "{name}: {check}");
        }
    }
}

// LNK-13
#[test]
fn a_receiver_that_is_cut_off_is_named_whoever_drives() {
    for (name, preset) in DRIVEN {
        let mut s = preset(
            star(3),
            vec![flow(0, 0, 0, 1, 2_000_000), flow(1, 0, 2, 0, 100_000)],
        );
        s.until_ps = 5 * MS;
        let (outcome, _) = s.failing("host1", "switch0", 50 * US, None).run_twice();
        assert_eq!(outcome.ending, Ending::TimeLimit, "{name}");
        assert_eq!(outcome.finished, 1, "{name}: the other flow has a way");
        assert_eq!(outcome.stall.len(), 1, "{name}: {:?}", outcome.stall);
        let said = &outcome.stall[0];
        assert!(
            said.starts_with("flow 0 from host0 to host1"),
            "{name}: {said}"
        );
        assert!(
            said.ends_with("its receiver cannot be reached"),
            "{name}: {said}"
        );
    }
}

/// The data of a flow of one packet passes the switch 5.14992 µs after the start of the flow. The
/// sender's stop follows 6.72 ns later, when the sender's link is down permanently.
// XP-22
#[test]
fn a_receiver_that_has_everything_gives_credits_to_a_dead_sender_for_a_timeout_only() {
    let credits = |timeout_ps| {
        let mut s = expresspass(star(2), vec![flow(0, 0, 0, 1, 1_460)]);
        if let Sending::Transport(TransportConfig::ExpressPass(c)) = &mut s.nic.control {
            c.timeout_ps = timeout_ps;
        }
        s.until_ps = 5 * MS;
        let (outcome, _) = s.failing("host0", "switch0", 5_153_000, None).run_twice();
        assert_eq!((outcome.finished, outcome.stall.len()), (0, 1));
        let c = outcome.counters.driven;
        assert_eq!((c.stops, c.credits_used), (1, 1));
        c.credits
    };
    // Without data the receiver reduces its credits to one per RTT of 4 µs (XP-13), but never to
    // zero.
    let (few, many) = (credits(100 * US), credits(20 * MS));
    assert!(few < 120 && many > 1_000, "{few} and {many} credits");
}

/// Arrival time of a packet of 1048 B from host 0 at the switch: 83 840 ps of transmission, and 1
/// µs of propagation.
const ARRIVES: Time = 83_840 + US;

// LNK-02
#[test]
fn a_frame_is_lost_if_its_link_fails_before_it_has_arrived_or_then() {
    let run = |at_ps: Time, until_ps: Time| {
        let mut s = line_rate(star(2), vec![flow(0, 0, 0, 1, 1000)]);
        s.nic.recovery = Recovery::go_back_n(50 * US);
        s.failing("host0", "switch0", at_ps, Some(until_ps))
            .run_twice()
    };
    let twice = |(outcome, keep): (Outcome, Keep)| {
        assert_eq!(outcome.finished, 1);
        assert_eq!(outcome.counters.drops[LOST], 1);
        assert_eq!(keep.flows[0].retransmitted, 1);
    };
    twice(run(1, 20 * US));
    twice(run(ARRIVES, 20 * US));
    // The link recovers before the frame would have arrived. The frame was sent before the failure,
    // so it is lost nevertheless.
    twice(run(1000, 2000));
    twice(run(ARRIVES - 1, ARRIVES));
    let (outcome, keep) = run(ARRIVES + 1, ARRIVES + 2);
    assert_eq!(
        outcome.counters.drops[LOST], 0,
        "it is in the switch already"
    );
    assert_eq!((outcome.finished, keep.flows[0].retransmitted), (1, 0));
}

// LNK-01
#[test]
fn a_link_that_is_back_sends_what_waited_and_not_before_its_last_frame_would_have_left() {
    let mut s = line_rate(star(2), vec![flow(0, 0, 0, 1, 3000)]);
    s.nic.recovery = Recovery::go_back_n(50 * US);
    // The link fails during the first frame. The other two packets wait in the NIC.
    let (outcome, keep) = s
        .failing("host0", "switch0", 40_000, Some(40_001))
        .run_twice();
    assert_eq!(outcome.counters.drops[LOST], 1);
    // Packet 1 arrives first, at the same instant as without the failure. The NAK for packet 0
    // causes the retransmission of all three packets.
    assert_eq!(outcome.counters.naks, 1);
    assert_eq!(keep.flows[0].retransmitted, 3);
}

/// Sets a small buffer and go-back-N, for an incast of seven senders to one receiver.
fn incast(mut s: Setup) -> Setup {
    s.switch.mmu.buffer_bytes = 800_000;
    s.switch.mmu.reserved_bytes = 0;
    s.nic.recovery = Recovery::go_back_n(400 * US);
    s
}

// LNK-21
#[test]
fn a_failure_during_a_pause_leaves_no_port_paused() {
    let flows = || -> Vec<Flow> { (0..7).map(|i| flow(i, 0, 4 + i, 0, 400_000)).collect() };
    for (name, preset) in [("pfc", line_rate as fn(_, _) -> Setup), ("bfc", bfc)] {
        for until in [None, Some(120 * US), Some(60_100_000)] {
            let s = incast(preset(fabric(), flows()));
            let graph = Arc::new(s.graph());
            let s = s.failing("leaf0", "spine0", 60 * US, until);
            let (outcome, keep) = s.run_twice();
            assert_eq!(
                (outcome.ending, outcome.finished),
                (Ending::Drained, 7),
                "{name} {until:?}"
            );
            let c = outcome.counters;
            assert!(c.hop["pfc_pauses"] + c.hop["bfc_pauses"] > 10, "{name}");
            assert!(
                c.hop["pfc_pauses"] >= c.hop["pfc_resumes"]
                    && c.hop["bfc_pauses"] >= c.hop["bfc_resumes"],
                "{name}"
            );
            if name == "pfc" {
                let spine = graph.find("spine0").unwrap();
                let on_it = keep.pauses.iter().filter(|p| {
                    p.node == spine
                        && graph.port(graph.link(p.node, p.port)).peer == NodeId::new(16)
                });
                let ends: Vec<Time> = on_it.map(|p| p.to_ps).collect();
                assert!(ends.contains(&(60 * US)), "it ends with the link: {ends:?}");
                assert!(keep.pauses.iter().all(|p| !p.open));
            }
        }
    }
}

// LNK-22
#[test]
fn an_ingress_with_much_of_before_is_held_when_its_link_is_back() {
    let flows = (0..7).map(|i| flow(i, 0, 4 + i, 0, 400_000)).collect();
    let s = incast(line_rate(fabric(), flows));
    let graph = Arc::new(s.graph());
    // The links between the congested leaf and its spines are down for 100 ns.
    let link_failures: Vec<LinkFailure> = ["spine0", "spine1"]
        .into_iter()
        .map(|spine| LinkFailure {
            link: link_of(&graph, "leaf0", spine),
            from_ps: 60 * US,
            until_ps: Some(60 * US + 100_000),
        })
        .collect();
    let (outcome, keep) = s.with(&link_failures, MS, Stranded::Wait).run_twice();
    assert_eq!((outcome.ending, outcome.finished), (Ending::Drained, 7));
    // XOFF after the recovery arrives 64 B and 1 µs after the link is up.
    let held_ps = 60 * US + 100_000 + 64 * 80 + US;
    let again = keep.pauses.iter().filter(|p| p.from_ps == held_ps);
    assert!(again.count() >= 1, "{:?}", keep.pauses);
    assert_eq!(outcome.counters.drops[DropCause::Buffer as usize], 0);
    assert!(outcome.checks.contains(&"lossless"));
}

// LNK-12, LNK-23, LNK-24
#[test]
fn until_routes_follow_packets_are_dropped_or_wait() {
    let run = |delay_ps, stranded| {
        let mut s = line_rate(fabric(), busy(16, 80, 50 * US, 200_000, 3));
        s.nic.recovery = Recovery::go_back_n(300 * US);
        let link = link_of(&s.graph(), "leaf1", "spine1");
        let link_failure = LinkFailure {
            link,
            from_ps: 60 * US,
            until_ps: None,
        };
        let (outcome, _) = s.with(&[link_failure], delay_ps, stranded).run_twice();
        assert_eq!((outcome.ending, outcome.finished), (Ending::Drained, 80));
        outcome.counters
    };
    let dropped = run(0, Stranded::Drop);
    let waited = run(0, Stranded::Wait);
    assert_eq!(dropped.rerouted_packets, 0);
    assert!(waited.rerouted_packets > 0 && waited.drops[LOST] < dropped.drops[LOST]);
    // The remaining losses were in flight: 1 µs and a frame correspond to 13 data frames, or to 222
    // ACKs of 60 B on a direction that only carries ACKs.
    assert!(
        (1..=2 * 222).contains(&waited.drops[LOST]),
        "{:?}",
        waited.drops
    );
    let later = run(20 * US, Stranded::Drop);
    assert!(later.drops[LOST] > dropped.drops[LOST], "a hole for 20 us");
    let waited_later = run(20 * US, Stranded::Wait);
    assert!(waited_later.rerouted_packets > waited.rerouted_packets);
    assert_eq!(waited_later.drops[LOST], waited.drops[LOST]);
}

// LNK-13
#[test]
fn flows_to_hosts_out_of_reach_wait_and_are_named_or_go_on_later() {
    for (name, preset) in PRESETS {
        let flows = || {
            vec![
                flow(0, 0, 0, 5, 500_000),
                flow(1, 0, 1, 6, 50_000),
                flow(2, 90 * US, 6, 5, 1),
            ]
        };
        let setup = || {
            let mut s = preset(fabric(), flows());
            s.nic.recovery = Recovery::go_back_n(100 * US);
            s
        };
        let (outcome, _) = setup().failing("host5", "leaf1", 20 * US, None).run_twice();
        assert_eq!(
            (outcome.ending, outcome.finished),
            (Ending::Stalled, 1),
            "{name}"
        );
        let named: Vec<&String> = outcome
            .stall
            .iter()
            .filter(|said| said.contains("cannot be reached"))
            .collect();
        assert_eq!(named.len(), 2, "{name}: {:?}", outcome.stall);
        assert!(
            named[0].starts_with("flow 0 from host0 to host5"),
            "{named:?}"
        );
        let back = setup().failing("host5", "leaf1", 20 * US, Some(MS));
        let (outcome, keep) = back.run_twice();
        assert_eq!(
            (outcome.ending, outcome.finished),
            (Ending::Drained, 3),
            "{name}"
        );
        assert!(
            keep.fct(2) >= MS - 90 * US,
            "{name}: it could not arrive earlier"
        );
        assert!(keep.fct(2) <= MS, "{name}: it goes when the link is back");
        // The run ends at its time limit, and the report lists the unreachable flows nevertheless.
        let mut cut = setup().failing("host5", "leaf1", 20 * US, None);
        cut.until_ps = 150 * US;
        let (outcome, _) = cut.run();
        assert_eq!(outcome.ending, Ending::TimeLimit);
        assert_eq!(outcome.stall.len(), 2, "{name}: {:?}", outcome.stall);
    }
}

// LNK-11, LNK-13
#[test]
fn a_network_that_falls_apart_goes_on_in_its_parts() {
    let mut s = line_rate(fabric(), busy(16, 100, 200 * US, 50_000, 4));
    s.nic.recovery = Recovery::go_back_n(100 * US);
    let graph = Arc::new(s.graph());
    let link_failures: Vec<LinkFailure> = ["spine0", "spine1"]
        .into_iter()
        .map(|spine| LinkFailure {
            link: link_of(&graph, "leaf3", spine),
            from_ps: 0,
            until_ps: Some(400 * US),
        })
        .collect();
    let (outcome, keep) = s.with(&link_failures, 0, Stranded::Drop).run_twice();
    assert_eq!((outcome.ending, outcome.finished), (Ending::Drained, 100));
    let apart = |r: &fabric::record::FlowRecord| (r.flow.src < 12) != (r.flow.dst < 12);
    for record in &keep.flows {
        assert_eq!(
            apart(record),
            record.received_ps.unwrap() > 400 * US,
            "{record:?}"
        );
    }
    assert_eq!(
        outcome.counters.drops, [0; DROP_CAUSES],
        "nobody sends into the void"
    );
}

// LNK-26
#[test]
fn whoever_loses_a_frame_to_a_link_tells_its_sender() {
    for stranded in [Stranded::Drop, Stranded::Wait] {
        let mut s = line_rate(fabric(), busy(16, 100, 200 * US, 50_000, 5));
        s.nic.recovery = Recovery::ideal(None);
        let link = link_of(&s.graph(), "leaf0", "spine0");
        let link_failure = LinkFailure {
            link,
            from_ps: 100 * US,
            until_ps: Some(180 * US),
        };
        let (outcome, _) = s.with(&[link_failure], 10 * US, stranded).run_twice();
        assert_eq!((outcome.ending, outcome.finished), (Ending::Drained, 100));
        assert!(outcome.counters.drops[LOST] > 0);
        assert_eq!(outcome.counters.timeouts, 0);
    }
}

// LNK-14
#[test]
fn ideals_are_those_of_the_links_that_are_ever_there() {
    // There are two paths from h0 to h1: through s0 alone, or through s1 and s2, which is longer.
    let topology = || fabric::topology::TopologySpec::Links {
        hosts: vec!["h0".into(), "h1".into()],
        switches: ["a", "b", "c"].map(String::from).to_vec(),
        links: vec![
            (0, 2, LINK),
            (1, 3, LINK),
            (2, 3, LINK),
            (2, 4, LINK),
            (4, 3, LINK),
        ],
    };
    let one = || line_rate(topology(), vec![flow(0, 0, 0, 1, 1000)]);
    let ideal = |s: Setup| s.run().1.flows[0].ideal_received_ps;
    let hop = ARRIVES;
    assert_eq!(ideal(one()), 3 * hop);
    assert_eq!(ideal(one().failing("a", "b", 0, None)), 4 * hop);
    assert_eq!(ideal(one().failing("a", "b", 0, Some(MS))), 3 * hop);
    assert_eq!(ideal(one().failing("a", "b", MS, None)), 3 * hop);
}

// LNK-15
#[test]
fn a_host_with_two_ports_does_not_use_one_that_never_works() {
    let topology = || fabric::topology::TopologySpec::DualHomed {
        pairs: 2,
        hosts: 8,
        aggs: 1,
        link: LINK,
        uplink: LINK,
    };
    let flows = || {
        (0..30)
            .map(|i| flow(i, u64::from(i) * US, i % 4, 4 + i % 4, 5_000))
            .collect()
    };
    let s = line_rate(topology(), flows());
    let graph = Arc::new(s.graph());
    let tor = graph.name(graph.port(LinkId::new(0)).peer);
    let (outcome, _) = s.failing("host0", &tor, 0, None).run_twice();
    assert_eq!((outcome.ending, outcome.finished), (Ending::Drained, 30));
    assert_eq!(outcome.ports[0].tx_packets, 0);
    assert_eq!(outcome.counters.drops, [0; DROP_CAUSES]);
}

// LNK-23, AUD-05
#[test]
fn without_pfc_a_dead_port_gives_its_buffer_back() {
    let mut s = bfc(fabric(), busy(16, 200, 100 * US, 300_000, 6));
    s.nic.recovery = Recovery::go_back_n(300 * US);
    s.switch.mmu.admission = Admission::SharedPool;
    s.switch.mmu.buffer_bytes = 300_000;
    let (outcome, _) = s
        .failing("spine1", "leaf2", 70 * US, Some(90 * US))
        .run_twice();
    assert_eq!((outcome.ending, outcome.finished), (Ending::Drained, 200));
    assert!(outcome.counters.hop["bfc_pauses"] > 0 && outcome.counters.drops[LOST] > 0);
    assert_eq!(outcome.counters.drops[NO_ROUTE], 0);
}

// LLR-09: both ends of a recovered link start with sequence number 0 and an empty replay buffer, so
// frames pass again. Hosts retransmit the frames that the failed link lost.
#[test]
fn numbers_begin_anew_with_their_link() {
    let mut s = line_rate(fabric(), busy(16, 200, 100 * US, 300_000, 6));
    s.switch.link.replay = Some(LlrConfig::STANDARD);
    let (outcome, _) = s
        .failing("spine1", "leaf2", 70 * US, Some(90 * US))
        .run_twice();
    assert_eq!((outcome.ending, outcome.finished), (Ending::Drained, 200));
    assert!(outcome.counters.drops[LOST] > 0);
    assert_eq!(outcome.counters.hop["llr_flushes"], 0);
}

// CBFC-06, CBFC-16: both ends of a recovered link start with all credits. Frames between
// neighbours, and ACKs of the control class, need no credits.
#[test]
fn credits_begin_anew_with_their_link() {
    let s = cbfc(line_rate(fabric(), busy(16, 200, 100 * US, 300_000, 6)));
    let (outcome, _) = s
        .failing("spine1", "leaf2", 70 * US, Some(90 * US))
        .run_twice();
    assert_eq!((outcome.ending, outcome.finished), (Ending::Drained, 200));
    assert!(outcome.counters.hop["cbfc_waits"] > 0 && outcome.counters.drops[LOST] > 0);
    assert_eq!(outcome.counters.drops[DropCause::Buffer as usize], 0);
}
