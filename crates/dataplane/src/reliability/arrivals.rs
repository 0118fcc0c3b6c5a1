//! Receiver state of IRN: packets that arrived before a missing packet.

use super::numbers::Numbers;
use crate::mixed::MixedMap;

/// Packet numbers received after the first gap, for each flow with a gap.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    beyond: MixedMap<u32, Numbers>,
    /// Empty sets of flows without a gap, for reuse. Reordered packets cause gaps often, and a gap
    /// must not allocate memory.
    spare: Vec<Numbers>,
}

impl Arrivals {
    /// Returns true if no flow has a gap.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.beyond.is_empty()
    }

    /// Returns true if this flow has a gap.
    pub fn has_gap(&self, flow: u32) -> bool {
        self.beyond.contains_key(&flow)
    }

    /// Records packet `psn` of a flow whose packets below `expected` have all arrived. Returns true
    /// if the packet is new, and the first packet number that is now missing.
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

    /// Returns the first packet number of a flow, from `from` on, that has arrived after the first
    /// gap.
    pub fn first_present(&self, flow: u32, from: u32) -> Option<u32> {
        self.beyond.get(&flow)?.first_present(from)
    }

    /// Returns the first packet number of a flow, from `from` on, that has not arrived. `from` must
    /// be after the first gap.
    pub fn first_absent(&self, flow: u32, from: u32) -> u32 {
        self.beyond
            .get(&flow)
            .map_or(from, |beyond| beyond.first_absent(from))
    }
}
