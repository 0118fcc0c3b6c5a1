//! Credit-based flow control of links (`specs/cbfc.md`): no frame is lost, the formula gives the
//! credits that fill a link, and lost frames or credit updates only cause delay.

use crate::common::*;
use dataplane::hop::HopConfig;
use dataplane::hop::floodgate::{FloodgateConfig, Release};
use dataplane::link::cbfc::{CbfcConfig, Limit};
use dataplane::sink::DropCause;
use dataplane::units::{MS, US};
use fabric::NodeId;
use fabric::engine::Threads;
use fabric::record::{Ending, Outcome};
use fabric::topology::{LinkSpec, Loss, TopologySpec};
use traffic::Flow;

/// Bytes of a full frame, and the credits that the frame uses.
const FRAME: u64 = 1048;
const PER_FRAME: u32 = 5;

/// Eight senders to one receiver on another leaf, and some flows in the opposite direction.
fn busy() -> Vec<Flow> {
    let incast = (0..8).map(|i| flow(i, 0, i, 8, 200_000));
    let back = (0..4).map(|i| flow(8 + i, 20 * US, 8 + i, i, 100_000));
    incast.chain(back).collect()
}

fn drops(outcome: &Outcome) -> u64 {
    outcome.counters.drops.iter().sum()
}

fn limited(frames: u32) -> CbfcConfig {
    CbfcConfig {
        limit: Limit::Credits(frames * PER_FRAME),
        ..CbfcConfig::STANDARD
    }
}

/// CBFC-02, CBFC-20, CBFC-22: a link of 100 Gbit/s and 1 µs needs 25 000 bytes for the RTT, two
/// frames, 6400 bytes between two updates, and one update. The sum is just below 32 frames.
#[test]
fn credits_of_frames_and_links() {
    let config = limited(1);
    assert_eq!(
        [1, 256, 257, 1048].map(|bytes| config.credits(bytes)),
        [1, 1, 2, 5]
    );
    let more = CbfcConfig {
        overhead_bytes: 20,
        ..config
    };
    let less = CbfcConfig {
        overhead_bytes: -16,
        ..config
    };
    assert_eq!(
        (more.credits(256), less.credits(272), less.credits(8)),
        (2, 1, 1)
    );
    assert_eq!(config.full_rate(GBPS_100, US, 1048), 32 * PER_FRAME);
    let link = CbfcConfig {
        limit: Limit::Link,
        ..config
    };
    assert_eq!(link.limit_of(GBPS_100, US, 1048), 33 * PER_FRAME);
}

/// CBFC-03, CBFC-30: in an incast nothing is lost with any congestion control, and all counters
/// agree after the network has drained.
#[test]
fn nothing_is_lost_whatever_the_control() {
    for (name, preset) in PRESETS {
        if ["bfc", "ideal-fq"].contains(&name) {
            continue;
        }
        let (outcome, keep) = cbfc(preset(leaf_spine(2, 2, 8), busy())).run();
        assert_eq!(drops(&outcome), 0, "{name}");
        assert_eq!(outcome.ending, Ending::Drained, "{name}");
        assert!(keep.flows.iter().all(|f| f.received_ps.is_some()), "{name}");
        assert!(outcome.counters.hop["cbfc_waits"] > 0, "{name}");
    }
}

/// A preset with few credits on each link, in addition to its hop scheme.
fn beside(preset: Preset, hop: HopConfig) -> Setup {
    let mut setup = preset(leaf_spine(2, 2, 8), busy());
    setup.switch.hop = hop;
    setup.switch.link.credit = Some(limited(34));
    setup
}

/// CBFC-30, CBFC-36: credits work together with schemes of the slots `pfc` and `backpressure`. Each
/// scheme has an effect, and nothing is lost.
#[test]
fn credits_work_below_pauses_and_windows() {
    let floodgate = |config| beside(line_rate, HopConfig::Floodgate(config));
    let behind = FloodgateConfig {
        release: Release::Behind,
        ..FloodgateConfig::PRACTICAL
    };
    let of_bfc = bfc(leaf_spine(2, 2, 8), busy()).switch.hop;
    let mut with_pfc = beside(line_rate, HopConfig::None);
    with_pfc.switch.mmu.buffer_bytes = 500_000;
    let cases = [
        ("bfc_pauses", beside(bfc, of_bfc)),
        ("floodgate_held", floodgate(FloodgateConfig::PRACTICAL)),
        ("floodgate_held", floodgate(FloodgateConfig::IDEAL)),
        ("floodgate_held", floodgate(behind)),
        ("floodgate_dst_pauses", floodgate(FloodgateConfig::TAGS)),
        ("pfc_pauses", with_pfc),
    ];
    for (nth, (counter, setup)) in cases.into_iter().enumerate() {
        let (outcome, keep) = setup.run();
        let hop = &outcome.counters.hop;
        assert_eq!(drops(&outcome), 0, "case {nth}");
        assert_eq!(outcome.ending, Ending::Drained, "case {nth}");
        assert!(
            keep.flows.iter().all(|f| f.received_ps.is_some()),
            "case {nth}"
        );
        assert!(
            hop[counter] > 0 && hop["cbfc_waits"] > 0,
            "case {nth}: {hop:?}"
        );
    }
}

/// CBFC-04, CBFC-05, CBFC-33: no switch ever buffers more bytes of an ingress than its credits.
#[test]
fn an_ingress_never_holds_more_than_its_credits() {
    let config = limited(20);
    let setup = with_credits(
        line_rate(star(9), (0..8).map(|i| flow(i, 0, i, 8, 300_000)).collect()),
        config,
    );
    let (_, keep) = Setup {
        probe_ps: US,
        ..setup
    }
    .run();
    let most = keep.buffers.iter().map(|b| b.max_port_bytes).max();
    assert!(most.unwrap() <= 8 * 20 * FRAME, "{most:?}");
    assert!(most.unwrap() >= 8 * 18 * FRAME, "{most:?}");
}

/// Returns the throughput of a sender with one long flow, as a fraction of line rate.
fn rate_of(config: CbfcConfig) -> f64 {
    let setup = with_credits(
        line_rate(star(2), vec![flow(0, 0, 0, 1, 1_000_000_000)]),
        config,
    );
    let sent = |until_ps| {
        let run = Setup {
            until_ps,
            ..setup.clone()
        };
        let (outcome, _) = run.run();
        let port = outcome
            .ports
            .iter()
            .find(|p| p.node == NodeId::new(0))
            .unwrap();
        port.tx_bytes as f64 * 80.0
    };
    (sent(MS) - sent(500 * US)) / (500 * US) as f64
}

/// CBFC-11, CBFC-22: the link is full with at least the credits of the formula, to within one
/// frame. With fewer credits the rate is proportional to them.
#[test]
fn a_link_is_full_from_the_formulas_credits_on() {
    // The reverse direction only carries ACKs of 60 bytes, so the link needs 31 frames and a
    // fraction of one.
    let enough = 32;
    assert!(rate_of(limited(enough)) > 0.999);
    assert!(rate_of(limited(enough - 2)) < 0.99);
    for frames in [10, 20, 28] {
        let rate = rate_of(limited(frames));
        let share = f64::from(frames) / 30.6;
        assert!((rate - share).abs() < 0.03, "{frames}: {rate}, not {share}");
    }
}

fn lossy(probability: f64) -> TopologySpec {
    TopologySpec::Star {
        hosts: 5,
        link: LinkSpec {
            loss: Loss::of(probability),
            ..LINK
        },
    }
}

/// CBFC-12, CBFC-13, CBFC-14, CBFC-31, CBFC-32: on links that lose data and credit updates, with
/// credits for few frames, all flows finish. Lost updates are repeated, and the next CC_Update
/// restores the credits of lost frames.
#[test]
fn lost_frames_and_lost_updates_only_delay() {
    for probability in [0.001, 0.02] {
        let flows = (0..4).map(|i| flow(i, 0, i, 4, 400_000)).collect();
        let setup = with_credits(line_rate(lossy(probability), flows), limited(8));
        let (outcome, keep) = setup.run();
        assert!(outcome.counters.drops[DropCause::Link as usize] > 0);
        assert_eq!(outcome.counters.drops[DropCause::Buffer as usize], 0);
        assert_eq!(keep.flows.len(), 4);
        assert!(keep.flows.iter().all(|f| f.received_ps.is_some()));
        assert_eq!(outcome.ending, Ending::Drained);
    }
}

/// CBFC-32: with credits for one frame, a lost frame blocks its link until the CC_Update after 256
/// µs.
#[test]
fn a_lost_frame_costs_a_cc_update() {
    let fct = |probability| {
        let mut setup = with_credits(
            line_rate(lossy(probability), vec![flow(0, 0, 0, 4, 100_000)]),
            limited(1),
        );
        setup.seed = 3;
        let (outcome, keep) = setup.run();
        (
            keep.fct(0),
            outcome.counters.drops[DropCause::Link as usize],
        )
    };
    let (clean_ps, none) = fct(0.0);
    let (delayed_ps, lost) = fct(0.02);
    assert!(none == 0 && lost > 0);
    assert!(delayed_ps > clean_ps + 256 * US, "{clean_ps} {delayed_ps}");
}

/// CBFC-01, CBFC-10, CBFC-15: credit updates cross partitions like all other frames.
#[test]
fn nothing_depends_on_the_number_of_threads() {
    for topology in [leaf_spine(2, 2, 8), leaf_spine(4, 2, 4)] {
        let digest = |threads| {
            let setup = Setup {
                threads,
                ..cbfc(dcqcn(topology.clone(), busy()))
            };
            setup.run().0.digest
        };
        assert_eq!(digest(Threads::ONE), digest(forced(2)));
    }
}
