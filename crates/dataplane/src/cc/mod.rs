//! Congestion control of a sender: how fast, and how much in flight. One file for each scheme; here is
//! what they share, the trait that they implement, and the list of all.
//!
//! Nothing here sets a timer: controls that the papers describe with timers (DCQCN) replay the ticks
//! that have passed whenever they are called, which is exact because a rate has no effect before the
//! next packet is sent.

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
use crate::int::{Counter, IntFormat};
use crate::param::{Conflict, Field, Kind, MAX_RATE_BPS, Param, Params, Value, Values};
use crate::units::{NEVER, Time};
pub use feedback::{Ack, Feedback, Loss, Sent};
pub use mixed::{Mixed, PerClass};
pub use outside::OutsideControl;
pub(crate) use outside::OutsideFlow;

/// The list of all controls, handed to the macro `$then`: the name of the type, and its module. A new
/// control is a module and a line here.
macro_rules! controls {
    ($then:ident) => {
        $then! {
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
    };
}
pub(crate) use controls;

/// The congestion control of one flow.
pub trait Control: Debug + Send + Sized + 'static {
    /// The parameters of the scheme.
    type Config: Clone + Debug + PartialEq + Send + Sync;

    /// The control of a flow that starts at `now`. The clocks of all schemes here start with the first
    /// thing that they hear from the network.
    fn new(config: &Self::Config, path: &PathInfo, now: Time) -> Self;

    /// Handles what the sender learned about its packets. A control ignores the kinds that do not
    /// concern it, so that a new kind changes no existing control.
    fn on_feedback(
        &mut self,
        config: &Self::Config,
        path: &PathInfo,
        now: Time,
        feedback: &Feedback<'_>,
    );

    /// A packet of `bytes` payload bytes starts its transmission. Most controls do not count bytes.
    #[inline]
    fn on_send(&mut self, _config: &Self::Config, _path: &PathInfo, _now: Time, _bytes: u64) {}

    /// Returns the marks of a data packet that starts its transmission. Switches can change them,
    /// and the ACK returns them ([`Ack::marks`]). Most controls set none.
    #[inline]
    fn mark(&mut self, _config: &Self::Config, _path: &PathInfo, _now: Time, _sent: &Sent) -> u8 {
        0
    }

    /// Pacing rate at `now` in bits per second; infinity means the port's own speed.
    fn rate_bps(&mut self, config: &Self::Config, path: &PathInfo, now: Time) -> f64;

    /// Most payload bytes in flight at `now`; `u64::MAX` means no limit. A packet may start while
    /// fewer bytes than this are in flight, even if it passes the limit: a window can be smaller
    /// than a packet.
    fn window(&mut self, config: &Self::Config, path: &PathInfo, now: Time) -> u64;

    /// When the window may next grow though nothing comes back; [`NEVER`]: it cannot. As of the last
    /// call that took a time. Most schemes change their windows on acknowledgements only.
    // NIC-08, DCQCN-24
    #[inline]
    #[must_use]
    fn rises_ps(&self, _config: &Self::Config, _path: &PathInfo) -> Time {
        NEVER
    }
}

/// What a control declares beside its hooks: reading and checking of scenarios and their documents follow
/// from it.
pub trait Scheme: Control {
    /// Its word in scenarios, and the name of the table of its parameters.
    const NAME: &'static str;
    /// Its name in sentences.
    const TITLE: &'static str;
    /// What it does, in one sentence.
    const ABOUT: &'static str;
    /// Its parameters ([`params!`](crate::params)); often they are the configuration.
    type Params: Params;
    /// What it needs of switches and receivers.
    const NEEDS: Needs;

    /// Returns the configuration for values of its parameters.
    ///
    /// # Errors
    /// Values that contradict each other.
    fn configure(params: Self::Params) -> Result<Self::Config, Conflict>;

    /// Returns how receivers notify its flows of marks, if they do.
    fn notification(_config: &Self::Config) -> Option<Notification> {
        None
    }

    /// Returns true if it computes with integer rates; `None`: it has no such option.
    fn whole_rates(_config: &Self::Config) -> Option<bool> {
        None
    }

    /// Which bytes switches count in the telemetry that it reads.
    fn counter(_config: &Self::Config) -> Counter {
        Counter::Sent
    }

    /// Its configuration where switches write telemetry in this format.
    fn with_telemetry(config: Self::Config, _format: IntFormat) -> Self::Config {
        config
    }

    /// Returns what of the configuration does not work with telemetry of this format.
    fn telemetry_conflict(_config: &Self::Config, _format: IntFormat) -> Option<Conflict> {
        None
    }
}

crate::words! {
    /// Whether whole numbers take the place of real ones, as in the ns-3 simulator ([`crate::ns3`]).
    pub enum Arithmetic {
        /// Real numbers.
        Real = "real",
        /// Whole bits per second.
        Integer = "integer",
    }
}

/// The parameter of this type.
pub(crate) const ARITHMETIC: Param =
    Param::word("arithmetic", Arithmetic::WORDS).default("\"real\"", "PRE-83", "real numbers");

/// The limit of the bytes in flight of a scheme that sets a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// There is none.
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

/// The parameter of this type.
pub(crate) const WINDOW: Param =
    Param::flag("window")
        .or(&["bdp"])
        .default("false", "PRE-34", "the +win presets set it");

/// An additive increase of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Increase {
    /// This many bytes.
    Bytes(f64),
    /// What this rate in bits per second sends in a base round trip.
    Rate(f64),
    /// By a rule for this many flows on a link.
    Flows(u32),
}

impl Increase {
    /// Returns it in bytes, for a flow on this path; for flows the initial window is divided by their number.
    // POWER-06
    #[must_use]
    pub fn bytes(self, path: &PathInfo) -> f64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Rate(bps) => path.bytes_per_rtt(bps),
            Self::Flows(flows) => path.initial_window_bytes() / f64::from(flows.max(1)),
        }
    }

    /// Returns the rate in bits per second, if it is one.
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

/// The values of an [`Increase`].
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

/// What a control needs of switches and receivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// It reacts to ECN marks.
    pub ecn: bool,
    /// It reads telemetry.
    pub int: bool,
    /// It reacts to congestion notification packets.
    pub cnp: bool,
    /// It reacts to notices of switches.
    pub notices: bool,
    /// It uses what it knows of the path: base round trip and BDP.
    pub path: bool,
    /// It limits what is in flight, or its pace.
    pub limits: bool,
    /// It reads how many switches are on the path ([`PathInfo::hops`]).
    pub hops: bool,
}

impl Needs {
    /// A control that goes by nothing but its own acknowledgements.
    pub const NOTHING: Self = Self {
        ecn: false,
        int: false,
        cnp: false,
        notices: false,
        path: true,
        limits: true,
        hops: false,
    };

    /// What flows need of which some need this and some the other.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            ecn: self.ecn || other.ecn,
            int: self.int || other.int,
            cnp: self.cnp || other.cnp,
            notices: self.notices || other.notices,
            path: self.path || other.path,
            limits: self.limits && other.limits,
            hops: self.hops || other.hops,
        }
    }
}

/// How a receiver notifies a sender of marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notification {
    /// The ACK of a marked packet is one.
    OnAck,
    /// By frames of their own.
    Frames {
        /// Least time between two of them for the same flow, in ps.
        interval_ps: Time,
        /// Bytes of the frame.
        bytes: u16,
        /// Intervals run from a flow's first packet on, not from its last CNP.
        cycle: bool,
        /// It goes in the class of control, else in that of data.
        control: bool,
    },
}

/// The declaration of a control, as data.
#[derive(Clone, Copy, Debug)]
pub struct Declaration {
    /// Its word in scenarios, and the name of the table of its parameters.
    pub name: &'static str,
    /// Its name in sentences.
    pub title: &'static str,
    /// What it does, in one sentence.
    pub about: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// What it needs of switches and receivers.
    pub needs: Needs,
    /// Returns its configuration for values.
    pub configure: fn(&Values) -> Result<ControlConfig, Conflict>,
}

impl Declaration {
    /// Returns the declaration of a control whose configuration `configure` makes.
    pub(crate) const fn of<C: Scheme>(
        configure: fn(&Values) -> Result<ControlConfig, Conflict>,
    ) -> Self {
        Self {
            name: C::NAME,
            title: C::TITLE,
            about: C::ABOUT,
            params: C::Params::PARAMS,
            needs: C::NEEDS,
            configure,
        }
    }
}

/// What a flow knows of its path when it starts.
#[derive(Clone, Copy, Debug, Default)]
pub struct PathInfo {
    /// Base round trip T in ps.
    pub base_rtt_ps: Time,
    /// Speed of the sender's port in bits per second.
    pub line_bps: f64,
    /// T · line rate, in bytes: the initial window.
    pub bdp_bytes: f64,
    /// Payload bytes of a full packet.
    pub mtu: u32,
    /// Bytes on the wire of a full packet.
    pub frame_bytes: u32,
    /// Switches on the shortest path; 0 where no control needs them ([`Needs::hops`]).
    pub hops: u16,
    /// Traffic class of the flow.
    pub class: u8,
}

impl PathInfo {
    /// The window with which a flow can start at line rate, at least one byte.
    #[inline]
    #[must_use]
    pub fn initial_window_bytes(&self) -> f64 {
        self.bdp_bytes.max(1.0)
    }

    /// Bytes that `rate_bps` sends in a base round trip.
    #[inline]
    #[must_use]
    pub fn bytes_per_rtt(&self, rate_bps: f64) -> f64 {
        rate_bps * self.base_rtt_ps.max(1) as f64 / BITS_PS_PER_BYTE_S
    }

    /// The rate in bits per second that sends `bytes` in a base round trip.
    #[inline]
    #[must_use]
    pub fn rate_of_bytes(&self, bytes: f64) -> f64 {
        bytes * BITS_PS_PER_BYTE_S / self.base_rtt_ps.max(1) as f64
    }

    /// The rate in bits per second that a window of `window_bytes` reaches in a base round trip,
    /// the line's at most.
    #[inline]
    #[must_use]
    pub fn rate_of_window(&self, window_bytes: f64) -> f64 {
        self.rate_of_bytes(window_bytes).min(self.line_bps)
    }

    /// Pacing rate in bits per second of a window in packets: none from one packet on, and below it
    /// a full packet per round trip over the window.
    // SWIFT-16, BOLT-18
    #[inline]
    #[must_use]
    pub(crate) fn pace_bps(&self, packets: f64, rtt_ps: Time) -> f64 {
        if packets >= 1.0 {
            return f64::INFINITY;
        }
        f64::from(self.frame_bytes) * packets * BITS_PS_PER_BYTE_S / rtt_ps.max(1) as f64
    }

    /// The window in bytes with which whole packets of a window in packets are in flight, at least
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

/// A window in whole bytes, at least one: with it a flow whose bytes are all acknowledged can
/// always send a packet.
#[inline]
#[must_use]
pub fn floor_window(bytes: f64) -> u64 {
    // Signed: processors convert to that in one step.
    (bytes as i64).max(1) as u64
}

macro_rules! define {
    ($($name:ident($module:ident),)*) => {
        /// The configuration of one of the controls.
        #[derive(Clone, Debug, PartialEq)]
        pub enum ControlConfig {
            $(
                #[doc = concat!("Of [`", stringify!($name), "`](", stringify!($module), "::", stringify!($name), ").")]
                $name(<$module::$name as Control>::Config),
            )*
            /// Of a control from another crate.
            Outside(OutsideControl),
        }

        /// All controls of this crate, in the order of the list.
        pub const CONTROLS: &[Declaration] = &[$(
            Declaration::of::<$module::$name>(|values| {
                let params = <$module::$name as Scheme>::Params::read(values);
                $module::$name::configure(params).map(ControlConfig::$name)
            }),
        )*];

        /// Calls a function of the scheme of a configuration.
        macro_rules! scheme_of {
            ($of:expr, $Scheme:ident($config:ident) => $call:expr, $outside:expr) => {
                match $of {
                    $(ControlConfig::$name($config) => {
                        type $Scheme = $module::$name;
                        $call
                    })*
                    ControlConfig::Outside($config) => $outside,
                }
            };
        }

        impl ControlConfig {
            /// Returns the same configuration for telemetry of this format.
            #[must_use]
            pub fn with_telemetry(self, format: IntFormat) -> Self {
                match self {
                    $(Self::$name(config) => {
                        Self::$name($module::$name::with_telemetry(config, format))
                    })*
                    Self::Outside(config) => Self::Outside(config.with_telemetry(format)),
                }
            }
        }

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
controls!(define);

impl ControlConfig {
    /// Returns what the control needs of switches and receivers.
    #[must_use]
    pub fn needs(&self) -> Needs {
        scheme_of!(self, Of(config) => { let _ = config; Of::NEEDS }, config.needs)
    }

    /// Returns the name of the control in sentences.
    #[must_use]
    pub fn title(&self) -> &'static str {
        scheme_of!(self, Of(config) => { let _ = config; Of::TITLE }, config.title)
    }

    /// Returns how receivers notify its flows of marks, if they do.
    #[must_use]
    pub fn notification(&self) -> Option<Notification> {
        scheme_of!(self, Of(config) => Of::notification(config), config.notification)
    }

    /// Returns true if it computes with integer rates; `None`: it has no such option.
    #[must_use]
    pub fn whole_rates(&self) -> Option<bool> {
        scheme_of!(self, Of(config) => Of::whole_rates(config), config.whole_rates)
    }

    /// Returns which bytes switches count in the telemetry that the control reads.
    #[must_use]
    pub fn counter(&self) -> Counter {
        scheme_of!(self, Of(config) => Of::counter(config), config.counter())
    }

    /// Returns what of the configuration does not work with telemetry of this format.
    #[must_use]
    pub fn telemetry_conflict(&self, format: IntFormat) -> Option<Conflict> {
        scheme_of!(
            self,
            Of(config) => Of::telemetry_conflict(config, format),
            config.telemetry_conflict(format)
        )
    }
}

/// A control for which a NIC can be compiled.
pub(crate) trait Listed: Control {
    /// Its parameters.
    fn config(config: &ControlConfig) -> &Self::Config;
}

static LIST: List<Declaration> = List::new(CONTROLS);

/// Adds a control for [`add_control`](crate::outside::add_control).
pub(crate) fn add<C: Scheme>() {
    let declared = Declaration::of::<C>(|values| {
        let own = C::configure(C::Params::read(values))?;
        Ok(ControlConfig::Outside(OutsideControl::new::<C>(own)))
    });
    LIST.add(declared, |other| other.name == C::NAME, C::NAME);
}

/// Returns all controls: those of this crate, and those that the program added.
#[must_use]
pub fn all() -> &'static [Declaration] {
    LIST.all()
}
