//! The effects of control frames from neighbours, and of link schemes, on the ports of a node
//! (switch or NIC).

use crate::classes::ClassSet;
use crate::event::NodeEvent;
use crate::gate::Gate;
use crate::ids::FlowSlot;
use crate::packet::{Arena, Packet};
use crate::sink::Sink;
use crate::units::Time;

/// The ports of a switch or of a NIC. Hop schemes and link schemes pause and resume them through
/// this trait.
///
/// The default methods change the pause state (`gate.rs`), count and report the change, and request
/// a transmission. A node implements how the change reaches its queues and flows. A pause or resume
/// that changes nothing is counted as a repeated pause.
pub trait Ports {
    /// Returns the current time.
    fn now(&self) -> Time;
    /// Returns the storage of all packets.
    fn arena(&mut self) -> &mut Arena;
    /// Returns the sink of requests and events.
    fn sink(&mut self) -> &mut dyn Sink;
    /// Returns the pause state of the ports.
    fn gate(&mut self) -> &mut Gate;
    /// Returns the counter of repeated pauses.
    fn repeated_pauses(&mut self) -> &mut u64;
    /// Queues a control frame for the neighbour at a port, before all other packets.
    fn emit(&mut self, port: u16, frame: Packet);
    /// Sets the classes of a port that may not send, in the state that the scheduler reads.
    fn set_closed(&mut self, port: u16, classes: ClassSet);
    /// Pauses (`on`) or resumes the queue with this number at the port, and reports the frame.
    /// Requests a transmission if the queue may send now. Returns false if the queue had this state
    /// already. A switch returns true for a queue that does not exist.
    fn set_queue(&mut self, port: u16, queue: u16, on: bool) -> bool;
    /// Pauses exactly the queues with these numbers (ascending), and resumes all other queues.
    /// Requests a transmission if a queue may send now.
    fn pause_exactly(&mut self, port: u16, queues: &[u32]);
    /// Updates the queue of a flow after a pause or resume of the flow. `changed` is true if the
    /// pause state of the flow has changed. `queue` is the flow's queue at a NIC.
    fn set_flow(&mut self, port: u16, flow: u32, queue: u16, on: bool, changed: bool);
    /// Lets flows send whose destination was resumed. `first` is the first of a linked list.
    fn release(&mut self, first: FlowSlot);
    /// Resumes all queues of a port. The caller has already removed the pauses of flows.
    fn resume_queues(&mut self, port: u16);

    /// Schedules a call of `timer` at `at`.
    fn wake(&mut self, at: Time) {
        self.sink().wake(at);
    }

    /// Requests a transmission as soon as the link of the port is free.
    fn kick(&mut self, port: u16) {
        self.sink().kick(port);
    }

    /// Reports a received frame that pauses or resumes a queue (`number` is its number at the port)
    /// or a flow (`number` is its ID).
    fn queue_pause_received(&mut self, port: u16, number: u32, on: bool) {
        self.sink()
            .event(NodeEvent::QueuePauseReceived { port, number, on });
    }

    /// Blocks or unblocks a class of a port, because a hop scheme or link scheme computes that the
    /// neighbour has no buffer space (no credit). This is not a pause by the neighbour.
    fn block_class(&mut self, port: u16, class: u8, on: bool) {
        let closed = self.gate().block_class(port, class, on);
        self.set_closed(port, closed);
        if !on {
            self.kick(port);
        }
    }

    /// Pauses or resumes classes, given as a bit set.
    // SW-40, SW-43, NIC-07
    fn pause_classes(&mut self, port: u16, classes: ClassSet, on: bool) {
        self.sink().pfc_frame_received(port, on); // QNT-13: count messages
        self.gate().forget_ends(port, classes);
        let changed = self.set_classes(port, classes, on);
        self.count(changed);
        if !on {
            self.kick(port);
        }
    }

    /// Pauses classes, given as a bit set, for `quanta` · (time in which the port sends 512 bits).
    // QNT-02
    fn pause_classes_for(&mut self, port: u16, classes: ClassSet, quanta: u16) {
        self.sink().pfc_frame_received(port, true); // QNT-13: count messages
        let now = self.now();
        let end = self.gate().set_end(now, port, classes, quanta);
        self.wake(end);
        self.set_classes(port, classes, true);
    }

    /// Ends the pauses whose time has expired, and schedules the next call.
    // QNT-03
    fn end_pauses(&mut self) {
        let now = self.now();
        while let Some((port, class)) = self.gate().expired(now) {
            self.set_classes(port, 1 << class, false);
            self.kick(port);
        }
        if let Some(next) = self.gate().next_end() {
            self.wake(next);
        }
    }

    /// Pauses or resumes the queue with this number at the port.
    // BFC-10, BFC-11
    fn pause_queue(&mut self, port: u16, queue: u16, on: bool) {
        let changed = self.set_queue(port, queue, on);
        self.count(changed);
    }

    /// Pauses or resumes a flow. `queue` is the queue of the flow at a NIC.
    // BFC-37
    fn pause_flow(&mut self, port: u16, flow: u32, queue: u16, on: bool) {
        self.queue_pause_received(port, flow, on);
        let changed = self.gate().pause_flow(port, flow, on);
        self.set_flow(port, flow, queue, on, changed);
        self.count(changed);
    }

    /// Pauses or resumes all flows of a NIC to a destination. A flow waits from the moment at which
    /// it would send its next packet.
    // FG-42: only NICs that request such pauses receive them.
    fn pause_destination(&mut self, port: u16, dst: u32, on: bool) {
        let changed = match on {
            true => self.gate().pause_destination(port, dst),
            false => {
                let first = self.gate().resume_destination(port, dst);
                first.inspect(|&first| self.release(first)).is_some()
            }
        };
        self.count(changed);
        if !on {
            self.kick(port);
        }
    }

    /// Removes all pauses by the neighbour at a port whose link failed or recovered.
    // LNK-21
    fn forget_neighbour(&mut self, port: u16) {
        self.gate().forget_pauses(port);
        if self.gate().paused(port) != 0 {
            self.obey(port);
        }
        for first in self.gate().resume_all_destinations(port) {
            self.release(first);
        }
        self.resume_queues(port);
    }

    /// Pauses or resumes classes. Returns true if the set of classes paused by the neighbour has
    /// changed.
    fn set_classes(&mut self, port: u16, classes: ClassSet, on: bool) -> bool {
        let now = self.now();
        let changed = self.gate().pause_classes(now, port, classes, on);
        self.obey(port);
        if let Some(next) = self.gate().next_watchdog_call() {
            self.wake(next);
        }
        changed
    }

    /// Recomputes which classes of a port may send after a change of its pauses, and reports the
    /// change.
    fn obey(&mut self, port: u16) {
        let (before, after) = self.gate().obey(port);
        let closed = self.gate().closed(port);
        self.set_closed(port, closed);
        self.sink().pfc_received(port, before, after);
    }

    /// Counts a pause or resume that changed nothing.
    fn count(&mut self, changed: bool) {
        *self.repeated_pauses() += u64::from(!changed);
    }
}
