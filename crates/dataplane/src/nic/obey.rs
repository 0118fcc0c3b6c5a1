//! Frames of the neighbour that tell a NIC what to hold.

use super::Nic;
use super::half::Common;
use crate::hop::{self, Egress};
use crate::packet::{Arena, PacketId};
use crate::sink::Sink;

/// A port of a NIC as frames of the neighbour see it.
struct PortEgress<'a, S> {
    nic: &'a mut Common,
    port: u16,
    sink: &'a mut S,
}

impl Nic {
    /// A frame of the neighbour at a port. What a NIC does not obey changes nothing.
    pub(super) fn obey<S: Sink>(
        &mut self,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        let nic = &mut self.common;
        let frame = *arena.hot(id);
        let scheme = frame.scheme();
        if scheme.is_some_and(|scheme| nic.config.obeys.contains(scheme)) {
            let mut egress = PortEgress { nic, port, sink };
            hop::obey(&mut egress, &frame, arena.list(id));
        }
        arena.free(id);
    }
}

impl<S> PortEgress<'_, S> {
    fn note(&mut self, changed: bool) {
        self.nic.counters.repeated_pauses += u64::from(!changed);
    }
}

impl<S: Sink> Egress for PortEgress<'_, S> {
    // NIC-07
    fn pause_classes(&mut self, classes: u8, on: bool) {
        let (before, after) = self.nic.egress.pause_classes(self.port, classes, on);
        self.note(before != after);
        self.sink.pfc_received(self.port, before, after);
        if !on {
            self.sink.kick(self.port);
        }
    }

    // BFC-10, BFC-11
    fn pause_queue(&mut self, queue: u16, on: bool) {
        let Common { config, egress, .. } = &mut *self.nic;
        let changed = egress.pause_queue(config, self.port, queue, on, self.sink);
        self.note(changed);
    }

    // BFC-30
    fn pause_exactly(&mut self, queues: &[u32]) {
        let Common { config, egress, .. } = &mut *self.nic;
        egress.pause_exactly(config, self.port, queues, self.sink);
    }

    // BFC-37
    fn pause_flow(&mut self, flow: u32, queue: u16, on: bool) {
        let egress = &mut self.nic.egress;
        let changed = egress.pause_flow(self.port, (flow, queue), on, self.sink);
        self.note(changed);
    }

    // FG-42: each NIC that gets one has asked for it.
    fn pause_destination(&mut self, dst: u32, on: bool) {
        let changed = self.nic.egress.pause_destination(self.port, dst, on);
        self.note(changed);
        if !on {
            self.sink.kick(self.port);
        }
    }
}
