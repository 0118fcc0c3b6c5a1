//! Checksums that a sender has left to its card: AF_XDP shows such frames, and does not say which they are.

use wire::ethernet::{Ethernet, ether_type};

use super::super::super::offload::{TCP, folded, sum_of};

const UDP: u8 = 17;

/// Where TCP or UDP begins in a frame, and the place in it of the checksum, where that is the sum of the
/// pseudo-header, as the kernel leaves it to a card. Where a whole checksum happens to be that sum, writing it changes
/// nothing.
// WSW-52
pub fn partial(frame: &[u8]) -> Option<(usize, usize)> {
    let (ethernet, body) = Ethernet::parse(frame).ok()?;
    let ip = frame.len() - body.len();
    let word = |at: usize| Some(u16::from_be_bytes(*body.get(at..)?.first_chunk()?));
    let (header, datagram, protocol, ends) = match ethernet.ether_type {
        // Parts of a datagram have no header of their own, or a whole checksum.
        ether_type::IPV4 if word(6)? & 0x3fff == 0 => {
            let header = usize::from(body[0] & 15) * 4;
            (
                header,
                usize::from(word(2)?),
                *body.get(9)?,
                body.get(12..20)?,
            )
        }
        ether_type::IPV6 => (
            40,
            usize::from(word(4)?) + 40,
            *body.get(6)?,
            body.get(8..40)?,
        ),
        _ => return None,
    };
    let at = match protocol {
        TCP => 16,
        UDP => 6,
        _ => return None,
    };
    let bytes = datagram.checked_sub(header)?;
    let pseudo = folded(sum_of(ends) + u64::from(protocol) + bytes as u64);
    (word(header + at)? == pseudo).then_some((ip + header, at))
}

#[cfg(test)]
mod tests {
    use super::super::super::super::offload::{LeftUndone, finish};
    use super::*;

    /// A frame of a protocol with the sum of the pseudo-header in its checksum, and where its header begins.
    fn frame(tagged: bool, v6: bool, protocol: u8) -> (Vec<u8>, usize) {
        let payload: u8 = 33;
        let mut frame = vec![2; 12];
        if tagged {
            frame.extend([0x81, 0, 0x60, 5]);
        }
        if v6 {
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, payload, protocol, 64]);
            frame.extend([7; 32]);
        } else {
            frame.extend([0x08, 0, 0x45, 0, 0, 20 + payload, 0, 1, 0x40, 0]);
            frame.extend([64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        }
        let from = frame.len();
        frame.extend((0..payload).map(|n| n.wrapping_mul(37)));
        let at = from + if protocol == TCP { 16 } else { 6 };
        let ends = if v6 { from - 32..from } else { from - 8..from };
        let pseudo = folded(sum_of(&frame[ends]) + u64::from(protocol) + u64::from(payload));
        frame[at..at + 2].copy_from_slice(&pseudo.to_be_bytes());
        (frame, from)
    }

    // WSW-52
    #[test]
    fn a_checksum_that_was_left_to_a_card_is_found_and_written_once() {
        for (tagged, v6, protocol) in [
            (false, false, TCP),
            (true, false, UDP),
            (false, true, UDP),
            (true, true, TCP),
        ] {
            let (mut frame, from) = frame(tagged, v6, protocol);
            let place = partial(&frame);
            assert_eq!(place.map(|place| place.0), Some(from));
            let left = LeftUndone::checksum(place);
            assert!(finish(&mut frame, left, &mut |_| ()));
            let ends = if v6 { from - 32..from } else { from - 8..from };
            let sum = sum_of(&frame[ends]) + u64::from(protocol) + 33 + sum_of(&frame[from..]);
            assert_eq!(folded(sum), 0xffff);
            assert_eq!(partial(&frame), None);
        }
    }

    // WSW-31
    #[test]
    fn a_checksum_is_never_written_as_0() {
        let (mut frame, from) = frame(false, true, UDP);
        let missing = 0xffff - u64::from(folded(sum_of(&frame[from..])));
        let word = &mut frame[from + 20..from + 22];
        let other = folded(u64::from(u16::from_be_bytes([word[0], word[1]])) + missing);
        word.copy_from_slice(&other.to_be_bytes());
        let left = LeftUndone::checksum(partial(&frame));
        assert!(finish(&mut frame, left, &mut |_| ()));
        assert_eq!(frame[from + 6..from + 8], [0xff, 0xff]);
    }

    // WSW-52
    #[test]
    fn what_has_no_such_checksum_stays_as_it_is() {
        let (mut fragment, _) = frame(false, false, UDP);
        fragment[20] = 0x20;
        assert_eq!(partial(&fragment), None);
        let (icmp, _) = frame(false, false, 1);
        assert_eq!(partial(&icmp), None);
        let (whole, from) = frame(false, false, TCP);
        for cut in 0..from + 18 {
            assert_eq!(partial(&whole[..cut]), None, "{cut}");
        }
    }
}
