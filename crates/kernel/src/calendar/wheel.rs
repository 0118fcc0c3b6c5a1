use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::event::Key;
use super::ring::{Ring, SLOTS, Store};
use super::{Calendar, Event};
use crate::Time;

const SLOT_BITS: u32 = SLOTS.trailing_zeros();

/// How far from the end of the sorted bucket an event is inserted by moving others.
const SHALLOW: usize = 32;

/// Wheel.
#[derive(Clone, Debug)]
pub struct Wheel {
    /// All events of buckets up to `cursor`, in descending order: the next one is last.
    current: Vec<Key>,
    /// More events of these buckets, in no order.
    late: BinaryHeap<Reverse<Key>>,
    /// The first bucket that is not in `current`.
    cursor: u64,
    /// The block whose events are in `near`; the cursor is in it or at its end.
    block: u64,
    shift: u32,
    popped_ps: Time,
    len: usize,
    /// Buckets `cursor + 1 .. cursor + SLOTS`.
    near: Ring,
    /// Blocks of `SLOTS` buckets, from the one after the cursor's.
    far: Ring,
    store: Store,
    /// Blocks beyond `far`.
    beyond: BinaryHeap<Reverse<Key>>,
}

impl Wheel {
    /// An empty.
    pub fn new(shift: u32) -> Self {
        Self {
            current: Vec::with_capacity(64),
            late: BinaryHeap::new(),
            cursor: 0,
            block: 0,
            shift: shift.min(32),
            popped_ps: 0,
            len: 0,
            near: Ring::new(),
            far: Ring::new(),
            store: Store::new(),
            beyond: BinaryHeap::new(),
        }
    }

    /// Upcoming.
    #[inline]
    pub fn upcoming(&self, n: usize) -> Option<Event> {
        let at = self.current.len().checked_sub(n)?.checked_sub(1)?;
        self.current.get(at).map(|key| key.event())
    }

    #[inline]
    fn bucket(&self, key: Key) -> u64 {
        key.time() >> self.shift
    }

    /// Adds to the bucket being drained. An event that is due soon goes to its place; others go
    /// to the heap, so that a burst of them is not moved again and again.
    #[inline(never)]
    fn push_current(&mut self, key: Key) {
        let len = self.current.len();
        let near = len.saturating_sub(SHALLOW);
        match self.current[near..].iter().rposition(|&other| other > key) {
            Some(above) => self.current.insert(near + above + 1, key),
            None if near == 0 => self.current.insert(0, key),
            None => self.late.push(Reverse(key)),
        }
    }

    #[inline(never)]
    fn push_far(&mut self, key: Key) {
        let block = self.bucket(key) >> SLOT_BITS;
        if block - self.block < SLOTS {
            self.far.insert(&mut self.store, block, key);
        } else {
            self.beyond.push(Reverse(key));
        }
    }

    /// fill
    fn advance(&mut self, limit: Time) -> bool {
        loop {
            let block = self.block;
            let next_block = match self.near.next(self.cursor) {
                Some(next) if next >> SLOT_BITS == block => {
                    if next << self.shift >= limit {
                        return false;
                    }
                    self.load(next);
                    return true;
                }
                Some(_) => block + 1,
                None => match self.far.next(block + 1) {
                    Some(next) => next,
                    None => match self.beyond.peek() {
                        Some(&Reverse(key)) => self.bucket(key) >> SLOT_BITS,
                        None => return false,
                    },
                },
            };
            if next_block << SLOT_BITS << self.shift >= limit {
                return false;
            }
            self.enter(next_block);
        }
    }

    fn load(&mut self, bucket: u64) {
        self.cursor = bucket + 1;
        let current = &mut self.current;
        self.near
            .drain(&mut self.store, bucket, |key| current.push(key));
        if current.len() > 1 {
            current.sort_unstable_by(|a, b| b.cmp(a));
        }
    }

    #[inline(never)]
    fn enter(&mut self, block: u64) {
        self.block = block;
        self.cursor = block << SLOT_BITS;
        let shift = self.shift;
        self.far
            .pour(&mut self.store, block, &mut self.near, |key| {
                key.time() >> shift
            });
        while let Some(&Reverse(key)) = self.beyond.peek() {
            let bucket = self.bucket(key);
            let of_key = bucket >> SLOT_BITS;
            if of_key - block >= SLOTS {
                break;
            }
            self.beyond.pop();
            if of_key == block {
                self.near.insert(&mut self.store, bucket, key);
            } else {
                self.far.insert(&mut self.store, of_key, key);
            }
        }
    }

    #[inline]
    fn next_key(&mut self, limit: Time) -> Option<Key> {
        if self.late.is_empty() {
            if self.current.is_empty() && !self.advance(limit) {
                return None;
            }
            return self
                .current
                .last()
                .copied()
                .filter(|key| key.time() < limit);
        }
        self.next_of_two().filter(|key| key.time() < limit)
    }

    #[cold]
    #[inline(never)]
    fn next_of_two(&self) -> Option<Key> {
        let late = self.late.peek().map(|&Reverse(key)| key);
        self.current.last().copied().into_iter().chain(late).min()
    }
}

impl Default for Wheel {
    /// Buckets of 2^10 ps.
    fn default() -> Self {
        Self::new(10)
    }
}

impl Calendar for Wheel {
    #[inline]
    fn push(&mut self, event: Event) {
        debug_assert!(
            event.time >= self.popped_ps,
            "{event:?} is before {} ps",
            self.popped_ps
        );
        let key = Key::of(event);
        let bucket = self.bucket(key);
        self.len += 1;
        if bucket < self.cursor {
            self.push_current(key);
        } else if bucket - self.cursor < SLOTS {
            self.near.insert(&mut self.store, bucket, key);
        } else {
            self.push_far(key);
        }
    }

    #[inline]
    fn pop_before(&mut self, limit: Time) -> Option<Event> {
        let key = self.next_key(limit)?;
        if self.current.last() == Some(&key) {
            self.current.pop();
        } else {
            self.late.pop();
        }
        self.len -= 1;
        self.popped_ps = key.time();
        Some(key.event())
    }

    #[inline]
    fn peek_before(&mut self, limit: Time) -> Option<Event> {
        self.next_key(limit).map(Key::event)
    }

    #[inline]
    fn len(&self) -> usize {
        self.len
    }
}
