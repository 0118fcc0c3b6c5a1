//! The NDP sender: it sends a first window, and then one packet for each pull.

use std::collections::VecDeque;

use super::{Context, Ndp, Timer};
use crate::flow::FlowStart;
use crate::ids::FlowSlot;
use crate::packet::{Arena, Cold, Kind, Packet, PacketId, Stamp};
use crate::paths::permutation::Permutation;
use crate::sink::Sink;
use crate::transport::{Packets, window_packets};
use crate::units::Time;
use crate::wait::Wait;

/// State of a flow at its sender.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub packets: Packets,
    /// All packets below this number have arrived.
    pub acked: u32,
    /// Numbers and sending times of the packets in flight without a reply, oldest first.
    flight: VecDeque<(u32, Time)>,
    /// Number of packets that the flow may send now, from its first window and pulls.
    allowance: u32,
    /// Number of ACKs and NACKs received. The receiver creates one pull for each.
    answered: u32,
    /// Sequence number of the last pull: the number of pulls that the receiver has sent.
    pulled: u32,
    /// True if the flow is in its round-robin list.
    pub waits: bool,
    /// Order of paths for the packets; `None` if switches select paths.
    paths: Option<Permutation>,
    /// Time of the last reply or timeout.
    news_ps: Time,
}

impl Outgoing {
    /// Returns true if a packet remains to be sent, for the first time or again.
    pub fn has_something(&self) -> bool {
        self.packets.is_left(self.packets.total)
    }

    /// Removes a packet from the packets in flight because its reply has arrived. Returns false if
    /// the packet was not in flight.
    fn landed(&mut self, psn: u32) -> bool {
        let at = self.flight.iter().position(|&(number, _)| number == psn);
        at.and_then(|at| self.flight.remove(at)).is_some()
    }

    /// Returns true if no pull can arrive: no packet is in flight, and a pull has arrived for every
    /// reply.
    // NDP-14
    fn expects_nothing(&self) -> bool {
        self.flight.is_empty() && self.answered <= self.pulled
    }

    /// Returns the expiry of the next timeout.
    fn deadline(&self, timeout_ps: Time) -> Time {
        self.flight.front().map_or(self.news_ps, |&(_, at)| at) + timeout_ps
    }

    /// Returns the path index of the next packet if the sender selects paths, otherwise the hash of
    /// the flow.
    // NDP-05
    fn path(&mut self, draw: &mut impl FnMut() -> u64) -> u32 {
        match &mut self.paths {
            Some(paths) => paths.step(draw),
            None => self.packets.start.hash,
        }
    }
}

impl Ndp {
    /// Starts a flow with its first window.
    // NDP-12
    pub(super) fn begin<S: Sink>(&mut self, cx: &mut Context<'_, S>, start: &FlowStart) {
        let flow = Outgoing {
            packets: Packets::new(start, cx.frames),
            acked: 0,
            flight: VecDeque::new(),
            allowance: 0,
            answered: 0,
            pulled: 0,
            waits: false,
            paths: (start.ways > 0).then(|| Permutation::of(start.ways)),
            news_ps: cx.now,
        };
        let slot = self.outgoing.insert(start.flow, flow);
        let window = window_packets(cx.config.window, &start.path, cx.frames);
        self.allow(cx, slot, start.flow, window);
        let at = cx.now + cx.config.timeout_ps;
        let flow = start.flow;
        (self.timers).set(at, Timer::Timeout { flow, slot }, cx.sink);
    }

    /// Permits a flow to send `more` packets.
    fn allow<S: Sink>(&mut self, cx: &mut Context<'_, S>, slot: FlowSlot, number: u32, more: u32) {
        let Some(flow) = self.outgoing.get_mut(slot, number) else {
            return;
        };
        flow.allowance += more;
        if flow.allowance == 0 || flow.waits {
            return;
        }
        flow.waits = true;
        let start = &flow.packets.start;
        cx.sink.flow_waits(start, Wait::Turn);
        self.rings
            .of_flow(cx.frames, start)
            .push_back((slot, number));
        cx.sink.kick(start.port);
    }

    /// Handles an ACK, a NACK, a pull, or a header that a switch returned.
    // NDP-12, NDP-13, NDP-14
    pub(super) fn receive_reply<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        packet: &Packet,
        cold: &Cold,
    ) {
        let Some(flow) = self.outgoing.get_mut(cold.slot, packet.flow) else {
            return;
        };
        flow.news_ps = cx.now;
        let mut more = 0;
        match packet.kind() {
            Kind::Ack => {
                flow.answered += 1;
                flow.acked = flow.acked.max(cold.arrived_below);
                if !flow.landed(packet.psn) {
                    flow.packets.lost.retain(|&psn| psn != packet.psn);
                }
                if cold.stamp != Stamp::INCOMPLETE {
                    if let Some(flow) = self.outgoing.remove(cold.slot, packet.flow) {
                        cx.finish(&flow.packets, cold);
                    }
                    return;
                }
            }
            Kind::Nak => {
                flow.answered += 1;
                if flow.landed(packet.psn) {
                    flow.packets.lost.push_back(packet.psn);
                }
            }
            Kind::Returned => {
                cx.counters.driven.returned += 1;
                if flow.landed(packet.psn) {
                    flow.packets.lost.push_back(packet.psn);
                }
                more = u32::from(flow.expects_nothing() && flow.allowance == 0);
            }
            _ => {
                // The sequence number of a pull includes earlier pulls that were lost.
                more = packet.psn.saturating_sub(flow.pulled);
                flow.pulled = flow.pulled.max(packet.psn);
            }
        }
        self.allow(cx, cold.slot, packet.flow, more);
    }

    /// Builds the next packet of a port and class.
    pub(super) fn send_data<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        class: u8,
        arena: &mut Arena,
    ) -> Option<PacketId> {
        let ring = self.rings.of(port, class);
        while let Some((slot, number)) = ring.pop_front() {
            let Some(flow) = self.outgoing.get_mut(slot, number) else {
                continue;
            };
            // NDP-13: retransmissions first.
            let Some(psn) = flow.packets.take(flow.packets.total) else {
                flow.allowance = 0;
                flow.waits = false;
                cx.sink.flow_waits(&flow.packets.start, Wait::Receiver);
                continue;
            };
            debug_assert!(flow.allowance > 0, "no packet is allowed");
            flow.allowance -= 1;
            flow.flight.push_back((psn, cx.now));
            flow.waits = flow.allowance > 0 && flow.has_something();
            if flow.waits {
                ring.push_back((slot, number));
            } else {
                flow.allowance = 0;
                cx.sink.flow_waits(&flow.packets.start, Wait::Receiver);
            }
            let (mut hot, cold) = flow.packets.build(cx, slot, psn);
            hot.hash = flow.path(&mut || cx.sink.draw());
            return Some(arena.alloc(hot, cold));
        }
        None
    }

    /// Handles a timeout: repeats packets without a reply, without waiting for pulls.
    // NDP-15
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
        let mut more = 0;
        if cx.now >= flow.deadline(timeout_ps) {
            cx.counters.timeouts += 1;
            cx.sink.flow_waits(&flow.packets.start, Wait::TimedOut);
            flow.news_ps = cx.now;
            while let Some(&(psn, sent_ps)) = flow.flight.front()
                && sent_ps + timeout_ps <= cx.now
            {
                flow.flight.pop_front();
                flow.packets.lost.push_back(psn);
                more += 1;
            }
            if more == 0 && flow.allowance == 0 {
                // All pulls, or the last ACK, were lost.
                more = 1;
                if !flow.has_something() {
                    flow.packets
                        .lost
                        .push_back(flow.acked.min(flow.packets.total - 1));
                }
            }
        }
        let at = flow.deadline(timeout_ps).max(cx.now + 1);
        self.allow(cx, slot, number, more);
        let timer = Timer::Timeout { flow: number, slot };
        self.timers.set(at, timer, cx.sink);
    }
}
