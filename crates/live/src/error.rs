//! Errors of switches and hosts that run on the wall clock.

use std::net::SocketAddr;

use nix::errno::Errno;

/// An error of a switch or host that runs on real network interfaces.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The network has no switch of this name.
    #[error("the scenario has no switch {name}; it has {}", known.join(", "))]
    UnknownSwitch {
        /// Unknown name of the switch.
        name: String,
        /// Names of all switches.
        known: Vec<String>,
    },
    /// The network has several switches, and the user did not select one.
    #[error("the scenario has several switches; name one of them: {}", known.join(", "))]
    SeveralSwitches {
        /// Names of all switches.
        known: Vec<String>,
    },
    /// The network has no host of this name.
    #[error("the scenario has no host {name}; it has {first} to {last}")]
    UnknownHost {
        /// Unknown name of the host.
        name: String,
        /// Name of the first host.
        first: String,
        /// Name of the last host.
        last: String,
    },
    /// The number of interfaces differs from the number of the node's ports.
    #[error(
        "{node} has {} port{} in the scenario, but {given} interface{} given: give one for each \
         port, in the order of the neighbours: {}",
        neighbours.len(),
        if neighbours.len() == 1 { "" } else { "s" },
        if *given == 1 { " is" } else { "s are" },
        neighbours.join(", ")
    )]
    Interfaces {
        /// Name of the node.
        node: String,
        /// Names of the neighbours, in the order of the ports.
        neighbours: Vec<String>,
        /// Number of interfaces that the user listed.
        given: usize,
    },
    /// The nodes would need information that frames do not carry. The text is the reason.
    #[error(
        "this scenario cannot run on real frames, because nodes would need information that no \
         frame carries: {0}"
    )]
    NeedsMoreThanFrames(&'static str),
    /// The scenario has a receiver-driven transport, which needs switches that shape and trim.
    #[error(
        "receiver-driven transports need their own kind of hosts, and switches that shape and \
         trim: they run in lockstep only (docs/live.md)"
    )]
    ReceiverDriven,
    /// The switches select paths by the load of their ports.
    #[error(
        "scheme.path chooses ports by their load, but a frame of a foreign host must leave by \
         the port of its destination address: set scheme.path = \"flow\""
    )]
    PathByLoad,
    /// With this hop-by-hop scheme (its name), a node sends only with credit from its neighbour.
    #[error(
        "with {0} a node sends only after its neighbour has granted credit, which real hosts do \
         not do: it runs in lockstep only (docs/live.md)"
    )]
    NeedsCredit(&'static str),
    /// The buffer is smaller than the headroom and the reserved bytes of all ports.
    #[error(
        "a buffer of {buffer} B is too small for {headroom} B of headroom and {reserved} B \
         reserved: raise switch.buffer, or make fewer priorities lossless"
    )]
    Buffer {
        /// Size of the buffer, bytes.
        buffer: u64,
        /// Headroom of all ports, bytes.
        headroom: u64,
        /// Bytes reserved for all ports.
        reserved: u64,
    },
    /// The list of traffic classes does not have 8 entries (one per priority).
    #[error("{0} traffic classes are given; expected 8, one for each priority")]
    ClassCount(usize),
    /// A number in the list is not a traffic class.
    #[error("{0} is not a traffic class; expected 0 to 7")]
    Class(u8),
    /// The thread cannot drop capabilities.
    #[error("unneeded capabilities cannot be dropped: {0}")]
    Capabilities(caps::errors::CapsError),
    /// The network namespace has no Ethernet interface of this name.
    #[error(
        "there is no Ethernet interface {interface} in this network namespace; `ip link` lists \
         the existing ones"
    )]
    NoInterface {
        /// Name of the interface.
        interface: String,
    },
    /// The process has no right to open raw sockets.
    #[error(
        "interface {interface} cannot be opened: raw sockets need the capability CAP_NET_RAW; \
         run as root, or in a new user namespace (unshare -Urn)"
    )]
    NoRawSockets {
        /// Name of the interface.
        interface: String,
    },
    /// The system rejected an operation on an interface.
    #[error("interface {interface} cannot be {operation}: {}", why.desc())]
    Interface {
        /// Name of the interface.
        interface: String,
        /// The rejected operation, as a past participle for the message.
        operation: &'static str,
        /// Error number of the system.
        why: Errno,
    },
    /// The metrics server cannot listen at its address.
    #[error("metrics cannot be served at {address}: {why}")]
    Metrics {
        /// Address of the server.
        address: SocketAddr,
        /// Error of the system.
        why: std::io::Error,
    },
    /// An interface disappeared during the run.
    #[error("interface {interface} no longer exists")]
    Gone {
        /// Name of the interface.
        interface: String,
    },
    /// The MTU of an interface is too small for the longest frame.
    #[error(
        "{interface} does not accept frames of {bytes} bytes: give it a larger MTU (`ip link set \
         {interface} mtu {}`), or set a smaller mtu in the scenario", bytes.saturating_sub(14)
    )]
    TooLong {
        /// Name of the interface.
        interface: String,
        /// Length of the longest frame, bytes.
        bytes: usize,
    },
    /// The results cannot be written.
    #[cfg(feature = "simulator")]
    #[error("{0}")]
    Results(#[from] results::Error),
}
