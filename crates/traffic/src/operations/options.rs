//! Options of a workload. They reproduce the semantics of different workload formats.

use crate::operation::CollectiveKind;
use std::collections::BTreeMap;

/// Options of a workload. The defaults select the simplest semantics.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Rule for matching messages and receives.
    pub matching: Matching,
    /// Event at which a send ends.
    pub send_end: SendEnd,
    /// Event at which a receive ends.
    pub receive_end: ReceiveEnd,
    /// Messages with more bytes use a rendezvous: the sender waits until the receiver is ready.
    // OPS-13
    pub rendezvous_above_bytes: Option<u64>,
    /// Size of each of the two control messages of a rendezvous, in bytes. // OPS-13
    pub rendezvous_message_bytes: u64,
    /// Order of ready operations for a free resource. // OPS-23
    pub ready_order: ReadyOrder,
    /// Order in which collectives without an instance number are counted. // OPS-30
    pub instances: Instances,
    /// True if a send occupies its resource until it ends; false if it does so only during its
    /// overhead.
    // OPS-22: resource of a send
    pub send_holds_to_end: bool,
    /// True if a receive occupies its resource while it waits; false if it does so only during its
    /// overhead.
    // OPS-22: resource of a receive
    pub receive_holds_while_waiting: bool,
    /// Sharing of queue pairs. // OPS-15
    pub queue_pairs: QueuePairs,
    /// Host time per message sent or received (o of LogGOPS), ps. // OPS-16
    pub overhead_ps: u64,
    /// Host time for each byte of a message except the first (O of LogGOPS). // OPS-16
    pub overhead_per_byte: PerByte,
    /// Number of NICs of a rank. A message uses NIC (index in the workload modulo this number). 0:
    /// the NIC index is used unchanged.
    // OPS-21: the simulated network may have fewer NICs
    pub nics: u16,
    /// NIC time per message (g of LogGOPS), ps. 0 if the network model simulates the NICs.
    // OPS-21
    pub gap_ps: u64,
    /// NIC time for each byte of a message except the first (G of LogGOPS). // OPS-21
    pub gap_per_byte: PerByte,
    /// Fixed time of a reduction in a collective, ps. It is added to the time per byte. // OPS-34
    pub reduction_ps: u64,
    /// Time for each byte of a reduction. // OPS-34
    pub reduction_per_byte: PerByte,
    /// The time for all bytes of a reduction is rounded down to a multiple of this, ps. 0 disables
    /// rounding.
    // OPS-34: duration of a reduction
    pub reduction_grain_ps: u64,
    /// Time to copy the data of a message of a collective between memory and network, ps. // OPS-37
    pub copy_ps: u64,
    /// Number of consecutive ranks per server. 0: all ranks are in one server. // OPS-17
    pub server_ranks: u32,
    /// Latency of a message of a collective to another server, ps. Inside a server, the
    /// `latency_ps` of the collective applies. // OPS-17
    pub latency_across_ps: u64,
    /// Default algorithm as text, by kind of collective. // OPS-32
    pub algorithms: BTreeMap<CollectiveKind, Box<str>>,
}

impl Options {
    /// Returns the latency of a collective's message from rank `from` to rank `to`, ps. `inside_ps`
    /// is the latency inside a server. // OPS-17
    #[must_use]
    pub fn latency_ps(&self, inside_ps: u64, from: u32, to: u32) -> u64 {
        let server = |rank: u32| rank.checked_div(self.server_ranks);
        if server(from) == server(to) {
            inside_ps
        } else {
            self.latency_across_ps
        }
    }

    /// Returns the time of a reduction of `bytes` bytes, ps. // OPS-34
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

/// Rule for matching messages and receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matching {
    /// A receive matches the first message with its source and tag; each of them may be a wildcard.
    /// Messages match in the order of arrival, and receives in the order of posting. // OPS-10
    TagAndSource,
    /// Arrived bytes are counted per source and tag. A receive ends when its number of bytes has
    /// arrived, independent of message boundaries. There are no wildcards. // OPS-11
    Bytes,
    /// Workloads without receives. // OPS-12
    None,
}

/// Event at which a send ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendEnd {
    /// When the host has passed the message to its NIC. // OPS-14
    Eager,
    /// When the last ACK has arrived at the sender. // OPS-14
    Acknowledged,
    /// When the receiver has the last byte. // OPS-14
    Received,
}

/// Event at which a receive ends. The host's processing time is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveEnd {
    /// When the last byte has arrived. // OPS-14
    Received,
    /// When the last ACK has arrived at the sender. // OPS-14
    Acknowledged,
}

/// Order in which ready operations occupy a free resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadyOrder {
    /// The smallest priority first, then the smallest index.
    Index,
    /// The operation that was ready first.
    FirstReady,
    /// The operation that was ready last.
    LastReady,
}

/// Order in which each rank counts the collectives of a group. Collectives with the same count
/// belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instances {
    /// In the order of their indices in the rank's list.
    Index,
    /// In the order in which the rank starts them.
    Start,
}

/// Sharing of queue pairs and their congestion-control state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueuePairs {
    /// All messages of one channel between two ranks share one queue pair, in sequence.
    PerChannel,
    /// Each message opens a new queue pair.
    PerMessage,
}

/// Time per byte, in units of 2⁻²⁴ ps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PerByte(u64);

impl PerByte {
    /// Zero time per byte.
    pub const ZERO: Self = Self(0);

    /// Converts picoseconds per byte. Returns `None` unless the number is from 0 to 2³⁹.
    #[must_use]
    pub fn from_ps(ps: f64) -> Option<Self> {
        let units = libm::round(ps * f64::from(1 << 24));
        (0.0..=9.2e18)
            .contains(&units)
            .then_some(Self(units as u64))
    }

    /// Returns the time of `bytes` bytes in ps, rounded to the nearest.
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
