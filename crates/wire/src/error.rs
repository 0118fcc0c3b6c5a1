//! Why bytes are no frame, and why a record fits no frame.

use std::fmt;

/// Bytes that are no frame that we know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The header that cannot be read.
    pub header: &'static str,
    /// Where in that header, in bytes from its beginning.
    pub at: usize,
    /// What is wrong there.
    pub fault: Fault,
}

/// What is wrong with some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The bytes end too early.
    Short {
        /// Bytes that are needed from the beginning of the header.
        needed: usize,
        /// Bytes there are.
        given: usize,
    },
    /// A field has a value that we do not know, or that does not go with others.
    Value {
        /// The field.
        field: &'static str,
        /// What it says.
        found: u64,
        /// What would be understood.
        expected: &'static str,
    },
    /// A checksum does not go with the bytes that it covers.
    Checksum {
        /// What it says.
        found: u32,
        /// What the bytes call for.
        expected: u32,
    },
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, byte {}: ", self.header, self.at)?;
        match self.fault {
            Fault::Short { needed, given } => {
                write!(f, "{needed} bytes are needed and {given} are there")
            }
            Fault::Value {
                field,
                found,
                expected,
            } => write!(f, "{field} is {found:#x}; expected {expected}"),
            Fault::Checksum { found, expected } => {
                write!(
                    f,
                    "checksum is {found:#x}; the bytes call for {expected:#x}"
                )
            }
        }
    }
}

impl std::error::Error for Malformed {}

/// A record that fits no frame, or a place that is too small for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// The place for the frame is too small.
    Room {
        /// Its bytes.
        given: usize,
    },
    /// A value is larger than its field.
    Value {
        /// The field.
        field: &'static str,
        /// The value.
        value: u64,
        /// The largest value that fits.
        most: u64,
    },
    /// A frame between neighbours that has no format.
    Frame {
        /// How its record says what it is.
        identity: u16,
    },
}

impl Unfit {
    /// `value` as a field that holds at most `most`.
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
