//! TIMELY's sender: the rate follows the slope of the round-trip time (rules in
//! `specs/timely.md`).

use super::{ARITHMETIC, Arithmetic, Control, Feedback, Limit, PathInfo, WINDOW, floor_window};
use crate::param::{Conflict, InNetwork, Param};
use crate::properties::{Properties, Property, Rule};
use crate::scheme::Scheme;
use crate::units::{Time, US};

crate::params! {
    /// TIMELY's parameters (`specs/timely.md`).
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct TimelyConfig {
        /// Weight of the newest difference between consecutive round trips.
        pub alpha: f64 = Param::number("alpha", 0.0, 1.0).default("0.875", "PRE-36", AUTHORS_CODE),
        /// Decrease factor.
        pub beta: f64 = Param::number("beta", 0.0, 1.0).default("0.8", "PRE-36", AUTHORS_CODE),
        /// Below this round trip the rate always rises.
        pub t_low_ps: Time = Param::time("t_low", 1).default("\"50us\"", "PRE-36", AUTHORS_CODE),
        /// Above this round trip the rate always falls.
        pub t_high_ps: Time = Param::time("t_high", 1).default("\"500us\"", "PRE-36", AUTHORS_CODE)
            .in_network(InNetwork::Target { with_hosts: true }),
        /// Round trip that divides the difference of round trips to give the gradient.
        pub min_rtt_ps: Time = Param::time("min_rtt", 1)
            .default("\"20us\"", "PRE-36", AUTHORS_CODE),
        /// Additive increase.
        pub ai_bps: f64 = Param::rate("ai")
            .default("\"100Mbps\"", "PRE-36", "at 100 Gbps (authors' code of HPCC)")
            .in_network(InNetwork::AtRate(100_000_000_000)),
        /// Hyperactive increase.
        pub hai_bps: f64 = Param::rate("hai")
            .default("\"500Mbps\"", "PRE-36", "at 100 Gbps (authors' code of HPCC)")
            .in_network(InNetwork::AtRate(100_000_000_000)),
        /// Increases in a row before hyperactive ones.
        pub hai_after: u32 = Param::count("hai_after", 0, 1_000)
            .default("5", "PRE-36", AUTHORS_CODE),
        /// Increases below `t_low` count as increases in a row and can be hyperactive.
        pub hai_below_low: bool = Param::flag("hai_below_low")
            .default("true", "PRE-36", AUTHORS_CODE),
        /// Lowest rate.
        pub min_rate_bps: f64 = Param::rate("min_rate")
            .default("\"100Mbps\"", "PRE-32", AUTHORS_CODE),
        /// Limits bytes in flight to BDP × rate / line rate; `"bdp"`: to one BDP.
        pub window: Limit = WINDOW,
        /// Arithmetic: real numbers, or whole bits per second as in the ns-3 simulator.
        pub arithmetic: Arithmetic = ARITHMETIC,
        /// How the rate changes between the two thresholds.
        pub gradient: Gradient = Param::word("gradient", Gradient::WORDS)
            .default("\"original\"", "PRE-62", "between t_low and t_high (TIMELY paper, Algorithm 1)"),
        /// Parameters between the thresholds, if `gradient` is `"patched"`.
        pub patched: Option<Patched> = Param::table("patched", Patched::PARAMS)
            .with("gradient", &["patched"], "`gradient` is not \"patched\""),
    }
}

crate::words! {
    /// How TIMELY changes the rate while the round trip is between the thresholds `t_low` and
    /// `t_high`. The gradient is the smoothed change between round trips, divided by `min_rtt`.
    pub enum Gradient {
        /// By the sign and size of the gradient (TIMELY paper).
        Original = "original",
        /// By the sum of an additive increase and a decrease that is proportional to the distance
        /// from a reference round trip. The gradient decides the weights ("ECN or Delay" paper).
        Patched = "patched",
    }
}

crate::params! {
    /// Parameters of patched TIMELY between the two thresholds.
    // TIMELY-33: values of the paper
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Patched {
        /// Decrease factor between the thresholds.
        pub beta: f64 = Param::number("beta", 0.0, 1.0)
            .default("0.008", "PRE-62", "of the patched band (ECN-or-delay paper, 4.3)"),
        /// Reference round trip: the rate decreases above it.
        pub reference_ps: Time = Param::time("reference", 1)
            .default("\"50us\"", "PRE-62", "rates are pulled to this round trip (ECN-or-delay paper, 4.3)")
            .in_network(InNetwork::Target { with_hosts: true }),
        /// Range of gradients −`range` to +`range` in which increase and decrease are weighted.
        /// Outside, only one of the two applies.
        pub range: f64 = Param::number("range", 1e-6, 1e6)
            .default("0.25", "PRE-62", "of gradients that are weighed (ECN-or-delay paper, 4.3)"),
    }
}

/// State of one flow.
#[derive(Clone, Debug)]
pub struct Timely {
    rate_bps: f64,
    /// Round trip of the last completion event, in ps.
    last_rtt_ps: f64,
    /// EWMA of the differences of consecutive round trips, in ps.
    rtt_diff_ps: f64,
    /// An ACK beyond this byte is the next completion event.
    last_update_seq: u64,
    /// Number of increases of the rate in a row.
    increases: u32,
    /// True if `last_rtt_ps` is set.
    measured: bool,
}

const AUTHORS_CODE: &str = "(authors' code of HPCC)";

/// Returns a time in microseconds, for messages.
fn micros(ps: Time) -> f64 {
    ps as f64 / US as f64
}

impl Scheme for Timely {
    const NAME: &'static str = "timely";
    const TITLE: &'static str = "TIMELY";
    const ABOUT: &'static str = "A rate that follows the slope of the round-trip time.";
    type Params = TimelyConfig;
    type Config = TimelyConfig;
    // TIMELY-15, TIMELY-16
    const PROVIDES: Properties = Properties::of(&[Property::Scannable]);

    fn configure(config: TimelyConfig) -> Result<TimelyConfig, Conflict> {
        let (low, high) = (config.t_low_ps, config.t_high_ps);
        if low > high {
            return Err(Conflict::new(
                &["t_low", "t_high"],
                format!("t_low {}us is above t_high {}us", micros(low), micros(high)),
                "below t_low rates rise, above t_high they fall",
            ));
        }
        Ok(config)
    }

    // NS3-60
    fn rules(config: &TimelyConfig) -> Vec<Rule> {
        if config.gradient == Gradient::Original {
            return Vec::new();
        }
        crate::rules! {
            wrong ["timely"] with [ScanArbiter]:
                "TIMELY with whole rates has the original band", "set timely.gradient = \"original\"";
        }
    }
}

impl Control for Timely {
    /// Creates a flow that starts at line rate.
    fn new(_config: &TimelyConfig, path: &PathInfo, _now: Time) -> Self {
        Self {
            rate_bps: path.line_bps, // TIMELY-01: line rate
            last_rtt_ps: 0.0,
            rtt_diff_ps: 0.0,
            last_update_seq: 0,
            increases: 0,
            measured: false,
        }
    }

    fn on_feedback(
        &mut self,
        config: &TimelyConfig,
        path: &PathInfo,
        _now: Time,
        feedback: &Feedback<'_>,
    ) {
        let Feedback::Ack(ack) = feedback else {
            return; // TIMELY-17: losses do not change the rate.
        };
        if ack.seq <= self.last_update_seq {
            return; // TIMELY-02: no completion event
        }
        self.last_update_seq = ack.snd_nxt;
        let rtt_ps = ack.rtt_ps as f64; // TIMELY-03
        if self.measured {
            self.update(config, path, rtt_ps);
        }
        self.measured = true; // TIMELY-04: the first one is only recorded
        self.last_rtt_ps = rtt_ps;
    }

    #[inline]
    fn rate_bps(&mut self, _config: &TimelyConfig, _path: &PathInfo, _now: Time) -> f64 {
        self.rate_bps
    }

    #[inline]
    fn window(&mut self, config: &TimelyConfig, path: &PathInfo, _now: Time) -> u64 {
        match config.window {
            Limit::None => u64::MAX,
            Limit::Bdp => floor_window(path.initial_window_bytes()), // NS3-33
            Limit::Rate => {
                floor_window(path.initial_window_bytes() * (self.rate_bps / path.line_bps)) // TIMELY-14
            }
        }
    }

    fn whole_rates(config: &TimelyConfig) -> Option<bool> {
        Some(config.arithmetic == Arithmetic::Integer)
    }
}

impl Timely {
    /// Updates the rate with the round trip of a completion event.
    fn update(&mut self, config: &TimelyConfig, path: &PathInfo, rtt_ps: f64) {
        let diff_ps = rtt_ps - self.last_rtt_ps;
        self.rtt_diff_ps = (1.0 - config.alpha) * self.rtt_diff_ps + config.alpha * diff_ps; // TIMELY-05
        let gradient = self.rtt_diff_ps / config.min_rtt_ps.max(1) as f64; // TIMELY-06
        if rtt_ps < config.t_low_ps as f64 {
            self.increase_below_low(config); // TIMELY-07: below `t_low`
        } else if rtt_ps > config.t_high_ps as f64 {
            // TIMELY-08: above `t_high`
            self.decrease(1.0 - config.beta * (1.0 - config.t_high_ps as f64 / rtt_ps));
        } else if let Some(patched) = &config.patched {
            self.balance(config.ai_bps, patched, gradient, rtt_ps);
        } else if gradient <= 0.0 {
            self.increase(config); // TIMELY-09: additive increase
        } else {
            self.decrease((1.0 - config.beta * gradient).max(0.0)); // TIMELY-10: by the gradient
        }
        let least_bps = config.min_rate_bps.min(path.line_bps);
        self.rate_bps = self.rate_bps.max(least_bps).min(path.line_bps); // TIMELY-13
    }

    fn increase_below_low(&mut self, config: &TimelyConfig) {
        if config.hai_below_low {
            self.increase(config); // TIMELY-12: counts as an increase
        } else {
            self.rate_bps += config.ai_bps;
        }
    }

    /// Raises the rate: additively, or after `hai_after` increases in a row by the hyperactive
    /// step.
    fn increase(&mut self, config: &TimelyConfig) {
        // TIMELY-11: hyperactive after `hai_after` increases in a row
        let hyper = self.increases >= config.hai_after;
        self.rate_bps += if hyper { config.hai_bps } else { config.ai_bps };
        self.increases = self.increases.saturating_add(1);
    }

    /// Changes the rate between the thresholds in patched TIMELY. The gradient sets the weight
    /// between an additive increase and a decrease towards the reference round trip.
    fn balance(&mut self, step_bps: f64, patched: &Patched, gradient: f64, rtt_ps: f64) {
        let weight = (0.5 + gradient / (2.0 * patched.range)).clamp(0.0, 1.0); // TIMELY-31
        let reference_ps = patched.reference_ps as f64;
        let error = (rtt_ps - reference_ps) / reference_ps;
        // TIMELY-30: increase and decrease
        let factor = (1.0 - patched.beta * weight * error).max(0.0);
        self.rate_bps = step_bps * (1.0 - weight) + self.rate_bps * factor;
        self.increases = 0; // TIMELY-32: not an increase in a row
    }

    fn decrease(&mut self, factor: f64) {
        self.rate_bps *= factor;
        self.increases = 0; // TIMELY-11: ends the increases in a row
    }
}
