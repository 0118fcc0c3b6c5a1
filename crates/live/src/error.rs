//! Errors of nodes on the wall clock.

use std::fmt;
use std::net::SocketAddr;

use nix::errno::Errno;

/// Why a switch or host cannot run between real interfaces.
#[derive(Debug)]
pub enum Error {
    /// The network has no switch of this name.
    UnknownSwitch {
        /// The name.
        name: String,
        /// Names of all switches.
        known: Vec<String>,
    },
    /// The network has several switches, and the user did not name one.
    SeveralSwitches {
        /// Names of all switches.
        known: Vec<String>,
    },
    /// The network has no host of this name.
    UnknownHost {
        /// The name.
        name: String,
        /// Name of the first host.
        first: String,
        /// Name of the last host.
        last: String,
    },
    /// The interfaces do not match the ports of the node.
    Interfaces {
        /// Name of the node.
        node: String,
        /// Names of the neighbours, one for each port.
        neighbours: Vec<String>,
        /// Number of interfaces.
        given: usize,
    },
    /// The scenario needs more than frames: the reason.
    NeedsMoreThanFrames(&'static str),
    /// The switches of a receiver-driven transport shape and trim.
    ReceiverDriven,
    /// The switches choose paths by the loads of their ports.
    PathByLoad,
    /// The hop scheme of this name sends only with credit of its neighbour.
    NeedsCredit(&'static str),
    /// The buffer is smaller than the headroom and the reserve of all ports.
    Buffer {
        /// The buffer, bytes.
        buffer: u64,
        /// Headroom of all ports, bytes.
        headroom: u64,
        /// Reserved for all ports, bytes.
        reserved: u64,
    },
    /// Not all 8 priorities have a traffic class: the number of those that have.
    ClassCount(usize),
    /// This is not a traffic class.
    Class(u8),
    /// The thread cannot give up capabilities.
    Capabilities(caps::errors::CapsError),
    /// The network namespace has no Ethernet interface of this name.
    NoInterface {
        /// The name.
        interface: String,
    },
    /// The process may not open raw sockets.
    NoRawSockets {
        /// The interface.
        interface: String,
    },
    /// The system refuses an operation at an interface.
    Interface {
        /// The interface.
        interface: String,
        /// The operation, as a participle.
        operation: &'static str,
        /// The reason of the system.
        why: Errno,
    },
    /// The metrics cannot be served.
    Metrics {
        /// The address.
        address: SocketAddr,
        /// The reason of the system.
        why: std::io::Error,
    },
    /// An interface disappeared during the run.
    Gone {
        /// The interface.
        interface: String,
    },
    /// An interface does not accept frames of this length.
    TooLong {
        /// The interface.
        interface: String,
        /// Length of the longest frame, bytes.
        bytes: usize,
    },
    /// The results cannot be written.
    #[cfg(feature = "simulator")]
    Results(results::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownSwitch { name, known } => write!(
                f,
                "the scenario has no switch {name}; it has {}",
                known.join(", ")
            ),
            Self::SeveralSwitches { known } => write!(
                f,
                "the scenario has several switches, name one of them: {}",
                known.join(", ")
            ),
            Self::UnknownHost { name, first, last } => write!(
                f,
                "the scenario has no host {name}; it has {first} to {last}"
            ),
            Self::Interfaces {
                node,
                neighbours,
                given,
            } => {
                let ports = neighbours.len();
                write!(
                    f,
                    "{node} has {ports} port{} in the scenario, and {given} interface{} given: give one for each \
                     port, in the order of the neighbours: {}",
                    if ports == 1 { "" } else { "s" },
                    if *given == 1 { " is" } else { "s are" },
                    neighbours.join(", ")
                )
            }
            Self::NeedsMoreThanFrames(why) => write!(
                f,
                "this scenario cannot run on real frames, where nodes learn from each other only what frames carry: \
                 {why}"
            ),
            Self::ReceiverDriven => f.write_str(
                "receiver-driven transports need hosts of their own, and their switches shape and trim: they run in \
                 lockstep only (docs/live.md)",
            ),
            Self::PathByLoad => f.write_str(
                "scheme.path chooses ports by their loads, but a frame of another host must leave by the port of its \
                 address: set scheme.path = \"flow\"",
            ),
            Self::NeedsCredit(scheme) => write!(
                f,
                "{scheme} sends only what the neighbour has promised room for, which real hosts do not do: it runs \
                 in lockstep only (docs/live.md)"
            ),
            Self::Buffer {
                buffer,
                headroom,
                reserved,
            } => write!(
                f,
                "a buffer of {buffer} B has no room for {headroom} B of headroom and {reserved} B reserved: raise \
                 switch.buffer, or give fewer priorities as lossless"
            ),
            Self::ClassCount(given) => write!(
                f,
                "{given} traffic classes are given; expected 8, one for each priority"
            ),
            Self::Class(class) => {
                write!(f, "{class} is not a traffic class; expected 0 to 7")
            }
            Self::Capabilities(why) => write!(
                f,
                "capabilities that are not needed cannot be given up: {why}"
            ),
            Self::NoInterface { interface } => write!(
                f,
                "there is no Ethernet interface {interface} in this network namespace; `ip link` lists those there \
                 are"
            ),
            Self::NoRawSockets { interface } => write!(
                f,
                "interface {interface} cannot be opened: raw sockets need the capability CAP_NET_RAW; run it as \
                 root, or in a user namespace of its own (unshare -Urn)"
            ),
            Self::Interface {
                interface,
                operation,
                why,
            } => write!(
                f,
                "interface {interface} cannot be {operation}: {}",
                why.desc()
            ),
            Self::Metrics { address, why } => {
                write!(f, "metrics cannot be served at {address}: {why}")
            }
            Self::Gone { interface } => write!(f, "interface {interface} is gone"),
            Self::TooLong { interface, bytes } => write!(
                f,
                "{interface} takes no frame of {bytes} bytes: give it a larger MTU (`ip link set {interface} mtu {}`), \
                 or set a smaller mtu in the scenario",
                bytes.saturating_sub(14)
            ),
            #[cfg(feature = "simulator")]
            Self::Results(why) => write!(f, "{why}"),
        }
    }
}

impl std::error::Error for Error {}

#[cfg(feature = "simulator")]
impl From<results::Error> for Error {
    fn from(why: results::Error) -> Self {
        Self::Results(why)
    }
}
