//! Backpressure Flow Control at a switch (Goyal et al., NSDI 2022, §3.3.2): thresholds, and the pause
//! counters that hold queues of the hop upstream.
//!
//! The rules are in `specs/bfc.md`; which queue a flow gets is in `flow_table.rs`.

use crate::config::{ALL_PACKETS, BfcConfig, BitmapConfig, Classify, PauseBy, SwitchConfig};
use crate::packet::{Packet, flag};
use crate::route::mix32;
use crate::switch::classify::MixedMap;
use crate::switch::queueing::DATA_CLASS;
use crate::units::{Rate, Time};

/// BFC: this packet incremented its pause counter (`counterIncr`).
pub(crate) const OVER: u8 = flag::HOP_A;

/// Pairs of (ingress, egress) ports of a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pairs {
    /// Words of an ingress.
    words: usize,
    bits: Vec<u64>,
}

impl Pairs {
    /// No pair of a switch with this many ports.
    #[must_use]
    pub fn none(ports: u16) -> Self {
        let words = usize::from(ports).div_ceil(64);
        Self {
            words,
            bits: vec![0; words * usize::from(ports)],
        }
    }

    /// Egresses of an ingress, as bits.
    #[must_use]
    pub fn row(&self, ingress: u16) -> &[u64] {
        &self.bits[usize::from(ingress) * self.words..][..self.words]
    }

    /// Puts in the pairs of an ingress with all these egresses, given as bits.
    pub fn insert_all(&mut self, ingress: u16, egresses: &[u64]) {
        let row = &mut self.bits[usize::from(ingress) * self.words..][..self.words];
        for (word, more) in row.iter_mut().zip(egresses) {
            *word |= more;
        }
    }

    /// Puts in all pairs of another set of the same switch.
    pub fn unite(&mut self, other: &Self) {
        for (word, more) in self.bits.iter_mut().zip(&other.bits) {
            *word |= more;
        }
    }

    #[inline]
    const fn at(&self, ingress: u16, egress: u16) -> usize {
        ingress as usize * self.words * 64 + egress as usize
    }

    /// Puts a pair in.
    pub fn insert(&mut self, ingress: u16, egress: u16) {
        let at = self.at(ingress, egress);
        self.bits[at / 64] |= 1 << (at % 64);
    }

    /// Takes a pair out.
    pub fn remove(&mut self, ingress: u16, egress: u16) {
        let at = self.at(ingress, egress);
        self.bits[at / 64] &= !(1 << (at % 64));
    }

    /// Whether a pair is in.
    #[inline]
    #[must_use]
    pub fn contains(&self, ingress: u16, egress: u16) -> bool {
        let at = self.at(ingress, egress);
        self.bits[at / 64] >> (at % 64) & 1 != 0
    }

    /// How many pairs are in.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bits
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    /// Whether no pair is in.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bits.iter().all(|&word| word == 0)
    }
}

/// What a pause counter is for: an ingress port, and the queue upstream or the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Held {
    pub ingress: u16,
    /// Number of the queue upstream, or of the flow.
    pub what: u32,
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

/// The backpressure half: which queues upstream must wait.
#[derive(Debug)]
pub(crate) struct Backpressure {
    config: BfcConfig,
    /// Per (ingress port, upstream queue): packets here that were over the threshold. Only those
    /// that are not 0 are held.
    counters: MixedMap<u64, u32>,
    /// The match-action table: per speed of an egress and number of active queues (from 1 on),
    /// the threshold in bytes.
    thresholds: Vec<Box<[u64]>>,
    /// Per egress port its row of `thresholds`, and the bytes that drain in one 1-hop round trip,
    /// times the factor.
    rows: Vec<(u32, u64)>,
    /// Pairs of (ingress, egress) that may be held; `None`: all.
    allowed: Option<Pairs>,
    /// Seed of the sampling.
    seed: u32,
}

/// Rows of the threshold table are this long; with more active queues the value is computed.
const TABLE_QUEUES: u64 = 128;

/// BFC-08: the largest 1-hop round trip over all ingresses, if it is not given.
#[must_use]
pub fn hrtt_ps(bfc: &BfcConfig, ports: &[(Rate, Time)]) -> Time {
    bfc.hrtt_ps.unwrap_or_else(|| longest_hop_ps(ports))
}

fn longest_hop_ps(ports: &[(Rate, Time)]) -> Time {
    ports.iter().map(|&(_, delay)| 2 * delay).max().unwrap_or(0)
}

/// BFC-07: for each port of a switch its speed in bits per second, and the pause threshold in bytes
/// of a queue that is alone at it.
#[must_use]
pub fn pause_thresholds(bfc: &BfcConfig, ports: &[(Rate, Time)]) -> Vec<(u64, u64)> {
    let of = Backpressure::new(*bfc, 0, ports);
    let speed =
        |(port, &(rate, _)): (usize, &(Rate, Time))| (rate.bps(), of.threshold(port as u16, 1));
    ports.iter().enumerate().map(speed).collect()
}

/// BFC-04: for how long a flow without packets keeps its queue at a switch with these ports.
#[must_use]
pub fn sticky_ps(config: &SwitchConfig, ports: &[(Rate, Time)]) -> Time {
    let Classify::Dynamic { sticky_ps, .. } = config.classify else {
        return 0;
    };
    let hrtt_ps = match &config.bfc {
        Some(bfc) => hrtt_ps(bfc, ports),
        None => longest_hop_ps(ports),
    };
    let times = |n: u32| ((u128::from(hrtt_ps) * u128::from(n)) >> 16) as Time;
    config.assign.sticky_hrtts.map_or(sticky_ps, times)
}

impl Backpressure {
    pub fn new(config: BfcConfig, switch: u32, ports: &[(Rate, Time)]) -> Self {
        // Each egress at its own speed.
        let hrtt_ps = hrtt_ps(&config, ports) + config.tau_ps; // BFC-42
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
                // BFC-07, BFC-44
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
            seed: mix32(switch ^ 0x5a3b_1e77),
        }
    }

    /// BFC-35: only these pairs are counted and paused; `None`: all are.
    pub fn allow(&mut self, pairs: Option<Pairs>) {
        self.allowed = pairs;
    }

    /// LNK-21: nothing of the upstream at this ingress is held any more.
    pub fn forget(&mut self, ingress: u16) {
        self.counters
            .retain(|&key, _| Held::of(key).ingress != ingress);
    }

    /// BFC-32: whether flow table and pause counters see a packet. A function of the packet, so
    /// that it is the same when it leaves.
    #[inline]
    pub fn counts(&self, packet: &Packet) -> bool {
        if self.config.sampling >= ALL_PACKETS {
            return true;
        }
        let draw = mix32(mix32(packet.hash ^ self.seed) ^ packet.psn);
        draw >> 16 < self.config.sampling
    }

    /// Whether a packet that goes from an ingress to an egress may hold its upstream.
    // BFC-35
    #[inline]
    fn may_hold(&self, ingress: u16, egress: u16) -> bool {
        match &self.allowed {
            None => true,
            Some(pairs) => pairs.contains(ingress, egress),
        }
    }

    /// What a packet holds upstream: the number of a queue, or of its flow.
    #[inline]
    pub const fn names(&self, packet: &Packet) -> u32 {
        match self.config.by {
            PauseBy::Queue => (packet.upstream_queue % self.config.upstream_queues) as u32,
            PauseBy::Flow => packet.flow, // BFC-37
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

    /// BFC-07: the pause threshold of a queue in bytes when `active` queues of its port may send.
    #[inline]
    pub fn threshold(&self, egress: u16, active: u32) -> u64 {
        let (row, bytes) = self.rows[egress as usize];
        let active = active.max(1);
        match self.thresholds[row as usize].get(active as usize - 1) {
            Some(&threshold) => threshold,
            None => (bytes / u64::from(active)).max(self.config.floor_bytes),
        }
    }

    /// BFC-09: whether a packet that found `found` bytes in its queue is over the threshold;
    /// `alone` says that its flow had no packet here.
    #[inline]
    pub fn is_over(
        &self,
        egress: u16,
        active: u32,
        found: u64,
        packet: &Packet,
        alone: bool,
    ) -> bool {
        let queued = if self.config.count_arriving {
            found + u64::from(packet.size)
        } else {
            found
        };
        !(alone && self.config.first_exempt)
            && queued > self.threshold(egress, active)
            && self.may_hold(packet.ingress, egress)
            && self.counts(packet)
    }

    /// BFC-05: counts a packet that found its queue over the threshold. True on 0 → 1: pause.
    #[inline]
    pub fn over(&mut self, packet: &Packet) -> bool {
        let counter = self.counters.entry(self.key(packet)).or_insert(0);
        *counter += 1;
        *counter == 1
    }

    /// BFC-06: such a packet leaves. True on 1 → 0: resume.
    #[inline]
    pub fn under(&mut self, packet: &Packet) -> bool {
        let key = self.key(packet);
        let Some(counter) = self.counters.get_mut(&key) else {
            return false;
        };
        *counter -= 1;
        let last = *counter == 0;
        if last {
            self.counters.remove(&key);
        }
        last
    }

    /// Bytes of a pause or resume frame.
    pub const fn frame_bytes(&self) -> u16 {
        self.config.frame_bytes
    }

    /// What a pause names.
    pub const fn by(&self) -> PauseBy {
        self.config.by
    }

    /// The periodic bitmaps, if there are any.
    pub const fn bitmap(&self) -> Option<BitmapConfig> {
        self.config.bitmap
    }

    /// What is held now, in order of ingress ports and numbers.
    pub fn holding(&self) -> Vec<Held> {
        let mut held: Vec<Held> = self.counters.keys().map(|&key| Held::of(key)).collect();
        held.sort_unstable();
        held
    }

    /// Queues upstream of one ingress that are held now, in order.
    pub fn holding_at(&self, ingress: u16) -> Vec<u32> {
        let of = self.counters.keys().map(|&key| Held::of(key));
        let mut held: Vec<u32> = of
            .filter(|h| h.ingress == ingress)
            .map(|h| h.what)
            .collect();
        held.sort_unstable();
        held
    }

    /// Whether nothing is held.
    pub fn holds_nothing(&self) -> bool {
        self.counters.is_empty()
    }
}

/// What a BFC switch keeps, in entries (BFC paper §3.3): flow table and pause counters.
// BFC-16
#[must_use]
pub fn state_entries(config: &SwitchConfig, ports: u32) -> (u64, u64) {
    let table = match config.classify {
        Classify::Dynamic { table, .. } => u64::from(table) * u64::from(ports),
        _ => 0,
    };
    let counters = config
        .bfc
        .map_or(0, |b| u64::from(b.upstream_queues) * u64::from(ports));
    (table, counters)
}

/// Whether a packet takes part in backpressure: all but the control classes.
// BFC-14
#[inline]
pub(crate) const fn subject(packet: &Packet) -> bool {
    packet.class() >= DATA_CLASS
}
#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Kind;
    use crate::switch::tests::config;
    use crate::units::US;

    fn packet(flow: u32) -> Packet {
        Packet {
            flow,
            hash: flow.wrapping_mul(0x9e37_79b9),
            ..Packet::new(Kind::Data, 2, 1048)
        }
    }

    fn backpressure() -> Backpressure {
        let config = BfcConfig {
            upstream_queues: 32,
            ..BfcConfig::PAPER
        };
        let ports = [(Rate::from_gbps(100), US), (Rate::from_gbps(400), US / 2)];
        Backpressure::new(config, 9, &ports)
    }

    // BFC-07, BFC-08
    #[test]
    fn the_threshold_is_one_hop_bdp_over_active_queues_at_each_egress_speed() {
        let b = backpressure();
        assert_eq!(b.threshold(0, 1), 25_000, "2 us at 100 Gbps");
        assert_eq!(
            b.threshold(1, 1),
            100_000,
            "the longest hop counts at every egress"
        );
        assert_eq!(b.threshold(0, 10), 2_500);
        assert_eq!(b.threshold(0, 0), 25_000);
    }

    // BFC-07, BFC-42, BFC-44
    #[test]
    fn a_floor_and_the_period_of_bitmaps_raise_the_threshold() {
        let ports = [(Rate::from_gbps(100), US)];
        let config = BfcConfig {
            floor_bytes: 1048,
            tau_ps: US,
            ..BfcConfig::PAPER
        };
        let b = Backpressure::new(config, 9, &ports);
        assert_eq!(b.threshold(0, 1), 37_500, "3 us instead of 2");
        assert_eq!(b.threshold(0, 30), 1_250);
        assert_eq!(b.threshold(0, 36), 1_048, "not 1041");
        assert_eq!(b.threshold(0, 4_000), 1_048);
        // The table and the formula beyond it are the same.
        let plain = Backpressure::new(BfcConfig::PAPER, 9, &ports);
        assert!((1..1000).all(|n| plain.threshold(0, n) == 25_000 / u64::from(n)));
    }

    // BFC-04
    #[test]
    fn the_sticky_time_follows_the_hops_of_each_switch() {
        let mut c = config();
        c.classify = Classify::Dynamic {
            queues: 4,
            table: 400,
            sticky_ps: 7 * US,
        };
        let far = [(Rate::from_gbps(100), US), (Rate::from_gbps(200), 200 * US)];
        assert_eq!(sticky_ps(&c, &far), 7 * US);
        c.assign.sticky_hrtts = Some(2 << 16);
        assert_eq!(sticky_ps(&c, &far), 800 * US);
        assert_eq!(sticky_ps(&c, &far[..1]), 4 * US);
    }

    // BFC-32
    #[test]
    fn a_share_of_the_packets_is_sampled_and_a_packet_always_alike() {
        let config = BfcConfig {
            sampling: ALL_PACKETS / 2,
            first_exempt: false,
            ..BfcConfig::PAPER
        };
        let b = Backpressure::new(config, 9, &[(Rate::from_gbps(100), US)]);
        let nth = |psn| Packet { psn, ..packet(1) };
        let sampled = (0..10_000).filter(|&psn| b.counts(&nth(psn))).count();
        assert!((4_800..5_200).contains(&sampled), "{sampled} of 10 000");
        for psn in 0..100 {
            let over = b.is_over(0, 1, 1 << 20, &nth(psn), false);
            assert_eq!(over, b.counts(&nth(psn)), "one decision for both");
        }
    }

    // BFC-35
    #[test]
    fn pairs_that_are_not_allowed_hold_nobody() {
        let mut b = backpressure();
        let from = |ingress| Packet {
            ingress,
            ..packet(1)
        };
        let mut pairs = Pairs::none(2);
        pairs.insert(1, 0);
        assert_eq!((pairs.len(), pairs.is_empty()), (1, false));
        b.allow(Some(pairs));
        assert!(b.is_over(0, 1, 1 << 20, &from(1), false));
        assert!(!b.is_over(0, 1, 1 << 20, &from(0), false));
        assert!(!b.is_over(1, 1, 1 << 20, &from(0), false));
    }

    // BFC-37
    #[test]
    fn counters_may_be_kept_for_flows_instead_of_queues() {
        let config = BfcConfig {
            by: PauseBy::Flow,
            ..BfcConfig::PAPER
        };
        let mut b = Backpressure::new(config, 9, &[(Rate::from_gbps(100), US)]);
        let of = |flow| Packet {
            upstream_queue: 3,
            ..packet(flow)
        };
        assert!(b.over(&of(1)) && b.over(&of(2)), "same queue, other flow");
        assert!(b.under(&of(1)) && b.under(&of(2)));
    }

    // BFC-09
    #[test]
    fn a_packet_is_over_by_what_it_finds_and_a_lone_one_never() {
        let mut b = backpressure();
        assert!(!b.is_over(0, 1, 25_000, &packet(1), false));
        assert!(b.is_over(0, 1, 25_001, &packet(1), false));
        assert!(!b.is_over(0, 1, 25_001, &packet(1), true), "alone");
        b.config.first_exempt = false;
        assert!(b.is_over(0, 1, 25_001, &packet(1), true));
        b.config.count_arriving = true;
        assert!(b.is_over(0, 1, 23_953, &packet(1), false));
        assert!(!b.is_over(0, 1, 23_952, &packet(1), false));
    }

    // BFC-05, BFC-06
    #[test]
    fn pause_on_the_first_and_resume_on_the_last_packet_over() {
        let mut b = backpressure();
        let p = Packet {
            ingress: 1,
            upstream_queue: 7,
            ..packet(1)
        };
        let other = Packet {
            ingress: 1,
            upstream_queue: 8,
            ..packet(1)
        };
        assert!(b.over(&p));
        assert!(!b.over(&p));
        assert!(b.over(&other), "another queue has a counter of its own");
        assert_eq!(
            b.holding(),
            [
                Held {
                    ingress: 1,
                    what: 7
                },
                Held {
                    ingress: 1,
                    what: 8
                }
            ]
        );
        assert!(!b.under(&p));
        assert!(b.under(&p));
        assert!(b.under(&other));
        assert!(b.holds_nothing());
    }
}
