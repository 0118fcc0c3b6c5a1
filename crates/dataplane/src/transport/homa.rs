//! Homa: a message first sends a window of unscheduled packets, at a priority that depends on its
//! size. The receiver grants the remaining bytes to the messages with the fewest remaining bytes,
//! at priorities that the receiver selects (`specs/homa.md`).

mod config;
mod receiver;
mod sender;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Acted, Frames, Slots, Transport, Turns};
use crate::classes::{ClassSet, DATA_CLASS};
use crate::flow::{FlowStart, Unfinished};
use crate::ids::FlowSlot;
use crate::incoming::IncomingFlows;
use crate::packet::{Arena, Kind, PacketId};
use crate::sink::Sink;
use crate::timers::Timers;
use crate::units::{Rate, Time};
pub use config::{HomaConfig, MAX_LEVELS};
use receiver::Incoming;
use sender::Outgoing;

/// Context of all steps of Homa: clock, packets, timers and configuration of the NIC.
type Context<'a, S> = super::Context<'a, S, HomaConfig>;

/// A message that has packets to send, ordered by remaining bytes and then by flow ID.
// HOM-02: shortest remaining bytes first
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Next {
    remaining: u64,
    flow: u32,
    slot: FlowSlot,
}

/// The timeout of a message. Timers that expire at the same time are handled in the order of flow
/// IDs.
// NIC-06: order at the same time
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Timeout {
    flow: u32,
    /// Slot of the message at its sender; `None` at its receiver.
    slot: Option<FlowSlot>,
}

/// Homa at one NIC.
#[derive(Debug)]
pub struct Homa {
    outgoing: Slots<Outgoing>,
    /// Messages with packets to send, per port and class.
    ready: Turns<BinaryHeap<Reverse<Next>>>,
    incoming: IncomingFlows<Incoming>,
    /// Incoming messages that are not fully granted, per port: (remaining bytes, flow ID), in
    /// ascending order.
    // HOM-06: order of grants
    ungranted: Vec<Vec<(u64, u32)>>,
    timers: Timers<Timeout>,
}

impl Transport for Homa {
    fn levels(config: &HomaConfig) -> u16 {
        config.levels.into()
    }

    fn idle(acted: &Acted) -> Option<&'static str> {
        (acted.nics.grants == 0).then_some("Homa granted nothing")
    }

    fn new(_config: &HomaConfig, _frames: &Frames, classes: usize, ports: &[Rate]) -> Self {
        Self {
            outgoing: Slots::new(),
            ready: Turns::new(ports.len(), classes),
            incoming: IncomingFlows::new(),
            ungranted: vec![Vec::new(); ports.len()],
            timers: Timers::default(),
        }
    }

    fn start<S: Sink>(&mut self, cx: &mut Context<'_, S>, start: &FlowStart) {
        self.begin(cx, start);
    }

    fn receive<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
    ) {
        let (packet, cold) = (*arena.hot(id), *arena.cold(id));
        match packet.kind() {
            Kind::Data => return self.receive_data(cx, port, id, arena),
            Kind::Grant | Kind::Request => self.receive_grant(cx, &packet, &cold),
            Kind::Ack => self.receive_ack(cx, &packet, &cold),
            _ => {}
        }
        arena.free(id);
    }

    fn ready(&self, frames: &Frames, _: Time, port: u16) -> ClassSet {
        self.ready.filled(frames, port, BinaryHeap::is_empty)
    }

    fn send<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        class: u8,
        arena: &mut Arena,
    ) -> Option<PacketId> {
        if class < DATA_CLASS {
            return None;
        }
        self.send_data(cx, port, class, arena)
    }

    fn timer<S: Sink>(&mut self, cx: &mut Context<'_, S>, arena: &mut Arena) {
        let timeout_ps = cx.config.timeout_ps;
        while let Some(timer) = self.timers.due(cx.now, cx.sink) {
            let outgoing = &mut self.outgoing;
            let last_frame_ps = match timer.slot {
                Some(slot) => {
                    (outgoing.get_mut(slot, timer.flow)).map(|flow| &mut flow.last_frame_ps)
                }
                None => {
                    (self.incoming.open.get_mut(timer.flow)).map(|flow| &mut flow.last_frame_ps)
                }
            };
            let Some(last_frame_ps) = last_frame_ps else {
                continue;
            };
            let silent = cx.now >= *last_frame_ps + timeout_ps;
            if silent {
                *last_frame_ps = cx.now;
            }
            let at = *last_frame_ps + timeout_ps;
            match timer.slot {
                _ if !silent => {}
                Some(slot) => self.probe(cx, slot, timer.flow),
                None => self.request_missing(cx, timer.flow, arena),
            }
            self.timers.set(at, timer, cx.sink);
        }
    }

    fn for_each_flow(&self, frames: &Frames, visit: &mut dyn FnMut(&FlowStart, Unfinished)) {
        for flow in self.outgoing.iter() {
            let why = if flow.waits {
                "ready to send"
            } else if flow.packets.next < flow.packets.total {
                "waits for grants"
            } else {
                "waits for its acknowledgement"
            };
            flow.packets.visit(frames, flow.packets.next, why, visit);
        }
    }
}
