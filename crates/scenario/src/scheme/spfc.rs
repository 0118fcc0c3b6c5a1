//! The axis of victim ports: SPFC.

use super::values::{SECOND, parameters, word_or};
use crate::document::{Node, Value};
use crate::reader::{Read, Section, choice, number, quantity};
use crate::units::TIME;
use dataplane::config::{Departures, SpfcConfig};
use dataplane::units::Time;

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

/// SPFC's parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpfcSpec {
    /// TC.
    pub interval: Interval,
    /// K.
    pub k: f64,
    /// What is counted.
    pub count: Departures,
    /// A port that has never been paused waits for its first RESUME.
    pub unpaused_waits: bool,
}

impl SpfcSpec {
    /// What a switch needs, in a network with this largest base round trip and longest link.
    // SPFC-18
    pub(super) fn configure(&self, base_rtt_ps: Time, max_delay_ps: Time) -> SpfcConfig {
        let times = |n: f64, ps: Time| (n * ps as f64 + 0.5) as Time;
        let runs = self.k * (self.k + 2.0) / 2.0;
        SpfcConfig {
            interval_ps: match self.interval {
                Interval::Auto => times(4.0, base_rtt_ps).max(times(runs, 2 * max_delay_ps)),
                Interval::Rtts(n) => times(n, base_rtt_ps),
                Interval::Fixed(ps) => ps,
            }
            .max(1),
            k: (self.k * 65_536.0 + 0.5) as u32,
            count: self.count,
            unpaused_waits: self.unpaused_waits,
        }
    }
}

/// `victims` and its table.
pub(super) fn read_victims(s: &Section<'_>) -> Option<Option<SpfcSpec>> {
    let words = [("none", false), ("spfc", true)];
    let word = s.required("victims", "\"spfc\"", |n| choice(n, &words));
    let why = "`victims` is not \"spfc\"";
    let spfc = parameters(s, "spfc", word == Some(true), why, |t| {
        let interval = t.required("interval", "\"auto\"", |n| {
            word_or(n, "auto", Interval::Auto, interval)
        });
        let k = t.required("k", "5.0", |n| number(n, 1.0, 10_000.0));
        let counts = [
            ("packets", Departures::Packets),
            ("bytes", Departures::Bytes),
        ];
        let count = t.required("count", "\"packets\"", |n| choice(n, &counts));
        let fresh = [("resumed", false), ("waits", true)];
        let unpaused = t.required("unpaused", "\"resumed\"", |n| choice(n, &fresh));
        Some(SpfcSpec {
            interval: interval?,
            k: k?,
            count: count?,
            unpaused_waits: unpaused?,
        })
    });
    if word? { spfc.map(Some) } else { Some(None) }
}

/// A number of base round trips, or a time.
fn interval(node: &Node) -> Read<Interval> {
    let result = match &node.value {
        Value::String(_) => quantity(node, &TIME, 1_000, SECOND).map(Interval::Fixed),
        _ => number(node, 0.001, 1e6).map(Interval::Rtts),
    };
    result.map_err(|mut r| {
        r.hint =
            Some("a number of base round trips such as 4.0, or a time such as \"80us\"".into());
        r
    })
}
