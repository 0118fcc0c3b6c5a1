//! Counters of a host that runs on real frames, in addition to the counters of its NIC.

use dataplane::int::IntStack;
use dataplane::packet::{Kind, Packet, flag};

/// Counters of a host, summed over all ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Received frames.
    pub received: u64,
    /// Received data packets with an ECN mark.
    pub marks_received: u64,
    /// Received acknowledgements that echo an ECN mark.
    pub echoes_received: u64,
    /// Received CNPs.
    pub cnps_received: u64,
    /// Received acknowledgements that carry an INT stack.
    pub int_stacks: u64,
    /// Total number of hops in the INT stacks of received acknowledgements.
    pub int_hops: u64,
    /// Received PFC frames, both pauses and resumes.
    pub pauses_received: u64,
    /// Number of times that a received frame paused a class, queue or flow.
    pub pauses_obeyed: u64,
    /// Received control frames of the neighbour's hop-by-hop scheme.
    pub neighbour_frames: u64,
    /// Received IEEE 802.3x pause frames, which a port with PFC ignores.
    pub global_pauses: u64,
    /// Number of link failures and recoveries.
    pub link_changes: u64,
    /// Number of times that the host could not keep up with the scenario's link rate: too many
    /// actions were late.
    pub overruns: u64,
    /// ACKs and other replies that were dropped because the link failed.
    pub dropped: u64,
    /// Received frames of other programs, which are not in a format of Backwater.
    pub others: u64,
    /// Received pause frames and other control frames between neighbours that are malformed.
    pub malformed: u64,
    /// Received packets whose destination endpoint is another host.
    pub misdirected: u64,
    /// Received packets whose source endpoint is not in the scenario, or is this host.
    pub impostors: u64,
    /// Received replies to packets that were never sent, and received data packets that cannot
    /// belong to a flow.
    pub unexpected: u64,
    /// Packets that could not be encoded as a frame. This is a bug of the program.
    pub unwritable: u64,
    /// Length of the longest frame sent, bytes.
    pub largest_bytes: usize,
}

impl Counters {
    /// Counts a received packet that is passed to the NIC, with its INT stack.
    pub(super) fn count(&mut self, packet: &Packet, stack: Option<&IntStack>) {
        let marked = u64::from(packet.has(flag::CE));
        match packet.kind() {
            Kind::Data => self.marks_received += marked,
            Kind::Cnp => self.cnps_received += 1,
            _ => {
                self.echoes_received += marked;
                self.int_stacks += u64::from(stack.is_some());
                self.int_hops += stack.map_or(0, |stack| stack.hops().len() as u64);
            }
        }
    }
}
