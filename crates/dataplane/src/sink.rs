//! What a state machine may ask of its driver.

use crate::classes::ClassSet;
use crate::flow::{FlowEnd, FlowStart};
use crate::ids::QueueId;
use crate::packet::{Packet, PacketId};
use crate::units::Time;
use crate::wait::Wait;

/// What an ingress and class holds at the moment that it is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// Bytes of the ingress and class, in reserve, pool and headroom.
    pub held_bytes: u64,
    /// What its bytes in the pool were compared with.
    pub threshold_bytes: u64,
    /// Bytes of the pool in use, by all.
    pub pool_bytes: u64,
    /// It had a larger threshold than others until now.
    pub victim: bool,
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum DropCause {
    /// The shared pool, and the headroom where there is one, had no room.
    Buffer = 0,
    /// The egress queue or port had reached its dynamic threshold.
    EgressThreshold = 1,
    /// No route leads to the destination.
    NoRoute = 2,
    /// The link lost it.
    Link = 3,
    /// A credit found as many credits waiting as may.
    CreditLimit = 4,
}

/// How many [`DropCause`]s there are.
pub const DROP_CAUSES: usize = 5;

/// The driver's side: the simulator, or the live switch.
pub trait Sink {
    /// `port` may have something to send that it had not before.
    fn kick(&mut self, port: u16);
    /// Call `timer` at `at`. A node has one alarm; an earlier wish replaces a later one.
    fn wake(&mut self, at: Time);
    /// A packet leaves the network without having arrived.
    /// `port`: that by which it was to leave; `None`: no route led on.
    fn dropped(&mut self, packet: &Packet, port: Option<u16>, cause: DropCause);
    /// Call `timer` at `at` with `what`, which is not 0, besides the alarm; nothing takes it back.
    fn call(&mut self, at: Time, what: u32);
    /// Offers the record of that packet. True: the driver keeps it, to hand it back to the NIC that
    /// sent it ([`Nic::returned`](crate::nic::Nic::returned)); false: it is freed.
    fn keep(&mut self, _id: PacketId, _cause: DropCause) -> bool {
        false
    }
    /// 64 random bits from the node's own stream.
    fn draw(&mut self) -> u64;
    /// A random number in [0, 1) for a decision that has a probability.
    fn unit(&mut self) -> f64 {
        (self.draw() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
    /// A PFC frame that arrived at `port`, or the end of a pause time, changed the set of its paused
    /// classes from `before` to `after`. The two can be equal.
    fn pfc_received(&mut self, port: u16, before: ClassSet, after: ClassSet);
    /// A PFC frame arrived at `port`. `on`: it pauses at least one class, the first time or again;
    /// else it resumes.
    fn pfc_frame_received(&mut self, _port: u16, _on: bool) {}
    /// A switch has queued a PFC pause for the upstream of `port`: `frame`, whose cold part is free for a
    /// driver that follows single pauses. `level` says what the buffer held.
    fn pfc_sent(
        &mut self,
        _port: u16,
        _class: u8,
        _frame: PacketId,
        _level: impl FnOnce() -> Level,
    ) {
    }
    /// A switch has queued a PFC pause for the upstream of `port` that repeats the last one.
    fn pfc_refresh_sent(&mut self, _port: u16, _class: u8, _frame: PacketId) {}
    /// A switch has queued a PFC resume for the upstream of `port`.
    fn pfc_resume_sent(&mut self, _port: u16, _class: u8, _frame: PacketId) {}
    /// A switch has queued a pause for the upstream of a port that names a queue or a flow there, as `queue` of
    /// its own port `egress` is too long: `frame`, whose cold part is free for a driver that follows pauses.
    fn hold_sent(&mut self, _frame: PacketId, _egress: u16, _queue: QueueId) {}
    /// A frame that names a queue or a flow by this number holds it at `port`, or lets it go.
    fn hold_received(&mut self, _port: u16, _number: u32, _on: bool) {}
    /// A packet that a hop scheme held back has joined a queue.
    fn released(&mut self, _id: PacketId) {}
    /// Whether [`Sink::flow_waits`] is listened to.
    fn follows_flows(&self) -> bool {
        false
    }
    /// What a flow waits for from now on (NICs only). May repeat itself.
    fn flow_waits(&mut self, _flow: &FlowStart, _wait: Wait) {}
    /// The last missing byte of a flow has come to its receiver (NICs only).
    fn delivered(&mut self, _flow: u32) {}
    /// The last acknowledgement of a flow came back to its sender (NICs only).
    fn finished(&mut self, end: FlowEnd);
}
