//! The PFC watchdog of SONiC: a class that stays paused for too long is drained. The rules are in
//! `specs/pfc-watchdog.md`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Event, Guard};
use crate::classes::{ClassSet, MAX_CLASSES};
use crate::param::{Param, Values};
use crate::units::{NEVER, Time, US};

/// What happens to the packets of a class that is in a storm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Packets that wait, and packets that arrive, are dropped.
    Drop,
    /// Packets are sent though the neighbour pauses them.
    Forward,
}

/// Parameters of the watchdog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchdogConfig {
    /// A class that is paused for this long is in a storm, in ps.
    pub detection_ps: Time,
    /// A storm ends when no pause has arrived for this long, in ps.
    pub restoration_ps: Time,
    /// What happens to its packets.
    pub action: Action,
}

impl WatchdogConfig {
    /// The parameters.
    pub const PARAMS: &'static [Param] = &[
        Param::time("detection", US)
            .default("\"200ms\"", "PRE-221", "the default of SONiC")
            .about("A class of a port that is paused for this long, with packets that wait, is in a storm."),
        Param::time("restoration", US)
            .default("\"200ms\"", "PRE-221", "the default of SONiC")
            .about("A storm ends when no pause frame of the class has arrived for this long."),
        Param::word("action", &["drop", "forward"])
            .default("\"drop\"", "PRE-221", "the default of SONiC")
            .about("Action on packets of a class in a storm: drop them, or send them although the class is paused."),
    ];

    /// Reads the values of the parameters.
    #[must_use]
    pub fn from_values(values: &Values) -> Self {
        Self {
            detection_ps: values.time("detection"),
            restoration_ps: values.time("restoration"),
            action: match values.is("action", "forward") {
                true => Action::Forward,
                false => Action::Drop,
            },
        }
    }

    /// The longest time that the watchdog waits before it acts.
    #[must_use]
    pub const fn patience_ps(&self) -> Time {
        self.detection_ps + self.restoration_ps
    }
}

/// One class of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Clear,
    /// It is paused; a storm begins at this time.
    Watched(Time),
    /// It is in a storm, which ends at this time.
    Storm(Time),
}

impl State {
    /// When the state can change by itself.
    const fn due(self) -> Time {
        match self {
            Self::Clear => NEVER,
            Self::Watched(at) | Self::Storm(at) => at,
        }
    }
}

/// The watchdog of a switch.
#[derive(Debug)]
pub(crate) struct Watchdog {
    config: WatchdogConfig,
    /// Per port and class.
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
        paused: &[ClassSet],
        is_waiting: impl Fn(u16, u8) -> bool,
    ) -> Option<Event> {
        while let Some(&Reverse((due, at))) = self.timers.peek() {
            if due > now {
                return None;
            }
            self.timers.pop();
            let (port, class) = ((at / MAX_CLASSES) as u16, (at % MAX_CLASSES) as u8);
            match self.states[at] {
                state if state.due() != due => {} // it has changed since
                State::Storm(_) => {
                    self.states[at] = State::Clear;
                    if paused[usize::from(port)] >> class & 1 != 0 {
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

    // PFCWD-02, PFCWD-03
    fn ignores(&self, port: u16) -> ClassSet {
        let first = Self::at(port, 0);
        let states = self.states[first..first + MAX_CLASSES].iter().enumerate();
        states.fold(0, |set, (class, state)| {
            set | ClassSet::from(matches!(state, State::Storm(_))) << class
        })
    }

    // PFCWD-02
    fn drops(&self, port: u16, class: u8) -> bool {
        let is_storm = matches!(self.states[Self::at(port, class)], State::Storm(_));
        is_storm && self.config.action == Action::Drop
    }

    // PFCWD-06
    fn forget(&mut self, port: u16) {
        let first = Self::at(port, 0);
        self.states[first..first + MAX_CLASSES].fill(State::Clear);
    }
}
