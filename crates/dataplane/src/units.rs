//! Time and rates. Time is an integer number of picoseconds; a byte at 100 Gbps is exactly 80.

/// Picoseconds since the start of the run.
pub type Time = u64;

/// Later than any instant of a run.
pub const NEVER: Time = u64::MAX;

/// One nanosecond in picoseconds.
pub const NS: Time = 1_000;
/// One microsecond in picoseconds.
pub const US: Time = 1_000_000;
/// One millisecond in picoseconds.
pub const MS: Time = 1_000_000_000;

/// The speed of a link, with what its serialisation times need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    bps: u64,
    /// Picoseconds per byte where that is a whole number, else 0.
    ps_per_byte: u64,
}

impl Rate {
    /// A rate in bits per second. Panics at 0: whoever reads configuration refuses that first.
    #[must_use]
    pub const fn from_bps(bps: u64) -> Self {
        assert!(bps > 0, "a link needs a rate above zero");
        let ps_per_byte = if 8_000_000_000_000 % bps == 0 {
            8_000_000_000_000 / bps
        } else {
            0
        };
        Self { bps, ps_per_byte }
    }

    /// A rate in units of 10⁹ bits per second.
    #[must_use]
    pub const fn from_gbps(gbps: u64) -> Self {
        Self::from_bps(gbps * 1_000_000_000)
    }

    /// Bits per second.
    #[inline]
    #[must_use]
    pub const fn bps(self) -> u64 {
        self.bps
    }

    /// Serialisation time of `bytes`, in picoseconds: ceil(bits · 10¹² / rate).
    #[inline]
    #[must_use]
    pub const fn serialisation_ps(self, bytes: u64) -> Time {
        if self.ps_per_byte != 0 {
            bytes * self.ps_per_byte
        } else {
            (bytes as u128 * 8_000_000_000_000).div_ceil(self.bps as u128) as u64
        }
    }

    /// Bytes that pass in `ps` picoseconds, rounded down.
    #[inline]
    #[must_use]
    pub const fn bytes_in(self, ps: Time) -> u64 {
        (ps as u128 * self.bps as u128 / 8_000_000_000_000) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_at_100_gbps_is_80_ps() {
        assert_eq!(Rate::from_gbps(100).serialisation_ps(1), 80);
        assert_eq!(Rate::from_gbps(400).serialisation_ps(1048), 20_960);
    }

    #[test]
    fn serialisation_rounds_up_where_it_is_not_whole() {
        // 1 byte at 3 bps is 8/3 s.
        assert_eq!(Rate::from_bps(3).serialisation_ps(1), 2_666_666_666_667);
        assert_eq!(Rate::from_bps(3).bytes_in(2_666_666_666_667), 1);
    }
}
