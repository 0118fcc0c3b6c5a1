//! PFC with pause times: pauses expire and are repeated. It is compared with PFC that pauses until
//! XON. The rules are in `specs/pfc-quanta.md`.

use std::collections::BTreeMap;

use super::*;
use crate::common::*;
use dataplane::config::{Admission, PauseTime, Recovery};
use dataplane::pause_time::pause_ps;
use dataplane::units::MS;
use fabric::measure::{Blame, PauseRecording, RecordSpec};
use fabric::record::{Ending, PortRecord};
use traffic::Flow;

const TIMES: PauseTime = PauseTime::Quanta {
    quanta: 200,
    refresh: 100,
};

/// PFC with little buffer, so that there are many long pauses.
fn tight(topology: TopologySpec, flows: Vec<Flow>, pause: PauseTime) -> Setup {
    let mut s = line_rate(topology, flows);
    s.switch.mmu.buffer_bytes = 1_500_000;
    let Admission::Pfc(pfc) = &mut s.switch.mmu.admission else {
        panic!("this is PFC")
    };
    pfc.pause = pause;
    s
}

/// Two incasts to two racks, so that spines are paused too.
fn incasts() -> Vec<Flow> {
    let to = |first: u32, dst: u32| (0..8).map(move |n| (first + n, dst));
    let pairs = to(0, 12).chain(to(8, 3));
    (0..)
        .zip(pairs)
        .map(|(id, (src, dst))| flow(id, u64::from(id) * 100_000, src, dst, 400_000))
        .collect()
}

// QNT-05, QNT-09, QNT-10, SW-11
#[test]
fn nothing_is_lost_and_flows_take_as_long_as_with_pauses_until_xon() {
    let run = |pause| tight(leaf_spine(2, 2, 8), incasts(), pause).run();
    let (lasting, before) = run(PauseTime::UntilResumed);
    let (timed, after) = run(TIMES);
    for outcome in [&lasting, &timed] {
        assert_eq!(outcome.ending, Ending::Drained);
        assert_eq!(outcome.counters.drops.iter().sum::<u64>(), 0);
        let hop = &outcome.counters.hop;
        assert_eq!(hop["pfc_pauses"], hop["pfc_resumes"]);
        assert!(hop["pfc_pauses"] > 10);
    }
    assert_eq!(lasting.counters.hop["pfc_refreshes"], 0);
    assert!(timed.counters.hop["pfc_refreshes"] > 20);
    assert_eq!(timed.counters.hop["pfc_expiries"], 0);
    for flow in 0..16 {
        let (a, b) = (before.fct(flow) as f64, after.fct(flow) as f64);
        assert!((b / a - 1.0).abs() < 0.05, "flow {flow}: {a} ps, {b} ps");
    }
}

// QNT-13
#[test]
fn ports_count_transitions_and_frames_apart() {
    for (pause, repeats) in [(PauseTime::UntilResumed, false), (TIMES, true)] {
        let (outcome, _) = tight(leaf_spine(2, 2, 8), incasts(), pause).run();
        let sum = |of: fn(&PortRecord) -> u64| outcome.ports.iter().map(of).sum::<u64>();
        let hop = &outcome.counters.hop;
        assert_eq!(hop["pfc_refreshes"] > 20, repeats);
        assert_eq!(sum(|port| port.pauses), hop["pfc_pauses"]);
        assert_eq!(sum(|port| port.resumes), hop["pfc_resumes"]);
        let frames = hop["pfc_pauses"] + hop["pfc_refreshes"];
        assert_eq!(sum(|port| port.pause_frames), frames);
        assert_eq!(sum(|port| port.resume_frames), hop["pfc_resumes"]);
    }
}

// QNT-08
#[test]
fn repetitions_are_no_pauses_of_their_own() {
    let record = RecordSpec {
        pauses: Some(PauseRecording { flows: true }),
        ..RecordSpec::default()
    };
    let mut s = tight(leaf_spine(2, 2, 8), incasts(), TIMES);
    s.record = record;
    let (outcome, keep) = s.run();
    assert!(outcome.counters.hop["pfc_refreshes"] > 20);
    assert_eq!(keep.causes.len() as u64, outcome.counters.hop["pfc_pauses"]);
    assert_eq!(keep.pauses.len(), keep.causes.len());
    assert!(keep.pauses.iter().all(|pause| pause.number.is_some()));
    assert!(!keep.held_flows.is_empty());
}

fn lossy(seed: u64, pause: PauseTime) -> Setup {
    let lossy = LinkSpec {
        loss: Loss::of(0.01),
        ..LINK
    };
    let topology = TopologySpec::LeafSpine {
        leaves: 2,
        spines: 2,
        hosts_per_leaf: 8,
        link: lossy,
        uplink: lossy,
    };
    let mut flows = incasts();
    // Later every host sends one more flow, which meets every port that is still paused.
    flows.extend((0..16).map(|src| flow(16 + src, 60 * MS, src, (src + 5) % 16, 50_000)));
    let mut s = tight(topology, flows, pause);
    s.seed = seed;
    s.nic.recovery = Recovery::go_back_n(MS);
    s
}

// QNT-07, QNT-12
#[test]
fn links_that_lose_frames_hold_nobody_for_ever() {
    let (mut stalled, mut lost) = (0, 0);
    for seed in 1..6 {
        let (lasting, _) = lossy(seed, PauseTime::UntilResumed).run_raw();
        stalled += u32::from(lasting.ending == Ending::Stalled);
        let (timed, _) = lossy(seed, TIMES).run();
        assert_eq!(timed.ending, Ending::Drained, "seed {seed}");
        assert_eq!(timed.finished, 32, "seed {seed}");
        let hop = &timed.counters.hop;
        assert!(hop["pfc_expiries"] > 0, "seed {seed}");
        // QNT-13: a frame that its link loses is not received.
        let received: u64 = timed.ports.iter().map(|port| port.pause_frames).sum();
        let sent = hop["pfc_pauses"] + hop["pfc_refreshes"];
        assert!(received <= sent, "seed {seed}: {received} of {sent}");
        lost += sent - received;
    }
    assert!(lost > 0, "links lost pause frames");
    assert!(
        stalled > 0,
        "without times a lost XON can hold a port for ever"
    );
}

// QNT-08
#[test]
fn a_pause_that_ran_out_causes_no_other_and_holds_no_flow() {
    let (mut expired, mut caused) = (0, 0);
    for seed in 1..6 {
        let mut s = lossy(seed, TIMES);
        s.record = RecordSpec {
            pauses: Some(PauseRecording { flows: true }),
            blame: Some(Blame { hops: false }),
            ..RecordSpec::default()
        };
        let (outcome, keep) = s.run();
        expired += outcome.counters.hop["pfc_expiries"];
        let mut paused = BTreeMap::new();
        for pause in &keep.pauses {
            *paused.entry((pause.node, pause.port)).or_insert(0) += pause.to_ps - pause.from_ps;
        }
        assert!(!keep.held_flows.is_empty());
        for held in &keep.held_flows {
            let of_port = paused[&(held.node, held.port)];
            assert!(held.held_ps <= of_port, "seed {seed}: {held:?}, {of_port}");
        }
        for cause in keep.causes.iter().filter(|cause| cause.parent.is_some()) {
            caused += 1;
            let rows = keep.pauses.iter().filter(|pause| {
                (pause.node, pause.port, pause.class) == (cause.node, cause.egress, cause.class)
                    && pause.number == cause.parent
                    && pause.from_ps <= cause.at_ps
            });
            let over = rows.map(|pause| pause.to_ps).max().expect("the pause");
            // If the port sends continuously after the expired pause, the pause may still cause
            // others until the buffers are empty.
            let felt = over + MS;
            assert!(cause.at_ps <= felt, "seed {seed}: {over}, {cause:?}");
        }
    }
    assert!(expired > 0 && caused > 0, "{expired}, {caused}");
}

/// Repeated pause frames use capacity in the reverse direction: 64 bytes per refresh period.
#[test]
fn repetitions_take_the_capacity_that_their_period_says() {
    let (outcome, _) = tight(
        star(9),
        (0..8).map(|n| flow(n, 0, n, 8, 2_000_000)).collect(),
        TIMES,
    )
    .run();
    let hop = &outcome.counters.hop;
    let paused_ps: u64 = outcome.ports.iter().map(|port| port.paused_ps).sum();
    let period = pause_ps(GBPS_100, 100);
    let most = paused_ps / period + hop["pfc_pauses"];
    assert!(
        hop["pfc_refreshes"] > 0 && hop["pfc_refreshes"] <= most,
        "{most}"
    );
}
