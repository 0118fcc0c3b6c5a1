//! What a switch and a NIC are: one choice per axis. Presets only fill these in.
//!
//! Every field says its unit. Where a value comes from (paper, authors' code, our choice) is said
//! by the preset that sets it, in the `scenario` crate, and by the rules under `specs/`.

use crate::units::{Rate, Time};

/// Classes that a frame can belong to; class 0 is control and always strictly first.
pub const MAX_CLASSES: usize = 8;

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
    /// BFC's dynamic assignment over `queues` queues per class.
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
}

/// PFC: ingress thresholds, headroom, pause frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pfc {
    /// When XOFF is sent.
    pub threshold: PfcThreshold,
    /// XON is sent when the ingress is this many bytes below the XOFF threshold.
    pub xon_offset: u64,
    /// Bytes of a pause frame.
    pub frame_bytes: u16,
    /// Headroom of a port and pausable class: `None` takes the formula (see `Mmu`).
    pub headroom: Option<u64>,
    /// Time that the upstream needs to obey, in ps (enters the headroom formula).
    pub response_ps: Time,
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
    /// Drop only when the shared pool is exhausted (BFC).
    SharedPool,
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
}

/// BFC at a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BfcConfig {
    /// Pause threshold = `threshold_factor`/65536 · HRTT · rate / N_active.
    pub threshold_factor: u32,
    /// 1-hop round trip in ps; `None`: from the port's links (propagation both ways).
    pub hrtt_ps: Option<Time>,
    /// Bytes of a pause or resume frame.
    pub frame_bytes: u16,
    /// Period of the repeated bitmap in ps; `None`: never repeated.
    pub bitmap_ps: Option<Time>,
    /// Upstream queues that a neighbour may have (size of the pause counters per ingress).
    pub upstream_queues: u16,
}

/// How equal-cost paths share the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathChoice {
    /// By a hash of the flow.
    Flow,
    /// By a hash of flow and packet number.
    Packet,
}

/// A switch: one choice per axis.
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchConfig {
    /// Classes, index = class; class 0 carries hop control and is never paused nor buffered.
    pub classes: Vec<ClassConfig>,
    /// Which queue.
    pub classify: Classify,
    /// Which queue next.
    pub schedule: Schedule,
    /// Buffer and what happens when it is full.
    pub mmu: MmuConfig,
    /// ECN, if used.
    pub ecn: Option<EcnConfig>,
    /// INT is written on data packets.
    pub int: bool,
    /// BFC's backpressure, if used.
    pub bfc: Option<BfcConfig>,
    /// ECMP or spraying.
    pub path: PathChoice,
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
}

/// Congestion control of a NIC.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ControlConfig {
    /// As fast as the link, no window.
    LineRate,
    /// As fast as the link, at most `window` bytes in flight (`None`: one BDP).
    FixedWindow {
        /// Bytes in flight; `None`: BDP of the path.
        window: Option<u64>,
    },
    /// HPCC, Algorithm 1.
    Hpcc(HpccConfig),
    /// DCQCN.
    Dcqcn(DcqcnConfig),
    /// TIMELY.
    Timely(TimelyConfig),
    /// DCTCP.
    Dctcp(DctcpConfig),
}

/// HPCC's parameters (HPCC paper §3.3, §5.1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HpccConfig {
    /// Target utilisation η.
    pub eta: f64,
    /// Additive-increase stages before a multiplicative step (maxStage).
    pub max_stage: u32,
    /// Additive increase in bytes (W_AI).
    pub wai_bytes: f64,
    /// Lowest rate in bits per second.
    pub min_rate_bps: f64,
}

/// DCQCN's parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DcqcnConfig {
    /// Gain of the α estimate.
    pub g: f64,
    /// Period of the α decay in ps.
    pub alpha_timer_ps: Time,
    /// Period of the rate increase in ps.
    pub increase_timer_ps: Time,
    /// Bytes per increase event of the byte counter; `None`: no byte counter.
    pub byte_counter: Option<u64>,
    /// Fast-recovery stages F.
    pub fast_recovery: u32,
    /// Additive increase in bits per second.
    pub ai_bps: f64,
    /// Hyper increase in bits per second.
    pub hai_bps: f64,
    /// Lowest rate in bits per second.
    pub min_rate_bps: f64,
    /// The sender reduces its rate at most once in this time, in ps.
    pub decrease_interval_ps: Time,
    /// Set the target to the current rate on every reduction, also on consecutive ones.
    pub clamp_target: bool,
    /// Limit the bytes in flight to BDP · rate / line rate (the "+win" form).
    pub window: bool,
}

/// TIMELY's parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimelyConfig {
    /// Weight of the newest RTT difference in the EWMA.
    pub alpha: f64,
    /// Multiplicative decrease factor.
    pub beta: f64,
    /// Below this RTT always increase, in ps.
    pub t_low_ps: Time,
    /// Above this RTT always decrease, in ps.
    pub t_high_ps: Time,
    /// RTT that normalises the gradient, in ps.
    pub min_rtt_ps: Time,
    /// Additive increase in bits per second.
    pub ai_bps: f64,
    /// Increase in hyperactive mode, in bits per second.
    pub hai_bps: f64,
    /// Completions in a row before hyperactive increase (N in the paper).
    pub hai_after: u32,
    /// Lowest rate in bits per second.
    pub min_rate_bps: f64,
    /// Limit the bytes in flight to BDP · rate / line rate (the "+win" form).
    pub window: bool,
}

/// DCTCP's parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DctcpConfig {
    /// Gain of the α estimate.
    pub g: f64,
    /// Start with one BDP (false) or in slow start from `initial_packets` (true).
    pub slow_start: bool,
    /// Initial window in packets when slow start is on.
    pub initial_packets: u32,
}

/// What a NIC does when a packet is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Go-back-N: NAK on a gap, timeout for the rest.
    GoBackN {
        /// Without progress for this long, send again from the first unacknowledged packet, ps.
        timeout_ps: Time,
    },
    /// Nothing can be lost or overtaken, so nothing is resent.
    None,
}

/// Which flow of a NIC sends next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NicSchedule {
    /// One packet per flow and round.
    RoundRobin,
    /// Flow with the fewest bytes left first.
    ShortestRemaining,
}

/// A NIC: one choice per question.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    /// Congestion control.
    pub control: ControlConfig,
    /// Loss recovery.
    pub recovery: Recovery,
    /// Which flow next.
    pub schedule: NicSchedule,
    /// Queues that the NIC tells apart towards its switch (BFC); flows beyond share them.
    pub queues: u16,
    /// Obey BFC pauses (false: "BFC minus NIC").
    pub obeys_bfc: bool,
    /// Obey PFC pauses.
    pub obeys_pfc: bool,
}
