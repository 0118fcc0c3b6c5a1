//! Configuration of a switch and of a NIC, with one field per design choice. A preset is a set of
//! values for these fields.
//!
//! Every field states its unit. The presets in the `scenario` crate and the rules in `specs/` give
//! the source of each value (paper, authors' code, our choice).

mod buffer;
mod ecn;
mod queues;

use crate::cc::whole_rates;
pub use crate::cc::{ControlConfig, PerClass};
use crate::classes::ClassSet;
pub use crate::classes::MAX_CLASSES;
use crate::declaration::Around;
pub use crate::int::IntConfig;
use crate::int::IntFormat;
use crate::link::LinkConfig;
use crate::packet::SchemeSet;
use crate::param::{Field, Value};
pub use crate::paths::SprayConfig;
pub use crate::paths::switch::{FlowletConfig, LeastLoaded, PathChoice};
use crate::properties::{Choice, Properties, Property, Rule};
pub use crate::reliability::{IrnConfig, IrnWindow, Recovery};
pub use crate::requirements::{CreditQueue, SwitchRequirements, TrimConfig};
pub use crate::signal::NotifierConfig;
pub use crate::transport::TransportConfig;
use crate::units::{Rate, Time};
use crate::watchdog::WatchdogConfig;
pub use buffer::{
    Accounting, Admission, Alpha, Beside, Departures, MmuConfig, PauseTime, Pfc, PfcThreshold,
    VictimConfig,
};
pub use ecn::{EcnConfig, Red, Scope};
pub use queues::{AssignBy, AssignConfig, Classify, Schedule, SearchStart, SlotBy, WhenFull};

/// Treatment of a traffic class by every switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassConfig {
    /// True if PFC may pause the class. Its bytes then count for the PFC thresholds.
    pub pausable: bool,
    /// True if its bytes occupy the shared buffer.
    pub buffered: bool,
    /// True if its bytes count in the queue length of ECN and its packets may be marked.
    pub ecn: bool,
    /// True if its bytes count in INT's queue length and transmitted bytes.
    pub int: bool,
}

/// Configuration of a switch. `H` is the configuration of the hop scheme, the flow control between
/// neighbours in addition to PFC (`hop/`).
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchConfig<H> {
    /// Classes, indexed by class number (see [`MAX_CLASSES`]). Class 0 is never paused or buffered.
    pub classes: Vec<ClassConfig>,
    /// Selection of the egress queue that a packet joins.
    pub classify: Classify,
    /// Details of [`Classify::Dynamic`].
    pub assign: AssignConfig,
    /// Selection of the queue that sends next.
    pub schedule: Schedule,
    /// Size of the buffer, and the admission of packets.
    pub mmu: MmuConfig,
    /// ECN marking; `None` if not used.
    pub ecn: Option<EcnConfig>,
    /// In-network telemetry (INT); `None` if it is not added to data packets.
    pub int: Option<IntConfig>,
    /// Congestion notifications from the switch to senders.
    pub notifier: Option<NotifierConfig>,
    /// PFC watchdog, which ends pauses that last too long.
    pub guard: Option<WatchdogConfig>,
    /// Hop scheme in addition to PFC.
    pub hop: H,
    /// Link schemes that prevent or repair losses (credits, link-level retry).
    pub link: LinkConfig,
    /// Selection among equal-cost egress ports.
    pub path: PathChoice,
    /// Rate shaper and short queue for the control class, if it carries credits of receivers.
    pub shaped: Option<CreditQueue>,
    /// Trimming of data packets that arrive at a full queue.
    pub trim: Option<TrimConfig>,
    /// True if ACKs and NAKs return on the path of the packet that they answer (`trail.rs`).
    pub acks_return: bool,
    /// Size of the largest frame in bytes, used by the headroom formula and by DRR.
    pub max_frame: u16,
}

/// Base round trip from which a congestion control computes its parameter T and the BDP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BaseRtt {
    /// Round trip between sender and receiver of the flow.
    Pair,
    /// Largest round trip of the network (HPCC paper §5.1).
    Network,
    /// A given time in ps.
    Fixed(Time),
    /// Round trip between sender and receiver of the flow, by the formula of the ns-3 simulator.
    Ns3Pair,
    /// Largest round trip of the network, by the formula of the ns-3 simulator. The BDP is also the
    /// largest of the network.
    Ns3Network,
}

impl Field for BaseRtt {
    fn of(value: Option<&Value>) -> Self {
        match value {
            Some(Value::Time(ps)) => Self::Fixed(*ps),
            Some(Value::Word("pair")) => Self::Pair,
            Some(Value::Word("ns3-pair")) => Self::Ns3Pair,
            Some(Value::Word("ns3-network")) => Self::Ns3Network,
            _ => Self::Network,
        }
    }
}

/// Scheme that decides when a NIC sends the packets of its flows.
#[derive(Clone, Debug, PartialEq)]
pub enum Sending {
    /// One congestion control at the senders for all flows.
    Control(ControlConfig),
    /// Congestion controls at the senders, one per traffic class.
    PerClass(PerClass),
    /// Congestion controls per traffic class. Messages can share a queue pair and its control.
    Paired(PerClass),
    /// A receiver-driven transport.
    Transport(TransportConfig),
}

impl Sending {
    /// Returns the congestion controls of senders, by traffic class. Returns an empty slice for a
    /// receiver-driven transport.
    #[must_use]
    pub fn controls(&self) -> &[ControlConfig] {
        match self {
            Self::Control(control) => std::slice::from_ref(control),
            Self::PerClass(controls) | Self::Paired(controls) => controls.all(),
            Self::Transport(_) => &[],
        }
    }

    /// Completes the configuration with facts about the network.
    #[must_use]
    pub fn complete(self, around: &Around) -> Self {
        let all = |controls: PerClass| {
            let completed = controls.all().iter().map(|of| of.clone().complete(around));
            PerClass::new(&completed.collect::<Vec<_>>())
        };
        match self {
            Self::Control(control) => Self::Control(control.complete(around)),
            Self::PerClass(controls) => Self::PerClass(all(controls)),
            Self::Paired(controls) => Self::Paired(all(controls)),
            Self::Transport(transport) => Self::Transport(transport.complete(around)),
        }
    }

    /// Returns a `Paired` configuration with the same congestion controls, or `None` for a
    /// receiver-driven transport, which has no state across messages.
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

    /// Returns true if a congestion control uses the number of switches on a flow's path.
    #[must_use]
    pub fn reads_hops(&self) -> bool {
        self.provides().has(Property::ReadsHops)
    }
}

impl Choice for Sending {
    fn provides(&self) -> Properties {
        let controls = self.controls().iter().map(ControlConfig::provides);
        let all = controls
            .chain(self.transport().map(TransportConfig::provides))
            .fold(Properties::NONE, Properties::and);
        let ignores = |control: &ControlConfig| control.provides().has(Property::IgnoresPath);
        let all = match self.controls().iter().all(ignores) {
            true => all,
            false => all.minus(Property::IgnoresPath),
        };
        match self {
            Self::Control(_) => all,
            _ => all.minus(Property::Scannable),
        }
    }

    fn rules(&self) -> Vec<Rule> {
        let of_controls = self.controls().iter().flat_map(ControlConfig::rules);
        let of_transport = self.transport().map(TransportConfig::rules);
        of_controls
            .chain(of_transport.into_iter().flatten())
            .collect()
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

crate::words! {
    /// Method by which a NIC finds the flow that sends next.
    #[derive(Default)]
    pub enum Arbiter {
        /// Round robin over a list of the flows that may send.
        #[default]
        Ring = "ring",
        /// A scan over the list of all flows, with one timer per port, as in the ns-3 simulator.
        Scan = "scan",
    }
}

crate::words! {
    /// Order in which the flows of a NIC send.
    #[derive(Default)]
    pub enum FlowOrder {
        /// Round robin: one packet of each flow. A flow that becomes able to send joins at the end.
        #[default]
        Ring = "round-robin",
        /// The flow with the fewest remaining bytes first.
        ShortestFirst = "srf",
        /// One packet of each flow, in the order of random numbers of the flows.
        Cyclic = "cyclic",
    }
}

/// Options in which the hosts of published simulators differ. The default follows `specs/nic.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostConfig {
    /// Method by which the NIC finds the flow that sends next.
    pub arbiter: Arbiter,
    /// True if a PFC pause of the class of ACKs stops ACKs at the host.
    pub ack_pausable: bool,
    /// True if the sender treats the ACK of an ECN-marked packet also as a CNP.
    pub cnp_on_ack: bool,
    /// True if CNP intervals start at a flow's first packet, and a CNP reports marks of the last
    /// complete interval.
    pub cnp_cycle: bool,
    /// True if the `hash` field of a packet contains its UDP ports ([`crate::route::ports`]). An
    /// ACK swaps these ports.
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
    /// Number of INT bytes in data packets and in their ACKs; 0 without INT.
    pub int: u16,
    /// Size of an ACK or NAK in bytes, without INT.
    pub ack: u16,
    /// Size of a CNP in bytes.
    pub cnp: u16,
    /// Class of ACKs and NAKs.
    pub ack_class: u8,
    /// Class of CNPs.
    pub cnp_class: u8,
    /// Frame class of traffic class 0. Traffic class k uses the frame class `data_class + k`.
    pub data_class: u8,
    /// Number of packets per ACK. The last packet of a flow is always acknowledged.
    pub ack_every: u32,
    /// Minimum time between two CNPs of a flow, in ps; `None`: the receiver sends no CNPs.
    pub cnp_interval_ps: Option<Time>,
    /// Data classes for which the receiver sends CNPs, as a bit set.
    pub cnp_classes: ClassSet,
    /// Scheme that decides when packets are sent.
    pub control: Sending,
    /// Loss recovery.
    pub recovery: Recovery,
    /// Path selection by senders (packet spraying); `None`: the network selects paths.
    pub spray: Option<SprayConfig>,
    /// True if packets of a flow use several paths, so that the receiver counts packets that arrive
    /// out of order.
    pub reorders: bool,
    /// Differences between the hosts of simulators.
    pub host: HostConfig,
    /// Number of queues of a NIC port. If there are more flows than queues, flows share queues.
    pub queues: u16,
    /// Order in which the flows of a port and class send.
    pub order: FlowOrder,
    /// Hop schemes (flow control between neighbours) whose control frames have effect at the NIC.
    pub obeys: SchemeSet,
}

impl NicConfig {
    /// Returns the size on the wire, in bytes, of a data packet with this payload.
    #[inline]
    #[must_use]
    pub const fn data_bytes(&self, payload: u16) -> u16 {
        self.header + self.int + payload
    }

    /// Returns the size on the wire, in bytes, of an ACK or NAK, including the INT records copied
    /// from its data packet.
    #[inline]
    #[must_use]
    pub const fn ack_bytes(&self) -> u16 {
        self.ack + self.int
    }
}

impl Choice for NicConfig {
    fn provides(&self) -> Properties {
        let pfc = crate::declaration::Scheme::Pfc.number();
        Properties::NONE
            .with(Property::ScanArbiter, self.host.arbiter == Arbiter::Scan)
            .with(Property::FlowOrder, self.order != FlowOrder::Ring)
            .with(Property::IgnoresPfc, !self.obeys.contains(pfc))
            .with(Property::AcksWithData, self.ack_class >= self.data_class)
            .with(Property::SparseAcks, self.ack_every > 1)
            .with(Property::UnpausableReplies, !self.host.ack_pausable)
    }

    /// Returns the rules for scenarios that use [`Arbiter::Scan`].
    // NS3-60
    fn rules(&self) -> Vec<Rule> {
        if self.host.arbiter != Arbiter::Scan {
            return Vec::new();
        }
        let mut rules = crate::rules! {
            wrong ["nic", "recovery"] with [Selective] without [OwnRecovery]:
                "nic.arbiter = \"scan\" goes back to the first missing packet, or loses none",
                "set nic.arbiter = \"ring\", or recovery = \"go-back-n\"";
            wrong ["nic", "control"] with [CnpFrames]:
                "nic.arbiter = \"scan\" takes a mark on an ACK for a CNP, and here CNPs are frames of their own: it \
                 would ignore them",
                "set cnp = \"on-ack\" in the table of the control, or nic.arbiter = \"ring\"";
        };
        let other = [Property::Scannable, Property::ReceiverDriven];
        rules.push(Rule::new(whole_rates(&["nic", "control"]), &[], &other));
        rules
    }
}

impl Choice for IntConfig {
    fn provides(&self) -> Properties {
        let is_exact = self.format == IntFormat::Exact;
        Properties::of(&[Property::WritesInt]).with(Property::ExactInt, is_exact)
    }

    fn rules(&self) -> Vec<Rule> {
        crate::rules! {
            doubtful ["signal", "control"] without [ReadsInt]:
                "INT takes its bytes on every packet, but `control` does not read it",
                "leave INT out of `signal`";
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns a switch with the two control classes and one data class, and no other function.
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

    /// Returns PFC with a shared pool and a headroom of 5000 bytes per ingress.
    pub fn pfc(threshold: PfcThreshold) -> Pfc {
        Pfc {
            accounting: Accounting::Pool,
            threshold,
            victims: None,
            xon_offset: 2000,
            frame_bytes: 64,
            headroom: Some(5000),
            headroom_pool: None,
            headroom_beside: false,
            response_ps: 0,
            pause: PauseTime::UntilResumed,
        }
    }
}
