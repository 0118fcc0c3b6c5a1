//! Sending windows of a switch: the units in flight to each destination and their limit.

use super::config::{WindowConfig, WindowUnit};
use crate::hash::mix32;
use crate::mixed::MixedMap;
use crate::packet::Packet;
use crate::route::Routes;
use crate::units::{Rate, Time};

/// Window of a destination, or of all destinations that share the entry.
#[derive(Clone, Copy, Debug)]
struct Window {
    initial: u64,
    /// Units that were charged and not refunded yet.
    in_flight: u64,
}

/// Initial window and direction (up or down) of all destinations with the same set of equal-cost
/// ports.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    /// Initial window in units.
    pub initial: u64,
    /// True if the destinations lie below the switch.
    pub below: bool,
}

/// All windows of a switch.
#[derive(Debug)]
pub(super) struct Windows {
    unit: WindowUnit,
    table: MixedMap<u32, Window>,
    hashed: Option<u32>,
    /// Units in flight, over all destinations.
    pub in_flight: u64,
    pub max_entries: u64,
    pub cleared: u64,
}

/// Returns the initial window, in units, of destinations that are reached through `ports`.
// FG-02, FG-03
fn initial(config: &WindowConfig, ports: impl Iterator<Item = (Rate, Time)>, frame: u16) -> u64 {
    let interval_ps = config.credit.aggregation.map_or(0, |a| a.interval_ps);
    let bytes = |port: (Rate, Time)| {
        let base = config.initial.bytes(port);
        match config.initial {
            super::config::Amount::Bytes(_) => base,
            super::config::Amount::HopBdps(_) => base + port.0.bytes_in(interval_ps),
        }
    };
    let most = ports.map(bytes).max().unwrap_or(0);
    match config.unit {
        WindowUnit::Packets => most.div_ceil(u64::from(frame)).max(1),
        WindowUnit::Bytes => most.max(u64::from(frame)),
    }
}

/// Returns the initial window and direction of the destinations of each set of equal-cost ports.
pub(super) fn ways(
    config: Option<&WindowConfig>,
    routes: &Routes,
    ports: &[(Rate, Time)],
    upward: &[bool],
    frame: u16,
) -> Vec<Way> {
    let way = |set: &[u16]| {
        let of = set.iter().map(|&port| ports[port as usize]);
        Way {
            initial: config.map_or(0, |config| initial(config, of, frame)),
            below: set.first().is_some_and(|&port| !upward[port as usize]),
        }
    };
    routes.sets().iter().map(way).collect()
}

impl Windows {
    pub fn new(config: &WindowConfig) -> Self {
        Self {
            unit: config.unit,
            table: MixedMap::default(),
            hashed: config.entries,
            in_flight: 0,
            max_entries: 0,
            cleared: 0,
        }
    }

    /// Returns the number of window units that a packet takes from its window.
    #[inline]
    pub fn units(&self, packet: &Packet) -> u32 {
        match self.unit {
            WindowUnit::Packets => 1,
            WindowUnit::Bytes => u32::from(packet.size),
        }
    }

    /// Returns the key of a destination's entry in the table of windows.
    // FG-06
    #[inline]
    fn key(&self, dst: u32, way: Way) -> u32 {
        match self.hashed {
            None => dst,
            Some(entries) => {
                let nth = ((u64::from(mix32(dst)) * u64::from(entries)) >> 32) as u32;
                nth << 1 | u32::from(way.below)
            }
        }
    }

    /// Returns true if several destinations can share an entry.
    pub const fn is_hashed(&self) -> bool {
        self.hashed.is_some()
    }

    /// Returns true if the window of a destination has room for `units`.
    // FG-04, FG-05
    #[inline]
    pub fn has_room(&self, dst: u32, way: Way, units: u32) -> bool {
        match self.table.get(&self.key(dst, way)) {
            None => u64::from(units) <= way.initial,
            Some(window) => window.in_flight + u64::from(units) <= window.initial,
        }
    }

    /// Charges units to the window of a destination.
    #[inline]
    pub fn charge(&mut self, dst: u32, way: Way, units: u32) {
        let key = self.key(dst, way);
        let window = self.table.entry(key).or_insert(Window {
            initial: way.initial,
            in_flight: 0,
        });
        window.in_flight += u64::from(units);
        self.in_flight += u64::from(units);
        self.max_entries = self.max_entries.max(self.table.len() as u64);
    }

    /// Refunds units to the window of a destination.
    #[inline]
    pub fn refund(&mut self, dst: u32, way: Way, units: u32) {
        let key = self.key(dst, way);
        let Some(window) = self.table.get_mut(&key) else {
            return;
        };
        let units = u64::from(units).min(window.in_flight);
        window.in_flight -= units;
        debug_assert!(self.in_flight >= units, "units in flight of all windows");
        self.in_flight -= units;
    }

    /// Removes the entries of full windows, that is, without units in flight.
    // FG-07
    pub fn clear(&mut self) {
        let before = self.table.len();
        self.table.retain(|_, window| window.in_flight > 0);
        self.cleared += (before - self.table.len()) as u64;
    }

    /// Returns the sum of the units in flight over all entries, for the audit.
    pub fn sum(&self) -> u64 {
        self.table.values().map(|window| window.in_flight).sum()
    }
}
