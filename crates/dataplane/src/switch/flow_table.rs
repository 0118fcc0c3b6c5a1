//! Dynamic assignment: which queue a flow has at an egress port, in a flow table (Goyal et al., NSDI 2022,
//! §3.3.1). The rules are in `specs/bfc.md`.

use crate::config::{AssignBy, AssignConfig, Classify, SearchStart, SwitchConfig, WhenFull};
use crate::hash::mix32;
use crate::ids::QueueId;
use crate::packet::{Packet, flag};
use crate::switch::c_random;
use crate::switch::entries::Entries;
use crate::switch::place::{Assigned, Place, hashed};
use crate::switch::queueing::Queueing;
use crate::units::{Rate, Time};

/// For how long a flow without packets keeps its queue at a switch with these ports; `hop_rtt_ps` replaces the
/// round trip of the longest link.
// BFC-04
pub(super) fn sticky_ps<H>(
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

/// The round trip over the longest of these links.
// BFC-08
pub(crate) fn longest_hop_ps(ports: &[(Rate, Time)]) -> Time {
    ports.iter().map(|&(_, delay)| 2 * delay).max().unwrap_or(0)
}

/// Which packets the flow table counts.
// BFC-32
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sampling {
    /// In 1/65536.
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

    /// Whether a packet counts. A function of the packet, so that it is the same when it leaves.
    #[inline]
    pub fn counts(&self, packet: &Packet) -> bool {
        if self.share >= Self::ALL {
            return true;
        }
        let draw = mix32(mix32(packet.hash ^ self.seed) ^ packet.psn);
        draw >> 16 < self.share
    }
}

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

/// Ports of a switch of BFC's authors' simulator: its entries are numbered slot by slot, port by port.
const MOST_PORTS: u64 = 64;

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

/// Flow table of a switch: `table` entries for each egress port. Nearly all of them are idle at any
/// time, and an idle entry says nothing, so only the others are held.
#[derive(Debug)]
pub(crate) struct FlowTable {
    entries: Entries<Entry>,
    /// Idle entries are thrown out when there are more entries than this.
    most: usize,
    /// Entries of an egress port in one pipeline.
    per_port: u32,
    /// The bits of a packet's hash that all packets of a flow share.
    flow_bits: u32,
    queues: u16,
    sticky_ps: Time,
    assign: AssignConfig,
    /// Some flows have a queue that is set beforehand (BFC-36, BFC-47).
    some_fixed: bool,
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

    /// The table if the packets of a flow share only these bits of the hash.
    // SPR-05
    pub fn with_flow_bits(self, flow_bits: u32) -> Self {
        Self { flow_bits, ..self }
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

    /// Which of its class' queues a packet joins whatever the table says, if there is one. Out of line: by
    /// default there is none.
    #[inline(never)]
    fn fixed(&self, packet: &Packet) -> Option<u16> {
        if self.assign.incast_queue && packet.has(flag::INCAST) {
            return Some(0); // BFC-36
        }
        // BFC-47
        let apart = self.apart();
        (self.assign.by == AssignBy::Hash)
            .then(|| apart + hashed(packet.hash & self.flow_bits, self.queues - apart))
    }

    /// Queues that are set apart for incasts: the first ones of a class.
    // BFC-36
    const fn apart(&self) -> u16 {
        (self.assign.incast_queue && self.queues > 1) as u16
    }

    /// BFC-02: an empty queue that downstream has not paused, else one by chance.
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

    /// One of `among` queues for an entry of a port, the same at every switch.
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
            Some(map) => map.get(pipeline, queue), // BFC-38
        };
        // BFC-40
        empty && (self.assign.paused_eligible || !q.paused)
    }

    /// Keeps what [`FlowTable::place`] chose. `counted`: the packet counts in the table (BFC-32).
    /// Returns whether it is the only one of its entry.
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

    /// Number of the queue that a packet's entry names.
    #[inline]
    pub fn queue(&self, port: u16, packet: &Packet) -> Option<u16> {
        let entry = self.entries.get(self.index(port, packet));
        entry.map(|entry| entry.queue)
    }

    /// Packets that the table believes to be in the switch.
    pub fn packets(&self) -> u64 {
        self.entries.values().map(|e| u64::from(e.size)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Classify;
    use crate::config::tests::config;
    use crate::declaration::Needs;
    use crate::packet::{Arena, Cold, Kind};
    use crate::switch::queueing::Taken;
    use crate::units::{NS, Rate, US};

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
        let queueing = Queueing::new(&c, &Needs::default(), &[(Rate::from_gbps(100), 0); 2]);
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
        let mut seen: Vec<QueueId> = (0..4)
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
            q.pop(0, &a).unwrap();
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
        while let Some(Taken { id, .. }) = q.pop(0, a) {
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
            start: SearchStart::Random { reserved: 0 },
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
        let queues: Vec<QueueId> = (0..40).map(|flow| shared(0, flow)).collect();
        assert!((0..40).all(|flow| shared(u64::MAX, flow) == queues[flow as usize]));
        assert!((0..4).all(|nth| queues.contains(&q.queue_of(0, 2, nth))));
        // The entry is one of its port: at another the same flows are dealt out otherwise.
        for nth in 0..4 {
            let id = a.alloc(packet(9), Cold::default());
            let queue = q.queue_of(1, 2, nth);
            q.push(queue, id, &mut a);
        }
        let elsewhere = |flow: u32| t.place(0, 1, &packet(flow), &q, &mut || 0).queue;
        let first = q.queue_of(1, 2, 0).index() - q.queue_of(0, 2, 0).index();
        assert!(
            (0..40).any(|flow| elsewhere(flow).index() - first != queues[flow as usize].index())
        );
    }

    // BFCC-06
    #[test]
    fn the_queue_of_an_entry_depends_on_its_slot_and_port_in_any_pipeline() {
        let of = |pipelines, pipeline: u64, port: u16, slot: u64| {
            let assign = AssignConfig {
                pipelines,
                ..AssignConfig::PAPER
            };
            let (t, ..) = table_with(31, assign);
            let part = u64::from(port) * u64::from(pipelines) + pipeline;
            t.by_entry(port, part * u64::from(t.per_port) + slot, 31)
        };
        // The seeds are 1, 2, and 64 · 2 + 2.
        assert_eq!(u32::from(of(1, 0, 0, 0)), 1_804_289_383 % 31);
        assert_eq!(u32::from(of(1, 0, 1, 0)), 1_505_335_290 % 31);
        assert_eq!(u32::from(of(1, 0, 1, 2)), c_random::first(130) % 31);
        for (port, slot) in [(0, 0), (1, 0), (1, 2)] {
            for pipeline in 0..2 {
                assert_eq!(of(2, pipeline, port, slot), of(1, 0, port, slot));
            }
        }
    }

    // BFC-41
    #[test]
    fn a_search_that_starts_at_a_reserved_number_goes_on_with_the_first_queue() {
        let assign = AssignConfig {
            start: SearchStart::Random { reserved: 5 },
            ..AssignConfig::PAPER
        };
        let (t, q, _) = table_with(31, assign);
        let mut found = [0; 31];
        for nth in 0..36_u128 {
            let mut draw = || ((nth << 64) / 36 + 1) as u64; // just above nth/36 of the way
            let place = t.place(0, 0, &packet(1), &q, &mut draw);
            found[place.queue.index() - q.queue_of(0, 2, 0).index()] += 1;
        }
        assert_eq!((found[0], &found[1..]), (6, &[1; 30][..]));
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

    // BFC-47
    #[test]
    fn hashed_flows_keep_to_their_queues_and_are_counted() {
        let assign = AssignConfig {
            by: AssignBy::Hash,
            ..AssignConfig::PAPER
        };
        let (mut t, mut q, mut a) = table_with(4, assign);
        let mut taken = [false; 4];
        for flow in 0..40 {
            let p = packet(flow);
            let nth = hashed(p.hash, 4);
            taken[usize::from(nth)] = true;
            let place = arrive(&mut t, &mut q, &mut a, 0, p);
            assert_eq!(place.queue, q.queue_of(0, 2, nth), "empty or not");
        }
        assert_eq!((t.packets(), taken), (40, [true; 4]));
        // BFC-36: but for the queue of incasts, if there is one.
        let labelled = AssignConfig {
            incast_queue: true,
            ..assign
        };
        let (mut apart, mut others, mut b) = table_with(4, labelled);
        for flow in 0..40 {
            let place = arrive(&mut apart, &mut others, &mut b, 0, packet(flow));
            assert_ne!(place.queue, others.queue_of(0, 2, 0), "no incast");
        }
        let alone = |t: &mut FlowTable| {
            let p = packet(100);
            let place = t.place(0, 0, &p, &q, &mut || 0);
            t.commit(0, &p, place, true, &q)
        };
        assert!(alone(&mut t), "the first of its flow");
        assert!(!alone(&mut t), "the second");
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
        assert_eq!(sticky_ps(&c, None, &far), 7 * US);
        c.assign.sticky_hrtts = Some(2 << 16);
        assert_eq!(sticky_ps(&c, None, &far), 800 * US);
        assert_eq!(sticky_ps(&c, None, &far[..1]), 4 * US);
    }

    // BFC-32
    #[test]
    fn a_share_of_the_packets_is_sampled_and_a_packet_always_alike() {
        let sampling = Sampling::new(Some(Sampling::ALL / 2), 9);
        let nth = |psn| Packet { psn, ..packet(1) };
        let sampled = (0..10_000).filter(|&psn| sampling.counts(&nth(psn)));
        let sampled = sampled.count();
        assert!((4_800..5_200).contains(&sampled), "{sampled} of 10 000");
        for psn in 0..100 {
            assert_eq!(sampling.counts(&nth(psn)), sampling.counts(&nth(psn)));
        }
        assert!((0..100).all(|psn| Sampling::new(None, 9).counts(&nth(psn))));
    }
}
