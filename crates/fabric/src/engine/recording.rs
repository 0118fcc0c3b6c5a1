//! Connects a partition with the measures of its run.

use dataplane::event::{NodeEvent, PauseSent};
use dataplane::hop::pfc;
use dataplane::packet::{Kind, Packet, PacketId};
use dataplane::units::Time;

use super::measure::{Event, Journey, Measures, View};
use super::merge::Merged;
use super::partition::Partition;
use crate::ids::{LinkId, LocalNode};
use crate::record::Violation;

/// Maximum number of errors of delay breakdowns that the audit reports.
const MOST_VIOLATIONS: usize = 20;

impl<C> Partition<C> {
    /// Returns the measures, if there are any, and the state that they may read.
    #[inline(always)]
    fn measures(&mut self) -> Option<(&mut Measures, View<'_>)> {
        let measures = self.measures.as_deref_mut()?;
        let view = View {
            now: self.core.now,
            reply: &self.reply,
            graph: &self.graph,
            links: &self.core.links,
            nodes: &self.core.nodes,
            nics: &self.nics,
            switches: &self.switches,
            flows: &self.flows.live,
            arena: &self.arena,
        };
        Some((measures, view))
    }

    /// Passes an event to the measures that handle its kind.
    #[inline(always)]
    pub(super) fn emit(&mut self, event: Event<'_>) {
        if self.core.wants.intersects(event.kind())
            && let Some((measures, view)) = self.measures()
        {
            measures.emit(event.kind(), &event, &view);
        }
    }

    /// Passes the events that nodes have reported to the measures.
    #[inline(never)]
    pub(super) fn emit_reported(&mut self) {
        let mut at = 0;
        while let Some(&event) = self.core.reported.get(at) {
            at += 1;
            if let Some((measures, view)) = self.measures() {
                measures.emit(Event::REPORTED, &event, &view);
            }
            if let Event::Node { what, .. } = event
                && let NodeEvent::PauseSent(PauseSent { frame, .. })
                | NodeEvent::QueuePauseSent { frame, .. } = what
                && let Some(cold) = self.reply.cold.take()
            {
                *self.arena.cold_mut(frame) = cold;
            }
        }
        self.core.reported.clear();
    }

    /// Returns true if a measure needs the arrival of a packet or frame.
    #[inline(always)]
    pub(super) fn wants_arrival(&self, id: PacketId, is_frame: bool) -> bool {
        let measures = self.measures.as_ref();
        self.core.wants.intersects(Event::ARRIVALS)
            && (is_frame || measures.is_some_and(|measures| measures.follow(id)))
    }

    /// Reports a packet or frame that has arrived at a port of a node, before the node processes
    /// it. Returns a copy of the packet.
    #[inline(never)]
    pub(super) fn emit_arriving(&mut self, node: LocalNode, link: LinkId, id: PacketId) -> Packet {
        let packet = *self.arena.hot(id);
        if packet.is_frame() && self.core.wants.intersects(NodeEvent::PAUSE_SENT) {
            // SPFC-40: the cold part of a PFC frame contains the index of the pause
            let number = pfc::said(&packet).map(|_| self.arena.cold(id).credit);
            self.core.reading = number;
        }
        let to_host = node.switch(self.nics.len()).is_none();
        self.emit(Event::Arriving {
            node,
            link,
            to_host,
            id,
        });
        packet
    }

    /// Reports that a node has processed a packet or frame.
    #[inline(never)]
    pub(super) fn emit_arrived(
        &mut self,
        node: LocalNode,
        link: LinkId,
        id: PacketId,
        packet: &Packet,
    ) {
        if !self.core.reported.is_empty() {
            self.emit_reported();
        }
        let to_host = node.switch(self.nics.len()).is_none();
        self.emit(Event::Arrived {
            node,
            link,
            to_host,
            id,
            packet,
        });
    }

    /// Reports the pauses of a node that have just expired: the entries from index `first` on.
    // QNT-08, BLM-22: the pause ends without a frame
    #[cold]
    pub(super) fn emit_expired(&mut self, node: LocalNode, first: usize) {
        self.emit_reported();
        let base = self.core.nodes[node].base;
        for nth in first..self.core.pauses.len() {
            let pause = &self.core.pauses[nth];
            let (link, class) = (base.at_port(pause.port), pause.class);
            self.emit(Event::PauseExpired { link, class });
        }
    }

    /// Reports that the receiver of a flow has received the last byte.
    // BLM-02: an error of the breakdown is an error of the run
    pub(super) fn emit_delivered(&mut self, flow: u32) {
        self.emit(Event::FlowDelivered { flow });
        if let Some(message) = self.reply.error.take()
            && self.flows.violations.len() < MOST_VIOLATIONS
        {
            let check = "account";
            self.flows.violations.push(Violation { check, message });
        }
    }

    /// Reports a packet that is sent to another partition. Returns the packet's journey (delay so
    /// far) if it is recorded.
    // BLM-04: the journey goes with the packet
    #[inline]
    pub(super) fn emit_leaving(&mut self, id: PacketId) -> Option<Journey> {
        self.emit(Event::Leaving { id });
        let journey = self.reply.journey.take();
        journey.filter(|_| self.arena.hot(id).kind() == Kind::Data)
    }

    /// Outputs the rows that are complete after all events up to and including `at_ps`.
    pub(super) fn record_probe(&mut self, at_ps: Time, out: &mut Merged) {
        if let Some(measures) = &mut self.measures {
            measures.probe(at_ps, out);
        }
    }

    /// Outputs all remaining rows when the run ends at `end_ps`.
    pub(super) fn record_end(&mut self, end_ps: Time, out: &mut Merged) {
        if let Some((measures, view)) = self.measures() {
            measures.finish(end_ps, &view, out);
        }
    }
}
