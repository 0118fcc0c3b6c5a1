//! Raw sockets that send and receive complete Ethernet frames on one interface.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, bind, getsockopt, recv, send,
    setsockopt, socket, sockopt,
};
use nix::sys::time::{TimeVal, TimeValLike};

use crate::interface::look_up;
use crate::namespace::Refused;

/// A raw socket on an interface. It receives every frame that arrives at the interface, for any
/// destination address, including frames that the kernel of the other end sends by itself.
#[derive(Debug)]
pub struct PacketSocket {
    socket: OwnedFd,
}

impl PacketSocket {
    /// Opens an interface in the network namespace of the calling thread.
    ///
    /// # Errors
    /// The interface does not exist, or the process lacks `CAP_NET_RAW`.
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

    /// Requests memory for waiting frames. Returns the granted bytes. The kernel also counts its
    /// own data structures against this memory.
    ///
    /// # Errors
    /// The kernel does not report the granted bytes.
    pub fn set_receive_memory(&self, bytes: usize) -> Result<usize, Errno> {
        setsockopt(&self.socket, sockopt::RcvBuf, &bytes)?;
        getsockopt(&self.socket, sockopt::RcvBuf)
    }

    /// Sets the maximum time that [`PacketSocket::receive`] waits.
    ///
    /// # Errors
    /// The kernel rejects the option.
    pub fn set_timeout(&self, milliseconds: i64) -> Result<(), Errno> {
        let time = TimeVal::milliseconds(milliseconds);
        setsockopt(&self.socket, sockopt::ReceiveTimeout, &time)
    }

    /// Sends a frame. Blocks until memory for the frame is available.
    ///
    /// # Errors
    /// The kernel rejects the frame.
    pub fn send(&self, frame: &[u8]) -> Result<(), Errno> {
        match send(self.socket.as_raw_fd(), frame, MsgFlags::empty()) {
            Err(Errno::EINTR) => self.send(frame),
            sent => sent.map(|_| ()),
        }
    }

    /// Waits for a frame and receives it. Returns the length of the frame, which may exceed the
    /// buffer.
    ///
    /// # Errors
    /// `EAGAIN` if no frame arrived in time.
    pub fn receive(&self, buffer: &mut [u8]) -> Result<usize, Errno> {
        match recv(self.socket.as_raw_fd(), buffer, MsgFlags::MSG_TRUNC) {
            Err(Errno::EINTR) => self.receive(buffer),
            received => received,
        }
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
