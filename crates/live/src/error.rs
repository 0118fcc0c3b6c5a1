//! Errors of nodes on the wall clock.

use std::fmt;
use std::net::SocketAddr;

use nix::errno::Errno;

/// An error of a switch or host between real interfaces.
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
    /// The scenario needs more than frames; the text is the reason.
    NeedsMoreThanFrames(&'static str),
    /// The scenario has a receiver-driven transport, whose switches shape and trim.
    ReceiverDriven,
    /// The switches choose paths by the load of their ports.
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
    /// The number of traffic classes is not 8, one per priority.
    ClassCount(usize),
    /// A number is not a traffic class.
    Class(u8),
    /// The thread cannot drop capabilities.
    Capabilities(caps::errors::CapsError),
    /// The network namespace has no Ethernet interface of this name.
    NoInterface {
        /// The name.
        interface: String,
    },
    /// The process has no right to open raw sockets.
    NoRawSockets {
        /// The interface.
        interface: String,
    },
    /// The system rejects an operation at an interface.
    Interface {
        /// The interface.
        interface: String,
        /// The operation, as a participle.
        operation: &'static str,
        /// Error number of the system.
        why: Errno,
    },
    /// The metrics cannot be served.
    Metrics {
        /// The address.
        address: SocketAddr,
        /// Error of the system.
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
                "the scenario has several switches; name one of them: {}",
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
                    "{node} has {ports} port{} in the scenario, but {given} interface{} given: give one for each \
                     port, in the order of the neighbours: {}",
                    if ports == 1 { "" } else { "s" },
                    if *given == 1 { " is" } else { "s are" },
                    neighbours.join(", ")
                )
            }
            Self::NeedsMoreThanFrames(why) => write!(
                f,
                "this scenario cannot run on real frames, because nodes would need information that no frame \
                 carries: {why}"
            ),
            Self::ReceiverDriven => f.write_str(
                "receiver-driven transports need their own kind of hosts, and switches that shape and trim: they \
                 run in lockstep only (docs/live.md)",
            ),
            Self::PathByLoad => f.write_str(
                "scheme.path chooses ports by their load, but a frame of a foreign host must leave by the port of \
                 its destination address: set scheme.path = \"flow\"",
            ),
            Self::NeedsCredit(scheme) => write!(
                f,
                "with {scheme} a node sends only after its neighbour has granted credit, which real hosts do not do: \
                 it runs in lockstep only (docs/live.md)"
            ),
            Self::Buffer {
                buffer,
                headroom,
                reserved,
            } => write!(
                f,
                "a buffer of {buffer} B is too small for {headroom} B of headroom and {reserved} B reserved: raise \
                 switch.buffer, or make fewer priorities lossless"
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
                "unneeded capabilities cannot be dropped: {why}"
            ),
            Self::NoInterface { interface } => write!(
                f,
                "there is no Ethernet interface {interface} in this network namespace; `ip link` lists the existing \
                 ones"
            ),
            Self::NoRawSockets { interface } => write!(
                f,
                "interface {interface} cannot be opened: raw sockets need the capability CAP_NET_RAW; run as root, \
                 or in a new user namespace (unshare -Urn)"
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
            Self::Gone { interface } => write!(f, "interface {interface} no longer exists"),
            Self::TooLong { interface, bytes } => write!(
                f,
                "{interface} does not accept frames of {bytes} bytes: give it a larger MTU (`ip link set {interface} mtu {}`), \
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
