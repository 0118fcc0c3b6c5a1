//! The sender: order of flows, windows, pacing, pauses and losses.

use super::*;
use crate::sets::DctcpSets;

// NIC-01: packet sizes of a flow
#[test]
fn a_flow_is_cut_into_full_packets_and_a_rest() {
    let mut b = Bench::new(&NicConfig {
        int: 42,
        ..config()
    });
    b.start(0, 2001);
    assert_eq!(b.ears.kicks, [0], "it may send at once");
    let sent = b.send_all();
    assert_eq!(numbers(&sent), [(0, 0), (0, 1), (0, 2)]);
    let sizes: Vec<u16> = sent.iter().map(|p| p.size).collect();
    assert_eq!(sizes, [1090, 1090, 91]);
    assert!(
        sent.iter()
            .all(|p| (p.dst, p.class(), p.kind()) == (5, 2, Kind::Data))
    );
    assert_eq!(b.nic.counters().payload_bytes, 2001);
}

// NIC-02: order of classes and replies
#[test]
fn lower_classes_first_and_replies_before_data_of_their_class() {
    let mut b = Bench::new(&NicConfig {
        ack_class: 2,
        ..config()
    });
    b.start_with(FlowStart {
        class: 1,
        ..start(1, 1000)
    });
    b.start(0, 2000);
    let data = Packet {
        flow: 9,
        ..Packet::new(Kind::Data, 2, 1048)
    };
    b.receive(
        data,
        Cold {
            remaining: 1000,
            ..Cold::default()
        },
    );
    let sent = b.send_all();
    assert_eq!(numbers(&sent), [(9, 1), (0, 0), (0, 1), (1, 0)]);
    assert_eq!(sent[0].kind(), Kind::Ack);
}

// NIC-03: round robin of flows
#[test]
fn flows_take_turns_packet_by_packet() {
    let mut b = Bench::new(&config());
    for flow in 0..3 {
        b.start(flow, 1000 * (1 + u64::from(flow)));
    }
    let order: Vec<u32> = b.send_all().iter().map(|p| p.flow).collect();
    assert_eq!(order, [0, 1, 2, 1, 2, 2]);
}

// NIC-04: last packet of a window
#[test]
fn a_packet_may_pass_the_window_by_less_than_itself() {
    let mut b = Bench::new(&window(2500));
    b.start(0, 10_000);
    assert_eq!(b.send_all().len(), 3, "0, 1000 and 2000 are below 2500");
    b.answer(Kind::Ack, 0, 0, 1);
    assert_eq!(b.send_all().len(), 1, "2000 are in flight");
    assert_eq!(b.send_all().len(), 0);
    let mut tiny = Bench::new(&window(1));
    tiny.start(0, 10_000);
    assert_eq!(
        tiny.send_all().len(),
        1,
        "a window smaller than a packet does not block it"
    );
}

/// Pacing uses the rate at the start of a packet. DCTCP suits this test without ACKs: its rate is
/// window / T, and a loss halves the window.
// NIC-05
#[test]
fn the_rate_at_the_start_of_a_packet_sets_the_earliest_start_of_the_next() {
    let mut b = Bench::new(&NicConfig {
        control: Sending::Control(ControlConfig::Dctcp(DctcpConfig::line_rate_start())),
        ..config()
    });
    b.start(0, 500_000);
    for _ in 0..10 {
        assert!(b.send().is_some());
        assert!(
            b.send().is_some(),
            "the link sets the pace, not the NIC's memory of it"
        );
        b.now += 2 * FRAME_PS;
    }
    b.answer(Kind::Nak, 0, 0, 5);
    // The window is now 50 000 B, which gives half of the line rate.
    let sent_at = b.now;
    assert_eq!(b.send().map(|p| p.psn), Some(5));
    assert_eq!(b.send().map(|p| p.psn), None);
    assert_eq!(*b.ears.wakes.last().unwrap(), sent_at + 2 * FRAME_PS);
    b.now = sent_at + 2 * FRAME_PS - 1;
    b.timer();
    assert!(b.send().is_none(), "1 ps too early");
    b.now += 1;
    b.ears.kicks.clear();
    b.timer();
    assert_eq!(b.ears.kicks, [0]);
    assert_eq!(b.send().map(|p| p.psn), Some(6));
}

// NIC-06: flows with equal pacing times
#[test]
fn flows_whose_pace_lets_them_go_together_go_in_order_of_their_numbers() {
    let mut b = Bench::new(&NicConfig {
        control: Sending::Control(ControlConfig::Dctcp(DctcpConfig::line_rate_start())),
        ..config()
    });
    // The order of slots and starts differs from the order of flow IDs.
    for flow in [7, 3, 5] {
        b.start(flow, 500_000);
    }
    for slot in 0..3 {
        assert!(b.send().is_some(), "slot {slot}");
    }
    for (slot, flow) in [(0, 7), (1, 3), (2, 5)] {
        b.answer(Kind::Nak, flow, slot, 0);
    }
    for _ in 0..3 {
        b.send();
    }
    b.now = MS / 2;
    b.timer();
    let order: Vec<u32> = (0..3).map(|_| b.send().unwrap().flow).collect();
    assert_eq!(order, [3, 5, 7]);
}

// NIC-07: PFC pauses a class
#[test]
fn pfc_stops_a_class_of_a_port_until_xon() {
    let mut b = Bench::new(&config());
    b.start(0, 5000);
    b.start_with(FlowStart {
        class: 1,
        ..start(1, 1000)
    });
    assert!(b.send().is_some());
    b.pause_classes(true, 1 << 2);
    assert_eq!(numbers(&b.send_all()), [(1, 0)], "the other class goes on");
    assert!(!b.nic.waiting(0));
    b.ears.kicks.clear();
    b.pause_classes(false, 1 << 2);
    assert_eq!(b.ears.kicks, [0]);
    assert_eq!(b.send_all().len(), 4);
    assert_eq!(b.ears.pauses, [(0, 0, 4), (0, 4, 0)]);
    let mut deaf = Bench::new(&NicConfig {
        obeys: SchemeSet::ALL.without(Scheme::Pfc.number()),
        ..config()
    });
    deaf.start(0, 5000);
    deaf.pause_classes(true, 1 << 2);
    assert_eq!(deaf.send_all().len(), 5);
}

// NIC-07, QNT-02, QNT-03, QNT-09: PFC pauses that expire
#[test]
fn a_pause_with_a_time_stops_a_class_until_it_runs_out() {
    let mut b = Bench::new(&config());
    b.start(0, 5000);
    let pause = |quanta| PauseFor {
        quanta,
        classes: 1 << 2,
    };
    b.ears.wakes.clear();
    b.receive(pause(100).packet(64), Cold::default());
    assert_eq!(b.ears.wakes, [512_000]);
    b.timer();
    assert_eq!(b.send_all().len(), 0);
    b.now = 500_000;
    b.receive(pause(10).packet(64), Cold::default());
    b.now = 551_199;
    b.timer();
    assert_eq!(b.send_all().len(), 0);
    b.now = 551_200;
    b.timer();
    assert_eq!(b.ears.pauses, [(0, 0, 4), (0, 4, 4), (0, 4, 0)]);
    assert_eq!(b.send_all().len(), 5);
    assert_eq!(b.nic.expired_pauses(), 1);
    assert_eq!(b.nic.counters().repeated_pauses, 0);
}

// BFC-10, BFC-11: BFC pauses a queue of the NIC
#[test]
fn a_bfc_pause_stops_the_flow_of_its_queue_and_no_other() {
    let mut b = Bench::new(&config());
    b.start(0, 3000);
    b.start(1, 3000);
    let queues: Vec<u16> = (0..2).map(|_| b.send().unwrap().upstream_queue).collect();
    assert_eq!(queues, [0, 1], "each flow has a queue of its own");
    b.pause_queue(true, 0);
    assert_eq!(numbers(&b.send_all()), [(1, 1), (1, 2)]);
    b.pause_queue(false, 0);
    assert_eq!(numbers(&b.send_all()), [(0, 1), (0, 2)]);
    assert_eq!(b.nic.counters().repeated_pauses, 0);
    b.pause_queue(false, 0);
    assert_eq!(b.nic.counters().repeated_pauses, 1);
}

// BFC-11: NIC queue of a new flow
#[test]
fn new_flows_avoid_paused_queues_then_take_unused_ones_then_share() {
    let mut b = Bench::new(&config());
    b.pause_queue(true, 0);
    b.pause_queue(true, 2);
    b.start(0, 1000);
    b.start(1, 1000);
    let queues: Vec<u16> = b.send_all().iter().map(|p| p.upstream_queue).collect();
    assert_eq!(queues, [1, 3]);
    // Both flows wait for ACKs, so their queues are in use. All other queues are paused.
    b.start(2, 1000);
    b.start(3, 1000);
    assert!(b.send().is_none());
    b.pause_queue(false, 2);
    assert_eq!(b.send().map(|p| (p.flow, p.upstream_queue)), Some((3, 2)));
    b.pause_queue(false, 0);
    assert_eq!(b.send().map(|p| (p.flow, p.upstream_queue)), Some((2, 0)));
    b.start(4, 1000);
    assert_eq!(
        b.send().map(|p| p.upstream_queue),
        Some((start(4, 0).hash % 4) as u16)
    );
}

// BFC-11: a NIC that ignores BFC pauses
#[test]
fn a_deaf_nic_sends_through_a_pause() {
    let mut b = Bench::new(&NicConfig {
        obeys: SchemeSet::ALL.without(Scheme::Bfc.number()),
        ..config()
    });
    b.start(0, 3000);
    b.pause_queue(true, 0);
    assert_eq!(b.send_all().len(), 3);
}

// NIC-20: go-back-N after a NAK
#[test]
fn a_nak_acknowledges_what_is_below_and_sends_the_rest_again() {
    let mut b = Bench::new(&config());
    b.start(0, 6000);
    assert_eq!(b.send_all().len(), 6);
    b.answer(Kind::Nak, 0, 0, 2);
    let again = b.send_all();
    assert_eq!(numbers(&again), [(0, 2), (0, 3), (0, 4), (0, 5)]);
    assert!(again.iter().all(|p| p.has(flag::RETRANSMITTED)));
    assert_eq!(b.nic.counters().retransmissions, 4);
    // A NAK for a packet below the cumulative acknowledgement is ignored.
    b.answer(Kind::Ack, 0, 0, 4);
    b.answer(Kind::Nak, 0, 0, 3);
    assert_eq!(b.send_all().len(), 0);
    b.answer(Kind::Ack, 0, 0, 6);
    assert_eq!(b.ears.ends.len(), 1);
    assert_eq!(b.ears.ends[0].retransmitted, 4);
}

// NIC-21: go-back-N after a timeout
#[test]
fn silence_for_the_whole_timeout_starts_over_from_what_is_not_acknowledged() {
    let mut b = Bench::new(&window(3000));
    b.start(0, 6000);
    assert_eq!(b.ears.wakes, [MS], "requested at the start");
    assert_eq!(b.send_all().len(), 3);
    b.now = MS / 2;
    b.answer(Kind::Ack, 0, 0, 1);
    assert_eq!(numbers(&b.send_all()), [(0, 3)]);
    b.now = MS;
    b.timer();
    assert_eq!(
        b.nic.counters().timeouts,
        0,
        "something moved half a millisecond ago"
    );
    assert_eq!(*b.ears.wakes.last().unwrap(), MS / 2 + MS);
    b.now = MS / 2 + MS;
    b.timer();
    assert_eq!(b.nic.counters().timeouts, 1);
    assert_eq!(numbers(&b.send_all()), [(0, 1), (0, 2), (0, 3)]);
}

// NIC-22: late replies of a finished flow
#[test]
fn echoes_of_a_finished_flow_are_ignored_also_when_its_slot_is_used_again() {
    let mut b = Bench::new(&window(2000));
    b.start(0, 2000);
    b.send_all();
    b.answer(Kind::Ack, 0, 0, 2);
    assert_eq!(b.ears.ends.len(), 1);
    assert_eq!((b.ears.ends[0].flow, b.ears.ends[0].cookie), (0, 1000));
    b.answer(Kind::Ack, 0, 0, 2);
    b.answer(Kind::Nak, 0, 0, 1);
    b.answer(Kind::Cnp, 0, 0, 0);
    b.start(1, 4000);
    b.send_all();
    b.answer(Kind::Ack, 0, 0, 2);
    assert_eq!(b.send_all().len(), 0, "the new flow's window has not moved");
    assert_eq!(b.ears.ends.len(), 1);
    b.answer(Kind::Ack, 1, 0, 2);
    assert_eq!(numbers(&b.send_all()), [(1, 2), (1, 3)]);
}

// BFC-30, BFC-31, BFC-11: bitmaps of paused queues
#[test]
fn a_bitmap_pauses_exactly_the_queues_that_it_names() {
    let mut b = Bench::new(&config());
    for flow in 0..3 {
        b.start(flow, 3000);
    }
    let bitmap = |b: &mut Bench, queues: &[u32]| {
        let id = b.arena.alloc(Bitmap.packet(156), Cold::default());
        b.arena.set_list(id, queues);
        b.nic.receive(b.now, 0, id, &mut b.arena, &mut b.ears);
    };
    bitmap(&mut b, &[0, 2, 3]);
    let only: Vec<u32> = b.send_all().iter().map(|p| p.flow).collect();
    assert_eq!(only, [1, 1, 1]);
    // The resume of queue 0 was lost. The next bitmap resumes queue 0.
    bitmap(&mut b, &[2]);
    assert!(b.send_all().iter().all(|p| p.flow == 0));
    bitmap(&mut b, &[]);
    assert_eq!(b.send_all().len(), 3);
}

// BFC-37: BFC pauses of single flows
#[test]
fn a_pause_by_number_holds_one_flow_of_a_queue() {
    let mut b = Bench::new(&NicConfig {
        queues: 1,
        ..config()
    });
    b.start(4, 2000);
    b.start(5, 2000);
    let name = |b: &mut Bench, flow: u32, on: bool| {
        let frame = PauseFlow { on, flow, queue: 0 };
        b.receive(frame.packet(64), Cold::default());
    };
    name(&mut b, 4, true);
    assert_eq!(numbers(&b.send_all()), [(5, 0), (5, 1)]);
    name(&mut b, 4, false);
    assert_eq!(numbers(&b.send_all()), [(4, 0), (4, 1)]);
    assert_eq!(b.nic.counters().repeated_pauses, 0);
    name(&mut b, 4, false);
    assert_eq!(b.nic.counters().repeated_pauses, 1);
}

// NIC-30: shortest remaining bytes first
#[test]
fn the_shortest_flow_may_go_first() {
    let mut b = Bench::new(&NicConfig {
        order: FlowOrder::ShortestFirst,
        ..config()
    });
    b.start(1, 3000);
    b.start(2, 1500);
    assert_eq!(b.send().map(|p| p.flow), Some(2));
    b.start(3, 1000);
    // Flow 2 has 500 bytes left, which is less than flow 3.
    assert_eq!(
        numbers(&b.send_all()),
        [(2, 1), (3, 0), (1, 0), (1, 1), (1, 2)]
    );
}

// NIC-31: round robin in random order
#[test]
fn flows_may_go_round_by_numbers_that_they_have_by_chance() {
    let cyclic = NicConfig {
        order: FlowOrder::Cyclic,
        ..config()
    };
    let mut b = Bench::new(&cyclic);
    (0..20).for_each(|flow| b.start(flow, 3000));
    let sent: Vec<u32> = b.send_all().iter().map(|p| p.flow).collect();
    let round = &sent[..20];
    assert_eq!([round, round], [&sent[20..40], &sent[40..]]);
    assert!(!round.is_sorted(), "by number, not as they came");
    let mut flows = round.to_vec();
    flows.sort_unstable();
    assert!(flows.into_iter().eq(0..20), "each once a round");
    // A flow that starts later sends at its random position in the round, not after all ten flows.
    let waits = (1..=200).map(|trial| {
        let mut b = Bench::new(&cyclic);
        let late = 100 * trial;
        (late + 1..=late + 10).for_each(|flow| b.start(flow, 100_000));
        for _ in 0..13 {
            b.send();
        }
        b.start(late, 1000);
        b.send_all().iter().position(|p| p.flow == late).unwrap()
    });
    let waits: usize = waits.sum();
    assert!(
        (900..1100).contains(&waits),
        "{waits} in 200, half of ten each"
    );
}

// NIC-09: ACK request of a window's last packet
#[test]
fn the_packet_that_the_window_lets_go_last_asks_for_its_acknowledgement() {
    let asks = |ack_every, window_bytes: u64| -> Vec<u32> {
        let mut b = Bench::new(&NicConfig {
            ack_every,
            ..window(window_bytes)
        });
        b.start(0, 6_000);
        let sent = b.send_all();
        let asks = |p: &&Packet| p.has(flag::ASKS);
        sent.iter().filter(asks).map(|p| p.psn).collect()
    };
    assert_eq!(asks(8, 3_000), [2]);
    assert_eq!(
        asks(8, 2_500),
        [2],
        "the window is passed by less than a packet"
    );
    assert_eq!(asks(8, 100_000), [5], "the end of the flow");
    assert_eq!(asks(1, 3_000), [], "each packet is acknowledged anyway");
}

// NIC-09: next ACK request
#[test]
fn an_acknowledgement_of_what_asked_lets_the_next_ask() {
    let mut b = Bench::new(&NicConfig {
        ack_every: 8,
        ..window(2_000)
    });
    b.start(0, 9_000);
    let mut sent = Vec::new();
    while sent.len() < 9 {
        let more = b.send_all();
        assert!(more.len() <= 2, "no more than the window");
        let last = more.last().expect("the window is open");
        assert!(last.has(flag::ASKS));
        let (acked, sent_ps) = (last.psn + 1, b.now - 83_840);
        sent.extend(more);
        b.now += US;
        let cold = Cold {
            sent_ps,
            stamp: Stamp::INCOMPLETE,
            ..Cold::default()
        };
        let ack = Packet {
            flow: 0,
            psn: acked,
            ..Packet::new(Kind::Ack, 1, 60)
        };
        b.receive(ack, cold);
    }
    assert_eq!(b.ears.ends.len(), 1);
}
