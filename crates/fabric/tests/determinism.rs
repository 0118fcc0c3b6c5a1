//! A scenario has the same digest on any machine, with any calendar and with or without elided
//! events.

use std::collections::BTreeSet;
use std::iter;

use crate::common::*;
use dataplane::cc::CONTROLS;
use dataplane::cc::fixed_window::FixedWindowConfig;
use dataplane::cc::line_rate::LineRateConfig;
use dataplane::config::{
    Admission, Alpha, Beside, Classify, ControlConfig, Departures, FlowletConfig, IrnConfig,
    LeastLoaded, PathChoice, PfcThreshold, Recovery, Schedule, Sending, SprayConfig, VictimConfig,
};
use dataplane::hop::floodgate::FloodgateConfig;
use dataplane::hop::{HOPS, HopConfig};
use dataplane::link::LinkConfig;
use dataplane::link::llr::LlrConfig;
use dataplane::paths::{POLICIES, PermutationConfig};
use dataplane::transport::TRANSPORTS;
use dataplane::units::{MS, US};
use fabric::engine::Simulation;
use kernel::calendar::{Naive, Wheel};
use kernel::random::{Purpose, Stream};
use traffic::Flow;

/// A small Clos with high load: random flows, many of them with equal start times, and an incast.
fn flows(seed: u64) -> Vec<Flow> {
    let mut random = Stream::new(seed, 0, Purpose::Test);
    let mut flows: Vec<Flow> = (0..400u32)
        .map(|id| {
            let src = random.below(16) as u32;
            let dst = (src + 1 + random.below(15) as u32) % 16;
            // Flows start at multiples of 1 µs, where arrivals and port-free events of other flows
            // happen too.
            flow(
                id,
                random.below(60) * US,
                src,
                dst,
                1 + random.below(40_000),
            )
        })
        .collect();
    flows.extend((1..16).map(|src| Flow {
        incast: true,
        port: traffic::DEFAULT_PORT,
        ..flow(0, 20 * US, src, 0, 60_000)
    }));
    flows.sort_by_key(|f| f.start_ps);
    for (id, f) in flows.iter_mut().enumerate() {
        f.id = id as u32;
    }
    flows
}

/// A test case: a setup with a scheme, and the same setup without it.
struct Case {
    /// Name of the scheme in scenarios, if the scheme has one there.
    name: &'static str,
    setup: Setup,
    without: Setup,
}

impl Case {
    /// Creates a case on the network of this file: the setup of a preset after `adjust`, and a copy
    /// from which `remove` removes the scheme.
    fn of(
        name: &'static str,
        preset: Preset,
        flows: &[Flow],
        adjust: impl Fn(&mut Setup),
        remove: impl Fn(&mut Setup),
    ) -> Self {
        let mut setup = preset(leaf_spine(4, 2, 4), flows.to_vec());
        adjust(&mut setup);
        let mut without = setup.clone();
        remove(&mut without);
        Self {
            name,
            setup,
            without,
        }
    }
}

/// One case for each scheme. The digests of a case and of its `without` differ only if the scheme
/// has an effect.
fn cases() -> Vec<Case> {
    let short = flows(3);
    let long = long_flows(3);
    let unchanged = |_: &mut Setup| {};
    let no_control =
        |s: &mut Setup| s.nic.control = Sending::Control(ControlConfig::LineRate(LineRateConfig));
    let no_hop = |s: &mut Setup| s.switch.hop = HopConfig::None;
    let no_link = |s: &mut Setup| s.switch.link = LinkConfig::default();
    let no_transport = |s: &mut Setup| *s = line_rate(s.topology.clone(), s.flows.clone());
    let small_buffer = |bytes| {
        move |s: &mut Setup| {
            s.switch.mmu.buffer_bytes = bytes;
            s.switch.mmu.reserved_bytes = 0;
        }
    };
    // No PFC, and a buffer that is too small for the incast.
    let lossy = |recovery: Recovery| {
        move |s: &mut Setup| {
            small_buffer(200_000)(s);
            s.switch.mmu.admission = Admission::EgressDynamic {
                alpha: Alpha::new(1.0),
                per_queue: false,
            };
            s.nic.recovery = recovery;
        }
    };
    let go_back = |s: &mut Setup| s.nic.recovery = Recovery::go_back_n(4 * MS);
    let mut all = vec![
        Case::of("hpcc", hpcc, &short, unchanged, no_control),
        Case::of("dcqcn", dcqcn, &short, unchanged, no_control),
        Case::of("dctcp", dctcp, &short, unchanged, no_control),
        // TIMELY's RTT thresholds are 50 µs and more, so it needs long flows.
        Case::of("timely", timely, &long, unchanged, no_control),
        Case::of("bfc", bfc, &short, unchanged, no_hop),
        Case::of("ideal-fq", ideal_fq, &short, unchanged, |s| {
            s.switch.classify = Classify::Fifo;
            s.switch.schedule = Schedule::Fifo;
        }),
        Case::of("expresspass", expresspass, &short, unchanged, no_transport),
        Case::of("ndp", ndp, &short, unchanged, no_transport),
        Case::of("homa", homa, &short, unchanged, no_transport),
        Case::of("pfc", line_rate, &short, small_buffer(400_000), |s| {
            s.switch.mmu.admission = Admission::SharedPool;
        }),
        Case::of("bfc drops", bfc, &short, small_buffer(60_000), no_hop),
        Case::of(
            "irn",
            hpcc,
            &short,
            lossy(Recovery::Irn(IrnConfig::paper())),
            go_back,
        ),
        Case::of("ideal", hpcc, &short, lossy(Recovery::ideal(None)), go_back),
        Case::of("swift", swift, &long, unchanged, no_control),
        Case::of("powertcp", powertcp, &short, unchanged, no_control),
        Case::of(
            "theta-powertcp",
            theta_powertcp,
            &short,
            unchanged,
            no_control,
        ),
    ];
    let fixed = |s: &mut Setup| {
        s.nic.control = Sending::Control(ControlConfig::FixedWindow(FixedWindowConfig::default()));
    };
    let delay = |s: &mut Setup| {
        s.nic.control = Sending::Control(ControlConfig::DelayWindow(sets::DELAY_WINDOW));
    };
    let credits = |s: &mut Setup| *s = cbfc(s.clone());
    let replay = |s: &mut Setup| {
        s.switch.link.replay = Some(LlrConfig::STANDARD);
        s.topology = lossy_leaf_spine(4, 2, 4, 1e-3);
    };
    let floodgate = |config| move |s: &mut Setup| s.switch.hop = HopConfig::Floodgate(config);
    let victims = |victims: Option<VictimConfig>| {
        move |s: &mut Setup| {
            small_buffer(1_000_000)(s);
            let Admission::Pfc(pfc) = &mut s.switch.mmu.admission else {
                panic!("line-rate has PFC");
            };
            pfc.threshold = PfcThreshold::Dynamic(Alpha::new(0.25));
            pfc.headroom_beside = true;
            pfc.victims = victims;
        }
    };
    let spfc = victims(Some(VictimConfig {
        interval_ps: 20 * US,
        k: 3 << 16,
        rate: None,
        count: Departures::Packets,
        detects_at_once: false,
        unpaused_waits: false,
        resumes_at_once: false,
        beside: Beside::Bytes(0),
    }));
    let path = |path| move |s: &mut Setup| s.switch.path = path;
    let by_flow = path(PathChoice::Flow);
    let flowlet = PathChoice::Flowlet(FlowletConfig {
        gap_ps: 10 * US,
        entries: 64,
    });
    all.extend([
        Case::of("fixed-window", line_rate, &long, fixed, no_control),
        Case::of("delay-window", line_rate, &long, delay, no_control),
        Case::of("cbfc", line_rate, &short, credits, no_link),
        Case::of("llr", line_rate, &short, replay, no_link),
        Case::of(
            "floodgate",
            line_rate,
            &short,
            floodgate(FloodgateConfig::PRACTICAL),
            no_hop,
        ),
        Case::of(
            "pfc-tag",
            line_rate,
            &short,
            floodgate(FloodgateConfig::TAGS),
            no_hop,
        ),
        Case::of("spfc", line_rate, &long, spfc, victims(None)),
        Case::of("packet", hpcc, &short, path(PathChoice::Packet), by_flow),
        Case::of(
            "least-loaded",
            hpcc,
            &short,
            path(PathChoice::LeastLoaded(LeastLoaded)),
            by_flow,
        ),
        Case::of("flowlet", hpcc, &short, path(flowlet), by_flow),
        // Switches send notices in both runs. Only the senders differ.
        Case::of("bolt", bolt, &short, unchanged, no_control),
    ]);
    let sprayed = |spray: SprayConfig| {
        move |s: &mut Setup| {
            s.nic.recovery = Recovery::Irn(IrnConfig {
                lost_after: 128,
                ..IrnConfig::paper()
            });
            s.nic.spray = Some(spray);
            s.switch.path = match spray.has_labels() {
                true => PathChoice::Label,
                false => PathChoice::Entropy,
            };
        }
    };
    let policies = [
        ("permutation", SprayConfig::Permutation(PermutationConfig)),
        ("reps", REPS),
        ("bitmap", BITMAP),
        ("oblivious", OBLIVIOUS),
    ];
    all.extend(policies.map(|(name, spray)| {
        Case::of(name, dctcp, &long, sprayed(spray), |s: &mut Setup| {
            (s.switch.path, s.nic.spray) = (PathChoice::Flow, None);
        })
    }));
    all
}

/// Returns the network without a scheme, and the network with each scheme.
fn setups() -> Vec<(&'static str, Setup)> {
    let plain = line_rate(leaf_spine(4, 2, 4), flows(3));
    let cases = cases().into_iter().map(|case| (case.name, case.setup));
    iter::once(("line-rate", plain)).chain(cases).collect()
}

/// Like `flows`, but the five flows of the incast are so long that RTTs exceed 50 µs.
fn long_flows(seed: u64) -> Vec<Flow> {
    let mut flows = flows(seed);
    flows.retain(|flow| !flow.incast || flow.src <= 5);
    for flow in flows.iter_mut().filter(|flow| flow.incast) {
        flow.bytes = 1_500_000;
    }
    flows
}

// ENG-20
#[test]
fn the_same_run_gives_the_same_digest_and_another_seed_another() {
    for (name, setup) in setups() {
        let (a, x) = setup.clone().run();
        let (b, y) = setup.clone().run();
        assert_eq!(a.digest, b.digest, "{name}");
        assert_eq!(x.flows, y.flows, "{name}");
        let (c, _) = Setup {
            flows: flows(4),
            ..setup
        }
        .run();
        assert_ne!(a.digest, c.digest, "{name}");
    }
}

// ENG-05, ENG-06
#[test]
fn leaving_out_idle_port_free_events_changes_nothing_but_their_number() {
    for (name, setup) in setups() {
        let (elided, x) = setup.clone().run();
        let (full, y) = Setup {
            elide: false,
            ..setup
        }
        .run();
        assert_eq!(elided.digest, full.digest, "{name}");
        assert_eq!(x.flows, y.flows, "{name}");
        assert_eq!(x.buffers, y.buffers, "{name}");
        assert!(
            elided.counters.events < full.counters.events,
            "{name}: something was left out"
        );
    }
}

// KER-01, KER-04
#[test]
fn the_wheel_gives_what_a_sorted_queue_gives() {
    for (name, setup) in setups() {
        let (wheel, x) = setup.clone().run();
        let mut keep = Keep::default();
        let naive = Simulation::with_calendar(setup.clone().plan(), Naive::new())
            .run(&mut keep, &mut |_| true);
        assert_eq!(wheel.digest, naive.digest, "{name}");
        assert_eq!(x.flows, keep.flows, "{name}");
        for shift in [0, 7, 20] {
            let mut keep = Keep::default();
            let other = Simulation::with_calendar(setup.clone().plan(), Wheel::new(shift))
                .run(&mut keep, &mut |_| true);
            assert_eq!(
                wheel.digest, other.digest,
                "{name}, buckets of 2^{shift} ps"
            );
        }
    }
}

// ENG-20
/// Pins the digests, which are equal on all machines and in debug and release builds. If a change
/// alters the simulation on purpose, update the digests and describe the change in CHANGELOG.md.
#[test]
fn digests_are_the_same_on_every_machine_and_in_debug_and_release() {
    let digests: Vec<String> = setups()
        .into_iter()
        .map(|(name, s)| format!("{name} {:016x}", s.run().0.digest))
        .collect();
    let pinned = include_str!("digests.txt");
    assert_eq!(digests.join("\n"), pinned.trim_end());
}

// ENG-20
/// If a scheme has no effect in its scenario, the digest is that of a run without the scheme and
/// tests nothing.
#[test]
fn each_scheme_changes_the_digest_of_its_scenario() {
    let idle: Vec<_> = cases()
        .into_iter()
        .filter(|case| {
            let with = case.setup.clone().run().0.digest;
            with == case.without.clone().run_raw().0.digest
        })
        .map(|case| case.name)
        .collect();
    assert_eq!(idle, [""; 0], "these schemes never act");
}

// ENG-20
#[test]
fn every_scheme_of_the_lists_has_a_pinned_digest() {
    let pinned: BTreeSet<&str> = setups().into_iter().map(|(name, _)| name).collect();
    let missing: Vec<&str> = CONTROLS
        .iter()
        .map(|control| control.name)
        .chain(TRANSPORTS.iter().map(|transport| transport.name))
        .chain(POLICIES.iter().map(|policy| policy.name))
        .chain(HOPS.iter().map(|word| word.name))
        .chain(LinkConfig::NAMES.iter().copied())
        .chain(PathChoice::WORDS.iter().map(|word| word.name))
        .chain(["pfc", "spfc"]) // PFC is in no list of schemes.
        // Cases with other names cover these choices: ECMP, ExpressPass, and the replay of ns-3.
        .filter(|name| !["flow", "symmetric", "tuple"].contains(name))
        .filter(|name| !pinned.contains(name))
        .collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn schemes_pause_drop_and_retransmit_where_their_scenarios_require_it() {
    let all = setups();
    let of = |name: &str| {
        all.iter()
            .find(|(n, _)| *n == name)
            .unwrap()
            .1
            .clone()
            .run()
            .0
    };
    assert!(of("pfc").counters.hop["pfc_pauses"] > 0);
    let bfc = of("bfc drops");
    assert!(bfc.counters.drops.iter().sum::<u64>() > 0 && bfc.counters.retransmissions > 0);
    assert_eq!(
        bfc.finished, bfc.started,
        "go-back-N brings every flow home"
    );
    for name in ["irn", "ideal"] {
        let lossy = of(name);
        assert!(lossy.counters.retransmissions > 0, "{name}");
        assert_eq!(lossy.finished, lossy.started, "{name}");
    }
    assert!(of("bfc").counters.hop["bfc_pauses"] > 0);
    assert!(of("floodgate").counters.hop["floodgate_held"] > 0);
    assert!(of("pfc-tag").counters.hop["floodgate_dst_pauses"] > 0);
    assert!(of("spfc").counters.hop["spfc_spared"] > 0);
    assert!(of("dcqcn").counters.cnps > 0);
    assert!(of("hpcc").counters.int_hops > 0);
}
