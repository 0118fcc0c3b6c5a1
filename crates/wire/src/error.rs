//! Errors: bytes that are not a valid frame, and packets that cannot be encoded as a frame.

use thiserror::Error;

/// Error of parsing: the bytes are not a frame of a known format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{header}, byte {at}: {fault}")]
pub struct Malformed {
    /// The header that is malformed.
    pub header: &'static str,
    /// Position of the error in bytes from the start of the header.
    pub at: usize,
    /// The error at this position.
    pub fault: Fault,
}

impl Malformed {
    /// Creates the error for a field with an unknown value, or a value that contradicts other
    /// fields.
    pub(crate) fn value(
        header: &'static str,
        at: usize,
        field: &'static str,
        found: impl Into<u64>,
        expected: &'static str,
    ) -> Self {
        let found = found.into();
        let fault = Fault::Value {
            field,
            found,
            expected,
        };
        Self { header, at, fault }
    }
}

/// Kind of an error in a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// The bytes end too early.
    #[error("needs {needed} bytes, but only {given} exist")]
    Short {
        /// Number of bytes needed from the start of the header.
        needed: usize,
        /// Number of bytes that exist.
        given: usize,
    },
    /// A field has an unknown value, or a value that contradicts other fields.
    #[error("{field} is {found:#x}; expected {expected}")]
    Value {
        /// Name of the field.
        field: &'static str,
        /// Value of the field.
        found: u64,
        /// Description of the valid values.
        expected: &'static str,
    },
    /// A checksum does not match the bytes that it covers.
    #[error("checksum is {found:#x}; expected {expected:#x}")]
    Checksum {
        /// Checksum in the frame.
        found: u32,
        /// Checksum computed from the bytes.
        expected: u32,
    },
}

/// Error of encoding: a packet that no frame can carry, or a buffer that is too small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Unfit {
    /// The buffer for the frame is too small.
    #[error("the frame does not fit {given} bytes")]
    Room {
        /// Size of the buffer in bytes.
        given: usize,
    },
    /// A value of the packet is larger than the field of the frame.
    #[error("{field} is {value}; a frame carries at most {most}")]
    Value {
        /// Name of the field.
        field: &'static str,
        /// Value in the packet.
        value: u64,
        /// Largest value that fits.
        most: u64,
    },
    /// A control frame between neighbours of a type without wire format.
    #[error("no format for the frame between neighbours {identity:#06x}")]
    Frame {
        /// Type of the frame: `Frame::IDENTITY` in the dataplane.
        identity: u16,
    },
}

impl Unfit {
    /// Returns `value` if it is at most `most`, the limit of the field.
    pub(crate) const fn check(field: &'static str, value: u64, most: u64) -> Result<u64, Self> {
        if value > most {
            return Err(Self::Value { field, value, most });
        }
        Ok(value)
    }
}
