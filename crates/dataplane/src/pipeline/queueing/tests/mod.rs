use super::*;
use crate::config::tests::config;
use crate::packet::{Cold, Kind, Packet};

const LINKS: [(Rate, Time); 2] = [(Rate::from_gbps(100), 0); 2];

fn packet(arena: &mut Arena, flow: u32, class: u8, size: u16) -> PacketId {
    let p = Packet {
        flow,
        ..Packet::new(Kind::Data, class, size)
    };
    arena.alloc(p, Cold::default())
}

fn hashed(schedule: Schedule) -> Queueing {
    let mut c = config();
    c.classify = Classify::Hash { queues: 4 };
    c.schedule = schedule;
    Queueing::new(&c, &Needs::default(), &LINKS)
}

/// Dequeues all packets of a port and returns their flow IDs in the order of departure.
fn drain(queueing: &mut Queueing, port: u16, arena: &Arena) -> Vec<u32> {
    std::iter::from_fn(|| {
        queueing
            .pop(port, arena)
            .map(|taken| arena.hot(taken.id).flow)
    })
    .collect()
}

// SW-20
#[test]
fn drr_shares_bytes_not_packets() {
    let mut arena = Arena::new();
    let mut queueing = hashed(Schedule::Drr { quantum: 1000 });
    let (a, b) = (queueing.queue_of(0, 2, 0), queueing.queue_of(0, 2, 1));
    for _ in 0..3 {
        let id = packet(&mut arena, 1, 2, 1000);
        queueing.push(a, id, &mut arena);
    }
    for _ in 0..9 {
        let id = packet(&mut arena, 2, 2, 250);
        queueing.push(b, id, &mut arena);
    }
    assert_eq!(
        drain(&mut queueing, 0, &arena),
        [1, 2, 2, 2, 2, 1, 2, 2, 2, 2, 1, 2]
    );
}

// SW-25, ENG-30
#[test]
fn a_queue_made_for_another_flow_goes_on_counting_what_was_taken() {
    let mut arena = Arena::new();
    let mut c = config();
    c.classify = Classify::PerFlow;
    let mut queueing = Queueing::new(&c, &Needs::default(), &LINKS[..1]);
    let mut taken = Vec::new();
    for flow in 0..3 {
        let queue = queueing.make(0, 2);
        for _ in 0..2 {
            let id = packet(&mut arena, flow, 2, 1000);
            queueing.push(queue, id, &mut arena);
        }
        queueing.for_each_queue(0, |state| {
            assert_eq!((state.queue, state.bytes), (queue, 2000));
            taken.push(state.taken);
        });
        assert_eq!(drain(&mut queueing, 0, &arena), [flow, flow]);
        queueing.release(queue);
    }
    assert_eq!(taken, [0, 2, 4]);
}

// SW-21
#[test]
fn packet_round_robin_takes_one_of_each() {
    let mut arena = Arena::new();
    let mut queueing = hashed(Schedule::RoundRobin);
    for (nth, flow, n) in [(0, 1, 3), (1, 2, 1), (3, 3, 2)] {
        for _ in 0..n {
            let id = packet(&mut arena, flow, 2, 1000);
            let q = queueing.queue_of(0, 2, nth);
            queueing.push(q, id, &mut arena);
        }
    }
    assert_eq!(drain(&mut queueing, 0, &arena), [1, 2, 3, 1, 3, 1]);
}

// SW-27
#[test]
fn cyclic_round_robin_goes_by_number() {
    let mut arena = Arena::new();
    let mut queueing = hashed(Schedule::Cyclic);
    let put = |queueing: &mut Queueing, arena: &mut Arena, nth: u16, packets: u32| {
        for _ in 0..packets {
            let id = packet(arena, u32::from(nth), 2, 1000);
            let queue = queueing.queue_of(0, 2, nth);
            queueing.push(queue, id, arena);
        }
    };
    put(&mut queueing, &mut arena, 1, 2);
    put(&mut queueing, &mut arena, 3, 2);
    let first = queueing.pop(0, &arena).unwrap();
    assert_eq!(arena.hot(first.id).flow, 1);
    // The packet of queue 2 was added last, but queue 2 is served before queue 3.
    put(&mut queueing, &mut arena, 2, 1);
    assert_eq!(drain(&mut queueing, 0, &arena), [2, 3, 1, 3]);
    assert!(!queueing.waiting(0));
}

// SW-22
#[test]
fn lower_classes_go_strictly_first_and_closed_classes_wait() {
    let mut arena = Arena::new();
    let mut queueing = hashed(Schedule::RoundRobin);
    for class in [2, 1, 0] {
        let id = packet(&mut arena, u32::from(class), class, 64);
        let q = queueing.queue_of(0, class, 0);
        queueing.push(q, id, &mut arena);
    }
    let data = 1 << 2;
    queueing.ports[0].closed = queueing.gate.block(0, data, true);
    assert_eq!(drain(&mut queueing, 0, &arena), [0, 1]);
    assert!(!queueing.waiting(0));
    queueing.ports[0].closed = queueing.gate.block(0, data, false);
    assert!(queueing.waiting(0));
    assert_eq!(drain(&mut queueing, 0, &arena), [2]);
}

// SW-23
#[test]
fn a_paused_queue_does_not_send_and_does_not_count_as_active() {
    let mut arena = Arena::new();
    let mut queueing = hashed(Schedule::Drr { quantum: 1000 });
    for nth in 0..3 {
        let q = queueing.queue_of(1, 2, nth);
        for _ in 0..2 {
            let id = packet(&mut arena, u32::from(nth), 2, 500);
            queueing.push(q, id, &mut arena);
        }
    }
    assert_eq!(queueing.open(1, 2), 3);
    let q0 = queueing.queue_of(1, 2, 0);
    assert!(!queueing.set_paused(q0, true, &arena));
    assert!(
        !queueing.set_paused(q0, true, &arena),
        "a repeated pause changes nothing"
    );
    assert_eq!(queueing.open(1, 2), 2);
    assert_eq!(drain(&mut queueing, 1, &arena), [1, 1, 2, 2]);
    assert!(queueing.set_paused(q0, false, &arena));
    assert_eq!(drain(&mut queueing, 1, &arena), [0, 0]);
    assert_eq!(queueing.ports[1].bytes, 0);
    assert_eq!(queueing.ports[1].max_bytes, 3000);
}
