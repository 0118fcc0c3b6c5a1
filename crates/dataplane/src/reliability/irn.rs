//! IRN: the receiver accepts packets in any order and sends a NAK for each packet that arrives
//! after a gap. The sender repeats single packets (rules in `specs/recovery.md`).

use super::arrivals::Arrivals;
use super::numbers::Numbers;
use super::{Answer, Data, Lost, News, Progress, Received, Reliability, Reply};
use crate::cc::PathInfo;
use crate::packet::Kind;
use crate::param::{Conflict, Field, InNetwork, MAX_SIZE_BYTES, Param, Value};
use crate::properties::{Properties, Property, Rule};
use crate::scheme::Scheme;
use crate::units::{NEVER, Time, US};

/// Limit of IRN on the bytes in flight (BDP-FC).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IrnWindow {
    /// One BDP of the path.
    Bdp,
    /// A number of payload bytes.
    Bytes(u64),
    /// No limit.
    Off,
}

impl Field for IrnWindow {
    fn of(value: Option<&Value>) -> Self {
        match value {
            Some(Value::Size(bytes)) => Self::Bytes(*bytes),
            Some(Value::Word("bdp")) => Self::Bdp,
            _ => Self::Off,
        }
    }
}

crate::params! {
    /// Parameters of IRN.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct IrnConfig {
        /// Maximum number of bytes in flight; `"bdp"`: one BDP of the path, `"off"`: no limit by
        /// IRN.
        pub window: IrnWindow = Param::size("window", 1, MAX_SIZE_BYTES).or(&["bdp", "off"])
            .default("\"bdp\"", "PRE-60", "of the longest path, in flight (IRN paper 3.2)"),
        /// Timeout if fewer than `few` packets are in flight.
        pub rto_low_ps: Time = Param::time("rto_low", US)
            .default("\"100us\"", "PRE-60", "with few packets in flight (IRN paper 4.1)")
            .in_network(InNetwork::Timeout),
        /// Timeout if at least `few` packets are in flight.
        pub rto_high_ps: Time = Param::time("rto_high", US)
            .default("\"320us\"", "PRE-60", "else (IRN paper 4.1)").in_network(InNetwork::Timeout),
        /// Number of packets in flight below which the timeout is `rto_low`.
        pub few: u32 = Param::count("few", 0, 1_000_000)
            .default("3", "PRE-60", "packets, fewer are few (IRN paper 3.1)"),
        /// Number of packets by which an acknowledged packet must be later so that a missing one
        /// counts as lost.
        pub lost_after: u32 = Param::count("lost_after", 1, 1_000_000)
            .default("1", "PRE-60", "a packet is lost once a later one is there (IRN paper 3.1)"),
    }
}

impl IrnConfig {
    /// Returns the parameters of the paper, for links of 40 Gb/s.
    #[must_use]
    pub const fn paper() -> Self {
        // REC-21
        Self {
            window: IrnWindow::Bdp,
            rto_low_ps: 100 * US,
            rto_high_ps: 320 * US,
            few: 3,
            lost_after: 1,
        }
    }
}

/// State of one flow at its sender.
#[derive(Clone, Debug)]
pub struct Irn {
    /// Numbers of the packets that have arrived after the first gap.
    sacked: Numbers,
    /// Highest packet number that has arrived after a gap, plus one.
    sacked_end: u32,
    lost_after: u32,
    /// Maximum payload bytes in flight.
    cap_bytes: u64,
    /// The flow is in recovery until all packets below this number are acknowledged.
    recovery_end: u32,
    /// Lost packets below this packet number have been sent again since the last timeout.
    resent_below: u32,
    /// True after a timeout: the next packet to send is the first unacknowledged one.
    repeats_first: bool,
    /// Time at which the packet was repeated after a timeout; [`NEVER`] if no repeated packet is in
    /// flight.
    repeated_ps: Time,
    /// First packet number that had not been sent at the last timeout.
    timeout_next: u32,
    /// Missing packets below this packet number count as lost, because a packet that was sent later
    /// was acknowledged.
    overtaken: u32,
}

impl Scheme for Irn {
    const NAME: &'static str = "irn";
    type Params = IrnConfig;
    type Config = IrnConfig;
    const PROVIDES: Properties = Properties::of(&[
        Property::Repairs,
        Property::AnyOrder,
        Property::RepeatsPackets,
        Property::Selective,
    ]);

    fn configure(config: IrnConfig) -> Result<IrnConfig, Conflict> {
        if config.rto_low_ps > config.rto_high_ps {
            return Err(Conflict::new(
                &["rto_low"],
                "rto_low is above rto_high",
                "rto_low is for flows with few packets in flight, whose queues are short",
            ));
        }
        Ok(config)
    }

    fn rules(config: &IrnConfig) -> Vec<Rule> {
        let message =
            "with PFC nothing is lost, but IRN's timeouts send packets again that pauses hold up";
        let hint = "set admission = \"egress-dynamic\", or raise irn.rto_low and irn.rto_high";
        if config.lost_after != 1 {
            return crate::rules! { doubtful ["recovery", "admission"] with [Pfc]: message, hint; };
        }
        crate::rules! {
            // REC-20
            doubtful ["path", "recovery"] with [Reorders]:
                "IRN sends every packet again that another overtakes",
                "raise irn.lost_after to how far packets of a flow get out of order";
            doubtful ["recovery", "admission"] with [Pfc] without [Reorders]: message, hint;
        }
    }
}

impl Reliability for Irn {
    // REC-16
    fn timeout_ps(config: &IrnConfig, in_flight: u32) -> Option<Time> {
        let few = in_flight < config.few;
        Some(if few {
            config.rto_low_ps
        } else {
            config.rto_high_ps
        })
    }

    fn shortest_timeout_ps(config: &IrnConfig) -> Option<Time> {
        Some(config.rto_low_ps.min(config.rto_high_ps))
    }

    fn new(config: &IrnConfig, path: &PathInfo) -> Self {
        Self {
            sacked: Numbers::default(),
            sacked_end: 0,
            lost_after: config.lost_after.max(1),
            // REC-15
            cap_bytes: match config.window {
                IrnWindow::Bdp => path.initial_window_bytes() as u64,
                IrnWindow::Bytes(bytes) => bytes,
                IrnWindow::Off => u64::MAX,
            },
            recovery_end: 0,
            resent_below: 0,
            repeats_first: false,
            repeated_ps: NEVER,
            timeout_next: 0,
            overtaken: 0,
        }
    }

    fn next_lost(&self, acked: u32) -> Option<u32> {
        if self.repeats_first {
            return Some(acked); // REC-17
        }
        // REC-13, REC-18
        let limit = self
            .sacked_end
            .saturating_sub(self.lost_after)
            .max(self.overtaken);
        let from = self.resent_below.max(acked);
        if from >= limit {
            return None;
        }
        Some(self.sacked.first_absent(from)).filter(|&psn| psn < limit)
    }

    fn sent_again(&mut self, now: Time, psn: u32) {
        self.resent_below = psn + 1; // REC-14
        if self.repeats_first {
            self.repeats_first = false;
            self.repeated_ps = now;
        }
    }

    fn on_reply(&mut self, at: &Progress, reply: &Reply) -> News {
        let known = u64::from(self.sacked.forget_below(at.acked)) * u64::from(at.mtu);
        let mut newly = reply.newly.saturating_sub(known);
        // REC-11: the bytes left in the flow identify the packet that is answered.
        let left = reply.remaining.div_ceil(u64::from(at.mtu)) as u32;
        let psn = at.packets - left;
        if reply.nak && psn >= at.acked && self.sacked.insert(psn) {
            debug_assert!(psn < at.next, "packet {psn} was not sent"); // REC-11
            self.sacked_end = self.sacked_end.max(psn + 1);
            newly += u64::from(at.mtu);
        }
        // REC-18
        if reply.sent_ps >= self.repeated_ps {
            self.repeated_ps = NEVER;
            self.overtaken = self.timeout_next;
        }
        // REC-12
        let loss = at.acked >= self.recovery_end && self.next_lost(at.acked).is_some();
        if loss {
            self.recovery_end = at.next;
        }
        News {
            newly,
            acknowledges: true, // REC-19
            lost: if loss { Lost::Some } else { Lost::Nothing },
        }
    }

    // REC-17
    fn on_timeout(&mut self, at: &Progress) -> Lost {
        self.repeats_first = true;
        self.resent_below = at.acked;
        self.recovery_end = at.next;
        self.timeout_next = at.next;
        self.repeated_ps = NEVER;
        Lost::Some
    }

    // REC-15
    fn flight(&self, in_flight: u64, window: u64) -> (u64, u64) {
        (in_flight, window.min(self.cap_bytes))
    }

    #[inline]
    fn on_data(
        _config: &IrnConfig,
        flow: &mut Received,
        arrivals: &mut Arrivals,
        data: &Data<'_>,
    ) -> Answer {
        if data.packet.psn == flow.expected && arrivals.is_empty() {
            return flow.accept(data);
        }
        around_gaps(flow, arrivals, data)
    }
}

/// Returns the decision on a packet that opens, closes or may close a gap.
fn around_gaps(flow: &mut Received, arrivals: &mut Arrivals, data: &Data<'_>) -> Answer {
    let (number, psn, before) = (data.packet.flow, data.packet.psn, flow.expected);
    let (fresh, expected) = arrivals.take(number, psn, before);
    flow.expected = expected;
    // REC-11: each packet after a gap causes a NAK.
    let beyond_gap = psn > before;
    let last = !beyond_gap && fresh && expected == data.packets();
    if !beyond_gap {
        flow.unacknowledged += expected - before;
    }
    // REC-11: while a packet is missing, each packet is acknowledged immediately.
    let urgent = last || data.asks() || expected != before + 1 || arrivals.has_gap(number);
    let due = !beyond_gap && (urgent || flow.unacknowledged >= data.ack_every);
    if due {
        flow.unacknowledged = 0;
    }
    Answer {
        reply: match beyond_gap {
            true => Some(Kind::Nak),
            false => due.then_some(Kind::Ack),
        },
        fresh,
        last,
        overtaken: false,
    }
}
