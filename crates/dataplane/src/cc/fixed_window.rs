//! A window that never changes: a flow sends as fast as its port while fewer bytes than that are in
//! flight.

use super::{AckInfo, Control, PathInfo};
use crate::units::Time;

/// Parameters of the fixed window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FixedWindowConfig {
    /// Bytes in flight; `None`: BDP of the path.
    pub window: Option<u64>,
}

/// The window of one flow.
#[derive(Clone, Copy, Debug)]
pub struct FixedWindow {
    window_bytes: u64,
}

impl Control for FixedWindow {
    type Config = FixedWindowConfig;

    fn new(config: &FixedWindowConfig, path: &PathInfo, _now: Time) -> Self {
        Self {
            window_bytes: config.window.unwrap_or(path.bdp_bytes as u64).max(1),
        }
    }

    #[inline]
    fn on_ack(&mut self, _config: &FixedWindowConfig, _path: &PathInfo, _ack: &AckInfo<'_>) {}

    fn on_cnp(&mut self, _config: &FixedWindowConfig, _path: &PathInfo, _now: Time) {}

    #[inline]
    fn on_send(&mut self, _config: &FixedWindowConfig, _path: &PathInfo, _now: Time, _bytes: u64) {}

    fn on_loss(&mut self, _config: &FixedWindowConfig, _path: &PathInfo, _snd_nxt: u64) {}

    #[inline]
    fn rate_bps(&mut self, _config: &FixedWindowConfig, _path: &PathInfo, _now: Time) -> f64 {
        f64::INFINITY
    }

    #[inline]
    fn window(&mut self, _config: &FixedWindowConfig, _path: &PathInfo, _now: Time) -> u64 {
        self.window_bytes
    }
}
