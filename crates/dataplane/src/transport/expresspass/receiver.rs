//! The ExpressPass receiver: it sends credits to each flow until the flow is complete, and reports
//! missing packets.

use super::feedback::Incoming;
use super::{Context, ExpressPass};
use crate::flow::packets_of;
use crate::packet::{Arena, Kind, Packet, PacketId};
use crate::replies::Peer;
use crate::sink::Sink;
use crate::units::Time;

impl ExpressPass {
    /// Handles a request for credits.
    // XP-10, XP-17
    pub(super) fn receive_request<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
    ) {
        let (packet, cold) = (*arena.hot(id), *arena.cold(id));
        let packets = packets_of(cold.remaining, cx.frames.mtu);
        if let Some(done_ps) = self.incoming.done_ps(packet.flow) {
            return acknowledge(cx, (port, id), packets, done_ps, arena);
        }
        let due = &mut self.ports[port as usize].due;
        let flow = self.incoming.open.get_or_insert_with(packet.flow, || {
            due.add(cx.now, packet.flow); // XP-10: credits start at once
            Incoming::new(cx.now, cx.config, Peer::of(&packet, &cold), packets)
        });
        match flow.done_ps {
            Some(done_ps) => acknowledge(cx, (port, id), packets, done_ps, arena),
            None => arena.free(id),
        }
    }

    /// Handles a stop request, which means that the sender has no packets left to send.
    // XP-17, XP-20
    pub(super) fn receive_stop<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        packet: &Packet,
        arena: &mut Arena,
    ) {
        let Some(flow) = self.incoming.open.get_mut(packet.flow) else {
            return;
        };
        if let Some(done_ps) = flow.done_ps {
            self.incoming.end(packet.flow, done_ps);
        } else {
            let missing = flow.expected;
            flow.seen = flow.seen.max(missing + 1);
            report_missing(cx, port, &flow.peer, missing, arena);
        }
    }

    /// Handles a data packet.
    pub(super) fn receive_data<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
    ) {
        let (packet, cold) = (*arena.hot(id), *arena.cold(id));
        cx.counters.received += 1;
        let Some(flow) = self.incoming.open.get_mut(packet.flow) else {
            cx.counters.discarded += 1;
            let packets = packet.psn + packets_of(cold.remaining, cx.frames.mtu);
            return match self.incoming.done_ps(packet.flow) {
                Some(done_ps) => acknowledge(cx, (port, id), packets, done_ps, arena),
                None => arena.free(id),
            };
        };
        let gap_ps = self.ports[port as usize].gap_ps;
        flow.echo(cx.now, &cold, cx.config, gap_ps);
        let arrivals = &mut self.incoming.arrivals;
        arrivals.record(cx.counters, &packet, &cold, &mut flow.expected);
        let (expected, packets, peer) = (flow.expected, flow.packets, flow.peer);
        let missing = flow.seen..packet.psn.max(flow.seen);
        flow.seen = flow.seen.max(packet.psn + 1);
        if expected == packets {
            let first = flow.done_ps.is_none();
            let done_ps = *flow.done_ps.get_or_insert(cx.now);
            if first {
                cx.sink.delivered(packet.flow);
            }
            acknowledge(cx, (port, id), packets, done_ps, arena);
        } else {
            arena.free(id);
        }
        // XP-20: the data of a flow arrive in order, so skipped packets are lost.
        for psn in missing {
            report_missing(cx, port, &peer, psn, arena);
        }
    }
}

/// Reports a packet of a flow as missing.
// XP-20
fn report_missing<S: Sink>(
    cx: &mut Context<'_, S>,
    port: u16,
    peer: &Peer,
    psn: u32,
    arena: &mut Arena,
) {
    let frame = peer.address(Packet {
        psn,
        ..Packet::new(Kind::Nak, cx.frames.ack_class, cx.frames.ack)
    });
    cx.counters.naks += 1;
    cx.send(port, frame, arena);
}

/// Sends an ACK for the whole flow of `packets` packets, in reply to an arrived packet.
fn acknowledge<S: Sink>(
    cx: &mut Context<'_, S>,
    (port, id): (u16, PacketId),
    packets: u32,
    done_ps: Time,
    arena: &mut Arena,
) {
    arena.hot_mut(id).psn = packets;
    cx.answer(port, id, Kind::Ack, done_ps, arena);
}
