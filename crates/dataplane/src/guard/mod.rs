//! Guards: what ends a pause that lasts too long.
//!
//! To add one: a file with its configuration and its state (`impl Guard`), and a line in the list below.

mod watchdog;

use crate::classes::{ClassSet, classes_of};
use crate::param::{Param, Values};
use crate::units::Time;
pub use watchdog::{Action, WatchdogConfig};

/// What a guard decides about a class of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// From now on pauses of the class are ignored.
    Storm { port: u16, class: u8 },
    /// The storm has ended: the port obeys pauses of this class again.
    Restored { port: u16, class: u8 },
}

/// The state of a guard at a switch.
pub(crate) trait Guard {
    /// A frame of the neighbour at a port pauses or resumes a class, or a pause has expired.
    fn pause_changed(&mut self, now: Time, port: u16, class: u8, is_paused: bool);
    /// Returns the next event that is due. `paused` has the classes that neighbours pause, per port;
    /// `is_waiting` returns true if packets of a class wait at a port.
    fn due(
        &mut self,
        now: Time,
        paused: &[ClassSet],
        is_waiting: impl Fn(u16, u8) -> bool,
    ) -> Option<Event>;
    /// Returns when the guard is to be called next.
    fn next(&self) -> Option<Time>;
    /// Returns the classes of a port whose pauses are ignored, as bits.
    fn ignores(&self, port: u16) -> ClassSet;
    /// True if packets of a class that are to leave by a port are dropped.
    fn drops(&self, port: u16, class: u8) -> bool;
    /// The link at a port has failed or is back.
    fn forget(&mut self, port: u16);
}

/// What a guard counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GuardCounters {
    /// Storms that were detected.
    pub storms: u64,
    /// Storms that ended.
    pub restorations: u64,
    /// Packets that were dropped in storms.
    pub drops: u64,
}

macro_rules! guards {
    ($($(#[$doc:meta])* $word:literal: $Name:ident, $config:ty, $state:ty;)*) => {
        /// The guard of a switch.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum GuardConfig {
            $($(#[$doc])* $Name($config),)*
        }

        impl GuardConfig {
            /// The words of the list, and the parameters of each.
            pub const WORDS: &'static [(&'static str, &'static [Param])] =
                &[$(($word, <$config>::PARAMS)),*];

            /// The words of the answer.
            pub const NAMES: &'static [&'static str] = &["none", $($word),*];

            /// Reads the values of a word's parameters; `None`: the list has no such word.
            #[must_use]
            pub fn from_values(word: &str, values: &Values) -> Option<Self> {
                match word {
                    $($word => Some(Self::$Name(<$config>::from_values(values))),)*
                    _ => None,
                }
            }

            /// The longest time that the guard waits before it acts.
            #[must_use]
            pub const fn patience_ps(&self) -> Time {
                match self {
                    $(Self::$Name(config) => config.patience_ps(),)*
                }
            }
        }

        /// The state of the guard of a switch.
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

        impl Guard for AnyGuard {
            fn pause_changed(&mut self, now: Time, port: u16, class: u8, is_paused: bool) {
                match self {
                    $(Self::$Name(guard) => guard.pause_changed(now, port, class, is_paused),)*
                }
            }

            fn due(
                &mut self,
                now: Time,
                paused: &[ClassSet],
                is_waiting: impl Fn(u16, u8) -> bool,
            ) -> Option<Event> {
                match self {
                    $(Self::$Name(guard) => guard.due(now, paused, is_waiting),)*
                }
            }

            fn next(&self) -> Option<Time> {
                match self {
                    $(Self::$Name(guard) => guard.next(),)*
                }
            }

            fn ignores(&self, port: u16) -> ClassSet {
                match self {
                    $(Self::$Name(guard) => guard.ignores(port),)*
                }
            }

            fn drops(&self, port: u16, class: u8) -> bool {
                match self {
                    $(Self::$Name(guard) => guard.drops(port, class),)*
                }
            }

            fn forget(&mut self, port: u16) {
                match self {
                    $(Self::$Name(guard) => guard.forget(port),)*
                }
            }
        }
    };
}

guards! {
    /// The PFC watchdog of SONiC.
    "watchdog": Watchdog, WatchdogConfig, watchdog::Watchdog;
}

/// The guard of a switch, and the pauses that it watches.
#[derive(Debug)]
pub(crate) struct Guarded {
    pub guard: AnyGuard,
    /// Per port: the classes that the neighbour pauses, as bits, whether the guard ignores that or not.
    pub paused: Vec<ClassSet>,
    // PFCWD-08
    pub counters: GuardCounters,
}

impl Guarded {
    pub fn new(config: &GuardConfig, ports: usize) -> Self {
        Self {
            guard: AnyGuard::new(config, ports),
            paused: vec![0; ports],
            counters: GuardCounters::default(),
        }
    }

    /// The neighbour at a port pauses or resumes classes, each now or again. Returns the classes that it pauses.
    pub fn change(&mut self, now: Time, port: u16, classes: ClassSet, on: bool) -> ClassSet {
        for class in classes_of(classes) {
            self.guard.pause_changed(now, port, class, on);
        }
        let paused = &mut self.paused[usize::from(port)];
        *paused = match on {
            true => *paused | classes,
            false => *paused & !classes,
        };
        *paused
    }

    /// Returns the next event that is due, and counts it. `is_waiting` returns true if packets of a class wait at a port.
    pub fn due(&mut self, now: Time, is_waiting: impl Fn(u16, u8) -> bool) -> Option<Event> {
        let event = self.guard.due(now, &self.paused, is_waiting)?;
        match event {
            Event::Storm { .. } => self.counters.storms += 1,
            Event::Restored { .. } => self.counters.restorations += 1,
        }
        Some(event)
    }

    /// True if packets of a class that are to leave by a port are dropped. Counts the packet then.
    pub fn drops_packet(&mut self, port: u16, class: u8) -> bool {
        let drops = self.guard.drops(port, class);
        self.counters.drops += u64::from(drops);
        drops
    }

    /// The classes that are paused in effect: paused by the neighbour and not ignored by the guard.
    pub fn effective(&self, port: u16) -> ClassSet {
        self.paused[usize::from(port)] & !self.guard.ignores(port)
    }
}
