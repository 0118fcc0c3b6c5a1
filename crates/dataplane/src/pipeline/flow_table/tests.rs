use super::*;
use crate::config::Classify;
use crate::config::tests::config;
use crate::declaration::Needs;
use crate::packet::{Arena, Cold, Kind};
use crate::pipeline::queueing::Taken;
use crate::units::{NS, Rate, US};

fn table(queues: u16) -> (FlowTable, Queueing, Arena) {
    table_with(queues, AssignConfig::PAPER)
}

fn table_with(queues: u16, assign: AssignConfig) -> (FlowTable, Queueing, Arena) {
    let mut c = config();
    let entries = 100 * u32::from(queues);
    c.classify = Classify::Dynamic {
        queues,
        table: entries,
        sticky_ps: 4 * US,
    };
    let queueing = Queueing::new(&c, &Needs::default(), &[(Rate::from_gbps(100), 0); 2]);
    let table = FlowTable::new(2, queues, entries, 4 * US, assign, &queueing);
    (table, queueing, Arena::new())
}

fn packet(flow: u32) -> Packet {
    Packet {
        flow,
        hash: flow.wrapping_mul(0x9e37_79b9),
        ..Packet::new(Kind::Data, 2, 1048)
    }
}

fn arrive(t: &mut FlowTable, q: &mut Queueing, a: &mut Arena, now: Time, p: Packet) -> Place {
    let place = t.place(now, 0, &p, q, &mut || 0);
    t.commit(now, &p, place, true, q);
    let id = a.alloc(p, Cold::default());
    q.push(place.queue, id, a);
    place
}

// BFC-02
#[test]
fn new_flows_take_different_empty_queues_then_share() {
    let (mut t, mut q, mut a) = table(4);
    let mut seen: Vec<QueueId> = (0..4)
        .map(|f| arrive(&mut t, &mut q, &mut a, 0, packet(f)).queue)
        .collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 4, "no two flows share while a queue is empty");
    let fifth = arrive(&mut t, &mut q, &mut a, 0, packet(4));
    assert_eq!(fifth.assigned, Assigned::Shared);
    assert_eq!(t.shared, 1);
}

// BFC-02
#[test]
fn an_empty_queue_that_is_paused_is_not_chosen() {
    let (mut t, mut q, mut a) = table(2);
    let first = q.queue_of(0, 2, 0);
    q.set_paused(first, true, &a);
    assert_eq!(
        arrive(&mut t, &mut q, &mut a, 0, packet(1)).queue,
        q.queue_of(0, 2, 1)
    );
}

// BFC-03, BFC-04
#[test]
fn a_flow_keeps_its_queue_while_active_and_for_the_sticky_time() {
    let (mut t, mut q, mut a) = table(4);
    let p = packet(1);
    let queue = arrive(&mut t, &mut q, &mut a, 0, p).queue;
    assert_eq!(
        arrive(&mut t, &mut q, &mut a, 50 * US, p).queue,
        queue,
        "active"
    );
    for _ in 0..2 {
        q.pop(0, &a).unwrap();
        t.departed(60 * US, 0, &p);
    }
    assert_eq!(t.packets(), 0);
    let within = t.place(64 * US, 0, &p, &q, &mut || 0);
    assert_eq!((within.queue, within.assigned), (queue, Assigned::Before));
    let after = t.place(64 * US + NS, 0, &p, &q, &mut || 0);
    assert_eq!(after.assigned, Assigned::Empty);
    assert_ne!(after.queue, queue, "the search goes on where it stopped");
}

// BFC-01
#[test]
fn flows_of_one_entry_share_its_queue_and_are_counted() {
    let (mut t, mut q, mut a) = table(4);
    let (one, two) = (
        packet(1),
        Packet {
            flow: 2,
            ..packet(1)
        },
    );
    let queue = arrive(&mut t, &mut q, &mut a, 0, one).queue;
    assert_eq!(arrive(&mut t, &mut q, &mut a, 0, two).queue, queue);
    assert_eq!(t.collisions, 1);
}

/// Dequeues all packets of port 0 and subtracts them from the table.
fn drain(t: &mut FlowTable, q: &mut Queueing, a: &Arena, now: Time) {
    while let Some(Taken { id, .. }) = q.pop(0, a) {
        t.departed(now, 0, a.hot(id));
    }
}

// BFC-40
#[test]
fn an_empty_queue_that_is_paused_can_be_made_eligible() {
    let assign = AssignConfig {
        paused_eligible: true,
        ..AssignConfig::PAPER
    };
    let (mut t, mut q, mut a) = table_with(2, assign);
    let first = q.queue_of(0, 2, 0);
    q.set_paused(first, true, &a);
    assert_eq!(arrive(&mut t, &mut q, &mut a, 0, packet(1)).queue, first);
}

// BFC-41
#[test]
fn search_may_start_anywhere_and_a_full_port_may_give_each_entry_its_queue() {
    let assign = AssignConfig {
        start: SearchStart::Random { reserved: 0 },
        when_full: WhenFull::ByEntry,
        ..AssignConfig::PAPER
    };
    let (t, mut q, mut a) = table_with(4, assign);
    let mut half = || 1 << 63;
    let place = t.place(0, 0, &packet(1), &q, &mut half);
    assert_eq!(place.queue, q.queue_of(0, 2, 2), "half way through four");
    for nth in 0..4 {
        let id = a.alloc(packet(9), Cold::default());
        let queue = q.queue_of(0, 2, nth);
        q.push(queue, id, &mut a);
    }
    let shared = |random: u64, flow: u32| {
        let place = t.place(0, 0, &packet(flow), &q, &mut || random);
        assert_eq!(place.assigned, Assigned::Shared);
        place.queue
    };
    let queues: Vec<QueueId> = (0..40).map(|flow| shared(0, flow)).collect();
    assert!((0..40).all(|flow| shared(u64::MAX, flow) == queues[flow as usize]));
    assert!((0..4).all(|nth| queues.contains(&q.queue_of(0, 2, nth))));
    // The queue depends on entry and port: at port 1 the same flows get other queues.
    for nth in 0..4 {
        let id = a.alloc(packet(9), Cold::default());
        let queue = q.queue_of(1, 2, nth);
        q.push(queue, id, &mut a);
    }
    let elsewhere = |flow: u32| t.place(0, 1, &packet(flow), &q, &mut || 0).queue;
    let first = q.queue_of(1, 2, 0).index() - q.queue_of(0, 2, 0).index();
    assert!((0..40).any(|flow| elsewhere(flow).index() - first != queues[flow as usize].index()));
}

// BFCC-06
#[test]
fn the_queue_of_an_entry_depends_on_its_slot_and_port_in_any_pipeline() {
    let of = |pipelines, pipeline: u64, port: u16, slot: u64| {
        let assign = AssignConfig {
            pipelines,
            ..AssignConfig::PAPER
        };
        let (t, ..) = table_with(31, assign);
        let part = u64::from(port) * u64::from(pipelines) + pipeline;
        t.by_entry(port, part * u64::from(t.per_port) + slot, 31)
    };
    // The seeds (slot × 64 + port + 1) are 1, 2, and 2 × 64 + 2.
    assert_eq!(u32::from(of(1, 0, 0, 0)), 1_804_289_383 % 31);
    assert_eq!(u32::from(of(1, 0, 1, 0)), 1_505_335_290 % 31);
    assert_eq!(u32::from(of(1, 0, 1, 2)), c_random::first(130) % 31);
    for (port, slot) in [(0, 0), (1, 0), (1, 2)] {
        for pipeline in 0..2 {
            assert_eq!(of(2, pipeline, port, slot), of(1, 0, port, slot));
        }
    }
}

// BFC-41
#[test]
fn a_search_that_starts_at_a_reserved_number_goes_on_with_the_first_queue() {
    let assign = AssignConfig {
        start: SearchStart::Random { reserved: 5 },
        ..AssignConfig::PAPER
    };
    let (t, q, _) = table_with(31, assign);
    let mut found = [0; 31];
    for nth in 0..36_u128 {
        let mut draw = || ((nth << 64) / 36 + 1) as u64; // just above nth/36 of the way
        let place = t.place(0, 0, &packet(1), &q, &mut draw);
        found[place.queue.index() - q.queue_of(0, 2, 0).index()] += 1;
    }
    assert_eq!((found[0], &found[1..]), (6, &[1; 30][..]));
}

// BFC-38
#[test]
fn a_map_that_is_read_now_and_then_lags_behind_the_queues() {
    let assign = AssignConfig {
        bitmap_ps: Some(US),
        ..AssignConfig::PAPER
    };
    let (mut t, mut q, mut a) = table_with(2, assign);
    arrive(&mut t, &mut q, &mut a, 0, packet(1));
    arrive(&mut t, &mut q, &mut a, 0, packet(2));
    drain(&mut t, &mut q, &a, 0);
    // Both queues are empty again, but the bitmap does not contain this yet.
    let third = arrive(&mut t, &mut q, &mut a, 0, packet(3));
    assert_eq!((third.assigned, t.stale), (Assigned::Shared, 0));
    drain(&mut t, &mut q, &a, 0);
    t.refresh(&q);
    // Now the bitmap shows both queues as empty. One gets a packet without the table.
    let full = q.queue_of(0, 2, t.start[0]);
    let id = a.alloc(packet(9), Cold::default());
    q.push(full, id, &mut a);
    let fourth = arrive(&mut t, &mut q, &mut a, 20 * US, packet(4));
    assert_eq!((fourth.queue, fourth.assigned), (full, Assigned::Empty));
    assert_eq!(t.stale, 1);
    t.refresh(&q);
    let fifth = arrive(&mut t, &mut q, &mut a, 20 * US, packet(5));
    assert_ne!(fifth.queue, full, "it has been read again");
}

// BFC-38
#[test]
fn pipelines_have_entries_and_maps_of_their_own_and_start_apart() {
    let assign = AssignConfig {
        bitmap_ps: Some(US),
        pipelines: 2,
        ..AssignConfig::PAPER
    };
    let (mut t, mut q, mut a) = table_with(4, assign);
    let by = |ingress, flow| Packet {
        ingress,
        ..packet(flow)
    };
    assert_eq!(t.per_port, 200, "half of 400 entries in each");
    assert_ne!(t.index(0, &by(0, 1)), t.index(0, &by(1, 1)));
    let one = arrive(&mut t, &mut q, &mut a, 0, by(0, 1));
    let two = arrive(&mut t, &mut q, &mut a, 0, by(1, 2));
    assert_eq!(one.queue, q.queue_of(0, 2, 0));
    assert_eq!(two.queue, q.queue_of(0, 2, 2));
    // The bitmap of pipeline 1 does not contain the assignments of pipeline 0.
    for flow in 3..5 {
        arrive(&mut t, &mut q, &mut a, 0, by(1, flow));
    }
    assert_eq!(t.stale, 1, "queue 0 by way of the second");
}

// BFC-47
#[test]
fn hashed_flows_keep_to_their_queues_and_are_counted() {
    let assign = AssignConfig {
        by: AssignBy::Hash,
        ..AssignConfig::PAPER
    };
    let (mut t, mut q, mut a) = table_with(4, assign);
    let mut taken = [false; 4];
    for flow in 0..40 {
        let p = packet(flow);
        let nth = hashed(p.hash, 4);
        taken[usize::from(nth)] = true;
        let place = arrive(&mut t, &mut q, &mut a, 0, p);
        assert_eq!(place.queue, q.queue_of(0, 2, nth), "empty or not");
    }
    assert_eq!((t.packets(), taken), (40, [true; 4]));
    // BFC-36: flows without the incast label do not use the queue reserved for incasts.
    let labelled = AssignConfig {
        incast_queue: true,
        ..assign
    };
    let (mut apart, mut others, mut b) = table_with(4, labelled);
    for flow in 0..40 {
        let place = arrive(&mut apart, &mut others, &mut b, 0, packet(flow));
        assert_ne!(place.queue, others.queue_of(0, 2, 0), "no incast");
    }
    let alone = |t: &mut FlowTable| {
        let p = packet(100);
        let place = t.place(0, 0, &p, &q, &mut || 0);
        t.commit(0, &p, place, true, &q)
    };
    assert!(alone(&mut t), "the first of its flow");
    assert!(!alone(&mut t), "the second");
}

// BFC-36
#[test]
fn labelled_incast_flows_share_one_queue_that_no_other_flow_gets() {
    let assign = AssignConfig {
        incast_queue: true,
        ..AssignConfig::PAPER
    };
    let (mut t, mut q, mut a) = table_with(4, assign);
    let apart = q.queue_of(0, 2, 0);
    for flow in 0..10 {
        let labelled = Packet {
            flags: flag::INCAST,
            ..packet(flow)
        };
        assert_eq!(arrive(&mut t, &mut q, &mut a, 0, labelled).queue, apart);
    }
    for flow in 10..50 {
        assert_ne!(arrive(&mut t, &mut q, &mut a, 0, packet(flow)).queue, apart);
    }
    assert_eq!(t.shared, 37, "three queues are left for the others");
}

// BFC-32
#[test]
fn packets_that_are_not_sampled_do_not_count_in_the_table() {
    let (mut t, q, _) = table(4);
    let p = packet(1);
    let place = t.place(0, 0, &p, &q, &mut || 0);
    assert!(!t.commit(0, &p, place, false, &q));
    assert_eq!(t.packets(), 0);
    assert!(t.commit(0, &p, place, true, &q));
    assert_eq!(t.packets(), 1);
}

// BFC-01
#[test]
fn entries_of_different_ports_differ_however_large_the_table_is() {
    let (_, q, _) = table(4);
    let t = FlowTable::new(65_535, 31, 1 << 22, US, AssignConfig::PAPER, &q);
    let last = Packet {
        hash: u32::MAX,
        ..packet(1)
    };
    assert_eq!(t.index(65_534, &last), 65_535 * (1 << 22) - 1);
    let first = Packet { hash: 0, ..last };
    assert_eq!(t.index(1, &first), t.index(0, &last) + 1);
}

// BFC-04
#[test]
fn the_sticky_time_follows_the_hops_of_each_switch() {
    let mut c = config();
    c.classify = Classify::Dynamic {
        queues: 4,
        table: 400,
        sticky_ps: 7 * US,
    };
    let far = [(Rate::from_gbps(100), US), (Rate::from_gbps(200), 200 * US)];
    assert_eq!(sticky_ps(&c, None, &far), 7 * US);
    c.assign.sticky_hrtts = Some(2 << 16);
    assert_eq!(sticky_ps(&c, None, &far), 800 * US);
    assert_eq!(sticky_ps(&c, None, &far[..1]), 4 * US);
}

// BFC-32
#[test]
fn a_share_of_the_packets_is_sampled_and_a_packet_always_alike() {
    let sampling = Sampling::new(Some(Sampling::ALL / 2), 9);
    let nth = |psn| Packet { psn, ..packet(1) };
    let sampled = (0..10_000).filter(|&psn| sampling.counts(&nth(psn)));
    let sampled = sampled.count();
    assert!((4_800..5_200).contains(&sampled), "{sampled} of 10 000");
    for psn in 0..100 {
        assert_eq!(sampling.counts(&nth(psn)), sampling.counts(&nth(psn)));
    }
    assert!((0..100).all(|psn| Sampling::new(None, 9).counts(&nth(psn))));
}
