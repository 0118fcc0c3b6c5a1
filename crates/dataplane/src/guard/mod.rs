//! Guards: they end pauses that last too long.
//!
//! To add a guard, write a file with its configuration and its state (`impl Guard`), and add a line
//! to the list below.

mod watchdog;

use crate::classes::{ClassSet, MAX_CLASSES, classes_of};
use crate::param::{Param, Params, Values};
use crate::units::Time;
pub use watchdog::{Action, WatchdogConfig};

/// Decision of a guard about a class of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A storm starts: pauses of the class are ignored.
    Storm { port: u16, class: u8 },
    /// A storm ends: pauses of the class are effective again.
    Restored { port: u16, class: u8 },
}

/// State of a guard at a switch.
pub(crate) trait Guard {
    /// Records that a frame of the neighbour paused or resumed a class, or that a pause expired.
    fn pause_changed(&mut self, now: Time, port: u16, class: u8, is_paused: bool);
    /// Returns the next event that is due. `is_paused` returns true if the neighbour pauses a class
    /// of a port, and `is_waiting` if packets of the class are queued there.
    fn due(
        &mut self,
        now: Time,
        is_paused: impl Fn(u16, u8) -> bool,
        is_waiting: impl Fn(u16, u8) -> bool,
    ) -> Option<Event>;
    /// Returns the time of the next call of the guard.
    fn next(&self) -> Option<Time>;
    /// Returns true if packets of a class in a storm are dropped.
    fn drops(&self) -> bool;
    /// Resets the state of a port whose link failed or recovered.
    fn forget(&mut self, port: u16);
}

/// Counters of a guard for one class of a port, or for a whole switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GuardCounters {
    /// Storms detected.
    pub storms: u64,
    /// Storms that ended.
    pub restorations: u64,
    /// Packets dropped in storms.
    pub drops: u64,
    /// Packets sent in storms.
    pub sent: u64,
}

impl GuardCounters {
    /// Adds the counters of another class.
    pub const fn add(&mut self, other: &Self) {
        self.storms += other.storms;
        self.restorations += other.restorations;
        self.drops += other.drops;
        self.sent += other.sent;
    }
}

macro_rules! guards {
    ($($(#[$doc:meta])* $word:literal: $Name:ident, $config:ty, $state:ty;)*) => {
        /// Configured guard of a switch.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum GuardConfig {
            $($(#[$doc])* $Name($config),)*
        }

        impl GuardConfig {
            /// Names of all guards in scenarios, and the parameters of each.
            pub const WORDS: &'static [(&'static str, &'static [Param])] =
                &[$(($word, <$config as Params>::PARAMS)),*];

            /// Names of the guards that a scenario can select.
            pub const NAMES: &'static [&'static str] = &["none", $($word),*];

            /// Returns the guard with this name and these parameters, or `None` for an unknown
            /// name.
            #[must_use]
            pub fn from_values(word: &str, values: &Values) -> Option<Self> {
                match word {
                    $($word => Some(Self::$Name(Params::read(values))),)*
                    _ => None,
                }
            }

            /// Returns the longest time that the guard waits before it acts.
            #[must_use]
            pub const fn patience_ps(&self) -> Time {
                match self {
                    $(Self::$Name(config) => config.patience_ps(),)*
                }
            }
        }

        /// State of the configured guard of a switch.
        #[derive(Debug)]
        pub(crate) enum AnyGuard {
            $($Name($state),)*
        }

        impl AnyGuard {
            pub fn new(config: &GuardConfig, ports: usize) -> Self {
                match config {
                    $(GuardConfig::$Name(config) => Self::$Name(<$state>::new(*config, ports)),)*
                }
            }
        }

        /// Calls a method of the configured guard.
        macro_rules! guard_of {
            ($any:expr, $guard:ident => $call:expr) => {
                match $any {
                    $(AnyGuard::$Name($guard) => $call,)*
                }
            };
        }
    };
}

guards! {
    /// The PFC watchdog of SONiC.
    "watchdog": Watchdog, WatchdogConfig, watchdog::Watchdog;
}

/// Guard of a switch, and its counters.
#[derive(Debug)]
pub(crate) struct Guarded {
    guard: AnyGuard,
    /// Counters per port and class.
    // PFCWD-08
    counters: Vec<GuardCounters>,
}

impl Guarded {
    pub fn new(config: &GuardConfig, ports: usize) -> Self {
        Self {
            guard: AnyGuard::new(config, ports),
            counters: vec![GuardCounters::default(); ports * MAX_CLASSES],
        }
    }

    /// Records that the neighbour at a port pauses or resumes classes, also if it repeats that.
    pub fn pause_changed(&mut self, now: Time, port: u16, classes: ClassSet, on: bool) {
        for class in classes_of(classes) {
            guard_of!(&mut self.guard, guard => guard.pause_changed(now, port, class, on));
        }
    }

    /// Returns and counts the next event that is due. `is_paused` and `is_waiting` are those of
    /// [`Guard::due`].
    pub fn due(
        &mut self,
        now: Time,
        is_paused: impl Fn(u16, u8) -> bool,
        is_waiting: impl Fn(u16, u8) -> bool,
    ) -> Option<Event> {
        let event = guard_of!(&mut self.guard, guard => guard.due(now, is_paused, is_waiting))?;
        match event {
            Event::Storm { port, class } => self.counts(port, class).storms += 1,
            Event::Restored { port, class } => self.counts(port, class).restorations += 1,
        }
        Some(event)
    }

    /// Returns the counters of a class of a port for writing.
    pub fn counts(&mut self, port: u16, class: u8) -> &mut GuardCounters {
        &mut self.counters[usize::from(port) * MAX_CLASSES + usize::from(class)]
    }

    /// Returns the port, class and counters of each class that had a storm.
    pub fn queues(&self) -> impl Iterator<Item = (u16, u8, &GuardCounters)> {
        let place = |at: usize| ((at / MAX_CLASSES) as u16, (at % MAX_CLASSES) as u8);
        let all = self.counters.iter().enumerate();
        all.filter(|(_, counts)| counts.storms > 0)
            .map(move |(at, counts)| {
                let (port, class) = place(at);
                (port, class, counts)
            })
    }

    /// Returns true and counts the packet if packets of a class in a storm are dropped.
    pub fn drops_packet(&mut self, port: u16, class: u8) -> bool {
        let drops = self.drops();
        self.counts(port, class).drops += u64::from(drops);
        drops
    }

    /// Returns true if packets of a class in a storm are dropped.
    pub fn drops(&self) -> bool {
        guard_of!(&self.guard, guard => guard.drops())
    }

    /// Returns the time of the next call of the guard.
    pub fn next(&self) -> Option<Time> {
        guard_of!(&self.guard, guard => guard.next())
    }

    /// Clears all pauses of a port whose link failed or recovered.
    // PFCWD-06
    pub fn forget(&mut self, port: u16) {
        guard_of!(&mut self.guard, guard => guard.forget(port));
    }
}
