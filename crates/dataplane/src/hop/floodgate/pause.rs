//! Destinations that this switch has paused at a neighbour, or a neighbour at this switch. Hosts
//! receive dstPause, switches PFC with tag.

use crate::mixed::MixedMap;

/// Combines a port and a destination into one key.
#[inline]
pub(super) const fn pair(port: u16, dst: u32) -> u64 {
    (port as u64) << 32 | dst as u64
}

/// Set of pairs of port and destination, with the number of ports per destination.
#[derive(Debug, Default)]
pub(super) struct Paused {
    pairs: MixedMap<u64, ()>,
    ports: MixedMap<u32, u16>,
}

impl Paused {
    /// Adds a pair of port and destination. Returns true if the set did not contain it.
    // FG-40, FG-46
    pub fn add(&mut self, port: u16, dst: u32) -> bool {
        let news = self.pairs.insert(pair(port, dst), ()).is_none();
        if news {
            *self.ports.entry(dst).or_insert(0) += 1;
        }
        news
    }

    /// Removes a pair of port and destination. Returns true if the set contained it.
    pub fn remove(&mut self, port: u16, dst: u32) -> bool {
        let there = self.pairs.remove(&pair(port, dst)).is_some();
        if there && let Some(count) = self.ports.get_mut(&dst) {
            debug_assert!(*count > 0, "destination {dst} is not paused at any port");
            *count -= 1;
            if *count == 0 {
                self.ports.remove(&dst);
            }
        }
        there
    }

    /// Removes all pairs of a port.
    // LNK-27
    pub fn forget(&mut self, port: u16) {
        for (of, dst) in self.all() {
            if of == port {
                self.remove(port, dst);
            }
        }
    }

    /// Returns true if the set contains this pair of port and destination.
    #[inline]
    pub fn has(&self, port: u16, dst: u32) -> bool {
        self.pairs.contains_key(&pair(port, dst))
    }

    /// Returns true if the set contains a pair with this destination.
    #[inline]
    pub fn any(&self, dst: u32) -> bool {
        !self.ports.is_empty() && self.ports.contains_key(&dst)
    }

    /// Returns true if the set contains no pair.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Returns all pairs, in ascending order.
    pub fn all(&self) -> Vec<(u16, u32)> {
        let mut all: Vec<u64> = self.pairs.keys().copied().collect();
        all.sort_unstable();
        all.into_iter()
            .map(|key| ((key >> 32) as u16, key as u32))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // FG-46: pauses of several ports
    #[test]
    fn a_destination_is_free_when_its_last_port_is() {
        let mut paused = Paused::default();
        assert!(paused.add(1, 9) && paused.add(2, 9));
        assert!(!paused.add(1, 9), "a repeated pause is no news");
        assert!(paused.remove(1, 9));
        assert!(!paused.remove(1, 9));
        assert!(paused.any(9) && !paused.any(1));
        assert!(paused.has(2, 9) && !paused.has(1, 9));
        assert_eq!(paused.all(), [(2, 9)]);
        assert!(paused.remove(2, 9));
        assert!(!paused.any(9) && paused.is_empty());
    }
}
