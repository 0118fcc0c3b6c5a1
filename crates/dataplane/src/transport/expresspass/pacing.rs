//! Pacing of credits by the receiver: when the next credit of each flow is due, and whether the
//! queue of its port has room for it.
//!
//! A credit has no effect before it leaves its port. So a credit that is due while others are
//! queued needs no event. Due credits are created when a credit leaves or when a packet changes a
//! flow, one by one in the order of time. The result equals that of one event per credit.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};

use super::{CREDIT_CLASS, Context, ExpressPass, ExpressPassConfig, Timer};
use crate::ids::FlowSlot;
use crate::packet::{Arena, Kind, Packet, PacketId};
use crate::shaping::Bucket;
use crate::sink::Sink;
use crate::units::{NEVER, Rate, Time};

/// Time of the next credit of a flow. Credits of one instant are in the order of flow numbers.
// NIC-06
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: Time,
    flow: u32,
    slot: FlowSlot,
}

/// Receiver state of one port.
#[derive(Debug)]
pub(super) struct Port {
    pub bucket: Bucket,
    pub gap_ps: Time,
    /// Queued credits: slot and number of the flow, number of the credit.
    pub credits: VecDeque<(FlowSlot, u32, u32)>,
    /// True if a timer for the bucket is set.
    pub armed: bool,
    /// Next credit of each flow that receives credits.
    due: BinaryHeap<Reverse<Due>>,
}

impl Port {
    pub fn new(config: &ExpressPassConfig, rate: Rate) -> Self {
        Self {
            bucket: Bucket::new(rate, &config.queue),
            gap_ps: config.queue.gap_ps(rate),
            credits: VecDeque::with_capacity(config.queue.limit.into()),
            armed: false,
            due: BinaryHeap::new(),
        }
    }

    fn next_due(&self) -> Option<Due> {
        self.due.peek().map(|&Reverse(due)| due)
    }
}

impl ExpressPass {
    /// Starts sending credits to a flow.
    // XP-10
    pub(super) fn begin_credits(&mut self, at: Time, port: u16, slot: FlowSlot, flow: u32) {
        let due = Due { at, flow, slot };
        self.ports[port as usize].due.push(Reverse(due));
    }

    /// Creates the credits that were due before `until`.
    // XP-19
    pub(super) fn catch_up<S: Sink>(&mut self, cx: &mut Context<'_, S>, until: Time) {
        loop {
            let each = self.ports.iter().enumerate();
            let next = each.filter_map(|(n, port)| Some((port.next_due()?, n)));
            match next.min() {
                Some((due, port)) if due.at < until => self.make_credit(cx, port),
                _ => return,
            }
        }
    }

    /// Creates the next due credit of a port. It is queued at the NIC if the queue has room, else
    /// dropped.
    // XP-03, XP-10, XP-18
    fn make_credit<S: Sink>(&mut self, cx: &mut Context<'_, S>, port: usize) {
        let config = cx.config;
        let port = &mut self.ports[port];
        let Some(mut top) = port.due.peek_mut() else {
            return;
        };
        let due = top.0;
        let Some(flow) = self.incoming.open.get_mut(due.slot, due.flow) else {
            PeekMut::pop(top);
            return;
        };
        if let Some(done_ps) = flow.done_ps
            && done_ps + config.timeout_ps <= due.at
        {
            PeekMut::pop(top);
            return self.incoming.end(due.slot, due.flow, done_ps); // XP-22
        }
        let credit = flow.next_credit;
        flow.next_credit += 1;
        cx.counters.driven.credits += 1;
        if port.credits.len() < usize::from(config.queue.limit) {
            port.credits.push_back((due.slot, due.flow, credit));
        } else {
            cx.counters.driven.credits_dropped += 1;
        }
        flow.watch(due.at, config, port.gap_ps);
        let unit = (cx.sink.draw() >> 11) as f64 / (1u64 << 53) as f64;
        let stretch = 1.0 + config.jitter * (2.0 * unit - 1.0);
        let gap_ps = port.gap_ps as f64 / flow.feedback.rate * stretch;
        top.0.at = due.at + (gap_ps as Time).max(1);
    }

    /// Schedules the next call: at the next timer, or at the next due credit of a port without
    /// queued credits.
    // XP-19
    pub(super) fn ask_for_call<S: Sink>(&self, cx: &mut Context<'_, S>) {
        let timer = self.timers.first().map_or(NEVER, |(at, _)| at);
        let bare = self.ports.iter().filter(|port| port.credits.is_empty());
        let due = bare.filter_map(Port::next_due).map(|due| due.at);
        let at = due.fold(timer, Time::min);
        if at < NEVER {
            cx.sink.wake(at);
        }
    }

    /// Starts a port whose next credit may be sent, else sets a timer for it.
    pub(super) fn await_bucket<S: Sink>(&mut self, cx: &mut Context<'_, S>, port: u16) {
        let p = &mut self.ports[port as usize];
        if p.credits.is_empty() {
            return;
        }
        let at = p.bucket.opens_ps();
        if at <= cx.now {
            cx.sink.kick(port);
        } else if !p.armed {
            p.armed = true;
            self.timers.add(at, Timer::Bucket { port });
        }
    }

    /// Builds the next credit that leaves a port.
    // XP-02
    pub(super) fn send_credit<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        arena: &mut Arena,
    ) -> Option<PacketId> {
        self.catch_up(cx, cx.now + 1);
        let p = &mut self.ports[port as usize];
        let mut sent = None;
        while let Some((slot, number, credit)) = p.credits.pop_front() {
            let Some(flow) = self.incoming.open.get_mut(slot, number) else {
                cx.counters.driven.credits_dropped += 1;
                continue;
            };
            let queue = cx.config.queue;
            let (hot, mut cold) = flow.peer.address(Packet {
                psn: credit,
                ..Packet::new(Kind::Grant, CREDIT_CLASS, queue.credit_bytes)
            });
            cold.sent_ps = cx.now;
            cold.arrived_below = flow.expected;
            p.bucket.take(cx.now);
            sent = Some(arena.alloc(hot, cold));
            break;
        }
        self.await_bucket(cx, port);
        self.ask_for_call(cx);
        sent
    }
}

#[cfg(test)]
#[path = "tests/pacing.rs"]
mod tests;
