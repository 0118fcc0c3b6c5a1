//! The Homa receiver: it grants packets to the messages with the fewest remaining bytes.

use super::{Context, Homa, Timeout};
use crate::classes::CONTROL_CLASS;
use crate::flow::packets_of;
use crate::packet::{Arena, Cold, Kind, Packet, PacketId, Stamp};
use crate::replies::Peer;
use crate::sink::Sink;
use crate::transport::Frames;
use crate::units::Time;

/// Maximum number of gaps that a receiver requests at one timeout.
const GAPS: usize = 16;

/// State of a message at its receiver.
#[derive(Debug)]
pub(super) struct Incoming {
    port: u16,
    peer: Peer,
    packets: u32,
    /// Number of packets that may be granted and not received.
    window: u32,
    expected: u32,
    /// Number of packets that have arrived.
    received: u32,
    /// Payload bytes that have not arrived.
    remaining: u64,
    /// Total number of packets that the sender may send.
    granted: u32,
    level: u16,
    pub last_frame_ps: Time,
}

impl Incoming {
    /// Creates a message whose first packet has arrived.
    fn new<S>(cx: &Context<'_, S>, port: u16, packet: &Packet, cold: &Cold) -> Self {
        let mtu = cx.frames.mtu;
        let packets = packet.psn + packets_of(cold.remaining, mtu);
        Self {
            port,
            peer: Peer::of(packet, cold),
            packets,
            window: cold.credit,
            expected: 0,
            received: 0,
            remaining: u64::from(packet.psn) * u64::from(mtu) + cold.remaining,
            granted: cold.credit.min(packets),
            level: 0,
            last_frame_ps: cx.now,
        }
    }
}

impl Homa {
    /// Handles a data packet.
    // HOM-05, HOM-08
    pub(super) fn receive_data<S: Sink>(
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
            return cx.answer(port, id, Kind::Ack, done_ps, arena);
        }
        let mut is_new = false;
        let flow = self.incoming.open.get_or_insert_with(packet.flow, || {
            is_new = true;
            Incoming::new(cx, port, &packet, &cold)
        });
        let before = flow.remaining;
        let arrivals = &mut self.incoming.arrivals;
        if arrivals.record(cx.counters, &packet, &cold, &mut flow.expected) {
            // A duplicate packet does not restart the timeout, because it does not fill a gap.
            flow.last_frame_ps = cx.now;
            flow.received += 1;
            debug_assert!(
                flow.remaining >= u64::from(cold.payload),
                "more bytes than the message has"
            );
            flow.remaining -= u64::from(cold.payload);
        }
        let (remaining, is_granted) = (flow.remaining, flow.granted == flow.packets);
        if is_new {
            let at = cx.now + cx.config.timeout_ps;
            let (flow, slot) = (packet.flow, None);
            self.timers.set(at, Timeout { flow, slot }, cx.sink);
        }
        if flow.expected == flow.packets {
            self.incoming.end(packet.flow, cx.now);
            cx.sink.delivered(packet.flow);
            cx.answer(port, id, Kind::Ack, cx.now, arena);
        } else {
            arena.free(id);
        }
        if is_granted {
            return;
        }
        let list = &mut self.ungranted[port as usize];
        if !is_new {
            match list.binary_search(&(before, packet.flow)) {
                Ok(at) => list.remove(at),
                Err(_) => return,
            };
        }
        let next = (remaining, packet.flow);
        let at = list.binary_search(&next).unwrap_or_else(|at| at);
        list.insert(at, next);
        // A new message changes the priority levels of other messages.
        let is_active = at < usize::from(cx.config.overcommitment);
        if is_active && (is_new || self.grant(cx, port, at, arena)) {
            self.grant_all(cx, port, arena);
        }
    }

    /// Sends all possible grants to the messages of a port that may receive grants.
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

    /// Sends the largest possible grant to message number `at` in the order of grants. Returns true
    /// if the message is now fully granted and was removed from the list.
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
        let (_, number) = list[at];
        let active = list.len().min(usize::from(settings.overcommitment));
        let Some(flow) = self.incoming.open.get_mut(number) else {
            list.remove(at);
            return true;
        };
        let to = flow.packets.min(flow.received + flow.window);
        if to > flow.granted {
            flow.granted = to;
            flow.level = (usize::from(settings.levels) - active + at) as u16;
            let frame = control(cx.now, cx.frames, Kind::Grant, flow, to);
            cx.counters.driven.grants += 1;
            cx.send(port, frame, arena);
        }
        let whole = flow.granted == flow.packets;
        if whole {
            list.remove(at);
        }
        whole
    }

    /// Handles a timeout of a message at its receiver: requests the missing packets.
    // HOM-10
    pub(super) fn request_missing<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        number: u32,
        arena: &mut Arena,
    ) {
        let Some(flow) = self.incoming.open.get_mut(number) else {
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

/// Builds a control frame from the receiver of a message to the sender.
fn control(now: Time, frames: &Frames, kind: Kind, flow: &Incoming, psn: u32) -> (Packet, Cold) {
    let (hot, mut cold) = flow.peer.address(Packet {
        psn,
        ..Packet::new(kind, CONTROL_CLASS, frames.ack)
    });
    (cold.sent_ps, cold.stamp, cold.level) = (now, Stamp::INCOMPLETE, flow.level);
    (hot, cold)
}
