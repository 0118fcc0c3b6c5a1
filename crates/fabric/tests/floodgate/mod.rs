//! Floodgate in networks whose behaviour can be computed by hand (`specs/floodgate.md`).

mod design;
mod incast;
mod loss;
mod tags;

use crate::common::*;
use dataplane::hop::HopConfig;
use dataplane::hop::floodgate::{FloodgateConfig, WindowConfig};
use dataplane::units::{Rate, Time, US};
use fabric::record::Outcome;
use fabric::topology::{LinkSpec, Loss, TopologySpec};
use traffic::Flow;

/// Link of a host. Links between leaves and spines are faster. Each has a delay of 600 ns.
const HOST: LinkSpec = LinkSpec {
    rate: GBPS_100,
    delay_ps: 600_000,
    loss: Loss::NONE,
};
const UP: LinkSpec = LinkSpec {
    rate: Rate::from_gbps(400),
    ..HOST
};

/// Bytes of a full frame of the plain presets.
const FRAME: u64 = 1048;

fn fabric(leaves: u32, spines: u32, hosts_per_leaf: u32) -> TopologySpec {
    TopologySpec::LeafSpine {
        leaves,
        spines,
        hosts_per_leaf,
        link: HOST,
        uplink: UP,
    }
}

/// Returns a leaf-spine network whose links between switches lose data and credit frames.
fn lossy(leaves: u32, spines: u32, hosts_per_leaf: u32, loss: Loss) -> TopologySpec {
    TopologySpec::LeafSpine {
        leaves,
        spines,
        hosts_per_leaf,
        link: HOST,
        uplink: LinkSpec { loss, ..UP },
    }
}

/// Changes the windows of a configuration.
fn windows(config: FloodgateConfig, change: impl FnOnce(&mut WindowConfig)) -> FloodgateConfig {
    let mut windows = *config.windows().expect("it has windows");
    change(&mut windows);
    FloodgateConfig {
        by: dataplane::hop::floodgate::HoldBy::Windows(windows),
        ..config
    }
}

/// Adds Floodgate to a setup of the engine's tests.
fn with(mut setup: Setup, config: FloodgateConfig) -> Setup {
    setup.switch.hop = HopConfig::Floodgate(config);
    setup
}

/// Each of `senders` hosts on other leaves sends `bytes` to host 0 at time `at`. `first` is the ID
/// of the first flow.
fn incast(first: u32, senders: u32, per_leaf: u32, at: Time, bytes: u64) -> Vec<Flow> {
    (0..senders)
        .map(|nth| Flow {
            incast: true,
            ..flow(first + nth, at, per_leaf + nth, 0, bytes)
        })
        .collect()
}

/// Returns the maximum over the ports of `nodes` of the bytes in the queues and VOQs of a port.
fn fullest(outcome: &Outcome, nodes: std::ops::Range<u32>) -> u64 {
    let ports = outcome
        .ports
        .iter()
        .filter(|p| nodes.contains(&p.node.bits()));
    ports.map(|p| p.max_port_bytes).max().unwrap_or(0)
}

// FG-28
#[test]
fn windows_are_full_again_and_all_books_agree_whatever_the_control() {
    for (name, preset) in PRESETS.iter().filter(|p| p.0 != "bfc") {
        for config in [FloodgateConfig::PRACTICAL, FloodgateConfig::IDEAL] {
            let mut flows = incast(0, 24, 8, US, 60_000);
            flows.extend((0..40).map(|i| {
                flow(
                    24 + i,
                    US + u64::from(i) * 300_000,
                    i % 32,
                    (i * 7 + 9) % 32,
                    30_000,
                )
            }));
            let flows: Vec<_> = flows.into_iter().filter(|f| f.src != f.dst).collect();
            let started = flows.len() as u64;
            let setup = with(preset(fabric(4, 2, 8), renumbered(flows)), config);
            let (outcome, _) = setup.run();
            assert_eq!(outcome.finished, started, "{name}");
            assert!(outcome.checks.contains(&"credits"), "{name}");
            assert!(
                outcome.counters.hop["floodgate_credit_frames"] > 0,
                "{name}"
            );
        }
    }
}

fn renumbered(mut flows: Vec<Flow>) -> Vec<Flow> {
    flows.sort_by_key(|f| f.start_ps);
    for (id, f) in flows.iter_mut().enumerate() {
        f.id = id as u32;
    }
    flows
}

// FG-28, ENG-06
#[test]
fn leaving_out_idle_events_changes_nothing() {
    let mut digests = Vec::new();
    let configs = [
        FloodgateConfig::PRACTICAL,
        FloodgateConfig::IDEAL,
        FloodgateConfig::TAGS,
    ];
    for config in configs {
        let setup = with(
            dcqcn(fabric(4, 2, 8), incast(0, 24, 8, US, 200_000)),
            config,
        );
        let (a, _) = setup.clone().run();
        let (b, _) = Setup {
            elide: false,
            ..setup.clone()
        }
        .run();
        assert_eq!(a.digest, b.digest);
        let (c, _) = setup.run();
        assert_eq!(a.digest, c.digest);
        digests.push(a.digest);
    }
    // The digests are the same on every machine.
    assert_eq!(
        format!("{digests:x?}"),
        "[203148608441260a, d677142f3b37ad82, 4633d1740e399721]"
    );
}

// PAR-04, FG-28
#[test]
fn threads_change_nothing_and_credits_cross_whole() {
    // Several receivers, so that credit frames contain several destinations.
    let mut flows: Vec<Flow> = (0..3)
        .flat_map(|dst| (8..32).map(move |src| flow(0, US, src, dst, 60_000)))
        .collect();
    flows.extend((0..8).map(|src| flow(0, 2 * US, src, 8 + src, 60_000)));
    let flows = renumbered(flows);
    for config in [FloodgateConfig::PRACTICAL, FloodgateConfig::IDEAL] {
        let run = |asked| {
            let mut setup = with(dcqcn(fabric(4, 2, 8), flows.clone()), config);
            setup.threads = forced(asked);
            setup.run().0
        };
        let one = run(1);
        for asked in [2, 3] {
            let more = run(asked);
            assert_eq!(more.digest, one.digest, "{asked} threads");
            assert_eq!(more.counters.hop, one.counters.hop);
            assert!(more.threads.crossed > 0);
        }
    }
}
