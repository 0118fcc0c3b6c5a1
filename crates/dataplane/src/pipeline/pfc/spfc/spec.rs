//! Parameters of SPFC in scenarios.

use crate::config::{Beside, Departures, VictimConfig};
use crate::param::{Field, Kind, MAX_SIZE_BYTES, MAX_TIME_PS, Param, Value};
use crate::properties::{Choice, Rule};
use crate::units::{NS, Rate, Time};

/// Interval over which the departures of a port are counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Interval {
    /// Computed: long enough for the round trips, and for ports that PFC pauses and resumes.
    Auto,
    /// A number of base round trips.
    Rtts(f64),
    /// A time in ps.
    Fixed(Time),
}

impl Field for Interval {
    fn of(value: Option<&Value>) -> Self {
        match value {
            Some(Value::Time(ps)) => Self::Fixed(*ps),
            Some(Value::Number(rtts)) => Self::Rtts(*rtts),
            _ => Self::Auto,
        }
    }
}

crate::words! {
    /// Role of a port that has never been paused.
    enum Unpaused {
        /// It can become a victim port at once.
        Resumed = "resumed",
        /// It waits for its first RESUME.
        Waits = "waits",
    }
}

crate::words! {
    /// Time at which the state of a port changes.
    enum ChangeAt {
        /// At the end of the interval.
        Interval = "interval",
        /// At once, by the departures so far.
        AtOnce = "at-once",
    }
}

/// Value of `victims` in scenarios.
pub const WORD: &str = "spfc";

/// Description of the value `"spfc"`.
pub const ABOUT: &str =
    "`\"spfc\"`: ports with victims may fill the buffer before PFC pauses them.";

crate::params! {
    /// Parameters of SPFC.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct VictimParams {
        /// TC, over which departures are counted; `"auto"`: long enough for the round trips, and
        /// for ports that PFC pauses and resumes.
        interval: Interval = Param::either("interval", &[
            Kind::Time { min: NS, max: MAX_TIME_PS },
            Kind::Multiple { of: "base round trips", min: 0.001, max: 1e6 },
        ])
            .or(&["auto"])
            .default("\"auto\"", "PRE-122", "TC, at least 4 round trips (SPFC paper V-B), our choice"),
        /// A port whose packets depart at 1/k of `rate` is a victim port.
        k: f64 = Param::number("k", 1.0, 10_000.0)
            .default("5.0", "PRE-122", "a victim port departs at a fifth of its rate (SPFC paper IV-C)"),
        /// Rate C; `"port"`: that of the port's own link. The paper assumes one C for all ports of
        /// a switch.
        rate_bps: Option<u64> = Param::rate("rate").or(&["port"])
            .default("\"port\"", "PRE-122", "each port has the C of its link, our choice (SPFC paper V-B)"),
        /// Unit in which departures are counted.
        count: Departures = Param::word("count", Departures::WORDS)
            .default("\"packets\"", "PRE-122", "what departs is counted in packets (SPFC paper V-A)"),
        /// `"interval"`: the state of a port changes at the end of an interval; `"at-once"`: a port
        /// becomes a victim port with the departure that reaches the counting number.
        detect: ChangeAt = Param::word("detect", ChangeAt::WORDS)
            .default("\"interval\"", "PRE-122",
                "the state changes when TC expires (SPFC paper V-A, Fig. 10)"),
        /// A port that was never paused can become a victim port, or only after its first resume.
        unpaused: Unpaused = Param::word("unpaused", Unpaused::WORDS)
            .default("\"resumed\"", "PRE-122", "a port without any pause may be a victim port, our choice"),
        /// When a resumed port can become a victim port: at the end of the current interval, or at
        /// once if its departures in the current or the previous interval reach the threshold.
        after_resume: ChangeAt = Param::word("after_resume", ChangeAt::WORDS)
            .default("\"interval\"", "PRE-122", "a resume only ends the reset (SPFC paper V-A)"),
        /// Additional memory that all victim ports share; `"buffer"`: size of the buffer,
        /// `"unbounded"`: size of the buffer for each victim port.
        beside: Beside = Param::size("beside", 0, MAX_SIZE_BYTES).or(&["buffer", "unbounded"])
            .default("\"0B\"", "PRE-122", "victim ports share the pool with all others (SPFC paper IV-B)"),
    }
}

impl VictimParams {
    /// Returns the configuration of a switch in a network with this largest base round trip and
    /// this longest link.
    // SPFC-18
    #[must_use]
    pub fn configure(&self, base_rtt_ps: Time, max_delay_ps: Time) -> VictimConfig {
        let times = |n: f64, ps: Time| (n * ps as f64 + 0.5) as Time;
        let runs = self.k * (self.k + 2.0) / 2.0;
        VictimConfig {
            interval_ps: match self.interval {
                Interval::Auto => times(4.0, base_rtt_ps).max(times(runs, 2 * max_delay_ps)),
                Interval::Rtts(n) => times(n, base_rtt_ps),
                Interval::Fixed(ps) => ps,
            }
            .max(1),
            k: (self.k * 65_536.0 + 0.5) as u32,
            rate: self.rate_bps.map(Rate::from_bps),
            count: self.count,
            detects_at_once: self.detect == ChangeAt::AtOnce,
            unpaused_waits: self.unpaused == Unpaused::Waits,
            resumes_at_once: self.after_resume == ChangeAt::AtOnce,
            beside: self.beside,
        }
    }

    /// Returns true if the interval depends on the largest base round trip of the network.
    #[must_use]
    pub const fn needs_base_rtt(&self) -> bool {
        !matches!(self.interval, Interval::Fixed(_))
    }

    /// Returns a warning if SPFC did not act in a run. `counter` returns a counter by its name.
    // SPFC-07
    #[must_use]
    pub fn idle(&self, counter: impl Fn(&str) -> u64) -> Option<&'static str> {
        (counter("spfc_spared") == 0).then_some("SPFC spared no port a pause")
    }
}

impl Choice for VictimParams {
    fn rules(&self) -> Vec<Rule> {
        crate::rules! {
            wrong ["victims", "pfc"] with [Pfc] without [PoolThresholds]:
                "SPFC changes the thresholds of pfc.accounting = \"pool\", and this scheme has another accounting",
                "set pfc.accounting = \"pool\", or victims = \"none\"";
            wrong ["victims", "admission"] without [Pfc]:
                "SPFC decides when PFC pauses a port, and this `admission` has no PFC",
                "set admission = \"pfc\", or victims = \"none\"";
        }
    }
}
