//! Counters of a switch that runs on real frames, in addition to the counters of its dataplane.

use dataplane::classes::MAX_CLASSES;
use dataplane::sink::{DROP_CAUSES, DropCause};

/// Counters of one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Received frames.
    pub received: u64,
    /// Bytes of received frames, without frame check sequences.
    pub received_bytes: u64,
    /// Sent frames.
    pub sent: u64,
    /// Bytes of sent frames, without frame check sequences.
    pub sent_bytes: u64,
    /// Received PFC frames, both pauses and resumes.
    pub pauses_received: u64,
    /// Sent PFC pause frames, including repetitions.
    pub pauses_sent: u64,
    /// Sent PFC resume frames.
    pub resumes_sent: u64,
    /// Received IEEE 802.3x pause frames, which a port with PFC ignores.
    pub global_pauses: u64,
    /// Received MAC control frames that are neither PFC frames nor 802.3x pauses.
    pub malformed_pauses: u64,
    /// Number of link failures and recoveries.
    pub link_changes: u64,
}

/// Counters of a switch, summed over all ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames that were flooded because the destination is unknown or a group address.
    pub flooded: u64,
    /// Dropped frames whose destination station is at the port of arrival.
    pub returned: u64,
    /// Dropped frames to reserved addresses, which bridges never forward.
    pub reserved: u64,
    /// Dropped frames without a complete header, and malformed control frames between neighbours.
    pub malformed: u64,
    /// Dropped frames that are longer than the switch supports.
    pub oversized: u64,
    /// Dropped frames for which no route leads to the port of the destination.
    pub nowhere: u64,
    /// Frames that the switch marked with ECN.
    pub marked: u64,
    /// Frames that exceed an ECN threshold but do not support ECN.
    pub unmarkable: u64,
    /// Packets that could not be encoded as a frame. This is a bug of the program.
    pub unwritable: u64,
    /// Packets that the dataplane dropped, by class and cause.
    pub dropped: [[u64; DROP_CAUSES]; MAX_CLASSES],
}

impl Counters {
    /// Counts a packet that the dataplane dropped.
    pub fn dropped(&mut self, class: u8, cause: DropCause) {
        self.dropped[usize::from(class)][cause as usize] += 1;
    }
}
