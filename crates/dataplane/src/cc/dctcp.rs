//! DCTCP's sender: the window shrinks by half of the share of marked bytes (rules in
//! `specs/dctcp.md`).

use super::{ARITHMETIC, Ack, Arithmetic, Control, Feedback, PathInfo, floor_window};
use crate::param::{Conflict, Param};
use crate::properties::{Properties, Property, Rule};
use crate::scheme::Scheme;
use crate::units::Time;

crate::params! {
    /// DCTCP's parameters (`specs/dctcp.md`).
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct DctcpConfig {
        /// Gain of the α estimate.
        pub g: f64 = Param::number("g", 1e-6, 1.0)
            .default("0.0625", "PRE-37", "1/16 (authors' code of HPCC)"),
        /// Flows begin in slow start from `initial_packets`, else with one BDP.
        pub slow_start: bool = Param::flag("slow_start")
            .default("false", "PRE-37", "flows start with one BDP (BFC paper 6.2.1)"),
        /// Packets of the first window of slow start.
        pub initial_packets: u32 = Param::count("initial_packets", 1, 100_000)
            .default("10", "PRE-37", "of slow start (BFC paper A.6)"),
        /// Additive increase per round trip: a rate, or one packet.
        pub ai_bps: Option<f64> = Param::rate("ai").or(&["packet"])
            .default("\"packet\"", "PRE-84", "one packet more per round trip (DCTCP paper)"),
        /// Lowest rate; `"packet"`: one packet per round trip.
        pub min_rate_bps: Option<f64> = Param::rate("min_rate").or(&["packet"])
            .default("\"packet\"", "PRE-84", "one packet per round trip (DCTCP paper)"),
        /// Arithmetic: real numbers, or whole bits per second as in the ns-3 simulator.
        pub arithmetic: Arithmetic =
            ARITHMETIC.default("\"real\"", "PRE-83", "real numbers, a window"),
        /// The window limits bytes in flight; `false`: it only sets the rate.
        pub window: bool = Param::flag("window").default("true", "PRE-63", "DCTCP is a window"),
    }
}

/// State of one flow.
#[derive(Clone, Debug)]
pub struct Dctcp {
    /// Congestion window in bytes.
    window_bytes: f64,
    /// Slow-start threshold in bytes: below it, the window doubles per round trip.
    slow_start_bytes: f64,
    /// Smoothed share of marked bytes.
    alpha: f64,
    /// Bytes acknowledged in this observation window.
    acked_bytes: u64,
    /// Bytes among `acked_bytes` whose packets carried an ECN mark.
    marked_bytes: u64,
    /// The observation window ends with an ACK beyond this byte; 0: none has begun.
    window_end: u64,
    /// The window is not reduced again before an ACK beyond this byte.
    reduced_until: u64,
    /// The window was reduced and the byte `reduced_until` is not yet acknowledged.
    reduced: bool,
}

impl Scheme for Dctcp {
    const NAME: &'static str = "dctcp";
    const TITLE: &'static str = "DCTCP";
    const ABOUT: &'static str = "A window that shrinks by half of the share of marked bytes.";
    type Params = DctcpConfig;
    type Config = DctcpConfig;
    // DCTCP-13, DCTCP-14
    const PROVIDES: Properties = Properties::of(&[Property::ReadsEcn, Property::Scannable]);

    fn configure(config: DctcpConfig) -> Result<DctcpConfig, Conflict> {
        Ok(config)
    }

    // NS3-60
    fn rules(config: &DctcpConfig) -> Vec<Rule> {
        if !config.slow_start {
            return Vec::new();
        }
        crate::rules! {
            wrong ["dctcp"] with [ScanArbiter]:
                "DCTCP with whole rates starts at line rate", "set dctcp.slow_start = false";
        }
    }
}

impl Control for Dctcp {
    /// Creates a flow whose first window is one BDP, or that begins in slow start.
    fn new(config: &DctcpConfig, path: &PathInfo, _now: Time) -> Self {
        let most = most_bytes(path);
        let first_bytes = f64::from(config.initial_packets) * f64::from(path.mtu);
        Self {
            // DCTCP-01, DCTCP-02: first window
            window_bytes: if config.slow_start {
                limit(first_bytes, config, path)
            } else {
                most
            },
            slow_start_bytes: if config.slow_start { most } else { 0.0 },
            alpha: 1.0, // DCTCP-04: first α
            acked_bytes: 0,
            marked_bytes: 0,
            window_end: 0,
            reduced_until: 0,
            reduced: false,
        }
    }

    fn on_feedback(
        &mut self,
        config: &DctcpConfig,
        path: &PathInfo,
        _now: Time,
        feedback: &Feedback<'_>,
    ) {
        match feedback {
            Feedback::Ack(ack) => self.acknowledged(config, path, ack),
            Feedback::Loss(loss) if !self.reduced => {
                self.reduce(0.5, config, path, loss.snd_nxt); // DCTCP-12: a loss halves the window
            }
            _ => {}
        }
    }

    #[inline]
    fn rate_bps(&mut self, _config: &DctcpConfig, path: &PathInfo, _now: Time) -> f64 {
        path.rate_of_window(self.window_bytes) // DCTCP-11: pace of one window per base round trip
    }

    #[inline]
    fn window(&mut self, config: &DctcpConfig, _path: &PathInfo, _now: Time) -> u64 {
        if config.window {
            floor_window(self.window_bytes)
        } else {
            u64::MAX // DCTCP-15: no limit of the bytes in flight
        }
    }

    fn whole_rates(config: &DctcpConfig) -> Option<bool> {
        Some(config.arithmetic == Arithmetic::Integer)
    }
}

impl Dctcp {
    fn acknowledged(&mut self, config: &DctcpConfig, path: &PathInfo, ack: &Ack<'_>) {
        self.acked_bytes += ack.newly;
        if ack.marked {
            self.marked_bytes += ack.newly; // DCTCP-03
        }
        if self.reduced && ack.seq > self.reduced_until {
            self.reduced = false;
        }
        let round_over = self.end_round(config, ack);
        if ack.marked && !self.reduced {
            self.reduce(1.0 - self.alpha / 2.0, config, path, ack.snd_nxt); // DCTCP-06
        } else if !ack.marked && self.window_bytes < self.slow_start_bytes {
            self.window_bytes = limit(self.window_bytes + ack.newly as f64, config, path); // DCTCP-09
        } else if round_over && !self.reduced {
            self.window_bytes = limit(self.window_bytes + step_bytes(config, path), config, path); // DCTCP-08
        }
    }

    /// At the end of each window of data, updates α with the share of marked bytes. Returns true if
    /// a window of data has ended.
    fn end_round(&mut self, config: &DctcpConfig, ack: &Ack<'_>) -> bool {
        if ack.seq <= self.window_end {
            return false;
        }
        let first = self.window_end == 0;
        self.window_end = ack.snd_nxt;
        if first {
            return false; // DCTCP-05: the observation window has not ended
        }
        if self.acked_bytes > 0 {
            let share = self.marked_bytes as f64 / self.acked_bytes as f64;
            self.alpha = (1.0 - config.g) * self.alpha + config.g * share; // DCTCP-04
        }
        self.acked_bytes = 0;
        self.marked_bytes = 0;
        true
    }

    fn reduce(&mut self, factor: f64, config: &DctcpConfig, path: &PathInfo, snd_nxt: u64) {
        self.window_bytes = limit(self.window_bytes * factor, config, path);
        self.slow_start_bytes = self.window_bytes;
        self.reduced = true; // DCTCP-07
        self.reduced_until = snd_nxt;
    }
}

/// Largest window in bytes: one BDP, but at least one packet.
fn most_bytes(path: &PathInfo) -> f64 {
    path.initial_window_bytes().max(f64::from(path.mtu))
}

/// Returns the bytes by which the window grows in a round trip without marks.
fn step_bytes(config: &DctcpConfig, path: &PathInfo) -> f64 {
    match config.ai_bps {
        Some(bps) => path.bytes_per_rtt(bps), // NS3-34
        None => f64::from(path.mtu),
    }
}

/// Returns the window within its bounds: at least one packet and what `min_rate` sends in a round
/// trip, at most one BDP.
fn limit(window_bytes: f64, config: &DctcpConfig, path: &PathInfo) -> f64 {
    let least = config
        .min_rate_bps
        .map_or(0.0, |bps| path.bytes_per_rtt(bps)) // NS3-34
        .max(f64::from(path.mtu));
    window_bytes.max(least).min(most_bytes(path)) // DCTCP-10
}

#[cfg(test)]
mod tests;
