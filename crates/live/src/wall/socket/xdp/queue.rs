//! A socket of AF_XDP at one queue of an interface, with the memory in which its frames lie.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, getsockopt, send, setsockopt, sockopt};

use super::super::MEMORY;
use super::ring::{FromKernel, Part, Place, ToKernel};
use super::system::{self, Memory};

mod option {
    //! Options of AF_XDP sockets.
    use nix::{getsockopt_impl, setsockopt_impl, sockopt_impl};

    sockopt_impl!(
        /// Entries of the ring of frames that came.
        RxRing, SetOnly, libc::SOL_XDP, libc::XDP_RX_RING, u32
    );
    sockopt_impl!(
        /// Entries of the ring of frames to send.
        TxRing, SetOnly, libc::SOL_XDP, libc::XDP_TX_RING, u32
    );
    sockopt_impl!(
        /// Entries of the ring of buffers for frames to come.
        FillRing, SetOnly, libc::SOL_XDP, libc::XDP_UMEM_FILL_RING, u32
    );
    sockopt_impl!(
        /// Entries of the ring of buffers of frames that were sent.
        CompletionRing, SetOnly, libc::SOL_XDP, libc::XDP_UMEM_COMPLETION_RING, u32
    );
    sockopt_impl!(
        /// What lies where in the rings.
        Offsets, GetOnly, libc::SOL_XDP, libc::XDP_MMAP_OFFSETS, libc::xdp_mmap_offsets
    );
    sockopt_impl!(
        /// Frames that were lost, and why.
        Statistics, GetOnly, libc::SOL_XDP, libc::XDP_STATISTICS, libc::xdp_statistics
    );
    sockopt_impl!(
        /// What the kernel has chosen.
        Chosen, GetOnly, libc::SOL_XDP, libc::XDP_OPTIONS, libc::xdp_options
    );
}

/// Chunks of memory for frames that come, and for frames to send.
const CHUNKS: u32 = 2048;
/// What the kernel keeps free before a frame that comes (`XDP_PACKET_HEADROOM`).
const HEADROOM: usize = 256;
/// Sizes that a chunk can have: half a page and a page.
const CHUNK_BYTES: [usize; 2] = [2048, 4096];

/// How the sockets of an interface hold frames.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Bytes of a chunk.
    pub chunk_bytes: usize,
    /// Frames may lie in several chunks.
    pub parts: bool,
}

impl Layout {
    /// For frames as long as this.
    // WSW-50
    pub const fn of(frame_bytes: usize) -> Self {
        let [half, page] = CHUNK_BYTES;
        let fits_half = frame_bytes + HEADROOM <= half;
        Self {
            chunk_bytes: if fits_half { half } else { page },
            parts: frame_bytes + HEADROOM > page,
        }
    }

    /// Bytes of memory for a queue, by its number: all frames leave by the first.
    pub const fn bytes(self, number: u32) -> usize {
        let ways = if number == 0 { 2 } else { 1 };
        ways * CHUNKS as usize * self.chunk_bytes
    }
}

/// What could not be done for a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// To open it.
    Open,
    /// To register its memory.
    Memory,
    /// To make its rings.
    Rings,
    /// To bind it.
    Bind,
}

/// A socket at a queue.
#[derive(Debug)]
pub struct Queue {
    socket: OwnedFd,
    memory: Memory,
    layout: Layout,
    fill: ToKernel,
    received: FromKernel,
    sending: ToKernel,
    sent: FromKernel,
    /// Chunks that no frame to send is in.
    free: Vec<u64>,
}

impl Queue {
    /// Opens it; all frames of the queue come here as soon as a program says so.
    pub fn open(interface: u32, number: u32, layout: Layout) -> Result<Self, (Step, Errno)> {
        let at = |step| move |why| (step, why);
        let socket = system::open().map_err(at(Step::Open))?;
        let memory = Memory::new(layout.bytes(number)).map_err(at(Step::Memory))?;
        system::register(&socket, &memory, layout.chunk_bytes).map_err(at(Step::Memory))?;
        let [fill, sent, received, sending] = rings(&socket).map_err(at(Step::Rings))?;
        let open = |ring: Place| ToKernel::open(&socket, ring).map_err(at(Step::Rings));
        let (mut fill, sending) = (open(fill)?, open(sending)?);
        let open = |ring: Place| FromKernel::open(&socket, ring).map_err(at(Step::Rings));
        let (sent, received) = (open(sent)?, open(received)?);
        let chunk = |nth: u32| u64::from(nth) * layout.chunk_bytes as u64;
        (0..CHUNKS).map(chunk).for_each(|at| fill.put_address(at));
        fill.show();
        setsockopt(&socket, sockopt::SndBuf, &MEMORY).map_err(at(Step::Memory))?;
        let parts = if layout.parts { libc::XDP_USE_SG } else { 0 };
        let flags = libc::XDP_USE_NEED_WAKEUP | parts;
        system::bind(&socket, interface, number, flags).map_err(at(Step::Bind))?;
        let all = (layout.bytes(number) / layout.chunk_bytes) as u32;
        Ok(Self {
            free: (CHUNKS..all).map(chunk).collect(),
            socket,
            memory,
            layout,
            fill,
            received,
            sending,
            sent,
        })
    }

    /// The socket.
    pub const fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// Whether the card reads and writes the memory itself.
    pub fn is_zero_copy(&self) -> bool {
        getsockopt(&self.socket, option::Chosen)
            .is_ok_and(|chosen| chosen.flags & libc::XDP_OPTIONS_ZEROCOPY != 0)
    }

    /// Frames for which there was no room, and buffers that the kernel missed, so far.
    // WSW-41
    pub fn lost(&self) -> (u64, u64) {
        getsockopt(&self.socket, option::Statistics).map_or((0, 0), |of| {
            let missed = of.rx_fill_ring_empty_descs;
            (of.rx_dropped + of.rx_ring_full, missed)
        })
    }

    /// Takes a frame out, if a whole one has come. Returns its bytes, or `None`.
    pub fn receive(&mut self, place: &mut [u8]) -> Option<usize> {
        let ready = self.received.ready();
        let parts = 1 + (0..ready).find(|&nth| !self.received.part(nth).goes_on)?;
        let mut bytes = 0;
        for nth in 0..parts {
            let part = self.received.part(nth);
            let end = bytes + part.bytes as usize;
            // There is room for more parts than the kernel makes of a frame.
            if let Some(to) = place.get_mut(bytes..end) {
                self.memory.read(part.at as usize, to);
                bytes = end;
            }
            let chunk = part.at & !(self.layout.chunk_bytes as u64 - 1);
            self.fill.put_address(chunk);
        }
        self.received.release(parts);
        self.fill.show();
        Some(bytes)
    }

    /// Puts a frame among those to send.
    ///
    /// # Errors
    /// `EAGAIN`: there is no room for it.
    pub fn send(&mut self, frame: &[u8]) -> Result<(), Errno> {
        let parts = frame.chunks(self.layout.chunk_bytes);
        let count = parts.len();
        if count > 1 && !self.layout.parts {
            return Err(Errno::EMSGSIZE);
        }
        self.take_back();
        if self.free.len() < count || !self.sending.has_room(count) {
            return Err(Errno::EAGAIN);
        }
        for (nth, bytes) in (1..).zip(parts) {
            let Some(at) = self.free.pop() else { break };
            self.memory.write(at as usize, bytes);
            self.sending.put_part(Part {
                at,
                bytes: bytes.len() as u32,
                goes_on: nth < count,
            });
        }
        self.sending.show();
        Ok(())
    }

    /// Lets the kernel send what waits. Returns how many frames the interface did not take.
    pub fn flush(&mut self) -> u64 {
        let mut refused = 0;
        let mut waiting = self.sending.waiting();
        // The kernel sends some and wants to be called again.
        while waiting > 0 && self.sending.wants_call() {
            let done = send(self.socket.as_raw_fd(), &[], MsgFlags::MSG_DONTWAIT);
            let before = std::mem::replace(&mut waiting, self.sending.waiting());
            if waiting == before {
                break;
            }
            refused += u64::from(done == Err(Errno::EBUSY));
        }
        refused
    }

    /// Takes back the chunks of frames that were sent.
    fn take_back(&mut self) {
        let ready = self.sent.ready();
        self.free
            .extend((0..ready).map(|nth| self.sent.address(nth)));
        self.sent.release(ready);
    }
}

impl AsFd for Queue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Makes the four rings of a socket: buffers to fill, buffers of frames that were sent, frames that came, frames to
/// send.
fn rings(socket: &OwnedFd) -> Result<[Place; 4], Errno> {
    let entries = CHUNKS;
    setsockopt(socket, option::FillRing, &entries)?;
    setsockopt(socket, option::CompletionRing, &entries)?;
    setsockopt(socket, option::RxRing, &entries)?;
    setsockopt(socket, option::TxRing, &entries)?;
    let offsets = getsockopt(socket, option::Offsets)?;
    let ring = |page, offsets, parts| Place {
        page,
        offsets,
        entries,
        parts,
    };
    Ok([
        ring(
            libc::XDP_UMEM_PGOFF_FILL_RING as libc::off_t,
            offsets.fr,
            false,
        ),
        ring(
            libc::XDP_UMEM_PGOFF_COMPLETION_RING as libc::off_t,
            offsets.cr,
            false,
        ),
        ring(libc::XDP_PGOFF_RX_RING, offsets.rx, true),
        ring(libc::XDP_PGOFF_TX_RING, offsets.tx, true),
    ])
}
