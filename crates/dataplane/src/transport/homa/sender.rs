//! The Homa sender: it sends a first window of unscheduled packets, and then the packets that the
//! receiver grants.

use std::cmp::Reverse;

use super::{Context, Homa, Next, Timeout};
use crate::classes::DATA_CLASS;
use crate::flow::FlowStart;
use crate::ids::FlowSlot;
use crate::packet::{Arena, Cold, Kind, Packet, PacketId, flag};
use crate::sink::Sink;
use crate::transport::{Packets, window_packets};
use crate::units::Time;
use crate::wait::Wait;

/// State of a message at its sender.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub packets: Packets,
    /// Number of unscheduled packets, which may be sent without a grant.
    window: u32,
    /// Total number of packets that may be sent.
    granted: u32,
    /// Priority level of the unscheduled packets.
    first_level: u16,
    /// Priority level that the last grant contained.
    level: u16,
    /// True if the message is in the list of messages that have packets to send.
    pub waits: bool,
    pub last_frame_ps: Time,
}

impl Outgoing {
    fn has_something(&self) -> bool {
        self.packets.is_left(self.granted)
    }

    /// Returns the payload bytes that have not been sent for the first time.
    fn remaining(&self, mtu: u16) -> u64 {
        let start = &self.packets.start;
        start.bytes - start.bytes_below(self.packets.next, mtu)
    }
}

impl Homa {
    /// Starts a message: sends its first window of unscheduled packets.
    // HOM-01, HOM-04
    pub(super) fn begin<S: Sink>(&mut self, cx: &mut Context<'_, S>, start: &FlowStart) {
        let settings = cx.config;
        let packets = Packets::new(start, cx.frames);
        let window = window_packets(settings.window, &start.path, cx.frames);
        let flow = Outgoing {
            window,
            granted: window.min(packets.total),
            packets,
            first_level: settings.level_of(start.bytes),
            level: settings.levels.into(),
            waits: false,
            last_frame_ps: cx.now,
        };
        let slot = self.outgoing.insert(start.flow, flow);
        self.revive(cx, slot, start.flow);
        let at = cx.now + settings.timeout_ps;
        let timer = Timeout {
            flow: start.flow,
            slot: Some(slot),
        };
        self.timers.set(at, timer, cx.sink);
    }

    /// Adds a message to the list of messages that have packets to send, unless the list contains
    /// it or no packet may be sent.
    fn revive<S: Sink>(&mut self, cx: &mut Context<'_, S>, slot: FlowSlot, number: u32) {
        let Some(flow) = self.outgoing.get_mut(slot, number) else {
            return;
        };
        if flow.waits || !flow.has_something() {
            return;
        }
        flow.waits = true;
        let start = &flow.packets.start;
        cx.sink.flow_waits(start, Wait::Turn);
        let next = Next {
            remaining: flow.remaining(cx.frames.mtu),
            flow: number,
            slot,
        };
        self.ready.of_flow(cx.frames, start).push(Reverse(next));
        cx.sink.kick(start.port);
    }

    /// Handles a grant, or a request for packets starting at `psn`.
    // HOM-05, HOM-10
    pub(super) fn receive_grant<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        packet: &Packet,
        cold: &Cold,
    ) {
        let Some(flow) = self.outgoing.get_mut(cold.slot, packet.flow) else {
            return;
        };
        flow.last_frame_ps = cx.now;
        flow.level = cold.level;
        let end = match packet.kind() {
            Kind::Grant => packet.psn,
            _ => {
                let end = packet
                    .psn
                    .saturating_add(cold.credit)
                    .min(flow.packets.total);
                for psn in packet.psn..end.min(flow.packets.next) {
                    flow.packets.add_lost(psn);
                }
                end
            }
        };
        flow.granted = flow.granted.max(end.min(flow.packets.total));
        self.revive(cx, cold.slot, packet.flow);
    }

    /// Ends a message whose last packet the receiver has acknowledged.
    pub(super) fn receive_ack<S: Sink>(
        &mut self,
        cx: &mut Context<'_, S>,
        packet: &Packet,
        cold: &Cold,
    ) {
        if let Some(flow) = self.outgoing.remove(cold.slot, packet.flow) {
            cx.finish(&flow.packets, cold);
        }
    }

    /// Builds the next packet of a port and class, from the message with the fewest remaining
    /// bytes.
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
            cx.sink.flow_waits(&flow.packets.start, Wait::Receiver);
            let Some(psn) = flow.packets.take(flow.granted) else {
                continue;
            };
            let (mut hot, mut cold) = flow.packets.build(cx, next.slot, psn);
            let again = hot.has(flag::RETRANSMITTED);
            let unscheduled = psn < flow.window && (!again || flow.level >= levels);
            let level = if unscheduled {
                flow.first_level
            } else {
                flow.level.min(levels - 1)
            };
            hot.upstream_queue =
                u16::from(DATA_CLASS) + u16::from(class - DATA_CLASS) * levels + level;
            cold.credit = flow.window;
            self.revive(cx, next.slot, next.flow);
            return Some(arena.alloc(hot, cold));
        }
        None
    }

    /// Handles a timeout of a message at its sender: repeats the first packet. The receiver may
    /// have received no packet of the message, or its ACK may be lost.
    // HOM-11
    pub(super) fn probe<S: Sink>(&mut self, cx: &mut Context<'_, S>, slot: FlowSlot, number: u32) {
        if let Some(flow) = self.outgoing.get_mut(slot, number)
            && !flow.has_something()
        {
            cx.counters.timeouts += 1;
            cx.sink.flow_waits(&flow.packets.start, Wait::TimedOut);
            flow.packets.lost.push_back(0);
        }
        self.revive(cx, slot, number);
    }
}
