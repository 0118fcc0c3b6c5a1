//! Tests of Homa (`specs/homa.md`).

use super::*;
use dataplane::config::{Admission, PathChoice, Sending, TransportConfig};
use dataplane::sink::DropCause;
use dataplane::transport::homa::HomaConfig;
use dataplane::units::US;
use fabric::NodeId;

fn with(s: Setup, change: impl FnOnce(&mut HomaConfig)) -> Setup {
    let mut s = s;
    if let Sending::Transport(TransportConfig::Homa(c)) = &mut s.nic.control {
        change(c);
    }
    s
}

// HOM-01, HOM-05
#[test]
fn one_message_reaches_full_goodput() {
    let goodput = goodput(|flows| homa(star(2), flows), 5_000_000, 15_000_000);
    let share = goodput / 1e11 * 1048.0 / 1000.0;
    assert!((share - 1.0).abs() < 1e-3, "{share} of the link");
    let (outcome, _) = finish(homa(star(2), vec![flow(0, 0, 0, 1, 5_000_000)]));
    let c = outcome.counters;
    // Each scheduled packet has a grant. The first window (50 KB, one RTT) is sent without grants.
    let scheduled = c.data_packets - c.driven.grants;
    assert!(
        (49..=52).contains(&scheduled),
        "{scheduled} unscheduled packets"
    );
    assert_eq!((c.retransmissions, c.driven.requests, c.acks), (0, 0, 1));
}

/// Two messages to one receiver: the shorter one finishes first, independent of the order of their
/// starts.
// HOM-06, HOM-07
#[test]
fn two_messages_finish_in_the_order_of_what_is_left() {
    for (long_ps, short_ps) in [(0, 0), (0, 20 * US), (20 * US, 0)] {
        let mut flows = vec![
            flow(0, long_ps, 0, 2, 4_000_000),
            flow(1, short_ps, 1, 2, 1_000_000),
        ];
        flows.sort_by_key(|flow| flow.start_ps);
        let (_, keep) = finish(homa(star(3), flows));
        let alone = {
            let (_, keep) = finish(homa(star(3), vec![flow(1, 0, 1, 2, 1_000_000)]));
            keep.fct(1)
        };
        // The short message is delayed by the first window of the long message at most.
        let fct = keep.fct(1);
        assert!(fct < alone + 8 * US, "{fct} against {alone} alone");
        assert!(keep.fct(0) > keep.fct(1));
    }
}

/// Two messages of one sender to two receivers: the NIC sends the shorter message first.
// HOM-02
#[test]
fn a_sender_serves_the_message_with_the_least_left() {
    let flows = vec![flow(0, 0, 0, 1, 2_000_000), flow(1, 10 * US, 0, 2, 500_000)];
    let (_, keep) = finish(homa(star(3), flows));
    let (_, alone) = finish(homa(star(3), vec![flow(1, 0, 0, 2, 500_000)]));
    assert!(
        keep.fct(1) < alone.fct(1) + US,
        "{} {}",
        keep.fct(1),
        alone.fct(1)
    );
}

// HOM-03, HOM-04
#[test]
fn short_messages_overtake_the_first_windows_of_long_ones() {
    // The first windows of eight messages (40 KB each) are queued when one packet of a short
    // message arrives.
    let mut flows: Vec<Flow> = (0..8).map(|i| flow(i, 0, i, 9, 40_000)).collect();
    flows.push(flow(8, 10 * US, 8, 9, 1_000));
    let (_, keep) = finish(homa(star(10), flows.clone()));
    let quick = keep.fct(8);
    // Two hops of 1 µs and a frame each, and one frame that is already in transmission.
    assert!(quick < 2 * US + 4 * 83_840, "{quick} ps");
    let (_, keep) = finish(with(homa(star(10), flows), |c| c.cutoffs = [u32::MAX; 32]));
    assert!(
        keep.fct(8) > 10 * US,
        "in one level it waits its turn: {}",
        keep.fct(8)
    );
}

// HOM-06
#[test]
fn no_more_messages_than_the_overcommitment_are_granted_at_a_time() {
    // Windows of a fifth of an RTT, so the link is full only if enough messages are granted at the
    // same time.
    let last = |overcommitment| {
        let s = with(homa(star(17), incast(16, 500_000)), |c| {
            c.overcommitment = overcommitment;
            c.window = Some(10_000);
        });
        let (_, keep) = finish(s);
        (0..16).map(|i| keep.fct(i)).max().unwrap() as f64
    };
    let (one, two, five) = (last(1), last(2), last(5));
    assert!(one > 1.7 * two && two > 1.7 * five, "{one} {two} {five}");
}

// HOM-10, HOM-11
#[test]
fn losses_of_data_and_of_control_are_survived() {
    for seed in 1..=4 {
        let mut s = homa(lossy(9, 0.01), incast(8, 500_000));
        s.seed = seed;
        let (outcome, _) = finish(with(s, |c| c.timeout_ps = 100 * US));
        let c = outcome.counters;
        assert!(c.drops[DropCause::Link as usize] > 20);
        assert!(c.driven.requests > 0 && c.retransmissions > 0);
    }
}

// HOM-09
#[test]
fn a_shared_buffer_drops_and_the_receiver_asks_again() {
    let mut s = homa(star(33), incast(32, 200_000));
    s.switch.mmu.buffer_bytes = 500_000;
    s.switch.mmu.reserved_bytes = 0;
    s.switch.mmu.admission = Admission::SharedPool;
    let (outcome, _) = with(s, |c| c.timeout_ps = 200 * US).run();
    let c = outcome.counters;
    assert_eq!(outcome.finished, 32);
    assert!(c.drops[DropCause::Buffer as usize] > 0 && c.driven.requests > 0);
}

/// Spraying keeps the queues of the core short; ECMP does not.
// HOM-08
#[test]
fn packets_are_sprayed_and_taken_in_any_order() {
    let queue = |path| {
        let flows = (0..16).map(|i| flow(i, 0, i, 16 + i, 1_000_000)).collect();
        let mut s = homa(leaf_spine(2, 16, 16), flows);
        s.switch.path = path;
        let (outcome, _) = finish(s);
        assert_eq!(outcome.counters.discarded, 0);
        let up = outcome
            .ports
            .iter()
            .filter(|p| p.node >= NodeId::new(32) && p.peer >= NodeId::new(32));
        up.map(|p| p.max_queue_bytes).max().unwrap()
    };
    let (sprayed, hashed) = (queue(PathChoice::Packet), queue(PathChoice::Flow));
    assert!(3 * sprayed < hashed, "{sprayed} {hashed}");
}
