//! What a switch between real frames counts besides what its dataplane counts.

use dataplane::classes::{ClassSet, MAX_CLASSES, classes_of};
use dataplane::sink::{DROP_CAUSES, DropCause};

/// Of one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Frames that came, and their bytes without checksum.
    pub received: u64,
    /// See there.
    pub received_bytes: u64,
    /// Frames that left, and their bytes without checksum.
    pub sent: u64,
    /// See there.
    pub sent_bytes: u64,
    /// Pauses of PFC that came, resumes among them.
    pub pauses_received: u64,
    /// Frames that pause, first ones and repetitions.
    pub pauses_sent: u64,
    /// Frames that resume.
    pub resumes_sent: u64,
    /// Pauses of 802.3x, which a PFC port ignores.
    pub global_pauses: u64,
    /// Frames of link control that are none of both.
    pub malformed_pauses: u64,
    /// Times that the link failed or came back.
    pub link_changes: u64,
}

/// Of all ports together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames for stations that are not known, or for several.
    pub flooded: u64,
    /// Frames whose station is where they came from.
    pub returned: u64,
    /// Frames to addresses that no bridge forwards.
    pub reserved: u64,
    /// Frames without a header, and frames between neighbours that cannot be read.
    pub malformed: u64,
    /// Frames that are longer than the switch is made for.
    pub oversized: u64,
    /// Frames for which no way leads to their port.
    pub nowhere: u64,
    /// Frames that were marked.
    pub marked: u64,
    /// Frames that were to be marked, and whose ends do not know ECN.
    pub unmarkable: u64,
    /// Frames that could not be written: a mistake of this program.
    pub unwritable: u64,
    /// Dropped by the switch: per class and cause.
    pub dropped: [[u64; DROP_CAUSES]; MAX_CLASSES],
}

impl Counters {
    /// A packet of a class was dropped.
    pub fn dropped(&mut self, class: u8, cause: DropCause) {
        self.dropped[usize::from(class)][cause as usize] += 1;
    }

    /// Dropped of some classes, given as bits.
    #[must_use]
    pub fn dropped_of(&self, classes: ClassSet) -> u64 {
        let of = classes_of(classes);
        of.map(|class| self.dropped[usize::from(class)].iter().sum::<u64>())
            .sum()
    }
}
