//! Tests of NDP (`specs/ndp.md`).

use super::*;
use dataplane::config::{PathChoice, Sending, TransportConfig, TrimConfig};
use dataplane::sink::DropCause;
use dataplane::transport::ndp::NdpConfig;
use dataplane::units::US;
use fabric::NodeId;

fn with(s: Setup, change: impl FnOnce(&mut NdpConfig)) -> Setup {
    let mut s = s;
    if let Sending::Transport(TransportConfig::Ndp(c)) = &mut s.nic.control {
        change(c);
        s.switch.trim = Some(c.trim);
    }
    s
}

// NDP-11, NDP-12
#[test]
fn one_flow_reaches_full_goodput() {
    let goodput = goodput(|flows| ndp(star(2), flows), 5_000_000, 15_000_000);
    let share = goodput / 1e11 * 1500.0 / 1452.0;
    assert!((share - 1.0).abs() < 1e-3, "{share} of the link");
    let (outcome, _) = finish(ndp(star(2), vec![flow(0, 0, 0, 1, 5_000_000)]));
    let c = outcome.counters;
    assert_eq!(
        (c.trims, c.naks, c.retransmissions, c.timeouts),
        (0, 0, 0, 0)
    );
    assert_eq!(c.acks, c.data_packets);
    // There is one pull per packet, except for pulls that the end of the flow makes unnecessary.
    assert!(c.driven.pulls < c.data_packets && c.driven.pulls + 100 > c.data_packets);
}

/// Each packet arrives as data exactly once, each trimmed packet is reported to the receiver, and
/// no header is lost.
// NDP-01, NDP-10, NDP-13
#[test]
fn an_incast_trims_and_every_packet_arrives_once() {
    for senders in [16, 64] {
        let (outcome, keep) = finish(ndp(star(senders + 1), incast(senders, 150_000)));
        let c = &outcome.counters;
        let packets = 150_000u64.div_ceil(1452) * u64::from(senders);
        // Each first window has 35 packets. At most a few of them per sender find room in the
        // queue; the other packets are trimmed.
        assert!(c.trims > 30 * u64::from(senders), "{} trims", c.trims);
        assert_eq!(c.drops.iter().sum::<u64>(), 0);
        assert_eq!(c.trims, c.driven.headers + c.driven.returned);
        assert_eq!(c.naks, c.driven.headers);
        assert_eq!(c.discarded, 0);
        assert_eq!(c.data_packets, packets + c.trims);
        assert_eq!(c.retransmissions, c.trims);
        let queue = port(&outcome, senders + 1, senders).max_queue_bytes;
        assert!(queue <= 8 * 1500 + 8 * 1500, "{queue} B");
        // The receiver's link stays busy, because pulls are paced at its rate.
        let last = (0..senders).map(|i| keep.fct(i)).max().unwrap();
        let best = packets * 1500 * 80;
        assert!(last < best * 13 / 10, "{last} ps, {best} at best");
    }
}

/// Returns the counters of the port of `node` that leads to `peer`.
fn port(outcome: &Outcome, node: u32, peer: u32) -> &fabric::record::PortRecord {
    let mut ports = outcome.ports.iter();
    ports
        .find(|p| p.node == NodeId::from_bits(node) && p.peer == NodeId::from_bits(peer))
        .expect("the two are neighbours")
}

// NDP-03, NDP-14
#[test]
fn headers_without_room_go_back_to_their_senders() {
    let little = |s| with(s, |c| c.trim.control_bytes = 20 * 64);
    let (outcome, _) = finish(little(ndp(star(65), incast(64, 150_000))));
    let c = outcome.counters;
    assert!(c.returned > 100, "{}", c.returned);
    assert_eq!(c.returned, c.driven.returned);
    assert_eq!(c.drops.iter().sum::<u64>(), 0);
    assert_eq!(c.trims, c.driven.headers + c.driven.returned);
    // If headers are not returned, they are dropped, and only timeouts cause retransmissions.
    let s = with(little(ndp(star(65), incast(64, 150_000))), |c| {
        c.trim.returns = false
    });
    let (outcome, _) = s.run();
    let c = outcome.counters;
    assert_eq!(outcome.finished, 64);
    assert!(c.drops[DropCause::Buffer as usize] > 0 && c.timeouts > 0);
    assert_eq!(c.returned, 0);
}

// NDP-13, NDP-15
#[test]
fn losses_of_data_and_of_control_are_survived() {
    for seed in 1..=4 {
        let mut s = ndp(lossy(9, 0.01), incast(8, 500_000));
        s.seed = seed;
        let (outcome, _) = finish(with(s, |c| c.timeout_ps = 100 * US));
        let c = outcome.counters;
        assert!(c.drops[DropCause::Link as usize] > 20);
        assert!(c.timeouts > 0 && c.retransmissions > 0);
    }
}

/// A permutation of paths distributes the load evenly: no queue in the core grows beyond a few
/// packets.
// NDP-05
#[test]
fn spraying_by_permutation_is_even() {
    let shapes = [
        leaf_spine(2, 8, 8),
        TopologySpec::FatTree {
            k: 4,
            link: LINK,
            fabric_link: LINK,
        },
    ];
    for shape in shapes {
        let hosts = shape.build().unwrap().hosts();
        let half = hosts / 2;
        let flows = (0..half)
            .map(|i| flow(i, 0, i, half + i, 2_000_000))
            .collect();
        let (outcome, _) = finish(ndp(shape, flows));
        assert_eq!(outcome.counters.trims, 0, "no queue of eight is ever full");
        // All uplinks of a switch carry the same load.
        for leaf in hosts..hosts + 2 {
            let up: Vec<u64> = outcome
                .ports
                .iter()
                .filter(|p| p.node == NodeId::from_bits(leaf) && p.peer >= NodeId::from_bits(hosts))
                .map(|p| p.tx_data_packets)
                .collect();
            let (least, most) = (up.iter().min().unwrap(), up.iter().max().unwrap());
            assert!(most - least <= 16 + most / 100, "{up:?}");
        }
    }
}

/// If a hash of each packet selects the path instead, packets meet in queues and are trimmed.
// NDP-05
#[test]
fn spraying_by_chance_trims() {
    let flows = (0..8).map(|i| flow(i, 0, i, 8 + i, 2_000_000)).collect();
    let mut s = ndp(leaf_spine(2, 8, 8), flows);
    s.switch.path = PathChoice::Packet;
    let (outcome, _) = finish(s);
    assert!(outcome.counters.trims > 0);
}

/// A long flow does not starve a short flow that starts later, because pulls alternate between
/// flows.
// NDP-11
#[test]
fn pulls_take_turns_among_flows() {
    let flows = vec![flow(0, 0, 0, 2, 3_000_000), flow(1, 50 * US, 1, 2, 300_000)];
    let (_, keep) = finish(ndp(star(3), flows));
    // With half of the link, 300 KB take 50 µs.
    let fct = keep.fct(1);
    assert!(fct < 75 * US && fct > 35 * US, "{fct} ps");
}

// NDP-02
#[test]
fn data_goes_between_headers() {
    let weight = |weight| {
        let s = with(ndp(star(65), incast(64, 60_000)), |c: &mut NdpConfig| {
            c.trim = TrimConfig { weight, ..c.trim };
        });
        let (outcome, keep) = finish(s);
        let first = (0..64).map(|i| keep.fct(i)).min().unwrap();
        (first, outcome.counters.trims)
    };
    // If all headers are sent before any data, the first flow ends later.
    let (with_turns, _) = weight(1);
    let (without, _) = weight(60_000);
    assert!(with_turns < without, "{with_turns} {without}");
}
