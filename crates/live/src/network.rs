//! Builds the network of a scenario: a network namespace for each node, and a pair of virtual
//! interfaces for each link.

use std::time::{Duration, Instant};

use fabric::engine::lockstep::{Carrier, LinkError};
use fabric::topology::Graph;
use fabric::{LinkId, NodeId};
use nix::errno::Errno;
use thiserror::Error;
use wire::ethernet::{Mac, SHORTEST, ether_type};
use wire::frame::mac;

use crate::namespace::{NetworkNamespace, Refused};
use crate::packet_socket::PacketSocket;
use crate::veth::Interfaces;

/// Requested bytes of memory for frames that wait at an interface. The system may grant less.
const RECEIVE_MEMORY: usize = 4 << 20;

/// Maximum time until a sent frame must arrive. The kernel delivers it immediately, but a busy
/// machine may delay the delivery.
const ARRIVAL_TIME: Duration = Duration::from_secs(10);

/// Maximum time until a new link must carry frames.
const LINK_TIME: Duration = Duration::from_secs(10);

/// Time between two test frames on a new link, ms.
const TEST_INTERVAL_MS: i64 = 5;

/// Maximum number of frames that the kernel queues per processor, over all interfaces. Further
/// frames are dropped. This is the default of `net.core.netdev_max_backlog`.
const BACKLOG: usize = 1000;

/// MTU of the interfaces: the maximum that the kernel allows.
const MTU: u32 = 65_535;

/// Bytes of a buffer for the largest frame, including Ethernet header and VLAN tag.
const FRAME_ROOM: usize = MTU as usize + 18;

/// An error while the network is built.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Failure {
    /// The system rejected an operation.
    #[error("{0}")]
    System(#[from] Refused),
    /// A link carries no frames.
    #[error("{link}: no frame arrived within {} s", LINK_TIME.as_secs(), link = .0)]
    Dead(String),
}

/// An error while a carrier sends or receives frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    /// The system cannot send a frame.
    #[error("a frame of {bytes} bytes cannot be sent: {}", why.desc())]
    Send {
        /// Length of the frame in bytes.
        bytes: usize,
        /// Error number of the system.
        why: Errno,
    },
    /// The system cannot receive frames.
    #[error("no frame can be received: {}", why.desc())]
    Receive {
        /// Error number of the system.
        why: Errno,
    },
    /// Frames did not arrive in time.
    #[error("of {sent} sent frames only {received} arrived within {} s", ARRIVAL_TIME.as_secs())]
    Missing {
        /// Number of frames that the neighbour sent in this round.
        sent: usize,
        /// Number of frames that arrived.
        received: usize,
    },
    /// A received frame is longer than the largest possible frame of the network.
    #[error("a frame of {bytes} bytes arrived, but the largest frame has {FRAME_ROOM}")]
    Long {
        /// Length of the frame in bytes.
        bytes: usize,
    },
}

/// Returns the name of a port's interface in the network namespace of its node.
fn interface(port: u16) -> String {
    format!("p{port}")
}

/// Builds namespaces, interfaces and sockets for all nodes of a network. Returns the carriers in
/// the order of node IDs. The network exists as long as the carriers.
///
/// # Errors
/// The system rejects an operation; see also [`crate::enter_user_namespace`].
// LIV-01: namespaces and interfaces
pub fn build(graph: &Graph) -> Result<Vec<VethCarrier>, Failure> {
    let namespaces: Result<Vec<_>, Refused> =
        graph.node_ids().map(|_| NetworkNamespace::new()).collect();
    let namespaces = namespaces?;
    for (node, namespace) in graph.node_ids().zip(&namespaces) {
        namespace.inside(|| connect(graph, node, &namespaces))?;
    }
    let room = BACKLOG / 2 / (graph.nodes() as usize).max(1);
    let carrier = |(node, namespace): (NodeId, &NetworkNamespace)| {
        namespace.inside(|| VethCarrier::open(graph, node, room.max(1)))
    };
    let carriers: Result<Vec<_>, Refused> =
        graph.node_ids().zip(&namespaces).map(carrier).collect();
    let mut carriers = carriers?;
    for node in graph.node_ids() {
        for port in 0..graph.ports(node) {
            test_link(graph, &mut carriers, node, port)?;
        }
    }
    Ok(carriers)
}

/// Creates the links between a node and the nodes with larger IDs.
fn connect(graph: &Graph, node: NodeId, namespaces: &[NetworkNamespace]) -> Result<(), Refused> {
    let interfaces = Interfaces::here()?;
    for (port, link) in (0..).zip(graph.links_of(node)) {
        let far = graph.port(link);
        if (node, port) < (far.peer, far.peer_port) {
            let there = &namespaces[far.peer.index()];
            let peer = interface(far.peer_port);
            interfaces.add_pair(&interface(port), (there, &peer), MTU)?;
        }
    }
    Ok(())
}

/// Sends frames over a new link until one arrives. An interface that is up possibly does not carry
/// frames immediately.
fn test_link(
    graph: &Graph,
    carriers: &mut [VethCarrier],
    node: NodeId,
    port: u16,
) -> Result<(), Failure> {
    let link = graph.link(node, port);
    let far = graph.port(link);
    let mut hello = [0; SHORTEST];
    hello[..6].copy_from_slice(&HELLO);
    hello[6..12].copy_from_slice(&mac(node.bits(), port));
    hello[12..14].copy_from_slice(&ether_type::OURS.to_be_bytes());
    let name = || format!("link {}", graph.port_name(link));
    let fails = |why| Failure::System(Refused::new(name(), why));
    let began = Instant::now();
    while began.elapsed() < LINK_TIME {
        let from = &carriers[node.index()].ports[usize::from(port)];
        from.socket.send(&hello).map_err(fails)?;
        let to = &mut carriers[far.peer.index()].ports[usize::from(far.peer_port)];
        to.socket.set_timeout(TEST_INTERVAL_MS).map_err(fails)?;
        loop {
            match to.socket.receive(&mut to.buffer) {
                Ok(_) if to.buffer[..12] == hello[..12] => {
                    let timeout = ARRIVAL_TIME.as_millis() as i64;
                    return to.socket.set_timeout(timeout).map_err(fails);
                }
                Ok(_) => {}
                Err(Errno::EAGAIN) => break,
                Err(why) => return Err(fails(why)),
            }
        }
    }
    Err(Failure::Dead(name()))
}

/// Destination address of test frames. No node has this address.
const HELLO: Mac = [0x06, 0, 0, 0, 0, 0];

/// A port of a node: a raw socket on its interface.
#[derive(Debug)]
struct Port {
    socket: PacketSocket,
    /// MAC address of the neighbour's port. Frames with other source addresses are ignored.
    peer: Mac,
    /// Bytes of kernel memory at the neighbour that the frames of one round may use.
    memory: usize,
    /// Bytes of `memory` that remain in this round.
    left: usize,
    buffer: Vec<u8>,
}

/// Sends and receives the frames of one node over virtual interfaces.
#[derive(Debug)]
pub struct VethCarrier {
    ports: Vec<Port>,
    /// Maximum number of frames that the node may send per round without an overflow of kernel
    /// queues.
    room: usize,
    left: usize,
}

/// Upper bound of the memory that the kernel accounts for a frame. The data block is a power of
/// two, which includes kernel header and fragment information. The size of the socket buffer
/// structure is added.
const fn memory_of(frame: usize) -> usize {
    (frame + 512).next_power_of_two() + 512
}

impl VethCarrier {
    /// Sets the interfaces of a node up, and opens them. Must run in the network namespace of the
    /// node.
    fn open(graph: &Graph, node: NodeId, room: usize) -> Result<Self, Refused> {
        let interfaces = Interfaces::here()?;
        let port = |(port, link): (u16, LinkId)| {
            let far = graph.port(link);
            let name = interface(port);
            interfaces.set_up(&name)?;
            let socket = PacketSocket::open(&name)?;
            let memory = socket.set_receive_memory(RECEIVE_MEMORY);
            let refused = |why| Refused::new(format!("interface {name} has no memory"), why);
            Ok(Port {
                socket,
                peer: mac(far.peer.bits(), far.peer_port),
                // Frames of two rounds may wait at the same time, so each round may use half of the
                // memory.
                memory: memory.map_err(refused)? / 2,
                left: 0,
                buffer: vec![0; FRAME_ROOM],
            })
        };
        let ports: Result<Vec<_>, Refused> = (0..).zip(graph.links_of(node)).map(port).collect();
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

    // LIV-08: a node sends only frames for which the kernel queues have space
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

    // LIV-07, LIV-09: receive exactly `count` frames from the neighbour
    fn receive(
        &mut self,
        port: u16,
        count: usize,
        take: &mut dyn FnMut(&[u8]) -> Result<(), LinkError>,
    ) -> Result<(), LinkError> {
        let port = &mut self.ports[usize::from(port)];
        let mut received = 0;
        while received < count {
            let bytes = port.socket.receive(&mut port.buffer).map_err(|why| {
                LinkError::carrier(match why {
                    Errno::EAGAIN => FrameError::Missing {
                        sent: count,
                        received,
                    },
                    why => FrameError::Receive { why },
                })
            })?;
            let frame = port.buffer.get(..bytes);
            let frame = frame.ok_or_else(|| LinkError::carrier(FrameError::Long { bytes }))?;
            if frame.get(6..12) == Some(&port.peer) && frame[..6] != HELLO {
                received += 1;
                take(frame)?;
            }
        }
        Ok(())
    }
}
