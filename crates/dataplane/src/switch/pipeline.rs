//! What every switch has, whatever it tells its neighbours: routes, classifier, buffer, queues, signals,
//! and the steps of a packet through them.

use super::classify::Classifier;
use super::flow_table::Sampling;
use super::mmu::Mmu;
use super::needs::Needs;
use super::place::Place;
use super::queueing::Queueing;
use super::signal::{self, Marker};
use crate::classes::ClassSet;
use crate::config::{IntConfig, Scope, SwitchConfig};
use crate::ids::QueueId;
use crate::int::{IntFormat, IntHop, wire};
use crate::packet::{Arena, Cold, Kind, Packet, PacketId, flag};
use crate::pause_time::TimedPauses;
use crate::route::Routes;
use crate::sink::{DROP_CAUSES, DropCause, Sink};
use crate::units::{Rate, Time};

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
    /// Of them credits.
    pub credit_bytes: u64,
    /// Packets that left marked by this port.
    pub marked: u64,
    /// Packets dropped on their way to this port, per [`DropCause`].
    pub dropped: [u64; DROP_CAUSES],
}

/// What becomes of packets for a port whose link is down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stranded {
    /// They are dropped.
    #[default]
    Drop,
    /// They wait for new routes, or for the link.
    Wait,
}

/// Which ports have a dead link.
#[derive(Debug)]
struct DeadPorts {
    dead: Vec<bool>,
    stranded: Stranded,
}

/// Per class, as bits: what `SwitchConfig::classes` says.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClassBits {
    pub buffered: ClassSet,
    pub ecn: ClassSet,
    pub int: ClassSet,
}

/// What a packet found when it joined its queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    /// Bytes that its queue held before it.
    pub bytes: u64,
    /// The flow table knows of no other packet of its flow here.
    pub alone: bool,
}

/// A packet that has left its queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Left<'a> {
    pub port: u16,
    pub queue: QueueId,
    pub id: PacketId,
    /// Its record as it was in the queue.
    pub packet: &'a Packet,
    /// What INT says of the bytes that wait, if not those of the port.
    pub waits: Option<u64>,
}

/// The parts of a switch. The fields, and those of the parts, stand in the order in which most packets
/// need them, so that they take few cache lines.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Pipeline {
    pub routes: Routes,
    pub class: ClassBits,
    /// A packet meets nothing here but routes, buffer, queues, ECN and exact INT.
    pub plain: bool,
    /// The switch has a shaped class, or trims.
    pub assists: bool,
    int: bool,
    /// ACKs go back the way on which their packet came.
    acks_return: bool,
    /// What INT's pathID takes of the switch's number.
    path_id: u32,
    pub classifier: Classifier,
    pub queueing: Queueing,
    pub mmu: Mmu,
    /// `None`: neither links nor routes have changed yet.
    dead: Option<Box<DeadPorts>>,
    pub counters: SwitchCounters,
    pub marker: Option<Marker>,
    /// How INT is written, if not exactly and of what was sent.
    int_as: Option<IntConfig>,
    pub port_counters: Vec<SwitchPortCounters>,
    /// Which packets the flow table counts.
    sampling: Sampling,
    /// Pauses of neighbours that run out.
    pub timed: Box<TimedPauses>,
}

impl Pipeline {
    pub fn new<H>(
        id: u32,
        config: &SwitchConfig<H>,
        needs: &Needs,
        ports: &[(Rate, Time)],
        routes: Routes,
    ) -> Self {
        let mut class = ClassBits::default();
        for (c, of) in config.classes.iter().enumerate() {
            class.buffered |= ClassSet::from(of.buffered) << c;
            class.ecn |= ClassSet::from(of.ecn) << c;
            class.int |= ClassSet::from(of.int) << c;
        }
        let mut queueing = Queueing::new(config, needs, ports.len());
        let marker = config
            .ecn
            .as_ref()
            .map(|e| Marker::new(e, ports.iter().map(|p| p.0)));
        for (nth, (port, (rate, _))) in (0..).zip(queueing.ports.iter_mut().zip(ports)) {
            port.telemetry.rate_mbps = (rate.bps() / 1_000_000) as u32;
            port.telemetry.unmarked_bytes = marker.as_ref().map_or(u32::MAX, |m| m.unmarked(nth));
        }
        Self {
            plain: false,
            routes,
            classifier: Classifier::new(config, needs.hop_rtt_ps, ports, &queueing),
            mmu: Mmu::new(config, ports),
            queueing,
            marker,
            assists: config.assist.is_some(),
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
            sampling: Sampling::new(needs.sampling, id),
            timed: Box::new(TimedPauses::new(ports.iter().map(|link| link.0))),
        }
    }

    /// Whether a packet meets nothing here but routes, buffer, queues, ECN and exact INT.
    pub fn is_plain(&self) -> bool {
        self.dead.is_none()
            && !self.assists
            && !self.acks_return
            && self.int_as.is_none()
            && self.mmu.is_plain()
            && self.queueing.is_plain()
    }

    /// How many ports there are.
    pub const fn ports(&self) -> u16 {
        self.queueing.ports.len() as u16
    }

    /// Whether the link at a port is down.
    pub fn is_dead(&self, port: u16) -> bool {
        self.dead.as_ref().is_some_and(|d| d.dead[port as usize])
    }

    /// Holds classes of a port, or lets them go, for the neighbour. Returns whether that changed anything.
    pub fn hold_classes<S: Sink>(
        &mut self,
        port: u16,
        classes: ClassSet,
        on: bool,
        sink: &mut S,
    ) -> bool {
        let before = self.queueing.held_classes(port).0;
        let after = match on {
            true => before | classes,
            false => before & !classes,
        };
        self.queueing.pause_classes(port, after);
        sink.pfc_received(port, before, after);
        before != after
    }

    /// Lets go what is held by pauses that have run out, and asks to be called for the next.
    // QNT-03
    pub fn end_pauses<S: Sink>(&mut self, now: Time, sink: &mut S) {
        while let Some((port, class)) = self.timed.expired(now) {
            self.hold_classes(port, 1 << class, false, sink);
            sink.kick(port);
        }
        if let Some(next) = self.timed.next() {
            sink.wake(next);
        }
    }

    /// Links or routes change: from now on this is no plain switch.
    pub fn note_change(&mut self) {
        let ports = self.queueing.ports.len();
        self.plain = false;
        self.dead.get_or_insert_with(|| {
            Box::new(DeadPorts {
                dead: vec![false; ports],
                stranded: Stranded::Drop,
            })
        });
    }

    /// The link at a port has failed, or is back.
    pub fn set_dead(&mut self, port: u16, is_dead: bool, stranded: Stranded) {
        self.note_change();
        if let Some(dead) = &mut self.dead {
            dead.dead[port as usize] = is_dead;
            dead.stranded = stranded;
        }
    }

    /// Whether links or routes have ever changed here.
    #[inline]
    pub const fn has_changed(&self) -> bool {
        self.dead.is_some()
    }

    /// Whether a packet that is to leave by this port is lost with its link.
    #[cold]
    #[inline(never)]
    pub fn is_lost_at(&self, port: u16) -> bool {
        self.dead
            .as_ref()
            .is_some_and(|d| d.dead[port as usize] && d.stranded == Stranded::Drop)
    }

    /// Where a packet goes on.
    #[inline(always)]
    pub fn egress<const PLAIN: bool>(
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

    /// Whether the flow table counts a packet. A function of the packet, so that it is the same when it
    /// leaves.
    // BFC-32
    #[inline]
    pub fn counts(&self, packet: &Packet) -> bool {
        self.sampling.counts(packet)
    }

    /// The queue that a packet would join at a port.
    #[inline(always)]
    pub fn place<S: Sink>(&self, now: Time, port: u16, packet: &Packet, sink: &mut S) -> Place {
        let draw = &mut || sink.draw();
        self.classifier
            .place(now, port, packet, &self.queueing, draw)
    }

    /// Commits an admitted packet to its place and lets it join its queue. The caller kicks the port.
    #[inline]
    pub fn forward<S: Sink>(
        &mut self,
        now: Time,
        port: u16,
        place: Place,
        id: PacketId,
        arena: &mut Arena,
        sink: &mut S,
    ) -> Found {
        let packet = *arena.hot(id);
        let (queue, alone) = if self.queueing.is_behind(place.queue) {
            (place.queue, false)
        } else {
            let counted = self.counts(&packet);
            self.classifier
                .commit(now, port, &packet, place, counted, &mut self.queueing)
        };
        let bytes = self.enqueue(port, queue, (id, &packet), arena, sink);
        Found { bytes, alone }
    }

    /// The packet joins its queue, and the signals look at what it finds there: the bytes that its queue
    /// held. The caller kicks the port.
    #[inline(always)]
    pub fn enqueue<S: Sink>(
        &mut self,
        port: u16,
        queue: QueueId,
        (id, packet): (PacketId, &Packet),
        arena: &mut Arena,
        sink: &mut S,
    ) -> u64 {
        let found = self.queueing.get(queue).bytes();
        self.queueing.push(queue, id, arena);
        let bit = 1 << packet.class();
        let size = u64::from(packet.size);
        let telemetry = &mut self.queueing.ports[port as usize].telemetry;
        if self.class.int & bit != 0 {
            telemetry.int_bytes += size;
        }
        if self.class.ecn & bit != 0 {
            telemetry.ecn_bytes += size;
            self.mark(port, queue, id, false, arena, sink);
        }
        found
    }

    /// A frame of the switch's own leaves by a port.
    #[inline]
    pub fn frame_left(&mut self, port: u16, packet: &Packet) {
        let counters = &mut self.port_counters[port as usize];
        let size = u64::from(packet.size);
        counters.frame_bytes += size;
        if packet.is_credit() {
            counters.credit_bytes += size;
        }
        if self.class.int & 1 != 0 {
            let telemetry = &mut self.queueing.ports[port as usize].telemetry;
            debug_assert!(telemetry.int_bytes >= size, "bytes for INT of a port");
            telemetry.int_bytes -= size;
            telemetry.int_tx += size;
        }
    }

    /// A frame of the switch's own is taken out of its queue without leaving.
    pub fn frame_withdrawn(&mut self, port: u16, frame: &Packet) {
        if self.class.int & 1 != 0 {
            let telemetry = &mut self.queueing.ports[port as usize].telemetry;
            debug_assert!(
                telemetry.int_bytes >= u64::from(frame.size),
                "bytes for INT of a port"
            );
            telemetry.int_bytes -= u64::from(frame.size);
        }
    }

    /// Marks and telemetry of a packet that has left its queue.
    #[inline(always)]
    pub fn signal<const PLAIN: bool, S: Sink>(
        &mut self,
        now: Time,
        Left {
            port,
            queue,
            id,
            packet,
            waits,
        }: Left<'_>,
        arena: &mut Arena,
        sink: &mut S,
    ) {
        let bit = 1 << packet.class();
        let size = u64::from(packet.size);
        let telemetry = &mut self.queueing.ports[port as usize].telemetry;
        if self.class.ecn & bit != 0 {
            debug_assert!(telemetry.ecn_bytes >= size, "bytes for ECN of a port");
            telemetry.ecn_bytes -= size;
        }
        if self.class.int & bit != 0 {
            debug_assert!(telemetry.int_bytes >= size, "bytes for INT of a port");
            telemetry.int_bytes -= size;
            let sent_before = telemetry.int_tx;
            telemetry.int_tx += size;
            if self.int && packet.kind() == Kind::Data && packet.has(flag::INT) {
                // SW-33
                let hop = IntHop {
                    ts_ps: now,
                    tx_bytes: sent_before,
                    qlen_bytes: waits
                        .unwrap_or(telemetry.int_bytes)
                        .min(u64::from(u32::MAX)) as u32,
                    rate_mbps: telemetry.rate_mbps,
                };
                let fits = arena.push_hop(id, self.path_id, hop);
                self.counters.int_hops += 1;
                if !PLAIN && fits && self.int_as.is_some() {
                    self.rewrite_int(port, id, arena);
                }
            }
        }
        if self.class.ecn & bit != 0 {
            self.mark(port, queue, id, true, arena, sink);
        }
    }

    /// Makes the record that a packet just got, which is exact, what the configuration says.
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
        queue: QueueId,
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

    /// A packet is taken out of its queue without leaving: signals forget it.
    pub fn unsignal(&mut self, port: u16, packet: &Packet) {
        let bit = 1 << packet.class();
        let size = u64::from(packet.size);
        let telemetry = &mut self.queueing.ports[port as usize].telemetry;
        if self.class.ecn & bit != 0 {
            debug_assert!(telemetry.ecn_bytes >= size, "bytes for ECN of a port");
            telemetry.ecn_bytes -= size;
        }
        if self.class.int & bit != 0 {
            debug_assert!(telemetry.int_bytes >= size, "bytes for INT of a port");
            telemetry.int_bytes -= size;
        }
    }

    /// A packet left its queue: the classifier's books.
    #[inline(always)]
    pub fn unplace<const PLAIN: bool>(
        &mut self,
        now: Time,
        port: u16,
        packet: &Packet,
        queue: QueueId,
    ) {
        if PLAIN || !self.queueing.is_behind(queue) {
            let counted = PLAIN || self.counts(packet);
            self.classifier
                .departed(now, port, packet, queue, counted, &mut self.queueing);
        }
    }

    /// Puts a frame of the switch's own in front of everything at a port.
    // SW-42
    pub fn emit<S: Sink>(
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

    /// Drops a packet that stands in no queue and holds no buffer.
    pub fn drop<S: Sink>(
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
        sink.dropped(arena.hot(id), port, cause);
        // SW-52
        if !sink.keep(id, cause) {
            arena.free(id);
        }
    }
}
