//! Two long flows to one receiver: their shares in equilibrium, and the utilisation of the link.

use super::*;
use crate::common::*;
use dataplane::units::{MS, US};
use fabric::NodeId;
use fabric::record::PortRecord;

/// Returns the rates at which hosts 0 and 1 send from `from_ps` to `to_ps`, and the rate of the
/// receiver's link, as fractions of the line rate. They are differences between two runs of
/// different length, which are equal up to the end of the shorter one.
fn shares(setup: &Setup, from_ps: u64, to_ps: u64) -> (f64, f64, f64) {
    let until = |until_ps| {
        let (outcome, _) = Setup {
            until_ps,
            ..setup.clone()
        }
        .run();
        let bytes = |node, peer| port(&outcome, node, peer).tx_data_bytes as f64;
        [bytes(0, 3), bytes(1, 3), bytes(3, 2)]
    };
    let (a, b) = (until(from_ps), until(to_ps));
    let capacity = (to_ps - from_ps) as f64 / 80.0;
    let share = |i: usize| (b[i] - a[i]) / capacity;
    (share(0), share(1), share(2))
}

/// Two flows to one receiver. The first has the link alone before the second starts.
fn two_long_flows(preset: fn(TopologySpec, Vec<traffic::Flow>) -> Setup) -> Setup {
    let long = 10_000_000_000;
    preset(
        star(3),
        vec![flow(0, 0, 0, 2, long), flow(1, 300 * US, 1, 2, long)],
    )
}

#[track_caller]
fn settles(name: &str, setup: &Setup, from_ps: u64, unfair: f64, used: f64) {
    let (a, b, all) = shares(setup, from_ps, from_ps + 2 * MS);
    assert!(
        (a - b).abs() / (a + b) < unfair,
        "{name}: shares {a:.3} and {b:.3}"
    );
    assert!(all > used, "{name}: the link is used to {all:.3}");
}

#[test]
fn hpcc_settles_at_fair_shares_of_its_target() {
    let s = two_long_flows(hpcc);
    settles("hpcc", &s, 2 * MS, 0.05, 0.93);
}

#[test]
fn dctcp_settles_at_fair_shares_of_a_full_link() {
    let s = two_long_flows(dctcp);
    settles("dctcp", &s, 2 * MS, 0.05, 0.99);
}

/// The pace of the flows is much shorter than the timeout of go-back-N, which was requested before:
/// an earlier request replaces a later one.
// ENG-09
#[test]
fn dcqcn_settles_at_fair_shares_of_a_nearly_full_link() {
    let s = two_long_flows(dcqcn);
    settles("dcqcn", &s, 8 * MS, 0.1, 0.9);
}

/// A NIC that paces has one timer event per packet. The timeout of go-back-N was requested before
/// the pace. It is set again when the pacing timer has expired, and needs no second event.
// ENG-09
#[test]
fn an_alarm_that_was_wished_before_an_earlier_one_costs_no_second_event() {
    let setup = Setup {
        until_ps: 4 * MS,
        ..two_long_flows(dcqcn)
    };
    let (outcome, _) = setup.run();
    let sent = |from: fn(&PortRecord) -> bool| -> u64 {
        let ports = outcome.ports.iter().filter(|port| from(port));
        ports.map(|port| port.tx_packets).sum()
    };
    let (arrivals, packets) = (sent(|_| true), sent(|port| port.node < NodeId::new(2)));
    // Per packet, one event for the pace of its flow, and one for the switch port at which packets
    // queue.
    let others = outcome.counters.events - arrivals;
    assert!(packets > 30_000, "{packets} packets");
    assert!(others < 2 * packets, "{others} for {packets} packets");
}

/// TIMELY has no unique fixed point, so its rates oscillate, and the bounds of this test are wide.
#[test]
fn timely_fills_the_link_with_both_flows_alive() {
    let s = two_long_flows(timely);
    settles("timely", &s, 4 * MS, 0.2, 0.8);
}

// BFC-12, SW-20
#[test]
fn bfc_and_fair_queueing_share_from_the_first_round_trip_on() {
    // Two synchronised flows under BFC leave the link idle for a fifth of the time (BFC-21).
    settles("bfc", &two_long_flows(bfc), 320 * US, 0.01, 0.79);
    settles("ideal-fq", &two_long_flows(ideal_fq), 320 * US, 0.01, 0.999);
}
