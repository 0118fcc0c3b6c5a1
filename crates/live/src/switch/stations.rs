//! Table of stations (MAC addresses) and their ports. Entries are learned from source addresses, as
//! in bridges, or set by the user.

use std::collections::HashMap;

use dataplane::units::{MS, Time};
use wire::ethernet::Mac;

/// Lifetime of an entry after the last frame from its station (IEEE 802.1Q, default ageing time).
const AGEING_PS: Time = 300_000 * MS;
/// Maximum number of stations. It limits the memory that forged source addresses can use.
const MOST: usize = 16_384;

/// The known stations and their ports.
#[derive(Debug, Default)]
pub struct Stations {
    known: HashMap<Mac, Known>,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    port: u16,
    /// Time of the last frame from the station, or `None` if the user has set the entry.
    seen_ps: Option<Time>,
}

impl Stations {
    /// Assigns a station permanently to a port.
    pub fn give(&mut self, station: Mac, port: u16) {
        let known = Known {
            port,
            seen_ps: None,
        };
        self.known.insert(station, known);
    }

    /// Learns the port of a station from the source address of a received frame.
    // WSW-01: learning
    pub fn learn(&mut self, now: Time, station: Mac, port: u16) {
        if is_group(station) {
            return;
        }
        let seen_ps = Some(now);
        if let Some(known) = self.known.get_mut(&station) {
            if known.seen_ps.is_some() {
                *known = Known { port, seen_ps };
            }
            return;
        }
        if self.known.len() >= MOST {
            self.known.retain(|_, known| known.is_fresh(now));
        }
        if self.known.len() < MOST {
            self.known.insert(station, Known { port, seen_ps });
        }
    }

    /// Returns the port of a station, if it is known.
    #[must_use]
    pub fn port(&self, now: Time, station: Mac) -> Option<u16> {
        let known = self.known.get(&station)?;
        known.is_fresh(now).then_some(known.port)
    }

    /// Removes the learned entries of a port, because its link has failed.
    pub fn forget(&mut self, port: u16) {
        self.known
            .retain(|_, known| known.port != port || known.seen_ps.is_none());
    }

    /// Number of stations in the table.
    #[must_use]
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// True if the table is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }
}

impl Known {
    fn is_fresh(&self, now: Time) -> bool {
        self.seen_ps
            .is_none_or(|seen_ps| now.saturating_sub(seen_ps) < AGEING_PS)
    }
}

/// True if a MAC address is a group address.
#[must_use]
pub const fn is_group(station: Mac) -> bool {
    station[0] & 1 != 0
}

/// True if bridges never forward frames to this MAC address (IEEE 802.1Q, table 8-1).
// WSW-03: reserved addresses
#[must_use]
pub const fn is_reserved(station: Mac) -> bool {
    matches!(station, [0x01, 0x80, 0xc2, 0x00, 0x00, last] if last < 0x10)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Mac = [2, 0, 0, 0, 0, 1];
    const B: Mac = [2, 0, 0, 0, 0, 2];

    // WSW-01: learning
    #[test]
    fn stations_are_learned_move_and_are_forgotten() {
        let mut stations = Stations::default();
        stations.give(B, 3);
        stations.learn(0, A, 0);
        stations.learn(0, B, 1);
        stations.learn(0, [0xff; 6], 1);
        assert_eq!(
            (stations.port(0, A), stations.port(0, B)),
            (Some(0), Some(3))
        );
        stations.learn(5, A, 2);
        assert_eq!(stations.port(AGEING_PS + 4, A), Some(2));
        assert_eq!(stations.port(AGEING_PS + 5, A), None);
        assert_eq!(stations.port(u64::MAX, B), Some(3), "a given entry stays");
        stations.forget(2);
        stations.forget(3);
        assert_eq!(stations.len(), 1);
        assert!(!stations.is_empty());
    }

    #[test]
    fn forged_source_addresses_use_limited_memory() {
        let mut stations = Stations::default();
        for n in 0..2 * MOST as u32 {
            let [a, b, c, d] = n.to_be_bytes();
            stations.learn(0, [2, 0, a, b, c, d], 0);
        }
        assert_eq!(stations.len(), MOST);
        let new = [4, 0, 0, 0, 0, 1];
        stations.learn(AGEING_PS, new, 1);
        assert_eq!(
            (stations.len(), stations.port(AGEING_PS, new)),
            (1, Some(1))
        );
    }

    // WSW-03: reserved addresses
    #[test]
    fn reserved_addresses_are_recognised() {
        assert!(is_reserved([0x01, 0x80, 0xc2, 0, 0, 0x01]) && is_group(wire::pause::TO));
        assert!(!is_reserved([0x01, 0x80, 0xc2, 0, 0, 0x10]) && !is_reserved(A));
    }
}
