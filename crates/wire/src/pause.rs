//! Standard pause frames: PFC (IEEE 802.1Qbb) and 802.3x.

use crate::bytes::{Fields, Reader, Writer};
use crate::error::{Malformed, Unfit};
use crate::ethernet::{Ethernet, Mac, SHORTEST, ether_type};

/// Destination MAC address of all pause frames. Switches do not forward frames to this address.
pub const TO: Mac = [0x01, 0x80, 0xc2, 0x00, 0x00, 0x01];

/// Opcode of a pause of all traffic (802.3x).
pub const GLOBAL: u16 = 0x0001;
/// Opcode of a pause per priority (PFC).
pub const PRIORITY: u16 = 0x0101;

/// Content of a standard frame that pauses or resumes the neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// Pauses all traffic (802.3x). PFC ports ignore this frame.
    Global {
        /// Pause time in quanta; 0 resumes. One quantum is the time of 512 bits on the link.
        quanta: u16,
    },
    /// Pauses or resumes some priorities (PFC).
    Priority {
        /// Bitmap of the priorities that the frame pauses or resumes.
        enabled: u8,
        /// Pause time of each priority in quanta; 0 resumes.
        quanta: [u16; 8],
    },
}

impl Pause {
    /// Parses the bytes after an Ethernet header of type [`ether_type::CONTROL`].
    ///
    /// # Errors
    /// Too few bytes, another opcode, or priorities above 7.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new("pause frame", bytes);
        let opcode = reader.u16()?;
        if opcode == GLOBAL {
            let quanta = reader.u16()?;
            return Ok(Self::Global { quanta });
        }
        let expected = "0x101 (priorities) or 0x1 (all)";
        reader.require(opcode == PRIORITY, 2, "opcode", opcode, expected)?;
        let vector = reader.u16()?;
        let expected = "bits 0 to 7 only";
        reader.require(vector < 0x100, 2, "enabled priorities", vector, expected)?;
        let mut quanta = [0; 8];
        for time in &mut quanta {
            *time = reader.u16()?;
        }
        Ok(Self::Priority {
            enabled: vector as u8,
            quanta,
        })
    }

    /// Writes a whole frame, padded to the minimum length.
    ///
    /// # Errors
    /// The buffer is too small.
    pub fn emit(&self, from: Mac, out: &mut Writer<'_>) -> Result<(), Unfit> {
        let start = out.written();
        let header = Ethernet {
            to: TO,
            from,
            tag: None,
            ether_type: ether_type::CONTROL,
        };
        header.emit(out)?;
        match *self {
            Self::Global { quanta } => {
                out.u16(GLOBAL)?;
                out.u16(quanta)?;
            }
            Self::Priority { enabled, quanta } => {
                out.u16(PRIORITY)?;
                out.u16(enabled.into())?;
                for time in quanta {
                    out.u16(time)?;
                }
            }
        }
        out.pad_to(start + SHORTEST)
    }
}
