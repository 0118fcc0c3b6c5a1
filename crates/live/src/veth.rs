//! Creates pairs of virtual Ethernet interfaces between network namespaces.

use std::os::fd::{AsFd, AsRawFd};

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use netlink_sys::constants::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use nix::errno::Errno;

use crate::namespace::{NetworkNamespace, Refused};

/// A netlink socket for the interfaces of the network namespace in which the socket was opened.
#[derive(Debug)]
pub struct Interfaces {
    socket: Socket,
}

/// Bytes of a buffer for an answer: a header and an error number. Some answers repeat the request.
const ANSWER_BYTES: usize = 8192;

impl Interfaces {
    /// Opens a netlink socket in the network namespace of the calling thread.
    ///
    /// # Errors
    /// The system rejects the socket.
    pub fn here() -> Result<Self, Refused> {
        let socket = Socket::new(NETLINK_ROUTE).and_then(|mut socket| {
            socket.bind_auto()?;
            socket.connect(&SocketAddr::new(0, 0))?;
            Ok(socket)
        });
        match socket {
            Ok(socket) => Ok(Self { socket }),
            Err(error) => Err(refused("a netlink socket cannot be opened", &error)),
        }
    }

    /// Creates a pair of interfaces: one in this network namespace, one in another. Both are down.
    ///
    /// # Errors
    /// The kernel rejects the request.
    pub fn add_pair(
        &self,
        name: &str,
        (there, peer): (&NetworkNamespace, &str),
        mtu: u32,
    ) -> Result<(), Refused> {
        let mut other = LinkMessage::default();
        other.attributes = vec![
            LinkAttribute::IfName(peer.to_owned()),
            LinkAttribute::Mtu(mtu),
            LinkAttribute::NetNsFd(there.as_fd().as_raw_fd()),
        ];
        let mut pair = LinkMessage::default();
        pair.attributes = vec![
            LinkAttribute::IfName(name.to_owned()),
            LinkAttribute::Mtu(mtu),
            LinkAttribute::LinkInfo(vec![
                LinkInfo::Kind(InfoKind::Veth),
                LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(other))),
            ]),
        ];
        let flags = NLM_F_CREATE | NLM_F_EXCL;
        self.request(RouteNetlinkMessage::NewLink(pair), flags)
            .map_err(|why| Refused::new(format!("interface {name} cannot be created"), why))
    }

    /// Sets an interface up.
    ///
    /// # Errors
    /// The kernel rejects the request.
    pub fn set_up(&self, name: &str) -> Result<(), Refused> {
        let mut link = LinkMessage::default();
        link.header.flags = LinkFlags::Up;
        link.header.change_mask = LinkFlags::Up;
        link.attributes = vec![LinkAttribute::IfName(name.to_owned())];
        self.request(RouteNetlinkMessage::SetLink(link), 0)
            .map_err(|why| Refused::new(format!("interface {name} cannot be set up"), why))
    }

    /// Sends a request to the kernel, and waits for its answer.
    fn request(&self, message: RouteNetlinkMessage, flags: u16) -> Result<(), Errno> {
        let mut request = NetlinkMessage::from(message);
        request.header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        self.socket
            .send(&bytes, 0)
            .map_err(|error| number(&error))?;
        let mut answer = Vec::with_capacity(ANSWER_BYTES);
        self.socket
            .recv(&mut answer, 0)
            .map_err(|error| number(&error))?;
        let read = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer);
        match read.map(|message| message.payload) {
            Ok(NetlinkPayload::Error(error)) => match error.code {
                None => Ok(()),
                Some(code) => Err(Errno::from_raw(-code.get())),
            },
            _ => Err(Errno::EPROTO),
        }
    }
}

fn number(error: &std::io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EIO, Errno::from_raw)
}

fn refused(what: &str, error: &std::io::Error) -> Refused {
    Refused::new(what, number(error))
}
