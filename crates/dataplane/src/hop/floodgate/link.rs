//! Links that fail and come back, as Floodgate sees it at one switch. The rules are in
//! `specs/links.md`.

use super::Floodgate;
use super::config::{CreditAt, Release};
use super::window::ways;
use crate::packet::{Arena, Kind, Packet, PacketId, flag};
use crate::route::Routes;
use crate::sink::{DropCause, Sink};
use crate::switch::context::Cx;
use crate::switch::pipeline::Pipeline;

/// Whether routes do not name a port for a destination.
fn is_astray(port: u16, dst: u32, routes: &Routes) -> bool {
    !routes.next_hops(dst).contains(&port)
}

impl Floodgate {
    /// New routes have come, and with them the windows that destinations begin with. Windows in use stay.
    /// What was sent by a port that the routes do not name any more is over: it may return to this switch, and
    /// would then wait for itself.
    // LNK-27
    pub(super) fn learn_routes(&mut self, routes: &Routes) {
        self.ways = ways(
            self.config.windows(),
            routes,
            &self.links,
            &self.upward,
            self.max_frame,
        );
        self.give_back(routes, |port, dst| is_astray(port, dst, routes));
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

    /// The link at a port has failed or is back. What was sent by it is over: credits for it will not
    /// come, and windows get it back. Nobody is paused over it, in either direction.
    // LNK-27, FG-35
    pub(super) fn forget_link<S: Sink>(&mut self, cx: &mut Cx<'_, S>, port: u16) {
        self.told.forget(port);
        self.paused_by.forget(port);
        self.give_back(&cx.core.routes, |of, _| of == port);
        self.clear_later(cx.now, cx.sink);
        self.release_all(cx);
    }

    /// Lets every VOQ try.
    pub(super) fn release_all<S: Sink>(&mut self, cx: &mut Cx<'_, S>) {
        self.ready.clear();
        self.ready.extend(self.pool.occupied());
        self.release_ready(cx);
    }

    /// A packet that stood in an egress queue is dropped with its link: it was charged and not
    /// sent, and is gone.
    // LNK-23, LNK-27
    pub(super) fn flushed<S: Sink>(&mut self, cx: &mut Cx<'_, S>, port: u16, packet: &Packet) {
        if self.way(packet.dst, &cx.core.routes).is_none() {
            self.queue_less(cx, port, packet.dst);
        }
        if self.senders.is_some() {
            self.left_of_host(cx, packet);
        }
        if self.config.release == Release::Behind
            && packet.has(flag::PARKED)
            && self.pool.left_behind(packet.dst)
            && self.config.vup_ps.is_none()
        {
            self.pool.leave(packet.dst);
        }
        if packet.kind() != Kind::Data {
            return;
        }
        let units = self.units(packet);
        if let (Some(way), Some(windows)) =
            (self.way(packet.dst, &cx.core.routes), &mut self.windows)
        {
            windows.refund(packet.dst, way, units);
        }
        let at = self.config.windows().map(|w| w.credit.at);
        let direct = at == Some(CreditAt::Voq) && !packet.has(flag::PARKED);
        if at == Some(CreditAt::Departure) || direct {
            self.earn(cx, packet);
        }
    }

    /// A packet that has just left its VOQ is dropped: no way leads on.
    // LNK-27
    pub(super) fn drop_held<S: Sink>(
        &mut self,
        cx: &mut Cx<'_, S>,
        (port, cause): (u16, DropCause),
        id: PacketId,
    ) {
        let packet = *cx.arena.hot(id);
        if self.senders.is_some() {
            self.left_of_host(cx, &packet);
        }
        if self.config.release == Release::Behind
            && self.pool.left_behind(packet.dst)
            && self.config.vup_ps.is_none()
        {
            self.pool.leave(packet.dst);
        }
        self.earn(cx, &packet);
        cx.arena.hot_mut(id).flags &= !flag::PARKED;
        cx.discard(port, id, cause);
    }
}

/// Where a packet goes that leaves its VOQ: its own port, or, if the link there is down, the
/// one that routes name now; else why it is lost.
// LNK-27
pub(super) fn port_of_held(
    core: &Pipeline,
    port: u16,
    id: PacketId,
    arena: &Arena,
) -> Result<u16, DropCause> {
    if !core.is_dead(port) {
        return Ok(port);
    }
    let packet = arena.hot(id);
    match core.routes.port(packet, || arena.cold(id).src) {
        None => Err(DropCause::NoRoute),
        Some(port) if core.is_lost_at(port) => Err(DropCause::Link),
        Some(port) => Ok(port),
    }
}
