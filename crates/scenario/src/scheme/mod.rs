//! `[scheme]`: a preset and single axes that override it.
//!
//! An axis is a word (`control = "fixed-window"`). Its parameters are a table of that word
//! (`fixed-window = { window = "64KB" }`). A table whose word is not chosen has no effect, so it is
//! refused.

mod at;
mod combinations;
mod configure;
mod control;
mod nic;
mod receivers;
mod signal;
mod switch;
mod tables;

use crate::params;
use crate::reader::Section;
pub use at::SchemeAt;
pub(crate) use at::{AT, keys_at, read as read_at};
use combinations::combinations;
use control::read_control;
use dataplane::config::{
    Admission, AssignConfig, BaseRtt, FlowOrder, HostConfig, NicConfig, PathChoice, Recovery, Red,
    Scope, Sending, SprayConfig,
};
use dataplane::declaration::Declaration;
use dataplane::hop::HopSpec;
use dataplane::hop::pfc::VictimSpec;
use dataplane::int::IntFormat;
use dataplane::link::LinkConfig;
use dataplane::packet::SchemeSet;
use dataplane::signal::NotifierConfig;
use dataplane::switch::{DATA_CLASS, SwitchConfig};
use dataplane::transport::Around;
use dataplane::units::{Rate, Time};
use dataplane::watchdog::WatchdogConfig;
use fabric::NodeId;
use fabric::engine::SwitchesAt;
use nic::{read_ack, read_nic, read_path, read_recovery};
use signal::{read_guard, read_notices, read_signal};
use switch::{
    read_admission, read_backpressure, read_classify, read_link, read_schedule, read_victims,
};
pub use tables::{Declared, axes, tables};

/// A size that makes no sense beyond this: the counters of INT and of ports hold 4 GB.
pub(crate) const MAX_BUFFER_BYTES: u64 = 4_000_000_000;

/// Class of ACK, NAK and CNP where a preset gives them priority; class 0 is for pauses.
const CONTROL_CLASS: u8 = 1;

/// Which of the two standing classes a frame belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameClass {
    /// The class of data of traffic class 0.
    Data,
    /// The control class: strictly first, never paused, not in the buffer.
    Control,
}

impl FrameClass {
    const fn number(self) -> u8 {
        match self {
            Self::Data => DATA_CLASS,
            Self::Control => CONTROL_CLASS,
        }
    }
}

/// How long a flow keeps its queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sticky {
    /// This many 1-hop round trips.
    HopRtts(f64),
    /// This long, in ps.
    Fixed(Time),
}

/// The answer to the classification axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ClassifySpec {
    /// One FIFO per class.
    Fifo,
    /// By a hash of the flow.
    Hash,
    /// By a flow table.
    Dynamic {
        /// Flow-table entries per queue.
        table: u32,
        /// How long a flow keeps its queue.
        sticky: Sticky,
        /// How it takes empty queues.
        assign: AssignConfig,
    },
    /// One queue per flow.
    PerFlow,
    /// One queue per priority level.
    Priority,
}

/// The answer to the scheduling axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleSpec {
    /// Order of arrival.
    Fifo,
    /// Deficit round robin; `None`: a quantum of the largest frame.
    Drr(Option<u32>),
    /// A packet per queue and round.
    RoundRobin,
    /// The flow with the least left first.
    ShortestRemaining,
    /// A packet per queue, by number.
    Cyclic,
    /// The queue with the lowest number first.
    Strict,
}

/// How the queues of a port are shared out among traffic classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueuesPer {
    /// The port has this many, split evenly among the classes in use.
    Port,
    /// Each class has this many.
    Class,
}

/// ECN thresholds of links of one rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EcnProfile {
    /// The rate that the thresholds are for.
    pub rate_bps: u64,
    /// Thresholds in bytes, and the probability at the upper one.
    pub red: Red,
}

/// ECN: what is marked where.
#[derive(Clone, Debug, PartialEq)]
pub struct EcnSpec {
    /// By ascending rate, at least one; other rates scale from the next lower one, else the lowest.
    pub profiles: Vec<EcnProfile>,
    /// Which bytes are compared.
    pub scope: Scope,
    /// Mark when the packet leaves.
    pub at_dequeue: bool,
    /// Draw as the ns-3 simulator does.
    pub replay: bool,
}

/// INT's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntSpec {
    /// Bytes on a packet.
    pub bytes: u16,
    /// Exact numbers, or records to the bit.
    pub format: IntFormat,
    /// The pause frames that a switch sends count too.
    pub pauses: bool,
}

/// All values of `[scheme]`, including those of the preset.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemeSpec {
    /// Name of the preset.
    pub preset: String,
    /// Whose parameters.
    pub parameters: String,
    /// How switches choose among equal-cost paths.
    pub path: PathChoice,
    /// The path policy of senders, if they choose.
    pub spray: Option<SprayConfig>,
    /// Which other simulator is imitated, if one is.
    pub profile: Option<&'static str>,
    /// Times are cut to nanoseconds.
    pub cut_times: bool,
    /// Events of one instant come in the order of scheduling.
    pub in_order: bool,
    /// But flows that start come before all other events of their instant.
    pub starts_first: bool,
    /// ACKs use the reverse path of their packets.
    pub acks_return: bool,
    /// Options of hosts.
    pub host: HostConfig,
    /// Payload of a full packet.
    pub mtu: u16,
    /// Header of a data packet.
    pub header: u16,
    /// Round trip of T and BDP.
    pub base_rtt: BaseRtt,
    /// Which queue.
    pub classify: ClassifySpec,
    /// Queues of a port, the control queue included; used by hash and dynamic.
    pub queues: u16,
    /// Whose queues these are.
    pub queues_per: QueuesPer,
    /// Which queue next.
    pub schedule: ScheduleSpec,
    /// Buffer admission.
    pub admission: Admission,
    /// Detection of ports with victims.
    pub victims: Option<VictimSpec>,
    /// Hop scheme between neighbours, in addition to PFC.
    pub hop: HopSpec,
    /// The schemes of links.
    pub link: LinkConfig,
    /// ECN.
    pub ecn: Option<EcnSpec>,
    /// INT.
    pub int: Option<IntSpec>,
    /// Watchdog that ends pauses that last too long.
    pub guard: Option<WatchdogConfig>,
    /// Notices from switches to senders.
    pub notifier: Option<NotifierConfig>,
    /// Congestion control or receiver-driven transport.
    pub control: Sending,
    /// True if the control computes with integer rates, as in the ns-3 simulator; `None`: it has no
    /// such option.
    pub whole_rates: Option<bool>,
    /// CNPs: interval, bytes, class.
    pub cnp: Option<(Time, u16, FrameClass)>,
    /// Loss recovery.
    pub recovery: Recovery,
    /// Bytes of an ACK.
    pub ack_bytes: u16,
    /// Class of an ACK.
    pub ack_class: FrameClass,
    /// Packets per ACK.
    pub ack_every: u32,
    /// Which flow of a NIC sends next.
    pub nic_order: FlowOrder,
    /// Queues of a NIC.
    pub nic_queues: u16,
    /// Hop schemes whose frames NICs act on.
    pub obeys: SchemeSet,
}

impl SchemeSpec {
    /// Returns what the schemes between neighbours declare.
    pub fn declarations(&self) -> impl Iterator<Item = &dyn Declaration> {
        self.hop
            .declaration()
            .into_iter()
            .chain(self.link.declarations())
    }

    /// True if port pairs are exempt that could form a pause cycle.
    #[must_use]
    pub fn elides(&self) -> bool {
        self.declarations().any(|scheme| scheme.elides())
    }
}

/// Configuration of a scheme for the engine.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemeConfig {
    /// Every switch that is not in `switch_at`.
    pub switch: SwitchConfig,
    /// Switches with a scheme of their own.
    pub switch_at: SwitchesAt,
    /// Every NIC.
    pub nic: NicConfig,
    /// Round trip of T and BDP.
    pub base_rtt: BaseRtt,
}

impl SchemeConfig {
    /// The configuration of a switch.
    #[must_use]
    pub fn switch_of(&self, node: NodeId) -> &SwitchConfig {
        self.switch_at.get(node).unwrap_or(&self.switch)
    }

    /// Each configuration that a switch may have.
    pub fn switches(&self) -> impl Iterator<Item = &SwitchConfig> {
        std::iter::once(&self.switch).chain(self.switch_at.configs())
    }

    /// True if links send damaged frames again.
    pub(crate) fn replays(&self) -> bool {
        let mut schemes = self.switch.link.declarations();
        schemes.any(|scheme| scheme.replays_lost_frames())
    }

    /// Returns what the schemes between neighbours declare, each scheme once.
    pub(crate) fn distinct_schemes(&self) -> Vec<&dyn Declaration> {
        let mut found: Vec<&dyn Declaration> = Vec::new();
        for scheme in self.switches().flat_map(SwitchConfig::declarations) {
            if found.iter().all(|known| known.name() != scheme.name()) {
                found.push(scheme);
            }
        }
        found
    }
}

/// Properties of the network that a scheme needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Surroundings {
    /// Distinct rates of links, ascending.
    pub rates: Vec<Rate>,
    /// Largest propagation delay of a link, ps.
    pub max_delay_ps: Time,
    /// Highest traffic class in use.
    pub max_class: u8,
    /// Bytes of a switch's buffer.
    pub buffer_bytes: u64,
    /// Reserved bytes per port and class.
    pub reserved_bytes: u64,
    /// Rate of the first host's link, in bits per second.
    pub nic_bps: u64,
    /// Properties that a receiver-driven transport needs.
    pub transport: Around,
    /// Largest base RTT, ps, if the scheme needs it.
    pub base_rtt_ps: Time,
    /// Queue numbers that a neighbour may put on its packets, in any scheme of the network.
    pub upstream_queues: u16,
}

/// Reads a complete `[scheme]` (preset and overrides already merged).
pub(crate) fn read(s: &Section<'_>) -> Option<SchemeSpec> {
    let single = axes().iter().filter(|axis| axis.key != "control");
    let (axes, good) = params::gather(s, single, |_, _| None);
    let classify = read_classify(s, &axes);
    let schedule = read_schedule(s, &axes, classify);
    let admission = read_admission(s, &axes);
    let victims = read_victims(s, &axes);
    let hop = read_backpressure(s, &axes);
    let link = read_link(s, &axes);
    let (ecn, int) = read_signal(s, &axes);
    let notifier = read_notices(s, &axes);
    let guard = read_guard(s, &axes);
    let control = read_control(s);
    let recovery = read_recovery(s, &axes);
    let path = read_path(s, &axes);
    let ack = read_ack(s);
    let nic = read_nic(s, hop.as_ref());
    s.has("at");
    s.finish();
    let (ack_bytes, ack_class, ack_every, (ack_pausable, acks_return)) = ack?;
    if !good {
        return None;
    }
    let (nic_queues, obeys, (arbiter, nic_order), processing) = nic?;
    let (path, spray) = path?;
    let control = control?;
    let host = HostConfig {
        arbiter,
        ack_pausable,
        cnp_on_ack: control.cnp_on_ack,
        cnp_cycle: control.cnp_cycle,
        ports_in_hash: path == PathChoice::Tuple,
        processing,
    };
    let spec = SchemeSpec {
        preset: axes.word("preset").to_owned(),
        parameters: axes.word("parameters").to_owned(),
        profile: Some(axes.word("profile")).filter(|name| *name != "none"),
        cut_times: axes.is("clock", "ns"),
        in_order: !axes.is("ties", "phases"), // NS3-04
        starts_first: axes.is("ties", "scheduling, starts first"), // FGC-31
        acks_return,
        host,
        path,
        spray,
        mtu: axes.size("mtu") as u16,
        header: axes.size("header") as u16,
        base_rtt: match axes.some_time("base_rtt") {
            Some(ps) => BaseRtt::Fixed(ps),
            None => match axes.word("base_rtt") {
                "pair" => BaseRtt::Pair,
                "network" => BaseRtt::Network,
                "ns3-pair" => BaseRtt::Ns3Pair,
                _ => BaseRtt::Ns3Network,
            },
        },
        classify: classify?,
        queues: axes.some_count("queues").unwrap_or(0) as u16,
        queues_per: match axes.some_word("queues_per") {
            Some("port") => QueuesPer::Port,
            _ => QueuesPer::Class,
        },
        schedule: schedule?,
        admission: admission?,
        victims: victims?,
        hop: hop?,
        link: link?,
        ecn: ecn?,
        int: int?,
        notifier: notifier?,
        guard: guard?,
        control: control.sending,
        whole_rates: control.whole_rates,
        cnp: control.cnp,
        recovery: recovery?,
        ack_bytes,
        ack_class,
        ack_every,
        nic_order,
        nic_queues,
        obeys,
    };
    combinations(s, &spec);
    Some(spec)
}
