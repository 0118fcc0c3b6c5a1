//! Shaping of a class to a share of the link, in switches and NICs alike.

use crate::requirements::CreditQueue;
use crate::units::{Rate, Time};

/// Lets one credit go per gap on average, and a few at once after a silence.
// XP-02
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    gap_ps: Time,
    /// How far ahead of the mean pace credits may run.
    slack_ps: Time,
    /// When the next credit is due by the mean pace.
    next_ps: Time,
}

impl Bucket {
    pub fn new(rate: Rate, queue: &CreditQueue) -> Self {
        let gap_ps = queue.gap_ps(rate);
        Self {
            gap_ps,
            slack_ps: gap_ps * u64::from(queue.burst.max(1) - 1),
            next_ps: 0,
        }
    }

    /// From when on the next credit may go.
    #[inline]
    pub const fn opens_ps(&self) -> Time {
        self.next_ps.saturating_sub(self.slack_ps)
    }

    /// A credit goes.
    #[inline]
    pub fn take(&mut self, now: Time) {
        self.next_ps = self.next_ps.max(now) + self.gap_ps;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // XP-02
    #[test]
    fn credits_keep_the_mean_pace_after_a_burst_of_two() {
        let queue = CreditQueue {
            credit_bytes: 84,
            frame_bytes: 1538,
            limit: 16,
            burst: 2,
        };
        let mut bucket = Bucket::new(Rate::from_gbps(100), &queue);
        let gap_ps = 1622 * 80;
        let mut now = 10 * gap_ps;
        let mut left = Vec::new();
        for _ in 0..5 {
            now = now.max(bucket.opens_ps());
            bucket.take(now);
            left.push(now / gap_ps);
        }
        assert_eq!(left, [10, 10, 11, 12, 13]);
    }
}
