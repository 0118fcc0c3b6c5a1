//! Congestion control of a sender: its rate and its window. Each scheme has a file. This file has
//! the shared code, the trait of all schemes, and their list.
//!
//! No control sets a timer. A control whose paper has timers (DCQCN) computes the ticks that have
//! passed when it is called next. This is exact, because a rate acts only when a packet is sent.

pub mod bolt;
pub mod dcqcn;
pub mod dctcp;
pub mod delay_window;
mod feedback;
pub mod fixed_window;
pub mod hpcc;
pub mod line_rate;
mod mixed;
mod outside;
pub mod powertcp;
pub mod swift;
pub mod theta_powertcp;
pub mod timely;

use std::fmt::Debug;

use crate::added::List;
use crate::int::Counter;
use crate::param::{Field, Kind, MAX_RATE_BPS, Param, Params, Value, Word};
use crate::properties::{Choice, Finding, Properties, Property, Rule};
use crate::scheme::{Configured, Scheme, axis};
use crate::units::{NEVER, Time};
pub use feedback::{Ack, Feedback, Loss, Sent};
pub use mixed::{Mixed, PerClass};
pub(crate) use outside::OutsideFlow;
pub use outside::{Declared, OutsideControl};

axis! {
    /// The configuration of one of the controls.
    #[derive(Clone, Debug, PartialEq)]
    pub enum ControlConfig, CONTROLS, of!, controls! {
        LineRate(line_rate),
        FixedWindow(fixed_window),
        Hpcc(hpcc),
        Dcqcn(dcqcn),
        Timely(timely),
        Dctcp(dctcp),
        DelayWindow(delay_window),
        Swift(swift),
        PowerTcp(powertcp),
        ThetaPowerTcp(theta_powertcp),
        Bolt(bolt),
    }
    outside OutsideControl;
}
pub(crate) use controls;

/// The congestion control of one flow.
pub trait Control: Configured + Debug + Send + Sized + 'static {
    /// Creates the control of a flow that starts at `now`.
    fn new(config: &Self::Config, path: &PathInfo, now: Time) -> Self;

    /// Handles feedback about packets of the flow. A control ignores the kinds that do not
    /// concern it.
    fn on_feedback(
        &mut self,
        config: &Self::Config,
        path: &PathInfo,
        now: Time,
        feedback: &Feedback<'_>,
    );

    /// Handles the start of the transmission of a packet with `bytes` payload bytes. Most controls
    /// do not count bytes.
    #[inline]
    fn on_send(&mut self, _config: &Self::Config, _path: &PathInfo, _now: Time, _bytes: u64) {}

    /// Returns the marks of a data packet that starts its transmission. Switches can change them,
    /// and the ACK returns them ([`Ack::marks`]). Most controls set none.
    #[inline]
    fn mark(&mut self, _config: &Self::Config, _path: &PathInfo, _now: Time, _sent: &Sent) -> u8 {
        0
    }

    /// Returns the pacing rate at `now` in bits per second; infinity: that of the port.
    fn rate_bps(&mut self, config: &Self::Config, path: &PathInfo, now: Time) -> f64;

    /// Returns the limit of payload bytes in flight at `now`; `u64::MAX`: no limit. A packet may
    /// start while fewer bytes than this are in flight, even if it passes the limit: a window can
    /// be smaller than a packet.
    fn window(&mut self, config: &Self::Config, path: &PathInfo, now: Time) -> u64;

    /// Returns the next time at which the window can grow without feedback; [`NEVER`]: it cannot.
    /// The result refers to the last call with a time. Most controls change their window only on
    /// ACKs.
    // NIC-08, DCQCN-24
    #[inline]
    #[must_use]
    fn rises_ps(&self, _config: &Self::Config, _path: &PathInfo) -> Time {
        NEVER
    }

    /// Returns how receivers notify senders of ECN marks; `None`: they do not.
    fn notification(_config: &Self::Config) -> Option<Notification> {
        None
    }

    /// Returns true if it computes with whole bits per second, false if with real numbers; `None`:
    /// the scheme has no such option.
    fn whole_rates(_config: &Self::Config) -> Option<bool> {
        None
    }

    /// Returns which bytes switches count in the telemetry for this control.
    fn counter(_config: &Self::Config) -> Counter {
        Counter::Sent
    }
}

crate::words! {
    /// Real numbers, or integers as in the ns-3 simulator ([`crate::ns3`]).
    pub enum Arithmetic {
        /// Real numbers.
        Real = "real",
        /// Whole bits per second.
        Integer = "integer",
    }
}

/// The parameter `arithmetic`, whose value is an [`Arithmetic`].
pub(crate) const ARITHMETIC: Param =
    Param::word("arithmetic", Arithmetic::WORDS).default("\"real\"", "PRE-83", "real numbers");

/// The limit of the bytes in flight of a scheme that sets a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// No limit.
    None,
    /// BDP × rate / line rate.
    Rate,
    /// One BDP.
    Bdp,
}

impl Field for Limit {
    fn of(value: Option<&Value>) -> Self {
        match value {
            Some(Value::Word(_)) => Self::Bdp,
            Some(Value::Flag(true)) => Self::Rate,
            _ => Self::None,
        }
    }
}

/// The parameter `window`, whose value is a [`Limit`].
pub(crate) const WINDOW: Param =
    Param::flag("window")
        .or(&["bdp"])
        .default("false", "PRE-34", "the +win presets set it");

/// An additive increase of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Increase {
    /// This many bytes.
    Bytes(f64),
    /// Bytes that this rate in bits per second sends in a base round trip.
    Rate(f64),
    /// Initial window divided by this number of flows on a link; HPCC has a rule of its own.
    Flows(u32),
}

impl Increase {
    /// Returns the increase in bytes for a flow on this path.
    // POWER-06
    #[must_use]
    pub fn bytes(self, path: &PathInfo) -> f64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Rate(bps) => path.bytes_per_rtt(bps),
            Self::Flows(flows) => path.initial_window_bytes() / f64::from(flows.max(1)),
        }
    }

    /// Returns the rate in bits per second if the increase is given as a rate.
    #[must_use]
    pub const fn rate_bps(self) -> Option<f64> {
        match self {
            Self::Rate(bps) => Some(bps),
            _ => None,
        }
    }
}

impl Field for Increase {
    fn of(value: Option<&Value>) -> Self {
        match value {
            Some(Value::Rate(bps)) => Self::Rate(*bps as f64),
            Some(Value::Counted(flows)) => Self::Flows(*flows as u32),
            bytes => Self::Bytes(f64::of(bytes)),
        }
    }
}

/// Kinds of values that give an [`Increase`] in a scenario.
const ADDITIVE_INCREASE: &[Kind] = &[
    Kind::Counted {
        noun: "flows",
        min: 1,
        max: 1_000_000,
    },
    Kind::Rate {
        min: 1,
        max: MAX_RATE_BPS,
    },
    Kind::Size {
        min: 1,
        max: 10_000_000,
    },
];

/// How a receiver notifies a sender of ECN marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notification {
    /// The ACK of a marked packet is the notification.
    OnAck,
    /// The receiver sends CNPs as separate frames.
    Frames {
        /// Least time between two CNPs for the same flow, in ps.
        interval_ps: Time,
        /// Bytes of a CNP.
        bytes: u16,
        /// True if intervals run from a flow's first packet on, false if from its last CNP.
        cycle: bool,
        /// True if CNPs have the class of control packets, false if that of data.
        control: bool,
    },
}

/// Properties of the path of a flow, known at its start.
#[derive(Clone, Copy, Debug, Default)]
pub struct PathInfo {
    /// Base round trip T in ps.
    pub base_rtt_ps: Time,
    /// Speed of the sender's port in bits per second.
    pub line_bps: f64,
    /// T · line rate in bytes: the initial window.
    pub bdp_bytes: f64,
    /// Payload bytes of a full packet.
    pub mtu: u32,
    /// Bytes on the wire of a full packet.
    pub frame_bytes: u32,
    /// Number of switches on the shortest path; 0 if no control needs it ([`Property::ReadsHops`]).
    pub hops: u16,
    /// Traffic class of the flow.
    pub class: u8,
}

impl PathInfo {
    /// Returns the window with which a flow can start at line rate, at least one byte.
    #[inline]
    #[must_use]
    pub fn initial_window_bytes(&self) -> f64 {
        self.bdp_bytes.max(1.0)
    }

    /// Returns the bytes that `rate_bps` sends in a base round trip.
    #[inline]
    #[must_use]
    pub fn bytes_per_rtt(&self, rate_bps: f64) -> f64 {
        rate_bps * self.base_rtt_ps.max(1) as f64 / BITS_PS_PER_BYTE_S
    }

    /// Returns the rate in bits per second that sends `bytes` in a base round trip.
    #[inline]
    #[must_use]
    pub fn rate_of_bytes(&self, bytes: f64) -> f64 {
        bytes * BITS_PS_PER_BYTE_S / self.base_rtt_ps.max(1) as f64
    }

    /// Returns the rate in bits per second that a window of `window_bytes` reaches in a base round
    /// trip, at most the line rate.
    #[inline]
    #[must_use]
    pub fn rate_of_window(&self, window_bytes: f64) -> f64 {
        self.rate_of_bytes(window_bytes).min(self.line_bps)
    }

    /// Returns the pacing rate in bits per second for a window in packets. From one packet on it is
    /// unlimited; below, a packet is sent each round trip divided by the window.
    // SWIFT-16, BOLT-18
    #[inline]
    #[must_use]
    pub(crate) fn pace_bps(&self, packets: f64, rtt_ps: Time) -> f64 {
        if packets >= 1.0 {
            return f64::INFINITY;
        }
        f64::from(self.frame_bytes) * packets * BITS_PS_PER_BYTE_S / rtt_ps.max(1) as f64
    }

    /// Returns the window in bytes that allows the whole packets of a window in packets, at least
    /// one.
    // SWIFT-17, BOLT-19
    #[inline]
    #[must_use]
    pub(crate) fn whole_packets(&self, packets: f64) -> u64 {
        let packets = (packets as u64).max(1);
        (packets - 1) * u64::from(self.mtu) + 1
    }
}

/// Bits in a byte times picoseconds in a second.
const BITS_PS_PER_BYTE_S: f64 = 8e12;

/// Returns a window in whole bytes, at least one, so that a flow without packets in flight can
/// always send one.
#[inline]
#[must_use]
pub fn floor_window(bytes: f64) -> u64 {
    // Signed: processors convert to that in one step.
    (bytes as i64).max(1) as u64
}

macro_rules! define {
    ($($name:ident($module:ident),)*) => {
        $(
            impl Listed for $module::$name {
                #[inline]
                fn config(config: &ControlConfig) -> &Self::Config {
                    match config {
                        ControlConfig::$name(config) => config,
                        _ => unreachable!("the sender was made for this configuration"),
                    }
                }
            }
        )*
    };
}
controls! { define }

impl ControlConfig {
    /// Returns the name of the control in sentences.
    #[must_use]
    pub fn title(&self) -> &'static str {
        of!(self, Of(_config) => Of::TITLE, Self::Outside(config) => config.title)
    }

    /// Returns how receivers notify senders of ECN marks; `None`: they do not.
    #[must_use]
    pub fn notification(&self) -> Option<Notification> {
        of!(self, Of(config) => Of::notification(config), Self::Outside(config) => config.notification)
    }

    /// Returns true if the control computes with whole bits per second, false if with real numbers;
    /// `None`: the scheme has no such option.
    #[must_use]
    pub fn whole_rates(&self) -> Option<bool> {
        of!(self, Of(config) => Of::whole_rates(config), Self::Outside(config) => config.whole_rates)
    }

    /// Returns which bytes switches count in the telemetry that the control reads.
    #[must_use]
    pub fn counter(&self) -> Counter {
        of!(self, Of(config) => Of::counter(config), Self::Outside(config) => config.counter())
    }
}

impl Choice for ControlConfig {
    fn provides(&self) -> Properties {
        use Property::{CnpFrames, CnpsWithData, ReadsInt, ReadsSentBytes};
        let own = of!(self, Of(_config) => Of::PROVIDES, Self::Outside(config) => config.provides);
        let (is_frame, is_data) = match self.notification() {
            Some(Notification::Frames { control, .. }) => (true, !control),
            _ => (false, false),
        };
        let own = match self.whole_rates() {
            Some(false) => own.minus(Property::Scannable),
            _ => own,
        };
        own.with(CnpFrames, is_frame)
            .with(CnpsWithData, is_data)
            .with(
                ReadsSentBytes,
                own.has(ReadsInt) && self.counter() == Counter::Sent,
            )
    }

    fn rules(&self) -> Vec<Rule> {
        let (own, title) = (self.provides(), self.title());
        let mut rules = of!(self, Of(config) => Of::rules(config), Self::Outside(config) => config.rules.clone());
        if own.has(Property::ReadsEcn) {
            rules.extend(crate::rules! {
                wrong ["control", "signal"] without [MarksEcn]:
                    "this control reacts to ECN marks, and `signal` sets none", "set signal = \"ecn\"";
            });
        }
        if own.has(Property::ReadsInt) {
            rules.extend(crate::rules! {
                wrong ["control", "signal"] without [WritesInt]:
                    format!("{title} reads INT, and `signal` writes none"), "set signal = \"int\"";
                doubtful ["ack"] with [SparseAcks]:
                    format!("{title} reacts per ACK, and only every n-th packet gets one"),
                    "set ack.every = 1";
            });
            if self.counter() != Counter::Sent {
                rules.extend(crate::rules! {
                    wrong ["control"] with [ReadsSentBytes]:
                        "the controls of two classes read telemetry of different bytes, and switches write one",
                        "set the same `rate` for both";
                });
            }
        }
        if own.has(Property::ReadsNotices) {
            rules.extend(crate::rules! {
                wrong ["notices", "control"] without [SendsNotices]:
                    format!("{title} reacts to notices, and switches send none"), "set notices = \"bolt\"";
                doubtful ["ack"] with [SparseAcks]:
                    format!("{title} reads the marks of each packet, and only every n-th packet gets an ACK"),
                    "set ack.every = 1";
            });
        }
        if self.whole_rates() == Some(true) {
            let keys = of!(
                self,
                Of(_config) => const { &["nic", "control", Of::NAME] },
                Self::Outside(config) => config.whole_rates_keys
            );
            rules.push(Rule::new(whole_rates(keys), &[], &[Property::ScanArbiter]));
        }
        rules
    }
}

/// Finding: a scan of flows as in ns-3 needs whole rates, and whole rates need the scan.
// NS3-60
pub(crate) fn whole_rates(keys: &'static [&'static str]) -> Finding {
    Finding::wrong(
        keys,
        "nic.arbiter = \"scan\" works with whole rates, and only it does",
        "set both: nic.arbiter = \"scan\" and arithmetic = \"integer\" of the control, or neither",
    )
}

/// A control of this crate, for which a NIC can be compiled.
pub(crate) trait Listed: Control {
    /// Returns the parameters of this control from the configuration.
    fn config(config: &ControlConfig) -> &Self::Config;
}

static LIST: List<Word<ControlConfig>> = List::new(CONTROLS);

/// Adds a control from another crate, for [`add_control`](crate::outside::add_control).
pub(crate) fn add<C: Declared>() {
    let declared = Word::of::<C>(|values| {
        let own = C::configure(C::Params::read(values))?;
        Ok(ControlConfig::Outside(OutsideControl::new::<C>(own)))
    });
    LIST.add(declared, |other| other.name == C::NAME, C::NAME);
}

/// Returns all controls: those of this crate, and those that the program added.
#[must_use]
pub fn all() -> &'static [Word<ControlConfig>] {
    LIST.all()
}
