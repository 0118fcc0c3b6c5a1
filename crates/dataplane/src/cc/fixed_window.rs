//! A constant window: a flow sends at the rate of its port while fewer bytes than the window are in
//! flight.

use super::{Control, Feedback, PathInfo};
use crate::param::{Conflict, MAX_SIZE_BYTES, Param};
use crate::properties::{Properties, Property};
use crate::scheme::Scheme;
use crate::units::Time;

crate::params! {
    /// Parameters of the fixed window.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct FixedWindowConfig {
        /// Window in bytes; `"bdp"`: one BDP of the path.
        pub window: Option<u64> = Param::size("window", 1, MAX_SIZE_BYTES).or(&["bdp"])
            .default("\"bdp\"", "PRE-30", "one BDP of the base RTT (BFC paper 6.2.1, Ideal-FQ)"),
    }
}

/// The window of one flow.
#[derive(Clone, Copy, Debug)]
pub struct FixedWindow {
    window_bytes: u64,
}

impl Scheme for FixedWindow {
    const NAME: &'static str = "fixed-window";
    const TITLE: &'static str = "a fixed window";
    const ABOUT: &'static str =
        "A flow sends as fast as its port while fewer bytes than a fixed window are in flight.";
    type Params = FixedWindowConfig;
    type Config = FixedWindowConfig;
    const PROVIDES: Properties = Properties::of(&[Property::Scannable]);

    fn configure(config: FixedWindowConfig) -> Result<FixedWindowConfig, Conflict> {
        Ok(config)
    }
}

impl Control for FixedWindow {
    fn new(config: &FixedWindowConfig, path: &PathInfo, _now: Time) -> Self {
        Self {
            window_bytes: config.window.unwrap_or(path.bdp_bytes as u64).max(1),
        }
    }

    #[inline]
    fn on_feedback(&mut self, _: &FixedWindowConfig, _: &PathInfo, _: Time, _: &Feedback<'_>) {}

    #[inline]
    fn rate_bps(&mut self, _config: &FixedWindowConfig, _path: &PathInfo, _now: Time) -> f64 {
        f64::INFINITY
    }

    #[inline]
    fn window(&mut self, _config: &FixedWindowConfig, _path: &PathInfo, _now: Time) -> u64 {
        self.window_bytes
    }
}
