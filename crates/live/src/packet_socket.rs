//! Raw sockets: whole Ethernet frames of one interface, as they are.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, bind, getsockopt, recv, send,
    setsockopt, socket, sockopt,
};
use nix::sys::time::{TimeVal, TimeValLike};

use crate::interface::look_up;
use crate::namespace::Refused;

/// An interface with a raw socket on it. It sees every frame that comes to the interface, whomever it is for,
/// and those that the kernel sends by itself.
#[derive(Debug)]
pub struct PacketSocket {
    socket: OwnedFd,
}

impl PacketSocket {
    /// Opens an interface of the calling thread's namespace.
    ///
    /// # Errors
    /// There is no such interface, or the process has not the right to (`CAP_NET_RAW`).
    pub fn open(interface: &str) -> Result<Self, Refused> {
        let refused = |why| Refused::new(format!("interface {interface} cannot be opened"), why);
        let socket = socket(
            AddressFamily::Packet,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::EthAll,
        );
        let socket = socket.map_err(refused)?;
        let link = look_up(interface).map_err(refused)?.link;
        bind(socket.as_raw_fd(), &link).map_err(refused)?;
        Ok(Self { socket })
    }

    /// Requests this much memory for frames that wait, and says how much there is; the kernel counts its
    /// own records of the frames, too.
    ///
    /// # Errors
    /// The kernel does not say it.
    pub fn set_receive_memory(&self, bytes: usize) -> Result<usize, Errno> {
        setsockopt(&self.socket, sockopt::RcvBuf, &bytes)?;
        getsockopt(&self.socket, sockopt::RcvBuf)
    }

    /// Lets [`PacketSocket::receive`] wait this long.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn set_patience(&self, milliseconds: i64) -> Result<(), Errno> {
        let time = TimeVal::milliseconds(milliseconds);
        setsockopt(&self.socket, sockopt::ReceiveTimeout, &time)
    }

    /// Sends a frame; waits while there is no memory for it.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn send(&self, frame: &[u8]) -> Result<(), Errno> {
        match send(self.socket.as_raw_fd(), frame, MsgFlags::empty()) {
            Err(Errno::EINTR) => self.send(frame),
            sent => sent.map(|_| ()),
        }
    }

    /// Waits for a frame and receives it. Returns its bytes, which may be more than there is room for.
    ///
    /// # Errors
    /// `EAGAIN`: none has come in time.
    pub fn receive(&self, place: &mut [u8]) -> Result<usize, Errno> {
        match recv(self.socket.as_raw_fd(), place, MsgFlags::MSG_TRUNC) {
            Err(Errno::EINTR) => self.receive(place),
            received => received,
        }
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
