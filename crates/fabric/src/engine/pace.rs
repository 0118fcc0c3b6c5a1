//! Selects, at each probe, if all threads of a run work until the next probe, or if one thread does
//! all work. The choice affects only speed.

/// Minimum number of events per thread and synchronisation window for which several threads can be
/// faster than one.
const SCANT: u64 = 8;
/// Number of events per thread and synchronisation window above which several threads are always
/// faster than one.
const AMPLE: u64 = 2_000;
/// Length of a stint in events. After a stint, the speed of the current mode (one thread or
/// several) is evaluated.
const STINT: u64 = 20_000;
/// Number of stints (evaluation intervals) after which the slower mode is tried again: initial and
/// maximum value. The number doubles each time that the mode is still slower.
const PATIENCE: (u32, u32) = (8, 512);

/// Distribution of work between two probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// One thread processed all partitions in turn.
    Alone = 0,
    /// Every partition had its thread.
    Together = 1,
}

impl Mode {
    fn other(self) -> Self {
        match self {
            Self::Alone => Self::Together,
            Self::Together => Self::Alone,
        }
    }
}

/// Measured speed of both modes.
// PAR-08
#[derive(Clone, Debug)]
pub(super) struct Pace {
    threads: u64,
    forced: bool,
    /// The mode with the lower measured cost. It is used if the number of events does not decide.
    better: Mode,
    /// The mode to use until the next probe.
    next: Mode,
    /// Cost of both modes when they were last used, in nanoseconds per event.
    cost: [Option<f64>; 2],
    /// Number of events in the current stint.
    events: u64,
    took_ns: u64,
    /// Number of stints since the other mode was tried.
    stints: u32,
    /// Number of stints after which the other mode is tried again.
    patience: u32,
}

impl Pace {
    pub fn new(threads: u32, forced: bool) -> Self {
        Self {
            threads: u64::from(threads),
            forced,
            better: Mode::Together,
            next: Mode::Together,
            cost: [None; 2],
            events: 0,
            took_ns: 0,
            stints: 0,
            patience: PATIENCE.0,
        }
    }

    /// Returns the mode (one thread or all threads) to use until the next probe.
    pub fn next(&self) -> Mode {
        self.next
    }

    /// Records the measured work between two probes: events, synchronisation windows and time.
    pub fn note(&mut self, events: u64, windows: u64, took_ns: u64) {
        if self.forced || windows == 0 {
            return;
        }
        let share = events / windows / self.threads;
        let plain = match share {
            ..SCANT => Some(Mode::Alone),
            AMPLE.. => Some(Mode::Together),
            _ => None,
        };
        if let Some(mode) = plain {
            self.next = mode;
            (self.events, self.took_ns) = (0, 0);
            return;
        }
        self.events += events;
        self.took_ns += took_ns;
        if self.events >= STINT {
            self.judge();
        }
    }

    /// Evaluates the stint (evaluation interval) that has ended, and selects the next mode.
    fn judge(&mut self) {
        let mode = self.next;
        self.cost[mode as usize] = Some(self.took_ns as f64 / self.events as f64);
        (self.events, self.took_ns) = (0, 0);
        let tried = mode != self.better;
        let cost = |mode: Mode| self.cost[mode as usize];
        let other_wins = cost(self.better.other())
            .zip(cost(self.better))
            .is_some_and(|(other, better)| other < better);
        if other_wins {
            self.better = self.better.other();
            self.patience = PATIENCE.0;
            self.stints = 0;
        } else if tried {
            self.patience = (self.patience * 2).min(PATIENCE.1);
            self.stints = 0;
        } else {
            self.stints += 1;
        }
        let unknown = cost(self.better.other()).is_none();
        self.next = if unknown || self.stints >= self.patience {
            self.better.other()
        } else {
            self.better
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs many intervals of 10 synchronisation windows with `share` events for each of two
    /// threads. Returns the fraction of the events for which both threads worked.
    fn part_together(pace: &mut Pace, share: u64, alone_ns: u64, together_ns: u64) -> f64 {
        let (mut all, mut together) = (0, 0);
        for _ in 0..20_000 {
            let events = share * 2 * 10;
            all += events;
            let each = match pace.next() {
                Mode::Alone => alone_ns,
                Mode::Together => together_ns,
            };
            together += if pace.next() == Mode::Together {
                events
            } else {
                0
            };
            pace.note(events, 10, events * each);
        }
        together as f64 / all as f64
    }

    // PAR-08
    #[test]
    fn the_faster_way_is_found_and_nearly_always_taken() {
        let mut pace = Pace::new(2, false);
        assert!(part_together(&mut pace, 100, 60, 35) > 0.97);
        // The machine is loaded: threads wait long for each other.
        assert!(part_together(&mut pace, 100, 60, 600) < 0.05);
        // The machine is idle again.
        assert!(part_together(&mut pace, 100, 60, 35) > 0.9);
    }

    // PAR-08
    #[test]
    fn plain_cases_are_not_measured() {
        let mut pace = Pace::new(2, false);
        assert!(part_together(&mut pace, 3, 60, 1) < 0.001);
        assert!(part_together(&mut pace, 5000, 60, 100) > 0.999);
        let mut forced = Pace::new(2, true);
        assert_eq!(part_together(&mut forced, 3, 1, 1000), 1.0);
    }

    #[test]
    fn legs_in_which_nothing_happens_say_nothing() {
        let mut pace = Pace::new(2, false);
        pace.note(0, 0, 1_000_000_000);
        assert_eq!(pace.next(), Mode::Together);
    }
}
