//! Networks whose behaviour can be computed by hand or is known from another simulator: queueing
//! theory, buffers in the worst case, backpressure, fairness, losses, and invariants under random
//! load.

mod backpressure;
mod bolt;
mod conservation;
mod controls;
mod cycles;
mod engine;
mod equilibria;
mod fairness;
mod hpcc;
mod loss;
mod lossless;
mod notices;
mod paths;
mod quanta;
mod queueing;
mod recovery;
mod reference;
mod switch_paths;
mod variants;

use crate::common::{GBPS_100, LINK};
use dataplane::units::{Rate, Time};
use fabric::NodeId;
use fabric::record::Outcome;
use fabric::topology::{LinkSpec, Loss, TopologySpec};

/// Bytes of a full data frame in the plain presets. `FRAME_PS` is its time at 100 Gbit/s.
const FRAME: u64 = 1048;
const FRAME_PS: Time = FRAME * 80;

const fn link(gbps: u64, delay_ps: Time) -> LinkSpec {
    LinkSpec {
        rate: Rate::from_gbps(gbps),
        delay_ps,
        loss: Loss::NONE,
    }
}

/// A star with `senders` hosts that use the link `feeding`, and one last host with a link of 100
/// Gbit/s.
fn funnel(senders: u32, feeding: LinkSpec) -> TopologySpec {
    let mut links: Vec<_> = (0..senders).map(|h| (h, senders + 1, feeding)).collect();
    links.push((senders, senders + 1, LINK));
    named(senders + 1, 1, links)
}

/// A network of `hosts` hosts and `switches` switches with listed links; the IDs of hosts come
/// before those of switches.
fn named(hosts: u32, switches: u32, links: Vec<(u32, u32, LinkSpec)>) -> TopologySpec {
    TopologySpec::Links {
        hosts: (0..hosts).map(|i| format!("h{i}")).collect(),
        switches: (0..switches).map(|i| format!("s{i}")).collect(),
        links,
    }
}

/// Returns the counters of the port of `node` that leads to `peer`.
fn port(outcome: &Outcome, node: u32, peer: u32) -> &fabric::record::PortRecord {
    let mut ports = outcome.ports.iter();
    ports
        .find(|p| p.node == NodeId::from_bits(node) && p.peer == NodeId::from_bits(peer))
        .expect("the two are neighbours")
}

#[test]
fn frames_of_these_tests_are_what_they_say() {
    assert_eq!(GBPS_100.serialisation_ps(FRAME), FRAME_PS);
}
