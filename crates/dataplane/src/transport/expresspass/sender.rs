//! The ExpressPass sender: it requests credits, and sends one packet for each credit.

use super::{Context, ExpressPass, Timer};
use crate::flow::FlowStart;
use crate::ids::FlowSlot;
use crate::packet::{Arena, Cold, Kind, Packet, PacketId, Stamp};
use crate::replies::turn;
use crate::sink::Sink;
use crate::transport::{Packets, data_packet};
use crate::units::Time;
use crate::wait::Wait;

/// State of a flow at its sender.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub packets: Packets,
    /// All packets below this number have arrived, as credits report.
    pub acked: u32,
    /// Number of packets that credits permit and that have not been sent yet.
    permitted: u32,
    /// True if a request for credits is queued at the port.
    has_request: bool,
    /// Time of the last frame received for this flow.
    last_frame_ps: Time,
    /// Time of the last stop request, if the flow has no packets left to send.
    stopped_ps: Option<Time>,
}

/// A frame that a flow must send.
#[derive(Clone, Copy, Debug)]
pub(super) enum Job {
    /// A request to the receiver to send credits.
    Ask,
    /// A request to the receiver to stop sending credits.
    Stop,
    /// A data packet. `credit` is the sequence number of the credit that permits it, and the
    /// receiver sent this credit at `credit_ps`.
    Data {
        psn: u32,
        credit: u32,
        credit_ps: Time,
    },
}

impl ExpressPass {
    /// Starts a flow by a request for credits.
    // XP-14
    pub(super) fn begin<S: Sink>(&mut self, cx: &mut Context<'_, S>, start: &FlowStart) {
        let flow = Outgoing {
            packets: Packets::new(start, cx.frames),
            acked: 0,
            permitted: 0,
            has_request: true,
            last_frame_ps: cx.now,
            stopped_ps: None,
        };
        let slot = self.outgoing.insert(start.flow, flow);
        cx.sink.flow_waits(start, Wait::Receiver);
        self.queue_job(cx, start, slot, Job::Ask);
        let flow = start.flow;
        let at = cx.now + cx.config.timeout_ps;
        self.timers.add(at, Timer::Timeout { flow, slot });
    }

    /// Queues a frame of a flow at its sender.
    fn queue_job<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        start: &FlowStart,
        slot: FlowSlot,
        job: Job,
    ) {
        let jobs = self.jobs.of_flow(cx.frames, start);
        jobs.push_back((slot, start.flow, job));
        cx.sink.kick(start.port);
    }

    /// Handles a credit.
    // XP-14, XP-15: a credit permits one packet
    pub(super) fn receive_credit<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
    ) {
        let (packet, cold) = (*arena.hot(id), *arena.cold(id));
        let Some(flow) = self.outgoing.get_mut(cold.slot, packet.flow) else {
            // XP-16: the flow has ended. Credits that were in flight when the stop request was sent
            // are ignored. A later credit means that the stop request was lost, so it is repeated.
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
            cx.replies.send(port, id, arena, cx.sink);
            return;
        };
        arena.free(id);
        flow.last_frame_ps = cx.now;
        flow.acked = flow.acked.max(cold.arrived_below);
        let start = flow.packets.start;
        let Some(psn) = flow.packets.take(flow.packets.total) else {
            cx.counters.driven.credits_wasted += 1;
            // XP-16: repeat a stop request after two round trips
            let long_ago = |at: Time| cx.now - at >= 2 * start.path.base_rtt_ps;
            if flow.stopped_ps.is_none_or(long_ago) {
                flow.stopped_ps = Some(cx.now);
                self.queue_job(cx, &start, cold.slot, Job::Stop);
            }
            return;
        };
        cx.counters.driven.credits_used += 1;
        flow.permitted += 1;
        cx.sink.flow_waits(&start, Wait::Turn);
        let job = Job::Data {
            psn,
            credit: packet.psn,
            credit_ps: cold.sent_ps,
        };
        let over = !flow.packets.is_left(flow.packets.total);
        flow.stopped_ps = over.then_some(cx.now);
        self.queue_job(cx, &start, cold.slot, job);
        if over {
            self.queue_job(cx, &start, cold.slot, Job::Stop); // XP-15: no packet left
        }
    }

    /// Handles a NACK, by which the receiver reports a missing packet.
    // XP-20
    pub(super) fn receive_nak<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        packet: &Packet,
        slot: FlowSlot,
    ) {
        if let Some(flow) = self.outgoing.get_mut(slot, packet.flow) {
            flow.last_frame_ps = cx.now;
            flow.packets.add_lost(packet.psn);
        }
    }

    /// Ends a flow whose last packet the receiver has acknowledged.
    pub(super) fn receive_ack<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        packet: &Packet,
        cold: &Cold,
    ) {
        if let Some(flow) = self.outgoing.remove(cold.slot, packet.flow) {
            let settled_ps = 2 * flow.packets.start.path.base_rtt_ps;
            self.ended
                .insert(packet.flow, (cx.now + settled_ps, settled_ps));
            cx.finish(&flow.packets, cold);
        }
    }

    /// Builds a queued frame, unless its flow has ended.
    pub(super) fn build<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        slot: FlowSlot,
        number: u32,
        job: Job,
        arena: &mut Arena,
    ) -> Option<PacketId> {
        let flow = self.outgoing.get_mut(slot, number)?;
        let (hot, cold) = match job {
            Job::Ask => {
                cx.counters.driven.requests += 1;
                flow.has_request = false;
                request(cx, &flow.packets.start, slot, 1)
            }
            Job::Stop => {
                cx.counters.driven.stops += 1;
                request(cx, &flow.packets.start, slot, 0)
            }
            Job::Data {
                psn,
                credit,
                credit_ps,
            } => {
                let (hot, mut cold) = flow.packets.build(cx, slot, psn);
                cold.credit = credit;
                cold.stamp = Stamp::credit(credit_ps);
                debug_assert!(flow.permitted > 0, "no credit permits this packet"); // XP-01
                flow.permitted -= 1;
                if flow.permitted == 0 {
                    cx.sink.flow_waits(&flow.packets.start, Wait::Receiver);
                }
                (hot, cold)
            }
        };
        Some(arena.alloc(hot, cold))
    }

    /// Handles a timeout: requests credits again, and restarts from the first unacknowledged
    /// packet.
    // XP-21
    pub(super) fn handle_timeout<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        slot: FlowSlot,
        number: u32,
    ) {
        let timeout_ps = cx.config.timeout_ps;
        let Some(flow) = self.outgoing.get_mut(slot, number) else {
            return;
        };
        let silent = cx.now >= flow.last_frame_ps + timeout_ps;
        if silent {
            cx.counters.timeouts += 1;
            cx.sink.flow_waits(&flow.packets.start, Wait::TimedOut);
            flow.last_frame_ps = cx.now;
            flow.packets.next = flow.acked;
            flow.packets.lost.clear();
            flow.stopped_ps = None;
        }
        let (at, start) = (flow.last_frame_ps + timeout_ps, flow.packets.start);
        // One queued request is sufficient, even if a failed link delays it.
        if silent && !std::mem::replace(&mut flow.has_request, true) {
            self.queue_job(cx, &start, slot, Job::Ask);
        }
        self.timers.add(at, Timer::Timeout { flow: number, slot });
    }
}

/// Builds a request to the receiver of a flow. `psn` is 1 to start sending credits, 0 to stop.
fn request<S>(cx: &Context<'_, S>, start: &FlowStart, slot: FlowSlot, psn: u32) -> (Packet, Cold) {
    let (mut hot, cold) = data_packet(cx.now, cx.frames, start, slot, 0);
    (hot.psn, hot.size) = (psn, cx.frames.ack);
    hot.become_kind(Kind::Request, hot.class());
    (hot, cold)
}
