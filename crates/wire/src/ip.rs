//! Headers of IPv4 and IPv6 with DSCP and ECN, and of UDP.
//!
//! Datagrams are not fragmented and have no options or extension headers. If the IP length is less
//! than the UDP length, a switch has trimmed the datagram.

use core::net::{Ipv4Addr, Ipv6Addr};

use etherparse::{IpDscp, IpEcn, IpNumber, Ipv4Header, Ipv6Header, UdpHeader};

use crate::bytes::{Fields, Reader, Writer};
use crate::error::{Fault, Malformed, Unfit};
use crate::ethernet::ether_type;

/// Values of the two ECN bits (RFC 3168).
pub mod ecn {
    /// Sender and receiver do not support ECN.
    pub const NOT_CAPABLE: u8 = 0b00;
    /// Sender and receiver support ECN: ECT(0).
    pub const CAPABLE: u8 = 0b10;
    /// Congestion experienced.
    pub const CONGESTION: u8 = 0b11;
}

/// Protocol number of UDP.
pub const UDP: u8 = 17;

/// Number of bytes of a UDP header.
pub const UDP_BYTES: usize = 8;

/// IP addresses of the sender and receiver of a datagram.
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

/// An IPv4 or IPv6 header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ip {
    /// Addresses of sender and receiver.
    pub ends: Ends,
    /// Differentiated services code point, 6 bits.
    pub dscp: u8,
    /// ECN bits; see [`ecn`].
    pub ecn: u8,
    /// Remaining hops (TTL or hop limit).
    pub hops: u8,
    /// Protocol number of the payload.
    pub protocol: u8,
    /// Number of bytes after the header.
    pub payload_bytes: u16,
}

impl Ip {
    /// Returns the number of bytes of the header.
    #[must_use]
    pub const fn header_bytes(&self) -> usize {
        match self.ends {
            Ends::V4 { .. } => Ipv4Header::MIN_LEN,
            Ends::V6 { .. } => Ipv6Header::LEN,
        }
    }

    /// Returns the EtherType of frames with this header.
    #[must_use]
    pub const fn ether_type(&self) -> u16 {
        match self.ends {
            Ends::V4 { .. } => ether_type::IPV4,
            Ends::V6 { .. } => ether_type::IPV6,
        }
    }

    /// Parses the bytes after an Ethernet header with this EtherType. Also returns the payload of
    /// the datagram without Ethernet padding.
    ///
    /// # Errors
    /// Too few bytes, a wrong checksum, a fragment, IP options, or another EtherType.
    pub fn parse(ether_type: u16, bytes: &[u8]) -> Result<(Self, &[u8]), Malformed> {
        let (ip, mut reader) = match ether_type {
            ether_type::IPV4 => Self::parse_v4(bytes)?,
            ether_type::IPV6 => Self::parse_v6(bytes)?,
            _ => {
                let expected = "0x800 (IPv4) or 0x86dd (IPv6)";
                let header = "Ethernet header";
                return Err(Malformed::value(
                    header,
                    12,
                    "EtherType",
                    ether_type,
                    expected,
                ));
            }
        };
        let payload = reader.bytes(ip.payload_bytes.into())?;
        Ok((ip, payload))
    }

    fn parse_v4(bytes: &[u8]) -> Result<(Self, Reader<'_>), Malformed> {
        let mut reader = Reader::new("IPv4 header", bytes);
        let raw: [u8; Ipv4Header::MIN_LEN] = reader.take()?;
        let first = raw[0];
        // `require` expects the distance of a field from the end of the 20 bytes read so far.
        reader.require(first == 0x45, 20, "version and length", first, "0x45")?;
        let (header, _) = Ipv4Header::from_slice(&raw).expect("it has 20 bytes and no options");
        let fragment = u16::from_be_bytes([raw[6], raw[7]]) & 0xbfff;
        reader.require(
            fragment == 0,
            14,
            "fragment",
            fragment,
            "0 (not fragmented)",
        )?;
        let total = header.total_len;
        reader.require(total >= 20, 18, "total length", total, "20 or more")?;
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
        let version = raw[0] >> 4;
        reader.require(version == 6, 40, "version", version, "6")?;
        let (header, _) = Ipv6Header::from_slice(&raw).expect("it has 40 bytes and version 6");
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

    /// Writes the header.
    ///
    /// # Errors
    /// The buffer is too small, or a value does not fit.
    pub fn emit(&self, out: &mut Writer<'_>) -> Result<(), Unfit> {
        let dscp = Unfit::check("DSCP", self.dscp.into(), 63)? as u8;
        let ecn = Unfit::check("ECN", self.ecn.into(), 3)? as u8;
        match self.ends {
            Ends::V4 { from, to } => {
                let payload = u64::from(self.payload_bytes);
                let most = u64::from(u16::MAX - Ipv4Header::MIN_LEN_U16);
                Unfit::check("the length of the datagram", payload, most)?;
                let mut header = Ipv4Header {
                    dscp: IpDscp::try_new(dscp).expect("DSCP is at most 63"),
                    ecn: IpEcn::try_new(ecn).expect("ECN is at most 3"),
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
                header.set_dscp(IpDscp::try_new(dscp).expect("DSCP is at most 63"));
                header.set_ecn(IpEcn::try_new(ecn).expect("ECN is at most 3"));
                out.put(&header.to_bytes())
            }
        }
    }
}

/// A UDP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Udp {
    /// Source port.
    pub from: u16,
    /// Destination port.
    pub to: u16,
    /// Number of bytes of UDP header and payload before any trimming.
    pub bytes: u16,
    /// Checksum. 0 means no checksum.
    pub checksum: u16,
}

impl Udp {
    /// Parses the payload of an IP datagram. Also returns the UDP payload, which is incomplete if a
    /// switch has trimmed the datagram.
    ///
    /// # Errors
    /// Too few bytes for the header, an invalid length, or a wrong checksum of a complete datagram.
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
        let existing = bytes.len().min(udp.bytes.into());
        let payload = &bytes[UDP_BYTES..existing];
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

    /// Returns true if `payload` is incomplete, because a switch has trimmed the datagram.
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

    /// Returns the UDP checksum for this payload, or `None` if the payload is too long.
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

    /// Returns the bytes of the header.
    #[must_use]
    pub fn to_bytes(self) -> [u8; UDP_BYTES] {
        self.header().to_bytes()
    }
}
