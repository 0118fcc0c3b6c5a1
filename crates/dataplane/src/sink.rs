//! Calls of a state machine (switch or NIC) to its driver.

use crate::classes::ClassSet;
use crate::event::{EventSet, NodeEvent};
use crate::flow::{FlowEnd, FlowStart};
use crate::packet::{Packet, PacketId};
use crate::units::Time;
use crate::wait::Wait;

/// Reason for the drop of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum DropCause {
    /// The shared pool, and the headroom if there is one, had no room.
    Buffer = 0,
    /// The egress queue or port exceeded its dynamic threshold.
    EgressThreshold = 1,
    /// No route leads to the destination.
    NoRoute = 2,
    /// The link lost the packet.
    Link = 3,
    /// The queue of credits was full.
    CreditLimit = 4,
}

/// Number of [`DropCause`]s.
pub const DROP_CAUSES: usize = 5;

/// Interface of the driver (the simulator or the live switch).
pub trait Sink {
    /// Requests a transmission: `port` may have a new packet to send.
    fn kick(&mut self, port: u16);
    /// Schedules a call of `timer` at `at`. A node has one such timer. Of several requests the
    /// earliest counts.
    fn wake(&mut self, at: Time);
    /// Reports a packet that was dropped. `port` is its egress port, or `None` if it had no route.
    fn dropped(&mut self, packet: &Packet, port: Option<u16>, cause: DropCause);
    /// Schedules a call of `timer` at `at` with `what`, which is not 0, in addition to `wake`. It
    /// cannot be cancelled.
    fn call(&mut self, at: Time, what: u32);
    /// Offers the record of a dropped packet. Returns true if the driver keeps it and returns it
    /// later to the NIC that sent it ([`Nic::returned`](crate::nic::Nic::returned)), false if it
    /// must be freed.
    fn keep(&mut self, _id: PacketId, _cause: DropCause) -> bool {
        false
    }
    /// Returns 64 random bits from the node's own stream.
    fn draw(&mut self) -> u64;
    /// Returns a random number in [0, 1) for a decision with a probability.
    fn unit(&mut self) -> f64 {
        (self.draw() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
    /// Reports that a PFC frame at `port`, or the end of a pause time, changed the set of paused
    /// classes from `before` to `after`. The two can be equal.
    fn pfc_received(&mut self, port: u16, before: ClassSet, after: ClassSet);
    /// Reports a PFC frame that arrived at `port`. `on` is true if it pauses or continues to pause
    /// at least one class, false if it resumes.
    fn pfc_frame_received(&mut self, _port: u16, _on: bool) {}
    /// Returns true if the driver observes events of one of these kinds. A node checks this before
    /// it creates an event that takes time to create.
    fn wants(&self, _kinds: EventSet) -> bool {
        false
    }
    /// Reports an event to the observers of the driver. A driver without observers ignores it.
    fn event(&mut self, _event: NodeEvent) {}
    /// Reports the reason for which a flow waits from now on (NICs only). It may be the same as
    /// before.
    #[inline]
    fn flow_waits(&mut self, flow: &FlowStart, wait: Wait) {
        if self.wants(NodeEvent::FLOW_WAITS) {
            self.event(NodeEvent::FlowWaits {
                flow: flow.flow,
                cookie: flow.cookie,
                wait,
            });
        }
    }
    /// Reports that the last missing byte of a flow has arrived at its receiver (NICs only).
    fn delivered(&mut self, _flow: u32) {}
    /// Reports that the last acknowledgement of a flow has arrived at its sender (NICs only).
    fn finished(&mut self, end: FlowEnd);
}
