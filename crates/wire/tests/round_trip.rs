//! Round trips: the fields of a packet that a frame carries are unchanged after encoding and
//! decoding, and all other fields have their defaults.

use crate::common::{
    self, FRAMES, KINDS, Random, any, flow_packet, link, mutate, neighbour, network, repair,
};
use dataplane::classes::{CONTROL_CLASS, DATA_CLASS};
use dataplane::hop::pfc::{PauseClasses, PauseFor};
use dataplane::int::{IntFormat, IntHop, Layout};
use dataplane::packet::{
    Arena, Cold, Frame, Kind, Location, NO_PACKET, Packet, PacketId, Stamp, flag,
};
use dataplane::trail::Trail;
use wire::frame::MOST_BYTES;
use wire::neighbour::pfc::records_of;
use wire::pause::Pause;
use wire::{Fault, Network, Unfit, decode, encode};

#[path = "common/check.rs"]
mod check;

/// Sends a packet over a link and returns the packet at the other end.
fn cross(network: &Network, arena: &mut Arena, id: PacketId) -> PacketId {
    let mut place = vec![0xa5; MOST_BYTES];
    let bytes = encode(&link(network), arena, id, &mut place).unwrap();
    assert!((60..8_300).contains(&bytes), "{bytes} bytes");
    decode(network, &place[..bytes], arena).unwrap()
}

/// Returns a flow's packet with only the fields that a frame carries, by the table in docs/wire.md.
fn carried(network: &Network, packet: &Packet, cold: &Cold) -> (Packet, Cold) {
    let kind = packet.kind();
    let data = matches!(kind, Kind::Data | Kind::Header | Kind::Returned);
    let reply = matches!(kind, Kind::Ack | Kind::Nak);
    let (grant, request) = (kind == Kind::Grant, kind == Kind::Request);
    let notice = kind == Kind::Notice;
    let if_any = |holds: bool, value: u64| if holds { value } else { 0 };
    let numbered = network.link_numbers && data;
    let hot = Packet {
        next: NO_PACKET,
        ingress: 0,
        location: match numbered {
            true => packet.location,
            false => Location::default(),
        },
        ..*packet
    };
    let cold = Cold {
        sent_ps: if_any(data || reply || grant || notice, cold.sent_ps),
        stamp: match data || reply {
            true => cold.stamp,
            false => Stamp::default(),
        },
        remote_host_ps: 0,
        local_host_ps: if_any(reply, cold.local_host_ps),
        src: cold.src,
        slot: cold.slot,
        remaining: if_any(data || reply || request || notice, cold.remaining),
        arrived_below: if_any(reply || grant, cold.arrived_below.into()) as u32,
        payload: if_any(kind == Kind::Data, cold.payload.into()) as u16,
        level: if_any(grant || request, cold.level.into()) as u16,
        credit: if_any(data || request || notice, cold.credit.into()) as u32,
        cookie: 0,
    };
    (hot, cold)
}

#[test]
fn packets_of_flows_are_unchanged() {
    let mut random = Random::new(1);
    let mut arena = Arena::new();
    for kind in KINDS {
        for _ in 0..2_000 {
            let network = network(&mut random);
            let id = flow_packet(&mut random, &network, kind, &mut arena);
            let (expected, expected_cold) = carried(&network, arena.hot(id), arena.cold(id));
            let received = cross(&network, &mut arena, id);
            let (hot, cold) = (arena.hot(received), arena.cold(received));
            assert_eq!(format!("{hot:?}"), format!("{expected:?}"));
            assert_eq!(format!("{cold:?}"), format!("{expected_cold:?}"));
            let (sent, got) = (arena.stack(id), arena.stack(received));
            assert_eq!(sent.is_some(), got.is_some());
            if let (Some(sent), Some(got)) = (sent, got) {
                assert_eq!((got.hops(), got.path()), (sent.hops(), sent.path()));
            }
            assert_eq!(arena.marks(received), arena.marks(id));
            if network.trails {
                assert_eq!(arena.trail(received), arena.trail(id));
            }
            arena.free(id);
            *arena.trail_mut(received) = Trail::default();
            arena.free(received);
        }
    }
}

#[test]
fn frames_between_neighbours_are_unchanged() {
    let mut random = Random::new(2);
    let mut arena = Arena::new();
    for which in 0..FRAMES {
        for _ in 0..500 {
            let network = network(&mut random);
            let id = neighbour(&mut random, which, &network, &mut arena);
            let received = cross(&network, &mut arena, id);
            assert_eq!(
                format!("{:?}", arena.hot(received)),
                format!("{:?}", arena.hot(id))
            );
            if arena.hot(id).has_list() {
                assert_eq!(arena.list(received), arena.list(id));
            }
            arena.free(id);
            arena.free(received);
        }
    }
}

/// Every control frame that a scheme declares has a wire format. `neighbour` creates one of each
/// type.
#[test]
fn all_frames_between_neighbours_are_tested() {
    let mut random = Random::new(3);
    let mut arena = Arena::new();
    let network = Network {
        timed_pauses: true,
        ..network(&mut random)
    };
    let mut identities: Vec<u16> = (0..FRAMES)
        .map(|which| {
            let id = neighbour(&mut random, which, &network, &mut arena);
            arena.hot(id).upstream_queue
        })
        .collect();
    identities.sort_unstable();
    identities.dedup();
    assert_eq!(identities.len() as u64, FRAMES);
    let sources = [
        include_str!("../../dataplane/src/hop/bfc/frames.rs"),
        include_str!("../../dataplane/src/hop/floodgate/frames.rs"),
        include_str!("../../dataplane/src/pipeline/pfc/frames.rs"),
    ];
    let declared: usize = sources
        .map(|text| text.matches("impl Frame for").count())
        .iter()
        .sum();
    // Each of the two link schemes declares two frame types by a macro, which is not counted.
    assert_eq!(
        declared + 4,
        FRAMES as usize,
        "a frame type is not tested here"
    );
}

/// Control frames of a scheme from another crate are unchanged after a round trip, although the
/// scheme defines no wire format.
#[test]
fn frames_of_schemes_from_other_crates_are_unchanged() {
    let mut random = Random::new(5);
    let mut arena = Arena::new();
    for number in dataplane::hop::FRAME_NUMBERS {
        for is_listed in [false, true] {
            let identity = u16::from(number) << 8 | 3 | u16::from(is_listed) << 4;
            let frame = Packet {
                flow: random.below(u64::from(u32::MAX)) as u32,
                psn: random.below(u64::from(u32::MAX)) as u32,
                hash: random.below(u64::from(u32::MAX)) as u32,
                dst: random.below(u64::from(u32::MAX)) as u32,
                upstream_queue: identity,
                ..Packet::new(Kind::Hop, 0, 100)
            };
            let id = arena.alloc(frame, Cold::default());
            assert_eq!(arena.hot(id).has_list(), is_listed);
            if is_listed {
                arena.new_list(id).extend([7, u32::MAX]);
            }
            let network = network(&mut random);
            let received = cross(&network, &mut arena, id);
            assert_eq!(
                format!("{:?}", arena.hot(received)),
                format!("{:?}", arena.hot(id))
            );
            if is_listed {
                assert_eq!(arena.list(received), arena.list(id));
            }
        }
    }
}

#[test]
fn a_frame_without_a_format_is_refused() {
    struct Unknown;
    impl Frame for Unknown {
        const SCHEME: u8 = 77;
        const NUMBER: u8 = 3;
        fn words(&self) -> dataplane::packet::Words {
            dataplane::packet::Words::NONE
        }
        fn from_words(_: dataplane::packet::Words) -> Self {
            Self
        }
    }
    let mut arena = Arena::new();
    let id = arena.alloc(Unknown.packet(64), Cold::default());
    let network = network(&mut Random::new(4));
    let error = encode(&link(&network), &arena, id, &mut [0; 200]).unwrap_err();
    assert_eq!(
        error,
        Unfit::Frame {
            identity: 77 << 8 | 3
        }
    );
    assert_eq!(
        error.to_string(),
        "no format for the frame between neighbours 0x4d03"
    );
}

#[test]
fn errors_name_the_value_that_does_not_fit() {
    let mut arena = Arena::new();
    let network = Network {
        v6: false,
        telemetry: IntFormat::Exact,
        link_numbers: false,
        trails: false,
        timed_pauses: false,
        sizes: common::SIZES,
    };
    let hot = Packet {
        dst: 1 << 24,
        ..Packet::new(Kind::Data, 2, 148)
    };
    let id = arena.alloc(hot, Cold::default());
    let far = encode(&link(&network), &arena, id, &mut [0; 200]).unwrap_err();
    assert_eq!(
        far.to_string(),
        "an endpoint with IPv4 is 16777216; a frame carries at most 16777215"
    );
    arena.hot_mut(id).dst = 4;
    arena.hot_mut(id).become_kind(Kind::Data, DATA_CLASS + 8);
    let class = encode(&link(&network), &arena, id, &mut [0; 200]).unwrap_err();
    assert_eq!(
        class.to_string(),
        "the traffic class is 8; a frame carries at most 7"
    );
    arena.hot_mut(id).become_kind(Kind::Data, DATA_CLASS + 7);
    for room in 0..96 {
        let error = encode(&link(&network), &arena, id, &mut vec![0; room]).unwrap_err();
        assert_eq!(error, Unfit::Room { given: room });
    }
}

/// The iCRC detects changes of all bits that switches must not change, and of no other bits.
#[test]
fn the_icrc_covers_what_it_should() {
    let network = Network {
        v6: false,
        telemetry: IntFormat::Exact,
        link_numbers: false,
        trails: false,
        timed_pauses: false,
        sizes: common::SIZES,
    };
    let mut arena = Arena::new();
    let hot = Packet {
        dst: 9,
        psn: 1,
        ..Packet::new(Kind::Data, 3, 148)
    };
    let cold = Cold {
        payload: 100,
        remaining: 4_000,
        ..Cold::default()
    };
    let id = arena.alloc(hot, cold);
    arena.set_stack(id, 5, &[IntHop::default()]);
    let mut place = [0; 400];
    let bytes = encode(&link(&network), &arena, id, &mut place).unwrap();
    let transport = 18 + 20 + 8 + 16 + 24;
    for bit in 8 * transport..8 * bytes {
        place[bit / 8] ^= 1 << (bit % 8);
        let result = decode(&network, &place[..bytes], &mut arena);
        let masked = bit / 8 == transport + 4;
        match result {
            Ok(_) => assert!(masked, "bit {bit}"),
            Err(error) if error.header == "iCRC" => assert!(!masked, "bit {bit}"),
            // The iCRC does not cover the reserved bits after FECN and BECN, but they must be 0.
            Err(error) => assert!(masked && error.header == "BTH", "bit {bit}: {error}"),
        }
        place[bit / 8] ^= 1 << (bit % 8);
    }
}

/// A frame with another INT format than that of the network is refused, because records of 8 bytes
/// cannot represent INT-MD exactly.
#[test]
fn telemetry_of_the_other_form_is_refused() {
    let exact = Network {
        telemetry: IntFormat::Exact,
        ..network(&mut Random::new(1))
    };
    let short = Network {
        telemetry: IntFormat::Wire(Layout::new(1, 16)),
        ..exact
    };
    let hot = Packet {
        dst: 9,
        ..Packet::new(Kind::Data, 3, 148)
    };
    let cold = Cold {
        payload: 100,
        remaining: 4_000,
        ..Cold::default()
    };
    let mut arena = Arena::new();
    let mut place = [0; 400];
    for (sender, receiver) in [(exact, short), (short, exact)] {
        let id = arena.alloc(hot, cold);
        arena.set_stack(id, 5, &[IntHop::default()]);
        let bytes = encode(&link(&sender), &arena, id, &mut place).unwrap();
        assert!(decode(&sender, &place[..bytes], &mut arena).is_ok());
        let error = decode(&receiver, &place[..bytes], &mut arena).unwrap_err();
        assert_eq!(error.header, "UDP header");
    }
}

/// A frame with another version of IP than that of the network is refused, because endpoint indices
/// of IPv6 may be too large for IPv4.
#[test]
fn the_other_version_of_ip_is_refused() {
    let six = Network {
        v6: true,
        ..network(&mut Random::new(1))
    };
    let four = Network { v6: false, ..six };
    let mut arena = Arena::new();
    let mut place = [0; 400];
    for (sender, receiver) in [(four, six), (six, four)] {
        let hot = Packet {
            dst: 9,
            ..Packet::new(Kind::Cnp, 1, 64)
        };
        let id = arena.alloc(hot, Cold::default());
        let bytes = encode(&link(&sender), &arena, id, &mut place).unwrap();
        assert!(decode(&sender, &place[..bytes], &mut arena).is_ok());
        let error = decode(&receiver, &place[..bytes], &mut arena).unwrap_err();
        assert_eq!(error.header, "IP header");
    }
}

#[test]
fn a_standard_pause_is_read_and_one_without_a_record_is_refused() {
    let mut arena = Arena::new();
    let some = network(&mut Random::new(5));
    let mut place = [0; 64];
    let mut read_as = |pause: Pause, timed_pauses: bool| {
        let network = Network {
            timed_pauses,
            ..some
        };
        let mut out = wire::Writer::new(&mut place);
        pause.emit([2; 6], &mut out).unwrap();
        let bytes = out.written();
        assert_eq!(bytes, 60);
        decode(&network, &place[..bytes], &mut arena).map(|id| *arena.hot(id))
    };
    let mut quanta = [0; 8];
    (quanta[3], quanta[4]) = (1, 700);
    let enabled = 1 << 3 | 1 << 4;
    let paused = read_as(Pause::Priority { enabled, quanta }, false).unwrap();
    let frame = PauseClasses::read(&paused).unwrap();
    assert_eq!(
        (frame.on, frame.classes, paused.size),
        (true, 1 << 5 | 1 << 6, 64)
    );
    let enabled = 0xff;
    let mixed = read_as(Pause::Priority { enabled, quanta }, false).unwrap_err();
    let found = 1 << 3 | 1 << 4;
    assert!(matches!(mixed.fault, Fault::Value { found: of, .. } if of == found));
    // If pauses expire, two different pause times need two control frames of the dataplane.
    let enabled = 1 << 3 | 1 << 4;
    assert!(read_as(Pause::Priority { enabled, quanta }, true).is_err());
    let all: Vec<_> = records_of(0b11011, quanta, true, 64).collect();
    let pauses = all.iter().filter_map(PauseFor::read);
    let pauses: Vec<_> = pauses.map(|frame| (frame.classes, frame.quanta)).collect();
    assert_eq!(pauses, [(1 << 5, 1), (1 << 6, 700)]);
    let resumed = all.iter().find_map(PauseClasses::read).unwrap();
    assert_eq!((resumed.on, resumed.classes, all.len()), (false, 0b1100, 3));
    quanta[4] = 1;
    let paused = read_as(Pause::Priority { enabled, quanta }, true).unwrap();
    let frame = PauseFor::read(&paused).unwrap();
    assert_eq!((frame.classes, frame.quanta), (1 << 5 | 1 << 6, 1));
    let all = read_as(Pause::Global { quanta: 9 }, true).unwrap_err();
    assert_eq!(
        all.to_string(),
        "pause frame, byte 0: opcode is 0x1; expected 0x101 (PFC pause of priorities)"
    );
}

/// Changed frames are refused, or decode to a packet that survives another round trip (a short
/// version of the fuzz target `frames`).
#[test]
fn a_changed_frame_is_refused_or_survives_a_second_round_trip() {
    let mut random = Random::new(6);
    let mut arena = Arena::new();
    let mut again = vec![0; MOST_BYTES];
    let mut place = vec![0; MOST_BYTES];
    let mut read = 0;
    for _ in 0..6_000 {
        let network = network(&mut random);
        let id = any(&mut random, &network, &mut arena);
        let bytes = encode(&link(&network), &arena, id, &mut place).unwrap();
        arena.free(id);
        for _ in 0..5 {
            let end = mutate(&mut random, &mut place, bytes);
            if random.flip() {
                repair(&mut place[..end]);
            }
            read += u32::from(
                check::read_twice(&network, &place[..end], &mut arena, &mut again).is_ok(),
            );
        }
    }
    assert!(read > 1_000, "only {read} of 30000 are still frames");
    assert_eq!(arena.alive(), 0, "a refused frame leaves a record");
}

// SW-03
#[test]
fn frames_carry_the_traffic_classes_of_the_scenario() {
    let mut random = Random::new(8);
    let network = network(&mut random);
    let mut arena = Arena::new();
    let mut place = [0; 3000];
    for (class, dscp) in [(CONTROL_CLASS, 57), (DATA_CLASS, 0), (DATA_CLASS + 7, 56)] {
        let id = flow_packet(&mut random, &network, Kind::Ack, &mut arena);
        arena.hot_mut(id).become_kind(Kind::Ack, class);
        let bytes = encode(&link(&network), &arena, id, &mut place).unwrap();
        assert_eq!(place[14] >> 5, dscp >> 3, "priority of the tag");
        let service = match network.v6 {
            true => place[18] << 4 | place[19] >> 4,
            false => place[19],
        };
        assert_eq!(service >> 2, dscp);
        let received = decode(&network, &place[..bytes], &mut arena).unwrap();
        assert_eq!(arena.hot(received).class(), class);
    }
}

/// The DSCP determines the class of a frame without 802.1Q tag, for example if the kernel has
/// removed the tag.
#[test]
fn without_a_tag_the_dscp_gives_the_class() {
    let mut random = Random::new(7);
    let network = network(&mut random);
    let mut arena = Arena::new();
    let id = flow_packet(&mut random, &network, Kind::Ack, &mut arena);
    arena.hot_mut(id).become_kind(Kind::Ack, 5);
    let mut place = [0; 600];
    let bytes = encode(&link(&network), &arena, id, &mut place).unwrap();
    place.copy_within(16..bytes, 12);
    let received = decode(&network, &place[..bytes - 4], &mut arena).unwrap();
    assert_eq!(arena.hot(received).class(), 5);
    assert_eq!(
        arena.cold(received).stamp == Stamp::INCOMPLETE,
        arena.cold(id).stamp == Stamp::INCOMPLETE
    );
    assert_eq!(
        arena.hot(received).flags & flag::CE,
        arena.hot(id).flags & flag::CE
    );
}

/// A foreign switch that trims a packet changes only the IP header. The packet is decoded as a
/// trimmed header.
#[test]
fn a_packet_trimmed_by_a_foreign_switch_is_read_as_a_header() {
    let mut random = Random::new(8);
    let mut arena = Arena::new();
    let mut place = vec![0; MOST_BYTES];
    for _ in 0..500 {
        let network = Network {
            v6: false,
            ..network(&mut random)
        };
        let id = flow_packet(&mut random, &network, Kind::Data, &mut arena);
        arena.hot_mut(id).flags &= !flag::INT;
        arena.cold_mut(id).payload = 700;
        let bytes = encode(&link(&network), &arena, id, &mut place).unwrap();
        let end = bytes - 500;
        let length = (end - 18) as u16;
        place[20..22].copy_from_slice(&length.to_be_bytes());
        let refused = decode(&network, &place[..end], &mut arena).unwrap_err();
        assert_eq!(refused.header, "IPv4 header", "the checksum is wrong");
        correct_checksum(&mut place[18..38]);
        let received = decode(&network, &place[..end], &mut arena).unwrap();
        let (hot, cold) = (arena.hot(received), arena.cold(received));
        assert_eq!(
            (hot.kind(), hot.size),
            (Kind::Header, common::SIZES.trimmed)
        );
        assert_eq!(
            (hot.psn, cold.remaining),
            (arena.hot(id).psn, arena.cold(id).remaining)
        );
        arena.free(id);
        arena.free(received);
    }
}

fn correct_checksum(header: &mut [u8]) {
    header[10..12].fill(0);
    let words = header
        .chunks_exact(2)
        .map(|w| u32::from(w[0]) << 8 | u32::from(w[1]));
    let sum: u32 = words.sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    header[10..12].copy_from_slice(&sum.to_be_bytes());
}
