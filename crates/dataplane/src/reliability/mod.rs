//! Reliability: what a sender and a receiver do about lost packets. One file for each scheme; this file
//! has the trait that they implement, the list, and the types that they share. The rules are in
//! `specs/recovery.md` and `specs/nic.md`.

pub(crate) mod arrivals;
pub mod go_back_n;
pub mod ideal;
pub mod irn;
mod numbers;
mod received;
pub mod unrepaired;

use std::fmt::Debug;

use crate::cc::PathInfo;
use crate::param::{Conflict, Param, Values};
use crate::units::{NEVER, Time};
use arrivals::Arrivals;
pub use go_back_n::GoBackNConfig;
pub use ideal::IdealConfig;
pub use irn::{IrnConfig, IrnWindow};
pub(crate) use received::{Answer, Data, Received};
pub use unrepaired::UnrepairedConfig;

/// The list of all schemes, handed to the macro `$then`: type, module and configuration. A new scheme is
/// a module and a line here.
macro_rules! reliabilities {
    ($then:ident) => {
        $then! {
            GoBackN(go_back_n, GoBackNConfig),
            Irn(irn, IrnConfig),
            Ideal(ideal, IdealConfig),
            Unrepaired(unrepaired, UnrepairedConfig),
        }
    };
}

/// General facts about a scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Properties {
    /// Lost packets are sent again.
    pub repairs: bool,
    /// The receiver accepts packets in any order.
    pub any_order: bool,
    /// The same packet can arrive twice.
    pub repeats: bool,
    /// The sender repeats single packets, so that packets do not leave in the order of their numbers.
    pub selective: bool,
}

impl Properties {
    /// True if the sender repeats packets although an ACK only has the number of packets that arrived, and does not
    /// report which ones.
    #[must_use]
    pub const fn repeats_by_count(self) -> bool {
        self.selective && !self.repeats
    }
}

/// The parts of a scenario that a scheme may not suit.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings {
    /// Packets of a flow take several paths.
    pub sprays: bool,
    /// Switches drop packets.
    pub drops: bool,
    /// PFC prevents drops.
    pub pfc: bool,
}

/// The position of a flow in its packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// All packets below this number are acknowledged.
    pub acked: u32,
    /// Number of the next packet that was never sent, or that is sent again after going back.
    pub next: u32,
    /// Packets of the flow.
    pub packets: u32,
    /// Payload bytes of a full packet.
    pub mtu: u16,
}

/// An ACK or NAK at the sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reply {
    /// It reports a missing packet.
    pub nak: bool,
    /// Number of the packet that the receiver expects.
    pub expected: u32,
    /// Bytes from the packet that it answers to the end of the flow.
    pub remaining: u64,
    /// Time at which the packet that it answers was sent.
    pub sent_ps: Time,
    /// Payload bytes that the cumulative acknowledgement covers for the first time.
    pub newly: u64,
}

/// Packets that a sender now considers lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// None.
    Nothing,
    /// Single packets, which [`Reliability::next_lost`] returns.
    Some,
    /// All packets that are not acknowledged. The flow goes back to the first of them.
    All,
}

/// What a sender learns from a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct News {
    /// Payload bytes that are now known to have arrived, and were not before.
    pub newly: u64,
    /// The reply acknowledges the packet that it answers, so the congestion control reads it.
    pub acknowledges: bool,
    /// Losses that no earlier reply showed.
    pub lost: Lost,
}

impl News {
    /// A plain acknowledgement of `newly` bytes.
    #[inline]
    pub const fn acknowledged(newly: u64) -> Self {
        Self {
            newly,
            acknowledges: true,
            lost: Lost::Nothing,
        }
    }
}

/// A scheme of loss recovery. A value is the state of one flow at its sender.
pub(crate) trait Reliability: Debug + Sized {
    /// Its parameters.
    type Config: Copy + Debug + PartialEq;
    /// Value of the key `recovery` in scenarios, and name of the table of its parameters.
    const NAME: &'static str;
    /// Declaration of its parameters.
    const PARAMS: &'static [Param];
    /// General facts.
    const PROPERTIES: Properties;

    /// Returns the configuration for values of [`Self::PARAMS`].
    ///
    /// # Errors
    /// Values that contradict each other.
    fn configure(values: &Values) -> Result<Self::Config, Conflict>;

    /// Returns the first part of the surroundings that the scheme does not suit.
    fn warning(_config: &Self::Config, _around: Surroundings) -> Option<Conflict> {
        None
    }

    /// Time without progress that means a loss, with this many packets in flight. `None`: no timeout.
    fn timeout_ps(_config: &Self::Config, _in_flight: u32) -> Option<Time> {
        None
    }

    /// The shortest timeout.
    fn shortest_timeout_ps(config: &Self::Config) -> Option<Time> {
        Self::timeout_ps(config, u32::MAX)
    }

    /// State of a flow that starts.
    fn new(config: &Self::Config, path: &PathInfo) -> Self;

    /// Handles an ACK or NAK. `at` includes the cumulative acknowledgement.
    fn on_reply(&mut self, at: &Progress, reply: &Reply) -> News;

    /// Handles a timeout.
    fn on_timeout(&mut self, at: &Progress) -> Lost;

    /// Handles a notice from the node that dropped packet `psn` with `payload` bytes.
    fn on_drop_notice(&mut self, _psn: u32, _payload: u64) -> Lost {
        Lost::Nothing
    }

    /// The lost packet that is sent again before any new packet.
    #[inline]
    fn next_lost(&self, _acked: u32) -> Option<u32> {
        None
    }

    /// Packet `psn`, which [`Self::next_lost`] returned, is sent.
    fn sent_again(&mut self, _now: Time, _psn: u32) {}

    /// Adjusts the bytes in flight and the window of the congestion control, for the next new packet.
    #[inline]
    fn flight(&self, in_flight: u64, window: u64) -> (u64, u64) {
        (in_flight, window)
    }

    /// The receiver's half: decides on a data packet. `arrivals` belongs to all flows of the receiver.
    fn on_data(
        config: &Self::Config,
        flow: &mut Received,
        arrivals: &mut Arrivals,
        data: &Data<'_>,
    ) -> Answer;

    /// True if the receiver acknowledges repeated packets of a complete flow.
    fn acknowledges_repeats(_config: &Self::Config) -> bool {
        true
    }
}

/// The declaration of a scheme of the list, as data.
#[derive(Clone, Copy, Debug)]
pub struct Declaration {
    /// Value of the key `recovery` in scenarios, and name of the table of its parameters.
    pub name: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// Makes its configuration from values.
    pub configure: fn(&Values) -> Result<Recovery, Conflict>,
}

macro_rules! define {
    ($($name:ident($module:ident, $config:ident),)*) => {
        /// The configured scheme of loss recovery.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Recovery {
            $(
                #[doc = concat!("See [`", stringify!($module), "`].")]
                $name($config),
            )*
            /// A receiver-driven transport repairs losses itself.
            Own,
        }

        /// The state of a flow at its sender.
        #[derive(Clone, Debug)]
        pub(crate) enum Repair {
            $($name(Box<$module::$name>),)*
        }

        /// All schemes, in the order of the list.
        pub const RECOVERIES: &[Declaration] = &[$(
            Declaration {
                name: $module::$name::NAME,
                params: $module::$name::PARAMS,
                configure: |values| $module::$name::configure(values).map(Recovery::$name),
            },
        )*];

        impl Recovery {
            /// Values of the key `recovery`.
            pub const NAMES: &[&str] = &[$($module::$name::NAME,)* Self::OWN_NAME];
        }

        /// Evaluates an expression with the type of the scheme and its configuration, or another one for
        /// [`Recovery::Own`].
        macro_rules! of {
            ($self:expr, $scheme:ident, $own_config:ident => $call:expr, $own:expr) => {
                match $self {
                    $(Recovery::$name($own_config) => {
                        type $scheme = $module::$name;
                        $call
                    })*
                    Recovery::Own => $own,
                }
            };
        }

        impl Repair {
            /// The state of a flow that starts.
            pub fn new(recovery: &Recovery, path: &PathInfo) -> Self {
                match recovery {
                    $(Recovery::$name(config) => {
                        Self::$name(Box::new($module::$name::new(config, path)))
                    })*
                    Recovery::Own => unreachable!("a transport of its own sends the data"),
                }
            }
        }

        /// Calls a method of whichever scheme it is.
        macro_rules! each {
            ($self:expr, $repair:ident => $call:expr) => {
                match $self {
                    $(Repair::$name($repair) => $call,)*
                }
            };
        }
    };
}
reliabilities!(define);

/// Facts about the recovery of receiver-driven transports.
const OWN: Properties = Properties {
    repairs: true,
    any_order: true,
    repeats: true,
    selective: true,
};

impl Recovery {
    const OWN_NAME: &str = "own";

    /// General facts about the scheme.
    #[inline]
    #[must_use]
    pub const fn properties(&self) -> Properties {
        of!(self, Scheme, _config => Scheme::PROPERTIES, OWN)
    }

    /// Returns the first part of the surroundings that the scheme does not suit.
    #[must_use]
    pub fn warning(&self, around: Surroundings) -> Option<Conflict> {
        of!(self, Scheme, config => Scheme::warning(config, around), None)
    }

    /// Time without progress that means a loss, with this many packets in flight. `None`: no timeout.
    #[inline]
    #[must_use]
    pub fn timeout_ps(&self, in_flight: u32) -> Option<Time> {
        of!(self, Scheme, config => Scheme::timeout_ps(config, in_flight), None)
    }

    /// The shortest timeout.
    #[inline]
    #[must_use]
    pub fn shortest_timeout_ps(&self) -> Option<Time> {
        of!(self, Scheme, config => Scheme::shortest_timeout_ps(config), None)
    }

    /// The receiver's half: decides on a data packet.
    #[inline]
    pub(crate) fn on_data(
        &self,
        flow: &mut Received,
        arrivals: &mut Arrivals,
        data: &Data<'_>,
    ) -> Answer {
        of!(
            self,
            Scheme,
            config => Scheme::on_data(config, flow, arrivals, data),
            unreachable!("a transport of its own receives the data")
        )
    }

    /// True if the receiver acknowledges repeated packets of a complete flow.
    pub(crate) fn acknowledges_repeats(&self) -> bool {
        of!(self, Scheme, config => Scheme::acknowledges_repeats(config), true)
    }

    /// Nothing is repaired.
    pub const NONE: Self = Self::Unrepaired(UnrepairedConfig);

    /// Go-back-N with this timeout, else with the default behaviour.
    #[must_use]
    pub const fn go_back_n(timeout_ps: Time) -> Self {
        Self::GoBackN(GoBackNConfig::new(timeout_ps))
    }

    /// Ideal retransmission with this delay of notices; `None`: the propagation delay of the path back.
    #[must_use]
    pub const fn ideal(delay_ps: Option<Time>) -> Self {
        Self::Ideal(IdealConfig { delay_ps })
    }

    /// Configuration of ideal retransmission, if it is that: the network sends notices of drops.
    // REC-30
    #[must_use]
    pub const fn notices(&self) -> Option<IdealConfig> {
        match self {
            Self::Ideal(config) => Some(*config),
            _ => None,
        }
    }

    /// Timeout of a scheme that then sends again what it sent before, and nothing else; [`NEVER`] if it has
    /// no timeout.
    // ENG-14
    #[must_use]
    pub const fn resend_all_ps(&self) -> Option<Time> {
        match self {
            Self::GoBackN(config) => Some(config.timeout_ps),
            _ => None,
        }
    }

    /// True if a flow can wait forever for packets that are lost without a trace.
    #[must_use]
    pub fn lacks_timeout(&self) -> bool {
        self.resend_all_ps()
            .is_some_and(|timeout_ps| timeout_ps >= NEVER / 2)
    }

    /// True if a receiver-driven transport repairs losses itself.
    #[must_use]
    pub const fn is_own(&self) -> bool {
        matches!(self, Self::Own)
    }
}

impl Repair {
    /// See [`Reliability::on_reply`].
    #[inline]
    pub fn on_reply(&mut self, at: &Progress, reply: &Reply) -> News {
        each!(self, repair => repair.on_reply(at, reply))
    }

    /// See [`Reliability::on_timeout`].
    pub fn on_timeout(&mut self, at: &Progress) -> Lost {
        each!(self, repair => repair.on_timeout(at))
    }

    /// See [`Reliability::on_drop_notice`].
    pub fn on_drop_notice(&mut self, psn: u32, payload: u64) -> Lost {
        each!(self, repair => repair.on_drop_notice(psn, payload))
    }

    /// See [`Reliability::next_lost`].
    #[inline]
    pub fn next_lost(&self, acked: u32) -> Option<u32> {
        each!(self, repair => repair.next_lost(acked))
    }

    /// See [`Reliability::sent_again`].
    #[inline]
    pub fn sent_again(&mut self, now: Time, psn: u32) {
        each!(self, repair => repair.sent_again(now, psn));
    }

    /// See [`Reliability::flight`].
    #[inline]
    pub fn flight(&self, in_flight: u64, window: u64) -> (u64, u64) {
        each!(self, repair => repair.flight(in_flight, window))
    }
}
