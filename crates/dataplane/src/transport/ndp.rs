//! NDP: a flow first sends a window without permission. For each packet that arrives, complete or
//! trimmed to a header, the receiver sends one pull. Pulls are paced at the rate of the receiver's
//! link. Each pull permits one more packet (`specs/ndp.md`).

mod config;
mod receiver;
mod sender;

use std::collections::VecDeque;

use super::{Acted, Frames, Paced, Slots, Transport, Turns};
use crate::classes::{CONTROL_CLASS, ClassSet};
use crate::flow::{FlowStart, Unfinished};
use crate::ids::FlowSlot;
use crate::incoming::IncomingFlows;
use crate::packet::{Arena, Kind, PacketId};
use crate::requirements::SwitchRequirements;
use crate::sink::Sink;
use crate::timers::Timers;
use crate::units::{Rate, Time};
pub use config::NdpConfig;
use receiver::{Incoming, pulls};
use sender::Outgoing;

/// Context of all steps of NDP: clock, packets, timers and configuration of the NIC.
type Context<'a, S> = super::Context<'a, S, NdpConfig>;

/// A timer of the NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    /// The sender of a flow has received no reply for the timeout.
    Timeout { flow: u32, slot: FlowSlot },
    /// The pull pacer of a port permits the next pull.
    Pull { port: u16 },
}

/// NDP at one NIC.
#[derive(Debug)]
pub struct Ndp {
    outgoing: Slots<Outgoing>,
    /// Flows that may send, in round-robin order, per port and class.
    rings: Turns<VecDeque<(FlowSlot, u32)>>,
    incoming: IncomingFlows<Incoming>,
    /// Pulls to send per port, by flow ID. The list contains each flow at most once.
    pulls: Vec<Paced<u32>>,
    timers: Timers<Timer>,
}

impl Transport for Ndp {
    fn requires(config: &NdpConfig) -> SwitchRequirements {
        SwitchRequirements {
            trim: Some(config.trim),
            ..SwitchRequirements::default()
        }
    }

    fn idle(acted: &Acted) -> Option<&'static str> {
        (acted.trims == 0).then_some("NDP trimmed no packet")
    }

    fn new(_config: &NdpConfig, frames: &Frames, classes: usize, ports: &[Rate]) -> Self {
        Self {
            outgoing: Slots::new(),
            rings: Turns::new(ports.len(), classes),
            incoming: IncomingFlows::new(),
            pulls: ports.iter().map(|&rate| pulls(rate, frames)).collect(),
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
        match arena.hot(id).kind() {
            Kind::Data | Kind::Header => self.receive_data(cx, port, id, arena),
            Kind::Ack | Kind::Nak | Kind::Returned | Kind::Grant => {
                let (packet, cold) = (*arena.hot(id), *arena.cold(id));
                arena.free(id);
                if packet.kind() == Kind::Returned
                    && self.outgoing.get_mut(cold.slot, packet.flow).is_none()
                {
                    cx.counters.driven.returned += 1;
                }
                self.receive_reply(cx, &packet, &cold);
            }
            _ => arena.free(id),
        }
    }

    fn ready(&self, frames: &Frames, now: Time, port: u16) -> ClassSet {
        let pull = self.pulls[port as usize].is_ready(now);
        let rings = self.rings.filled(frames, port, VecDeque::is_empty);
        rings | ClassSet::from(pull) << CONTROL_CLASS
    }

    fn send<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        class: u8,
        arena: &mut Arena,
    ) -> Option<PacketId> {
        if class == CONTROL_CLASS {
            return self.send_pull(cx, port, arena);
        }
        self.send_data(cx, port, class, arena)
    }

    fn timer<S: Sink>(&mut self, cx: &mut Context<'_, S>, _: &mut Arena) {
        while let Some(timer) = self.timers.due(cx.now, cx.sink) {
            match timer {
                Timer::Timeout { flow, slot } => self.handle_timeout(cx, slot, flow),
                Timer::Pull { port } => {
                    self.pulls[port as usize].has_timer = false;
                    self.await_pull(cx, port);
                }
            }
        }
    }

    fn for_each_flow(&self, frames: &Frames, visit: &mut dyn FnMut(&FlowStart, Unfinished)) {
        for flow in self.outgoing.iter() {
            let why = if flow.waits {
                "ready to send"
            } else if flow.has_something() {
                "waits to be pulled"
            } else {
                "waits for an acknowledgement"
            };
            flow.packets.visit(frames, flow.acked, why, visit);
        }
    }
}
