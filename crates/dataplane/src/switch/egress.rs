//! A port of a switch as frames of the neighbour see it.

use super::pipeline::Pipeline;
use crate::classes::ClassSet;
use crate::hop::{self, Egress};
use crate::packet::{Arena, Packet, PacketId};
use crate::sink::Sink;
use crate::units::Time;

pub(super) struct PortEgress<'a, S> {
    pub now: Time,
    pub core: &'a mut Pipeline,
    pub port: u16,
    pub arena: &'a Arena,
    pub sink: &'a mut S,
}

impl<S: Sink> PortEgress<'_, S> {
    /// Obeys a frame.
    pub fn obey(&mut self, id: PacketId, frame: &Packet) {
        let arena = self.arena;
        hop::obey(self, frame, arena.list(id));
    }

    /// Whether something changed is noted; what may go on is tried.
    fn done(&mut self, changed: bool, on: bool) {
        self.core.counters.repeated_pauses += u64::from(!changed);
        if !on {
            self.sink.kick(self.port);
        }
    }
}

impl<S: Sink> Egress for PortEgress<'_, S> {
    // SW-40, SW-43
    fn pause_classes(&mut self, classes: ClassSet, on: bool) {
        self.sink.pfc_frame_received(self.port, on); // QNT-13: count messages
        self.core.timed.forget(self.port, classes);
        let changed = self.core.hold_classes(self.port, classes, on, self.sink);
        self.done(changed, on);
    }

    // QNT-02
    fn pause_classes_for(&mut self, classes: ClassSet, quanta: u16) {
        self.sink.pfc_frame_received(self.port, true); // QNT-13: count messages
        let until = self.core.timed.pause(self.now, self.port, classes, quanta);
        self.sink.wake(until);
        self.core.hold_classes(self.port, classes, true, self.sink);
    }

    // BFC-10
    fn pause_queue(&mut self, queue: u16, on: bool) {
        let queueing = &mut self.core.queueing;
        let mut changed = true;
        if let Some(queue) = queueing.by_number(self.port, queue) {
            self.sink
                .hold_received(self.port, queueing.get(queue).number.into(), on);
            changed = queueing.get(queue).paused != on;
            queueing.set_paused(queue, on, self.arena);
        }
        self.done(changed, on);
    }

    // BFC-30
    fn pause_exactly(&mut self, queues: &[u32]) {
        let queueing = &mut self.core.queueing;
        if queueing.replace_paused(self.port, queues, self.arena) {
            self.sink.kick(self.port);
        }
    }

    // BFC-37
    fn pause_flow(&mut self, flow: u32, _queue: u16, on: bool) {
        self.sink.hold_received(self.port, flow, on);
        let own = self.core.classifier.own_queue(self.port, flow);
        let queueing = &mut self.core.queueing;
        let changed = queueing.hold_flow(self.port, flow, on, own, self.arena);
        self.done(changed, on);
    }

    /// Only a scheme that holds packets by destination obeys that, and does it itself.
    fn pause_destination(&mut self, _dst: u32, on: bool) {
        self.done(true, on);
    }
}
