//! One level of the timing wheel: a ring of unsorted buckets of events, and the memory pool for
//! buckets that all levels share.

use super::Event;

/// Number of buckets of a ring. Their bitmap has 64 words of 64 bits, in which two bit scans find
/// the next bucket with events.
pub(super) const SLOTS: u64 = 4096;
const MASK: u64 = SLOTS - 1;
const WORDS: usize = 64;

/// Capacity of a new bucket, in events.
const FIRST_CAPACITY: usize = 8;
/// A bucket of up to this capacity always keeps its memory.
const KEPT_CAPACITY: usize = 256;
/// A larger bucket keeps its memory if its capacity is at most `MAX_OVERSIZE` times the number of
/// events that it had.
const MAX_OVERSIZE: usize = 8;

/// Memory of empty buckets for reuse, last in, first out. So the memory in use stays in the cache,
/// and no memory is allocated in the steady state.
#[derive(Clone, Debug, Default)]
pub(super) struct Spares {
    buckets: Vec<Vec<Event>>,
}

impl Spares {
    #[inline]
    fn take(&mut self) -> Vec<Event> {
        let spare = self.buckets.pop();
        spare.unwrap_or_else(|| Vec::with_capacity(FIRST_CAPACITY))
    }

    /// Stores the memory of a bucket for reuse. The bucket had `held` events.
    #[inline]
    pub(super) fn put(&mut self, mut bucket: Vec<Event>, held: usize) {
        if bucket.capacity() == 0 {
            return;
        }
        bucket.clear();
        // Without this limit each burst of events would leave one more large unused bucket.
        if bucket.capacity() > KEPT_CAPACITY.max(MAX_OVERSIZE * held) {
            bucket.shrink_to(KEPT_CAPACITY);
        }
        self.buckets.push(bucket);
    }
}

/// A ring of buckets with a bitmap of the buckets that have events. The number of a bucket is its
/// time divided by the bucket width. Its slot in the ring is this number modulo [`SLOTS`].
#[derive(Clone, Debug)]
pub(super) struct Ring {
    /// The buckets. A bucket without events has no memory.
    buckets: Box<[Vec<Event>; SLOTS as usize]>,
    /// Bitmap of the buckets with events.
    words: [u64; WORDS],
    /// Bitmap of the elements of `words` that are not zero.
    summary: u64,
}

impl Ring {
    pub(super) fn new() -> Self {
        Self {
            buckets: Box::new([const { Vec::new() }; SLOTS as usize]),
            words: [0; WORDS],
            summary: 0,
        }
    }

    /// Adds an event to the bucket with this number.
    #[inline]
    pub(super) fn insert(&mut self, spares: &mut Spares, number: u64, event: Event) {
        let slot = (number & MASK) as usize;
        let bucket = &mut self.buckets[slot];
        if bucket.len() < bucket.capacity() {
            bucket.push(event);
        } else {
            self.insert_with_more_room(spares, slot, event);
        }
    }

    /// Adds an event to a bucket that is full or has no memory. A separate function, because this
    /// is rare.
    #[cold]
    #[inline(never)]
    fn insert_with_more_room(&mut self, spares: &mut Spares, slot: usize, event: Event) {
        let bucket = &mut self.buckets[slot];
        if bucket.capacity() == 0 {
            *bucket = spares.take();
            self.words[slot >> 6] |= 1 << (slot & 63);
            self.summary |= 1 << (slot >> 6);
        }
        bucket.push(event);
    }

    /// Removes and returns the events of the bucket with this number.
    #[inline]
    pub(super) fn take(&mut self, number: u64) -> Vec<Event> {
        let slot = (number & MASK) as usize;
        let word = &mut self.words[slot >> 6];
        *word &= !(1 << (slot & 63));
        if *word == 0 {
            self.summary &= !(1 << (slot >> 6));
        }
        std::mem::take(&mut self.buckets[slot])
    }

    /// Returns the events of the bucket with this number.
    #[inline]
    pub(super) fn bucket(&self, number: u64) -> &[Event] {
        &self.buckets[(number & MASK) as usize]
    }

    /// Removes all buckets and returns those with events.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Vec<Event>> {
        self.words = [0; WORDS];
        self.summary = 0;
        let buckets = self.buckets.iter_mut();
        buckets
            .filter(|bucket| bucket.capacity() > 0)
            .map(std::mem::take)
    }

    /// Returns the number of the first bucket with events among the [`SLOTS`] buckets from `number`
    /// on.
    #[inline]
    pub(super) fn next(&self, number: u64) -> Option<u64> {
        let slot = number & MASK;
        if let Some(found) = self.next_slot(slot) {
            return Some(number + (found - slot));
        }
        self.next_slot(0)
            .map(|found| number + (SLOTS - slot) + found)
    }

    /// Returns the first slot with events at or after `slot`, without wrapping around.
    #[inline]
    fn next_slot(&self, slot: u64) -> Option<u64> {
        let word = slot >> 6;
        let here = self.words[word as usize & 63] & (!0 << (slot & 63));
        if here != 0 {
            return Some(word << 6 | u64::from(here.trailing_zeros()));
        }
        // Two shifts, because one shift by 64 is not defined.
        let later = self.summary & (!0 << word << 1);
        if later == 0 {
            return None;
        }
        let word = u64::from(later.trailing_zeros());
        Some(word << 6 | u64::from(self.words[word as usize & 63].trailing_zeros()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(time: u64) -> Event {
        Event::new(time, 2, 0, 0)
    }

    /// Compares [`Ring::next`] with a linear search, also across the end of the ring.
    #[test]
    fn next_is_the_first_in_use() {
        let mut ring = Ring::new();
        let mut spares = Spares::default();
        let start = 10 * SLOTS + 4_000;
        let used = [0, 1, 62, 63, 64, 95, 96, 97, 159, 160, 1_000, 4_094, 4_095].map(|n| start + n);
        for number in used {
            ring.insert(&mut spares, number, key(number));
        }
        for from in start..start + SLOTS {
            let expected = used.iter().copied().find(|&number| number >= from);
            // After the last bucket with events, the search wraps to buckets before `from`.
            let found = ring.next(from).filter(|&number| number < start + SLOTS);
            assert_eq!(found, expected, "from {from}");
        }
        for number in used {
            assert_eq!(ring.next(start), Some(number));
            assert_eq!(ring.take(number), [key(number)]);
        }
        assert_eq!(ring.next(start), None);
        assert_eq!(ring.summary, 0);
    }

    /// After bursts in all buckets, one after the other, the memory of at most one burst is kept.
    #[test]
    fn unused_memory_is_limited() {
        let mut ring = Ring::new();
        let mut spares = Spares::default();
        let room = |spares: &Spares| spares.buckets.iter().map(Vec::capacity).sum::<usize>();
        for number in 0..2 * SLOTS {
            let burst = if number % 2 == 0 { 5_000 } else { 3 };
            ring.insert(&mut spares, number + 1, key(0));
            (0..burst).for_each(|n| ring.insert(&mut spares, number, key(n)));
            let drained = ring.take(number);
            let held = drained.len();
            spares.put(drained, held);
            assert!(room(&spares) <= 2 * 8_192, "{} at {number}", room(&spares));
            assert!(spares.buckets.len() <= 2);
        }
    }

    /// A bucket without memory is not stored for reuse.
    #[test]
    fn an_empty_bucket_is_not_a_spare() {
        let mut spares = Spares::default();
        let empty = Ring::new().take(5);
        spares.put(empty, 0);
        assert!(spares.buckets.is_empty());
    }
}
