//! Slow ranks, and random variation of computation times.

use kernel::{Purpose, Stream};

/// A model of slow ranks and of random variation ("noise") of computation times. // OPS-70
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stragglers {
    /// Seed of all random draws.
    pub seed: u64,
    /// Slow ranks. If several entries select one rank, their factors are multiplied.
    pub slow: Vec<Slow>,
    /// Random variation of each computation.
    pub noise: Option<Noise>,
}

/// An entry that multiplies the duration of computations of some ranks by a constant factor.
// OPS-70
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slow {
    /// The selected ranks.
    pub who: Who,
    /// The factor of the duration.
    pub by: By,
}

/// A selection of ranks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Who {
    /// The rank with this number.
    Rank(u32),
    /// Each rank with this probability, from 0 to 1.
    Chance(f64),
}

/// The factor on the duration of computations of a slow rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum By {
    /// A fixed factor, at least 0.
    Factor(f64),
    /// Each selected rank draws a factor once: log-normal with mean 1. `sigma` is the standard
    /// deviation of the factor's logarithm.
    LogNormal {
        /// Standard deviation σ of the logarithm of the factor.
        sigma: f64,
    },
}

/// Random variation of each computation: a factor with mean 1, or an additional time (`Delay`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Noise {
    /// Uniform from 1 − w to 1 + w, where w is `width`.
    Uniform {
        /// Half the width w of the interval, 0 to 1.
        width: f64,
    },
    /// Log-normal factor. `sigma` is the standard deviation of its logarithm.
    LogNormal {
        /// Standard deviation σ of the logarithm of the factor.
        sigma: f64,
    },
    /// An additional, exponentially distributed time, with a probability.
    Delay {
        /// Probability, 0 to 1.
        probability: f64,
        /// Mean of the additional time, ps.
        mean_ps: f64,
    },
}

impl Stragglers {
    /// Returns the product of the slow-down factors of a rank. The random draw of an entry depends
    /// only on the seed, the rank and the index of the entry. // OPS-70
    #[must_use]
    pub fn factor(&self, rank: u32) -> f64 {
        let of = |(nth, slow): (u64, &Slow)| {
            let entity = nth << 32 | u64::from(rank);
            let mut stream = Stream::new(self.seed, entity, Purpose::SlowRanks);
            let concerned = match slow.who {
                Who::Rank(number) => number == rank,
                Who::Chance(probability) => stream.unit() < probability,
            };
            match slow.by {
                _ if !concerned => 1.0,
                By::Factor(factor) => factor,
                By::LogNormal { sigma } => log_normal(sigma, &mut stream),
            }
        };
        (0..).zip(&self.slow).map(of).product()
    }

    /// Returns the duration of a computation: (`duration_ps` × factor of the rank), multiplied by
    /// or plus the random variation. The draw depends only on the seed, the rank and the index of
    /// the operation. // OPS-70
    #[must_use]
    pub fn duration_ps(&self, factor: f64, rank: u32, index: u32, duration_ps: u64) -> u64 {
        if factor == 1.0 && self.noise.is_none() {
            return duration_ps;
        }
        let entity = u64::from(rank) << 32 | u64::from(index);
        let mut stream = Stream::new(self.seed, entity, Purpose::Noise);
        let slow = duration_ps as f64 * factor;
        let noisy = match self.noise {
            None => slow,
            Some(Noise::Uniform { width }) => slow * (1.0 + width * (2.0 * stream.unit() - 1.0)),
            Some(Noise::LogNormal { sigma }) => slow * log_normal(sigma, &mut stream),
            Some(Noise::Delay {
                probability,
                mean_ps,
            }) => {
                let delayed = stream.unit() < probability;
                slow + if delayed {
                    mean_ps * stream.exponential()
                } else {
                    0.0
                }
            }
        };
        libm::round(noisy.max(0.0)) as u64
    }
}

/// Draws a log-normal number with mean 1.
fn log_normal(sigma: f64, stream: &mut Stream) -> f64 {
    libm::exp(sigma * stream.normal() - sigma * sigma / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn slow(who: Who, by: By) -> Slow {
        Slow { who, by }
    }

    /// OPS-70: slow ranks are selected by number or by probability; their factor is fixed or
    /// random.
    #[test]
    fn ranks_are_slow_by_number_and_by_chance() {
        let stragglers = |slow| Stragglers {
            seed: 3,
            slow,
            noise: None,
        };
        let chance = slow(Who::Chance(0.2), By::Factor(1.5));
        let model = stragglers(vec![slow(Who::Rank(7), By::Factor(2.5)), chance]);
        let slow_ranks = (0..10_000).filter(|&rank| model.factor(rank) == 1.5);
        assert!((1_850..2_150).contains(&slow_ranks.count()));
        // Factors of several entries are multiplied.
        assert!([2.5, 2.5 * 1.5].contains(&model.factor(7)));
        let sure = slow(Who::Chance(1.0), By::Factor(2.0));
        assert_eq!(stragglers(vec![sure, sure]).factor(4), 4.0);
        // Entries draw independently: about 4 % of the ranks are selected by both entries.
        let both = stragglers(vec![chance, chance]);
        let by_both = (0..10_000)
            .filter(|&rank| both.factor(rank) == 2.25)
            .count();
        assert!((330..470).contains(&by_both), "{by_both}");
        let spread = slow(Who::Chance(1.0), By::LogNormal { sigma: 0.4 });
        let spread = stragglers(vec![spread]);
        let factors: Vec<f64> = (0..20_000).map(|rank| spread.factor(rank)).collect();
        let mean = factors.iter().sum::<f64>() / 20_000.0;
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
        let square = |factor: &f64| (libm::log(*factor) + 0.08) * (libm::log(*factor) + 0.08);
        let deviation = libm::sqrt(factors.iter().map(square).sum::<f64>() / 20_000.0);
        assert!((deviation - 0.4).abs() < 0.01, "{deviation}");
        assert_eq!(spread.factor(5), spread.factor(5));
        let other = Stragglers { seed: 4, ..spread };
        assert_ne!(other.factor(5), factors[5]);
    }

    /// OPS-70: computations of slow ranks take longer, and noise does not change the mean duration.
    #[test]
    fn computations_take_their_time_by_rank_and_by_chance() {
        let mut model = Stragglers {
            seed: 3,
            ..Stragglers::default()
        };
        assert_eq!(model.duration_ps(2.5, 7, 0, 1_000), 2_500);
        assert_eq!(model.duration_ps(1.0, 8, 0, 1_001), 1_001);
        for (noise, mean) in [
            (Noise::Uniform { width: 0.3 }, 1e6),
            (Noise::LogNormal { sigma: 0.4 }, 1e6),
            (
                Noise::Delay {
                    probability: 0.1,
                    mean_ps: 1e6,
                },
                1.1e6,
            ),
        ] {
            model.noise = Some(noise);
            let draw = |index| model.duration_ps(1.0, 0, index, 1_000_000);
            let sum: u64 = (0..20_000).map(draw).sum();
            let error = (sum as f64 / 20_000.0 - mean).abs();
            assert!(error < 0.02 * mean, "{noise:?} is off by {error}");
            assert_eq!(draw(5), draw(5));
            assert!((0..100).any(|index| draw(index) != draw(5)));
        }
    }
}
