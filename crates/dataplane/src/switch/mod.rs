//! The switch: `receive` is route → classify → admit → enqueue, `transmit` is schedule → sign
//! (write INT and ECN) → depart.
//!
//! A switch consists of the components for these steps (`pipeline/`) and of a hop scheme, which is
//! called at these steps (`hop/`). A dropped packet changes no table. The driver is the program
//! that calls the switch: the simulator or a live switch. The rules are in `specs/switch.md`.

mod audit;
mod blocked;
mod inject;
mod link;
mod storm;

use crate::config::Classify;
use crate::hop::{self, CreditSums, Hop, HopCounters, HopScheme, Site, Topology, dispatch};
use crate::link::{Traffic, Turn};
use crate::packet::{Arena, Packet, PacketId, flag};
use crate::pipeline::Pipeline;
use crate::pipeline::classify::Classifier;
use crate::pipeline::context::Cx;
use crate::pipeline::path::Verdict;
use crate::pipeline::place::Place;
use crate::pipeline::queueing::Taken;
use crate::pipeline::steps::{Found, Outcome, Step, Steps};
use crate::ports::Ports;
use crate::route::Routes;
use crate::sink::Sink;
use crate::units::{NEVER, Rate, Time};

pub use crate::declaration::Needs;
pub use crate::event::Level;
pub use crate::hop::SwitchConfig;
pub use crate::mixed::MixedMap;
pub use crate::pipeline::mmu::{division, headroom_bytes, headroom_of, pausable_classes};
pub use crate::pipeline::pairs::Pairs;
pub use crate::pipeline::queueing::{HeldBy, QueueState};
pub use crate::pipeline::{Stranded, SwitchCounters, SwitchPortCounters};
pub use blocked::{Holds, StuckQueue};

pub use crate::classes::{CONTROL_CLASS, ClassSet, DATA_CLASS, class_labels};

/// Returns the time in ps for which a flow without packets in the switch keeps its queue. `ports`
/// are the rates and one-way delays of the switch's links.
// BFC-04
#[must_use]
pub fn sticky_ps(config: &SwitchConfig, ports: &[(Rate, Time)]) -> Time {
    crate::pipeline::flow_table::sticky_ps(config, needs(config).hop_rtt_ps, ports)
}

fn needs(config: &SwitchConfig) -> Needs {
    let declaration = config.hop.declaration();
    declaration.map_or_else(Needs::default, |scheme| scheme.needs())
}

/// A switch. The caller passes packets and the time to its methods. The fields that every packet
/// needs are first.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Switch {
    core: Pipeline,
    hop: Hop,
}

/// Creates the context of a step. It borrows every field of a switch except `hop`, so that the hop
/// scheme can be called with it.
macro_rules! cx {
    ($switch:expr, $now:expr, $arena:expr, $sink:expr) => {
        &mut Cx {
            now: $now,
            steps: $switch.core.steps,
            core: &mut $switch.core,
            arena: $arena,
            sink: $sink,
        }
    };
}
use cx;

impl Switch {
    /// Creates a switch with this ID (which INT combines into the pathID). `ports` are the rates
    /// and one-way propagation delays of its links.
    #[must_use]
    pub fn new(id: u32, config: &SwitchConfig, ports: &[(Rate, Time)], routes: Routes) -> Self {
        let mut core = Pipeline::new(id, config, &needs(config), ports, routes);
        let site = Site {
            ports,
            max_frame: config.max_frame,
            core: &core,
        };
        let hop = Hop::new(&config.hop, &site);
        core.steps = core.steps.or(hop.watches());
        Self { core, hop }
    }

    /// Sets the (ingress, egress) port pairs whose packets may cause a pause of the upstream
    /// neighbour. `None` permits all pairs.
    pub fn allow(&mut self, pairs: Option<Pairs>) {
        self.hop.learn(&self.core, Topology::Pairs(pairs));
    }

    /// Sets which ports lead up in the topology, away from the hosts. The driver (simulator or live
    /// switch) calls this before the first packet.
    pub fn set_upward(&mut self, upward: &[bool]) {
        self.hop.learn(&self.core, Topology::Upward(upward));
    }

    /// Prefetches the route of a packet. Like every prefetch, it changes no state.
    #[inline]
    pub fn prefetch_route(&self, id: PacketId, arena: &Arena) {
        self.core.routes.prefetch(|| arena.hot(id).dst);
    }

    /// Returns true if a class can have several queues, so that each packet must be classified.
    #[must_use]
    pub const fn has_several_queues(&self) -> bool {
        self.core.queueing.has_several()
    }

    /// Prefetches the state of a port that will send.
    #[inline]
    pub fn prefetch_port(&self, port: u16) {
        self.core.queueing.prefetch_sending(port);
    }

    /// Prefetches the next packet of a port. If a class can have several queues, prefetches the
    /// next queue instead.
    #[inline]
    pub fn prefetch_first(&self, port: u16, arena: &Arena) {
        self.core.queueing.prefetch_first(port, arena);
    }

    /// Prefetches the next packet of a port after its queue was prefetched.
    #[inline]
    pub fn prefetch_first_packet(&self, port: u16, arena: &Arena) {
        self.core.queueing.prefetch_first_packet(port, arena);
    }

    /// Prefetches the queue that a packet will join at `port`, if there are several.
    #[inline]
    pub fn prefetch_queue(&self, port: u16, id: PacketId, arena: &Arena) {
        let packet = arena.hot(id);
        let queueing = &self.core.queueing;
        self.core.classifier.prefetch_named(port, packet, queueing);
    }

    /// Prefetches the memory for a frame that arrives soon at `in_port`. Returns its egress port,
    /// if the route is known.
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

    /// Handles a frame that has arrived completely at `in_port`.
    ///
    /// # Panics
    /// The caller must guarantee that `in_port` is a port of this switch, that the packet's class
    /// is configured, and that its source and destination are endpoints of the network. Debug
    /// builds check this. Control frames between neighbours may have any content.
    // SW-01, SW-04: only a counter changes before the packet is accepted.
    #[inline(always)]
    pub fn receive<S: Sink>(
        &mut self,
        now: Time,
        in_port: u16,
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        let cx = cx!(self, now, arena, sink);
        let hop = &mut self.hop;
        if cx.arena.hot(id).is_frame() {
            receive_frame(hop, &mut cx.reborrow(), in_port, id);
        } else if cx.steps == Steps::NONE {
            receive_packet(hop, &mut cx.without_steps(), in_port, id);
        } else {
            receive_watched(hop, &mut cx.reborrow(), in_port, id);
        }
    }

    /// Handles a frame that arrived with a bit error at `port`, whose link scheme numbers frames
    /// (link-level retry).
    pub fn receive_damaged<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        cx!(self, now, arena, sink).link_accepts(port, id, true);
    }

    /// Handles all timers that have expired at `now`. The driver (simulator or live switch) calls
    /// this at each time that the switch passed to [`Sink::wake`]. A call at another time has no
    /// effect.
    // BFC-30, BFC-38, QNT-03, QNT-05
    pub fn timer<S: Sink>(&mut self, now: Time, arena: &mut Arena, sink: &mut S) {
        let cx = cx!(self, now, arena, sink);
        cx.open_shaped();
        if cx.core.queueing.gate.has_timed_pauses() {
            cx.end_pauses();
        }
        cx.repeat_pauses();
        if cx.steps.has(Steps::WATCHDOG) {
            self.change_storms(now, arena, sink);
        }
        let cx = cx!(self, now, arena, sink);
        self.hop.step(cx, Step::Timer);
        cx.with_links(|links, cx| links.timer(cx));
        let Some(clock) = &mut cx.core.clock else {
            return;
        };
        let due = clock.due(now);
        let next = clock.next();
        if next != NEVER {
            cx.sink.wake(next);
        }
        if due.read
            && let Classifier::Dynamic(table) = &mut cx.core.classifier
        {
            table.refresh(&cx.core.queueing);
        }
        if due.tell {
            self.hop.step(cx, Step::Tick);
        }
    }

    /// Dequeues and returns the next packet of a port whose link is free. Returns `None`, without a
    /// change of state, if the port has no packet that may be sent.
    ///
    /// # Panics
    /// If the switch has no such port.
    #[inline(always)]
    pub fn transmit<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        arena: &mut Arena,
        sink: &mut S,
    ) -> Option<PacketId> {
        let cx = cx!(self, now, arena, sink);
        match cx.steps == Steps::NONE {
            true => transmit_packet(&mut self.hop, &mut cx.without_steps(), port),
            false => transmit_watched(&mut self.hop, &mut cx.reborrow(), port),
        }
    }

    /// Returns the egress port of a packet from endpoint `src`, or `None` without a route.
    #[must_use]
    pub fn way(&self, packet: &Packet, src: u32) -> Option<u16> {
        self.core.routes.port(packet, || src)
    }

    /// Returns the number of equal-cost ports towards an endpoint.
    #[must_use]
    pub fn ways(&self, dst: u32) -> usize {
        self.core.routes.ways(dst)
    }

    /// Returns true if `transmit` would return a packet for this port.
    #[inline]
    #[must_use]
    pub fn waiting(&self, port: u16) -> bool {
        let links = &self.core.links;
        self.core.queueing.waiting(port)
            || links.as_ref().is_some_and(|links| links.is_waiting(port))
    }

    /// Returns the frame counters of the link scheme at a port, if it numbers frames (link-level
    /// retry).
    #[must_use]
    pub fn link_traffic(&self, port: u16) -> Option<Traffic> {
        self.core.links.as_ref()?.traffic(port)
    }

    /// Returns true if a port has packets and all of them are paused or lack credit from the
    /// neighbour.
    #[must_use]
    pub fn is_stuck(&self, port: u16) -> bool {
        self.core.queueing.is_stuck(port)
    }

    /// Returns the number of ports.
    #[must_use]
    pub const fn ports(&self) -> u16 {
        self.core.ports()
    }

    /// Returns the number of bytes in the shared buffer.
    #[must_use]
    pub const fn buffer_used(&self) -> u64 {
        self.core.mmu.used
    }

    /// Returns two maxima since the start, in bytes: of the shared buffer, and of the headroom of
    /// one ingress port and class.
    #[must_use]
    pub const fn buffer_peak(&self) -> (u64, u64) {
        (self.core.mmu.max_used, self.core.mmu.max_headroom)
    }

    /// Returns the number of bytes queued at a port, and the maximum since the start.
    #[must_use]
    pub fn queued(&self, port: u16) -> (u64, u64) {
        let p = &self.core.queueing.ports[port as usize];
        (p.bytes, p.max_bytes)
    }

    /// Returns the classes that PFC may pause upstream, as a bit set.
    #[must_use]
    pub const fn pausable(&self) -> ClassSet {
        self.core.mmu.pausable()
    }

    /// Returns the buffered bytes of an ingress port and class, and the current PFC threshold.
    // RCD-13
    #[must_use]
    pub fn ingress(&self, now: Time, port: u16, class: u8) -> Level {
        self.core.pfc.level(now, &self.core.mmu, port, class)
    }

    /// Returns the counters of the switch.
    #[must_use]
    pub const fn counters(&self) -> &SwitchCounters {
        &self.core.counters
    }

    /// Returns the counters of a port.
    #[must_use]
    pub fn port_counters(&self, port: u16) -> &SwitchPortCounters {
        &self.core.port_counters[port as usize]
    }

    /// Returns the counters of PFC, of the hop scheme and of the link schemes.
    #[must_use]
    pub fn hop_counters(&self) -> HopCounters {
        HopCounters::of(&self.hop, &self.core)
    }

    /// Returns the sums of credits of this switch, if its hop scheme has credits. The invariant
    /// checks compare them with those of the neighbours.
    #[must_use]
    pub fn credit_sums(&self) -> Option<CreditSums> {
        dispatch!(&self.hop, scheme => scheme.credit_sums(), None)
    }

    /// Returns true if the switch expects no control frame from its neighbours, so that a run may
    /// end.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        dispatch!(&self.hop, scheme => scheme.is_at_rest(), true)
            && (self.core.links.as_ref()).is_none_or(|links| links.is_at_rest())
    }

    /// Returns the number of bytes in VOQs for a port, and the maximum of its queued plus parked
    /// bytes. Returns `None` if the hop scheme parks no packets.
    #[must_use]
    pub fn held(&self, port: u16) -> Option<(u64, u64)> {
        let (held, most) = dispatch!(&self.hop, scheme => scheme.voq_bytes(port), None)?;
        Some((held, most.max(self.queued(port).1)))
    }

    /// Returns the index of the VOQ of a destination and the number of its packets in the VOQ.
    /// Returns `None` if the destination has no VOQ.
    #[must_use]
    pub fn voq_of(&self, dst: u32) -> Option<(u32, u32)> {
        dispatch!(&self.hop, scheme => scheme.voq_of(dst), None)
    }

    /// Calls `visit` with every packet in a VOQ.
    pub fn for_each_held(&self, arena: &Arena, mut visit: impl FnMut(PacketId)) {
        dispatch!(&self.hop, scheme => scheme.for_each_parked(arena, &mut visit), ());
    }

    /// Calls `visit` with every queue of a port that is not empty.
    pub fn for_each_queue(&self, port: u16, visit: impl FnMut(&QueueState)) {
        self.core.queueing.for_each_queue(port, visit);
    }

    /// Calls `visit` with every packet queued at a port.
    pub fn for_each_queued(&self, port: u16, arena: &Arena, visit: impl FnMut(PacketId)) {
        self.core.queueing.for_each_packet(port, arena, visit);
    }
}

/// Routes, classifies, admits and enqueues an arrived packet. If `cx.steps` is a constant, the
/// compiler removes the code of all steps that are not in this set.
#[inline(always)]
fn receive_packet<S: Sink>(hop: &mut Hop, cx: &mut Cx<'_, S>, in_port: u16, id: PacketId) {
    // Copy the packet first: a wide read right after a narrow write stalls the processor.
    let mut packet = *cx.arena.hot(id);
    cx.core.check_arrival(in_port, &packet);
    packet.ingress = in_port;
    cx.core.counters.received += 1;
    if cx.steps.has(Steps::CLOCK) {
        cx.start_clock();
    }
    let is_parked = cx.steps.has(Steps::ARRIVE)
        && hop.step(&mut cx.reborrow(), Step::Arrive(&packet)) == Outcome::Park;
    let port = match cx.route(id, &packet) {
        Ok(port) => port,
        Err((port, cause)) => return hop.refuse(&mut cx.reborrow(), port, (id, &packet), cause),
    };
    let place = match is_parked {
        true => Place::PARKED,
        false => cx.classify(port, &packet),
    };
    match cx.admit(port, place, id, &mut packet) {
        Verdict::Accept => {}
        Verdict::Trimmed => return,
        Verdict::Drop(cause) => {
            return hop.refuse(&mut cx.reborrow(), Some(port), (id, &packet), cause);
        }
    }
    if is_parked {
        hop.step(&mut cx.reborrow(), Step::Park { port, id });
        return;
    }
    let found = join(hop, cx, port, place, id, &packet);
    if cx.steps.has(Steps::NOTIFY)
        && let Some((notice, cold)) = cx.reborrow().notify(port, id, &packet, found)
    {
        inject::inject(hop, &mut cx.reborrow(), notice, cold);
    }
}

/// Appends an admitted packet to its queue, calls the hop scheme, and requests a transmission of
/// the port.
#[inline(always)]
fn join<S: Sink>(
    hop: &mut Hop,
    cx: &mut Cx<'_, S>,
    port: u16,
    place: Place,
    id: PacketId,
    packet: &Packet,
) -> Found {
    let found = cx.enqueue(port, place, id, packet);
    if cx.steps.has(Steps::ENQUEUE) {
        let step = Step::Enqueue {
            port,
            id,
            packet,
            found,
        };
        hop.step(&mut cx.reborrow(), step);
    }
    cx.sink.kick(port);
    found
}

#[inline(never)]
fn receive_watched<S: Sink>(hop: &mut Hop, cx: &mut Cx<'_, S>, in_port: u16, id: PacketId) {
    if cx.steps.has(Steps::LINK_SCHEMES) && !cx.link_accepts(in_port, id, false) {
        return;
    }
    receive_packet(hop, cx, in_port, id);
}

/// Dequeues the packet that a port sends next, writes INT and ECN, and releases its buffer space.
#[inline(always)]
fn transmit_packet<S: Sink>(hop: &mut Hop, cx: &mut Cx<'_, S>, port: u16) -> Option<PacketId> {
    let Taken { queue, number, id } = cx.schedule(port)?;
    let hot = cx.arena.hot_mut(id);
    let packet = *hot;
    if packet.is_frame() {
        cx.core.frame_left(port, &packet);
        return Some(id);
    }
    hot.upstream_queue = number;
    hot.flags &= !flag::OF_SWITCH;
    cx.core.counters.sent += 1;
    if cx.steps.has(Steps::CLOCK) {
        cx.start_clock();
    }
    let may_resume = cx.leave_buffer(&packet);
    cx.sign(port, queue, id, &packet);
    // INT counts queued control frames. So the resume is queued only after the INT record of
    // the packet was written.
    if may_resume {
        cx.reborrow()
            .send_pause(packet.ingress, packet.class(), false);
    }
    if cx.steps.has(Steps::DEPART) {
        let packet = &packet;
        hop.step(&mut cx.reborrow(), Step::Depart { port, id, packet });
    }
    cx.depart(port, queue, &packet);
    Some(id)
}

#[inline(never)]
fn transmit_watched<S: Sink>(hop: &mut Hop, cx: &mut Cx<'_, S>, port: u16) -> Option<PacketId> {
    if cx.steps.has(Steps::LINK_SCHEMES) {
        match cx.link_turn(port) {
            Turn::Free => {}
            Turn::Own(id) => return Some(id),
            Turn::Blocked => return None,
        }
    }
    let id = transmit_packet(hop, cx, port)?;
    if cx.steps.has(Steps::WATCHDOG) {
        cx.count_sent_in_storm(port, id);
    }
    if cx.steps.has(Steps::LINK_SCHEMES) {
        cx.link_left(id);
        cx.with_links(|links, cx| links.sent(cx, port, id));
    }
    Some(id)
}

/// Handles a control frame from the neighbour at a port.
fn receive_frame<S: Sink>(hop: &mut Hop, cx: &mut Cx<'_, S>, port: u16, id: PacketId) {
    if cx.steps.has(Steps::LINK_SCHEMES) && !cx.link_accepts(port, id, false) {
        return;
    }
    let frame = *cx.arena.hot(id);
    let list = cx.arena.take_list(id);
    if hop.knows(&frame) && !hop.receive(cx, port, &frame, &list) {
        hop::obey(cx, port, &frame, &list);
    }
    cx.arena.put_list(id, list);
    cx.arena.free(id);
}

/// Returns the number of data queues of a port and class, or `None` if each flow has a queue.
#[must_use]
pub const fn data_queues(classify: &Classify) -> Option<u16> {
    match classify {
        Classify::Fifo => Some(1),
        Classify::Hash { queues } | Classify::Dynamic { queues, .. } => Some(*queues),
        Classify::Priority { levels } => Some(*levels),
        Classify::PerFlow => None,
    }
}
