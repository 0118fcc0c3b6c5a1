//! Frames between a NIC and its neighbour: those that pause something, and the schemes of the link.

use super::Nic;
use super::half::Common;
use crate::classes::ClassSet;
use crate::hop;
use crate::link::{Links, Turn};
use crate::packet::{Arena, Cold, Packet, PacketId};
use crate::ports::Ports;
use crate::sink::Sink;
use crate::units::Time;

impl Nic {
    /// Handles a frame of the neighbour at a port. What a NIC does not obey changes nothing.
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
            let mut ports = HostPorts {
                now,
                nic,
                arena,
                sink,
            };
            hop::obey(&mut ports, port, &frame, &list);
            arena.put_list(id, list);
        }
        arena.free(id);
    }

    /// Calls the schemes of the links, if there are any.
    fn with_links<S: Sink, R>(
        &mut self,
        now: Time,
        arena: &mut Arena,
        sink: &mut S,
        call: impl FnOnce(&mut Links, &mut HostPorts<'_, S>) -> R,
    ) -> Option<R> {
        let ports = &mut HostPorts {
            now,
            nic: &mut self.common,
            arena,
            sink,
        };
        self.links.as_mut().map(|links| call(links, ports))
    }

    /// Reports an arrived frame to the schemes of the links. Returns true if the NIC is to handle it.
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

    /// Reports an arrived frame to the schemes of the links, also as one that has left the buffer unless the host
    /// keeps it. Returns true if the NIC is to handle it.
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

    /// Returns what the schemes of the links let a port send.
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

    /// The host has processed a packet, so that it leaves the buffer.
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

    /// A frame leaves by a port.
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

    /// Handles the timers of the links that are due.
    #[inline(never)]
    pub(super) fn serve_links<S: Sink>(&mut self, now: Time, arena: &mut Arena, sink: &mut S) {
        self.with_links(now, arena, sink, |links, ports| links.timer(ports));
    }

    /// The link at a port has failed, or is back.
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

/// The ports of a NIC as a hop scheme acts on them.
struct HostPorts<'a, S> {
    now: Time,
    nic: &'a mut Common,
    arena: &'a mut Arena,
    sink: &'a mut S,
}

impl<S> HostPorts<'_, S> {
    /// Counts a pause or resume that changed nothing.
    fn note(&mut self, changed: bool) {
        self.nic.counters.repeated_pauses += u64::from(!changed);
    }
}

impl<S: Sink> Ports for HostPorts<'_, S> {
    fn now(&self) -> Time {
        self.now
    }

    fn emit(&mut self, port: u16, frame: Packet) {
        let id = self.arena.alloc(frame, Cold::default());
        let egress = &mut self.nic.egress;
        egress.replies.send(port, id, self.arena, self.sink);
    }

    fn wake(&mut self, at: Time) {
        self.sink.wake(at);
    }

    fn kick(&mut self, port: u16) {
        self.sink.kick(port);
    }

    fn arena(&mut self) -> &mut Arena {
        self.arena
    }

    fn block_class(&mut self, port: u16, class: u8, on: bool) {
        self.nic.egress.hold_class(port, class, on);
        if !on {
            self.sink.kick(port);
        }
    }

    // NIC-07
    fn pause_classes(&mut self, port: u16, classes: ClassSet, on: bool) {
        self.sink.pfc_frame_received(port, on); // QNT-13: count messages
        self.nic.egress.forget_times(port, classes);
        let (before, after) = self.nic.egress.pause_classes(port, classes, on);
        self.note(before != after);
        self.sink.pfc_received(port, before, after);
        if !on {
            self.sink.kick(port);
        }
    }

    // QNT-02
    fn pause_classes_for(&mut self, port: u16, classes: ClassSet, quanta: u16) {
        self.sink.pfc_frame_received(port, true); // QNT-13: count messages
        let egress = &mut self.nic.egress;
        let (before, after, until) = egress.pause_classes_for(self.now, port, classes, quanta);
        self.sink.wake(until);
        self.sink.pfc_received(port, before, after);
    }

    // BFC-10, BFC-11
    fn pause_queue(&mut self, port: u16, queue: u16, on: bool) {
        let Common { config, egress, .. } = &mut *self.nic;
        let changed = egress.pause_queue(config, port, queue, on, self.sink);
        self.note(changed);
    }

    // BFC-30
    fn pause_exactly(&mut self, port: u16, queues: &[u32]) {
        let Common { config, egress, .. } = &mut *self.nic;
        egress.pause_exactly(config, port, queues, self.sink);
    }

    // BFC-37
    fn pause_flow(&mut self, port: u16, flow: u32, queue: u16, on: bool) {
        let egress = &mut self.nic.egress;
        let changed = egress.pause_flow(port, (flow, queue), on, self.sink);
        self.note(changed);
    }

    // FG-42: each NIC that gets one has requested it.
    fn pause_destination(&mut self, port: u16, dst: u32, on: bool) {
        let egress = &mut self.nic.egress;
        let changed = egress.pause_destination(port, dst, on, self.sink);
        self.note(changed);
        if !on {
            self.sink.kick(port);
        }
    }
}
