//! Token bucket for the rate of credits and of other frames in switches and NICs.

use crate::units::Time;

/// Token bucket that permits one frame per `gap_ps` on average, and a burst after an idle time.
// XP-02
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    gap_ps: Time,
    /// Maximum time by which frames may be sent before their time at the mean rate.
    slack_ps: Time,
    /// Time of the next frame at the mean rate.
    next_ps: Time,
}

impl Bucket {
    /// Creates a bucket that permits one frame per `gap_ps`, and at most `burst` frames at once.
    pub fn new(gap_ps: Time, burst: u16) -> Self {
        Self {
            gap_ps,
            slack_ps: gap_ps * u64::from(burst.max(1) - 1),
            next_ps: 0,
        }
    }

    /// Returns the earliest time at which the next frame may be sent.
    #[inline]
    pub const fn opens_ps(&self) -> Time {
        self.next_ps.saturating_sub(self.slack_ps)
    }

    /// Records that a frame was sent.
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
        let gap_ps = 1622 * 80;
        let mut bucket = Bucket::new(gap_ps, 2);
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
