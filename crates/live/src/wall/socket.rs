//! A port at the wall clock: a raw socket on an interface, with what the kernel keeps beside frames.

use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockProtocol, SockType, bind,
    getsockopt, recvmsg, sendmsg, setsockopt, socket, sockopt,
};
use wire::ethernet::ether_type;

use crate::interface::{Interface, look_up};

use super::named;
use super::offload::{HEADER_BYTES, LeftUndone};

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
/// Room for what lies beside a frame.
const BESIDE: usize = 256;
/// Memory for frames that wait, as far as the system grants it.
const MEMORY: usize = 4 << 20;
/// The tag is there.
const TAG_VALID: u32 = 1 << 4;

/// A raw socket on an interface.
#[derive(Debug)]
pub struct PortSocket {
    socket: OwnedFd,
    name: String,
    /// Number of the interface.
    number: usize,
    place: Vec<u8>,
    beside: Vec<u8>,
    dropped: u64,
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
    /// There is no such interface, or the process may not: in words.
    pub fn open(name: &str) -> Result<(Self, Interface), String> {
        let found = look_up(name).map_err(|why| match why {
            Errno::ENODEV => format!(
                "there is no Ethernet interface {name} in this network namespace; `ip link` lists those there are"
            ),
            why => format!("interface {name} cannot be looked up: {}", why.desc()),
        })?;
        let opened = Self::on(name, &found).map_err(|why| match why {
            Errno::EPERM | Errno::EACCES => format!(
                "interface {name} cannot be opened: raw sockets need the capability CAP_NET_RAW; run it as root, \
                 or in a user namespace of its own (unshare -Urn)"
            ),
            why => format!("interface {name} cannot be opened: {}", why.desc()),
        })?;
        Ok((opened, found))
    }

    fn on(name: &str, interface: &Interface) -> Result<Self, Errno> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let protocol = SockProtocol::EthAll;
        let socket = socket(AddressFamily::Packet, SockType::Raw, flags, protocol)?;
        setsockopt(&socket, option::VnetHeader, &true)?;
        setsockopt(&socket, option::AuxData, &true)?;
        setsockopt(&socket, option::IgnoreOutgoing, &true)?;
        let everything = libc::packet_mreq {
            mr_ifindex: interface.link.ifindex() as i32,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        setsockopt(&socket, option::Membership, &everything)?;
        setsockopt(&socket, sockopt::RcvBuf, &MEMORY)?;
        setsockopt(&socket, sockopt::SndBuf, &MEMORY)?;
        bind(socket.as_raw_fd(), &interface.link)?;
        let mut port = Self {
            socket,
            name: name.to_owned(),
            number: interface.link.ifindex(),
            place: vec![0; ROOM],
            beside: vec![0; BESIDE],
            dropped: 0,
            unsent: 0,
            too_long: 0,
            unfinished: 0,
        };
        // Until it was bound the socket heard all interfaces.
        while port.receive().is_ok() {}
        port.dropped();
        port.dropped = 0;
        Ok(port)
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

    /// Sends a frame. One that the interface does not take is counted.
    pub fn send(&mut self, frame: &[u8]) {
        let parts = [IoSlice::new(&[0; HEADER_BYTES]), IoSlice::new(frame)];
        let fd = self.socket.as_raw_fd();
        let flags = MsgFlags::MSG_DONTWAIT;
        let sent = sendmsg::<()>(fd, &parts, &[], flags, None);
        self.unsent += u64::from(sent.is_err());
        self.too_long += u64::from(sent == Err(Errno::EMSGSIZE));
    }

    /// A joined frame could not be taken apart.
    pub const fn note_unfinished(&mut self) {
        self.unfinished += 1;
    }

    /// What was lost here so far, by name: frames for which the socket had no room, frames that the interface did
    /// not take, and joined frames that could not be taken apart.
    // WSW-41
    pub fn lost(&mut self) -> Vec<(String, u64)> {
        named(&[
            ("socket_dropped", self.dropped()),
            ("socket_unsent", self.unsent),
            ("socket_unfinished", self.unfinished),
        ])
    }

    /// Frames that came while there was no room for them, so far.
    fn dropped(&mut self) -> u64 {
        if let Ok(since) = getsockopt(&self.socket, option::Statistics) {
            self.dropped += u64::from(since.tp_drops);
        }
        self.dropped
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

    /// Whether the interface can carry frames; `None`: it is gone, whatever has its name now.
    #[must_use]
    pub fn is_up(&self) -> Option<bool> {
        match look_up(&self.name) {
            Ok(found) if found.link.ifindex() == self.number => Some(found.up),
            Ok(_) | Err(Errno::ENODEV) => None,
            Err(_) => Some(false),
        }
    }
}

impl AsFd for PortSocket {
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
