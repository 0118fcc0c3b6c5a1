//! Links that fail and recover, at the switch of one end. The rules are in `specs/links.md`.

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
    /// Handles a link that has failed or recovered (`None`). `failed` is the fate of the packets
    /// for a failed link. Both ends detect the change at the same instant and start again: nothing
    /// is paused, and frames that were on the link are lost. The driver does not call a dead port.
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
                cx.pause_again(port); // LNK-22
                cx.shape_again(port);
                sink.kick(port);
            }
            Some(Stranded::Drop) => self.flush(now, port, arena, sink),
            Some(Stranded::Wait) => {}
        }
    }

    /// Ends all pauses across a link. Mechanisms reset their state of a neighbour only here.
    // LNK-21
    fn forget_neighbour<S: Sink>(&mut self, now: Time, port: u16, arena: &mut Arena, sink: &mut S) {
        // Pauses of the neighbour.
        cx!(self, now, arena, sink).forget_neighbour(port);
        // Frames for the neighbour that have not left.
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

    /// Sets new routes, and moves the packets at dead ports to the ports of these routes.
    /// `allowed`: the pairs of ports that may pause their upstream; `None`: all may.
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

    /// Puts a packet that is in the buffer into a queue again.
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

/// Removes a packet that was taken out of its queue at a port from all counts but those of the
/// buffer, in which it stays.
pub(super) fn withdraw<S: Sink>(hop: &mut Hop, cx: &mut Cx<'_, S>, port: u16, taken: Taken) {
    let Taken { queue, id, .. } = taken;
    let packet = &{ *cx.arena.hot(id) };
    hop.step(cx, Step::Withdraw { id, packet });
    cx.withdraw(port, queue, packet);
}

/// Drops a packet that was taken out of its queue at a port.
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
    /// Delays the shaped packets that waited while a link was down by their shaper again.
    // LNK-28
    pub(super) fn shape_again(&mut self, port: u16) {
        let core = &mut *self.core;
        if let Some(shaper) = &mut core.shaper {
            shaper.shape(self.now, port, &mut core.queueing, self.sink);
        }
    }
}
