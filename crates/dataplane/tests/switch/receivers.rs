//! Functions of a switch that receiver-driven transports require, one test per rule.

use super::*;
use dataplane::switch::Stranded;
use std::num::NonZeroU32;

fn credits() -> SwitchConfig {
    SwitchConfig {
        shaped: Some(CreditQueue {
            credit_bytes: 84,
            frame_bytes: 1538,
            limit: 3,
            burst: 2,
        }),
        ..config()
    }
}

fn credit(number: u32) -> Packet {
    Packet {
        flow: 1,
        psn: number,
        dst: 1,
        ..Packet::new(Kind::Grant, 1, 84)
    }
}

/// Time between two credits at 100 Gb/s.
const GAP_PS: Time = 1622 * 80;

// XP-01, XP-02, XP-03: rate and queue of credits
#[test]
fn credits_wait_for_their_share_of_the_link_and_no_more_than_a_few_wait() {
    let mut b = Bench::new(&credits());
    b.now = 100 * GAP_PS;
    for number in 0..5 {
        b.receive(0, credit(number));
    }
    assert_eq!(
        b.ears.drops,
        [(3, DropCause::CreditLimit), (4, DropCause::CreditLimit)]
    );
    // Two credits are sent as a burst after the idle time, the third after its gap. Data packets
    // are sent in between.
    b.receive(0, data(2, 1, 77));
    let psns: Vec<u32> = b.all(1).iter().map(|p| p.psn).collect();
    assert_eq!(psns, [0, 1, 77]);
    let woken = *b.ears.wakes.last().unwrap();
    assert_eq!(woken, 101 * GAP_PS);
    assert!(
        !b.switch.waiting(1) && !b.switch.is_stuck(1),
        "shaped, not stuck"
    );
    b.now = woken;
    b.switch.timer(b.now, &mut b.arena, &mut b.ears);
    assert!(b.switch.waiting(1));
    assert_eq!(b.all(1)[0].psn, 2);
    assert_eq!(
        b.switch.port_counters(1).dropped[DropCause::CreditLimit as usize],
        2
    );
    b.sound();
}

// XP-01: a port's credits do not delay credits of other ports or other packets.
#[test]
fn each_port_shapes_its_own_credits() {
    let mut b = Bench::new(&credits());
    for number in 0..3 {
        b.receive(0, credit(number));
        b.receive(
            0,
            Packet {
                dst: 2,
                ..credit(number)
            },
        );
    }
    assert_eq!((b.all(1).len(), b.all(2).len()), (2, 2));
    assert_eq!(b.ears.drops, []);
    b.sound();
}

// LNK-23, LNK-28: the failure of a link drops queued credits, which use no token of the bucket.
#[test]
fn credits_of_a_dead_port_are_dropped_and_forgotten() {
    let mut b = Bench::new(&credits());
    b.now = 100 * GAP_PS;
    for number in 0..3 {
        b.receive(0, credit(number));
    }
    assert_eq!(b.all(1).len(), 2, "the bucket holds the third");
    b.receive(0, credit(3));
    b.receive(0, credit(4));
    b.link(1, false, Stranded::Drop);
    let lost: Vec<_> = (2..5).map(|psn| (psn, DropCause::Link)).collect();
    assert_eq!(b.ears.drops, lost);
    b.sound();
    b.link(1, true, Stranded::Drop);
    // Three credits may be queued again. The lost credits used no token, so the next credit may be
    // sent at the same time as without them.
    for number in 10..14 {
        b.receive(0, credit(number));
    }
    assert_eq!(b.ears.drops[3..], [(13, DropCause::CreditLimit)]);
    assert_eq!(b.all(1).len(), 0);
    b.now = 101 * GAP_PS;
    b.switch.timer(b.now, &mut b.arena, &mut b.ears);
    let psns: Vec<u32> = b.all(1).iter().map(|p| p.psn).collect();
    assert_eq!(psns, [10]);
    b.sound();
}

// LNK-24, LNK-28: credits of a link that recovers
#[test]
fn credits_that_wait_for_a_link_leave_at_their_pace_when_it_is_back() {
    let mut b = Bench::new(&credits());
    b.now = 100 * GAP_PS;
    b.link(1, false, Stranded::Wait);
    for number in 0..4 {
        b.receive(0, credit(number));
    }
    assert_eq!(b.ears.drops, [(3, DropCause::CreditLimit)]);
    b.now = 200 * GAP_PS;
    b.link(1, true, Stranded::Wait);
    assert_eq!(b.all(1).len(), 2);
    b.now = 201 * GAP_PS;
    b.switch.timer(b.now, &mut b.arena, &mut b.ears);
    assert_eq!(b.all(1).len(), 1);
    b.sound();
}

fn trims(change: impl FnOnce(&mut TrimConfig)) -> SwitchConfig {
    let mut trim = TrimConfig {
        packets: 3,
        header_bytes: 64,
        control_bytes: 5 * 64,
        weight: 2,
        either: false,
        returns: true,
    };
    change(&mut trim);
    SwitchConfig {
        trim: Some(trim),
        ..config()
    }
}

fn kinds(packets: &[Packet]) -> Vec<(Kind, u32)> {
    packets.iter().map(|p| (p.kind(), p.psn)).collect()
}

// NDP-01, NDP-02: trimming, and weights of headers and data
#[test]
fn what_finds_its_queue_full_goes_on_as_a_header_and_takes_turns() {
    use Kind::{Data, Header};
    let mut b = Bench::new(&trims(|_| ()));
    for psn in 0..7 {
        b.receive(0, data(1, 1, psn));
    }
    assert_eq!(b.switch.counters().trims, 4);
    let sent = b.all(1);
    // The port sends two headers for each data packet.
    assert_eq!(
        kinds(&sent),
        [
            (Header, 3),
            (Header, 4),
            (Data, 0),
            (Header, 5),
            (Header, 6),
            (Data, 1),
            (Data, 2)
        ]
    );
    assert!(
        sent.iter()
            .filter(|p| p.kind() == Header)
            .all(|p| p.size == 64 && p.class() == 1)
    );
    assert_eq!(b.switch.buffer_used(), 0);
    b.sound();
}

// NDP-01: random choice of the trimmed packet
#[test]
fn by_chance_the_last_in_the_queue_is_trimmed_instead() {
    let mut b = Bench::new(&trims(|t| t.either = true));
    b.ears.draw = 1;
    for psn in 0..4 {
        b.receive(0, data(1, 1, psn));
    }
    b.sound();
    assert_eq!(b.switch.queued(1).0, 3 * 1000 + 64);
    let sent = kinds(&b.all(1));
    assert_eq!(
        sent[0],
        (Kind::Header, 2),
        "the last gave its place to the arriving one"
    );
    assert_eq!(
        sent[1..],
        [(Kind::Data, 0), (Kind::Data, 1), (Kind::Data, 3)]
    );
    b.sound();
}

// NDP-03: return to sender
#[test]
fn a_header_without_room_goes_back_and_other_control_is_dropped() {
    let mut b = Bench::new(&trims(|_| ()));
    let from = |psn| {
        let cold = Cold {
            src: 2,
            ..Cold::default()
        };
        (data(1, 1, psn), cold)
    };
    for psn in 0..10 {
        let (packet, cold) = from(psn);
        let id = b.arena.alloc(packet, cold);
        b.switch.receive(b.now, 2, id, &mut b.arena, &mut b.ears);
    }
    // Three packets are queued as data, and five as headers. The last two are returned to their
    // sender through port 2.
    let c = *b.switch.counters();
    assert_eq!((c.trims, c.returned, c.dropped), (7, 2, 0));
    let home = b.all(2);
    assert_eq!(kinds(&home), [(Kind::Returned, 8), (Kind::Returned, 9)]);
    assert!(home.iter().all(|p| p.dst == 2));
    // An ACK finds no room and is dropped.
    b.receive(
        0,
        Packet {
            dst: 1,
            psn: 99,
            ..Packet::new(Kind::Ack, 1, 64)
        },
    );
    assert_eq!(b.ears.drops, [(99, DropCause::Buffer)]);
    b.sound();
    // Without `return_to_sender`, headers are dropped too.
    let mut b = Bench::new(&trims(|t| t.returns = false));
    for psn in 0..10 {
        b.receive(2, data(1, 1, psn));
    }
    assert_eq!(b.ears.drops.len(), 2);
    b.sound();
}

// HOM-03: priority levels
#[test]
fn priority_levels_go_strictly_in_order_and_are_kept_from_hop_to_hop() {
    let mut b = Bench::new(&SwitchConfig {
        classify: Classify::Priority { levels: 4 },
        schedule: Schedule::Strict,
        ..config()
    });
    let level = |psn, level: u16| Packet {
        upstream_queue: 2 + level,
        ..data(1, 1, psn)
    };
    for (psn, of) in [(0, 3), (1, 0), (2, 1), (3, 0), (4, 9)] {
        b.receive(0, level(psn, of));
    }
    let sent = b.all(1);
    let got: Vec<(u32, u16)> = sent.iter().map(|p| (p.psn, p.upstream_queue)).collect();
    // Packets with a priority level that does not exist use the last level.
    assert_eq!(got, [(1, 2), (3, 2), (2, 3), (0, 5), (4, 5)]);
    b.sound();
}

// XP-06: private buffer of a port
#[test]
fn memory_of_a_port_is_its_own() {
    let mut c = config();
    c.mmu.buffer_bytes = 10;
    c.mmu.admission = Admission::PerPort { bytes: 2_500 };
    let mut b = Bench::new(&c);
    for port in [1, 2] {
        for psn in 0..3 {
            b.receive(0, data(port, port, psn));
        }
    }
    assert_eq!(b.ears.drops, [(2, DropCause::EgressThreshold); 2]);
    b.sound();
}

// XP-05, NDP-05: path labels and symmetric hashes
#[test]
fn labels_have_a_digit_for_each_tier_and_symmetric_hashes_no_sense_of_direction() {
    let routes = |choice| {
        let endpoints = Endpoints::new(2, vec![0, 1], vec![0, 0], Vec::new());
        let ways = (vec![0, 0], PortSets::from_iter([[4, 5, 6].as_slice()]));
        Routes::new(Arc::new(endpoints), u32::MAX, ways, (choice, 7))
    };
    let labelled = |hash, paths_below| {
        let packet = Packet {
            hash,
            ..data(1, 1, 0)
        };
        let mut routes = routes(PathChoice::Label);
        routes.paths_below = NonZeroU32::new(paths_below).unwrap();
        routes.port(&packet, || 0).unwrap()
    };
    assert_eq!([0, 1, 2, 3].map(|hash| labelled(hash, 1)), [4, 5, 6, 4]);
    assert_eq!([0, 4, 8, 12].map(|hash| labelled(hash, 4)), [4, 5, 6, 4]);
    for flow in 0..50 {
        let there = data(flow, 1, 3);
        let back = Packet {
            dst: 0,
            psn: 8,
            ..there
        };
        let of = |packet: &Packet| routes(PathChoice::Symmetric).port(packet, || 0);
        assert_eq!(of(&there), of(&back));
    }
}

// LNK-23, LNK-28: data queue of a link that recovers
#[test]
fn a_port_that_comes_back_has_room_for_data_again() {
    use Kind::{Data, Header};
    let mut b = Bench::new(&trims(|_| ()));
    for psn in 0..5 {
        b.receive(0, data(1, 1, psn));
    }
    b.link(1, false, Stranded::Drop);
    assert_eq!(b.ears.drops.len(), 5, "data and headers");
    b.sound();
    b.link(1, true, Stranded::Drop);
    for psn in 5..9 {
        b.receive(0, data(1, 1, psn));
    }
    let sent = kinds(&b.all(1));
    assert_eq!(sent, [(Header, 8), (Data, 5), (Data, 6), (Data, 7)]);
    b.sound();
}

// NDP-03, LNK-23: return to sender over a failed link
#[test]
fn a_header_whose_way_home_is_dead_is_lost() {
    let mut b = Bench::new(&trims(|t| t.control_bytes = 64));
    for psn in 0..4 {
        b.receive(0, data(1, 1, psn));
    }
    b.link(0, false, Stranded::Drop);
    b.receive(0, data(1, 1, 4));
    assert_eq!(b.ears.drops, [(4, DropCause::Link)]);
    assert_eq!(b.switch.counters().returned, 0);
    b.sound();
}
