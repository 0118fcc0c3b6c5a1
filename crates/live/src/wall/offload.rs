//! Performs offloads in software: checksums, and segmentation of joined TCP frames (TSO). Virtual
//! interfaces leave this work to a network card. The kernel describes the work in a header before
//! the frame (`PACKET_VNET_HDR`).

use wire::ethernet::{Ethernet, ether_type};

/// Bytes of the offload header (`struct virtio_net_hdr`).
pub const HEADER_BYTES: usize = 10;

const NEEDS_CHECKSUM: u8 = 1;
const ONE_FRAME: u8 = 0;
const TCP_V4: u8 = 1;
const TCP_V6: u8 = 4;
/// Flag: the frame has the CWR bit of ECN. Only the first segment may keep this bit.
const WITH_ECN: u8 = 0x80;
/// IP protocol number of TCP.
const TCP: u8 = 6;
const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const CWR: u8 = 0x80;

/// The offloads that must be performed for a frame before it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offload {
    flags: u8,
    segments: u8,
    segment_bytes: u16,
    checksum_from: u16,
    checksum_at: u16,
}

impl Offload {
    /// Parses the offload header of the kernel.
    #[must_use]
    pub fn parse(header: [u8; HEADER_BYTES]) -> Self {
        let word = |at: usize| u16::from_ne_bytes([header[at], header[at + 1]]);
        Self {
            flags: header[0],
            segments: header[1],
            segment_bytes: word(4),
            checksum_from: word(6),
            checksum_at: word(8),
        }
    }

    /// Adapts byte positions to a VLAN tag that was inserted into the frame.
    #[must_use]
    pub const fn after_tag(self) -> Self {
        Self {
            checksum_from: self.checksum_from + 4,
            ..self
        }
    }
}

/// Performs the offloads of a frame. Calls `take` with each resulting frame, as a link would carry
/// it. Returns false if this is impossible: the segments are not TCP, or the frame contradicts the
/// offload header.
// WSW-31: offloads
pub fn finish(frame: &mut [u8], left: Offload, take: &mut dyn FnMut(&mut [u8])) -> bool {
    match left.segments & !WITH_ECN {
        ONE_FRAME => {
            let whole = left.flags & NEEDS_CHECKSUM == 0 || complete(frame, left).is_some();
            if whole {
                take(frame);
            }
            whole
        }
        TCP_V4 | TCP_V6 => segment(frame, left, take).is_some(),
        _ => false,
    }
}

/// Computes the checksum of a frame. Before, the checksum field contains the sum of the
/// pseudo-header.
fn complete(frame: &mut [u8], left: Offload) -> Option<()> {
    let from = usize::from(left.checksum_from);
    let sum = folded(sum_of(frame.get(from..)?));
    let at = from + usize::from(left.checksum_at);
    let field = frame.get_mut(at..at + 2)?;
    // In UDP, a checksum of 0 means "no checksum". 0xffff is equivalent to 0 in the arithmetic of
    // checksums.
    let checksum = if sum == u16::MAX { sum } else { !sum };
    field.copy_from_slice(&checksum.to_be_bytes());
    Some(())
}

/// Byte positions of the headers and of the payload in a TCP frame.
struct Headers {
    ip: usize,
    v6: bool,
    tcp: usize,
    payload: usize,
}

impl Headers {
    fn of(frame: &[u8]) -> Option<Self> {
        let (ethernet, body) = Ethernet::parse(frame).ok()?;
        let ip = frame.len() - body.len();
        let v6 = ethernet.ether_type == ether_type::IPV6;
        let tcp = match ethernet.ether_type {
            ether_type::IPV4 if *body.get(9)? == TCP => ip + usize::from(body[0] & 15) * 4,
            ether_type::IPV6 if *body.get(6)? == TCP => ip + 40,
            _ => return None,
        };
        let payload = tcp + usize::from(frame.get(tcp + 12)? >> 4) * 4;
        let sane = tcp >= ip + 20 && payload >= tcp + 20 && payload <= frame.len();
        sane.then_some(Self {
            ip,
            v6,
            tcp,
            payload,
        })
    }
}

fn segment(frame: &[u8], left: Offload, take: &mut dyn FnMut(&mut [u8])) -> Option<()> {
    let at = Headers::of(frame)?;
    let each = usize::from(left.segment_bytes);
    let payload = &frame[at.payload..];
    if each == 0 || payload.is_empty() {
        return None;
    }
    let count = payload.len().div_ceil(each);
    let number = u32::from_be_bytes(*frame[at.tcp + 4..].first_chunk()?);
    let identity = u16::from_be_bytes(*frame[at.ip + 4..].first_chunk()?);
    let mut one = Vec::with_capacity(at.payload + each);
    for (nth, part) in payload.chunks(each).enumerate() {
        one.clear();
        one.extend_from_slice(&frame[..at.payload]);
        one.extend_from_slice(part);
        let number = number.wrapping_add((nth * each) as u32);
        one[at.tcp + 4..at.tcp + 8].copy_from_slice(&number.to_be_bytes());
        let flags = &mut one[at.tcp + 13];
        if nth + 1 < count {
            *flags &= !(FIN | PSH);
        }
        if nth > 0 {
            *flags &= !CWR;
        }
        finish_ip(&mut one, &at, identity.wrapping_add(nth as u16));
        finish_tcp(&mut one, &at);
        take(&mut one);
    }
    Some(())
}

/// Writes length, identification and checksum of the IP header.
fn finish_ip(frame: &mut [u8], at: &Headers, identity: u16) {
    let whole = frame.len() - at.ip;
    let ip = &mut frame[at.ip..at.tcp];
    if at.v6 {
        ip[4..6].copy_from_slice(&((whole - 40) as u16).to_be_bytes());
        return;
    }
    ip[2..4].copy_from_slice(&(whole as u16).to_be_bytes());
    ip[4..6].copy_from_slice(&identity.to_be_bytes());
    ip[10..12].fill(0);
    let checksum = !folded(sum_of(ip));
    ip[10..12].copy_from_slice(&checksum.to_be_bytes());
}

/// Writes the TCP checksum, including the pseudo-header.
fn finish_tcp(frame: &mut [u8], at: &Headers) {
    frame[at.tcp + 16..at.tcp + 18].fill(0);
    let ends = match at.v6 {
        true => &frame[at.ip + 8..at.ip + 40],
        false => &frame[at.ip + 12..at.ip + 20],
    };
    let segment = &frame[at.tcp..];
    let sum = sum_of(ends) + sum_of(segment) + u64::from(TCP) + segment.len() as u64;
    let checksum = !folded(sum);
    frame[at.tcp + 16..at.tcp + 18].copy_from_slice(&checksum.to_be_bytes());
}

/// Sums the 16-bit words in network order. An odd last byte is the upper half of a word.
pub fn sum_of(bytes: &[u8]) -> u64 {
    let words = bytes.chunks(2).map(|word| match *word {
        [high, low] => u16::from_be_bytes([high, low]),
        [high] => u16::from_be_bytes([high, 0]),
        _ => 0,
    });
    words.map(u64::from).sum()
}

/// Folds a sum to 16 bits with end-around carry.
pub fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Offload = Offload {
        flags: 0,
        segments: ONE_FRAME,
        segment_bytes: 0,
        checksum_from: 0,
        checksum_at: 0,
    };

    /// Builds a TCP frame with `payload` bytes and these TCP flags. Its checksums are empty.
    fn frame(v6: bool, payload: usize, flags: u8) -> Vec<u8> {
        let mut frame = vec![2; 12];
        let tcp_bytes = 20 + payload;
        if v6 {
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
            frame.extend((tcp_bytes as u16).to_be_bytes());
            frame.extend([TCP, 64]);
            frame.extend([7; 32]);
        } else {
            frame.extend([0x08, 0, 0x45, 0]);
            frame.extend((20 + tcp_bytes as u16).to_be_bytes());
            frame.extend([0xff, 0xff, 0x40, 0, 64, TCP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        }
        frame.extend([
            0x10, 0, 0x20, 0, 0, 0, 0, 100, 0, 0, 0, 9, 0x50, flags, 1, 0, 0, 0, 0, 0,
        ]);
        frame.extend((0..payload).map(|n| n as u8));
        frame
    }

    /// Returns the sums of the words that the IP and TCP checksums cover. Both are 0xffff if the
    /// checksums are correct.
    fn sums(frame: &[u8]) -> (u16, u16) {
        let at = Headers::of(frame).unwrap();
        let ends = if at.v6 { 8..40 } else { 12..20 };
        let pseudo = sum_of(&frame[at.ip..][ends]) + u64::from(TCP) + (frame.len() - at.tcp) as u64;
        let ip = if at.v6 {
            0xffff
        } else {
            folded(sum_of(&frame[at.ip..at.tcp]))
        };
        (ip, folded(pseudo + sum_of(&frame[at.tcp..])))
    }

    // WSW-31: segmentation
    #[test]
    fn joined_segments_become_frames_with_numbers_flags_and_checksums() {
        for (v6, kind) in [(false, TCP_V4), (true, TCP_V6 | WITH_ECN)] {
            let left = Offload {
                segments: kind,
                segment_bytes: 1000,
                ..ONE
            };
            let mut whole = frame(v6, 2500, FIN | PSH | CWR | 0x10);
            let mut seen = Vec::new();
            assert!(finish(&mut whole, left, &mut |one| seen.push(one.to_vec())));
            assert_eq!(seen.len(), 3);
            let tcp = Headers::of(&whole).unwrap().tcp;
            for (nth, one) in seen.iter().enumerate() {
                assert_eq!(sums(one), (0xffff, 0xffff), "{nth}");
                let number = u32::from_be_bytes(*one[tcp + 4..].first_chunk().unwrap());
                assert_eq!(number as usize, 100 + 1000 * nth);
                let expected = [CWR | 0x10, 0x10, FIN | PSH | 0x10][nth];
                assert_eq!(one[tcp + 13], expected);
                let payload = [1000, 1000, 500][nth];
                assert_eq!(one.len(), tcp + 20 + payload);
                assert_eq!(one[tcp + 20], (nth * 1000) as u8);
            }
        }
    }

    // WSW-31: checksum
    #[test]
    fn an_offloaded_checksum_is_written() {
        let mut bytes = frame(false, 33, 0x10);
        let at = Headers::of(&bytes).unwrap();
        finish_ip(&mut bytes, &at, 1);
        // As the kernel does, the test writes the sum of the pseudo-header into the checksum field.
        let pseudo = folded(sum_of(&bytes[at.ip + 12..at.ip + 20]) + u64::from(TCP) + 53);
        bytes[at.tcp + 16..at.tcp + 18].copy_from_slice(&pseudo.to_be_bytes());
        let mut header = [0; HEADER_BYTES];
        header[0] = NEEDS_CHECKSUM;
        header[6..8].copy_from_slice(&(at.tcp as u16).to_ne_bytes());
        header[8..10].copy_from_slice(&16u16.to_ne_bytes());
        let left = Offload::parse(header);
        assert_eq!(left.after_tag().checksum_from, left.checksum_from + 4);
        let mut seen = 0;
        assert!(finish(&mut bytes, left, &mut |_| seen += 1));
        assert_eq!((sums(&bytes), seen), ((0xffff, 0xffff), 1));
    }

    #[test]
    fn a_frame_that_contradicts_its_header_is_refused() {
        let joined = Offload {
            segments: TCP_V4,
            segment_bytes: 100,
            ..ONE
        };
        let mut nothing = |_: &mut [u8]| panic!("a frame was created");
        let udp = Offload {
            segments: 3,
            ..joined
        };
        assert!(!finish(&mut frame(false, 500, 0), udp, &mut nothing));
        assert!(!finish(&mut frame(false, 0, 0), joined, &mut nothing));
        for cut in 0..54 {
            let mut short = frame(false, 500, 0);
            short.truncate(cut);
            assert!(!finish(&mut short, joined, &mut nothing), "{cut}");
        }
        let far = Offload {
            flags: NEEDS_CHECKSUM,
            checksum_from: 9000,
            ..ONE
        };
        assert!(!finish(&mut frame(false, 10, 0), far, &mut nothing));
    }
}
