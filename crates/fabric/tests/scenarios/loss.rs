//! Networks that lose or reorder packets.

use super::*;
use crate::common::*;
use dataplane::config::{Admission, Alpha, PathChoice, Recovery};
use dataplane::hop::bfc::BitmapConfig;
use dataplane::sink::DropCause;
use dataplane::units::{MS, US};
use fabric::record::Ending;
use fabric::topology::{LinkSpec, Loss, TopologySpec};
use traffic::Flow;

fn incast(senders: u32, bytes: u64) -> Vec<Flow> {
    (0..senders)
        .map(|i| flow(i, 0, i, senders, bytes))
        .collect()
}

// SW-15, NIC-13, NIC-20, NIC-21
#[test]
fn an_egress_threshold_drops_and_go_back_n_brings_every_flow_home() {
    for per_queue in [false, true] {
        let mut s = line_rate(star(9), incast(8, 200_000));
        s.switch.mmu.buffer_bytes = 300_000;
        s.switch.mmu.reserved_bytes = 0;
        s.switch.mmu.admission = Admission::EgressDynamic {
            alpha: Alpha::new(1.0),
            per_queue,
        };
        let (outcome, keep) = s.run();
        let c = &outcome.counters;
        assert_eq!(outcome.ending, Ending::Drained);
        assert_eq!(outcome.finished, 8);
        assert!(c.drops[DropCause::EgressThreshold as usize] > 0);
        assert_eq!(
            c.drops[DropCause::Buffer as usize],
            0,
            "half of it is always free"
        );
        assert!(c.naks > 0 && c.retransmissions > 0 && c.discarded > 0);
        let most = port(&outcome, 9, 8).max_queue_bytes;
        assert!(
            most <= 150_000,
            "{most} B queued, α = 1 allows half of the buffer"
        );
        let resent: u64 = keep.flows.iter().map(|r| u64::from(r.retransmitted)).sum();
        assert_eq!(resent, c.retransmissions);
    }
}

/// The last packets of a flow are lost. No later packet reveals the loss, so only the timeout
/// causes a retransmission.
// NIC-21
#[test]
fn a_lost_tail_is_sent_again_after_the_timeout() {
    // There is room for seven packets but not for the eighth, which is the last packet of the
    // second flow.
    let mut s = line_rate(
        star(3),
        vec![flow(0, 0, 0, 2, 4000), flow(1, 0, 1, 2, 4000)],
    );
    s.switch.mmu.reserved_bytes = 0;
    s.switch.mmu.buffer_bytes = 4 * FRAME;
    s.switch.mmu.admission = Admission::SharedPool;
    s.nic.recovery = Recovery::go_back_n(MS);
    let (outcome, keep) = s.run();
    let c = outcome.counters;
    assert_eq!(c.drops[DropCause::Buffer as usize], 1);
    assert_eq!((c.naks, c.timeouts, c.retransmissions), (0, 1, 1));
    let late = keep.fct(0).max(keep.fct(1));
    assert!(late > MS && late < MS + 20 * US, "{late} ps");
}

fn sprayed(recovery: Recovery) -> (Outcome, Keep) {
    let flows: Vec<Flow> = (0..8)
        .map(|i| flow(i, 0, i, 8 + (i * 3) % 8, 500_000))
        .collect();
    let mut s = line_rate(leaf_spine(2, 4, 8), flows);
    s.switch.path = PathChoice::Packet;
    s.switch.mmu.admission = Admission::Unlimited;
    s.nic.recovery = recovery;
    s.run()
}

// NIC-12, NIC-13
#[test]
fn sprayed_packets_overtake_and_are_taken_once_each() {
    let (ordered, _) = sprayed(Recovery::go_back_n(4 * MS));
    assert!(ordered.counters.naks > 0, "spraying changes the order");
    let (any, keep) = sprayed(Recovery::NONE);
    let c = any.counters;
    assert_eq!((c.naks, c.discarded, c.retransmissions), (0, 0, 0));
    assert_eq!((c.data_packets, c.acks), (4000, 4000));
    assert!(
        keep.flows
            .iter()
            .all(|r| r.received_ps.is_some() && r.retransmitted == 0)
    );
    assert_eq!(any.violations, [], "every byte was delivered once");
}

/// Without recovery, a lost packet is never retransmitted. The run reports which flows wait for
/// what.
// ENG-07, AUD-08
#[test]
fn a_run_that_stalls_says_so() {
    let mut s = line_rate(star(5), incast(4, 100_000));
    s.switch.mmu.reserved_bytes = 0;
    s.switch.mmu.buffer_bytes = 20 * FRAME;
    s.switch.mmu.admission = Admission::SharedPool;
    s.nic.recovery = Recovery::NONE;
    let (outcome, keep) = s.run();
    assert_eq!(outcome.ending, Ending::Stalled);
    assert!(outcome.finished < 4);
    let unfinished = keep
        .flows
        .iter()
        .filter(|r| r.received_ps.is_none())
        .count();
    assert_eq!(unfinished as u64, 4 - outcome.finished, "none is left out");
    assert_eq!(outcome.stall.len(), unfinished);
    assert!(
        outcome.stall[0].contains("waits for an acknowledgement"),
        "{:?}",
        outcome.stall
    );
}

/// BFC on links that all lose one frame in a hundred, including pause and resume frames. Incasts to
/// both racks are followed, after a pause, by one flow from each host, which meets every queue that
/// is still paused.
fn lossy_bfc(seed: u64, bitmap: Option<BitmapConfig>) -> Setup {
    let lossy = LinkSpec {
        loss: Loss::of(0.01),
        ..LINK
    };
    let topology = TopologySpec::LeafSpine {
        leaves: 2,
        spines: 2,
        hosts_per_leaf: 4,
        link: lossy,
        uplink: lossy,
    };
    let mut flows: Vec<Flow> = (1..8)
        .flat_map(|i| [(0, i, 0), (20 * US, (i + 4) % 8, 4)])
        .map(|(start_ps, src, dst)| flow(0, start_ps, src, dst, 300_000))
        .collect();
    flows.extend((0..8).map(|src| flow(0, 60 * MS, src, (src + 3) % 8, 100_000)));
    (0..).zip(&mut flows).for_each(|(id, f)| f.id = id);
    let mut s = bfc(topology, flows);
    s.seed = seed;
    s.until_ps = 1000 * MS;
    s.nic.recovery = Recovery::go_back_n(MS);
    s.switch.hop.bfc_mut().expect("this is BFC").bitmap = bitmap;
    s
}

// BFC-30, BFC-31, TOP-20
#[test]
fn bitmaps_repair_lost_pauses_and_resumes_of_bfc() {
    let bitmap = BitmapConfig {
        period_ps: US,
        frame_bytes: 156,
        edges: true,
    };
    for seed in 1..9 {
        let (outcome, keep) = lossy_bfc(seed, Some(bitmap)).run();
        let c = outcome.counters;
        assert_eq!(outcome.ending, Ending::Drained, "seed {seed}");
        assert_eq!(outcome.finished, 22, "seed {seed}");
        assert!(keep.flows.iter().all(|f| f.received_ps.is_some()));
        assert!(
            c.hop["bfc_pauses"] > 30 && c.hop["bfc_pauses"] == c.hop["bfc_resumes"],
            "{c:?}"
        );
        assert!(c.hop["bfc_bitmaps"] > 1000 && c.retransmissions > 0);
        assert!(c.drops[DropCause::Link as usize] > 50);
        assert_eq!(outcome.stall, [""; 0]);
    }
}

/// The same network without bitmaps: a resume frame is lost and not repeated, and the run reports
/// the flow that waits for it.
// BFC-31, ENG-14, AUD-08
#[test]
fn without_bitmaps_a_lost_resume_of_bfc_holds_a_queue_for_ever() {
    let (outcome, keep) = lossy_bfc(2, None).run();
    assert_eq!(outcome.ending, Ending::Stalled);
    assert!(outcome.end_ps < 100 * MS, "{} ps", outcome.end_ps);
    let waiting = keep.flows.iter().filter(|f| f.received_ps.is_none());
    assert_eq!(waiting.count() as u64, 22 - outcome.finished);
    assert!(outcome.finished < 22);
    let says = |what: &str| outcome.stall.iter().any(|line| line.contains(what));
    // A NIC is still paused although its switch has sent the resume frame, and so is a switch.
    assert!(says("its queue is paused"), "{:?}", outcome.stall);
    assert!(says("B queued"), "{:?}", outcome.stall);
}
