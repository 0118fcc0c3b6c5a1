//! IPv4 and IPv6 with DSCP and ECN, and UDP.
//!
//! Datagrams are whole, without options and extension headers. What IP says of its length may be less
//! than what UDP says of its own: then a switch has cut the datagram (trimming).

use core::net::{Ipv4Addr, Ipv6Addr};

use etherparse::{IpDscp, IpEcn, IpNumber, Ipv4Header, Ipv6Header, UdpHeader, err};

use crate::bytes::{Reader, Writer};
use crate::error::{Fault, Malformed, Unfit};
use crate::ethernet::ether_type;

/// What ECN says in its two bits (RFC 3168).
pub mod ecn {
    /// The ends do not know ECN.
    pub const NOT_CAPABLE: u8 = 0b00;
    /// The ends know it, ECT(0).
    pub const CAPABLE: u8 = 0b10;
    /// Congestion was met.
    pub const CONGESTION: u8 = 0b11;
}

/// UDP in IP.
pub const UDP: u8 = 17;

/// Bytes of a UDP header.
pub const UDP_BYTES: usize = 8;

/// Both ends of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// IPv4.
    V4 {
        /// Sender.
        from: Ipv4Addr,
        /// Receiver.
        to: Ipv4Addr,
    },
    /// IPv6.
    V6 {
        /// Sender.
        from: Ipv6Addr,
        /// Receiver.
        to: Ipv6Addr,
    },
}

/// A header of IPv4 or IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ip {
    /// Sender and receiver.
    pub ends: Ends,
    /// Differentiated services code point, 6 bits.
    pub dscp: u8,
    /// Two bits, see [`ecn`].
    pub ecn: u8,
    /// Hops that are left (TTL, hop limit).
    pub hops: u8,
    /// What follows.
    pub protocol: u8,
    /// Bytes behind the header.
    pub payload_bytes: u16,
}

impl Ip {
    /// Bytes of the header.
    #[must_use]
    pub const fn header_bytes(&self) -> usize {
        match self.ends {
            Ends::V4 { .. } => Ipv4Header::MIN_LEN,
            Ends::V6 { .. } => Ipv6Header::LEN,
        }
    }

    /// The type of its frame.
    #[must_use]
    pub const fn ether_type(&self) -> u16 {
        match self.ends {
            Ends::V4 { .. } => ether_type::IPV4,
            Ends::V6 { .. } => ether_type::IPV6,
        }
    }

    /// Reads what stands behind the header of a frame of this type. Returns the datagram without the padding
    /// of its frame.
    ///
    /// # Errors
    /// Too few bytes, a wrong checksum, a fragment, options, or another type.
    pub fn parse(ether_type: u16, bytes: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        let (ip, mut reader) = match ether_type {
            ether_type::IPV4 => Self::parse_v4(bytes)?,
            ether_type::IPV6 => Self::parse_v6(bytes)?,
            _ => {
                let fault = Fault::Value {
                    field: "EtherType",
                    found: ether_type.into(),
                    expected: "0x800 (IPv4) or 0x86dd (IPv6)",
                };
                return Err(Reader::new("Ethernet header", bytes).wrong(12, fault));
            }
        };
        let payload = reader.bytes(ip.payload_bytes.into())?;
        Ok((ip, payload))
    }

    fn parse_v4(bytes: &[u8]) -> Result<(Self, Reader<'_>), Malformed> {
        let mut reader = Reader::new("IPv4 header", bytes);
        let raw: [u8; Ipv4Header::MIN_LEN] = reader.take()?;
        let first = raw[0];
        let require = |holds, at, field, found: u16, expected| {
            let fault = Fault::Value {
                field,
                found: found.into(),
                expected,
            };
            if holds {
                Ok(())
            } else {
                Err(reader.wrong(at, fault))
            }
        };
        require(first == 0x45, 0, "version and length", first.into(), "0x45")?;
        let Ok((header, _)) = Ipv4Header::from_slice(&raw) else {
            return Err(reader.wrong(
                0,
                Fault::Short {
                    needed: 20,
                    given: 20,
                },
            ));
        };
        let fragment = u16::from_be_bytes([raw[6], raw[7]]) & 0xbfff;
        require(fragment == 0, 6, "fragment", fragment, "a whole datagram")?;
        let total = header.total_len;
        require(total >= 20, 2, "total length", total, "20 or more")?;
        let expected = header.calc_header_checksum();
        if header.header_checksum != expected {
            let fault = Fault::Checksum {
                found: header.header_checksum.into(),
                expected: expected.into(),
            };
            return Err(reader.wrong(10, fault));
        }
        let ip = Self {
            ends: Ends::V4 {
                from: header.source.into(),
                to: header.destination.into(),
            },
            dscp: header.dscp.value(),
            ecn: header.ecn.value(),
            hops: header.time_to_live,
            protocol: header.protocol.0,
            payload_bytes: total - Ipv4Header::MIN_LEN_U16,
        };
        Ok((ip, reader))
    }

    fn parse_v6(bytes: &[u8]) -> Result<(Self, Reader<'_>), Malformed> {
        let mut reader = Reader::new("IPv6 header", bytes);
        let raw: [u8; Ipv6Header::LEN] = reader.take()?;
        let header = match Ipv6Header::from_slice(&raw) {
            Ok((header, _)) => header,
            Err(err::ipv6::HeaderSliceError::Content(_) | err::ipv6::HeaderSliceError::Len(_)) => {
                let fault = Fault::Value {
                    field: "version",
                    found: u64::from(raw[0] >> 4),
                    expected: "6",
                };
                return Err(reader.wrong(0, fault));
            }
        };
        let ip = Self {
            ends: Ends::V6 {
                from: header.source.into(),
                to: header.destination.into(),
            },
            dscp: header.traffic_class >> 2,
            ecn: header.traffic_class & 3,
            hops: header.hop_limit,
            protocol: header.next_header.0,
            payload_bytes: header.payload_length,
        };
        Ok((ip, reader))
    }

    /// Writes it.
    ///
    /// # Errors
    /// There is no room, or a value does not fit.
    pub fn emit(&self, out: &mut Writer<'_>) -> Result<(), Unfit> {
        let dscp = Unfit::check("DSCP", self.dscp.into(), 63)? as u8;
        let ecn = Unfit::check("ECN", self.ecn.into(), 3)? as u8;
        match self.ends {
            Ends::V4 { from, to } => {
                let payload = u64::from(self.payload_bytes);
                let most = u64::from(u16::MAX - Ipv4Header::MIN_LEN_U16);
                Unfit::check("the length of the datagram", payload, most)?;
                let mut header = Ipv4Header {
                    dscp: IpDscp::try_new(dscp).expect("it was checked"),
                    ecn: IpEcn::try_new(ecn).expect("it was checked"),
                    total_len: self.payload_bytes + Ipv4Header::MIN_LEN_U16,
                    dont_fragment: true,
                    time_to_live: self.hops,
                    protocol: IpNumber(self.protocol),
                    source: from.octets(),
                    destination: to.octets(),
                    ..Ipv4Header::default()
                };
                header.header_checksum = header.calc_header_checksum();
                out.put(&header.to_bytes())
            }
            Ends::V6 { from, to } => {
                let mut header = Ipv6Header {
                    payload_length: self.payload_bytes,
                    next_header: IpNumber(self.protocol),
                    hop_limit: self.hops,
                    source: from.octets(),
                    destination: to.octets(),
                    ..Ipv6Header::default()
                };
                header.set_dscp(IpDscp::try_new(dscp).expect("it was checked"));
                header.set_ecn(IpEcn::try_new(ecn).expect("it was checked"));
                out.put(&header.to_bytes())
            }
        }
    }
}

/// A header of UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Udp {
    /// Port of the sender.
    pub from: u16,
    /// Port of the receiver.
    pub to: u16,
    /// Bytes of header and payload before anybody cut them.
    pub bytes: u16,
    /// Checksum; 0: there is none.
    pub checksum: u16,
}

impl Udp {
    /// Reads the payload of an IP datagram. Returns what there is of the payload.
    ///
    /// # Errors
    /// Too few bytes for the header, a length that is none, or a wrong checksum of a whole datagram.
    pub fn parse<'a>(ip: &Ip, bytes: &'a [u8]) -> Result<(Self, &'a [u8]), Malformed> {
        let mut reader = Reader::new("UDP header", bytes);
        let header = UdpHeader::from_bytes(reader.take()?);
        let udp = Self {
            from: header.source_port,
            to: header.destination_port,
            bytes: header.length,
            checksum: header.checksum,
        };
        let long_enough = usize::from(udp.bytes) >= UDP_BYTES;
        reader.require(long_enough, 4, "length", udp.bytes, "8 or more")?;
        let there = bytes.len().min(udp.bytes.into());
        let payload = &bytes[UDP_BYTES..there];
        if udp.checksum != 0 && !udp.is_cut(payload) {
            let expected = udp.checksum_of(ip, payload);
            if expected != Some(udp.checksum) {
                let fault = Fault::Checksum {
                    found: udp.checksum.into(),
                    expected: expected.unwrap_or(0).into(),
                };
                return Err(reader.wrong(6, fault));
            }
        }
        Ok((udp, payload))
    }

    /// Whether this is not the whole payload: a switch has cut the datagram.
    #[must_use]
    pub const fn is_cut(&self, payload: &[u8]) -> bool {
        payload.len() + UDP_BYTES < self.bytes as usize
    }

    fn header(self) -> UdpHeader {
        UdpHeader {
            source_port: self.from,
            destination_port: self.to,
            length: self.bytes,
            checksum: self.checksum,
        }
    }

    /// The checksum that goes with this payload; `None`: it is too long.
    #[must_use]
    pub fn checksum_of(self, ip: &Ip, payload: &[u8]) -> Option<u16> {
        let header = self.header();
        match ip.ends {
            Ends::V4 { from, to } => {
                header.calc_checksum_ipv4_raw(from.octets(), to.octets(), payload)
            }
            Ends::V6 { from, to } => {
                header.calc_checksum_ipv6_raw(from.octets(), to.octets(), payload)
            }
        }
        .ok()
    }

    /// The bytes of the header.
    #[must_use]
    pub fn to_bytes(self) -> [u8; UDP_BYTES] {
        self.header().to_bytes()
    }
}
