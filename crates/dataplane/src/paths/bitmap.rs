//! Bitmap policy: rounds as with oblivious spraying, but a value with penalty points is skipped
//! once per point.

use super::oblivious::Oblivious;
use super::{Policy, Verdict, values, values_in_rounds};
use crate::param::{Conflict, Param, Values};
use crate::units::Time;

/// Parameters of the bitmap policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitmapConfig {
    /// Number of entropy values, a power of two.
    pub values: u32,
    /// Penalty points for an ECN mark.
    pub mark: u8,
    /// Penalty points for a retransmission.
    pub loss: u8,
    /// Penalty points for a timeout, and the maximum of a value.
    pub timeout: u8,
}

/// Penalty points of one flow.
#[derive(Clone, Debug)]
pub(crate) struct Bitmap {
    round: Oblivious,
    points: Box<[u8]>,
}

impl Policy for Bitmap {
    type Config = BitmapConfig;
    const NAME: &'static str = "bitmap";
    const ABOUT: &'static str = "as \"oblivious\", but values that were marked or lost are skipped";
    const PARAMS: &'static [Param] = &[
        values("64", "PRE-212", "64 paths, as in the model of UEC"),
        Param::count("mark", 0, 255)
            .default("1", "PRE-212", "as in the model of UEC")
            .about("Penalty points of a value whose packet came back with an ECN mark."),
        Param::count("loss", 0, 255)
            .default("4", "PRE-212", "as in the model of UEC")
            .about("Penalty points of a value whose packet is sent again."),
        Param::count("timeout", 1, 255)
            .default("15", "PRE-212", "as in the model of UEC")
            .about(
                "Penalty points of a value whose packet timed out, and the most that a value has.",
            ),
    ];

    fn configure(values: &Values) -> Result<BitmapConfig, Conflict> {
        let points = |key| values.count(key) as u8;
        Ok(BitmapConfig {
            values: values_in_rounds(values)?,
            mark: points("mark"),
            loss: points("loss"),
            timeout: points("timeout"),
        })
    }

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
