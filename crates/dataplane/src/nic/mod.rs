//! The NIC: which flow sends next, how fast, and what happens after a loss.
//!
//! `egress.rs` has the ports, the flows and their send order, `pauses.rs` pauses and resumes them.
//! `receiver.rs` receives data and creates the replies (ACK, NAK, CNP). A sending half
//! (`half.rs`) decides when packets are sent and handles the replies. There is one for each
//! congestion control of a sender (`sender.rs`, with `cc/` and `reliability/`), and one that
//! copies the host of the ns-3 simulator (`scan.rs`, with `ns3/`). Each receiver-driven transport
//! has a sending half that also receives data (`driven.rs`, with `transport/`). The driver is the
//! program that calls the NIC: the simulator or a live host. The rules are in `specs/nic.md`.

mod driven;
pub(crate) mod egress;
mod flow;
pub(crate) mod half;
mod halves;
mod host;
mod incoming;
mod link;
mod obey;
mod order;
mod pairs;
mod pauses;
mod queue_pair;
mod reach;
mod receiver;
mod scan;
mod sender;
mod timers;

use crate::classes::ClassSet;
use std::sync::Arc;

use crate::config::NicConfig;
pub use crate::counters::{DrivenCounters, NicCounters};
pub use crate::flow::{FlowEnd, FlowStart, MAX_FLOW_PACKETS, Unfinished};
use crate::hop::SwitchConfig;
use crate::link::{LinkSite, Links, Traffic, Turn};
use crate::packet::{Arena, Kind, PacketId};
use crate::ports::Ports;
use crate::prefetch::prefetch_whole;
use crate::sink::Sink;
use crate::units::{Rate, Time};
pub use crate::wait::Wait;
use half::{Common, SendingHalf};
use halves::{Half, each};
use host::Host;
pub use reach::{CUT_OFF, OUT_OF_REACH};

/// A NIC with one or several ports. The caller passes flows, packets and the time to its methods.
#[derive(Debug)]
pub struct Nic {
    common: Common,
    half: Half,
    /// Schemes of the links at its ports (for example credits or link-level retry).
    links: Option<Box<Links>>,
    /// Frames that the host has not processed yet, if processing takes time.
    host: Option<Box<Host>>,
}

impl Nic {
    /// Creates a NIC whose ports have these rates, for frames of `classes` traffic classes.
    #[must_use]
    pub fn new(config: &Arc<NicConfig>, classes: usize, ports: &[Rate]) -> Self {
        Self {
            common: Common::new(config, classes, ports),
            half: Half::new(config, classes, ports),
            links: None,
            host: config.host.processing.map(|p| Box::new(Host::new(p))),
        }
    }

    /// Sets the configuration of the neighbouring switch, and the rates and one-way delays of the
    /// links. The driver (simulator or live host) calls this before the first packet.
    pub fn set_neighbour(&mut self, switch: &SwitchConfig, links: &[(Rate, Time)]) {
        let site = LinkSite {
            ports: links,
            classes: switch.classes.len() as u8,
            max_frame: switch.max_frame,
        };
        self.links = Links::new(&switch.link, &site);
    }

    /// Starts a flow on a queue pair of its own.
    ///
    /// # Panics
    /// If the flow has no bytes or more than [`MAX_FLOW_PACKETS`] packets, or if this NIC has no
    /// such port or class.
    pub fn start<S: Sink>(&mut self, now: Time, flow: &FlowStart, sink: &mut S) {
        self.start_on(now, flow, None, sink);
    }

    /// Starts a flow. With [`Sending::Paired`](crate::config::Sending::Paired), flows with the same
    /// `pair` (ID of a queue pair) share that queue pair. These flows have the same source,
    /// destination and class.
    // NIC-50
    pub fn start_on<S: Sink>(
        &mut self,
        now: Time,
        flow: &FlowStart,
        pair: Option<u32>,
        sink: &mut S,
    ) {
        let packets = flow.bytes.div_ceil(u64::from(self.common.config.mtu));
        debug_assert!(
            (1..=MAX_FLOW_PACKETS).contains(&packets),
            "flow {} has {packets} packets", // NIC-54
            flow.flow
        );
        each!(&mut self.half, half => half.start(now, &mut self.common, flow, pair, sink));
    }

    /// Prefetches the fields of the NIC. Changes no state.
    #[inline]
    pub fn prefetch(&self) {
        prefetch_whole(self);
    }

    /// Prefetches the memory that a call of `transmit` for a port, or of `timer`, reads first.
    #[inline]
    pub fn prefetch_port(&self, port: u16) {
        self.common.egress.prefetch_port(port);
    }

    /// Prefetches the memory that `transmit` and `timer` read after that of
    /// [`Self::prefetch_port`].
    #[inline]
    pub fn prefetch_rings(&self, port: u16) {
        if let Some(slot) = self.common.egress.prefetch_rings(port) {
            each!(&self.half, half => half.prefetch(&self.common, slot));
        }
    }

    /// Prefetches the memory for a frame that arrives soon at `port`: the flow of an ACK, or the
    /// reply queues if the frame is not an ACK. Changes no state.
    #[inline]
    pub fn prefetch_arrival(&self, port: u16, id: PacketId, arena: &Arena) {
        if arena.hot(id).kind() == Kind::Ack {
            let slot = arena.cold(id).slot;
            each!(&self.half, half => half.prefetch(&self.common, slot));
        } else {
            self.common.egress.prefetch_replies(port);
        }
    }

    /// Handles a frame that has arrived completely at `port`.
    ///
    /// # Panics
    /// The caller guarantees that `port` is a port of this NIC. For an ACK, NAK or CNP it also
    /// guarantees that `slot` is a flow slot of this NIC and that the flow in it has the
    /// acknowledged packets. For data it guarantees that payload and remaining bytes are consistent
    /// with one flow. Debug builds check this. A caller that receives real frames must check it.
    /// Control frames between neighbours may have any content.
    #[inline]
    pub fn receive<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        debug_assert!(
            usize::from(port) < self.common.egress.ports.len(),
            "port {port}"
        );
        if self.links.is_some() && !self.link_receives(now, port, id, arena, sink) {
            return;
        }
        if arena.hot(id).is_frame() {
            return self.obey(now, port, id, arena, sink);
        }
        if let Some(host) = &mut self.host {
            if let Some(done_ps) = host.take(now, port, id, arena) {
                sink.wake(done_ps);
            }
            return;
        }
        self.act_on(now, port, id, arena, sink);
    }

    /// Handles a frame of a flow that the host has processed.
    #[inline]
    fn act_on<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        let common = &mut self.common;
        if arena.hot(id).kind() != Kind::Data || self.half.receives() {
            return each!(&mut self.half, half => half.receive(now, common, (port, id), arena, sink));
        }
        let replies = common.data(now, id, arena, sink);
        for reply in replies.into_iter().flatten() {
            each!(&mut self.half, half => half.reply(common, port, reply, arena, sink));
        }
    }

    /// Handles the frames that the host has processed, and schedules a call for the next frame.
    fn process<S: Sink>(&mut self, now: Time, arena: &mut Arena, sink: &mut S) {
        while let Some((port, id)) = self.host.as_mut().and_then(|h| h.next(now, arena)) {
            self.link_left(now, port, id, arena, sink);
            self.act_on(now, port, id, arena, sink);
        }
        if let Some(next_ps) = self.host.as_ref().and_then(|host| host.next_ps()) {
            sink.wake(next_ps);
        }
    }

    /// Handles the notification that a frame which this NIC sent by `port` was dropped. `id` is the
    /// dropped frame. A reply is queued again at once. Data is sent again when the flow may send.
    // REC-30, REC-33
    pub fn returned<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        let common = &mut self.common;
        if arena.hot(id).kind() == Kind::Data {
            let (packet, cold) = (*arena.hot(id), *arena.cold(id));
            arena.free(id);
            each!(&mut self.half, half => half.dropped(now, common, &packet, &cold, sink));
            return;
        }
        let hot = arena.hot_mut(id);
        hot.upstream_queue = 0;
        match hot.kind() {
            Kind::Ack => common.counters.acks += 1,
            Kind::Nak => common.counters.naks += 1,
            _ => common.counters.cnps += 1,
        }
        each!(&mut self.half, half => half.reply(common, port, id, arena, sink));
    }

    /// Removes and returns the next packet of a port whose link is free.
    ///
    /// # Panics
    /// If the NIC has no such port.
    #[inline]
    pub fn transmit<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        arena: &mut Arena,
        sink: &mut S,
    ) -> Option<PacketId> {
        if self.links.is_some() {
            return self.transmit_on_link(now, port, arena, sink);
        }
        let common = &mut self.common;
        each!(&mut self.half, half => half.transmit(now, common, port, arena, sink))
    }

    /// Like [`Self::transmit`], if the links have schemes.
    #[inline(never)]
    fn transmit_on_link<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        arena: &mut Arena,
        sink: &mut S,
    ) -> Option<PacketId> {
        match self.link_turn(now, port, arena, sink) {
            Turn::Free => {}
            Turn::Own(id) => return Some(id),
            Turn::Blocked => return None,
        }
        let common = &mut self.common;
        let id = each!(&mut self.half, half => half.transmit(now, common, port, arena, sink))?;
        self.link_sent(now, port, id, arena, sink);
        Some(id)
    }

    /// Handles all timers that have expired at `now`. The driver (simulator or live host) calls
    /// this at each time that the NIC passed to [`Sink::wake`]. A call at another time has no
    /// effect.
    pub fn timer<S: Sink>(&mut self, now: Time, arena: &mut Arena, sink: &mut S) {
        if self.host.is_some() {
            self.process(now, arena, sink);
        }
        if self.common.egress.gate.has_timed_pauses() {
            self.common.ports(now, arena, sink).end_pauses();
        }
        each!(&mut self.half, half => half.timer(now, &mut self.common, arena, sink));
        if self.links.is_some() {
            self.serve_links(now, arena, sink);
        }
    }

    /// Returns true if its link schemes expect no frame from the neighbours, so that a run may end.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        self.links.as_ref().is_none_or(|links| links.is_at_rest())
    }

    /// Updates counters that are computed late, at the end of a run, after all events of `now`.
    // XP-19
    pub fn settle<S: Sink>(&mut self, now: Time, sink: &mut S) {
        each!(&mut self.half, half => half.settle(now, &mut self.common, sink));
    }

    /// Handles a timer that the NIC set with [`Sink::call`]. `what` is the argument of that call.
    pub fn called<S: Sink>(&mut self, now: Time, what: u32, sink: &mut S) {
        each!(&mut self.half, half => half.called(now, &mut self.common, what, sink));
    }

    /// Returns true if `transmit` may return a packet for this port.
    #[inline]
    #[must_use]
    pub fn waiting(&self, port: u16) -> bool {
        let Common { config, egress, .. } = &self.common;
        egress.next_class(config, port).is_some()
            || each!(&self.half, half => half.is_polled())
            || self
                .links
                .as_ref()
                .is_some_and(|links| links.is_waiting(port))
    }

    /// Returns the frame counters of the link scheme at a port, if it numbers frames (link-level
    /// retry).
    #[must_use]
    pub fn link_traffic(&self, port: u16) -> Option<Traffic> {
        self.links.as_ref()?.traffic(port)
    }

    /// Returns the counters of the link schemes, with their names.
    pub fn link_counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.links.iter().flat_map(|links| links.counted(true))
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
        self.link_accepts(now, (port, true), id, arena, sink);
    }

    /// Returns true if a flow waits because of its pacing rate.
    #[must_use]
    pub fn is_pacing(&self) -> bool {
        self.common.egress.is_pacing()
    }

    /// Returns two bit sets of classes of a port that may not send: those that the neighbour
    /// paused, and those without credit.
    #[must_use]
    pub fn held_classes(&self, port: u16) -> (ClassSet, ClassSet) {
        let gate = &self.common.egress.gate;
        (gate.paused(port), gate.blocked(port))
    }

    /// Returns the counters of the NIC.
    #[must_use]
    pub const fn counters(&self) -> &NicCounters {
        &self.common.counters
    }

    /// Returns the number of pauses by neighbours whose pause time expired.
    #[must_use]
    pub fn expired_pauses(&self) -> u64 {
        self.common.egress.gate.expired_pauses()
    }

    /// Calls `visit` with every flow that this NIC sends and that has not ended.
    pub fn for_each_flow(&self, mut visit: impl FnMut(&Unfinished)) {
        each!(&self.half, half => half.for_each_flow(&self.common, &mut visit));
    }

    /// Returns the number of credits that a receiver-driven transport has created and not sent.
    #[must_use]
    pub fn waiting_credits(&self) -> u64 {
        each!(&self.half, half => half.waiting_credits())
    }

    /// Calls `visit` with every flow of a port and class that has bytes left to send.
    // SPFC-44
    pub fn for_each_unsent(&self, port: u16, class: u8, mut visit: impl FnMut(&FlowStart)) {
        let common = &self.common;
        each!(&self.half, half => half.for_each_unsent(common, port, class, &mut visit));
    }

    /// Returns the number of queued replies (ACK, NAK, CNP), for the invariant checks.
    #[must_use]
    pub fn queued_replies(&self, arena: &Arena) -> u64 {
        let own = self.common.egress.replies.len(arena);
        let unprocessed = self.host.as_ref().map_or(0, |host| host.waiting());
        own + unprocessed + each!(&self.half, half => half.queued(arena))
    }
}
