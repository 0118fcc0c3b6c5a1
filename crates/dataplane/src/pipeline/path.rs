//! The steps of a packet through a switch. On arrival: route, classify, admit, enqueue. On
//! departure: schedule, sign (write INT and ECN), depart. Each step is one function.

use super::context::Cx;
use super::place::Place;
use super::queueing::Taken;
use super::shaper::SHAPED_CLASS;
use super::signal;
use super::steps::{Found, Steps};
use crate::config::Scope;
use crate::ids::QueueId;
use crate::int::IntHop;
use crate::packet::{Kind, Packet, PacketId, flag};
use crate::sink::{DropCause, Sink};

/// The result of the admission of a packet to the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The packet joins a queue.
    Accept,
    /// The packet was trimmed. Its header was already queued, returned or dropped.
    Trimmed,
    /// The packet is dropped for this cause.
    Drop(DropCause),
}

impl<S: Sink> Cx<'_, S> {
    /// Starts the periodic timer of the switch if it is stopped. Called for each packet that
    /// arrives or leaves.
    #[inline(always)]
    pub(crate) fn start_clock(&mut self) {
        if let Some(clock) = &mut self.core.clock
            && let Some(at) = clock.touch(self.now)
        {
            self.sink.wake(at);
        }
    }

    /// Returns the egress port of a packet. The error contains the cause of the drop, and the
    /// egress port if a route leads to the destination.
    #[inline(always)]
    pub(crate) fn route(
        &mut self,
        id: PacketId,
        packet: &Packet,
    ) -> Result<u16, (Option<u16>, DropCause)> {
        let back = match self.steps.has(Steps::TRAIL) {
            true => self.reborrow().follow_trail(id, packet),
            false => None,
        };
        let port = match back {
            Some(port) => Some(port),
            None if self.steps.has(Steps::BY_LOAD) => self.core.port_by_load(self.now, packet),
            None => (self.core.routes).port(packet, || self.arena.cold(id).src),
        };
        let port = port.ok_or((None, DropCause::NoRoute))?; // SW-02
        if self.steps.has(Steps::LINKS) && self.core.is_lost_at(port) {
            return Err((Some(port), DropCause::Link)); // LNK-23: link down
        }
        Ok(port)
    }

    /// FGC-32: lets ACKs return by the path of their data. Records the ingress port of a data
    /// packet in the packet. For an ACK, returns the port by which the acknowledged packet arrived.
    fn follow_trail(&mut self, id: PacketId, packet: &Packet) -> Option<u16> {
        match packet.kind() {
            Kind::Ack | Kind::Nak => self.arena.trail_mut(id).pop(),
            Kind::Data => {
                let is_first = self.core.routes.is_first(self.arena.cold(id).src);
                let trail = self.arena.trail_mut(id);
                if is_first {
                    trail.clear();
                }
                trail.push(packet.ingress);
                None
            }
            _ => None,
        }
    }

    /// Selects the queue that a packet will join at a port. Changes only the state of the random
    /// generator.
    #[inline(always)]
    pub(crate) fn classify(&mut self, port: u16, packet: &Packet) -> Place {
        let draw = &mut || self.sink.draw();
        let queueing = &self.core.queueing;
        self.core
            .classifier
            .place(self.now, port, packet, queueing, draw)
    }

    /// Decides if a packet for egress `port` enters the buffer, is trimmed or is dropped. Counts an
    /// accepted packet in the buffer. A dropped packet changes no table.
    // SW-01
    #[inline(always)]
    pub(crate) fn admit(
        &mut self,
        port: u16,
        place: Place,
        id: PacketId,
        packet: &mut Packet,
    ) -> Verdict {
        let class = packet.class();
        if self.steps.has(Steps::SHAPE.or(Steps::TRIM)) {
            self.arena.hot_mut(id).ingress = packet.ingress;
            let verdict = self.reborrow().admit_to_short_queue(port, class, id);
            if verdict != Verdict::Accept {
                return verdict;
            }
        }
        if self.steps.has(Steps::WATCHDOG) && self.reborrow().is_dropped_in_storm(port, class) {
            return Verdict::Drop(DropCause::Link); // PFCWD-02: PFC storm
        }
        if self.core.class.buffered >> class & 1 != 0 {
            if let Err(cause) = self.enter_buffer(port, place.queue, packet) {
                return Verdict::Drop(cause);
            }
            packet.flags |= flag::BUFFERED;
        }
        let hot = self.arena.hot_mut(id);
        hot.ingress = packet.ingress;
        hot.flags = packet.flags;
        Verdict::Accept
    }

    /// Checks the queue limits that are counted in packets: drops a credit if the shaped queue is
    /// full, and trims a packet if its queue is full.
    #[inline(never)]
    fn admit_to_short_queue(&mut self, port: u16, class: u8, id: PacketId) -> Verdict {
        let shaper = self.core.shaper.as_ref();
        if class == SHAPED_CLASS && shaper.is_some_and(|shaper| shaper.is_full(port)) {
            return Verdict::Drop(DropCause::CreditLimit); // XP-03: the credit queue is full
        }
        match self.steps.has(Steps::TRIM) {
            true => self.trim_or_accept(port, id),
            false => Verdict::Accept,
        }
    }

    /// Adds a packet to the buffer counters of its ingress. PFC then pauses the upstream neighbour
    /// if the ingress exceeds its threshold.
    #[inline(always)]
    fn enter_buffer(
        &mut self,
        port: u16,
        queue: QueueId,
        packet: &Packet,
    ) -> Result<(), DropCause> {
        let (ingress, class, size) = (packet.ingress, packet.class(), u64::from(packet.size));
        let core = &mut *self.core;
        if core.mmu.enter_reserve(ingress, class, size) {
            return Ok(());
        }
        let waiting = match core.mmu.per_queue() && queue != QueueId::NONE {
            true => core.queueing.get(queue).bytes(),
            false => core.queueing.ports[port as usize].bytes,
        };
        let is_paused = core.pfc.is_paused(ingress, class);
        let space = match core.mmu.verdict(ingress, class, size, waiting, is_paused) {
            Ok(space) => space,
            Err(cause) => return Err(core.pfc.drop_cause(ingress, class, cause)),
        };
        let excess = core.mmu.enter(ingress, class, size, space);
        self.pause_if_over(ingress, class, excess);
        Ok(())
    }

    /// Appends a packet to its queue and adds its bytes to the counters of ECN and INT. Returns the
    /// state of the queue before. The caller must request a transmission.
    #[inline(always)]
    pub(crate) fn enqueue(
        &mut self,
        port: u16,
        place: Place,
        id: PacketId,
        packet: &Packet,
    ) -> Found {
        let core = &mut *self.core;
        let (queue, alone) =
            match self.steps.has(Steps::VOQS) && core.queueing.is_behind(place.queue) {
                true => (place.queue, false),
                false => core.commit(self.now, port, packet, place),
            };
        let bytes = core.queueing.get(queue).bytes();
        core.queueing.push(queue, id, self.arena);
        if self.steps.has(Steps::SHAPE.or(Steps::TRIM)) {
            self.reborrow().count_joined(port, packet.class());
        }
        let bit = 1 << packet.class();
        let size = u64::from(packet.size);
        let core = &mut *self.core;
        let telemetry = &mut core.queueing.ports[port as usize].telemetry;
        if core.class.int & bit != 0 {
            telemetry.int_bytes += size;
        }
        if core.class.ecn & bit != 0 {
            telemetry.ecn_bytes += size;
        }
        if core.class.marked_at_enqueue & bit != 0 {
            self.mark(port, queue, id);
        }
        Found { bytes, alone }
    }

    /// Counts a packet that joined a queue of a shaped class or of a switch that trims packets.
    #[inline(never)]
    fn count_joined(&mut self, port: u16, class: u8) {
        let core = &mut *self.core;
        if let Some(shaper) = &mut core.shaper
            && class == SHAPED_CLASS
        {
            shaper.joined(self.now, port, &mut core.queueing, self.sink);
        }
        if let Some(trimmer) = &mut core.trimmer {
            trimmer.joined(port, class);
        }
    }

    /// Dequeues the packet that a port sends next.
    #[inline(always)]
    pub(crate) fn schedule(&mut self, port: u16) -> Option<Taken> {
        self.core.queueing.pop(port, self.arena)
    }

    /// Releases the buffer space of a departing packet. Returns true if PFC must resume the
    /// upstream neighbour.
    #[inline(always)]
    pub(crate) fn leave_buffer(&mut self, packet: &Packet) -> bool {
        packet.has(flag::BUFFERED) && {
            let (ingress, class, size) = (packet.ingress, packet.class(), u64::from(packet.size));
            let core = &mut *self.core;
            core.pfc
                .leave(self.now, &mut core.mmu, ingress, class, size)
        }
    }

    /// Writes INT and ECN into a packet that has left its queue. `packet` is a copy of its fields
    /// from when it was in the queue.
    #[inline(always)]
    pub(crate) fn sign(&mut self, port: u16, queue: QueueId, id: PacketId, packet: &Packet) {
        let core = &mut *self.core;
        let bit = 1 << packet.class();
        let size = u64::from(packet.size);
        let telemetry = &mut core.queueing.ports[port as usize].telemetry;
        if core.class.ecn & bit != 0 {
            debug_assert!(telemetry.ecn_bytes >= size, "bytes for ECN of a port");
            telemetry.ecn_bytes -= size;
        }
        if core.class.int & bit != 0 {
            debug_assert!(telemetry.int_bytes >= size, "bytes for INT of a port");
            telemetry.int_bytes -= size;
            let sent_before = telemetry.int_tx;
            telemetry.int_tx += size;
            if core.int && packet.kind() == Kind::Data && packet.has(flag::INT) {
                // SW-33: INT record of this hop
                let hop = IntHop {
                    ts_ps: self.now,
                    tx_bytes: sent_before,
                    qlen_bytes: telemetry.int_bytes.min(u64::from(u32::MAX)) as u32,
                    rate_mbps: telemetry.rate_mbps,
                };
                let fits = self.arena.push_hop(id, core.path_id, hop);
                core.counters.int_hops += 1;
                if fits && self.steps.has(Steps::INT_FORMAT) {
                    self.reborrow().rewrite_int(port, id, packet);
                }
            }
        }
        if self.core.class.marked_at_depart & bit != 0 {
            self.mark(port, queue, id);
        }
    }

    /// Converts the exact INT record of a packet to the configured format.
    #[cold]
    #[inline(never)]
    fn rewrite_int(&mut self, port: u16, id: PacketId, packet: &Packet) {
        let core = &*self.core;
        let telemetry = &core.queueing.ports[port as usize].telemetry;
        let arrived = telemetry.int_tx + telemetry.int_bytes;
        let Some(hop) = self.arena.last_hop_mut(id) else {
            return;
        };
        // FG-51: INT of a packet that was parked reports the bytes in VOQs as queue length
        if let Some(bytes) = core.voq_bytes
            && packet.has(flag::PARKED)
        {
            hop.qlen_bytes = bytes.min(u64::from(u32::MAX)) as u32;
        }
        if let Some(int) = core.int_as {
            signal::rewrite(int, hop, arrived);
        }
    }

    /// Marks a data packet by ECN, depending on the queued bytes of its queue or port.
    // SW-30, SW-32, SW-34
    #[inline(always)]
    fn mark(&mut self, port: u16, queue: QueueId, id: PacketId) {
        let core = &mut *self.core;
        let telemetry = &core.queueing.ports[port as usize].telemetry;
        let most = telemetry.ecn_bytes + telemetry.voq_bytes; // FG-50: includes parked bytes
        if most <= u64::from(telemetry.unmarked_bytes) {
            return;
        }
        let Some(marker) = &core.marker else { return };
        let bytes = match marker.scope {
            Scope::Queue => core.queueing.get(queue).bytes() + telemetry.voq_bytes,
            Scope::Port => most,
        };
        debug_assert!(bytes <= most, "a queue is part of its port");
        let hot = self.arena.hot_mut(id);
        let is_data = hot.kind() == Kind::Data;
        // NS3-16: as in the ns-3 simulator, an ACK draws a random number although it is not marked.
        if !is_data && !marker.replay {
            return;
        }
        let marks = marker.marks(port, bytes, || self.sink.unit());
        if marks && is_data {
            hot.flags |= flag::CE;
            core.counters.marks += 1;
            core.port_counters[port as usize].marked += 1;
        }
    }

    /// Subtracts a packet that has left its queue from the counts of shaper, trimming, classifier.
    #[inline(always)]
    pub(crate) fn depart(&mut self, port: u16, queue: QueueId, packet: &Packet) {
        if self.steps.has(Steps::SHAPE.or(Steps::TRIM)) {
            self.reborrow().count_left(port, packet.class());
        }
        self.unplace(port, queue, packet);
    }

    #[inline(never)]
    fn count_left(&mut self, port: u16, class: u8) {
        let core = &mut *self.core;
        if let Some(shaper) = &mut core.shaper
            && class == SHAPED_CLASS
        {
            shaper.left(self.now, port, &mut core.queueing, self.sink);
        }
        if let Some(trimmer) = &mut core.trimmer {
            trimmer.left(port, class);
        }
    }

    #[inline(always)]
    fn unplace(&mut self, port: u16, queue: QueueId, packet: &Packet) {
        let core = &mut *self.core;
        if !(self.steps.has(Steps::VOQS) && core.queueing.is_behind(queue)) {
            core.departed(self.now, port, packet, queue);
        }
    }

    /// Unblocks the shaped queues whose token bucket permits a packet, and schedules the next call.
    pub(crate) fn open_shaped(&mut self) {
        let core = &mut *self.core;
        if let Some(shaper) = &mut core.shaper {
            shaper.timer(self.now, &mut core.queueing, self.sink);
        }
    }

    /// Subtracts a packet from all counters except those of the buffer. The packet was removed from
    /// its queue and is not sent.
    pub(crate) fn withdraw(&mut self, port: u16, queue: QueueId, packet: &Packet) {
        let core = &mut *self.core;
        let class = packet.class();
        let size = u64::from(packet.size);
        let telemetry = &mut core.queueing.ports[port as usize].telemetry;
        if core.class.ecn & 1 << class != 0 {
            debug_assert!(telemetry.ecn_bytes >= size, "bytes for ECN of a port");
            telemetry.ecn_bytes -= size;
        }
        if core.class.int & 1 << class != 0 {
            debug_assert!(telemetry.int_bytes >= size, "bytes for INT of a port");
            telemetry.int_bytes -= size;
        }
        // LNK-28: a shaped packet that is not sent uses no token
        if let Some(shaper) = &mut core.shaper
            && class == SHAPED_CLASS
        {
            shaper.withdrawn(port);
        }
        if let Some(trimmer) = &mut core.trimmer {
            trimmer.left(port, class);
        }
        self.unplace(port, queue, packet);
    }
}
