//! Congestion signals that a switch writes into packets: ECN marks and INT.

use crate::config::{EcnConfig, IntConfig, Red, Scope};
use crate::int::{Counter, IntFormat, IntHop};
use crate::units::Rate;

/// ECN marking of a switch by RED.
#[derive(Debug)]
pub(crate) struct Marker {
    /// RED profile of each port: two thresholds and a probability.
    profiles: Vec<Red>,
    pub scope: Scope,
    /// True if unmarked ACKs and pause frames also draw a random number, as in ns-3.
    pub replay: bool,
}

impl Marker {
    /// Creates the RED profiles for ports with these rates.
    pub fn new(config: &EcnConfig, rates: impl Iterator<Item = Rate>) -> Self {
        Self {
            profiles: rates.map(|rate| config.at(rate)).collect(),
            scope: config.scope,
            replay: config.replay,
        }
    }

    /// Returns the number of queued bytes up to which a port marks no packet.
    pub fn unmarked(&self, port: u16) -> u32 {
        let kmin_bytes = self.profiles[port as usize].kmin_bytes;
        u32::try_from(kmin_bytes).unwrap_or(u32::MAX)
    }

    /// Returns true if a packet must be marked. `bytes` is the number of queued bytes of its queue
    /// or port. `unit` returns a random number in [0, 1).
    // SW-30, NS3-15
    #[inline]
    pub fn marks(&self, port: u16, bytes: u64, unit: impl FnOnce() -> f64) -> bool {
        let p = &self.profiles[port as usize];
        if bytes <= p.kmin_bytes {
            false
        } else if bytes > p.kmax_bytes {
            true
        } else {
            unit() < p.pmax * (bytes - p.kmin_bytes) as f64 / (p.kmax_bytes - p.kmin_bytes) as f64
        }
    }
}

/// Converts an exact INT record to the configured byte counter and wire format. `arrived` is the
/// number of bytes that ever joined the queues of the port: sent bytes, including this packet, plus
/// queued bytes.
// HPCC-30, HPCC-31
pub(crate) fn rewrite(int: IntConfig, hop: &mut IntHop, arrived: u64) {
    if int.counter == Counter::Arrived {
        hop.tx_bytes = arrived;
    }
    if let IntFormat::Wire(layout) = int.format {
        *hop = layout.decode(layout.encode(hop));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marker(rate: Rate) -> Marker {
        let red = Red {
            kmin_bytes: 100_000,
            kmax_bytes: 400_000,
            pmax: 0.2,
        };
        let config = EcnConfig {
            profiles: vec![(Rate::from_gbps(100), red)],
            scope: Scope::Port,
            at_dequeue: true,
            replay: false,
        };
        Marker::new(&config, [rate].into_iter())
    }

    // SW-30
    #[test]
    fn red_marks_nothing_below_kmin_everything_above_kmax_and_pmax_between() {
        let m = marker(Rate::from_gbps(100));
        assert_eq!(m.unmarked(0), 100_000);
        assert!(!m.marks(0, 100_000, || 0.0));
        assert!(m.marks(0, 400_001, || 0.999));
        // Half way between kmin and kmax the marking probability is 0.1.
        assert!(m.marks(0, 250_000, || 0.099_999));
        assert!(!m.marks(0, 250_000, || 0.100_001));
        assert!(
            !m.marks(0, 400_000, || 0.200_001),
            "at kmax it is pmax, not 1"
        );
    }

    // SW-31
    #[test]
    fn thresholds_scale_with_the_rate_of_the_port() {
        let m = marker(Rate::from_gbps(400));
        assert!(!m.marks(0, 400_000, || 0.0));
        assert!(m.marks(0, 1_600_001, || 0.999));
        let m = marker(Rate::from_gbps(25));
        assert!(!m.marks(0, 25_000, || 0.0));
        assert!(m.marks(0, 100_001, || 0.999));
    }
}
