//! PFC watchdog of SONiC: it detects a class that stays paused too long (a PFC storm). The switch
//! then drops the packets of this class, or sends them although the class is paused. The rules are
//! in `specs/pfc-watchdog.md`.
//!
//! This file has the parameters, timers and counters. `gate.rs` begins and ends storms, and
//! `switch/storm.rs` drops packets.

use crate::classes::{ClassSet, MAX_CLASSES, classes_of};
use crate::param::{Param, Params, Word};
use crate::pause_time::Deadlines;
use crate::properties::{Choice, Properties, Property, Rule};
use crate::units::{Time, US};

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
        /// If a class of a port has packets and is paused for this long, a storm begins.
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
    /// Name of the watchdog in scenarios, and of the table of its parameters.
    pub const NAME: &'static str = "watchdog";

    /// Value of the scenario key `guard` that selects the watchdog.
    pub const WORDS: &[Word<Self>] = &[Word::new(Self::NAME, Self::PARAMS, |values| {
        Ok(Self::read(values))
    })];

    /// Returns the maximum time from the last pause frame until the watchdog ends a storm.
    #[must_use]
    pub const fn patience_ps(&self) -> Time {
        self.detection_ps + self.restoration_ps
    }
}

impl Choice for WatchdogConfig {
    fn provides(&self) -> Properties {
        Properties::of(&[Property::Guard])
    }

    // PFCWD-09
    fn rules(&self) -> Vec<Rule> {
        crate::rules! {
            wrong ["guard", "admission"] without [Pfc]:
                "a guard needs PFC, and with this `admission` switches send no PFC pauses",
                "set admission = \"pfc\", or guard = \"none\"";
        }
    }
}

/// Counters of the watchdog for one class of a port.
// PFCWD-08
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StormCounters {
    /// PFC storms detected.
    pub storms: u64,
    /// PFC storms that ended.
    pub restorations: u64,
    /// Packets dropped during PFC storms.
    pub drops: u64,
    /// Packets sent during PFC storms, although the class was paused.
    pub sent: u64,
}

/// PFC watchdog of a switch.
#[derive(Debug)]
pub(crate) struct Watchdog {
    config: WatchdogConfig,
    /// For a paused class, the time at which a storm begins. For a class in a storm, the time at
    /// which the storm ends.
    timers: Deadlines,
    /// Storm counters per port and class.
    counters: Vec<[StormCounters; MAX_CLASSES]>,
}

impl Watchdog {
    pub fn new(config: WatchdogConfig, ports: usize) -> Self {
        Self {
            config,
            timers: Deadlines::default(),
            counters: vec![Default::default(); ports],
        }
    }

    /// Records that the neighbour at a port pauses (`on`) or resumes classes, or that pauses
    /// expired. `storms` contains the classes of the port that are in a storm.
    // PFCWD-01: a pause starts a stopped timer, and a resume stops it; PFCWD-04: a pause prolongs a
    // storm
    pub fn pause_changed(
        &mut self,
        now: Time,
        port: u16,
        (classes, on): (ClassSet, bool),
        storms: ClassSet,
    ) {
        if !on {
            return self.timers.clear(port, classes & !storms);
        }
        for class in classes_of(classes) {
            let in_storm = storms >> class & 1 != 0;
            if in_storm || !self.timers.is_set(port, class) {
                self.start_timer(now, port, class, in_storm);
            }
        }
    }

    /// Starts the timer of a class: for the end of a storm if `in_storm`, else for its detection.
    pub fn start_timer(&mut self, now: Time, port: u16, class: u8, in_storm: bool) {
        let after_ps = match in_storm {
            true => self.config.restoration_ps,
            false => self.config.detection_ps,
        };
        self.timers.set(port, class, now + after_ps);
    }

    /// Returns the port and class of a timer that has expired.
    pub fn due(&mut self, now: Time) -> Option<(u16, u8)> {
        self.timers.due(now)
    }

    /// Returns the time at which the next timer expires.
    pub fn next(&mut self) -> Option<Time> {
        self.timers.next()
    }

    /// Stops the timers of a port whose link failed or recovered.
    // PFCWD-06
    pub fn forget(&mut self, port: u16) {
        self.timers.clear(port, ClassSet::MAX);
    }

    /// Returns true if packets of a class in a storm are dropped.
    // PFCWD-02
    pub fn drops(&self) -> bool {
        self.config.action == Action::Drop
    }

    /// Returns the counters of a class of a port for writing.
    pub fn counters(&mut self, port: u16, class: u8) -> &mut StormCounters {
        &mut self.counters[usize::from(port)][usize::from(class)]
    }

    /// Returns the port, class and counters of each class that had a storm.
    pub fn queues(&self) -> impl Iterator<Item = (u16, u8, &StormCounters)> {
        let ports = (0..).zip(&self.counters);
        let all =
            ports.flat_map(|(port, of)| (0..).zip(of).map(move |(class, of)| (port, class, of)));
        all.filter(|(_, _, of)| of.storms > 0)
    }
}
