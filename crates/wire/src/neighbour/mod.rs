//! Control frames between neighbours without a published format. They have the experimental
//! EtherType [`OURS`](crate::ethernet::ether_type::OURS).
//!
//! Each hop scheme or link scheme has a file in this directory with the bodies of its frames, and a
//! line in the list `schemes!` below. Hop schemes from other crates share one format, see
//! `outside.rs`. PFC frames have the format of the standard; see [`pfc`].

mod bfc;
mod cbfc;
mod floodgate;
mod llr;
mod outside;
pub mod pfc;

use dataplane::hop::Scheme;
use dataplane::packet::Packet;

use crate::bytes::{Fields, Reader, Writer};
use crate::error::{Malformed, Unfit};

/// Version of this format.
pub const VERSION: u8 = 1;
/// Number of bytes of the common header.
pub const HEADER_BYTES: usize = 8;

/// Name of the common header in error messages.
const HEADER: &str = "frame between neighbours";

/// The common header of control frames between neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// ID of the hop scheme.
    pub scheme: u8,
    /// Number of the frame type within the scheme.
    pub kind: u8,
    /// True for a pause, false for a resume.
    pub on: bool,
    /// Size of the frame on its link in bytes, which nodes use to count bytes and to compute times.
    /// The encoded frame may be shorter or longer.
    pub line_bytes: u16,
    /// Number of entries of the list in the frame body.
    pub entries: u16,
}

impl Header {
    fn parse(bytes: &[u8]) -> Result<(Self, Reader<'_>), Malformed> {
        let mut reader = Reader::new(HEADER, bytes);
        let first = reader.u8()?;
        let expected = "0x10: version 1";
        reader.require(first == VERSION << 4, 1, "version", first, expected)?;
        let (scheme, kind) = (reader.u8()?, reader.u8()?);
        let flags = reader.u8()?;
        reader.require(flags < 2, 1, "flags", flags, "0 or 1")?;
        let header = Self {
            scheme,
            kind,
            on: flags != 0,
            line_bytes: reader.u16()?,
            entries: reader.u16()?,
        };
        Ok((header, reader))
    }

    fn emit(&self, out: &mut Writer<'_>) -> Result<(), Unfit> {
        out.u8(VERSION << 4)?;
        out.u8(self.scheme)?;
        out.u8(self.kind)?;
        out.u8(self.on.into())?;
        out.u16(self.line_bytes)?;
        out.u16(self.entries)
    }
}

/// The list of numbers of a control frame, as encoded in the frame.
#[derive(Clone, Copy, Debug)]
pub enum List<'a> {
    /// No list.
    None,
    /// A bitmap: bit `n` is set if the list contains the number `n`, lowest bit of a byte first.
    Bits(&'a [u8]),
    /// 32-bit words in network byte order.
    Words(&'a [u8]),
}

impl List<'_> {
    /// Decodes the list and appends its numbers to `words`.
    pub fn read(self, words: &mut Vec<u32>) {
        match self {
            Self::None => {}
            Self::Bits(bytes) => {
                let each = (0..).zip(bytes).flat_map(|(at, byte)| {
                    (0..8)
                        .filter(move |bit| byte >> bit & 1 != 0)
                        .map(move |bit| at * 8 + bit)
                });
                words.extend(each);
            }
            Self::Words(bytes) => {
                let (all, _) = bytes.as_chunks();
                words.extend(all.iter().map(|word| u32::from_be_bytes(*word)));
            }
        }
    }
}

/// Result of parsing the body of a control frame: packet and list. `None` means that the scheme has
/// no such frame.
type Parsed<'a> = Result<Option<(Packet, List<'a>)>, Malformed>;

/// Generates the calls of the module of each scheme. Both matches are exhaustive, so a scheme
/// without a frame format does not compile.
macro_rules! schemes {
    ($($Name:ident: $module:ident;)*) => {
        /// Parses the bytes after the EtherType. Returns the control frame and its list.
        ///
        /// # Errors
        /// Too few bytes, or an unknown scheme, frame or value.
        pub fn parse(bytes: &[u8]) -> Result<(Packet, List<'_>), Malformed> {
            let (header, reader) = Header::parse(bytes)?;
            let found = match Scheme::from_number(header.scheme) {
                $(Some(Scheme::$Name) => $module::parse(&header, reader)?,)*
                Some(Scheme::Pfc) => None,
                None => outside::parse(&header, reader)?,
            };
            found.ok_or_else(|| {
                let identity = u16::from(header.scheme) << 8 | u16::from(header.kind);
                let expected = "a frame that docs/wire.md lists";
                Malformed::value(HEADER, 1, "scheme and frame", identity, expected)
            })
        }

        /// Writes the bytes after the EtherType of a control frame and of its list.
        ///
        /// # Errors
        /// The buffer is too small, the frame has no format, or a value does not fit.
        pub fn emit(packet: &Packet, list: &[u32], out: &mut Writer<'_>) -> Result<(), Unfit> {
            let scheme = packet.scheme().and_then(Scheme::from_number);
            let is_written = match scheme {
                $(Some(scheme @ Scheme::$Name) => {
                    $module::emit(scheme.number(), packet, list, out)?
                })*
                Some(Scheme::Pfc) => false,
                None => outside::emit(packet, list, out)?,
            };
            if is_written {
                Ok(())
            } else {
                Err(Unfit::Frame { identity: packet.upstream_queue })
            }
        }
    };
}

schemes! {
    Bfc: bfc;
    Floodgate: floodgate;
    Cbfc: cbfc;
    Llr: llr;
}
