//! Variants of BFC on a small network with high load: all flows finish, all audits hold, and each
//! variant has its intended effect.

use super::*;
use crate::common::sets::DELAY_WINDOW;
use crate::common::*;
use dataplane::cc::fixed_window::FixedWindowConfig;
use dataplane::config::{AssignConfig, Classify, ControlConfig, FlowOrder, Schedule, Sending};
use dataplane::hop::HopConfig;
use dataplane::hop::bfc::{BfcConfig, BitmapConfig, PauseBy};
use dataplane::units::US;
use fabric::record::{Ending, Outcome};

/// An incast of all but two hosts to host 0, from 10 µs on, among other flows in both directions.
fn busy() -> Vec<traffic::Flow> {
    let mut flows: Vec<_> = (0..60)
        .map(|i: u32| {
            let src = (i * 7) % 16;
            let dst = (src + 1 + i % 15) % 16;
            flow(i, u64::from(i) * US, src, dst, 2_000 + 700 * u64::from(i))
        })
        .collect();
    flows.extend((2..16).map(|src| traffic::Flow {
        incast: true,
        ..flow(0, 10 * US, src, 0, 100_000)
    }));
    flows.sort_by_key(|f| f.start_ps);
    (0..).zip(&mut flows).for_each(|(id, f)| f.id = id);
    flows
}

fn with(change: impl FnOnce(&mut Setup)) -> (Outcome, Keep) {
    let mut setup = bfc(leaf_spine(4, 2, 4), busy());
    change(&mut setup);
    let (outcome, keep) = setup.run();
    assert_eq!(outcome.ending, Ending::Drained);
    assert_eq!(outcome.finished, outcome.started);
    (outcome, keep)
}

fn change_bfc(s: &mut Setup, change: impl FnOnce(&mut BfcConfig)) {
    change(s.switch.hop.bfc_mut().expect("this is BFC"));
}

/// Returns the end of the last flow.
fn last(keep: &Keep) -> u64 {
    keep.flows
        .iter()
        .filter_map(|f| f.received_ps)
        .max()
        .unwrap()
}

// BFC-30, BFC-31, BFC-43
#[test]
fn bitmaps_beside_changes_or_alone_do_the_same_work() {
    let (plain, keep) = with(|_| {});
    let bitmap = |edges| BitmapConfig {
        period_ps: US,
        frame_bytes: 156,
        edges,
    };
    for edges in [true, false] {
        let (outcome, other) = with(|s| change_bfc(s, |b| b.bitmap = Some(bitmap(edges))));
        let c = outcome.counters;
        // Each port of each switch sends a bitmap every microsecond, and 64 more at the end.
        assert!(
            c.hop["bfc_bitmaps"] > 20 * 6 * 6,
            "{}",
            c.hop["bfc_bitmaps"]
        );
        assert!(c.hop["bfc_pauses"] > 0 && c.hop["bfc_pauses"] == c.hop["bfc_resumes"]);
        assert_eq!(c.drops, plain.counters.drops);
        assert!(last(&other).abs_diff(last(&keep)) < last(&keep) / 10);
        // The run ends when its packets have arrived; bitmaps do not prolong it.
        assert!(outcome.end_ps < plain.end_ps * 11 / 10);
    }
}

// BFC-37
#[test]
fn pausing_by_flow_holds_no_other_flow() {
    for classify in [
        Classify::PerFlow,
        Classify::Dynamic {
            queues: 4,
            table: 400,
            sticky_ps: 0,
        },
    ] {
        let (outcome, _) = with(|s| {
            change_bfc(s, |b| b.by = PauseBy::Flow);
            s.switch.classify = classify;
        });
        assert!(outcome.counters.hop["bfc_pauses"] > 0, "{classify:?}");
        assert_eq!(
            outcome.counters.hop["bfc_pauses"],
            outcome.counters.hop["bfc_resumes"]
        );
    }
}

// BFC-32, NIC-18
#[test]
fn sampling_halves_what_is_counted_and_may_reorder() {
    let (all, _) = with(|_| {});
    let (half, _) = with(|s| change_bfc(s, |b| b.sampling = 1 << 15));
    let c = half.counters;
    assert!(c.hop["bfc_pauses"] > 0 && c.hop["bfc_pauses"] == c.hop["bfc_resumes"]);
    assert_eq!(all.counters.overtaken, 0, "order is kept without sampling");
    // If few packets are counted, and flows are not bound to a queue, flows change queues while
    // they are active.
    let (few, _) = with(|s| {
        change_bfc(s, |b| b.sampling = 1 << 10);
        s.switch.classify = Classify::Dynamic {
            queues: 31,
            table: 3200,
            sticky_ps: 0,
        };
    });
    assert!(few.counters.overtaken > 0);
    assert!(few.counters.retransmissions >= few.counters.overtaken);
}

// BFC-36
#[test]
fn an_incast_in_one_queue_leaves_the_others_to_the_rest() {
    let shared = |label: bool| {
        let (outcome, _) = with(|s| {
            s.switch.classify = Classify::Dynamic {
                queues: 6,
                table: 600,
                sticky_ps: 4 * US,
            };
            s.switch.assign = AssignConfig {
                incast_queue: label,
                ..AssignConfig::PAPER
            };
        });
        outcome.counters.hop["bfc_shared_queue"]
    };
    let (without, labelled) = (shared(false), shared(true));
    assert!(
        labelled * 4 < without,
        "{labelled} of {without} flows share"
    );
}

// BFC-38
#[test]
fn a_lagging_map_and_pipelines_cost_queues_and_nothing_else() {
    let (outcome, _) = with(|s| {
        s.switch.assign = AssignConfig {
            bitmap_ps: Some(5 * US),
            pipelines: 2,
            ..AssignConfig::PAPER
        };
        s.switch.classify = Classify::Dynamic {
            queues: 6,
            table: 600,
            sticky_ps: 4 * US,
        };
    });
    assert!(outcome.counters.hop["bfc_stale_assignments"] > 0);
}

/// Two flows to the same receiver start together. The short flow does not wait, the long flow does.
// BFC-33, SW-51, NIC-30
#[test]
fn the_shorter_of_two_flows_has_the_link_to_itself() {
    let (long, short) = (400_000, 100_000);
    let flows = vec![flow(0, 0, 0, 2, long), flow(1, 0, 1, 2, short)];
    let mut s = bfc(star(3), flows);
    s.switch.schedule = Schedule::ShortestRemaining;
    s.nic.order = FlowOrder::ShortestFirst;
    let (_, keep) = s.clone().run();
    let alone = keep.flows.iter().find(|r| r.flow.id == 1).unwrap();
    assert!(keep.fct(1) < alone.ideal_received_ps + 3 * FRAME_PS);
    assert!(keep.fct(0) > (long + short) / 1000 * FRAME_PS);
    // For two flows of one sender, the NIC decides.
    s.flows = vec![flow(0, 0, 0, 2, long), flow(1, 10 * US, 0, 2, short)];
    let (_, keep) = s.run();
    assert!(keep.fct(1) < alone.ideal_received_ps + 3 * FRAME_PS);
}

/// Many long flows to one receiver: with the delay window each has fewer bytes in the network.
// BFC-34
#[test]
fn the_delay_window_holds_back_what_waits() {
    let flows: Vec<_> = (0..15).map(|i| flow(i, 0, i, 15, 1_500_000)).collect();
    let run = |control| {
        let mut s = bfc(star(16), flows.clone());
        s.nic.control = control;
        // BFC's pauses are disabled, so that only the window has an effect.
        s.switch.hop = HopConfig::None;
        s.run()
    };
    let (_, free) = run(Sending::Control(ControlConfig::FixedWindow(
        FixedWindowConfig { window: None },
    )));
    let (_, keep) = run(Sending::Control(ControlConfig::DelayWindow(DELAY_WINDOW)));
    // The target of 2.5 base RTTs allows 1.5 base RTTs of queueing. With a window of one BDP per
    // flow, the queue is 14 base RTTs.
    let queue = |keep: &Keep| {
        let mut used: Vec<u64> = keep.buffers.iter().map(|b| b.used_bytes).collect();
        used.sort_unstable();
        used[used.len() / 2]
    };
    let bdp = 4_300_000 / 80;
    assert!(queue(&free) > 13 * bdp, "{} B", queue(&free));
    assert!(
        queue(&keep) > bdp && queue(&keep) < 2 * bdp,
        "{} B",
        queue(&keep)
    );
    let late = last(&keep);
    assert!(
        late < 15 * 1_500 * FRAME_PS * 103 / 100,
        "full use: {late} ps"
    );
    // The delay window also works together with BFC.
    let mut s = bfc(star(16), flows.clone());
    s.nic.control = Sending::Control(ControlConfig::DelayWindow(DELAY_WINDOW));
    let (both, keep) = s.run();
    assert_eq!(both.finished, 15);
    assert!(last(&keep) < 15 * 1_500 * FRAME_PS * 105 / 100);
}
