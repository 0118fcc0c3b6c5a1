//! Links that lose frames at random. Rule TOP-20.

use crate::common::*;
use dataplane::cc::fixed_window::FixedWindowConfig;
use dataplane::config::{ControlConfig, Sending};
use dataplane::sink::DropCause;
use dataplane::units::{MS, US};
use fabric::NodeId;
use fabric::record::{Ending, Outcome, PortRecord};
use fabric::topology::{LinkSpec, Loss, TopologySpec};
use kernel::random::{Purpose, Stream};
use traffic::Flow;

const LOST: usize = DropCause::Link as usize;

fn lossy(probability: f64) -> LinkSpec {
    LinkSpec {
        loss: Loss::of(probability),
        ..LINK
    }
}

fn network(host: LinkSpec, fabric: LinkSpec) -> TopologySpec {
    TopologySpec::LeafSpine {
        leaves: 2,
        spines: 2,
        hosts_per_leaf: 4,
        link: host,
        uplink: fabric,
    }
}

fn busy(seed: u64) -> Vec<Flow> {
    let mut random = Stream::new(seed, 0, Purpose::Test);
    let mut flows: Vec<Flow> = (0..150)
        .map(|id| {
            let src = random.below(8) as u32;
            let dst = (src + 1 + random.below(7) as u32) % 8;
            flow(
                id,
                random.below(300) * US,
                src,
                dst,
                1 + random.below(60_000),
            )
        })
        .collect();
    flows.sort_by_key(|f| f.start_ps);
    for (id, f) in flows.iter_mut().enumerate() {
        f.id = id as u32;
    }
    flows
}

fn lost(ports: &[PortRecord]) -> u64 {
    ports.iter().map(|p| p.dropped[LOST]).sum()
}

/// Checks that a link loses the expected number of its frames, within 4 sigma.
fn assert_share(port: &PortRecord, probability: f64) {
    let expected = port.tx_packets as f64 * probability;
    let sigma = (expected * (1.0 - probability)).sqrt();
    let off = (port.dropped[LOST] as f64 - expected).abs();
    assert!(off < 4.0 * sigma, "{port:?}: {expected} expected");
}

// TOP-20
#[test]
fn each_direction_of_a_link_loses_its_share_of_all_frames() {
    let topology = TopologySpec::Star {
        hosts: 2,
        link: lossy(0.01),
    };
    let mut s = line_rate(topology, vec![flow(0, 0, 0, 1, 20_000_000)]);
    // Few retransmissions: a small window limits the packets that go-back-N repeats.
    s.nic.control = Sending::Control(ControlConfig::FixedWindow(FixedWindowConfig {
        window: None,
    }));
    let (outcome, keep) = s.run();
    assert_eq!(outcome.ending, Ending::Drained);
    assert!(keep.flows[0].retransmitted > 300);
    // Data in one direction and ACKs in the other, over two links: four directions.
    assert_eq!(outcome.ports.len(), 4);
    for port in &outcome.ports {
        assert!(port.tx_packets > 15_000);
        assert_share(port, 0.01);
    }
    assert_eq!(outcome.counters.drops[LOST], lost(&outcome.ports));
    assert_eq!(
        outcome.counters.drops.iter().sum::<u64>(),
        outcome.counters.drops[LOST]
    );
    let shares: Vec<u64> = outcome.ports.iter().map(|p| p.dropped[LOST]).collect();
    assert!(shares.windows(2).any(|w| w[0] != w[1]), "apart: {shares:?}");
}

// TOP-20
#[test]
fn go_back_n_brings_every_flow_home_through_one_percent_of_loss() {
    for (name, preset) in PRESETS {
        let s = preset(network(lossy(0.01), lossy(0.01)), busy(5));
        let (outcome, keep) = s.clone().run();
        assert!(outcome.counters.drops[LOST] > 100, "{name}");
        let pauses = outcome.counters.hop["pfc_pauses"] + outcome.counters.hop["bfc_pauses"];
        if pauses == 0 {
            assert_eq!(outcome.ending, Ending::Drained, "{name}");
            assert_eq!(outcome.finished, 150, "{name}");
            assert_eq!(keep.flows.len(), 150, "{name}");
        }
        assert!(!outcome.checks.contains(&"pauses"), "{name}: not checked");
        // A run with all port-free events (without elision) has the same digest.
        let full = Setup {
            elide: false,
            ..s.clone()
        };
        assert_eq!(full.run().0.digest, outcome.digest, "{name}");
        let other = Setup { seed: 2, ..s };
        assert_ne!(other.run().0.digest, outcome.digest, "{name}");
    }
}

// TOP-20, AUD-01, AUD-02, AUD-04, AUD-05
#[test]
fn the_books_balance_when_pauses_are_lost() {
    for (name, preset) in [("pfc", line_rate as fn(_, _) -> Setup), ("bfc", bfc)] {
        let flows = (0..7).map(|src| flow(src, 0, src, 7, 300_000)).collect();
        let mut s = preset(network(lossy(0.05), lossy(0.05)), flows);
        s.switch.mmu.buffer_bytes = 500_000;
        s.switch.mmu.reserved_bytes = 0;
        s.until_ps = 100 * MS;
        let (outcome, _) = s.run();
        let c = outcome.counters;
        assert!(
            c.hop["pfc_pauses"] + c.hop["bfc_pauses"] > 50,
            "{name}: {c:?}"
        );
        assert!(c.drops[LOST] > 100, "{name}");
    }
}

// TOP-20
#[test]
fn a_link_that_loses_nothing_changes_nothing() {
    let digest = |topology| -> u64 { hpcc(topology, busy(5)).run().0.digest };
    let plain = digest(network(LINK, LINK));
    assert_eq!(
        plain,
        digest(network(LINK, lossy(1e-18))),
        "draws, loses none"
    );
    assert_ne!(plain, digest(network(LINK, lossy(0.01))));
}

// TOP-20
#[test]
fn what_one_link_loses_does_not_hang_on_other_links() {
    // Two pairs of hosts that share only a switch.
    let star = |hosts: u32, flows: Vec<Flow>| -> Outcome {
        let topology = TopologySpec::Star {
            hosts,
            link: lossy(0.02),
        };
        line_rate(topology, flows).run().0
    };
    let one = flow(0, 0, 0, 1, 500_000);
    let alone = star(4, vec![one]);
    let both = star(4, vec![one, flow(1, 0, 2, 3, 500_000)]);
    for (a, b) in alone.ports.iter().zip(&both.ports) {
        let ends = (a.node.min(a.peer), a.tx_packets);
        if ends.0 < NodeId::new(2) {
            assert_eq!(a, b, "nothing is different for hosts 0 and 1");
        }
    }
}

// TOP-20
#[test]
fn a_link_that_loses_everything_delivers_nothing() {
    let topology = TopologySpec::Star {
        hosts: 2,
        link: lossy(1.0),
    };
    let mut s = line_rate(topology, vec![flow(0, 0, 0, 1, 10_000)]);
    s.until_ps = 20 * MS;
    let (outcome, _) = s.run();
    assert_eq!((outcome.finished, outcome.ending), (0, Ending::TimeLimit));
    let c = outcome.counters;
    assert_eq!((c.drops[LOST], c.acks), (c.packet_hops, 0));
    assert!(c.packet_hops >= 50 && c.timeouts >= 4, "{c:?}");
}

#[test]
fn probabilities_are_kept() {
    for p in [0.0, 1e-12, 1e-3, 0.01, 0.5, 0.999] {
        let kept = Loss::of(p).probability();
        assert!((kept - p).abs() <= p * 1e-6, "{p} became {kept}");
        assert_eq!(Loss::of(kept), Loss::of(p));
    }
    assert_eq!(Loss::of(0.0), Loss::NONE);
    assert!(Loss::of(1.0).takes(u64::MAX - 1));
}
