//! The trait of sending halves of a NIC, and the state of a NIC that they share.

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

/// State of a NIC, without its sending half.
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

/// Decides when the packets of flows are sent. There is a sending half for each congestion control
/// of a sender, for each receiver-driven transport, and for the host of the ns-3 simulator. The
/// compiler generates code for each half: a call of the NIC branches once to the code of its half.
pub(crate) trait SendingHalf {
    /// Starts a flow. Flows with the same `pair` share a queue pair if the half supports shared
    /// queue pairs.
    fn start<S: Sink>(
        &mut self,
        now: Time,
        nic: &mut Common,
        flow: &FlowStart,
        pair: Option<u32>,
        sink: &mut S,
    );

    /// Handles a reply to a flow of this NIC. `arrived` is the ingress port and the frame. A
    /// receiver-driven transport also handles data packets and all other frames of flows here.
    fn receive<S: Sink>(
        &mut self,
        now: Time,
        nic: &mut Common,
        arrived: (u16, PacketId),
        arena: &mut Arena,
        sink: &mut S,
    );

    /// Removes and returns the next packet to send at `port`, whose link is free.
    fn transmit<S: Sink>(
        &mut self,
        now: Time,
        nic: &mut Common,
        port: u16,
        arena: &mut Arena,
        sink: &mut S,
    ) -> Option<PacketId>;

    /// Handles the timers that have expired. The time was passed to [`Sink::wake`].
    fn timer<S: Sink>(&mut self, now: Time, nic: &mut Common, arena: &mut Arena, sink: &mut S);

    /// Handles a timer that was set with [`Sink::call`]. Most halves use only `Sink::wake`.
    fn called<S: Sink>(&mut self, _now: Time, _nic: &mut Common, _what: u32, _sink: &mut S) {}

    /// Queues a reply (ACK, NAK or CNP) of this NIC.
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

    /// Handles the notification that a data packet of a flow of this NIC was dropped. Only the loss
    /// recovery of senders with a congestion control uses such notifications.
    // REC-30
    fn dropped<S: Sink>(
        &mut self,
        _now: Time,
        _nic: &mut Common,
        _packet: &Packet,
        _cold: &Cold,
        _sink: &mut S,
    ) {
    }

    /// Handles a change of the receivers that can be reached. The default does nothing, for halves
    /// whose flows do not wait for reachable receivers.
    // LNK-13
    fn reach_changed<S: Sink>(&mut self, _now: Time, _nic: &mut Common, _sink: &mut S) {}

    /// Handles the failure or recovery of the link at `port`. Returns the replies that the half
    /// itself had queued for this port. [`Egress`] has the other replies.
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

    /// Updates counters that are computed late, at the end of a run. Most halves have none.
    fn settle<S: Sink>(&mut self, _now: Time, _nic: &mut Common, _sink: &mut S) {}

    /// Prefetches the memory that an ACK of the flow in `slot` will read. Changes no state.
    fn prefetch(&self, _nic: &Common, _slot: FlowSlot) {}

    /// Calls `visit` with every unfinished flow.
    fn for_each_flow(&self, nic: &Common, visit: &mut dyn FnMut(&Unfinished));

    /// Calls `visit` with every flow of a port and class that has bytes left to send.
    // SPFC-44
    fn for_each_unsent(
        &self,
        nic: &Common,
        port: u16,
        class: u8,
        visit: &mut dyn FnMut(&FlowStart),
    );

    /// Returns true if calls of `transmit` change state even if no packet can be sent.
    fn is_polled(&self) -> bool {
        false
    }

    /// Returns the number of replies that the half itself has queued, without those of [`Egress`].
    fn queued(&self, _arena: &Arena) -> u64 {
        0
    }

    /// Returns the number of credits that a receiver-driven transport has created and not sent.
    fn waiting_credits(&self) -> u64 {
        0
    }
}
