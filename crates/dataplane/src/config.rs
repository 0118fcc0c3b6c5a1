//! Configuration of a switch and of a NIC, with one field per design choice. Presets only set these
//! fields.
//!
//! Every field states its unit. The presets in the `scenario` crate and the rules in `specs/` give
//! the source of each value (paper, authors' code, our choice).

use crate::cc::Needs;
pub use crate::cc::{ControlConfig, PerClass};
use crate::classes::ClassSet;
pub use crate::classes::MAX_CLASSES;
pub use crate::int::IntConfig;
use crate::link::LinkConfig;
use crate::packet::SchemeSet;
pub use crate::paths::SprayConfig;
pub use crate::paths::switch::{FlowletConfig, LeastLoaded, PathChoice};
pub use crate::reliability::{IrnConfig, IrnWindow, Recovery};
pub use crate::requirements::{CreditQueue, SwitchRequirements, TrimConfig};
pub use crate::signal::NotifierConfig;
pub use crate::transport::TransportConfig;
use crate::units::{Rate, Time};
use crate::watchdog::WatchdogConfig;

/// Treatment of a class of traffic by every switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassConfig {
    /// True if PFC may pause the class. With PFC its bytes then count for the PFC thresholds.
    pub pausable: bool,
    /// True if its bytes occupy the shared buffer.
    pub buffered: bool,
    /// True if its bytes count in the queue length of ECN and its packets may be marked.
    pub ecn: bool,
    /// True if its bytes count in INT's queue length and transmitted bytes.
    pub int: bool,
}

/// Selection of the egress queue of its class that a packet joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Classify {
    /// One FIFO per class.
    Fifo,
    /// Stochastic: a hash of the flow, equal at all switches, selects one of `queues` queues per
    /// class.
    Hash {
        /// Queues per class.
        queues: u16,
    },
    /// Dynamic assignment over `queues` queues per class.
    Dynamic {
        /// Queues per class.
        queues: u16,
        /// Flow-table entries per egress port.
        table: u32,
        /// Time in ps without packets in the switch after which a flow loses its queue.
        sticky_ps: Time,
    },
    /// One queue for each flow that has packets in the switch (ideal).
    PerFlow,
    /// The queue of the packet's priority level.
    Priority {
        /// Number of levels, and of queues, per class.
        levels: u16,
    },
}

/// Start of the search for an empty queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchStart {
    /// The search starts one queue further after each assignment.
    Rotating,
    /// The search starts at a random number: at a queue, or at one of the reserved numbers, from
    /// which it continues with the first queue.
    Random {
        /// Number of reserved numbers, which are no data queues.
        reserved: u16,
    },
}

/// Queue of a flow if no queue is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// A random queue.
    Random,
    /// A fixed queue per flow-table entry.
    ByEntry,
}

/// Queues that a flow table assigns to flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssignBy {
    /// Empty queues.
    Empty,
    /// The queue given by the flow's hash, empty or not. The table then only counts packets.
    Hash,
}

/// Key that selects the entry of a flow in a flow table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotBy {
    /// Hash of the complete flow identity.
    Flow,
    /// Source, source port and length, see [`crate::source_hash`].
    Source,
}

/// Details of dynamic queue assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AssignConfig {
    /// Number of 1-hop round trips of the switch, in 1/65536, for which a flow keeps its queue.
    /// Replaces the time in [`Classify::Dynamic`].
    pub sticky_hrtts: Option<u32>,
    /// Queues that flows get.
    pub by: AssignBy,
    /// Flow-table entries that flows get.
    pub slot: SlotBy,
    /// Period in ps at which the bitmap of empty queues is updated; `None`: immediately.
    pub bitmap_ps: Option<Time>,
    /// True if an empty queue that the downstream neighbour has paused may be assigned.
    pub paused_eligible: bool,
    /// Start of the search for an empty queue.
    pub start: SearchStart,
    /// Queue of a flow if no queue is empty.
    pub when_full: WhenFull,
    /// True if incast flows (according to the traffic) share one queue per egress and class, which
    /// no other flow gets.
    pub incast_queue: bool,
    /// Number of ingress pipelines, at least 1. Each has its share of the flow table and its own
    /// bitmap.
    pub pipelines: u16,
}

impl AssignConfig {
    /// Assignment of §3.3.1 of the BFC paper, on a switch with one pipeline.
    // BFC-02
    pub const PAPER: Self = Self {
        sticky_hrtts: None,
        by: AssignBy::Empty,
        slot: SlotBy::Flow,
        bitmap_ps: None,
        paused_eligible: false,
        start: SearchStart::Rotating,
        when_full: WhenFull::Random,
        incast_queue: false,
        pipelines: 1,
    };
}

/// Selection of the queue of a class that sends next. Between classes: strict priority, lower class
/// first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// Order of arrival, for classes with a single queue.
    Fifo,
    /// Deficit round robin with this quantum in bytes.
    Drr {
        /// Bytes that a queue may send per round.
        quantum: u32,
    },
    /// One packet per queue and round.
    RoundRobin,
    /// One packet per queue, in the order of queue numbers. A queue that gets a packet is served
    /// when its number is next, not after all other queues.
    Cyclic,
    /// The queue whose first packet belongs to the flow with the fewest remaining bytes.
    ShortestRemaining,
    /// The nonempty queue with the lowest number.
    Strict,
}

/// A buffer threshold relative to the free buffer: bytes = factor · free. The factor is in 1/65536.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alpha(pub u32);

impl Alpha {
    /// Creates the factor from a number such as 0.11 or 2.
    #[must_use]
    pub fn new(factor: f64) -> Self {
        Self((factor * 65536.0 + 0.5) as u32)
    }

    /// Returns factor · `free`, in bytes.
    #[inline]
    #[must_use]
    pub const fn of(self, free: u64) -> u64 {
        (free * self.0 as u64) >> 16
    }
}

/// Threshold at which an ingress pauses its upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PfcThreshold {
    /// This number of bytes in the shared pool.
    Static(u64),
    /// α times the free bytes of the shared pool.
    Dynamic(Alpha),
    /// The whole buffer divided by the number of ports of the switch (ST).
    Equal,
}

/// Unit in which departures are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departures {
    /// Packets, compared with the number of largest frames that the line can send.
    Packets,
    /// Bytes.
    Bytes,
}

/// Additional memory beyond the pool that all victim ports of a switch share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// This number of bytes.
    Bytes(u64),
    /// The size of the whole buffer.
    Buffer,
    /// The size of the whole buffer for each ingress.
    Unbounded,
}

impl Beside {
    /// Returns the bytes of it at a switch with this buffer and this number of ingress ports that
    /// may be victim ports.
    // SPFC-08
    #[must_use]
    pub const fn bytes(self, buffer_bytes: u64, ingresses: u64) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Buffer => buffer_bytes,
            Self::Unbounded => buffer_bytes.saturating_mul(ingresses),
        }
    }
}

/// Detection of victim ports among the ingress ports (`specs/spfc.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VictimConfig {
    /// TC: length of the intervals over which departures are counted, in ps; above 0.
    pub interval_ps: Time,
    /// K: share of its line rate at which an ingress becomes a victim port, in 1/65536.
    pub k: u32,
    /// C of the counting number; `None`: the rate of the port's own link.
    pub rate: Option<Rate>,
    /// Unit of the departures.
    pub count: Departures,
    /// True if a port becomes a victim port with the departure that reaches the counting number,
    /// false if the state changes only at the end of the interval.
    pub detects_at_once: bool,
    /// True if a port that has never been paused cannot become a victim port before its first
    /// RESUME.
    pub unpaused_waits: bool,
    /// True if a RESUME sets the state from the departures so far, false if the state changes only
    /// at the end of the interval.
    pub resumes_at_once: bool,
    /// Additional memory for victim ports beyond the pool.
    pub beside: Beside,
}

/// Accounting rules that decide when an ingress is paused and which space a packet uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accounting {
    /// Pool until XOFF, headroom after it (`specs/switch.md`).
    Pool,
    /// Rules of the ns-3 simulator of HPCC (`specs/ns3.md`).
    Ns3 {
        /// α of a port that is not faster than the NICs is 2^-`shift`.
        shift: u32,
        /// Rate of the NICs in bits per second. A port with twice this rate has twice the α.
        nic_bps: u64,
        /// Headroom of a port as a multiple of the bytes in flight on its link in one direction, if
        /// no headroom is given.
        headroom_delays: u32,
    },
}

/// PFC configuration: ingress thresholds, headroom, pause frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pfc {
    /// Accounting rules.
    pub accounting: Accounting,
    /// Threshold for XOFF.
    pub threshold: PfcThreshold,
    /// Detection of victim ports, which have the whole buffer as threshold; `None`: no detection.
    pub victims: Option<VictimConfig>,
    /// XON is sent when the ingress is this many bytes below the XOFF threshold.
    pub xon_offset: u64,
    /// Size of a pause frame in bytes.
    pub frame_bytes: u16,
    /// Headroom per port and pausable class in bytes; `None`: by the formula (see `Mmu`).
    pub headroom: Option<u64>,
    /// Headroom bytes that all ingress ports of a switch share; `None`: each port has its full
    /// headroom.
    pub headroom_pool: Option<u64>,
    /// True if headroom is memory in addition to the buffer, false if it is a part of the buffer.
    pub headroom_beside: bool,
    /// Time from the arrival of a pause frame until the upstream stops sending, in ps. It is a term
    /// of the headroom formula.
    pub response_ps: Time,
    /// Duration of a pause.
    pub pause: PauseTime,
}

/// Duration of a PFC pause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PauseTime {
    /// Until a resume frame.
    #[default]
    UntilResumed,
    /// For a limited time, unless the pause is repeated or resumed earlier. The unit is the time in
    /// which the port sends 512 bits.
    Quanta {
        /// Duration of a pause in quanta.
        quanta: u16,
        /// Time after which the pause is repeated, in quanta.
        refresh: u16,
    },
}

/// Reaction to a full buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Lossless by PFC.
    Pfc(Pfc),
    /// Drops a packet if the egress (port or queue) exceeds α · free.
    EgressDynamic {
        /// Factor of the free buffer.
        alpha: Alpha,
        /// True to compare the bytes of the queue, false to compare those of the port.
        per_queue: bool,
    },
    /// Drops a packet only if the shared pool is exhausted.
    SharedPool,
    /// Drops a packet if the egress port has more bytes than this. Each port has its own memory.
    PerPort {
        /// Memory of each port in bytes.
        bytes: u64,
    },
    /// Never drops, only counts bytes (ideal).
    Unlimited,
}

/// Shared-buffer memory of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MmuConfig {
    /// Total buffer of the switch in bytes.
    pub buffer_bytes: u64,
    /// Bytes reserved for each port and buffered class, used before the shared pool.
    pub reserved_bytes: u64,
    /// Reaction to a full buffer.
    pub admission: Admission,
}

/// ECN marking by queue length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Red {
    /// Queue length in bytes up to which no packet is marked.
    pub kmin_bytes: u64,
    /// Queue length in bytes above which every packet is marked.
    pub kmax_bytes: u64,
    /// Marking probability at `kmax_bytes`.
    pub pmax: f64,
}

/// Bytes whose amount a signal uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The packet's own queue.
    Queue,
    /// All ECN-counted classes of the port.
    Port,
}

/// ECN configuration of a switch.
#[derive(Clone, Debug, PartialEq)]
pub struct EcnConfig {
    /// Profile per link rate; a port takes the entry of its rate.
    pub profiles: Vec<(Rate, Red)>,
    /// Bytes that are compared with the thresholds.
    pub scope: Scope,
    /// True to mark when the packet leaves the queue (default), false to mark when it joins.
    pub at_dequeue: bool,
    /// True to draw random numbers as the ns-3 simulator does: also for ACKs, which are not marked,
    /// and once for each pause frame. All switches then share one sequence of numbers.
    pub replay: bool,
}

/// Configuration of a switch. `H` is the configuration of the hop scheme (`hop`), which the rest of
/// this file does not use.
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchConfig<H> {
    /// Classes, indexed by class number (see [`MAX_CLASSES`]). Class 0 is never paused or buffered.
    pub classes: Vec<ClassConfig>,
    /// Selection of the egress queue.
    pub classify: Classify,
    /// Details of [`Classify::Dynamic`].
    pub assign: AssignConfig,
    /// Selection of the queue that sends next.
    pub schedule: Schedule,
    /// Buffer, and the reaction when it is full.
    pub mmu: MmuConfig,
    /// ECN; `None` if not used.
    pub ecn: Option<EcnConfig>,
    /// INT; `None` if it is not added to data packets.
    pub int: Option<IntConfig>,
    /// Signals of the switch to senders.
    pub notifier: Option<NotifierConfig>,
    /// Watchdog that ends pauses that last too long.
    pub guard: Option<WatchdogConfig>,
    /// Hop scheme in addition to PFC.
    pub hop: H,
    /// Link schemes that prevent or repair losses.
    pub link: LinkConfig,
    /// Selection among equal-cost paths.
    pub path: PathChoice,
    /// Shaping of the control class, with a short queue, if it carries credits of receivers.
    pub shaped: Option<CreditQueue>,
    /// Trimming of data packets that arrive at a full queue.
    pub trim: Option<TrimConfig>,
    /// True if ACKs and NAKs return on the path of their packet (`trail.rs`).
    pub acks_return: bool,
    /// Size of the largest frame in bytes, used by the headroom formula and by DRR.
    pub max_frame: u16,
}

/// Round trip from which a congestion control computes its T and BDP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BaseRtt {
    /// Round trip of the flow's own pair of hosts.
    Pair,
    /// Largest round trip of the network (HPCC paper §5.1).
    Network,
    /// A given time in ps.
    Fixed(Time),
    /// Round trip of the flow's own pair, by the formula of the ns-3 simulator.
    Ns3Pair,
    /// Largest round trip of the network, by the formula of the ns-3 simulator. The BDP is the
    /// largest as well.
    Ns3Network,
}

/// Scheme that decides when a NIC sends the packets of its flows.
#[derive(Clone, Debug, PartialEq)]
pub enum Sending {
    /// One congestion control of senders for all flows.
    Control(ControlConfig),
    /// Congestion controls of senders, one per traffic class.
    PerClass(PerClass),
    /// Congestion controls per traffic class, for messages that can share queue pairs.
    Paired(PerClass),
    /// A receiver-driven transport.
    Transport(TransportConfig),
}

impl Sending {
    /// Returns the congestion controls of senders, by traffic class; empty for a transport.
    #[must_use]
    pub fn controls(&self) -> &[ControlConfig] {
        match self {
            Self::Control(control) => std::slice::from_ref(control),
            Self::PerClass(controls) | Self::Paired(controls) => controls.all(),
            Self::Transport(_) => &[],
        }
    }

    /// Returns the same controls for messages that can share queue pairs, or `None` for a
    /// transport, which has no state across messages.
    // NIC-53
    #[must_use]
    pub fn paired(&self) -> Option<Self> {
        let controls = self.controls();
        (!controls.is_empty()).then(|| Self::Paired(PerClass::new(controls)))
    }

    /// Returns the receiver-driven transport, if there is one.
    #[must_use]
    pub const fn transport(&self) -> Option<&TransportConfig> {
        match self {
            Self::Transport(transport) => Some(transport),
            Self::Control(_) | Self::PerClass(_) | Self::Paired(_) => None,
        }
    }

    /// Returns the requirements of the flows on switches and receivers: those of all their controls
    /// together.
    #[must_use]
    pub fn needs(&self) -> Needs {
        let all = self.controls().iter().map(ControlConfig::needs);
        all.reduce(Needs::and).unwrap_or(Needs::NOTHING)
    }

    /// Returns true if a control uses the number of switches on a flow's path.
    #[must_use]
    pub fn reads_hops(&self) -> bool {
        self.controls().iter().any(|control| control.needs().hops)
    }
}

impl From<ControlConfig> for Sending {
    fn from(control: ControlConfig) -> Self {
        Self::Control(control)
    }
}

impl From<TransportConfig> for Sending {
    fn from(transport: TransportConfig) -> Self {
        Self::Transport(transport)
    }
}

/// Method by which a NIC finds the flow that sends next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arbiter {
    /// A ring of the flows that may send.
    #[default]
    Ring,
    /// A scan over the list of all flows, with one timer per port, as in the ns-3 simulator.
    Scan,
}

/// Order in which the flows of a NIC send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlowOrder {
    /// Round robin: one packet of each flow. A flow that becomes able to send joins at the end.
    #[default]
    Ring,
    /// The flow with the fewest remaining bytes first.
    ShortestFirst,
    /// One packet of each flow, in the order of random numbers of the flows.
    Cyclic,
}

/// Differences between the hosts of simulators. The default follows `specs/nic.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostConfig {
    /// Method that finds the next flow.
    pub arbiter: Arbiter,
    /// True if PFC also stops ACKs at the host, if their class is pausable.
    pub ack_pausable: bool,
    /// True if an ACK of a marked packet is also a CNP.
    pub cnp_on_ack: bool,
    /// True if the CNP intervals start at a flow's first packet and a CNP reports the interval that
    /// has ended.
    pub cnp_cycle: bool,
    /// True if `hash` of a packet contains its ports ([`crate::route::ports`]), which an ACK swaps.
    pub ports_in_hash: bool,
    /// Processing time of the host for each frame of a flow; `None`: no processing time.
    pub processing: Option<Processing>,
}

/// Processing time of a host for each arriving frame of a flow (NIC-40).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processing {
    /// Fixed delay of each frame, in ps.
    pub delay_ps: Time,
    /// Rate at which frames are processed one after another; `None`: in parallel.
    pub rate: Option<Rate>,
}

impl Default for HostConfig {
    fn default() -> Self {
        Self {
            arbiter: Arbiter::Ring,
            ack_pausable: true,
            cnp_on_ack: false,
            cnp_cycle: false,
            ports_in_hash: false,
            processing: None,
        }
    }
}

/// Configuration of a NIC.
#[derive(Clone, Debug, PartialEq)]
pub struct NicConfig {
    /// Payload of a full packet in bytes.
    pub mtu: u16,
    /// Header of a data packet in bytes, without INT.
    pub header: u16,
    /// INT bytes on data packets and their ACKs; 0 without INT.
    pub int: u16,
    /// Size of an ACK or NAK in bytes, without INT.
    pub ack: u16,
    /// Size of a CNP in bytes.
    pub cnp: u16,
    /// Class of ACKs and NAKs.
    pub ack_class: u8,
    /// Class of CNPs.
    pub cnp_class: u8,
    /// Class of data of traffic class 0. Traffic class k uses `data_class + k`.
    pub data_class: u8,
    /// Number of packets per ACK. The last packet is always acknowledged.
    pub ack_every: u32,
    /// Minimum time between two CNPs of a flow, in ps; `None`: the receiver sends no CNPs.
    pub cnp_interval_ps: Option<Time>,
    /// Data classes for which the receiver sends CNPs, as a bit set.
    pub cnp_classes: ClassSet,
    /// Scheme that decides when packets are sent.
    pub control: Sending,
    /// Loss recovery.
    pub recovery: Recovery,
    /// Path policy of senders; `None`: the network selects paths.
    pub spray: Option<SprayConfig>,
    /// True if packets of a flow take several paths, so that the receiver counts overtaken packets.
    pub reorders: bool,
    /// Differences between the hosts of simulators.
    pub host: HostConfig,
    /// Number of queues of the NIC towards its switch. Further flows share them.
    pub queues: u16,
    /// Order in which flows send.
    pub order: FlowOrder,
    /// Hop schemes whose frames the NIC applies.
    pub obeys: SchemeSet,
}

impl NicConfig {
    /// Returns the bytes on the wire of a data packet with this payload.
    #[inline]
    #[must_use]
    pub const fn data_bytes(&self, payload: u16) -> u16 {
        self.header + self.int + payload
    }

    /// Returns the bytes on the wire of an ACK or NAK, including the INT of its data packet.
    #[inline]
    #[must_use]
    pub const fn ack_bytes(&self) -> u16 {
        self.ack + self.int
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A plain switch: hop control, priority control, one data class, and no other function.
    pub fn config() -> SwitchConfig<()> {
        let control = ClassConfig {
            pausable: false,
            buffered: false,
            ecn: false,
            int: false,
        };
        let data = ClassConfig {
            pausable: true,
            buffered: true,
            ecn: true,
            int: true,
        };
        SwitchConfig {
            classes: vec![control, control, data],
            classify: Classify::Fifo,
            assign: AssignConfig::PAPER,
            schedule: Schedule::Fifo,
            mmu: MmuConfig {
                buffer_bytes: 1 << 20,
                reserved_bytes: 0,
                admission: Admission::SharedPool,
            },
            ecn: None,
            int: None,
            hop: (),
            link: LinkConfig::default(),
            path: PathChoice::Flow,
            shaped: None,
            trim: None,
            notifier: None,
            guard: None,
            acks_return: false,
            max_frame: 1048,
        }
    }
}
