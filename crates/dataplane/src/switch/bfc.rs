//! Backpressure Flow Control at a switch (Goyal et al., NSDI 2022, §3.3): the flow table that
//! assigns flows to queues, and the pause counters that hold queues of the hop upstream.
//!
//! The rules are in `specs/bfc.md`.

use crate::config::{
    ALL_PACKETS, AssignConfig, BfcConfig, BitmapConfig, Classify, PauseBy, SearchStart,
    SwitchConfig, WhenFull,
};
use crate::packet::{Packet, flag};
use crate::route::mix32;
use crate::switch::classify::{Assigned, MixedMap, Place};
use crate::switch::entries::Entries;
use crate::switch::queueing::{DATA_CLASS, Queueing};
use crate::units::{Rate, Time};

/// One entry: all flows that hash to it share its queue.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// When a packet last came or went.
    last_ps: Time,
    /// Flow that came last, to count collisions.
    flow: u32,
    /// Packets of its flows in the switch.
    size: u32,
    /// Queue number at the port.
    queue: u16,
}

/// Fewer entries than this are not worth a sweep.
const LEAST_SWEEP: usize = 256;

impl Entry {
    const IDLE: Self = Self {
        last_ps: 0,
        flow: u32::MAX,
        size: 0,
        queue: u16::MAX,
    };

    /// BFC-03, BFC-04: a flow keeps its queue while it has packets here, and for the sticky time.
    const fn keeps(&self, now: Time, sticky_ps: Time) -> bool {
        self.size > 0 || now.saturating_sub(self.last_ps) <= sticky_ps
    }
}

/// Bitmaps of empty queues as the hardware has them: read from the queues now and then, one for
/// each ingress pipeline, which takes out of its own what it assigns.
// BFC-38
#[derive(Debug)]
struct EmptyMap {
    bits: Vec<Vec<u64>>,
}

impl EmptyMap {
    fn new(queues: usize, pipelines: usize) -> Self {
        Self {
            bits: vec![vec![u64::MAX; queues.div_ceil(64)]; pipelines],
        }
    }

    fn get(&self, pipeline: usize, queue: u32) -> bool {
        self.bits[pipeline][queue as usize / 64] >> (queue % 64) & 1 != 0
    }

    fn take(&mut self, pipeline: usize, queue: u32) {
        self.bits[pipeline][queue as usize / 64] &= !(1 << (queue % 64));
    }

    fn refresh(&mut self, queueing: &Queueing) {
        let (first, others) = self.bits.split_at_mut(1);
        for (word, bits) in first[0].iter_mut().enumerate() {
            *bits = queueing.empty_word(word);
        }
        for other in others {
            other.copy_from_slice(&first[0]);
        }
    }
}

/// Flow table of a switch: `table` entries for each egress port. Nearly all of them are idle at any
/// time, and an idle entry says nothing, so only the others are held.
#[derive(Debug)]
pub(crate) struct FlowTable {
    entries: Entries<Entry>,
    /// Idle entries are thrown out when there are more entries than this.
    most: usize,
    /// Entries of an egress port in one pipeline.
    per_port: u32,
    queues: u16,
    sticky_ps: Time,
    assign: AssignConfig,
    ports: u32,
    /// Per (port, pipeline), where the search for an empty queue starts.
    start: Vec<u16>,
    empty: Option<EmptyMap>,
    /// New flows that found their entry in use by another flow.
    pub collisions: u64,
    /// Flows that found all queues taken.
    pub shared: u64,
    /// Flows that got a queue which the bitmap called empty though it had packets.
    pub stale: u64,
}

impl FlowTable {
    pub fn new(
        ports: usize,
        queues: u16,
        per_port: u32,
        sticky_ps: Time,
        assign: AssignConfig,
        queueing: &Queueing,
    ) -> Self {
        let pipelines = assign.pipelines.max(1);
        let start = (0..ports * usize::from(pipelines)).map(|at| {
            // BFC-38: each pipeline begins elsewhere.
            let pipeline = (at % usize::from(pipelines)) as u32;
            (pipeline * u32::from(queues) / u32::from(pipelines)) as u16
        });
        Self {
            entries: Entries::new(Entry::IDLE),
            most: LEAST_SWEEP,
            per_port: (per_port / u32::from(pipelines)).max(1),
            queues,
            sticky_ps,
            start: start.collect(),
            empty: assign
                .bitmap_ps
                .map(|_| EmptyMap::new(queueing.standing(), usize::from(pipelines))),
            assign: AssignConfig {
                pipelines,
                ..assign
            },
            ports: ports as u32,
            collisions: 0,
            shared: 0,
            stale: 0,
        }
    }

    /// The ingress pipeline that handles a packet: ports are dealt out in blocks.
    #[inline]
    fn pipeline(&self, packet: &Packet) -> u32 {
        if self.assign.pipelines == 1 {
            return 0;
        }
        u32::from(packet.ingress) * u32::from(self.assign.pipelines) / self.ports
    }

    /// Number of a port's part in a pipeline.
    #[inline]
    fn part(&self, port: u16, packet: &Packet) -> u64 {
        u64::from(port) * u64::from(self.assign.pipelines) + u64::from(self.pipeline(packet))
    }

    /// Index of the entry of a flow at an egress port.
    // BFC-01
    #[inline]
    fn index(&self, port: u16, packet: &Packet) -> u64 {
        let slot = (u64::from(packet.hash) * u64::from(self.per_port)) >> 32;
        self.part(port, packet) * u64::from(self.per_port) + slot
    }

    #[inline]
    pub fn place(
        &self,
        now: Time,
        port: u16,
        packet: &Packet,
        queueing: &Queueing,
        draw: &mut dyn FnMut() -> u64,
    ) -> Place {
        let index = self.index(port, packet);
        if self.assign.incast_queue && packet.has(flag::INCAST) {
            // BFC-36
            return Place {
                queue: queueing.queue_of(port, packet.class(), 0),
                entry: index,
                assigned: Assigned::Before,
            };
        }
        if let Some(entry) = self.entries.get(index)
            && entry.keeps(now, self.sticky_ps)
            && let Some(queue) = queueing.by_number(port, entry.queue)
            && queueing.get(queue).class == packet.class()
        // BFC-13
        {
            return Place {
                queue,
                entry: index,
                assigned: Assigned::Before,
            };
        }
        let (queue, assigned) = self.choose(port, packet, index, queueing, draw);
        Place {
            queue,
            entry: index,
            assigned,
        }
    }

    /// BFC-02: an empty queue that downstream has not paused, else one by chance.
    fn choose(
        &self,
        port: u16,
        packet: &Packet,
        entry: u64,
        queueing: &Queueing,
        draw: &mut dyn FnMut() -> u64,
    ) -> (u32, Assigned) {
        let class = packet.class();
        // BFC-36: the first queue is set apart.
        let first = u16::from(self.assign.incast_queue && self.queues > 1);
        let among = u64::from(self.queues - first);
        let by_chance =
            |random: u64| first + ((u128::from(random) * u128::from(among)) >> 64) as u16;
        let start = match self.assign.start {
            SearchStart::Rotating => self.start[self.part(port, packet) as usize].max(first),
            SearchStart::Random => by_chance(draw()), // BFC-41
        };
        let pipeline = self.pipeline(packet) as usize;
        for nth in (start..self.queues).chain(first..start) {
            let queue = queueing.queue_of(port, class, nth);
            if self.is_free(queue, pipeline, queueing) {
                return (queue, Assigned::Empty);
            }
        }
        let nth = match self.assign.when_full {
            WhenFull::Random => by_chance(draw()),
            // BFC-41
            WhenFull::ByEntry => {
                let slot = (entry % u64::from(self.per_port)) as u32;
                by_chance(u64::from(mix32(slot ^ 0x0bfc)) << 32)
            }
        };
        (queueing.queue_of(port, class, nth), Assigned::Shared)
    }

    #[inline]
    fn is_free(&self, queue: u32, pipeline: usize, queueing: &Queueing) -> bool {
        let q = queueing.get(queue);
        let empty = match &self.empty {
            None => q.is_empty(),
            Some(map) => map.get(pipeline, queue), // BFC-38
        };
        // BFC-40
        empty && (self.assign.paused_eligible || !q.paused)
    }

    /// Keeps what [`FlowTable::place`] chose. `counted`: the packet counts in the table (BFC-32).
    /// Returns whether it is the only one of its entry.
    #[inline]
    pub fn commit(
        &mut self,
        now: Time,
        packet: &Packet,
        place: Place,
        counted: bool,
        queueing: &Queueing,
    ) -> bool {
        if self.entries.len() > self.most {
            let sticky_ps = self.sticky_ps;
            self.entries.retain(|entry| entry.keeps(now, sticky_ps));
            self.most = LEAST_SWEEP.max(2 * self.entries.len());
        }
        let entry = self.entries.entry(place.entry);
        if entry.size > 0 && entry.flow != packet.flow {
            self.collisions += 1;
        }
        entry.flow = packet.flow;
        entry.size += u32::from(counted);
        entry.last_ps = now;
        let alone = entry.size == 1;
        if place.assigned != Assigned::Before {
            entry.queue = queueing.get(place.queue).number;
            self.shared += u64::from(place.assigned == Assigned::Shared);
            let start = &mut self.start[(place.entry / u64::from(self.per_port)) as usize];
            *start = if *start + 1 >= self.queues {
                0
            } else {
                *start + 1
            };
            if self.empty.is_some() {
                self.take(packet, place, queueing);
            }
        }
        alone
    }

    /// Takes an assigned queue out of its pipeline's bitmap.
    fn take(&mut self, packet: &Packet, place: Place, queueing: &Queueing) {
        let pipeline = self.pipeline(packet) as usize;
        if let Some(map) = &mut self.empty {
            let taken = !queueing.get(place.queue).is_empty();
            self.stale += u64::from(place.assigned == Assigned::Empty && taken);
            map.take(pipeline, place.queue);
        }
    }

    /// The bitmap of empty queues is read anew.
    // BFC-38
    pub fn refresh(&mut self, queueing: &Queueing) {
        if let Some(map) = &mut self.empty {
            map.refresh(queueing);
        }
    }

    /// A packet that counted has left.
    #[inline]
    pub fn departed(&mut self, now: Time, port: u16, packet: &Packet) {
        let index = self.index(port, packet);
        // A packet that is here keeps its entry.
        if let Some(entry) = self.entries.get_mut(index) {
            entry.size -= 1;
            entry.last_ps = now;
        }
    }

    /// Asks for the entry of a packet that will leave by `port`.
    #[inline]
    pub fn prefetch(&self, port: u16, packet: &Packet) {
        self.entries.prefetch(self.index(port, packet));
    }

    /// Packets that the table believes to be in the switch.
    pub fn packets(&self) -> u64 {
        self.entries.values().map(|e| u64::from(e.size)).sum()
    }
}

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
    use crate::packet::{Arena, Cold, Kind};
    use crate::switch::tests::config;
    use crate::units::{NS, US};

    fn table(queues: u16) -> (FlowTable, Queueing, Arena) {
        table_with(queues, AssignConfig::PAPER)
    }

    fn table_with(queues: u16, assign: AssignConfig) -> (FlowTable, Queueing, Arena) {
        let mut c = config();
        let entries = 100 * u32::from(queues);
        c.classify = Classify::Dynamic {
            queues,
            table: entries,
            sticky_ps: 4 * US,
        };
        let queueing = Queueing::new(&c, 2);
        let table = FlowTable::new(2, queues, entries, 4 * US, assign, &queueing);
        (table, queueing, Arena::new())
    }

    fn packet(flow: u32) -> Packet {
        Packet {
            flow,
            hash: flow.wrapping_mul(0x9e37_79b9),
            ..Packet::new(Kind::Data, 2, 1048)
        }
    }

    fn arrive(t: &mut FlowTable, q: &mut Queueing, a: &mut Arena, now: Time, p: Packet) -> Place {
        let place = t.place(now, 0, &p, q, &mut || 0);
        t.commit(now, &p, place, true, q);
        let id = a.alloc(p, Cold::default());
        q.push(place.queue, id, a);
        place
    }

    // BFC-02
    #[test]
    fn new_flows_take_different_empty_queues_then_share() {
        let (mut t, mut q, mut a) = table(4);
        let mut seen: Vec<u32> = (0..4)
            .map(|f| arrive(&mut t, &mut q, &mut a, 0, packet(f)).queue)
            .collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 4, "no two flows share while a queue is empty");
        let fifth = arrive(&mut t, &mut q, &mut a, 0, packet(4));
        assert_eq!(fifth.assigned, Assigned::Shared);
        assert_eq!(t.shared, 1);
    }

    // BFC-02
    #[test]
    fn an_empty_queue_that_is_paused_is_not_chosen() {
        let (mut t, mut q, mut a) = table(2);
        let first = q.queue_of(0, 2, 0);
        q.set_paused(first, true, &a);
        assert_eq!(
            arrive(&mut t, &mut q, &mut a, 0, packet(1)).queue,
            q.queue_of(0, 2, 1)
        );
    }

    // BFC-03, BFC-04
    #[test]
    fn a_flow_keeps_its_queue_while_active_and_for_the_sticky_time() {
        let (mut t, mut q, mut a) = table(4);
        let p = packet(1);
        let queue = arrive(&mut t, &mut q, &mut a, 0, p).queue;
        assert_eq!(
            arrive(&mut t, &mut q, &mut a, 50 * US, p).queue,
            queue,
            "active"
        );
        for _ in 0..2 {
            q.pop::<false>(0, &a).unwrap();
            t.departed(60 * US, 0, &p);
        }
        assert_eq!(t.packets(), 0);
        let within = t.place(64 * US, 0, &p, &q, &mut || 0);
        assert_eq!((within.queue, within.assigned), (queue, Assigned::Before));
        let after = t.place(64 * US + NS, 0, &p, &q, &mut || 0);
        assert_eq!(after.assigned, Assigned::Empty);
        assert_ne!(after.queue, queue, "the search goes on where it stopped");
    }

    // BFC-01
    #[test]
    fn flows_of_one_entry_share_its_queue_and_are_counted() {
        let (mut t, mut q, mut a) = table(4);
        let (one, two) = (
            packet(1),
            Packet {
                flow: 2,
                ..packet(1)
            },
        );
        let queue = arrive(&mut t, &mut q, &mut a, 0, one).queue;
        assert_eq!(arrive(&mut t, &mut q, &mut a, 0, two).queue, queue);
        assert_eq!(t.collisions, 1);
    }

    /// Takes everything out of the queues and the table.
    fn drain(t: &mut FlowTable, q: &mut Queueing, a: &Arena, now: Time) {
        while let Some((_, id)) = q.pop::<false>(0, a) {
            t.departed(now, 0, a.hot(id));
        }
    }

    // BFC-40
    #[test]
    fn an_empty_queue_that_is_paused_can_be_made_eligible() {
        let assign = AssignConfig {
            paused_eligible: true,
            ..AssignConfig::PAPER
        };
        let (mut t, mut q, mut a) = table_with(2, assign);
        let first = q.queue_of(0, 2, 0);
        q.set_paused(first, true, &a);
        assert_eq!(arrive(&mut t, &mut q, &mut a, 0, packet(1)).queue, first);
    }

    // BFC-41
    #[test]
    fn search_may_start_anywhere_and_a_full_port_may_give_each_entry_its_queue() {
        let assign = AssignConfig {
            start: SearchStart::Random,
            when_full: WhenFull::ByEntry,
            ..AssignConfig::PAPER
        };
        let (t, mut q, mut a) = table_with(4, assign);
        let mut half = || 1 << 63;
        let place = t.place(0, 0, &packet(1), &q, &mut half);
        assert_eq!(place.queue, q.queue_of(0, 2, 2), "half way through four");
        for nth in 0..4 {
            let id = a.alloc(packet(9), Cold::default());
            let queue = q.queue_of(0, 2, nth);
            q.push(queue, id, &mut a);
        }
        let shared = |random: u64, flow: u32| {
            let place = t.place(0, 0, &packet(flow), &q, &mut || random);
            assert_eq!(place.assigned, Assigned::Shared);
            place.queue
        };
        let queues: Vec<u32> = (0..40).map(|flow| shared(0, flow)).collect();
        assert!((0..40).all(|flow| shared(u64::MAX, flow) == queues[flow as usize]));
        assert!((0..4).all(|nth| queues.contains(&q.queue_of(0, 2, nth))));
    }

    // BFC-38
    #[test]
    fn a_map_that_is_read_now_and_then_lags_behind_the_queues() {
        let assign = AssignConfig {
            bitmap_ps: Some(US),
            ..AssignConfig::PAPER
        };
        let (mut t, mut q, mut a) = table_with(2, assign);
        arrive(&mut t, &mut q, &mut a, 0, packet(1));
        arrive(&mut t, &mut q, &mut a, 0, packet(2));
        drain(&mut t, &mut q, &a, 0);
        // Both queues are empty again, but the map does not know yet.
        let third = arrive(&mut t, &mut q, &mut a, 0, packet(3));
        assert_eq!((third.assigned, t.stale), (Assigned::Shared, 0));
        drain(&mut t, &mut q, &a, 0);
        t.refresh(&q);
        // Now it calls both empty; one gets packets past the table.
        let full = q.queue_of(0, 2, t.start[0]);
        let id = a.alloc(packet(9), Cold::default());
        q.push(full, id, &mut a);
        let fourth = arrive(&mut t, &mut q, &mut a, 20 * US, packet(4));
        assert_eq!((fourth.queue, fourth.assigned), (full, Assigned::Empty));
        assert_eq!(t.stale, 1);
        t.refresh(&q);
        let fifth = arrive(&mut t, &mut q, &mut a, 20 * US, packet(5));
        assert_ne!(fifth.queue, full, "it has been read again");
    }

    // BFC-38
    #[test]
    fn pipelines_have_entries_and_maps_of_their_own_and_start_apart() {
        let assign = AssignConfig {
            bitmap_ps: Some(US),
            pipelines: 2,
            ..AssignConfig::PAPER
        };
        let (mut t, mut q, mut a) = table_with(4, assign);
        let by = |ingress, flow| Packet {
            ingress,
            ..packet(flow)
        };
        assert_eq!(t.per_port, 200, "half of 400 entries in each");
        assert_ne!(t.index(0, &by(0, 1)), t.index(0, &by(1, 1)));
        let one = arrive(&mut t, &mut q, &mut a, 0, by(0, 1));
        let two = arrive(&mut t, &mut q, &mut a, 0, by(1, 2));
        assert_eq!(one.queue, q.queue_of(0, 2, 0));
        assert_eq!(two.queue, q.queue_of(0, 2, 2));
        // The second pipeline's map does not know what the first has taken.
        for flow in 3..5 {
            arrive(&mut t, &mut q, &mut a, 0, by(1, flow));
        }
        assert_eq!(t.stale, 1, "queue 0 by way of the second");
    }

    // BFC-36
    #[test]
    fn labelled_incast_flows_share_one_queue_that_no_other_flow_gets() {
        let assign = AssignConfig {
            incast_queue: true,
            ..AssignConfig::PAPER
        };
        let (mut t, mut q, mut a) = table_with(4, assign);
        let apart = q.queue_of(0, 2, 0);
        for flow in 0..10 {
            let labelled = Packet {
                flags: flag::INCAST,
                ..packet(flow)
            };
            assert_eq!(arrive(&mut t, &mut q, &mut a, 0, labelled).queue, apart);
        }
        for flow in 10..50 {
            assert_ne!(arrive(&mut t, &mut q, &mut a, 0, packet(flow)).queue, apart);
        }
        assert_eq!(t.shared, 37, "three queues are left for the others");
    }

    // BFC-32
    #[test]
    fn packets_that_are_not_sampled_do_not_count_in_the_table() {
        let (mut t, q, _) = table(4);
        let p = packet(1);
        let place = t.place(0, 0, &p, &q, &mut || 0);
        assert!(!t.commit(0, &p, place, false, &q));
        assert_eq!(t.packets(), 0);
        assert!(t.commit(0, &p, place, true, &q));
        assert_eq!(t.packets(), 1);
    }

    // BFC-01
    #[test]
    fn entries_of_different_ports_differ_however_large_the_table_is() {
        let (_, q, _) = table(4);
        let t = FlowTable::new(65_535, 31, 1 << 22, US, AssignConfig::PAPER, &q);
        let last = Packet {
            hash: u32::MAX,
            ..packet(1)
        };
        assert_eq!(t.index(65_534, &last), 65_535 * (1 << 22) - 1);
        let first = Packet { hash: 0, ..last };
        assert_eq!(t.index(1, &first), t.index(0, &last) + 1);
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
