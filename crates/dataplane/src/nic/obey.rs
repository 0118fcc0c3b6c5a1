//! Frames of the neighbour that tell a NIC what to hold.

use super::Nic;
use crate::hop::bfc::{Bitmap, PauseFlow, PauseQueue};
use crate::hop::floodgate::PauseDestination;
use crate::hop::pfc::PauseClasses;
use crate::packet::{Arena, Frame, PacketId};
use crate::sink::Sink;

impl Nic {
    /// A frame of the neighbour at a port. What a NIC does not obey, and what only switches understand
    /// (FG-20), changes nothing.
    pub(super) fn obey<S: Sink>(
        &mut self,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        let packet = *arena.hot(id);
        if let Some(PauseClasses { on, classes }) = PauseClasses::read(&packet) {
            // NIC-07
            if self.config.obeys_pfc {
                let (before, after) = match &mut self.scan {
                    Some(scan) => scan.pause_classes(classes, on),
                    None => self.sender.pause_classes(port, classes, on),
                };
                self.counters.repeated_pauses += u64::from(before == after);
                sink.pfc_received(port, before, after);
                if !on {
                    sink.kick(port);
                }
            }
        } else if let Some(PauseDestination { on, dst }) = PauseDestination::read(&packet) {
            // FG-42: each NIC that gets one has asked for it.
            let changed = match &mut self.scan {
                Some(scan) => scan.pause_destination(dst, on),
                None => self.sender.pause_destination(port, dst, on),
            };
            self.counters.repeated_pauses += u64::from(!changed);
            if !on {
                sink.kick(port);
            }
        } else if self.config.obeys_bfc {
            if Bitmap::read(&packet).is_some() {
                self.sender
                    .pause_exactly(&self.config, port, arena.list(id), sink);
            } else if let Some(frame) = PauseFlow::read(&packet) {
                let changed = self.sender.pause_flow(port, frame, sink);
                self.counters.repeated_pauses += u64::from(!changed);
            } else if let Some(PauseQueue { on, queue }) = PauseQueue::read(&packet) {
                let changed = self.sender.pause_queue(&self.config, port, queue, on, sink);
                self.counters.repeated_pauses += u64::from(!changed);
            }
        }
        arena.free(id);
    }
}
