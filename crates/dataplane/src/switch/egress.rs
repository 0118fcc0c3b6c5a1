//! What frames of a neighbour do to the ports of a switch.

use super::context::Cx;
use crate::classes::ClassSet;
use crate::packet::{Arena, Packet};
use crate::ports::Ports;
use crate::sink::Sink;
use crate::units::Time;

impl<S: Sink> Cx<'_, S> {
    /// Pauses or resumes classes of a port. Returns true if that changed the port.
    fn set_paused_classes(&mut self, port: u16, classes: ClassSet, on: bool) -> bool {
        let before = self.core.queueing.held_classes(port).0;
        let Some(guarded) = &mut self.core.guarded else {
            let after = match on {
                true => before | classes,
                false => before & !classes,
            };
            self.set_effective_pauses(port, after);
            return before != after;
        };
        let paused = guarded.paused[usize::from(port)];
        let changed = guarded.change(self.now, port, classes, on) != paused;
        let effective = guarded.effective(port);
        let next = guarded.next();
        self.set_effective_pauses(port, effective);
        if let Some(next) = next {
            self.sink.wake(next);
        }
        changed
    }

    /// Sets the classes of a port that may not send.
    pub(super) fn set_effective_pauses(&mut self, port: u16, classes: ClassSet) {
        let before = self.core.queueing.pause_classes(port, classes);
        self.sink.pfc_received(port, before, classes);
    }

    /// Ends the pauses that have expired, and plans the next call.
    // QNT-03
    pub(super) fn end_pauses(&mut self) {
        while let Some((port, class)) = self.core.timed.expired(self.now) {
            self.set_paused_classes(port, 1 << class, false);
            self.sink.kick(port);
        }
        if let Some(next) = self.core.timed.next() {
            self.sink.wake(next);
        }
    }

    /// Counts a pause or resume that changed nothing. A port that was resumed may send.
    fn finish(&mut self, port: u16, on: bool, changed: bool) {
        self.core.counters.repeated_pauses += u64::from(!changed);
        if !on {
            self.sink.kick(port);
        }
    }
}

impl<S: Sink> Ports for Cx<'_, S> {
    fn now(&self) -> Time {
        self.now
    }

    fn emit(&mut self, port: u16, frame: Packet) {
        Cx::emit(self, port, frame);
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
        self.core.queueing.block_class(port, class, on);
        if !on {
            self.sink.kick(port);
        }
    }

    // SW-40, SW-43
    fn pause_classes(&mut self, port: u16, classes: ClassSet, on: bool) {
        self.sink.pfc_frame_received(port, on); // QNT-13: count messages
        self.core.timed.forget(port, classes);
        let changed = self.set_paused_classes(port, classes, on);
        self.finish(port, on, changed);
    }

    // QNT-02
    fn pause_classes_for(&mut self, port: u16, classes: ClassSet, quanta: u16) {
        self.sink.pfc_frame_received(port, true); // QNT-13: count messages
        let until = self.core.timed.pause(self.now, port, classes, quanta);
        self.sink.wake(until);
        self.set_paused_classes(port, classes, true);
    }

    // BFC-10
    fn pause_queue(&mut self, port: u16, queue: u16, on: bool) {
        let queueing = &mut self.core.queueing;
        let mut changed = true;
        if let Some(queue) = queueing.by_number(port, queue) {
            self.sink
                .hold_received(port, queueing.get(queue).number.into(), on);
            changed = queueing.get(queue).paused != on;
            queueing.set_paused(queue, on, self.arena);
        }
        self.finish(port, on, changed);
    }

    // BFC-30
    fn pause_exactly(&mut self, port: u16, queues: &[u32]) {
        let queueing = &mut self.core.queueing;
        if queueing.replace_paused(port, queues, self.arena) {
            self.sink.kick(port);
        }
    }

    // BFC-37
    fn pause_flow(&mut self, port: u16, flow: u32, _queue: u16, on: bool) {
        self.sink.hold_received(port, flow, on);
        let own = self.core.classifier.own_queue(port, flow);
        let queueing = &mut self.core.queueing;
        let changed = queueing.hold_flow(port, flow, on, own, self.arena);
        self.finish(port, on, changed);
    }

    /// Only a scheme that parks packets by destination obeys this frame, and it does so itself.
    fn pause_destination(&mut self, port: u16, _dst: u32, on: bool) {
        self.finish(port, on, true);
    }
}
