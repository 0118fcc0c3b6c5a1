//! What a switch does at fixed intervals: reading its queues into the bitmap of empty queues, and
//! sending bitmaps of the queues that should be paused upstream.
//!
//! All switches tick at the multiples of a period. A switch at which nothing has come or gone for
//! [`LINGER`] periods stops ticking until something comes: by then its state has been told so
//! often that it may be taken for known, and a network that has nothing more to do comes to rest.

use crate::units::{NEVER, Time};

/// Periods without any packet after which a switch rests.
// BFC-30
const LINGER: u64 = 64;

/// One thing that is done at intervals.
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

    /// Something came or went: ticks again, if it rested.
    fn start(&mut self, now: Time) {
        if self.next_ps == NEVER && self.period_ps != NEVER {
            self.next_ps = (now / self.period_ps + 1) * self.period_ps;
        }
    }

    /// Whether it is due; sets the next time, or rests.
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

/// The intervals of a switch.
#[derive(Debug)]
pub(crate) struct Clock {
    /// When a packet last came or went.
    last_ps: Time,
    /// Reads which queues are empty.
    read: Ticker,
    /// Tells which queues should be paused.
    tell: Ticker,
}

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    /// Read which queues are empty.
    pub read: bool,
    /// Tell which queues should be paused.
    pub tell: bool,
}

impl Clock {
    /// A clock with these periods; `None` where neither is used.
    pub fn new(read_ps: Option<Time>, tell_ps: Option<Time>) -> Option<Self> {
        let some = read_ps.is_some() || tell_ps.is_some();
        some.then(|| Self {
            last_ps: 0,
            read: Ticker::new(read_ps),
            tell: Ticker::new(tell_ps),
        })
    }

    /// A packet came or went. Returns when the switch wants to be called, if that is news.
    #[inline]
    pub fn touch(&mut self, now: Time) -> Option<Time> {
        self.last_ps = now;
        let before = self.next();
        self.read.start(now);
        self.tell.start(now);
        let next = self.next();
        (next < before).then_some(next)
    }

    /// What is due now.
    pub fn due(&mut self, now: Time) -> Due {
        Due {
            read: self.read.due(now, self.last_ps),
            tell: self.tell.due(now, self.last_ps),
        }
    }

    /// When something is due next; [`NEVER`]: the switch rests.
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
        // At 66 000 more than 64 periods have passed since 1701.
        assert_eq!(told, LINGER, "{told}");
        assert_eq!(clock.touch(70_000), Some(70_200), "and begins again");
        assert!(Clock::new(None, None).is_none());
    }
}
