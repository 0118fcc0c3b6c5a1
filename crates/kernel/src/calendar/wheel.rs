//! The fast calendar: a hierarchical timing wheel.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::event::Key;
use super::ring::{Ring, SLOTS, Spares};
use super::width::Width;
use super::{Calendar, Event};
use crate::{Time, small_sort};

const SLOT_BITS: u32 = SLOTS.trailing_zeros();

/// A new event is inserted into the sorted bucket only if at most this many events must be moved.
const SHALLOW: usize = 256;

/// A bucket with more events than this is first divided into time ranges ([`spread`]), then sorted.
const FEW: usize = 24;

/// Maximum number of time ranges into which [`spread`] divides a bucket.
const PARTS: usize = 256;

/// Sorts events by time, the latest first, with an insertion sort. This is fast if the events are
/// nearly sorted. Returns true if two events have the same time.
#[inline]
fn insert_all(events: &mut [Event]) -> bool {
    let mut tie = false;
    for from in 1..events.len() {
        let event = events[from];
        let mut at = from;
        while at > 0 && events[at - 1].time < event.time {
            events[at] = events[at - 1];
            at -= 1;
        }
        tie |= at > 0 && events[at - 1].time == event.time;
        events[at] = event;
    }
    tie
}

/// Sorts the events of a bucket of 2^`shift` ps roughly: by time range within the bucket, the
/// latest range first. A range has one or two events on average.
fn spread(events: &mut Vec<Event>, spare: &mut Vec<Event>, shift: u32) {
    let parts = events.len().next_power_of_two().min(PARTS);
    let within = shift.saturating_sub(parts.trailing_zeros());
    let part = |event: &Event| !(event.time >> within) as usize & (parts - 1);
    let mut starts = [0u32; PARTS];
    for event in &*events {
        starts[part(event)] += 1;
    }
    let mut sum = 0;
    for start in &mut starts[..parts] {
        sum += std::mem::replace(start, sum);
    }
    spare.resize(events.len(), Event::new(0, 0, 0, 0));
    for event in &*events {
        let next = &mut starts[part(event)];
        spare[*next as usize] = *event;
        *next += 1;
    }
    std::mem::swap(events, spare);
}

/// A hierarchical timing wheel with sorted buckets.
///
/// Time is divided into buckets of 2^`shift` ps. 4096 buckets form a block. Buckets and blocks are
/// numbered from time 0. Three levels store the pending events:
///
/// | level | covers | structure |
/// |---|---|---|
/// | near | the next 4096 buckets | a ring of unsorted buckets |
/// | far | the next 4096 blocks | a ring of unsorted blocks |
/// | beyond | the rest | a heap |
///
/// With buckets of 2^10 ps, the near level covers 4.2 µs and the far level 17 ms. The cursor is the
/// number of the next bucket. When simulated time reaches a bucket, its events are sorted and then
/// popped one by one. When it reaches a block, the events of the block move into buckets. The wheel
/// skips empty buckets with a bitmap, so sparse events cost as much as dense events.
///
/// The shift changes only the speed, never the order. It may adapt to the load
/// ([`Wheel::between`]).
#[derive(Clone, Debug)]
pub struct Wheel {
    /// The sorted current bucket, in descending order: the last event is popped first.
    current: Vec<Event>,
    /// Number of events in `current` when it was sorted.
    loaded: usize,
    /// Events that were pushed after the sort into buckets before the cursor, and whose time is not
    /// soon. Nearly always empty.
    late: BinaryHeap<Reverse<Key>>,
    /// Number of the first bucket that was neither popped nor moved to `current`.
    cursor: u64,
    /// Number of the block whose events were moved into buckets last. The cursor is in this block
    /// or at its end.
    block: u64,
    shift: u32,
    width: Width,
    len: usize,
    popped_ps: Time,
    near: Ring,
    far: Ring,
    beyond: BinaryHeap<Reverse<Key>>,
    spares: Spares,
    /// Scratch memory: ranks of events that have the same time.
    ties: Vec<u64>,
    /// Scratch memory of [`spread`].
    spread: Vec<Event>,
}

impl Wheel {
    /// Number of buckets of the near level.
    pub const SLOTS: u64 = SLOTS;

    /// Maximum shift: the widest bucket has 2^32 ps, about 4 ms.
    pub const MAX_SHIFT: u32 = 32;

    /// Default shift: buckets of 2^10 ps, about a nanosecond.
    pub const DEFAULT_SHIFT: u32 = 10;

    /// Returns an empty calendar at time 0 with buckets of 2^`shift` ps, at most
    /// 2^[`Self::MAX_SHIFT`].
    ///
    /// Shifts from 10 to 13 are fast with ten to a million pending events (docs/calendar.md). Other
    /// link rates or delays may need other shifts.
    #[must_use]
    pub fn new(shift: u32) -> Self {
        Self::between(shift, shift)
    }

    /// Like [`Wheel::new`], but the width of buckets adapts to the load, between 2^`least` and
    /// 2^`most` ps.
    // KER-11
    #[must_use]
    pub fn between(least: u32, most: u32) -> Self {
        let most = most.min(Self::MAX_SHIFT);
        let least = least.min(most);
        Self {
            current: Vec::new(),
            loaded: 0,
            late: BinaryHeap::new(),
            cursor: 0,
            block: 0,
            shift: least.midpoint(most),
            width: Width::between(least, most),
            len: 0,
            popped_ps: 0,
            near: Ring::new(),
            far: Ring::new(),
            beyond: BinaryHeap::new(),
            spares: Spares::default(),
            ties: Vec::new(),
            spread: Vec::new(),
        }
    }

    #[inline]
    fn bucket(&self, time: Time) -> u64 {
        time >> self.shift
    }

    /// Adds an event to the level that covers its time.
    #[inline]
    fn put(&mut self, event: Event) {
        let bucket = self.bucket(event.time);
        if bucket.wrapping_sub(self.cursor) < SLOTS {
            self.near.insert(&mut self.spares, bucket, event);
        } else if bucket < self.cursor {
            self.push_current(event);
        } else {
            self.push_far(event);
        }
    }

    /// Adds an event of a bucket before the cursor. If its time is soon, it is inserted into the
    /// sorted bucket. Other events are added to the heap `late`, because a burst of insertions
    /// would move the sorted events many times.
    #[inline(never)]
    fn push_current(&mut self, event: Event) {
        self.width.count_late();
        let deep = self.current.len().saturating_sub(SHALLOW);
        let above = self.current[deep..].partition_point(|other| event.precedes(*other));
        if above > 0 || deep == 0 {
            self.current.insert(deep + above, event);
        } else {
            self.late.push(Reverse(Key::of(event)));
        }
    }

    /// Adds an event that the near level does not cover.
    #[inline(never)]
    fn push_far(&mut self, event: Event) {
        let block = self.bucket(event.time) >> SLOT_BITS;
        if block - self.block < SLOTS {
            self.far.insert(&mut self.spares, block, event);
        } else {
            self.beyond.push(Reverse(Key::of(event)));
        }
    }

    /// Makes the next bucket with events the current bucket, which must be empty. Returns false if
    /// the next bucket with events does not begin before `limit`. KER-05: the cursor never passes
    /// the limit.
    fn advance(&mut self, limit: Time) -> bool {
        if let Some(shift) = self.width.better(self.shift, self.len) {
            self.change_width(shift);
        }
        loop {
            let near = self.near.next(self.cursor);
            if let Some(bucket) = near.filter(|bucket| bucket >> SLOT_BITS == self.block) {
                if bucket << self.shift >= limit {
                    return false;
                }
                self.load(bucket);
                return true;
            }
            let Some(block) = self.next_block(near.is_some()) else {
                return false;
            };
            if block << SLOT_BITS << self.shift >= limit {
                return false;
            }
            self.enter(block);
        }
    }

    /// Returns the number of the next block with events. `near` is true if the near level has
    /// events. These are then in the block after the current one.
    fn next_block(&self, near: bool) -> Option<u64> {
        if near {
            return Some(self.block + 1);
        }
        self.far.next(self.block + 1).or_else(|| {
            let Reverse(key) = *self.beyond.peek()?;
            Some(self.bucket(key.time()) >> SLOT_BITS)
        })
    }

    /// Makes a bucket the current bucket and sorts it.
    fn load(&mut self, bucket: u64) {
        let drained = std::mem::replace(&mut self.current, self.near.take(bucket));
        self.spares.put(drained, self.loaded);
        self.cursor = bucket + 1;
        self.loaded = self.current.len();
        self.width.count_bucket(self.loaded);
        if self.loaded > 1 {
            self.sort();
        }
    }

    /// Sorts the current bucket by time. Returns true if two of its events have the same time.
    #[inline]
    fn sort_by_time(&mut self) -> bool {
        let events = &mut self.current;
        if events.len() <= FEW {
            events.reverse(); // events are pushed roughly in ascending order
        } else if events.iter().all(|event| event.time == events[0].time) {
            return true; // all events have the same time
        } else {
            spread(events, &mut self.spread, self.shift);
        }
        insert_all(events)
    }

    /// Sorts the current bucket. Most events have different times. Phase, tie and argument are
    /// compared only for events of the same time.
    #[inline]
    fn sort(&mut self) {
        if !self.sort_by_time() {
            return;
        }
        for run in self.current.chunk_by_mut(|a, b| a.time == b.time) {
            if run.len() == 1 {
                continue;
            }
            if run.len() <= small_sort::FEW {
                small_sort::order_few(run, |event| Reverse(event.rank()));
            } else {
                let time = run[0].time;
                self.ties.clear();
                self.ties.extend(run.iter().map(|&event| event.rank()));
                self.ties.sort_unstable();
                for (event, &rank) in run.iter_mut().rev().zip(&self.ties) {
                    *event = Event::ranked(time, rank);
                }
            }
        }
    }

    /// Moves the cursor to the start of a block. Moves the events of this block from the far to the
    /// near level, and from `beyond` to the far level those that it now covers.
    #[inline(never)]
    fn enter(&mut self, block: u64) {
        self.block = block;
        self.cursor = block << SLOT_BITS;
        let block_events = self.far.take(block);
        for &event in &block_events {
            self.near
                .insert(&mut self.spares, event.time >> self.shift, event);
        }
        let held = block_events.len();
        self.spares.put(block_events, held);
        self.fetch_from_beyond();
    }

    /// Moves events from the heap `beyond` to the near or far level if this level now covers them.
    fn fetch_from_beyond(&mut self) {
        while let Some(&Reverse(key)) = self.beyond.peek() {
            let bucket = self.bucket(key.time());
            if (bucket >> SLOT_BITS) - self.block >= SLOTS {
                break;
            }
            self.beyond.pop();
            if bucket >> SLOT_BITS == self.block {
                self.near.insert(&mut self.spares, bucket, key.event());
            } else {
                self.far
                    .insert(&mut self.spares, bucket >> SLOT_BITS, key.event());
            }
        }
    }

    /// Moves all pending events into buckets of another width. `current` and `late` must be empty.
    // KER-05, KER-11: the new cursor may lie before the old one, so pushes at the limit stay legal
    #[cold]
    #[inline(never)]
    fn change_width(&mut self, shift: u32) {
        debug_assert!(self.current.is_empty() && self.late.is_empty());
        let Some(start_ps) = self.cursor.checked_mul(1 << self.shift) else {
            return; // the cursor is at the end of time
        };
        self.shift = shift;
        self.cursor = start_ps >> shift;
        self.block = self.cursor >> SLOT_BITS;
        let buckets: Vec<_> = self.near.take_all().chain(self.far.take_all()).collect();
        for bucket in buckets {
            for &event in &bucket {
                self.put(event);
            }
            let held = bucket.len();
            self.spares.put(bucket, held);
        }
        self.fetch_from_beyond();
    }

    /// Returns the first event before `limit`, and true if it is in the heap `late`.
    #[inline]
    fn next_event(&mut self, limit: Time) -> Option<(Event, bool)> {
        if !self.late.is_empty() {
            return self.next_with_late(limit);
        }
        if self.current.is_empty() && !self.advance(limit) {
            return None;
        }
        let event = *self.current.last()?;
        (event.time < limit).then_some((event, false))
    }

    #[cold]
    #[inline(never)]
    fn next_with_late(&self, limit: Time) -> Option<(Event, bool)> {
        let late = self.late.peek()?.0;
        let current = self.current.last().map(|&event| Key::of(event));
        let first = current.map_or(late, |key| key.min(late));
        // Equal events are identical, so it does not matter which of them is popped first.
        (first.time() < limit).then(|| (first.event(), current != Some(first)))
    }
}

impl Default for Wheel {
    /// Creates a wheel with buckets of 2^[`Wheel::DEFAULT_SHIFT`] ps.
    fn default() -> Self {
        Self::new(Self::DEFAULT_SHIFT)
    }
}

impl Calendar for Wheel {
    #[inline]
    fn upcoming(&self) -> &[Event] {
        &self.current
    }

    #[inline]
    fn following(&self, left: usize) -> &[Event] {
        if self.current.len() != left.min(self.loaded.saturating_sub(1)) {
            return &[];
        }
        let next = self.near.next(self.cursor);
        next.map_or(&[], |bucket| self.near.bucket(bucket))
    }

    #[inline]
    fn push(&mut self, event: Event) {
        // KER-04: a push into the past is an error of the caller
        debug_assert!(
            event.time >= self.popped_ps,
            "{event:?} is before {} ps",
            self.popped_ps
        );
        self.len += 1;
        self.put(event);
    }

    #[inline(always)]
    fn pop_before(&mut self, limit: Time) -> Option<Event> {
        let (event, late) = self.next_event(limit)?;
        if late {
            self.late.pop();
        } else {
            self.current.pop();
        }
        self.len -= 1;
        self.popped_ps = event.time;
        Some(event)
    }

    #[inline]
    fn pop_now(&mut self) -> Option<Event> {
        // The last popped event was in the current bucket, and so are other events of its time.
        if self.late.is_empty() {
            let now = self.popped_ps;
            let event = self.current.pop_if(|event| event.time == now)?;
            self.len -= 1;
            Some(event)
        } else {
            self.pop_before(self.popped_ps.saturating_add(1))
        }
    }

    #[inline]
    fn peek_before(&mut self, limit: Time) -> Option<Event> {
        self.next_event(limit).map(|(event, _)| event)
    }

    #[inline]
    fn len(&self) -> usize {
        self.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Naive;
    use crate::phase;
    use crate::random::{Purpose, Stream};

    /// KER-11: a wheel with adaptive width pops the same events as the naive calendar.
    #[test]
    fn width_follows_the_load() {
        let mut random = Stream::new(3, 0, Purpose::Test);
        let (mut wheel, mut naive) = (Wheel::between(2, 16), Naive::new());
        let mut shifts = Vec::new();
        let mut now = 0;
        // Pairs: mean time between events in ps, number of pending events.
        for (gap, pending) in [
            (30, 3_000),
            (100_000, 50),
            (8, 20_000),
            (9_000_000, 5),
            (2, 700),
        ] {
            for _ in 0..100_000 {
                while wheel.len() < pending {
                    let far = if random.below(1_000) == 0 { 100 } else { 1 };
                    let time = now + random.below(2 * gap * pending as u64) * far;
                    let id = random.below(1 << 20) as u32;
                    let event = Event::new(time, random.below(6) as u32, id, 0);
                    wheel.push(event);
                    naive.push(event);
                }
                let limit = now + random.below(gap * 20);
                assert_eq!(wheel.pop_before(limit), naive.pop_before(limit));
                let popped = wheel.pop_before(Time::MAX);
                assert_eq!(popped, naive.pop_before(Time::MAX));
                now = popped.map_or(now, |event| event.time);
            }
            shifts.push(wheel.shift);
        }
        while let Some(event) = naive.pop_before(Time::MAX) {
            assert_eq!(wheel.pop_before(Time::MAX), Some(event));
        }
        assert!(wheel.is_empty());
        // A bucket has about 128 events, unless the limits of the width prevent this.
        let wanted = [(11, 13), (16, 16), (9, 11), (16, 16), (7, 9)];
        for (shift, (least, most)) in shifts.iter().zip(wanted) {
            assert!((least..=most).contains(shift), "{shifts:?}");
        }
    }

    /// [`Calendar::following`] returns each next bucket exactly once, also if `current` had few
    /// events.
    #[test]
    fn following_events_are_returned_once_per_bucket() {
        let mut wheel = Wheel::new(10);
        let sizes = [20, 3, 1, 12];
        for (bucket, size) in (0..).zip(sizes) {
            for nth in 0..size {
                let time = (bucket << 10) + 7 * nth;
                wheel.push(Event::new(time, phase::TIMER, nth as u32, 0));
            }
        }
        let mut returned = Vec::new();
        while wheel.pop_before(Time::MAX).is_some() {
            let following = wheel.following(8);
            if !following.is_empty() {
                returned.push((wheel.len(), following.len()));
            }
        }
        assert_eq!(returned, [(24, 3), (15, 1), (12, 12)]);
    }

    /// KER-05: the wheel loads no bucket and no block that begins at or after the limit.
    #[test]
    fn cursor_stays_before_the_limit() {
        let times = [
            1_500,
            90_000,
            5_000_000,
            9_000_000,
            40_000_000_000,
            70_000_000_000_000,
        ];
        for shift in [0, 6, 10, 14] {
            for limit in times
                .into_iter()
                .flat_map(|time| [time - 1, time, time + 1, time + 3_000])
            {
                let mut wheel = Wheel::new(shift);
                for time in times {
                    wheel.push(Event::new(time, phase::TIMER, 1, 0));
                }
                while wheel.pop_before(limit).is_some() {}
                assert_eq!(wheel.peek_before(limit), None);
                let entered_ps = wheel.block << SLOT_BITS << shift;
                let current_ps = wheel.cursor.saturating_sub(1) << shift;
                assert!(
                    entered_ps < limit && current_ps < limit,
                    "2^{shift} ps, limit {limit} ps"
                );
                assert_eq!(
                    wheel.len(),
                    times.iter().filter(|&&time| time >= limit).count()
                );
            }
        }
    }
}
