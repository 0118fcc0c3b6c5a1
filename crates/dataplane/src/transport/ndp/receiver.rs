//! The NDP receiver: it answers each packet immediately, and sends pulls at the rate of its link.

use std::collections::VecDeque;

use super::{Context, Ndp, Timer};
use crate::classes::CONTROL_CLASS;
use crate::ids::FlowSlot;
use crate::packet::{Arena, Kind, Packet, PacketId, Stamp};
use crate::sink::Sink;
use crate::transport::{Frames, Peer, packets_of, turn};
use crate::units::{NEVER, Rate, Time};

/// A flow at its receiver.
#[derive(Debug)]
pub(super) struct Incoming {
    /// The sender. Pulls use the path of its last packet.
    peer: Peer,
    packets: u32,
    expected: u32,
    /// `pulls`: pulls sent. `pending`: pulls still to send.
    pulls: u32,
    pending: u32,
}

/// Receiver state of one port.
#[derive(Debug)]
pub(super) struct Port {
    /// Transmission time of a full frame, which is the interval between pulls.
    frame_ps: Time,
    /// Flows that have pulls to send, each at most once.
    pub pulls: VecDeque<(FlowSlot, u32)>,
    pub next_pull_ps: Time,
    pub armed: bool,
}

impl Port {
    pub fn new(rate: Rate, frames: &Frames) -> Self {
        Self {
            frame_ps: rate.serialisation_ps(frames.data_bytes(frames.mtu).into()),
            pulls: VecDeque::new(),
            next_pull_ps: 0,
            armed: false,
        }
    }
}

impl Ndp {
    /// Handles a data packet, complete or trimmed: answers it immediately and queues a pull.
    // NDP-10, NDP-11
    pub(super) fn arrived<S: Sink>(
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
        let slot = self.incoming.slot(packet.flow).unwrap_or_else(|| {
            let flow = Incoming {
                peer: Peer::of(&packet, &cold),
                packets: packet.psn + packets_of(cold.remaining, cx.frames.mtu),
                expected: 0,
                pulls: 0,
                pending: 0,
            };
            self.incoming.begin(packet.flow, flow)
        });
        let Some(flow) = self.incoming.open.get_mut(slot, packet.flow) else {
            return arena.free(id);
        };
        flow.peer.hash = packet.hash;
        if whole {
            let arrivals = &mut self.incoming.arrivals;
            arrivals.record(cx.counters, &packet, &cold, &mut flow.expected);
        }
        let (expected, packets) = (flow.expected, flow.packets);
        if expected == packets {
            // NDP-11: the flow's pending pulls are discarded.
            self.incoming.end(slot, packet.flow, cx.now);
            cx.sink.delivered(packet.flow);
            return answer(cx, (port, id), Kind::Ack, (expected, cx.now), arena);
        }
        if flow.pending == 0 {
            self.ports[port as usize]
                .pulls
                .push_back((slot, packet.flow));
        }
        flow.pending += 1;
        let had = whole || packet.psn < expected;
        let kind = if had { Kind::Ack } else { Kind::Nak };
        answer(cx, (port, id), kind, (expected, NEVER), arena);
        self.await_pull(cx, port);
    }

    /// Starts the port if its next pull is due, else sets a timer for it.
    pub(super) fn await_pull<S: Sink>(&mut self, cx: &mut Context<'_, S>, port: u16) {
        let p = &mut self.ports[port as usize];
        if p.pulls.is_empty() {
            return;
        }
        if p.next_pull_ps <= cx.now {
            cx.sink.kick(port);
        } else if !p.armed {
            p.armed = true;
            (self.timers).set(p.next_pull_ps, Timer::Pull { port }, cx.sink);
        }
    }

    /// Builds the next pull of a port, if one is due.
    // NDP-11
    pub(super) fn send_pull<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        arena: &mut Arena,
    ) -> Option<PacketId> {
        let p = &mut self.ports[port as usize];
        let mut sent = None;
        while p.next_pull_ps <= cx.now
            && let Some((slot, number)) = p.pulls.pop_front()
        {
            let Some(flow) = self.incoming.open.get_mut(slot, number) else {
                continue; // The flow is complete.
            };
            flow.pulls += 1;
            debug_assert!(flow.pending > 0, "no pull is pending");
            flow.pending -= 1;
            if flow.pending > 0 {
                p.pulls.push_back((slot, number));
            }
            let (hot, mut cold) = flow.peer.address(Packet {
                psn: flow.pulls,
                ..Packet::new(Kind::Grant, CONTROL_CLASS, cx.frames.ack)
            });
            cold.sent_ps = cx.now;
            cx.counters.driven.pulls += 1;
            p.next_pull_ps = cx.now + p.frame_ps;
            sent = Some(arena.alloc(hot, cold));
            break;
        }
        self.await_pull(cx, port);
        sent
    }
}

/// Sends an arrived packet back as an ACK or NACK. The receiver has all packets below `expected`.
/// `done_ps` is the time when the flow was complete.
fn answer<S: Sink>(
    cx: &mut Context<'_, S>,
    (port, id): (u16, PacketId),
    kind: Kind,
    (expected, done_ps): (u32, Time),
    arena: &mut Arena,
) {
    if kind == Kind::Ack {
        cx.counters.acks += 1;
    } else {
        cx.counters.naks += 1;
    }
    turn(id, kind, cx.frames.ack_class, cx.frames.ack, arena);
    let cold = arena.cold_mut(id);
    cold.remaining = 0;
    cold.arrived_below = expected;
    cold.stamp = Stamp::completion(done_ps);
    cx.replies.send(port, id, arena, cx.sink);
}
