//! What Floodgate counts at a switch.

use super::Floodgate;

/// What Floodgate did at one switch.
// FG-70
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Packets that were held in a VOQ.
    pub held: u64,
    /// Of them packets of flows that the traffic does not call incast.
    pub held_others: u64,
    /// Packets that were released.
    pub released: u64,
    /// Most VOQs that ever were in use at once.
    pub max_voqs: u64,
    /// Most bytes that ever were held.
    pub max_held_bytes: u64,
    /// Destinations that found no empty VOQ and share one.
    pub hashed_voqs: u64,
    /// Frames of credits sent, and their bytes.
    pub credit_frames: u64,
    /// Bytes of these frames.
    pub credit_bytes: u64,
    /// Frames that were sent because enough bytes were credited.
    pub credit_frames_by_bytes: u64,
    /// Times that credits of a destination were due and withheld.
    pub withheld: u64,
    /// Pauses sent that name a destination.
    pub dst_pauses: u64,
    /// Resumes sent that name a destination.
    pub dst_resumes: u64,
    /// Questions after a silence (switchSYN).
    pub syns: u64,
    /// Units of windows that came back by a number though their packet or credit was lost.
    pub repaired: u64,
    /// Most entries that the table of windows ever had.
    pub max_windows: u64,
    /// Full windows that were cleared.
    pub cleared_windows: u64,
    /// Most entries of credit counters, one per ingress port and destination.
    pub credit_entries: u64,
    /// Most streams of numbers, one per egress port and destination.
    pub number_entries: u64,
}

impl Floodgate {
    /// Returns the counts, with those that its parts keep.
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
