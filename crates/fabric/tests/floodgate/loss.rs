//! Floodgate windows recover from lost data and lost credits.

use super::*;
use dataplane::config::{IrnConfig, IrnWindow, PathChoice, Recovery};
use dataplane::units::MS;
use fabric::NodeId;
use fabric::link_failures::{LinkFailure, LinkFailures, lower_end};
use fabric::record::Ending;

/// A long incast. The links between switches lose a fraction `share` of all frames.
fn losing(share: f64, config: FloodgateConfig, path: PathChoice) -> Setup {
    let topology = lossy(4, 2, 4, Loss::of(share));
    let mut setup = with(line_rate(topology, incast(0, 12, 4, US, 1_000_000)), config);
    setup.switch.path = path;
    setup.nic.recovery = Recovery::Irn(IrnConfig {
        lost_after: 64,
        window: IrnWindow::Off,
        ..IrnConfig::paper()
    });
    setup.until_ps = 100 * MS;
    setup
}

// FG-30, FG-31, FG-32, FG-33
#[test]
fn data_and_credits_may_be_lost_on_one_path_or_on_all() {
    for share in [0.05, 0.1] {
        for path in [PathChoice::Flow, PathChoice::Packet] {
            for config in [FloodgateConfig::PRACTICAL, FloodgateConfig::IDEAL] {
                let (outcome, keep) = losing(share, config, path).run();
                assert_eq!(outcome.ending, Ending::Drained, "{share} {path:?}");
                assert_eq!(outcome.finished, 12);
                let f = outcome.counters.hop;
                assert!(
                    f["floodgate_repaired"] > 0 && f["floodgate_held"] > 0,
                    "{f:?}"
                );
                // Every window is full again; otherwise the run would not have ended.
                let took = keep.flows.iter().filter_map(|r| r.received_ps).max();
                // 12 MB at 100 Gbit/s take 1.006 ms. Lost packets are retransmitted within the
                // timeouts.
                assert!(
                    took.expect("all arrived") < 3 * MS,
                    "{took:?} {share} {path:?}"
                );
            }
        }
    }
}

// FG-33
#[test]
fn without_numbers_windows_vanish() {
    let config = windows(FloodgateConfig::PRACTICAL, |w| w.numbers_timeout_ps = None);
    let (outcome, _) = losing(0.05, config, PathChoice::Flow).run_raw();
    assert!(outcome.finished < 12, "{:?}", outcome.counters.hop);
    assert_eq!(outcome.counters.hop["floodgate_repaired"], 0);
}

// FG-33: the last packets and their credits are lost, and no later packet reveals the loss.
#[test]
fn a_lost_end_is_asked_for() {
    // A window is enough for the whole flow, and every second frame is lost.
    let mut asked = 0;
    for seed in 1..6 {
        let topology = lossy(2, 1, 1, Loss::of(0.4));
        let mut setup = with(
            line_rate(topology, vec![flow(0, 0, 0, 1, 20_000)]),
            FloodgateConfig::PRACTICAL,
        );
        setup.nic.recovery = Recovery::Irn(IrnConfig::paper());
        setup.seed = seed;
        let (outcome, _) = setup.run();
        assert_eq!(outcome.ending, Ending::Drained);
        asked += outcome.counters.hop["floodgate_syns"];
    }
    assert!(asked > 0);
}

// FG-34
#[test]
fn what_a_switch_drops_is_credited() {
    for numbers in [None, Some(MS)] {
        let config = windows(FloodgateConfig::PRACTICAL, |w| {
            w.numbers_timeout_ps = numbers
        });
        let mut setup = with(
            line_rate(fabric(4, 2, 8), incast(0, 24, 8, US, 200_000)),
            config,
        );
        setup.switch.mmu.buffer_bytes = 300_000;
        setup.switch.mmu.reserved_bytes = 0;
        setup.switch.mmu.admission = dataplane::config::Admission::SharedPool;
        setup.nic.recovery = Recovery::Irn(IrnConfig::paper());
        let (outcome, _) = setup.run();
        assert!(outcome.counters.drops.iter().sum::<u64>() > 0);
        assert_eq!((outcome.finished, outcome.ending), (24, Ending::Drained));
        assert!(outcome.checks.contains(&"credits"));
    }
}

// FG-35
#[test]
fn a_link_that_is_down_throughout_is_routed_around() {
    for config in [FloodgateConfig::PRACTICAL, FloodgateConfig::TAGS] {
        let mut setup = with(
            line_rate(fabric(4, 2, 8), incast(0, 24, 8, US, 200_000)),
            config,
        );
        let graph = setup.topology.build().expect("a sound topology");
        let (leaf, spine) = (32, 36);
        let port = graph
            .links_of(NodeId::new(leaf))
            .find(|&index| graph.port(index).peer == NodeId::new(spine))
            .expect("they are neighbours");
        let link_failure = LinkFailure {
            link: lower_end(&graph, port),
            from_ps: 0,
            until_ps: None,
        };
        setup.link_failures = Some(LinkFailures::new(&graph, &[link_failure], 0));
        let (outcome, _) = setup.run();
        assert_eq!((outcome.finished, outcome.ending), (24, Ending::Drained));
        assert!(outcome.checks.contains(&"credits"));
        let used = outcome
            .ports
            .iter()
            .filter(|p| p.peer == NodeId::new(leaf) && p.node >= NodeId::new(32));
        let carried: Vec<u64> = used.map(|p| p.tx_data_packets).collect();
        assert_eq!(carried.iter().filter(|n| **n > 0).count(), 1, "{carried:?}");
    }
}
