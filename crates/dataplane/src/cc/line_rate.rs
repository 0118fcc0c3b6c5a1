//! No congestion control: a flow sends as fast as its port, without a window.

use super::{AckInfo, Control, PathInfo};
use crate::units::Time;

/// It has no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineRateConfig;

/// A flow has no state.
#[derive(Clone, Copy, Debug)]
pub struct LineRate;

impl Control for LineRate {
    type Config = LineRateConfig;

    fn new(_config: &LineRateConfig, _path: &PathInfo, _now: Time) -> Self {
        Self
    }

    #[inline]
    fn on_ack(&mut self, _config: &LineRateConfig, _path: &PathInfo, _ack: &AckInfo<'_>) {}

    fn on_cnp(&mut self, _config: &LineRateConfig, _path: &PathInfo, _now: Time) {}

    #[inline]
    fn on_send(&mut self, _config: &LineRateConfig, _path: &PathInfo, _now: Time, _bytes: u64) {}

    fn on_loss(&mut self, _config: &LineRateConfig, _path: &PathInfo, _snd_nxt: u64) {}

    #[inline]
    fn rate_bps(&mut self, _config: &LineRateConfig, _path: &PathInfo, _now: Time) -> f64 {
        f64::INFINITY
    }

    #[inline]
    fn window(&mut self, _config: &LineRateConfig, _path: &PathInfo, _now: Time) -> u64 {
        u64::MAX
    }
}
