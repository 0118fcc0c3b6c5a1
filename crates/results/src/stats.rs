//! Percentiles: exact for stored values, approximate for values that are counted in a histogram.

use serde::Serialize;

/// Returns a percentile of sorted values by nearest rank: the smallest value such that at least the
/// fraction `p` of the values is at or below it.
#[must_use]
pub fn nearest_rank(sorted: &[f64], p: f64) -> Option<f64> {
    let rank = (p * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied()
}

/// Mean and percentiles (nearest rank) of some values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Distribution {
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest value.
    pub max: f64,
}

impl Distribution {
    /// Sorts `values` and returns their distribution. Returns `None` if there are no values.
    #[must_use]
    pub fn of(values: &mut [f64]) -> Option<Self> {
        values.sort_unstable_by(f64::total_cmp);
        Some(Self {
            mean: values.iter().sum::<f64>() / values.len() as f64,
            p50: nearest_rank(values, 0.50)?,
            p95: nearest_rank(values, 0.95)?,
            p99: nearest_rank(values, 0.99)?,
            max: *values.last()?,
        })
    }
}

/// Number of bits after the leading bit that a [`Histogram`] keeps of a value. The relative error
/// is below 1/4096.
const KEPT_BITS: u32 = 12;

/// Histogram of integers in bounded memory. Values up to 8191 are exact; larger values are rounded
/// down, with a relative error below 1/4096.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
    max: u64,
}

impl Histogram {
    /// Counts one value.
    pub fn add(&mut self, value: u64) {
        self.add_many(value, 1);
    }

    /// Counts the same value `times` times.
    pub fn add_many(&mut self, value: u64, times: u64) {
        if times == 0 {
            return;
        }
        let slot = slot_of(value);
        if slot >= self.counts.len() {
            self.counts.resize(slot + 1, 0);
        }
        self.counts[slot] += times;
        self.total += times;
        self.max = self.max.max(value);
    }

    /// Adds the counts of the histogram `other`.
    pub fn merge(&mut self, other: &Self) {
        if other.counts.len() > self.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.total += other.total;
        self.max = self.max.max(other.max);
    }

    /// Returns the number of counted values.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.total
    }

    /// Returns true if no value was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Returns the largest counted value, without rounding.
    #[must_use]
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Returns a percentile by nearest rank; 0 if no values were counted.
    #[must_use]
    pub fn percentile(&self, p: f64) -> u64 {
        let rank = ((p * self.total as f64).ceil() as u64).clamp(1, self.total.max(1));
        let mut seen = 0;
        for (slot, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return lowest_of(slot);
            }
        }
        0
    }
}

/// Number of samples per bin, by the lower edge of the bin, for percentiles of samples that a run
/// counted in bins.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bins(std::collections::BTreeMap<u64, u64>);

impl Bins {
    /// Counts `samples` values in the bin with this lower edge.
    pub(crate) fn add(&mut self, edge: u64, samples: u64) {
        *self.0.entry(edge).or_default() += samples;
    }

    /// Returns the number of counted values.
    pub(crate) fn len(&self) -> u64 {
        self.0.values().sum()
    }

    /// Returns the lower edge of the bin that contains the percentile (nearest rank); `None` if no
    /// values were counted.
    // RCD-09
    pub(crate) fn percentile(&self, p: f64) -> Option<u64> {
        let total = self.len();
        let rank = ((p * total as f64).ceil() as u64).clamp(1, total.max(1));
        let mut seen = 0;
        let mut bins = self.0.iter();
        bins.find_map(|(&edge, samples)| {
            seen += samples;
            (seen >= rank).then_some(edge)
        })
    }
}

/// Returns the slot of a value. Each value below 2^13 has its own slot. Each larger power-of-two
/// range has 2^12 slots.
fn slot_of(value: u64) -> usize {
    let shift = (64 - value.leading_zeros()).saturating_sub(KEPT_BITS + 1);
    ((shift as usize) << KEPT_BITS) + (value >> shift) as usize
}

/// Returns the smallest value of a slot.
fn lowest_of(slot: usize) -> u64 {
    let shift = (slot >> KEPT_BITS).saturating_sub(1);
    ((slot - (shift << KEPT_BITS)) as u64) << shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_rank_takes_a_value_that_occurred() {
        let values = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(nearest_rank(&values, 0.5), Some(2.0));
        assert_eq!(nearest_rank(&values, 0.51), Some(3.0));
        assert_eq!(nearest_rank(&values, 0.99), Some(4.0));
        assert_eq!(nearest_rank(&values, 0.0), Some(1.0));
        assert_eq!(nearest_rank(&[], 0.5), None);
    }

    #[test]
    fn a_distribution_of_nothing_is_none() {
        assert_eq!(Distribution::of(&mut []), None);
        let one = Distribution::of(&mut [7.5]).unwrap();
        assert_eq!((one.mean, one.p50, one.p99, one.max), (7.5, 7.5, 7.5, 7.5));
    }

    #[test]
    fn slots_are_contiguous_and_keep_twelve_bits() {
        let mut previous = slot_of(0);
        for value in 1..100_000_u64 {
            let slot = slot_of(value);
            assert!(slot == previous || slot == previous + 1, "gap at {value}");
            previous = slot;
            let low = lowest_of(slot);
            assert!(
                low <= value && (value - low) * 4096 <= value,
                "{value} became {low}"
            );
        }
        for value in [u64::MAX, 1 << 63, 12_000_000, 8191, 8192, 8193] {
            let low = lowest_of(slot_of(value));
            assert!(
                low <= value && (value - low) <= value / 4096,
                "{value} became {low}"
            );
        }
    }

    // RCD-09
    #[test]
    fn percentiles_of_bins_are_lower_edges_by_nearest_rank() {
        let mut bins = Bins::default();
        assert_eq!(bins.percentile(0.5), None);
        for (edge, samples) in [(3000, 4), (0, 95), (1000, 1)] {
            bins.add(edge, samples);
        }
        assert_eq!(bins.len(), 100);
        let of = |p| bins.percentile(p).unwrap();
        assert_eq!([of(0.0), of(0.95), of(0.96), of(0.961)], [0, 0, 1000, 3000]);
        assert_eq!(of(1.0), 3000);
    }

    #[test]
    fn histogram_percentiles_are_nearest_rank() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.percentile(0.99), 0);
        let mut odd = Histogram::default();
        for value in 1..=100 {
            if value % 2 == 0 {
                histogram.add(value)
            } else {
                odd.add(value)
            }
        }
        histogram.merge(&odd);
        assert_eq!(histogram.len(), 100);
        assert_eq!(histogram.percentile(0.5), 50);
        assert_eq!(histogram.percentile(0.99), 99);
        assert_eq!(histogram.percentile(1.0), 100);
        assert_eq!(histogram.max(), 100);
    }
}
