//! The cost of lost packets with each recovery.

use super::*;
use crate::common::*;
use dataplane::cc::fixed_window::FixedWindowConfig;
use dataplane::config::{
    Admission, Alpha, ControlConfig, IrnConfig, IrnWindow, PathChoice, Recovery, Sending,
};
use dataplane::units::{MS, NEVER, US};
use fabric::record::Ending;
use proptest::prelude::*;
use traffic::Flow;

const GO_BACK_N: Recovery = Recovery::go_back_n(4 * MS);
const IRN: Recovery = Recovery::Irn(IrnConfig::paper());
const IDEAL: Recovery = Recovery::ideal(None);

/// Returns the setup without PFC: an egress may use all free buffer.
fn lossy(mut s: Setup, buffer_bytes: u64, recovery: Recovery) -> Setup {
    s.switch.mmu.buffer_bytes = buffer_bytes;
    s.switch.mmu.reserved_bytes = 0;
    s.switch.mmu.admission = Admission::EgressDynamic {
        alpha: Alpha::new(1.0),
        per_queue: false,
    };
    s.switch.classes[2].pausable = false;
    s.nic.recovery = recovery;
    s
}

/// Sixteen hosts send to one host, each at line rate with one BDP in flight.
fn incast(bytes: u64, buffer_bytes: u64, recovery: Recovery) -> Setup {
    let flows = (0..16).map(|i| flow(i, 0, i, 16, bytes)).collect();
    let mut s = line_rate(star(17), flows);
    s.nic.control = Sending::Control(ControlConfig::FixedWindow(FixedWindowConfig {
        window: None,
    }));
    lossy(s, buffer_bytes, recovery)
}

/// Returns the numbers of dropped and of retransmitted packets, and the FCT of the slowest flow.
fn cost(bytes: u64, buffer_bytes: u64, recovery: Recovery) -> (u64, u64, Time) {
    let (outcome, keep) = incast(bytes, buffer_bytes, recovery).run();
    assert_eq!(outcome.ending, Ending::Drained);
    assert_eq!(outcome.finished, 16);
    let c = outcome.counters;
    let packets = 16 * bytes.div_ceil(1000);
    assert_eq!(c.data_packets, packets + c.retransmissions);
    let last = (0..16).map(|i| keep.fct(i)).max().unwrap_or(0);
    (c.drops.iter().sum(), c.retransmissions, last)
}

// REC-14, REC-30, NIC-20
#[test]
fn what_is_dropped_is_what_is_sent_again_but_for_going_back() {
    for (bytes, buffer) in [
        (100_000, 400_000),
        (300_000, 200_000),
        (500_000, 100_000),
        (1_000_000, 400_000),
    ] {
        let (dropped, again, ideal) = cost(bytes, buffer, IDEAL);
        assert!(dropped > 0);
        assert_eq!(again, dropped, "ideal: nothing else");
        let (dropped, selective, irn) = cost(bytes, buffer, IRN);
        let few = dropped..=dropped + dropped / 10;
        assert!(
            few.contains(&selective),
            "IRN: {selective} for {dropped}, a timeout may repeat what is only late"
        );
        let (lost, again, back) = cost(bytes, buffer, GO_BACK_N);
        assert!(again > lost + lost / 3, "go-back-N: {again} for {lost}");
        assert!(again > selective);
        assert!(
            ideal <= irn && irn < back,
            "{bytes} B, {buffer} B: {ideal} {irn} {back}"
        );
        // With ideal retransmission the link is busy from the first packet to the last.
        let packets = 16 * bytes.div_ceil(1000);
        let busy = packets * FRAME_PS + FRAME_PS + 2 * US;
        assert!(
            ideal <= busy + 30 * US,
            "{bytes} B, {buffer} B: {ideal} ps, busy for {busy}"
        );
    }
}

/// The notice of a drop reaches the sender after the propagation delay, or after a configured
/// delay.
// REC-30, REC-31, REC-34, SW-52
#[test]
fn the_news_of_a_drop_takes_its_time() {
    // Hosts 0, 1 and 2 are on leaf 4, and host 3 on leaf 5. Node 6 is the spine. All links have 1
    // µs except that of the spine.
    let far = link(100, 5 * US);
    let topology = named(
        4,
        3,
        vec![
            (0, 4, LINK),
            (1, 4, LINK),
            (2, 4, LINK),
            (3, 5, LINK),
            (4, 6, far),
            (5, 6, far),
        ],
    );
    // Three packets meet at the uplink of the leaf. One is sent immediately, one waits, and one is
    // dropped. Its sender is notified and retransmits it, and it passes the leaf without waiting.
    let run = |delay_ps| {
        let flows = (0..3).map(|i| flow(i, 0, i, 3, 1000)).collect();
        let s = line_rate(topology.clone(), flows);
        let mut s = lossy(s, 2 * FRAME, Recovery::ideal(delay_ps));
        s.switch.mmu.admission = Admission::SharedPool;
        let (outcome, keep) = s.run();
        assert_eq!(outcome.counters.drops.iter().sum::<u64>(), 1);
        assert_eq!(outcome.counters.retransmissions, 1);
        (0..3).map(|i| keep.fct(i)).max().unwrap()
    };
    let alone = 4 * FRAME_PS + 12 * US;
    let dropped_at = FRAME_PS + US;
    assert_eq!(run(Some(0)), dropped_at + alone);
    assert_eq!(run(None), dropped_at + US + alone);
    assert_eq!(run(Some(100 * US)), dropped_at + 100 * US + alone);
}

/// ACKs that share the buffer with data of the opposite direction are dropped too.
// REC-33, REC-16, NIC-14
#[test]
fn lost_acks_keep_no_flow_from_its_end() {
    for recovery in [GO_BACK_N, IRN, IDEAL] {
        // All hosts send to host 0, and host 0 sends to all hosts, so its ACKs meet the incast.
        let mut flows: Vec<Flow> = (1..9).map(|i| flow(0, 0, i, 0, 100_000)).collect();
        flows.extend((1..9).map(|i| flow(0, 0, 0, i, 100_000)));
        flows.extend((1..9).map(|i| flow(0, 0, i, 1 + i % 8, 50_000)));
        for (id, f) in (0..).zip(&mut flows) {
            f.id = id;
        }
        let mut s = lossy(line_rate(star(9), flows), 60_000, recovery);
        s.nic.ack_class = 2;
        let (outcome, _) = s.run();
        let c = outcome.counters;
        let drops: u64 = c.drops.iter().sum();
        assert_eq!(outcome.ending, Ending::Drained, "{recovery:?}");
        assert_eq!(outcome.finished, outcome.started);
        assert!(drops > 0);
        if recovery == IDEAL {
            assert!(c.retransmissions < drops, "some of {drops} were ACKs");
            assert_eq!((c.discarded, c.naks, c.timeouts), (0, 0, 0));
            let data = 8 * 100 + 8 * 100 + 8 * 50;
            assert_eq!(c.data_packets, data + c.retransmissions);
            assert_eq!(c.acks, data + drops - c.retransmissions);
        }
    }
}

/// The last packets of a flow are lost, and no later packet reveals the loss.
// REC-16, REC-17, REC-18
#[test]
fn a_lost_tail_costs_irn_one_timeout() {
    // Two bursts of 60 packets meet in a small buffer, and the last packets of both are lost.
    let flows = vec![flow(0, 0, 0, 2, 60_000), flow(1, 0, 1, 2, 60_000)];
    let (outcome, keep) = lossy(line_rate(star(3), flows), 20 * FRAME, IRN).run();
    let c = outcome.counters;
    let drops: u64 = c.drops.iter().sum();
    assert!(drops > 40, "{drops}");
    assert!(c.timeouts <= 4, "{} timeouts for {drops} drops", c.timeouts);
    let last = keep.fct(0).max(keep.fct(1));
    assert!(last < 700 * US, "{last} ps");
}

// REC-15
#[test]
fn irn_holds_back_what_is_beyond_a_bdp() {
    let most = |window| {
        let flows = vec![flow(0, 0, 0, 2, 2_000_000), flow(1, 0, 1, 2, 2_000_000)];
        let recovery = Recovery::Irn(IrnConfig {
            window,
            rto_low_ps: MS,
            rto_high_ps: MS,
            ..IrnConfig::paper()
        });
        let s = lossy(line_rate(star(3), flows), 12_000_000, recovery);
        let (outcome, _) = s.run();
        port(&outcome, 3, 2).max_queue_bytes
    };
    // The RTT of the pair has 4 µs of propagation and four transmissions, which is about 53 KB. Two
    // flows keep the link full with half of their windows, so the other half is queued.
    let bdp = most(IrnWindow::Bdp);
    assert!((40_000..120_000).contains(&bdp), "{bdp}");
    assert!(most(IrnWindow::Off) > 1_900_000);
    let twice = most(IrnWindow::Bytes(200_000));
    assert!((300_000..450_000).contains(&twice), "{twice}");
}

/// IRN takes the reordering by spraying for losses, unless it waits before it retransmits.
// REC-13, REC-20
#[test]
fn sprayed_packets_are_repeated_for_nothing_unless_irn_waits() {
    let run = |lost_after| {
        let flows: Vec<Flow> = (0..8)
            .map(|i| flow(i, 0, i, 8 + (i * 3) % 8, 500_000))
            .collect();
        let mut s = line_rate(leaf_spine(2, 4, 8), flows);
        s.switch.path = PathChoice::Packet;
        s.switch.mmu.admission = Admission::Unlimited;
        s.nic.recovery = Recovery::Irn(IrnConfig {
            lost_after,
            rto_low_ps: MS,
            rto_high_ps: MS,
            window: IrnWindow::Off,
            ..IrnConfig::paper()
        });
        let (outcome, _) = s.run();
        assert_eq!(outcome.ending, Ending::Drained);
        let c = outcome.counters;
        assert_eq!(
            c.discarded, c.retransmissions,
            "every copy came for nothing"
        );
        (c.naks, c.retransmissions)
    };
    let (naks, again) = run(1);
    assert!(naks > 0 && again > 0, "{naks} {again}");
    let (naks, again) = run(1000);
    assert!(naks > 0, "overtaken packets are still told of");
    assert_eq!(again, 0);
}

/// If go-back-N has no timeout, a lost tail is never retransmitted, and the run reports it.
#[test]
fn without_a_timeout_a_lost_tail_is_lost() {
    let flows = vec![flow(0, 0, 0, 2, 4000), flow(1, 0, 1, 2, 4000)];
    let recovery = Recovery::go_back_n(NEVER);
    let mut s = lossy(line_rate(star(3), flows), 4 * FRAME, recovery);
    s.switch.mmu.admission = Admission::SharedPool;
    let (outcome, _) = s.run_raw();
    assert_eq!(outcome.ending, Ending::Stalled);
    assert_eq!((outcome.finished, outcome.counters.timeouts), (1, 0));
}

/// Windows that shrink and grow in an incast, without timeouts and without losses.
// NIC-09
#[test]
fn windows_smaller_than_the_packets_of_an_ack_wait_for_nothing() {
    for (name, preset) in [("hpcc", hpcc as fn(_, _) -> Setup), ("dctcp", dctcp)] {
        for ack_every in [2, 7, 1 << 20] {
            let flows: Vec<Flow> = (0..24)
                .map(|i| flow(i, u64::from(i % 5) * US, i % 8, 8, 300_000))
                .collect();
            let mut s = preset(star(9), flows);
            s.nic.recovery = Recovery::go_back_n(NEVER);
            let each = {
                let mut s = s.clone();
                s.nic.ack_every = 1;
                s.run().0
            };
            s.nic.ack_every = ack_every;
            let (outcome, _) = s.run();
            assert_eq!(outcome.ending, Ending::Drained, "{name}, {ack_every}");
            assert_eq!(outcome.finished, 24, "{name}, {ack_every}");
            let c = outcome.counters;
            assert_eq!(c.drops, [0; dataplane::sink::DROP_CAUSES]);
            assert_eq!((c.retransmissions, c.timeouts), (0, 0));
            assert!(
                c.acks < each.counters.acks * 9 / 10,
                "{name}, {ack_every}: {}",
                c.acks
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    // AUD-01, AUD-02, AUD-03, AUD-04, REC-10, REC-12, REC-33
    #[test]
    fn lossy_runs_keep_their_books(
        preset in 0..PRESETS.len(),
        recovery in prop_oneof![
            Just(GO_BACK_N),
            Just(IRN),
            Just(IDEAL),
            Just(Recovery::ideal(Some(0))),
        ],
        shape in prop_oneof![
            Just(star(6)),
            Just(leaf_spine(2, 2, 3)),
            Just(TopologySpec::Dumbbell { left: 3, right: 3, link: LINK, core: link(25, 700_001) }),
        ],
        sizes in prop::collection::vec((0u64..30, 0u32..6, 1u32..6, 1u64..60_000), 1..40),
        buffer in 5_000u64..60_000,
        per_queue in any::<bool>(),
        acks_with_data in any::<bool>(),
        ack_every in prop_oneof![1u32..5, Just(1000)],
        sprays in any::<bool>(),
    ) {
        let mut flows: Vec<Flow> = sizes
            .iter()
            .map(|&(start, src, step, bytes)| flow(0, start * US, src, (src + step) % 6, bytes))
            .collect();
        flows.sort_by_key(|f| f.start_ps);
        for (id, f) in (0..).zip(&mut flows) {
            f.id = id;
        }
        let (name, preset) = PRESETS[preset];
        let n = flows.len() as u64;
        let mut s = lossy(preset(shape, flows), buffer, recovery);
        s.switch.mmu.admission = Admission::EgressDynamic { alpha: Alpha::new(1.0), per_queue };
        if acks_with_data && s.switch.hop.bfc().is_none() {
            s.nic.ack_class = 2;
        }
        s.nic.ack_every = ack_every; // NIC-09: even if the window is smaller
        if sprays && !matches!(recovery, Recovery::GoBackN { .. }) {
            s.switch.path = PathChoice::Packet;
        }
        let (outcome, keep) = s.run_raw();
        prop_assert_eq!(&outcome.violations, &[], "{} {:?}", name, recovery);
        if outcome.ending == Ending::TimeLimit && outcome.counters.timeouts > 0 {
            // Go-back-N does not guarantee progress: senders that time out together may lose the
            // same packets in a buffer of a few frames again and again.
            prop_assert!(matches!(recovery, Recovery::GoBackN { .. }), "{} {:?}", name, recovery);
            return Ok(());
        }
        prop_assert_eq!(outcome.ending, Ending::Drained, "{} {:?}", name, recovery);
        prop_assert_eq!((outcome.started, outcome.finished), (n, n));
        let again: u64 = keep.flows.iter().map(|r| u64::from(r.retransmitted)).sum();
        prop_assert_eq!(again, outcome.counters.retransmissions);
        if matches!(recovery, Recovery::Ideal { .. }) {
            prop_assert_eq!(outcome.counters.discarded, 0);
            prop_assert_eq!((outcome.counters.timeouts, outcome.counters.naks), (0, 0));
        }
    }
}

/// Overload without congestion control: at the time limit no flow has ended. The records of the
/// flows contain all retransmitted packets, and their sum is equal to the NICs' counters.
// GBN-01, REC-10
#[test]
fn flows_that_do_not_end_count_what_they_repeat() {
    let recoveries = [
        Recovery::go_back_n(MS),
        Recovery::Irn(IrnConfig::paper()),
        Recovery::ideal(None),
    ];
    for recovery in recoveries {
        let mut s = incast(50_000_000, 500_000, recovery);
        s.until_ps = 3 * MS;
        let (outcome, keep) = s.run_raw();
        assert_eq!(outcome.finished, 0, "{recovery:?}");
        let sum: u64 = keep.flows.iter().map(|f| u64::from(f.retransmitted)).sum();
        assert!(sum > 1_000, "{recovery:?}: {sum}");
        assert_eq!(sum, outcome.counters.retransmissions, "{recovery:?}");
    }
}
