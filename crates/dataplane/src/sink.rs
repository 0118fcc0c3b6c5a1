//! Calls from a switch or NIC to its driver, the program that calls it (simulator or live switch).

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
    /// The shared pool of the buffer, and the headroom if there is one, had no room.
    Buffer = 0,
    /// The egress queue or port exceeded its buffer threshold.
    EgressThreshold = 1,
    /// No route leads to the destination.
    NoRoute = 2,
    /// The link lost the packet.
    Link = 3,
    /// The queue for credits of receivers was full.
    CreditLimit = 4,
}

/// Number of [`DropCause`]s.
pub const DROP_CAUSES: usize = 5;

/// Interface of the driver (the simulator or the live switch).
pub trait Sink {
    /// Requests a call of `transmit` as soon as the link of `port` is free.
    fn kick(&mut self, port: u16);
    /// Schedules a call of `timer` at `at`. A node has one such timer: the earliest requested time
    /// counts.
    fn wake(&mut self, at: Time);
    /// Reports a packet that was dropped. `port` is its egress port, or `None` if it had no route.
    fn dropped(&mut self, packet: &Packet, port: Option<u16>, cause: DropCause);
    /// Schedules a call of `called` at `at` with the argument `what`, which is not 0. Unlike with
    /// `wake`, each request causes a call. A request cannot be cancelled.
    fn call(&mut self, at: Time, what: u32);
    /// Offers a dropped packet to the driver. Returns true if the driver keeps the packet and
    /// passes it later to the NIC that sent it ([`Nic::returned`](crate::nic::Nic::returned)).
    /// Returns false if the caller must free the packet.
    fn keep(&mut self, _id: PacketId, _cause: DropCause) -> bool {
        false
    }
    /// Returns 64 random bits from the random generator of the node.
    fn draw(&mut self) -> u64;
    /// Returns a uniform random number in [0, 1).
    fn unit(&mut self) -> f64 {
        (self.draw() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
    /// Reports that a PFC frame arrived at `port` or that a pause time ended. `before` and `after`
    /// are the sets of paused classes. They can be equal.
    fn pfc_received(&mut self, port: u16, before: ClassSet, after: ClassSet);
    /// Reports a PFC frame that arrived at `port`. `on` is true if the frame pauses a class or
    /// prolongs its pause, false if it resumes.
    fn pfc_frame_received(&mut self, _port: u16, _on: bool) {}
    /// Returns true if the driver observes events of one of these kinds. A node checks this before
    /// it creates an event that takes time to create.
    fn wants(&self, _kinds: EventSet) -> bool {
        false
    }
    /// Reports an event to the observers of the driver (statistics). By default it is ignored.
    fn event(&mut self, _event: NodeEvent) {}
    /// Reports the reason why a flow waits from now on (NICs only). The reason may be the same as
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
