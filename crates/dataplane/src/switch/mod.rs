//! The switch: route → place → verdict → commit → enqueue → pick → mark → depart.
//!
//! Each step has one owner: [`Routes`], the classifier (`classify.rs`, and `flow_table.rs` for dynamic
//! assignment), the buffer (`mmu.rs`), the queues and their schedule (`queueing.rs`), the signals
//! (`signal.rs`); all of them are the parts of the `Pipeline`. What neighbours tell each other is in
//! `hop/`, which watches the steps. A dropped packet leaves no trace in any table. The rules are in
//! `specs/switch.md`.

mod blocked;
mod c_random;
pub(crate) mod classify;
mod clock;
mod egress;
mod entries;
pub(crate) mod flow_table;
mod link;
pub(crate) mod mmu;
pub(crate) mod needs;
pub(crate) mod pairs;
pub(crate) mod pipeline;
pub(crate) mod place;
pub(crate) mod queueing;
mod shaper;
mod signal;
pub(crate) mod space;
mod trim;

use crate::config::{Assist, Classify};
use crate::hop::pfc::Pfc;
use crate::hop::{CreditBooks, Cx, Hop, HopCounters, HopScheme, Site, ask};
use crate::ids::QueueId;
use crate::packet::{Arena, Packet, PacketId, flag};
use crate::route::Routes;
use crate::sink::{DropCause, Sink};
use crate::units::{NEVER, Rate, Time};
use classify::Classifier;
use clock::Clock;
use egress::PortEgress;
use pipeline::{Left, Pipeline};
use place::Place;
use queueing::Taken;
use shaper::{SHAPED_CLASS, Shaper};
use space::Tell;
use trim::Trimmer;

pub use crate::hop::SwitchConfig;
pub use crate::mixed::MixedMap;
pub use crate::sink::Level;
pub use blocked::{Holds, StuckQueue};
pub use mmu::{division, headroom_bytes, headroom_of, pausable_classes};
pub use needs::Needs;
pub use pairs::Pairs;
pub use pipeline::{Stranded, SwitchCounters, SwitchPortCounters};
pub use queueing::{HeldBy, QueueState};

pub use crate::classes::{CONTROL_CLASS, ClassSet, DATA_CLASS, class_labels};

/// For how long a flow without packets keeps its queue at a switch with these ports.
// BFC-04
#[must_use]
pub fn sticky_ps(config: &SwitchConfig, ports: &[(Rate, Time)]) -> Time {
    flow_table::sticky_ps(config, needs(config).hop_rtt_ps, ports)
}

fn needs(config: &SwitchConfig) -> Needs {
    let declaration = config.hop.declaration();
    declaration.map_or_else(Needs::default, |scheme| scheme.needs())
}

/// A switch. Give it packets and the time. What every packet needs comes first.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Switch {
    core: Pipeline,
    pfc: Pfc,
    hop: Hop,
    clock: Option<Box<Clock>>,
    shaper: Option<Box<Shaper>>,
    trimmer: Option<Box<Trimmer>>,
}

/// What steps happen in, of the parts of a switch.
macro_rules! cx {
    ($switch:expr, $now:expr, $arena:expr, $sink:expr) => {
        &mut Cx {
            now: $now,
            core: &mut $switch.core,
            pfc: &mut $switch.pfc,
            arena: $arena,
            sink: $sink,
        }
    };
}
use cx;

impl Switch {
    /// A switch with the given number (its identity in INT's pathID), whose ports have these
    /// rates and one-way propagation delays.
    #[must_use]
    pub fn new(id: u32, config: &SwitchConfig, ports: &[(Rate, Time)], routes: Routes) -> Self {
        let needs = needs(config);
        let core = Pipeline::new(id, config, &needs, ports, routes);
        let read_ps = match config.classify {
            Classify::Dynamic { .. } => config.assign.bitmap_ps,
            _ => None,
        };
        let site = Site {
            ports,
            max_frame: config.max_frame,
            core: &core,
        };
        let hop = Hop::new(&config.hop, &site);
        let mut switch = Self {
            core,
            pfc: Pfc::new(config, ports),
            hop,
            clock: Clock::new(read_ps, needs.period_ps).map(Box::new),
            shaper: match &config.assist {
                Some(Assist::Credits(queue)) => Some(Box::new(Shaper::new(queue, ports))),
                _ => None,
            },
            trimmer: match config.assist {
                Some(Assist::Trim(trim)) => {
                    let classes = config.classes.len();
                    Some(Box::new(Trimmer::new(trim, ports.len(), classes)))
                }
                _ => None,
            },
        };
        switch.core.plain = matches!(switch.hop, Hop::None)
            && switch.clock.is_none()
            && switch.pfc.is_plain()
            && switch.core.is_plain();
        switch
    }

    /// Only packets of these pairs of (ingress, egress) hold their upstream; `None`: all do.
    pub fn allow(&mut self, pairs: Option<Pairs>) {
        ask!(&mut self.hop, hop => hop.allow(pairs), ());
    }

    /// Which ports lead up, away from the hosts. Before any packet.
    pub fn set_upward(&mut self, upward: &[bool]) {
        ask!(&mut self.hop, hop => hop.set_upward(&self.core, upward), ());
    }

    /// Prefetches what tells where a packet goes. Like every prefetch, it changes nothing.
    #[inline]
    pub fn prefetch_route(&self, id: PacketId, arena: &Arena) {
        self.core.routes.prefetch(|| arena.hot(id).dst);
    }

    /// Whether packets of a class stand in several queues, so that which one they join, and which one is
    /// next, is found by a step more.
    #[must_use]
    pub const fn has_several_queues(&self) -> bool {
        self.core.queueing.has_several()
    }

    /// Prefetches a port that will send.
    #[inline]
    pub fn prefetch_port(&self, port: u16) {
        self.core.queueing.prefetch_sending(port);
    }

    /// Prefetches the packet that a port will send or, of several queues, the one in which it is.
    #[inline]
    pub fn prefetch_first(&self, port: u16, arena: &Arena) {
        self.core.queueing.prefetch_first(port, arena);
    }

    /// Prefetches the packet that a port will send, whose queue was prefetched.
    #[inline]
    pub fn prefetch_first_packet(&self, port: u16, arena: &Arena) {
        self.core.queueing.prefetch_first_packet(port, arena);
    }

    /// Prefetches the queue, of several, that a packet will join at `port`.
    #[inline]
    pub fn prefetch_queue(&self, port: u16, id: PacketId, arena: &Arena) {
        let packet = arena.hot(id);
        let queueing = &self.core.queueing;
        self.core.classifier.prefetch_named(port, packet, queueing);
    }

    /// Prefetches what a frame that arrives soon by `in_port` will touch here, and returns the port
    /// by which it will leave, where that is known.
    #[inline]
    pub fn prefetch_way(&self, in_port: u16, id: PacketId, arena: &Arena) -> Option<u16> {
        let packet = arena.hot(id);
        if packet.is_frame() {
            return None;
        }
        let port = self.core.routes.port(packet, || arena.cold(id).src)?;
        self.core.queueing.prefetch(port);
        self.core.mmu.prefetch(in_port);
        let queueing = &self.core.queueing;
        self.core.classifier.prefetch(port, packet, queueing);
        Some(port)
    }

    /// Handles a frame that has arrived completely by `in_port`.
    ///
    /// # Panics
    /// The driver must guarantee that `in_port` is a port of this switch, that the packet's class is
    /// configured, and that its source and destination are endpoints of the network. Debug builds
    /// check this. Frames between neighbours may have any content.
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
        if self.core.plain {
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
        debug_assert!(in_port < self.ports(), "port {in_port} of {}", self.ports());
        debug_assert!(
            (packet.dst as usize) < self.core.routes.endpoints().group.len(),
            "endpoint {} is not in the network",
            packet.dst
        );
        debug_assert!(
            packet.class() < self.core.queueing.classes(),
            "class {} is not configured",
            packet.class()
        );
        packet.ingress = in_port;
        self.core.counters.received += 1;
        let mut held = false;
        if !PLAIN {
            self.touch(now, sink);
            held = ask!(&mut self.hop, hop => hop.arrived(&self.core, in_port, &packet), false);
        }
        let Some(port) = self.core.egress::<PLAIN>(&packet, id, arena) else {
            let cause = DropCause::NoRoute;
            return self.refuse(now, None, (id, &packet), cause, arena, sink); // SW-02
        };
        if !PLAIN && self.core.has_changed() && self.core.is_lost_at(port) {
            let cause = DropCause::Link;
            return self.refuse(now, Some(port), (id, &packet), cause, arena, sink); // LNK-23
        }
        let class = packet.class();
        if !PLAIN && self.core.assists {
            arena.hot_mut(id).ingress = in_port;
            if !self.assist_arrival(now, port, id, arena, sink) {
                return;
            }
        }
        let place = if !PLAIN && held {
            Place::HELD
        } else {
            self.core.place(now, port, &packet, sink)
        };
        let size = u64::from(packet.size);
        let core = &mut self.core;
        if core.class.buffered >> class & 1 != 0 {
            if !core.mmu.enter_reserve(in_port, class, size) {
                let waiting = if core.mmu.per_queue() && place.queue != QueueId::NONE {
                    core.queueing.get(place.queue).bytes()
                } else {
                    core.queueing.ports[port as usize].bytes
                };
                match core.mmu.verdict(in_port, class, size, waiting) {
                    Ok(space) => {
                        let tell = core.mmu.enter(in_port, class, size, space);
                        if tell != Tell::Nothing {
                            Pfc::entered(cx!(self, now, arena, sink), in_port, class, tell);
                        }
                    }
                    Err(cause) => {
                        let id = (id, &packet);
                        return self.refuse(now, Some(port), id, cause, arena, sink);
                    }
                }
            }
            packet.flags |= flag::BUFFERED;
        }
        let hot = arena.hot_mut(id);
        hot.ingress = packet.ingress;
        hot.flags = packet.flags;
        if !PLAIN && self.is_taken(now, port, (!held).then_some(place), id, arena, sink) {
            return;
        }
        let core = &mut self.core;
        let counted = PLAIN || core.counts(&packet);
        let queueing = &mut core.queueing;
        let (queue, alone) = core
            .classifier
            .commit(now, port, &packet, place, counted, queueing);
        let bytes = core.enqueue(port, queue, (id, &packet), arena, sink);
        if !PLAIN {
            let found = pipeline::Found { bytes, alone };
            ask!(
                &mut self.hop,
                hop => hop.enqueued(cx!(self, now, arena, sink), port, (id, &packet), found),
                ()
            );
            if self.core.assists {
                self.assist_joined(now, port, class, sink);
            }
        }
        sink.kick(port);
    }

    /// Whether the hop scheme has taken a packet that was admitted.
    #[inline(always)]
    fn is_taken<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        place: Option<Place>,
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) -> bool {
        ask!(
            &mut self.hop,
            hop => hop.admitted(cx!(self, now, arena, sink), port, place, id),
            false
        )
    }

    /// Drops a packet that arrived and was not admitted.
    fn refuse<S: Sink>(
        &mut self,
        now: Time,
        port: Option<u16>,
        (id, packet): (PacketId, &Packet),
        cause: DropCause,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        ask!(
            &mut self.hop,
            hop => hop.refused(cx!(self, now, arena, sink), packet),
            ()
        );
        self.core.drop(port, id, cause, arena, sink);
    }

    /// Whether a packet may join its queue in the usual way, where a class is shaped or data trimmed.
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
        if let Some(shaper) = &self.shaper
            && class == SHAPED_CLASS
            && shaper.is_full(port)
        {
            let cause = DropCause::CreditLimit;
            self.core.drop(Some(port), id, cause, arena, sink); // XP-03
            return false;
        }
        match &mut self.trimmer {
            Some(trimmer) => trimmer.arrives(cx!(self, now, arena, sink), port, id),
            None => true,
        }
    }

    #[inline(never)]
    fn assist_joined<S: Sink>(&mut self, now: Time, port: u16, class: u8, sink: &mut S) {
        if let Some(shaper) = &mut self.shaper
            && class == SHAPED_CLASS
        {
            shaper.joined(now, port, &mut self.core.queueing, sink);
        }
        if let Some(trimmer) = &mut self.trimmer {
            trimmer.joined(port, class);
        }
    }

    #[inline(never)]
    fn assist_left<S: Sink>(&mut self, now: Time, port: u16, class: u8, sink: &mut S) {
        if let Some(shaper) = &mut self.shaper
            && class == SHAPED_CLASS
        {
            shaper.left(now, port, &mut self.core.queueing, sink);
        }
        if let Some(trimmer) = &mut self.trimmer {
            trimmer.left(port, class);
        }
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

    /// Handles all timers that have expired at `now`. The driver calls this at each time that the
    /// switch passed to [`Sink::wake`]. A call at another time has no effect.
    // BFC-30, BFC-38, QNT-03, QNT-05
    pub fn timer<S: Sink>(&mut self, now: Time, arena: &mut Arena, sink: &mut S) {
        if let Some(shaper) = &mut self.shaper {
            let next = shaper.timer(now, &mut self.core.queueing, sink);
            if next != NEVER {
                sink.wake(next);
            }
        }
        self.core.end_pauses(now, sink);
        Pfc::timer(cx!(self, now, arena, sink));
        ask!(&mut self.hop, hop => hop.timer(cx!(self, now, arena, sink)), ());
        let Some(clock) = &mut self.clock else { return };
        let due = clock.due(now);
        let next = clock.next();
        if next != NEVER {
            sink.wake(next);
        }
        if due.read
            && let Classifier::Dynamic(table) = &mut self.core.classifier
        {
            table.refresh(&self.core.queueing);
        }
        if due.tell {
            ask!(&mut self.hop, hop => hop.tick(cx!(self, now, arena, sink)), ());
        }
    }

    /// Removes the next packet to send from a port whose link is free. Returns `None`, without a change of
    /// state, if the port has no packet that may leave.
    ///
    /// # Panics
    /// If the switch has no such port.
    #[inline]
    pub fn transmit<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        arena: &mut Arena,
        sink: &mut S,
    ) -> Option<PacketId> {
        if self.core.plain {
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
        let core = &mut self.core;
        let Taken { queue, number, id } = core.queueing.pop::<PLAIN>(port, arena)?;
        let hot = arena.hot_mut(id);
        let packet = *hot;
        if packet.is_frame() {
            core.frame_left(port, &packet);
            return Some(id);
        }
        hot.upstream_queue = number;
        hot.flags &= !flag::OF_SWITCH;
        core.counters.sent += 1;
        if !PLAIN {
            self.touch(now, sink);
        }
        let class = packet.class();
        let size = u64::from(packet.size);
        let core = &mut self.core;
        let resume = packet.has(flag::BUFFERED)
            && self
                .pfc
                .leave::<PLAIN>(now, &mut core.mmu, packet.ingress, class, size);
        let waits = match PLAIN {
            true => None,
            false => ask!(&self.hop, hop => hop.seen_by_int(&packet), None),
        };
        let left = Left {
            port,
            queue,
            id,
            packet: &packet,
            waits,
        };
        core.signal::<PLAIN, S>(now, left, arena, sink);
        if resume {
            Pfc::tell(cx!(self, now, arena, sink), packet.ingress, class, false);
        }
        if !PLAIN {
            if self.core.assists {
                self.assist_left(now, port, class, sink);
            }
            ask!(
                &mut self.hop,
                hop => hop.departed(cx!(self, now, arena, sink), port, id, &packet),
                ()
            );
        }
        self.core.unplace::<PLAIN>(now, port, &packet, queue);
        Some(id)
    }

    /// A frame of the neighbour at a port.
    fn obey<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        let frame = *arena.hot(id);
        let is_known = self.hop.knows(&frame);
        let cx = cx!(self, now, arena, sink);
        if is_known && !self.hop.receive(cx, port, id, &frame) {
            let mut egress = PortEgress {
                now,
                core: cx.core,
                port,
                arena: cx.arena,
                sink: cx.sink,
            };
            egress.obey(id, &frame);
        }
        arena.free(id);
    }

    /// The port by which this switch would forward a packet from endpoint `src`; `None` where no port
    /// leads there.
    #[must_use]
    pub fn way(&self, packet: &Packet, src: u32) -> Option<u16> {
        self.core.routes.port(packet, || src)
    }

    /// How many ports begin a shortest way to an endpoint.
    #[must_use]
    pub fn ways(&self, dst: u32) -> usize {
        self.core.routes.ways(dst)
    }

    /// Whether `transmit` would find something for this port.
    #[inline]
    #[must_use]
    pub fn waiting(&self, port: u16) -> bool {
        self.core.queueing.waiting(port)
    }

    /// Whether packets wait at a port, all of which a pause holds.
    #[must_use]
    pub fn is_stuck(&self, port: u16) -> bool {
        self.core.queueing.is_stuck(port)
    }

    /// How many ports it has.
    #[must_use]
    pub const fn ports(&self) -> u16 {
        self.core.ports()
    }

    /// Bytes in the shared buffer.
    #[must_use]
    pub const fn buffer_used(&self) -> u64 {
        self.core.mmu.used
    }

    /// Most bytes ever in the shared buffer, and most that any ingress had in its headroom.
    #[must_use]
    pub const fn buffer_peak(&self) -> (u64, u64) {
        (self.core.mmu.max_used, self.core.mmu.max_headroom)
    }

    /// Bytes queued at a port now, and the most that ever were.
    #[must_use]
    pub fn queued(&self, port: u16) -> (u64, u64) {
        let p = &self.core.queueing.ports[port as usize];
        (p.bytes, p.max_bytes)
    }

    /// Classes that an ingress may pause its upstream for, as bits.
    #[must_use]
    pub const fn pausable(&self) -> ClassSet {
        self.core.mmu.pausable()
    }

    /// What came in by a port, of a class, and is in the buffer; and the threshold of PFC for it.
    // RCD-13
    #[must_use]
    pub fn ingress(&self, now: Time, port: u16, class: u8) -> Level {
        self.pfc.level(now, &self.core, port, class)
    }

    /// What the mechanisms did.
    #[must_use]
    pub const fn counters(&self) -> &SwitchCounters {
        &self.core.counters
    }

    /// What was counted at a port.
    #[must_use]
    pub fn port_counters(&self, port: u16) -> &SwitchPortCounters {
        &self.core.port_counters[port as usize]
    }

    /// What its hop schemes counted.
    #[must_use]
    pub fn hop_counters(&self) -> HopCounters {
        HopCounters::of(&self.pfc, &self.hop, &self.core)
    }

    /// Sums of credits that must agree between switches, if its hop scheme has credits.
    #[must_use]
    pub fn credit_books(&self) -> Option<CreditBooks> {
        ask!(&self.hop, hop => hop.books(), None)
    }

    /// Whether its hop scheme owes nothing and misses nothing, so that a run may end.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        ask!(&self.hop, hop => hop.is_at_rest(), true)
    }

    /// Bytes that the hop scheme holds for a port, and the most that ever were queued at it and held for
    /// it together; `None`: it holds nothing anywhere.
    #[must_use]
    pub fn held(&self, port: u16) -> Option<(u64, u64)> {
        let (held, most) = ask!(&self.hop, hop => hop.held_for(port), None)?;
        Some((held, most.max(self.queued(port).1)))
    }

    /// The VOQ of a destination, and the packets of the destination in it; `None`: it has no VOQ.
    #[must_use]
    pub fn voq_of(&self, dst: u32) -> Option<(u32, u32)> {
        ask!(&self.hop, hop => hop.voq_of(dst), None)
    }

    /// Calls `visit` with every packet that the hop scheme holds.
    pub fn for_each_held(&self, arena: &Arena, mut visit: impl FnMut(PacketId)) {
        ask!(&self.hop, hop => hop.for_each_held(arena, &mut visit), ());
    }

    /// Calls `visit` with every queue of a port that holds packets.
    pub fn for_each_queue(&self, port: u16, visit: impl FnMut(&QueueState)) {
        self.core.queueing.for_each_queue(port, visit);
    }

    /// Calls `visit` with every packet that waits at a port.
    pub fn for_each_queued(&self, port: u16, arena: &Arena, visit: impl FnMut(PacketId)) {
        self.core.queueing.for_each_packet(port, arena, visit);
    }

    /// Who holds whom, for a run that stalled: sentences about paused classes and queues with
    /// packets, and about what this switch holds upstream.
    pub fn explain_stall(&self, mut say: impl FnMut(String)) {
        for (port, p) in (0..).zip(&self.core.queueing.ports) {
            if p.bytes > 0 {
                say(format!(
                    "port {port} has {} B queued, paused by PFC: {}",
                    p.bytes,
                    class_labels(self.core.queueing.held_classes(port).0)
                ));
            }
        }
        Pfc::explain_stall(&self.core, &mut say);
        ask!(&self.hop, hop => hop.explain_stall(&mut say), ());
    }

    /// Checks the books: what entered has left, waits or was dropped; the buffer holds what the
    /// queues hold; nothing is left where nothing waits. Returns what is broken.
    #[must_use]
    pub fn audit(&self, arena: &Arena) -> Vec<String> {
        let core = &self.core;
        let mut broken = Vec::new();
        let (mut packets, mut buffered, mut in_table) = (0u64, 0u64, 0u64);
        for port in 0..core.ports() {
            let mut bytes = 0u64;
            core.queueing.for_each_packet(port, arena, |id| {
                let p = arena.hot(id);
                bytes += u64::from(p.size);
                packets += u64::from(!p.is_frame());
                let placed =
                    p.class() >= DATA_CLASS && !core.queueing.is_behind(p.location.queue());
                in_table += u64::from(placed && core.counts(p));
                buffered += if p.has(flag::BUFFERED) {
                    u64::from(p.size)
                } else {
                    0
                };
            });
            if bytes != core.queueing.ports[port as usize].bytes {
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
        broken.extend(ask!(&self.hop, hop => hop.audit(core, arena), Vec::new()));
        broken.extend(self.audit_assists(arena));
        let c = &core.counters;
        if c.received != c.sent + c.dropped + packets {
            broken.push(format!(
                "{} packets entered, {} left, {} were dropped, {packets} wait",
                c.received, c.sent, c.dropped
            ));
        }
        if buffered != core.mmu.used {
            broken.push(format!(
                "queues hold {buffered} B of buffer, {} B are counted",
                core.mmu.used
            ));
        }
        broken.extend(core.mmu.audit().err());
        broken.extend(self.pfc.audit(core));
        if let Classifier::Dynamic(table) = &core.classifier
            && table.packets() != in_table
        {
            broken.push(format!(
                "flow table counts {} packets, {in_table} wait",
                table.packets()
            ));
        }
        let holds = ask!(&self.hop, hop => hop.holds_upstream(), false);
        if packets == 0 && (core.mmu.pausing().next().is_some() || holds) {
            broken.push("nothing waits here, but an upstream is still held".to_owned());
        }
        broken
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
