//! The rings by which a program and the kernel hand each other frames. Each has one side that puts entries in and
//! one that takes them out; both count for ever, and an entry lies at its number modulo the size.

use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use nix::errno::Errno;

use super::system::Memory;

/// A frame, or a part of one, in the memory of a socket (`struct xdp_desc`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Where it begins.
    pub at: u64,
    /// How long it is.
    pub bytes: u32,
    /// The next entry is of the same frame.
    pub goes_on: bool,
}

const PART_BYTES: usize = 16;
const ADDRESS_BYTES: usize = 8;

#[derive(Debug)]
struct Ring {
    memory: Memory,
    offsets: libc::xdp_ring_offset,
    entries: u32,
    entry_bytes: usize,
    /// Entries that this side has put in or taken out.
    own: u32,
}

impl Ring {
    fn open(socket: &OwnedFd, at: Place) -> Result<Self, Errno> {
        let Place {
            page,
            offsets,
            entries,
            parts,
        } = at;
        let entry_bytes = if parts { PART_BYTES } else { ADDRESS_BYTES };
        let bytes = offsets.desc as usize + entries as usize * entry_bytes;
        Ok(Self {
            memory: Memory::of_ring(socket, page, bytes)?,
            offsets,
            entries,
            entry_bytes,
            own: 0,
        })
    }

    /// Where the entry lies that is this many after the next.
    fn entry(&self, nth: u32) -> usize {
        let number = self.own.wrapping_add(nth) & (self.entries - 1);
        self.offsets.desc as usize + number as usize * self.entry_bytes
    }

    fn producer(&self) -> u32 {
        let place = self.memory.word(self.offsets.producer as usize);
        place.load(Acquire)
    }

    fn consumer(&self) -> u32 {
        let place = self.memory.word(self.offsets.consumer as usize);
        place.load(Acquire)
    }
}

/// Which ring of a socket it is.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Where the kernel shows it.
    pub page: libc::off_t,
    /// What lies where in it.
    pub offsets: libc::xdp_ring_offset,
    /// Its size, a power of two.
    pub entries: u32,
    /// It has parts of frames; otherwise addresses alone.
    pub parts: bool,
}

/// A ring that the kernel empties: buffers for frames to come, and frames to send.
#[derive(Debug)]
pub struct ToKernel(Ring);

impl ToKernel {
    /// The ring of a socket.
    pub fn open(socket: &OwnedFd, at: Place) -> Result<Self, Errno> {
        Ring::open(socket, at).map(Self)
    }

    /// Entries that the kernel has not taken out yet.
    pub fn waiting(&self) -> u32 {
        self.0.own.wrapping_sub(self.0.consumer())
    }

    /// Whether this many more fit in.
    pub fn has_room(&self, entries: usize) -> bool {
        self.waiting() as usize + entries <= self.0.entries as usize
    }

    /// Whether the kernel wants to be told of new entries.
    pub fn wants_call(&self) -> bool {
        let flags = self.0.memory.word(self.0.offsets.flags as usize);
        flags.load(Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }

    /// Puts an address in; there is room for it.
    pub fn put_address(&mut self, address: u64) {
        let at = self.0.entry(0);
        self.0.memory.long(at).store(address, Relaxed);
        self.0.own = self.0.own.wrapping_add(1);
    }

    /// Puts a part of a frame in; there is room for it.
    pub fn put_part(&mut self, part: Part) {
        let (at, memory) = (self.0.entry(0), &self.0.memory);
        let options = if part.goes_on { libc::XDP_PKT_CONTD } else { 0 };
        memory.long(at).store(part.at, Relaxed);
        memory.word(at + 8).store(part.bytes, Relaxed);
        memory.word(at + 12).store(options, Relaxed);
        self.0.own = self.0.own.wrapping_add(1);
    }

    /// Shows the kernel what was put in.
    pub fn show(&self) {
        let place = self.0.memory.word(self.0.offsets.producer as usize);
        place.store(self.0.own, Release);
    }
}

/// A ring that the kernel fills: frames that came, and buffers of frames that were sent.
#[derive(Debug)]
pub struct FromKernel(Ring);

impl FromKernel {
    /// The ring of a socket.
    pub fn open(socket: &OwnedFd, at: Place) -> Result<Self, Errno> {
        Ring::open(socket, at).map(Self)
    }

    /// Entries that can be taken out.
    pub fn ready(&self) -> u32 {
        self.0.producer().wrapping_sub(self.0.own)
    }

    /// The address that is this many after the next.
    pub fn address(&self, nth: u32) -> u64 {
        self.0.memory.long(self.0.entry(nth)).load(Relaxed)
    }

    /// The part of a frame that is this many after the next.
    pub fn part(&self, nth: u32) -> Part {
        let (at, memory) = (self.0.entry(nth), &self.0.memory);
        Part {
            at: memory.long(at).load(Relaxed),
            bytes: memory.word(at + 8).load(Relaxed),
            goes_on: memory.word(at + 12).load(Relaxed) & libc::XDP_PKT_CONTD != 0,
        }
    }

    /// Takes entries out, which may be overwritten from now on.
    pub fn release(&mut self, entries: u32) {
        self.0.own = self.0.own.wrapping_add(entries);
        let place = self.0.memory.word(self.0.offsets.consumer as usize);
        place.store(self.0.own, Release);
    }
}
