//! The program that an interface runs for each frame that comes: it hands the frame to the socket of its queue, and
//! to the kernel where there is none.

use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;

use super::system::{Instruction, attach, load};

/// How a program is run (`XDP_FLAGS_…`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// By the driver, before the kernel makes anything of the frame.
    Native,
    /// By the kernel, where the driver does not know how to.
    Generic,
}

impl Mode {
    const fn flag(self) -> u32 {
        match self {
            Self::Native => 1 << 2,
            Self::Generic => 1 << 1,
        }
    }

    /// The kernel's word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Generic => "generic",
        }
    }
}

/// Where `struct xdp_md` has the number of the queue.
const QUEUE: i16 = 16;
/// `XDP_PASS`.
const TO_THE_KERNEL: i32 = 2;
/// `bpf_redirect_map`: to what a map has under a number, or else what the third argument says.
const REDIRECT_MAP: i32 = 51;
/// The value is the descriptor of a map (`BPF_PSEUDO_MAP_FD`).
const IS_MAP: u8 = 1;

const fn step(code: u8, (to, from): (u8, u8), offset: i16, value: i32) -> Instruction {
    let registers = match cfg!(target_endian = "big") {
        true => to << 4 | from,
        false => from << 4 | to,
    };
    Instruction {
        code,
        registers,
        offset,
        value,
    }
}

/// Loads the program for a map of sockets.
pub fn program(map: &OwnedFd, parts: bool) -> Result<OwnedFd, Errno> {
    let instructions = [
        step(0x61, (2, 1), QUEUE, 0),                // r2 = the queue
        step(0x18, (1, IS_MAP), 0, map.as_raw_fd()), // r1 = the map
        step(0, (0, 0), 0, 0),                       // its upper half
        step(0xb7, (3, 0), 0, TO_THE_KERNEL),        // r3 = what to do without a socket
        step(0x85, (0, 0), 0, REDIRECT_MAP),         // r0 = the answer
        step(0x95, (0, 0), 0, 0),                    // that is it
    ];
    load(&instructions, parts)
}

/// Attaches it as the driver can. The descriptor keeps it attached.
///
/// # Errors
/// `EBUSY`, `EEXIST`: there is a program already.
pub fn run_at(program: &OwnedFd, interface: u32) -> Result<(OwnedFd, Mode), Errno> {
    let run = |mode: Mode| Ok((attach(program, interface, mode.flag())?, mode));
    match run(Mode::Native) {
        Err(why) if !matches!(why, Errno::EBUSY | Errno::EEXIST | Errno::EPERM) => {
            run(Mode::Generic)
        }
        done => done,
    }
}
