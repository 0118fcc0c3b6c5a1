//! Backpressure flow control (Goyal et al., NSDI 2022, §3.3.2): pause thresholds, and pause
//! counters per upstream queue.
//!
//! The rules are in `specs/bfc.md`. The classifier (`pipeline/flow_table.rs`) selects the queue of
//! a flow. Switches without BFC can use the same classifier.

mod config;
mod frames;
mod spec;

use std::ops::Range;

use super::{HopScheme, Site, Topology};
use crate::classes::DATA_CLASS;
use crate::config::{Classify, SwitchConfig};
use crate::declaration::{Counter, Scheme};
use crate::event::NodeEvent;
use crate::mixed::MixedMap;
use crate::packet::{Frame, Packet, PacketId, SchemeNumber, flag};
use crate::pipeline::Pipeline;
use crate::pipeline::context::Cx;
use crate::pipeline::flow_table::longest_hop_ps;
use crate::pipeline::pairs::Pairs;
use crate::pipeline::steps::{Found, Outcome, Step, Steps};
use crate::ports::Ports;
use crate::sink::Sink;
use crate::units::{Rate, Time};
pub use config::{ALL_PACKETS, BfcConfig, BitmapConfig, PauseBy};
pub use frames::{Bitmap, PauseFlow, PauseQueue};
pub use spec::{BfcParams, NIC_QUEUES, NO_NIC_QUEUES};

/// Flag of a packet that incremented its pause counter (`counterIncr`).
const OVER: u8 = flag::HOP_A;

/// Key of a pause counter: an ingress port, and the upstream queue or the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Held {
    ingress: u16,
    /// Index of the upstream queue, or ID of the flow.
    what: u32,
}

impl Held {
    const fn key(self) -> u64 {
        (self.ingress as u64) << 32 | self.what as u64
    }

    const fn of(key: u64) -> Self {
        Self {
            ingress: (key >> 32) as u16,
            what: key as u32,
        }
    }
}

/// BFC state of a switch: the upstream queues or flows that are paused.
#[derive(Debug)]
pub struct Bfc {
    config: BfcConfig,
    /// Number of packets in this switch that found their queue above the threshold, per ingress
    /// port and upstream queue or flow. Counters of 0 are not stored.
    counters: MixedMap<u64, u32>,
    /// Pause threshold in bytes, per speed of egress ports and number of active queues (from 1).
    thresholds: Vec<Box<[u64]>>,
    /// For each egress port: the index of its speed in `thresholds`, and the threshold for one
    /// active queue, in bytes.
    rows: Vec<(u32, u64)>,
    /// Pairs of ingress and egress ports whose packets may pause the upstream queue; `None`: all
    /// pairs.
    allowed: Option<Pairs>,
    counted: Counted,
    /// Buffer for the list of paused queues. It is reused, so that no bitmap allocates memory.
    listed: Vec<Held>,
}

/// Counters of control frames sent.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    pauses: u64,
    resumes: u64,
    bitmaps: u64,
}

/// Number of active queues up to which thresholds are stored. Above, the threshold is computed.
const TABLE_QUEUES: u64 = 128;

/// BFC-08: returns the largest 1-hop round trip over all ingress ports, unless it is configured.
#[must_use]
pub fn hrtt_ps(bfc: &BfcConfig, ports: &[(Rate, Time)]) -> Time {
    bfc.hrtt_ps.unwrap_or_else(|| longest_hop_ps(ports))
}

/// BFC-07: returns, for each port of a switch, its speed in bits per second and its pause threshold
/// in bytes for one active queue.
#[must_use]
pub fn pause_thresholds(bfc: &BfcConfig, ports: &[(Rate, Time)]) -> Vec<(u64, u64)> {
    let of = Bfc::with_ports(*bfc, ports);
    let speed =
        |(port, &(rate, _)): (usize, &(Rate, Time))| (rate.bps(), of.threshold(port as u16, 1));
    ports.iter().enumerate().map(speed).collect()
}

impl Bfc {
    fn with_ports(config: BfcConfig, ports: &[(Rate, Time)]) -> Self {
        // All egress ports use the same 1-hop round trip, and each its own speed.
        let hrtt_ps = hrtt_ps(&config, ports) + config.tau_ps; // BFC-42: add τ
        let scaled = |rate: Rate| {
            ((u128::from(rate.bytes_in(hrtt_ps)) * u128::from(config.threshold_factor)) >> 16)
                as u64
        };
        let mut thresholds: Vec<Box<[u64]>> = Vec::new();
        let mut speeds: Vec<u64> = Vec::new();
        let mut rows = Vec::with_capacity(ports.len());
        for &(rate, _) in ports {
            let row = speeds.iter().position(|&bps| bps == rate.bps());
            let row = row.unwrap_or_else(|| {
                speeds.push(rate.bps());
                // BFC-07, BFC-44: threshold, at least the floor
                let of = |active: u64| (scaled(rate) / active).max(config.floor_bytes);
                thresholds.push((1..=TABLE_QUEUES).map(of).collect());
                speeds.len() - 1
            });
            rows.push((row as u32, scaled(rate)));
        }
        Self {
            config,
            counters: MixedMap::default(),
            thresholds,
            rows,
            allowed: None,
            counted: Counted::default(),
            listed: Vec::new(),
        }
    }

    /// Returns true if a packet of this pair of ports may pause the upstream queue or flow.
    // BFC-35
    #[inline]
    fn may_hold(&self, ingress: u16, egress: u16) -> bool {
        match &self.allowed {
            None => true,
            Some(pairs) => pairs.contains(ingress, egress),
        }
    }

    /// Returns the index of the upstream queue, or the ID of the flow, that a packet can pause.
    #[inline]
    const fn names(&self, packet: &Packet) -> u32 {
        match self.config.by {
            PauseBy::Queue => (packet.upstream_queue % self.config.upstream_queues) as u32,
            PauseBy::Flow => packet.flow, // BFC-37: pauses of single flows
        }
    }

    #[inline]
    const fn key(&self, packet: &Packet) -> u64 {
        let held = Held {
            ingress: packet.ingress,
            what: self.names(packet),
        };
        held.key()
    }

    /// BFC-07: returns the pause threshold of a queue in bytes. `active` is the number of queues of
    /// its port that may send.
    #[inline]
    fn threshold(&self, egress: u16, active: u32) -> u64 {
        let (row, bytes) = self.rows[egress as usize];
        let active = active.max(1);
        match self.thresholds[row as usize].get(active as usize - 1) {
            Some(&threshold) => threshold,
            None => (bytes / u64::from(active)).max(self.config.floor_bytes),
        }
    }

    /// BFC-09: returns true if an arriving packet counts towards a pause of its upstream queue.
    /// Three conditions must be true: its queue is above the threshold, its flow is not exempt, and
    /// its pair of ports may cause pauses. `found` is the state of the queue before the packet.
    #[inline(always)]
    fn is_over(&self, egress: u16, active: u32, found: Found, packet: &Packet) -> bool {
        let queued = if self.config.count_arriving {
            found.bytes + u64::from(packet.size)
        } else {
            found.bytes
        };
        !(found.alone && self.config.first_exempt)
            && queued > self.threshold(egress, active)
            && self.may_hold(packet.ingress, egress)
    }

    /// BFC-05: counts a packet that found its queue above the threshold. Returns true if the
    /// counter rises from 0 to 1, so that a pause must be sent.
    #[inline]
    fn over(&mut self, packet: &Packet) -> bool {
        let counter = self.counters.entry(self.key(packet)).or_insert(0);
        *counter += 1;
        *counter == 1
    }

    /// BFC-06: counts the departure of a packet that was above the threshold. Returns true if the
    /// counter falls from 1 to 0, so that a resume must be sent.
    #[inline]
    fn under(&mut self, packet: &Packet) -> bool {
        let key = self.key(packet);
        let Some(counter) = self.counters.get_mut(&key) else {
            debug_assert!(false, "a packet over the threshold has a pause counter"); // BFC-05
            return false;
        };
        debug_assert!(*counter > 0, "a pause counter of 0 is not stored"); // BFC-06
        *counter -= 1;
        let last = *counter == 0;
        if last {
            self.counters.remove(&key);
        }
        last
    }

    /// Fills `listed` with the paused upstream queues or flows of the neighbours at `ports`, in
    /// ascending order of port and queue or flow.
    fn list(&self, ports: Range<u16>, listed: &mut Vec<Held>) {
        let of = self.counters.keys().map(|&key| Held::of(key));
        listed.clear();
        listed.extend(of.filter(|held| ports.contains(&held.ingress)));
        listed.sort_unstable();
    }

    /// Sends a frame about the upstream queue or flow of a packet: a pause if `pause` contains the
    /// packet that causes it, else a resume.
    // BFC-05, BFC-06
    #[inline(never)]
    fn tell<S: Sink>(&mut self, cx: &mut Cx<'_, S>, packet: &Packet, pause: Option<PacketId>) {
        if cx.core.is_dead(packet.ingress) {
            return; // LNK-21: no frame over a failed link
        }
        if pause.is_some() {
            self.counted.pauses += 1;
        } else {
            self.counted.resumes += 1;
        }
        if let Some(bitmap) = self.config.bitmap
            && !bitmap.edges
        {
            // BFC-43: without frames per change, only a resume sends a bitmap
            if pause.is_none() {
                let port = packet.ingress;
                self.send_bitmaps(cx, port..port + 1, bitmap.frame_bytes);
            }
            return;
        }
        let (on, queue, bytes) = (
            pause.is_some(),
            packet.upstream_queue,
            self.config.frame_bytes,
        );
        let frame = match self.config.by {
            PauseBy::Queue => PauseQueue { on, queue }.packet(bytes),
            PauseBy::Flow => {
                let flow = packet.flow;
                PauseFlow { on, flow, queue }.packet(bytes)
            }
        };
        let frame = cx.emit(packet.ingress, frame);
        if let Some(id) = pause {
            let queue = cx.arena.hot(id).location.queue();
            let egress = cx.core.queueing.get(queue).port;
            cx.sink.event(NodeEvent::QueuePauseSent {
                frame,
                egress,
                queue,
            });
        }
    }

    /// Sends a bitmap of the paused queues to the neighbour at each of these ports.
    // BFC-30, BFC-43
    fn send_bitmaps<S: Sink>(&mut self, cx: &mut Cx<'_, S>, ports: Range<u16>, bytes: u16) {
        let mut listed = std::mem::take(&mut self.listed);
        self.list(ports.clone(), &mut listed);
        let mut rest = listed.as_slice();
        for port in ports {
            let (here, others) = rest.split_at(rest.partition_point(|h| h.ingress <= port));
            rest = others;
            if cx.core.is_dead(port) {
                continue; // LNK-21: no frame over a failed link
            }
            self.counted.bitmaps += 1;
            let id = cx.emit(port, Bitmap.packet(bytes));
            let queues = here.iter().map(|held| held.what);
            cx.arena.new_list(id).extend(queues);
        }
        self.listed = listed;
    }

    /// Handles a packet that joined its queue. Pauses the upstream queue if the packet found its
    /// queue above the threshold.
    #[inline(always)]
    fn enqueued<S: Sink>(
        &mut self,
        cx: &mut Cx<'_, S>,
        port: u16,
        (id, packet): (PacketId, &Packet),
        found: Found,
    ) {
        if !subject(packet) {
            return;
        }
        // BFC-07: N_active includes this packet. BFC-17: this is true for every assignment of
        // queues.
        let active = cx.core.queueing.open(port, packet.class());
        if self.is_over(port, active, found, packet) && cx.core.counts(packet) {
            cx.arena.hot_mut(id).flags |= OVER;
            if self.over(packet) {
                self.tell(cx, packet, Some(id));
            }
        }
    }

    /// Handles a packet that left its queue. Resumes the upstream queue if no other packet from
    /// that queue was above the threshold.
    #[inline(always)]
    fn gone<S: Sink>(&mut self, cx: &mut Cx<'_, S>, packet: &Packet) {
        if packet.has(OVER) && self.under(packet) {
            self.tell(cx, packet, None);
        }
    }
}

impl HopScheme for Bfc {
    type Config = BfcConfig;

    const NUMBER: SchemeNumber = Scheme::Bfc.number();

    const COUNTERS: &'static [Counter] = &[
        Counter::sum("bfc_pauses"),
        Counter::sum("bfc_resumes"),
        Counter::sum("bfc_bitmaps"),
        Counter::sum("bfc_stale_assignments"),
        Counter::sum("bfc_shared_queue"),
        Counter::sum("bfc_table_collisions"),
    ];

    fn new(config: &BfcConfig, site: &Site<'_>) -> Self {
        Self::with_ports(*config, site.ports)
    }

    // BFC-10, BFC-11, BFC-30, BFC-37: pauses of queues, bitmaps, pauses of flows
    fn obey<P: Ports + ?Sized>(ports: &mut P, port: u16, frame: &Packet, list: &[u32]) {
        if let Some(PauseQueue { on, queue }) = PauseQueue::read(frame) {
            ports.pause_queue(port, queue, on);
        } else if let Some(PauseFlow { on, flow, queue }) = PauseFlow::read(frame) {
            ports.pause_flow(port, flow, queue, on);
        } else if Bitmap::read(frame).is_some() {
            ports.pause_exactly(port, list);
        }
    }

    fn count(of: Option<&Self>, core: &Pipeline, values: &mut [u64]) {
        let Counted {
            pauses,
            resumes,
            bitmaps,
        } = of.map_or_else(Counted::default, |bfc| bfc.counted);
        let (stale, shared, collisions) = core.classifier.assignments();
        values.copy_from_slice(&[pauses, resumes, bitmaps, stale, shared, collisions]);
    }

    const WATCHES: Steps = Steps::ENQUEUE.or(Steps::DEPART);

    #[inline(always)]
    fn step<S: Sink>(&mut self, cx: &mut Cx<'_, S>, step: Step<'_>) -> Outcome {
        match step {
            Step::Enqueue {
                port,
                id,
                packet,
                found,
            }
            | Step::Rejoin {
                port,
                id,
                packet,
                found,
            } => self.enqueued(cx, port, (id, packet), found),
            Step::Depart { packet, .. } => self.gone(cx, packet),
            Step::Withdraw { id, packet } => {
                cx.arena.hot_mut(id).flags &= !OVER;
                self.gone(cx, packet);
            }
            // BFC-30: send a bitmap on every port.
            Step::Tick => {
                if let Some(bitmap) = self.config.bitmap {
                    self.send_bitmaps(cx, 0..cx.core.ports(), bitmap.frame_bytes);
                }
            }
            _ => {}
        }
        Outcome::Continue
    }

    // LNK-21: clear pauses when a link fails or recovers
    fn link<S: Sink>(&mut self, cx: &mut Cx<'_, S>, port: u16) {
        self.counters
            .retain(|&key, _| Held::of(key).ingress != port);
        let mut holding = Vec::new();
        for egress in 0..cx.core.ports() {
            cx.core.queueing.for_each_packet(egress, cx.arena, |id| {
                let packet = cx.arena.hot(id);
                if packet.ingress == port && packet.has(OVER) {
                    holding.push(id);
                }
            });
        }
        for id in holding {
            cx.arena.hot_mut(id).flags &= !OVER;
        }
    }

    // BFC-35: port pairs that may cause pauses
    fn learn(&mut self, _core: &Pipeline, fact: Topology<'_>) {
        if let Topology::Pairs(pairs) = fact {
            self.allowed = pairs;
        }
    }

    fn pauses_by_name(&self, packet: &Packet) -> Option<u32> {
        (packet.has(OVER) && subject(packet)).then(|| self.names(packet))
    }

    fn pauses_upstream(&self) -> bool {
        !self.counters.is_empty()
    }

    fn explain_stall(&self, say: &mut dyn FnMut(String)) {
        let what = match self.config.by {
            PauseBy::Queue => "queue",
            PauseBy::Flow => "flow",
        };
        let mut listed = Vec::new();
        self.list(0..u16::MAX, &mut listed);
        for held in listed {
            say(format!(
                "port {} pauses {what} {} of its upstream by BFC",
                held.ingress, held.what
            ));
        }
    }
}

/// Returns the number of entries of the flow table and of the pause counters that a BFC switch
/// needs (BFC paper, §3.3).
// BFC-16
#[must_use]
pub fn state_entries(config: &SwitchConfig<super::HopConfig>, ports: u32) -> (u64, u64) {
    let table = match config.classify {
        Classify::Dynamic { table, .. } => u64::from(table) * u64::from(ports),
        _ => 0,
    };
    let counters = config
        .hop
        .bfc()
        .map_or(0, |b| u64::from(b.upstream_queues) * u64::from(ports));
    (table, counters)
}

/// Returns true if a packet can cause pauses: packets of all classes except control.
// BFC-14
#[inline]
const fn subject(packet: &Packet) -> bool {
    packet.class() >= DATA_CLASS
}
#[cfg(test)]
mod tests;
