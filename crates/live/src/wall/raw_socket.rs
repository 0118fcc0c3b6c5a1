//! Raw sockets (AF_PACKET) that receive and send complete frames of an interface. The kernel delivers some
//! data beside a frame: a removed VLAN tag, and a checksum that is not computed yet.

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

use super::offload::{HEADER_BYTES, LeftUndone};

mod option {
    //! Options of packet sockets.
    use nix::{getsockopt_impl, setsockopt_impl, sockopt_impl};

    sockopt_impl!(
        /// Counts frames that arrived, and frames that were dropped because the socket was full.
        Statistics, GetOnly, libc::SOL_PACKET, libc::PACKET_STATISTICS, libc::tpacket_stats
    );
    sockopt_impl!(
        /// Puts a header before each frame that lists the work left to a network card.
        VnetHeader, SetOnly, libc::SOL_PACKET, libc::PACKET_VNET_HDR, bool
    );
    sockopt_impl!(
        /// Returns tags that the kernel removed, as control data of each frame.
        AuxData, SetOnly, libc::SOL_PACKET, libc::PACKET_AUXDATA, bool
    );
    sockopt_impl!(
        /// Hides frames that leave by the interface.
        IgnoreOutgoing, SetOnly, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, bool
    );
    sockopt_impl!(
        /// Receives frames for other stations, too.
        Membership, SetOnly, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, libc::packet_mreq
    );
}

/// Buffer size for one frame, which the kernel may have joined from several.
const ROOM: usize = 1 << 17;
/// Requested size of the socket's buffers. The system may grant less.
const MEMORY: usize = 4 << 20;
/// Buffer size for the control data of a frame.
const BESIDE: usize = 256;
/// Flag of the control data: the kernel removed a tag.
const TAG_VALID: u32 = 1 << 4;

/// Requests frames for all stations at the interface of this number.
const fn everything(interface: usize) -> libc::packet_mreq {
    libc::packet_mreq {
        mr_ifindex: interface as i32,
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    }
}

/// A raw socket on an interface.
#[derive(Debug)]
pub struct RawSocket {
    socket: OwnedFd,
    place: Vec<u8>,
    beside: Vec<u8>,
    dropped: u64,
}

impl RawSocket {
    /// Opens an interface.
    ///
    /// # Errors
    /// The process may not open raw sockets, or the system refuses an option.
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
            &everything(interface.link.ifindex()),
        )?;
        setsockopt(&socket, sockopt::RcvBuf, &MEMORY)?;
        setsockopt(&socket, sockopt::SndBuf, &MEMORY)?;
        bind(socket.as_raw_fd(), &interface.link)?;
        let mut opened = Self {
            socket,
            place: vec![0; ROOM],
            beside: vec![0; BESIDE],
            dropped: 0,
        };
        // Before the bind, the socket received from all interfaces: discard these frames.
        while opened.receive().is_ok() {}
        opened.dropped();
        opened.dropped = 0;
        Ok(opened)
    }

    /// Returns the next received frame with its VLAN tag, and the offloads (checksum, segmentation)
    /// that are still to be done for it.
    ///
    /// # Errors
    /// `EAGAIN` if no frame is waiting, `ENETDOWN` if the interface is down.
    pub fn receive(&mut self) -> Result<(&mut [u8], LeftUndone), Errno> {
        // Room for a tag in front of the place where it belongs.
        let mut parts = [IoSliceMut::new(&mut self.place[TAG_ROOM..])];
        let fd = self.socket.as_raw_fd();
        let message = recvmsg::<()>(fd, &mut parts, Some(&mut self.beside), MsgFlags::empty())?;
        let bytes = message.bytes;
        let tag = message.cmsgs()?.find_map(|beside| match beside {
            ControlMessageOwned::Unknown(of) => tag_of(&of.data_bytes),
            _ => None,
        });
        let frame = TAG_ROOM + HEADER_BYTES..TAG_ROOM + bytes;
        let Some(header) = self.place[TAG_ROOM..].first_chunk::<HEADER_BYTES>() else {
            return Err(Errno::EINVAL);
        };
        let left = LeftUndone::parse(*header);
        if frame.len() < 14 {
            return Err(Errno::EINVAL);
        }
        let Some((kind, control)) = tag else {
            return Ok((&mut self.place[frame], left));
        };
        let start = frame.start - TAG_BYTES;
        self.place.copy_within(frame.start..frame.start + 12, start);
        self.place[start + 12..start + 14].copy_from_slice(&kind.to_be_bytes());
        self.place[start + 14..start + 16].copy_from_slice(&control.to_be_bytes());
        Ok((&mut self.place[start..frame.end], left.behind_tag()))
    }

    /// Sends a frame.
    ///
    /// # Errors
    /// `EMSGSIZE`: it is longer than the interface takes; others: the interface does not take it.
    pub fn send(&self, frame: &[u8]) -> Result<(), Errno> {
        let parts = [IoSlice::new(&[0; HEADER_BYTES]), IoSlice::new(frame)];
        let fd = self.socket.as_raw_fd();
        sendmsg::<()>(fd, &parts, &[], MsgFlags::MSG_DONTWAIT, None).map(drop)
    }

    /// Number of frames that the kernel dropped because the socket was full.
    // WSW-41: the kernel counts frames for which the socket has no room
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

/// Type and control word of the tag that the kernel has taken off (`struct tpacket_auxdata`).
fn tag_of(beside: &[u8]) -> Option<(u16, u16)> {
    let status = u32::from_ne_bytes(*beside.first_chunk()?);
    let control = u16::from_ne_bytes(*beside.get(16..)?.first_chunk()?);
    let kind = u16::from_ne_bytes(*beside.get(18..)?.first_chunk()?);
    let known = if kind == 0 { ether_type::VLAN } else { kind };
    (status & TAG_VALID != 0).then_some((known, control))
}
