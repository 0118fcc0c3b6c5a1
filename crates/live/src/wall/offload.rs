//! What virtual interfaces leave undone because a card would do it: checksums, and segments of TCP that come
//! as one frame. The kernel says so in a header before the frame (`PACKET_VNET_HDR`).

use wire::ethernet::{Ethernet, ether_type};

/// Bytes of the header (`struct virtio_net_hdr`).
pub const HEADER_BYTES: usize = 10;

const NEEDS_CHECKSUM: u8 = 1;
const ONE_FRAME: u8 = 0;
const TCP_V4: u8 = 1;
const TCP_V6: u8 = 4;
/// The sender of these segments has seen a mark of ECN: only the first repeats it.
const WITH_ECN: u8 = 0x80;
/// Protocol of IP.
const TCP: u8 = 6;
const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const CWR: u8 = 0x80;

/// What is left to do for a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftUndone {
    flags: u8,
    segments: u8,
    segment_bytes: u16,
    checksum_from: u16,
    checksum_at: u16,
}

impl LeftUndone {
    /// Reads the header.
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

    /// Moves what it says of places behind a tag that was put in.
    #[must_use]
    pub const fn behind_tag(self) -> Self {
        Self {
            checksum_from: self.checksum_from + 4,
            ..self
        }
    }
}

/// Calls `take` with the frames that a link would carry in the place of this one. Returns false where they
/// cannot be made: other segments than those of TCP, or a frame that is not what its header says.
// WSW-31
pub fn finish(frame: &mut [u8], left: LeftUndone, take: &mut dyn FnMut(&mut [u8])) -> bool {
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

/// Writes the checksum of a frame that holds the sum of the pseudo-header in its place.
fn complete(frame: &mut [u8], left: LeftUndone) -> Option<()> {
    let from = usize::from(left.checksum_from);
    let sum = folded(sum_of(frame.get(from..)?));
    let at = from + usize::from(left.checksum_at);
    let place = frame.get_mut(at..at + 2)?;
    // To UDP, 0 says that there is none; both are 0 in its arithmetic.
    let checksum = if sum == u16::MAX { sum } else { !sum };
    place.copy_from_slice(&checksum.to_be_bytes());
    Some(())
}

/// Where the headers of a frame of TCP are.
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

fn segment(frame: &[u8], left: LeftUndone, take: &mut dyn FnMut(&mut [u8])) -> Option<()> {
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

/// Length, identity and checksum of IP.
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

/// The checksum of TCP, with that of the pseudo-header.
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

/// The sum of words in network order; an odd byte at the end is the upper half of one.
pub fn sum_of(bytes: &[u8]) -> u64 {
    let words = bytes.chunks(2).map(|word| match *word {
        [high, low] => u16::from_be_bytes([high, low]),
        [high] => u16::from_be_bytes([high, 0]),
        _ => 0,
    });
    words.map(u64::from).sum()
}

/// A sum of words as checksums have it.
pub fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: LeftUndone = LeftUndone {
        flags: 0,
        segments: ONE_FRAME,
        segment_bytes: 0,
        checksum_from: 0,
        checksum_at: 0,
    };

    /// A frame of TCP with this much payload, its last flags, and nothing in its checksums.
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

    /// The sum over IP and TCP, which is 0xffff where checksums hold.
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

    // WSW-31
    #[test]
    fn joined_segments_become_frames_with_numbers_flags_and_checksums() {
        for (v6, kind) in [(false, TCP_V4), (true, TCP_V6 | WITH_ECN)] {
            let left = LeftUndone {
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

    // WSW-31
    #[test]
    fn a_checksum_that_a_card_would_write_is_written() {
        let mut bytes = frame(false, 33, 0x10);
        let at = Headers::of(&bytes).unwrap();
        finish_ip(&mut bytes, &at, 1);
        // What the kernel leaves there: the sum of the pseudo-header.
        let pseudo = folded(sum_of(&bytes[at.ip + 12..at.ip + 20]) + u64::from(TCP) + 53);
        bytes[at.tcp + 16..at.tcp + 18].copy_from_slice(&pseudo.to_be_bytes());
        let mut header = [0; HEADER_BYTES];
        header[0] = NEEDS_CHECKSUM;
        header[6..8].copy_from_slice(&(at.tcp as u16).to_ne_bytes());
        header[8..10].copy_from_slice(&16u16.to_ne_bytes());
        let left = LeftUndone::parse(header);
        assert_eq!(left.behind_tag().checksum_from, left.checksum_from + 4);
        let mut seen = 0;
        assert!(finish(&mut bytes, left, &mut |_| seen += 1));
        assert_eq!((sums(&bytes), seen), ((0xffff, 0xffff), 1));
    }

    #[test]
    fn what_is_not_what_it_says_is_refused() {
        let joined = LeftUndone {
            segments: TCP_V4,
            segment_bytes: 100,
            ..ONE
        };
        let mut nothing = |_: &mut [u8]| panic!("there is no frame");
        let udp = LeftUndone {
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
        let far = LeftUndone {
            flags: NEEDS_CHECKSUM,
            checksum_from: 9000,
            ..ONE
        };
        assert!(!finish(&mut frame(false, 10, 0), far, &mut nothing));
    }
}
