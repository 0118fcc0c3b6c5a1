//! What a host between real frames counts besides what its NIC counts.

use dataplane::int::IntStack;
use dataplane::packet::{Kind, Packet, flag};

/// Of all ports together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames that came.
    pub received: u64,
    /// Data packets that a switch had marked.
    pub marks_received: u64,
    /// Acknowledgements that repeat a mark.
    pub echoes_received: u64,
    /// CNPs that came.
    pub cnps_received: u64,
    /// Acknowledgements with telemetry, and the switches that wrote it.
    pub int_stacks: u64,
    /// See there.
    pub int_hops: u64,
    /// Pauses of PFC that came, resumes among them.
    pub pauses_received: u64,
    /// Pauses that began to hold something: a class, a queue or a flow.
    pub pauses_obeyed: u64,
    /// Frames of a neighbour's hop scheme.
    pub neighbour_frames: u64,
    /// Pauses of 802.3x, which a PFC port ignores.
    pub global_pauses: u64,
    /// Times that the link failed or came back.
    pub link_changes: u64,
    /// Times that more was due than is caught up: it cannot send as fast as its link in the scenario.
    pub overruns: u64,
    /// Answers that were lost with the link.
    pub dropped: u64,
    /// Frames of no format of ours: of other programs.
    pub others: u64,
    /// Pauses and frames of neighbours that cannot be read.
    pub malformed: u64,
    /// Packets for another host.
    pub misdirected: u64,
    /// Packets whose sender is not in the scenario, or says that it is this host.
    pub impostors: u64,
    /// Packets that answer nothing that was sent, and data that no flow has.
    pub unexpected: u64,
    /// Frames that could not be written: a mistake of this program.
    pub unwritable: u64,
    /// Bytes of the longest frame that was sent.
    pub largest_bytes: usize,
}

impl Counters {
    /// A packet came that the NIC will look at.
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
