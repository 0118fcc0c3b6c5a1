//! Small networks whose results can be computed by hand.

use crate::common::*;
use dataplane::cc::fixed_window::FixedWindowConfig;
use dataplane::config::{Admission, ControlConfig, Sending};
use dataplane::units::{MS, NS, US};
use fabric::NodeId;
use fabric::record::Ending;
use fabric::topology::TopologySpec;

/// Returns the FCT of a flow that is alone on a path of `links` store-and-forward links with 100
/// Gbit/s and 1 µs each.
fn alone_ps(bytes: u64, links: u64) -> u64 {
    let full = bytes.div_ceil(1000) - 1;
    let last = bytes - full * 1000;
    let (frame, tail) = ((1000 + 48) * 80, (last + 48) * 80);
    // The FCT is the time of all packets at the first link, plus the time of one packet at each
    // further link. The last packet, which may be shorter, follows the packet before it.
    if full == 0 {
        links * (tail + US)
    } else {
        (full + links - 1) * frame + tail + links * US
    }
}

// ENG-01, ENG-02, ENG-05
#[test]
fn a_single_flow_takes_exactly_its_store_and_forward_time() {
    for bytes in [1, 999, 1000, 1001, 10_000, 123_456, 1_000_000, 10_000_000] {
        let (_, keep) = line_rate(star(2), vec![flow(0, 0, 0, 1, bytes)]).run();
        assert_eq!(keep.fct(0), alone_ps(bytes, 2), "{bytes} B over one switch");
        let across = vec![flow(0, 7 * NS, 0, 3, bytes)];
        let (_, keep) = line_rate(leaf_spine(2, 1, 2), across).run();
        assert_eq!(
            keep.fct(0),
            alone_ps(bytes, 4),
            "{bytes} B over three switches"
        );
        let record = keep.flows[0];
        assert_eq!(record.ideal_received_ps, keep.fct(0), "that is the ideal");
        let back = 4 * (60 * 80 + US);
        assert_eq!(record.ideal_acked_ps, alone_ps(bytes, 4) + back);
        // If the last packet is shorter than an ACK, its ACK waits for the ACK before it.
        let last = (bytes - 1) % 1000 + 1;
        let waits = if bytes > 1000 {
            60u64.saturating_sub(last + 48) * 80
        } else {
            0
        };
        assert_eq!(
            record.acked_ps.unwrap() - 7 * NS,
            alone_ps(bytes, 4) + back + waits
        );
    }
}

#[test]
fn a_window_of_one_bdp_does_not_slow_a_flow_down() {
    let mut s = line_rate(leaf_spine(2, 1, 2), vec![flow(0, 0, 0, 3, 1_000_000)]);
    s.nic.control = Sending::Control(ControlConfig::FixedWindow(FixedWindowConfig {
        window: None,
    }));
    let (_, keep) = s.run();
    assert_eq!(keep.fct(0), alone_ps(1_000_000, 4));
}

#[test]
fn every_preset_gives_a_lone_flow_the_whole_network() {
    for (name, preset) in PRESETS {
        let setup = preset(leaf_spine(2, 2, 2), vec![flow(0, 0, 0, 3, 10_000_000)]);
        let with_int = f64::from(1048 + setup.nic.int) / 1048.0;
        let (outcome, keep) = setup.run();
        let slowdown = keep.fct(0) as f64 / alone_ps(10_000_000, 4) as f64;
        // HPCC's target utilisation is 95 % of the link.
        let utilised = if name == "hpcc" { 0.95 / 1.001 } else { 1.0 };
        let most = with_int / utilised;
        assert!(slowdown <= most, "{name}: slowdown {slowdown}");
        let c = outcome.counters;
        assert_eq!(
            (c.marks, c.hop["pfc_pauses"], c.hop["bfc_pauses"]),
            (0, 0, 0),
            "{name}"
        );
        assert_eq!(outcome.ending, Ending::Drained);
    }
}

/// Creates a network of hosts and switches with listed links, by node ID; hosts come first.
fn joined(hosts: u32, switches: u32, links: &[(u32, u32)]) -> TopologySpec {
    TopologySpec::Links {
        hosts: (0..hosts).map(|i| format!("h{i}")).collect(),
        switches: (0..switches).map(|i| format!("s{i}")).collect(),
        links: links.iter().map(|&(a, b)| (a, b, LINK)).collect(),
    }
}

// TOP-05, TOP-06
#[test]
fn hosts_that_links_join_send_to_each_other_under_every_scheme() {
    let pair = joined(2, 0, &[(0, 1)]);
    let ring = joined(4, 0, &[(0, 1), (1, 2), (2, 3), (3, 0)]);
    let mesh = joined(4, 0, &[(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]);
    // Two parallel host-to-host links, and a switch that connects all hosts.
    let mixed = joined(3, 1, &[(0, 1), (0, 1), (0, 3), (1, 3), (2, 3)]);
    for (what, topology) in [
        ("pair", pair),
        ("ring", ring),
        ("mesh", mesh),
        ("mixed", mixed),
    ] {
        let hosts = topology.build().expect(what).hosts();
        let to_next = (0..hosts).map(|src| flow(src, 0, src, (src + 1) % hosts, 300_000));
        let flows: Vec<_> = to_next
            .chain((0..hosts).map(|n| flow(hosts + n, 5 * US, (n + 1) % hosts, n, 300_000)))
            .collect();
        for (name, preset) in PRESETS.iter().chain(&DRIVEN) {
            let mut digests = Vec::new();
            for threads in [1, 2] {
                let mut s = preset(topology.clone(), flows.clone());
                s.threads = forced(threads);
                let (outcome, keep) = s.run();
                assert_eq!(outcome.ending, Ending::Drained, "{what}, {name}");
                assert_eq!(keep.flows.len(), flows.len(), "{what}, {name}");
                digests.push(outcome.digest);
            }
            assert_eq!(
                digests[0], digests[1],
                "{what}, {name}: threads change nothing"
            );
        }
    }
    // A single link between two hosts: a lone flow has the FCT that was computed by hand.
    let (_, keep) = line_rate(joined(2, 0, &[(0, 1)]), vec![flow(0, 0, 0, 1, 123_456)]).run();
    assert_eq!(keep.fct(0), alone_ps(123_456, 1));
    assert_eq!(keep.flows[0].ideal_received_ps, keep.fct(0));
}

// NIC-54
#[test]
fn a_flow_above_four_gib_is_delivered_whole_by_every_scheme() {
    let bytes = (1 << 32) + 12_345;
    for (name, preset) in PRESETS.iter().chain(&DRIVEN) {
        let mut s = preset(star(2), vec![flow(0, 0, 0, 1, bytes)]);
        // Jumbo frames keep the test short.
        s.nic.mtu = 9000;
        s.switch.max_frame = s.nic.data_bytes(9000);
        let (outcome, keep) = s.run();
        let c = outcome.counters;
        let packets = c.data_packets - c.retransmissions;
        assert_eq!(packets, bytes.div_ceil(9000), "{name}");
        assert_eq!(outcome.ending, Ending::Drained, "{name}");
        let record = keep.flows[0];
        let slowdown = keep.fct(0) as f64 / record.ideal_received_ps as f64;
        assert!(
            (1.0..1.2).contains(&slowdown),
            "{name}: slowdown {slowdown}"
        );
        // The link alone needs 80 ps per byte (100 Gbit/s).
        assert!(record.ideal_received_ps > bytes * 80, "{name}");
    }
}

#[test]
fn n_to_one_drains_at_the_speed_of_one_link_and_fills_what_arithmetic_says() {
    for senders in [2u64, 7, 16] {
        let bytes = 100_000;
        let flows = (0..senders as u32)
            .map(|i| flow(i, 0, i, senders as u32, bytes))
            .collect();
        let mut s = line_rate(star(senders as u32 + 1), flows);
        s.switch.mmu.admission = Admission::Unlimited;
        let (outcome, keep) = s.run();
        let last = (0..senders as u32).map(|i| keep.fct(i)).max().unwrap();
        let packets = senders * 100;
        // The first packets arrive together after one hop. From then on the last link is never
        // idle.
        assert_eq!(
            last,
            (83_840 + US) + packets * 83_840 + US,
            "{senders} senders"
        );
        // While the senders send 100 packets each, the switch sends 99 packets, and the packet in
        // transmission is no longer in the queue.
        let queue = (senders * 100 - 100) * 1048;
        let port = outcome
            .ports
            .iter()
            .find(|p| p.peer == NodeId::from_bits(senders as u32))
            .unwrap();
        assert_eq!(port.max_queue_bytes, queue + 1048, "{senders} senders");
    }
}

#[test]
fn two_long_flows_get_fair_halves_under_drr() {
    let flows = vec![flow(0, 0, 0, 2, 10_000_000), flow(1, 0, 1, 2, 10_000_000)];
    let (_, keep) = ideal_fq(star(3), flows).run();
    let (a, b) = (keep.fct(0), keep.fct(1));
    let both = 20_000 * 83_840;
    assert!(a.abs_diff(b) <= 2 * 83_840, "{a} and {b} end together");
    assert!(a.max(b) < both + 3 * US, "and the link never idles");
}

#[test]
fn runs_end_at_the_time_limit_and_count_what_is_unfinished() {
    let mut s = line_rate(
        star(2),
        vec![flow(0, 0, 0, 1, 10_000_000), flow(1, 2 * MS, 0, 1, 1)],
    );
    s.until_ps = MS / 2;
    let (outcome, keep) = s.run();
    assert_eq!(outcome.ending, Ending::TimeLimit);
    assert_eq!(outcome.end_ps, MS / 2);
    assert_eq!((outcome.started, outcome.finished), (1, 0));
    assert_eq!(keep.flows.len(), 1, "the unfinished flow is recorded");
    assert_eq!(keep.flows[0].received_ps, None);
}
