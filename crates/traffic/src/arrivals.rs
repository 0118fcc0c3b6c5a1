//! Arrival times of flows. Gaps are added up in fixed point, so that rounding errors do not
//! accumulate.

use kernel::Stream;

use crate::error::Error;

/// Distribution of the gaps between arrivals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ArrivalKind {
    /// Exponential gaps. The first arrival is one gap after the start of the time window.
    Poisson,
    /// Log-normal gaps, bursty for a large `sigma`. The first arrival is one gap after the start of
    /// the time window.
    LogNormal {
        /// Standard deviation of the logarithm of a gap.
        sigma: f64,
    },
    /// Equal gaps.
    Fixed {
        /// Time of the first arrival, ps of simulated time. `None`: the start of the time window.
        first_ps: Option<u64>,
    },
}

/// Arrivals: the distribution of their gaps, and the mean gap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrivals {
    /// Distribution of the gaps.
    pub kind: ArrivalKind,
    /// Mean gap between two arrivals, ps.
    pub mean_gap_ps: f64,
}

/// Valid mean gaps in ps: from 10^15 arrivals per second to one arrival in about four months. Other
/// values are mistakes.
const MEAN_GAP_RANGE_PS: std::ops::RangeInclusive<f64> = 1e-3..=1e19;

/// With a larger sigma, the mean of any feasible number of draws is far from the mean of the
/// distribution.
const MAX_SIGMA: f64 = 10.0;

/// Number of fractional bits of times in fixed point (unit 2^-32 ps). With gaps rounded to 2^-32 ps
/// instead of 1 ps, the rounding error is not visible in a run.
const FRACTION_BITS: u32 = 32;

/// Half a picosecond, in units of 2^-32 ps. Arrival times are rounded to the nearest picosecond.
/// Thus a gap that a division made slightly too short does not put an additional arrival just
/// before the end of the time window.
const HALF: u128 = 1 << (FRACTION_BITS - 1);

impl Arrivals {
    pub(crate) fn check(&self, from_ps: u64, to_ps: u64) -> Result<(), Error> {
        if !MEAN_GAP_RANGE_PS.contains(&self.mean_gap_ps) {
            return Err(Error::new(format!(
                "mean gap between arrivals is {} ps; expected 0.001 ps to 10^19 ps",
                self.mean_gap_ps
            )));
        }
        match self.kind {
            ArrivalKind::LogNormal { sigma } if !(0.0..=MAX_SIGMA).contains(&sigma) => {
                Err(Error::new(format!(
                    "sigma of log-normal arrivals is {sigma}; expected 0 to {MAX_SIGMA}"
                )))
            }
            ArrivalKind::Fixed {
                first_ps: Some(first),
            } if !(from_ps..to_ps).contains(&first) => Err(Error::new(format!(
                "the first arrival, at {first} ps, is outside of the window from {from_ps} ps to {to_ps} ps"
            ))),
            _ => Ok(()),
        }
    }

    /// Number of arrivals between `from_ps` and `to_ps`: exact for fixed gaps, expected otherwise.
    pub(crate) fn expected(&self, from_ps: u64, to_ps: u64) -> f64 {
        match self.exact(from_ps, to_ps) {
            Some(count) => count as f64,
            None => to_ps.saturating_sub(from_ps) as f64 / self.mean_gap_ps,
        }
    }

    /// Number of arrivals between `from_ps` and `to_ps`; `None`: gaps are random.
    pub(crate) fn exact(&self, from_ps: u64, to_ps: u64) -> Option<u64> {
        let ArrivalKind::Fixed { first_ps } = self.kind else {
            return None;
        };
        let span_ps = to_ps.saturating_sub(first_ps.unwrap_or(from_ps));
        let span = (u128::from(span_ps) << FRACTION_BITS).saturating_sub(HALF);
        u64::try_from(span.div_ceil(fixed_point(self.mean_gap_ps).max(1))).ok()
    }
}

/// Converts a gap to units of 2^-32 ps.
fn fixed_point(gap_ps: f64) -> u128 {
    (gap_ps * (1u64 << FRACTION_BITS) as f64 + 0.5) as u128
}

/// Iterator over the arrival times of one source, in ascending order.
#[derive(Clone, Debug)]
pub struct Clock {
    law: Law,
    stream: Stream,
    /// Time from the start of the window to the next arrival, in units of 2^-32 ps.
    next: u128,
    from_ps: u64,
    to_ps: u64,
}

#[derive(Clone, Copy, Debug)]
enum Law {
    Poisson { mean_gap_ps: f64 },
    LogNormal { mu: f64, sigma: f64 },
    Fixed { gap: u128 },
}

impl Clock {
    /// Creates the arrivals from `from_ps` (included) to `to_ps` (not included). Random gaps are
    /// drawn from `stream`.
    ///
    /// # Errors
    /// The mean gap, sigma or first arrival is invalid.
    pub fn new(
        arrivals: &Arrivals,
        from_ps: u64,
        to_ps: u64,
        stream: Stream,
    ) -> Result<Self, Error> {
        arrivals.check(from_ps, to_ps)?;
        let mean_gap_ps = arrivals.mean_gap_ps;
        let law = match arrivals.kind {
            ArrivalKind::Poisson => Law::Poisson { mean_gap_ps },
            // TRA-06: the mean of a log-normal distribution is exp(mu + sigma^2 / 2)
            ArrivalKind::LogNormal { sigma } => Law::LogNormal {
                mu: libm::log(mean_gap_ps) - sigma * sigma / 2.0,
                sigma,
            },
            ArrivalKind::Fixed { .. } => Law::Fixed {
                gap: fixed_point(mean_gap_ps),
            },
        };
        let mut clock = Self {
            law,
            stream,
            next: 0,
            from_ps,
            to_ps,
        };
        match arrivals.kind {
            // TRA-07: with fixed gaps, the first arrival is at `first_ps` or at the start of the
            // time window
            ArrivalKind::Fixed { first_ps } => {
                clock.next = u128::from(first_ps.unwrap_or(from_ps) - from_ps) << FRACTION_BITS;
            }
            ArrivalKind::Poisson | ArrivalKind::LogNormal { .. } => clock.next = clock.gap(),
        }
        Ok(clock)
    }

    /// Draws the next gap, in units of 2^-32 ps.
    fn gap(&mut self) -> u128 {
        match self.law {
            Law::Poisson { mean_gap_ps } => fixed_point(self.stream.exponential() * mean_gap_ps),
            Law::LogNormal { mu, sigma } => {
                fixed_point(libm::exp(mu + sigma * self.stream.normal()))
            }
            Law::Fixed { gap } => gap,
        }
    }
}

impl Iterator for Clock {
    type Item = u64;

    /// Returns the next arrival, ps of simulated time. // TRA-08
    fn next(&mut self) -> Option<u64> {
        let since_ps = self.next.saturating_add(HALF) >> FRACTION_BITS;
        if since_ps >= u128::from(self.to_ps.saturating_sub(self.from_ps)) {
            return None;
        }
        let gap = self.gap();
        self.next = self.next.saturating_add(gap);
        Some(self.from_ps + since_ps as u64)
    }
}

/// Returns the mean gap in ps between arrivals of `mean_bytes` bytes that causes a payload load of
/// `load` on links with a total capacity of `capacity_bps`. The fraction `crossing_fraction` of the
/// bytes crosses these links.
///
/// Load is payload bytes divided by the capacity of the links. For the load of the core, only bytes
/// between racks count: `load = arrivals/s * mean_bytes * 8 * crossing_fraction / capacity_bps`.
/// The capacity counts each link in one direction, because each byte uses one uplink of the core.
///
/// # Errors
/// The load is not above 0 and at most 1, the capacity or size is not positive, or no bytes cross
/// the links.
// TRA-05
pub fn mean_gap_ps(
    load: f64,
    capacity_bps: f64,
    mean_bytes: f64,
    crossing_fraction: f64,
) -> Result<f64, Error> {
    if load.is_nan() || load <= 0.0 || load > 1.0 {
        return Err(Error::new(format!(
            "load is {load}; expected a fraction above 0 and at most 1, such as 0.55 for 55 %"
        )));
    }
    if !(capacity_bps.is_finite() && capacity_bps > 0.0) {
        return Err(Error::new(format!(
            "capacity of the loaded links is {capacity_bps} bps; expected more than 0"
        )));
    }
    if !(mean_bytes.is_finite() && mean_bytes > 0.0) {
        return Err(Error::new(format!(
            "mean size is {mean_bytes} bytes; expected more than 0"
        )));
    }
    if crossing_fraction.is_nan() || crossing_fraction <= 0.0 || crossing_fraction > 1.0 {
        return Err(Error::new(format!(
            "the share of the bytes that cross the loaded links is {crossing_fraction}; expected above 0 and at \
             most 1 (is there more than one rack?)"
        )));
    }
    Ok(mean_bytes * 8.0 * crossing_fraction * 1e12 / (load * capacity_bps))
}
