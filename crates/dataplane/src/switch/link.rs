//! Links that fail and come back, as the switch at one end sees it. The rules are in
//! `specs/links.md`.

use super::bfc::OVER;
use super::classify::Place;
use super::credits::CREDIT_CLASS;
use super::floodgate::HELD;
use super::mmu::Tell;
use super::{Pairs, Switch};
use crate::packet::{Arena, PacketId, flag};
use crate::route::Routes;
use crate::sink::{DropCause, Sink};
use crate::units::Time;

/// What becomes of packets for a port whose link is down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stranded {
    /// They are dropped.
    #[default]
    Drop,
    /// They wait for new routes, or for the link.
    Wait,
}

/// Which ports have a dead link.
#[derive(Debug)]
pub(super) struct DeadPorts {
    dead: Vec<bool>,
    stranded: Stranded,
}

impl Switch {
    /// Whether the link at a port is down.
    #[must_use]
    pub fn is_dead(&self, port: u16) -> bool {
        self.dead.as_ref().is_some_and(|d| d.dead[port as usize])
    }

    fn dead_ports(&mut self) -> &mut DeadPorts {
        let ports = self.queueing.ports.len();
        self.plain = false;
        self.dead.get_or_insert_with(|| {
            Box::new(DeadPorts {
                dead: vec![false; ports],
                stranded: Stranded::Drop,
            })
        })
    }

    /// Whether links or routes have ever changed here.
    pub(super) const fn has_changed(&self) -> bool {
        self.dead.is_some()
    }

    /// Whether a packet that is to leave by this port is lost with its link.
    #[cold]
    #[inline(never)]
    pub(super) fn is_lost_at(&self, port: u16) -> bool {
        self.dead
            .as_ref()
            .is_some_and(|d| d.dead[port as usize] && d.stranded == Stranded::Drop)
    }

    /// The link at a port has failed (`up` is false) or is back. Both ends hear of it at the same
    /// instant and begin anew: nobody is held, and frames that were under way are lost. The driver asks a dead port for nothing.
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
        let dead = self.dead_ports();
        dead.dead[port as usize] = !up;
        dead.stranded = stranded;
        self.forget_neighbour(now, port, arena, sink);
        if up {
            self.hold_again(now, port, arena, sink);
            self.shape_again(now, port, sink);
            sink.kick(port);
        } else if stranded == Stranded::Drop {
            self.flush(now, port, arena, sink);
        }
    }

    /// Neither side of the link holds the other any more. Mechanisms that keep state about a
    /// neighbour forget it here, and only here.
    // LNK-21
    fn forget_neighbour<S: Sink>(&mut self, now: Time, port: u16, arena: &mut Arena, sink: &mut S) {
        // What the neighbour held of us.
        let before = std::mem::take(&mut self.queueing.ports[port as usize].paused);
        if before != 0 {
            sink.pfc_received(port, before, 0);
        }
        self.queueing.let_go(port, arena);
        // Frames for it that have not left.
        while let Some(id) = self.queueing.pop_control(port, arena) {
            self.count_control_out(port, id, arena);
            arena.free(id);
        }
        self.regulate_link(now, port, arena, sink);
        // What we held of the neighbour.
        self.mmu.forget(now, port);
        if let Some(backpressure) = &mut self.backpressure {
            backpressure.forget(port);
            let mut holding = Vec::new();
            for egress in 0..self.queueing.ports.len() as u16 {
                self.queueing.for_each_packet(egress, arena, |id| {
                    let packet = arena.hot(id);
                    if packet.ingress == port && packet.has(OVER) {
                        holding.push(id);
                    }
                });
            }
            for id in holding {
                arena.hot_mut(id).flags &= !OVER;
            }
        }
    }

    /// The link is back: an ingress that still has too much of before in the buffer is held at
    /// once.
    // LNK-22
    fn hold_again<S: Sink>(&mut self, now: Time, port: u16, arena: &mut Arena, sink: &mut S) {
        let classes = self.mmu.hold_again(now, port);
        for class in (0..8).filter(|class| classes >> class & 1 != 0) {
            self.tell_pfc(port, class, true, arena, sink);
        }
    }

    /// Drops everything that waits at a port.
    // LNK-23
    fn flush<S: Sink>(&mut self, now: Time, port: u16, arena: &mut Arena, sink: &mut S) {
        while let Some((queue, id)) = self.pop_any(port, arena) {
            self.withdraw(now, port, queue, id, arena, sink);
            self.give_up(now, port, id, DropCause::Link, arena, sink);
        }
        self.regulate_emptied(now, arena, sink);
    }

    /// Takes the packet that a dead port would send next; no bucket of credits holds it.
    // LNK-28
    fn pop_any(&mut self, port: u16, arena: &Arena) -> Option<(u32, PacketId)> {
        if self.credits.is_some() {
            self.queueing.shape(port, CREDIT_CLASS, false);
        }
        self.queueing.pop::<false>(port, arena)
    }

    /// Credits that waited while a link was down wait for their bucket again.
    // LNK-28
    fn shape_again<S: Sink>(&mut self, now: Time, port: u16, sink: &mut S) {
        if let Some(credits) = &mut self.credits {
            credits.shape(now, port, &mut self.queueing, sink);
        }
    }

    /// Drops a packet that stood in an egress queue until now.
    fn give_up<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        id: PacketId,
        cause: DropCause,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        let packet = *arena.hot(id);
        if self.floodgate.is_some() {
            self.regulate_flush(now, port, &packet, arena, sink);
        }
        arena.hot_mut(id).flags &= !HELD;
        self.discard(now, port, id, cause, arena, sink);
    }

    /// Drops a packet that was in the buffer and stands in no queue any more.
    pub(super) fn discard<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        id: PacketId,
        cause: DropCause,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        let packet = *arena.hot(id);
        if packet.has(flag::BUFFERED) {
            arena.hot_mut(id).flags &= !flag::BUFFERED;
            let class = packet.class();
            let size = u64::from(packet.size);
            let tell = self.mmu.leave::<false>(now, packet.ingress, class, size);
            if tell == Tell::Xon {
                self.tell_pfc(packet.ingress, class, false, arena, sink);
            }
        }
        self.drop(Some(port), id, cause, arena, sink);
    }

    /// Everything that a departure does, but that nothing has left: the packet stays in the buffer.
    fn withdraw<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        queue: u32,
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        let packet = *arena.hot(id);
        arena.hot_mut(id).flags &= !OVER;
        let bit = 1u8 << packet.class();
        let size = u64::from(packet.size);
        let telemetry = &mut self.queueing.ports[port as usize].telemetry;
        if self.class.ecn & bit != 0 {
            telemetry.ecn_bytes -= size;
        }
        if self.class.int & bit != 0 {
            telemetry.int_bytes -= size;
        }
        if packet.has(OVER)
            && let Some(backpressure) = &mut self.backpressure
            && backpressure.under(&packet)
        {
            self.tell_bfc(&packet, false, arena, sink);
        }
        self.assist_withdrawn(port, packet.class());
        if !self.queueing.is_behind(queue) {
            let counted = self.counted(&packet);
            self.classifier
                .departed(now, port, &packet, queue, counted, &mut self.queueing);
        }
    }

    /// New routes. What waits at dead ports goes where they lead. `allowed`: the pairs of ports that
    /// may hold their upstream by BFC; `None`: all may.
    // LNK-12, LNK-24, LNK-25
    pub fn reroute<S: Sink>(
        &mut self,
        now: Time,
        routes: Routes,
        allowed: Option<Pairs>,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        self.routes = routes;
        self.dead_ports();
        self.allow(allowed);
        self.regulate_routes();
        let mut moved = Vec::new();
        for port in 0..self.queueing.ports.len() as u16 {
            if !self.is_dead(port) {
                continue;
            }
            while let Some((queue, id)) = self.pop_any(port, arena) {
                self.withdraw(now, port, queue, id, arena, sink);
                moved.push((port, id));
            }
        }
        for (port, id) in moved {
            self.move_on(now, port, id, arena, sink);
        }
        self.regulate_emptied(now, arena, sink);
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
        let Some(port) = self.routes.port(&packet, || arena.cold(id).src) else {
            return self.give_up(now, from, id, DropCause::NoRoute, arena, sink);
        };
        self.counters.rerouted += u64::from(port != from);
        let place = if packet.has(HELD) && self.waits_behind() {
            Place::at(self.queueing.behind(port, packet.class())) // FG-15
        } else {
            let draw = &mut || sink.draw();
            self.classifier
                .place(now, port, &packet, &self.queueing, draw)
        };
        self.forward(now, port, place, id, arena, sink);
        if self.assists {
            self.assist_joined(now, port, packet.class(), sink); // LNK-28
        }
        sink.kick(port);
    }

    /// The books of receiver-driven transports about a packet that is taken out of its queue.
    // LNK-28
    fn assist_withdrawn(&mut self, port: u16, class: u8) {
        if let Some(credits) = &mut self.credits
            && class == CREDIT_CLASS
        {
            credits.withdrawn(port);
        }
        if let Some(trimmer) = &mut self.trimmer {
            trimmer.left(port, class);
        }
    }

    /// A frame between neighbours has left its queue.
    fn count_control_out(&mut self, port: u16, id: PacketId, arena: &Arena) {
        if self.class.int & 1 != 0 {
            let size = u64::from(arena.hot(id).size);
            self.queueing.ports[port as usize].telemetry.int_bytes -= size;
        }
    }
}
