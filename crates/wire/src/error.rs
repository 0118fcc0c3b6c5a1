//! Errors: bytes that are not a valid frame, and records that do not fit a frame.

use std::fmt;

/// Bytes that are not a frame of a known format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The header that is malformed.
    pub header: &'static str,
    /// Position of the error in bytes from the start of the header.
    pub at: usize,
    /// The error at this position.
    pub fault: Fault,
}

/// An error in a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The bytes end too early.
    Short {
        /// Number of bytes needed from the start of the header.
        needed: usize,
        /// Number of bytes that exist.
        given: usize,
    },
    /// A field has an unknown value, or a value that contradicts other fields.
    Value {
        /// Name of the field.
        field: &'static str,
        /// Value of the field.
        found: u64,
        /// Description of the valid values.
        expected: &'static str,
    },
    /// A checksum does not match the bytes that it covers.
    Checksum {
        /// Checksum in the frame.
        found: u32,
        /// Checksum of the bytes.
        expected: u32,
    },
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, byte {}: ", self.header, self.at)?;
        match self.fault {
            Fault::Short { needed, given } => {
                write!(f, "needs {needed} bytes, but only {given} exist")
            }
            Fault::Value {
                field,
                found,
                expected,
            } => write!(f, "{field} is {found:#x}; expected {expected}"),
            Fault::Checksum { found, expected } => {
                write!(f, "checksum is {found:#x}; expected {expected:#x}")
            }
        }
    }
}

impl std::error::Error for Malformed {}

/// A record that does not fit a frame, or a buffer that is too small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// The buffer for the frame is too small.
    Room {
        /// Size of the buffer in bytes.
        given: usize,
    },
    /// A value is larger than its field.
    Value {
        /// Name of the field.
        field: &'static str,
        /// Value of the record.
        value: u64,
        /// Largest value that fits.
        most: u64,
    },
    /// A frame between neighbours that has no wire format.
    Frame {
        /// Identity of the frame in its record.
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

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Room { given } => write!(f, "the frame does not fit {given} bytes"),
            Self::Value { field, value, most } => {
                write!(f, "{field} is {value}; a frame carries at most {most}")
            }
            Self::Frame { identity } => {
                write!(
                    f,
                    "no format for the frame between neighbours {identity:#06x}"
                )
            }
        }
    }
}

impl std::error::Error for Unfit {}
