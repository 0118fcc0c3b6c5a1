//! A port at the wall clock: an interface, and the socket by which its frames come and go. There are two kinds of
//! sockets; who uses a port does not know which it has.

mod packet;
#[cfg(feature = "xdp")]
mod xdp;

use std::os::fd::{AsFd, BorrowedFd};

use nix::errno::Errno;

use crate::interface::{Interface, look_up};

use super::named;
use super::offload::LeftUndone;
use packet::RawSocket;
#[cfg(feature = "xdp")]
use xdp::XdpSocket;

mod option {
    //! Options of packet sockets.
    use nix::{getsockopt_impl, setsockopt_impl, sockopt_impl};

    sockopt_impl!(
        /// Frames are counted that came, and that found no room.
        Statistics, GetOnly, libc::SOL_PACKET, libc::PACKET_STATISTICS, libc::tpacket_stats
    );
    sockopt_impl!(
        /// What a card would have done is said before each frame.
        VnetHeader, SetOnly, libc::SOL_PACKET, libc::PACKET_VNET_HDR, bool
    );
    sockopt_impl!(
        /// Tags that the kernel has taken off are said beside each frame.
        AuxData, SetOnly, libc::SOL_PACKET, libc::PACKET_AUXDATA, bool
    );
    sockopt_impl!(
        /// Frames that leave by the interface are not shown.
        IgnoreOutgoing, SetOnly, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, bool
    );
    sockopt_impl!(
        /// Frames for others are shown, too.
        Membership, SetOnly, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, libc::packet_mreq
    );
}

/// Room for one frame as the kernel may join them.
const ROOM: usize = 1 << 17;
/// Memory for frames that wait, as far as the system grants it.
const MEMORY: usize = 4 << 20;

/// The wish for frames for others, too, at the interface of this number.
const fn everything(interface: usize) -> libc::packet_mreq {
    libc::packet_mreq {
        mr_ifindex: interface as i32,
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    }
}

/// A kind of socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SocketKind {
    /// AF_PACKET.
    #[default]
    Packet,
    /// AF_XDP.
    Xdp,
}

#[derive(Debug)]
enum Socket {
    Packet(RawSocket),
    #[cfg(feature = "xdp")]
    Xdp(XdpSocket),
}

impl Socket {
    fn open(kind: SocketKind, name: &str, interface: &Interface) -> Result<Self, String> {
        match kind {
            SocketKind::Packet => RawSocket::open(name, interface).map(Self::Packet),
            #[cfg(feature = "xdp")]
            SocketKind::Xdp => XdpSocket::open(name, interface).map(Self::Xdp),
            #[cfg(not(feature = "xdp"))]
            SocketKind::Xdp => Err(format!(
                "interface {name} cannot be opened: this Backwater was built without AF_XDP; build it with the \
                 feature xdp of its crates, or leave --socket xdp away"
            )),
        }
    }
}

/// An interface that is open.
#[derive(Debug)]
pub struct PortSocket {
    socket: Socket,
    name: String,
    /// Number of the interface.
    number: usize,
    gone: bool,
    /// Frames that the interface would not take.
    unsent: u64,
    /// Of them those that are longer than it takes.
    too_long: u64,
    /// Joined frames that cannot be taken apart.
    unfinished: u64,
}

impl PortSocket {
    /// Opens an interface.
    ///
    /// # Errors
    /// There is no such interface, or the system refuses this kind of socket: in words.
    pub fn open(name: &str, kind: SocketKind) -> Result<(Self, Interface), String> {
        let found = look_up(name).map_err(|why| match why {
            Errno::ENODEV => format!(
                "there is no Ethernet interface {name} in this network namespace; `ip link` lists those there are"
            ),
            why => format!("interface {name} cannot be looked up: {}", why.desc()),
        })?;
        let port = Self {
            socket: Socket::open(kind, name, &found)?,
            name: name.to_owned(),
            number: found.link.ifindex(),
            gone: false,
            unsent: 0,
            too_long: 0,
            unfinished: 0,
        };
        Ok((port, found))
    }

    /// Receives a frame with its tag, if one has come, and says what is left to do for it.
    ///
    /// # Errors
    /// `EAGAIN`: none has come; `ENETDOWN`: the interface is down.
    pub fn receive(&mut self) -> Result<(&mut [u8], LeftUndone), Errno> {
        match &mut self.socket {
            Socket::Packet(socket) => socket.receive(),
            #[cfg(feature = "xdp")]
            Socket::Xdp(socket) => socket.receive(),
        }
    }

    /// Sends a frame, at the latest when [`PortSocket::flush`] is called. One that the interface does not take is
    /// counted.
    pub fn send(&mut self, frame: &[u8]) {
        let sent = match &mut self.socket {
            Socket::Packet(socket) => socket.send(frame),
            #[cfg(feature = "xdp")]
            Socket::Xdp(socket) => socket.send(frame),
        };
        self.unsent += u64::from(sent.is_err());
        self.too_long += u64::from(sent == Err(Errno::EMSGSIZE));
    }

    /// Sends what waits to be sent.
    pub fn flush(&mut self) {
        match &mut self.socket {
            Socket::Packet(_) => (),
            #[cfg(feature = "xdp")]
            Socket::Xdp(socket) => self.unsent += socket.flush(),
        }
    }

    /// A joined frame could not be taken apart.
    pub const fn note_unfinished(&mut self) {
        self.unfinished += 1;
    }

    /// What was lost here so far, by name: what the kernel counts at the socket, frames that the interface did not
    /// take, and joined frames that could not be taken apart.
    // WSW-41
    pub fn lost(&mut self) -> Vec<(String, u64)> {
        let mut lost = match &mut self.socket {
            Socket::Packet(socket) => named(&[("socket_dropped", socket.dropped())]),
            #[cfg(feature = "xdp")]
            Socket::Xdp(socket) => named(&socket.lost()),
        };
        lost.extend(named(&[
            ("socket_unsent", self.unsent),
            ("socket_unfinished", self.unfinished),
        ]));
        lost
    }

    /// Frames that are longer than the interface takes.
    #[must_use]
    pub const fn too_long(&self) -> u64 {
        self.too_long
    }

    /// Name of the interface.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its kind of socket, and what the kernel has chosen of it, in words.
    #[must_use]
    pub fn chosen(&self) -> String {
        match &self.socket {
            Socket::Packet(_) => "AF_PACKET".to_owned(),
            #[cfg(feature = "xdp")]
            Socket::Xdp(socket) => socket.chosen(),
        }
    }

    /// Looks at the interface. Returns whether it can carry frames.
    pub fn look(&mut self) -> bool {
        let found = look_up(&self.name);
        self.gone = match found {
            Ok(found) => found.link.ifindex() != self.number,
            Err(why) => why == Errno::ENODEV,
        };
        #[cfg(feature = "xdp")]
        if let Socket::Xdp(socket) = &mut self.socket {
            socket.look();
        }
        !self.gone && found.is_ok_and(|found| found.up)
    }

    /// Whether the interface was gone when it was looked at, whatever has its name now.
    #[must_use]
    pub const fn is_gone(&self) -> bool {
        self.gone
    }

    /// What can be waited for.
    pub fn fds(&self) -> Vec<BorrowedFd<'_>> {
        match &self.socket {
            Socket::Packet(socket) => vec![socket.as_fd()],
            #[cfg(feature = "xdp")]
            Socket::Xdp(socket) => socket.fds().collect(),
        }
    }
}
