//! TIMELY's sender: the rate follows the slope of the round-trip time (rules in
//! `specs/timely.md`).

use crate::config::{TimelyBand, TimelyConfig};
use crate::nic::control::{AckInfo, PathInfo, floor_window};
use crate::units::Time;

/// State of one flow.
#[derive(Clone, Debug)]
pub struct Timely {
    rate_bps: f64,
    /// Round trip of the last completion, in ps.
    last_rtt_ps: f64,
    /// EWMA of the differences of consecutive round trips, in ps.
    rtt_diff_ps: f64,
    /// An ACK beyond this byte is the next completion.
    last_update_seq: u64,
    /// Increases in a row.
    increases: u32,
    /// `last_rtt_ps` holds a value.
    measured: bool,
}

impl Timely {
    /// A flow that starts at line rate.
    #[must_use]
    pub fn new(_config: &TimelyConfig, path: &PathInfo) -> Self {
        Self {
            rate_bps: path.line_bps, // TIMELY-01
            last_rtt_ps: 0.0,
            rtt_diff_ps: 0.0,
            last_update_seq: 0,
            increases: 0,
            measured: false,
        }
    }

    /// An acknowledgement came back.
    pub fn on_ack(&mut self, config: &TimelyConfig, path: &PathInfo, ack: &AckInfo<'_>) {
        if ack.seq <= self.last_update_seq {
            return; // TIMELY-02
        }
        self.last_update_seq = ack.snd_nxt;
        let rtt_ps = ack.rtt_ps as f64; // TIMELY-03
        if self.measured {
            self.update(config, path, rtt_ps);
        }
        self.measured = true; // TIMELY-04
        self.last_rtt_ps = rtt_ps;
    }

    /// Pacing rate in bits per second.
    #[inline]
    #[must_use]
    pub fn rate_bps(&self) -> f64 {
        self.rate_bps
    }

    /// Most bytes in flight.
    #[inline]
    #[must_use]
    pub fn window(&self, config: &TimelyConfig, path: &PathInfo) -> u64 {
        if !config.window {
            return u64::MAX;
        }
        if config.fixed_window {
            return floor_window(path.initial_window_bytes()); // NS3-33
        }
        floor_window(path.initial_window_bytes() * (self.rate_bps / path.line_bps)) // TIMELY-14
    }

    /// One completion event.
    fn update(&mut self, config: &TimelyConfig, path: &PathInfo, rtt_ps: f64) {
        let diff_ps = rtt_ps - self.last_rtt_ps;
        self.rtt_diff_ps = (1.0 - config.alpha) * self.rtt_diff_ps + config.alpha * diff_ps; // TIMELY-05
        let gradient = self.rtt_diff_ps / config.min_rtt_ps.max(1) as f64; // TIMELY-06
        if rtt_ps < config.t_low_ps as f64 {
            self.increase_below_low(config); // TIMELY-07
        } else if rtt_ps > config.t_high_ps as f64 {
            // TIMELY-08
            self.decrease(1.0 - config.beta * (1.0 - config.t_high_ps as f64 / rtt_ps));
        } else if let TimelyBand::Patched {
            beta,
            reference_ps,
            range,
        } = config.band
        {
            self.balance(config.ai_bps, beta, reference_ps, range, gradient, rtt_ps);
        } else if gradient <= 0.0 {
            self.increase(config); // TIMELY-09
        } else {
            self.decrease((1.0 - config.beta * gradient).max(0.0)); // TIMELY-10
        }
        let least_bps = config.min_rate_bps.min(path.line_bps);
        self.rate_bps = self.rate_bps.max(least_bps).min(path.line_bps); // TIMELY-13
    }

    fn increase_below_low(&mut self, config: &TimelyConfig) {
        if config.hai_below_low {
            self.increase(config); // TIMELY-12
        } else {
            self.rate_bps += config.ai_bps;
        }
    }

    /// Additive, after `hai_after` increases in a row hyperactive.
    fn increase(&mut self, config: &TimelyConfig) {
        // TIMELY-11
        let hyper = self.increases >= config.hai_after;
        self.rate_bps += if hyper { config.hai_bps } else { config.ai_bps };
        self.increases = self.increases.saturating_add(1);
    }

    /// The patched band: with a falling round trip the rate grows, with a rising one it is pulled
    /// towards the reference, and between the two it does both in part.
    fn balance(
        &mut self,
        step_bps: f64,
        beta: f64,
        reference_ps: Time,
        range: f64,
        gradient: f64,
        rtt_ps: f64,
    ) {
        let weight = (0.5 + gradient / (2.0 * range)).clamp(0.0, 1.0); // TIMELY-31
        let error = (rtt_ps - reference_ps as f64) / reference_ps as f64;
        // TIMELY-30
        let factor = (1.0 - beta * weight * error).max(0.0);
        self.rate_bps = step_bps * (1.0 - weight) + self.rate_bps * factor;
        self.increases = 0; // TIMELY-32
    }

    fn decrease(&mut self, factor: f64) {
        self.rate_bps *= factor;
        self.increases = 0; // TIMELY-11
    }
}
