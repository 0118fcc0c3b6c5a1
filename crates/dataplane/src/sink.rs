//! Calls of a state machine (switch or NIC) to its driver.

use crate::classes::ClassSet;
use crate::flow::{FlowEnd, FlowStart};
use crate::ids::QueueId;
use crate::packet::{Packet, PacketId};
use crate::units::Time;
use crate::wait::Wait;

/// Buffer state of an ingress and class when it is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// Bytes of the ingress and class, in reserve, pool and headroom.
    pub held_bytes: u64,
    /// Threshold to which its bytes in the pool are compared.
    pub threshold_bytes: u64,
    /// Bytes of the pool in use by all ingress ports.
    pub pool_bytes: u64,
    /// True if the ingress was a victim port with a larger threshold.
    pub victim: bool,
}

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
    /// Reports that a switch has queued a PFC pause for the upstream of `port`. The driver may use
    /// the cold part of `frame` to follow the pause. `level` returns the buffer state.
    fn pfc_sent(
        &mut self,
        _port: u16,
        _class: u8,
        _frame: PacketId,
        _level: impl FnOnce() -> Level,
    ) {
    }
    /// Reports that a switch has queued a PFC pause for the upstream of `port` that repeats the
    /// last one.
    fn pfc_refresh_sent(&mut self, _port: u16, _class: u8, _frame: PacketId) {}
    /// Reports that a switch has queued a PFC resume for the upstream of `port`.
    fn pfc_resume_sent(&mut self, _port: u16, _class: u8, _frame: PacketId) {}
    /// Reports that a switch has queued a pause of an upstream queue or flow because `queue` of its
    /// port `egress` is too long. The driver may use the cold part of `frame` to follow the pause.
    fn hold_sent(&mut self, _frame: PacketId, _egress: u16, _queue: QueueId) {}
    /// Reports a frame that pauses (`on`) or resumes the queue or flow with this number at `port`.
    fn hold_received(&mut self, _port: u16, _number: u32, _on: bool) {}
    /// Reports a packet of a hop scheme that left its VOQ and joined a queue.
    fn released(&mut self, _id: PacketId) {}
    /// Returns true if the driver uses [`Sink::flow_waits`].
    fn follows_flows(&self) -> bool {
        false
    }
    /// Reports the reason for which a flow waits from now on (NICs only). It may be the same as
    /// before.
    fn flow_waits(&mut self, _flow: &FlowStart, _wait: Wait) {}
    /// Reports that the last missing byte of a flow has arrived at its receiver (NICs only).
    fn delivered(&mut self, _flow: u32) {}
    /// Reports that the last acknowledgement of a flow has arrived at its sender (NICs only).
    fn finished(&mut self, end: FlowEnd);
}
