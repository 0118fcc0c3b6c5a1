//! Counters of Floodgate at a switch.

use super::Floodgate;

/// Counters of Floodgate at one switch.
// FG-70
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Packets that were parked in a VOQ.
    pub held: u64,
    /// Parked packets of flows that do not belong to an incast.
    pub held_others: u64,
    /// Packets that were released from a VOQ.
    pub released: u64,
    /// Maximum number of VOQs in use.
    pub max_voqs: u64,
    /// Maximum number of bytes in VOQs.
    pub max_held_bytes: u64,
    /// Number of times that a destination found no empty VOQ and shared one.
    pub hashed_voqs: u64,
    /// Credit frames sent.
    pub credit_frames: u64,
    /// Bytes of the credit frames sent.
    pub credit_bytes: u64,
    /// Credit frames that were sent before the timer because their credits were for enough bytes.
    pub credit_frames_by_bytes: u64,
    /// Number of times that the credits of a destination were due and withheld.
    pub withheld: u64,
    /// Pause frames sent for a destination.
    pub dst_pauses: u64,
    /// Resume frames sent for a destination.
    pub dst_resumes: u64,
    /// switchSYN frames sent after a timeout without credits.
    pub syns: u64,
    /// Window units refunded by a sequence number after the loss of a packet or credit.
    pub repaired: u64,
    /// Maximum number of entries in the table of windows.
    pub max_windows: u64,
    /// Table entries that were removed because their window was full.
    pub cleared_windows: u64,
    /// Maximum number of credit counters, one per ingress port and destination.
    pub credit_entries: u64,
    /// Maximum number of streams with sequence numbers, one per egress port and destination.
    pub number_entries: u64,
}

impl Floodgate {
    /// Returns all counters, including those of the VOQs, credits, windows and streams.
    pub(super) fn counts(&self) -> Counts {
        Counts {
            max_voqs: u64::from(self.pool.counts.max_in_use),
            max_held_bytes: self.pool.counts.max_bytes,
            hashed_voqs: self.pool.counts.hashed,
            withheld: self.credits.as_ref().map_or(0, |c| c.withheld),
            max_windows: self.windows.as_ref().map_or(0, |w| w.max_entries),
            cleared_windows: self.windows.as_ref().map_or(0, |w| w.cleared),
            credit_entries: self.credits.as_ref().map_or(0, |c| c.entries() as u64),
            number_entries: self.numbers.as_ref().map_or(0, |n| n.len() as u64),
            ..self.counters
        }
    }
}
