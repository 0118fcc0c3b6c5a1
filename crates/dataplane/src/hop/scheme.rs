//! The downstream half of a hop scheme: the state of a switch that sees the steps of packets.

use std::fmt::Debug;

use crate::declaration::{Counter, Declaration};
use crate::packet::{Arena, Packet, PacketId, SchemeNumber};
use crate::ports::Ports;
use crate::sink::Sink;
use crate::switch::context::Cx;
use crate::switch::pairs::Pairs;
use crate::switch::pipeline::Pipeline;
use crate::switch::steps::{Outcome, Step, Steps};
use crate::units::{Rate, Time};

/// Sums of credits, in units of the scheme. They must agree between the switches of a network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CreditSums {
    /// Units that left by a port towards a switch that credits them.
    pub sent: u64,
    /// Units that came in from switches.
    pub arrived: u64,
    /// Units told in credits.
    pub told: u64,
    /// Units that credits gave back.
    pub taken: u64,
    /// Units that the sending side says are in flight.
    pub in_flight: u64,
}

/// A switch as a scheme finds it when it is made.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// Rates of its ports, and one-way delays of their links.
    pub ports: &'a [(Rate, Time)],
    /// Largest frame in bytes.
    pub max_frame: u16,
    /// Its parts.
    pub core: &'a Pipeline,
}

/// New facts about the network around a switch.
#[derive(Clone, Debug)]
pub enum Topology<'a> {
    /// Only packets of these pairs of (ingress, egress) pause their upstream; `None`: all do.
    Pairs(Option<Pairs>),
    /// These ports lead away from the hosts. Reported before any packet.
    Upward(&'a [bool]),
    /// The routes of the switch have changed.
    // LNK-27
    Routes,
}

/// The state of a hop scheme at a switch.
pub trait HopScheme: Debug + Send + Sized + 'static {
    /// The configuration of a switch.
    type Config: Declaration + Clone + PartialEq + 'static;

    /// The number of the scheme on its frames.
    const NUMBER: SchemeNumber;

    /// The counters of the scheme.
    const COUNTERS: &'static [Counter];

    /// Which of the steps `ARRIVE`, `ENQUEUE` and `DEPART` the scheme watches.
    const WATCHES: Steps;

    /// Returns the state of a new switch.
    fn new(config: &Self::Config, site: &Site<'_>) -> Self;

    /// A port of a switch or a NIC obeys a frame of its neighbour. `list` lies beside the frame.
    fn obey<P: Ports + ?Sized>(ports: &mut P, port: u16, frame: &Packet, list: &[u32]);

    /// Writes the counts of a switch in the order of [`HopScheme::COUNTERS`]. `of` is the scheme's state, if
    /// the switch has the scheme.
    fn count(of: Option<&Self>, core: &Pipeline, values: &mut [u64]);

    /// Acts on a step of a packet.
    fn step<S: Sink>(&mut self, cx: &mut Cx<'_, S>, step: Step<'_>) -> Outcome;

    /// The link at a port has failed or is back: neither end pauses the other any more.
    // LNK-21
    fn link<S: Sink>(&mut self, cx: &mut Cx<'_, S>, port: u16);

    /// Learns a fact about the network.
    fn learn(&mut self, _core: &Pipeline, _fact: Topology<'_>) {}

    /// True if all credits that can return have returned, so that a run may end.
    fn is_at_rest(&self) -> bool {
        true
    }

    /// True if the scheme pauses something upstream.
    fn pauses_upstream(&self) -> bool;

    /// Reports what waits and what is paused, for a run that stalled.
    fn explain_stall(&self, _say: &mut dyn FnMut(String)) {}

    /// Compares the scheme's counters with the packets that are here; returns the violations.
    fn audit(&self, _core: &Pipeline, _arena: &Arena) -> Vec<String> {
        Vec::new()
    }

    /// Returns the number of the queue or flow upstream that a queued packet keeps paused.
    // LNK-41
    fn pauses_by_name(&self, _packet: &Packet) -> Option<u32> {
        None
    }

    /// Returns sums that must agree between switches, if the scheme has credits.
    fn credit_sums(&self) -> Option<CreditSums> {
        None
    }

    /// Returns the bytes in VOQs for a port, and the most bytes that were ever queued at it and in VOQs for it.
    fn voq_bytes(&self, _port: u16) -> Option<(u64, u64)> {
        None
    }

    /// Returns the VOQ of a destination and its number of packets there; `None`: it has no VOQ.
    fn voq_of(&self, _dst: u32) -> Option<(u32, u32)> {
        None
    }

    /// Calls `visit` with every packet in a VOQ.
    fn for_each_parked(&self, _arena: &Arena, _visit: &mut dyn FnMut(PacketId)) {}
}
