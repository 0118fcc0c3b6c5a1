//! DCQCN's sender, the reaction point (rules in `specs/dcqcn.md`).
//!
//! DCQCN has timers: one decreases α, one raises the rate, and in the vendor's form a third one
//! checks for CNPs. The simulator schedules no event for them. Each call computes the ticks that
//! have passed, in order of time. The result is the same, because the rate matters only when a
//! packet is sent.
//!
//! The ticks of α between two CNPs are one multiplication by a power of 1 − g. Ticks that do not
//! change the rate are skipped, so a long silence costs no more than the ticks up to line rate.

use super::{
    ARITHMETIC, Arithmetic, Control, Feedback, Limit, Notification, PathInfo, WINDOW, floor_window,
};
use crate::param::{Conflict, InNetwork, MAX_SIZE_BYTES, Param};
use crate::properties::{Properties, Property, Rule};
use crate::scheme::Scheme;
use crate::units::{NEVER, Time};

crate::words! {
    /// When a DCQCN sender reacts to a CNP.
    pub enum CnpReaction {
        /// At the next tick of timers that check for CNPs (a NIC vendor's form).
        Sampled = "sampled",
        /// On arrival of the CNP (DCQCN paper).
        Immediate = "immediate",
    }
}

crate::words! {
    /// The traffic class of CNPs.
    pub enum CnpClass {
        /// The class of the flow's data.
        Data = "data",
        /// The class of control packets.
        Control = "control",
    }
}

crate::params! {
    /// DCQCN's parameters (`specs/dcqcn.md`).
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct DcqcnConfig {
        /// When a CNP changes the rate: at the next tick of the timers, or on arrival.
        pub reaction: CnpReaction = Param::word("reaction", CnpReaction::WORDS)
            .default("\"sampled\"", "PRE-33", "timers look for CNPs (authors' code of HPCC)"),
        /// α before the first CNP.
        pub alpha_start: f64 = Param::number("alpha_start", 0.0, 1.0)
            .default("1.0", "PRE-33", AUTHORS_CODE),
        /// A CNP raises α before it cuts the rate, not after.
        pub alpha_first: bool = Param::flag("alpha_first")
            .default("false", "PRE-33", "known of the DCQCN paper")
            .without("reaction", &["sampled"], SAMPLED),
        /// Gain of the α estimate.
        pub g: f64 = Param::number("g", 1e-6, 1.0)
            .default("0.00390625", "PRE-33", "1/256 (authors' code of HPCC)"),
        /// Period of the α timer.
        pub alpha_timer_ps: Time = Param::time("alpha_timer", 1_000)
            .default("\"1us\"", "PRE-33", AUTHORS_CODE).in_network(InNetwork::Period),
        /// Period of the rate increase.
        pub increase_timer_ps: Time = Param::time("increase_timer", 1_000)
            .default("\"300us\"", "PRE-33", AUTHORS_CODE).in_network(InNetwork::Period),
        /// Bytes for each increase event of the byte counter.
        pub byte_counter: Option<u64> = Param::size("byte_counter", 1, MAX_SIZE_BYTES).or(&["off"])
            .default("\"off\"", "PRE-33", AUTHORS_CODE),
        /// Fast-recovery stages F.
        pub fast_recovery: u32 = Param::count("fast_recovery", 0, 1_000)
            .default("1", "PRE-33", AUTHORS_CODE),
        /// Additive increase.
        pub ai_bps: f64 = Param::rate("ai")
            .default("\"20Mbps\"", "PRE-33", "at 100 Gbps (authors' code of HPCC)")
            .in_network(InNetwork::AtRate(100_000_000_000)),
        /// Hyper increase.
        pub hai_bps: f64 = Param::rate("hai")
            .default("\"200Mbps\"", "PRE-33", "at 100 Gbps (authors' code of HPCC)")
            .in_network(InNetwork::AtRate(100_000_000_000)),
        /// Lowest rate.
        pub min_rate_bps: f64 = Param::rate("min_rate")
            .default("\"100Mbps\"", "PRE-32", AUTHORS_CODE),
        /// The rate is cut at most once in this time; sampled: the period of the timer that looks
        /// for CNPs.
        pub decrease_interval_ps: Time = Param::time("decrease_interval", 0)
            .default("\"4us\"", "PRE-33", AUTHORS_CODE).in_network(InNetwork::Period),
        /// Every rate cut sets the target to the current rate, even if no increase came since the
        /// last cut.
        pub clamp_target: bool = Param::flag("clamp_target")
            .default("false", "PRE-33", AUTHORS_CODE),
        /// Limits bytes in flight to BDP × rate / line rate; `"bdp"`: to one BDP.
        pub window: Limit = WINDOW,
        /// Bytes of a CNP; `"on-ack"`: a flag of the ACK instead.
        pub cnp_bytes: Option<u16> = Param::size("cnp", 1, 1_518).or(&["on-ack"])
            .default("\"60B\"", "PRE-35", "as an ACK, our choice"),
        /// Least time between two CNPs of a flow.
        pub cnp_interval_ps: Time = Param::time("cnp_interval", 0)
            .default("\"1us\"", "PRE-35", "one per period of the alpha timer, our choice")
            .in_network(InNetwork::Period).without("cnp", &["on-ack"], ON_ACK),
        /// CNP intervals run from a flow's first packet on, and a CNP reports the marks of the
        /// interval that ended.
        pub cnp_cycle: bool = Param::flag("cnp_cycle")
            .default("false", "PRE-35", "the interval begins with a CNP, our choice")
            .without("cnp", &["on-ack"], ON_ACK),
        /// Class of CNPs.
        pub cnp_class: CnpClass = Param::word("cnp_class", CnpClass::WORDS)
            .default("\"data\"", "PRE-35", "as an ACK (authors' code of HPCC carries it on the ACK)")
            .without("cnp", &["on-ack"], ON_ACK),
        /// Arithmetic: real numbers, or whole bits per second as in the ns-3 simulator.
        pub arithmetic: Arithmetic = ARITHMETIC,
    }
}

/// State of one flow.
#[derive(Clone, Debug)]
pub struct Dcqcn {
    /// Current rate R_C.
    rate_bps: f64,
    /// Target rate R_T.
    target_bps: f64,
    /// α as of the tick before `alpha_at_ps`.
    alpha: f64,
    /// Next tick of the α timer.
    alpha_at_ps: Time,
    /// Next tick of the timer that raises the rate; `NEVER` before the first reduction.
    increase_at_ps: Time,
    /// If CNPs are sampled: next tick of the decrease timer. If they act at once: earliest time of
    /// the next reduction.
    decrease_at_ps: Time,
    /// Bytes sent since the byte counter's last event.
    sent_bytes: u64,
    /// Increase events of the timer since the last reduction.
    timer_stage: u32,
    /// Increase events of the byte counter since the last reduction.
    byte_stage: u32,
    /// True after the first CNP.
    started: bool,
    /// True if a CNP arrived since the last tick of the α timer. Only if CNPs are sampled.
    alpha_cnp: bool,
    /// True if a CNP arrived since the last tick of the decrease timer. Only if CNPs are sampled.
    decrease_cnp: bool,
}

const AUTHORS_CODE: &str = "(authors' code of HPCC)";
const SAMPLED: &str = "`reaction` = \"sampled\": α has a timer of its own";
const ON_ACK: &str = "`cnp` = \"on-ack\": every ACK of a marked packet is a CNP";

impl Scheme for Dcqcn {
    const NAME: &'static str = "dcqcn";
    const TITLE: &'static str = "DCQCN";
    const ABOUT: &'static str =
        "A rate that notifications of marked packets cut, and timers raise again.";
    type Params = DcqcnConfig;
    type Config = DcqcnConfig;
    // DCQCN-21, DCQCN-22
    const PROVIDES: Properties =
        Properties::of(&[Property::ReadsEcn, Property::ReadsCnps, Property::Scannable]);

    fn configure(config: DcqcnConfig) -> Result<DcqcnConfig, Conflict> {
        Ok(config)
    }

    // NS3-60
    fn rules(config: &DcqcnConfig) -> Vec<Rule> {
        let has_more = config.byte_counter.is_some()
            || config.reaction == CnpReaction::Immediate
            || config.alpha_start != 1.0;
        if !has_more {
            return Vec::new();
        }
        crate::rules! {
            wrong ["dcqcn"] with [ScanArbiter]:
                "DCQCN with whole rates has the vendor's timers only",
                "set dcqcn.reaction = \"sampled\", dcqcn.byte_counter = \"off\" and dcqcn.alpha_start = 1";
        }
    }
}

impl Control for Dcqcn {
    /// Creates a flow that starts at line rate.
    fn new(config: &DcqcnConfig, path: &PathInfo, _now: Time) -> Self {
        Self {
            rate_bps: path.line_bps, // DCQCN-01: line rate
            target_bps: path.line_bps,
            alpha: config.alpha_start, // DCQCN-02, DCQCN-31: first α
            alpha_at_ps: NEVER,
            increase_at_ps: NEVER, // DCQCN-03: no timer before a CNP
            decrease_at_ps: 0,
            sent_bytes: 0,
            timer_stage: 0,
            byte_stage: 0,
            started: false,
            alpha_cnp: false,
            decrease_cnp: false,
        }
    }

    #[inline]
    fn on_feedback(
        &mut self,
        config: &DcqcnConfig,
        path: &PathInfo,
        now: Time,
        feedback: &Feedback<'_>,
    ) {
        if !matches!(feedback, Feedback::Cnp) {
            return;
        }
        self.advance(config, path, now); // DCQCN-18: ticks before the CNP
        match config.reaction {
            CnpReaction::Immediate => self.react(config, path, now),
            CnpReaction::Sampled => self.note(config, now),
        }
    }

    #[inline]
    fn on_send(&mut self, config: &DcqcnConfig, path: &PathInfo, now: Time, bytes: u64) {
        let Some(period_bytes) = config.byte_counter else {
            return;
        };
        self.advance(config, path, now);
        if self.increase_at_ps == NEVER {
            return; // DCQCN-03: no byte counter before the first CNP
        }
        self.sent_bytes += bytes;
        while self.sent_bytes >= period_bytes.max(1) {
            // DCQCN-12: one increase per period of the byte counter
            self.sent_bytes -= period_bytes.max(1);
            self.increase(config, path);
            self.byte_stage = self.byte_stage.saturating_add(1);
        }
    }

    #[inline]
    fn rate_bps(&mut self, config: &DcqcnConfig, path: &PathInfo, now: Time) -> f64 {
        self.advance(config, path, now);
        self.rate_bps
    }

    #[inline]
    fn window(&mut self, config: &DcqcnConfig, path: &PathInfo, now: Time) -> u64 {
        match config.window {
            Limit::None => u64::MAX,
            Limit::Bdp => floor_window(path.initial_window_bytes()), // NS3-33
            Limit::Rate => {
                self.advance(config, path, now);
                floor_window(path.initial_window_bytes() * (self.rate_bps / path.line_bps)) // DCQCN-20
            }
        }
    }

    /// Returns the time of the next increase tick that can raise the window; [`NEVER`] if no tick
    /// can.
    // DCQCN-24: ticks that unblock a flow
    #[inline]
    fn rises_ps(&self, config: &DcqcnConfig, path: &PathInfo) -> Time {
        let target_grows =
            self.target_bps < path.line_bps && (config.ai_bps > 0.0 || config.hai_bps > 0.0);
        let follows = config.window == Limit::Rate;
        if follows && (target_grows || self.rate_bps < self.target_bps) {
            self.increase_at_ps
        } else {
            NEVER
        }
    }

    fn whole_rates(config: &DcqcnConfig) -> Option<bool> {
        Some(config.arithmetic == Arithmetic::Integer)
    }

    // NS3-23
    fn notification(config: &DcqcnConfig) -> Option<Notification> {
        Some(match config.cnp_bytes {
            None => Notification::OnAck,
            Some(bytes) => Notification::Frames {
                interval_ps: config.cnp_interval_ps,
                bytes,
                cycle: config.cnp_cycle,
                control: config.cnp_class == CnpClass::Control,
            },
        })
    }
}

impl Dcqcn {
    /// Computes the timer ticks that have passed up to and including `now`.
    #[inline]
    fn advance(&mut self, config: &DcqcnConfig, path: &PathInfo, now: Time) {
        if self.increase_at_ps <= now || (self.decrease_cnp && self.decrease_at_ps <= now) {
            self.replay(config, path, now);
        }
    }

    fn replay(&mut self, config: &DcqcnConfig, path: &PathInfo, now: Time) {
        loop {
            let decrease_ps = if self.decrease_cnp {
                self.decrease_at_ps
            } else {
                NEVER
            };
            // DCQCN-18: increase before decrease at the same time
            if self.increase_at_ps <= decrease_ps {
                if self.increase_at_ps > now {
                    return;
                }
                self.increase_tick(config, path, now.min(decrease_ps));
            } else {
                if decrease_ps > now {
                    return;
                }
                self.decrease_tick(config, path);
            }
        }
    }

    /// Computes one tick of the increase timer. If this tick changes nothing, also skips all later
    /// ticks up to `until`.
    fn increase_tick(&mut self, config: &DcqcnConfig, path: &PathInfo, until: Time) {
        let before = (self.rate_bps, self.target_bps);
        self.increase(config, path);
        let settled = before == (self.rate_bps, self.target_bps)
            && (self.target_bps >= path.line_bps || self.timer_stage > config.fast_recovery);
        let period_ps = config.increase_timer_ps.max(1);
        // DCQCN-19: skip ticks that change nothing
        let ticks = if settled {
            ticks_until(self.increase_at_ps, period_ps, until)
        } else {
            1
        };
        self.timer_stage = self
            .timer_stage
            .saturating_add(u32::try_from(ticks).unwrap_or(u32::MAX));
        self.increase_at_ps = self
            .increase_at_ps
            .saturating_add(ticks.saturating_mul(period_ps));
    }

    /// Raises the rate for one event of the timer or of the byte counter.
    fn increase(&mut self, config: &DcqcnConfig, path: &PathInfo) {
        let most = self.timer_stage.max(self.byte_stage);
        let least = match config.byte_counter {
            Some(_) => self.timer_stage.min(self.byte_stage),
            None => self.timer_stage,
        };
        let step_bps = if most < config.fast_recovery {
            0.0 // DCQCN-13: fast recovery
        } else if least > config.fast_recovery {
            config.hai_bps // DCQCN-15: hyper increase
        } else {
            config.ai_bps // DCQCN-14: additive increase
        };
        self.target_bps = (self.target_bps + step_bps).min(path.line_bps); // DCQCN-16
        self.rate_bps = (self.rate_bps + self.target_bps) / 2.0;
    }

    /// Reacts to a CNP immediately: cuts the rate and raises α.
    fn react(&mut self, config: &DcqcnConfig, path: &PathInfo, now: Time) {
        if now < self.decrease_at_ps {
            return; // DCQCN-07: too soon after the last cut
        }
        self.settle_alpha(config, now);
        let raised = (1.0 - config.g) * self.alpha + config.g;
        if config.alpha_first {
            self.alpha = raised; // DCQCN-31: raise α before the cut
        }
        self.cut(config, path, now); // DCQCN-05
        self.alpha = raised; // DCQCN-06
        self.alpha_at_ps = now.saturating_add(config.alpha_timer_ps.max(1)); // DCQCN-08
        self.decrease_at_ps = now.saturating_add(config.decrease_interval_ps);
        self.started = true;
    }

    /// Records a CNP in the sampled form. The next ticks of both timers react to the CNP.
    fn note(&mut self, config: &DcqcnConfig, now: Time) {
        let period_ps = config.decrease_interval_ps.max(1);
        if self.started {
            self.settle_alpha(config, now);
            self.alpha_cnp = true; // DCQCN-09
            let missed = ticks_until(self.decrease_at_ps, period_ps, now);
            self.decrease_at_ps = self
                .decrease_at_ps
                .saturating_add(missed.saturating_mul(period_ps));
        } else {
            // DCQCN-11: the first CNP starts both timers
            self.started = true;
            self.alpha_at_ps = now.saturating_add(config.alpha_timer_ps.max(1));
            self.decrease_at_ps = now.saturating_add(period_ps);
        }
        self.decrease_cnp = true; // DCQCN-10
    }

    /// Handles a tick of the decrease timer after a CNP: cuts the rate.
    fn decrease_tick(&mut self, config: &DcqcnConfig, path: &PathInfo) {
        let now = self.decrease_at_ps;
        self.settle_alpha(config, now); // DCQCN-18
        self.cut(config, path, now); // DCQCN-10
        self.decrease_cnp = false;
        self.decrease_at_ps = now.saturating_add(config.decrease_interval_ps.max(1));
    }

    /// Cuts the rate and restarts the increases.
    fn cut(&mut self, config: &DcqcnConfig, path: &PathInfo, now: Time) {
        if config.clamp_target || self.timer_stage != 0 || self.byte_stage != 0 {
            self.target_bps = self.rate_bps; // DCQCN-04
        }
        let least_bps = config.min_rate_bps.min(path.line_bps);
        self.rate_bps = (self.rate_bps * (1.0 - self.alpha / 2.0)).max(least_bps); // DCQCN-05, DCQCN-17
        self.timer_stage = 0;
        self.byte_stage = 0;
        self.sent_bytes = 0;
        self.increase_at_ps = now.saturating_add(config.increase_timer_ps.max(1)); // DCQCN-12
    }

    /// Computes the ticks of α up to and including `until`. Only CNPs and reductions call this, so
    /// that the rounding of α does not depend on how often the rate is read.
    fn settle_alpha(&mut self, config: &DcqcnConfig, until: Time) {
        let period_ps = config.alpha_timer_ps.max(1);
        let ticks = ticks_until(self.alpha_at_ps, period_ps, until);
        if ticks == 0 {
            return;
        }
        let keep = 1.0 - config.g;
        self.alpha = keep * self.alpha + if self.alpha_cnp { config.g } else { 0.0 }; // DCQCN-09
        self.alpha_cnp = false;
        self.alpha *= power(keep, ticks - 1); // DCQCN-08, DCQCN-19
        self.alpha_at_ps = self
            .alpha_at_ps
            .saturating_add(ticks.saturating_mul(period_ps));
    }
}

/// Returns the number of ticks at `first`, `first + period`, … up to and including `until`.
fn ticks_until(first: Time, period: Time, until: Time) -> u64 {
    if first > until {
        0
    } else {
        (until - first) / period + 1
    }
}

/// Returns `base` to the power `exponent` by repeated squaring. The result is the same on every
/// machine, because it uses multiplications only.
fn power(base: f64, mut exponent: u64) -> f64 {
    let (mut result, mut square) = (1.0, base);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= square;
        }
        square *= square;
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests;
