//! The components of a switch: routes, classifier, buffer, PFC, queues, signals, counters.
//!
//! `path.rs` has the steps of a packet as functions of the context [`Cx`](context::Cx). Each
//! component is used by one step: routes, the classifier (`classify.rs`, `flow_table.rs`), the
//! buffer (`mmu.rs`) with PFC (`pfc/`), the queues and their schedule (`queueing/`), the congestion
//! signals (`signal.rs`). The switch (`switch/`) calls these functions. Between them it calls its
//! hop scheme (flow control between neighbours in addition to PFC).

mod c_random;
pub(crate) mod classify;
mod clock;
pub(crate) mod context;
mod egress;
mod entries;
pub(crate) mod flow_table;
pub(crate) mod mmu;
pub(crate) mod pairs;
pub(crate) mod path;
pub mod pfc;
pub(crate) mod place;
pub(crate) mod queueing;
pub(crate) mod shaper;
mod signal;
pub(crate) mod steps;
mod storm;
mod trim;
mod trim_counts;

use crate::classes::{ClassSet, DATA_CLASS};
use crate::config::{Classify, IntConfig, SwitchConfig};
use crate::declaration::Needs;
use crate::ids::QueueId;
use crate::int::{IntFormat, wire};
use crate::link::{LinkSite, Links};
use crate::packet::Packet;
use crate::paths::switch::{ByLoad, Context};
use crate::route::Routes;
use crate::signal::Signal;
use crate::sink::DROP_CAUSES;
use crate::units::{Rate, Time};
use classify::{Classifier, flow_key};
use clock::Clock;
use flow_table::Sampling;
use mmu::Mmu;
use pfc::Pfc;
use place::Place;
use queueing::Queueing;
use shaper::Shaper;
use signal::Marker;
use steps::Steps;
use trim_counts::TrimCounts;

/// Counters of a switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct SwitchCounters {
    /// Packets that arrived, without control frames for the switch itself.
    pub received: u64,
    /// Packets that were sent, without control frames of the switch itself.
    pub sent: u64,
    /// Packets that the switch created.
    pub created: u64,
    /// INT records that the switch wrote.
    pub int_hops: u64,
    /// Packets marked by ECN.
    pub marks: u64,
    /// Packets that the switch dropped.
    pub dropped: u64,
    /// Data packets that were trimmed to their headers.
    pub trims: u64,
    /// Headers that were sent back to their senders.
    pub returned: u64,
    /// Received pauses and resumes that changed nothing. The counter stays 0 unless links lose
    /// frames or bitmaps repeat pauses.
    pub repeated_pauses: u64,
    /// Packets that waited at a port whose link had failed and left by another port.
    pub rerouted: u64,
}

/// Counters of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwitchPortCounters {
    /// Bytes of control frames of the switch that were sent: pauses, credits.
    pub frame_bytes: u64,
    /// Bytes of credit frames that were sent.
    pub credit_bytes: u64,
    /// Data packets that this port marked by ECN.
    pub marked: u64,
    /// Dropped packets with this egress port, per [`DropCause`](crate::sink::DropCause).
    pub dropped: [u64; DROP_CAUSES],
}

/// What the switch does with packets for a port whose link is down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stranded {
    /// Drops packets for a port whose link is down.
    #[default]
    Drop,
    /// Keeps packets for a port whose link is down, until new routes are set or it recovers.
    Wait,
}

/// The ports whose link is down.
#[derive(Debug)]
struct DeadPorts {
    dead: Vec<bool>,
    stranded: Stranded,
}

/// Class properties from `SwitchConfig::classes`, as one bit set of classes per property.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClassBits {
    pub buffered: ClassSet,
    pub ecn: ClassSet,
    pub int: ClassSet,
    /// Classes that ECN marks when packets join a queue.
    pub marked_at_enqueue: ClassSet,
    /// Classes that ECN marks when packets leave a queue.
    pub marked_at_depart: ClassSet,
}

impl ClassBits {
    fn new<H>(config: &SwitchConfig<H>) -> Self {
        let mut class = Self::default();
        for (c, of) in config.classes.iter().enumerate() {
            class.buffered |= ClassSet::from(of.buffered) << c;
            class.ecn |= ClassSet::from(of.ecn) << c;
            class.int |= ClassSet::from(of.int) << c;
        }
        match config.ecn.as_ref().map(|ecn| ecn.at_dequeue) {
            Some(true) => class.marked_at_depart = class.ecn,
            Some(false) => class.marked_at_enqueue = class.ecn,
            None => {}
        }
        class
    }
}

/// The components of a switch. Fields that most packets need come first, so that they use few
/// cache lines.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Pipeline {
    pub(crate) routes: Routes,
    pub(crate) class: ClassBits,
    /// Optional steps that this switch executes.
    pub(crate) steps: Steps,
    /// True if INT records are written into data packets.
    pub(crate) int: bool,
    /// Bits of the switch ID that are combined into the pathID field of INT.
    pub(crate) path_id: u32,
    pub(crate) classifier: Classifier,
    pub(crate) queueing: Queueing,
    pub(crate) mmu: Mmu,
    pub(crate) pfc: Pfc,
    /// The ports whose link is down. `None` until the first change of a link or route.
    dead: Option<Box<DeadPorts>>,
    pub(crate) counters: SwitchCounters,
    pub(crate) marker: Option<Marker>,
    /// Format of INT records. `None`: exact records, with a counter of sent bytes.
    pub(crate) int_as: Option<IntConfig>,
    /// Number of bytes in all VOQs, if INT of parked packets reports it.
    pub(crate) voq_bytes: Option<u64>,
    pub(crate) port_counters: Vec<SwitchPortCounters>,
    /// Selects the fraction of packets that the flow table counts.
    pub(crate) sampling: Sampling,
    pub(crate) clock: Option<Box<Clock>>,
    pub(crate) shaper: Option<Box<Shaper>>,
    pub(crate) trimmer: Option<Box<TrimCounts>>,
    /// State of a load-balancing policy that selects the egress port by the load of ports.
    by_load: Option<Box<ByLoad>>,
    /// The scheme that sends congestion notifications to senders.
    pub(crate) signal: Option<Box<Signal>>,
    /// Schemes of the links at its ports (for example credits or link-level retry).
    pub(crate) links: Option<Box<Links>>,
}

impl Pipeline {
    pub(crate) fn new<H>(
        id: u32,
        config: &SwitchConfig<H>,
        needs: &Needs,
        ports: &[(Rate, Time)],
        routes: Routes,
    ) -> Self {
        let mut queueing = Queueing::new(config, needs, ports);
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
        let mut core = Self {
            steps: Steps::NONE,
            routes,
            classifier: Classifier::new(config, needs.hop_rtt_ps, ports, &queueing),
            mmu: Mmu::new(config, ports),
            pfc: Pfc::new(config, ports),
            queueing,
            marker,
            class: ClassBits::new(config),
            int: config.int.is_some(),
            int_as: config.int.filter(|int| *int != IntConfig::default()),
            voq_bytes: needs.int_reports_voqs.then_some(0),
            path_id: match config.int.unwrap_or_default().format {
                IntFormat::Exact => id,
                IntFormat::Wire(_) => wire::path_id(id),
            },
            counters: SwitchCounters::default(),
            port_counters: vec![SwitchPortCounters::default(); ports.len()],
            dead: None,
            sampling: Sampling::new(needs.sampling, id),
            clock: Clock::new(read_ps, needs.period_ps).map(Box::new),
            shaper: (config.shaped.as_ref()).map(|queue| Box::new(Shaper::new(queue, ports))),
            signal: (config.notifier.as_ref())
                .map(|notifier| Box::new(Signal::new(notifier, config.max_frame, ports))),
            trimmer: config.trim.map(|trim| {
                let classes = config.classes.len();
                Box::new(TrimCounts::new(trim, ports.len(), classes))
            }),
            by_load: ByLoad::new(&config.path),
            links: Links::new(
                &config.link,
                &LinkSite {
                    ports,
                    classes: config.classes.len() as u8,
                    max_frame: config.max_frame,
                },
            ),
        };
        core.steps = Steps::NONE
            .with_if(core.clock.is_some(), Steps::CLOCK)
            .with_if(config.acks_return, Steps::TRAIL)
            .with_if(core.by_load.is_some(), Steps::BY_LOAD)
            .with_if(core.shaper.is_some(), Steps::SHAPE)
            .with_if(core.trimmer.is_some(), Steps::TRIM)
            .with_if(core.signal.is_some(), Steps::NOTIFY)
            .with_if(config.guard.is_some(), Steps::WATCHDOG)
            .with_if(core.links.is_some(), Steps::LINK_SCHEMES)
            .with_if(needs.queues_behind, Steps::VOQS)
            .with_if(
                core.int_as.is_some() || core.voq_bytes.is_some(),
                Steps::INT_FORMAT,
            );
        core
    }

    /// Returns the egress port of a packet, selected by the loads of the equal-cost ports, or
    /// `None` if no port leads to its destination.
    // PTH-01: the policy reads loads of this switch; PTH-03: they include all earlier packets
    #[inline(never)]
    pub(crate) fn port_by_load(&mut self, now: Time, packet: &Packet) -> Option<u16> {
        let ports = self.routes.ports(packet.dst)?;
        let (dead, queues) = (&self.dead, &self.queueing.ports);
        let is_dead = |port| dead.as_ref().is_some_and(|d| d.dead[usize::from(port)]);
        let cx = Context {
            now,
            hash: self.routes.flow_hash(packet),
            load: |port| (!is_dead(port)).then(|| queues[usize::from(port)].bytes),
        };
        let policy = self.by_load.as_mut()?;
        Some(policy.choose(&cx, packet, ports))
    }

    /// Updates the tables for an accepted packet. `place` is the result of [`Classifier::place`].
    /// Returns the queue, and true if the flow-table entry has no other packet in the switch.
    #[inline(always)]
    pub(crate) fn commit(
        &mut self,
        now: Time,
        port: u16,
        packet: &Packet,
        place: Place,
    ) -> (QueueId, bool) {
        match &mut self.classifier {
            Classifier::Fifo => (place.queue, false),
            Classifier::Dynamic(table) if packet.class() >= DATA_CLASS => {
                let counted = self.sampling.counts(packet);
                let alone = table.commit(now, packet, place, counted, &self.queueing);
                (place.queue, alone)
            }
            Classifier::PerFlow(flows) if place.queue == QueueId::NONE => {
                let queue = self.queueing.make(port, packet.class());
                flows.insert(flow_key(port, packet), queue);
                (queue, false)
            }
            _ => (place.queue, false),
        }
    }

    /// Subtracts a packet that has left its queue from the tables of the classifier.
    #[inline(always)]
    pub(crate) fn departed(&mut self, now: Time, port: u16, packet: &Packet, queue: QueueId) {
        if matches!(self.classifier, Classifier::Fifo) || packet.class() < DATA_CLASS {
            return;
        }
        match &mut self.classifier {
            Classifier::Dynamic(table) if self.sampling.counts(packet) => {
                table.departed(now, port, packet);
            }
            Classifier::PerFlow(flows) if self.queueing.get(queue).is_empty() => {
                flows.remove(&flow_key(port, packet));
                self.queueing.release(queue);
            }
            _ => {}
        }
    }

    /// Checks in debug builds that an arriving packet satisfies the requirements of
    /// `Switch::receive`.
    #[inline(always)]
    pub(crate) fn check_arrival(&self, in_port: u16, packet: &Packet) {
        debug_assert!(in_port < self.ports(), "port {in_port} of {}", self.ports());
        debug_assert!(
            (packet.dst as usize) < self.routes.endpoints().group.len(),
            "endpoint {} is not in the network",
            packet.dst
        );
        debug_assert!(
            packet.class() < self.queueing.classes(),
            "class {} is not configured",
            packet.class()
        );
    }

    /// Returns the number of ports.
    #[must_use]
    pub const fn ports(&self) -> u16 {
        self.queueing.ports.len() as u16
    }

    /// True if the link at a port is down.
    #[must_use]
    pub fn is_dead(&self, port: u16) -> bool {
        self.dead.as_ref().is_some_and(|d| d.dead[port as usize])
    }

    /// Records that links or routes have changed. From then on the switch checks for every packet
    /// if the link is up.
    pub(crate) fn note_change(&mut self) {
        let ports = self.queueing.ports.len();
        self.steps = self.steps.or(Steps::LINKS);
        self.dead.get_or_insert_with(|| {
            Box::new(DeadPorts {
                dead: vec![false; ports],
                stranded: Stranded::Drop,
            })
        });
    }

    /// Records that the link at a port has failed or recovered. `failed` is the treatment of
    /// packets for this port, or `None` after recovery.
    pub(crate) fn set_dead(&mut self, port: u16, failed: Option<Stranded>) {
        self.note_change();
        if let Some(dead) = &mut self.dead {
            dead.dead[port as usize] = failed.is_some();
            dead.stranded = failed.unwrap_or(dead.stranded);
        }
    }

    /// Returns true if packets for this port are dropped because its link is down.
    #[cold]
    #[inline(never)]
    pub(crate) fn is_lost_at(&self, port: u16) -> bool {
        self.dead
            .as_ref()
            .is_some_and(|d| d.dead[port as usize] && d.stranded == Stranded::Drop)
    }

    /// Returns true if the flow table counts a packet. The result depends only on packet and
    /// switch, so it is the same at arrival and departure of the packet.
    // BFC-32
    #[inline]
    pub(crate) fn counts(&self, packet: &Packet) -> bool {
        self.sampling.counts(packet)
    }

    /// Counts a control frame of this switch that is sent by a port.
    #[inline]
    pub(crate) fn frame_left(&mut self, port: u16, packet: &Packet) {
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

    /// Subtracts a control frame from the queued bytes that INT reports. The frame was removed from
    /// its queue and is not sent.
    pub(crate) fn frame_withdrawn(&mut self, port: u16, frame: &Packet) {
        if self.class.int & 1 != 0 {
            let telemetry = &mut self.queueing.ports[port as usize].telemetry;
            debug_assert!(
                telemetry.int_bytes >= u64::from(frame.size),
                "bytes for INT of a port"
            );
            telemetry.int_bytes -= u64::from(frame.size);
        }
    }
}
