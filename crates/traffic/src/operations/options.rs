//! What differs between the sources of workloads, each a named option.

use crate::operation::CollectiveKind;
use std::collections::BTreeMap;

/// What differs between the sources of workloads. The default is the plainest of each.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Which message a receive takes.
    pub matching: Matching,
    /// When a send ends.
    pub send_end: SendEnd,
    /// When a receive ends.
    pub receive_end: ReceiveEnd,
    /// Messages of more bytes than this wait until the receiver has a receive for them. // OPS-13
    pub rendezvous_above_bytes: Option<u64>,
    /// Bytes of each of the two messages that a rendezvous exchanges first. // OPS-13
    pub rendezvous_message_bytes: u64,
    /// Which ready operation has a free resource first. // OPS-23
    pub ready_order: ReadyOrder,
    /// How collectives are counted that have no instance number. // OPS-30
    pub instances: Instances,
    /// Whether a send occupies its resource until it ends, or during its overhead only. // OPS-22
    pub send_holds_to_end: bool,
    /// Whether a receive occupies its resource while it waits, or during its overhead only.
    /// // OPS-22
    pub receive_holds_while_waiting: bool,
    /// Which messages share a queue pair. // OPS-15
    pub queue_pairs: QueuePairs,
    /// Time of the host per message sent or received (o of LogGOPS), ps. // OPS-16
    pub overhead_ps: u64,
    /// The same for each byte but the first (O of LogGOPS). // OPS-16
    pub overhead_per_byte: PerByte,
    /// NICs of a rank; a message uses its NIC modulo this number. 0: as many as messages name.
    /// // OPS-21: the network may have fewer
    pub nics: u16,
    /// Time of the NIC per message (g of LogGOPS), ps; 0 where the network has NICs. // OPS-21
    pub gap_ps: u64,
    /// The same for each byte but the first (G of LogGOPS). // OPS-21
    pub gap_per_byte: PerByte,
    /// Time for a reduction in a collective, whatever its size, ps. // OPS-34
    pub reduction_ps: u64,
    /// The same for each byte. // OPS-34
    pub reduction_per_byte: PerByte,
    /// What the time of a reduction is a whole multiple of, ps: it is cut to that. 0: to nothing.
    /// // OPS-34
    pub reduction_grain_ps: u64,
    /// Time in which a rank moves a part of a collective between memory and network, ps. // OPS-37
    pub copy_ps: u64,
    /// Ranks of a server, which have numbers that follow each other. 0: all are in one. // OPS-17
    pub server_ranks: u32,
    /// How long a message of a collective to another server waits at the host before it is sent, in
    /// the place of what its collective says, ps. // OPS-17
    pub latency_across_ps: u64,
    /// Algorithm of each kind of collective that names none, as written. // OPS-32
    pub algorithms: BTreeMap<CollectiveKind, Box<str>>,
}

impl Options {
    /// How long a message of a collective waits at the host before it is sent, ps; `inside_ps` is
    /// what the collective says. // OPS-17
    #[must_use]
    pub fn latency_ps(&self, inside_ps: u64, from: u32, to: u32) -> u64 {
        let server = |rank: u32| rank.checked_div(self.server_ranks);
        if server(from) == server(to) {
            inside_ps
        } else {
            self.latency_across_ps
        }
    }

    /// How long a reduction of this many bytes takes, ps. // OPS-34
    #[must_use]
    pub fn reduction_ps_of(&self, bytes: u64) -> u64 {
        let exact = self.reduction_per_byte.times(bytes);
        let cut = exact.checked_rem(self.reduction_grain_ps).unwrap_or(0);
        self.reduction_ps + (exact - cut)
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            matching: Matching::TagAndSource,
            send_end: SendEnd::Acknowledged,
            receive_end: ReceiveEnd::Received,
            rendezvous_above_bytes: None,
            rendezvous_message_bytes: 64,
            ready_order: ReadyOrder::Index,
            instances: Instances::Index,
            send_holds_to_end: false,
            receive_holds_while_waiting: false,
            queue_pairs: QueuePairs::PerChannel,
            overhead_ps: 0,
            overhead_per_byte: PerByte::ZERO,
            nics: 0,
            gap_ps: 0,
            gap_per_byte: PerByte::ZERO,
            reduction_ps: 0,
            reduction_per_byte: PerByte::ZERO,
            reduction_grain_ps: 0,
            copy_ps: 0,
            server_ranks: 0,
            latency_across_ps: 0,
            algorithms: BTreeMap::new(),
        }
    }
}

/// Which message a receive takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matching {
    /// The first message of its source and tag, each of which may be any; messages and receives
    /// that match each other do so in the order in which they came. // OPS-10
    TagAndSource,
    /// Bytes of messages of its source and tag are credited; a receive takes its own bytes from
    /// them, whole messages or not. No wildcards. // OPS-11
    Bytes,
    /// There are no receives. // OPS-12
    None,
}

/// When a send ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendEnd {
    /// When the host has given the message to its NIC. // OPS-14
    Eager,
    /// When the sender knows that the receiver has it: with the last ACK. // OPS-14
    Acknowledged,
    /// When the receiver has the last byte. // OPS-14
    Received,
}

/// When a receive ends, but for the time of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveEnd {
    /// When the last byte is there. // OPS-14
    Received,
    /// When the sender has the last ACK. // OPS-14
    Acknowledged,
}

/// Which ready operation has a free resource first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadyOrder {
    /// That of the smallest priority, then index.
    Index,
    /// That which was ready first.
    FirstReady,
    /// That which was ready last.
    LastReady,
}

/// How each rank counts the collectives of a group, so that its members meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instances {
    /// In the order of their indices.
    Index,
    /// In the order in which the rank starts them.
    Start,
}

/// Which messages share a queue pair, with the state of its congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueuePairs {
    /// All of one channel between two ranks, one after the other.
    PerChannel,
    /// None: each opens a new one.
    PerMessage,
}

/// Time per byte, exact to 2⁻²⁴ ps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PerByte(u64);

impl PerByte {
    /// No time.
    pub const ZERO: Self = Self(0);

    /// From picoseconds per byte; None unless it is a number of 0 to 2³⁹.
    #[must_use]
    pub fn from_ps(ps: f64) -> Option<Self> {
        let units = libm::round(ps * f64::from(1 << 24));
        (0.0..=9.2e18)
            .contains(&units)
            .then_some(Self(units as u64))
    }

    /// The time of this many bytes, ps, rounded to the nearest.
    #[must_use]
    pub const fn times(self, bytes: u64) -> u64 {
        let units = self.0 as u128 * bytes as u128 + (1 << 23);
        let ps = units >> 24;
        if ps > u64::MAX as u128 {
            u64::MAX
        } else {
            ps as u64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::PerByte;

    #[test]
    fn time_per_byte_is_exact_where_it_can_be() {
        assert_eq!(PerByte::from_ps(6_000.0).unwrap().times(1023), 6_138_000);
        assert_eq!(
            PerByte::from_ps(40.5).unwrap().times(100_000_001),
            4_050_000_041
        );
        assert_eq!(PerByte::from_ps(-1.0), None);
        assert_eq!(PerByte::from_ps(f64::NAN), None);
        assert_eq!(PerByte::from_ps(1e9).unwrap().times(u64::MAX), u64::MAX);
    }
}
