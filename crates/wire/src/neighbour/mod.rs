//! Frames between neighbours that have no published format: our own, on the experimental EtherType
//! [`OURS`](crate::ethernet::ether_type::OURS).
//!
//! A hop scheme has a file here with the contents of its frames, and a line in the list below. Frames of PFC have
//! the format of the standard, see [`pfc`].

mod bfc;
mod cbfc;
mod floodgate;
pub mod pfc;

use dataplane::hop::Scheme;
use dataplane::packet::Packet;

use crate::bytes::{Reader, Writer};
use crate::error::{Fault, Malformed, Unfit};

/// Version of this format.
pub const VERSION: u8 = 1;
/// Bytes of the header that all have.
pub const HEADER_BYTES: usize = 8;

/// The header of such a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The scheme by its number in frames.
    pub scheme: u8,
    /// Which of the scheme's frames.
    pub kind: u8,
    /// A pause, not its end.
    pub on: bool,
    /// Bytes that the frame takes on its link. Nodes count and time by them: the bytes here may be fewer,
    /// where a scheme says how large its frames are, or more.
    pub line_bytes: u16,
    /// Entries of the list that it has.
    pub entries: u16,
}

impl Header {
    fn parse(bytes: &[u8]) -> Result<(Self, Reader<'_>), Malformed> {
        let mut reader = Reader::new("frame between neighbours", bytes);
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

/// The list beside the record of a frame, as it stands in the frame.
#[derive(Clone, Copy, Debug)]
pub enum List<'a> {
    /// There is none.
    None,
    /// Numbers in order: bit `n` of the bytes stands for `n`, the lowest bit of a byte first.
    Bits(&'a [u8]),
    /// Words.
    Words(&'a [u8]),
}

impl List<'_> {
    /// Appends what it has to `words`.
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

/// What reads the body of a scheme's frame; `None`: the scheme has no such frame.
type Parsed<'a> = Result<Option<(Packet, List<'a>)>, Malformed>;

/// Dispatches to the modules of the schemes. Both matches cover all schemes of the dataplane: a hop scheme
/// without a format does not compile.
macro_rules! schemes {
    ($($Name:ident: $module:ident;)*) => {
        /// Reads a frame behind its EtherType: its record, and the list beside it.
        ///
        /// # Errors
        /// Too few bytes, or a scheme, frame or value that we do not know.
        pub fn parse(bytes: &[u8]) -> Result<(Packet, List<'_>), Malformed> {
            let (header, reader) = Header::parse(bytes)?;
            let found = match Scheme::from_number(header.scheme) {
                $(Some(Scheme::$Name) => $module::parse(&header, reader)?,)*
                Some(Scheme::Pfc) | None => None,
            };
            found.ok_or(Malformed {
                header: "frame between neighbours",
                at: 1,
                fault: Fault::Value {
                    field: "scheme and frame",
                    found: u64::from(header.scheme) << 8 | u64::from(header.kind),
                    expected: "a frame that docs/wire.md names",
                },
            })
        }

        /// Writes a frame behind its EtherType. `list` lies beside its record.
        ///
        /// # Errors
        /// There is no room, no format, or a value does not fit.
        pub fn emit(packet: &Packet, list: &[u32], out: &mut Writer<'_>) -> Result<(), Unfit> {
            let scheme = packet.scheme().and_then(Scheme::from_number);
            let is_written = match scheme {
                $(Some(scheme @ Scheme::$Name) => {
                    $module::emit(scheme.number(), packet, list, out)?
                })*
                Some(Scheme::Pfc) | None => false,
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
}
