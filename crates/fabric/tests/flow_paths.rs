//! The predicted paths of flows, and the order of flow starts within an instant, as in other
//! simulators.

use crate::common::*;
use dataplane::config::PathChoice;
use dataplane::units::{NS, Time};
use fabric::engine::{Clock, flow_paths, run};

/// Flows of 3000 bytes from every host to every host of the other racks, with long gaps between
/// their starts.
fn all_pairs() -> Vec<traffic::Flow> {
    let pairs = (0..8).flat_map(|src| (0..8).map(move |dst| (src, dst)));
    let far = pairs.filter(|&(src, dst): &(u32, u32)| src / 2 != dst / 2);
    (0..)
        .zip(far)
        .map(|(id, (src, dst))| flow(id, Time::from(id) * 1_000_000, src, dst, 3000))
        .collect()
}

// ENG-10, ENG-11
#[test]
fn flows_leave_by_the_ports_that_are_predicted() {
    for path in [PathChoice::Flow, PathChoice::Tuple] {
        let mut setup = line_rate(leaf_spine(4, 3, 2), all_pairs());
        setup.switch.path = path;
        setup.nic.host.ports_in_hash = path == PathChoice::Tuple;
        let expected = flow_paths(setup.clone().plan()).expect("each flow has one path");
        assert_eq!(expected.ends.len(), setup.flows.len());
        let (outcome, _) = setup.clone().run();
        let mut packets = std::collections::BTreeMap::new();
        for link in &expected.links {
            *packets.entry(*link).or_insert(0) += 3;
        }
        let graph = setup.topology.build().unwrap();
        for port in &outcome.ports {
            let link = graph.link(port.node, port.port);
            let predicted = packets.get(&link).copied();
            assert_eq!(
                port.tx_data_packets,
                predicted.unwrap_or(0),
                "{path:?} {port:?}"
            );
        }
        let is_switch = |link| !graph.is_host(graph.port(link).peer);
        let ups = packets
            .keys()
            .filter(|&&link| !graph.is_host(graph.sender(link)) && is_switch(link));
        assert!(ups.count() > 6, "several spines are used");
    }
    let mut spraying = line_rate(leaf_spine(4, 3, 2), all_pairs());
    spraying.switch.path = PathChoice::Packet;
    assert_eq!(flow_paths(spraying.plan()), None);
}

// FGC-32: data and ACKs of a flow use the same links, or ACKs take their own path.
#[test]
fn acks_return_by_the_path_of_their_packets() {
    let used = |acks_return| {
        let mut setup = line_rate(leaf_spine(4, 3, 2), all_pairs());
        setup.switch.acks_return = acks_return;
        let (outcome, _) = setup.run();
        let mut differ = 0;
        for port in &outcome.ports {
            let back = outcome
                .ports
                .iter()
                .find(|p| (p.node, p.peer) == (port.peer, port.node))
                .expect("links have two directions");
            let acks = back.tx_packets - back.tx_data_packets;
            differ += u32::from(acks != port.tx_data_packets);
        }
        differ
    };
    assert_eq!(used(true), 0);
    assert!(used(false) > 0);
}

// FGC-31
#[test]
fn what_starts_comes_before_what_happens() {
    const FRAME: Time = 83 * NS; // 83.84 ns, truncated
    // Host 0 is still sending the first flow when the second flow starts.
    let fct = |start_ps, starts_first| {
        let flows = vec![flow(0, 0, 0, 1, 100_000), flow(1, start_ps, 0, 2, 1000)];
        let mut setup = line_rate(star(3), flows);
        setup.clock = Clock::Nanoseconds { epoch_ps: 0 };
        setup.in_order = true;
        setup.starts_first = starts_first;
        let mut keep = Keep::default();
        let outcome = run(setup.plan(), &mut keep, &mut |_| true);
        assert_eq!(outcome.violations, []);
        keep.fct(1)
    };
    let starts = (0..FRAME / NS).map(|n| 10 * FRAME + n * NS);
    let gains: Vec<Time> = starts
        .map(|start_ps| fct(start_ps, false) - fct(start_ps, true))
        .filter(|&gain_ps| gain_ps > 0)
        .collect();
    assert_eq!(gains, [FRAME], "only when a frame ends at that very ns");
}
