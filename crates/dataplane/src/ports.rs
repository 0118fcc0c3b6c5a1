//! Actions of hop schemes and link schemes on the ports of a node.

use crate::classes::ClassSet;
use crate::packet::{Arena, Packet};
use crate::units::Time;

/// Ports of a switch or NIC, as hop schemes and link schemes use them. A pause that changes nothing
/// is counted as a repeated pause.
pub trait Ports {
    /// Returns the current time.
    fn now(&self) -> Time;
    /// Queues a frame for the neighbour at a port, before all other packets.
    fn emit(&mut self, port: u16, frame: Packet);
    /// Schedules a call of the scheme's timer.
    fn wake(&mut self, at: Time);
    /// Makes a port select a frame as soon as its link is free.
    fn kick(&mut self, port: u16);
    /// Returns the records of all packets.
    fn arena(&mut self) -> &mut Arena;
    /// Blocks or unblocks a class of a port, because the neighbour has no room. The scheme computes
    /// this itself, so it is not a pause by the neighbour.
    fn block_class(&mut self, port: u16, class: u8, on: bool);
    /// Pauses or resumes classes, given as a bit set.
    fn pause_classes(&mut self, port: u16, classes: ClassSet, on: bool);
    /// Pauses classes, given as a bit set, for the time in which the port sends `quanta` times 512
    /// bits.
    fn pause_classes_for(&mut self, port: u16, classes: ClassSet, quanta: u16);
    /// Pauses or resumes a queue by its number at the port.
    fn pause_queue(&mut self, port: u16, queue: u16, on: bool);
    /// Pauses exactly these queues, given in ascending order, and resumes all others.
    fn pause_exactly(&mut self, port: u16, queues: &[u32]);
    /// Pauses or resumes a flow. `queue` is the queue of its packets at a NIC.
    fn pause_flow(&mut self, port: u16, flow: u32, queue: u16, on: bool);
    /// Pauses or resumes the packets to an endpoint.
    fn pause_destination(&mut self, port: u16, dst: u32, on: bool);
}
