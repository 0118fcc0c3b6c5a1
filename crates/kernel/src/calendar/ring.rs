//! A level of the wheel: a ring of unsorted buckets, and the storage that levels share.

use super::event::Key;

/// Buckets of a ring: 64 words of 64 bits, so that two looks find the next one in use.
pub(super) const SLOTS: u64 = 4096;
const MASK: u64 = SLOTS - 1;
const NIL: u32 = u32::MAX;

/// A pending event in a bucket, or a link of the free list.
#[derive(Clone, Copy, Debug)]
struct Node {
    key: Key,
    next: u32,
}

/// All nodes of a wheel. Freed nodes are used again, latest first, so they are warm in the cache
/// and memory grows to the largest number of events that were ever pending.
#[derive(Clone, Debug)]
pub(super) struct Store {
    nodes: Vec<Node>,
    free: u32,
}

impl Store {
    pub(super) fn new() -> Self {
        Self {
            nodes: Vec::new(),
            free: NIL,
        }
    }

    /// Puts a node before `next` and gives its place.
    #[inline]
    fn link(&mut self, key: Key, next: u32) -> u32 {
        let at = self.free;
        if let Some(node) = self.nodes.get_mut(at as usize) {
            self.free = node.next;
            *node = Node { key, next };
            at
        } else {
            self.grow(Node { key, next })
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, node: Node) -> u32 {
        let at = self.nodes.len();
        assert!(at < NIL as usize, "more than {NIL} events are pending");
        self.nodes.push(node);
        at as u32
    }
}

/// A ring of buckets with a map of those in use.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    heads: Box<[u32; SLOTS as usize]>,
    words: [u64; 64],
    summary: u64,
}

impl Ring {
    pub(super) fn new() -> Self {
        Self {
            heads: Box::new([NIL; SLOTS as usize]),
            words: [0; 64],
            summary: 0,
        }
    }

    #[inline]
    pub(super) fn insert(&mut self, store: &mut Store, number: u64, key: Key) {
        let slot = (number & MASK) as usize;
        self.heads[slot] = store.link(key, self.heads[slot]);
        self.mark(slot);
    }

    #[inline]
    fn mark(&mut self, slot: usize) {
        self.words[slot >> 6] |= 1 << (slot & 63);
        self.summary |= 1 << (slot >> 6);
    }

    /// Unhooks the list of a bucket and gives its head.
    #[inline]
    fn take(&mut self, number: u64) -> u32 {
        let slot = (number & MASK) as usize;
        let word = &mut self.words[slot >> 6];
        *word &= !(1 << (slot & 63));
        if *word == 0 {
            self.summary &= !(1 << (slot >> 6));
        }
        std::mem::replace(&mut self.heads[slot], NIL)
    }

    /// Empties a bucket, handing its keys to `give`.
    #[inline]
    pub(super) fn drain(&mut self, store: &mut Store, number: u64, mut give: impl FnMut(Key)) {
        let head = self.take(number);
        let mut at = head;
        while at != NIL {
            let node = &mut store.nodes[at as usize];
            give(node.key);
            at = node.next;
            if at == NIL {
                node.next = std::mem::replace(&mut store.free, head);
            }
        }
    }

    /// Moves the events of a bucket of this ring to their buckets of a finer one; no event is
    /// copied.
    pub(super) fn pour(
        &mut self,
        store: &mut Store,
        number: u64,
        finer: &mut Self,
        bucket: impl Fn(Key) -> u64,
    ) {
        let mut at = self.take(number);
        while at != NIL {
            let node = &mut store.nodes[at as usize];
            let slot = (bucket(node.key) & MASK) as usize;
            let next = std::mem::replace(&mut node.next, finer.heads[slot]);
            finer.heads[slot] = at;
            finer.mark(slot);
            at = next;
        }
    }

    /// The first bucket in use at or after `number`, within one turn.
    #[inline]
    pub(super) fn next(&self, number: u64) -> Option<u64> {
        let slot = number & MASK;
        if let Some(found) = self.next_slot(slot) {
            return Some(number + (found - slot));
        }
        self.next_slot(0)
            .map(|found| number + (SLOTS - slot) + found)
    }

    /// The first slot in use at or after `slot`, up to the end of the ring's slots.
    #[inline]
    fn next_slot(&self, slot: u64) -> Option<u64> {
        let word = slot >> 6;
        let here = self.words[word as usize & 63] & (!0 << (slot & 63));
        if here != 0 {
            return Some(word << 6 | u64::from(here.trailing_zeros()));
        }
        // Two shifts, because a shift by 64 would be none.
        let later = self.summary & (!0 << word << 1);
        if later == 0 {
            return None;
        }
        let word = u64::from(later.trailing_zeros());
        Some(word << 6 | u64::from(self.words[word as usize & 63].trailing_zeros()))
    }
}
