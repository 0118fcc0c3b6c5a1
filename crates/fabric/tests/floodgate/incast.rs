//! Floodgate in an incast: where packets are buffered, and how many bytes.

use super::*;
use dataplane::hop::floodgate::{Amount, Release, Voqs, WindowUnit};
use fabric::NodeId;

/// Number of leaves. The node IDs of leaves follow those of hosts; the node IDs of spines follow
/// those of leaves.
const LEAVES: u32 = 4;
const SPINES: u32 = 2;
const PER_LEAF: u32 = 8;
const HOSTS: u32 = LEAVES * PER_LEAF;

fn heavy(config: FloodgateConfig) -> Setup {
    with(
        line_rate(
            fabric(LEAVES, SPINES, PER_LEAF),
            incast(0, HOSTS - PER_LEAF, PER_LEAF, US, 400_000),
        ),
        config,
    )
}

/// Initial window in bytes of full frames, for a next switch over a fast link.
fn window_bytes(bytes: u64) -> u64 {
    bytes.div_ceil(FRAME) * FRAME
}

// FG-02, FG-03, FG-04
#[test]
fn the_last_hop_gets_no_more_than_the_windows_of_those_above_it() {
    // Hop BDP of 60 000 B, plus 400 Gbit/s for 10 µs.
    let practical = window_bytes(60_000 + 500_000);
    // The links from the spine to its next hop and from each source leaf to the spine have 400
    // Gbit/s.
    let ideal = window_bytes(90_000);
    for (config, window) in [
        (FloodgateConfig::PRACTICAL, practical),
        (FloodgateConfig::IDEAL, ideal),
    ] {
        let (outcome, _) = heavy(config).run();
        let last_hop = fullest(&outcome, HOSTS..HOSTS + 1);
        let spines = u64::from(SPINES);
        assert!(
            last_hop <= spines * window,
            "{last_hop} > {spines} x {window}"
        );
        assert!(last_hop > FRAME);
        // Bytes that a spine stores for the last hop are limited by the windows of the source
        // leaves.
        let sources = u64::from(LEAVES - 1);
        let spine = fullest(&outcome, HOSTS + LEAVES..HOSTS + LEAVES + SPINES);
        assert!(spine <= sources * window, "{spine} > {sources} x {window}");
        assert_eq!(
            outcome.counters.hop["floodgate_max_voqs"], 1,
            "one destination, one VOQ"
        );
        assert_eq!(outcome.counters.hop["floodgate_held_not_incast"], 0);
        assert!(outcome.counters.hop["floodgate_held"] > 1000);
    }
}

// FG-02
#[test]
fn without_floodgate_the_last_hop_holds_far_more() {
    let mut plain = heavy(FloodgateConfig::IDEAL);
    plain.switch.hop = HopConfig::None;
    let (plain, _) = plain.run();
    let (ideal, _) = heavy(FloodgateConfig::IDEAL).run();
    let of = |outcome: &Outcome| fullest(outcome, HOSTS..HOSTS + 1);
    assert!(of(&plain) > 5 * of(&ideal), "{} {}", of(&plain), of(&ideal));
}

// FG-02, FG-23: a window of C·T and a hop BDP never runs dry.
#[test]
fn a_flow_alone_is_not_slowed() {
    let lone = |config: Option<FloodgateConfig>| {
        let mut setup = line_rate(fabric(2, 1, 1), vec![flow(0, 0, 0, 1, 3_000_000)]);
        setup.switch.hop = config.map_or(HopConfig::None, HopConfig::Floodgate);
        let (outcome, keep) = setup.run();
        assert_eq!(outcome.counters.hop["floodgate_held"], 0);
        keep.fct(0)
    };
    let plain = lone(None);
    assert_eq!(lone(Some(FloodgateConfig::PRACTICAL)), plain);
    assert_eq!(lone(Some(FloodgateConfig::IDEAL)), plain);
}

// FG-03, FG-13
#[test]
fn the_bottleneck_is_never_idle() {
    // 24 flows of 400 kB over 100 Gbit/s: the last byte arrives after the transmission of all
    // frames at the earliest.
    let frames = 24 * 400;
    let wire_ps = frames * FRAME * 80;
    for config in [
        FloodgateConfig::PRACTICAL,
        FloodgateConfig::IDEAL,
        windows(FloodgateConfig::PRACTICAL, |w| w.unit = WindowUnit::Bytes),
        FloodgateConfig {
            release: Release::Behind,
            ..FloodgateConfig::PRACTICAL
        },
    ] {
        let (outcome, keep) = heavy(config).run();
        let last = keep.flows.iter().filter_map(|f| f.received_ps).max();
        let took = last.expect("all finished") - US;
        assert!(
            took < wire_ps + 5 * US,
            "{took} against {wire_ps}: {config:?} {:?}",
            outcome.counters
        );
        assert!(outcome.counters.hop["floodgate_held"] > 0);
    }
}

// FG-04, FG-10
#[test]
fn others_pass_by_what_is_held() {
    // One short flow from a sender in a rack of the incast to a neighbour of the receiver.
    let mut flows = incast(0, HOSTS - PER_LEAF, PER_LEAF, US, 400_000);
    let id = flows.len() as u32;
    flows.push(flow(id, 60 * US, PER_LEAF, 1, 1_000));
    let fct = |config: Option<FloodgateConfig>| {
        let mut s = line_rate(fabric(LEAVES, SPINES, PER_LEAF), flows.clone());
        s.switch.mmu.buffer_bytes = 100_000_000; // no PFC
        s.switch.hop = config.map_or(HopConfig::None, HopConfig::Floodgate);
        s.run().1.fct(id)
    };
    let (plain, ideal) = (fct(None), fct(Some(FloodgateConfig::IDEAL)));
    // The flow waits at most for the windows of all switches: 2 x 90 kB at 100 Gbit/s, and less on
    // the way.
    assert!(ideal < 15 * US, "{ideal}");
    assert!(plain > 2 * ideal, "{plain} {ideal}");
}

// FG-26, FG-27
#[test]
fn withheld_credits_keep_the_spines_empty() {
    let leaves = 12;
    let hosts = leaves * PER_LEAF;
    let run = |delay: Option<Amount>| {
        let config = windows(FloodgateConfig::PRACTICAL, |w| w.credit.delay = delay);
        let flows = incast(0, hosts - PER_LEAF, PER_LEAF, US, 200_000);
        let (outcome, _) = with(line_rate(fabric(leaves, 1, PER_LEAF), flows), config).run();
        let spine = fullest(&outcome, hosts + leaves..hosts + leaves + 1);
        (spine, outcome.counters.hop["floodgate_withheld"])
    };
    let (free, none) = run(None);
    let (bound, withheld) = run(Some(Amount::Bytes(100_000)));
    assert_eq!(none, 0);
    assert!(withheld > 0);
    assert!(bound < free, "{bound} {free}");
}

// FG-10, FG-11
#[test]
fn destinations_share_a_pool_that_is_too_small() {
    // Four receivers at the same time, each with senders in all other racks.
    let mut flows = Vec::new();
    for receiver in 0..4 {
        flows.extend((PER_LEAF..HOSTS).map(|src| flow(0, US, src, receiver, 100_000)));
    }
    let flows = renumbered(flows);
    for (count, shared) in [(1, true), (100, false)] {
        let config = FloodgateConfig {
            voqs: Voqs::Pool {
                count,
                groups: false,
            },
            ..windows(FloodgateConfig::PRACTICAL, |w| {
                w.initial = Amount::Bytes(30_000)
            })
        };
        let (outcome, _) = with(
            line_rate(fabric(LEAVES, SPINES, PER_LEAF), flows.clone()),
            config,
        )
        .run();
        let f = outcome.counters.hop;
        assert_eq!(f["floodgate_hashed_voqs"] > 0, shared);
        assert!(f["floodgate_max_voqs"] <= u64::from(count));
    }
}

// FG-12: parked packets occupy the ingress buffer, so PFC pauses the hosts and nothing is lost.
#[test]
fn pfc_sees_what_is_held() {
    let mut setup = heavy(FloodgateConfig::PRACTICAL);
    setup.switch.mmu.buffer_bytes = 1_500_000;
    let (outcome, _) = setup.run();
    assert!(outcome.counters.hop["pfc_pauses"] > 0);
    assert_eq!(outcome.counters.drops.iter().sum::<u64>(), 0);
    let hosts = outcome
        .ports
        .iter()
        .filter(|p| p.node < NodeId::from_bits(HOSTS));
    assert!(hosts.map(|p| p.pauses).sum::<u64>() > 0);
}

// FG-40, FG-41, FG-42
#[test]
fn a_paused_destination_stops_at_the_hosts_and_others_go_on() {
    let mut flows = incast(0, HOSTS - PER_LEAF, PER_LEAF, US, 400_000);
    let id = flows.len() as u32;
    // A flow from a sender of the incast to another rack, while the incast is active.
    flows.push(flow(id, 100 * US, PER_LEAF, HOSTS - 1, 10_000));
    let run = |config| {
        with(
            line_rate(fabric(LEAVES, SPINES, PER_LEAF), flows.clone()),
            config,
        )
        .run()
    };
    let (ideal, keep) = run(FloodgateConfig::IDEAL);
    let (without, _) = run(FloodgateConfig {
        host_pause: None,
        ..FloodgateConfig::IDEAL
    });
    let f = &ideal.counters.hop;
    assert!(f["floodgate_dst_pauses"] > 0);
    assert_eq!(f["floodgate_dst_pauses"], f["floodgate_dst_resumes"]);
    // Limit at a source leaf: one hop BDP of a host, plus the bytes that each host sends before the
    // pause reaches it.
    let most = 15_000 + u64::from(PER_LEAF) * (15_000 + 4 * FRAME);
    let sources = |outcome: &Outcome| fullest(outcome, HOSTS + 1..HOSTS + LEAVES);
    assert!(
        sources(&ideal) <= most + 90_000,
        "{} > {most}",
        sources(&ideal)
    );
    assert!(sources(&without) > 5 * most);
    assert!(keep.fct(id) < 10 * US, "{}", keep.fct(id));
}
