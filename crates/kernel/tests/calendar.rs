//! Tests of the wheel against the naive calendar, and of the ordering rules in `specs/kernel.md`.

use kernel::{Calendar, Event, Naive, Wheel, phase};
use proptest::prelude::*;

const SHIFTS: [u32; 6] = [0, 4, 7, 10, 13, 32];
/// Half of the maximum time. Tests start here to find overflows of sums.
const LATE_PS: u64 = u64::MAX / 2;

/// A call, or several calls, of a calendar. Times are relative to the last popped event.
#[derive(Clone, Debug)]
enum Operation {
    Push {
        delta_ps: u64,
        phase: u32,
        id: u32,
        arg: u32,
    },
    /// Pushes the last popped event again, as a stale timer can.
    PushTwin,
    Pop {
        ahead_ps: u64,
    },
    Peek {
        ahead_ps: u64,
    },
    /// Pops the remaining events that have the time of the last popped event.
    Instant,
    /// Pops up to `count` events, without a limit of time.
    Drain {
        count: usize,
    },
    /// Pops all events before a limit, then pushes an event at the limit.
    Window {
        ahead_ps: u64,
        id: u32,
    },
}

/// Generates time spans of all magnitudes: zero, within a bucket, and across buckets, blocks and
/// levels of the wheel.
fn span_ps() -> impl Strategy<Value = u64> {
    prop_oneof![
        2 => Just(0),
        2 => 0..64u64,
        3 => Just(83_200u64),
        3 => 0..2_000_000u64,
        2 => (0..46u32, 0..1000u64).prop_map(|(bits, extra)| (1 << bits) + extra),
        1 => (0..46u32, 1..3u64).prop_map(|(bits, less)| (1u64 << bits).saturating_sub(less)),
    ]
}

fn operation() -> impl Strategy<Value = Operation> {
    let id = prop_oneof![3 => 0..8u32, 1 => 0..=Event::MAX_ID];
    prop_oneof![
        8 => (span_ps(), 0..6u32, id.clone(), 0..3u32)
            .prop_map(|(delta_ps, phase, id, arg)| Operation::Push { delta_ps, phase, id, arg }),
        1 => Just(Operation::PushTwin),
        3 => span_ps().prop_map(|ahead_ps| Operation::Pop { ahead_ps }),
        1 => span_ps().prop_map(|ahead_ps| Operation::Peek { ahead_ps }),
        2 => Just(Operation::Instant),
        2 => (1..6usize).prop_map(|count| Operation::Drain { count }),
        1 => (span_ps(), id).prop_map(|(ahead_ps, id)| Operation::Window { ahead_ps, id }),
    ]
}

/// Applies operations to a calendar and returns all results.
fn replay(calendar: &mut impl Calendar, start_ps: u64, operations: &[Operation]) -> Vec<Seen> {
    let mut last = Event::new(start_ps, phase::TIMER, 0, 0);
    let mut seen = Vec::new();
    for operation in operations {
        match *operation {
            Operation::Push {
                delta_ps,
                phase,
                id,
                arg,
            } => {
                calendar.push(Event::new(last.time + delta_ps, phase, id, arg));
            }
            Operation::PushTwin => calendar.push(last),
            Operation::Pop { ahead_ps } => {
                let popped = calendar.pop_before(last.time + ahead_ps);
                last = popped.unwrap_or(last);
                seen.push(Seen::Popped(popped));
            }
            Operation::Peek { ahead_ps } => {
                seen.push(Seen::Peeked(calendar.peek_before(last.time + ahead_ps)));
            }
            Operation::Instant => {
                let some = seen.iter().any(|s| matches!(s, Seen::Popped(Some(_))));
                while some && let Some(popped) = calendar.pop_now() {
                    assert_eq!(popped.time, last.time);
                    last = popped;
                    seen.push(Seen::Popped(Some(popped)));
                }
                if some {
                    assert_eq!(calendar.peek_before(last.time + 1), None);
                }
            }
            Operation::Drain { count } => {
                for _ in 0..count {
                    let peeked = calendar.peek_before(u64::MAX);
                    let popped = calendar.pop_before(u64::MAX);
                    assert_eq!(peeked, popped);
                    last = popped.unwrap_or(last);
                    seen.push(Seen::Popped(popped));
                }
            }
            Operation::Window { ahead_ps, id } => {
                let limit = last.time + ahead_ps;
                while let Some(popped) = calendar.pop_before(limit) {
                    last = popped;
                    seen.push(Seen::Popped(Some(popped)));
                }
                calendar.push(Event::new(limit, phase::ARRIVAL, id, 7));
            }
        }
        seen.push(Seen::Length(calendar.len()));
    }
    while let Some(popped) = calendar.pop_before(u64::MAX) {
        seen.push(Seen::Popped(Some(popped)));
    }
    assert!(calendar.is_empty());
    seen
}

#[derive(Clone, Debug, PartialEq)]
enum Seen {
    Popped(Option<Event>),
    Peeked(Option<Event>),
    Length(usize),
}

/// Returns the sort key of an event, computed without the packed key of the calendars.
fn rank(event: &Event) -> (u64, u32, u32, u32) {
    (event.time, event.phase(), event.tie(), event.arg())
}

fn drain(calendar: &mut impl Calendar) -> Vec<Event> {
    std::iter::from_fn(|| calendar.pop_before(u64::MAX)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// KER-01, KER-05: the wheel returns the same results as the naive calendar for every sequence
    /// of calls.
    #[test]
    fn wheel_is_naive(
        operations in prop::collection::vec(operation(), 1..300),
        start_ps in prop_oneof![Just(0), Just(LATE_PS), 0..LATE_PS],
    ) {
        let expected = replay(&mut Naive::new(), start_ps, &operations);
        for shift in SHIFTS {
            let seen = replay(&mut Wheel::new(shift), start_ps, &operations);
            prop_assert_eq!(&seen, &expected, "bucket of 2^{} ps", shift);
        }
    }

    /// KER-01, KER-04: events are popped unchanged and in the order of their content, for any order
    /// of pushes.
    #[test]
    fn order_is_of_content(
        mut events in prop::collection::vec(
            (0..5_000u64, 0..6u32, 0..=Event::MAX_ID, any::<u32>())
                .prop_map(|(time, phase, id, arg)| Event::new(time / 100 * 100, phase, id, arg)),
            0..400,
        ),
        shift in 0..14u32,
    ) {
        let mut wheel = Wheel::new(shift);
        let mut naive = Naive::new();
        for &event in &events {
            wheel.push(event);
        }
        for &event in events.iter().rev() {
            naive.push(event);
        }
        events.sort_by_key(rank);
        prop_assert_eq!(&drain(&mut wheel), &events);
        prop_assert_eq!(&drain(&mut naive), &events);
    }

    /// KER-03: at each instant, the tie is a bijection of the id.
    #[test]
    fn ties_are_unique(time in any::<u64>(), a in 0..=Event::MAX_ID, b in 0..=Event::MAX_ID) {
        let tie = |id| Event::new(time, phase::ARRIVAL, id, 0).tie();
        prop_assert!(tie(a) <= Event::MAX_ID);
        prop_assert_eq!(tie(a) == tie(b), a == b);
    }
}

/// KER-02: the phases of one instant are popped in order, and ids ascend within a phase.
#[test]
fn phases_of_an_instant() {
    let phases = [
        phase::TOPOLOGY,
        phase::ARRIVAL,
        phase::TIMER,
        phase::FLOW_START,
        phase::EGRESS,
    ];
    assert_eq!(phases, [0, 1, 2, 3, 4]);
    let mut wheel = Wheel::default();
    for &phase in phases.iter().rev() {
        wheel.push(Event::new(1_000, phase, 3, 0));
        if phase != phase::ARRIVAL {
            wheel.push(Event::new(1_000, phase, 2, 0));
        }
    }
    let order: Vec<_> = drain(&mut wheel)
        .iter()
        .map(|e| (e.phase(), e.id()))
        .collect();
    let expected = [
        (0, 2),
        (0, 3),
        (1, 3),
        (2, 2),
        (2, 3),
        (3, 2),
        (3, 3),
        (4, 2),
        (4, 3),
    ];
    assert_eq!(order, expected);
}

/// KER-03: under a periodic load, each of the links is first equally often.
#[test]
fn no_link_is_favoured() {
    let instants = 40_000u64;
    for links in [2u32, 3, 5, 8, 100] {
        for period_ps in [1_000u64, 83_200, 672_000, 1 << 20] {
            let mut first = vec![0u64; links as usize];
            for instant in 0..instants {
                let tie = |&id: &u32| Event::new(instant * period_ps, phase::ARRIVAL, id, 0).tie();
                let winner = (0..links).min_by_key(tie).expect("there are links");
                first[winner as usize] += 1;
            }
            let fair = instants / u64::from(links);
            for (link, &count) in first.iter().enumerate() {
                let off = count.abs_diff(fair) as f64 / fair as f64;
                assert!(
                    off < 0.25,
                    "link {link} of {links} every {period_ps} ps: first {count} times, fair {fair}"
                );
            }
        }
    }
}

/// KER-05: after a peek or pop that finds no event before its limit, pushes at or after the last
/// popped time are still ordered correctly.
#[test]
fn limit_holds_the_cursor() {
    for shift in SHIFTS {
        let mut wheel = Wheel::new(shift);
        wheel.push(Event::new(500, phase::TIMER, 1, 0));
        wheel.push(Event::new(9_000_000_000, phase::TIMER, 2, 0));
        assert_eq!(wheel.pop_before(500), None, "the limit is not included");
        assert_eq!(wheel.pop_before(501).map(Event::id), Some(1));
        for limit in [501, 40_000, 1_000_000, 8_999_999_999, 9_000_000_000] {
            assert_eq!(wheel.pop_before(limit), None);
            assert_eq!(wheel.peek_before(limit), None);
        }
        for (time, id) in [
            (9_000_000_000, 6),
            (8_999_999_999, 5),
            (1_000_000, 4),
            (500, 3),
        ] {
            wheel.push(Event::new(time, phase::TIMER, id, 0));
        }
        let ids: Vec<_> = drain(&mut wheel).into_iter().map(Event::id).collect();
        assert_eq!(ids, [3, 4, 5, 2, 6], "bucket of 2^{shift} ps");
    }
}

/// KER-05: a peek without a limit moves far events to the near level, but pushes of earlier events
/// stay legal.
#[test]
fn push_before_a_peeked_event() {
    let mut wheel = Wheel::default();
    wheel.push(Event::new(1 << 50, phase::TIMER, 0, 0));
    assert_eq!(wheel.peek_before(u64::MAX).map(Event::id), Some(0));
    for id in 1..=2_000 {
        wheel.push(Event::new(
            u64::from(id) * 7_919 % 4_001,
            phase::TIMER,
            id,
            0,
        ));
    }
    let mut order = drain(&mut wheel);
    assert_eq!(order.pop().map(Event::id), Some(0));
    assert_eq!(order.len(), 2_000);
    assert!(order.is_sorted_by_key(rank));
}

/// KER-04: an event pushed for the current instant is popped in that instant, in its phase.
#[test]
fn push_into_the_current_instant() {
    let mut wheel = Wheel::default();
    for id in 0..4 {
        wheel.push(Event::new(777, phase::TIMER, id, 0));
    }
    wheel.push(Event::new(778, phase::TOPOLOGY, 9, 0));
    let mut order = Vec::new();
    while let Some(event) = wheel.pop_before(u64::MAX) {
        if event.phase() == phase::TIMER {
            wheel.push(Event::new(777, phase::EGRESS, 10 - event.id(), 0));
        }
        order.push((event.phase(), event.id()));
    }
    assert_eq!(
        order,
        [
            (2, 0),
            (2, 1),
            (2, 2),
            (2, 3),
            (4, 7),
            (4, 8),
            (4, 9),
            (4, 10),
            (0, 9)
        ]
    );
}

/// KER-06: an event that was pushed twice is popped twice in a row.
#[test]
fn twins() {
    let mut wheel = Wheel::default();
    let twin = Event::new(1_000, phase::TIMER, 5, 1);
    for event in [
        twin,
        Event::new(1_000, phase::TIMER, 6, 0),
        twin,
        Event::new(999, phase::TIMER, 7, 0),
    ] {
        wheel.push(event);
    }
    let ids: Vec<_> = drain(&mut wheel).into_iter().map(Event::id).collect();
    assert_eq!(ids, [7, 5, 5, 6]);
}

/// The hint for prefetching lists the events that are popped next.
#[test]
fn upcoming_lists_the_next_events() {
    let mut wheel = Wheel::new(12);
    assert_eq!(wheel.upcoming(), []);
    for id in 0..20 {
        wheel.push(Event::new(5_000 + u64::from(id % 3), phase::ARRIVAL, id, 0));
    }
    assert_eq!(wheel.upcoming(), [], "no bucket is sorted yet");
    wheel.peek_before(u64::MAX);
    let hints: Vec<_> = wheel.upcoming().iter().rev().copied().collect();
    assert_eq!(hints, drain(&mut wheel));
}

/// Debug builds panic if an event is pushed with a time before the last popped event.
#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "is before 1000 ps")]
fn a_push_into_the_past_panics() {
    let mut wheel = Wheel::default();
    wheel.push(Event::new(1_000, phase::TIMER, 0, 0));
    wheel.pop_before(u64::MAX);
    wheel.push(Event::new(999, phase::TIMER, 0, 0));
}

/// A million events of one instant in the current bucket do not take quadratic time. With quadratic
/// time this test would take minutes.
#[test]
fn bursts_are_not_quadratic() {
    let mut wheel = Wheel::default();
    wheel.push(Event::new(0, phase::FLOW_START, 0, 0));
    assert!(wheel.pop_before(1).is_some());
    for id in 0..1_000_000 {
        wheel.push(Event::new(0, phase::EGRESS, id, 0));
    }
    for id in 0..1_000_000 {
        assert_eq!(wheel.pop_before(1).map(Event::id), Some(id));
    }
    assert!(wheel.is_empty());
}
