//! State that a node accesses through its sink (its interface to the engine): its own ports, timer
//! and random stream, and the counters of its partition.

use dataplane::classes::{ClassSet, MAX_CLASSES, classes_of};
use dataplane::event::{EventSet, NodeEvent};
use dataplane::ids::IndexVec;
use dataplane::nic::FlowEnd;
use dataplane::packet::{Kind, Packet, PacketId};
use dataplane::sink::{DROP_CAUSES, DropCause, Sink};
use dataplane::switch::MixedMap;
use dataplane::units::{NEVER, Time};
use kernel::StreamHeads;
use kernel::calendar::{Calendar, Event, phase};
use kernel::digest::fold;
use kernel::random::Stream;

use super::lanes::Lanes;
use super::link_ends::Links;
use super::measure::{self, Dropped};
use super::notices::Notices;
use crate::ids::{LinkId, LocalNode, NodeId};
use crate::record::PauseRecord;

/// Returns a key for a class of a port. Keys are sorted by port, then by class.
pub(super) const fn class_at(link: LinkId, class: u8) -> u32 {
    link.bits() * MAX_CLASSES as u32 + class as u32
}

/// Returns the port and class of a key from [`class_at`].
pub(super) const fn link_and_class(key: u32) -> (LinkId, u8) {
    let classes = MAX_CLASSES as u32;
    (LinkId::from_bits(key / classes), (key % classes) as u8)
}

/// State of a node in the engine, in addition to its state machine.
#[derive(Debug)]
pub(super) struct Node {
    pub stream: Stream,
    /// Time at which the timer of the node expires; [`NEVER`]: not set.
    pub armed_ps: Time,
    /// Time to which the timer is set after it has expired: the later time that an earlier request
    /// had set; [`NEVER`]: none.
    pub then_ps: Time,
    /// ID of the node.
    pub number: NodeId,
    /// Link of port 0 of the node.
    pub base: LinkId,
    /// Running hash over the packets that the node has dropped.
    pub digest: u64,
}

/// Shared state that the handlers of all nodes of a partition access through their sinks.
#[derive(Debug)]
pub(super) struct Core<C> {
    pub now: Time,
    pub calendar: Lanes<C>,
    pub links: Links,
    pub nodes: IndexVec<LocalNode, Node>,
    pub drops: [u64; DROP_CAUSES],
    /// Classes without packet loss, as a bit set.
    pub lossless: ClassSet,
    /// True if links fail, so that a packet may have no route.
    pub links_fail: bool,
    /// Number of packets of lossless classes that were lost, which is an error.
    pub broken_promises: u64,
    /// Number of pause and resume frames that have arrived but have not taken effect.
    pub late_frames: u64,
    /// True if `ends` or `delivered` has entries.
    pub flows_changed: bool,
    pub ends: Vec<FlowEnd>,
    /// True if completed flows are added to `delivered`, because ranks wait for messages or a
    /// measure needs the flows.
    pub lists_deliveries: bool,
    pub delivered: Vec<(LocalNode, u32)>,
    pub notices: Notices,
    /// Open pauses by [`class_at`]: start time, and index of the pause if a measure counts pauses.
    pub paused: MixedMap<u32, (Time, Option<u32>)>,
    pub pauses: Vec<PauseRecord>,
    /// Kinds of events that the measures of the run handle.
    pub wants: EventSet,
    /// Events that nodes have reported and measures have not handled yet.
    pub reported: Vec<measure::Event<'static>>,
    /// Index of the pause in the PFC frame that is being processed, if a measure counts pauses.
    pub reading: Option<u32>,
    pub events: u64,
    /// One common sequence of random numbers, to replay a run of ns-3; `None`: each node has its
    /// own stream.
    pub replayed: Option<StreamHeads>,
}

impl<C: Calendar> Core<C> {
    /// Counts a change of the set of paused classes of a port.
    // ENG-32
    pub fn pause(&mut self, link: LinkId, before: ClassSet, after: ClassSet) {
        let now = self.now;
        let pauses = &mut self.links.pauses[link];
        if before == 0 && after != 0 {
            pauses.since_ps = now;
        } else if before != 0 && after == 0 {
            pauses.paused_ps += now - pauses.since_ps;
            pauses.since_ps = NEVER;
        }
        for class in classes_of(before ^ after) {
            let key = class_at(link, class);
            if after >> class & 1 != 0 {
                self.links.pauses[link].count += 1;
                self.paused.insert(key, (now, self.reading));
            } else if let Some(pause) = self.paused.remove(&key) {
                self.links.pauses[link].resumes += 1;
                self.pauses.push(self.pause_record(key, pause, now, false));
            }
        }
    }

    /// Stores an event if a measure of the run handles its kind.
    #[inline(always)]
    fn report(&mut self, event: measure::Event<'static>) {
        if self.wants.intersects(event.kind()) {
            self.add_reported(event);
        }
    }

    // Not inlined, because most runs have no measures.
    #[inline(never)]
    fn add_reported(&mut self, event: measure::Event<'static>) {
        self.reported.push(event);
    }

    /// Ends all open pauses, because the run ends.
    // ENG-32, RCD-10
    pub fn close_pauses(&mut self, end_ps: Time) {
        let mut open: Vec<_> = self.paused.drain().collect();
        open.sort_unstable();
        for (key, pause) in open {
            let record = self.pause_record(key, pause, end_ps.max(pause.0), true);
            self.pauses.push(record);
        }
        for pauses in self.links.pauses.iter_mut() {
            if pauses.since_ps != NEVER {
                pauses.paused_ps += end_ps.saturating_sub(pauses.since_ps);
            }
        }
    }

    // RCD-10: a row per pause: paused port, class, start and end
    fn pause_record(
        &self,
        key: u32,
        (from_ps, number): (Time, Option<u32>),
        to_ps: Time,
        open: bool,
    ) -> PauseRecord {
        let (link, class) = link_and_class(key);
        let link = &self.links.near[link];
        PauseRecord {
            node: self.nodes[link.node].number,
            port: link.port,
            class,
            from_ps,
            to_ps,
            open,
            number,
        }
    }
}

/// The sink of one node: it gives access only to the node's own ports, timer and random stream.
// ENG-08
pub(super) struct NodeSink<'a, C> {
    pub core: &'a mut Core<C>,
    pub node: LocalNode,
    /// Link of port 0 of the node.
    pub base: LinkId,
}

impl<'a, C> NodeSink<'a, C> {
    /// Creates the sink of a node, and looks up the link of the node's port 0.
    pub fn of(core: &'a mut Core<C>, node: LocalNode) -> Self {
        let base = core.nodes[node].base;
        Self { core, node, base }
    }
}

impl<C: Calendar> NodeSink<'_, C> {
    /// Counts a packet that this node drops. `link` is the egress port of the packet.
    pub fn note_drop(&mut self, packet: &Packet, link: Option<LinkId>, cause: DropCause) {
        self.core.drops[cause as usize] += 1;
        let excused = cause == DropCause::NoRoute && self.core.links_fail; // LNK-30: link failed
        if cause != DropCause::Link && !excused {
            self.core.broken_promises += u64::from(self.core.lossless >> packet.class() & 1);
        }
        if !packet.is_frame() {
            let node = self.core.nodes[self.node].number;
            self.core.report(measure::Event::Dropped(Dropped {
                flow: packet.flow,
                psn: packet.psn,
                is_data: matches!(packet.kind(), Kind::Data | Kind::Header | Kind::Returned),
                cause,
                node,
                link,
            }));
        }
        let node = &mut self.core.nodes[self.node];
        let what = u64::from(packet.flow) << 32 | u64::from(packet.psn);
        node.digest = fold(fold(node.digest, self.core.now), what);
    }
}

impl<C: Calendar> Sink for NodeSink<'_, C> {
    #[inline]
    fn kick(&mut self, port: u16) {
        let core = &mut *self.core;
        let link = self.base.at_port(port);
        // If the link is busy, schedule the port-free event now instead of in the next round.
        let busy = core.links.near[link].busy_ps > core.now;
        if busy
            && !core.wants.intersects(measure::Event::QUEUE_TOUCHED)
            && !C::IN_ORDER_OF_SCHEDULING
        {
            core.links.arm(link, &mut core.calendar.here);
        } else {
            core.links.kick(link);
        }
    }

    #[inline]
    fn wake(&mut self, at: Time) {
        let node = &mut self.core.nodes[self.node];
        // ENG-09: keep the later time, if any
        if at < node.armed_ps {
            node.then_ps = std::mem::replace(&mut node.armed_ps, at);
            let at = at.max(self.core.now);
            self.core
                .calendar
                .here
                .push(Event::new(at, phase::TIMER, self.node.bits(), 0));
        }
    }

    fn call(&mut self, at: Time, what: u32) {
        let event = Event::new(at, phase::TIMER, self.node.bits(), what);
        self.core.calendar.here.push(event);
    }

    fn unit(&mut self) -> f64 {
        match &mut self.core.replayed {
            Some(heads) => heads.next_unit(), // NS3-18: common sequence
            None => self.core.nodes[self.node].stream.unit(),
        }
    }

    fn dropped(&mut self, packet: &Packet, port: Option<u16>, cause: DropCause) {
        let link = port.map(|port| self.base.at_port(port));
        self.note_drop(packet, link, cause);
    }

    fn keep(&mut self, id: PacketId, cause: DropCause) -> bool {
        // LNK-26: without link failures, packets without a route are not announced
        let announced =
            self.core.notices.on && (cause != DropCause::NoRoute || self.core.links_fail);
        if announced {
            self.core.notices.dropped.push((self.node, id));
        }
        announced
    }

    fn wants(&self, kinds: EventSet) -> bool {
        self.core.wants.intersects(kinds)
    }

    #[inline(always)]
    fn event(&mut self, what: NodeEvent) {
        let node = self.node;
        self.core.report(measure::Event::Node { node, what });
    }

    fn draw(&mut self) -> u64 {
        self.core.nodes[self.node].stream.next_u64()
    }

    fn pfc_received(&mut self, port: u16, before: ClassSet, after: ClassSet) {
        let link = self.base.at_port(port);
        self.core.pause(link, before, after);
    }

    // QNT-13: count frames separately from transitions
    fn pfc_frame_received(&mut self, port: u16, on: bool) {
        let link = self.base.at_port(port);
        let pauses = &mut self.core.links.pauses[link];
        match on {
            true => pauses.frames += 1,
            false => pauses.resume_frames += 1,
        }
    }

    fn delivered(&mut self, flow: u32) {
        if self.core.lists_deliveries {
            self.core.delivered.push((self.node, flow));
            self.core.flows_changed = true;
        }
    }

    fn finished(&mut self, end: FlowEnd) {
        self.core.ends.push(end);
        self.core.flows_changed = true;
    }
}
