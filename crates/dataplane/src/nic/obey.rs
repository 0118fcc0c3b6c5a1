//! Frames of the neighbour that tell a NIC what to hold.

use super::Nic;
use super::half::Common;
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
        let Common {
            config,
            egress,
            counters,
            ..
        } = &mut self.common;
        let packet = *arena.hot(id);
        if let Some(PauseClasses { on, classes }) = PauseClasses::read(&packet) {
            // NIC-07
            if config.obeys_pfc {
                let (before, after) = egress.pause_classes(port, classes, on);
                counters.repeated_pauses += u64::from(before == after);
                sink.pfc_received(port, before, after);
                if !on {
                    sink.kick(port);
                }
            }
        } else if let Some(PauseDestination { on, dst }) = PauseDestination::read(&packet) {
            // FG-42: each NIC that gets one has asked for it.
            let changed = egress.pause_destination(port, dst, on);
            counters.repeated_pauses += u64::from(!changed);
            if !on {
                sink.kick(port);
            }
        } else if config.obeys_bfc {
            if Bitmap::read(&packet).is_some() {
                egress.pause_exactly(config, port, arena.list(id), sink);
            } else if let Some(frame) = PauseFlow::read(&packet) {
                let changed = egress.pause_flow(port, frame, sink);
                counters.repeated_pauses += u64::from(!changed);
            } else if let Some(PauseQueue { on, queue }) = PauseQueue::read(&packet) {
                let changed = egress.pause_queue(config, port, queue, on, sink);
                counters.repeated_pauses += u64::from(!changed);
            }
        }
        arena.free(id);
    }
}
