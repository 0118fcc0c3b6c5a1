//! Ranks that are slow, and computations that do not always take the same time.

use kernel::{Purpose, Stream};

/// How much longer than stated computations take. // OPS-70
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stragglers {
    /// Seed of all draws.
    pub seed: u64,
    /// Ranks that are slow, with the factor by which their computations take longer.
    pub listed: Vec<(u32, f64)>,
    /// Ranks that are slow by chance, beside those.
    pub drawn: Option<Drawn>,
    /// What each computation draws.
    pub noise: Option<Noise>,
}

/// Each rank is slow with a probability, by a factor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drawn {
    /// 0 to 1.
    pub probability: f64,
    /// At least 0.
    pub factor: f64,
}

/// Distributions of the factor that each computation draws; the mean is 1 but for `Delay`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Noise {
    /// Evenly from 1 − w to 1 + w.
    Uniform {
        /// w, 0 to 1.
        width: f64,
    },
    /// Log-normal: the logarithm has this standard deviation.
    LogNormal {
        /// σ.
        sigma: f64,
    },
    /// With a probability the computation takes longer by an exponential time.
    Delay {
        /// 0 to 1.
        probability: f64,
        /// Mean of that time, ps.
        mean_ps: f64,
    },
}

impl Stragglers {
    /// The factor of a rank. // OPS-70
    #[must_use]
    pub fn factor(&self, rank: u32) -> f64 {
        if let Some(&(_, factor)) = self.listed.iter().find(|(slow, _)| *slow == rank) {
            return factor;
        }
        match self.drawn {
            Some(Drawn {
                probability,
                factor,
            }) if Stream::new(self.seed, u64::from(rank), Purpose::SlowRanks).unit()
                < probability =>
            {
                factor
            }
            _ => 1.0,
        }
    }

    /// How long a computation takes: its own time, times the factor of its rank, times or plus what
    /// it draws. The draw depends on seed, rank and index alone. // OPS-70
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
            Some(Noise::LogNormal { sigma }) => {
                slow * libm::exp(sigma * stream.normal() - sigma * sigma / 2.0)
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// OPS-70: listed ranks have their factor, the share drawn is as stated, and noise keeps its mean.
    #[test]
    fn slow_ranks_and_noise() {
        let mut model = Stragglers {
            seed: 3,
            listed: vec![(7, 2.5)],
            drawn: Some(Drawn {
                probability: 0.2,
                factor: 1.5,
            }),
            noise: None,
        };
        assert_eq!(model.factor(7), 2.5);
        let slow = (1_000..11_000).filter(|&rank| model.factor(rank) == 1.5);
        assert!((1_850..2_150).contains(&slow.count()));
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
