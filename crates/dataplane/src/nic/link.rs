//! Links that fail and come back, as the host at one end sees it. The rules are in
//! `specs/links.md`.

use std::sync::Arc;

use super::{FlowStart, Nic, Sender};
use crate::config::NicConfig;
use crate::nic::sender::State;
use crate::packet::{Arena, PacketId};
use crate::sink::{DropCause, Sink};
use crate::units::Time;

/// The part of the network of an endpoint whose own link is down: nobody reaches it.
pub const CUT_OFF: u32 = u32::MAX;

/// In which part of the network every endpoint is: those of one part reach each other.
// LNK-13
#[derive(Clone, Debug)]
pub(super) struct Reach(Arc<[u32]>);

impl Reach {
    /// Whether no way leads from one endpoint to the other.
    pub fn cuts(&self, src: u32, dst: u32) -> bool {
        let part = self.0[src as usize];
        part == CUT_OFF || part != self.0[dst as usize]
    }
}

impl Nic {
    /// The link at a port has failed, or is back. Both ends hear of it at the same instant and
    /// begin anew: nobody is held, and replies that wait at a dead port are lost. Returns how many those were. The driver asks a
    /// dead port for nothing.
    // LNK-20, LNK-21, LNK-23
    pub fn link<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        up: bool,
        arena: &mut Arena,
        sink: &mut S,
    ) -> u64 {
        self.sender.forget_neighbour(&self.config, port, sink);
        let mut lost = 0;
        for id in self.drive(now, sink, |driven, cx| driven.link(cx, port, arena)) {
            lose(id, arena, sink);
            lost += 1;
        }
        for class in 0..self.classes {
            let replies = &mut self.replies[port as usize * self.classes + class];
            while let Some(id) = replies.pop(arena) {
                lose(id, arena, sink);
                lost += 1;
            }
            self.sender.set_replies(port, class as u8, false);
        }
        if up {
            sink.kick(port);
        }
        lost
    }

    /// Which endpoints reach each other from now on: `parts` names the part of the network of each,
    /// or [`CUT_OFF`]; `None`: all do. Flows to receivers out of reach wait.
    // LNK-13
    pub fn reach<S: Sink>(&mut self, now: Time, parts: Option<&Arc<[u32]>>, sink: &mut S) {
        let reach = parts.map(|parts| Reach(Arc::clone(parts)));
        self.sender.set_reach(now, &self.config, reach, sink);
    }
}

fn lose<S: Sink>(id: PacketId, arena: &mut Arena, sink: &mut S) {
    sink.dropped(arena.hot(id), DropCause::Link);
    if !sink.keep(id, DropCause::Link) {
        arena.free(id);
    }
}

impl Sender {
    /// Lets everything go that the neighbour at a port holds. What a host keeps about its switch is forgotten here, and only here.
    // LNK-21
    fn forget_neighbour<S: Sink>(&mut self, config: &NicConfig, port: u16, sink: &mut S) {
        let (before, _) = self.pause_classes(port, u8::MAX, false);
        if before != 0 {
            sink.pfc_received(port, before, 0);
        }
        if !self.held.is_empty() {
            let flows = self.flows.iter().filter(|flow| flow.start.port == port);
            for flow in flows {
                self.held.remove(&flow.start.flow);
            }
            self.unpark(port);
        }
        for dst in self.destinations.paused_at(port) {
            self.pause_destination(port, dst, false);
        }
        self.pause_exactly(config, port, &[], sink);
    }

    fn set_reach<S: Sink>(
        &mut self,
        now: Time,
        config: &NicConfig,
        reach: Option<Reach>,
        sink: &mut S,
    ) {
        self.reach = reach;
        for slot in 0..self.flows.len() as u32 {
            if self.flows[slot as usize].state == State::Cut && !self.is_cut(slot) {
                self.flows[slot as usize].state = State::Blocked;
                self.revive(now, config, slot, sink);
            }
        }
    }

    /// Whether the receiver of a flow is out of reach.
    pub(super) fn is_cut(&self, slot: u32) -> bool {
        self.cuts(&self.flows[slot as usize].start)
    }

    /// Whether the receiver of a flow is out of reach, whoever sends the flow.
    pub(super) fn cuts(&self, start: &FlowStart) -> bool {
        let reach = self.reach.as_ref();
        reach.is_some_and(|reach| reach.cuts(start.src, start.dst))
    }
}
