//! Floodgate at one switch when links fail or recover. The rules are in `specs/links.md`.

use super::Floodgate;
use super::config::{CreditAt, Release};
use super::window::ways;
use crate::packet::{Arena, Kind, Packet, PacketId, flag};
use crate::pipeline::Pipeline;
use crate::pipeline::context::Cx;
use crate::route::Routes;
use crate::sink::{DropCause, Sink};

/// Returns true if a port is not a next hop for a destination.
fn is_astray(port: u16, dst: u32, routes: &Routes) -> bool {
    !routes.next_hops(dst).contains(&port)
}

impl Floodgate {
    /// Applies new routes: sets the initial windows for new sets of routes, and keeps windows in
    /// use. Refunds the data sent to former next hops. Such data may return to this switch, which
    /// would otherwise wait for its own credit.
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

    /// Refunds the window of a packet that has left through a former next hop, because it was
    /// queued or parked before the new routes. No credit will arrive for it. Returns true for such
    /// a packet.
    // LNK-27
    #[cold]
    pub(super) fn forget_astray(&mut self, port: u16, dst: u32, routes: &Routes) -> bool {
        let astray = is_astray(port, dst, routes);
        if astray {
            self.give_back(routes, |p, d| (p, d) == (port, dst));
        }
        astray
    }

    /// Refunds the data in flight of the streams (port, destination) that `is_over` selects, as if
    /// credits had arrived.
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

    /// Handles a link that fails or recovers. Refunds the data sent over this link, because their
    /// credits will not arrive. Clears all pauses over this link in both directions.
    // LNK-27, FG-35
    pub(super) fn forget_link<S: Sink>(&mut self, cx: &mut Cx<'_, S>, port: u16) {
        self.told.forget(port);
        self.paused_by.forget(port);
        self.give_back(&cx.core.routes, |of, _| of == port);
        self.clear_later(cx.now, cx.sink);
        self.release_all(cx);
    }

    /// Releases packets from every VOQ whose destination may send.
    pub(super) fn release_all<S: Sink>(&mut self, cx: &mut Cx<'_, S>) {
        self.ready.clear();
        self.ready.extend(self.pool.occupied());
        self.release_ready(cx);
    }

    /// Handles a packet that is dropped from an egress queue because its link failed. The packet
    /// was charged to its window but not sent, so the window is refunded.
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

    /// Drops a packet that has just left its VOQ because it has no next hop.
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

/// Returns the egress port of a packet that leaves its VOQ. If the link of its port is down, this
/// is the port of the current route. Returns the drop cause if there is no route.
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
