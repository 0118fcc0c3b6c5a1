//! The sending half of a NIC as the NIC sees it, and what every such half works with.

use std::sync::Arc;

use super::egress::Egress;
use super::incoming::Incoming;
use crate::config::NicConfig;
use crate::counters::NicCounters;
use crate::flow::{FlowStart, Unfinished};
use crate::ids::FlowSlot;
use crate::incoming::IncomingFlows;
use crate::packet::{Arena, Cold, Packet, PacketId};
use crate::sink::Sink;
use crate::units::{Rate, Time};

/// Everything of a NIC but its sending half.
#[derive(Debug)]
pub(crate) struct Common {
    pub config: Arc<NicConfig>,
    pub egress: Egress,
    /// Flows that this NIC receives.
    pub(super) incoming: IncomingFlows<Incoming>,
    pub counters: NicCounters,
}

impl Common {
    pub fn new(config: &Arc<NicConfig>, classes: usize, ports: &[Rate]) -> Self {
        Self {
            config: Arc::clone(config),
            egress: Egress::new(config, classes, ports),
            incoming: IncomingFlows::new(),
            counters: NicCounters::default(),
        }
    }
}

/// What decides when the packets of flows are sent. There is one for each control of senders, one for
/// each receiver-driven transport, and that of the ns-3 simulator. The NIC chooses among them once per
/// call.
pub(crate) trait SendingHalf {
    /// A flow begins. Flows with the same `pair` share a queue pair; halves without state that flows
    /// could share take no notice of it.
    fn start<S: Sink>(
        &mut self,
        now: Time,
        nic: &mut Common,
        flow: &FlowStart,
        pair: Option<u32>,
        sink: &mut S,
    );

    /// A reply to a flow of this NIC arrived by `port`. A receiver-driven transport also gets all other
    /// frames of flows.
    fn receive<S: Sink>(
        &mut self,
        now: Time,
        nic: &mut Common,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    );

    /// What leaves by `port`, whose link is free.
    fn transmit<S: Sink>(
        &mut self,
        now: Time,
        nic: &mut Common,
        port: u16,
        arena: &mut Arena,
        sink: &mut S,
    ) -> Option<PacketId>;

    /// The time that was given to [`Sink::wake`] has come.
    fn timer<S: Sink>(&mut self, now: Time, nic: &mut Common, arena: &mut Arena, sink: &mut S);

    /// A time that was given to [`Sink::call`] has come. Most halves use only `wake`.
    fn called<S: Sink>(&mut self, _now: Time, _nic: &mut Common, _what: u32, _sink: &mut S) {}

    /// A reply (ACK, NAK or CNP) of this NIC is to be sent.
    fn reply<S: Sink>(
        &mut self,
        nic: &mut Common,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        nic.egress.replies.send(port, id, arena, sink);
    }

    /// A data packet of a flow of this NIC was dropped, and the NIC is told. Only a recovery that
    /// configurations combine with the controls of senders has that.
    // REC-30
    fn told<S: Sink>(
        &mut self,
        _now: Time,
        _nic: &mut Common,
        _packet: &Packet,
        _cold: &Cold,
        _sink: &mut S,
    ) {
    }

    /// Other receivers can be reached than before. A half whose flows do not wait for that does nothing.
    // LNK-13
    fn reach_changed<S: Sink>(&mut self, _now: Time, _nic: &mut Common, _sink: &mut S) {}

    /// The link at `port` has failed, or is back. Returns the packets that waited there as answers.
    fn link<S: Sink>(
        &mut self,
        _now: Time,
        _nic: &mut Common,
        _port: u16,
        _arena: &Arena,
        _sink: &mut S,
    ) -> Vec<PacketId> {
        Vec::new()
    }

    /// The run is over: counts what was put off. Most halves put nothing off.
    fn settle<S: Sink>(&mut self, _now: Time, _nic: &mut Common, _sink: &mut S) {}

    /// Fetches what an acknowledgement of the flow in this slot will touch. Changes nothing.
    fn prefetch(&self, _nic: &Common, _slot: FlowSlot) {}

    /// Calls `visit` with every unfinished flow.
    fn for_each_flow(&self, nic: &Common, visit: &mut dyn FnMut(&Unfinished));

    /// Calls `visit` with every flow of a port and class that has something left to send.
    // SPFC-44
    fn for_each_unsent(
        &self,
        nic: &Common,
        port: u16,
        class: u8,
        visit: &mut dyn FnMut(&FlowStart),
    );

    /// Calls of `transmit` have effects even where nothing can be sent.
    fn is_polled(&self) -> bool {
        false
    }

    /// Packets that wait to be sent as answers, besides the replies of [`Egress`].
    fn queued(&self, _arena: &Arena) -> u64 {
        0
    }

    /// Credits that were made and not sent.
    fn waiting_credits(&self) -> u64 {
        0
    }
}
