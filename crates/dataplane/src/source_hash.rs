//! Hashes of flows by their source host, as in the simulator of BFC's authors.
//!
//! Switches use the one hash of a packet to select its path and its entry in the flow table. Here
//! the upper bits of the hash depend on the source and select the entry. The lower bits are those
//! of the flow's hash and select the path.

use std::collections::BTreeMap;

use crate::config::{Classify, SlotBy, SwitchConfig};

/// Computes the hashes of the flows of each host.
// BFCC-12
#[derive(Debug)]
pub struct SourceHashes {
    /// Flow-table entries per egress port.
    entries: u32,
    /// Number of flows that each host has started.
    started: BTreeMap<u32, u32>,
}

impl SourceHashes {
    /// First ephemeral source port.
    const FIRST_PORT: u32 = 49_153;

    /// Returns the hash generator if the flow table of the switches selects entries by source
    /// ([`SlotBy::Source`]), else `None`.
    #[must_use]
    pub fn of<H>(config: &SwitchConfig<H>) -> Option<Self> {
        let Classify::Dynamic { table, .. } = config.classify else {
            return None;
        };
        (config.assign.slot == SlotBy::Source).then(|| Self {
            entries: table.max(1),
            started: BTreeMap::new(),
        })
    }

    /// Returns the hash for the packets of the next flow of host `src`. `port` is the source port,
    /// if known. `hash` is the hash of the flow's identity.
    pub fn next(&mut self, src: u32, port: Option<u16>, packets: u32, hash: u32) -> u32 {
        let started = self.started.entry(src).or_default();
        let port = port.map_or(Self::FIRST_PORT.wrapping_add(*started), u32::from);
        *started = started.wrapping_add(1);
        let slot = address(src)
            .wrapping_mul(1235)
            .wrapping_add(port)
            .wrapping_add(packets.wrapping_mul(13))
            % self.entries;
        // Hashes from `first` to below `first + width` select this entry.
        let entries = u64::from(self.entries);
        let (first, width) = (
            (u64::from(slot) << 32).div_ceil(entries),
            (1 << 32) / entries,
        );
        (first + ((u64::from(hash) * width) >> 32)) as u32
    }
}

/// Returns the IPv4 address of a host in the simulator of BFC's authors. Each link has a network of
/// 256 addresses: the switch has the first address and the host the second. The links of hosts have
/// the first networks.
const fn address(host: u32) -> u32 {
    (10 << 24) | ((host / 254 + 1) << 16) | ((host % 254 + 1) << 8) | 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(entries: u32) -> SourceHashes {
        SourceHashes {
            entries,
            started: BTreeMap::new(),
        }
    }

    /// Returns the entry that a hash selects in a flow table of this size.
    fn entry(hash: u32, entries: u32) -> u64 {
        (u64::from(hash) * u64::from(entries)) >> 32
    }

    // BFCC-12
    #[test]
    fn source_port_and_length_name_the_entry_and_nothing_else_does() {
        let entries = 7200;
        // 10.1.1.2 from 49153 with 200 packets: 1235 * 0x0a010102 wraps.
        let product = 1235_u64 * 0x0a01_0102 % (1 << 32);
        let expected = (product + 49_153 + 13 * 200) % (1 << 32) % 7200;
        for hash in [0, 1, 0x8000_0000, u32::MAX] {
            let got = slots(entries).next(0, None, 200, hash);
            assert_eq!(entry(got, entries), expected, "hash {hash}");
        }
        let mut s = slots(entries);
        let first = entry(s.next(5, None, 1, 7), entries);
        let second = entry(s.next(5, None, 1, 8), entries);
        assert_eq!((first + 1) % 7200, second, "the next port");
        let said = entry(s.next(5, Some(49_153), 1, 9), entries);
        assert_eq!(said, first, "a port that the list says");
        let longer = entry(slots(entries).next(5, None, 3, 7), entries);
        assert_eq!((first + 26) % 7200, longer, "two packets more");
        assert_ne!(first, entry(slots(entries).next(6, None, 1, 7), entries));
    }

    // BFCC-12
    #[test]
    fn hashes_of_an_entry_fill_it_and_stay_in_it() {
        for entries in [1, 3, 7200, 96_000_000] {
            for src in 0..300 {
                let (low, high) = (
                    slots(entries).next(src, None, 1, 0),
                    slots(entries).next(src, None, 1, u32::MAX),
                );
                assert_eq!(entry(low, entries), entry(high, entries));
                let width = (1_u64 << 32) / u64::from(entries);
                assert!(
                    u64::from(high - low) >= width - 1 - width / 1000,
                    "paths differ within an entry"
                );
            }
        }
    }
}
