//! A scenario's network out of network namespaces, one for each node, and pairs of virtual interfaces, one for
//! each link.

use std::fmt;
use std::time::{Duration, Instant};

use fabric::engine::lockstep::{Carrier, LinkError};
use fabric::topology::Graph;
use nix::errno::Errno;
use wire::ethernet::{Mac, SHORTEST, ether_type};
use wire::frame::mac;

use crate::namespace::{NetworkNamespace, Refused};
use crate::packet_socket::PacketSocket;
use crate::veth::Interfaces;

/// Memory for frames that wait at an interface, as far as the system grants it.
const RECEIVE_MEMORY: usize = 4 << 20;

/// How long a frame that was sent may take. The kernel hands it over at once; a busy machine may not.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a new link may take until it carries frames.
const LINK_TIME: Duration = Duration::from_secs(10);

/// Between two tries of a new link, ms.
const TRY_MS: i64 = 5;

/// Frames that the kernel holds for all interfaces of a processor before it drops some
/// (`net.core.netdev_max_backlog`), where nobody has set it lower.
const BACKLOG: usize = 1000;

/// Bytes behind the Ethernet header that an interface takes: as many as the kernel allows.
const MTU: u32 = 65_535;

/// Room for the largest frame, with its header and a tag.
const FRAME_ROOM: usize = MTU as usize + 18;

/// Why there is no network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The system refused something.
    System(Refused),
    /// A link carries nothing.
    Dead(String),
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        Self::System(refused)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(refused) => write!(f, "{refused}"),
            Self::Dead(link) => {
                let seconds = LINK_TIME.as_secs();
                write!(f, "{link}: no frame came through in {seconds} s")
            }
        }
    }
}

impl std::error::Error for Failure {}

/// Error of a carrier when it sends or receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// The system does not send a frame.
    Send {
        /// Bytes of the frame.
        bytes: usize,
        /// The reason of the system.
        why: Errno,
    },
    /// The system does not return frames.
    Receive {
        /// The reason of the system.
        why: Errno,
    },
    /// Frames did not arrive in time.
    Missing {
        /// Number of frames that were sent in this round.
        sent: usize,
        /// Number of frames that arrived.
        came: usize,
    },
    /// A frame is longer than any interface of the network sends.
    Long {
        /// Bytes of the frame.
        bytes: usize,
    },
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Send { bytes, why } => {
                write!(f, "a frame of {bytes} bytes cannot be sent: {}", why.desc())
            }
            Self::Receive { why } => write!(f, "no frame can be received: {}", why.desc()),
            Self::Missing { sent, came } => {
                let seconds = PATIENCE.as_secs();
                write!(f, "{sent} frames were sent, {came} came in {seconds} s")
            }
            Self::Long { bytes } => write!(
                f,
                "a frame of {bytes} bytes came, and none has more than {FRAME_ROOM}"
            ),
        }
    }
}

impl std::error::Error for FrameError {}

/// The interface of a port, in the namespace of its node.
fn interface(port: u16) -> String {
    format!("p{port}")
}

/// Makes namespaces, interfaces and sockets for all nodes of a network. They last as long as the carriers, which
/// come in the order of the nodes' numbers.
///
/// # Errors
/// The system refuses it; see [`crate::enter_user_namespace`].
// LIV-01
pub fn build(graph: &Graph) -> Result<Vec<VethCarrier>, Failure> {
    let namespaces: Result<Vec<_>, Refused> = (0..graph.nodes())
        .map(|_| NetworkNamespace::new())
        .collect();
    let namespaces = namespaces?;
    for (node, namespace) in (0..).zip(&namespaces) {
        namespace.inside(|| join(graph, node, &namespaces))?;
    }
    let room = BACKLOG / 2 / (graph.nodes() as usize).max(1);
    let carrier = |(node, namespace): (u32, &NetworkNamespace)| {
        namespace.inside(|| VethCarrier::open(graph, node, room.max(1)))
    };
    let carriers: Result<Vec<_>, Refused> = (0..).zip(&namespaces).map(carrier).collect();
    let mut carriers = carriers?;
    for node in 0..graph.nodes() {
        for port in 0..graph.ports(node) {
            try_link(graph, &mut carriers, (node, port))?;
        }
    }
    Ok(carriers)
}

/// Makes the links from a node to nodes with higher numbers.
fn join(graph: &Graph, node: u32, namespaces: &[NetworkNamespace]) -> Result<(), Refused> {
    let interfaces = Interfaces::here()?;
    for (port, index) in (0..).zip(graph.port_range(node)) {
        let far = graph.port(index);
        if (node, port) < (far.peer, far.peer_port) {
            let there = &namespaces[far.peer as usize];
            let peer = interface(far.peer_port);
            interfaces.add_pair(&interface(port), (there, &peer), MTU)?;
        }
    }
    Ok(())
}

/// Sends frames over a new link until one comes through: an interface that is up may not carry any yet.
fn try_link(
    graph: &Graph,
    carriers: &mut [VethCarrier],
    (node, port): (u32, u16),
) -> Result<(), Failure> {
    let far = graph.port(graph.port_index(node, port));
    let mut hello = [0; SHORTEST];
    hello[..6].copy_from_slice(&HELLO);
    hello[6..12].copy_from_slice(&mac(node, port));
    hello[12..14].copy_from_slice(&ether_type::OURS.to_be_bytes());
    let name = || format!("link {}", graph.port_name(graph.port_index(node, port)));
    let fails = |why| Failure::System(Refused::new(name(), why));
    let began = Instant::now();
    while began.elapsed() < LINK_TIME {
        let from = &carriers[node as usize].ports[usize::from(port)];
        from.socket.send(&hello).map_err(fails)?;
        let to = &mut carriers[far.peer as usize].ports[usize::from(far.peer_port)];
        to.socket.set_patience(TRY_MS).map_err(fails)?;
        loop {
            match to.socket.receive(&mut to.place) {
                Ok(_) if to.place[..12] == hello[..12] => {
                    let patience = PATIENCE.as_millis() as i64;
                    return to.socket.set_patience(patience).map_err(fails);
                }
                Ok(_) => {}
                Err(Errno::EAGAIN) => break,
                Err(why) => return Err(fails(why)),
            }
        }
    }
    Err(Failure::Dead(name()))
}

/// Destination of the frames that try new links: no node has it.
const HELLO: Mac = [0x06, 0, 0, 0, 0, 0];

/// A port of a node: a raw socket on its interface.
#[derive(Debug)]
struct Port {
    socket: PacketSocket,
    /// Address of the port at the link's end: what comes from another is not of the run.
    peer: Mac,
    /// Bytes of memory that the frames of one round may take at the link's end.
    memory: usize,
    /// Of them, what this round has left.
    left: usize,
    place: Vec<u8>,
}

/// Carries the frames of one node over pairs of virtual interfaces.
#[derive(Debug)]
pub struct VethCarrier {
    ports: Vec<Port>,
    /// Frames that the node may send in a round, so that no queue of the kernel overflows.
    room: usize,
    left: usize,
}

/// Memory that the kernel counts for a frame, at most: its bytes in a block of a power of two with room for its own
/// header and for what belongs to fragments, and its record.
const fn memory_of(frame: usize) -> usize {
    (frame + 512).next_power_of_two() + 512
}

impl VethCarrier {
    /// Sets the interfaces of a node up and opens them, in the node's namespace.
    fn open(graph: &Graph, node: u32, room: usize) -> Result<Self, Refused> {
        let interfaces = Interfaces::here()?;
        let port = |(port, index): (u16, usize)| {
            let far = graph.port(index);
            let name = interface(port);
            interfaces.set_up(&name)?;
            let socket = PacketSocket::open(&name)?;
            let memory = socket.set_receive_memory(RECEIVE_MEMORY);
            let refused = |why| Refused::new(format!("interface {name} has no memory"), why);
            Ok(Port {
                socket,
                peer: mac(far.peer, far.peer_port),
                // Frames of two rounds may wait at once.
                memory: memory.map_err(refused)? / 2,
                left: 0,
                place: vec![0; FRAME_ROOM],
            })
        };
        let ports: Result<Vec<_>, Refused> = (0..).zip(graph.port_range(node)).map(port).collect();
        Ok(Self {
            ports: ports?,
            room,
            left: 0,
        })
    }
}

impl Carrier for VethCarrier {
    fn begin_round(&mut self) {
        self.left = self.room;
        for port in &mut self.ports {
            port.left = port.memory;
        }
    }

    // LIV-08
    fn send(&mut self, port: u16, frame: &[u8]) -> Result<bool, LinkError> {
        let port = &mut self.ports[usize::from(port)];
        let takes = memory_of(frame.len());
        if self.left == 0 || port.left < takes && port.left < port.memory {
            return Ok(false);
        }
        self.left -= 1;
        port.left = port.left.saturating_sub(takes);
        let sent = port.socket.send(frame);
        sent.map_err(|why| {
            LinkError::carrier(FrameError::Send {
                bytes: frame.len(),
                why,
            })
        })?;
        Ok(true)
    }

    // LIV-07, LIV-09
    fn receive(
        &mut self,
        port: u16,
        count: usize,
        take: &mut dyn FnMut(&[u8]) -> Result<(), LinkError>,
    ) -> Result<(), LinkError> {
        let port = &mut self.ports[usize::from(port)];
        let mut came = 0;
        while came < count {
            let bytes = port.socket.receive(&mut port.place).map_err(|why| {
                LinkError::carrier(match why {
                    Errno::EAGAIN => FrameError::Missing { sent: count, came },
                    why => FrameError::Receive { why },
                })
            })?;
            let frame = port.place.get(..bytes);
            let frame = frame.ok_or_else(|| LinkError::carrier(FrameError::Long { bytes }))?;
            if frame.get(6..12) == Some(&port.peer) && frame[..6] != HELLO {
                came += 1;
                take(frame)?;
            }
        }
        Ok(())
    }
}
