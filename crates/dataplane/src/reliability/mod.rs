//! Loss recovery of senders and receivers. Each scheme has its own file. This file has the trait
//! that they implement, the list of schemes, and their common types. The rules are in
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
use crate::properties::{Choice, Properties, Property, Rule};
use crate::scheme::{Scheme, axis};
use crate::units::{NEVER, Time};
use arrivals::Arrivals;
pub use go_back_n::GoBackNConfig;
pub use ideal::IdealConfig;
pub use irn::{IrnConfig, IrnWindow};
pub(crate) use received::{Answer, Data, Received};
pub use unrepaired::UnrepairedConfig;

axis! {
    /// Configured scheme of loss recovery.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub enum Recovery, RECOVERIES, of!, reliabilities! {
        GoBackN(go_back_n),
        Irn(irn),
        Ideal(ideal),
        Unrepaired(unrepaired),
    }
    /// A receiver-driven transport repairs losses itself.
    also Own = "own";
}

/// Position of a flow in its packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// All packets below this number are acknowledged.
    pub acked: u32,
    /// Number of the next packet. After going back it is a packet that was sent before.
    pub next: u32,
    /// Number of packets of the flow.
    pub packets: u32,
    /// Payload bytes of a full packet.
    pub mtu: u16,
}

/// An ACK or NAK at the sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reply {
    /// True for a NAK, which reports a missing packet.
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
    /// No packet.
    Nothing,
    /// Single packets, which [`Reliability::next_lost`] returns.
    Some,
    /// All packets that are not acknowledged. The flow goes back to the first of them.
    All,
}

/// Result of a reply for the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct News {
    /// Payload bytes that are acknowledged for the first time.
    pub newly: u64,
    /// True if the reply acknowledges the packet that it answers, so the congestion control must
    /// process it.
    pub acknowledges: bool,
    /// Losses that no earlier reply reported.
    pub lost: Lost,
}

impl News {
    /// Returns the result of a plain acknowledgement of `newly` bytes.
    #[inline]
    pub const fn acknowledged(newly: u64) -> Self {
        Self {
            newly,
            acknowledges: true,
            lost: Lost::Nothing,
        }
    }
}

/// A scheme of loss recovery. An instance is the state of one flow at its sender.
pub(crate) trait Reliability: Scheme + Debug + Sized {
    /// Returns the timeout without progress for this many packets in flight, or `None` without a
    /// timeout.
    fn timeout_ps(_config: &Self::Config, _in_flight: u32) -> Option<Time> {
        None
    }

    /// Returns the shortest timeout.
    fn shortest_timeout_ps(config: &Self::Config) -> Option<Time> {
        Self::timeout_ps(config, u32::MAX)
    }

    /// Creates the state of a flow that starts.
    fn new(config: &Self::Config, path: &PathInfo) -> Self;

    /// Handles an ACK or NAK. `at` includes the cumulative acknowledgement.
    fn on_reply(&mut self, at: &Progress, reply: &Reply) -> News;

    /// Handles a timeout.
    fn on_timeout(&mut self, at: &Progress) -> Lost;

    /// Handles a notice from the node that dropped packet `psn` with `payload` bytes.
    fn on_drop_notice(&mut self, _psn: u32, _payload: u64) -> Lost {
        Lost::Nothing
    }

    /// Returns the lost packet that must be sent again before any new packet.
    #[inline]
    fn next_lost(&self, _acked: u32) -> Option<u32> {
        None
    }

    /// Records that packet `psn`, which [`Self::next_lost`] returned, is sent.
    fn sent_again(&mut self, _now: Time, _psn: u32) {}

    /// Adjusts the bytes in flight and the window of the congestion control, for the next new packet.
    #[inline]
    fn flight(&self, in_flight: u64, window: u64) -> (u64, u64) {
        (in_flight, window)
    }

    /// Decides on a data packet at the receiver. `arrivals` belongs to all flows of the receiver.
    fn on_data(
        config: &Self::Config,
        flow: &mut Received,
        arrivals: &mut Arrivals,
        data: &Data<'_>,
    ) -> Answer;

    /// Returns true if the receiver acknowledges repeated packets of a complete flow.
    fn acknowledges_repeats(_config: &Self::Config) -> bool {
        true
    }
}

macro_rules! define {
    ($($name:ident($module:ident),)*) => {
        /// State of a flow at its sender under the configured scheme.
        #[derive(Clone, Debug)]
        pub(crate) enum Repair {
            $($name(Box<$module::$name>),)*
        }

        impl Repair {
            /// Creates the state of a flow that starts.
            pub fn new(recovery: &Recovery, path: &PathInfo) -> Self {
                match recovery {
                    $(Recovery::$name(config) => {
                        Self::$name(Box::new($module::$name::new(config, path)))
                    })*
                    Recovery::Own => unreachable!("a transport of its own sends the data"),
                }
            }
        }

        /// Calls a method of the configured scheme.
        macro_rules! each {
            ($self:expr, $repair:ident => $call:expr) => {
                match $self {
                    $(Repair::$name($repair) => $call,)*
                }
            };
        }
    };
}
reliabilities! { define }

/// Properties of the recovery of receiver-driven transports.
const OWN: Properties = Properties::of(&[
    Property::Repairs,
    Property::AnyOrder,
    Property::RepeatsPackets,
    Property::Selective,
    Property::OwnRecovery,
]);

impl Choice for Recovery {
    fn provides(&self) -> Properties {
        self.properties()
    }

    fn rules(&self) -> Vec<Rule> {
        let own = || {
            crate::rules! {
                wrong ["recovery", "control"] without [ReceiverDriven]:
                    "recovery = \"own\" is that of receiver-driven transports, and `control` is another",
                    "set recovery = \"go-back-n\"";
            }
        };
        of!(self, Of(config) => Of::rules(config), Self::Own => own())
    }
}

impl Recovery {
    /// Returns the properties of the scheme.
    #[inline]
    #[must_use]
    pub const fn properties(&self) -> Properties {
        of!(self, Of(_config) => Of::PROVIDES, Self::Own => OWN)
    }

    /// Returns the timeout without progress for this many packets in flight, or `None` without a
    /// timeout.
    #[inline]
    #[must_use]
    pub fn timeout_ps(&self, in_flight: u32) -> Option<Time> {
        of!(self, Of(config) => Of::timeout_ps(config, in_flight), Self::Own => None)
    }

    /// Returns the shortest timeout.
    #[inline]
    #[must_use]
    pub fn shortest_timeout_ps(&self) -> Option<Time> {
        of!(self, Of(config) => Of::shortest_timeout_ps(config), Self::Own => None)
    }

    /// Decides on a data packet at the receiver.
    #[inline]
    pub(crate) fn on_data(
        &self,
        flow: &mut Received,
        arrivals: &mut Arrivals,
        data: &Data<'_>,
    ) -> Answer {
        of!(
            self,
            Of(config) => Of::on_data(config, flow, arrivals, data),
            Self::Own => unreachable!("a transport of its own receives the data")
        )
    }

    /// Returns true if the receiver acknowledges repeated packets of a complete flow.
    pub(crate) fn acknowledges_repeats(&self) -> bool {
        of!(self, Of(config) => Of::acknowledges_repeats(config), Self::Own => true)
    }

    /// Recovery without retransmissions.
    pub const NONE: Self = Self::Unrepaired(UnrepairedConfig);

    /// Returns go-back-N with this timeout and the default behaviour otherwise.
    #[must_use]
    pub const fn go_back_n(timeout_ps: Time) -> Self {
        Self::GoBackN(GoBackNConfig::new(timeout_ps))
    }

    /// Returns ideal retransmission with this delay of notices; `None`: the propagation delay of
    /// the return path.
    #[must_use]
    pub const fn ideal(delay_ps: Option<Time>) -> Self {
        Self::Ideal(IdealConfig { delay_ps })
    }

    /// Returns the configuration of ideal retransmission, if selected. The network then sends
    /// notices of drops.
    // REC-30
    #[must_use]
    pub const fn notices(&self) -> Option<IdealConfig> {
        match self {
            Self::Ideal(config) => Some(*config),
            _ => None,
        }
    }

    /// Returns the timeout of a scheme that then repeats all unacknowledged packets and sends no
    /// others; [`NEVER`] if it has no timeout.
    // ENG-14
    #[must_use]
    pub const fn resend_all_ps(&self) -> Option<Time> {
        match self {
            Self::GoBackN(config) => Some(config.timeout_ps),
            _ => None,
        }
    }

    /// Returns true if a flow can wait forever for packets whose loss is not reported.
    #[must_use]
    pub fn lacks_timeout(&self) -> bool {
        self.resend_all_ps()
            .is_some_and(|timeout_ps| timeout_ps >= NEVER / 2)
    }

    /// Returns true if a receiver-driven transport repairs losses itself.
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
