//! What a switch and a NIC are: one choice per axis. Presets only fill these in.
//!
//! Every field says its unit. Where a value comes from (paper, authors' code, our choice) is said
//! by the preset that sets it, in the `scenario` crate, and by the rules under `specs/`.

use crate::cc::Needs;
pub use crate::cc::{ControlConfig, PerClass};
use crate::classes::ClassSet;
pub use crate::classes::MAX_CLASSES;
use crate::guard::GuardConfig;
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

/// How a class of traffic is treated by every switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassConfig {
    /// PFC may pause it (and, with PFC on, its bytes are counted against PFC thresholds).
    pub pausable: bool,
    /// Its bytes occupy the shared buffer.
    pub buffered: bool,
    /// Its bytes count in the queue length that ECN looks at, and its packets may be marked.
    pub ecn: bool,
    /// Its bytes count in INT's queue length and transmitted bytes.
    pub int: bool,
}

/// Which egress queue of its class a packet joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Classify {
    /// One FIFO per class.
    Fifo,
    /// Stochastic: by a hash of the flow, the same at all switches, over `queues` queues per class.
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
        /// A flow keeps its queue until it has had no packet here for this long, in ps.
        sticky_ps: Time,
    },
    /// A queue for every flow with packets here (ideal).
    PerFlow,
    /// The queue that the packet names by its number, that of its priority level.
    Priority {
        /// Levels, and queues, per class.
        levels: u16,
    },
}

/// Where the search of an empty queue begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchStart {
    /// One queue further after each assignment.
    Rotating,
    /// Anywhere, by chance: at one of the queues, or at one of this many numbers without a queue for data, from
    /// which it goes on to the first.
    Random {
        /// Numbers without a queue for data.
        reserved: u16,
    },
}

/// Which queue a flow gets when none is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// Any, by chance.
    Random,
    /// Always the same for its flow-table entry.
    ByEntry,
}

/// What queues a flow table gives to flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssignBy {
    /// Empty ones.
    Empty,
    /// That of the flow's hash, empty or not. The table then only counts packets.
    Hash,
}

/// What of a flow names its entry in a flow table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotBy {
    /// A hash of all of it.
    Flow,
    /// Source, source port and length, see [`crate::source_hash`].
    Source,
}

/// How dynamic assignment knows and takes empty queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AssignConfig {
    /// A flow keeps its queue for this many 1-hop round trips of the switch, in 1/65536, instead of
    /// the time that [`Classify::Dynamic`] says.
    pub sticky_hrtts: Option<u32>,
    /// What queues flows get.
    pub by: AssignBy,
    /// What entries flows get.
    pub slot: SlotBy,
    /// Period of the bitmap of empty queues in ps; `None`: it is always up to date.
    pub bitmap_ps: Option<Time>,
    /// An empty queue that downstream has paused may be taken.
    pub paused_eligible: bool,
    /// Where the search begins.
    pub start: SearchStart,
    /// What if none is empty.
    pub when_full: WhenFull,
    /// Flows that the traffic calls incast share one queue per egress and class, which no other
    /// flow gets.
    pub incast_queue: bool,
    /// Ingress pipelines, each with its share of the flow table and a bitmap of its own; at least 1.
    pub pipelines: u16,
}

impl AssignConfig {
    /// As §3.3.1 of the BFC paper has it, on a switch without pipelines.
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

/// Which open queue of a class sends next. Between classes: strict priority, lower class first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// Order of arrival; for classes of a single queue.
    Fifo,
    /// Deficit round robin with this quantum in bytes.
    Drr {
        /// Bytes that a queue may send per round.
        quantum: u32,
    },
    /// One packet per queue and round.
    RoundRobin,
    /// One packet per queue, in the order of their numbers: a queue that gets a packet has its turn
    /// when its number comes, not after all others.
    Cyclic,
    /// The queue whose first packet's flow has the least left to send.
    ShortestRemaining,
    /// The queue with the lowest number.
    Strict,
}

/// A buffer threshold relative to what is free: bytes = factor · free, in 1/65536.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alpha(pub u32);

impl Alpha {
    /// From a plain number such as 0.11 or 2.
    #[must_use]
    pub fn new(factor: f64) -> Self {
        Self((factor * 65536.0 + 0.5) as u32)
    }

    /// factor · `free`, in bytes.
    #[inline]
    #[must_use]
    pub const fn of(self, free: u64) -> u64 {
        (free * self.0 as u64) >> 16
    }
}

/// When an ingress asks its upstream to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PfcThreshold {
    /// At this many bytes of the shared pool.
    Static(u64),
    /// At α times what is free of the shared pool.
    Dynamic(Alpha),
    /// At the whole buffer over the number of ports of the switch (ST).
    Equal,
}

/// What of what leaves is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departures {
    /// Packets, of which the line sends as many as largest frames.
    Packets,
    /// Bytes.
    Bytes,
}

/// Memory beside the pool that victim ports together may fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// This number of bytes.
    Bytes(u64),
    /// As much as the whole buffer.
    Buffer,
    /// What each ingress by itself needs to hold the whole buffer.
    Unbounded,
}

impl Beside {
    /// Bytes of it at a switch with this buffer and this number of ingresses that may be victim ports.
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

/// Which ingress ports are victim ports (`specs/spfc.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VictimConfig {
    /// TC: departures are counted over intervals of this length, ps; above 0.
    pub interval_ps: Time,
    /// K: at this part of its line rate an ingress is a victim port, in 1/65536.
    pub k: u32,
    /// What is counted.
    pub count: Departures,
    /// A port that has never been paused waits for its first RESUME.
    pub unpaused_waits: bool,
    /// After a RESUME the state is that of the departures so far, not first when the interval ends.
    pub resumes_at_once: bool,
    /// Memory for victim ports beside the pool.
    pub beside: Beside,
}

/// Whose books say when an ingress is paused and which space a packet takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accounting {
    /// The pool until XOFF, the headroom from then on (`specs/switch.md`).
    Pool,
    /// Of the ns-3 simulator of HPCC (`specs/ns3.md`).
    Ns3 {
        /// α of a port that is not faster than the NICs is 2 to the power of minus this.
        shift: u32,
        /// Rate of the NICs in bits per second: a port twice as fast has twice the α.
        nic_bps: u64,
        /// Headroom of a port in times of what its link holds one way, where none is given.
        headroom_delays: u32,
    },
}

/// PFC: ingress thresholds, headroom, pause frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pfc {
    /// Whose books.
    pub accounting: Accounting,
    /// When XOFF is sent.
    pub threshold: PfcThreshold,
    /// Ports with victims keep the whole buffer instead, if they are told apart.
    pub victims: Option<VictimConfig>,
    /// XON is sent when the ingress is this many bytes below the XOFF threshold.
    pub xon_offset: u64,
    /// Bytes of a pause frame.
    pub frame_bytes: u16,
    /// Headroom of a port and pausable class: `None` takes the formula (see `Mmu`).
    pub headroom: Option<u64>,
    /// Bytes of headroom that all ingresses of a switch hold together at most; `None`: each has its own in full.
    pub headroom_pool: Option<u64>,
    /// Headroom is memory beside the buffer, not a part of it.
    pub headroom_beside: bool,
    /// Time from the arrival of a pause frame until the upstream obeys it, in ps. It is a term of
    /// the headroom formula.
    pub response_ps: Time,
    /// How long a pause lasts.
    pub pause: PauseTime,
}

/// How long a pause of PFC lasts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PauseTime {
    /// Until a resume.
    #[default]
    UntilResumed,
    /// For a time, unless it is repeated or resumed before. Times are in quanta: what the port takes to
    /// send 512 bits.
    Quanta {
        /// Of a pause.
        quanta: u16,
        /// After which it is repeated.
        refresh: u16,
    },
}

/// What happens when the buffer gets full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Lossless by PFC.
    Pfc(Pfc),
    /// Drop when the egress (port or queue) exceeds α · free.
    EgressDynamic {
        /// Factor of the free buffer.
        alpha: Alpha,
        /// Compare the queue's bytes (true) or the port's (false).
        per_queue: bool,
    },
    /// Drop only when the shared pool is exhausted.
    SharedPool,
    /// Drop when the egress port holds more than this; each port has memory of its own.
    PerPort {
        /// Bytes of each port.
        bytes: u64,
    },
    /// Never drop; count only (ideal).
    Unlimited,
}

/// The shared-buffer memory of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MmuConfig {
    /// All bytes of the switch.
    pub buffer_bytes: u64,
    /// Bytes set apart for each port and buffered class, before the shared pool.
    pub reserved_bytes: u64,
    /// What happens when it gets full.
    pub admission: Admission,
}

/// ECN: marking by queue length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Red {
    /// Below or at this many bytes nothing is marked.
    pub kmin_bytes: u64,
    /// Above this many bytes everything is marked.
    pub kmax_bytes: u64,
    /// Probability at `kmax_bytes`.
    pub pmax: f64,
}

/// Which bytes a signal looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The packet's own queue.
    Queue,
    /// All ECN-counted classes of the port.
    Port,
}

/// ECN on a switch.
#[derive(Clone, Debug, PartialEq)]
pub struct EcnConfig {
    /// Profile per link rate; a port takes the entry of its rate.
    pub profiles: Vec<(Rate, Red)>,
    /// Which bytes are compared.
    pub scope: Scope,
    /// Mark when the packet leaves (the default) or when it joins the queue.
    pub at_dequeue: bool,
    /// Draw as the ns-3 simulator does: for ACKs too, which are not marked then, and once for each
    /// pause frame. All switches share one sequence of numbers.
    pub replay: bool,
}

/// A switch: one choice per axis. `H` is the answer to what neighbours tell each other (`hop`), of which
/// nothing else here knows.
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchConfig<H> {
    /// Classes, index = class (see [`MAX_CLASSES`]); class 0 is never paused nor buffered.
    pub classes: Vec<ClassConfig>,
    /// Which queue.
    pub classify: Classify,
    /// How [`Classify::Dynamic`] takes empty queues.
    pub assign: AssignConfig,
    /// Which queue next.
    pub schedule: Schedule,
    /// Buffer and what happens when it is full.
    pub mmu: MmuConfig,
    /// ECN, if used.
    pub ecn: Option<EcnConfig>,
    /// INT, if it is written on data packets.
    pub int: Option<IntConfig>,
    /// What the switch signals to senders.
    pub notifier: Option<NotifierConfig>,
    /// What ends a pause that lasts too long.
    pub guard: Option<GuardConfig>,
    /// What is told to neighbours, beside PFC.
    pub hop: H,
    /// What keeps links from losing frames.
    pub link: LinkConfig,
    /// How equal-cost paths share the load.
    pub path: PathChoice,
    /// The control class has a short queue that is shaped, if it carries credits of receivers.
    pub shaped: Option<CreditQueue>,
    /// Data packets that find a full queue are trimmed.
    pub trim: Option<TrimConfig>,
    /// ACKs and NAKs go back the way on which their packet came (`trail.rs`).
    pub acks_return: bool,
    /// Largest frame in bytes (enters the headroom formula and DRR).
    pub max_frame: u16,
}

/// The round trip that a control's T and BDP come from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BaseRtt {
    /// Of the flow's own pair.
    Pair,
    /// The largest of the network (HPCC paper §5.1).
    Network,
    /// Given, in ps.
    Fixed(Time),
    /// Of the flow's own pair, by the formula of the ns-3 simulator.
    Ns3Pair,
    /// The largest of the network, by the formula of the ns-3 simulator; the BDP is the largest as well.
    Ns3Network,
}

/// What decides when a NIC sends the packets of its flows.
#[derive(Clone, Debug, PartialEq)]
pub enum Sending {
    /// A control of senders, the same for all flows.
    Control(ControlConfig),
    /// Controls of senders, each flow's by its traffic class.
    PerClass(PerClass),
    /// The same where messages can share queue pairs.
    Paired(PerClass),
    /// A receiver-driven transport.
    Transport(TransportConfig),
}

impl Sending {
    /// The controls of senders, from traffic class 0 on; none where a transport takes their place.
    #[must_use]
    pub fn controls(&self) -> &[ControlConfig] {
        match self {
            Self::Control(control) => std::slice::from_ref(control),
            Self::PerClass(controls) | Self::Paired(controls) => controls.all(),
            Self::Transport(_) => &[],
        }
    }

    /// The same controls for messages that can share queue pairs; `None` where a transport takes their
    /// place, which keeps nothing from message to message.
    // NIC-53
    #[must_use]
    pub fn paired(&self) -> Option<Self> {
        let controls = self.controls();
        (!controls.is_empty()).then(|| Self::Paired(PerClass::new(controls)))
    }

    /// The receiver-driven transport, if it is one.
    #[must_use]
    pub const fn transport(&self) -> Option<&TransportConfig> {
        match self {
            Self::Transport(transport) => Some(transport),
            Self::Control(_) | Self::PerClass(_) | Self::Paired(_) => None,
        }
    }

    /// What its flows need of switches and receivers: what one of them needs.
    #[must_use]
    pub fn needs(&self) -> Needs {
        let all = self.controls().iter().map(ControlConfig::needs);
        all.reduce(Needs::and).unwrap_or(Needs::NOTHING)
    }

    /// Whether a control reads how many switches are on a flow's path.
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

/// How a NIC finds the flow that sends next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arbiter {
    /// A ring of the flows that may send.
    #[default]
    Ring,
    /// A scan over the list of all flows, with one alarm for the port, as the ns-3 simulator does.
    Scan,
}

/// Which of a NIC's flows sends next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlowOrder {
    /// A packet of each in turn; one that may send again waits for all others.
    #[default]
    Ring,
    /// The one with the least left to send.
    ShortestFirst,
    /// A packet of each in the order of numbers that they have by chance.
    Cyclic,
}

/// What hosts of different simulators do differently. The default is what `specs/nic.md` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostConfig {
    /// How the next flow is found.
    pub arbiter: Arbiter,
    /// PFC holds ACKs, where they are of a class that it can pause, at the host too.
    pub ack_pausable: bool,
    /// An ACK whose packet was marked is a CNP too.
    pub cnp_on_ack: bool,
    /// The intervals of CNPs run from a flow's first packet on, and a CNP tells of the one that is over.
    pub cnp_cycle: bool,
    /// `hash` of a packet holds its ports ([`crate::route::ports`]), and an ACK swaps them.
    pub ports_in_hash: bool,
    /// Time that the host takes for each frame of a flow; `None`: none.
    pub processing: Option<Processing>,
}

/// Time that a host takes for each frame of a flow that arrives (NIC-40).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processing {
    /// The same for each frame, in ps.
    pub delay_ps: Time,
    /// Frames are processed one after another at this rate; `None`: all at once.
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

/// A NIC: one choice per question.
#[derive(Clone, Debug, PartialEq)]
pub struct NicConfig {
    /// Payload bytes of a full packet.
    pub mtu: u16,
    /// Header bytes of a data packet, without INT.
    pub header: u16,
    /// INT bytes on data packets and their ACKs; 0: none.
    pub int: u16,
    /// Bytes of an ACK or NAK, without INT.
    pub ack: u16,
    /// Bytes of a CNP.
    pub cnp: u16,
    /// Class of ACK and NAK.
    pub ack_class: u8,
    /// Class of CNP.
    pub cnp_class: u8,
    /// Class of data whose traffic class is 0; traffic class k uses `data_class + k`.
    pub data_class: u8,
    /// An ACK for every this many packets (and for the last).
    pub ack_every: u32,
    /// The receiver sends CNPs, per flow at most one in this time, in ps; `None`: never.
    pub cnp_interval_ps: Option<Time>,
    /// Classes of data of which it does, as bits.
    pub cnp_classes: ClassSet,
    /// What decides when packets are sent.
    pub control: Sending,
    /// Loss recovery.
    pub recovery: Recovery,
    /// The path policy of senders; `None`: the network chooses paths.
    pub spray: Option<SprayConfig>,
    /// Packets of a flow take several paths, so the receiver counts those that a later one overtakes.
    pub reorders: bool,
    /// What else the host does in its own way.
    pub host: HostConfig,
    /// Queues that the NIC tells apart towards its switch; flows beyond share them.
    pub queues: u16,
    /// Which flow sends next.
    pub order: FlowOrder,
    /// The hop schemes whose frames it obeys.
    pub obeys: SchemeSet,
}

impl NicConfig {
    /// Bytes on the wire of a data packet with this payload.
    #[inline]
    #[must_use]
    pub const fn data_bytes(&self, payload: u16) -> u16 {
        self.header + self.int + payload
    }

    /// Bytes on the wire of an ACK or NAK; INT that came with the data goes back with it.
    #[inline]
    #[must_use]
    pub const fn ack_bytes(&self) -> u16 {
        self.ack + self.int
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A plain switch: hop control, priority control, one data class; nothing else switched on.
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
