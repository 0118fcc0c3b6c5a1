//! In-network telemetry (INT): records that switches add to a data packet and that the receiver
//! returns to the sender (HPCC paper, §3.1 and Fig. 7).

pub mod wire;

use crate::prefetch::{make_room, prefetch};
use crate::units::Time;

pub use wire::Layout;

/// Format of telemetry records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IntFormat {
    /// Exact numbers that never wrap.
    #[default]
    Exact,
    /// Bit-exact records of 8 bytes (HPCC-30).
    Wire(Layout),
}

impl IntFormat {
    /// Returns the time (ps) and the transmitted bytes between two records of a hop. The time is 0
    /// if the second time stamp is not later than the first.
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

crate::words! {
    /// Bytes of the egress port that a switch counts in telemetry.
    #[derive(Default)]
    pub enum Counter {
        /// Bytes that left the port: txBytes, as in the paper.
        #[default]
        Sent = "tx",
        /// Bytes that joined the queue: rxBytes, in the same field (HPCC-31).
        Arrived = "rx",
    }
}

/// INT configuration of a switch. [`ClassConfig::int`](crate::config::ClassConfig::int) selects the
/// classes whose bytes count. Class 0 contains the pause frames of the switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IntConfig {
    /// Format of the records: exact numbers, or 8 bytes with rounded fields.
    pub format: IntFormat,
    /// Byte counter in the records: bytes that left the port, or that joined its queues.
    pub counter: Counter,
}

/// Maximum number of switches in one stack.
pub const MAX_HOPS: usize = 8;

/// Returns the bytes that telemetry of `hops` switches adds to a packet: two for hop count and
/// pathID, and eight for each switch.
#[must_use]
pub const fn padding_bytes(hops: u16) -> u16 {
    2 + 8 * hops // HPCC-24
}

/// INT record of one egress port, written when the packet left (HPCC-01).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IntHop {
    /// Time when the packet left the port's queue.
    pub ts_ps: Time,
    /// Bytes that the port had sent before this packet (HPCC-02).
    pub tx_bytes: u64,
    /// Bytes that remain in the port's queues after this packet (HPCC-02).
    pub qlen_bytes: u32,
    /// Rate of the port in 10⁶ bits per second.
    pub rate_mbps: u32,
}

/// INT stack of one packet: its telemetry records.
#[derive(Clone, Copy, Debug, Default)]
pub struct IntStack {
    len: u8,
    path: u16,
    hops: [IntHop; MAX_HOPS],
}

impl IntStack {
    /// Creates a stack with this pathID and these records. Only the first [`MAX_HOPS`] are stored.
    #[must_use]
    pub fn new(path: u16, records: &[IntHop]) -> Self {
        let len = records.len().min(MAX_HOPS);
        let mut hops = [IntHop::default(); MAX_HOPS];
        hops[..len].copy_from_slice(&records[..len]);
        let len = len as u8;
        Self { len, path, hops }
    }

    /// Removes all records and resets the pathID.
    #[inline]
    pub fn clear(&mut self) {
        self.len = 0;
        self.path = 0;
    }

    /// Adds the record of the switch with the ID `switch`. Returns false, without a change, if the
    /// stack is full ([`MAX_HOPS`]). The scenario check refuses INT on longer paths.
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

    /// Returns the records in the order of the path.
    #[inline]
    #[must_use]
    pub fn hops(&self) -> &[IntHop] {
        &self.hops[..self.len as usize]
    }

    /// Returns the pathID, the XOR of the IDs of all switches on the path (HPCC-10). A different
    /// value means that the path changed.
    #[inline]
    #[must_use]
    pub const fn path(&self) -> u16 {
        self.path
    }

    /// Returns the content of the stack.
    #[inline]
    #[must_use]
    pub fn telemetry(&self) -> Telemetry<'_> {
        Telemetry {
            path: self.path,
            hops: self.hops(),
        }
    }
}

/// Telemetry of a packet, independent of its storage.
#[derive(Clone, Copy, Debug)]
pub struct Telemetry<'a> {
    /// XOR of the IDs of the switches on the path (pathID).
    pub path: u16,
    /// Records in the order of the path.
    pub hops: &'a [IntHop],
}

/// Number of hops that [`Stacks`] stores together: the length of a path through three tiers.
const FRONT: usize = 5;

/// INT records of the first [`FRONT`] hops of a packet, in two cache lines.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
struct Front {
    len: u8,
    path: u16,
    hops: [IntHop; FRONT],
}

/// INT records of the hops of a packet after the first [`FRONT`].
type Back = [IntHop; MAX_HOPS - FRONT];

/// INT stacks of all packets of an arena. If no path has more than [`FRONT`] switches, `backs` is
/// not allocated.
#[derive(Debug, Default)]
pub(crate) struct Stacks {
    fronts: Vec<Front>,
    backs: Vec<Back>,
}

impl Stacks {
    /// Clears the stack of a packet. `packets` is the number of packet records in the arena.
    #[inline]
    pub fn clear(&mut self, id: u32, packets: usize) {
        if id as usize >= self.fronts.len() {
            self.grow(packets);
        }
        let front = &mut self.fronts[id as usize];
        front.len = 0;
        front.path = 0;
    }

    /// Adds a record like [`IntStack::push`], to the stack of a packet. The record is written in
    /// place, field by field. A copy of a complete record would be slower because it waits for the
    /// stores of its fields.
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

    /// Sets the pathID and the records, at most [`MAX_HOPS`], of an empty stack.
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

    /// Returns the record of hop [`FRONT`] + `nth` for writing, and allocates `backs` if necessary.
    #[cold]
    #[inline(never)]
    fn behind(backs: &mut Vec<Back>, packets: usize, id: u32, nth: usize) -> &mut IntHop {
        if id as usize >= backs.len() {
            backs.resize(packets, Back::default());
        }
        &mut backs[id as usize][nth]
    }

    /// Returns the last record of a packet for writing.
    pub fn last_mut(&mut self, id: u32) -> Option<&mut IntHop> {
        let front = &mut self.fronts[id as usize];
        let last = usize::from(front.len).checked_sub(1)?;
        match last.checked_sub(FRONT) {
            None => Some(&mut front.hops[last]),
            Some(behind) => Some(&mut self.backs[id as usize][behind]),
        }
    }

    /// Returns the content of a packet's stack. A stack with more than [`FRONT`] records, which is
    /// stored in two arrays, is copied to `room`.
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

    /// Returns a copy of a packet's stack.
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

    /// Returns true if no packet has ever had a stack.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.fronts.is_empty()
    }

    /// Prefetches the first records of a packet.
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

    /// Compares each stack with an `IntStack` of the same content, for all lengths.
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
