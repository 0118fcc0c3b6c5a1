//! Properties that hold for any link failures.

use super::*;
use dataplane::config::{
    Admission, Alpha, Classify, IrnConfig, Recovery, Schedule, Sending, TransportConfig,
};
use dataplane::hop::HopConfig;
use dataplane::hop::bfc::{BitmapConfig, PauseBy};
use dataplane::hop::floodgate::{Amount, FloodgateConfig, HoldBy, Release};
use dataplane::units::{MS, US};
use fabric::LinkId;
use fabric::record::Ending;
use proptest::prelude::*;

fn topology() -> impl Strategy<Value = fabric::topology::TopologySpec> {
    prop_oneof![
        (2u32..4, 1u32..4, 1u32..4).prop_map(|(l, s, h)| leaf_spine(l, s, h)),
        Just(fabric::topology::TopologySpec::FatTree {
            k: 4,
            link: LINK,
            fabric_link: LINK,
        }),
        Just(fabric::topology::TopologySpec::DualHomed {
            pairs: 2,
            hosts: 6,
            aggs: 2,
            link: LINK,
            uplink: LINK,
        }),
    ]
}

/// A failure of any link at a time when flows are active.
fn link_failure() -> impl Strategy<Value = (u32, Time, Option<Time>)> {
    let from = prop_oneof![Just(0), 0..100 * US];
    let length = prop_oneof![
        Just(None),
        (1u64..80 * US).prop_map(Some),
        (1u64..2 * US).prop_map(Some)
    ];
    (any::<u32>(), from, length)
        .prop_map(|(link, from, length)| (link, from, length.map(|l| from + l)))
}

fn recovery() -> impl Strategy<Value = Recovery> {
    prop_oneof![
        Just(Recovery::go_back_n(200 * US)),
        Just(Recovery::Irn(IrnConfig {
            rto_low_ps: 60 * US,
            rto_high_ps: 200 * US,
            ..IrnConfig::paper()
        })),
        Just(Recovery::ideal(None)),
    ]
}

/// Selects different configurations, so that all state of a switch or NIC about its neighbours is
/// tested.
fn vary(s: &mut Setup, variant: u8) {
    if let Some(bfc) = s.switch.hop.bfc_mut() {
        match variant {
            0 => bfc.by = PauseBy::Flow,
            1 | 2 => {
                bfc.bitmap = Some(BitmapConfig {
                    period_ps: 5 * US,
                    frame_bytes: 64,
                    edges: variant == 1,
                });
            }
            _ => {}
        }
        s.switch.schedule = match variant {
            3 => Schedule::ShortestRemaining,
            4 => Schedule::Cyclic,
            5 => Schedule::RoundRobin,
            _ => s.switch.schedule,
        };
        return;
    }
    match variant {
        0 => {
            s.switch.classify = Classify::PerFlow;
            s.switch.schedule = Schedule::RoundRobin;
        }
        1 => {
            s.switch.classify = Classify::Hash { queues: 4 };
            s.switch.schedule = Schedule::ShortestRemaining;
        }
        2 if s.switch.mmu.admission != Admission::Unlimited => {
            s.switch.mmu.admission = Admission::EgressDynamic {
                alpha: Alpha::new(0.5),
                per_queue: false,
            };
        }
        3 => s.nic.ack_class = 2,
        4 => s.switch.hop = HopConfig::Floodgate(FloodgateConfig::PRACTICAL),
        5 => s.switch.hop = HopConfig::Floodgate(FloodgateConfig::IDEAL),
        6 => s.switch.hop = HopConfig::Floodgate(FloodgateConfig::TAGS),
        7 => {
            s.switch.hop = HopConfig::Floodgate(FloodgateConfig {
                release: Release::Behind,
                vup_ps: (s.seed.is_multiple_of(2)).then_some(2 * US),
                ..FloodgateConfig::PRACTICAL
            });
        }
        _ => {}
    }
    small_windows(s);
}

/// Small windows, so that many packets are parked, and short timeouts, so that lost credits are
/// requested early.
fn small_windows(s: &mut Setup) {
    let Some(floodgate) = s.switch.hop.floodgate_mut() else {
        return;
    };
    if let HoldBy::Windows(windows) = &mut floodgate.by {
        windows.initial = Amount::HopBdps(Alpha::new(0.3));
        windows.numbers_timeout_ps = Some(100 * US);
    }
}

/// Checks the properties of `n` flows for any failures, any reconvergence time, and packets that
/// wait or are dropped at failed ports. Also runs on several threads, and without elided events.
fn keeps_the_laws(
    name: &str,
    n: u32,
    s: Setup,
    link_failures: Vec<(u32, Time, Option<Time>)>,
    (delay_ps, wait): (Time, bool),
) -> Result<Outcome, TestCaseError> {
    let ports = s.graph().port_count();
    let link_failures: Vec<LinkFailure> = link_failures
        .into_iter()
        .map(|(link, from_ps, until_ps)| LinkFailure {
            link: LinkId::from_bits(link % ports),
            from_ps,
            until_ps,
        })
        .collect();
    let stranded = if wait { Stranded::Wait } else { Stranded::Drop };
    let s = s.with(&link_failures, delay_ps, stranded);
    let full = Setup {
        elide: false,
        ..s.clone()
    };
    let divided = s.divided();
    let (outcome, keep) = s.run_raw();
    prop_assert_eq!(&outcome.violations, &[], "{}", name);
    prop_assert_eq!(
        divided.run_raw().0.digest,
        outcome.digest,
        "{}, threads",
        name
    );
    prop_assert_eq!(full.run_raw().0.digest, outcome.digest, "{}", name);
    prop_assert_eq!(outcome.started, u64::from(n));
    prop_assert_eq!(keep.flows.len(), n as usize);
    let named = outcome
        .stall
        .iter()
        .filter(|said| said.contains("cannot be reached"))
        .count();
    let (ending, said) = (outcome.ending, &outcome.stall);
    prop_assert_eq!(
        outcome.finished + named as u64,
        outcome.started,
        "{} {:?} {:?}",
        name,
        ending,
        said
    );
    prop_assert_eq!(
        named == 0,
        ending == Ending::Drained,
        "{} {:?} {:?}",
        name,
        ending,
        outcome.counters
    );
    let lost: u64 = outcome.ports.iter().map(|p| p.dropped[LOST]).sum();
    prop_assert_eq!(
        lost,
        outcome.counters.drops[LOST],
        "{}: each loss is counted at a port",
        name
    );
    Ok(outcome)
}

/// `n` random flows over a network whose switches have small buffers.
fn random(preset: Preset, topology: fabric::topology::TopologySpec, n: u32, seed: u64) -> Setup {
    let hosts = topology.build().unwrap().hosts();
    let mut s = preset(topology, busy(hosts, n, 100 * US, 100_000, seed));
    s.seed = seed;
    s.switch.mmu.reserved_bytes = 0;
    s.switch.mmu.buffer_bytes = 300_000;
    s.until_ps = 40 * MS;
    s
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    // LNK-01, LNK-02, LNK-12, LNK-13, LNK-20, LNK-21, LNK-22, LNK-23, LNK-24, LNK-27, LNK-30, AUD-01, AUD-02, AUD-05, AUD-06
    #[test]
    fn books_are_kept_and_every_flow_ends_or_is_named(
        topology in topology(),
        preset in 0..PRESETS.len(),
        link_failures in prop::collection::vec(link_failure(), 1..6),
        recovery in recovery(),
        delay_ps in prop_oneof![Just(0), 0..30 * US],
        wait in any::<bool>(),
        variant in 0u8..10,
        n in 1u32..50,
        more in 0u64..300_000,
        seed in any::<u64>(),
    ) {
        let (name, preset) = PRESETS[preset];
        let mut s = random(preset, topology, n, seed);
        s.nic.recovery = recovery;
        vary(&mut s, variant);
        s.switch.mmu.buffer_bytes += more;
        keeps_the_laws(name, n, s, link_failures, (delay_ps, wait))?;
    }
}

/// A failing case that the property test found. A link above a spine has failed, so packets return
/// by the port by which they came. The next switch pauses their flow at a port that has the flow in
/// its queue.
// BFC-14, BFC-37, LNK-24
#[test]
fn pauses_and_resumes_leave_by_a_port_that_holds_the_flow_they_name() {
    let seed = 51_020_324_062_777_006;
    let mut s = random(bfc, leaf_spine(2, 3, 1), 45, seed);
    s.nic.recovery = Recovery::go_back_n(200 * US);
    vary(&mut s, 0); // pauses of single flows
    let failed = (
        link_of(&s.graph(), "leaf1", "spine0").bits(),
        2_923_914,
        None,
    );
    let outcome = keeps_the_laws("bfc", 45, s, vec![failed], (29_982_692, true)).unwrap();
    assert_eq!(outcome.ending, Ending::Drained);
    assert!(outcome.counters.rerouted_packets > 0 && outcome.counters.hop["bfc_pauses"] > 0);
}

/// A failing case that the property test found. A switch stores packets for a port that new routes
/// no longer use. A packet that leaves by this port gets no credit, so it counts as credited
/// immediately and must release the next packet itself.
// FG-13, LNK-27
#[test]
fn what_leaves_by_a_port_that_routes_do_not_name_releases_the_next() {
    let mut s = random(
        line_rate,
        leaf_spine(2, 3, 1),
        19,
        9_253_317_397_611_733_175,
    );
    s.nic.recovery = Recovery::go_back_n(200 * US);
    vary(&mut s, 5); // Floodgate's ideal design
    s.switch.mmu.buffer_bytes += 79_147;
    let failed = vec![
        (
            link_of(&s.graph(), "spine1", "leaf0").bits(),
            53_998_050,
            None,
        ),
        (link_of(&s.graph(), "spine0", "leaf0").bits(), 0, None),
    ];
    let outcome = keeps_the_laws("line-rate", 19, s, failed, (0, false)).unwrap();
    assert_eq!(outcome.ending, Ending::Drained);
    assert!(outcome.counters.hop["floodgate_held"] > 0);
}

/// A failing case that the property test found. While a link is down for a microsecond, the path to
/// a destination leads back to switches that pause this destination. After the recovery these
/// switches are not next hops any more, but wait for the switch that they have paused.
// FG-45, LNK-27
#[test]
fn a_next_hop_of_old_routes_holds_no_destination() {
    let topology = fabric::topology::TopologySpec::DualHomed {
        pairs: 2,
        hosts: 6,
        aggs: 2,
        link: LINK,
        uplink: LINK,
    };
    let mut s = random(line_rate, topology, 46, 11_000_881_182_543_755_295);
    s.nic.recovery = Recovery::go_back_n(200 * US);
    vary(&mut s, 6); // PFC with tag
    s.switch.mmu.buffer_bytes += 77_027;
    let graph = s.graph();
    let link = |a, b| link_of(&graph, a, b).bits();
    let failed = vec![
        (link("tor3", "host3"), 0, Some(13_348_781)),
        (link("host2", "tor0"), 0, None),
        (link("tor3", "agg0"), 0, None),
        (link("tor2", "agg1"), 23_411_182, Some(24_495_022)),
    ];
    let outcome = keeps_the_laws("line-rate", 46, s, failed, (29_125_628, false)).unwrap();
    assert_eq!(outcome.ending, Ending::Drained);
    assert!(
        outcome.counters.hop["floodgate_held"] > 0
            && outcome.counters.hop["floodgate_dst_pauses"] > 0
    );
}

/// Shortens the timeouts of receiver-driven transports for a short run, and their queues.
fn hurry(s: &mut Setup, variant: u8) {
    match &mut s.nic.control {
        Sending::Transport(TransportConfig::ExpressPass(c)) => {
            c.timeout_ps = 150 * US;
            c.queue.limit = [16, 4, 1][usize::from(variant)];
            s.switch.shaped = Some(c.queue);
        }
        Sending::Transport(TransportConfig::Ndp(c)) => {
            c.timeout_ps = 100 * US;
            c.trim.returns = variant > 0;
            c.trim.control_bytes = [12_000, 12_000, 300][usize::from(variant)];
            s.switch.trim = Some(c.trim);
        }
        Sending::Transport(TransportConfig::Homa(c)) => c.timeout_ps = 100 * US,
        _ => unreachable!("a receiver-driven transport"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    // LNK-02, LNK-13, LNK-20, LNK-21, LNK-23, LNK-24, LNK-28, XP-22, AUD-01, AUD-02, AUD-10
    #[test]
    fn receiver_driven_transports_keep_their_books_too(
        topology in topology(),
        preset in 0..DRIVEN.len(),
        link_failures in prop::collection::vec(link_failure(), 1..12),
        delay_ps in prop_oneof![Just(0), 0..30 * US],
        wait in any::<bool>(),
        variant in 0u8..3,
        n in 1u32..60,
        largest in prop_oneof![Just(1_000u64), Just(200_000)],
        seed in any::<u64>(),
    ) {
        let (name, preset) = DRIVEN[preset];
        let hosts = topology.build().unwrap().hosts();
        let mut s = preset(topology, busy(hosts, n, 100 * US, largest, seed));
        s.seed = seed;
        hurry(&mut s, variant);
        s.until_ps = 40 * MS;
        let outcome = keeps_the_laws(name, n, s, link_failures, (delay_ps, wait))?;
        prop_assert!(outcome.checks.contains(&"receivers"));
    }
}
