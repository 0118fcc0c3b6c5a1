//! Raw sockets (AF_PACKET): whole frames of an interface, with what the kernel keeps beside them.

use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockProtocol, SockType, bind,
    getsockopt, recvmsg, sendmsg, setsockopt, socket, sockopt,
};
use wire::ethernet::ether_type;

use crate::interface::Interface;

use super::super::offload::{HEADER_BYTES, LeftUndone};
use super::{MEMORY, ROOM, everything, option};

/// Room for what lies beside a frame.
const BESIDE: usize = 256;
/// The tag is there.
const TAG_VALID: u32 = 1 << 4;

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
    /// In words: the process may not.
    pub fn open(name: &str, interface: &Interface) -> Result<Self, String> {
        Self::on(interface).map_err(|why| match why {
            Errno::EPERM | Errno::EACCES => format!(
                "interface {name} cannot be opened: raw sockets need the capability CAP_NET_RAW; run it as root, \
                 or in a user namespace of its own (unshare -Urn)"
            ),
            why => format!("interface {name} cannot be opened: {}", why.desc()),
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
        // Until it was bound the socket heard all interfaces.
        while opened.receive().is_ok() {}
        opened.dropped();
        opened.dropped = 0;
        Ok(opened)
    }

    /// Receives a frame with its tag, if one has come, and says what is left to do for it.
    ///
    /// # Errors
    /// `EAGAIN`: none has come; `ENETDOWN`: the interface is down.
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

    /// Frames that came while there was no room for them, so far.
    // WSW-41
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
