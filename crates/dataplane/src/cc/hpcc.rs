//! HPCC's sender: Algorithm 1 of the paper (rules in `specs/hpcc.md`).
//!
//! A sender keeps the telemetry of its last ACK. From two consecutive ACKs it computes the
//! utilisation of each link: bytes in flight / (link rate · base round trip). The utilisation of
//! the fullest link determines how much the window shrinks or grows. The window is computed from a
//! reference window that changes only once per round trip. So two ACKs that report the same queue
//! do not both count.
//!
//! The variants of the paper are options of this file. `registers.rs` has the variant with a window
//! per link. `reciprocals.rs` has the table that replaces a division.

mod fixed;
mod reciprocals;
mod registers;

use super::{ADDITIVE_INCREASE, Ack, Control, Feedback, Increase, PathInfo, floor_window};
use crate::declaration::Around;
use crate::int::{Counter, IntFormat, IntHop, MAX_HOPS, Telemetry};
use crate::param::{Conflict, Field, Param, Value};
use crate::properties::{Properties, Property, Rule};
use crate::scheme::Scheme;
use crate::units::Time;
use registers::Registers;

pub use fixed::Constants;
pub use reciprocals::{Division, Reciprocals};

crate::words! {
    /// When HPCC changes its window, and from which reference window.
    pub enum Reaction {
        /// On every ACK, from a reference window that changes once per round trip (Algorithm 1).
        Combined = "combined",
        /// On every ACK, from the window after the last ACK.
        PerAck = "per-ack",
        /// Once per round trip: on the ACK of the first packet that was sent after the last change.
        PerRtt = "per-rtt",
    }
}

crate::words! {
    /// How HPCC divides by U/η.
    pub enum DivisionBy {
        /// Exactly.
        Number = "exact",
        /// By a table of reciprocals.
        Table = "table",
    }
}

crate::words! {
    /// The arithmetic of HPCC.
    pub enum Arithmetic {
        /// Real numbers.
        Real = "real",
        /// Whole bits per second, as in the ns-3 simulator.
        Integer = "integer",
        /// Fixed point, as in the circuits of `hardware/hpcc` (HPCC-41). It requires the telemetry
        /// of [`IntFormat::Wire`] and a [`Division::Table`].
        Fixed = "fixed",
    }
}

/// The α of α-fairness. `Some(α)`: HPCC keeps a window per link, and the α-mean of these windows is
/// the flow's window. For an infinite α this is the smallest window. `None`: one window, for the
/// fullest link, as in the paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fairness(pub Option<f64>);

impl Field for Fairness {
    fn of(value: Option<&Value>) -> Self {
        match value {
            Some(Value::Word("max-min")) => Self(Some(f64::INFINITY)),
            other => Self(Option::of(other)),
        }
    }
}

crate::params! {
    /// HPCC's parameters (`specs/hpcc.md`).
    // HPCC-21, HPCC-22: values of the parameters
    #[derive(Clone, Debug, PartialEq)]
    pub struct HpccConfig {
        /// Target utilisation η of a link.
        pub eta: f64 = Param::fraction("eta", 0.01, 1.0).default("0.95", "PRE-31", "(HPCC paper 5.1)"),
        /// Additive-increase stages before a multiplicative step.
        pub max_stage: u32 = Param::count("max_stage", 0, 1_000)
            .default("5", "PRE-31", "(HPCC paper 5.1)"),
        /// Additive increase: a size, the rate that sends this size in T, or the number of flows on
        /// a link for the paper's rule of thumb.
        pub wai: Increase = Param::either("wai", ADDITIVE_INCREASE)
            .default("\"80B\"", "PRE-31", "(HPCC paper 5.1)"),
        /// Arithmetic: real numbers, whole bits per second as in the ns-3 simulator, or the fixed
        /// point of a NIC's circuit.
        pub arithmetic: Arithmetic = Param::word("arithmetic", Arithmetic::WORDS)
            .default("\"real\"", "PRE-83", "real numbers, a window"),
        /// Lowest rate.
        pub min_rate_bps: f64 = Param::rate("min_rate")
            .default("\"100Mbps\"", "PRE-32", "(authors' code of HPCC)"),
        /// When the window changes, and from which reference window.
        pub reaction: Reaction = Param::word("reaction", Reaction::WORDS)
            .default(
                "\"combined\"",
                "PRE-71",
                "per ACK from a reference of the round trip (HPCC paper 3.2)",
            ),
        /// Which bytes switches count in telemetry: those that leave, or those that join the queue.
        pub counted: Counter = Param::word("rate", Counter::WORDS)
            .default("\"tx\"", "PRE-71", "what a port sends, not what it gets (HPCC paper 3.4)"),
        /// α of α-fairness: one window for each link, and their α-mean is the flow's window;
        /// `"max-min"`: the smallest window.
        pub alpha: Fairness = Param::number("alpha_fair", 0.05, 100.0).or(&["off", "max-min"])
            .default("\"off\"", "PRE-71", "one window, of the fullest link (HPCC paper 3.2)"),
        /// How the window is divided: exactly, or by a table of reciprocals.
        pub division_by: DivisionBy = Param::word("division", DivisionBy::WORDS)
            .default("\"exact\"", "PRE-71", "no look-up table, our choice"),
        /// Largest relative error of the table.
        pub division: Division = Param::fraction("epsilon", 0.0001, 0.5)
            .default("0.01", "PRE-71", "of the \"table\"; it then takes 9 KB (HPCC paper 4.3)")
            .with("division", &["table"], "`division` is not \"table\""),
        /// Links without a queue are ignored, except once per round trip.
        pub sample_feedback: bool = Param::flag("sample_feedback")
            .default("false", "PRE-71", "every ACK counts for every link (HPCC paper 3.2)"),
    } + {
        /// How switches write telemetry.
        pub format: IntFormat = IntFormat::Exact,
    }
}

impl HpccConfig {
    /// Returns W_AI of a flow on this path, in bytes.
    #[inline]
    #[must_use]
    pub fn additive_bytes(&self, path: &PathInfo) -> f64 {
        match self.wai {
            Increase::Flows(n) => Self::rule_of_thumb_wai(path.initial_window_bytes(), self.eta, n),
            other => other.bytes(path), // NS3-34: bytes per base round trip
        }
    }

    /// Returns the constants of this path and the table of reciprocals. `None` unless HPCC computes
    /// in fixed point.
    #[inline]
    fn fixed(&self, path: &PathInfo) -> Option<(Constants, &Reciprocals)> {
        match (self.arithmetic, &self.division, self.format) {
            (Arithmetic::Fixed, Division::Table(table), IntFormat::Wire(layout)) => {
                Some((Constants::new(self, path, layout), table))
            }
            _ => None,
        }
    }

    /// The additive increase in bytes that keeps queues near zero with up to `flows` concurrent
    /// flows on a link, when a flow starts with `initial_window_bytes`.
    #[must_use]
    pub fn rule_of_thumb_wai(initial_window_bytes: f64, eta: f64, flows: u32) -> f64 {
        initial_window_bytes * (1.0 - eta) / f64::from(flows.max(1)) // HPCC-23
    }
}

/// State of one flow.
#[derive(Clone, Debug)]
pub struct Hpcc {
    /// Telemetry of the last ACK (L in the paper).
    links: [IntHop; MAX_HOPS],
    /// Number of links in the telemetry of the last ACK; 0 before the first.
    hops: u8,
    /// pathID in the telemetry of the last ACK.
    path: u16,
    /// Additive steps since the last multiplicative one.
    inc_stage: u32,
    /// An ACK beyond this byte belongs to a packet sent after the last change of the reference.
    last_update_seq: u64,
    /// U: smoothed bytes in flight over B·T on the fullest link.
    utilisation: f64,
    /// Reference window W^c in bytes.
    reference_bytes: f64,
    /// Window W in bytes.
    window_bytes: f64,
    /// Rate R in bits per second.
    rate_bps: f64,
    /// Window and utilisation per link. Created at the first telemetry, if α-fairness is set.
    registers: Option<Box<Registers>>,
}

/// Measurement of one link between two ACKs: the utilisation u', and the time τ between them.
#[derive(Clone, Copy)]
struct Measured {
    in_flight: f64,
    elapsed_ps: f64,
}

impl Scheme for Hpcc {
    const NAME: &'static str = "hpcc";
    const TITLE: &'static str = "HPCC";
    const ABOUT: &'static str =
        "A window from the telemetry of the fullest link of the path (Algorithm 1).";
    // HPCC-21, HPCC-22
    type Params = HpccConfig;
    type Config = HpccConfig;
    const PROVIDES: Properties = Properties::of(&[Property::ReadsInt, Property::Scannable]);

    fn configure(config: HpccConfig) -> Result<HpccConfig, Conflict> {
        let is_plain = config.reaction == Reaction::Combined
            && config.alpha == Fairness(None)
            && !config.sample_feedback;
        if config.arithmetic == Arithmetic::Fixed
            && !(is_plain && matches!(config.division, Division::Table(_)))
        {
            return Err(Conflict::new(
                &["arithmetic"],
                "HPCC in fixed point is Algorithm 1 with the table of reciprocals, without variants",
                "set division = \"table\", reaction = \"combined\", alpha_fair = \"off\" and sample_feedback = false",
            ));
        }
        Ok(config)
    }

    fn complete(config: HpccConfig, around: &Around) -> HpccConfig {
        HpccConfig {
            format: around.telemetry,
            ..config
        }
    }

    // NS3-60, HPCC-41
    fn rules(config: &HpccConfig) -> Vec<Rule> {
        let mut rules = Vec::new();
        let has_more = config.reaction == Reaction::PerAck
            || config.alpha.0.is_some_and(f64::is_finite)
            || config.division != Division::Exact;
        if has_more {
            rules.extend(crate::rules! {
                wrong ["hpcc"] with [ScanArbiter]:
                    "HPCC with whole rates reacts per ACK and round trip or per round trip, to one link, and divides \
                     exactly",
                    "set hpcc.reaction to \"combined\" or \"per-rtt\", alpha_fair to \"off\" or \"max-min\", and \
                     division = \"exact\"";
            });
        }
        if config.arithmetic == Arithmetic::Fixed {
            rules.extend(crate::rules! {
                wrong ["hpcc", "int"] with [ExactInt]:
                    "HPCC in fixed point reads the records of 8 bytes, and telemetry is exact numbers",
                    "set int.format = \"wire\"";
            });
        }
        rules
    }
}

impl Control for Hpcc {
    /// Creates a flow that starts at line rate.
    fn new(config: &HpccConfig, path: &PathInfo, _now: Time) -> Self {
        // HPCC-05: first window and rate
        let (initial_bytes, rate_bps) = match config.fixed(path) {
            None => (path.initial_window_bytes(), path.line_bps),
            Some((constants, _)) => (
                fixed::real(constants.most, fixed::WINDOW_BITS),
                fixed::bits_per_second(constants.line),
            ),
        };
        Self {
            links: [IntHop::default(); MAX_HOPS],
            hops: 0,
            path: 0,
            inc_stage: 0,
            last_update_seq: 0,
            utilisation: 1.0, // HPCC-15: first U
            reference_bytes: initial_bytes,
            window_bytes: initial_bytes,
            rate_bps,
            registers: None,
        }
    }

    /// NewAck of Algorithm 1 in the paper.
    fn on_feedback(
        &mut self,
        config: &HpccConfig,
        path: &PathInfo,
        _now: Time,
        feedback: &Feedback<'_>,
    ) {
        let Feedback::Ack(ack) = feedback else {
            return; // HPCC-25: losses do not change the window.
        };
        let Some(stack) = ack.int.filter(|stack| !stack.hops.is_empty()) else {
            return; // HPCC-04: no telemetry
        };
        if self.hops == 0 {
            // HPCC-09: the first ACK with telemetry is only recorded
            self.last_update_seq = ack.snd_nxt;
            self.record(config, stack);
        } else if self.path != stack.path || usize::from(self.hops) != stack.hops.len() {
            self.record(config, stack); // HPCC-10: another path
        } else {
            self.react(config, path, ack, stack);
        }
    }

    #[inline]
    fn rate_bps(&mut self, _config: &HpccConfig, _path: &PathInfo, _now: Time) -> f64 {
        self.rate_bps
    }

    #[inline]
    fn window(&mut self, _config: &HpccConfig, _path: &PathInfo, _now: Time) -> u64 {
        floor_window(self.window_bytes) // HPCC-06: limit of the bytes in flight
    }

    fn whole_rates(config: &HpccConfig) -> Option<bool> {
        Some(config.arithmetic == Arithmetic::Integer)
    }

    fn counter(config: &HpccConfig) -> Counter {
        config.counted
    }
}

impl Hpcc {
    /// U, the smoothed bytes in flight over B·T on the path's fullest link.
    #[must_use]
    pub fn utilisation(&self) -> f64 {
        self.utilisation
    }

    /// Returns W, the window in bytes, with its fraction.
    #[must_use]
    pub fn window_bytes(&self) -> f64 {
        self.window_bytes
    }

    /// W^c, the reference window in bytes.
    #[must_use]
    pub fn reference_bytes(&self) -> f64 {
        self.reference_bytes
    }

    fn record(&mut self, config: &HpccConfig, stack: Telemetry<'_>) {
        let hops = stack.hops;
        self.links[..hops.len()].copy_from_slice(hops);
        self.hops = hops.len() as u8;
        self.path = stack.path;
        if let Fairness(Some(alpha)) = config.alpha {
            // HPCC-32: one window per link
            let registers = Registers::new(alpha, hops.len(), self.window_bytes);
            match &mut self.registers {
                Some(old) => **old = registers,
                none => *none = Some(Box::new(registers)),
            }
        }
    }

    fn react(&mut self, config: &HpccConfig, path: &PathInfo, ack: &Ack<'_>, stack: Telemetry<'_>) {
        // True if the ACK is for a packet that was sent after the last update of the reference
        // window.
        let newer = ack.seq > self.last_update_seq;
        if config.reaction == Reaction::PerRtt && !newer {
            return; // HPCC-34: one change per round trip
        }
        let update = newer || config.reaction == Reaction::PerAck; // HPCC-18, HPCC-33
        let adjusted = if let Some((constants, table)) = config.fixed(path) {
            self.react_fixed(&constants, table, stack, update)
        } else if self.registers.is_some() {
            self.adjust_registers(config, path, stack, (newer, update))
        } else {
            self.measure(config, path, stack, newer) && self.adjust(config, path, update)
        };
        if adjusted && update {
            self.last_update_seq = ack.snd_nxt;
        }
    }

    /// Runs MeasureInflight of Algorithm 1: updates U from the fullest link and keeps the new
    /// telemetry. Returns false if the ACK has no new measurement.
    fn measure(
        &mut self,
        config: &HpccConfig,
        path: &PathInfo,
        stack: Telemetry<'_>,
        newer: bool,
    ) -> bool {
        let reading = Reading::new(config, path, newer);
        let fullest = if reading.is_plain() {
            self.fullest::<true>(&reading, stack)
        } else {
            self.fullest::<false>(&reading, stack)
        };
        let Some(link) = fullest else {
            return false;
        };
        self.utilisation = reading.smooth(self.utilisation, link);
        true
    }

    /// Returns the measurement of the fullest link of the path. `PLAIN` selects a faster loop, for
    /// exact telemetry of which no link is left out.
    #[inline]
    fn fullest<const PLAIN: bool>(
        &mut self,
        reading: &Reading,
        stack: Telemetry<'_>,
    ) -> Option<Measured> {
        let mut fullest: Option<Measured> = None;
        for (last, new) in self.links.iter_mut().zip(stack.hops) {
            let Some(link) = reading.link::<PLAIN>(last, new) else {
                continue;
            };
            if fullest.is_none_or(|most| link.in_flight > most.in_flight) {
                fullest = Some(link); // HPCC-13
            }
        }
        fullest
    }

    /// Runs ComputeWind of Algorithm 1 and the update of the reference window that follows in
    /// NewAck.
    fn adjust(&mut self, config: &HpccConfig, path: &PathInfo, update: bool) -> bool {
        let multiply = self.utilisation >= config.eta || self.inc_stage >= config.max_stage;
        let wanted = compute_window(
            config,
            path,
            self.reference_bytes,
            self.utilisation,
            multiply,
        );
        self.set_window(config, path, wanted);
        if update {
            // HPCC-18: update of the reference window
            self.inc_stage = if multiply { 0 } else { self.inc_stage + 1 };
            self.reference_bytes = self.window_bytes;
        }
        true
    }

    /// Runs MeasureInflight and ComputeWind with a window for each link.
    // HPCC-32: one window per link
    fn adjust_registers(
        &mut self,
        config: &HpccConfig,
        path: &PathInfo,
        stack: Telemetry<'_>,
        (newer, update): (bool, bool),
    ) -> bool {
        let Some(registers) = &mut self.registers else {
            return false;
        };
        let reading = Reading::new(config, path, newer);
        let mut heard = false;
        for (at, (last, new)) in self.links.iter_mut().zip(stack.hops).enumerate() {
            if let Some(link) = reading.link::<false>(last, new) {
                registers.hear(at, |utilisation| reading.smooth(utilisation, link));
                heard = true;
            }
        }
        if !heard {
            return false;
        }
        let wanted = registers.adjust(config, path, update);
        self.utilisation = registers.utilisation();
        self.set_window(config, path, wanted);
        if update {
            self.reference_bytes = self.window_bytes;
        }
        true
    }

    /// Runs MeasureInflight and ComputeWind in fixed point. The state stores the integers of the
    /// circuit as real numbers, which represent these integers exactly.
    // HPCC-41: the NIC's circuit
    fn react_fixed(
        &mut self,
        constants: &Constants,
        table: &Reciprocals,
        stack: Telemetry<'_>,
        update: bool,
    ) -> bool {
        let mut fullest: Option<(u64, u64)> = None;
        for (last, new) in self.links.iter_mut().zip(stack.hops) {
            let Some(link) = constants.link(table, last, new) else {
                continue;
            };
            *last = *new; // HPCC-19
            if fullest.is_none_or(|most| link.0 > most.0) {
                fullest = Some(link); // HPCC-13
            }
        }
        let Some((in_flight, elapsed_ns)) = fullest else {
            return false;
        };
        let before = fixed::units(self.utilisation, fixed::SHARE_BITS);
        let utilisation = constants.smooth(before, in_flight, elapsed_ns);
        let multiply = utilisation >= constants.eta || self.inc_stage >= constants.max_stage;
        let reference = fixed::units(self.reference_bytes, fixed::WINDOW_BITS);
        let window = constants.window(table, reference, utilisation, multiply);
        self.utilisation = fixed::real(utilisation, fixed::SHARE_BITS);
        self.window_bytes = fixed::real(window, fixed::WINDOW_BITS);
        self.rate_bps = fixed::bits_per_second(constants.rate(window));
        if update {
            // HPCC-18: update of the reference window
            self.inc_stage = if multiply { 0 } else { self.inc_stage + 1 };
            self.reference_bytes = self.window_bytes;
        }
        true
    }

    fn set_window(&mut self, config: &HpccConfig, path: &PathInfo, wanted_bytes: f64) {
        let most = path.initial_window_bytes();
        let least = path.bytes_per_rtt(config.min_rate_bps).min(most);
        self.window_bytes = wanted_bytes.max(least).min(most); // HPCC-21
        self.rate_bps = path.rate_of_window(self.window_bytes); // HPCC-07
    }
}

/// Values that are equal for all links when HPCC reads the telemetry of an ACK.
struct Reading {
    format: IntFormat,
    /// True if links that report no queue are ignored.
    skip_empty: bool,
    base_rtt_ps: f64,
}

impl Reading {
    #[inline]
    fn new(config: &HpccConfig, path: &PathInfo, newer: bool) -> Self {
        Self {
            format: config.format,
            skip_empty: config.sample_feedback && !newer, // HPCC-38
            base_rtt_ps: path.base_rtt_ps.max(1) as f64,  // HPCC-08
        }
    }

    /// True if the telemetry is exact and no link is ignored.
    #[inline]
    fn is_plain(&self) -> bool {
        self.format == IntFormat::Exact && !self.skip_empty
    }

    /// Returns u' of one link, and replaces the last telemetry of the link by the new one. `None`
    /// if the ACK has no new measurement of this link.
    #[inline]
    fn link<const PLAIN: bool>(&self, last: &mut IntHop, new: &IntHop) -> Option<Measured> {
        let format = if PLAIN { IntFormat::Exact } else { self.format };
        let (elapsed_ps, sent_bytes) = format.since(last, new);
        if elapsed_ps == 0 || new.rate_mbps == 0 {
            return None; // HPCC-20: stamp not later
        }
        if !PLAIN && self.skip_empty && new.qlen_bytes == 0 {
            return None;
        }
        let elapsed_ps = elapsed_ps as f64;
        let bytes_per_ps = f64::from(new.rate_mbps) * 1.25e-7;
        let tx_rate = sent_bytes as f64 / elapsed_ps; // HPCC-11, HPCC-31
        let queued = f64::from(new.qlen_bytes.min(last.qlen_bytes));
        let in_flight = (queued / self.base_rtt_ps + tx_rate) / bytes_per_ps; // HPCC-12
        *last = *new; // HPCC-19
        Some(Measured {
            in_flight,
            elapsed_ps,
        })
    }

    /// Returns the smoothed utilisation U after a measurement.
    #[inline]
    fn smooth(&self, utilisation: f64, link: Measured) -> f64 {
        let weight = link.elapsed_ps.min(self.base_rtt_ps) / self.base_rtt_ps; // HPCC-14: at most 1
        (1.0 - weight) * utilisation + weight * link.in_flight // HPCC-15
    }
}

/// Returns the window after a multiplicative or additive step from the reference window.
#[inline]
fn compute_window(
    config: &HpccConfig,
    path: &PathInfo,
    reference_bytes: f64,
    utilisation: f64,
    multiply: bool,
) -> f64 {
    let wai_bytes = config.additive_bytes(path);
    if !multiply {
        return reference_bytes + wai_bytes; // HPCC-17: additive step
    }
    let over = utilisation / config.eta;
    let share = match &config.division {
        Division::Exact => reference_bytes / over,
        Division::Table(table) => reference_bytes * table.inverse(over), // HPCC-35: from a table
    };
    share + wai_bytes // HPCC-16: multiplicative step
}
