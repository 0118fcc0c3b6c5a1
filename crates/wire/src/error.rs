//! Errors: bytes that are not a valid frame, and records that do not fit a frame.

use thiserror::Error;

/// Bytes that are not a frame of a known format.
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
    /// Creates the error of a field with an unknown value, or a value that contradicts other
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

/// An error in a header.
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
        /// Checksum of the bytes.
        expected: u32,
    },
}

/// A record that does not fit a frame, or a buffer that is too small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Unfit {
    /// The buffer for the frame is too small.
    #[error("the frame does not fit {given} bytes")]
    Room {
        /// Size of the buffer in bytes.
        given: usize,
    },
    /// A value is larger than its field.
    #[error("{field} is {value}; a frame carries at most {most}")]
    Value {
        /// Name of the field.
        field: &'static str,
        /// Value of the record.
        value: u64,
        /// Largest value that fits.
        most: u64,
    },
    /// A frame between neighbours that has no wire format.
    #[error("no format for the frame between neighbours {identity:#06x}")]
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
