//! ExpressPass: a sender requests credits from the receiver. The receiver sends credits at a rate
//! that it adapts to the share of credits that return as data. Each credit permits one data packet
//! (`specs/expresspass.md`).

mod config;
mod feedback;
mod pacing;
mod receiver;
mod sender;

use std::collections::VecDeque;

use super::{Acted, Frames, Slots, Transport, Turns};
use crate::classes::{CONTROL_CLASS, ClassSet};
use crate::flow::{FlowStart, Unfinished};
use crate::ids::FlowSlot;
use crate::incoming::IncomingFlows;
use crate::mixed::MixedMap;
use crate::packet::{Arena, Kind, PacketId};
use crate::requirements::SwitchRequirements;
use crate::sink::Sink;
use crate::timers::Timers;
use crate::units::{Rate, Time};
pub use config::ExpressPassConfig;
use feedback::Incoming;
use pacing::Port;
use sender::{Job, Outgoing};

/// Context of all steps of ExpressPass: clock, packets, timers and configuration of the NIC.
type Context<'a, S> = super::Context<'a, S, ExpressPassConfig>;

/// Traffic class of credits.
// XP-01: credits have their own class
const CREDIT_CLASS: u8 = CONTROL_CLASS;

/// A timer of the NIC. Timers with the same expiry are handled in the order of this type.
// NIC-06: order at the same time
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    /// The sender of a flow has received no frame for the timeout.
    Timeout { flow: u32, slot: FlowSlot },
    /// The token bucket of a port permits a credit.
    Bucket { port: u16 },
}

/// ExpressPass at one NIC.
#[derive(Debug)]
pub struct ExpressPass {
    outgoing: Slots<Outgoing>,
    /// Ended flows: the time until which further credits cause no stop request, and the minimum
    /// interval between two stop requests.
    ended: MixedMap<u32, (Time, Time)>,
    /// Frames to send per port and class: slot and ID of the flow, and the frame.
    jobs: Turns<VecDeque<(FlowSlot, u32, Job)>>,
    incoming: IncomingFlows<Incoming>,
    ports: Vec<Port>,
    timers: Timers<Timer>,
}

impl Transport for ExpressPass {
    fn requires(config: &ExpressPassConfig) -> SwitchRequirements {
        SwitchRequirements {
            shaped: Some(config.queue),
            ..SwitchRequirements::default()
        }
    }

    fn idle(acted: &Acted) -> Option<&'static str> {
        let dropped = acted.credits_dropped + acted.nics.credits_dropped;
        (dropped == 0).then_some("ExpressPass dropped no credit")
    }

    fn new(config: &ExpressPassConfig, _frames: &Frames, classes: usize, ports: &[Rate]) -> Self {
        Self {
            outgoing: Slots::new(),
            ended: MixedMap::default(),
            jobs: Turns::new(ports.len(), classes),
            incoming: IncomingFlows::new(),
            ports: ports.iter().map(|&rate| Port::new(config, rate)).collect(),
            timers: Timers::default(),
        }
    }

    // XP-14: request for credits
    fn start<S: Sink>(&mut self, cx: &mut Context<'_, S>, start: &FlowStart) {
        self.begin(cx, start);
        self.schedule_call(cx);
    }

    fn receive<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
    ) {
        // Credits that are due now are created after all arrivals (ENG-03).
        self.catch_up(cx, cx.now);
        let (packet, cold) = (*arena.hot(id), *arena.cold(id));
        match packet.kind() {
            Kind::Data => self.receive_data(cx, port, id, arena),
            Kind::Grant => self.receive_credit(cx, port, id, arena),
            Kind::Request if packet.psn != 0 => self.receive_request(cx, port, id, arena),
            Kind::Request => {
                arena.free(id);
                self.receive_stop(cx, port, &packet, arena);
            }
            Kind::Ack => {
                arena.free(id);
                self.receive_ack(cx, &packet, &cold);
            }
            Kind::Nak => {
                arena.free(id);
                self.receive_nak(cx, &packet, cold.slot);
            }
            _ => arena.free(id),
        }
        self.schedule_call(cx);
    }

    fn ready(&self, frames: &Frames, now: Time, port: u16) -> ClassSet {
        let credit = self.ports[port as usize].credits.is_ready(now);
        let jobs = self.jobs.filled(frames, port, VecDeque::is_empty);
        jobs | ClassSet::from(credit) << CREDIT_CLASS
    }

    fn send<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        class: u8,
        arena: &mut Arena,
    ) -> Option<PacketId> {
        if class == CREDIT_CLASS {
            return self.send_credit(cx, port, arena);
        }
        while let Some((slot, number, job)) = self.jobs.of(port, class).pop_front() {
            let sent = self.build(cx, slot, number, job, arena);
            if sent.is_some() {
                return sent;
            }
        }
        None
    }

    fn timer<S: Sink>(&mut self, cx: &mut Context<'_, S>, _: &mut Arena) {
        self.catch_up(cx, cx.now + 1);
        for port in 0..self.ports.len() as u16 {
            self.await_bucket(cx, port);
        }
        while let Some((_, timer)) = self.timers.expired(cx.now) {
            match timer {
                Timer::Timeout { flow, slot } => self.handle_timeout(cx, slot, flow),
                Timer::Bucket { port } => {
                    self.ports[port as usize].credits.has_timer = false;
                    self.await_bucket(cx, port);
                }
            }
        }
        self.schedule_call(cx);
    }

    fn settle<S: Sink>(&mut self, cx: &mut Context<'_, S>) {
        self.catch_up(cx, cx.now + 1);
    }

    // LNK-28: a failed link loses the queued credits.
    fn link<S: Sink>(&mut self, cx: &mut Context<'_, S>, port: u16) {
        self.catch_up(cx, cx.now);
        let credits = &mut self.ports[port as usize].credits.waiting;
        cx.counters.driven.credits_dropped += credits.len() as u64;
        credits.clear();
        self.schedule_call(cx);
    }

    fn waiting_credits(&self) -> u64 {
        let waiting = |port: &Port| port.credits.waiting.len() as u64;
        self.ports.iter().map(waiting).sum()
    }

    fn for_each_flow(&self, frames: &Frames, visit: &mut dyn FnMut(&FlowStart, Unfinished)) {
        for flow in self.outgoing.iter() {
            let why = if flow.packets.next < flow.packets.total {
                "waits for credits"
            } else {
                "waits for its acknowledgement"
            };
            flow.packets.visit(frames, flow.acked, why, visit);
        }
    }
}
