//! θ-PowerTCP's sender: PowerTCP without telemetry. It computes the power of the path from round
//! trips and their gradient (rules in `specs/powertcp.md`).

use super::powertcp::{Measured, PowerConfig, PowerWindow};
use super::{Ack, Control, Feedback, PathInfo, floor_window};
use crate::param::Conflict;
use crate::scheme::Scheme;
use crate::units::Time;

/// State of one flow.
#[derive(Clone, Debug)]
pub struct ThetaPowerTcp {
    window: PowerWindow,
    /// An ACK beyond this byte is for a packet that was sent after the last change of the window.
    round_end: u64,
    /// Last and smallest round trip; `None` before the first ACK.
    last: Option<RoundTrip>,
}

#[derive(Clone, Copy, Debug)]
struct RoundTrip {
    rtt_ps: Time,
    at_ps: Time,
    /// Smallest round trip of the flow so far, in ps.
    least_ps: Time,
}

impl Scheme for ThetaPowerTcp {
    const NAME: &'static str = "theta-powertcp";
    const TITLE: &'static str = "θ-PowerTCP";
    const ABOUT: &'static str =
        "A window that follows the power of the path, taken from round trips and their gradient.";
    type Params = PowerConfig;
    type Config = PowerConfig;

    fn configure(config: PowerConfig) -> Result<PowerConfig, Conflict> {
        Ok(config)
    }
}

impl Control for ThetaPowerTcp {
    fn new(_config: &PowerConfig, path: &PathInfo, _now: Time) -> Self {
        Self {
            window: PowerWindow::new(path),
            round_end: 0,
            last: None,
        }
    }

    fn on_feedback(
        &mut self,
        config: &PowerConfig,
        path: &PathInfo,
        now: Time,
        feedback: &Feedback<'_>,
    ) {
        let Feedback::Ack(ack) = feedback else {
            return; // POWER-09: losses do not change the window.
        };
        if self.last.is_none() {
            self.round_end = ack.snd_nxt; // POWER-13: a round trip begins
        }
        let Some(measured) = self.measure(config, path, now, ack) else {
            return;
        };
        self.window.smooth(path, measured);
        if ack.seq > self.round_end {
            // POWER-14: one change per round trip
            self.window.update(config, path, self.window.bytes);
            self.round_end = ack.snd_nxt;
        }
    }

    #[inline]
    fn rate_bps(&mut self, _config: &PowerConfig, path: &PathInfo, _now: Time) -> f64 {
        path.rate_of_window(self.window.bytes) // POWER-03
    }

    #[inline]
    fn window(&mut self, _config: &PowerConfig, _path: &PathInfo, _now: Time) -> u64 {
        floor_window(self.window.bytes)
    }
}

impl ThetaPowerTcp {
    /// Returns the power between the last ACK and this one. `None` if this ACK has no new
    /// measurement.
    fn measure(
        &mut self,
        config: &PowerConfig,
        path: &PathInfo,
        now: Time,
        ack: &Ack<'_>,
    ) -> Option<Measured> {
        let mut least_ps = path.base_rtt_ps.min(ack.rtt_ps).max(1);
        let mut measured = None;
        if let Some(last) = self.last {
            least_ps = least_ps.min(last.least_ps); // POWER-15: base round trip
            let elapsed_ps = (now - last.at_ps) as f64;
            if elapsed_ps == 0.0 {
                return None; // POWER-13: same time as the last ACK
            }
            let gradient = (ack.rtt_ps as f64 - last.rtt_ps as f64) / elapsed_ps;
            let current = (1.0 + gradient).max(config.floor); // POWER-08, POWER-13
            measured = Some(Measured {
                power: current * ack.rtt_ps as f64 / least_ps as f64,
                elapsed_ps,
            });
        }
        self.last = Some(RoundTrip {
            rtt_ps: ack.rtt_ps,
            at_ps: now,
            least_ps,
        });
        measured
    }
}

#[cfg(test)]
mod tests;
