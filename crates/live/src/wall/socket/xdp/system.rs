//! What AF_XDP needs of the system and no library offers: bpf(2), memory that is shared with the kernel, and what
//! belongs to binding. The only unsafe code of this crate; what others can call is safe.

use std::ffi::{c_int, c_long, c_void};
use std::mem::size_of;
use std::num::NonZeroUsize;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

use nix::errno::Errno;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use nix::sys::socket::setsockopt;

mod option {
    //! Options of AF_XDP sockets that hold addresses.
    use nix::{setsockopt_impl, sockopt_impl};

    sockopt_impl!(
        /// The memory in which frames lie.
        UmemReg, SetOnly, libc::SOL_XDP, libc::XDP_UMEM_REG, libc::xdp_umem_reg
    );
}

/// Memory that the kernel may read and write at any time. It is reached by copies and atomics alone.
#[derive(Debug)]
pub struct Memory {
    start: NonNull<c_void>,
    bytes: usize,
}

impl Memory {
    /// New memory, all zero.
    pub fn new(bytes: usize) -> Result<Self, Errno> {
        let length = NonZeroUsize::new(bytes).ok_or(Errno::EINVAL)?;
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        let flags = MapFlags::MAP_PRIVATE | MapFlags::MAP_POPULATE;
        // SAFETY: the kernel chooses a place that nothing else uses.
        #[allow(unsafe_code)]
        let start = unsafe { mmap_anonymous(None, length, access, flags)? };
        Ok(Self { start, bytes })
    }

    /// The ring of a socket that the kernel shows at this offset.
    pub fn of_ring(socket: &OwnedFd, offset: libc::off_t, bytes: usize) -> Result<Self, Errno> {
        let length = NonZeroUsize::new(bytes).ok_or(Errno::EINVAL)?;
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        let flags = MapFlags::MAP_SHARED | MapFlags::MAP_POPULATE;
        // SAFETY: the kernel chooses a place that nothing else uses.
        #[allow(unsafe_code)]
        let start = unsafe { mmap(None, length, access, flags, socket, offset)? };
        Ok(Self { start, bytes })
    }

    /// A word that the kernel changes, too.
    pub fn word(&self, at: usize) -> &AtomicU32 {
        assert!(at.is_multiple_of(4) && self.holds(at, 4));
        // SAFETY: it lies in the memory, which lives as long as the reference, and begins at a page.
        #[allow(unsafe_code)]
        unsafe {
            AtomicU32::from_ptr(self.start.as_ptr().byte_add(at).cast())
        }
    }

    /// A word of 64 bits that the kernel changes, too.
    pub fn long(&self, at: usize) -> &AtomicU64 {
        assert!(at.is_multiple_of(8) && self.holds(at, 8));
        // SAFETY: as in `word`.
        #[allow(unsafe_code)]
        unsafe {
            AtomicU64::from_ptr(self.start.as_ptr().byte_add(at).cast())
        }
    }

    /// Copies bytes from here.
    pub fn read(&self, at: usize, to: &mut [u8]) {
        assert!(self.holds(at, to.len()));
        // SAFETY: the bytes are in the memory, which `to` is no part of.
        #[allow(unsafe_code)]
        unsafe {
            let from = self.start.as_ptr().byte_add(at).cast::<u8>();
            from.copy_to_nonoverlapping(to.as_mut_ptr(), to.len());
        }
    }

    /// Copies bytes to here.
    pub fn write(&self, at: usize, from: &[u8]) {
        assert!(self.holds(at, from.len()));
        // SAFETY: as in `read`.
        #[allow(unsafe_code)]
        unsafe {
            let to = self.start.as_ptr().byte_add(at).cast::<u8>();
            to.copy_from_nonoverlapping(from.as_ptr(), from.len());
        }
    }

    /// Whether these bytes are within.
    pub fn holds(&self, at: usize, bytes: usize) -> bool {
        at.checked_add(bytes).is_some_and(|end| end <= self.bytes)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: nothing refers to it any more; the kernel keeps what it still writes to.
        #[allow(unsafe_code)]
        let _ = unsafe { munmap(self.start, self.bytes) };
    }
}

/// Opens a socket of AF_XDP.
pub fn open() -> Result<OwnedFd, Errno> {
    // SAFETY: there are no addresses in it, and the descriptor is new.
    #[allow(unsafe_code)]
    unsafe {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        let fd = Errno::result(libc::socket(libc::AF_XDP, kind, 0))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Frames of a socket lie in this memory, in chunks of this size.
pub fn register(socket: &OwnedFd, memory: &Memory, chunk_bytes: usize) -> Result<(), Errno> {
    let place = libc::xdp_umem_reg {
        addr: memory.start.as_ptr() as u64,
        len: memory.bytes as u64,
        chunk_size: chunk_bytes as u32,
        headroom: 0,
        flags: 0,
        tx_metadata_len: 0,
    };
    setsockopt(socket, option::UmemReg, &place)
}

/// Binds a socket to a queue of an interface.
pub fn bind(socket: &OwnedFd, interface: u32, queue: u32, flags: u16) -> Result<(), Errno> {
    let address = libc::sockaddr_xdp {
        sxdp_family: libc::AF_XDP as u16,
        sxdp_flags: flags,
        sxdp_ifindex: interface,
        sxdp_queue_id: queue,
        sxdp_shared_umem_fd: 0,
    };
    let bytes = size_of::<libc::sockaddr_xdp>() as libc::socklen_t;
    // SAFETY: the kernel reads the address, and no more of it than there is.
    #[allow(unsafe_code)]
    let done = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), bytes) };
    Errno::result(done).map(drop)
}

/// The longest datagram that an interface of the calling thread's namespace takes, asked by any socket.
pub fn mtu(socket: &OwnedFd, name: &str) -> Result<usize, Errno> {
    let mut request = request_of(name)?;
    // SAFETY: the kernel writes into the request, and there the field that is read.
    #[allow(unsafe_code)]
    let mtu = unsafe {
        let fd = socket.as_raw_fd();
        Errno::result(libc::ioctl(fd, libc::SIOCGIFMTU, &raw mut request))?;
        request.ifr_ifru.ifru_mtu
    };
    usize::try_from(mtu).map_err(|_| Errno::EINVAL)
}

/// `struct ethtool_channels`.
#[repr(C)]
#[derive(Default)]
struct Channels {
    command: u32,
    most: [u32; 4],
    receive: u32,
    transmit: u32,
    other: u32,
    combined: u32,
}

/// `ETHTOOL_GCHANNELS`.
const GET_CHANNELS: u32 = 0x3c;

/// How many queues an interface has for frames that come; not all drivers know.
pub fn queues(socket: &OwnedFd, name: &str) -> Result<u32, Errno> {
    let mut channels = Channels {
        command: GET_CHANNELS,
        ..Channels::default()
    };
    let mut request = request_of(name)?;
    request.ifr_ifru.ifru_data = (&raw mut channels).cast();
    // SAFETY: the kernel reads the request and writes into the channels, which have what this command has.
    #[allow(unsafe_code)]
    let done = unsafe {
        let fd = socket.as_raw_fd();
        libc::ioctl(fd, libc::SIOCETHTOOL, &raw mut request)
    };
    Errno::result(done)?;
    Ok(channels.receive + channels.combined)
}

/// A request that concerns an interface.
fn request_of(name: &str) -> Result<libc::ifreq, Errno> {
    let mut request = libc::ifreq {
        ifr_name: [0; libc::IFNAMSIZ],
        ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_mtu: 0 },
    };
    if name.len() >= libc::IFNAMSIZ {
        return Err(Errno::ENODEV);
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
}

// The commands of bpf(2), and the beginnings of what they read (`union bpf_attr`).

#[repr(C)]
struct MapCreate {
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    entries: u32,
}

#[repr(C)]
struct MapUpdate {
    map: u32,
    unused: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
#[derive(Default)]
struct ProgramLoad {
    kind: u32,
    instructions: u32,
    first: u64,
    license: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; 16],
    interface: u32,
    attach_type: u32,
}

#[repr(C)]
struct LinkCreate {
    program: u32,
    interface: u32,
    attach_type: u32,
    flags: u32,
}

const MAP_CREATE: c_int = 0;
const MAP_UPDATE_ELEM: c_int = 2;
const PROG_LOAD: c_int = 5;
const LINK_CREATE: c_int = 28;
/// `BPF_MAP_TYPE_XSKMAP`.
const MAP_OF_SOCKETS: u32 = 17;
/// `BPF_PROG_TYPE_XDP`.
const PROGRAM_XDP: u32 = 6;
/// `BPF_XDP`.
const ATTACH_XDP: u32 = 37;
/// `BPF_F_XDP_HAS_FRAGS`: the program knows frames of several parts.
const KNOWS_PARTS: u32 = 1 << 5;

fn bpf<T>(command: c_int, attributes: &T) -> Result<c_int, Errno> {
    // SAFETY: the kernel reads no more than there is. Addresses in it are those of the callers below, of values
    // that live until it has returned.
    #[allow(unsafe_code)]
    let done = unsafe {
        let place = std::ptr::from_ref(attributes);
        libc::syscall(libc::SYS_bpf, c_long::from(command), place, size_of::<T>())
    };
    Errno::result(done).map(|fd| fd as c_int)
}

fn owned(fd: c_int) -> OwnedFd {
    // SAFETY: bpf(2) has just made it for us.
    #[allow(unsafe_code)]
    unsafe {
        OwnedFd::from_raw_fd(fd)
    }
}

/// Makes a map from numbers of queues to sockets (`XSKMAP`).
pub fn map_of_sockets(entries: u32) -> Result<OwnedFd, Errno> {
    let map = MapCreate {
        kind: MAP_OF_SOCKETS,
        key_bytes: 4,
        value_bytes: 4,
        entries,
    };
    bpf(MAP_CREATE, &map).map(owned)
}

/// Frames of a queue are for this socket.
pub fn set_socket(map: &OwnedFd, queue: u32, socket: &OwnedFd) -> Result<(), Errno> {
    let value = socket.as_raw_fd() as u32;
    let update = MapUpdate {
        map: map.as_raw_fd() as u32,
        unused: 0,
        key: (&raw const queue) as u64,
        value: (&raw const value) as u64,
        flags: 0,
    };
    bpf(MAP_UPDATE_ELEM, &update).map(drop)
}

/// An instruction of eBPF (`struct bpf_insn`).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Instruction {
    /// What to do.
    pub code: u8,
    /// Where to, and from where.
    pub registers: u8,
    /// See the code.
    pub offset: i16,
    /// See the code.
    pub value: i32,
}

/// Loads a program that is run for each frame. `parts`: also for frames that do not lie in one piece.
pub fn load(instructions: &[Instruction], parts: bool) -> Result<OwnedFd, Errno> {
    let program = ProgramLoad {
        kind: PROGRAM_XDP,
        instructions: instructions.len() as u32,
        first: instructions.as_ptr() as u64,
        license: c"Apache-2.0".as_ptr() as u64,
        flags: if parts { KNOWS_PARTS } else { 0 },
        name: *b"backwater\0\0\0\0\0\0\0",
        attach_type: ATTACH_XDP,
        ..ProgramLoad::default()
    };
    bpf(PROG_LOAD, &program).map(owned)
}

/// Attaches a program to an interface for as long as the returned descriptor is open, so for no longer than the
/// process lives.
pub fn attach(program: &OwnedFd, interface: u32, flags: u32) -> Result<OwnedFd, Errno> {
    let link = LinkCreate {
        program: program.as_raw_fd() as u32,
        interface,
        attach_type: ATTACH_XDP,
        flags,
    };
    bpf(LINK_CREATE, &link).map(owned)
}
