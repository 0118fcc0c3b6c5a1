//! `[scheme.spfc]`: SPFC, which tells ports with victims apart.

use crate::config::{Accounting, Pfc};
use crate::config::{Beside, Departures, VictimConfig};
use crate::declaration::Finding;
use crate::param::{Conflict, Kind, MAX_SIZE_BYTES, MAX_TIME_PS, Param, Value, Values};
use crate::units::{NS, Rate, Time};

/// The interval over which departures are counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Interval {
    /// Long enough for the round trips, and for ports that PFC stops and lets go.
    Auto,
    /// A number of base round trips.
    Rtts(f64),
    /// A time, ps.
    Fixed(Time),
}

/// SPFC as a scenario says it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VictimSpec {
    /// TC.
    pub interval: Interval,
    /// K.
    pub k: f64,
    /// C of the counting number; `None`: the rate of the port's own link.
    pub rate: Option<Rate>,
    /// What is counted.
    pub count: Departures,
    /// The state does not wait for the end of the interval.
    pub detects_at_once: bool,
    /// A port that has never been paused waits for its first RESUME.
    pub unpaused_waits: bool,
    /// The state after a RESUME does not wait for the end of the interval.
    pub resumes_at_once: bool,
    /// Memory beside the pool.
    pub beside: Beside,
}

impl VictimSpec {
    /// What a switch needs, in a network with this largest base round trip and longest link.
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
            rate: self.rate,
            count: self.count,
            detects_at_once: self.detects_at_once,
            unpaused_waits: self.unpaused_waits,
            resumes_at_once: self.resumes_at_once,
            beside: self.beside,
        }
    }
}

/// The word that scenarios use for it.
pub const WORD: &str = "spfc";

/// What the word means.
pub const ABOUT: &str =
    "`\"spfc\"`: ports with victims may fill the buffer before PFC pauses them.";

const PARAMS: &[Param] = &[
    Param::either(
        "interval",
        &[
            Kind::Time { min: NS, max: MAX_TIME_PS },
            Kind::Multiple { of: "base round trips", min: 0.001, max: 1e6 },
        ],
    )
    .or(&["auto"])
    .default("\"auto\"", "PRE-122", "TC, at least 4 round trips (SPFC paper V-B), our choice")
    .about(
        "TC, over which departures are counted; `\"auto\"`: long enough for the round trips, and for ports that PFC stops \
         and lets go.",
    ),
    Param::number("k", 1.0, 10_000.0)
        .default("5.0", "PRE-122", "a victim port departs at a fifth of its rate (SPFC paper IV-C)")
        .about("A port that departs at 1/k of `rate` is a victim port."),
    Param::rate("rate")
        .or(&["port"])
        .default("\"port\"", "PRE-122", "each port has the C of its link, our choice (SPFC paper V-B)")
        .about("Rate C; `\"port\"`: that of the port's own link. The paper assumes one C for all ports of a switch."),
    Param::word("count", &["packets", "bytes"])
        .default("\"packets\"", "PRE-122", "what departs is counted in packets (SPFC paper V-A)")
        .about("What is counted."),
    Param::word("detect", &["interval", "at-once"])
        .default("\"interval\"", "PRE-122", "the state changes when TC expires (SPFC paper V-A, Fig. 10)")
        .about(
            "`\"interval\"`: the state of a port changes at the end of an interval; `\"at-once\"`: a port becomes a \
             victim port with the departure that reaches the counting number.",
        ),
    Param::word("unpaused", &["resumed", "waits"])
        .default("\"resumed\"", "PRE-122", "a port without any pause may be a victim port, our choice")
        .about("Whether a port without any pause so far may be a victim port, or waits for its first resume."),
    Param::word("after_resume", &["interval", "at-once"])
        .default("\"interval\"", "PRE-122", "a resume only ends the reset (SPFC paper V-A)")
        .about(
            "Whether a port that is resumed may be a victim port from the end of the interval on, or at once where this \
             interval or the last counted enough.",
        ),
    Param::size("beside", 0, MAX_SIZE_BYTES)
        .or(&["buffer", "unbounded"])
        .default("\"0B\"", "PRE-122", "victim ports share the pool with all others (SPFC paper IV-B)")
        .about(
            "Memory beside the pool that victim ports together may fill; `\"buffer\"`: as much as the buffer, \
             `\"unbounded\"`: each by itself as much.",
        ),
];

impl VictimSpec {
    /// Its parameters.
    pub const PARAMS: &'static [Param] = PARAMS;

    /// From the values of its parameters.
    ///
    /// # Errors
    /// None: any values go together.
    pub fn from_values(values: &Values) -> Result<Self, Conflict> {
        Ok(Self {
            interval: match values.get("interval") {
                Some(&Value::Time(ps)) => Interval::Fixed(ps),
                Some(&Value::Number(rtts)) => Interval::Rtts(rtts),
                _ => Interval::Auto,
            },
            k: values.number("k"),
            rate: values.some_rate("rate").map(Rate::from_bps),
            count: match values.word("count") {
                "packets" => Departures::Packets,
                _ => Departures::Bytes,
            },
            detects_at_once: values.is("detect", "at-once"),
            unpaused_waits: values.is("unpaused", "waits"),
            resumes_at_once: values.is("after_resume", "at-once"),
            beside: match values.get("beside") {
                Some(&Value::Size(bytes)) => Beside::Bytes(bytes),
                _ if values.is("beside", "buffer") => Beside::Buffer,
                _ => Beside::Unbounded,
            },
        })
    }

    /// The largest base round trip of the network is needed.
    #[must_use]
    pub const fn needs_base_rtt(&self) -> bool {
        !matches!(self.interval, Interval::Fixed(_))
    }

    /// What it says to PFC, or to its absence: it changes thresholds of PFC, and keeps books of its own.
    #[must_use]
    pub fn beside(&self, pfc: Option<&Pfc>) -> Option<Finding> {
        match pfc {
            Some(pfc) if pfc.accounting == Accounting::Pool => None,
            Some(_) => Some(Finding::wrong(
                &["victims", "pfc"],
                "SPFC changes the thresholds of pfc.accounting = \"pool\", and this scheme uses other books",
                "set pfc.accounting = \"pool\", or victims = \"none\"",
            )),
            None => Some(Finding::wrong(
                &["victims", "admission"],
                "SPFC says when PFC pauses a port, and this `admission` has no PFC",
                "set admission = \"pfc\", or victims = \"none\"",
            )),
        }
    }

    /// Returns a warning if SPFC did not act in a run. `counter` returns a counter by its name.
    // SPFC-07
    #[must_use]
    pub fn idle(&self, counter: impl Fn(&str) -> u64) -> Option<&'static str> {
        (counter("spfc_spared") == 0).then_some("SPFC spared no port a pause")
    }
}
