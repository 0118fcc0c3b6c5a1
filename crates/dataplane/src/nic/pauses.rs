//! Implements `Ports` for a NIC: pauses and resumes by frames of a neighbour or by link schemes.

use super::egress::{Egress, NicQueue};
use super::half::Common;
use crate::classes::ClassSet;
use crate::gate::Gate;
use crate::ids::FlowSlot;
use crate::packet::{Arena, Cold, Packet};
use crate::ports::Ports;
use crate::sink::Sink;
use crate::units::Time;

/// The ports of a NIC, with the current time, the packets and the sink of events.
pub(super) struct HostPorts<'a, S> {
    now: Time,
    nic: &'a mut Common,
    arena: &'a mut Arena,
    sink: &'a mut S,
}

impl Common {
    /// Returns the ports for calls of hop schemes and link schemes.
    pub(super) const fn ports<'a, S>(
        &'a mut self,
        now: Time,
        arena: &'a mut Arena,
        sink: &'a mut S,
    ) -> HostPorts<'a, S> {
        HostPorts {
            now,
            nic: self,
            arena,
            sink,
        }
    }
}

impl<S: Sink> Ports for HostPorts<'_, S> {
    fn now(&self) -> Time {
        self.now
    }

    fn arena(&mut self) -> &mut Arena {
        self.arena
    }

    fn gate(&mut self) -> &mut Gate {
        &mut self.nic.egress.gate
    }

    fn repeated_pauses(&mut self) -> &mut u64 {
        &mut self.nic.counters.repeated_pauses
    }

    fn emit(&mut self, port: u16, frame: Packet) {
        let id = self.arena.alloc(frame, Cold::default());
        let egress = &mut self.nic.egress;
        egress.replies.send(port, id, self.arena, self.sink);
    }

    fn sink(&mut self) -> &mut dyn Sink {
        self.sink
    }

    fn set_closed(&mut self, port: u16, classes: ClassSet) {
        self.nic.egress.ports[usize::from(port)].closed = classes;
    }

    fn set_queue(&mut self, port: u16, queue: u16, on: bool) -> bool {
        let Common { config, egress, .. } = &mut *self.nic;
        let nth = usize::from(queue);
        let queues = &mut egress.ports[usize::from(port)].queues;
        if queues.len() <= nth && queue < config.queues {
            queues.resize(nth + 1, NicQueue::NEW);
        }
        let Some(q) = queues.get_mut(nth).filter(|q| q.paused != on) else {
            return false;
        };
        q.paused = on;
        self.queue_pause_received(port, queue.into(), on);
        if !on {
            let egress = &mut self.nic.egress;
            egress.unpark(port, nth, self.sink);
            self.sink.kick(port);
        }
        true
    }

    // BFC-30
    fn pause_exactly(&mut self, port: u16, queues: &[u32]) {
        let known = self.nic.egress.ports[usize::from(port)].queues.len() as u32;
        let mut named = queues.iter().copied().peekable();
        for queue in 0..known {
            let on = named.next_if_eq(&queue).is_some();
            self.set_queue(port, queue as u16, on);
        }
        for queue in named {
            self.set_queue(port, queue as u16, true);
        }
    }

    /// After a resume, moves the flow to the send ring. Does nothing after a pause: the flow is
    /// parked when it would send next.
    fn set_flow(&mut self, port: u16, flow: u32, queue: u16, on: bool, changed: bool) {
        if !on && changed && self.nic.egress.unpark_flow(port, queue, flow, self.sink) {
            self.sink.kick(port);
        }
    }

    fn release(&mut self, first: FlowSlot) {
        self.nic.egress.release_parked(first, self.sink);
    }

    fn resume_queues(&mut self, port: u16) {
        self.pause_exactly(port, &[]);
        let egress = &mut self.nic.egress;
        for queue in 0..egress.ports[usize::from(port)].queues.len() {
            egress.unpark(port, queue, self.sink);
        }
    }
}

impl Egress {
    /// Moves a linked list of parked flows into the send rings. A flow that is still paused is
    /// parked again when it would send next.
    fn release_parked<S: Sink>(&mut self, first: FlowSlot, sink: &mut S) {
        let mut slot = first;
        while slot != FlowSlot::NONE {
            let next = self.flows[slot.index()].link;
            self.enter_ring(slot, sink);
            slot = next;
        }
    }

    /// Moves the parked flows of a queue into the send rings.
    fn unpark<S: Sink>(&mut self, port: u16, queue: usize, sink: &mut S) {
        let queue = &mut self.ports[usize::from(port)].queues[queue];
        let first = std::mem::replace(&mut queue.parked, FlowSlot::NONE);
        self.release_parked(first, sink);
    }

    /// Moves the flow with the ID `number` into the send ring if it is parked at the queue. Returns
    /// false if there is no such queue.
    // BFC-37
    fn unpark_flow<S: Sink>(&mut self, port: u16, queue: u16, number: u32, sink: &mut S) -> bool {
        let nth = usize::from(queue);
        let queues = &mut self.ports[usize::from(port)].queues;
        let Some(queue) = queues.get_mut(nth) else {
            return false;
        };
        let mut slot = std::mem::replace(&mut queue.parked, FlowSlot::NONE);
        while slot != FlowSlot::NONE {
            let flow = &mut self.flows[slot.index()];
            let next = flow.link;
            if flow.start.flow == number {
                self.enter_ring(slot, sink);
            } else {
                let queue = &mut self.ports[usize::from(port)].queues[nth];
                flow.link = queue.parked;
                queue.parked = slot;
            }
            slot = next;
        }
        true
    }

    /// Returns the classes of a port that may not send.
    #[inline]
    pub fn closed_classes(&self, port: u16) -> ClassSet {
        self.ports[usize::from(port)].closed
    }
}
