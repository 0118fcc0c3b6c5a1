//! The socket of a port: an open network interface, with counters of lost frames.

use std::os::fd::{AsFd, BorrowedFd};

use nix::errno::Errno;

use crate::Error;
use crate::interface::{Interface, look_up};

use super::named;
use super::offload::Offload;
use super::raw_socket::RawSocket;

/// An open network interface of a port.
#[derive(Debug)]
pub struct PortSocket {
    socket: RawSocket,
    name: String,
    /// Index of the interface in the system.
    number: usize,
    gone: bool,
    /// Number of frames that the interface did not accept.
    unsent: u64,
    /// Number of frames in `unsent` that are longer than the interface accepts.
    too_long: u64,
    /// Number of joined frames that could not be split into segments.
    unfinished: u64,
}

impl PortSocket {
    /// Opens a network interface.
    ///
    /// # Errors
    /// The interface does not exist, or the system rejects the socket.
    pub fn open(name: &str) -> Result<(Self, Interface), Error> {
        let found = look_up(name).map_err(|why| match why {
            Errno::ENODEV => Error::NoInterface {
                interface: name.to_owned(),
            },
            why => Error::Interface {
                interface: name.to_owned(),
                operation: "looked up",
                why,
            },
        })?;
        let port = Self {
            socket: RawSocket::open(name, &found)?,
            name: name.to_owned(),
            number: found.link.ifindex(),
            gone: false,
            unsent: 0,
            too_long: 0,
            unfinished: 0,
        };
        Ok((port, found))
    }

    /// Returns the next received frame, with its VLAN tag restored, and the offloads (checksum,
    /// segmentation) that must be performed for it.
    ///
    /// # Errors
    /// `EAGAIN` if no frame is waiting, `ENETDOWN` if the interface is down.
    pub fn receive(&mut self) -> Result<(&mut [u8], Offload), Errno> {
        self.socket.receive()
    }

    /// Sends a frame. Counts the frame if the interface does not accept it.
    pub fn send(&mut self, frame: &[u8]) {
        let sent = self.socket.send(frame);
        self.unsent += u64::from(sent.is_err());
        self.too_long += u64::from(sent == Err(Errno::EMSGSIZE));
    }

    /// Counts a joined frame that could not be split into segments.
    pub const fn note_unfinished(&mut self) {
        self.unfinished += 1;
    }

    /// Returns the counters of lost frames by name: dropped by the kernel at the socket, not
    /// accepted by the interface, and joined frames that could not be split.
    // WSW-41: losses in the system are counted separately from drops of the scheme
    pub fn lost(&mut self) -> Vec<(String, u64)> {
        named(&[
            ("socket_dropped", self.socket.dropped()),
            ("socket_unsent", self.unsent),
            ("socket_unfinished", self.unfinished),
        ])
    }

    /// Number of frames that were longer than the interface accepts.
    #[must_use]
    pub const fn too_long(&self) -> u64 {
        self.too_long
    }

    /// Name of the interface.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads the state of the interface. Returns true if the interface can carry frames.
    pub fn check_link(&mut self) -> bool {
        let found = look_up(&self.name);
        self.gone = match found {
            Ok(found) => found.link.ifindex() != self.number,
            Err(why) => why == Errno::ENODEV,
        };
        !self.gone && found.is_ok_and(|found| found.up)
    }

    /// True if the last [`PortSocket::check_link`] did not find the interface, or found a different
    /// interface of the same name.
    #[must_use]
    pub const fn is_gone(&self) -> bool {
        self.gone
    }
}

impl AsFd for PortSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
