//! Where a packet goes: the egress ports of a switch by destination.
//!
//! Endpoints (ports of hosts) are grouped by the switch that they hang on, so a table has one
//! entry per such switch, not per host.

use std::sync::Arc;

use crate::config::PathChoice;
use crate::packet::Packet;

/// Where the endpoints of the network are; the same for all switches.
#[derive(Debug)]
pub struct Endpoints {
    /// Group of each endpoint: the index of its switch among switches with hosts.
    pub group: Vec<u32>,
    /// Port of that switch that leads to it.
    pub port: Vec<u16>,
}

/// The routes of one switch.
#[derive(Clone, Debug)]
pub struct Routes {
    /// Shared by all switches.
    pub endpoints: Arc<Endpoints>,
    /// This switch's own group, or `u32::MAX` where no host hangs on it.
    pub own_group: u32,
    /// Per group an index into `sets`.
    pub table: Vec<u16>,
    /// Distinct sets of equal-cost egress ports; an empty one means unreachable.
    pub sets: Vec<Box<[u16]>>,
    /// Seed of this switch's hash among equal paths.
    pub seed: u32,
    /// ECMP or spraying.
    pub choice: PathChoice,
}

/// A cheap hash with full avalanche (finaliser of MurmurHash3).
#[inline]
#[must_use]
pub const fn mix32(mut h: u32) -> u32 {
    h ^= h >> 16;
    h = h.wrapping_mul(0x85eb_ca6b);
    h ^= h >> 13;
    h = h.wrapping_mul(0xc2b2_ae35);
    h ^ (h >> 16)
}

impl Routes {
    /// Egress port of a packet; `None` where nothing leads to its destination.
    #[inline]
    #[must_use]
    pub fn port(&self, packet: &Packet) -> Option<u16> {
        let dst = packet.dst as usize;
        let group = self.endpoints.group[dst];
        if group == self.own_group {
            return Some(self.endpoints.port[dst]);
        }
        let set = &self.sets[self.table[group as usize] as usize];
        match set.len() {
            0 => None,
            1 => Some(set[0]),
            n => {
                let key = match self.choice {
                    PathChoice::Flow => packet.hash,
                    PathChoice::Packet => packet.hash ^ mix32(packet.psn.wrapping_add(0x9e37_79b9)),
                };
                let h = mix32(key ^ self.seed);
                Some(set[((u64::from(h) * n as u64) >> 32) as usize])
            }
        }
    }
}
