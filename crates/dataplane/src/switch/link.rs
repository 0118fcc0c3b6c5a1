//! Failure and recovery of a link at a switch. The rules are in `specs/links.md`.

use super::{Pairs, Switch, cx};
use crate::hop::{Hop, HopScheme, Topology, dispatch};
use crate::packet::{Arena, PacketId, flag};
use crate::pipeline::Stranded;
use crate::pipeline::context::Cx;
use crate::pipeline::place::Place;
use crate::pipeline::queueing::Taken;
use crate::pipeline::shaper::SHAPED_CLASS;
use crate::pipeline::steps::{Step, Steps};
use crate::ports::Ports;
use crate::route::Routes;
use crate::sink::{DropCause, Sink};
use crate::units::Time;

impl Switch {
    /// Handles the failure or recovery of the link at a port. `failed` is the treatment of packets
    /// for a failed link, or `None` after recovery. Both ends detect the change at the same instant
    /// and reset: all pauses end, and frames on the link are lost. While a link is down, the
    /// simulator requests no packet of its port.
    // LNK-20
    pub fn link<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        failed: Option<Stranded>,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        self.core.set_dead(port, failed);
        self.forget_neighbour(now, port, arena, sink);
        match failed {
            None => {
                let cx = cx!(self, now, arena, sink);
                cx.pause_again(port); // LNK-22: classes above their threshold
                cx.shape_again(port);
                sink.kick(port);
            }
            Some(Stranded::Drop) => self.flush(now, port, arena, sink),
            Some(Stranded::Wait) => {}
        }
    }

    /// Ends all pauses across a link. This is the only place where schemes reset their state about
    /// a neighbour.
    // LNK-21
    fn forget_neighbour<S: Sink>(&mut self, now: Time, port: u16, arena: &mut Arena, sink: &mut S) {
        // Reset pauses that the neighbour sent.
        cx!(self, now, arena, sink).forget_neighbour(port);
        // Remove queued control frames for the neighbour.
        let core = &mut self.core;
        while let Some(id) = core.queueing.pop_control(port, arena) {
            core.frame_withdrawn(port, arena.hot(id));
            arena.free(id);
        }
        // Pauses of this switch at the neighbour.
        let cx = cx!(self, now, arena, sink);
        dispatch!(&mut self.hop, scheme => scheme.link(cx, port), ());
        cx.with_links(|links, cx| links.reset(cx, port));
        cx.forget_pauses(port);
    }

    /// Drops all packets queued at a port.
    // LNK-23
    fn flush<S: Sink>(&mut self, now: Time, port: u16, arena: &mut Arena, sink: &mut S) {
        while let Some(taken) = self.pop_any(port, arena) {
            let cx = cx!(self, now, arena, sink);
            withdraw(&mut self.hop, cx, port, taken);
            give_up(&mut self.hop, cx, port, taken.id, DropCause::Link);
        }
        self.hop.step(cx!(self, now, arena, sink), Step::Emptied);
    }

    /// Removes the packet that a dead port would send next. No shaper delays it.
    // LNK-28
    fn pop_any(&mut self, port: u16, arena: &Arena) -> Option<Taken> {
        if self.core.steps.has(Steps::SHAPE) {
            self.core.queueing.shape(port, SHAPED_CLASS, false);
        }
        self.core.queueing.pop(port, arena)
    }

    /// Sets new routes. Moves the packets queued at ports whose link is down to the egress ports of
    /// the new routes. `allowed` is the argument of [`Self::allow`].
    // LNK-12, LNK-24, LNK-25
    pub fn reroute<S: Sink>(
        &mut self,
        now: Time,
        routes: Routes,
        allowed: Option<Pairs>,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        self.core.routes = routes;
        self.core.note_change();
        self.allow(allowed);
        self.hop.learn(&self.core, Topology::Routes);
        let mut moved = Vec::new();
        for port in 0..self.ports() {
            if !self.core.is_dead(port) {
                continue;
            }
            while let Some(taken) = self.pop_any(port, arena) {
                withdraw(&mut self.hop, cx!(self, now, arena, sink), port, taken);
                moved.push((port, taken.id));
            }
        }
        for (port, id) in moved {
            self.move_on(now, port, id, arena, sink);
        }
        self.hop.step(cx!(self, now, arena, sink), Step::Emptied);
    }

    /// Appends a packet that was removed from the queue of port `from` to the queue of its new
    /// route, or drops it if there is no route.
    fn move_on<S: Sink>(
        &mut self,
        now: Time,
        from: u16,
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        let packet = *arena.hot(id);
        let Some(port) = self.core.routes.port(&packet, || arena.cold(id).src) else {
            let cx = cx!(self, now, arena, sink);
            return give_up(&mut self.hop, cx, from, id, DropCause::NoRoute);
        };
        self.core.counters.rerouted += u64::from(port != from);
        let cx = cx!(self, now, arena, sink);
        let place = match cx.steps.has(Steps::VOQS) && packet.has(flag::PARKED) {
            true => Place::at(cx.core.queueing.behind(port, packet.class())), // FG-15
            false => cx.classify(port, &packet),
        };
        let found = cx.enqueue(port, place, id, &packet);
        let packet = &packet;
        let step = Step::Rejoin {
            port,
            id,
            packet,
            found,
        };
        self.hop.step(cx, step);
        cx.sink.kick(port);
    }
}

/// Subtracts a dequeued packet that is not sent from all counters except those of the buffer. The
/// packet stays in the buffer.
pub(super) fn withdraw<S: Sink>(hop: &mut Hop, cx: &mut Cx<'_, S>, port: u16, taken: Taken) {
    let Taken { queue, id, .. } = taken;
    let packet = &{ *cx.arena.hot(id) };
    hop.step(cx, Step::Withdraw { id, packet });
    cx.withdraw(port, queue, packet);
}

/// Drops a packet that was removed from its queue at a port (see [`withdraw`]).
pub(super) fn give_up<S: Sink>(
    hop: &mut Hop,
    cx: &mut Cx<'_, S>,
    port: u16,
    id: PacketId,
    cause: DropCause,
) {
    let packet = &{ *cx.arena.hot(id) };
    hop.step(cx, Step::GiveUp { port, packet });
    cx.arena.hot_mut(id).flags &= !(flag::HOP_A | flag::PARKED);
    cx.discard(port, id, cause);
}

impl<S: Sink> Cx<'_, S> {
    /// Applies the rate shaper again to a port whose link has recovered.
    // LNK-28
    pub(super) fn shape_again(&mut self, port: u16) {
        let core = &mut *self.core;
        if let Some(shaper) = &mut core.shaper {
            shaper.shape(self.now, port, &mut core.queueing, self.sink);
        }
    }
}
