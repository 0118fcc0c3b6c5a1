//! Dynamic queue assignment: a flow table selects the queue of each flow at an egress port (Goyal
//! et al., NSDI 2022, §3.3.1). The rules are in `specs/bfc.md`.

use crate::config::{AssignBy, AssignConfig, Classify, SearchStart, SwitchConfig, WhenFull};
use crate::hash::mix32;
use crate::ids::QueueId;
use crate::packet::{Packet, flag};
use crate::pipeline::c_random;
use crate::pipeline::entries::Entries;
use crate::pipeline::place::{Assigned, Place, hashed};
use crate::pipeline::queueing::Queueing;
use crate::units::{Rate, Time};

/// Returns the time in ps for which a flow without packets in the switch keeps its queue.
/// `hop_rtt_ps` replaces the round trip over the longest link of the switch.
// BFC-04
pub(crate) fn sticky_ps<H>(
    config: &SwitchConfig<H>,
    hop_rtt_ps: Option<Time>,
    ports: &[(Rate, Time)],
) -> Time {
    let Classify::Dynamic { sticky_ps, .. } = config.classify else {
        return 0;
    };
    let hop_rtt_ps = hop_rtt_ps.unwrap_or_else(|| longest_hop_ps(ports));
    let times = |n: u32| ((u128::from(hop_rtt_ps) * u128::from(n)) >> 16) as Time;
    config.assign.sticky_hrtts.map_or(sticky_ps, times)
}

/// Returns the round-trip propagation delay of the longest of these links.
// BFC-08
pub(crate) fn longest_hop_ps(ports: &[(Rate, Time)]) -> Time {
    ports.iter().map(|&(_, delay)| 2 * delay).max().unwrap_or(0)
}

/// Selects by a hash the fraction of the packets that the flow table counts.
// BFC-32
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sampling {
    /// Fraction of the packets that are counted, in units of 1/65536.
    share: u32,
    seed: u32,
}

impl Sampling {
    const ALL: u32 = 1 << 16;

    pub fn new(share: Option<u32>, switch: u32) -> Self {
        Self {
            share: share.unwrap_or(Self::ALL),
            seed: mix32(switch ^ 0x5a3b_1e77),
        }
    }

    /// Returns true if a packet is counted. The result depends only on packet and switch, so it is
    /// the same at arrival and departure of the packet.
    #[inline]
    pub fn counts(&self, packet: &Packet) -> bool {
        if self.share >= Self::ALL {
            return true;
        }
        let draw = mix32(mix32(packet.hash ^ self.seed) ^ packet.psn);
        draw >> 16 < self.share
    }
}

/// One entry of the flow table. All flows that hash to it share its queue.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Time at which a packet of the entry last arrived or left.
    last_ps: Time,
    /// Flow of the packet that arrived last, to count collisions.
    flow: u32,
    /// Number of counted packets of the entry that are in the switch.
    size: u32,
    /// Number of the entry's queue at the port.
    queue: u16,
}

/// Ports per slot in the entry numbers of the simulator of BFC's authors. The number of an entry is
/// its slot (hash value) × `MOST_PORTS` + egress port.
const MOST_PORTS: u64 = 64;

/// Number of entries below which idle entries are not removed.
const LEAST_SWEEP: usize = 256;

impl Entry {
    const IDLE: Self = Self {
        last_ps: 0,
        flow: u32::MAX,
        size: 0,
        queue: u16::MAX,
    };

    /// BFC-03, BFC-04: returns true if the entry keeps its queue, that is, while it has packets in
    /// the switch, and for the sticky time after its last packet.
    const fn keeps(&self, now: Time, sticky_ps: Time) -> bool {
        self.size > 0 || now.saturating_sub(self.last_ps) <= sticky_ps
    }
}

/// Bitmaps of empty queues as in hardware: each ingress pipeline has a copy, which is refreshed
/// periodically. A pipeline clears the bit of a queue that it assigns to a flow.
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

    fn get(&self, pipeline: usize, queue: QueueId) -> bool {
        self.bits[pipeline][queue.index() / 64] >> (queue.index() % 64) & 1 != 0
    }

    fn take(&mut self, pipeline: usize, queue: QueueId) {
        self.bits[pipeline][queue.index() / 64] &= !(1 << (queue.index() % 64));
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

/// Flow table of a switch, with a fixed number of entries for each egress port. Nearly all entries
/// are idle at any time, so only entries in use are stored.
#[derive(Debug)]
pub(crate) struct FlowTable {
    entries: Entries<Entry>,
    /// Number of stored entries above which idle entries are removed.
    most: usize,
    /// Number of entries for each egress port and ingress pipeline.
    per_port: u32,
    /// Mask of the hash bits that all packets of a flow share.
    flow_bits: u32,
    queues: u16,
    sticky_ps: Time,
    assign: AssignConfig,
    /// True if some flows have a fixed queue that does not depend on the table (BFC-36, BFC-47).
    some_fixed: bool,
    ports: u32,
    /// Queue at which the search for an empty queue starts, per (port, pipeline).
    start: Vec<u16>,
    empty: Option<EmptyMap>,
    /// Number of packets that found packets of another flow in their table entry.
    pub collisions: u64,
    /// Number of times that a flow was assigned a queue in use, because no queue was empty.
    pub shared: u64,
    /// Number of times that a flow was assigned a queue with packets, because the bitmap wrongly
    /// showed it as empty.
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
            // BFC-38: the pipelines start their searches at different queues.
            let pipeline = (at % usize::from(pipelines)) as u32;
            (pipeline * u32::from(queues) / u32::from(pipelines)) as u16
        });
        Self {
            entries: Entries::new(Entry::IDLE),
            most: LEAST_SWEEP,
            per_port: (per_port / u32::from(pipelines)).max(1),
            flow_bits: u32::MAX,
            queues,
            sticky_ps,
            start: start.collect(),
            empty: assign
                .bitmap_ps
                .map(|_| EmptyMap::new(queueing.standing(), usize::from(pipelines))),
            some_fixed: assign.incast_queue || assign.by == AssignBy::Hash,
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

    /// Returns the table with a mask of the hash bits that are equal for all packets of a flow.
    // SPR-05
    pub fn with_flow_bits(self, flow_bits: u32) -> Self {
        Self { flow_bits, ..self }
    }

    /// Returns the ingress pipeline that handles a packet. Consecutive ports share a pipeline.
    #[inline]
    fn pipeline(&self, packet: &Packet) -> u32 {
        if self.assign.pipelines == 1 {
            return 0;
        }
        u32::from(packet.ingress) * u32::from(self.assign.pipelines) / self.ports
    }

    /// Returns the index of the section of the table for an egress port and the ingress pipeline of
    /// a packet.
    #[inline]
    fn part(&self, port: u16, packet: &Packet) -> u64 {
        u64::from(port) * u64::from(self.assign.pipelines) + u64::from(self.pipeline(packet))
    }

    /// Returns the index of the entry of a packet's flow at an egress port.
    // BFC-01
    #[inline]
    fn index(&self, port: u16, packet: &Packet) -> u64 {
        let hash = packet.hash & self.flow_bits;
        let slot = (u64::from(hash) * u64::from(self.per_port)) >> 32;
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
        if self.some_fixed
            && let Some(nth) = self.fixed(packet)
        {
            return Place {
                queue: queueing.queue_of(port, packet.class(), nth),
                entry: index,
                assigned: Assigned::Before,
            };
        }
        if let Some(entry) = self.entries.get(index)
            && entry.keeps(now, self.sticky_ps)
            && let Some(queue) = queueing.by_number(port, entry.queue)
            && queueing.get(queue).class == packet.class()
        // BFC-13: each class has its own queues
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

    /// Returns the queue (index in its class) of a packet whose queue does not depend on the table:
    /// an incast packet, or all packets if a hash selects queues. Not inlined, because by default
    /// this returns `None`.
    #[inline(never)]
    fn fixed(&self, packet: &Packet) -> Option<u16> {
        if self.assign.incast_queue && packet.has(flag::INCAST) {
            return Some(0); // BFC-36: queue of incasts
        }
        // BFC-47: a hash selects the queue of every flow
        let apart = self.apart();
        (self.assign.by == AssignBy::Hash)
            .then(|| apart + hashed(packet.hash & self.flow_bits, self.queues - apart))
    }

    /// Returns the number of queues of a class reserved for incasts (0 or 1, the first queue).
    // BFC-36
    const fn apart(&self) -> u16 {
        (self.assign.incast_queue && self.queues > 1) as u16
    }

    /// BFC-02: selects an empty queue that the downstream neighbour has not paused. If there is
    /// none, selects a queue in use.
    fn choose(
        &self,
        port: u16,
        packet: &Packet,
        entry: u64,
        queueing: &Queueing,
        draw: &mut dyn FnMut() -> u64,
    ) -> (QueueId, Assigned) {
        let class = packet.class();
        let first = self.apart();
        let among = self.queues - first;
        let below = |random: u64, end: u16| ((u128::from(random) * u128::from(end)) >> 64) as u16;
        let by_chance = |random: u64| first + below(random, among);
        let start = match self.assign.start {
            SearchStart::Rotating => self.start[self.part(port, packet) as usize].max(first),
            // BFC-41
            SearchStart::Random { reserved } => {
                let nth = below(draw(), among + reserved);
                first + if nth < among { nth } else { 0 }
            }
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
            WhenFull::ByEntry => first + self.by_entry(port, entry, among),
        };
        (queueing.queue_of(port, class, nth), Assigned::Shared)
    }

    /// Returns the queue, below `among`, of a table entry at a port. The same entry number has the
    /// same queue at every switch.
    // BFCC-06
    #[inline(never)]
    fn by_entry(&self, port: u16, entry: u64, among: u16) -> u16 {
        let slot = entry % u64::from(self.per_port);
        let seed = (slot * MOST_PORTS + u64::from(port) + 1) as u32;
        (c_random::first(seed) % u32::from(among)) as u16
    }

    #[inline]
    fn is_free(&self, queue: QueueId, pipeline: usize, queueing: &Queueing) -> bool {
        let q = queueing.get(queue);
        let empty = match &self.empty {
            None => q.is_empty(),
            Some(map) => map.get(pipeline, queue), // BFC-38: empty by the bitmap
        };
        // BFC-40: a paused queue is not assigned by default
        empty && (self.assign.paused_eligible || !q.paused)
    }

    /// Updates the table for an accepted packet. `place` is the result of [`FlowTable::place`].
    /// `counted` is true if sampling selects the packet (BFC-32). Returns true if the entry now has
    /// exactly one counted packet.
    #[inline(always)]
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

    /// Clears the bit of an assigned queue in the bitmap of the packet's pipeline. Counts a queue
    /// that the bitmap wrongly reported as empty.
    fn take(&mut self, packet: &Packet, place: Place, queueing: &Queueing) {
        let pipeline = self.pipeline(packet) as usize;
        if let Some(map) = &mut self.empty {
            let taken = !queueing.get(place.queue).is_empty();
            self.stale += u64::from(place.assigned == Assigned::Empty && taken);
            map.take(pipeline, place.queue);
        }
    }

    /// Copies the state of the queues to the bitmaps of empty queues.
    // BFC-38
    pub fn refresh(&mut self, queueing: &Queueing) {
        if let Some(map) = &mut self.empty {
            map.refresh(queueing);
        }
    }

    /// Subtracts a departing packet from its entry. The packet was counted on arrival.
    #[inline]
    pub fn departed(&mut self, now: Time, port: u16, packet: &Packet) {
        let index = self.index(port, packet);
        // The entry exists: entries with packets in the switch are never removed.
        if let Some(entry) = self.entries.get_mut(index) {
            debug_assert!(
                entry.size > 0,
                "port {port}: the entry of flow {} has no packet",
                packet.flow
            );
            entry.size -= 1;
            entry.last_ps = now;
        }
    }

    /// Prefetches the entry of a packet that will leave by `port`.
    #[inline]
    pub fn prefetch(&self, port: u16, packet: &Packet) {
        self.entries.prefetch(self.index(port, packet));
    }

    /// Returns the queue (number at the port) in the entry of a packet's flow, if an entry exists.
    #[inline]
    pub fn queue(&self, port: u16, packet: &Packet) -> Option<u16> {
        let entry = self.entries.get(self.index(port, packet));
        entry.map(|entry| entry.queue)
    }

    /// Returns the number of packets in the switch, summed over the table entries.
    pub fn packets(&self) -> u64 {
        self.entries.values().map(|e| u64::from(e.size)).sum()
    }
}

#[cfg(test)]
mod tests;
