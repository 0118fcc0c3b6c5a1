//! Link-level retry (`specs/llr.md`): links that damage frames lose no frame, keep the order of
//! frames, and have the utilisation of the closed form.

use crate::common::*;
use dataplane::config::{Admission, Recovery};
use dataplane::hop::HopConfig;
use dataplane::hop::floodgate::FloodgateConfig;
use dataplane::link::cbfc::CbfcConfig;
use dataplane::link::llr::{Flush, LlrConfig};
use dataplane::units::{MS, Rate, US};
use fabric::engine::Threads;
use fabric::record::{Ending, Outcome};
use fabric::topology::{LinkSpec, Loss, TopologySpec};
use traffic::Flow;

const FRAME: u64 = 1048;

/// Eight senders to one receiver on another leaf, and some flows in the opposite direction.
fn busy() -> Vec<Flow> {
    let incast = (0..8).map(|i| flow(i, 0, i, 8, 200_000));
    let back = (0..4).map(|i| flow(8 + i, 20 * US, 8 + i, i, 100_000));
    incast.chain(back).collect()
}

/// A network in which every link damages frames with this probability.
fn damaged(chance: f64) -> TopologySpec {
    lossy_leaf_spine(2, 2, 8, chance)
}

/// Links with LLR, and hosts without retransmission.
fn with_llr(mut setup: Setup, config: LlrConfig) -> Setup {
    setup.switch.link.replay = Some(config);
    setup.nic.recovery = Recovery::NONE;
    setup
}

fn llr(setup: Setup) -> Setup {
    with_llr(setup, LlrConfig::STANDARD)
}

/// Checks that all flows finish although only links retransmit frames, and that no receiver got a
/// packet twice or out of order.
fn assert_whole(name: &str, outcome: &Outcome, keep: &Keep) {
    let c = &outcome.counters;
    assert_eq!(
        outcome.ending,
        Ending::Drained,
        "{name}: {:?}",
        outcome.stall
    );
    assert_eq!(c.drops.iter().sum::<u64>(), 0, "{name}");
    assert!(keep.flows.iter().all(|f| f.received_ps.is_some()), "{name}");
    assert_eq!(
        (c.retransmissions, c.discarded, c.overtaken),
        (0, 0, 0),
        "{name}"
    );
    assert_eq!(c.hop["llr_flushes"], 0, "{name}");
}

/// LLR-03, LLR-05, LLR-06, LLR-20, LLR-22: nothing is lost, for any error probability and any other
/// scheme between neighbours. The audit of each run checks the frames that each link carried, lost
/// and retransmitted.
#[test]
fn damaged_frames_are_replayed_below_all_schemes() {
    let pool = |mut setup: Setup| {
        setup.switch.mmu.admission = Admission::SharedPool;
        setup.switch.mmu.reserved_bytes = 0;
        setup
    };
    for chance in [1e-4, 1e-3, 1e-2] {
        let plain = line_rate(damaged(chance), busy());
        let mut credits = cbfc(plain.clone());
        credits.switch.link.credit = Some(CbfcConfig::STANDARD);
        let mut floodgate = pool(plain.clone());
        floodgate.switch.hop = HopConfig::Floodgate(FloodgateConfig::PRACTICAL);
        let cases = [
            ("alone", "llr_replays", pool(plain.clone())),
            ("credits", "cbfc_waits", credits),
            ("bfc", "bfc_pauses", bfc(damaged(chance), busy())),
            ("floodgate", "floodgate_held", floodgate),
        ];
        for (name, counter, setup) in cases {
            let (outcome, keep) = llr(setup).run();
            assert_whole(name, &outcome, &keep);
            let hop = &outcome.counters.hop;
            assert!(
                hop[counter] > 0 && hop["llr_bad_frames"] > 0,
                "{name}: {hop:?}"
            );
        }
    }
}

/// LLR-02, LLR-23: pause frames are retransmitted too. With headroom for the retransmission time
/// nothing is dropped, and no port stays paused.
#[test]
fn lost_pauses_are_replayed() {
    let mut setup = line_rate(damaged(1e-2), busy());
    setup.switch.mmu.buffer_bytes = 4_000_000;
    let Admission::Pfc(pfc) = &mut setup.switch.mmu.admission else {
        panic!("line-rate has PFC");
    };
    pfc.headroom = Some(200_000);
    let (outcome, keep) = llr(setup).run();
    assert_whole("pfc", &outcome, &keep);
    let hop = &outcome.counters.hop;
    assert!(hop["pfc_pauses"] > 0 && hop["pfc_pauses"] == hop["pfc_resumes"]);
}

/// LLR-21: a long flow over a link that damages frames, with five seeds. Its goodput agrees with
/// the closed form within 2 %.
#[test]
fn goodput_is_that_of_the_closed_form() {
    // Two hosts and a switch. Only the link that carries data damages frames.
    let (rate, delay_ps) = (Rate::from_gbps(100), US);
    let link = |chance| LinkSpec {
        rate,
        delay_ps,
        loss: Loss::of(chance),
    };
    let frame_ps = rate.serialisation_ps(FRAME);
    let set_ps = rate.serialisation_ps(8);
    let window = (2 * delay_ps + frame_ps + set_ps).div_ceil(frame_ps);
    assert_eq!(window, 25);
    let bytes = 20_000_000;
    for chance in [1e-3, 5e-3] {
        let mut sum = 0.0;
        for seed in 0..5 {
            let topology = TopologySpec::Links {
                hosts: vec!["a".into(), "b".into()],
                switches: vec!["s".into()],
                links: vec![(0, 2, link(chance)), (1, 2, link(0.0))],
            };
            let mut setup = line_rate(topology, vec![flow(0, 0, 0, 1, bytes)]);
            (setup.seed, setup.until_ps) = (seed, 100 * MS);
            setup.switch.mmu.admission = Admission::Unlimited;
            let (outcome, keep) = llr(setup).run();
            assert_whole("long", &outcome, &keep);
            let packets = bytes / 1000;
            let ideal_ps = packets * frame_ps + 2 * delay_ps + frame_ps;
            sum += ideal_ps as f64 / keep.fct(0) as f64;
        }
        let (goodput, expected) = (sum / 5.0, 1.0 / (1.0 + chance * window as f64));
        assert!(
            (goodput / expected - 1.0).abs() < 0.02,
            "{chance}: {goodput} instead of {expected}"
        );
    }
}

/// LLR-11, LLR-12: a link of 100 Gbit/s and 1 µs needs 25,000 B for the RTT, plus three frames,
/// 2048 B and an ACK.
#[test]
fn buffer_and_timer_follow_from_the_link() {
    let (config, rate) = (LlrConfig::STANDARD, Rate::from_gbps(100));
    let frame = FRAME as u16;
    assert_eq!(
        config.bytes_of(rate, US, frame),
        25_000 + 3 * FRAME + 2048 + 8
    );
    // 3144 + 2048 + 8 bytes take 416 ns.
    assert_eq!(config.timer_of(rate, US, frame), 2 * (2 * US + 416_000));
}

/// LLR-04, LLR-10: with a small replay buffer a link sends one buffer per RTT and loses no frame.
#[test]
fn a_full_replay_buffer_stops_its_port() {
    let slow = LlrConfig {
        bytes: Some(10 * FRAME as u32),
        ..LlrConfig::STANDARD
    };
    let run = |config| {
        let mut setup = line_rate(star(2), vec![flow(0, 0, 0, 1, 2_000_000)]);
        setup.switch.mmu.admission = Admission::Unlimited;
        let (outcome, keep) = with_llr(setup, config).run();
        assert_whole("full", &outcome, &keep);
        // The flow uses two links in two directions. Each direction carries at most one link ACK in
        // the time of 2048 B.
        let spacing_ps = Rate::from_gbps(100).serialisation_ps(2048);
        let most = 4 * (keep.fct(0) / spacing_ps + 100);
        let acks = outcome.counters.hop["llr_acks"];
        assert!((most / 8..=most).contains(&acks), "{acks} {most}");
        (keep.fct(0), outcome.counters.hop["llr_waits"])
    };
    let (full_ps, waits) = run(LlrConfig::STANDARD);
    let frame_ps = Rate::from_gbps(100).serialisation_ps(FRAME);
    let ideal_ps = 2000 * frame_ps + 2 * US + frame_ps;
    assert!(
        full_ps * 100 < ideal_ps * 101,
        "{full_ps} {ideal_ps} {waits}"
    );
    let (slow_ps, waits) = run(slow);
    // Ten frames per RTT: 2 µs of propagation, a frame, and the spacing of acknowledgements.
    assert!(waits > 100 && slow_ps > 2 * full_ps, "{slow_ps} {waits}");
}

/// LLR-07, LLR-08: if a link loses all frames, its port gives up after `replays` replays.
#[test]
fn a_port_without_progress_gives_up() {
    for (flush, ending) in [
        (Flush::BestEffort, Ending::Stalled),
        (Flush::Block, Ending::Stalled),
    ] {
        let dead = LinkSpec {
            rate: Rate::from_gbps(100),
            delay_ps: US,
            loss: Loss::of(1.0),
        };
        let topology = TopologySpec::Links {
            hosts: vec!["a".into(), "b".into()],
            switches: vec!["s".into()],
            links: vec![
                (0, 2, dead),
                (
                    1,
                    2,
                    LinkSpec {
                        loss: Loss::NONE,
                        ..dead
                    },
                ),
            ],
        };
        let mut setup = line_rate(topology, vec![flow(0, 0, 0, 1, 5_000)]);
        setup.until_ps = 20 * MS;
        let config = LlrConfig {
            flush,
            ..LlrConfig::STANDARD
        };
        let (outcome, _) = with_llr(setup, config).run_raw();
        let hop = &outcome.counters.hop;
        assert_eq!(
            (hop["llr_replays"], hop["llr_flushes"]),
            (3, 1),
            "{flush:?}"
        );
        assert_eq!(
            (hop["llr_replayed_frames"], hop["llr_flushed_frames"]),
            (15, 5),
            "{flush:?}"
        );
        assert_eq!(outcome.violations, []);
        assert_eq!(outcome.ending, ending, "{flush:?}");
    }
}

/// LLR-01, ENG-20: sequence numbers of links cross threads, so the digest is the same with two
/// threads.
#[test]
fn threads_change_nothing() {
    let setup = llr(line_rate(damaged(1e-2), busy()));
    let one = setup.clone().run().0;
    let two = Setup {
        threads: Threads {
            asked: 2,
            forced: true,
        },
        ..setup
    };
    let two = two.run().0;
    assert_eq!(two.threads.used, 2);
    assert_eq!(
        (one.digest, one.counters.hop),
        (two.digest, two.counters.hop)
    );
}
