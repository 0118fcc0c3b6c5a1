//! Bit-exact encoding of telemetry in packets (HPCC paper §4.1 and Fig. 7).
//!
//! The header has two bytes, nHop (4 bits) and pathID (12 bits). Each switch adds eight bytes:
//! rate, time stamp, bytes sent and queue length, in network byte order. In the simulator,
//! [`Layout::encode`] and [`Layout::decode`] are applied to every record if this format is
//! configured. A real switch writes with [`append`], and a real sender reads with [`read`].

use std::fmt;

use super::{IntHop, IntStack, MAX_HOPS};
use crate::units::{NS, Time};

/// Number of bits of the time stamp, which is in ns.
const TS_BITS: u32 = 24;
/// Number of bits of the counter of transmitted bytes.
const TX_BITS: u32 = 20;
/// Bytes per unit of the counter of transmitted bytes, for a multiplier of 1.
const TX_UNIT: u64 = 128;
/// Bytes per unit of the queue length, for a multiplier of 1.
const QLEN_UNIT: u64 = 80;
/// Number of bits of pathID.
const PATH_BITS: u32 = 12;

/// Size of the INT header in bytes: nHop and pathID.
pub const HEADER_BYTES: usize = 2;
/// Size of the INT record of one switch, in bytes.
pub const RECORD_BYTES: usize = 8;

/// Link rates that an INT record can encode, in 10⁶ bits per second. The code of a rate is its
/// index in this array. The first five codes are those of the HPCC authors' simulator. The highest
/// code of a field means an unknown rate, so a field of 3 bits encodes the first seven rates.
const RATES_MBPS: [u32; 12] = [
    25_000, 50_000, 100_000, 200_000, 400_000, 800_000, 10_000, 40_000, 1_600_000, 1_000, 2_500,
    5_000,
];

/// Returns the lower bits of a switch ID, which are combined into pathID.
// HPCC-30
#[inline]
#[must_use]
pub const fn path_id(switch: u32) -> u32 {
    switch & low(PATH_BITS) as u32
}

/// Division of the 8 bytes of an INT record into fields, and the units of the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    multiplier: u32,
    qlen_bits: u8,
}

impl Layout {
    /// Largest multiplier for which the queue length fits 32 bits in bytes.
    pub const MAX_MULTIPLIER: u32 = 256;

    /// Creates a layout. Transmitted bytes are in units of `multiplier` · 128 bytes, the queue
    /// length in units of `multiplier` · 80 bytes. The queue length has 16 bits and the rate 4 (the
    /// HPCC paper), or 17 and 3 (the authors' simulator). Other values are clipped.
    #[must_use]
    pub const fn new(multiplier: u32, qlen_bits: u8) -> Self {
        let multiplier = match multiplier {
            0 => 1,
            m if m > Self::MAX_MULTIPLIER => Self::MAX_MULTIPLIER,
            m => m,
        };
        Self {
            multiplier,
            qlen_bits: if qlen_bits > 16 { 17 } else { 16 },
        }
    }

    /// Returns the number of bits of the queue length, 16 or 17.
    #[must_use]
    pub const fn qlen_bits(self) -> u8 {
        self.qlen_bits
    }

    const fn rate_bits(self) -> u32 {
        64 - TS_BITS - TX_BITS - self.qlen_bits as u32
    }

    /// Returns the number of bytes per unit of the counter of transmitted bytes.
    #[must_use]
    pub const fn tx_unit(self) -> u64 {
        TX_UNIT * self.multiplier as u64
    }

    /// Returns the number of bytes per unit of the queue length.
    #[must_use]
    pub const fn qlen_unit(self) -> u64 {
        QLEN_UNIT * self.multiplier as u64
    }

    /// Returns the rates that this layout can encode, in 10⁶ bits per second.
    #[must_use]
    pub fn rates_mbps(self) -> &'static [u32] {
        let unknown = low(self.rate_bits()) as usize;
        &RATES_MBPS[..unknown.min(RATES_MBPS.len())]
    }

    /// Encodes the INT record of a hop. Time stamp and transmitted bytes are rounded down to whole
    /// units and wrap. A queue length that is too large becomes the largest value of the field.
    // HPCC-30
    #[must_use]
    pub fn encode(self, hop: &IntHop) -> u64 {
        let known = self.rates_mbps().iter().position(|r| *r == hop.rate_mbps);
        let rate = known.map_or(low(self.rate_bits()), |code| code as u64);
        let ts = (hop.ts_ps / NS) & low(TS_BITS);
        let tx = (hop.tx_bytes / self.tx_unit()) & low(TX_BITS);
        let qlen_bits = u32::from(self.qlen_bits);
        let qlen = (u64::from(hop.qlen_bytes) / self.qlen_unit()).min(low(qlen_bits));
        ((rate << TS_BITS | ts) << TX_BITS | tx) << qlen_bits | qlen
    }

    /// Decodes an INT record. Times and bytes are multiples of the units, and an unknown rate is 0.
    #[must_use]
    pub fn decode(self, record: u64) -> IntHop {
        let qlen_bits = u32::from(self.qlen_bits);
        let qlen = record & low(qlen_bits);
        let tx = record >> qlen_bits & low(TX_BITS);
        let ts = record >> (qlen_bits + TX_BITS) & low(TS_BITS);
        let rate = (record >> (qlen_bits + TX_BITS + TS_BITS)) as usize;
        IntHop {
            ts_ps: ts * NS,
            tx_bytes: tx * self.tx_unit(),
            qlen_bytes: (qlen * self.qlen_unit()) as u32,
            rate_mbps: self.rates_mbps().get(rate).copied().unwrap_or(0),
        }
    }

    /// Returns the time between the time stamps of two decoded records, in ps. The time stamp
    /// wraps, so the result is correct below 16.8 ms.
    #[inline]
    #[must_use]
    pub const fn elapsed_ps(self, last: &IntHop, new: &IntHop) -> Time {
        forward(last.ts_ps, new.ts_ps, NS << TS_BITS)
    }

    /// Returns the bytes transmitted between two decoded records. The counter wraps, so the result
    /// is correct below 134 MB times the multiplier.
    #[inline]
    #[must_use]
    pub const fn sent_bytes(self, last: &IntHop, new: &IntHop) -> u64 {
        forward(last.tx_bytes, new.tx_bytes, self.tx_unit() << TX_BITS)
    }
}

/// Returns a mask of the lowest `bits` bits.
const fn low(bits: u32) -> u64 {
    (1 << bits) - 1
}

/// Returns the difference of two values of a counter that wraps at `modulus`.
const fn forward(last: u64, new: u64, modulus: u64) -> u64 {
    if new >= last {
        new - last
    } else {
        new + modulus - last
    }
}

/// Returns the INT header of a packet that passed `hops` switches: nHop in the high bits, pathID in
/// the low bits.
#[must_use]
pub const fn header(hops: u8, path: u16) -> u16 {
    (hops as u16) << PATH_BITS | path & low(PATH_BITS) as u16
}

/// Returns nHop and pathID of an INT header.
#[must_use]
pub const fn split_header(header: u16) -> (u8, u16) {
    ((header >> PATH_BITS) as u8, header & low(PATH_BITS) as u16)
}

/// Error in reading or writing the INT field of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireError {
    /// The INT field is shorter than its records.
    Short {
        /// Bytes required by nHop.
        needed: usize,
        /// Bytes available.
        given: usize,
    },
    /// nHop is larger than the number of records that an [`IntStack`] can store.
    Hops(u8),
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short { needed, given } => {
                write!(f, "telemetry of {needed} bytes in a field of {given}")
            }
            Self::Hops(hops) => write!(f, "telemetry of {hops} switches; {MAX_HOPS} is the most"),
        }
    }
}

impl std::error::Error for WireError {}

/// Returns nHop and pathID of an INT field, and the size in bytes of its header and records.
fn open(field: &[u8]) -> Result<(u8, u16, usize), WireError> {
    let Some(&[high, low]) = field.first_chunk() else {
        return Err(WireError::Short {
            needed: HEADER_BYTES,
            given: field.len(),
        });
    };
    let (hops, path) = split_header(u16::from_be_bytes([high, low]));
    Ok((hops, path, HEADER_BYTES + RECORD_BYTES * usize::from(hops)))
}

/// Adds the record of a switch to the INT field of a packet, and the ID of the switch to pathID.
///
/// # Errors
/// The field has no room for another record, or contains the maximum number of records. The field
/// is unchanged then.
// HPCC-30
pub fn append(
    layout: Layout,
    field: &mut [u8],
    switch: u32,
    hop: &IntHop,
) -> Result<(), WireError> {
    let (hops, path, end) = open(field)?;
    if usize::from(hops) >= MAX_HOPS {
        return Err(WireError::Hops(hops + 1));
    }
    let given = field.len();
    let needed = end + RECORD_BYTES;
    let Some(slot) = field.get_mut(end..needed) else {
        return Err(WireError::Short { needed, given });
    };
    slot.copy_from_slice(&layout.encode(hop).to_be_bytes());
    let header = header(hops + 1, path ^ path_id(switch) as u16);
    field[..HEADER_BYTES].copy_from_slice(&header.to_be_bytes());
    Ok(())
}

/// Decodes the INT field of a packet.
///
/// # Errors
/// The field is shorter than nHop requires, or has more records than an [`IntStack`] can store.
pub fn read(layout: Layout, field: &[u8]) -> Result<IntStack, WireError> {
    let (hops, path, needed) = open(field)?;
    if usize::from(hops) > MAX_HOPS {
        return Err(WireError::Hops(hops));
    }
    let Some(records) = field.get(HEADER_BYTES..needed) else {
        return Err(WireError::Short {
            needed,
            given: field.len(),
        });
    };
    let mut stack = IntStack {
        len: hops,
        path,
        ..IntStack::default()
    };
    let (records, _) = records.as_chunks::<RECORD_BYTES>();
    for (slot, record) in stack.hops.iter_mut().zip(records) {
        *slot = layout.decode(u64::from_be_bytes(*record));
    }
    Ok(stack)
}
