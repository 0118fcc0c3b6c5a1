//! What frames between neighbours, and schemes of links, can do to the ports of a node.

use crate::classes::ClassSet;
use crate::packet::{Arena, Packet};
use crate::units::Time;

/// The ports of a node, a switch or a NIC, as a hop scheme acts on them. A pause that changes nothing is
/// counted as a repeated pause.
pub trait Ports {
    /// Returns the time.
    fn now(&self) -> Time;
    /// Queues a frame for the neighbour at a port, before all other packets.
    fn emit(&mut self, port: u16, frame: Packet);
    /// Plans a call of the scheme's timer.
    fn wake(&mut self, at: Time);
    /// Lets a port choose a frame as soon as its link is free.
    fn kick(&mut self, port: u16);
    /// Returns the records of all packets.
    fn arena(&mut self) -> &mut Arena;
    /// Blocks a class of a port, or unblocks it, because the neighbour lacks room. The scheme computes that
    /// itself, so it is not a pause of the neighbour.
    fn block_class(&mut self, port: u16, class: u8, on: bool);
    /// Pauses or resumes classes, given as bits.
    fn pause_classes(&mut self, port: u16, classes: ClassSet, on: bool);
    /// Pauses classes, given as bits, for the time in which the port sends this many times 512 bits.
    fn pause_classes_for(&mut self, port: u16, classes: ClassSet, quanta: u16);
    /// Pauses or resumes a queue by its number at the port.
    fn pause_queue(&mut self, port: u16, queue: u16, on: bool);
    /// Pauses exactly these queues, given in order.
    fn pause_exactly(&mut self, port: u16, queues: &[u32]);
    /// Pauses or resumes a flow; `queue` is where its packets wait at a NIC.
    fn pause_flow(&mut self, port: u16, flow: u32, queue: u16, on: bool);
    /// Pauses or resumes an endpoint.
    fn pause_destination(&mut self, port: u16, dst: u32, on: bool);
}
