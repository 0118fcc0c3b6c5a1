//! No congestion control: a flow sends at the rate of its port, without a window.

use super::{Control, Feedback, PathInfo};
use crate::param::Conflict;
use crate::properties::{Properties, Property};
use crate::scheme::Scheme;
use crate::units::Time;

crate::params! {
    /// Configuration of "no congestion control": no parameters.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct LineRateConfig;
}

/// State of a flow without congestion control: empty.
#[derive(Clone, Copy, Debug)]
pub struct LineRate;

impl Scheme for LineRate {
    const NAME: &'static str = "line-rate";
    const TITLE: &'static str = "line rate";
    const ABOUT: &'static str = "A flow sends as fast as its port, without a window.";
    type Params = LineRateConfig;
    type Config = LineRateConfig;
    const PROVIDES: Properties = Properties::of(&[
        Property::IgnoresPath,
        Property::Unlimited,
        Property::Scannable,
    ]);

    fn configure(config: LineRateConfig) -> Result<LineRateConfig, Conflict> {
        Ok(config)
    }
}

impl Control for LineRate {
    fn new(_config: &LineRateConfig, _path: &PathInfo, _now: Time) -> Self {
        Self
    }

    #[inline]
    fn on_feedback(&mut self, _: &LineRateConfig, _: &PathInfo, _: Time, _: &Feedback<'_>) {}

    #[inline]
    fn rate_bps(&mut self, _config: &LineRateConfig, _path: &PathInfo, _now: Time) -> f64 {
        f64::INFINITY
    }

    #[inline]
    fn window(&mut self, _config: &LineRateConfig, _path: &PathInfo, _now: Time) -> u64 {
        u64::MAX
    }
}
