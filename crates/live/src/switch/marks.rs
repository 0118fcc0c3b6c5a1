//! Marks frames with ECN in place: the ECN bits of IP and the IPv4 checksum.

use wire::ethernet::{Ethernet, ether_type};
use wire::ip::ecn;

/// Result of an attempt to mark a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marked {
    /// The frame has an ECN mark now. It possibly had one before.
    Yes,
    /// The end hosts do not support ECN, or the frame is not IP.
    Incapable,
}

/// Marks a frame with ECN (CE) if its end hosts support ECN.
// WSW-21: ECN in place
pub fn mark(frame: &mut [u8]) -> Marked {
    let Ok((header, body)) = Ethernet::parse(frame) else {
        return Marked::Incapable;
    };
    let (kind, at) = (header.ether_type, frame.len() - body.len());
    let body = &mut frame[at..];
    match kind {
        ether_type::IPV4 if body.len() >= 20 => mark_v4(body),
        ether_type::IPV6 if body.len() >= 40 => mark_v6(body),
        _ => Marked::Incapable,
    }
}

fn mark_v4(ip: &mut [u8]) -> Marked {
    match ip[1] & 3 {
        ecn::NOT_CAPABLE => return Marked::Incapable,
        ecn::CONGESTION => return Marked::Yes,
        _ => {}
    }
    let before = u16::from_be_bytes([ip[0], ip[1]]);
    ip[1] |= ecn::CONGESTION;
    let after = u16::from_be_bytes([ip[0], ip[1]]);
    let checksum = u16::from_be_bytes([ip[10], ip[11]]);
    ip[10..12].copy_from_slice(&update_checksum(checksum, before, after).to_be_bytes());
    Marked::Yes
}

fn mark_v6(ip: &mut [u8]) -> Marked {
    match ip[1] >> 4 & 3 {
        ecn::NOT_CAPABLE => Marked::Incapable,
        _ => {
            ip[1] |= ecn::CONGESTION << 4;
            Marked::Yes
        }
    }
}

/// Updates an Internet checksum after one 16-bit word has changed (RFC 1624).
fn update_checksum(checksum: u16, before: u16, after: u16) -> u16 {
    let sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    let sum = (sum & 0xffff) + (sum >> 16);
    !(((sum & 0xffff) + (sum >> 16)) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::Writer;
    use wire::ip::{Ends, Ip};

    fn frame(v6: bool, bits: u8) -> Vec<u8> {
        let ends = match v6 {
            false => Ends::V4 {
                from: [10, 0, 0, 1].into(),
                to: [10, 0, 0, 2].into(),
            },
            true => Ends::V6 {
                from: [1; 16].into(),
                to: [2; 16].into(),
            },
        };
        let ip = Ip {
            ends,
            dscp: 24,
            ecn: bits,
            hops: 64,
            protocol: 6,
            payload_bytes: 0,
        };
        let header = Ethernet {
            to: [2; 6],
            from: [4; 6],
            tag: None,
            ether_type: ip.ether_type(),
        };
        let mut place = [0; 60];
        let mut out = Writer::new(&mut place);
        header.emit(&mut out).unwrap();
        ip.emit(&mut out).unwrap();
        place.to_vec()
    }

    // WSW-21: ECN in place
    #[test]
    fn only_ecn_capable_frames_are_marked_and_checksums_stay_correct() {
        for v6 in [false, true] {
            for bits in 0..4 {
                let mut bytes = frame(v6, bits);
                let marked = mark(&mut bytes);
                let (header, body) = Ethernet::parse(&bytes).unwrap();
                let (ip, _) = Ip::parse(header.ether_type, body).unwrap();
                let expected = match bits {
                    0 => (Marked::Incapable, 0),
                    _ => (Marked::Yes, ecn::CONGESTION),
                };
                assert_eq!((marked, ip.ecn, ip.dscp), (expected.0, expected.1, 24));
            }
        }
        assert_eq!(mark(&mut [0; 60]), Marked::Incapable);
        assert_eq!(mark(&mut [0; 9]), Marked::Incapable);
    }
}
