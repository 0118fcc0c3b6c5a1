//! Raw sockets (AF_PACKET) that receive and send complete frames on an interface. For a received
//! frame the kernel delivers additional data: a VLAN tag that it removed, and offloads such as a
//! checksum that is not computed yet.

use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockProtocol, SockType, bind,
    getsockopt, recvmsg, sendmsg, setsockopt, socket, sockopt,
};
use wire::ethernet::ether_type;

use crate::Error;
use crate::interface::Interface;

use super::offload::{HEADER_BYTES, Offload};

mod option {
    //! Options of packet sockets, as types for `getsockopt` and `setsockopt`.
    use nix::{getsockopt_impl, setsockopt_impl, sockopt_impl};

    sockopt_impl!(
        /// Counts of frames that arrived, and of frames that were dropped because the socket was
        /// full.
        Statistics, GetOnly, libc::SOL_PACKET, libc::PACKET_STATISTICS, libc::tpacket_stats
    );
    sockopt_impl!(
        /// Adds an offload header before each frame.
        VnetHeader, SetOnly, libc::SOL_PACKET, libc::PACKET_VNET_HDR, bool
    );
    sockopt_impl!(
        /// Delivers VLAN tags that the kernel removed, as control data of each frame.
        AuxData, SetOnly, libc::SOL_PACKET, libc::PACKET_AUXDATA, bool
    );
    sockopt_impl!(
        /// Does not deliver frames that leave by the interface.
        IgnoreOutgoing, SetOnly, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, bool
    );
    sockopt_impl!(
        /// Delivers frames to all destination addresses (promiscuous mode).
        Membership, SetOnly, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, libc::packet_mreq
    );
}

/// Bytes of a buffer for one frame, which the kernel may have joined from several segments.
const FRAME_ROOM: usize = 1 << 17;
/// Requested bytes of the socket's buffers. The system may grant less.
const SOCKET_MEMORY: usize = 4 << 20;
/// Bytes of a buffer for the control data of a frame.
const CONTROL_ROOM: usize = 256;
/// Flag in the control data: the kernel removed a VLAN tag.
const TAG_VALID: u32 = 1 << 4;

/// Returns the option that enables promiscuous mode at the interface with this index.
const fn promiscuous(interface: usize) -> libc::packet_mreq {
    libc::packet_mreq {
        mr_ifindex: interface as i32,
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    }
}

/// A raw socket on a network interface.
#[derive(Debug)]
pub struct RawSocket {
    socket: OwnedFd,
    buffer: Vec<u8>,
    control: Vec<u8>,
    dropped: u64,
}

impl RawSocket {
    /// Opens a raw socket on an interface.
    ///
    /// # Errors
    /// The process may not open raw sockets, or the system rejects an option.
    pub fn open(name: &str, interface: &Interface) -> Result<Self, Error> {
        Self::on(interface).map_err(|why| match why {
            Errno::EPERM | Errno::EACCES => Error::NoRawSockets {
                interface: name.to_owned(),
            },
            why => Error::Interface {
                interface: name.to_owned(),
                operation: "opened",
                why,
            },
        })
    }

    fn on(interface: &Interface) -> Result<Self, Errno> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let protocol = SockProtocol::EthAll;
        let socket = socket(AddressFamily::Packet, SockType::Raw, flags, protocol)?;
        setsockopt(&socket, option::VnetHeader, &true)?;
        setsockopt(&socket, option::AuxData, &true)?;
        setsockopt(&socket, option::IgnoreOutgoing, &true)?;
        setsockopt(
            &socket,
            option::Membership,
            &promiscuous(interface.link.ifindex()),
        )?;
        setsockopt(&socket, sockopt::RcvBuf, &SOCKET_MEMORY)?;
        setsockopt(&socket, sockopt::SndBuf, &SOCKET_MEMORY)?;
        bind(socket.as_raw_fd(), &interface.link)?;
        let mut opened = Self {
            socket,
            buffer: vec![0; FRAME_ROOM],
            control: vec![0; CONTROL_ROOM],
            dropped: 0,
        };
        // Before it was bound, the socket received frames of all interfaces. These frames are
        // discarded.
        while opened.receive().is_ok() {}
        opened.dropped();
        opened.dropped = 0;
        Ok(opened)
    }

    /// Returns the next received frame, with its VLAN tag restored, and the offloads (checksum,
    /// segmentation) that must be performed for it.
    ///
    /// # Errors
    /// `EAGAIN` if no frame is waiting, `ENETDOWN` if the interface is down.
    pub fn receive(&mut self) -> Result<(&mut [u8], Offload), Errno> {
        // Space before the frame allows the insertion of a VLAN tag.
        let mut parts = [IoSliceMut::new(&mut self.buffer[TAG_ROOM..])];
        let fd = self.socket.as_raw_fd();
        let message = recvmsg::<()>(fd, &mut parts, Some(&mut self.control), MsgFlags::empty())?;
        let bytes = message.bytes;
        let tag = message.cmsgs()?.find_map(|control| match control {
            ControlMessageOwned::Unknown(of) => tag_of(&of.data_bytes),
            _ => None,
        });
        let frame = TAG_ROOM + HEADER_BYTES..TAG_ROOM + bytes;
        let Some(header) = self.buffer[TAG_ROOM..].first_chunk::<HEADER_BYTES>() else {
            return Err(Errno::EINVAL);
        };
        let left = Offload::parse(*header);
        if frame.len() < 14 {
            return Err(Errno::EINVAL);
        }
        let Some((kind, control)) = tag else {
            return Ok((&mut self.buffer[frame], left));
        };
        let start = frame.start - TAG_BYTES;
        self.buffer
            .copy_within(frame.start..frame.start + 12, start);
        self.buffer[start + 12..start + 14].copy_from_slice(&kind.to_be_bytes());
        self.buffer[start + 14..start + 16].copy_from_slice(&control.to_be_bytes());
        Ok((&mut self.buffer[start..frame.end], left.after_tag()))
    }

    /// Sends a frame.
    ///
    /// # Errors
    /// `EMSGSIZE` if the frame is longer than the interface accepts. Other errors if the interface
    /// rejects it.
    pub fn send(&self, frame: &[u8]) -> Result<(), Errno> {
        let parts = [IoSlice::new(&[0; HEADER_BYTES]), IoSlice::new(frame)];
        let fd = self.socket.as_raw_fd();
        sendmsg::<()>(fd, &parts, &[], MsgFlags::MSG_DONTWAIT, None).map(drop)
    }

    /// Number of frames that the kernel dropped because the socket was full.
    // WSW-41: the kernel counts frames for which the socket has no space
    pub fn dropped(&mut self) -> u64 {
        if let Ok(since) = getsockopt(&self.socket, option::Statistics) {
            self.dropped += u64::from(since.tp_drops);
        }
        self.dropped
    }
}

impl AsFd for RawSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

const TAG_BYTES: usize = 4;
const TAG_ROOM: usize = TAG_BYTES;

/// Returns EtherType and control word of the VLAN tag that the kernel removed (`struct
/// tpacket_auxdata`).
fn tag_of(control: &[u8]) -> Option<(u16, u16)> {
    let status = u32::from_ne_bytes(*control.first_chunk()?);
    let word = |at: usize| Some(u16::from_ne_bytes(*control.get(at..)?.first_chunk()?));
    let (control, kind) = (word(16)?, word(18)?);
    let known = if kind == 0 { ether_type::VLAN } else { kind };
    (status & TAG_VALID != 0).then_some((known, control))
}
