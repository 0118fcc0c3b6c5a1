//! Events, and the key by which calendars order them.

use std::fmt;

use crate::Time;

/// The phases of one instant of simulated time, in the order of execution (KER-02).
pub mod phase {
    /// A link fails or recovers.
    pub const TOPOLOGY: u32 = 0;
    /// A packet or frame arrives at the end of a link.
    pub const ARRIVAL: u32 = 1;
    /// A timer expires.
    pub const TIMER: u32 = 2;
    /// A flow starts.
    pub const FLOW_START: u32 = 3;
    /// An idle egress port selects a packet to send.
    pub const EGRESS: u32 = 4;
}

const ID_BITS: u32 = 29;
const ID_MASK: u32 = (1 << ID_BITS) - 1;

/// An event that happens to the entity `id` (a link, node or flow) at `time`.
///
/// The order of events depends only on their content, never on when they were pushed (KER-01).
/// Events are ordered by time, then phase, then [`Event::tie`], then `arg`. Events that are equal
/// in all four are the same event.
///
/// An event is two 64-bit words, so that it stays in registers. If single fields were written and
/// the whole event were read, each read would stall until the fields reach the cache.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Event {
    /// Time at which the event happens, in picoseconds.
    pub time: Time,
    /// Phase (upper 3 bits), id (29 bits), arg (lower 32 bits).
    pub(super) packed: u64,
}

impl Event {
    /// The largest id: 2^29 − 1.
    pub const MAX_ID: u32 = ID_MASK;
    /// The largest phase that fits its 3 bits. The module [`phase`] lists the phases in use.
    pub const MAX_PHASE: u32 = 7;

    /// Creates an event of `id` (at most [`Event::MAX_ID`]) at `time`, in `phase` (at most
    /// [`Event::MAX_PHASE`]).
    #[inline]
    #[must_use]
    pub const fn new(time: Time, phase: u32, id: u32, arg: u32) -> Self {
        debug_assert!(phase <= Self::MAX_PHASE, "a phase has 3 bits");
        debug_assert!(id <= Self::MAX_ID, "an id has 29 bits");
        Self::of(time, phase << ID_BITS | (id & ID_MASK), arg)
    }

    /// Returns the same event at another time.
    #[inline]
    #[must_use]
    pub const fn at(self, time: Time) -> Self {
        Self { time, ..self }
    }

    #[inline]
    const fn of(time: Time, order: u32, arg: u32) -> Self {
        let packed = (order as u64) << 32 | arg as u64;
        Self { time, packed }
    }

    #[inline]
    const fn order(self) -> u32 {
        (self.packed >> 32) as u32
    }

    /// Returns the argument of the event. The kernel does not interpret it.
    #[inline]
    #[must_use]
    pub const fn arg(self) -> u32 {
        self.packed as u32
    }

    /// Returns the phase of the instant in which the event is executed. See [`phase`].
    #[inline]
    #[must_use]
    pub const fn phase(self) -> u32 {
        self.order() >> ID_BITS
    }

    /// Returns the ID of the entity of the event: a link, node or flow, depending on the phase.
    #[inline]
    #[must_use]
    pub const fn id(self) -> u32 {
        self.order() & ID_MASK
    }

    /// Returns the number that orders the events of one instant and phase (KER-03). This tie is the
    /// id, except for arrivals: there it is a bijection of the id that changes with the time.
    #[inline]
    #[must_use]
    pub const fn tie(self) -> u32 {
        let scattered = scatter(self.id(), self.time);
        choose(self.phase() == phase::ARRIVAL, scattered, self.id())
    }

    /// Returns the number that orders the events of one instant (KER-01). It consists of, from the
    /// highest bit down: phase, tie, arg.
    #[inline]
    pub(super) const fn rank(self) -> u64 {
        let order = self.phase() << ID_BITS | self.tie();
        (order as u64) << 32 | self.arg() as u64
    }

    /// Returns the event at `time` that has this rank.
    #[inline]
    pub(super) const fn ranked(time: Time, rank: u64) -> Self {
        let (order, arg) = ((rank >> 32) as u32, rank as u32);
        let tie = order & ID_MASK;
        let arrival = order >> ID_BITS == phase::ARRIVAL;
        let id = choose(arrival, gather(tie, time), tie);
        Self::of(time, order & !ID_MASK | id, arg)
    }

    /// Returns true if this event is executed before `other` (KER-01).
    #[inline]
    pub(super) const fn precedes(self, other: Self) -> bool {
        if self.time == other.time {
            self.rank() < other.rank()
        } else {
            self.time < other.time
        }
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ps, phase {}, id {}, arg {}",
            self.time,
            self.phase(),
            self.id(),
            self.arg()
        )
    }
}

/// Odd multipliers of [`scatter`]. Any odd number has an inverse modulo 2^29.
const FIRST: u32 = 0x1657_3a2d;
const SECOND: u32 = 0x0b4f_6ac5;
const FIRST_INVERSE: u32 = inverse(FIRST);
const SECOND_INVERSE: u32 = inverse(SECOND);
/// At least half of the bits of an id, so that the function `x ^ x >> FOLD` is its own inverse.
const FOLD: u32 = ID_BITS.div_ceil(2);

/// Returns the inverse of an odd number modulo 2^32 (and so modulo 2^29). Each step of Newton's
/// iteration doubles the number of correct bits, starting with three.
const fn inverse(odd: u32) -> u32 {
    let mut inverse = odd;
    let mut bits = 3;
    while bits < u32::BITS {
        inverse = inverse.wrapping_mul(2u32.wrapping_sub(odd.wrapping_mul(inverse)));
        bits *= 2;
    }
    inverse
}

/// Selects one of two numbers without a branch, because the processor cannot predict which events
/// are arrivals.
#[inline]
const fn choose(first: bool, one: u32, other: u32) -> u32 {
    let all = (first as u32).wrapping_neg();
    one & all | other & !all
}

/// Hashes the time to 29 bits.
#[inline]
const fn hash_time(time: Time) -> u32 {
    (time.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - ID_BITS)) as u32
}

/// Maps ids to ties. For a fixed time this is a bijection (KER-03).
#[inline]
const fn scatter(id: u32, time: Time) -> u32 {
    let x = (id ^ hash_time(time)).wrapping_mul(FIRST) & ID_MASK;
    (x ^ x >> FOLD).wrapping_mul(SECOND) & ID_MASK
}

/// The inverse of [`scatter`].
#[inline]
const fn gather(tie: u32, time: Time) -> u32 {
    let x = tie.wrapping_mul(SECOND_INVERSE) & ID_MASK;
    ((x ^ x >> FOLD).wrapping_mul(FIRST_INVERSE) ^ hash_time(time)) & ID_MASK
}

/// An event as one number that sorts like events (KER-01). From the highest bit down: time, phase,
/// tie, arg. Calendars compare keys if the times of events can be equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key(u128);

impl Key {
    #[inline]
    pub(super) const fn of(event: Event) -> Self {
        Self((event.time as u128) << 64 | event.rank() as u128)
    }

    #[inline]
    pub(super) const fn time(self) -> Time {
        (self.0 >> 64) as Time
    }

    #[inline]
    pub(super) const fn event(self) -> Event {
        Event::ranked(self.time(), self.0 as u64)
    }
}
