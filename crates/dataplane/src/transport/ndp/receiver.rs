//! The NDP receiver: it acknowledges each packet immediately, and sends pulls at the rate of its
//! link.

use super::{Context, Ndp, Timer};
use crate::classes::CONTROL_CLASS;
use crate::flow::packets_of;
use crate::packet::{Arena, Kind, Packet, PacketId};
use crate::replies::Peer;
use crate::shaping::Bucket;
use crate::sink::Sink;
use crate::transport::{Frames, Paced};
use crate::units::{NEVER, Rate, Time};

/// State of a flow at its receiver.
#[derive(Debug)]
pub(super) struct Incoming {
    /// The sender. Pulls use the path of the last packet from it.
    peer: Peer,
    packets: u32,
    expected: u32,
    /// `pulls`: number of pulls sent. `pending`: number of pulls still to send.
    pulls: u32,
    pending: u32,
}

/// Returns the empty list of pulls of a port. The interval between pulls is the transmission time
/// of a full packet.
// NDP-11
pub(super) fn pulls(rate: Rate, frames: &Frames) -> Paced<u32> {
    let frame_ps = rate.serialisation_ps(frames.data_bytes(frames.mtu).into());
    Paced::new(Bucket::new(frame_ps, 1))
}

impl Ndp {
    /// Handles a data packet, complete or trimmed: sends an ACK or NACK immediately and queues a
    /// pull.
    // NDP-10, NDP-11
    pub(super) fn receive_data<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
    ) {
        let (packet, cold) = (*arena.hot(id), *arena.cold(id));
        let whole = packet.kind() == Kind::Data;
        if whole {
            cx.counters.received += 1;
        } else {
            cx.counters.driven.headers += 1;
        }
        if let Some(done_ps) = self.incoming.done_ps(packet.flow) {
            cx.counters.discarded += u64::from(whole);
            return answer(cx, (port, id), Kind::Ack, (u32::MAX, done_ps), arena);
        }
        let flow = (self.incoming.open).get_or_insert_with(packet.flow, || Incoming {
            peer: Peer::of(&packet, &cold),
            packets: packet.psn + packets_of(cold.remaining, cx.frames.mtu),
            expected: 0,
            pulls: 0,
            pending: 0,
        });
        flow.peer.hash = packet.hash;
        if whole {
            let arrivals = &mut self.incoming.arrivals;
            arrivals.record(cx.counters, &packet, &cold, &mut flow.expected);
        }
        let (expected, packets) = (flow.expected, flow.packets);
        if expected == packets {
            // NDP-11: the flow's pending pulls are discarded.
            self.incoming.end(packet.flow, cx.now);
            cx.sink.delivered(packet.flow);
            return answer(cx, (port, id), Kind::Ack, (expected, cx.now), arena);
        }
        if flow.pending == 0 {
            self.pulls[port as usize].waiting.push_back(packet.flow);
        }
        flow.pending += 1;
        let had = whole || packet.psn < expected;
        let kind = if had { Kind::Ack } else { Kind::Nak };
        answer(cx, (port, id), kind, (expected, NEVER), arena);
        self.await_pull(cx, port);
    }

    /// Starts a port that may send its next pull. Otherwise sets a timer for it.
    pub(super) fn await_pull<S: Sink>(&mut self, cx: &mut Context<'_, S>, port: u16) {
        if let Some(at) = self.pulls[port as usize].resume(cx.now, port, cx.sink) {
            self.timers.set(at, Timer::Pull { port }, cx.sink);
        }
    }

    /// Builds the next pull of a port; `None` if no pull is due.
    // NDP-11
    pub(super) fn send_pull<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        arena: &mut Arena,
    ) -> Option<PacketId> {
        let pulls = &mut self.pulls[port as usize];
        let mut sent = None;
        while pulls.is_ready(cx.now)
            && let Some(number) = pulls.waiting.pop_front()
        {
            let Some(flow) = self.incoming.open.get_mut(number) else {
                continue; // This flow is complete.
            };
            flow.pulls += 1;
            debug_assert!(flow.pending > 0, "no pull is pending");
            flow.pending -= 1;
            if flow.pending > 0 {
                pulls.waiting.push_back(number);
            }
            let (hot, mut cold) = flow.peer.address(Packet {
                psn: flow.pulls,
                ..Packet::new(Kind::Grant, CONTROL_CLASS, cx.frames.ack)
            });
            cold.sent_ps = cx.now;
            cx.counters.driven.pulls += 1;
            pulls.bucket.take(cx.now);
            sent = Some(arena.alloc(hot, cold));
            break;
        }
        self.await_pull(cx, port);
        sent
    }
}

/// Sends an ACK or NACK in reply to an arrived packet. All packets below `expected` have arrived.
/// `done_ps` is the time at which the flow was complete.
fn answer<S: Sink>(
    cx: &mut Context<'_, S>,
    (port, id): (u16, PacketId),
    kind: Kind,
    (expected, done_ps): (u32, Time),
    arena: &mut Arena,
) {
    let cold = arena.cold_mut(id);
    (cold.remaining, cold.arrived_below) = (0, expected);
    cx.answer(port, id, kind, done_ps, arena);
}
