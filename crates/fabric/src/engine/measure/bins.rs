//! Histograms with bins of equal width.

use std::collections::BTreeMap;

/// Histogram with bins of equal width. Rare large values are stored separately, so that one of them
/// does not fill the memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Bins {
    low: Vec<u64>,
    high: BTreeMap<u64, u64>,
}

impl Bins {
    const LOW: u64 = 1 << 16;

    pub fn add(&mut self, bin: u64, samples: u64) {
        if bin >= Self::LOW {
            *self.high.entry(bin).or_default() += samples;
            return;
        }
        let at = bin as usize;
        if at >= self.low.len() {
            self.low.resize(at + 1, 0);
        }
        self.low[at] += samples;
    }

    /// Returns the bins with at least one sample as (bin, count), lowest bin first.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let low = (0..).zip(self.low.iter().copied());
        low.filter(|bin| bin.1 > 0)
            .chain(self.high.iter().map(|(&bin, &samples)| (bin, samples)))
    }
}
