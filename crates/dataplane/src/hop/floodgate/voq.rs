//! Virtual output queues (VOQs). They contain the parked packets of destinations that have no
//! window or are paused.

use super::config::Voqs;
use crate::hash::mix32;
use crate::mixed::MixedMap;
use crate::packet::{Arena, NO_PACKET, PacketId};

#[derive(Clone, Copy, Debug)]
struct Voq {
    head: PacketId,
    tail: PacketId,
    /// Number of destinations that use this VOQ.
    users: u32,
}

/// Packets of one destination in its VOQ, and after it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub voq: u32,
    pub packets: u32,
    pub bytes: u64,
    /// Released packets that are still in the low-priority queue of their egress port (FG-15).
    pub behind: u32,
}

impl Held {
    /// Returns true if the switch has no packet of the destination that a new packet could
    /// overtake.
    pub const fn is_gone(&self) -> bool {
        self.packets == 0 && self.behind == 0
    }
}

/// Counters of the VOQs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PoolCounts {
    /// Number of VOQs in use.
    pub in_use: u32,
    /// Maximum of `in_use`.
    pub max_in_use: u32,
    /// Bytes in all VOQs.
    pub bytes: u64,
    /// Maximum of `bytes`.
    pub max_bytes: u64,
    pub packets: u64,
    /// Number of times that a destination found no empty VOQ and shared one, chosen by hash.
    pub hashed: u64,
}

/// All VOQs of a switch.
#[derive(Debug)]
pub(super) struct Pool {
    voqs: Vec<Voq>,
    /// One bit per VOQ, set if no destination uses it.
    free: Vec<u64>,
    /// Size of the first group of VOQs, for destinations below the switch. The second group is for
    /// all other destinations. 0: one group for all destinations.
    split: u32,
    /// True if a new VOQ is created when all are in use.
    grows: bool,
    held: MixedMap<u32, Held>,
    pub counts: PoolCounts,
}

impl Pool {
    /// Creates the VOQs. `both`: the switch forwards both up and down, so that two groups can be
    /// used.
    pub fn new(voqs: Voqs, both: bool) -> Self {
        let (count, split, grows) = match voqs {
            Voqs::PerDestination => (0, 0, true),
            Voqs::Pool { count, groups } => {
                let split = if groups && both { count / 2 } else { 0 };
                (count, split, false)
            }
        };
        let mut pool = Self {
            voqs: Vec::new(),
            free: Vec::new(),
            split: u32::from(split),
            grows,
            held: MixedMap::default(),
            counts: PoolCounts::default(),
        };
        (0..count).for_each(|_| pool.grow());
        pool
    }

    fn grow(&mut self) {
        let nth = self.voqs.len();
        self.voqs.push(Voq {
            head: NO_PACKET,
            tail: NO_PACKET,
            users: 0,
        });
        self.free.resize(nth / 64 + 1, 0);
        self.free[nth / 64] |= 1 << (nth % 64);
    }

    /// Returns the state of a destination that has a VOQ. If `vup` is set, a destination keeps its
    /// empty VOQ until the next update of the ingress pipeline.
    #[inline]
    pub fn held(&self, dst: u32) -> Option<&Held> {
        if self.counts.in_use == 0 {
            return None;
        }
        self.held.get(&dst)
    }

    /// Returns the bytes of a destination in its VOQ; 0 without a VOQ.
    #[inline]
    pub fn bytes_of(&self, dst: u32) -> u64 {
        self.held(dst).map_or(0, |held| held.bytes)
    }

    /// Returns the first unused VOQ with an index from `from` to `to` − 1.
    fn first_free(&self, from: u32, to: u32) -> Option<u32> {
        let (first, last) = (from / 64, to.div_ceil(64));
        (first..last).find_map(|word| {
            let mut bits = self.free[word as usize];
            if word == first {
                bits &= u64::MAX << (from % 64);
            }
            let nth = word * 64 + bits.trailing_zeros();
            (bits != 0 && nth < to).then_some(nth)
        })
    }

    /// Selects a VOQ for a destination that has none yet.
    // FG-10, FG-11, FG-14
    fn choose(&mut self, dst: u32, below: bool) -> u32 {
        let count = self.voqs.len() as u32;
        let (from, to) = match (self.split, below) {
            (0, _) => (0, count),
            (split, true) => (0, split),
            (split, false) => (split, count),
        };
        if let Some(empty) = self.first_free(from, to) {
            return empty;
        }
        if self.grows {
            self.grow();
            return count;
        }
        self.counts.hashed += 1;
        from + ((u64::from(mix32(dst)) * u64::from(to - from)) >> 32) as u32
    }

    fn assign(&mut self, dst: u32, below: bool) -> u32 {
        let voq = self.choose(dst, below);
        let v = &mut self.voqs[voq as usize];
        if v.users == 0 {
            self.free[voq as usize / 64] &= !(1 << (voq % 64));
            self.counts.in_use += 1;
            self.counts.max_in_use = self.counts.max_in_use.max(self.counts.in_use);
        }
        v.users += 1;
        let held = Held {
            voq,
            packets: 0,
            bytes: 0,
            behind: 0,
        };
        self.held.insert(dst, held);
        voq
    }

    /// Adds a packet to the VOQ of its destination. `below`: true if the destination is below the
    /// switch.
    pub fn push(&mut self, id: PacketId, below: bool, arena: &mut Arena) {
        let hot = arena.hot_mut(id);
        hot.next = NO_PACKET;
        let (dst, size) = (hot.dst, u64::from(hot.size));
        if !self.held.contains_key(&dst) {
            self.assign(dst, below);
        }
        let Some(held) = self.held.get_mut(&dst) else {
            return;
        };
        held.packets += 1;
        held.bytes += size;
        self.counts.packets += 1;
        self.counts.bytes += size;
        self.counts.max_bytes = self.counts.max_bytes.max(self.counts.bytes);
        let v = &mut self.voqs[held.voq as usize];
        if v.head == NO_PACKET {
            v.head = id;
        } else {
            arena.hot_mut(v.tail).next = id;
        }
        v.tail = id;
    }

    /// Returns the first packet of a VOQ.
    pub fn head(&self, voq: u32) -> Option<PacketId> {
        let head = self.voqs[voq as usize].head;
        (head != NO_PACKET).then_some(head)
    }

    /// Removes the first packet of a VOQ. Returns the packet and the remaining state of its
    /// destination, or `None` if the VOQ is empty. `behind`: true if the packet moves to the
    /// low-priority queue of its port.
    pub fn pop(&mut self, voq: u32, behind: bool, arena: &Arena) -> Option<(PacketId, Held)> {
        let v = &mut self.voqs[voq as usize];
        let id = v.head;
        if id == NO_PACKET {
            return None;
        }
        let hot = arena.hot(id);
        v.head = hot.next;
        let size = u64::from(hot.size);
        debug_assert!(
            self.counts.packets > 0 && self.counts.bytes >= size,
            "packets in all VOQs"
        );
        self.counts.packets -= 1;
        self.counts.bytes -= size;
        let held = self.held.get_mut(&hot.dst)?;
        // FG-12: a packet is in the VOQ of its destination.
        debug_assert!(
            held.packets > 0 && held.bytes >= size,
            "packets of a destination"
        );
        held.packets -= 1;
        held.bytes -= size;
        held.behind += u32::from(behind);
        Some((id, *held))
    }

    /// Counts a packet that leaves the low-priority queue of its port. Returns true if its
    /// destination has no packet left in VOQ and low-priority queue.
    // FG-15
    pub fn left_behind(&mut self, dst: u32) -> bool {
        self.held.get_mut(&dst).is_some_and(|held| {
            debug_assert!(
                held.behind > 0,
                "destination {dst} has no packet behind others"
            ); // FG-15: count of released packets
            held.behind -= 1;
            held.is_gone()
        })
    }

    /// Releases the VOQ of a destination that has no packets left.
    // FG-10
    pub fn leave(&mut self, dst: u32) {
        let Some(held) = self.held.remove(&dst) else {
            return;
        };
        debug_assert!(held.is_gone(), "nothing of it is held");
        let v = &mut self.voqs[held.voq as usize];
        debug_assert!(
            v.users > 0 && self.counts.in_use > 0,
            "VOQ {} has no destination",
            held.voq
        );
        v.users -= 1;
        if v.users == 0 {
            self.free[held.voq as usize / 64] |= 1 << (held.voq % 64);
            self.counts.in_use -= 1;
        }
    }

    /// Returns the destinations that have a VOQ but no packets, in ascending order.
    pub fn drained(&self) -> Vec<u32> {
        let all = self.held.iter().filter(|(_, held)| held.is_gone());
        let mut drained: Vec<u32> = all.map(|(&dst, _)| dst).collect();
        drained.sort_unstable();
        drained
    }

    /// Returns the indices of the VOQs that contain packets, in ascending order.
    pub fn occupied(&self) -> impl Iterator<Item = u32> + '_ {
        let all = self.voqs.iter().enumerate();
        all.filter(|(_, v)| v.head != NO_PACKET)
            .map(|(nth, _)| nth as u32)
    }

    /// Calls `visit` with every packet in a VOQ.
    pub fn for_each(&self, arena: &Arena, mut visit: impl FnMut(PacketId)) {
        for v in &self.voqs {
            let mut id = v.head;
            while id != NO_PACKET {
                visit(id);
                id = arena.hot(id).next;
            }
        }
    }

    /// Returns all destinations that have a VOQ, with their state, in ascending order.
    pub fn destinations(&self) -> Vec<(u32, Held)> {
        let mut all: Vec<_> = self.held.iter().map(|(&dst, &held)| (dst, held)).collect();
        all.sort_unstable_by_key(|(dst, _)| *dst);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Cold, Kind, Packet};

    fn packet(arena: &mut Arena, dst: u32) -> PacketId {
        let packet = Packet {
            dst,
            ..Packet::new(Kind::Data, 2, 1000)
        };
        arena.alloc(packet, Cold::default())
    }

    const POOL: Voqs = Voqs::Pool {
        count: 4,
        groups: true,
    };

    // FG-10: use of VOQs
    #[test]
    fn a_destination_keeps_its_queue_while_it_has_packets_and_empty_ones_are_taken_again() {
        let mut arena = Arena::new();
        let mut pool = Pool::new(POOL, false);
        for dst in [7, 7, 9] {
            let id = packet(&mut arena, dst);
            pool.push(id, false, &mut arena);
        }
        assert_eq!(
            (pool.held(7).unwrap().voq, pool.held(9).unwrap().voq),
            (0, 1)
        );
        let (id, held) = pool.pop(0, false, &arena).unwrap();
        assert_eq!((arena.hot(id).dst, held.packets, held.bytes), (7, 1, 1000));
        let (_, held) = pool.pop(0, false, &arena).unwrap();
        assert_eq!(held.packets, 0);
        pool.leave(7);
        assert_eq!(pool.counts.in_use, 1);
        let id = packet(&mut arena, 8);
        pool.push(id, false, &mut arena);
        assert_eq!(pool.held(8).unwrap().voq, 0, "the lowest empty one");
        assert_eq!((pool.counts.max_in_use, pool.counts.max_bytes), (2, 3000));
    }

    // FG-11, FG-14: groups of VOQs
    #[test]
    fn groups_are_apart_also_when_all_are_taken() {
        let mut arena = Arena::new();
        let mut pool = Pool::new(POOL, true);
        for dst in 0..6 {
            let id = packet(&mut arena, dst);
            pool.push(id, dst % 2 == 0, &mut arena);
            let group = pool.held(dst).unwrap().voq / 2;
            assert_eq!(group, dst % 2, "destination {dst}");
        }
        assert_eq!(pool.counts.hashed, 2);
        assert_eq!(pool.counts.in_use, 4);
        let mut one = Pool::new(POOL, false);
        for dst in 0..6 {
            let id = packet(&mut arena, dst);
            one.push(id, dst % 2 == 0, &mut arena);
        }
        assert_eq!(
            (0..4).map(|d| one.held(d).unwrap().voq).collect::<Vec<_>>(),
            [0, 1, 2, 3],
            "a switch that forwards one way has one group"
        );
    }

    // FG-10: one VOQ per destination
    #[test]
    fn per_destination_there_are_as_many_as_needed() {
        let mut arena = Arena::new();
        let mut pool = Pool::new(Voqs::PerDestination, true);
        for dst in 0..200 {
            let id = packet(&mut arena, dst);
            pool.push(id, true, &mut arena);
            assert_eq!(pool.held(dst).unwrap().voq, dst);
        }
        assert_eq!((pool.counts.hashed, pool.counts.in_use), (0, 200));
    }
}
