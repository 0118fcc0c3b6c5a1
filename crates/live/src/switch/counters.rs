//! Counters of a switch between real frames, in addition to the counters of its dataplane.

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
    /// Sent pause frames, first ones and repetitions.
    pub pauses_sent: u64,
    /// Sent resume frames.
    pub resumes_sent: u64,
    /// Received 802.3x pauses, which a PFC port ignores.
    pub global_pauses: u64,
    /// Received MAC control frames that are neither PFC frames nor 802.3x pauses.
    pub malformed_pauses: u64,
    /// Number of link failures and recoveries.
    pub link_changes: u64,
}

/// Counters over all ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames to unknown stations or to groups.
    pub flooded: u64,
    /// Frames whose destination is at the port of arrival.
    pub returned: u64,
    /// Frames to reserved addresses, which bridges never forward.
    pub reserved: u64,
    /// Frames without a complete header, and malformed frames between neighbours.
    pub malformed: u64,
    /// Frames longer than the switch supports.
    pub oversized: u64,
    /// Frames for whose destination no route leads to the port of the destination.
    pub nowhere: u64,
    /// Frames with a new ECN mark.
    pub marked: u64,
    /// Frames that should be marked, but whose ends do not support ECN.
    pub unmarkable: u64,
    /// Frames that could not be written. This is a bug of the program.
    pub unwritable: u64,
    /// Packets dropped by the switch, per class and cause.
    pub dropped: [[u64; DROP_CAUSES]; MAX_CLASSES],
}

impl Counters {
    /// Counts a dropped packet.
    pub fn dropped(&mut self, class: u8, cause: DropCause) {
        self.dropped[usize::from(class)][cause as usize] += 1;
    }
}
