//! One test per rule, for rules that the model in `model.rs` does not cover.

use super::*;
use dataplane::config::{
    Accounting, Beside, Departures, EcnConfig, PauseTime, Pfc, PfcThreshold, Red, Scope,
    VictimConfig,
};
use dataplane::hop::bfc::Bitmap;
use dataplane::hop::bfc::state_entries;
use dataplane::int::{Counter, IntFormat, IntHop, Layout};
use dataplane::packet::{SchemeNumber, Words, flag};

fn psns(packets: &[Packet]) -> Vec<u32> {
    packets.iter().map(|p| p.psn).collect()
}

// SW-02: no route
#[test]
fn a_packet_without_a_route_is_dropped_and_told() {
    let mut b = Bench::new(&config());
    b.receive(0, data(1, 4, 7));
    assert_eq!(b.ears.drops, [(7, DropCause::NoRoute)]);
    assert_eq!((b.switch.counters().dropped, b.arena.alive()), (1, 0));
    b.sound();
}

// SW-01: a drop does not change the state
#[test]
fn a_dropped_packet_leaves_no_trace() {
    let mut c = config();
    c.classify = Classify::Dynamic {
        queues: 4,
        table: 400,
        sticky_ps: 4 * US,
    };
    c.schedule = Schedule::Drr { quantum: 1500 };
    c.hop = HopConfig::Bfc(BFC);
    c.mmu.buffer_bytes = 30_500;
    let mut b = Bench::new(&c);
    for psn in 0..26 {
        b.receive(0, data(1, 2, psn));
    }
    assert_eq!(
        b.switch.hop_counters()["bfc_pauses"],
        0,
        "25 000 B were found, not more"
    );
    for psn in 26..30 {
        b.receive(
            1,
            Packet {
                upstream_queue: 3,
                ..data(1, 2, psn)
            },
        );
    }
    assert_eq!(b.switch.hop_counters()["bfc_pauses"], 1);
    for flow in 50..60 {
        b.receive(3, data(flow, 2, 99));
    }
    assert_eq!(b.ears.drops.len(), 10);
    assert_eq!(
        b.switch.hop_counters()["bfc_pauses"],
        1,
        "no upstream is held for them"
    );
    assert_eq!(
        {
            let c = b.switch.hop_counters();
            (c["bfc_shared_queue"], c["bfc_table_collisions"])
        },
        (0, 0),
        "no queue was taken for them"
    );
    b.sound();
    assert_eq!(b.all(2).len(), 30);
    assert_eq!(
        psns(&b.all(1)),
        [1, 0],
        "one pause, one resume, nothing for port 3"
    );
    assert_eq!(b.all(3).len(), 0);
    b.sound();
}

// SW-04: no minimum delay in the switch
#[test]
fn a_packet_may_leave_at_the_instant_of_its_arrival() {
    let mut b = Bench::new(&config());
    b.now = 5 * US;
    b.receive(0, data(1, 2, 0));
    assert_eq!(b.ears.kicks, [2]);
    assert_eq!(b.send(2).map(|p| p.psn), Some(0));
    assert_eq!(b.switch.queued(2), (0, 1000));
}

// SW-03, SW-22, BFC-14: ACKs in the control class
#[test]
fn acks_of_the_control_class_have_one_queue_and_take_no_part() {
    let mut c = config();
    c.classify = Classify::Dynamic {
        queues: 2,
        table: 200,
        sticky_ps: US,
    };
    c.hop = HopConfig::Bfc(BFC);
    c.mmu.buffer_bytes = 0;
    let mut b = Bench::new(&c);
    for psn in 0..50 {
        let ack = Packet {
            size: 1000,
            tag: Packet::new(Kind::Ack, 1, 0).tag,
            ..data(psn, 2, psn)
        };
        b.receive(0, ack);
    }
    assert_eq!(
        b.switch.hop_counters()["bfc_pauses"],
        0,
        "50 kB are over any threshold"
    );
    assert_eq!(b.switch.buffer_used(), 0);
    let sent = b.all(2);
    assert_eq!(
        psns(&sent),
        (0..50).collect::<Vec<_>>(),
        "one queue, in order"
    );
    assert!(sent.iter().all(|p| p.upstream_queue == 1));
    b.sound();
}

// SW-24: hashed queues
#[test]
fn stochastic_queues_are_by_flow_and_alike_at_all_ports() {
    let mut c = config();
    c.classify = Classify::Hash { queues: 8 };
    c.schedule = Schedule::RoundRobin;
    let mut b = Bench::new(&c);
    let mut used = [0; 16];
    for flow in 0..400 {
        let queue_at = |b: &mut Bench, dst: u32| {
            b.receive(3, data(flow, dst, 0));
            b.send(dst as u16).unwrap().upstream_queue
        };
        let queue = queue_at(&mut b, 0);
        assert_eq!(queue, queue_at(&mut b, 1), "the same at every port");
        used[queue as usize] += 1;
    }
    assert!(
        used[2..10].iter().all(|&n| n > 20),
        "{used:?}: all are used"
    );
    assert_eq!(used[2..10].iter().sum::<i32>(), 400);
}

// SW-25, SW-20: one queue per flow
#[test]
fn every_flow_has_a_queue_of_its_own_while_it_has_packets() {
    let mut c = config();
    c.classify = Classify::PerFlow;
    c.schedule = Schedule::RoundRobin;
    let mut b = Bench::new(&c);
    for round in 0..3 {
        for flow in 0..500 {
            for n in 0..2 {
                b.receive(0, data(flow, 1, 1000 * n + flow));
            }
        }
        let sent = psns(&b.all(1));
        let order: Vec<u32> = (0..500).chain(1000..1500).collect();
        assert_eq!(
            sent, order,
            "round {round}: one packet of each flow, then the next"
        );
        b.sound();
    }
}

fn marking(at_dequeue: bool, scope: Scope) -> SwitchConfig {
    let mut c = config();
    let red = Red {
        kmin_bytes: 2000,
        kmax_bytes: 2000,
        pmax: 1.0,
    };
    c.ecn = Some(EcnConfig {
        profiles: vec![(LINK.0, red)],
        scope,
        at_dequeue,
        replay: false,
    });
    c
}

fn marked(packets: &[Packet]) -> Vec<bool> {
    packets.iter().map(|p| p.has(flag::CE)).collect()
}

// SW-30, SW-32: ECN marks on departure or on arrival
#[test]
fn marks_go_by_what_stays_behind_or_by_what_was_there() {
    let five = |c: &SwitchConfig| {
        let mut b = Bench::new(c);
        for psn in 0..5 {
            b.receive(0, data(1, 2, psn));
        }
        let sent = b.all(2);
        let marks = marked(&sent);
        let count = marks.iter().filter(|&&m| m).count() as u64;
        assert_eq!(b.switch.counters().marks, count);
        assert_eq!(b.switch.port_counters(2).marked, count);
        marks
    };
    // After each departure, 4000, 3000, 2000, … bytes remain in the queue. A packet is marked if
    // more than 2000 remain.
    assert_eq!(
        five(&marking(true, Scope::Port)),
        [true, true, false, false, false]
    );
    // On arrival, the queue has 1000, 2000, 3000, … bytes, including the arriving packet.
    assert_eq!(
        five(&marking(false, Scope::Port)),
        [false, false, true, true, true]
    );
}

// SW-32, SW-34: classes that ECN counts and marks
#[test]
fn only_data_of_the_classes_that_ecn_counts_is_marked() {
    let mut c = marking(true, Scope::Port);
    c.classes[3].ecn = false;
    let mut b = Bench::new(&c);
    let of = |kind, class, psn| Packet {
        tag: Packet::new(kind, class, 0).tag,
        ..data(1, 2, psn)
    };
    b.receive(0, of(Kind::Ack, 2, 0));
    b.receive(0, of(Kind::Data, 2, 1));
    for psn in 2..5 {
        b.receive(0, of(Kind::Ack, 2, psn));
    }
    for psn in 5..9 {
        b.receive(0, of(Kind::Data, 3, psn));
    }
    let sent = b.all(2);
    assert_eq!(psns(&sent), (0..9).collect::<Vec<_>>());
    // Behind the ACK at the head are 4000 B, and behind the data packet 3000 B of its class. Class
    // 3 does not count.
    let marks: Vec<u32> = sent
        .iter()
        .filter(|p| p.has(flag::CE))
        .map(|p| p.psn)
        .collect();
    assert_eq!(marks, [1]);
}

// SW-32: queue length for ECN
#[test]
fn the_scope_of_a_mark_is_the_queue_or_the_port() {
    for (scope, count) in [(Scope::Queue, 0), (Scope::Port, 3)] {
        let mut c = marking(true, scope);
        c.classify = Classify::PerFlow;
        c.schedule = Schedule::RoundRobin;
        let mut b = Bench::new(&c);
        for flow in 0..6 {
            b.receive(0, data(flow, 2, flow));
        }
        let marks = marked(&b.all(2)).iter().filter(|&&m| m).count();
        assert_eq!(marks, count, "{scope:?}");
    }
}

// SW-33, HPCC-01, HPCC-02: INT record of the egress port
#[test]
fn telemetry_tells_of_the_port_as_the_packet_leaves_it() {
    let mut c = config();
    c.int = Some(IntConfig::default());
    c.classes[3].int = false;
    let mut b = Bench::new(&c);
    let mut ids = Vec::new();
    for psn in 0..3 {
        let id = b.put(data(1, 2, psn));
        b.arena.attach_stack(id);
        b.switch.receive(0, 0, id, &mut b.arena, &mut b.ears);
        ids.push(id);
    }
    // Control frames, and classes without INT, do not count in telemetry.
    b.receive(
        1,
        Packet {
            tag: Packet::new(Kind::Data, 3, 0).tag,
            ..data(2, 2, 9)
        },
    );
    b.receive(
        1,
        Packet {
            tag: Packet::new(Kind::Ack, 1, 0).tag,
            ..data(2, 2, 8)
        },
    );
    let ack = b.switch.transmit(7, 2, &mut b.arena, &mut b.ears);
    assert_eq!(b.arena.hot(ack.unwrap()).psn, 8);
    for (nth, id) in ids.into_iter().enumerate() {
        let now = 100 * nth as u64;
        assert_eq!(
            b.switch.transmit(now, 2, &mut b.arena, &mut b.ears),
            Some(id)
        );
        let hop = b.arena.stack(id).unwrap().hops()[0];
        assert_eq!((hop.ts_ps, hop.rate_mbps), (now, 100_000));
        assert_eq!(hop.tx_bytes, 1000 * nth as u64, "before this packet");
        assert_eq!(
            hop.qlen_bytes,
            2000 - 1000 * nth as u32,
            "behind this packet"
        );
    }
    assert_eq!(b.switch.counters().int_hops, 3);
}

/// Returns the telemetry of three packets of one flow when they leave through port 2, after a pause
/// frame. `pauses`: true if telemetry counts the class of pause frames.
fn told(int: IntConfig, pauses: bool) -> Vec<IntHop> {
    let mut c = config();
    c.int = Some(int);
    c.classes[0].int = pauses;
    c.mmu.admission = Admission::Pfc(pfc(1, None));
    let mut b = Bench::new(&c);
    // The first packet pauses the upstream of port 2, so that port 2 sends a pause frame.
    b.receive(2, data(9, 3, 0));
    assert_eq!(
        b.send(2).and_then(|p| PauseClasses::read(&p)),
        Some(PauseClasses {
            on: true,
            classes: 4
        })
    );
    let ids: Vec<PacketId> = (0..3)
        .map(|psn| {
            let id = b.put(data(1, 2, psn));
            b.arena.attach_stack(id);
            b.switch.receive(0, 0, id, &mut b.arena, &mut b.ears);
            id
        })
        .collect();
    let hops = ids.into_iter().map(|id| {
        let sent = b.switch.transmit(7_500, 2, &mut b.arena, &mut b.ears);
        assert_eq!(sent, Some(id));
        b.arena.stack(id).unwrap().hops()[0]
    });
    hops.collect()
}

// HPCC-30: rounding of bit-exact telemetry
#[test]
fn telemetry_to_the_bit_is_cut_to_whole_units() {
    let wire = IntConfig {
        format: IntFormat::Wire(Layout::new(1, 16)),
        counter: Counter::Sent,
    };
    let seen: Vec<_> = told(wire, false)
        .iter()
        .map(|h| (h.ts_ps, h.tx_bytes, h.qlen_bytes))
        .collect();
    assert_eq!(
        seen,
        [(7_000, 0, 2_000), (7_000, 896, 960), (7_000, 1_920, 0)]
    );
}

// HPCC-31: telemetry counts arrivals; all three packets have arrived when the first one leaves.
#[test]
fn telemetry_of_arrivals_counts_what_joined_the_queue() {
    let arrived = IntConfig {
        format: IntFormat::Exact,
        counter: Counter::Arrived,
    };
    let seen: Vec<_> = told(arrived, false)
        .iter()
        .map(|h| (h.tx_bytes, h.qlen_bytes))
        .collect();
    assert_eq!(seen, [(3_000, 2_000), (3_000, 1_000), (3_000, 0)]);
}

// HPCC-02: telemetry counts pause frames of the switch only if it counts class 0.
#[test]
fn pause_frames_count_where_class_0_does() {
    let sent = |pauses| told(IntConfig::default(), pauses)[0].tx_bytes;
    assert_eq!((sent(false), sent(true)), (0, 64));
}

// SW-43, AUD-06: counter of repeated pauses
#[test]
fn a_repeated_pause_is_noticed() {
    let mut b = Bench::new(&config());
    b.receive(0, pause_classes(true, 4));
    assert_eq!(b.ears.pauses, [(0, 0, 4)]);
    b.sound();
    b.receive(0, pause_classes(true, 4));
    assert_eq!(b.switch.counters().repeated_pauses, 1);
    b.receive(0, pause_classes(false, 8));
    assert_eq!(b.switch.counters().repeated_pauses, 2);
    // A repeated pause is not an error at the switch, because links may lose frames. The audit of
    // the network checks this.
    b.sound();
}

// SW-46: frames of another scheme
#[test]
fn a_switch_without_bfc_ignores_its_pauses() {
    let mut b = Bench::new(&config());
    // Queue 2 is a queue of class 2.
    b.receive(2, pause_queue(true, 2));
    b.receive(0, data(1, 2, 0));
    assert_eq!(b.all(2).len(), 1);
    assert_eq!(b.switch.counters().repeated_pauses, 0);
    b.sound();
}

// SW-44: a pause removes a queued resume
#[test]
fn a_pause_takes_its_resume_back_that_still_waits() {
    let mut c = config();
    c.mmu.admission = Admission::Pfc(pfc(2500, Some(5000)));
    let mut b = Bench::new(&c);
    let said = |sent: Vec<Packet>| -> Vec<bool> {
        let said = sent.iter().filter_map(PauseClasses::read);
        said.map(|said| said.on).collect()
    };
    let packets = |b: &mut Bench, n| (0..n).for_each(|psn| b.receive(0, data(1, 2, psn)));
    let counted = |b: &Bench| {
        let counters = b.switch.hop_counters();
        ["pfc_pauses", "pfc_resumes"].map(|name| counters[name])
    };
    // Port 0 has sent nothing since, so both frames are queued. The next pause adds neither a
    // resume nor a second pause.
    packets(&mut b, 3);
    b.all(2);
    assert_eq!(counted(&b), [1, 1]);
    let waiting = b.switch.queued(0).0;
    assert_eq!(waiting, 128);
    packets(&mut b, 3);
    assert_eq!((counted(&b), b.switch.queued(0).0), ([1, 0], 64));
    assert_eq!(said(b.all(0)), [true]);
    // Now the port's queue of frames contains only the resume.
    b.all(2);
    assert_eq!((counted(&b), b.switch.queued(0).0), ([1, 1], 64));
    packets(&mut b, 3);
    assert_eq!((counted(&b), b.switch.queued(0).0), ([1, 0], 0));
    assert!(b.all(0).is_empty());
    b.all(2);
    assert_eq!(said(b.all(0)), [false]);
    assert_eq!((b.arena.alive(), counted(&b)), (0, [1, 1]));
    b.sound();
}

// SW-44: queued resumes per class
#[test]
fn a_resume_of_another_class_stays() {
    let mut c = config();
    c.mmu.admission = Admission::Pfc(pfc(2500, Some(5000)));
    c.classes[3].pausable = true;
    let mut b = Bench::new(&c);
    let of = |class: u8, psn| Packet {
        dst: 2,
        psn,
        ..Packet::new(Kind::Data, class, 1000)
    };
    (0..3).for_each(|psn| b.receive(0, of(2, psn)));
    (0..3).for_each(|psn| b.receive(0, of(3, psn)));
    b.all(2);
    (0..3).for_each(|psn| b.receive(0, of(3, psn)));
    let said: Vec<_> = b.all(0).iter().filter_map(PauseClasses::read).collect();
    let said: Vec<_> = said.iter().map(|said| (said.on, said.classes)).collect();
    assert_eq!(said, [(true, 4), (true, 8), (false, 4)]);
}

// SW-42, SW-41: priority of link-local frames
#[test]
fn frames_between_neighbours_go_first_and_no_pause_stops_them() {
    let mut c = config();
    c.mmu.admission = Admission::Pfc(pfc(2500, Some(5000)));
    let mut b = Bench::new(&c);
    b.receive(2, data(9, 0, 77));
    b.receive(0, pause_classes(true, 0b1110));
    for psn in 0..3 {
        b.receive(0, data(1, 2, psn));
    }
    let sent = b.all(0);
    assert_eq!(
        sent.len(),
        1,
        "all classes are paused but that of the frame"
    );
    assert_eq!(
        (PauseClasses::read(&sent[0]), sent[0].size),
        (
            Some(PauseClasses {
                on: true,
                classes: 4
            }),
            64
        )
    );
    assert_eq!(b.switch.buffer_used(), 4000, "the frame uses no buffer");
    b.sound();
}

// BFC-16: number of table entries
#[test]
fn state_is_in_proportion_to_queues() {
    let mut c = config();
    c.classify = Classify::Dynamic {
        queues: 32,
        table: 3200,
        sticky_ps: US,
    };
    c.hop = HopConfig::Bfc(BfcConfig {
        upstream_queues: 128,
        ..BFC
    });
    // BFC paper: 128 upstream queues and 32 ports need 4096 counters.
    assert_eq!(state_entries(&c, 32), (32 * 3200, 4096));
}

/// Returns the number of marked packets and of random numbers drawn. The queue length is between
/// the ECN thresholds. Three data packets and three ACKs arrive, and port 0 sends a pause and a
/// resume.
fn drawn(replay: bool) -> (usize, u32) {
    let mut c = marking(true, Scope::Queue);
    if let Some(ecn) = &mut c.ecn {
        ecn.replay = replay;
        ecn.profiles[0].1 = Red {
            kmin_bytes: 0,
            kmax_bytes: 1 << 20,
            pmax: 0.5,
        };
    }
    c.mmu.admission = Admission::Pfc(pfc(3500, None));
    let mut b = Bench::new(&c);
    for psn in 0..3 {
        b.receive(0, data(1, 2, psn));
        let ack = Packet {
            dst: 2,
            ..Packet::new(Kind::Ack, 2, 1000)
        };
        b.receive(0, ack);
    }
    let sent = b.all(2);
    assert_eq!(b.all(0).len(), 2, "a pause and a resume");
    (marked(&sent).iter().filter(|&&m| m).count(), b.ears.draws)
}

// NS3-15, NS3-16, NS3-17: the last of six packets leaves an empty queue, so it needs no random
// number.
#[test]
fn acks_and_pauses_draw_where_another_simulator_is_replayed() {
    assert_eq!(drawn(false), (3, 3), "data only");
    assert_eq!(drawn(true), (3, 5 + 2));
}

/// Creates a switch with BFC and hashed queues, so that the test can compute every queue. Flow 1
/// goes from port 0 to port 2.
fn bfc_bench(bfc: BfcConfig) -> Bench {
    let mut c = config();
    c.classify = Classify::Hash { queues: 4 };
    c.schedule = Schedule::RoundRobin;
    c.hop = HopConfig::Bfc(bfc);
    Bench::new(&c)
}

const BITMAP: BitmapConfig = BitmapConfig {
    period_ps: US,
    frame_bytes: 156,
    edges: true,
};

/// Delivers packets of a flow from queue `upstream` of the neighbour at port 0.
fn fill(b: &mut Bench, flow: u32, upstream: u16, packets: u32) {
    for psn in 0..packets {
        let packet = Packet {
            upstream_queue: upstream,
            ..data(flow, 2, psn)
        };
        b.receive(0, packet);
    }
}

/// Content of a BFC control frame.
#[derive(Debug, PartialEq)]
enum Told {
    Queue(bool, u16),
    Bitmap(Vec<u32>),
}

/// Returns the BFC frames that port 0 sends, with their sizes.
fn frames_back(b: &mut Bench) -> Vec<(Told, u16)> {
    let mut told = Vec::new();
    while let Some(id) = b.switch.transmit(b.now, 0, &mut b.arena, &mut b.ears) {
        let p = *b.arena.hot(id);
        let frame = match PauseQueue::read(&p) {
            Some(PauseQueue { on, queue }) => Told::Queue(on, queue),
            None => {
                assert!(Bitmap::read(&p).is_some());
                Told::Bitmap(b.arena.list(id).to_vec())
            }
        };
        told.push((frame, p.size));
        b.arena.free(id);
    }
    told
}

// BFC-30: periodic bitmaps
#[test]
fn bitmaps_repeat_at_every_period_what_is_paused_on_every_port() {
    let mut b = bfc_bench(BfcConfig {
        bitmap: Some(BITMAP),
        ..BFC
    });
    b.now = US / 2;
    fill(&mut b, 1, 7, 40);
    assert_eq!(b.ears.wakes, [US], "at the next multiple");
    assert_eq!(frames_back(&mut b), [(Told::Queue(true, 7), 64)]);
    for n in 1..=3 {
        b.now = n * US;
        b.switch.timer(b.now, &mut b.arena, &mut b.ears);
        assert_eq!(frames_back(&mut b), [(Told::Bitmap(vec![7]), 156)]);
        assert_eq!(b.all(1).len(), 1, "and an empty one to port 1");
    }
    let c = b.switch.hop_counters();
    assert_eq!((c["bfc_pauses"], c["bfc_bitmaps"]), (1, 12));
    assert_eq!(
        b.all(2).len(),
        43,
        "the packets, and three bitmaps in front"
    );
    assert_eq!(frames_back(&mut b), [(Told::Queue(false, 7), 64)]);
    b.sound();
}

// BFC-43: bitmaps without frames per change
#[test]
fn with_bitmaps_alone_a_pause_waits_for_the_next_and_a_resume_is_one_at_once() {
    let bitmap = BitmapConfig {
        edges: false,
        ..BITMAP
    };
    let mut b = bfc_bench(BfcConfig {
        bitmap: Some(bitmap),
        ..BFC
    });
    fill(&mut b, 1, 7, 40);
    fill(&mut b, 1, 9, 2);
    assert_eq!(frames_back(&mut b), []);
    b.now = US;
    b.switch.timer(b.now, &mut b.arena, &mut b.ears);
    assert_eq!(frames_back(&mut b), [(Told::Bitmap(vec![7, 9]), 156)]);
    while b.switch.hop_counters()["bfc_resumes"] == 0 {
        b.send(2);
    }
    assert_eq!(frames_back(&mut b), [(Told::Bitmap(vec![9]), 156)]);
    b.all(2);
    assert_eq!(frames_back(&mut b), [(Told::Bitmap(vec![]), 156)]);
    b.sound();
}

/// BFC at the upstream switch: a bitmap replaces the paused state of all queues of a port.
// BFC-30, BFC-31
#[test]
fn a_bitmap_sets_all_queues_of_a_port_and_repairs_what_was_lost() {
    let mut b = bfc_bench(BfcConfig {
        bitmap: Some(BITMAP),
        ..BFC
    });
    // Flows that leave through port 2, each in the queue of its hash.
    for flow in 0..40 {
        b.receive(0, data(flow, 2, flow));
    }
    let bitmap = |b: &mut Bench, queues: &[u32]| {
        let id = b.put(Bitmap.packet(156));
        b.arena.set_list(id, queues);
        b.switch.receive(b.now, 2, id, &mut b.arena, &mut b.ears);
    };
    // Queues 0 and 1 are control queues. Data of class 2 uses queues 2 to 5.
    bitmap(&mut b, &[2, 3, 4, 5]);
    assert!(!b.switch.waiting(2));
    assert!(b.switch.is_stuck(2));
    // A repeated pause changes nothing, and neither does a resume of a queue that is not paused.
    b.receive(2, pause_queue(true, 3));
    b.receive(2, pause_queue(true, 3));
    assert!(!b.switch.waiting(2));
    // The resumes of all queues except queue 5 are lost. The next bitmap resumes these queues.
    bitmap(&mut b, &[5]);
    let sent = b.all(2);
    assert!(sent.len() > 10 && sent.len() < 40);
    assert!(sent.iter().all(|p| (2..5).contains(&p.upstream_queue)));
    bitmap(&mut b, &[]);
    assert_eq!(sent.len() + b.all(2).len(), 40);
    b.sound();
}

// BFC-37: pauses of single flows at the upstream switch
#[test]
fn a_pause_that_names_a_flow_holds_only_its_packets_at_the_head() {
    let mut b = bfc_bench(BfcConfig {
        by: PauseBy::Flow,
        ..BFC
    });
    let alike = |flow: u32, psn: u32| Packet {
        hash: 77, // all flows in one queue
        ..data(flow, 2, psn)
    };
    for (flow, psn) in [(1, 0), (2, 1), (1, 2), (3, 3)] {
        b.receive(0, alike(flow, psn));
    }
    let hold = |b: &mut Bench, flow: u32, on: bool| {
        let named = pause_flow(on, flow);
        b.receive(2, named);
    };
    hold(&mut b, 2, true);
    assert_eq!(psns(&b.all(2)), [0], "what stands before it goes");
    assert!(b.switch.is_stuck(2));
    hold(&mut b, 1, true);
    hold(&mut b, 2, false);
    assert_eq!(psns(&b.all(2)), [1]);
    b.receive(0, alike(1, 4));
    hold(&mut b, 1, false);
    assert_eq!(psns(&b.all(2)), [2, 3, 4]);
    // The pause of a flow arrives before its first packet.
    hold(&mut b, 9, true);
    b.receive(0, alike(9, 5));
    assert!(!b.switch.waiting(2));
    hold(&mut b, 9, false);
    assert_eq!(psns(&b.all(2)), [5]);
    assert_eq!(b.switch.counters().repeated_pauses, 0);
    b.sound();
}

// BFC-37: pauses of single flows at the downstream switch
#[test]
fn the_pause_of_a_flow_carries_its_number_and_works_on_a_queue_of_its_own() {
    let mut c = config();
    c.classify = Classify::PerFlow;
    c.schedule = Schedule::Drr { quantum: 1000 };
    c.hop = HopConfig::Bfc(BfcConfig {
        by: PauseBy::Flow,
        ..BFC
    });
    let mut b = Bench::new(&c);
    fill(&mut b, 1, 7, 40);
    let pause = b.send(0).unwrap();
    let named = PauseFlow {
        on: true,
        flow: 1,
        queue: 7,
    };
    assert_eq!(PauseFlow::read(&pause), Some(named));
    b.receive(3, data(2, 2, 99));
    let held = pause_flow(true, 1);
    b.receive(2, held);
    assert_eq!(psns(&b.all(2)), [99], "only the other flow goes on");
    b.receive(2, pause_flow(false, 1));
    assert_eq!(b.all(2).len(), 40);
    let resume = PauseFlow { on: false, ..named };
    let sent = b.send(0).and_then(|p| PauseFlow::read(&p));
    assert_eq!(sent, Some(resume), "and is let go upstream");
    b.sound();
}

// BFC-14, BFC-37: a flow pause does not stop frames and ACKs
#[test]
fn frames_and_acks_of_a_flow_leave_by_a_port_that_holds_it() {
    let mut b = bfc_bench(BfcConfig {
        by: PauseBy::Flow,
        ..BFC
    });
    let named = |on: bool| pause_flow(on, 1);
    b.receive(2, named(true));
    // With new routes, packets of the flow may leave through the port at which earlier ones
    // arrived.
    for psn in 0..40 {
        b.receive(2, data(1, 2, psn));
    }
    let pause = b.send(2).and_then(|p| PauseFlow::read(&p));
    assert_eq!(pause.map(|p| (p.flow, p.on)), Some((1, true)));
    b.receive(
        0,
        Packet {
            flow: 1,
            dst: 2,
            ..Packet::new(Kind::Ack, 1, 64)
        },
    );
    assert_eq!(b.send(2).map(|p| p.kind()), Some(Kind::Ack));
    assert!(!b.switch.waiting(2), "its data wait");
    b.receive(2, named(false));
    let sent = b.all(2);
    assert_eq!(sent.iter().filter(|p| p.kind() == Kind::Data).count(), 40);
    assert_eq!(b.switch.hop_counters()["bfc_resumes"], 1);
    b.sound();
}

// SW-51: shortest remaining bytes first
#[test]
fn the_flow_with_the_least_left_goes_first() {
    let mut c = config();
    c.classify = Classify::PerFlow;
    c.schedule = Schedule::ShortestRemaining;
    let mut b = Bench::new(&c);
    let mut put = |flow: u32, psn: u32, remaining: u64| {
        let cold = Cold {
            remaining,
            ..Cold::default()
        };
        let id = b.arena.alloc(data(flow, 2, psn), cold);
        b.switch.receive(b.now, 0, id, &mut b.arena, &mut b.ears);
    };
    for n in 0..3 {
        put(1, n, 9000 - 1000 * u64::from(n));
    }
    put(2, 10, 5000);
    put(2, 11, 4000);
    put(3, 20, 4500);
    let order = psns(&b.all(2));
    // The first packet of a queue determines the priority of the queue: 20 (4500 bytes) goes before
    // 10 (5000), then 11 (4000).
    assert_eq!(order, [20, 10, 11, 0, 1, 2]);
    b.sound();
}

/// Creates a switch with SPFC and a pool of 60 000 B. Normal ports are paused above 3000 B.
fn selective(xon_offset: u64) -> Bench {
    selective_with(xon_offset, Beside::Bytes(0))
}

/// Creates a switch as `selective` does, with additional memory for victim ports.
fn selective_with(xon_offset: u64, beside: Beside) -> Bench {
    let mut c = config();
    c.mmu.admission = Admission::Pfc(Pfc {
        accounting: Accounting::Pool,
        threshold: PfcThreshold::Static(3000),
        victims: Some(VictimConfig {
            interval_ps: US,
            k: 10 << 16, // 12 500 B in 1 µs: two packets make a port a victim
            rate: None,
            count: Departures::Packets,
            detects_at_once: false,
            unpaused_waits: false,
            resumes_at_once: false,
            beside,
        }),
        xon_offset,
        frame_bytes: 64,
        headroom: Some(5000),
        headroom_pool: None,
        headroom_beside: true,
        response_ps: 0,
        pause: PauseTime::UntilResumed,
    });
    c.mmu.buffer_bytes = 60_000;
    Bench::new(&c)
}

/// Sends enough packets through a port within an interval to make it a victim port.
fn make_victim(b: &mut Bench, port: u16) {
    for psn in 0..2 {
        b.receive(port, data(u32::from(port), 3, psn));
        assert_eq!(b.send(3).map(|p| p.kind()), Some(Kind::Data));
    }
}

// SPFC-01, SPFC-02, SPFC-07: buffer of victim ports
#[test]
fn two_victim_ports_fill_the_pool_and_are_paused_before_it_overflows() {
    let mut b = selective(0);
    make_victim(&mut b, 0);
    make_victim(&mut b, 1);
    b.now = US;
    let mut psn = 0;
    while b.switch.hop_counters()["pfc_pauses"] < 2 {
        let port = if b.switch.hop_counters()["pfc_pauses"] == 0 {
            psn as u16 % 2
        } else {
            1
        };
        b.receive(port, data(7, 3, psn));
        b.sound();
        psn += 1;
    }
    assert!(b.ears.drops.is_empty());
    // The rest of the pool is for the last frame of each of the four ports.
    let used = b.switch.buffer_used();
    assert!((60_000 - 4 * 1048..=60_000).contains(&used), "{used}");
    let c = b.switch.hop_counters();
    let (spared, by_victims) = (c["spfc_spared"], c["spfc_victim_pauses"]);
    assert_eq!((spared, by_victims), (u64::from(psn) - 2 * 3 - 2, 2));
    // The headroom of a normal port also has room for its frames in flight.
    b.receive(2, data(8, 3, 0));
    assert!(b.ears.drops.is_empty());
    assert_eq!(b.switch.hop_counters()["pfc_pauses"], 3);
    b.sound();
}

// SPFC-08, SPFC-09: additional memory of victim ports
#[test]
fn a_victim_port_keeps_its_own_bytes_in_a_full_pool_where_there_is_memory_beside_it() {
    for (beside, most) in [
        (Beside::Bytes(20_000), 80_000),
        (Beside::Buffer, 2 * 60_000),
        (Beside::Unbounded, 2 * 60_000),
    ] {
        let mut b = selective_with(0, beside);
        make_victim(&mut b, 0);
        make_victim(&mut b, 1);
        b.now = US;
        let mut psn = 0;
        while b.switch.hop_counters()["pfc_pauses"] == 0 {
            b.receive(psn as u16 % 2, data(7, 3, psn));
            b.sound();
            psn += 1;
        }
        // `most` is pool plus additional memory, or 60 000 B per victim port if it has no limit.
        let used = b.switch.buffer_used();
        assert!((most - 5 * 1048..=most + 1048).contains(&used), "{used}");
        let beyond = b.switch.hop_counters()["spfc_beside_bytes"];
        assert!((used - 60_000 - 1048..=used - 60_000).contains(&beyond));
        // A normal port has a threshold of 0: its first packet causes a pause, and no packet is
        // lost.
        b.receive(2, data(8, 3, 0));
        assert_eq!(b.switch.hop_counters()["pfc_pauses"], 2);
        assert!(b.ears.drops.is_empty());
        b.sound();
    }
}

// SPFC-03, SPFC-04: a port stops being a victim
#[test]
fn a_port_that_is_no_victim_any_more_is_paused_by_its_next_packet_and_resumed_as_normal() {
    let mut b = selective(1000);
    make_victim(&mut b, 0);
    b.now = US;
    for psn in 0..10 {
        b.receive(0, data(1, 3, psn));
    }
    assert_eq!(
        b.switch.hop_counters()["pfc_pauses"],
        0,
        "10 000 B are no matter"
    );
    b.now = 2 * US; // no packet has left in this interval
    assert_eq!(b.switch.hop_counters()["pfc_pauses"], 0);
    b.receive(0, data(1, 3, 10));
    assert_eq!(b.switch.hop_counters()["pfc_pauses"], 1);
    assert_eq!(
        b.switch.hop_counters()["spfc_victim_pauses"],
        0,
        "it was a normal port"
    );
    for left in (0..11).rev() {
        assert_eq!(b.send(3).map(|p| p.psn), Some(10 - left));
        assert_eq!(
            b.switch.hop_counters()["pfc_resumes"],
            u64::from(left <= 2),
            "{left}"
        );
    }
    b.sound();
}

/// A control frame of an unknown scheme, for example from a later version.
#[derive(Debug)]
struct Foreign;

impl Frame for Foreign {
    const SCHEME: SchemeNumber = 200;
    const NUMBER: u8 = 0;

    fn words(&self) -> Words {
        Words {
            number: 1,
            other: u32::MAX,
            endpoint: 2,
            ..Words::NONE
        }
    }

    fn from_words(_: Words) -> Self {
        Self
    }
}

// SW-40: unknown frame
#[test]
fn a_frame_that_no_scheme_knows_changes_nothing() {
    let mut b = Bench::new(&config());
    b.receive(0, data(1, 2, 0));
    b.receive(2, Foreign.packet(64));
    assert_eq!(b.ears.pauses, []);
    assert_eq!(psns(&b.all(2)), [0]);
    assert_eq!(b.arena.alive(), 0, "its record is free again");
    b.sound();
}
