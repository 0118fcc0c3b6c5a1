//! The NIC arbiter of the ns-3 simulator, which scans its list of flows.

use super::*;
use crate::sets::{DcqcnSets, HpccSets};
use dataplane::reliability::GoBackNConfig;
use dataplane::units::NS;

/// Returns a NIC with rates in whole bits per second, a window of `window` bytes at line rate, and
/// times rounded down to ns.
fn scan(window: u64) -> NicConfig {
    NicConfig {
        control: Sending::Control(ControlConfig::FixedWindow(FixedWindowConfig {
            window: Some(window),
        })),
        recovery: Recovery::GoBackN(GoBackNConfig {
            nak_interval_ps: Some(500 * US),
            acknowledges_repeats: false,
            ..GoBackNConfig::new(NEVER)
        }),
        ack_class: 2,
        host: HostConfig {
            arbiter: Arbiter::Scan,
            ..HostConfig::default()
        },
        ..config()
    }
}

fn data(flow: u32, psn: u32) -> (Packet, Cold) {
    let hot = Packet {
        flow,
        psn,
        dst: 5,
        ..Packet::new(Kind::Data, 2, 1048)
    };
    let cold = Cold {
        src: 3,
        remaining: 10_000 - 1000 * u64::from(psn),
        payload: 1000,
        ..Cold::default()
    };
    (hot, cold)
}

// NS3-24, NS3-32: round robin by index in the list of flows
#[test]
fn queue_pairs_take_turns_from_the_place_after_the_last() {
    let mut b = Bench::new(&scan(1 << 30));
    for flow in 0..3 {
        b.start(flow, 2000);
    }
    let mut sent = Vec::new();
    while let Some(packet) = b.send() {
        b.now += 84 * NS;
        sent.push(packet);
    }
    // The scan starts after index 0 of the list, although no flow has sent yet.
    assert_eq!(
        numbers(&sent),
        [(1, 0), (2, 0), (0, 0), (1, 1), (2, 1), (0, 1)]
    );
    // Flow 1 ends, and the next scan removes it from the list. The indices of later flows change,
    // but the stored index of the last sender is not adjusted.
    b.answer(Kind::Ack, 1, 1, 2);
    b.start(3, 1000);
    assert_eq!(b.send().map(|p| p.flow), Some(3));
    b.start(4, 1000);
    b.start(5, 1000);
    b.now += 84 * NS;
    // The list was 0, 2, 3, with index 2 for the last sender. Flows 4 and 5 follow.
    assert_eq!(b.send().map(|p| p.flow), Some(4));
}

// NS3-20, NS3-21: priority and pauses of replies
#[test]
fn replies_go_first_and_are_held_with_data_or_never() {
    for (pausable, under_pause) in [(true, None), (false, Some(Kind::Ack))] {
        let mut c = scan(1 << 30);
        c.host.ack_pausable = pausable;
        let mut b = Bench::new(&c);
        b.start(0, 1000);
        let (hot, cold) = data(9, 0);
        b.receive(hot, cold);
        b.pause_classes(true, 1 << 2);
        assert_eq!(b.send().map(|p| p.kind()), under_pause, "{pausable}");
        b.pause_classes(false, 1 << 2);
        let kinds: Vec<Kind> = b.send_all().iter().map(Packet::kind).collect();
        let rest: &[Kind] = if pausable {
            &[Kind::Ack, Kind::Data]
        } else {
            &[Kind::Data]
        };
        assert_eq!(kinds, rest);
    }
}

// NS3-25, NS3-33: a flow blocked by its window delays another
#[test]
fn one_held_by_its_window_keeps_the_alarm_from_another() {
    // The window of flow 0 is one packet. Flow 1 waits only for its pacing.
    let mut b = Bench::new(&scan(1000));
    b.start(0, 5000);
    assert_eq!(b.send().map(|p| p.flow), Some(0));
    b.now = 10 * NS;
    assert!(b.send().is_none());
    assert_eq!(
        b.ears.calls.iter().map(|c| c.0).collect::<Vec<_>>(),
        [83 * NS],
        "set though its window holds it"
    );
    b.now = 83 * NS;
    let (_, what) = b.ears.calls[0];
    b.nic.called(b.now, what, &mut b.ears);
    assert!(b.send().is_none());
    assert_eq!(b.ears.calls.len(), 1, "its time is past: no alarm any more");
    b.start(1, 5000);
    assert_eq!(b.send().map(|p| p.flow), Some(1));
    b.answer(Kind::Ack, 1, 1, 1);
    b.now += 10 * NS;
    assert!(b.send().is_none());
    assert_eq!(b.ears.calls.len(), 1, "flow 0's old time hides flow 1's");
    b.now += 90 * NS;
    assert_eq!(b.send().map(|p| p.flow), Some(1), "whatever makes it look");
}

// NS3-22: repeated NAKs, no ACKs for repeated packets
#[test]
fn gaps_are_complained_about_again_after_a_while_and_repeats_ignored() {
    let mut b = Bench::new(&scan(1 << 30));
    let mut arrive = |now, psn| {
        b.now = now;
        let (hot, cold) = data(9, psn);
        b.receive(hot, cold);
        b.send().map(|p| (p.kind(), p.psn))
    };
    assert_eq!(arrive(0, 0), Some((Kind::Ack, 1)));
    assert_eq!(arrive(1, 2), Some((Kind::Nak, 1)));
    assert_eq!(arrive(2, 3), None, "said already");
    assert_eq!(arrive(500 * US, 4), None);
    assert_eq!(arrive(500 * US + 1, 5), Some((Kind::Nak, 1)));
    assert_eq!(arrive(500 * US + 2, 0), None, "had before");
    assert_eq!(arrive(500 * US + 3, 1), Some((Kind::Ack, 2)));
}

// NS3-22: only a NAK causes retransmission
#[test]
fn a_nak_sends_it_back_and_nothing_else_does() {
    let mut b = Bench::new(&scan(3000));
    b.start(0, 5000);
    for _ in 0..3 {
        assert!(b.send().is_some());
        b.now += 84 * NS;
    }
    b.answer(Kind::Nak, 0, 0, 1);
    assert_eq!(
        b.send().map(|p| (p.psn, p.has(flag::RETRANSMITTED))),
        Some((1, true))
    );
    assert!(b.ears.wakes.is_empty(), "it has no timer");
}

// NS3-23, NS3-52: an ACK with a mark acts as a CNP
#[test]
fn a_marked_ack_is_a_cnp_but_not_the_last_one() {
    let mut c = scan(1 << 30);
    c.control = Sending::Control(ControlConfig::Dcqcn(DcqcnConfig::vendor(1e11)));
    c.host.cnp_on_ack = true;
    for (packets, clocks) in [(1, 0), (2, 2)] {
        let mut b = Bench::new(&c);
        b.start(0, 1000 * packets);
        assert!(b.send().is_some());
        let packet = Packet {
            flow: 0,
            psn: 1,
            flags: flag::CE,
            ..Packet::new(Kind::Ack, 1, 60)
        };
        b.receive(packet, Cold::default());
        assert_eq!(b.ears.calls.len(), clocks);
        assert_eq!(b.ears.ends.len(), usize::from(packets == 1));
    }
}

// NS3-35: HPCC changes the scheduled start of the next packet
#[test]
fn hpcc_moves_a_start_that_is_set_and_the_alarm_with_it() {
    use dataplane::int::IntHop;
    let mut c = scan(1 << 30);
    c.control = Sending::Control(ControlConfig::Hpcc(HpccConfig {
        max_stage: 0,
        ..HpccConfig::paper(1e11)
    }));
    c.int = 42;
    let mut b = Bench::new(&c);
    b.start(0, 100_000);
    let ack = |b: &mut Bench, psn: u32, ns: u64, tx_bytes: u64| {
        b.now = ns * NS;
        let packet = Packet {
            flow: 0,
            psn,
            ..Packet::new(Kind::Ack, 1, 60)
        };
        let id = b.arena.alloc(packet, Cold::default());
        let hop = IntHop {
            ts_ps: b.now,
            tx_bytes,
            qlen_bytes: 0,
            rate_mbps: 100_000,
        };
        b.arena.set_stack(id, 1, &[hop]);
        b.nic.receive(b.now, 0, id, &mut b.arena, &mut b.ears);
    };
    for ns in 0..3 {
        b.now = 100 * ns * NS;
        assert!(b.send().is_some());
    }
    ack(&mut b, 1, 1000, 0);
    // Twice the rate of the link over one T: U = 2, so R = 47.5 Gb/s plus 80 Mb/s by W_AI.
    ack(&mut b, 2, 9000, 200_000);
    assert!(
        b.send().is_some(),
        "its time was past at the old rate and is at the new"
    );
    b.now = 9001 * NS;
    assert!(b.send().is_none());
    // 1090 bytes at 47.58 Gb/s take 183 ns.
    assert_eq!(b.ears.calls.last().map(|c| c.0), Some(9183 * NS));
    b.now = 9183 * NS;
    let (_, what) = *b.ears.calls.last().unwrap();
    b.nic.called(b.now, what, &mut b.ears);
    assert!(b.send().is_some());
    // The next packet starts at 9366 ns. A link with 1 % utilisation over T: line rate again, 87 ns
    // per packet.
    ack(&mut b, 3, 9200, 200_000);
    b.now = 9201 * NS;
    assert!(b.send().is_none());
    assert_eq!(b.ears.calls.last().map(|c| c.0), Some(9366 * NS));
    ack(&mut b, 4, 17_200, 201_000);
    assert_eq!(
        b.ears.calls.len(),
        3,
        "9366 became 9270, and the alarm was set again for now"
    );
    assert_eq!(b.ears.calls[2].0, 17_200 * NS);
    assert!(b.send().is_some());
}
