//! The Homa receiver: it grants packets to the messages with the fewest remaining bytes.

use super::{Context, Homa, Next, Timeout};
use crate::classes::CONTROL_CLASS;
use crate::ids::FlowSlot;
use crate::packet::{Arena, Cold, Kind, Packet, PacketId, Stamp};
use crate::sink::Sink;
use crate::transport::{Frames, Peer, packets_of};
use crate::units::Time;

/// Largest number of gaps that a receiver requests at a time.
const GAPS: usize = 16;

/// A message at its receiver.
#[derive(Debug)]
pub(super) struct Incoming {
    port: u16,
    peer: Peer,
    packets: u32,
    /// Number of packets that may be in flight.
    window: u32,
    expected: u32,
    /// Packets that have arrived.
    received: u32,
    /// Payload bytes that have not arrived.
    remaining: u64,
    /// Packets that the sender may send, in total.
    granted: u32,
    level: u16,
    pub heard_ps: Time,
}

impl Homa {
    /// Handles a data packet.
    // HOM-05, HOM-08
    pub(super) fn data<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
    ) {
        let (packet, cold) = (*arena.hot(id), *arena.cold(id));
        cx.counters.received += 1;
        if let Some(done_ps) = self.incoming.done_ps(packet.flow) {
            cx.counters.discarded += 1;
            return cx.acknowledge(port, id, done_ps, arena);
        }
        let (slot, fresh_message) = self.incoming_slot(cx, port, &packet, &cold);
        let Some(flow) = self.incoming.open.get_mut(slot, packet.flow) else {
            return arena.free(id);
        };
        let before = flow.remaining;
        let arrivals = &mut self.incoming.arrivals;
        if arrivals.record(cx.counters, &packet, &cold, &mut flow.expected) {
            // A duplicate does not restart the timeout, because the missing packets are still
            // missing.
            flow.heard_ps = cx.now;
            flow.received += 1;
            debug_assert!(
                flow.remaining >= u64::from(cold.payload),
                "more bytes than the message has"
            );
            flow.remaining -= u64::from(cold.payload);
        }
        let expected = flow.expected;
        let (remaining, granted, packets) = (flow.remaining, flow.granted, flow.packets);
        let mut changed = fresh_message && granted < packets;
        if expected == packets {
            self.incoming.end(slot, packet.flow, cx.now);
            cx.sink.delivered(packet.flow);
            cx.acknowledge(port, id, cx.now, arena);
        } else {
            arena.free(id);
        }
        let mut moved = None;
        if granted < packets && !fresh_message {
            let key = |remaining| Next {
                remaining,
                flow: packet.flow,
                slot,
            };
            let list = &mut self.ungranted[port as usize];
            if let Ok(at) = list.binary_search(&key(before)) {
                list.remove(at);
                let to = list.binary_search(&key(remaining)).unwrap_or_else(|to| to);
                list.insert(to, key(remaining));
                moved = Some(to);
            }
        } else if changed {
            let next = Next {
                remaining,
                flow: packet.flow,
                slot,
            };
            let list = &mut self.ungranted[port as usize];
            let to = list.binary_search(&next).unwrap_or_else(|to| to);
            list.insert(to, next);
            changed = to < usize::from(cx.config.overcommitment);
        }
        if changed {
            self.grant_all(cx, port, arena);
        } else if let Some(at) = moved
            && at < usize::from(cx.config.overcommitment)
            && self.grant(cx, port, at, arena)
        {
            self.grant_all(cx, port, arena);
        }
    }

    fn incoming_slot<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        packet: &Packet,
        cold: &Cold,
    ) -> (FlowSlot, bool) {
        if let Some(slot) = self.incoming.slot(packet.flow) {
            return (slot, false);
        }
        let mtu = cx.frames.mtu;
        let packets = packet.psn + packets_of(cold.remaining, mtu);
        let flow = Incoming {
            port,
            peer: Peer::of(packet, cold),
            packets,
            window: cold.credit,
            expected: 0,
            received: 0,
            remaining: u64::from(packet.psn) * u64::from(mtu) + cold.remaining,
            granted: cold.credit.min(packets),
            level: 0,
            heard_ps: cx.now,
        };
        let slot = self.incoming.begin(packet.flow, flow);
        let at = cx.now + cx.config.timeout_ps;
        let timer = Timeout {
            flow: packet.flow,
            incoming: true,
            slot,
        };
        self.timers.set(at, timer, cx.sink);
        (slot, true)
    }

    /// Sends all possible grants to the first messages of a port.
    // HOM-06
    fn grant_all<S: Sink>(&mut self, cx: &mut Context<'_, S>, port: u16, arena: &mut Arena) {
        let most = usize::from(cx.config.overcommitment);
        let mut at = 0;
        while at < most.min(self.ungranted[port as usize].len()) {
            if !self.grant(cx, port, at, arena) {
                at += 1;
            }
        }
    }

    /// Sends the largest possible grant to the message at this position of the list. Returns true
    /// if it is fully granted and was removed from the list.
    // HOM-05, HOM-07
    fn grant<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        at: usize,
        arena: &mut Arena,
    ) -> bool {
        let settings = cx.config;
        let list = &mut self.ungranted[port as usize];
        let next = list[at];
        let active = list.len().min(usize::from(settings.overcommitment));
        let Some(flow) = self.incoming.open.get_mut(next.slot, next.flow) else {
            list.remove(at);
            return true;
        };
        let to = flow.packets.min(flow.received + flow.window);
        if to > flow.granted {
            flow.granted = to;
            flow.level = (usize::from(settings.levels) - active + at) as u16;
            let (hot, cold) = control(cx.now, cx.frames, Kind::Grant, flow, to);
            cx.counters.driven.grants += 1;
            let id = arena.alloc(hot, cold);
            cx.replies.send(port, id, arena, cx.sink);
        }
        let whole = flow.granted == flow.packets;
        if whole {
            list.remove(at);
        }
        whole
    }

    /// Handles a timeout: the receiver requests the missing packets.
    // HOM-10
    pub(super) fn miss<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        slot: FlowSlot,
        number: u32,
        arena: &mut Arena,
    ) {
        let Some(flow) = self.incoming.open.get_mut(slot, number) else {
            return;
        };
        let port = flow.port;
        let mut from = flow.expected;
        for _ in 0..GAPS {
            if from >= flow.granted {
                break;
            }
            let present = self.incoming.arrivals.first_present(number, from);
            let end = present.map_or(flow.granted, |psn| psn.min(flow.granted));
            let (hot, mut cold) = control(cx.now, cx.frames, Kind::Request, flow, from);
            cold.credit = end - from;
            cx.counters.driven.requests += 1;
            let id = arena.alloc(hot, cold);
            cx.replies.push(port, id, arena);
            from = self.incoming.arrivals.first_absent(number, end);
        }
        cx.sink.kick(port);
    }
}

/// Builds a control frame to the sender of a message.
fn control(now: Time, frames: &Frames, kind: Kind, flow: &Incoming, psn: u32) -> (Packet, Cold) {
    let (hot, mut cold) = flow.peer.address(Packet {
        psn,
        ..Packet::new(kind, CONTROL_CLASS, frames.ack)
    });
    (cold.sent_ps, cold.stamp, cold.level) = (now, Stamp::INCOMPLETE, flow.level);
    (hot, cold)
}
