//! The Homa sender: it sends a first window without grants, and then the packets that receivers
//! grant.

use std::cmp::Reverse;

use super::{Context, Homa, Next, Timeout};
use crate::classes::DATA_CLASS;
use crate::flow::FlowStart;
use crate::ids::FlowSlot;
use crate::packet::{Arena, Cold, Kind, Packet, PacketId};
use crate::sink::Sink;
use crate::transport::{Unsent, count_sent, data_packet, packets_of, window_packets};
use crate::units::Time;
use crate::wait::Wait;

/// A message at its sender.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub start: FlowStart,
    pub packets: u32,
    /// Packets that may be sent without a grant.
    window: u32,
    pub unsent: Unsent,
    /// Packets that may be sent, in total.
    granted: u32,
    /// Priority level of its unscheduled packets.
    first_level: u16,
    /// Priority level of the last grant.
    level: u16,
    /// True if the message is in its queue of messages.
    pub waits: bool,
    pub retransmitted: u32,
    pub heard_ps: Time,
}

impl Outgoing {
    fn has_something(&self) -> bool {
        self.unsent.is_left(self.granted)
    }

    /// Returns the payload bytes that have not been sent yet.
    fn remaining(&self, mtu: u16) -> u64 {
        self.start.bytes - self.start.bytes_below(self.unsent.next, mtu)
    }
}

impl Homa {
    /// Starts a message with its first window.
    // HOM-01, HOM-04
    pub(super) fn begin<S: Sink>(&mut self, cx: &mut Context<'_, S>, start: &FlowStart) {
        let settings = cx.config;
        let packets = packets_of(start.bytes, cx.frames.mtu);
        let window = window_packets(settings.window, &start.path, cx.frames);
        let flow = Outgoing {
            start: *start,
            packets,
            window,
            granted: window.min(packets),
            unsent: Unsent::default(),
            first_level: settings.level_of(start.bytes),
            level: settings.levels.into(),
            waits: false,
            retransmitted: 0,
            heard_ps: cx.now,
        };
        let slot = self.outgoing.insert(start.flow, flow);
        self.revive(cx, slot, start.flow);
        let at = cx.now + settings.timeout_ps;
        let timer = Timeout {
            flow: start.flow,
            incoming: false,
            slot,
        };
        self.timers.set(at, timer, cx.sink);
    }

    /// Queues a message that has packets to send, unless it is queued already.
    fn revive<S: Sink>(&mut self, cx: &mut Context<'_, S>, slot: FlowSlot, number: u32) {
        let Some(flow) = self.outgoing.get_mut(slot, number) else {
            return;
        };
        if flow.waits || !flow.has_something() {
            return;
        }
        flow.waits = true;
        cx.sink.flow_waits(&flow.start, Wait::Turn);
        let class = cx.frames.data_class + flow.start.class;
        let port = flow.start.port;
        let next = Next {
            remaining: flow.remaining(cx.frames.mtu),
            flow: number,
            slot,
        };
        self.ready.of(port, class).push(Reverse(next));
        cx.sink.kick(port);
    }

    /// Handles a grant, or a request for packets starting at `psn`.
    // HOM-05, HOM-10
    pub(super) fn asked<S: Sink>(&mut self, cx: &mut Context<'_, S>, packet: &Packet, cold: &Cold) {
        let Some(flow) = self.outgoing.get_mut(cold.slot, packet.flow) else {
            return;
        };
        flow.heard_ps = cx.now;
        flow.level = cold.level;
        let end = match packet.kind() {
            Kind::Grant => packet.psn,
            _ => {
                let end = packet.psn.saturating_add(cold.credit).min(flow.packets);
                for psn in packet.psn..end.min(flow.unsent.next) {
                    flow.unsent.add_lost(psn);
                }
                end
            }
        };
        flow.granted = flow.granted.max(end.min(flow.packets));
        self.revive(cx, cold.slot, packet.flow);
    }

    /// Ends a message whose last packet the receiver has acknowledged.
    pub(super) fn finished<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        packet: &Packet,
        cold: &Cold,
    ) {
        if let Some(flow) = self.outgoing.remove(cold.slot, packet.flow) {
            cx.finish(&flow.start, cold, flow.retransmitted);
        }
    }

    /// Builds the next packet of the message with the fewest remaining bytes.
    // HOM-02, HOM-03, HOM-04
    pub(super) fn send_data<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        port: u16,
        class: u8,
        arena: &mut Arena,
    ) -> Option<PacketId> {
        let levels = u16::from(cx.config.levels);
        while let Some(Reverse(next)) = self.ready.of(port, class).pop() {
            let Some(flow) = self.outgoing.get_mut(next.slot, next.flow) else {
                continue;
            };
            flow.waits = false;
            cx.sink.flow_waits(&flow.start, Wait::Receiver);
            let Some((psn, again)) = flow.unsent.take(flow.granted) else {
                continue;
            };
            let (mut hot, mut cold) = data_packet(cx.now, cx.frames, &flow.start, next.slot, psn);
            let unscheduled = psn < flow.window && (!again || flow.level >= levels);
            let level = if unscheduled {
                flow.first_level
            } else {
                flow.level.min(levels - 1)
            };
            hot.upstream_queue =
                u16::from(DATA_CLASS) + u16::from(class - DATA_CLASS) * levels + level;
            cold.credit = flow.window;
            flow.retransmitted += u32::from(again);
            count_sent(cx.counters, &mut hot, cold.payload, again);
            self.revive(cx, next.slot, next.flow);
            return Some(arena.alloc(hot, cold));
        }
        None
    }

    /// Handles a timeout: the sender repeats its first packet. The receiver may have received no
    /// packet of the message, or the ACK may be lost.
    // HOM-11
    pub(super) fn probe<S: Sink>(&mut self, cx: &mut Context<'_, S>, slot: FlowSlot, number: u32) {
        if let Some(flow) = self.outgoing.get_mut(slot, number)
            && !flow.has_something()
        {
            cx.counters.timeouts += 1;
            cx.sink.flow_waits(&flow.start, Wait::TimedOut);
            flow.unsent.lost.push_back(0);
        }
        self.revive(cx, slot, number);
    }
}
