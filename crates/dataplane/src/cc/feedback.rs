//! Input of a congestion control: the packets that the sender sends, and the feedback of the
//! network.

use crate::int::Telemetry;
use crate::packet::Notice;
use crate::units::Time;

/// One piece of information for the congestion control of a flow.
#[derive(Clone, Copy, Debug)]
pub enum Feedback<'a> {
    /// An acknowledgement arrived.
    Ack(Ack<'a>),
    /// A congestion notification packet arrived, or the ACK of a marked packet if such ACKs count
    /// as CNPs.
    Cnp,
    /// Packets were lost.
    Loss(Loss),
    /// A switch sent a notice.
    Notice(Notice),
}

/// The content of an acknowledgement. Sequence numbers are in payload bytes.
#[derive(Clone, Copy, Debug)]
pub struct Ack<'a> {
    /// All bytes below this number are acknowledged.
    pub seq: u64,
    /// Payload bytes that this ACK acknowledges for the first time.
    pub newly: u64,
    /// First byte not yet sent.
    pub snd_nxt: u64,
    /// The acknowledged packet carried an ECN mark.
    pub marked: bool,
    /// Time from the start of the packet's transmission to the arrival of its ACK, in ps.
    pub rtt_ps: Time,
    /// Time within `rtt_ps` between arrival at the receiver's host and its ACK, in ps (NIC-42).
    pub remote_host_ps: Time,
    /// Time within `rtt_ps` between arrival of the ACK at the sender's host and its processing, in
    /// ps (NIC-42).
    pub local_host_ps: Time,
    /// Telemetry of the packet as the receiver returned it (HPCC-04); `None` if the ACK has none.
    pub int: Option<Telemetry<'a>>,
    /// Marks of the packet ([`Control::mark`](super::Control::mark)) after changes by switches.
    pub marks: u8,
}

/// A data packet whose transmission starts. Sizes are in payload bytes.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Sequence number of its first byte, as in [`Ack::seq`].
    pub seq: u64,
    /// Size of the packet.
    pub bytes: u64,
    /// Bytes of the message from the start of this packet to the end of the message.
    pub left: u64,
}

/// The content of a loss report.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// First byte not yet sent, before the flow goes back to the lost packet.
    pub snd_nxt: u64,
    /// True after a retransmission timeout, false after a NAK or a drop notice.
    pub timeout: bool,
}
