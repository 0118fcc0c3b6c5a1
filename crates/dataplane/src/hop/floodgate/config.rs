//! Configuration of Floodgate at a switch, with one field per design choice (`specs/floodgate.md`).

use crate::classes::{DATA_CLASS, TRAFFIC_CLASSES};
use crate::config::{Alpha, MAX_CLASSES};
use crate::declaration::{Declaration, Needs, NetworkFacts};
use crate::param::{Field, Kind, MAX_SIZE_BYTES, Value};
use crate::properties::{Choice, Finding, Properties, Property, Rule};
use crate::units::{Rate, Time};

/// A number of bytes, or a multiple of the hop BDP of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// A number of bytes.
    Bytes(u64),
    /// A multiple of the hop BDP of a port.
    HopBdps(Alpha),
}

impl Field for Amount {
    fn of(value: Option<&Value>) -> Self {
        match value {
            Some(Value::Number(bdps)) => Self::HopBdps(Alpha::new(*bdps)),
            bytes => Self::Bytes(u64::of(bytes)),
        }
    }
}

impl Amount {
    /// Kinds of scenario values that this type accepts.
    pub const KINDS: &'static [Kind] = &[
        Kind::Size {
            min: 1,
            max: MAX_SIZE_BYTES,
        },
        Kind::Multiple {
            of: "hop BDPs",
            min: 0.01,
            max: 10_000.0,
        },
    ];

    /// Returns the number of bytes, for a port with this rate and one-way propagation delay.
    #[must_use]
    pub const fn bytes(self, (rate, delay_ps): (Rate, Time)) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::HopBdps(factor) => factor.of(rate.bytes_in(2 * delay_ps)),
        }
    }
}

crate::words! {
    /// Unit of a window.
    pub enum WindowUnit {
        /// Packets.
        Packets = "packets",
        /// Bytes on the wire.
        Bytes = "bytes",
    }
}

crate::words! {
    /// Event for which a packet earns its credit.
    pub enum CreditAt {
        /// The packet leaves the switch through its egress port.
        Departure = "departure",
        /// The packet joins its egress queue.
        Forwarding = "forwarding",
        /// The packet leaves its VOQ if it was parked, else it leaves through its egress port.
        Voq = "voq",
    }
}

/// Aggregation of credits into frames at a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aggregation {
    /// T: time between two credit frames of a port, in ps.
    pub interval_ps: Time,
    /// Number of bytes whose credits are sent without waiting for the timer; `None`: credits always
    /// wait for the timer.
    pub byte_counter: Option<u64>,
    /// Period of the packet generator that creates credit frames, in ps; `None`: frames are created
    /// at any time.
    pub generator_ps: Option<Time>,
}

/// Configuration of credits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditConfig {
    /// Aggregation of credits; `None`: one frame for each packet.
    pub aggregation: Option<Aggregation>,
    /// Time at which a credit is earned.
    pub at: CreditAt,
    /// Parked bytes of a destination above which its credits are withheld. Multiples of the hop BDP
    /// use the fastest port.
    pub delay: Option<Amount>,
    /// Size of a credit frame without entries, in bytes.
    pub frame_bytes: u16,
    /// Size of one destination's entry in a credit frame, in bytes.
    pub entry_bytes: u16,
}

/// Configuration of the windows per destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowConfig {
    /// Unit of the windows.
    pub unit: WindowUnit,
    /// Initial window. If credits are aggregated, C·T (rate times credit interval) is added to
    /// multiples of the hop BDP.
    pub initial: Amount,
    /// Number of table entries to which a hash assigns destinations; `None`: one entry per
    /// destination.
    pub entries: Option<u32>,
    /// Interval at which entries of full windows are removed from the table, in ps.
    pub clear_ps: Option<Time>,
    /// Configuration of credits.
    pub credit: CreditConfig,
    /// Timeout without credits after which a switch sends a switchSYN downstream, in ps; `None`: no
    /// sequence numbers.
    pub numbers_timeout_ps: Option<Time>,
}

/// Pause and resume thresholds of a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseThresholds {
    /// Bytes above which the destination is paused.
    pub off: Amount,
    /// The destination is resumed when it has this many bytes less than `off`.
    pub on_below_bytes: u64,
}

crate::words! {
    /// Bytes that are compared with the threshold for pausing a host.
    pub enum HostPauseBy {
        /// All parked bytes for the destination.
        Held = "held",
        /// Bytes from this host for the destination, queued or parked.
        Ingress = "ingress",
    }
}

/// Condition under which a packet is parked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldBy {
    /// Floodgate: the window of the destination has no room.
    Windows(WindowConfig),
    /// PFC with tag: a next hop has paused the destination.
    Tags(PauseThresholds),
}

/// Number of VOQs of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Voqs {
    /// One VOQ for each destination that needs one.
    PerDestination,
    /// A fixed number of VOQs.
    Pool {
        /// Number of VOQs.
        count: u16,
        /// True if the VOQs form two groups in switches that forward both up and down.
        groups: bool,
    },
}

crate::words! {
    /// Egress queue of a released packet.
    pub enum Release {
        /// The ordinary egress queue.
        Shared = "shared",
        /// A separate queue, which sends only if the queues of other packets are empty.
        Behind = "behind",
    }
}

/// Configuration of Floodgate, or of PFC with tag, at a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloodgateConfig {
    /// Condition under which packets are parked.
    pub by: HoldBy,
    /// VOQs that contain the parked packets.
    pub voqs: Voqs,
    /// Egress queue of released packets.
    pub release: Release,
    /// True if the queue length for ECN includes the bytes that are parked for the egress port.
    pub ecn_sees_held: bool,
    /// True if INT of a parked packet reports the bytes of all VOQs.
    pub int_sees_held: bool,
    /// Thresholds of pauses of hosts by destination; `None`: hosts are not paused.
    pub host_pause: Option<PauseThresholds>,
    /// Bytes that are compared with the thresholds of host pauses.
    pub host_pause_by: HostPauseBy,
    /// Period at which the ingress pipeline receives changes of the VOQs, in ps; `None`:
    /// immediately.
    pub vup_ps: Option<Time>,
    /// Size of a pause, resume or switchSYN frame, in bytes.
    pub frame_bytes: u16,
}

impl FloodgateConfig {
    /// Returns the configuration of the windows; `None` for PFC with tag.
    #[must_use]
    pub const fn windows(&self) -> Option<&WindowConfig> {
        match &self.by {
            HoldBy::Windows(windows) => Some(windows),
            HoldBy::Tags(_) => None,
        }
    }

    /// Returns true if pauses of a host depend on the bytes that this host has sent.
    #[must_use]
    pub fn pauses_by_ingress(&self) -> bool {
        self.host_pause.is_some() && self.host_pause_by == HostPauseBy::Ingress
    }

    /// Practical design of §4 of the paper.
    // FG-02, FG-10, FG-23, FG-26
    pub const PRACTICAL: Self = Self {
        by: HoldBy::Windows(WindowConfig {
            unit: WindowUnit::Packets,
            initial: Amount::HopBdps(Alpha(1 << 16)),
            entries: None,
            clear_ps: None,
            credit: CreditConfig {
                aggregation: Some(Aggregation {
                    interval_ps: 10_000_000,
                    byte_counter: None,
                    generator_ps: None,
                }),
                at: CreditAt::Departure,
                delay: Some(Amount::HopBdps(Alpha(10 << 16))),
                frame_bytes: 34,
                entry_bytes: 22,
            },
            numbers_timeout_ps: Some(1_000_000_000),
        }),
        voqs: Voqs::Pool {
            count: 100,
            groups: true,
        },
        release: Release::Shared,
        ecn_sees_held: true,
        int_sees_held: true,
        host_pause: None,
        host_pause_by: HostPauseBy::Held,
        vup_ps: None,
        frame_bytes: 64,
    };

    /// Ideal design of §3.2, with the pauses of §4.3.
    // FG-02, FG-22, FG-40, FG-41
    pub const IDEAL: Self = Self {
        by: HoldBy::Windows(WindowConfig {
            unit: WindowUnit::Packets,
            initial: Amount::HopBdps(Alpha(3 << 15)),
            entries: None,
            clear_ps: None,
            credit: CreditConfig {
                aggregation: None,
                at: CreditAt::Departure,
                delay: None,
                frame_bytes: 34,
                entry_bytes: 22,
            },
            numbers_timeout_ps: Some(1_000_000_000),
        }),
        voqs: Voqs::PerDestination,
        host_pause: Some(PauseThresholds {
            off: Amount::HopBdps(Alpha(1 << 16)),
            on_below_bytes: 0,
        }),
        ..Self::PRACTICAL
    };

    /// PFC with tag (Appendix B), with the VOQs of the practical design.
    // FG-45, FG-46
    pub const TAGS: Self = Self {
        by: HoldBy::Tags(PauseThresholds {
            off: Amount::HopBdps(Alpha(1 << 16)),
            on_below_bytes: 0,
        }),
        ..Self::PRACTICAL
    };
}

impl Choice for FloodgateConfig {
    // FG-30
    fn provides(&self) -> Properties {
        let windows = self.windows();
        let is_numbered = windows.is_some_and(|windows| windows.numbers_timeout_ps.is_some());
        Properties::NONE.with(Property::NumbersData, is_numbered)
    }

    fn rules(&self) -> Vec<Rule> {
        let mut rules = crate::rules! {
            wrong ["backpressure", "control"] with [ReceiverDriven]:
                "Floodgate and the receivers of `control` both limit the packets to a destination, without coordination",
                "set backpressure = \"none\"";
        };
        if self.release == Release::Behind {
            rules.extend(crate::rules! {
                wrong ["floodgate", "pfc-tag", "classify"] without [OneQueue, HashedQueues]:
                    "`release` = \"behind\" needs one queue for all released packets, but `classify` assigns queues \
                     to flows",
                    "set release = \"shared\", or classify to \"fifo\" or \"hash\"";
            });
        }
        rules
    }
}

impl Declaration for FloodgateConfig {
    fn name(&self) -> &'static str {
        match self.by {
            HoldBy::Windows(_) => "Floodgate",
            HoldBy::Tags(_) => "PFC with tag",
        }
    }

    fn needs(&self) -> Needs {
        Needs {
            queues_behind: self.release == Release::Behind,
            int_reports_voqs: self.int_sees_held,
            ..Needs::default()
        }
    }

    fn smallest_frame_bytes(&self) -> u16 {
        let credit = self
            .windows()
            .map(|w| w.credit.frame_bytes + w.credit.entry_bytes);
        self.frame_bytes.min(credit.unwrap_or(u16::MAX))
    }

    fn network(&self, facts: &NetworkFacts, say: &mut dyn FnMut(Finding)) {
        // FG-15: each data class needs an additional class.
        let data = facts.classes - usize::from(DATA_CLASS);
        if self.release == Release::Behind && facts.classes + data > MAX_CLASSES {
            say(Finding::wrong(
                &[
                    "scheme.floodgate.release",
                    "scheme.pfc-tag.release",
                    "traffic",
                ],
                format!(
                    "`release` = \"behind\" serves at most {} traffic classes, and there are \
                     {data}",
                    TRAFFIC_CLASSES / 2
                ),
                "set release = \"shared\", or use fewer classes",
            ));
        }
        let windows = self.windows();
        if facts.lossy && windows.is_some_and(|w| w.numbers_timeout_ps.is_none()) {
            say(Finding::doubtful(
                &["scheme.floodgate.loss"],
                "links lose data and credits, and without numbers each loss reduces a window",
                "set floodgate.loss = \"numbers\"",
            ));
        }
        if facts.lossy && windows.is_none() {
            say(Finding::doubtful(
                &["topology"],
                "links also lose pauses and resumes of destinations, which are not repeated",
                "a destination whose resume is lost stays paused until the next resume",
            ));
        }
        if facts.racks < 2 {
            say(Finding::doubtful(
                &["scheme.backpressure", "scheme.preset"],
                "all hosts are at one switch, so no packet goes from switch to switch and none \
                 is parked",
                "use a network with several racks, or another scheme",
            ));
        }
    }

    /// Reports windows that cannot be corrected after a link failure. These are windows without
    /// sequence numbers, and windows that several destinations share.
    // LNK-06
    fn failing_links(&self, say: &mut dyn FnMut(Finding)) {
        let Some(windows) = self.windows() else {
            return;
        };
        if windows.numbers_timeout_ps.is_none() {
            say(Finding::wrong(
                &["scheme.floodgate.loss", "topology.failures"],
                "links fail during the run, but without numbers Floodgate's windows never regain \
                 the units that were lost",
                "set scheme.floodgate.loss = \"numbers\"",
            ));
        }
        if windows.entries.is_some() {
            say(Finding::wrong(
                &["scheme.floodgate.table", "topology.failures"],
                "links fail during the run, but window entries that destinations share cannot \
                 follow new routes",
                "set scheme.floodgate.table = \"exact\"",
            ));
        }
    }

    fn idle(&self, counted: &dyn Fn(&str) -> u64, say: &mut dyn FnMut(&'static str)) {
        if counted("floodgate_held") == 0 {
            say("no packet was parked for its destination");
        }
        if self.host_pause.is_some() && counted("floodgate_dst_pauses") == 0 {
            say("no destination was paused at a host");
        }
    }
}
