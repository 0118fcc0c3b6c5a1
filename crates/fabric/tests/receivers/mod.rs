//! Receiver-driven transports: properties from their papers, in networks where the outcome can be
//! computed.

mod books;
mod expresspass;
mod homa;
mod ndp;

use crate::common::*;
use dataplane::units::Time;
use fabric::record::{Ending, Outcome};
use fabric::topology::{Loss, TopologySpec};
use traffic::Flow;

/// `senders` hosts each send to the last host.
fn incast(senders: u32, bytes: u64) -> Vec<Flow> {
    (0..senders)
        .map(|i| flow(i, 0, i, senders, bytes))
        .collect()
}

/// A star whose links lose a fraction `share` of all frames.
fn lossy(hosts: u32, share: f64) -> TopologySpec {
    let loss = Loss::of(share);
    let link = fabric::topology::LinkSpec { loss, ..LINK };
    TopologySpec::Star { hosts, link }
}

/// Runs a setup, and checks that all flows finish and all audits hold.
#[track_caller]
fn finish(s: Setup) -> (Outcome, Keep) {
    let flows = s.flows.len() as u64;
    let (outcome, keep) = s.run();
    assert_eq!(outcome.finished, flows, "{:?}", outcome.stall);
    assert_eq!(outcome.ending, Ending::Drained);
    (outcome, keep)
}

/// Returns the goodput of a lone flow in bit/s, from the difference between the FCTs of flows of
/// `more` and of `less` bytes. So start and end of a flow have no effect.
fn goodput(preset: impl Fn(Vec<Flow>) -> Setup, less: u64, more: u64) -> f64 {
    let fct = |bytes| -> Time {
        let (_, keep) = finish(preset(vec![flow(0, 0, 0, 1, bytes)]));
        keep.fct(0)
    };
    (more - less) as f64 * 8e12 / (fct(more) - fct(less)) as f64
}
