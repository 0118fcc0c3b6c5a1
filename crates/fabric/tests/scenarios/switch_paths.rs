//! Path policies of a switch on two paths, compared with closed forms. Rules of
//! `specs/paths-switch.md`.

use super::*;
use crate::common::*;
use dataplane::config::{FlowletConfig, LeastLoaded, PathChoice, Recovery};
use dataplane::units::{MS, US};

const LEAST_LOADED: PathChoice = PathChoice::LeastLoaded(LeastLoaded);

/// Two switches with two hosts each, connected by a path of 100 Gbit/s and a path of `second_gbps`.
/// Each host of the first switch sends `bytes` to a host of the second switch.
fn two_paths(path: PathChoice, second_gbps: u64, bytes: u64) -> Setup {
    let (left, right, upper, lower) = (4, 5, 6, 7);
    let second = link(second_gbps, LINK.delay_ps);
    let links = vec![
        (0, left, LINK),
        (1, left, LINK),
        (2, right, LINK),
        (3, right, LINK),
        (left, upper, LINK),
        (upper, right, LINK),
        (left, lower, second),
        (lower, right, second),
    ];
    let flows = vec![flow(0, 0, 0, 2, bytes), flow(1, 0, 1, 3, bytes)];
    let mut setup = line_rate(named(4, 4, links), flows);
    setup.switch.path = path;
    setup.nic.recovery = Recovery::NONE;
    setup.until_ps = 100 * MS;
    setup
}

/// Returns the number of data packets that the first switch sent on each path.
fn split(outcome: &Outcome) -> (u64, u64) {
    let to = |spine| port(outcome, 4, spine).tx_data_packets;
    (to(6), to(7))
}

// PTH-02
#[test]
fn two_equal_flows_share_two_equal_paths_and_take_the_time_of_a_flow_alone() {
    let setup = two_paths(LEAST_LOADED, 100, 10_000_000);
    let mut alone = setup.clone();
    alone.flows.truncate(1);
    let (_, alone) = alone.run();
    let (outcome, both) = setup.run();
    let (first, second) = split(&outcome);
    assert_eq!(first + second, 20_000);
    // While a packet waits at one path, the next packet uses the other path.
    assert!(first.abs_diff(second) <= 2, "{first} and {second} packets");
    for id in 0..2 {
        let late_ps = both.fct(id) - alone.fct(0);
        assert!(late_ps <= 4 * FRAME_PS, "flow {id} is {late_ps} ps late");
    }
}

// PTH-02
#[test]
fn a_path_of_half_the_rate_carries_half_the_bytes() {
    let mut setup = two_paths(LEAST_LOADED, 50, 100_000_000);
    setup.until_ps = 2 * MS;
    let (outcome, _) = setup.run();
    let (first, second) = split(&outcome);
    // The senders offer 200 Gbps, so both paths are always busy.
    let most = 2 * MS / FRAME_PS;
    assert!(first.abs_diff(most) <= 50, "{first} of {most} packets");
    assert!(
        first.abs_diff(2 * second) <= 4,
        "{first} and {second} packets"
    );
}

// PTH-05
#[test]
fn a_flow_without_gaps_is_one_flowlet_and_arrives_in_order() {
    let flowlets = |gap_ps| {
        let entries = 4096;
        PathChoice::Flowlet(FlowletConfig { gap_ps, entries })
    };
    let mut setup = two_paths(flowlets(US), 100, 10_000_000);
    setup.nic.reorders = true;
    let (outcome, _) = setup.run();
    // The first packets arrive together, so the second flow avoids the port of the first one, which
    // is loaded.
    assert_eq!(split(&outcome), (10_000, 10_000));
    assert_eq!(outcome.counters.overtaken, 0);
    // If the gap is shorter than a frame, each packet is a flowlet.
    let (outcome, _) = two_paths(flowlets(FRAME_PS - 1), 100, 10_000_000).run();
    let (least_loaded, _) = two_paths(LEAST_LOADED, 100, 10_000_000).run();
    assert_eq!(outcome.digest, least_loaded.digest);
}
