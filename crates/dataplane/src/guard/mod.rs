//! Guards: what ends a pause that lasts too long.
//!
//! To add one: a file with its configuration and its state (`impl Guard`), and a line in the list below.

mod watchdog;

use crate::classes::{ClassSet, MAX_CLASSES, classes_of};
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

/// What a guard counted at one class of a port, or at all of a switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GuardCounters {
    /// Storms that were detected.
    pub storms: u64,
    /// Storms that ended.
    pub restorations: u64,
    /// Packets that were dropped in storms.
    pub drops: u64,
    /// Packets that were sent in storms.
    pub sent: u64,
}

impl GuardCounters {
    /// Adds the counts of another class.
    pub const fn add(&mut self, other: &Self) {
        self.storms += other.storms;
        self.restorations += other.restorations;
        self.drops += other.drops;
        self.sent += other.sent;
    }
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

        /// Calls a hook of the guard of a switch.
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

/// The guard of a switch, and the pauses that it watches.
#[derive(Debug)]
pub(crate) struct Guarded {
    guard: AnyGuard,
    /// Per port: the classes that the neighbour pauses, as bits, whether the guard ignores that or not.
    pub paused: Vec<ClassSet>,
    /// Per port and class.
    // PFCWD-08
    counters: Vec<GuardCounters>,
}

impl Guarded {
    pub fn new(config: &GuardConfig, ports: usize) -> Self {
        Self {
            guard: AnyGuard::new(config, ports),
            paused: vec![0; ports],
            counters: vec![GuardCounters::default(); ports * MAX_CLASSES],
        }
    }

    /// The neighbour at a port pauses or resumes classes, each now or again. Returns the classes that it pauses.
    pub fn change(&mut self, now: Time, port: u16, classes: ClassSet, on: bool) -> ClassSet {
        for class in classes_of(classes) {
            guard_of!(&mut self.guard, guard => guard.pause_changed(now, port, class, on));
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
        let event = guard_of!(&mut self.guard, guard => guard.due(now, &self.paused, is_waiting))?;
        match event {
            Event::Storm { port, class } => self.counts(port, class).storms += 1,
            Event::Restored { port, class } => self.counts(port, class).restorations += 1,
        }
        Some(event)
    }

    /// Returns the counts of a class of a port, to change.
    pub fn counts(&mut self, port: u16, class: u8) -> &mut GuardCounters {
        &mut self.counters[usize::from(port) * MAX_CLASSES + usize::from(class)]
    }

    /// Returns the counts of each class that had a storm, with its port.
    pub fn queues(&self) -> impl Iterator<Item = (u16, u8, &GuardCounters)> {
        let place = |at: usize| ((at / MAX_CLASSES) as u16, (at % MAX_CLASSES) as u8);
        let all = self.counters.iter().enumerate();
        all.filter(|(_, counts)| counts.storms > 0)
            .map(move |(at, counts)| {
                let (port, class) = place(at);
                (port, class, counts)
            })
    }

    /// Counts a packet that leaves by a port if its class is in a storm.
    pub fn count_sent(&mut self, port: u16, class: u8) {
        if self.ignored(port) >> class & 1 != 0 {
            self.counts(port, class).sent += 1;
        }
    }

    /// True if packets of a class that are to leave by a port are dropped. Counts the packet then.
    pub fn drops_packet(&mut self, port: u16, class: u8) -> bool {
        let drops = self.drops(port, class);
        self.counts(port, class).drops += u64::from(drops);
        drops
    }

    /// The classes that are paused in effect: paused by the neighbour and not ignored by the guard.
    pub fn effective(&self, port: u16) -> ClassSet {
        self.paused[usize::from(port)] & !self.ignored(port)
    }

    /// Returns the classes of a port whose pauses are ignored, as bits.
    fn ignored(&self, port: u16) -> ClassSet {
        guard_of!(&self.guard, guard => guard.ignores(port))
    }

    /// True if packets of a class that are to leave by a port are dropped.
    pub fn drops(&self, port: u16, class: u8) -> bool {
        guard_of!(&self.guard, guard => guard.drops(port, class))
    }

    /// Returns when the guard is to be called next.
    pub fn next(&self) -> Option<Time> {
        guard_of!(&self.guard, guard => guard.next())
    }

    /// The link at a port has failed or is back: nothing is paused.
    // PFCWD-06
    pub fn forget(&mut self, port: u16) {
        guard_of!(&mut self.guard, guard => guard.forget(port));
        self.paused[usize::from(port)] = 0;
    }
}
