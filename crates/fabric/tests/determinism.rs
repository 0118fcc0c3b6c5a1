//! The same scenario gives the same trajectory, however it is computed.

mod common;

use common::*;
use dataplane::config::{Admission, Alpha, IrnConfig, Recovery};
use dataplane::units::US;
use fabric::engine::Simulation;
use kernel::calendar::{Naive, Wheel};
use kernel::random::{Purpose, Stream};
use traffic::Flow;

/// A busy little Clos: random flows, many of which start at the very same instants, and an incast.
fn flows(seed: u64) -> Vec<Flow> {
    let mut random = Stream::new(seed, 0, Purpose::Test);
    let mut flows: Vec<Flow> = (0..400u32)
        .map(|id| {
            let src = random.below(16) as u32;
            let dst = (src + 1 + random.below(15) as u32) % 16;
            // Starts on a grid of 1 us, where arrivals and port-frees of others fall too.
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

fn setups() -> Vec<(&'static str, Setup)> {
    let of = |preset: fn(_, _) -> Setup| preset(leaf_spine(4, 2, 4), flows(3));
    let mut all: Vec<_> = PRESETS
        .into_iter()
        .chain(DRIVEN)
        .map(|(name, preset)| (name, of(preset)))
        .collect();
    // A small buffer, so that PFC acts and BFC drops and goes back.
    for (name, preset, buffer) in [
        ("pfc", line_rate as fn(_, _) -> Setup, 400_000),
        ("bfc drops", bfc, 60_000),
    ] {
        let mut s = of(preset);
        s.switch.mmu.buffer_bytes = buffer;
        s.switch.mmu.reserved_bytes = 0;
        all.push((name, s));
    }
    // No PFC, and too little room for the incast.
    for (name, recovery) in [
        ("irn", Recovery::Irn(IrnConfig::paper())),
        ("ideal", Recovery::Ideal { delay_ps: None }),
    ] {
        let mut s = of(hpcc);
        s.switch.mmu.buffer_bytes = 200_000;
        s.switch.mmu.reserved_bytes = 0;
        s.switch.mmu.admission = Admission::EgressDynamic {
            alpha: Alpha::new(1.0),
            per_queue: false,
        };
        s.nic.recovery = recovery;
        all.push((name, s));
    }
    all
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
/// Pins trajectories across versions, machines, and debug and release. A change of the physics
/// changes them: then say so in the CHANGELOG and pin the new ones.
#[test]
fn digests_are_the_same_on_every_machine_and_in_debug_and_release() {
    let digests: Vec<String> = setups()
        .into_iter()
        .map(|(name, s)| format!("{name} {:016x}", s.run().0.digest))
        .collect();
    let pinned = include_str!("digests.txt");
    assert_eq!(digests.join("\n"), pinned.trim_end());
}

#[test]
fn what_the_small_buffers_are_for_does_happen() {
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
    assert!(of("dcqcn").counters.cnps > 0);
    assert!(of("hpcc").counters.int_hops > 0);
}
