//! A calendar that pops events of equal time in the order of scheduling.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Calendar, Event};
use crate::Time;

/// Number of slots of the timing wheel: a power of two and a multiple of 64.
const SLOTS: usize = 1 << 13;
/// Index that marks the end of a linked list.
const NONE: u32 = u32::MAX;
/// Time that a slot covers, in ps.
const SLOT_PS: Time = 1_000;

/// A pending event of a slot, and the index of the event pushed after it.
#[derive(Clone, Copy, Debug)]
struct Entry {
    event: Event,
    next: u32,
}

/// Indices of the first and last event of a slot.
#[derive(Clone, Copy, Debug)]
struct Slot {
    head: u32,
    tail: u32,
}

/// A calendar ordered by time. Events of one instant keep the order in which they were pushed.
///
/// The usual order of Backwater is different (KER-01): it does not depend on the order of pushes.
/// `Fifo` exists to reproduce ns-3, which orders events in this way. The clock of ns-3 counts
/// nanoseconds, so [`Calendar::push`] rounds every time down to a whole nanosecond.
///
/// A timing wheel with one list per nanosecond covers the next 8 µs. Later events are in a heap.
/// They move into the wheel as soon as it covers their time: before events that are pushed later.
// KER-09
#[derive(Clone, Debug)]
pub struct Fifo {
    slots: Vec<Slot>,
    /// One bit for each slot that has events.
    used: Vec<u64>,
    entries: Vec<Entry>,
    spare: u32,
    /// Events after the time that the wheel covers: time, number of the push, and the packed
    /// phase, id and argument.
    far: BinaryHeap<Reverse<(Time, u64, u64)>>,
    /// Number of pushes so far.
    pushed: u64,
    /// Time of the last event popped, in ns.
    now: Time,
    len: usize,
}

impl Fifo {
    /// Creates an empty calendar at time 0.
    #[must_use]
    pub fn new() -> Self {
        Self {
            slots: vec![
                Slot {
                    head: NONE,
                    tail: NONE
                };
                SLOTS
            ],
            used: vec![0; SLOTS / 64],
            entries: Vec::new(),
            spare: NONE,
            far: BinaryHeap::new(),
            pushed: 0,
            now: 0,
            len: 0,
        }
    }

    #[inline]
    fn append(&mut self, event: Event) {
        let entry = Entry { event, next: NONE };
        let at = if self.spare == NONE {
            self.entries.push(entry);
            self.entries.len() as u32 - 1
        } else {
            let at = self.spare;
            self.spare = self.entries[at as usize].next;
            self.entries[at as usize] = entry;
            at
        };
        let index = (event.time / SLOT_PS) as usize % SLOTS;
        let slot = &mut self.slots[index];
        if slot.head == NONE {
            slot.head = at;
            self.used[index / 64] |= 1 << (index % 64);
        } else {
            self.entries[slot.tail as usize].next = at;
        }
        slot.tail = at;
    }

    /// Returns the first slot with events, starting at the slot of `now`.
    #[inline]
    fn first(&self) -> Option<usize> {
        let start = self.now as usize % SLOTS;
        let words = self.used.len();
        let word = self.used[start / 64] >> (start % 64);
        if word != 0 {
            return Some(start + word.trailing_zeros() as usize);
        }
        for step in 1..=words {
            let at = (start / 64 + step) % words;
            let word = self.used[at];
            if word != 0 {
                return Some(at * 64 + word.trailing_zeros() as usize);
            }
        }
        None
    }

    /// Returns the time of the next event in ps.
    fn next_time(&self) -> Option<Time> {
        match self.first() {
            Some(slot) => Some(self.entries[self.slots[slot].head as usize].event.time),
            None => self.far.peek().map(|&Reverse((time, ..))| time),
        }
    }

    /// Moves the clock to `time`, and moves events from the heap into the wheel if it now covers
    /// their time.
    #[inline]
    fn advance(&mut self, time: Time) {
        self.now = time / SLOT_PS;
        let reach = (self.now + SLOTS as Time) * SLOT_PS;
        while let Some(&Reverse((time, _, packed))) = self.far.peek() {
            if time >= reach {
                break;
            }
            self.far.pop();
            self.append(Event { time, packed });
        }
    }

    fn take(&mut self, index: usize) -> Event {
        let at = self.slots[index].head;
        let Entry { event, next } = self.entries[at as usize];
        self.slots[index].head = next;
        if next == NONE {
            self.used[index / 64] &= !(1 << (index % 64));
        }
        self.entries[at as usize].next = self.spare;
        self.spare = at;
        self.len -= 1;
        event
    }
}

impl Default for Fifo {
    fn default() -> Self {
        Self::new()
    }
}

impl Calendar for Fifo {
    const IN_ORDER_OF_SCHEDULING: bool = true;

    #[inline]
    fn push(&mut self, event: Event) {
        debug_assert!(
            event.time / SLOT_PS >= self.now,
            "event in the past: {event:?}"
        );
        let event = event.at(event.time / SLOT_PS * SLOT_PS);
        self.len += 1;
        self.pushed += 1;
        if event.time / SLOT_PS < self.now + SLOTS as Time {
            self.append(event);
        } else {
            let Event { time, packed } = event;
            self.far.push(Reverse((time, self.pushed, packed)));
        }
    }

    #[inline]
    fn pop_before(&mut self, limit: Time) -> Option<Event> {
        let time = self.next_time().filter(|&time| time < limit)?;
        if time / SLOT_PS != self.now {
            self.advance(time);
        }
        Some(self.take(self.now as usize % SLOTS))
    }

    fn peek_before(&mut self, limit: Time) -> Option<Event> {
        let time = self.next_time().filter(|&time| time < limit)?;
        match self.first() {
            Some(slot) => Some(self.entries[self.slots[slot].head as usize].event),
            None => self
                .far
                .peek()
                .map(|&Reverse((_, _, packed))| Event { time, packed }),
        }
    }

    #[inline]
    fn pop_now(&mut self) -> Option<Event> {
        let slot = self.now as usize % SLOTS;
        (self.slots[slot].head != NONE).then(|| self.take(slot))
    }

    fn len(&self) -> usize {
        self.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::phase;
    use crate::random::{Purpose, Stream};

    fn event(ns: Time, arg: u32) -> Event {
        Event::new(ns * SLOT_PS, phase::TIMER, 1, arg)
    }

    // KER-09
    #[test]
    fn events_of_one_instant_keep_the_order_of_pushes() {
        let mut calendar = Fifo::new();
        calendar.push(event(5, 3));
        calendar.push(Event::new(5_000, phase::ARRIVAL, 9, 1));
        calendar.push(event(5, 2));
        calendar.push(event(4, 7));
        let order: Vec<u32> =
            std::iter::from_fn(|| calendar.pop_before(Time::MAX).map(|e| e.arg())).collect();
        assert_eq!(order, [7, 3, 1, 2]);
        assert!(calendar.is_empty());
    }

    // KER-09: of two events for the same instant, the one that was pushed first is popped first,
    // even if it was in the heap.
    #[test]
    fn an_early_push_comes_first_although_it_waited_in_the_heap() {
        let mut calendar = Fifo::new();
        let late = 10 * SLOTS as Time;
        calendar.push(event(late, 1));
        calendar.push(event(late - 5, 0));
        assert_eq!(calendar.pop_before(Time::MAX).map(|e| e.arg()), Some(0));
        calendar.push(event(late, 2));
        assert_eq!(calendar.peek_before(Time::MAX).map(|e| e.arg()), Some(1));
        assert_eq!(calendar.pop_before(late * SLOT_PS), None);
        assert_eq!(calendar.pop_before(Time::MAX).map(|e| e.arg()), Some(1));
        assert_eq!(calendar.pop_now().map(|e| e.arg()), Some(2));
        assert_eq!(calendar.pop_now(), None);
    }

    // KER-09: compares with a sorted list, for times inside and beyond the wheel
    #[test]
    fn it_is_a_stable_sort_by_time() {
        let mut stream = Stream::new(1, 2, Purpose::Test);
        let mut calendar = Fifo::new();
        let mut pending: Vec<(Time, u32)> = Vec::new();
        let mut now = 0;
        for number in 0..20_000u32 {
            let gap = match stream.below(4) {
                0 => 0,
                1 => stream.below(50),
                2 => stream.below(SLOTS as u64 + 10),
                _ => stream.below(5 * SLOTS as u64),
            };
            calendar.push(event(now + gap, number));
            pending.push((now + gap, number));
            if stream.below(3) > 0 {
                let next = pending.iter().copied().min().unwrap();
                pending.retain(|&other| other != next);
                let popped = calendar.pop_before(Time::MAX).unwrap();
                assert_eq!((popped.time, popped.arg()), (next.0 * SLOT_PS, next.1));
                now = next.0;
            }
            assert_eq!(calendar.len(), pending.len());
        }
    }
}
