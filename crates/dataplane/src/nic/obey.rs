//! Control frames between a NIC and its neighbour (pause, resume), and calls of the link schemes.

use super::Nic;
use super::pauses::HostPorts;
use crate::hop;
use crate::link::{Links, Turn};
use crate::packet::{Arena, PacketId};
use crate::sink::Sink;
use crate::units::Time;

impl Nic {
    /// Handles a control frame that arrived from the neighbour at `port`, for example a pause.
    /// Frames of hop schemes that the NIC is configured to ignore have no effect.
    pub(super) fn obey<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        let frame = *arena.hot(id);
        let nic = &mut self.common;
        let scheme = frame.scheme();
        if scheme.is_some_and(|scheme| nic.config.obeys.contains(scheme)) {
            let list = arena.take_list(id);
            hop::obey(&mut nic.ports(now, arena, sink), port, &frame, &list);
            arena.put_list(id, list);
        }
        arena.free(id);
    }

    /// Calls the link schemes, if there are any.
    fn with_links<S: Sink, R>(
        &mut self,
        now: Time,
        arena: &mut Arena,
        sink: &mut S,
        call: impl FnOnce(&mut Links, &mut HostPorts<'_, S>) -> R,
    ) -> Option<R> {
        let ports = &mut self.common.ports(now, arena, sink);
        self.links.as_mut().map(|links| call(links, ports))
    }

    /// Reports an arrived frame to the link schemes. Returns true if the NIC must handle the frame.
    #[inline(never)]
    pub(super) fn link_accepts<S: Sink>(
        &mut self,
        now: Time,
        (port, is_damaged): (u16, bool),
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) -> bool {
        self.with_links(now, arena, sink, |links, ports| {
            links.arrived(ports, port, id, is_damaged)
        })
        .unwrap_or(true)
    }

    /// Reports to the link schemes that a frame has arrived and, unless the host must process it
    /// first, has left the receive buffer. Returns true if the NIC must handle the frame.
    #[inline(never)]
    pub(super) fn link_receives<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) -> bool {
        let is_accepted = self.link_accepts(now, (port, false), id, arena, sink);
        if is_accepted && self.host.is_none() && !arena.hot(id).is_frame() {
            self.link_left(now, port, id, arena, sink);
        }
        is_accepted
    }

    /// Returns the decision of the link schemes on the next transmission of a port: any packet, a
    /// frame of the link scheme, or none.
    #[inline(never)]
    pub(super) fn link_turn<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        arena: &mut Arena,
        sink: &mut S,
    ) -> Turn {
        self.with_links(now, arena, sink, |links, ports| links.turn(ports, port))
            .unwrap_or(Turn::Free)
    }

    /// Reports to the link schemes that a packet has left the receive buffer.
    #[inline(never)]
    pub(super) fn link_left<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        let packet = *arena.hot(id);
        self.with_links(now, arena, sink, |links, ports| {
            links.left(ports, port, &packet);
        });
    }

    /// Reports to the link schemes that the transmission of a frame at a port starts.
    #[inline(never)]
    pub(super) fn link_sent<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        self.with_links(now, arena, sink, |links, ports| links.sent(ports, port, id));
    }

    /// Handles the timers of the link schemes that have expired.
    #[inline(never)]
    pub(super) fn serve_links<S: Sink>(&mut self, now: Time, arena: &mut Arena, sink: &mut S) {
        self.with_links(now, arena, sink, |links, ports| links.timer(ports));
    }

    /// Resets the link schemes at a port whose link failed or recovered.
    pub(super) fn reset_link<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        self.with_links(now, arena, sink, |links, ports| links.reset(ports, port));
    }
}
