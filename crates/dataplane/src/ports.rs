//! The effects of frames between neighbours, and of schemes of links, on the ports of a node.

use crate::classes::ClassSet;
use crate::event::NodeEvent;
use crate::gate::Gate;
use crate::ids::FlowSlot;
use crate::packet::{Arena, Packet};
use crate::sink::Sink;
use crate::units::Time;

/// The ports of a switch or of a NIC, as hop schemes and schemes of links act on them.
///
/// The default methods change the gate, count and report the change, and kick the port. A node
/// implements how the change reaches its queues and flows. A pause or resume that changes nothing
/// is counted as a repeated pause.
pub trait Ports {
    /// Returns the time.
    fn now(&self) -> Time;
    /// Returns the records of all packets.
    fn arena(&mut self) -> &mut Arena;
    /// Returns the driver.
    fn sink(&mut self) -> &mut dyn Sink;
    /// Returns the gate of the ports.
    fn gate(&mut self) -> &mut Gate;
    /// Returns the counter of repeated pauses.
    fn repeated_pauses(&mut self) -> &mut u64;
    /// Queues a frame for the neighbour at a port, before all other packets.
    fn emit(&mut self, port: u16, frame: Packet);
    /// Stores the closed classes of a port where sending reads them.
    fn set_closed(&mut self, port: u16, classes: ClassSet);
    /// Pauses or resumes a queue by its number at the port, reports the frame, and kicks the port
    /// if the queue may send now. Returns false if that changed nothing. A switch returns true for
    /// a queue that it does not have.
    fn set_queue(&mut self, port: u16, queue: u16, on: bool) -> bool;
    /// Pauses exactly these queues, given in order. Kicks the port if a queue may send now.
    fn pause_exactly(&mut self, port: u16, queues: &[u32]);
    /// Closes or opens the queue of a flow after a pause or resume. `changed`: the pause state has
    /// changed. `queue` is the flow's queue at a NIC.
    fn set_flow(&mut self, port: u16, flow: u32, queue: u16, on: bool, changed: bool);
    /// Lets the flows of these linked slots send. They waited for their destination.
    fn release(&mut self, first: FlowSlot);
    /// Resumes all queues of a port. The gate has forgotten the flows that the neighbour paused
    /// there.
    fn resume_queues(&mut self, port: u16);

    /// Schedules a call of the timer.
    fn wake(&mut self, at: Time) {
        self.sink().wake(at);
    }

    /// Makes a port select a frame as soon as its link is free.
    fn kick(&mut self, port: u16) {
        self.sink().kick(port);
    }

    /// Reports a frame that pauses or resumes a queue or a flow of a port by its number.
    fn queue_pause_received(&mut self, port: u16, number: u32, on: bool) {
        self.sink()
            .event(NodeEvent::QueuePauseReceived { port, number, on });
    }

    /// Blocks a class of a port, or unblocks it, because the neighbour lacks room. The scheme
    /// computes that itself, so it is not a pause of the neighbour.
    fn block_class(&mut self, port: u16, class: u8, on: bool) {
        let closed = self.gate().block_class(port, class, on);
        self.set_closed(port, closed);
        if !on {
            self.kick(port);
        }
    }

    /// Pauses or resumes classes, given as bits.
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

    /// Pauses classes, given as bits, for the time in which the port sends this many times 512
    /// bits.
    // QNT-02
    fn pause_classes_for(&mut self, port: u16, classes: ClassSet, quanta: u16) {
        self.sink().pfc_frame_received(port, true); // QNT-13: count messages
        let now = self.now();
        let end = self.gate().set_end(now, port, classes, quanta);
        self.wake(end);
        self.set_classes(port, classes, true);
    }

    /// Ends the pauses that have expired, and plans the next call.
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

    /// Pauses or resumes a queue by its number at the port.
    // BFC-10, BFC-11
    fn pause_queue(&mut self, port: u16, queue: u16, on: bool) {
        let changed = self.set_queue(port, queue, on);
        self.count(changed);
    }

    /// Pauses or resumes a flow; `queue` is where its packets wait at a NIC.
    // BFC-37
    fn pause_flow(&mut self, port: u16, flow: u32, queue: u16, on: bool) {
        self.queue_pause_received(port, flow, on);
        let changed = self.gate().pause_flow(port, flow, on);
        self.set_flow(port, flow, queue, on, changed);
        self.count(changed);
    }

    /// Pauses or resumes a destination. Flows to it wait from their next turn on.
    // FG-42: each NIC that gets one has requested it.
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

    /// Pauses or resumes classes. Returns true if that changed the classes that the neighbour
    /// pauses.
    fn set_classes(&mut self, port: u16, classes: ClassSet, on: bool) -> bool {
        let now = self.now();
        let changed = self.gate().pause_classes(now, port, classes, on);
        self.obey(port);
        if let Some(next) = self.gate().next_watchdog_call() {
            self.wake(next);
        }
        changed
    }

    /// Closes and opens the classes of a port after a change of its pauses, and reports the change.
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
