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
    /// Serialisation times are cut to nanoseconds; `ps_per_byte` is 0 then.
    cut: bool,
}

/// A time in seconds as the ns-3 simulator turns it into its clock's nanoseconds: the fraction is cut to
/// 64 binary places, and what those make is cut to whole ns. A caller that means a whole number of ns
/// may lose one: 80 ns written as 8e-8 become 79.
// NS3-01
#[must_use]
pub fn cut_to_ns(seconds: f64) -> u64 {
    const GIGA: u128 = 1_000_000_000;
    let whole = seconds as u64;
    let fraction = ((seconds - whole as f64) * 18_446_744_073_709_551_616.0) as u128;
    whole * GIGA as u64 + ((fraction * GIGA) >> 64) as u64
}

/// Time that `bytes` take at `bps` bits per second, cut to nanoseconds, in ps.
// NS3-01
#[inline]
#[must_use]
pub fn cut_serialisation_ps(bytes: u64, bps: u64) -> Time {
    cut_to_ns(bytes as f64 * 8.0 / bps as f64) * NS
}

impl Rate {
    /// A rate in bits per second. Panics at 0: the reader of the configuration refuses that first.
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

    /// The same rate, whose serialisation times are cut to nanoseconds (NS3-01).
    #[must_use]
    pub const fn cut(self) -> Self {
        Self {
            bps: self.bps,
            ps_per_byte: 0,
            cut: true,
        }
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

    /// Picoseconds per byte, where that is a whole number that fits and nothing is cut: then a
    /// serialisation time is a product.
    #[must_use]
    pub fn whole_ps_per_byte(self) -> Option<u32> {
        u32::try_from(self.ps_per_byte).ok().filter(|ps| *ps > 0)
    }

    /// Serialisation time of `bytes`, in picoseconds: ceil(bits · 10¹² / rate), unless it is cut.
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
