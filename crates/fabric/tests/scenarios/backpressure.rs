//! BFC: queues stay near the pause threshold, and only flows that cause the congestion wait.

use super::*;
use crate::common::*;
use dataplane::config::Classify;
use dataplane::hop::Scheme;
use dataplane::packet::SchemeSet;
use dataplane::units::US;
use fabric::record::Outcome;

/// Bytes that a link of 100 Gbit/s sends in one hop RTT of 2 µs.
const HOP_BYTES: u64 = 25_000;

/// Hosts 0 and 1 on the first switch, 2 to 4 on the second; the link between the switches has four
/// times the rate of a host link. Flow 0 from host 0 and flow 1 from host 2 share the link to host
/// 3; flow 2 goes from host 1 to host 4 and shares only the link between the switches, with flow 0.
fn two_switches(bytes: u64) -> Setup {
    let trunk = link(400, US);
    let links = vec![
        (0, 5, LINK),
        (1, 5, LINK),
        (5, 6, trunk),
        (2, 6, LINK),
        (3, 6, LINK),
        (4, 6, LINK),
    ];
    let flows = vec![
        flow(0, 0, 0, 3, bytes),
        flow(1, 0, 2, 3, bytes),
        flow(2, 0, 1, 4, bytes),
    ];
    bfc(named(5, 2, links), flows)
}

fn goodput(fct_ps: u64, bytes: u64) -> f64 {
    bytes as f64 / 1000.0 * FRAME_PS as f64 / fct_ps as f64
}

// BFC-05, BFC-06, BFC-07, BFC-08, BFC-10, BFC-11, BFC-12, BFC-14
#[test]
fn the_bottleneck_queue_stays_near_the_threshold_and_nobody_else_waits() {
    let bytes = 5_000_000;
    let (outcome, keep) = two_switches(bytes).run();
    // Both flows through the bottleneck end together, when its link has sent all packets.
    let last = keep.fct(0).max(keep.fct(1));
    assert!(goodput(last, 2 * bytes) > 0.97, "{last} ps for both");
    assert!(keep.fct(0).abs_diff(keep.fct(1)) < last / 20, "fair");
    // Flow 2 is not delayed by pauses of the other queue at its port.
    let alone = keep
        .flows
        .iter()
        .find(|r| r.flow.id == 2)
        .unwrap()
        .ideal_received_ps;
    assert!(
        keep.fct(2) < alone + 5 * FRAME_PS,
        "{} ps, alone {alone}",
        keep.fct(2)
    );
    // Each queue reaches its threshold, plus the bytes that arrive in one RTT. These are four times
    // as many if the fast link feeds the queue.
    let each = HOP_BYTES / 2 + 4 * FRAME;
    let most = port(&outcome, 6, 3).max_queue_bytes;
    assert!(most > HOP_BYTES / 2, "the threshold acts: {most} B");
    assert!(
        most < (each + 4 * HOP_BYTES) + (each + HOP_BYTES),
        "{most} B at the bottleneck"
    );
    // The queue of flow 0 grows at the upstream switch, until this switch pauses the NIC.
    let upstream = port(&outcome, 5, 6).max_queue_bytes;
    assert!(
        upstream > HOP_BYTES && upstream < 6 * HOP_BYTES,
        "{upstream} B upstream"
    );
    let c = outcome.counters;
    assert!(c.hop["bfc_pauses"] > 20);
    assert_eq!(
        c.hop["bfc_pauses"], c.hop["bfc_resumes"],
        "each pause has its resume"
    );
    assert_eq!(c.drops.iter().sum::<u64>(), 0);
}

// BFC-11, BFC-10
#[test]
fn with_deaf_nics_the_first_hop_holds_what_the_nic_would() {
    let bytes = 5_000_000;
    let mut s = two_switches(bytes);
    s.nic.obeys = SchemeSet::ALL.without(Scheme::Bfc.number());
    let (outcome, keep) = s.run();
    // Flow 0 arrives at full rate and leaves at half of it.
    let upstream = port(&outcome, 5, 6).max_queue_bytes;
    assert!(
        upstream > bytes * 4 / 10 && upstream < bytes * 6 / 10,
        "{upstream} B at the first hop"
    );
    assert!(port(&outcome, 6, 3).max_queue_bytes < bytes * 6 / 10 + 4 * HOP_BYTES);
    let alone = keep
        .flows
        .iter()
        .find(|r| r.flow.id == 2)
        .unwrap()
        .ideal_received_ps;
    assert!(keep.fct(2) < alone + 5 * FRAME_PS, "isolated as before");
}

// BFC-17
#[test]
fn with_a_single_queue_the_innocent_flow_waits_too() {
    let bytes = 5_000_000;
    let mut s = two_switches(bytes);
    s.switch.classify = Classify::Fifo;
    let (_, keep) = s.run();
    let alone = keep
        .flows
        .iter()
        .find(|r| r.flow.id == 2)
        .unwrap()
        .ideal_received_ps;
    assert!(
        keep.fct(2) > alone * 5 / 4,
        "{} ps, alone {alone}: head-of-line blocking",
        keep.fct(2)
    );
}

/// Runs the model in appendix C of the paper: a flow that arrives at x times the rate of its
/// bottleneck.
fn model(x_percent: u64, factor: u32) -> (f64, Outcome) {
    let fast = LinkSpec {
        rate: Rate::from_bps(x_percent * 1_000_000_000),
        delay_ps: US,
        loss: Loss::NONE,
    };
    let bytes = 10_000_000;
    let mut s = bfc(funnel(1, fast), vec![flow(0, 0, 0, 1, bytes)]);
    s.switch.hop.bfc_mut().unwrap().threshold_factor = factor;
    let (outcome, keep) = s.run();
    (1.0 - goodput(keep.fct(0), bytes), outcome)
}

// BFC-20, BFC-21
#[test]
fn a_flow_runs_dry_and_overshoots_as_the_papers_model_says() {
    for (x_percent, factor) in [
        (110, 1.0),
        (150, 1.0),
        (200, 1.0),
        (400, 1.0),
        (200, 2.0),
        (300, 4.0),
    ] {
        let x = x_percent as f64 / 100.0;
        let (idle, outcome) = model(x_percent, (factor * 65536.0) as u32);
        // Eq. 4, with Th = factor · HRTT · µ.
        let model_idle = (x - 1.0) / (factor * x + x * x - 1.0);
        assert!(
            (idle - model_idle).abs() < 0.02,
            "x = {x}, Th = {factor}: idle {idle:.3}, the model says {model_idle:.3}"
        );
        // Eq. 5: the largest idle fraction for any x.
        let worst = 1.0 / ((factor.sqrt() + 1.0).powi(2) + 1.0);
        assert!(
            idle < worst + 0.01,
            "x = {x}: idle {idle:.3} of at most {worst:.3}"
        );
        // Eq. 2: the queue at the end of phase 1.
        let queue = (factor + x - 1.0) * HOP_BYTES as f64;
        let most = port(&outcome, 2, 1).max_queue_bytes as f64;
        assert!(
            most > queue * 0.95 && most < queue * 1.05 + 4.0 * FRAME as f64,
            "x = {x}, Th = {factor}: {most} B queued, the model says {queue}"
        );
    }
}

/// Flows that start together build queues, are paused and become empty at the same time, so the
/// model holds for them with x = n. Two flows leave the link idle for a fifth of the time, more
/// flows for less time than in the model.
// BFC-20, BFC-21
#[test]
fn flows_in_step_run_dry_together() {
    for (n, idle) in [(2u32, 0.2), (4, 3.0 / 19.0), (8, 7.0 / 71.0)] {
        let bytes = 2_000_000;
        let flows = (0..n).map(|i| flow(i, 0, i, n, bytes)).collect();
        let (_, keep) = bfc(star(n + 1), flows).run();
        let last = (0..n).map(|i| keep.fct(i)).max().unwrap();
        let got = 1.0 - goodput(last, u64::from(n) * bytes);
        assert!(
            got < idle + 0.02,
            "{n} flows: idle {got:.3}, the model says {idle:.3}"
        );
        // Two flows stay synchronised. Of more flows, at least one always has packets left.
        assert!(n > 2 || got > idle - 0.02, "{n} flows: idle {got:.3}");
    }
}

/// If there are more flows than queues, flows share queues, and all flows finish.
// BFC-02, BFC-01
#[test]
fn more_flows_than_queues_share_them() {
    let flows: Vec<_> = (0..40).map(|i| flow(i, 0, i % 8, 8, 50_000)).collect();
    let mut s = bfc(star(9), flows);
    s.switch.classify = Classify::Dynamic {
        queues: 8,
        table: 800,
        sticky_ps: 4 * US,
    };
    let (outcome, keep) = s.run();
    assert!(outcome.counters.hop["bfc_shared_queue"] > 0);
    assert_eq!(outcome.finished, 40);
    let last = (0..40).map(|i| keep.fct(i)).max().unwrap();
    assert!(goodput(last, 40 * 50_000) > 0.95, "{last} ps");
}

/// The buffer is too small for the packets that arrive before the pause takes effect: packets are
/// lost and retransmitted.
// BFC-15, SW-16, NIC-20, NIC-21
#[test]
fn an_incast_beyond_the_buffer_loses_packets_but_no_flow() {
    let flows: Vec<_> = (0..16).map(|i| flow(i, 0, i, 16, 100_000)).collect();
    let mut s = bfc(star(17), flows);
    s.switch.mmu.buffer_bytes = 100_000;
    let (outcome, _) = s.run();
    let c = outcome.counters;
    assert!(c.drops[0] > 0 && c.retransmissions > 0);
    assert_eq!(outcome.finished, 16);
    assert_eq!(
        (c.hop["pfc_pauses"], c.hop["bfc_pauses"]),
        (0, c.hop["bfc_resumes"])
    );
}
