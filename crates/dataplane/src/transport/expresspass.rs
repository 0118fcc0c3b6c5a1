//! ExpressPass: a sender requests credits, a receiver sends them at a pace that it learns from how
//! many come back as data, and each credit lets one packet go (`specs/expresspass.md`).

mod pacing;

use crate::classes::ClassSet;
use crate::ids::FlowSlot;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use self::pacing::Port;
use super::{
    Acted, Around, Declared, Frames, Needs, Slots, Transport, Turns, acknowledge, count_sent,
    data_packet, packets_of, timeout, turn,
};
use crate::flow::{FlowStart, Unfinished};
use crate::mixed::MixedMap;
use crate::packet::{Arena, Cold, Kind, Packet, PacketId, Stamp};
use crate::param::{Conflict, Param, Values};
use crate::reliability::arrivals::Arrivals;
use crate::replies::Replies;
use crate::requirements::{CreditQueue, SwitchRequirements};
use crate::sink::Sink;
use crate::switch::CONTROL_CLASS;
use crate::units::{Rate, Time};
use crate::wait::Wait;

/// ExpressPass (`specs/expresspass.md`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpressPassConfig {
    /// First rate of a flow's credits, as a share of the link's.
    pub alpha: f64,
    /// First weight of the highest rate in an increase.
    pub w_init: f64,
    /// Largest weight.
    pub w_max: f64,
    /// Smallest weight.
    pub w_min: f64,
    /// Share of credits that may be lost.
    pub target_loss: f64,
    /// Each gap between two credits is this much longer or shorter at most, as a share of it.
    pub jitter: f64,
    /// The NIC's own queue of credits.
    pub queue: CreditQueue,
    /// A sender that hears nothing for this long asks again, ps.
    pub timeout_ps: Time,
}

/// What every step may reach.
type Context<'a, S> = super::Context<'a, S, ExpressPassConfig>;

/// The class of credits.
// XP-01
const CREDIT_CLASS: u8 = CONTROL_CLASS;

/// The result of one feedback period.
#[derive(Clone, Copy, Debug)]
struct Period {
    /// Lost credits, as a share of the credits whose fate became known.
    loss: f64,
    /// Rate of the credits that came back as data, as a share of the link's credits.
    delivered: f64,
}

/// Credit rate of one flow, as a share of the link's credits.
#[derive(Clone, Copy, Debug)]
struct Feedback {
    rate: f64,
    /// Weight of the highest rate in an increase.
    w: f64,
    /// The last change was an increase.
    increased: bool,
}

impl Feedback {
    fn new(config: &ExpressPassConfig) -> Self {
        Self {
            rate: config.alpha,
            w: config.w_init,
            increased: false,
        }
    }

    /// Adjusts the rate at the end of a period. The rate never falls below `least`.
    // XP-10: parameters; XP-11: increase; XP-12: decrease
    fn update(&mut self, config: &ExpressPassConfig, period: Period, least: f64) {
        let beyond = 1.0 + config.target_loss;
        if period.loss <= config.target_loss {
            if self.increased {
                self.w = f64::midpoint(self.w, config.w_max);
            }
            self.increased = true;
            self.rate = (1.0 - self.w) * self.rate + self.w * beyond;
        } else {
            self.increased = false;
            // XP-12: start from the rate of delivered credits
            self.rate = self.rate.min(period.delivered * beyond);
            self.w = (self.w / 2.0).max(config.w_min);
        }
        self.rate = self.rate.max(least);
    }
}

/// A flow at its sender.
#[derive(Debug)]
struct Outgoing {
    start: FlowStart,
    packets: u32,
    next: u32,
    /// Everything below has been sent at least once.
    reached: u32,
    /// Everything below has arrived, as credits say.
    acked: u32,
    /// Packets that the receiver misses.
    lost: VecDeque<u32>,
    retransmitted: u32,
    /// Packets that credits have let go and that have not left.
    let_go: u32,
    /// A request for credits waits to be sent.
    asks: bool,
    /// When anything was last heard of it.
    heard_ps: Time,
    /// When the receiver was last told that nothing is left to send.
    stopped_ps: Option<Time>,
}

/// What a sender has to send, in the order in which it came up.
#[derive(Clone, Copy, Debug)]
enum Job {
    /// A request for credits.
    Ask,
    /// The wish that no more be sent.
    Stop,
    /// A packet, let go by a credit with this number that was sent then.
    Data {
        psn: u32,
        credit: u32,
        credit_ps: Time,
    },
}

/// A flow at its receiver.
#[derive(Debug)]
struct Incoming {
    flow: u32,
    /// The other end, and this one.
    peer: u32,
    own: u32,
    /// Place of the flow at its sender.
    peer_slot: FlowSlot,
    hash: u32,
    packets: u32,
    /// Everything below has arrived.
    expected: u32,
    /// Everything below has arrived or was complained about.
    seen: u32,
    /// When the last byte was there.
    done_ps: Option<Time>,
    feedback: Feedback,
    /// Number of the next credit.
    next_credit: u32,
    /// Number of the credit whose data is expected next.
    next_echo: u32,
    /// Credits whose data arrived in this period, after the instant at which it began.
    delivered: u32,
    /// Credits that were found lost in this period.
    lost: u32,
    /// Smoothed time from sending a credit to receiving its data. 0: no data has arrived.
    rtt_ps: Time,
    /// Time at which the period began.
    period_ps: Time,
    /// When data of a credit last came.
    heard_ps: Time,
}

impl Incoming {
    /// The smallest rate: a credit per round trip.
    // XP-12
    fn least(&self, gap_ps: Time) -> f64 {
        if self.rtt_ps == 0 {
            return 0.0;
        }
        (gap_ps as f64 / self.rtt_ps as f64).min(1.0)
    }

    /// Processes data that a credit released.
    // XP-11: a period is a round trip; XP-13: skipped numbers are losses
    fn echo(&mut self, now: Time, cold: &Cold, config: &ExpressPassConfig, gap_ps: Time) {
        let rtt_ps = now - cold.stamp.credit_sent_ps();
        self.heard_ps = now;
        let is_first = self.rtt_ps == 0;
        if is_first {
            self.period_ps = now;
            self.rtt_ps = rtt_ps;
        } else {
            self.rtt_ps = self.rtt_ps - self.rtt_ps / 8 + rtt_ps / 8;
        }
        if cold.credit >= self.next_echo {
            self.lost += cold.credit - self.next_echo;
            self.delivered += u32::from(!is_first);
            self.next_echo = cold.credit + 1;
        }
        let known = self.delivered + self.lost;
        let elapsed_ps = now - self.period_ps;
        if elapsed_ps >= self.rtt_ps && known > 0 {
            let delivered_ps = u64::from(self.delivered) * gap_ps;
            let period = Period {
                loss: f64::from(self.lost) / f64::from(known),
                delivered: delivered_ps as f64 / elapsed_ps as f64,
            };
            self.close_period(now, config, period, gap_ps);
        }
    }

    /// Treats all credits as lost if no data arrived for two round trips.
    // XP-13
    fn watch(&mut self, now: Time, config: &ExpressPassConfig, gap_ps: Time) {
        let since_ps = self.period_ps.max(self.heard_ps);
        if self.rtt_ps > 0 && now - since_ps >= 2 * self.rtt_ps {
            let period = Period {
                loss: 1.0,
                delivered: 0.0,
            };
            self.close_period(now, config, period, gap_ps);
        }
    }

    fn close_period(
        &mut self,
        now: Time,
        config: &ExpressPassConfig,
        period: Period,
        gap_ps: Time,
    ) {
        let least = self.least(gap_ps);
        self.feedback.update(config, period, least);
        self.period_ps = now;
        (self.delivered, self.lost) = (0, 0);
    }
}

/// Why the NIC wants to be called. Equal times are served by flow.
// NIC-06
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Alarm {
    at: Time,
    flow: u32,
    kind: AlarmKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum AlarmKind {
    /// The sender of a flow received nothing for a timeout.
    Timeout(FlowSlot),
    /// The bucket of a port opens.
    Bucket(u16),
}

/// ExpressPass at one NIC.
#[derive(Debug)]
pub struct ExpressPass {
    outgoing: Slots<Outgoing>,
    /// Flows that have ended: until when their receivers need not be told so again, and for how
    /// long not after that.
    ended: MixedMap<u32, (Time, Time)>,
    /// Per (port, class): place and number of the flow, and what of it is to be sent.
    jobs: Turns<VecDeque<(FlowSlot, u32, Job)>>,
    incoming: Slots<Incoming>,
    /// Places of incoming flows by their numbers.
    known: MixedMap<u32, FlowSlot>,
    /// NIC-32: flows that are complete, and since when.
    complete: MixedMap<u32, Time>,
    arrivals: Arrivals,
    ports: Vec<Port>,
    alarms: BinaryHeap<Reverse<Alarm>>,
    replies: Replies,
}

impl ExpressPass {
    /// Something of an outgoing flow is to be sent.
    fn do_later<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        start: &FlowStart,
        slot: FlowSlot,
        job: Job,
    ) {
        let class = cx.frames.data_class + start.class;
        let jobs = self.jobs.of(start.port, class);
        jobs.push_back((slot, start.flow, job));
        cx.sink.kick(start.port);
    }

    /// A credit came.
    // XP-14, XP-15
    fn credited<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
    ) {
        let (packet, cold) = (*arena.hot(id), *arena.cold(id));
        let Some(flow) = self.outgoing.get_mut(cold.slot, packet.flow) else {
            // XP-16: of a flow that has ended. If it was not on its way when the stop came, the
            // stop was lost.
            cx.counters.driven.credits_wasted += 1;
            let Some((until, period_ps)) = self.ended.get_mut(&packet.flow) else {
                return arena.free(id);
            };
            if cx.now < *until {
                return arena.free(id);
            }
            *until = cx.now + *period_ps;
            cx.counters.driven.stops += 1;
            turn(
                id,
                Kind::Request,
                cx.frames.data_class,
                cx.frames.ack,
                arena,
            );
            arena.hot_mut(id).psn = 0;
            self.replies.send(port, id, arena, cx.sink);
            return;
        };
        arena.free(id);
        flow.heard_ps = cx.now;
        flow.acked = flow.acked.max(cold.arrived_below);
        let start = flow.start;
        let psn = flow.lost.pop_front().or_else(|| {
            (flow.next < flow.packets).then(|| {
                flow.next += 1;
                flow.next - 1
            })
        });
        let Some(psn) = psn else {
            cx.counters.driven.credits_wasted += 1;
            // XP-16
            let long_ago = |at: Time| cx.now - at >= 2 * start.path.base_rtt_ps;
            if flow.stopped_ps.is_none_or(long_ago) {
                flow.stopped_ps = Some(cx.now);
                self.do_later(cx, &start, cold.slot, Job::Stop);
            }
            return;
        };
        cx.counters.driven.credits_used += 1;
        flow.let_go += 1;
        cx.sink.flow_waits(&start, Wait::Turn);
        let job = Job::Data {
            psn,
            credit: packet.psn,
            credit_ps: cold.sent_ps,
        };
        let over = flow.lost.is_empty() && flow.next == flow.packets;
        flow.stopped_ps = over.then_some(cx.now);
        self.do_later(cx, &start, cold.slot, job);
        if over {
            self.do_later(cx, &start, cold.slot, Job::Stop); // XP-15
        }
    }

    /// The receiver misses a packet.
    // XP-20
    fn complained<S: Sink>(&mut self, cx: &mut Context<'_, S>, packet: &Packet, slot: FlowSlot) {
        if let Some(flow) = self.outgoing.get_mut(slot, packet.flow) {
            flow.heard_ps = cx.now;
            if packet.psn < flow.next && !flow.lost.contains(&packet.psn) {
                flow.lost.push_back(packet.psn);
            }
        }
    }

    fn finished<S: Sink>(&mut self, cx: &mut Context<'_, S>, packet: &Packet, cold: &Cold) {
        if let Some(flow) = self.outgoing.remove(cold.slot, packet.flow) {
            let settled_ps = 2 * flow.start.path.base_rtt_ps;
            self.ended
                .insert(packet.flow, (cx.now + settled_ps, settled_ps));
            let end = flow
                .start
                .end(cold.stamp.completion_ps(), cx.now, flow.retransmitted);
            cx.sink.finished(end);
        }
    }

    /// A sender requests credits.
    // XP-10, XP-17
    fn asked<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
    ) {
        let (packet, cold) = (*arena.hot(id), *arena.cold(id));
        let packets = packets_of(cold.remaining, cx.frames.mtu);
        if let Some(&done_ps) = self.complete.get(&packet.flow) {
            return self.acknowledge(cx, port, id, packets, done_ps, arena);
        }
        let slot = match self.known.get(&packet.flow) {
            Some(&slot) => slot,
            None => {
                let slot = self.incoming.insert(
                    packet.flow,
                    Incoming {
                        flow: packet.flow,
                        peer: cold.src,
                        own: packet.dst,
                        peer_slot: cold.slot,
                        hash: packet.hash,
                        packets,
                        expected: 0,
                        seen: 0,
                        done_ps: None,
                        feedback: Feedback::new(cx.config),
                        next_credit: 0,
                        next_echo: 0,
                        delivered: 0,
                        lost: 0,
                        rtt_ps: 0,
                        period_ps: cx.now,
                        heard_ps: cx.now,
                    },
                );
                self.known.insert(packet.flow, slot);
                self.begin_credits(cx.now, port, slot, packet.flow);
                slot
            }
        };
        let Some(flow) = self.incoming.get_mut(slot, packet.flow) else {
            return arena.free(id);
        };
        if let Some(done_ps) = flow.done_ps {
            return self.acknowledge(cx, port, id, packets, done_ps, arena);
        }
        arena.free(id);
    }

    /// A sender has nothing left to send.
    // XP-17, XP-20
    fn stopped<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        packet: &Packet,
        arena: &mut Arena,
    ) {
        let Some(&slot) = self.known.get(&packet.flow) else {
            return;
        };
        let Some(flow) = self.incoming.get_mut(slot, packet.flow) else {
            return;
        };
        if let Some(done_ps) = flow.done_ps {
            self.forget(slot, packet.flow, done_ps);
        } else {
            let missing = flow.expected;
            flow.seen = flow.seen.max(missing + 1);
            self.complain(cx, port, slot, packet.flow, missing, arena);
        }
    }

    /// A flow that is complete gets no more credits.
    fn forget(&mut self, slot: FlowSlot, flow: u32, done_ps: Time) {
        self.incoming.remove(slot, flow);
        self.known.remove(&flow);
        self.complete.insert(flow, done_ps);
    }

    fn complain<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        slot: FlowSlot,
        flow: u32,
        psn: u32,
        arena: &mut Arena,
    ) {
        let Some(flow) = self.incoming.get_mut(slot, flow) else {
            return;
        };
        let hot = Packet {
            flow: flow.flow,
            psn,
            hash: flow.hash,
            dst: flow.peer,
            ..Packet::new(Kind::Nak, cx.frames.ack_class, cx.frames.ack)
        };
        let cold = Cold {
            src: flow.own,
            slot: flow.peer_slot,
            ..Cold::default()
        };
        let id = arena.alloc(hot, cold);
        cx.counters.naks += 1;
        self.replies.send(port, id, arena, cx.sink);
    }

    /// Says that a flow is complete.
    fn acknowledge<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        id: PacketId,
        packets: u32,
        done_ps: Time,
        arena: &mut Arena,
    ) {
        arena.hot_mut(id).psn = packets;
        acknowledge(cx, &mut self.replies, (port, id), done_ps, arena);
    }

    /// Data came.
    fn data<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
    ) {
        let (packet, cold) = (*arena.hot(id), *arena.cold(id));
        cx.counters.received += 1;
        let known = self.known.get(&packet.flow).copied();
        let flow = known.and_then(|slot| self.incoming.get_mut(slot, packet.flow));
        let (Some(slot), Some(flow)) = (known, flow) else {
            cx.counters.discarded += 1;
            let packets = packet.psn + packets_of(cold.remaining, cx.frames.mtu);
            return match self.complete.get(&packet.flow) {
                Some(&done_ps) => self.acknowledge(cx, port, id, packets, done_ps, arena),
                None => arena.free(id),
            };
        };
        let gap_ps = self.ports[port as usize].gap_ps;
        flow.echo(cx.now, &cold, cx.config, gap_ps);
        let (fresh, expected) = self.arrivals.take(packet.flow, packet.psn, flow.expected);
        flow.expected = expected;
        if fresh {
            cx.counters.delivered_bytes += u64::from(cold.payload);
        } else {
            cx.counters.discarded += 1;
        }
        let packets = flow.packets;
        let missing = flow.seen..packet.psn.max(flow.seen);
        flow.seen = flow.seen.max(packet.psn + 1);
        if expected == packets {
            let first = flow.done_ps.is_none();
            let done_ps = *flow.done_ps.get_or_insert(cx.now);
            if first {
                cx.sink.delivered(packet.flow);
            }
            self.acknowledge(cx, port, id, packets, done_ps, arena);
        } else {
            arena.free(id);
        }
        // XP-20: data of a flow keeps its order, so what was passed by is lost.
        for psn in missing {
            self.complain(cx, port, slot, packet.flow, psn, arena);
        }
    }

    fn build<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        slot: FlowSlot,
        number: u32,
        job: Job,
        arena: &mut Arena,
    ) -> Option<PacketId> {
        let flow = self.outgoing.get_mut(slot, number)?;
        let request = |psn| {
            let (hot, cold) = data_packet(cx.now, cx.frames, &flow.start, slot, 0);
            let mut hot = Packet {
                psn,
                size: cx.frames.ack,
                ..hot
            };
            hot.become_kind(Kind::Request, hot.class());
            (hot, cold)
        };
        let (hot, cold) = match job {
            Job::Ask => {
                cx.counters.driven.requests += 1;
                flow.asks = false;
                request(1)
            }
            Job::Stop => {
                cx.counters.driven.stops += 1;
                request(0)
            }
            Job::Data {
                psn,
                credit,
                credit_ps,
            } => {
                let (mut hot, mut cold) = data_packet(cx.now, cx.frames, &flow.start, slot, psn);
                cold.credit = credit;
                cold.stamp = Stamp::credit(credit_ps);
                debug_assert!(flow.let_go > 0, "no credit permits this packet"); // XP-01
                flow.let_go -= 1;
                if flow.let_go == 0 {
                    cx.sink.flow_waits(&flow.start, Wait::Receiver);
                }
                let again = psn < flow.reached;
                flow.reached = flow.reached.max(psn + 1);
                flow.retransmitted += u32::from(again);
                count_sent(cx.counters, &mut hot, cold.payload, again);
                (hot, cold)
            }
        };
        Some(arena.alloc(hot, cold))
    }

    /// A sender has heard nothing of a flow for a while: it asks again, and begins again with what
    /// is not known to have arrived.
    // XP-21
    fn timeout<S: Sink>(&mut self, cx: &mut Context<'_, S>, slot: FlowSlot, number: u32) {
        let timeout_ps = cx.config.timeout_ps;
        let Some(flow) = self.outgoing.get_mut(slot, number) else {
            return;
        };
        let silent = cx.now >= flow.heard_ps + timeout_ps;
        if silent {
            cx.counters.timeouts += 1;
            cx.sink.flow_waits(&flow.start, Wait::TimedOut);
            flow.heard_ps = cx.now;
            flow.next = flow.acked;
            flow.lost.clear();
            flow.stopped_ps = None;
        }
        let (at, start) = (flow.heard_ps + timeout_ps, flow.start);
        // One request is enough where a link that is down keeps it.
        if silent && !std::mem::replace(&mut flow.asks, true) {
            self.do_later(cx, &start, slot, Job::Ask);
        }
        self.alarms.push(Reverse(Alarm {
            at,
            flow: number,
            kind: AlarmKind::Timeout(slot),
        }));
    }
}

impl Declared for ExpressPass {
    type Config = ExpressPassConfig;

    const NAME: &'static str = "expresspass";
    const TITLE: &'static str = "ExpressPass";
    const ABOUT: &'static str =
        "Receivers send credits, which switches shape and drop, and each lets one packet go.";
    // XP-03, XP-10
    const PARAMS: &'static [Param] = &[
        Param::number("alpha", 0.001, 1.0)
            .default(
                "0.5",
                "PRE-143",
                "first rate, of the link's credits (BFC paper 6.2.1)",
            )
            .about("First rate of a flow's credits, as a share of the link's."),
        Param::number("w_init", 0.0001, 1.0)
            .default(
                "0.0625",
                "PRE-143",
                "first weight of an increase (BFC paper 6.2.1)",
            )
            .about("First weight of the highest rate in an increase."),
        Param::number("w_max", 0.001, 1.0)
            .default("0.5", "PRE-143", "(ExpressPass paper 3.2)")
            .about("Largest weight."),
        Param::number("w_min", 0.0001, 1.0)
            .default("0.01", "PRE-143", "(ExpressPass paper 3.2)")
            .about("Smallest weight."),
        Param::number("target_loss", 0.0, 0.9)
            .default(
                "0.1",
                "PRE-143",
                "share of credits that may be lost (ExpressPass paper 3.2)",
            )
            .about("Share of credits that may be lost."),
        Param::number("jitter", 0.0, 0.9)
            .default(
                "0.1",
                "PRE-144",
                "of the gap between two credits, either way, our choice",
            )
            .about("Each gap between two credits is this share of it longer or shorter at most."),
        Param::size("credit", 1, 1_518)
            .default(
                "\"84B\"",
                "PRE-141",
                "smallest frame with preamble and gap (ExpressPass paper 3.1)",
            )
            .about("Bytes of a credit; credits get credit / (credit + frame) of each link."),
        Param::size("frame", 64, 17_000)
            .or(&["full"])
            .default(
                "\"full\"",
                "PRE-141",
                "what a credit lets go, 1538 bytes here (ExpressPass paper 3.1)",
            )
            .about("Bytes of the frame that a credit lets go; `\"full\"`: the largest."),
        Param::count("buffer", 1, 10_000)
            .default(
                "16",
                "PRE-142",
                "credits that may wait at a port (BFC paper 6.2.1)",
            )
            .about("Credits that may wait at a port."),
        Param::count("burst", 1, 1_000)
            .default(
                "2",
                "PRE-144",
                "credits that may leave at once (ExpressPass paper 3.1)",
            )
            .about("Credits that may leave at once after a silence."),
        timeout(
            "\"10ms\"",
            "PRE-145",
            "a sender that hears nothing asks again, our choice",
        ),
    ];
    // XP-01, XP-05
    const NEEDS: Needs = Needs {
        owns_control_class: Some(
            "the control class belongs to ExpressPass' credits, which are shaped and dropped",
        ),
        symmetric_paths: Some(
            "ExpressPass' credits keep room for data on the links that they cross, so data must take the same",
        ),
        ..Needs::NOTHING
    };

    fn configure(values: &Values) -> Result<ExpressPassConfig, Conflict> {
        let [init, most, least] = ["w_init", "w_max", "w_min"].map(|key| values.number(key));
        if least > most || !(least..=most).contains(&init) {
            return Err(Conflict::new(
                &["w_init", "w_min", "w_max"],
                format!(
                    "w_init is {init}, w_min {least} and w_max {most}; expected w_min <= w_init <= w_max"
                ),
                "w_min <= w_init <= w_max",
            ));
        }
        Ok(ExpressPassConfig {
            alpha: values.number("alpha"),
            w_init: init,
            w_max: most,
            w_min: least,
            target_loss: values.number("target_loss"),
            jitter: values.number("jitter"),
            queue: CreditQueue {
                credit_bytes: values.size("credit") as u16,
                frame_bytes: values.some_size("frame").unwrap_or(0) as u16,
                limit: values.count("buffer") as u16,
                burst: values.count("burst") as u16,
            },
            timeout_ps: values.time("timeout"),
        })
    }

    /// Credits let full frames go where the scenario does not say how large they are.
    fn complete(mut config: ExpressPassConfig, around: &Around) -> ExpressPassConfig {
        if config.queue.frame_bytes == 0 {
            config.queue.frame_bytes = around.max_frame;
        }
        config
    }

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
}

impl Transport for ExpressPass {
    fn new(config: &ExpressPassConfig, _frames: &Frames, classes: usize, ports: &[Rate]) -> Self {
        Self {
            outgoing: Slots::new(),
            ended: MixedMap::default(),
            jobs: Turns::new(ports.len(), classes),
            incoming: Slots::new(),
            known: MixedMap::default(),
            complete: MixedMap::default(),
            arrivals: Arrivals::default(),
            ports: ports.iter().map(|&rate| Port::new(config, rate)).collect(),
            alarms: BinaryHeap::new(),
            replies: Replies::new(ports.len(), classes),
        }
    }

    // XP-14
    fn start<S: Sink>(&mut self, cx: &mut Context<'_, S>, start: &FlowStart) {
        let slot = self.outgoing.insert(
            start.flow,
            Outgoing {
                start: *start,
                packets: packets_of(start.bytes, cx.frames.mtu),
                next: 0,
                reached: 0,
                acked: 0,
                lost: VecDeque::new(),
                retransmitted: 0,
                let_go: 0,
                asks: true,
                heard_ps: cx.now,
                stopped_ps: None,
            },
        );
        cx.sink.flow_waits(start, Wait::Receiver);
        self.do_later(cx, start, slot, Job::Ask);
        self.alarms.push(Reverse(Alarm {
            at: cx.now + cx.config.timeout_ps,
            flow: start.flow,
            kind: AlarmKind::Timeout(slot),
        }));
        self.ask_for_call(cx);
    }

    fn receive<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
    ) {
        // What is due at this instant comes after all arrivals (ENG-03).
        self.catch_up(cx, cx.now);
        let (packet, cold) = (*arena.hot(id), *arena.cold(id));
        match packet.kind() {
            Kind::Data => self.data(cx, port, id, arena),
            Kind::Grant => self.credited(cx, port, id, arena),
            Kind::Request if packet.psn != 0 => self.asked(cx, port, id, arena),
            Kind::Request => {
                arena.free(id);
                self.stopped(cx, port, &packet, arena);
            }
            Kind::Ack => {
                arena.free(id);
                self.finished(cx, &packet, &cold);
            }
            Kind::Nak => {
                arena.free(id);
                self.complained(cx, &packet, cold.slot);
            }
            _ => arena.free(id),
        }
        self.ask_for_call(cx);
    }

    fn ready(&self, frames: &Frames, now: Time, port: u16) -> ClassSet {
        let p = &self.ports[port as usize];
        let credit = !p.credits.is_empty() && p.bucket.opens_ps() <= now;
        let jobs = self.jobs.filled(frames, port, VecDeque::is_empty);
        self.replies.ready(port) | jobs | ClassSet::from(credit) << CREDIT_CLASS
    }

    fn send<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        class: u8,
        arena: &mut Arena,
    ) -> Option<PacketId> {
        if let Some(id) = self.replies.pop(port, class, arena) {
            return Some(id);
        }
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
        while let Some(&Reverse(alarm)) = self.alarms.peek() {
            if alarm.at > cx.now {
                break;
            }
            self.alarms.pop();
            match alarm.kind {
                AlarmKind::Timeout(slot) => self.timeout(cx, slot, alarm.flow),
                AlarmKind::Bucket(port) => {
                    self.ports[port as usize].armed = false;
                    self.await_bucket(cx, port);
                }
            }
        }
        self.ask_for_call(cx);
    }

    fn settle<S: Sink>(&mut self, cx: &mut Context<'_, S>) {
        self.catch_up(cx, cx.now + 1);
    }

    // LNK-23, LNK-28
    fn link<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        arena: &Arena,
    ) -> Vec<PacketId> {
        self.catch_up(cx, cx.now);
        let credits = &mut self.ports[port as usize].credits;
        cx.counters.driven.credits_dropped += credits.len() as u64;
        credits.clear();
        self.ask_for_call(cx);
        self.replies.take_all(port, arena)
    }

    fn waiting_credits(&self) -> u64 {
        self.ports.iter().map(|p| p.credits.len() as u64).sum()
    }

    fn queued(&self, arena: &Arena) -> u64 {
        self.replies.len(arena)
    }

    fn for_each_flow(&self, frames: &Frames, visit: &mut dyn FnMut(&FlowStart, Unfinished)) {
        for flow in self.outgoing.iter() {
            let acked = flow.start.bytes_below(flow.acked, frames.mtu);
            let why = if flow.next < flow.packets {
                "waits for credits"
            } else {
                "waits for its acknowledgement"
            };
            let unfinished = flow.start.unfinished(acked, flow.retransmitted, why);
            visit(&flow.start, unfinished);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sets;

    const CONFIG: ExpressPassConfig = sets::expresspass(1538);
    const GAP_PS: Time = 1622 * 80;

    fn update(f: &mut Feedback, loss: f64, delivered: f64, least: f64) {
        f.update(&CONFIG, Period { loss, delivered }, least);
    }

    // XP-10, XP-11, XP-12
    #[test]
    fn feedback_follows_its_rules() {
        let mut f = Feedback::new(&CONFIG);
        assert_eq!((f.rate, f.w), (0.5, 0.0625));
        update(&mut f, 0.1, 0.45, 0.0);
        // The first increase keeps w. The second moves it half way to w_max.
        assert!((f.rate - (0.9375 * 0.5 + 0.0625 * 1.1)).abs() < 1e-12);
        assert_eq!(f.w, 0.0625);
        let before = f.rate;
        update(&mut f, 0.0, before, 0.0);
        assert_eq!(f.w, 0.28125);
        assert!((f.rate - (0.71875 * before + 0.28125 * 1.1)).abs() < 1e-12);
        update(&mut f, 0.5, 0.3, 0.0);
        assert!((f.rate - 0.3 * 1.1).abs() < 1e-12);
        assert_eq!(f.w, 0.140_625);
        // Losses of credits that were sent before the decrease do not decrease the rate again.
        update(&mut f, 0.5, 0.3, 0.0);
        assert!((f.rate - 0.3 * 1.1).abs() < 1e-12);
        // A decrease never raises the rate.
        update(&mut f, 0.5, 0.9, 0.0);
        assert!((f.rate - 0.3 * 1.1).abs() < 1e-12);
        // After a decrease the next increase is a first one again.
        let w = f.w;
        update(&mut f, 0.0, 0.3, 0.0);
        assert_eq!(f.w, w);
        for _ in 0..20 {
            update(&mut f, 1.0, 0.0, 0.02);
        }
        assert_eq!((f.rate, f.w), (0.02, 0.01), "both have a minimum");
    }

    // XP-11: without loss the rate approaches 110 % of the link's credits.
    #[test]
    fn an_empty_link_is_asked_for_a_little_more_than_it_takes() {
        let mut f = Feedback::new(&CONFIG);
        for _ in 0..100 {
            update(&mut f, 0.0, 1.0, 0.0);
        }
        assert!((f.rate - 1.1).abs() < 1e-9 && (f.w - 0.5).abs() < 1e-9);
    }

    fn incoming() -> Incoming {
        Incoming {
            flow: 1,
            peer: 0,
            own: 1,
            peer_slot: FlowSlot::default(),
            hash: 0,
            packets: 100,
            expected: 0,
            seen: 0,
            done_ps: None,
            feedback: Feedback::new(&CONFIG),
            next_credit: 0,
            next_echo: 0,
            delivered: 0,
            lost: 0,
            rtt_ps: 0,
            period_ps: 0,
            heard_ps: 0,
        }
    }

    fn echo(flow: &mut Incoming, now: Time, credit: u32, sent_ps: Time) {
        let cold = Cold {
            credit,
            stamp: Stamp::credit(sent_ps),
            ..Cold::default()
        };
        flow.echo(now, &cold, &CONFIG, GAP_PS);
    }

    // XP-12, XP-13
    #[test]
    fn credits_that_are_passed_by_were_lost_and_a_round_trip_is_a_period() {
        let mut flow = incoming();
        echo(&mut flow, 8_000_000, 0, 0);
        assert_eq!((flow.rtt_ps, flow.period_ps), (8_000_000, 8_000_000));
        echo(&mut flow, 9_000_000, 4, 1_000_000);
        assert_eq!((flow.delivered, flow.lost), (1, 3), "1, 2 and 3 are lost");
        echo(&mut flow, 9_500_000, 2, 1_500_000);
        assert_eq!((flow.delivered, flow.lost), (1, 3), "a late one is ignored");
        assert_eq!(flow.feedback.rate, 0.5);
        // The period ends. Credits 4 and 5 were delivered in its 8 us.
        echo(&mut flow, 16_000_000, 5, 8_000_000);
        assert_eq!((flow.delivered, flow.lost), (0, 0));
        let delivered = 2.0 * GAP_PS as f64 / 8e6;
        assert!((flow.feedback.rate - delivered * 1.1).abs() < 1e-12);
    }

    // XP-12, XP-13
    #[test]
    fn silence_for_two_round_trips_is_loss_of_all() {
        let mut flow = incoming();
        flow.watch(100_000_000, &CONFIG, GAP_PS);
        assert_eq!(flow.feedback.rate, 0.5, "no round trip is known yet");
        echo(&mut flow, 8_000_000, 0, 0);
        echo(&mut flow, 16_000_000, 1, 8_000_000);
        let rate = flow.feedback.rate;
        flow.watch(31_999_999, &CONFIG, GAP_PS);
        assert_eq!(flow.feedback.rate, rate);
        flow.watch(32_000_000, &CONFIG, GAP_PS);
        // One credit in a round trip of 8 us, where 61.7 are the link's.
        assert!((flow.feedback.rate - 129_760.0 / 8e6).abs() < 1e-9);
        // One answer within a period does not keep the rate for ever.
        echo(&mut flow, 33_000_000, 2, 25_000_000);
        flow.feedback.rate = 0.5;
        flow.watch(48_999_999, &CONFIG, GAP_PS);
        assert_eq!(flow.feedback.rate, 0.5);
        flow.watch(49_000_000, &CONFIG, GAP_PS);
        assert!(flow.feedback.rate < 0.5);
    }
}
