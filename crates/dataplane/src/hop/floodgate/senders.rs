//! Bytes in the switch by sending host and destination, for host pauses that depend on these bytes.

use super::pause::pair;
use crate::mixed::MixedMap;

/// Bytes per host and destination that do not count towards a pause.
// FGC-36
const FREE_BYTES: u64 = 4096;

/// Bytes in the switch, per port of the sending host and destination.
#[derive(Debug, Default)]
pub(super) struct Senders {
    bytes: MixedMap<u64, u64>,
    /// Sum over all hosts and destinations, in bytes.
    pub total_bytes: u64,
}

impl Senders {
    /// Adds a packet that arrived from a host. Returns the bytes of the pair above `FREE_BYTES`.
    // FGC-36
    pub fn came(&mut self, port: u16, dst: u32, size_bytes: u64) -> u64 {
        let bytes = self.bytes.entry(pair(port, dst)).or_insert(0);
        *bytes += size_bytes;
        self.total_bytes += size_bytes;
        bytes.saturating_sub(FREE_BYTES)
    }

    /// Subtracts a packet that left the switch. Returns the bytes of the pair above `FREE_BYTES`.
    pub fn left(&mut self, port: u16, dst: u32, size_bytes: u64) -> u64 {
        let key = pair(port, dst);
        let Some(bytes) = self.bytes.get_mut(&key) else {
            return 0;
        };
        debug_assert!(
            *bytes >= size_bytes && self.total_bytes >= size_bytes,
            "bytes of a pair"
        );
        *bytes -= size_bytes;
        self.total_bytes -= size_bytes;
        let rest = *bytes;
        if rest == 0 {
            self.bytes.remove(&key);
        }
        rest.saturating_sub(FREE_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // FGC-36: first bytes without pause
    #[test]
    fn the_first_bytes_of_a_pair_do_not_count() {
        let mut senders = Senders::default();
        assert_eq!(senders.came(1, 7, 4000), 0);
        assert_eq!(senders.came(1, 7, 1500), 1404);
        assert_eq!(senders.came(2, 7, 1500), 0, "another host's");
        assert_eq!(senders.came(1, 8, 1500), 0, "for another");
        assert_eq!(senders.left(1, 7, 1500), 0);
        assert_eq!(senders.total_bytes, 7000);
        senders.left(1, 7, 4000);
        assert_eq!((senders.bytes.len(), senders.total_bytes), (2, 3000));
    }
}
