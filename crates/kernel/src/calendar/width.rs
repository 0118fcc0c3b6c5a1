//! How wide the buckets of a wheel should be.

/// A bucket should have this many events: to turn to the next one takes branches that nothing foretells,
/// and in a crowded one what comes late has to be moved far.
const WANTED: u64 = 128;
/// With fewer on average buckets get wider, with more narrower.
const FEWEST: u64 = 64;
const MOST: u64 = 256;
/// The average is of no fewer events than this, and than four times those pending: all of them change
/// their buckets.
const MEASURED: u64 = 4096;

/// Widths as powers of two of ps, and what buckets held since the width was last looked at.
#[derive(Clone, Debug)]
pub(super) struct Width {
    least: u32,
    most: u32,
    buckets: u64,
    events: u64,
}

impl Width {
    /// Any width from 2^`least` to 2^`most` ps.
    pub(super) const fn between(least: u32, most: u32) -> Self {
        Self {
            least,
            most,
            buckets: 0,
            events: 0,
        }
    }

    /// Counts a bucket that is loaded.
    #[inline]
    pub(super) const fn note(&mut self, events: usize) {
        self.buckets += 1;
        self.events += events as u64;
    }

    /// Counts an event that came into the current bucket.
    #[inline]
    pub(super) const fn note_late(&mut self) {
        self.events += 1;
    }

    /// A better shift than this one, if it is time to look and there is one.
    // KER-11
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

    /// What [`Width::better`] says after buckets of this many events each.
    fn after(width: &mut Width, mean: usize, pending: usize) -> Option<u32> {
        let buckets = (MEASURED.max(4 * pending as u64) as usize).div_ceil(mean);
        for _ in 0..buckets {
            assert_eq!(width.better(12, pending), None, "too soon");
            width.note(mean);
        }
        width.better(12, pending)
    }

    // KER-11
    #[test]
    fn buckets_come_near_the_wanted_number_of_events() {
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
