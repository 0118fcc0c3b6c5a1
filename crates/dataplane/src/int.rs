//! In-network telemetry: what switches write on a data packet and the receiver returns to the
//! sender (HPCC paper, §3.1 and Fig. 7).

pub mod wire;

use crate::prefetch::{make_room, prefetch};
use crate::units::Time;

pub use wire::Layout;

/// What switches write into telemetry, and hence how senders read it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IntFormat {
    /// Exact numbers that never wrap.
    #[default]
    Exact,
    /// Records of 8 bytes, to the bit (HPCC-30).
    Wire(Layout),
}

impl IntFormat {
    /// Time and bytes between the record of a hop and the next one: ps, bytes. A time of 0 means
    /// that the stamp is not later.
    #[inline]
    #[must_use]
    pub fn since(self, last: &IntHop, new: &IntHop) -> (Time, u64) {
        match self {
            Self::Exact => (
                new.ts_ps.saturating_sub(last.ts_ps),
                new.tx_bytes.saturating_sub(last.tx_bytes), // HPCC-11
            ),
            Self::Wire(layout) => (layout.elapsed_ps(last, new), layout.sent_bytes(last, new)),
        }
    }
}

/// Which bytes of its egress port a switch counts in telemetry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Counter {
    /// Those that left: txBytes, the paper's choice.
    #[default]
    Sent,
    /// Those that joined the queue: rxBytes, in the same place (HPCC-31).
    Arrived,
}

/// INT on a switch. Which bytes count is said per class, in [`ClassConfig::int`](crate::config::ClassConfig::int); class 0 stands
/// for the pause frames that the switch sends itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IntConfig {
    /// Exact numbers, or the records of 8 bytes.
    pub format: IntFormat,
    /// Bytes that left, or bytes that arrived.
    pub counter: Counter,
}

/// Switches that one stack can hold.
pub const MAX_HOPS: usize = 8;

/// Bytes that telemetry of `hops` switches adds to a packet: two for hop count and pathID, eight
/// for each switch.
#[must_use]
pub const fn padding_bytes(hops: u16) -> u16 {
    2 + 8 * hops // HPCC-24
}

/// What one egress port wrote as the packet left it (HPCC-01).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IntHop {
    /// When the packet left the port's queue.
    pub ts_ps: Time,
    /// Bytes that the port had sent before this packet (HPCC-02).
    pub tx_bytes: u64,
    /// Bytes that stay in the port's queues behind this packet (HPCC-02).
    pub qlen_bytes: u32,
    /// Speed of the port in 10⁶ bits per second.
    pub rate_mbps: u32,
}

/// The telemetry of one packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct IntStack {
    len: u8,
    path: u16,
    hops: [IntHop; MAX_HOPS],
}

impl IntStack {
    /// Makes it empty.
    #[inline]
    pub fn clear(&mut self) {
        self.len = 0;
        self.path = 0;
    }

    /// Adds what switch `switch` says. Past [`MAX_HOPS`] the stack stays as it is; the program that builds
    /// the network refuses longer paths with INT. Says whether there was room.
    #[inline]
    pub fn push(&mut self, switch: u32, hop: IntHop) -> bool {
        let Some(slot) = self.hops.get_mut(self.len as usize) else {
            return false;
        };
        *slot = hop;
        self.len += 1;
        self.path ^= switch as u16; // HPCC-03
        true
    }

    /// The hops so far, in the order of the path.
    #[inline]
    #[must_use]
    pub fn hops(&self) -> &[IntHop] {
        &self.hops[..self.len as usize]
    }

    /// XOR of the switches' identifiers (pathID, HPCC-10): tells that the path changed.
    #[inline]
    #[must_use]
    pub const fn path(&self) -> u16 {
        self.path
    }

    /// What it says.
    #[inline]
    #[must_use]
    pub fn telemetry(&self) -> Telemetry<'_> {
        Telemetry {
            path: self.path,
            hops: self.hops(),
        }
    }
}

/// The telemetry of a packet, wherever it lies.
#[derive(Clone, Copy, Debug)]
pub struct Telemetry<'a> {
    /// See [`IntStack::path`].
    pub path: u16,
    /// See [`IntStack::hops`].
    pub hops: &'a [IntHop],
}

/// Hops that lie side by side in [`Stacks`]: as many as a way through three tiers has.
const FRONT: usize = 5;

/// The first hops of a packet, two cache lines.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
struct Front {
    len: u8,
    path: u16,
    hops: [IntHop; FRONT],
}

/// The others.
type Back = [IntHop; MAX_HOPS - FRONT];

/// The telemetry of all packets of an arena. Where no way is longer than five switches, nothing is
/// held for more.
#[derive(Debug, Default)]
pub(crate) struct Stacks {
    fronts: Vec<Front>,
    backs: Vec<Back>,
}

impl Stacks {
    /// Makes the stack of a packet empty. There are at most `packets` of them.
    #[inline]
    pub fn clear(&mut self, id: u32, packets: usize) {
        if id as usize >= self.fronts.len() {
            self.grow(packets);
        }
        let front = &mut self.fronts[id as usize];
        front.len = 0;
        front.path = 0;
    }

    /// [`IntStack::push`], on the stack of a packet. The hop is written where it stays, field by field:
    /// built elsewhere and copied, it would wait for its parts to reach the cache.
    #[inline(always)]
    pub fn push(&mut self, id: u32, switch: u32, hop: IntHop) -> bool {
        let front = &mut self.fronts[id as usize];
        let nth = usize::from(front.len);
        if nth >= MAX_HOPS {
            return false;
        }
        front.len += 1;
        front.path ^= switch as u16; // HPCC-03
        let slot = match front.hops.get_mut(nth) {
            Some(slot) => slot,
            None => Self::behind(&mut self.backs, self.fronts.len(), id, nth - FRONT),
        };
        *slot = hop;
        true
    }

    #[cold]
    fn grow(&mut self, packets: usize) {
        if packets > self.fronts.capacity() {
            let more = self.fronts.len().max(packets - self.fronts.len());
            make_room(&mut self.fronts, more);
        }
        self.fronts.resize(packets, Front::default());
    }

    /// Gives the empty stack of a packet its path and hops, at most [`MAX_HOPS`].
    pub fn fill(&mut self, id: u32, path: u16, hops: &[IntHop]) {
        let (first, others) = hops.split_at(hops.len().min(FRONT));
        let front = &mut self.fronts[id as usize];
        front.hops[..first.len()].copy_from_slice(first);
        front.len = first.len() as u8;
        for &hop in others {
            self.push(id, 0, hop);
        }
        self.fronts[id as usize].path = path;
    }

    /// The place of a hop that does not fit the front.
    #[cold]
    #[inline(never)]
    fn behind(backs: &mut Vec<Back>, packets: usize, id: u32, nth: usize) -> &mut IntHop {
        if id as usize >= backs.len() {
            backs.resize(packets, Back::default());
        }
        &mut backs[id as usize][nth]
    }

    /// The last hop of a packet, to change.
    pub fn last_mut(&mut self, id: u32) -> Option<&mut IntHop> {
        let front = &mut self.fronts[id as usize];
        let last = usize::from(front.len).checked_sub(1)?;
        match last.checked_sub(FRONT) {
            None => Some(&mut front.hops[last]),
            Some(behind) => Some(&mut self.backs[id as usize][behind]),
        }
    }

    /// What the stack of a packet says. Only a stack that does not lie side by side is copied, to `room`.
    #[inline]
    pub fn telemetry<'a>(&'a self, id: u32, room: &'a mut Option<IntStack>) -> Telemetry<'a> {
        let front = &self.fronts[id as usize];
        match front.hops.get(..usize::from(front.len)) {
            Some(hops) => Telemetry {
                path: front.path,
                hops,
            },
            None => room.insert(self.get(id)).telemetry(),
        }
    }

    /// The stack of a packet, a copy.
    #[inline(never)]
    pub fn get(&self, id: u32) -> IntStack {
        let front = &self.fronts[id as usize];
        let mut stack = IntStack {
            len: front.len,
            path: front.path,
            hops: [IntHop::default(); MAX_HOPS],
        };
        stack.hops[..FRONT].copy_from_slice(&front.hops);
        if usize::from(front.len) > FRONT {
            stack.hops[FRONT..].copy_from_slice(&self.backs[id as usize]);
        }
        stack
    }

    /// Whether no packet has ever had one.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.fronts.is_empty()
    }

    /// Prefetches the first hops of a packet.
    #[inline]
    pub fn prefetch(&self, id: u32) {
        if let Some(front) = self.fronts.get(id as usize) {
            prefetch(&front.hops, 0);
            prefetch(&front.hops, FRONT - 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_hops_fill_two_cache_lines() {
        assert_eq!((size_of::<Front>(), align_of::<Front>()), (128, 64));
    }

    /// Against the stack that stands alone, over all lengths, on records used again.
    #[test]
    fn stacks_of_an_arena_are_like_any_stack() {
        let mut stacks = Stacks::default();
        for round in 0..3u32 {
            for id in 0..12u32 {
                stacks.clear(id, 12);
                let mut alone = IntStack::default();
                for n in 0..id {
                    let hop = IntHop {
                        ts_ps: u64::from(n * 7 + id + round),
                        tx_bytes: u64::from(round),
                        qlen_bytes: n,
                        rate_mbps: id,
                    };
                    assert_eq!(stacks.push(id, n * 5, hop), alone.push(n * 5, hop));
                }
                let got = stacks.get(id);
                assert_eq!((got.hops(), got.path()), (alone.hops(), alone.path()));
                let mut room = None;
                let told = stacks.telemetry(id, &mut room);
                assert_eq!((told.hops, told.path), (alone.hops(), alone.path()));
                assert_eq!(stacks.last_mut(id).copied(), alone.hops().last().copied());
            }
        }
        assert_eq!(stacks.fronts.len(), 12);
    }
}
