//! Failure and recovery of a link at a NIC. The rules are in `specs/links.md`.

use std::sync::Arc;

use super::Nic;
use super::half::SendingHalf;
use super::halves::each;
use super::reach::Reach;
use crate::packet::{Arena, PacketId};
use crate::ports::Ports;
use crate::sink::{DropCause, Sink};
use crate::units::Time;

impl Nic {
    /// Handles the failure or recovery of the link at a port. Both ends detect it at the same
    /// instant and reset: all pauses end, and replies queued at the port are lost. Returns the
    /// number of lost replies. While a link is down, the simulator requests no packet of its port.
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
        common.ports(now, arena, sink).forget_neighbour(port);
        let mut lost = each!(&mut self.half, half => half.link(now, common, port, arena, sink));
        lost.extend(common.egress.replies.take_all(port, arena));
        self.reset_link(now, port, arena, sink);
        // Control frames between neighbours do not count as lost replies.
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

    /// Sets which endpoints can reach each other. `parts` contains the index of the network
    /// partition of each endpoint, or [`CUT_OFF`](super::CUT_OFF). With `None` all endpoints can
    /// reach each other. Flows to unreachable receivers wait.
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
