//! Pacing of credits by the receiver: when the next credit of each flow is due, and whether the
//! credit queue of its port has room for it.
//!
//! A credit has no effect before it leaves its port. So a credit that is due while other credits
//! are queued needs no event. Due credits are created later: when a credit leaves, or when a packet
//! changes a flow. They are created one by one in the order of their due times, so the result
//! equals that of one event per credit.

use super::{CREDIT_CLASS, Context, ExpressPass, ExpressPassConfig, Timer};
use crate::packet::{Arena, Kind, Packet, PacketId};
use crate::shaping::Bucket;
use crate::sink::Sink;
use crate::timers::Timers;
use crate::transport::Paced;
use crate::units::{NEVER, Rate, Time};

/// Receiver state of one port.
#[derive(Debug)]
pub(super) struct Port {
    pub gap_ps: Time,
    /// Queued credits: flow ID and sequence number.
    pub credits: Paced<(u32, u32)>,
    /// Time of the next credit of each flow that receives credits. Credits that are due at the same
    /// time are in the order of flow IDs.
    // NIC-06: order at the same time
    pub due: Timers<u32>,
}

impl Port {
    pub fn new(config: &ExpressPassConfig, rate: Rate) -> Self {
        let gap_ps = config.queue.gap_ps(rate);
        Self {
            gap_ps,
            credits: Paced::new(Bucket::new(gap_ps, config.queue.burst)),
            due: Timers::default(),
        }
    }
}

impl ExpressPass {
    /// Creates the credits that were due before `until`.
    // XP-19
    pub(super) fn catch_up<S: Sink>(&mut self, cx: &mut Context<'_, S>, until: Time) {
        loop {
            let each = self.ports.iter().enumerate();
            let next = each.filter_map(|(n, port)| Some((port.due.first()?, n)));
            match next.min() {
                Some(((at, flow), port)) if at < until => self.make_credit(cx, port, at, flow),
                _ => return,
            }
        }
    }

    /// Creates the credit that is due first at a port. The credit is queued at the NIC if the queue
    /// has room; otherwise it is dropped.
    // XP-03, XP-10, XP-18
    fn make_credit<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: usize,
        at: Time,
        number: u32,
    ) {
        let config = cx.config;
        let port = &mut self.ports[port];
        let Some(flow) = self.incoming.open.get_mut(number) else {
            return port.due.pop();
        };
        if let Some(done_ps) = flow.done_ps
            && done_ps + config.timeout_ps <= at
        {
            port.due.pop();
            return self.incoming.end(number, done_ps); // XP-22: the flow is complete
        }
        let credit = flow.next_credit;
        flow.next_credit += 1;
        cx.counters.driven.credits += 1;
        if port.credits.waiting.len() < usize::from(config.queue.limit) {
            port.credits.waiting.push_back((number, credit));
        } else {
            cx.counters.driven.credits_dropped += 1;
        }
        flow.watch(at, config, port.gap_ps);
        let stretch = 1.0 + config.jitter * (2.0 * cx.sink.unit() - 1.0);
        let gap_ps = port.gap_ps as f64 / flow.feedback.rate * stretch;
        port.due.postpone(at + (gap_ps as Time).max(1));
    }

    /// Schedules the next call of the NIC: at its next timer, or at the next due credit of a port
    /// without queued credits.
    // XP-19
    pub(super) fn schedule_call<S: Sink>(&self, cx: &mut Context<'_, S>) {
        let timer = self.timers.first().map_or(NEVER, |(at, _)| at);
        let bare = (self.ports.iter()).filter(|port| port.credits.waiting.is_empty());
        let due = bare.filter_map(|port| port.due.first());
        let at = due.fold(timer, |first, (at, _)| first.min(at));
        if at < NEVER {
            cx.sink.wake(at);
        }
    }

    /// Starts a port that may send its next credit. Otherwise sets a timer for it.
    pub(super) fn await_bucket<S: Sink>(&mut self, cx: &mut Context<'_, S>, port: u16) {
        let credits = &mut self.ports[port as usize].credits;
        if let Some(at) = credits.resume(cx.now, port, cx.sink) {
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
        let credits = &mut self.ports[port as usize].credits;
        let mut sent = None;
        while let Some((number, credit)) = credits.waiting.pop_front() {
            let Some(flow) = self.incoming.open.get_mut(number) else {
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
            credits.bucket.take(cx.now);
            sent = Some(arena.alloc(hot, cold));
            break;
        }
        self.await_bucket(cx, port);
        self.schedule_call(cx);
        sent
    }
}

#[cfg(test)]
#[path = "tests/pacing.rs"]
mod tests;
