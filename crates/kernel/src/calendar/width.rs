//! Adapts the width (time range) of the buckets of a timing wheel to the load.

/// Target number of events per bucket. With fewer events, the unpredictable branches at each change
/// of bucket dominate the cost. With more events, an insertion into the current bucket moves many
/// events.
const WANTED: u64 = 128;
/// Buckets become wider if they have fewer events than this on average, and narrower above `MOST`.
const FEWEST: u64 = 64;
const MOST: u64 = 256;
/// Minimum number of events before the width is changed. Four times the number of pending events
/// are also required, because a change of width moves all pending events.
const MEASURED: u64 = 4096;

/// Limits of the bucket width (as exponents of 2, in ps), and counts of buckets and events since
/// the last check of the width.
#[derive(Clone, Debug)]
pub(super) struct Width {
    least: u32,
    most: u32,
    buckets: u64,
    events: u64,
}

impl Width {
    /// Creates the state for bucket widths from 2^`least` to 2^`most` ps.
    pub(super) const fn between(least: u32, most: u32) -> Self {
        Self {
            least,
            most,
            buckets: 0,
            events: 0,
        }
    }

    /// Counts a bucket that becomes the current bucket, with its number of events.
    #[inline]
    pub(super) const fn count_bucket(&mut self, events: usize) {
        self.buckets += 1;
        self.events += events as u64;
    }

    /// Counts an event that was pushed into the current bucket.
    #[inline]
    pub(super) const fn count_late(&mut self) {
        self.events += 1;
    }

    /// Returns the new width (as exponent of 2) if enough events were counted and another width
    /// than `shift` is better.
    // KER-11: aim at 128 events per bucket
    #[inline]
    pub(super) fn better(&mut self, shift: u32, pending: usize) -> Option<u32> {
        if self.events < MEASURED.max(4 * pending as u64) {
            return None;
        }
        let mean = self.events / self.buckets.max(1);
        (self.buckets, self.events) = (0, 0);
        let wanted = match mean {
            ..FEWEST => shift + (WANTED / mean.max(1)).ilog2(),
            FEWEST..=MOST => return None,
            _ => shift.saturating_sub((mean / WANTED).ilog2()),
        };
        let better = wanted.clamp(self.least, self.most);
        (better != shift).then_some(better)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts buckets with `mean` events each, and returns the new width if it changes.
    fn after(width: &mut Width, mean: usize, pending: usize) -> Option<u32> {
        let buckets = (MEASURED.max(4 * pending as u64) as usize).div_ceil(mean);
        for _ in 0..buckets {
            assert_eq!(width.better(12, pending), None, "too soon");
            width.count_bucket(mean);
        }
        width.better(12, pending)
    }

    // KER-11
    #[test]
    fn width_aims_at_the_wanted_number_of_events() {
        let mut width = Width::between(10, 16);
        for (mean, shift) in [
            (1, Some(16)),
            (8, Some(16)),
            (16, Some(15)),
            (41, Some(13)),
            (63, Some(13)),
            (64, None),
            (256, None),
            (257, Some(11)),
            (4_000, Some(10)),
        ] {
            assert_eq!(after(&mut width, mean, 10), shift, "{mean} events");
            assert_eq!(after(&mut width, mean, 100_000), shift, "{mean} events");
        }
        let mut fixed = Width::between(12, 12);
        assert_eq!(after(&mut fixed, 1, 0), None);
    }
}
