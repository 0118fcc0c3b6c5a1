//! The switch: route → place → verdict → commit → enqueue → pick → mark → depart.
//!
//! Each step has one owner: [`Routes`], the classifier (`classify.rs`, and `flow_table.rs` for dynamic
//! assignment), the buffer (`mmu.rs`), the queues and their schedule (`queueing.rs`), the signals
//! (`signal.rs`). A dropped packet leaves no trace in any table. The rules are in `specs/switch.md`
//! and `specs/bfc.md`.

mod bfc;
mod classify;
mod clock;
mod credits;
mod entries;
pub(crate) mod floodgate;
mod flow_table;
mod link;
mod mmu;
mod mmu_ns3;
mod queueing;
mod signal;
mod spfc;
mod stuck;
mod trim;

use crate::config::{Assist, Classify, IntConfig, PauseBy, Scope, SwitchConfig};
use crate::hop::bfc::{Bitmap, PauseFlow, PauseQueue};
use crate::hop::floodgate::{Credit, Credits as CreditsFrame, PauseDestination, SwitchSyn};
use crate::hop::pfc::PauseClasses;
use crate::int::{IntFormat, IntHop, wire};
use crate::packet::{Arena, Cold, Frame, Kind, Packet, PacketId, flag};
use crate::route::Routes;
use crate::sink::{DROP_CAUSES, DropCause, Sink};
use crate::units::{NEVER, Rate, Time};
use bfc::{Backpressure, OVER};
use classify::{Classifier, Place};
use clock::Clock;
use credits::{CREDIT_CLASS, Credits};
use floodgate::Floodgate;
use link::DeadPorts;
use mmu::{Mmu, Tell};
use queueing::Queueing;
use signal::Marker;
use trim::Trimmer;

pub use bfc::{Pairs, hrtt_ps, pause_thresholds, state_entries, sticky_ps};
pub use classify::MixedMap;
pub use floodgate::{FloodgateBooks, FloodgateCounters};
pub use link::Stranded;
pub use mmu::{Level, division, headroom_bytes};
pub use queueing::{CONTROL_CLASS, DATA_CLASS, QueueState};
pub use spfc::counting_number;
pub use stuck::{Holds, StuckQueue};

/// What the mechanisms of one switch did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct SwitchCounters {
    /// Packets that entered, frames for the switch itself not counted.
    pub received: u64,
    /// Packets that left, its own frames not counted.
    pub sent: u64,
    /// INT records written.
    pub int_hops: u64,
    /// Packets marked by ECN.
    pub marks: u64,
    /// Packets dropped.
    pub dropped: u64,
    /// PFC pause frames sent.
    pub pfc_pauses: u64,
    /// PFC resume frames sent.
    pub pfc_resumes: u64,
    /// BFC pause frames sent.
    pub bfc_pauses: u64,
    /// BFC resume frames sent.
    pub bfc_resumes: u64,
    /// BFC bitmaps sent.
    pub bfc_bitmaps: u64,
    /// Data packets that were trimmed to their headers.
    pub trims: u64,
    /// Headers that were sent back to their senders.
    pub returned: u64,
    /// Pauses of what was paused already and resumes of what was not: must stay 0 where no frame is
    /// lost on a link and no bitmap repeats them.
    pub repeated_pauses: u64,
    /// Packets that waited at a port whose link had failed and went on by another.
    pub rerouted: u64,
}

/// What is counted at one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwitchPortCounters {
    /// Bytes of frames of the switch itself that left: pauses, credits.
    pub frame_bytes: u64,
    /// Of them Floodgate's credits.
    pub credit_bytes: u64,
    /// Packets that left marked by this port.
    pub marked: u64,
    /// Packets dropped on their way to this port, per [`DropCause`].
    pub dropped: [u64; DROP_CAUSES],
}

/// Per class, as bits: what `SwitchConfig::classes` says.
#[derive(Clone, Copy, Debug, Default)]
struct ClassBits {
    buffered: u8,
    ecn: u8,
    int: u8,
}

/// A switch. Give it packets and the time. Its fields, and those of its parts, stand in the order in
/// which most packets ask for them, so that they need few cache lines; what few schemes have is
/// elsewhere.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Switch {
    routes: Routes,
    class: ClassBits,
    /// None of the mechanisms below is there that few schemes have: [`Switch::is_plain`].
    plain: bool,
    /// One of `credits` and `trimmer` is there.
    assists: bool,
    int: bool,
    /// ACKs go back the way on which their packet came.
    acks_return: bool,
    /// What INT's pathID takes of the switch's number.
    path_id: u32,
    classifier: Classifier,
    queueing: Queueing,
    mmu: Mmu,
    floodgate: Option<Box<Floodgate>>,
    backpressure: Option<Box<Backpressure>>,
    clock: Option<Box<Clock>>,
    /// `None`: neither links nor routes have changed yet.
    dead: Option<Box<DeadPorts>>,
    counters: SwitchCounters,
    marker: Option<Marker>,
    /// How INT is written, if not exactly and of what was sent.
    int_as: Option<IntConfig>,
    credits: Option<Box<Credits>>,
    trimmer: Option<Box<Trimmer>>,
    port_counters: Vec<SwitchPortCounters>,
}

impl Switch {
    /// A switch with the given number (its identity in INT's pathID), whose ports have these
    /// rates and one-way propagation delays.
    #[must_use]
    pub fn new(id: u32, config: &SwitchConfig, ports: &[(Rate, Time)], routes: Routes) -> Self {
        let mut class = ClassBits::default();
        for (c, of) in config.classes.iter().enumerate() {
            class.buffered |= u8::from(of.buffered) << c;
            class.ecn |= u8::from(of.ecn) << c;
            class.int |= u8::from(of.int) << c;
        }
        let mut queueing = Queueing::new(config, ports.len());
        let marker = config
            .ecn
            .as_ref()
            .map(|e| Marker::new(e, ports.iter().map(|p| p.0)));
        for (nth, (port, (rate, _))) in (0..).zip(queueing.ports.iter_mut().zip(ports)) {
            port.telemetry.rate_mbps = (rate.bps() / 1_000_000) as u32;
            port.telemetry.unmarked_bytes = marker.as_ref().map_or(u32::MAX, |m| m.unmarked(nth));
        }
        let read_ps = match config.classify {
            Classify::Dynamic { .. } => config.assign.bitmap_ps,
            _ => None,
        };
        let tell_ps = config.bfc.and_then(|b| b.bitmap).map(|b| b.period_ps);
        let floodgate = config
            .floodgate
            .map(|f| Box::new(Floodgate::new(f, ports, &routes, config.max_frame)));
        let mut switch = Self {
            plain: false,
            routes,
            classifier: Classifier::new(config, ports, &queueing),
            mmu: Mmu::new(config, ports),
            queueing,
            marker,
            backpressure: (config.bfc).map(|b| Box::new(Backpressure::new(b, id, ports))),
            floodgate,
            clock: Clock::new(read_ps, tell_ps).map(Box::new),
            assists: config.assist.is_some(),
            credits: match &config.assist {
                Some(Assist::Credits(queue)) => Some(Box::new(Credits::new(queue, ports))),
                _ => None,
            },
            trimmer: match config.assist {
                Some(Assist::Trim(trim)) => {
                    let classes = config.classes.len();
                    Some(Box::new(Trimmer::new(trim, ports.len(), classes)))
                }
                _ => None,
            },
            class,
            int: config.int.is_some(),
            acks_return: config.acks_return,
            int_as: config.int.filter(|int| *int != IntConfig::default()),
            path_id: match config.int.unwrap_or_default().format {
                IntFormat::Exact => id,
                IntFormat::Wire(_) => wire::path_id(id),
            },
            counters: SwitchCounters::default(),
            port_counters: vec![SwitchPortCounters::default(); ports.len()],
            dead: None,
        };
        switch.plain = switch.is_plain();
        switch
    }

    /// Whether a packet meets nothing here but routes, buffer, queues, ECN and exact INT.
    fn is_plain(&self) -> bool {
        let none = self.floodgate.is_none()
            && self.backpressure.is_none()
            && self.clock.is_none()
            && self.dead.is_none();
        none && !self.assists
            && !self.acks_return
            && self.int_as.is_none()
            && self.mmu.is_plain()
            && self.queueing.is_plain()
    }

    /// BFC: only packets of these pairs of (ingress, egress) hold their upstream; `None`: all do.
    // BFC-35
    pub fn allow(&mut self, pairs: Option<Pairs>) {
        if let Some(backpressure) = &mut self.backpressure {
            backpressure.allow(pairs);
        }
    }

    /// Floodgate: which ports lead up, away from the hosts. Before any packet.
    // FG-14
    pub fn set_upward(&mut self, upward: &[bool]) {
        if let Some(floodgate) = &mut self.floodgate {
            floodgate.set_upward(&self.routes, upward);
        }
    }

    /// Asks for what tells where a packet goes. Like all that asks for memory, it changes nothing.
    #[inline]
    pub fn prefetch_route(&self, id: PacketId, arena: &Arena) {
        self.routes.prefetch(|| arena.hot(id).dst);
    }

    /// Whether packets of a class stand in several queues, so that which one they join, and which one is
    /// next, is found by a step more.
    #[must_use]
    pub const fn has_several_queues(&self) -> bool {
        self.queueing.has_several()
    }

    /// Asks for a port that will send.
    #[inline]
    pub fn prefetch_port(&self, port: u16) {
        self.queueing.prefetch_sending(port);
    }

    /// Asks for the packet that a port will send or, of several queues, for that in which it is.
    #[inline]
    pub fn prefetch_first(&self, port: u16, arena: &Arena) {
        self.queueing.prefetch_first(port, arena);
    }

    /// Asks for the packet that a port will send, whose queue was asked for.
    #[inline]
    pub fn prefetch_first_packet(&self, port: u16, arena: &Arena) {
        self.queueing.prefetch_first_packet(port, arena);
    }

    /// Asks for the queue, of several, that a packet will join at `port`.
    #[inline]
    pub fn prefetch_queue(&self, port: u16, id: PacketId, arena: &Arena) {
        let packet = arena.hot(id);
        self.classifier.prefetch_named(port, packet, &self.queueing);
    }

    /// Asks for what a frame that arrives soon by `in_port` will touch here, and returns the port
    /// by which it will leave, where that is known.
    #[inline]
    pub fn prefetch_way(&self, in_port: u16, id: PacketId, arena: &Arena) -> Option<u16> {
        let packet = arena.hot(id);
        if packet.is_frame() {
            return None;
        }
        let port = self.routes.port(packet, || arena.cold(id).src)?;
        self.queueing.prefetch(port);
        self.mmu.prefetch(in_port);
        self.classifier.prefetch(port, packet, &self.queueing);
        Some(port)
    }

    /// A frame arrived, whole, by `in_port`.
    // SW-01, SW-04: nothing but a count changes before the packet is accepted.
    #[inline]
    pub fn receive<S: Sink>(
        &mut self,
        now: Time,
        in_port: u16,
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        if self.plain {
            self.receive_as::<true, S>(now, in_port, id, arena, sink);
        } else {
            self.receive_any(now, in_port, id, arena, sink);
        }
    }

    #[inline(never)]
    fn receive_any<S: Sink>(
        &mut self,
        now: Time,
        in_port: u16,
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        self.receive_as::<false, S>(now, in_port, id, arena, sink);
    }

    /// A frame arrived at a switch that is plain or not, for each of which this is compiled once.
    #[inline(always)]
    fn receive_as<const PLAIN: bool, S: Sink>(
        &mut self,
        now: Time,
        in_port: u16,
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        // A copy first: to read the record right after a part of it was written would stall.
        let mut packet = *arena.hot(id);
        if packet.is_frame() {
            self.obey(now, in_port, id, arena, sink);
            return;
        }
        packet.ingress = in_port;
        self.counters.received += 1;
        if !PLAIN {
            self.touch(now, sink);
        }

        let mut held = false;
        if !PLAIN && let Some(floodgate) = &mut self.floodgate {
            floodgate.arrived(in_port, &packet);
            held = floodgate.holds(&packet, &self.routes);
        }
        let Some(port) = self.egress::<PLAIN>(&packet, id, arena) else {
            self.regulate_drop(now, &packet, arena, sink);
            return self.drop(None, id, DropCause::NoRoute, arena, sink); // SW-02
        };
        if !PLAIN && self.dead.is_some() && self.is_lost_at(port) {
            self.regulate_drop(now, &packet, arena, sink);
            return self.drop(Some(port), id, DropCause::Link, arena, sink); // LNK-23
        }
        let class = packet.class();
        if !PLAIN && self.assists {
            arena.hot_mut(id).ingress = in_port;
            if !self.assist_arrival(now, port, id, arena, sink) {
                return;
            }
        }
        let place = if held {
            Place::HELD
        } else {
            self.classifier
                .place(now, port, &packet, &self.queueing, &mut || sink.draw())
        };
        let size = u64::from(packet.size);
        let buffered = self.class.buffered >> class & 1 != 0;
        if buffered {
            if !self.mmu.enter_reserve(in_port, class, size) {
                let waiting = if self.mmu.per_queue() && place.queue != queueing::NO_QUEUE {
                    self.queueing.get(place.queue).bytes()
                } else {
                    self.queueing.ports[port as usize].bytes
                };
                match self.mmu.verdict(in_port, class, size, waiting) {
                    Ok(space) => {
                        if self.mmu.enter(now, in_port, class, size, space) == Tell::Xoff {
                            self.tell_pfc(in_port, class, true, arena, sink);
                        }
                    }
                    Err(cause) => {
                        self.regulate_drop(now, &packet, arena, sink);
                        return self.drop(Some(port), id, cause, arena, sink);
                    }
                }
            }
            packet.flags |= flag::BUFFERED;
        }
        let hot = arena.hot_mut(id);
        hot.ingress = packet.ingress;
        hot.flags = packet.flags;
        if !PLAIN && self.floodgate.is_some() {
            let place = (!held).then_some(place);
            return self.pass_or_hold(now, port, place, id, arena, sink);
        }
        let counted = PLAIN || self.counted(&packet);
        let (queue, alone) =
            self.classifier
                .commit(now, port, &packet, place, counted, &mut self.queueing);
        self.enqueue::<PLAIN, S>(port, queue, alone, (id, &packet), arena, sink);
        if !PLAIN && self.assists {
            self.assist_joined(now, port, class, sink);
        }
        sink.kick(port);
    }

    /// Whether a receiver-driven transport lets a packet join its queue in the usual way.
    #[inline(never)]
    fn assist_arrival<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) -> bool {
        let class = arena.hot(id).class();
        if let Some(credits) = &self.credits
            && class == CREDIT_CLASS
            && credits.is_full(port)
        {
            self.drop(Some(port), id, DropCause::CreditLimit, arena, sink); // XP-03
            return false;
        }
        self.trim(now, port, id, arena, sink)
    }

    #[inline(never)]
    fn assist_joined<S: Sink>(&mut self, now: Time, port: u16, class: u8, sink: &mut S) {
        if let Some(credits) = &mut self.credits
            && class == CREDIT_CLASS
        {
            credits.joined(now, port, &mut self.queueing, sink);
        }
        if let Some(trimmer) = &mut self.trimmer {
            trimmer.joined(port, class);
        }
    }

    #[inline(never)]
    fn assist_left<S: Sink>(&mut self, now: Time, port: u16, class: u8, sink: &mut S) {
        if let Some(credits) = &mut self.credits
            && class == CREDIT_CLASS
        {
            credits.left(now, port, &mut self.queueing, sink);
        }
        if let Some(trimmer) = &mut self.trimmer {
            trimmer.left(port, class);
        }
    }

    /// Where a packet goes on.
    #[inline(always)]
    fn egress<const PLAIN: bool>(
        &self,
        packet: &Packet,
        id: PacketId,
        arena: &mut Arena,
    ) -> Option<u16> {
        if !PLAIN
            && self.acks_return
            && let Some(port) = self.back(packet, id, arena)
        {
            return Some(port);
        }
        self.routes.port(packet, || arena.cold(id).src)
    }

    /// FGC-32: of an ACK the port by which its packet came in; of a data packet this is written down.
    fn back(&self, packet: &Packet, id: PacketId, arena: &mut Arena) -> Option<u16> {
        match packet.kind() {
            Kind::Ack | Kind::Nak => arena.trail_mut(id).pop(),
            Kind::Data => {
                let first = self.routes.is_first(arena.cold(id).src);
                let trail = arena.trail_mut(id);
                if first {
                    trail.clear();
                }
                trail.push(packet.ingress);
                None
            }
            _ => None,
        }
    }

    /// BFC-32: whether the flow table sees a packet.
    #[inline]
    fn counted(&self, packet: &Packet) -> bool {
        self.backpressure.as_ref().is_none_or(|b| b.counts(packet))
    }

    /// Something came or went.
    #[inline]
    fn touch<S: Sink>(&mut self, now: Time, sink: &mut S) {
        if let Some(clock) = &mut self.clock
            && let Some(at) = clock.touch(now)
        {
            sink.wake(at);
        }
    }

    /// The time that the switch asked for has come.
    // BFC-30, BFC-38
    pub fn timer<S: Sink>(&mut self, now: Time, arena: &mut Arena, sink: &mut S) {
        if let Some(credits) = &mut self.credits {
            let next = credits.timer(now, &mut self.queueing, sink);
            if next != NEVER {
                sink.wake(next);
            }
        }
        self.regulate_timer(now, arena, sink);
        let Some(clock) = &mut self.clock else { return };
        let due = clock.due(now);
        let next = clock.next();
        if next != NEVER {
            sink.wake(next);
        }
        if due.read
            && let Classifier::Dynamic(table) = &mut self.classifier
        {
            table.refresh(&self.queueing);
        }
        if due.tell {
            self.tell_all(arena, sink);
        }
    }

    /// The packet joins its queue; backpressure and signals look at what it finds there. Whoever
    /// calls this kicks the port.
    #[inline(always)]
    fn enqueue<const PLAIN: bool, S: Sink>(
        &mut self,
        port: u16,
        queue: u32,
        alone: bool,
        (id, packet): (PacketId, &Packet),
        arena: &mut Arena,
        sink: &mut S,
    ) {
        let found = self.queueing.get(queue).bytes();
        self.queueing.push(queue, id, arena);
        let bit = 1u8 << packet.class();
        let size = u64::from(packet.size);
        let telemetry = &mut self.queueing.ports[port as usize].telemetry;
        if self.class.int & bit != 0 {
            telemetry.int_bytes += size;
        }
        if self.class.ecn & bit != 0 {
            telemetry.ecn_bytes += size;
            self.mark(port, queue, id, false, arena, sink);
        }
        // BFC-17: whatever chose the queue.
        if !PLAIN
            && let Some(backpressure) = &mut self.backpressure
            && bfc::subject(packet)
        {
            // BFC-07: N_active with this packet in place.
            let active = self.queueing.open(port, packet.class());
            if backpressure.is_over(port, active, found, packet, alone) {
                arena.hot_mut(id).flags |= OVER;
                if backpressure.over(packet) {
                    self.tell_bfc(packet, true, arena, sink);
                }
            }
        }
    }

    /// The port's link is free: what leaves now? `None` changes nothing.
    #[inline]
    pub fn transmit<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        arena: &mut Arena,
        sink: &mut S,
    ) -> Option<PacketId> {
        if self.plain {
            self.transmit_as::<true, S>(now, port, arena, sink)
        } else {
            self.transmit_any(now, port, arena, sink)
        }
    }

    #[inline(never)]
    fn transmit_any<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        arena: &mut Arena,
        sink: &mut S,
    ) -> Option<PacketId> {
        self.transmit_as::<false, S>(now, port, arena, sink)
    }

    #[inline(always)]
    fn transmit_as<const PLAIN: bool, S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        arena: &mut Arena,
        sink: &mut S,
    ) -> Option<PacketId> {
        let (queue, id) = self.queueing.pop::<PLAIN>(port, arena)?;
        let number = self.queueing.get(queue).number;
        let hot = arena.hot_mut(id);
        let packet = *hot;
        if packet.is_frame() {
            let counters = &mut self.port_counters[port as usize];
            counters.frame_bytes += u64::from(packet.size);
            if packet.is_credit() {
                counters.credit_bytes += u64::from(packet.size);
            }
            if self.class.int & 1 != 0 {
                let telemetry = &mut self.queueing.ports[port as usize].telemetry;
                telemetry.int_bytes -= u64::from(packet.size);
                telemetry.int_tx += u64::from(packet.size);
            }
            return Some(id);
        }
        hot.upstream_queue = number;
        hot.flags &= !flag::OF_SWITCH;
        self.counters.sent += 1;
        if !PLAIN {
            self.touch(now, sink);
        }
        let class = packet.class();
        let size = u64::from(packet.size);
        let tell = if packet.has(flag::BUFFERED) {
            self.mmu.leave::<PLAIN>(now, packet.ingress, class, size)
        } else {
            Tell::Nothing
        };
        self.signal::<PLAIN, S>(now, port, queue, id, &packet, arena, sink);
        if tell == Tell::Xon {
            self.tell_pfc(packet.ingress, class, false, arena, sink);
        }
        if !PLAIN
            && packet.has(OVER)
            && let Some(backpressure) = &mut self.backpressure
            && backpressure.under(&packet)
        {
            self.tell_bfc(&packet, false, arena, sink);
        }
        if !PLAIN && self.assists {
            self.assist_left(now, port, class, sink);
        }
        if !PLAIN && self.floodgate.is_some() {
            self.regulate_departure(now, port, id, &packet, arena, sink);
        }
        if PLAIN || !self.queueing.is_behind(queue) {
            let counted = PLAIN || self.counted(&packet);
            self.classifier
                .departed(now, port, &packet, queue, counted, &mut self.queueing);
        }
        Some(id)
    }

    /// Marks and telemetry of a packet that has left its queue.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    fn signal<const PLAIN: bool, S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        queue: u32,
        id: PacketId,
        packet: &Packet,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        let bit = 1u8 << packet.class();
        let size = u64::from(packet.size);
        let telemetry = &mut self.queueing.ports[port as usize].telemetry;
        if self.class.ecn & bit != 0 {
            telemetry.ecn_bytes -= size;
        }
        if self.class.int & bit != 0 {
            telemetry.int_bytes -= size;
            let sent_before = telemetry.int_tx;
            telemetry.int_tx += size;
            if self.int && packet.kind() == Kind::Data {
                // SW-33
                let waits = match &self.floodgate {
                    Some(floodgate) if !PLAIN => floodgate.seen_by_int(packet),
                    _ => None,
                };
                let hop = IntHop {
                    ts_ps: now,
                    tx_bytes: sent_before,
                    qlen_bytes: waits
                        .unwrap_or(telemetry.int_bytes)
                        .min(u64::from(u32::MAX)) as u32,
                    rate_mbps: telemetry.rate_mbps,
                };
                if let Some(fits) = arena.push_hop(id, self.path_id, hop) {
                    self.counters.int_hops += 1;
                    if !PLAIN && fits && self.int_as.is_some() {
                        self.rewrite_int(port, id, arena);
                    }
                }
            }
        }
        if self.class.ecn & bit != 0 {
            self.mark(port, queue, id, true, arena, sink);
        }
    }

    /// Makes the record that a packet just got, which is exact, what the configuration asks for.
    #[cold]
    #[inline(never)]
    fn rewrite_int(&self, port: u16, id: PacketId, arena: &mut Arena) {
        let telemetry = &self.queueing.ports[port as usize].telemetry;
        let arrived = telemetry.int_tx + telemetry.int_bytes;
        if let (Some(int), Some(hop)) = (self.int_as, arena.last_hop_mut(id)) {
            signal::rewrite(int, hop, arrived);
        }
    }

    /// ECN at the moment that the configuration chose.
    // SW-30, SW-32, SW-34
    #[inline(always)]
    fn mark<S: Sink>(
        &mut self,
        port: u16,
        queue: u32,
        id: PacketId,
        at_dequeue: bool,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        let telemetry = &self.queueing.ports[port as usize].telemetry;
        let most = telemetry.ecn_bytes + telemetry.held_bytes; // FG-50
        if most <= u64::from(telemetry.unmarked_bytes) {
            return;
        }
        let Some(marker) = &self.marker else { return };
        if marker.at_dequeue != at_dequeue {
            return;
        }
        let bytes = match marker.scope {
            Scope::Queue => self.queueing.get(queue).bytes() + telemetry.held_bytes,
            Scope::Port => most,
        };
        debug_assert!(bytes <= most, "a queue is part of its port");
        let hot = arena.hot_mut(id);
        let data = hot.kind() == Kind::Data;
        // NS3-16: the draw of an ACK has no effect but on those after it.
        if !data && !marker.replay {
            return;
        }
        let marks = marker.marks(port, bytes, || sink.unit());
        if marks && data {
            hot.flags |= flag::CE;
            self.counters.marks += 1;
            self.port_counters[port as usize].marked += 1;
        }
    }

    /// A pause or resume for this switch.
    fn obey<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        let packet = *arena.hot(id);
        if let Some(credit) = Credit::read(&packet) {
            arena.free(id);
            return self.take_credits(now, port, &[credit], arena, sink);
        }
        if CreditsFrame::read(&packet).is_some() {
            let credits: Vec<Credit> = CreditsFrame::named(arena.list(id)).collect();
            arena.free(id);
            return self.take_credits(now, port, &credits, arena, sink);
        }
        if Bitmap::read(&packet).is_some() {
            // BFC-30
            if self.queueing.replace_paused(port, arena.list(id), arena) {
                sink.kick(port);
            }
            arena.free(id);
            return;
        }
        arena.free(id);
        let on = packet.psn != 0;
        if let Some(syn) = SwitchSyn::read(&packet) {
            self.answer_syn(port, syn, arena, sink);
        } else if let Some(frame) = PauseDestination::read(&packet) {
            self.obey_destination(now, port, frame, arena, sink);
        } else if let Some(frame) = PauseClasses::read(&packet) {
            // SW-40, SW-43
            let state = &mut self.queueing.ports[port as usize];
            let before = state.paused;
            let mask = frame.classes;
            state.paused = if on { before | mask } else { before & !mask };
            self.counters.repeated_pauses += u64::from(state.paused == before);
            sink.pfc_received(port, before, state.paused);
        } else if let Some(frame) = PauseFlow::read(&packet) {
            // BFC-37
            let own = self.classifier.own_queue(port, frame.flow);
            let news = self.queueing.hold_flow(port, frame.flow, on, own, arena);
            self.counters.repeated_pauses += u64::from(!news);
        } else if let Some(frame) = PauseQueue::read(&packet)
            && let Some(queue) = self.queueing.by_number(port, frame.queue)
        {
            // BFC-10
            self.counters.repeated_pauses += u64::from(self.queueing.get(queue).paused == on);
            self.queueing.set_paused(queue, on, arena);
        }
        if !on {
            sink.kick(port);
        }
    }

    // SW-41
    fn tell_pfc<S: Sink>(
        &mut self,
        port: u16,
        class: u8,
        xoff: bool,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        if self.is_dead(port) {
            return; // LNK-21
        }
        if xoff {
            self.counters.pfc_pauses += 1;
        } else {
            self.counters.pfc_resumes += 1;
        }
        if self.marker.as_ref().is_some_and(|marker| marker.replay) {
            sink.unit(); // NS3-17
        }
        let frame = PauseClasses {
            on: xoff,
            classes: 1 << class,
        };
        let frame = frame.packet(self.mmu.pause_frame());
        let frame = self.emit(port, frame, arena, sink);
        // SPFC-40
        if xoff {
            sink.pfc_sent(port, class, frame, || self.mmu.level(port, class));
        } else {
            sink.pfc_resume_sent(port, class, frame);
        }
    }

    fn pauses_flows(&self) -> bool {
        let by = self.backpressure.as_ref().map(|b| b.by());
        by == Some(PauseBy::Flow)
    }

    // BFC-05, BFC-06
    fn tell_bfc<S: Sink>(&mut self, packet: &Packet, pause: bool, arena: &mut Arena, sink: &mut S) {
        let Some(backpressure) = &self.backpressure else {
            return;
        };
        if self.is_dead(packet.ingress) {
            return; // LNK-21
        }
        if pause {
            self.counters.bfc_pauses += 1;
        } else {
            self.counters.bfc_resumes += 1;
        }
        if let Some(bitmap) = backpressure.bitmap()
            && !bitmap.edges
        {
            // BFC-43
            if !pause {
                let held = backpressure.holding_at(packet.ingress);
                self.tell_bitmap(packet.ingress, bitmap.frame_bytes, &held, arena, sink);
            }
            return;
        }
        let bytes = backpressure.frame_bytes();
        let (on, queue) = (pause, packet.upstream_queue);
        let frame = match backpressure.by() {
            PauseBy::Queue => PauseQueue { on, queue }.packet(bytes),
            PauseBy::Flow => {
                let flow = packet.flow;
                PauseFlow { on, flow, queue }.packet(bytes)
            }
        };
        self.emit(packet.ingress, frame, arena, sink);
    }

    /// A bitmap on every port.
    // BFC-30
    fn tell_all<S: Sink>(&mut self, arena: &mut Arena, sink: &mut S) {
        let Some(backpressure) = &self.backpressure else {
            return;
        };
        let Some(bitmap) = backpressure.bitmap() else {
            return;
        };
        let held = backpressure.holding();
        let mut rest = held.as_slice();
        let mut queues = Vec::new();
        for port in 0..self.queueing.ports.len() as u16 {
            let here = rest.partition_point(|h| h.ingress <= port);
            queues.clear();
            queues.extend(rest[..here].iter().map(|h| h.what));
            rest = &rest[here..];
            self.tell_bitmap(port, bitmap.frame_bytes, &queues, arena, sink);
        }
    }

    fn tell_bitmap<S: Sink>(
        &mut self,
        port: u16,
        bytes: u16,
        queues: &[u32],
        arena: &mut Arena,
        sink: &mut S,
    ) {
        if self.is_dead(port) {
            return; // LNK-21
        }
        self.counters.bfc_bitmaps += 1;
        let id = self.emit(port, Bitmap.packet(bytes), arena, sink);
        arena.set_list(id, queues);
    }

    /// Puts a frame of our own in front of everything at a port.
    // SW-42
    fn emit<S: Sink>(
        &mut self,
        port: u16,
        frame: Packet,
        arena: &mut Arena,
        sink: &mut S,
    ) -> PacketId {
        if self.class.int & 1 != 0 {
            self.queueing.ports[port as usize].telemetry.int_bytes += u64::from(frame.size);
        }
        let id = arena.alloc(frame, Cold::default());
        let queue = self.queueing.queue_of(port, 0, 0);
        self.queueing.push(queue, id, arena);
        sink.kick(port);
        id
    }

    fn drop<S: Sink>(
        &mut self,
        port: Option<u16>,
        id: PacketId,
        cause: DropCause,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        self.counters.dropped += 1;
        if let Some(port) = port {
            self.port_counters[port as usize].dropped[cause as usize] += 1;
        }
        sink.dropped(arena.hot(id), cause);
        // SW-52
        if !sink.keep(id, cause) {
            arena.free(id);
        }
    }

    /// The port by which this switch would forward a packet from endpoint `src`; `None` where no port
    /// leads there.
    #[must_use]
    pub fn way(&self, packet: &Packet, src: u32) -> Option<u16> {
        self.routes.port(packet, || src)
    }

    /// How many ports begin a shortest way to an endpoint.
    #[must_use]
    pub fn ways(&self, dst: u32) -> usize {
        self.routes.ways(dst)
    }

    /// Whether `transmit` would find something for this port.
    #[inline]
    #[must_use]
    pub fn waiting(&self, port: u16) -> bool {
        self.queueing.waiting(port)
    }

    /// Whether packets wait at a port, all of which a pause holds.
    #[must_use]
    pub fn is_stuck(&self, port: u16) -> bool {
        self.queueing.is_stuck(port)
    }

    /// How many ports it has.
    #[must_use]
    pub const fn ports(&self) -> u16 {
        self.queueing.ports.len() as u16
    }

    /// Bytes in the shared buffer.
    #[must_use]
    pub const fn buffer_used(&self) -> u64 {
        self.mmu.used
    }

    /// Most bytes ever in the shared buffer, and most that any ingress had in its headroom.
    #[must_use]
    pub const fn buffer_peak(&self) -> (u64, u64) {
        (self.mmu.max_used, self.mmu.max_headroom)
    }

    /// Bytes queued at a port now, and the most that ever were.
    #[must_use]
    pub fn queued(&self, port: u16) -> (u64, u64) {
        let p = &self.queueing.ports[port as usize];
        (p.bytes, p.max_bytes)
    }

    /// What the mechanisms did.
    #[must_use]
    pub const fn counters(&self) -> &SwitchCounters {
        &self.counters
    }

    /// What was counted at a port.
    #[must_use]
    pub fn port_counters(&self, port: u16) -> &SwitchPortCounters {
        &self.port_counters[port as usize]
    }

    /// SPFC: packets that victim ports kept beyond the normal threshold, and pauses of victim ports.
    #[must_use]
    pub const fn spfc_counters(&self) -> (u64, u64) {
        (self.mmu.spared, self.mmu.victim_pauses)
    }

    /// BFC: flows that got a queue which the bitmap wrongly called empty.
    #[must_use]
    pub const fn stale_assignments(&self) -> u64 {
        match &self.classifier {
            Classifier::Dynamic(table) => table.stale,
            _ => 0,
        }
    }

    /// BFC: flows that had to share a queue, and flow-table collisions.
    #[must_use]
    pub const fn bfc_counters(&self) -> (u64, u64) {
        match &self.classifier {
            Classifier::Dynamic(table) => (table.shared, table.collisions),
            _ => (0, 0),
        }
    }

    /// Floodgate: what it did, the sums that must agree between switches, and whether nothing is
    /// owed or missing.
    #[must_use]
    pub fn floodgate(&self) -> Option<(FloodgateCounters, FloodgateBooks, bool)> {
        let f = self.floodgate.as_ref()?;
        Some((f.counters(), f.books(), f.is_at_rest()))
    }

    /// Floodgate: bytes held for a port, and the most that ever were queued at it and held for it
    /// together.
    #[must_use]
    pub fn held(&self, port: u16) -> Option<(u64, u64)> {
        let (held, most) = self.floodgate.as_ref()?.of_port(port);
        Some((held, most.max(self.queued(port).1)))
    }

    /// Floodgate: VOQs in use, and bytes in them.
    #[must_use]
    pub fn voqs(&self) -> Option<(u32, u64)> {
        self.floodgate.as_ref().map(|f| f.held_now())
    }

    /// Calls `visit` with every packet that Floodgate holds.
    pub fn for_each_held(&self, arena: &Arena, visit: impl FnMut(PacketId)) {
        if let Some(floodgate) = &self.floodgate {
            floodgate.for_each_held(arena, visit);
        }
    }

    /// Calls `visit` with every queue of a port that holds packets.
    pub fn for_each_queue(&self, port: u16, visit: impl FnMut(&QueueState)) {
        self.queueing.for_each_queue(port, visit);
    }

    /// Calls `visit` with every packet that waits at a port.
    pub fn for_each_queued(&self, port: u16, arena: &Arena, visit: impl FnMut(PacketId)) {
        self.queueing.for_each_packet(port, arena, visit);
    }

    /// Who holds whom, for a run that stalled: sentences about paused classes and queues with
    /// packets, and about what this switch holds upstream.
    pub fn explain_stall(&self, mut say: impl FnMut(String)) {
        for (port, p) in self.queueing.ports.iter().enumerate() {
            if p.bytes > 0 {
                say(format!(
                    "port {port} has {} B queued, its classes paused by PFC: {:#010b}",
                    p.bytes, p.paused
                ));
            }
        }
        for (port, class) in self.mmu.pausing() {
            say(format!(
                "port {port} holds class {class} of its upstream by PFC"
            ));
        }
        if let Some(floodgate) = &self.floodgate {
            floodgate.explain_stall(&mut say);
        }
        let what = if self.pauses_flows() { "flow" } else { "queue" };
        for held in self.backpressure.iter().flat_map(|b| b.holding()) {
            say(format!(
                "port {} holds {what} {} of its upstream by BFC",
                held.ingress, held.what
            ));
        }
    }

    /// Checks the books: what entered has left, waits or was dropped; the buffer holds what the
    /// queues hold; nothing is left where nothing waits. Returns what is broken.
    #[must_use]
    pub fn audit(&self, arena: &Arena) -> Vec<String> {
        let mut broken = Vec::new();
        let (mut packets, mut buffered, mut subject) = (0u64, 0u64, 0u64);
        for port in 0..self.queueing.ports.len() as u16 {
            let mut bytes = 0u64;
            self.queueing.for_each_packet(port, arena, |id| {
                let p = arena.hot(id);
                bytes += u64::from(p.size);
                packets += u64::from(!p.is_frame());
                let in_table = bfc::subject(p) && !self.queueing.is_behind(p.queue);
                subject += u64::from(in_table && self.counted(p));
                buffered += if p.has(flag::BUFFERED) {
                    u64::from(p.size)
                } else {
                    0
                };
            });
            if bytes != self.queueing.ports[port as usize].bytes {
                broken.push(format!(
                    "port {port}: {bytes} B queued, {} B counted",
                    self.queued(port).0
                ));
            }
        }
        self.for_each_held(arena, |id| {
            let p = arena.hot(id);
            packets += 1;
            buffered += u64::from(p.size) * u64::from(p.has(flag::BUFFERED));
        });
        if let Some(floodgate) = &self.floodgate {
            let queued = |visit: &mut dyn FnMut(&Packet)| {
                for port in 0..self.queueing.ports.len() as u16 {
                    self.queueing
                        .for_each_packet(port, arena, |id| visit(arena.hot(id)));
                }
            };
            broken.extend(floodgate.audit(arena, &self.routes, queued));
        }
        broken.extend(self.audit_assists(arena));
        let c = &self.counters;
        if c.received != c.sent + c.dropped + packets {
            broken.push(format!(
                "{} packets entered, {} left, {} were dropped, {packets} wait",
                c.received, c.sent, c.dropped
            ));
        }
        if buffered != self.mmu.used {
            broken.push(format!(
                "queues hold {buffered} B of buffer, {} B are counted",
                self.mmu.used
            ));
        }
        if let Err(what) = self.mmu.audit() {
            broken.push(what);
        }
        if let Classifier::Dynamic(table) = &self.classifier
            && table.packets() != subject
        {
            broken.push(format!(
                "flow table counts {} packets, {subject} wait",
                table.packets()
            ));
        }
        if packets == 0 && (self.mmu.pausing().next().is_some() || self.holds_upstream()) {
            broken.push("nothing waits here, but an upstream is still held".to_owned());
        }
        broken
    }

    fn holds_upstream(&self) -> bool {
        self.backpressure
            .as_ref()
            .is_some_and(|b| !b.holds_nothing())
    }
}

/// Data queues that a port has per class; `None`: as many as there are flows.
#[must_use]
pub const fn data_queues(classify: &Classify) -> Option<u16> {
    match classify {
        Classify::Fifo => Some(1),
        Classify::Hash { queues } | Classify::Dynamic { queues, .. } => Some(*queues),
        Classify::Priority { levels } => Some(*levels),
        Classify::PerFlow => None,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::config::{Admission, AssignConfig, ClassConfig, MmuConfig, PathChoice, Schedule};

    /// A plain switch: hop control, priority control, one data class; nothing else switched on.
    pub fn config() -> SwitchConfig {
        let control = ClassConfig {
            pausable: false,
            buffered: false,
            ecn: false,
            int: false,
        };
        let data = ClassConfig {
            pausable: true,
            buffered: true,
            ecn: true,
            int: true,
        };
        SwitchConfig {
            classes: vec![control, control, data],
            classify: Classify::Fifo,
            assign: AssignConfig::PAPER,
            schedule: Schedule::Fifo,
            mmu: MmuConfig {
                buffer_bytes: 1 << 20,
                reserved_bytes: 0,
                admission: Admission::SharedPool,
            },
            ecn: None,
            int: None,
            bfc: None,
            floodgate: None,
            path: PathChoice::Flow,
            assist: None,
            acks_return: false,
            max_frame: 1048,
        }
    }
}
