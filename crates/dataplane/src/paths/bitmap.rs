//! Bitmap policy of packet spraying: rounds as with oblivious spraying, but an entropy value with
//! penalty points is skipped once per point.

use super::oblivious::Oblivious;
use super::{Policy, Verdict, check_rounds, values};
use crate::param::{Conflict, Param};
use crate::scheme::Scheme;
use crate::units::Time;

crate::params! {
    /// Parameters of the bitmap policy.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct BitmapConfig {
        /// Number of entropy values of a flow.
        pub values: u32 = values("64", "PRE-212", "64 paths, as in the model of UEC"),
        /// Penalty points of an entropy value whose packet was acknowledged with an ECN mark.
        pub mark: u8 = Param::count("mark", 0, 255)
            .default("1", "PRE-212", "as in the model of UEC"),
        /// Penalty points of an entropy value whose packet is sent again.
        pub loss: u8 = Param::count("loss", 0, 255)
            .default("4", "PRE-212", "as in the model of UEC"),
        /// Penalty points of an entropy value whose packet timed out. This is also the maximum of
        /// points of a value.
        pub timeout: u8 = Param::count("timeout", 1, 255)
            .default("15", "PRE-212", "as in the model of UEC"),
    }
}

/// Penalty points of each entropy value of one flow.
#[derive(Clone, Debug)]
pub struct Bitmap {
    round: Oblivious,
    points: Box<[u8]>,
}

impl Scheme for Bitmap {
    const NAME: &'static str = "bitmap";
    const ABOUT: &'static str = "as \"oblivious\", but values that were marked or lost are skipped";
    type Params = BitmapConfig;
    type Config = BitmapConfig;

    fn configure(config: BitmapConfig) -> Result<BitmapConfig, Conflict> {
        check_rounds(config.values).map(|()| config)
    }
}

impl Policy for Bitmap {
    fn new(config: &BitmapConfig, _paths: u32) -> Self {
        Self {
            round: Oblivious::default(),
            points: vec![0; config.values as usize].into(),
        }
    }

    fn next(&mut self, config: &BitmapConfig, _: Time, draw: &mut impl FnMut() -> u64) -> u32 {
        // SPR-30: each skip removes a point, so the loop ends.
        loop {
            let value = self.round.step(config.values, draw);
            match &mut self.points[value as usize] {
                0 => return value,
                points => *points -= 1,
            }
        }
    }

    // SPR-31
    fn feedback(&mut self, config: &BitmapConfig, _: Time, entropy: u32, verdict: Verdict) {
        let more = match verdict {
            Verdict::Clean => 0,
            Verdict::Marked => config.mark,
            Verdict::Lost => config.loss,
            Verdict::TimedOut => config.timeout,
        };
        if let Some(points) = self.points.get_mut(entropy as usize) {
            *points = points.saturating_add(more).min(config.timeout);
        }
    }
}
