//! Go-back-N: the receiver accepts packets only in order and reports a gap with a NAK. After a NAK
//! or a timeout, the sender sends all packets from the first missing one again.

use super::arrivals::Arrivals;
use super::{Answer, Data, Lost, News, Progress, Received, Reliability, Reply};
use crate::cc::PathInfo;
use crate::packet::{Kind, flag};
use crate::param::{Conflict, InNetwork, Param};
use crate::properties::{Properties, Property, Rule};
use crate::scheme::Scheme;
use crate::units::{NEVER, Time, US};

/// Parameters of go-back-N.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GoBackNConfig {
    /// Timeout without new acknowledgements, in ps; [`NEVER`] disables the timeout.
    pub timeout_ps: Time,
    /// Minimum time between two NAKs for the same packet, in ps; `None`: the receiver sends one NAK
    /// per missing packet.
    pub nak_interval_ps: Option<Time>,
    /// True if the receiver acknowledges packets that it receives a second time.
    pub acknowledges_repeats: bool,
}

impl GoBackNConfig {
    /// Returns a configuration with one NAK for each missing packet, and ACKs for repeated packets.
    #[must_use]
    pub const fn new(timeout_ps: Time) -> Self {
        Self {
            timeout_ps,
            nak_interval_ps: None,
            acknowledges_repeats: true,
        }
    }
}

/// Sender state of go-back-N: empty, because the flow's packet numbers are sufficient.
#[derive(Clone, Copy, Debug)]
pub struct GoBackN;

crate::words! {
    /// Reaction of the receiver to packets that it receives a second time.
    enum Repeats {
        /// The receiver acknowledges them.
        Acknowledge = "acknowledge",
        /// The receiver ignores them.
        Ignore = "ignore",
    }
}

crate::params! {
    /// Table of go-back-N in a scenario.
    #[derive(Debug)]
    pub struct GoBackNParams {
        /// Time without new acknowledgements after which all unacknowledged packets are sent again.
        timeout_ps: Option<Time> = Param::time("timeout", US).or(&["off"])
            .default("\"10ms\"", "PRE-08", "longer than any queue of these networks, our choice")
            .in_network(InNetwork::Timeout),
        /// Minimum time between two NAKs of the receiver for the same packet.
        nak_interval_ps: Option<Time> = Param::time("nak_interval", 1).or(&["off"])
            .default("\"off\"", "PRE-85", "one NAK per missing packet, the timeout does the rest, our choice")
            .in_network(InNetwork::Timeout),
        /// Reaction of the receiver to packets that it receives a second time.
        repeats: Repeats = Param::word("repeats", Repeats::WORDS)
            .default("\"acknowledge\"", "PRE-85", "a packet had before is acknowledged again, our choice"),
    }
}

impl Scheme for GoBackN {
    const NAME: &'static str = "go-back-n";
    type Params = GoBackNParams;
    type Config = GoBackNConfig;
    const PROVIDES: Properties = Properties::of(&[Property::Repairs, Property::RepeatsPackets]);

    // NS3-22
    fn configure(of: GoBackNParams) -> Result<GoBackNConfig, Conflict> {
        Ok(GoBackNConfig {
            timeout_ps: of.timeout_ps.unwrap_or(NEVER),
            nak_interval_ps: of.nak_interval_ps,
            acknowledges_repeats: of.repeats == Repeats::Acknowledge,
        })
    }

    fn rules(config: &GoBackNConfig) -> Vec<Rule> {
        let mut rules = crate::rules! {
            doubtful ["path", "recovery"] with [Reorders]:
                "go-back-N takes every packet that overtakes another for a loss",
                "set recovery = \"none\" on a lossless network, or \"irn\" or \"ideal\", which take packets in any order";
        };
        if config.timeout_ps == NEVER {
            let message = "without a timeout a flow whose last packet is dropped waits for ever";
            let hint = "give go-back-n.timeout a time";
            rules.extend(crate::rules! {
                doubtful ["go-back-n", "admission"] with [MayDrop] without [NoOverflow, Reorders]: message, hint;
                doubtful ["go-back-n", "admission"] with [Guard] without [Reorders]: message, hint;
            });
        }
        rules
    }
}

impl Reliability for GoBackN {
    #[inline]
    fn timeout_ps(config: &GoBackNConfig, _in_flight: u32) -> Option<Time> {
        Some(config.timeout_ps).filter(|&timeout_ps| timeout_ps != NEVER)
    }

    fn new(_config: &GoBackNConfig, _path: &PathInfo) -> Self {
        Self
    }

    #[inline]
    fn on_reply(&mut self, at: &Progress, reply: &Reply) -> News {
        if !reply.nak {
            return News::acknowledged(reply.newly);
        }
        // NIC-20
        let missing = reply.expected >= at.acked && at.next > at.acked;
        News {
            newly: reply.newly,
            acknowledges: false,
            lost: if missing { Lost::All } else { Lost::Nothing },
        }
    }

    // NIC-21
    fn on_timeout(&mut self, _at: &Progress) -> Lost {
        Lost::All
    }

    #[inline]
    fn on_data(
        config: &GoBackNConfig,
        flow: &mut Received,
        _arrivals: &mut Arrivals,
        data: &Data<'_>,
    ) -> Answer {
        let psn = data.packet.psn;
        if psn == flow.expected {
            // NIC-18: the packet was overtaken by a later one. It was not lost.
            let overtaken = flow.reported == psn && !data.packet.has(flag::RETRANSMITTED);
            return Answer {
                overtaken,
                ..flow.accept(data)
            };
        }
        if psn < flow.expected {
            // NIC-14: the last ACK may have been lost, so it is sent again.
            return Answer::discard(config.acknowledges_repeats.then_some(Kind::Ack));
        }
        // NS3-22: the last NAK for the same packet may have been lost.
        let again = |interval_ps| data.now - flow.reported_ps >= interval_ps;
        if flow.reported == flow.expected && !config.nak_interval_ps.is_some_and(again) {
            return Answer::discard(None);
        }
        // NIC-13: one NAK for each missing packet.
        flow.reported = flow.expected;
        flow.reported_ps = data.now;
        Answer::discard(Some(Kind::Nak))
    }

    fn acknowledges_repeats(config: &GoBackNConfig) -> bool {
        config.acknowledges_repeats
    }
}
