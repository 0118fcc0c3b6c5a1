//! Time and rates. Time is an integer number of picoseconds: at 100 Gbps a byte takes exactly 80.

/// Picoseconds since the start of the run.
pub type Time = u64;

/// A time later than any instant of a run.
pub const NEVER: Time = u64::MAX;

/// One nanosecond in picoseconds.
pub const NS: Time = 1_000;
/// One microsecond in picoseconds.
pub const US: Time = 1_000_000;
/// One millisecond in picoseconds.
pub const MS: Time = 1_000_000_000;

/// Rate of a link, with cached values for its serialisation times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    bps: u64,
    /// Picoseconds per byte if that is a whole number, else 0.
    ps_per_byte: u64,
    /// True if serialisation times are rounded down to whole nanoseconds. `ps_per_byte` is 0 then.
    cut: bool,
}

/// Returns a time in seconds as nanoseconds, rounded as in the ns-3 simulator: the fraction is
/// rounded down to 64 binary places, and the result to whole ns. A whole number of ns may lose one:
/// 80 ns written as 8e-8 become 79.
// NS3-01
#[must_use]
pub fn cut_to_ns(seconds: f64) -> u64 {
    const GIGA: u128 = 1_000_000_000;
    let whole = seconds as u64;
    let fraction = ((seconds - whole as f64) * 18_446_744_073_709_551_616.0) as u128;
    whole * GIGA as u64 + ((fraction * GIGA) >> 64) as u64
}

/// Returns the serialisation time of `bytes` at `bps` bits per second, rounded down to nanoseconds,
/// in ps.
// NS3-01
#[inline]
#[must_use]
pub fn cut_serialisation_ps(bytes: u64, bps: u64) -> Time {
    cut_to_ns(bytes as f64 * 8.0 / bps as f64) * NS
}

impl Rate {
    /// Creates a rate in bits per second. Panics at 0, which the scenario check refuses earlier.
    #[must_use]
    pub const fn from_bps(bps: u64) -> Self {
        assert!(bps > 0, "a link needs a rate above zero");
        let ps_per_byte = if 8_000_000_000_000 % bps == 0 {
            8_000_000_000_000 / bps
        } else {
            0
        };
        Self {
            bps,
            ps_per_byte,
            cut: false,
        }
    }

    /// Returns the same rate with serialisation times that are rounded down to nanoseconds
    /// (NS3-01).
    #[must_use]
    pub const fn cut(self) -> Self {
        Self {
            bps: self.bps,
            ps_per_byte: 0,
            cut: true,
        }
    }

    /// Creates a rate in units of 10⁹ bits per second.
    #[must_use]
    pub const fn from_gbps(gbps: u64) -> Self {
        Self::from_bps(gbps * 1_000_000_000)
    }

    /// Returns the rate in bits per second.
    #[inline]
    #[must_use]
    pub const fn bps(self) -> u64 {
        self.bps
    }

    /// Returns the picoseconds per byte if this is a whole number of at most 32 bits, so that
    /// serialisation times are exact products.
    #[must_use]
    pub fn whole_ps_per_byte(self) -> Option<u32> {
        u32::try_from(self.ps_per_byte).ok().filter(|ps| *ps > 0)
    }

    /// Returns the serialisation time of `bytes` in picoseconds: ceil(bits · 10¹² / rate). For a
    /// rate of [`Self::cut`] it is rounded down to nanoseconds instead.
    #[inline]
    #[must_use]
    pub fn serialisation_ps(self, bytes: u64) -> Time {
        if self.ps_per_byte != 0 {
            bytes * self.ps_per_byte
        } else if self.cut {
            cut_serialisation_ps(bytes, self.bps)
        } else {
            (bytes as u128 * 8_000_000_000_000).div_ceil(self.bps as u128) as u64
        }
    }

    /// Returns the number of bytes sent in `ps` picoseconds at this rate, rounded down.
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

    // NS3-01
    #[test]
    fn a_cut_rate_loses_the_fraction_and_sometimes_a_whole_ns() {
        let ns = |gbps, bytes| Rate::from_gbps(gbps).cut().serialisation_ps(bytes) / NS;
        assert_eq!((ns(100, 1048), ns(100, 1056), ns(100, 1090)), (83, 84, 87));
        assert_eq!((ns(100, 60), ns(100, 88), ns(100, 43)), (4, 7, 3));
        assert_eq!((ns(400, 1048), ns(400, 60)), (20, 1));
        assert_eq!(ns(100, 1000), 79, "80 ns less one");
        assert_eq!(cut_serialisation_ps(1056, 96_000_000_000), 87 * NS);
        assert_eq!(cut_to_ns(2.0), 2_000_000_000);
        assert_eq!(cut_to_ns(2.000_000_686), 2_000_000_685);
    }
}
