//! PFC watchdog of SONiC: detects a class that stays paused too long (a storm), and drops or sends
//! its packets. The rules are in `specs/pfc-watchdog.md`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Event, Guard};
use crate::classes::MAX_CLASSES;
use crate::param::Param;
use crate::units::{NEVER, Time, US};

crate::words! {
    /// Action on the packets of a class that is in a storm.
    pub enum Action {
        /// Queued and arriving packets are dropped.
        Drop = "drop",
        /// Packets are sent although the neighbour pauses them.
        Forward = "forward",
    }
}

crate::params! {
    /// Parameters of the watchdog.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct WatchdogConfig {
        /// A class of a port that is paused for this long, with packets that wait, is in a storm.
        pub detection_ps: Time = Param::time("detection", US)
            .default("\"200ms\"", "PRE-221", "the default of SONiC"),
        /// A storm ends when no pause frame of the class has arrived for this long.
        pub restoration_ps: Time = Param::time("restoration", US)
            .default("\"200ms\"", "PRE-221", "the default of SONiC"),
        /// Action on packets of a class in a storm: drop them, or send them although the class is
        /// paused.
        pub action: Action = Param::word("action", Action::WORDS)
            .default("\"drop\"", "PRE-221", "the default of SONiC"),
    }
}

impl WatchdogConfig {
    /// Returns the longest time that the watchdog waits before it acts.
    #[must_use]
    pub const fn patience_ps(&self) -> Time {
        self.detection_ps + self.restoration_ps
    }
}

/// State of one class of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Clear,
    /// The class is paused. A storm starts at this time.
    Watched(Time),
    /// The class is in a storm, which ends at this time.
    Storm(Time),
}

impl State {
    /// Returns the time at which the state can change without a frame.
    const fn due(self) -> Time {
        match self {
            Self::Clear => NEVER,
            Self::Watched(at) | Self::Storm(at) => at,
        }
    }
}

/// Watchdog of a switch.
#[derive(Debug)]
pub(crate) struct Watchdog {
    config: WatchdogConfig,
    /// State per port and class.
    states: Vec<State>,
    timers: BinaryHeap<Reverse<(Time, usize)>>,
}

impl Watchdog {
    pub fn new(config: WatchdogConfig, ports: usize) -> Self {
        Self {
            config,
            states: vec![State::Clear; ports * MAX_CLASSES],
            timers: BinaryHeap::new(),
        }
    }

    const fn at(port: u16, class: u8) -> usize {
        port as usize * MAX_CLASSES + class as usize
    }

    fn set(&mut self, at: usize, state: State) {
        self.states[at] = state;
        if state != State::Clear {
            self.timers.push(Reverse((state.due(), at)));
        }
    }
}

impl Guard for Watchdog {
    // PFCWD-01, PFCWD-04
    fn pause_changed(&mut self, now: Time, port: u16, class: u8, is_paused: bool) {
        let at = Self::at(port, class);
        match (self.states[at], is_paused) {
            (State::Clear, true) => self.set(at, State::Watched(now + self.config.detection_ps)),
            (State::Watched(_), false) => self.states[at] = State::Clear,
            (State::Storm(_), true) => self.set(at, State::Storm(now + self.config.restoration_ps)),
            _ => {}
        }
    }

    // PFCWD-01, PFCWD-04, PFCWD-05
    fn due(
        &mut self,
        now: Time,
        is_paused: impl Fn(u16, u8) -> bool,
        is_waiting: impl Fn(u16, u8) -> bool,
    ) -> Option<Event> {
        while let Some(&Reverse((due, at))) = self.timers.peek() {
            if due > now {
                return None;
            }
            self.timers.pop();
            let (port, class) = ((at / MAX_CLASSES) as u16, (at % MAX_CLASSES) as u8);
            match self.states[at] {
                state if state.due() != due => {} // The state has changed since the timer was set.
                State::Storm(_) => {
                    self.states[at] = State::Clear;
                    if is_paused(port, class) {
                        self.set(at, State::Watched(now + self.config.detection_ps));
                    }
                    return Some(Event::Restored { port, class });
                }
                _ if is_waiting(port, class) => {
                    self.set(at, State::Storm(now + self.config.restoration_ps));
                    return Some(Event::Storm { port, class });
                }
                _ => self.set(at, State::Watched(now + self.config.detection_ps)),
            }
        }
        None
    }

    fn next(&self) -> Option<Time> {
        self.timers.peek().map(|&Reverse((at, _))| at)
    }

    // PFCWD-02
    fn drops(&self) -> bool {
        self.config.action == Action::Drop
    }

    // PFCWD-06
    fn forget(&mut self, port: u16) {
        let first = Self::at(port, 0);
        self.states[first..first + MAX_CLASSES].fill(State::Clear);
    }
}
