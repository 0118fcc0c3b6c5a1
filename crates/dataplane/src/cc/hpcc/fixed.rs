//! HPCC in fixed point. The results equal those of the circuits in `hardware/hpcc` bit by bit.
//!
//! Every quantity is an integer with a stated unit. Divisions by constants are multiplications by
//! factors that a NIC driver writes into registers. The two other divisions use the table of
//! reciprocals of HPCC paper §4.3. All results are rounded down and saturate at their width.

use super::reciprocals::Reciprocals;
use super::{HpccConfig, PathInfo};
use crate::int::{IntHop, Layout};

/// Fraction bits of a utilisation: U, u', η and the weight τ/T.
pub(super) const SHARE_BITS: u32 = 20;
/// Largest utilisation: just below 1024.
const MAX_SHARE: u64 = (1 << 30) - 1;
/// Fraction bits of a window in bytes.
pub(super) const WINDOW_BITS: u32 = 6;
/// Fraction bits of a rate in bytes per nanosecond.
const RATE_BITS: u32 = 20;
/// Largest integer that is looked up in the table.
const MAX_INDEX: u64 = (1 << 22) - 1;
/// Fraction bits of a reciprocal in the table.
const RECIPROCAL_BITS: u32 = 32;
/// Fraction bits of U/η when it is looked up in the table.
const INDEX_BITS: u32 = 12;
const WORD: u64 = u32::MAX as u64;

/// Returns `value` as an integer in units of 2^-`bits`, rounded down, at most 2^32 - 1.
fn word(value: f64, bits: u32) -> u64 {
    ((value * f64::from(1u32 << bits)) as u64).min(WORD)
}

/// Constants of a flow. A NIC driver writes them into registers.
// HPCC-41: the NIC's circuit
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    layout: Layout,
    /// Base round trip T in ns.
    pub base_rtt_ns: u64,
    /// 2^36 / T.
    pub per_base_rtt: u64,
    /// Target utilisation η in units of 2^-20.
    pub eta: u64,
    /// 2^20 / η.
    pub per_eta: u64,
    /// maxStage: additive steps before a multiplicative one.
    pub max_stage: u32,
    /// Additive increase W_AI in 1/64 of a byte.
    pub wai: u64,
    /// The lowest window in 1/64 of a byte, at least one byte.
    pub least: u64,
    /// The highest window, W_init, in 1/64 of a byte.
    pub most: u64,
    /// Line rate in units of 2^-20 bytes per ns.
    pub line: u64,
}

impl Constants {
    /// Returns the fixed-point constants of a flow on this path.
    #[must_use]
    pub fn new(config: &HpccConfig, path: &PathInfo, layout: Layout) -> Self {
        let base_rtt_ns = ((path.base_rtt_ps + 500) / 1_000).clamp(16, (1 << 24) - 1);
        let initial = path.initial_window_bytes();
        let one = 1 << WINDOW_BITS;
        Self {
            layout,
            base_rtt_ns,
            per_base_rtt: ((1 << 36) / base_rtt_ns).min(WORD),
            eta: word(config.eta, SHARE_BITS),
            per_eta: word(1.0 / config.eta, SHARE_BITS),
            max_stage: config.max_stage,
            wai: word(config.additive_bytes(path), WINDOW_BITS),
            least: word(
                path.bytes_per_rtt(config.min_rate_bps).min(initial),
                WINDOW_BITS,
            )
            .max(one),
            most: word(initial, WINDOW_BITS).max(one),
            line: word(path.line_bps / 8e9, RATE_BITS),
        }
    }

    /// Returns (one unit of queue length in telemetry) / (B·T) in units of 2^-32. B is the rate of
    /// the link, T the base round trip.
    #[must_use]
    pub fn queue_factor(&self, rate_mbps: u32) -> u64 {
        // B·T in 1/8000 of a byte: 10⁶ bits per second times ns.
        let held = u64::from(rate_mbps) * self.base_rtt_ns;
        let unit = u128::from(self.layout.qlen_unit()) * 8_000;
        ((unit << 32) / u128::from(held.max(1))).min(u128::from(WORD)) as u64
    }

    /// Returns the time that a link of this rate needs to send one unit of txBytes, in units of
    /// 2^-16 ns.
    #[must_use]
    pub fn sent_factor(&self, rate_mbps: u32) -> u64 {
        ((self.layout.tx_unit() * 8_000) << 16)
            .checked_div(u64::from(rate_mbps))
            .map_or(WORD, |factor| factor.min(WORD))
    }

    /// Returns u', the utilisation of a link between two ACKs, and the time τ in ns between their
    /// stamps. `None` if the telemetry has no rate, or a stamp that is not later than the last one.
    #[must_use]
    pub fn link(&self, table: &Reciprocals, last: &IntHop, new: &IntHop) -> Option<(u64, u64)> {
        let elapsed_ns = self.layout.elapsed_ps(last, new) / 1_000;
        if elapsed_ns == 0 || new.rate_mbps == 0 {
            return None; // HPCC-20: no new measurement
        }
        let sent = self.layout.sent_bytes(last, new) / self.layout.tx_unit();
        let queued = u64::from(new.qlen_bytes.min(last.qlen_bytes)) / self.layout.qlen_unit();
        // HPCC-41: a time above the largest index of the table is looked up in steps of 4 ns.
        let coarse = if elapsed_ns > MAX_INDEX { 2 } else { 0 };
        let inverse = u64::from(table.word((elapsed_ns >> coarse) as u32));
        let per_ns = ((sent * inverse) >> (8 + coarse)).min(WORD);
        let rate_share = (per_ns * self.sent_factor(new.rate_mbps)) >> 20; // HPCC-11
        let queue_share = (queued * self.queue_factor(new.rate_mbps)) >> 12;
        Some(((rate_share + queue_share).min(MAX_SHARE), elapsed_ns)) // HPCC-12
    }

    /// Returns the smoothed utilisation U after a measurement.
    #[must_use]
    pub fn smooth(&self, utilisation: u64, in_flight: u64, elapsed_ns: u64) -> u64 {
        // HPCC-14: weight τ/T, at most 1
        let weight = if elapsed_ns >= self.base_rtt_ns {
            1 << SHARE_BITS
        } else {
            (elapsed_ns * self.per_base_rtt) >> 16
        };
        // HPCC-15: weighted average
        let change = (weight as i64 * (in_flight as i64 - utilisation as i64)) >> SHARE_BITS;
        (utilisation as i64 + change) as u64
    }

    /// Returns the window W that follows from the reference window and the utilisation.
    #[must_use]
    pub fn window(
        &self,
        table: &Reciprocals,
        reference: u64,
        utilisation: u64,
        multiply: bool,
    ) -> u64 {
        let share = if multiply {
            let half = 1 << (2 * SHARE_BITS - INDEX_BITS - 1);
            let over = (utilisation * self.per_eta + half) >> (2 * SHARE_BITS - INDEX_BITS);
            let inverse = u64::from(table.word(over.clamp(1, MAX_INDEX) as u32));
            (reference * inverse) >> (RECIPROCAL_BITS - INDEX_BITS) // HPCC-16, HPCC-35
        } else {
            reference // HPCC-17
        };
        (share + self.wai).max(self.least).min(self.most) // HPCC-21
    }

    /// Returns the rate R that belongs to a window, at most the line rate.
    #[must_use]
    pub fn rate(&self, window: u64) -> u64 {
        ((window * self.per_base_rtt) >> (36 + WINDOW_BITS - RATE_BITS)).min(self.line) // HPCC-07
    }
}

/// Returns a real number as an integer in units of 2^-`bits`. The result is exact for values from
/// [`real`].
pub(super) fn units(value: f64, bits: u32) -> u64 {
    (value * f64::from(1u32 << bits)) as u64
}

/// Returns an integer in units of 2^-`bits` as a real number.
pub(super) fn real(value: u64, bits: u32) -> f64 {
    value as f64 / f64::from(1u32 << bits)
}

/// Converts a rate from units of 2^-20 bytes per ns to bits per second.
pub(super) fn bits_per_second(rate: u64) -> f64 {
    real(rate, RATE_BITS) * 8e9
}
