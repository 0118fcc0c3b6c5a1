//! A window per link (HPCC paper App. A.3, Eq. 7). Each window follows its own link, as if the path
//! had no other link. The flow's window is the α-mean of these windows. A large α gives max-min
//! fairness, and α = 1 gives proportional fairness.

use super::{HpccConfig, compute_window};
use crate::cc::PathInfo;
use crate::int::MAX_HOPS;

/// Largest contribution of all idle links together to the sum Σ x^−α of Eq. 7, relative to the term
/// of the initial window.
const SLACK: f64 = 0.1;

#[derive(Clone, Copy, Debug)]
struct Register {
    /// Additive steps since the last multiplicative one.
    inc_stage: u32,
    /// Smoothed utilisation U of this link.
    utilisation: f64,
    /// Reference window W^c of this link, in bytes.
    reference_bytes: f64,
}

/// One window for each link of a flow's path, and the α of the α-mean.
#[derive(Clone, Debug)]
pub(super) struct Registers {
    alpha: f64,
    hops: usize,
    links: [Register; MAX_HOPS],
}

impl Registers {
    /// Creates equal windows for all links, whose α-mean is `window_bytes`.
    // HPCC-32: one window per link
    pub fn new(alpha: f64, hops: usize, window_bytes: f64) -> Self {
        let register = Register {
            inc_stage: 0,
            utilisation: 1.0,
            reference_bytes: window_bytes * root(hops as f64, alpha),
        };
        Self {
            alpha,
            hops,
            links: [register; MAX_HOPS],
        }
    }

    /// Updates the utilisation of a link. `at` is the index of the link on the path.
    pub fn hear(&mut self, at: usize, smooth: impl FnOnce(f64) -> f64) {
        let utilisation = &mut self.links[at].utilisation;
        *utilisation = smooth(*utilisation);
    }

    /// Returns the utilisation U of the fullest link.
    pub fn utilisation(&self) -> f64 {
        let all = self.links[..self.hops].iter();
        all.map(|link| link.utilisation).fold(0.0, f64::max)
    }

    /// Computes the window of each link (ComputeWind of the paper). Returns the window of the flow
    /// (Eq. 7).
    pub fn adjust(&mut self, config: &HpccConfig, path: &PathInfo, update: bool) -> f64 {
        let initial = path.initial_window_bytes();
        let most = initial * root(self.hops as f64 / SLACK, self.alpha);
        let least = path.bytes_per_rtt(config.min_rate_bps).min(initial);
        let mut mean = Mean::new(self.alpha);
        for link in &mut self.links[..self.hops] {
            let multiply = link.utilisation >= config.eta || link.inc_stage >= config.max_stage;
            let wanted = compute_window(
                config,
                path,
                link.reference_bytes,
                link.utilisation,
                multiply,
            );
            let window = wanted.max(least).min(most);
            mean.add(window);
            if update {
                link.inc_stage = if multiply { 0 } else { link.inc_stage + 1 };
                link.reference_bytes = window;
            }
        }
        mean.get()
    }
}

/// Computes the α-mean (Σ x^−α)^(−1/α) of windows x. It uses the ratios of x to the smallest x, so
/// that no power overflows.
struct Mean {
    alpha: f64,
    values: [f64; MAX_HOPS],
    len: usize,
}

impl Mean {
    fn new(alpha: f64) -> Self {
        Self {
            alpha,
            values: [0.0; MAX_HOPS],
            len: 0,
        }
    }

    fn add(&mut self, value: f64) {
        self.values[self.len] = value;
        self.len += 1;
    }

    fn get(&self) -> f64 {
        let values = &self.values[..self.len];
        let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
        if self.alpha == f64::INFINITY {
            return smallest;
        }
        let share = |x: &f64| libm::pow(smallest / x, self.alpha);
        let sum: f64 = values.iter().map(share).sum();
        smallest / root(sum, self.alpha)
    }
}

/// Returns x^(1/α); 1 for an infinite α.
fn root(x: f64, alpha: f64) -> f64 {
    libm::pow(x, 1.0 / alpha)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(alpha: f64, values: &[f64]) -> f64 {
        let mut mean = Mean::new(alpha);
        values.iter().for_each(|v| mean.add(*v));
        mean.get()
    }

    // HPCC-32: one window per link
    #[test]
    fn equation_7_by_hand() {
        let close = |got: f64, wanted: f64| assert!((got / wanted - 1.0).abs() < 1e-12, "{got}");
        close(mean(1.0, &[30.0, 60.0]), 20.0);
        close(mean(1.0, &[8.0]), 8.0);
        close(mean(2.0, &[3.0, 4.0]), 2.4);
        close(mean(0.5, &[9.0, 9.0]), 2.25);
        close(mean(f64::INFINITY, &[7.0, 5.0, 6.0]), 5.0);
        // No power overflows, and for a large α the mean is near the smallest window.
        close(mean(100.0, &[1e5, 1e9]), 1e5);
        assert!(mean(0.05, &[1e5, 1e5]) > 0.0);
        let equal = Registers::new(0.5, 3, 100.0);
        let windows: Vec<f64> = equal.links[..3].iter().map(|l| l.reference_bytes).collect();
        close(mean(0.5, &windows), 100.0);
    }
}
