//! What pauses the flows and classes of a NIC, and what resumes them.

use super::egress::{Egress, NicQueue};
use crate::classes::ClassSet;
use crate::config::NicConfig;
use crate::ids::FlowSlot;
use crate::pause_time::TimedPauses;
use crate::sink::Sink;
use crate::units::Time;

impl Egress {
    /// Pauses or resumes classes of a port. Returns the paused ones before and after.
    pub fn pause_classes(&mut self, port: u16, mask: ClassSet, on: bool) -> (ClassSet, ClassSet) {
        let p = &mut self.ports[port as usize];
        let before = p.paused_by_frames;
        p.paused_by_frames = if on { before | mask } else { before & !mask };
        p.paused = p.paused_by_frames | p.held_classes;
        (before, p.paused_by_frames)
    }

    /// Pauses classes of a port for a time. Returns the paused ones before and after, and until when.
    // QNT-02
    pub fn pause_classes_for(
        &mut self,
        now: Time,
        port: u16,
        mask: ClassSet,
        quanta: u16,
    ) -> (ClassSet, ClassSet, Time) {
        let rates = self.ports.iter().map(|port| port.rate);
        let timed = (self.timed).get_or_insert_with(|| Box::new(TimedPauses::new(rates)));
        let until = timed.pause(now, port, mask, quanta);
        let (before, after) = self.pause_classes(port, mask, true);
        (before, after, until)
    }

    /// Pauses of these classes of a port do not run out any more.
    // QNT-04
    pub fn forget_times(&mut self, port: u16, mask: ClassSet) {
        if let Some(timed) = &mut self.timed {
            timed.forget(port, mask);
        }
    }

    /// Lets go what is held by pauses that have run out, and asks to be called for the next.
    #[inline]
    pub fn end_pauses<S: Sink>(&mut self, now: Time, sink: &mut S) {
        if self.timed.is_some() {
            self.end_timed_pauses(now, sink);
        }
    }

    // QNT-03
    #[inline(never)]
    fn end_timed_pauses<S: Sink>(&mut self, now: Time, sink: &mut S) {
        while let Some((port, class)) = self.timed.as_mut().and_then(|t| t.expired(now)) {
            let (before, after) = self.pause_classes(port, 1 << class, false);
            sink.pfc_received(port, before, after);
            sink.kick(port);
        }
        if let Some(next) = self.timed.as_mut().and_then(|timed| timed.next()) {
            sink.wake(next);
        }
    }

    /// Pauses of neighbours that ran out.
    // QNT-09
    pub fn expired_pauses(&self) -> u64 {
        self.timed.as_ref().map_or(0, |timed| timed.count())
    }

    /// The neighbour has no room for a class, or has some again.
    pub fn hold_class(&mut self, port: u16, class: u8, on: bool) {
        let p = &mut self.ports[port as usize];
        p.held_classes = p.held_classes & !(1 << class) | ClassSet::from(on) << class;
        p.paused = p.paused_by_frames | p.held_classes;
    }

    /// BFC-30: exactly these queues of a port are to be paused; the list is in order.
    pub fn pause_exactly<S: Sink>(
        &mut self,
        config: &NicConfig,
        port: u16,
        paused: &[u32],
        sink: &mut S,
    ) {
        let known = self.ports[port as usize].queues.len() as u32;
        let mut named = paused.iter().copied().peekable();
        for queue in 0..known {
            let on = named.next_if_eq(&queue).is_some();
            self.pause_queue(config, port, queue as u16, on, sink);
        }
        for queue in named {
            self.pause_queue(config, port, queue as u16, true, sink);
        }
    }

    /// Pauses or resumes a flow by its number; it waits at the queue `queue`. Returns false if that changes
    /// nothing.
    // BFC-37
    pub fn pause_flow<S: Sink>(
        &mut self,
        port: u16,
        (number, queue): (u32, u16),
        on: bool,
        sink: &mut S,
    ) -> bool {
        let nth = usize::from(queue);
        sink.hold_received(port, number, on);
        if on {
            return self.held.insert(number, ()).is_none();
        }
        if self.held.remove(&number).is_none() {
            return false;
        }
        // The flow is parked at its queue if its turn came while it was paused.
        let queues = &mut self.ports[port as usize].queues;
        let Some(queue) = queues.get_mut(nth) else {
            return true;
        };
        let mut slot = std::mem::replace(&mut queue.parked, FlowSlot::NONE);
        while slot != FlowSlot::NONE {
            let flow = &mut self.flows[slot.index()];
            let next = flow.link;
            if flow.start.flow == number {
                self.enter_ring(slot, sink);
            } else {
                let queue = &mut self.ports[port as usize].queues[nth];
                flow.link = queue.parked;
                queue.parked = slot;
            }
            slot = next;
        }
        sink.kick(port);
        true
    }

    /// Pauses or resumes a destination. Returns false if that changes nothing. Flows wait from their next
    /// turn on.
    // FG-42
    pub fn pause_destination<S: Sink>(
        &mut self,
        port: u16,
        dst: u32,
        on: bool,
        sink: &mut S,
    ) -> bool {
        if on {
            return self.destinations.pause(port, dst);
        }
        let Some(first) = self.destinations.resume(port, dst) else {
            return false;
        };
        self.release_parked(first, sink);
        true
    }

    /// Moves a list of parked flows into the send rings.
    fn release_parked<S: Sink>(&mut self, first: FlowSlot, sink: &mut S) {
        let mut slot = first;
        while slot != FlowSlot::NONE {
            let next = self.flows[slot.index()].link;
            self.enter_ring(slot, sink);
            slot = next;
        }
    }

    /// Moves all parked flows of a port into the send rings. Those that are still paused are parked again
    /// when their turn comes.
    // LNK-21
    pub fn unpark<S: Sink>(&mut self, port: u16, sink: &mut S) {
        for queue in 0..self.ports[port as usize].queues.len() {
            let queue = &mut self.ports[port as usize].queues[queue];
            let first = std::mem::replace(&mut queue.parked, FlowSlot::NONE);
            self.release_parked(first, sink);
        }
    }

    /// Pauses or resumes a queue of the NIC. Returns false if that changes nothing.
    // BFC-10, BFC-11
    pub fn pause_queue<S: Sink>(
        &mut self,
        config: &NicConfig,
        port: u16,
        queue: u16,
        on: bool,
        sink: &mut S,
    ) -> bool {
        let queues = &mut self.ports[port as usize].queues;
        if queues.len() <= queue as usize && queue < config.queues {
            queues.resize(queue as usize + 1, NicQueue::NEW);
        }
        let Some(q) = queues.get_mut(queue as usize) else {
            return false;
        };
        if q.paused == on {
            return false;
        }
        q.paused = on;
        sink.hold_received(port, queue.into(), on);
        if !on {
            let first = std::mem::replace(&mut q.parked, FlowSlot::NONE);
            self.release_parked(first, sink);
            sink.kick(port);
        }
        true
    }

    /// Returns the classes of a port that the neighbour pauses, and those that have no credits.
    pub fn held_classes(&self, port: u16) -> (ClassSet, ClassSet) {
        let p = &self.ports[port as usize];
        (p.paused_by_frames, p.held_classes)
    }

    /// Returns the classes of a port that are paused.
    #[inline]
    pub fn paused_classes(&self, port: u16) -> ClassSet {
        self.ports[port as usize].paused
    }
}
