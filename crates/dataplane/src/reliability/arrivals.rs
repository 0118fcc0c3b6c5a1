//! IRN, the receiver's half: packets that have come before one that is missing.

use super::numbers::Numbers;
use crate::mixed::MixedMap;

/// Packets that came beyond a gap, of the flows that have a gap.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    beyond: MixedMap<u32, Numbers>,
    /// Empty sets of flows whose gap was closed, kept for the next gap: packets that overtake each other
    /// open gaps all the time, and no gap may allocate.
    spare: Vec<Numbers>,
}

impl Arrivals {
    /// Whether no flow has a gap.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.beyond.is_empty()
    }

    /// Whether this flow has a gap.
    pub fn has_gap(&self, flow: u32) -> bool {
        self.beyond.contains_key(&flow)
    }

    /// A packet of a flow of which everything below `expected` is here. Returns whether it is new,
    /// and what is expected now.
    // REC-10
    pub fn take(&mut self, flow: u32, psn: u32, expected: u32) -> (bool, u32) {
        if psn < expected {
            return (false, expected);
        }
        if psn > expected {
            let spare = &mut self.spare;
            let beyond = self.beyond.entry(flow);
            let beyond = beyond.or_insert_with(|| spare.pop().unwrap_or_default());
            return (beyond.insert(psn), expected);
        }
        let Some(beyond) = self.beyond.get_mut(&flow) else {
            return (true, expected + 1);
        };
        let expected = beyond.first_absent(expected + 1);
        beyond.forget_below(expected);
        if beyond.is_empty() {
            self.spare.extend(self.beyond.remove(&flow));
        }
        (true, expected)
    }

    /// The first packet of a flow from `from` on that has come, if any has.
    pub fn first_present(&self, flow: u32, from: u32) -> Option<u32> {
        self.beyond.get(&flow)?.first_present(from)
    }

    /// The first packet of a flow from `from` on, beyond its first gap, that has not come.
    pub fn first_absent(&self, flow: u32, from: u32) -> u32 {
        self.beyond
            .get(&flow)
            .map_or(from, |beyond| beyond.first_absent(from))
    }
}
