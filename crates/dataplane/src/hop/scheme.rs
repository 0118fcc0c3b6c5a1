//! Downstream half of a hop scheme: state of a switch that reacts to the steps of packets.

use std::fmt::Debug;

use crate::declaration::{Counter, Declaration};
use crate::packet::{Arena, Packet, PacketId, SchemeNumber};
use crate::pipeline::Pipeline;
use crate::pipeline::context::Cx;
use crate::pipeline::pairs::Pairs;
use crate::pipeline::steps::{Outcome, Step, Steps};
use crate::ports::Ports;
use crate::sink::Sink;
use crate::units::{Rate, Time};

/// Sums of credits, in units of the scheme. The switches of a network must agree on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CreditSums {
    /// Units sent through a port to a switch that returns credits.
    pub sent: u64,
    /// Units that arrived from switches.
    pub arrived: u64,
    /// Units sent back in credits.
    pub told: u64,
    /// Units refunded by received credits.
    pub taken: u64,
    /// Units in flight according to the sender.
    pub in_flight: u64,
}

/// Properties of a switch when its schemes are created.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// Rate of each port, and one-way delay of its link.
    pub ports: &'a [(Rate, Time)],
    /// Size of the largest frame in bytes.
    pub max_frame: u16,
    /// Shared parts of the switch: queues, buffer, routes.
    pub core: &'a Pipeline,
}

/// Facts about the network that a switch receives.
#[derive(Clone, Debug)]
pub enum Topology<'a> {
    /// Only packets of these pairs of (ingress, egress) may pause their upstream; `None`: all may.
    Pairs(Option<Pairs>),
    /// True for each port that leads away from the hosts. Reported before the first packet.
    Upward(&'a [bool]),
    /// The routes of the switch have changed.
    // LNK-27
    Routes,
}

/// State of a hop scheme at a switch.
pub trait HopScheme: Debug + Send + Sized + 'static {
    /// Configuration of the scheme at a switch.
    type Config: Declaration + Clone + PartialEq + 'static;

    /// Number of the scheme in its frames.
    const NUMBER: SchemeNumber;

    /// The counters of the scheme.
    const COUNTERS: &'static [Counter];

    /// Steps (`ARRIVE`, `ENQUEUE`, `DEPART`) to which the scheme reacts.
    const WATCHES: Steps;

    /// Creates the state of a switch.
    fn new(config: &Self::Config, site: &Site<'_>) -> Self;

    /// Applies a frame of the neighbour to a port of a switch or NIC. `list` belongs to the frame.
    fn obey<P: Ports + ?Sized>(ports: &mut P, port: u16, frame: &Packet, list: &[u32]);

    /// Writes the counters of a switch in the order of [`HopScheme::COUNTERS`]. `of` is the
    /// scheme's state, or `None` if the switch does not have the scheme.
    fn count(of: Option<&Self>, core: &Pipeline, values: &mut [u64]);

    /// Reacts to a step of a packet.
    fn step<S: Sink>(&mut self, cx: &mut Cx<'_, S>, step: Step<'_>) -> Outcome;

    /// Handles a link that has failed or recovered: neither end pauses the other any more.
    // LNK-21
    fn link<S: Sink>(&mut self, cx: &mut Cx<'_, S>, port: u16);

    /// Applies a fact about the network.
    fn learn(&mut self, _core: &Pipeline, _fact: Topology<'_>) {}

    /// Returns true if all credits that can return have returned, so that a run may end.
    fn is_at_rest(&self) -> bool {
        true
    }

    /// Returns true if the scheme pauses a queue, flow or destination upstream.
    fn pauses_upstream(&self) -> bool;

    /// Reports queued packets and pauses, for a run that stalled.
    fn explain_stall(&self, _say: &mut dyn FnMut(String)) {}

    /// Compares the scheme's counters with the packets in the switch. Returns the violations.
    fn audit(&self, _core: &Pipeline, _arena: &Arena) -> Vec<String> {
        Vec::new()
    }

    /// Returns the number of the upstream queue or flow that a queued packet keeps paused.
    // LNK-41
    fn pauses_by_name(&self, _packet: &Packet) -> Option<u32> {
        None
    }

    /// Returns the sums on which switches must agree, if the scheme has credits.
    fn credit_sums(&self) -> Option<CreditSums> {
        None
    }

    /// Returns the bytes in VOQs for a port, and the maximum of its queued and parked bytes.
    fn voq_bytes(&self, _port: u16) -> Option<(u64, u64)> {
        None
    }

    /// Returns the VOQ of a destination and its number of packets there, or `None` if it has no
    /// VOQ.
    fn voq_of(&self, _dst: u32) -> Option<(u32, u32)> {
        None
    }

    /// Calls `visit` with every packet in a VOQ.
    fn for_each_parked(&self, _arena: &Arena, _visit: &mut dyn FnMut(PacketId)) {}
}
