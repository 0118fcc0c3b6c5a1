//! The parts of a switch that hop schemes use: routes, classifier, buffer, PFC, queues, signals,
//! counters.
//!
//! `path.rs` has the steps of a packet as functions of the context [`Cx`](context::Cx). Each part
//! serves one of them: routes, the classifier (`classify.rs`, `flow_table.rs`), the buffer
//! (`mmu.rs`) with PFC (`pfc/`), the queues and their schedule (`queueing/`), the signals
//! (`signal.rs`). The switch (`switch/`) calls these functions, and its hop scheme between them.

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
    /// Packets that arrived, without frames for the switch itself.
    pub received: u64,
    /// Packets that left, without its own frames.
    pub sent: u64,
    /// Packets that the switch created.
    pub created: u64,
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
    /// Pauses and resumes that changed nothing. The counter stays 0 unless links lose frames or
    /// bitmaps repeat pauses.
    pub repeated_pauses: u64,
    /// Packets that waited at a port whose link had failed and left by another port.
    pub rerouted: u64,
}

/// Counters of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwitchPortCounters {
    /// Bytes of frames of the switch itself that left: pauses, credits.
    pub frame_bytes: u64,
    /// Bytes of credits among them.
    pub credit_bytes: u64,
    /// Data packets that this port marked.
    pub marked: u64,
    /// Packets dropped on their way to this port, per [`DropCause`](crate::sink::DropCause).
    pub dropped: [u64; DROP_CAUSES],
}

/// Fate of packets for a port whose link is down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stranded {
    /// They are dropped.
    #[default]
    Drop,
    /// They wait for new routes, or for the link.
    Wait,
}

/// The ports whose link is down.
#[derive(Debug)]
struct DeadPorts {
    dead: Vec<bool>,
    stranded: Stranded,
}

/// Class properties from `SwitchConfig::classes`, as one bit set per property.
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

/// The parts of a switch. Fields that most packets need come first, so that they use few cache
/// lines.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Pipeline {
    pub(crate) routes: Routes,
    pub(crate) class: ClassBits,
    /// Optional steps that this switch executes.
    pub(crate) steps: Steps,
    /// True if INT is written on data packets.
    pub(crate) int: bool,
    /// The part of the switch's number that INT's pathID contains.
    pub(crate) path_id: u32,
    pub(crate) classifier: Classifier,
    pub(crate) queueing: Queueing,
    pub(crate) mmu: Mmu,
    pub(crate) pfc: Pfc,
    /// The ports whose link is down; `None`: neither links nor routes have changed yet.
    dead: Option<Box<DeadPorts>>,
    pub(crate) counters: SwitchCounters,
    pub(crate) marker: Option<Marker>,
    /// Format of INT records; `None`: exact records that count sent bytes.
    pub(crate) int_as: Option<IntConfig>,
    /// Bytes in all VOQs, if parked packets report them by INT.
    pub(crate) voq_bytes: Option<u64>,
    pub(crate) port_counters: Vec<SwitchPortCounters>,
    /// Selects the packets that the flow table counts.
    pub(crate) sampling: Sampling,
    pub(crate) clock: Option<Box<Clock>>,
    pub(crate) shaper: Option<Box<Shaper>>,
    pub(crate) trimmer: Option<Box<TrimCounts>>,
    /// The state of a path policy that reads the loads of ports.
    by_load: Option<Box<ByLoad>>,
    /// The scheme that sends notices to senders.
    pub(crate) signal: Option<Box<Signal>>,
    /// The schemes of the links.
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
    // PTH-01: the policy reads this switch; PTH-03: with the packets handled before
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

    /// Updates the tables for an accepted packet that [`Classifier::place`] assigned. Returns the
    /// queue, and true if the flow-table entry has no other packet in the switch.
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

    /// Removes a packet that has left a queue from the classifier.
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

    /// Checks in debug builds that an arriving packet satisfies the guarantees of the driver.
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

    /// Records that links or routes have changed. From now on the switch checks the state of links.
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

    /// Records that the link at a port has failed or recovered. `failed` is the fate of packets for
    /// this port, or `None` after recovery.
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
    /// switch, so it is the same when the packet leaves.
    // BFC-32
    #[inline]
    pub(crate) fn counts(&self, packet: &Packet) -> bool {
        self.sampling.counts(packet)
    }

    /// Counts a control frame of this switch that leaves by a port.
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

    /// Subtracts a control frame from the queued bytes of INT. It was removed from its queue and is
    /// not sent.
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
