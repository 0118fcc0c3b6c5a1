//! Links that fail and come back, as the host at one end sees it. The rules are in
//! `specs/links.md`.

use crate::classes::ClassSet;
use std::sync::Arc;

use super::Nic;
use super::egress::Egress;
use super::half::SendingHalf;
use super::halves::each;
use super::reach::Reach;
use crate::config::NicConfig;
use crate::packet::{Arena, PacketId};
use crate::sink::{DropCause, Sink};
use crate::units::Time;

impl Nic {
    /// The link at a port has failed, or is back. Both ends hear of it at the same instant and
    /// begin anew: nothing is paused, and replies that wait at a dead port are lost. Returns how many
    /// those were. The driver does not call a dead port.
    // LNK-20, LNK-21, LNK-23
    pub fn link<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        up: bool,
        arena: &mut Arena,
        sink: &mut S,
    ) -> u64 {
        let common = &mut self.common;
        common.egress.forget_neighbour(&common.config, port, sink);
        let mut lost = each!(&mut self.half, half => half.link(now, common, port, arena, sink));
        lost.extend(common.egress.replies.take_all(port, arena));
        self.reset_link(now, port, arena, sink);
        // Frames for the neighbour are no packets that somebody waits for.
        let (frames, lost): (Vec<PacketId>, Vec<PacketId>) =
            lost.into_iter().partition(|&id| arena.hot(id).is_frame());
        frames.into_iter().for_each(|id| arena.free(id));
        for &id in &lost {
            lose(port, id, arena, sink);
        }
        if up {
            sink.kick(port);
        }
        lost.len() as u64
    }

    /// Which endpoints reach each other from now on: `parts` names the part of the network of each,
    /// or [`CUT_OFF`](super::CUT_OFF); `None`: all do. Flows to receivers out of reach wait.
    // LNK-13
    pub fn reach<S: Sink>(&mut self, now: Time, parts: Option<&Arc<[u32]>>, sink: &mut S) {
        self.common.egress.reach = parts.map(|parts| Reach(Arc::clone(parts)));
        each!(&mut self.half, half => half.reach_changed(now, &mut self.common, sink));
    }
}

fn lose<S: Sink>(port: u16, id: PacketId, arena: &mut Arena, sink: &mut S) {
    sink.dropped(arena.hot(id), Some(port), DropCause::Link);
    if !sink.keep(id, DropCause::Link) {
        arena.free(id);
    }
}

impl Egress {
    /// Lets everything go that the neighbour at a port holds. What a host keeps about its switch is
    /// forgotten here, and only here.
    // LNK-21
    fn forget_neighbour<S: Sink>(&mut self, config: &NicConfig, port: u16, sink: &mut S) {
        self.forget_times(port, ClassSet::MAX);
        let (before, _) = self.pause_classes(port, ClassSet::MAX, false);
        if before != 0 {
            sink.pfc_received(port, before, 0);
        }
        if !self.held.is_empty() {
            let flows = self.flows.iter().filter(|flow| flow.start.port == port);
            for flow in flows {
                self.held.remove(&flow.start.flow);
            }
            self.unpark(port, sink);
        }
        for dst in self.destinations.paused_at(port) {
            self.pause_destination(port, dst, false, sink);
        }
        self.pause_exactly(config, port, &[], sink);
    }
}
