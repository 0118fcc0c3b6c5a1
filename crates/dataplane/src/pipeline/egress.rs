//! Implements `Ports` for a switch: pauses and resumes by frames of a neighbour or by link schemes.

use super::context::Cx;
use crate::classes::ClassSet;
use crate::gate::Gate;
use crate::ids::FlowSlot;
use crate::packet::{Arena, Packet};
use crate::ports::Ports;
use crate::sink::Sink;
use crate::units::Time;

impl<S: Sink> Ports for Cx<'_, S> {
    fn now(&self) -> Time {
        self.now
    }

    fn arena(&mut self) -> &mut Arena {
        self.arena
    }

    fn gate(&mut self) -> &mut Gate {
        &mut self.core.queueing.gate
    }

    fn repeated_pauses(&mut self) -> &mut u64 {
        &mut self.core.counters.repeated_pauses
    }

    fn emit(&mut self, port: u16, frame: Packet) {
        Cx::emit(self, port, frame);
    }

    fn sink(&mut self) -> &mut dyn Sink {
        self.sink
    }

    fn set_closed(&mut self, port: u16, classes: ClassSet) {
        self.core.queueing.ports[usize::from(port)].closed = classes;
    }

    fn set_queue(&mut self, port: u16, queue: u16, on: bool) -> bool {
        let mut changed = true;
        if let Some(id) = self.core.queueing.by_number(port, queue) {
            self.queue_pause_received(port, queue.into(), on);
            let queueing = &mut self.core.queueing;
            changed = queueing.get(id).paused != on;
            queueing.set_paused(id, on, self.arena);
        }
        if !on {
            self.sink.kick(port);
        }
        changed
    }

    // BFC-30
    fn pause_exactly(&mut self, port: u16, queues: &[u32]) {
        let queueing = &mut self.core.queueing;
        if queueing.replace_paused(port, queues, self.arena) {
            self.sink.kick(port);
        }
    }

    fn set_flow(&mut self, port: u16, flow: u32, _queue: u16, on: bool, _changed: bool) {
        let own = self.core.classifier.own_queue(port, flow);
        let queueing = &mut self.core.queueing;
        queueing.pause_flow(port, flow, on, own, self.arena);
        if !on {
            self.sink.kick(port);
        }
    }

    /// Does nothing, because only flows at a NIC wait for their destination.
    fn release(&mut self, _first: FlowSlot) {}

    fn resume_queues(&mut self, port: u16) {
        self.core.queueing.resume_queues(port, self.arena);
    }
}
