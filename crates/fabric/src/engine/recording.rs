//! Connects a partition with what it records.

use dataplane::hop::pfc;
use dataplane::packet::{Arena, Kind, PacketId};
use dataplane::units::Time;

use super::flow_state::FlowAt;
use super::heard::Heard;
use super::measure::{Recording, View};
use super::merge::Merged;
use super::partition::Partition;
use crate::ids::{LinkId, LocalNode};
use crate::record::Violation;

/// Accounts that do not add up are named up to this number.
const MOST_VIOLATIONS: usize = 20;

/// A frame that has arrived at a node and may change a delay breakdown.
#[derive(Clone, Copy, Debug)]
pub(super) enum Came {
    /// A frame between neighbours; the link back.
    Frame { link: LinkId },
    /// A data packet that a measure follows. Its record may have been reused.
    Followed { id: PacketId, flow: u32, psn: u32 },
}

impl Came {
    /// Classifies a frame that arrived on the reverse direction of `link`. Returns `None` if no delay breakdown needs
    /// it.
    #[inline]
    pub fn of(arena: &Arena, id: PacketId, link: LinkId, recording: &Recording) -> Option<Self> {
        let packet = arena.hot(id);
        if packet.is_frame() {
            return Some(Self::Frame { link });
        }
        let (flow, psn) = (packet.flow, packet.psn);
        let is_followed = packet.kind() == Kind::Data && recording.follows(id);
        is_followed.then_some(Self::Followed { id, flow, psn })
    }
}

impl<C> Partition<C> {
    /// Calls `with` with what is recorded, if anything is, and all that it may look at.
    fn with_view<T>(&mut self, with: impl FnOnce(&mut Recording, &View<'_>) -> T) -> Option<T> {
        let recording = self.recording.as_mut()?;
        let view = View {
            graph: &self.graph,
            links: &self.core.links,
            nodes: &self.core.nodes,
            nics: &self.nics,
            switches: &self.switches,
            flows: &self.flows.live,
            arena: &self.arena,
        };
        Some(with(recording, &view))
    }

    /// Handles the pauses and resumes that switches have queued in this event.
    #[cold]
    pub(super) fn follow_pauses_sent(&mut self) {
        let now = self.core.now;
        let mut all = std::mem::take(&mut self.core.pauses_sent);
        for sent in all.drain(..) {
            let carried = self.with_view(|recording, view| recording.pfc_sent(now, &sent, view));
            if let Some(cold) = carried.flatten() {
                *self.arena.cold_mut(sent.frame) = cold;
            }
        }
        self.core.pauses_sent = all;
    }

    /// A frame is about to be read; it may be a pause or resume.
    pub(super) fn read_pause(&mut self, node: LocalNode, port: u16, id: PacketId) {
        self.core.reading = None;
        // BLM-32
        let cold = self.arena.cold(id);
        self.core.reading_root = (cold.credit != 0).then_some(LinkId::from_bits(cold.src));
        if pfc::said(self.arena.hot(id)).is_some() {
            let now = self.core.now;
            let number = self
                .with_view(|recording, view| recording.pfc_arrives(now, (node, port), id, view));
            self.core.reading = number.flatten();
        }
    }

    /// Pauses of a node have run out, about which no frame came: those of the records from here on.
    // QNT-08, BLM-22
    #[cold]
    pub(super) fn follow_expired(&mut self, node: LocalNode, first: usize) {
        let (now, base) = (self.core.now, self.core.nodes[node].base);
        for nth in first..self.core.pauses.len() {
            let over = &self.core.pauses[nth];
            let at = (base.at_port(over.port), over.class);
            self.with_view(|recording, view| recording.pause_expires(now, at, view));
            if self.core.listens {
                self.follow_holds(at.0, false);
            }
        }
    }

    /// Passes the events of nodes to the measures.
    #[inline(never)]
    pub(super) fn tell_measures(&mut self) {
        let now = self.core.now;
        let mut at = 0;
        while let Some(&heard) = self.core.heard.get(at) {
            at += 1;
            if let Heard::Waits { flow, cookie, wait } = heard {
                if let Some(recording) = &mut self.recording {
                    recording.flow_waits(now, FlowAt { flow, cookie }, wait);
                }
                continue;
            }
            let carried = self.with_view(|recording, view| recording.heard(now, heard, view));
            if let (Some(cold), Heard::HoldSent { frame, .. }) = (carried.flatten(), heard) {
                *self.arena.cold_mut(frame) = cold;
            }
        }
        self.core.heard.clear();
    }

    /// A frame has arrived at a switch, which has processed it.
    // BLM-22
    #[inline(never)]
    pub(super) fn follow_to_switch(&mut self, node: LocalNode, came: Came) {
        let now = self.core.now;
        match came {
            Came::Frame { link } => self.follow_holds(link, false),
            Came::Followed { id, flow, psn } => {
                let is = |heard: &Heard| matches!(heard, Heard::Dropped { flow: f, psn: p, .. } if (*f, *p) == (flow, psn));
                let still_data = self.arena.hot(id).kind() == Kind::Data;
                let gone = !still_data || self.core.heard.iter().any(is);
                self.with_view(|recording, view| match gone {
                    true => recording.packet_gone(id),
                    false => recording.came_to_switch(now, node, id, view),
                });
            }
        }
    }

    /// A port has chosen a packet to send, and its node may have reported events.
    // BLM-12, BLM-22
    #[inline]
    pub(super) fn follow_choice(&mut self, link: LinkId) {
        if self.core.sending_holds {
            self.follow_holds(link, true);
        } else if !self.core.heard.is_empty() {
            self.tell_measures();
        }
    }

    /// The pauses of the port that sends on a link may have changed: because it sent a frame, or because one arrived.
    // BLM-12, BLM-22
    #[inline(never)]
    pub(super) fn follow_holds(&mut self, link: LinkId, sent: bool) {
        let now = self.core.now;
        if !self.core.heard.is_empty() {
            self.tell_measures();
        }
        let near = &self.core.links.near[link];
        let (classes, by_flow) = match near.node.switch(self.nics.len()) {
            Some(at) => {
                let switch = &self.switches[at];
                (switch.held_classes(near.port), switch.holds_flows())
            }
            None => (self.nics[near.node.index()].held_classes(near.port), false),
        };
        let Some(recording) = &mut self.recording else {
            return;
        };
        if recording.holds_change(now, link, classes) || !sent || by_flow {
            self.look_again(link);
        }
    }

    #[inline(never)]
    fn look_again(&mut self, link: LinkId) {
        let now = self.core.now;
        self.with_view(|recording, view| recording.look_again(now, link, view));
    }

    /// The receiver of a flow has everything: its account is closed.
    // BLM-02
    pub(super) fn close_account(&mut self, flow: u32) {
        let Some(recording) = &mut self.recording else {
            return;
        };
        let wrong = recording.flow_delivered(self.core.now, flow, &self.graph);
        if let Some(message) = wrong
            && self.flows.violations.len() < MOST_VIOLATIONS
        {
            let check = "account";
            self.flows.violations.push(Violation { check, message });
        }
    }

    /// Hands over the rows that are complete when everything up to and with `at_ps` has happened.
    pub(super) fn record_probe(&mut self, at_ps: Time, out: &mut Merged) {
        self.with_view(|recording, _| recording.probe(at_ps, out));
    }

    /// The run ended at `end_ps`: hands over all other rows.
    pub(super) fn record_end(&mut self, end_ps: Time, out: &mut Merged) {
        self.with_view(|recording, view| recording.finish(end_ps, view, out));
    }
}
