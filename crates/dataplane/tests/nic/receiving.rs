//! Replies of a receiver to data packets.

use super::*;
use dataplane::int::IntHop;

/// Returns data packet `psn` of a flow of `packets` full packets from endpoint 3 to 5.
fn data(flow: u32, psn: u32, packets: u32) -> (Packet, Cold) {
    let hot = Packet {
        flow,
        psn,
        dst: 5,
        hash: 77,
        ..Packet::new(Kind::Data, 2, 1048)
    };
    let cold = Cold {
        src: 3,
        slot: FlowSlot::new(6),
        sent_ps: 11,
        remaining: 1000 * u64::from(packets - psn),
        payload: 1000,
        ..Cold::default()
    };
    (hot, cold)
}

fn arrive(b: &mut Bench, flow: u32, psn: u32, packets: u32, marked: bool) -> Option<Packet> {
    let (mut hot, cold) = data(flow, psn, packets);
    hot.flags = if marked { flag::CE } else { 0 };
    b.receive(hot, cold);
    b.send()
}

// NIC-10, HPCC-04: content of an ACK
#[test]
fn an_ack_returns_time_and_telemetry_of_its_packet() {
    let mut b = Bench::new(&NicConfig {
        int: 42,
        ..config()
    });
    b.now = US;
    let (hot, cold) = data(4, 0, 9);
    let id = b.arena.alloc(hot, cold);
    let hop = IntHop {
        ts_ps: 5,
        tx_bytes: 6,
        qlen_bytes: 7,
        rate_mbps: 8,
    };
    b.arena.set_stack(id, 1, &[hop]);
    b.nic.receive(b.now, 0, id, &mut b.arena, &mut b.ears);
    let reply = b.send_id().unwrap();
    let (hot, cold) = (*b.arena.hot(reply), *b.arena.cold(reply));
    assert_eq!(
        (hot.kind(), hot.psn, hot.flow, hot.class()),
        (Kind::Ack, 1, 4, 1)
    );
    assert_eq!((hot.size, hot.dst, cold.src), (102, 3, 5));
    assert_eq!((cold.sent_ps, cold.slot), (11, FlowSlot::new(6)));
    assert_eq!(b.arena.stack(reply).unwrap().hops(), [hop]);
}

// NIC-10, NIC-17: one ACK per n packets, and for the last packet
#[test]
fn one_ack_for_every_nth_packet_and_the_last() {
    let mut b = Bench::new(&NicConfig {
        ack_every: 3,
        ..config()
    });
    let mut acks = Vec::new();
    for psn in 0..8 {
        b.now = u64::from(psn);
        acks.extend(arrive(&mut b, 0, psn, 8, false).map(|p| p.psn));
    }
    assert_eq!(acks, [3, 6, 8]);
    assert_eq!(b.nic.counters().delivered_bytes, 8000);
    // Each ACK for the complete flow contains the arrival time of the last byte, also if it is
    // repeated later.
    b.now = 500;
    let (hot, cold) = data(0, 7, 8);
    b.receive(hot, cold);
    let id = b.send_id().unwrap();
    assert_eq!(b.arena.cold(id).stamp.completion_ps(), 7);
}

/// Delivers packets, given as (time, flow ID, packet number, ECN mark). Returns the time and flow
/// ID of each CNP.
fn cnps(b: &mut Bench, packets: &[(Time, u32, u32, bool)]) -> Vec<(Time, u32)> {
    let mut cnps = Vec::new();
    for &(at, flow, psn, marked) in packets {
        b.now = at;
        let (mut hot, cold) = data(flow, psn, 20);
        hot.flags = if marked { flag::CE } else { 0 };
        b.receive(hot, cold);
        while let Some(reply) = b.send() {
            if reply.kind() == Kind::Cnp {
                assert_eq!((reply.dst, reply.size), (3, 64));
                cnps.push((at, reply.flow));
            }
        }
    }
    cnps
}

// NIC-11, DCQCN-23: minimum interval between CNPs
#[test]
fn cnps_of_a_flow_are_apart_by_the_interval() {
    let mut b = Bench::new(&NicConfig {
        cnp_interval_ps: Some(50 * US),
        ack_every: 1000,
        ..config()
    });
    let cnps = cnps(
        &mut b,
        &[
            (0, 0, 0, false),
            (1, 0, 1, true),
            (2, 0, 2, true),
            (3, 1, 0, true),
            (1 + 50 * US - 1, 0, 3, true),
            (1 + 50 * US, 0, 9, true),
            (2 + 50 * US, 0, 9, true),
        ],
    );
    assert_eq!(
        cnps,
        [(1, 0), (3, 1), (1 + 50 * US, 0)],
        "out of order counts too"
    );
}

// DCQCN-32: CNP intervals that start with the flow
#[test]
fn cnps_may_tell_of_intervals_from_the_first_packet_on() {
    let mut config = NicConfig {
        cnp_interval_ps: Some(50 * US),
        ack_every: 1000,
        ..config()
    };
    config.host.cnp_cycle = true;
    let mut b = Bench::new(&config);
    let cnps = cnps(
        &mut b,
        &[
            (0, 0, 0, false),
            (1, 1, 0, true), // the mark of the first packet is reported immediately
            (2, 1, 1, true),
            (10 * US, 0, 1, true), // reported when the interval ends
            (50 * US - 1, 0, 2, false),
            (50 * US, 0, 3, false),
            (60 * US, 1, 2, false),
            (99 * US, 0, 4, false),
            (170 * US, 0, 5, true), // two intervals without a mark have passed
            (199 * US, 0, 6, false),
            (201 * US, 0, 7, true), // the CNP reports the previous interval, not the current one
            (249 * US, 0, 8, false),
            (333 * US, 0, 9, false),
        ],
    );
    assert_eq!(
        cnps,
        [
            (1, 1),
            (50 * US, 0),
            (60 * US, 1),
            (201 * US, 0),
            (333 * US, 0)
        ]
    );
    assert_eq!(b.nic.counters().cnps, 5);
}

// NIC-12: no recovery
#[test]
fn without_recovery_packets_count_in_any_order() {
    let mut b = Bench::new(&NicConfig {
        recovery: Recovery::NONE,
        ..config()
    });
    let acks: Vec<u32> = [2, 0, 3, 1]
        .into_iter()
        .map(|psn| arrive(&mut b, 0, psn, 4, false).unwrap().psn)
        .collect();
    assert_eq!(acks, [1, 2, 3, 4]);
    let c = b.nic.counters();
    assert_eq!((c.delivered_bytes, c.discarded, c.naks), (4000, 0, 0));
}

// NIC-13: one NAK per gap
#[test]
fn a_gap_is_complained_of_once() {
    let mut b = Bench::new(&config());
    let mut replies = Vec::new();
    for psn in [0, 2, 3, 4, 1, 3, 2] {
        replies.push(arrive(&mut b, 0, psn, 9, false).map(|p| (p.kind(), p.psn)));
    }
    let nak = |psn| Some((Kind::Nak, psn));
    let ack = |psn| Some((Kind::Ack, psn));
    assert_eq!(
        replies,
        [ack(1), nak(1), None, None, ack(2), nak(2), ack(3)]
    );
    let c = b.nic.counters();
    assert_eq!(
        (c.received, c.discarded, c.naks, c.delivered_bytes),
        (7, 4, 2, 3000)
    );
}

// NIC-14, NIC-32: ACK for a repeated packet
#[test]
fn what_was_there_before_is_acknowledged_again() {
    let mut b = Bench::new(&config());
    for psn in 0..3 {
        arrive(&mut b, 0, psn, 3, false);
    }
    let again = arrive(&mut b, 0, 1, 3, false).unwrap();
    assert_eq!((again.kind(), again.psn), (Kind::Ack, 3));
    assert_eq!(b.nic.counters().delivered_bytes, 3000, "but delivered once");
}

// NIC-15: path of replies
#[test]
fn replies_of_a_flow_take_one_path_of_their_own() {
    let mut b = Bench::new(&config());
    let hashes: Vec<u32> = (0..4)
        .map(|psn| arrive(&mut b, 0, psn, 9, false).unwrap().hash)
        .collect();
    assert!(hashes.iter().all(|&h| h == hashes[0]));
    assert_ne!(hashes[0], 77, "not that of the way there");
}

// NIC-16: ECN echo of an ACK
#[test]
fn the_echo_covers_all_packets_since_the_last_reply() {
    let mut b = Bench::new(&NicConfig {
        ack_every: 3,
        ..config()
    });
    let mut echoes = Vec::new();
    for (psn, marked) in [false, true, false, false, false, false, false, false, true]
        .into_iter()
        .enumerate()
    {
        echoes.extend(arrive(&mut b, 0, psn as u32, 20, marked).map(|p| p.has(flag::CE)));
    }
    assert_eq!(echoes, [true, false, true]);
}

// NIC-09, NIC-10: immediate ACK on request
#[test]
fn a_packet_that_asks_is_acknowledged_at_once() {
    for recovery in [
        Recovery::NONE,
        Recovery::go_back_n(MS),
        Recovery::Irn(IrnConfig::paper()),
    ] {
        let mut b = Bench::new(&NicConfig {
            ack_every: 100,
            recovery,
            ..config()
        });
        let mut acks = Vec::new();
        for psn in 0..6 {
            let (mut hot, cold) = data(0, psn, 50);
            if psn == 2 || psn == 3 {
                hot.flags |= flag::ASKS;
            }
            b.receive(hot, cold);
            let sent = b.send();
            acks.extend(sent.map(|ack| (ack.psn, ack.has(flag::ASKS))));
        }
        assert_eq!(acks, [(3, false), (4, false)], "{recovery:?}");
    }
}
