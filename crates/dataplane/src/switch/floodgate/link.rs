//! Links that fail and come back, as Floodgate sees it at one switch. The rules are in
//! `specs/links.md`.

use super::config::{CreditAt, Release};
use super::window::ways;
use super::{Floodgate, HELD, Switch};
use crate::packet::{Arena, Kind, Packet, PacketId};
use crate::route::Routes;
use crate::sink::{DropCause, Sink};
use crate::units::Time;

/// Whether routes do not name a port for a destination.
fn is_astray(port: u16, dst: u32, routes: &Routes) -> bool {
    !routes.next_hops(dst).contains(&port)
}

impl Floodgate {
    /// New routes: the windows that destinations begin with. Those that have begun keep theirs.
    // LNK-27
    fn learn_routes(&mut self, routes: &Routes) {
        self.ways = ways(
            self.config.windows(),
            routes,
            &self.links,
            &self.upward,
            self.max_frame,
        );
    }

    /// A packet has left that was queued or held before new routes came. Returns whether windows got
    /// it back, as no credit will say.
    // LNK-27
    #[cold]
    pub(super) fn forget_astray(&mut self, port: u16, dst: u32, routes: &Routes) -> bool {
        let astray = is_astray(port, dst, routes);
        if astray {
            self.give_back(routes, |p, d| (p, d) == (port, dst));
        }
        astray
    }

    /// Windows get back what was sent by some streams of (port, destination), as if it were
    /// credited.
    // LNK-27
    fn give_back(&mut self, routes: &Routes, is_over: impl Fn(u16, u32) -> bool) {
        let over = self.numbers.as_mut().map(|n| n.forget(is_over));
        for (dst, units) in over.into_iter().flatten() {
            if let (Some(way), Some(windows)) = (self.way(dst, routes), &mut self.windows) {
                windows.refund(dst, way, units);
                self.taken += u64::from(units);
            }
        }
    }
}

impl Switch {
    /// The link at a port has failed or is back. What was sent by it is over: credits for it will not
    /// come, and windows get it back. Nobody is paused over it, in either direction.
    // LNK-27, FG-35
    pub(in crate::switch) fn regulate_link<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        self.with_floodgate(|switch, f| {
            f.told.forget(port);
            f.paused_by.forget(port);
            f.give_back(&switch.routes, |of, _| of == port);
            f.clear_later(now, sink);
            switch.release_all(now, f, arena, sink);
        });
    }

    /// New routes have come. What was sent by a port that they do not name any more is over: it may
    /// come back to this switch, and would then wait for itself.
    // LNK-27
    pub(in crate::switch) fn regulate_routes(&mut self) {
        self.with_floodgate(|switch, f| {
            let routes = &switch.routes;
            f.learn_routes(routes);
            f.give_back(routes, |port, dst| is_astray(port, dst, routes));
        });
    }

    /// Lets every VOQ try.
    pub(super) fn release_all<S: Sink>(
        &mut self,
        now: Time,
        f: &mut Floodgate,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        f.ready.clear();
        f.ready.extend(f.pool.occupied());
        self.release_ready(now, f, arena, sink);
    }

    /// A packet that stood in an egress queue is dropped with its link: it was charged and not
    /// sent, and is gone.
    // LNK-23, LNK-27
    pub(in crate::switch) fn regulate_flush<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        packet: &Packet,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        self.with_floodgate(|switch, f| {
            if f.way(packet.dst, &switch.routes).is_none() {
                switch.queue_less(f, port, packet.dst, arena, sink);
            }
            if f.senders.is_some() {
                switch.left_of_host(f, packet, arena, sink);
            }
            if f.config.release == Release::Behind
                && packet.has(HELD)
                && f.pool.left_behind(packet.dst)
                && f.config.vup_ps.is_none()
            {
                f.pool.leave(packet.dst);
            }
            if packet.kind() != Kind::Data {
                return;
            }
            let units = f.units(packet);
            if let (Some(way), Some(windows)) = (f.way(packet.dst, &switch.routes), &mut f.windows)
            {
                windows.refund(packet.dst, way, units);
            }
            let at = f.config.windows().map(|w| w.credit.at);
            let direct = at == Some(CreditAt::Voq) && !packet.has(HELD);
            if at == Some(CreditAt::Departure) || direct {
                switch.earn(now, f, packet, arena, sink);
            }
        });
    }

    /// Where a packet goes that leaves its VOQ: its own port, or, if the link there is down, the
    /// one that routes name now; else why it is lost.
    // LNK-27
    pub(super) fn port_of_held(
        &self,
        port: u16,
        id: PacketId,
        arena: &Arena,
    ) -> Result<u16, DropCause> {
        if !self.is_dead(port) {
            return Ok(port);
        }
        let packet = arena.hot(id);
        match self.routes.port(packet, || arena.cold(id).src) {
            None => Err(DropCause::NoRoute),
            Some(port) if self.is_lost_at(port) => Err(DropCause::Link),
            Some(port) => Ok(port),
        }
    }

    /// A packet that has just left its VOQ is dropped: no way leads on.
    // LNK-27
    pub(super) fn drop_held<S: Sink>(
        &mut self,
        now: Time,
        f: &mut Floodgate,
        (port, cause): (u16, DropCause),
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        let packet = *arena.hot(id);
        if f.senders.is_some() {
            self.left_of_host(f, &packet, arena, sink);
        }
        if f.config.release == Release::Behind
            && f.pool.left_behind(packet.dst)
            && f.config.vup_ps.is_none()
        {
            f.pool.leave(packet.dst);
        }
        self.earn(now, f, &packet, arena, sink);
        arena.hot_mut(id).flags &= !HELD;
        self.discard(now, port, id, cause, arena, sink);
    }

    /// Whether packets that were held wait in queues of their own at the ports.
    pub(in crate::switch) fn waits_behind(&self) -> bool {
        let behind = |f: &Floodgate| f.config.release == Release::Behind;
        self.floodgate.as_ref().is_some_and(|f| behind(f))
    }

    /// Packets of egress queues have been given up, so others may go on.
    // LNK-27
    pub(in crate::switch) fn regulate_emptied<S: Sink>(
        &mut self,
        now: Time,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        self.with_floodgate(|switch, f| switch.release_all(now, f, arena, sink));
    }
}
