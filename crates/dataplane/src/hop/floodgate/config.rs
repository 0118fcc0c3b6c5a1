//! What Floodgate at a switch is: plain data, one choice per question (`specs/floodgate.md`).

use crate::classes::{DATA_CLASS, TRAFFIC_CLASSES};
use crate::config::{Alpha, MAX_CLASSES};
use crate::declaration::{Beside, Declaration, Finding, Needs, NetworkFacts, Queues};
use crate::units::{Rate, Time};

/// A number of bytes, or a multiple of what a link holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// This many bytes.
    Bytes(u64),
    /// This many hop BDPs of the port in question.
    HopBdps(Alpha),
}

impl Amount {
    /// In bytes, at a port with this rate and one-way propagation.
    #[must_use]
    pub const fn bytes(self, (rate, delay_ps): (Rate, Time)) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::HopBdps(factor) => factor.of(rate.bytes_in(2 * delay_ps)),
        }
    }
}

/// What a window counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowUnit {
    /// Packets.
    Packets,
    /// Bytes on the wire.
    Bytes,
}

/// When a packet's credit is earned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreditAt {
    /// When it leaves by its egress port.
    Departure,
    /// When it joins its egress queue.
    Forwarding,
    /// When it leaves a VOQ, if it was held, else when it leaves by its egress port.
    Voq,
}

/// Credits aggregated by a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aggregation {
    /// T: time between two frames of a port, ps.
    pub interval_ps: Time,
    /// Credits of a port for this many bytes are sent at once.
    pub byte_counter: Option<u64>,
    /// Frames are made at multiples of this time only, ps.
    pub generator_ps: Option<Time>,
}

/// How credits go back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditConfig {
    /// Aggregated; `None`: a frame for each packet.
    pub aggregation: Option<Aggregation>,
    /// When they are earned.
    pub at: CreditAt,
    /// Withheld while a destination has more than this held (of the fastest port's BDP).
    pub delay: Option<Amount>,
    /// Bytes of a frame without any credit.
    pub frame_bytes: u16,
    /// Bytes for each destination in it.
    pub entry_bytes: u16,
}

/// Windows by destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowConfig {
    /// What is counted.
    pub unit: WindowUnit,
    /// Initial window; a multiple of the hop BDP gets C·T on top where credits are aggregated.
    pub initial: Amount,
    /// Entries that destinations are hashed to; `None`: one for each.
    pub entries: Option<u32>,
    /// Full windows are cleared from the table at this interval, ps.
    pub clear_ps: Option<Time>,
    /// How credits go back.
    pub credit: CreditConfig,
    /// Packets and credits are numbered, and silence of this length is asked about, ps.
    pub numbers_timeout_ps: Option<Time>,
}

/// Thresholds of pauses that name a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseThresholds {
    /// Paused above this.
    pub off: Amount,
    /// Resumed below `off` less this many bytes.
    pub on_below_bytes: u64,
}

/// Which bytes pause a host for a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostPauseBy {
    /// All that are held of the destination.
    Held,
    /// Those that came from this very host for it, queued or held.
    Ingress,
}

/// What decides whether a packet is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldBy {
    /// Floodgate: the destination's window.
    Windows(WindowConfig),
    /// PFC with tag: pauses from downstream that name the destination.
    Tags(PauseThresholds),
}

/// The VOQs of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Voqs {
    /// One for each destination that needs one.
    PerDestination,
    /// This many.
    Pool {
        /// VOQs.
        count: u16,
        /// Switches that forward up and down have two groups.
        groups: bool,
    },
}

/// Which egress queue a released packet joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// That of all packets.
    Shared,
    /// One of its own, which sends when those of other packets are empty.
    Behind,
}

/// Floodgate, or PFC with tag, at a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FloodgateConfig {
    /// What decides.
    pub by: HoldBy,
    /// Where packets are held.
    pub voqs: Voqs,
    /// Where they go afterwards.
    pub release: Release,
    /// ECN counts what is held for the egress port.
    pub ecn_sees_held: bool,
    /// INT of a packet that was held tells the bytes of all VOQs.
    pub int_sees_held: bool,
    /// Hosts are paused by destination.
    pub host_pause: Option<PauseThresholds>,
    /// By what.
    pub host_pause_by: HostPauseBy,
    /// The ingress pipeline hears of VOQs at multiples of this time, ps.
    pub vup_ps: Option<Time>,
    /// Bytes of a frame that pauses or resumes a destination, or requests credits.
    pub frame_bytes: u16,
}

impl FloodgateConfig {
    /// The windows, if they decide.
    #[must_use]
    pub const fn windows(&self) -> Option<&WindowConfig> {
        match &self.by {
            HoldBy::Windows(windows) => Some(windows),
            HoldBy::Tags(_) => None,
        }
    }

    /// Whether hosts are paused by what they sent themselves.
    #[must_use]
    pub fn pauses_by_ingress(&self) -> bool {
        self.host_pause.is_some() && self.host_pause_by == HostPauseBy::Ingress
    }

    /// The practical design of §4 of the paper.
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

    /// The ideal design of §3.2, with the pauses of §4.3.
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

    /// PFC with tag (Appendix B), over the VOQs of the practical design.
    // FG-45, FG-46
    pub const TAGS: Self = Self {
        by: HoldBy::Tags(PauseThresholds {
            off: Amount::HopBdps(Alpha(1 << 16)),
            on_below_bytes: 0,
        }),
        ..Self::PRACTICAL
    };
}

impl Declaration for FloodgateConfig {
    fn name(&self) -> &'static str {
        match self.by {
            HoldBy::Windows(_) => "Floodgate",
            HoldBy::Tags(_) => "PFC with tag",
        }
    }

    // FG-30
    fn numbers_data(&self) -> bool {
        self.windows()
            .is_some_and(|windows| windows.numbers_timeout_ps.is_some())
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
        // FG-15: one class more for each of data.
        let data = facts.classes - usize::from(DATA_CLASS);
        if self.release == Release::Behind && facts.classes + data > MAX_CLASSES {
            say(Finding::wrong(
                &[
                    "scheme.floodgate.release",
                    "scheme.pfc-tag.release",
                    "traffic",
                ],
                &format!(
                    "`release` = \"behind\" serves at most {} traffic classes, and there are {data}",
                    TRAFFIC_CLASSES / 2
                ),
                "set release = \"shared\", or use fewer classes",
            ));
        }
        let windows = self.windows();
        if facts.lossy && windows.is_some_and(|w| w.numbers_timeout_ps.is_none()) {
            say(Finding::doubtful(
                &["scheme.floodgate.loss"],
                "links lose data and credits, and without numbers windows shrink with each",
                "set floodgate.loss = \"numbers\"",
            ));
        }
        if facts.lossy && windows.is_none() {
            say(Finding::doubtful(
                &["topology"],
                "links also lose pauses and resumes of destinations, and nothing repeats them",
                "a destination whose resume is lost is held until the next one",
            ));
        }
        if facts.racks < 2 {
            say(Finding::doubtful(
                &["scheme.backpressure", "scheme.preset"],
                "there is one switch with hosts, so nothing goes from switch to switch and nothing is held",
                "take a network with several racks, or another scheme",
            ));
        }
    }

    /// Windows outlive a link only if they know what was sent by it.
    // LNK-06
    fn failing_links(&self, say: &mut dyn FnMut(Finding)) {
        let Some(windows) = self.windows() else {
            return;
        };
        if windows.numbers_timeout_ps.is_none() {
            say(Finding::wrong(
                &["scheme.floodgate.loss", "topology.failures"],
                "links fail during the run, and without numbers Floodgate's windows never get back what was \
                 lost with them",
                "set scheme.floodgate.loss = \"numbers\"",
            ));
        }
        if windows.entries.is_some() {
            say(Finding::wrong(
                &["scheme.floodgate.table", "topology.failures"],
                "links fail during the run, and entries of windows that destinations share cannot follow new \
                 routes",
                "set scheme.floodgate.table = \"exact\"",
            ));
        }
    }

    // Released packets that wait behind others have one queue.
    fn beside(&self, others: &Beside, say: &mut dyn FnMut(Finding)) {
        let plain = matches!(others.queues, Queues::One | Queues::Hashed);
        if self.release == Release::Behind && !plain {
            say(Finding::wrong(
                &["floodgate", "pfc-tag", "classify"],
                "`release` = \"behind\" has one queue for all released packets, and `classify` gives queues to flows",
                "set release = \"shared\", or classify to \"fifo\" or \"hash\"",
            ));
        }
    }

    fn against_transport(&self, name: &str) -> Option<String> {
        Some(format!(
            "Floodgate holds packets by destination, and so do the receivers of {name}, each without the other's knowledge"
        ))
    }

    fn idle(&self, counted: &dyn Fn(&str) -> u64, say: &mut dyn FnMut(&'static str)) {
        if counted("floodgate_held") == 0 {
            say("no packet was held for its destination");
        }
        if self.host_pause.is_some() && counted("floodgate_dst_pauses") == 0 {
            say("no destination was paused at a host");
        }
    }
}
