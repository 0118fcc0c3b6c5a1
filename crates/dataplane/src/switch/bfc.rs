//! Backpressure Flow Control at a switch (Goyal et al., NSDI 2022, §3.3): the flow table that
//! assigns flows to queues, and the pause counters that hold queues of the hop upstream.
//!
//! The rules are in `specs/bfc.md`.

use crate::config::{BfcConfig, SwitchConfig};
use crate::packet::Packet;
use crate::switch::classify::{Assigned, MixedMap, Place};
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

/// Flow table of a switch: `table` entries for each egress port. Nearly all of them are idle at any
/// time, and an idle entry says nothing, so only the others are held.
#[derive(Debug)]
pub(crate) struct FlowTable {
    entries: MixedMap<u64, Entry>,
    /// Idle entries are thrown out when there are more entries than this.
    most: usize,
    per_port: u32,
    queues: u16,
    sticky_ps: Time,
    /// Per port, where the search for an empty queue starts.
    start: Vec<u16>,
    /// New flows that found their entry in use by another flow.
    pub collisions: u64,
    /// Flows that found all queues taken.
    pub shared: u64,
}

impl FlowTable {
    pub fn new(ports: usize, queues: u16, per_port: u32, sticky_ps: Time) -> Self {
        Self {
            entries: MixedMap::default(),
            most: LEAST_SWEEP,
            per_port,
            queues,
            sticky_ps,
            start: vec![0; ports],
            collisions: 0,
            shared: 0,
        }
    }

    /// Index of the entry of a flow at an egress port.
    // BFC-01
    #[inline]
    fn index(&self, port: u16, packet: &Packet) -> u64 {
        let slot = (u64::from(packet.hash) * u64::from(self.per_port)) >> 32;
        u64::from(port) * u64::from(self.per_port) + slot
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
        if let Some(entry) = self.entries.get(&index)
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
        let (queue, assigned) = self.choose(port, packet.class(), queueing, draw);
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
        class: u8,
        queueing: &Queueing,
        draw: &mut dyn FnMut() -> u64,
    ) -> (u32, Assigned) {
        let start = self.start[port as usize];
        for nth in (start..self.queues).chain(0..start) {
            let queue = queueing.queue_of(port, class, nth);
            let q = queueing.get(queue);
            if q.is_empty() && !q.paused {
                return (queue, Assigned::Empty);
            }
        }
        let nth = (u128::from(draw()) * u128::from(self.queues)) >> 64;
        (queueing.queue_of(port, class, nth as u16), Assigned::Shared)
    }

    /// Returns whether the packet is the only one of its entry.
    #[inline]
    pub fn commit(&mut self, now: Time, packet: &Packet, place: Place, number: u16) -> bool {
        if self.entries.len() > self.most {
            let sticky_ps = self.sticky_ps;
            self.entries.retain(|_, entry| entry.keeps(now, sticky_ps));
            self.most = LEAST_SWEEP.max(2 * self.entries.len());
        }
        let entry = self.entries.entry(place.entry).or_insert(Entry::IDLE);
        if entry.size > 0 && entry.flow != packet.flow {
            self.collisions += 1;
        }
        entry.flow = packet.flow;
        entry.size += 1;
        entry.last_ps = now;
        if place.assigned != Assigned::Before {
            entry.queue = number;
            self.shared += u64::from(place.assigned == Assigned::Shared);
            let start = &mut self.start[(place.entry / u64::from(self.per_port)) as usize];
            *start = if *start + 1 >= self.queues {
                0
            } else {
                *start + 1
            };
        }
        entry.size == 1
    }

    #[inline]
    pub fn departed(&mut self, now: Time, port: u16, packet: &Packet) {
        let index = self.index(port, packet);
        // A packet that is here keeps its entry.
        if let Some(entry) = self.entries.get_mut(&index) {
            entry.size -= 1;
            entry.last_ps = now;
        }
    }

    /// Packets that the table believes to be in the switch.
    pub fn packets(&self) -> u64 {
        self.entries.values().map(|e| u64::from(e.size)).sum()
    }
}

/// The backpressure half: which queues upstream must wait.
#[derive(Debug)]
pub(crate) struct Backpressure {
    config: BfcConfig,
    /// Per (ingress port, upstream queue): packets here that were over the threshold. Only those
    /// that are not 0 are held.
    counters: MixedMap<(u16, u16), u32>,
    /// Per egress port: bytes that drain in one 1-hop round trip, times the factor.
    hrtt_bytes: Vec<u64>,
}

impl Backpressure {
    pub fn new(config: BfcConfig, ports: &[(Rate, Time)]) -> Self {
        // BFC-08: the largest 1-hop round trip over all ingresses, each egress at its own speed.
        let longest = ports.iter().map(|&(_, delay)| 2 * delay).max().unwrap_or(0);
        let hrtt_ps = config.hrtt_ps.unwrap_or(longest);
        let scaled = |&(rate, _): &(Rate, Time)| {
            ((u128::from(rate.bytes_in(hrtt_ps)) * u128::from(config.threshold_factor)) >> 16)
                as u64
        };
        Self {
            config,
            counters: MixedMap::default(),
            hrtt_bytes: ports.iter().map(scaled).collect(),
        }
    }

    #[inline]
    const fn key(&self, packet: &Packet) -> (u16, u16) {
        (
            packet.ingress,
            packet.upstream_queue % self.config.upstream_queues,
        )
    }

    /// BFC-07: the pause threshold of a queue in bytes when `active` queues of its port may send.
    #[inline]
    pub fn threshold(&self, egress: u16, active: u32) -> u64 {
        self.hrtt_bytes[egress as usize] / u64::from(active.max(1))
    }

    /// BFC-09: whether a packet of `size` bytes that found `found` bytes in its queue is over the
    /// threshold; `alone` says that its flow had no packet here.
    #[inline]
    pub fn is_over(&self, egress: u16, active: u32, found: u64, size: u64, alone: bool) -> bool {
        let queued = if self.config.count_arriving {
            found + size
        } else {
            found
        };
        !(alone && self.config.first_exempt) && queued > self.threshold(egress, active)
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

    /// (ingress port, upstream queue) pairs that are held now, in order.
    pub fn holding(&self) -> impl Iterator<Item = (u16, u16)> {
        let mut held: Vec<(u16, u16)> = self.counters.keys().copied().collect();
        held.sort_unstable();
        held.into_iter()
    }
}

/// What a BFC switch keeps, in entries (BFC paper §3.3): flow table and pause counters.
// BFC-16
#[must_use]
pub fn state_entries(config: &SwitchConfig, ports: u32) -> (u64, u64) {
    let table = match config.classify {
        crate::config::Classify::Dynamic { table, .. } => u64::from(table) * u64::from(ports),
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
    use crate::config::Classify;
    use crate::packet::{Arena, Cold, Kind};
    use crate::switch::tests::config;
    use crate::units::{NS, US};

    fn table(queues: u16) -> (FlowTable, Queueing, Arena) {
        let mut c = config();
        c.classify = Classify::Dynamic {
            queues,
            table: 100 * u32::from(queues),
            sticky_ps: 4 * US,
        };
        (
            FlowTable::new(2, queues, 100 * u32::from(queues), 4 * US),
            Queueing::new(&c, 2),
            Arena::new(),
        )
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
        t.commit(now, &p, place, q.get(place.queue).number);
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
        q.set_paused(first, true);
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

    // BFC-01
    #[test]
    fn entries_of_different_ports_differ_however_large_the_table_is() {
        let t = FlowTable::new(65_535, 31, 1 << 22, US);
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
            threshold_factor: 65536,
            count_arriving: false,
            first_exempt: true,
            hrtt_ps: None,
            frame_bytes: 64,
            upstream_queues: 32,
        };
        let ports = [(Rate::from_gbps(100), US), (Rate::from_gbps(400), US / 2)];
        Backpressure::new(config, &ports)
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

    // BFC-09
    #[test]
    fn a_packet_is_over_by_what_it_finds_and_a_lone_one_never() {
        let mut b = backpressure();
        assert!(!b.is_over(0, 1, 25_000, 1048, false));
        assert!(b.is_over(0, 1, 25_001, 1048, false));
        assert!(!b.is_over(0, 1, 25_001, 1048, true), "alone");
        b.config.first_exempt = false;
        assert!(b.is_over(0, 1, 25_001, 1048, true));
        b.config.count_arriving = true;
        assert!(b.is_over(0, 1, 23_953, 1048, false));
        assert!(!b.is_over(0, 1, 23_952, 1048, false));
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
        assert_eq!(b.holding().collect::<Vec<_>>(), [(1, 7), (1, 8)]);
        assert!(!b.under(&p));
        assert!(b.under(&p));
        assert!(b.under(&other));
        assert_eq!(b.holding().count(), 0);
    }
}
