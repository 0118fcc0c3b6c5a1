//! Periodic work of a switch: it copies which queues are empty into a bitmap, and sends bitmaps of
//! paused queues to its upstream neighbours.
//!
//! Timers expire at multiples of their period. A switch stops its timers after [`LINGER`] periods
//! without packets, until the next packet. Its neighbours have then received its last state many
//! times, and a network without packets has no pending events.

use crate::units::{NEVER, Time};

/// Number of periods without any packet after which a switch stops its timers.
// BFC-30
const LINGER: u64 = 64;

/// A periodic timer.
#[derive(Clone, Copy, Debug)]
struct Ticker {
    period_ps: Time,
    next_ps: Time,
}

impl Ticker {
    const fn new(period_ps: Option<Time>) -> Self {
        Self {
            period_ps: match period_ps {
                Some(period_ps) => period_ps,
                None => NEVER,
            },
            next_ps: NEVER,
        }
    }

    /// Starts the timer if it had stopped, because a packet arrived or left.
    fn start(&mut self, now: Time) {
        if self.next_ps == NEVER && self.period_ps != NEVER {
            self.next_ps = (now / self.period_ps + 1) * self.period_ps;
        }
    }

    /// Returns true if the timer has expired. Then sets the next expiry, or stops the timer if no
    /// packet has arrived or left for [`LINGER`] periods.
    fn due(&mut self, now: Time, last_ps: Time) -> bool {
        if self.next_ps > now {
            return false;
        }
        self.next_ps = if now - last_ps > LINGER * self.period_ps {
            NEVER
        } else {
            now + self.period_ps
        };
        true
    }
}

/// The periodic timers of a switch.
#[derive(Debug)]
pub(crate) struct Clock {
    /// Time at which a packet last arrived or left.
    last_ps: Time,
    /// Timer for reading which queues are empty.
    read: Ticker,
    /// Timer for sending bitmaps of paused queues.
    tell: Ticker,
}

/// Periodic work that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    /// True if the switch must read which queues are empty.
    pub read: bool,
    /// True if the switch must send bitmaps of paused queues.
    pub tell: bool,
}

impl Clock {
    /// Creates the timers with these periods for reading queues and for sending bitmaps. Returns
    /// `None` if neither is used.
    pub fn new(read_ps: Option<Time>, tell_ps: Option<Time>) -> Option<Self> {
        let some = read_ps.is_some() || tell_ps.is_some();
        some.then(|| Self {
            last_ps: 0,
            read: Ticker::new(read_ps),
            tell: Ticker::new(tell_ps),
        })
    }

    /// Records that a packet arrived or left, and starts stopped timers. Returns the time of the
    /// next call if it is earlier than before.
    #[inline]
    pub fn touch(&mut self, now: Time) -> Option<Time> {
        self.last_ps = now;
        let before = self.next();
        self.read.start(now);
        self.tell.start(now);
        let next = self.next();
        (next < before).then_some(next)
    }

    /// Returns the work that is due now.
    pub fn due(&mut self, now: Time) -> Due {
        Due {
            read: self.read.due(now, self.last_ps),
            tell: self.tell.due(now, self.last_ps),
        }
    }

    /// Returns the time of the next work, or [`NEVER`] if both timers have stopped.
    pub fn next(&self) -> Time {
        self.read.next_ps.min(self.tell.next_ps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // BFC-30, BFC-38
    #[test]
    fn switches_tick_at_multiples_and_rest_when_nothing_moves() {
        let mut clock = Clock::new(Some(300), Some(1000)).unwrap();
        assert_eq!(clock.next(), NEVER);
        assert_eq!(clock.touch(1700), Some(1800));
        assert_eq!(clock.touch(1701), None);
        let read = Due {
            read: true,
            tell: false,
        };
        assert_eq!(clock.due(1800), read);
        assert_eq!(clock.next(), 2000);
        assert!(clock.due(2000).tell && !clock.due(2000).tell);
        let mut told = 0;
        while clock.next() != NEVER {
            let now = clock.next();
            told += u64::from(clock.due(now).tell);
        }
        // At 66 000 more than 64 periods of 1000 have passed since 1701.
        assert_eq!(told, LINGER, "{told}");
        assert_eq!(clock.touch(70_000), Some(70_200), "and begins again");
        assert!(Clock::new(None, None).is_none());
    }
}
