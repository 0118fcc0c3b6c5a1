//! PFC pauses with a duration: expiry of received pauses, and repetition of sent pauses. The rules
//! are in `specs/pfc-quanta.md`.

use crate::classes::{ClassSet, MAX_CLASSES, classes_of};
use crate::timers::Timers;
use crate::units::{NEVER, Rate, Time};

/// Bytes that a link sends in one quantum of pause time.
// QNT-01
pub const QUANTUM_BYTES: u64 = 64;

/// Returns the duration of a pause of this many quanta at a port of this rate.
// QNT-01
#[must_use]
pub fn pause_ps(rate: Rate, quanta: u16) -> Time {
    rate.serialisation_ps(QUANTUM_BYTES * u64::from(quanta))
}

/// Deadlines of the classes of all ports, and a heap that finds the earliest one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deadlines {
    /// Current deadline per port and class; empty before the first deadline is set.
    at: Vec<Time>,
    /// All deadlines that were set, including those that were changed or cleared since.
    queue: Timers<(u16, u8)>,
}

impl Deadlines {
    const fn index(port: u16, class: u8) -> usize {
        port as usize * MAX_CLASSES + class as usize
    }

    /// Returns true if a class of a port has a deadline.
    pub fn is_set(&self, port: u16, class: u8) -> bool {
        let at = self.at.get(Self::index(port, class));
        at.is_some_and(|&at| at != NEVER)
    }

    /// Sets the deadline of a class of a port.
    pub fn set(&mut self, port: u16, class: u8, at: Time) {
        let index = Self::index(port, class);
        if index >= self.at.len() {
            self.at.resize((port as usize + 1) * MAX_CLASSES, NEVER);
        }
        self.at[index] = at;
        self.queue.add(at, (port, class));
    }

    /// Clears the deadlines of some classes of a port.
    pub fn clear(&mut self, port: u16, classes: ClassSet) {
        let first = Self::index(port, 0);
        let of_port = self.at.iter_mut().skip(first).take(MAX_CLASSES);
        for (class, at) in of_port.enumerate() {
            if classes >> class & 1 != 0 {
                *at = NEVER;
            }
        }
    }

    /// Clears the earliest expired deadline and returns its port and class. Deadlines of the same
    /// instant are returned in ascending order of port and class.
    pub fn due(&mut self, now: Time) -> Option<(u16, u8)> {
        self.skip_changed();
        let (_, (port, class)) = self.queue.expired(now)?;
        self.at[Self::index(port, class)] = NEVER;
        Some((port, class))
    }

    /// Returns the time of the earliest deadline.
    pub fn next(&mut self) -> Option<Time> {
        self.skip_changed();
        self.queue.first().map(|(at, _)| at)
    }

    /// Removes the first entries of the queue whose deadlines were changed or cleared.
    fn skip_changed(&mut self) {
        while let Some((at, (port, class))) = self.queue.first()
            && self.at[Self::index(port, class)] != at
        {
            self.queue.pop();
        }
    }
}

/// Expiry times of the timed pauses that the neighbours of a node have sent.
// QNT-03
#[derive(Clone, Debug, Default)]
pub(crate) struct TimedPauses {
    until: Deadlines,
    /// Number of pauses that have expired.
    expired: u64,
}

impl TimedPauses {
    /// Sets the time until which classes of a port are paused.
    // QNT-02
    pub fn pause(&mut self, until: Time, port: u16, classes: ClassSet) {
        for class in classes_of(classes) {
            self.until.set(port, class, until);
        }
    }

    /// Removes the expiry times of the pauses of some classes of a port.
    // QNT-04
    pub fn forget(&mut self, port: u16, classes: ClassSet) {
        self.until.clear(port, classes);
    }

    /// Returns a port and a class whose pause has expired, and counts this.
    pub fn expired(&mut self, now: Time) -> Option<(u16, u8)> {
        let due = self.until.due(now)?;
        self.expired += 1;
        Some(due)
    }

    /// Returns the time at which the next pause expires.
    pub fn next(&mut self) -> Option<Time> {
        self.until.next()
    }

    /// Returns the number of pauses that have expired.
    pub const fn count(&self) -> u64 {
        self.expired
    }
}

/// Times at which a switch repeats the frames of pauses that it has sent and not ended.
// QNT-05
#[derive(Clone, Debug)]
pub(crate) struct Refresh {
    pub quanta: u16,
    /// Time between two pause frames of a class, for each port.
    periods: Box<[Time]>,
    due: Deadlines,
    /// Number of frames that repeated a pause.
    pub frames: u64,
}

impl Refresh {
    /// Creates the timers for pauses of `quanta` pause quanta, repeated after `refresh` quanta.
    pub fn new(quanta: u16, refresh: u16, rates: impl Iterator<Item = Rate>) -> Self {
        Self {
            quanta,
            periods: rates.map(|rate| pause_ps(rate, refresh)).collect(),
            due: Deadlines::default(),
            frames: 0,
        }
    }

    /// Records that a pause frame was sent at a port. Returns the time at which it is repeated.
    pub fn sent(&mut self, now: Time, port: u16, class: u8) -> Time {
        let at = now + self.periods[usize::from(port)];
        self.due.set(port, class, at);
        at
    }

    /// Stops the repetition of pauses of some classes at a port.
    pub fn stop(&mut self, port: u16, classes: ClassSet) {
        self.due.clear(port, classes);
    }

    /// Returns a port and class whose pause frame must be repeated now.
    pub fn due(&mut self, now: Time) -> Option<(u16, u8)> {
        self.due.due(now)
    }

    /// Returns the time of the next repetition.
    pub fn next(&mut self) -> Option<Time> {
        self.due.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATES: [Rate; 2] = [Rate::from_gbps(100), Rate::from_gbps(10)];

    // QNT-01
    #[test]
    fn a_quantum_is_512_bits_of_the_port() {
        assert_eq!(pause_ps(RATES[0], 1), 5_120);
        assert_eq!(pause_ps(RATES[1], 1), 51_200);
        // The longest pause at 100 and at 400 Gb/s, as in tables of vendors.
        assert_eq!(pause_ps(RATES[0], u16::MAX) / 10_000, 33_553);
        assert_eq!(pause_ps(Rate::from_gbps(400), u16::MAX) / 10_000, 8_388);
    }

    // QNT-02, QNT-03, QNT-04
    #[test]
    fn the_last_frame_of_a_class_says_until_when_it_is_held() {
        let mut pauses = TimedPauses::default();
        pauses.pause(512_000, 1, 0b1100);
        pauses.pause(51_200, 0, 0b100);
        assert_eq!(pauses.next(), Some(51_200));
        pauses.pause(142_400, 0, 0b100); // longer
        assert_eq!(pauses.expired(51_200), None);
        pauses.pause(75_600, 0, 0b100); // shorter
        assert_eq!(pauses.expired(75_600), Some((0, 2)));
        assert_eq!(pauses.expired(200_000), None);
        pauses.forget(1, 0b100);
        assert_eq!(pauses.next(), Some(512_000));
        assert_eq!(pauses.expired(512_000), Some((1, 3)), "class 2 was resumed");
        assert_eq!((pauses.next(), pauses.count()), (None, 2));
    }

    #[test]
    fn deadlines_of_one_instant_come_in_the_order_of_ports_and_classes() {
        let mut due = Deadlines::default();
        for (port, class) in [(3, 2), (0, 7), (3, 0)] {
            due.set(port, class, 100);
            due.set(port, class, 100);
        }
        due.clear(9, ClassSet::MAX);
        let all: Vec<_> = std::iter::from_fn(|| due.due(100)).collect();
        assert_eq!(all, [(0, 7), (3, 0), (3, 2)], "each once");
    }
}
