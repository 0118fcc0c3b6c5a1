//! Sockets of AF_XDP (`specs/wall-clock.md`, docs/switch.md): a program at the interface hands each frame to a
//! socket before the kernel makes anything of it, and frames lie in memory that the socket shares with the kernel.

mod checksum;
mod program;
mod queue;
mod ring;
mod system;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socket};
use wire::ethernet::ether_type;

use crate::interface::Interface;

use super::super::offload::LeftUndone;
use super::{ROOM, everything, option};
use program::{Mode, program, run_at};
use queue::{Layout, Queue, Step};

/// Queues that an interface may have.
const MOST_QUEUES: u32 = 256;
/// Ethernet's header, and a tag.
const HEADER_BYTES: usize = 14;
const TAG_BYTES: usize = 4;

/// The sockets of an interface, one for each of its queues.
#[derive(Debug)]
pub struct XdpSocket {
    name: String,
    queues: Vec<Queue>,
    /// The queue whose turn it is.
    next: usize,
    place: Vec<u8>,
    /// Largest datagram of the interface.
    mtu: usize,
    mode: Mode,
    /// Frames that the interface did not take, not yet told.
    refused: u64,
    /// Keeps the interface promiscuous.
    listening: OwnedFd,
    /// Keep the program attached; it goes with them.
    _attached: [OwnedFd; 3],
}

impl XdpSocket {
    /// Opens an interface.
    ///
    /// # Errors
    /// In words: what the system refuses, and what to do.
    // WSW-50, WSW-51
    pub fn open(name: &str, interface: &Interface) -> Result<Self, String> {
        let refused = |why: Errno| refusal(name, why);
        let number = interface.link.ifindex();
        // It hears nothing; its membership lasts as long as it is open.
        let raw = SockType::Raw;
        let listening = socket(AddressFamily::Packet, raw, SockFlag::SOCK_CLOEXEC, None);
        let listening = listening.map_err(refused)?;
        setsockopt(&listening, option::Membership, &everything(number)).map_err(refused)?;
        let mtu = system::mtu(&listening, name).map_err(refused)?;
        let map = system::map_of_sockets(MOST_QUEUES).map_err(refused)?;
        let layout = Layout::of(mtu + HEADER_BYTES + 2 * TAG_BYTES);
        let count = system::queues(&listening, name).unwrap_or(MOST_QUEUES);
        let queues = open_queues(name, number as u32, count.clamp(1, MOST_QUEUES), layout)?;
        for (nth, queue) in (0..).zip(&queues) {
            system::set_socket(&map, nth, queue.socket()).map_err(refused)?;
        }
        let program = program(&map, layout.parts).map_err(refused)?;
        let (link, mode) = run_at(&program, number as u32).map_err(refused)?;
        Ok(Self {
            name: name.to_owned(),
            queues,
            next: 0,
            place: vec![0; ROOM],
            mtu,
            mode,
            refused: 0,
            listening,
            _attached: [link, program, map],
        })
    }

    /// Receives a frame, if one has come, and says what is left to do for it.
    ///
    /// # Errors
    /// `EAGAIN`: none has come.
    pub fn receive(&mut self) -> Result<(&mut [u8], LeftUndone), Errno> {
        for _ in 0..self.queues.len() {
            let came = self.queues[self.next].receive(&mut self.place);
            self.next = (self.next + 1) % self.queues.len();
            if let Some(bytes) = came {
                let frame = &mut self.place[..bytes];
                let left = LeftUndone::checksum(checksum::partial(frame));
                return Ok((frame, left));
            }
        }
        Err(Errno::EAGAIN)
    }

    /// Sends a frame, at the latest when [`XdpSocket::flush`] is called.
    ///
    /// # Errors
    /// `EMSGSIZE`: it is longer than the interface takes; `EAGAIN`: too many wait.
    pub fn send(&mut self, frame: &[u8]) -> Result<(), Errno> {
        let is_tagged = frame.get(12..14) == Some(&ether_type::VLAN.to_be_bytes()[..]);
        let tag_bytes = if is_tagged { TAG_BYTES } else { 0 };
        if frame.len() > self.mtu + HEADER_BYTES + tag_bytes {
            return Err(Errno::EMSGSIZE);
        }
        match self.queues[0].send(frame) {
            Err(Errno::EAGAIN) => {
                self.refused += self.queues[0].flush();
                self.queues[0].send(frame)
            }
            done => done,
        }
    }

    /// Lets the kernel send what waits. Returns how many frames the interface did not take since the last call.
    pub fn flush(&mut self) -> u64 {
        std::mem::take(&mut self.refused) + self.queues[0].flush()
    }

    /// What the kernel counted so far: frames for which there was no room, and times that it had no buffer for one.
    // WSW-41
    pub fn lost(&self) -> [(&'static str, u64); 2] {
        let each = self.queues.iter().map(Queue::lost);
        let (dropped, starved) = each.fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
        [("socket_dropped", dropped), ("socket_starved", starved)]
    }

    /// Looks whether the interface takes longer or shorter frames by now.
    pub fn look(&mut self) {
        if let Ok(mtu) = system::mtu(&self.listening, &self.name) {
            self.mtu = mtu;
        }
    }

    /// What the kernel has chosen, in words.
    pub fn chosen(&self) -> String {
        let copies = self.queues.iter().filter(|queue| !queue.is_zero_copy());
        let copied = match copies.count() {
            0 => "zero-copy",
            _ => "copied",
        };
        let queues = match self.queues.len() {
            1 => "1 queue".to_owned(),
            more => format!("{more} queues"),
        };
        format!("AF_XDP, {queues}, {}, {copied}", self.mode.name())
    }

    /// What can be waited for.
    pub fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.queues.iter().map(AsFd::as_fd)
    }
}

/// Opens a socket at each queue that the interface has, at most at this many.
fn open_queues(
    name: &str,
    interface: u32,
    count: u32,
    layout: Layout,
) -> Result<Vec<Queue>, String> {
    let mut queues = Vec::new();
    for number in 0..count {
        match Queue::open(interface, number, layout) {
            Ok(queue) => queues.push(queue),
            // There are no more.
            Err((Step::Bind, Errno::EINVAL)) if number > 0 => break,
            Err((step, why)) => return Err(refusal_of_queue(name, (number, layout), step, why)),
        }
    }
    Ok(queues)
}

const OTHERWISE: &str = "or leave --socket xdp away";

/// What the system refuses of a queue, and what to do.
fn refusal_of_queue(name: &str, (number, layout): (u32, Layout), step: Step, why: Errno) -> String {
    let kilobytes = layout.bytes(number) / 1024;
    match (step, why) {
        (Step::Open, Errno::EAFNOSUPPORT) => format!(
            "interface {name} cannot be opened: this kernel has no AF_XDP (CONFIG_XDP_SOCKETS); use another, {OTHERWISE}"
        ),
        (Step::Memory, Errno::ENOBUFS | Errno::ENOMEM | Errno::EPERM) => format!(
            "interface {name} cannot be opened: AF_XDP may not lock {kilobytes} kB of memory for its queue {number}; \
             raise the limit (`ulimit -l`), give the program the capability CAP_IPC_LOCK, or give the \
             interface fewer queues (`ethtool -L`)"
        ),
        (Step::Bind, Errno::EBUSY) => format!(
            "interface {name} cannot be opened: another program has an AF_XDP socket at its queue {number}; stop \
             that one, {OTHERWISE}"
        ),
        (Step::Bind, Errno::EINVAL | Errno::EOPNOTSUPP) if layout.parts => format!(
            "interface {name} cannot be opened: frames as long as its MTU need an AF_XDP of several parts (Linux \
             6.6); make the MTU smaller (`ip link set {name} mtu 3500`), {OTHERWISE}"
        ),
        (_, why) => refusal(name, why),
    }
}

/// What the system refuses of an interface, and what to do.
// WSW-51
fn refusal(name: &str, why: Errno) -> String {
    match why {
        Errno::EPERM | Errno::EACCES => format!(
            "interface {name} cannot be opened: AF_XDP needs the capabilities CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF, \
             and not those of a user namespace; run it as root, {OTHERWISE}"
        ),
        Errno::EBUSY | Errno::EEXIST => format!(
            "interface {name} has an XDP program already (`ip link show {name}` says which); stop the program that \
             put it there or take it off (`ip link set {name} xdp off`), {OTHERWISE}"
        ),
        Errno::EINVAL | Errno::ENOSYS => format!(
            "interface {name} cannot be opened: this kernel does not know what AF_XDP is to do ({}); Linux 5.9 or \
             newer is needed with CONFIG_BPF_SYSCALL and CONFIG_XDP_SOCKETS; use another, {OTHERWISE}",
            why.desc()
        ),
        why => format!(
            "interface {name} cannot be opened by AF_XDP: {}; {}",
            why.desc(),
            OTHERWISE.trim_start_matches("or ")
        ),
    }
}
