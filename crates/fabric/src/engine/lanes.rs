//! Calendars of the lanes of a partition. A lane is a group of nodes whose state fits the CPU
//! caches.
//!
//! A partition runs each synchronisation window lane by lane. An event of one lane cannot affect
//! another lane in the same window, as between partitions of several threads (`exchange.rs`). Lanes
//! share all other state, so a frame between lanes is only an event for another calendar. Large
//! networks run faster with lanes: the state of a few switches is used hundreds of times while it
//! is cached.

use dataplane::units::Time;
use kernel::calendar::{Calendar, Event};

/// The calendars of all lanes.
#[derive(Debug)]
pub(super) struct Lanes<C> {
    /// Calendar of the current lane.
    pub here: C,
    at: usize,
    /// The calendars of the lanes that are not current, with the index of each lane.
    resting: Vec<C>,
    rests_at: Vec<usize>,
    /// Events that other lanes have scheduled, per lane.
    inboxes: Vec<Vec<Event>>,
    /// Lower bound of the time of the next event, per lane.
    next_ps: Vec<Time>,
    lookahead_ps: Time,
    /// End of the current synchronisation window.
    window_ps: Time,
    /// Time before which no further event from outside (flow starts, frames of other partitions)
    /// can be added.
    horizon_ps: Time,
}

impl<C: Calendar> Lanes<C> {
    /// Combines the calendar of the first lane and those of the other lanes. An event in one lane
    /// affects other lanes at the earliest after `lookahead_ps`.
    pub fn new(first: C, others: Vec<C>, lookahead_ps: Time) -> Self {
        let lanes = others.len() + 1;
        Self {
            here: first,
            at: 0,
            rests_at: (0..lanes).map(|lane| lane.saturating_sub(1)).collect(),
            resting: others,
            inboxes: vec![Vec::new(); lanes],
            next_ps: vec![Time::MAX; lanes],
            lookahead_ps,
            window_ps: 0,
            horizon_ps: 0,
        }
    }

    /// Returns the number of lanes.
    pub fn count(&self) -> usize {
        self.next_ps.len()
    }

    /// Returns the index of the current lane.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Adds an event for a lane, which may be the current lane or another one.
    // PAR-11
    #[inline(always)]
    pub fn push_to(&mut self, lane: u8, event: Event) {
        match usize::from(lane) {
            here if here == self.at => self.here.push(event),
            lane => self.push_elsewhere(lane, event),
        }
    }

    #[inline(never)]
    fn push_elsewhere(&mut self, lane: usize, event: Event) {
        assert!(
            event.time >= self.window_ps,
            "{event:?} is before the window ends at {} ps",
            self.window_ps
        );
        self.inboxes[lane].push(event);
        self.next_ps[lane] = self.next_ps[lane].min(event.time);
    }

    /// Starts a synchronisation window, in which the lanes can run one after the other. Returns the
    /// end of the window, or `None` if there are no events before `limit`.
    // PAR-11
    pub fn window(&mut self, limit: Time) -> Option<Time> {
        let first_ps = self.first_ps(limit);
        self.window_ps = limit.min(first_ps.saturating_add(self.lookahead_ps));
        (first_ps < limit).then_some(self.window_ps)
    }

    /// Returns a lower bound of the time of the next event of all lanes, or `limit` if no event is
    /// earlier.
    pub fn first_ps(&mut self, limit: Time) -> Time {
        self.horizon_ps = self.horizon_ps.max(limit);
        self.note_next();
        let next = self.next_ps.iter().copied();
        next.fold(limit, Time::min)
    }

    /// Switches to a lane. Returns true if the lane may have events in this window.
    pub fn turn_to(&mut self, lane: usize) -> bool {
        if lane == self.at {
            return true;
        }
        if self.next_ps[lane] >= self.window_ps {
            return false;
        }
        self.note_next();
        let rests_at = self.rests_at[lane];
        std::mem::swap(&mut self.here, &mut self.resting[rests_at]);
        self.rests_at[self.at] = rests_at;
        self.at = lane;
        for event in self.inboxes[lane].drain(..) {
            self.here.push(event);
        }
        true
    }

    fn note_next(&mut self) {
        let next = self.here.peek_before(self.horizon_ps);
        self.next_ps[self.at] = next.map_or(self.horizon_ps, |event| event.time);
    }

    /// Returns true if all lanes are empty.
    pub fn is_empty(&self) -> bool {
        self.here.is_empty()
            && self.resting.iter().all(Calendar::is_empty)
            && self.inboxes.iter().all(Vec::is_empty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::calendar::{Naive, phase};

    fn lanes(count: usize) -> Lanes<Naive> {
        let others = (1..count).map(|_| Naive::default()).collect();
        Lanes::new(Naive::default(), others, 100)
    }

    fn event(time: Time, id: u32) -> Event {
        Event::new(time, phase::TIMER, id, 0)
    }

    /// Runs all events before `limit`. Returns (lane, time) in the order of execution.
    fn drain(lanes: &mut Lanes<Naive>, limit: Time) -> Vec<(usize, Time)> {
        let mut done = Vec::new();
        while let Some(window_ps) = lanes.window(limit) {
            for lane in 0..lanes.count() {
                if !lanes.turn_to(lane) {
                    continue;
                }
                while let Some(event) = lanes.here.pop_before(window_ps) {
                    assert_eq!(event.id() as usize, lane);
                    done.push((lane, event.time));
                }
            }
        }
        done
    }

    // PAR-11
    #[test]
    fn a_window_begins_with_the_first_event_and_each_lane_has_its_turn() {
        let mut lanes = lanes(3);
        for (time, lane) in [(250, 2), (120, 0), (205, 1), (219, 0), (130, 2), (400, 1)] {
            lanes.push_to(lane, event(time, lane.into()));
        }
        let done = drain(&mut lanes, 400);
        // The windows are 120 to 220 and 250 to 350. Lane 2 runs after lanes whose events are
        // later.
        let expected = [(0, 120), (0, 219), (1, 205), (2, 130), (2, 250)];
        assert_eq!(done, expected);
        assert!(!lanes.is_empty());
        assert_eq!(lanes.window(400), None);
        assert_eq!(drain(&mut lanes, 401), [(1, 400)]);
        assert!(lanes.is_empty());
    }

    // PAR-11
    #[test]
    fn what_a_lane_has_for_another_comes_in_a_later_window() {
        let mut lanes = lanes(2);
        lanes.push_to(0, event(10, 0));
        let mut done = Vec::new();
        while let Some(window_ps) = lanes.window(1_000) {
            for lane in 0..2 {
                if lanes.turn_to(lane) {
                    while let Some(event) = lanes.here.pop_before(window_ps) {
                        done.push((lane, event.time));
                        let to = 1 - lane as u8;
                        lanes.push_to(to, Event::new(event.time + 100, phase::TIMER, to.into(), 0));
                    }
                }
            }
        }
        let expected: Vec<_> = (0..10).map(|n| (n % 2, 10 + 100 * n as Time)).collect();
        assert_eq!(done, expected);
    }

    // PAR-11
    #[test]
    #[should_panic(expected = "before the window ends")]
    fn what_comes_too_early_is_no_result_but_an_error() {
        let mut lanes = lanes(2);
        lanes.push_to(0, event(10, 0));
        assert_eq!(lanes.window(1_000), Some(110));
        lanes.push_to(1, event(109, 1));
    }
}
