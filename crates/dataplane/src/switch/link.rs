//! Links that fail and come back, as the switch at one end sees it. The rules are in
//! `specs/links.md`.

use super::context::Cx;
use super::pipeline::Stranded;
use super::place::Place;
use super::queueing::Taken;
use super::shaper::SHAPED_CLASS;
use super::steps::{Step, Steps};
use super::{Pairs, Switch, cx};
use crate::hop::{HopScheme, Topology, dispatch};
use crate::ids::QueueId;
use crate::packet::{Arena, PacketId, flag};
use crate::ports::Ports;
use crate::route::Routes;
use crate::sink::{DropCause, Sink};
use crate::units::Time;

impl Switch {
    /// The link at a port has failed (`up` is false) or is back. Both ends hear of it at the same instant
    /// and begin anew: nobody is held, and frames that were on the link are lost. The driver does not call
    /// a dead port.
    // LNK-20
    pub fn link<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        up: bool,
        stranded: Stranded,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        self.core.set_dead(port, !up, stranded);
        self.forget_neighbour(now, port, arena, sink);
        if up {
            let cx = cx!(self, now, arena, sink);
            cx.pause_again(port); // LNK-22
            cx.shape_again(port);
            sink.kick(port);
        } else if stranded == Stranded::Drop {
            self.flush(now, port, arena, sink);
        }
    }

    /// Neither side of the link holds the other any more. Mechanisms that keep state about a
    /// neighbour forget it here, and only here.
    // LNK-21
    fn forget_neighbour<S: Sink>(&mut self, now: Time, port: u16, arena: &mut Arena, sink: &mut S) {
        // What the neighbour paused here.
        cx!(self, now, arena, sink).forget_neighbour(port);
        // Frames for the neighbour that have not left.
        let core = &mut self.core;
        while let Some(id) = core.queueing.pop_control(port, arena) {
            core.frame_withdrawn(port, arena.hot(id));
            arena.free(id);
        }
        // What this switch paused at the neighbour.
        let cx = cx!(self, now, arena, sink);
        dispatch!(&mut self.hop, scheme => scheme.link(cx, port), ());
        cx.with_links(|links, cx| links.reset(cx, port));
        cx.forget_pauses(port);
    }

    /// Drops everything that waits at a port.
    // LNK-23
    fn flush<S: Sink>(&mut self, now: Time, port: u16, arena: &mut Arena, sink: &mut S) {
        while let Some(Taken { queue, id, .. }) = self.pop_any(port, arena) {
            self.withdraw(now, port, queue, id, arena, sink);
            self.give_up(now, port, id, DropCause::Link, arena, sink);
        }
        self.hop.step(cx!(self, now, arena, sink), Step::Emptied);
    }

    /// Takes the packet that a dead port would send next; no shaper holds it.
    // LNK-28
    fn pop_any(&mut self, port: u16, arena: &Arena) -> Option<Taken> {
        if self.core.steps.has(Steps::SHAPE) {
            self.core.queueing.shape(port, SHAPED_CLASS, false);
        }
        self.core.queueing.pop(port, arena)
    }

    /// Drops a packet that stood in an egress queue until now.
    pub(super) fn give_up<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        id: PacketId,
        cause: DropCause,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        let packet = *arena.hot(id);
        let cx = cx!(self, now, arena, sink);
        let packet = &packet;
        self.hop.step(cx, Step::GiveUp { port, packet });
        cx.arena.hot_mut(id).flags &= !(flag::HOP_A | flag::PARKED);
        cx.discard(port, id, cause);
    }

    /// Removes a packet that was taken out of its queue from all tables but those of the buffer, in which it stays.
    pub(super) fn withdraw<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        queue: QueueId,
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        let packet = &{ *arena.hot(id) };
        let cx = cx!(self, now, arena, sink);
        self.hop.step(cx, Step::Withdraw { id, packet });
        cx.withdraw(port, queue, packet);
    }

    /// New routes. What waits at dead ports goes where they lead. `allowed`: the pairs of ports that
    /// may hold their upstream; `None`: all may.
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
            while let Some(Taken { queue, id, .. }) = self.pop_any(port, arena) {
                self.withdraw(now, port, queue, id, arena, sink);
                moved.push((port, id));
            }
        }
        for (port, id) in moved {
            self.move_on(now, port, id, arena, sink);
        }
        self.hop.step(cx!(self, now, arena, sink), Step::Emptied);
    }

    /// Places a packet, which is in the buffer already, again.
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
            return self.give_up(now, from, id, DropCause::NoRoute, arena, sink);
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

impl<S: Sink> Cx<'_, S> {
    /// Shaped packets that waited while a link was down wait for their shaper again.
    // LNK-28
    pub(super) fn shape_again(&mut self, port: u16) {
        let core = &mut *self.core;
        if let Some(shaper) = &mut core.shaper {
            shaper.shape(self.now, port, &mut core.queueing, self.sink);
        }
    }
}
