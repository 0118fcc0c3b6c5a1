//! Rules of the engine that are independent of schemes; hosts with several ports; several classes.

use fabric::NodeId;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::common::*;
use dataplane::classes::{MAX_CLASSES, traffic_class};
use dataplane::config::{
    Accounting, Admission, Alpha, ClassConfig, PauseTime, Pfc, PfcThreshold, Recovery,
};
use dataplane::units::{MS, US};
use fabric::engine::Simulation;
use traffic::Flow;

/// Two switches, connected by one link, with every host connected to both.
fn dual_homed(hosts: u32) -> TopologySpec {
    let mut links = Vec::new();
    for host in 0..hosts {
        links.push((host, hosts, LINK));
        links.push((host, hosts + 1, LINK));
    }
    links.push((hosts, hosts + 1, LINK));
    named(hosts, 2, links)
}

// ENG-11
#[test]
fn flows_of_a_host_with_two_ports_are_spread_over_both() {
    let flows: Vec<Flow> = (0..60)
        .map(|i| flow(i, u64::from(i) * 20 * US, 0, 1, 5000))
        .collect();
    let (outcome, keep) = line_rate(dual_homed(2), flows).run();
    let sent = [port(&outcome, 0, 2), port(&outcome, 0, 3)].map(|p| p.tx_data_packets);
    assert_eq!(sent[0] + sent[1], 300);
    assert!(sent[0] % 5 == 0, "a flow stays on its port");
    assert!(sent.iter().all(|&n| n > 100), "{sent:?}");
    let received = [port(&outcome, 2, 1), port(&outcome, 3, 1)].map(|p| p.tx_data_packets);
    assert!(received.iter().all(|&n| n > 100), "{received:?}");
    // The receiver always has a port at the switch of the sender's port, so no packet crosses the
    // link between the switches.
    let crossing = port(&outcome, 2, 3).tx_data_packets + port(&outcome, 3, 2).tx_data_packets;
    assert_eq!(crossing, 0);
    // The flows do not overlap, so each FCT is the ideal FCT of the flow's path.
    for r in &keep.flows {
        assert_eq!(
            r.received_ps.unwrap() - r.flow.start_ps,
            r.ideal_received_ps
        );
    }
}

// ENG-11
#[test]
fn sender_and_receiver_choose_apart_where_all_ports_are_as_near() {
    let pairs = TopologySpec::DualHomed {
        pairs: 2,
        hosts: 4,
        aggs: 1,
        link: LINK,
        uplink: LINK,
    };
    // Flows from host 0 in pair 0 to host 2 in pair 1.
    let flows: Vec<Flow> = (0..120)
        .map(|i| flow(i, u64::from(i) * 20 * US, 0, 2, 5000))
        .collect();
    let (outcome, keep) = line_rate(pairs, flows).run();
    for tor in [4, 5] {
        let sent = port(&outcome, tor, 8).tx_data_packets;
        assert!(
            (200..400).contains(&sent),
            "{sent} of 600 by tor{}",
            tor - 4
        );
    }
    for tor in [6, 7] {
        let received = port(&outcome, tor, 2).tx_data_packets;
        assert!((200..400).contains(&received), "{received} of 600");
    }
    for r in &keep.flows {
        assert_eq!(
            r.received_ps.unwrap() - r.flow.start_ps,
            r.ideal_received_ps
        );
    }
}

// ENG-11
#[test]
fn two_ports_carry_twice_as_much_as_one() {
    let flows: Vec<Flow> = (0..40).map(|i| flow(i, 0, 0, 1, 250_000)).collect();
    let (outcome, keep) = line_rate(dual_homed(2), flows).run();
    let last = (0..40).map(|i| keep.fct(i)).max().unwrap();
    let one_port = 40 * 250 * FRAME_PS;
    assert!(last < one_port * 8 / 10, "{last} ps of {one_port}");
    assert_eq!(outcome.finished, 40);
}

/// Flows with the same seed and flow ID use the same path, with any scheme.
// ENG-10
#[test]
fn all_schemes_send_a_flow_over_the_same_path() {
    let flows: Vec<Flow> = (0..50)
        .map(|i| flow(i, u64::from(i) * US, i % 8, 8 + (i * 5) % 8, 3000))
        .collect();
    let uplinks = |setup: Setup| -> Vec<u64> {
        let (outcome, _) = setup.run();
        assert_eq!(outcome.counters.retransmissions, 0);
        let up = outcome.ports.iter().filter(|p| p.node == NodeId::new(16));
        up.map(|p| p.tx_data_packets).collect()
    };
    let first = uplinks(line_rate(leaf_spine(2, 8, 8), flows.clone()));
    assert!(
        first.iter().filter(|&&n| n > 0).count() > 4,
        "several spines are used"
    );
    for (name, preset) in PRESETS {
        let same = uplinks(preset(leaf_spine(2, 8, 8), flows.clone()));
        assert_eq!(first, same, "{name}");
    }
    let mut other = line_rate(leaf_spine(2, 8, 8), flows);
    other.seed = 2;
    assert_ne!(first, uplinks(other), "another seed, other paths");
}

// ENG-12
#[test]
fn flows_are_drawn_from_the_traffic_as_their_time_comes() {
    let drawn = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&drawn);
    let mut plan = line_rate(star(2), Vec::new()).plan();
    plan.feed = Box::new((0..1000).map(move |i| {
        counter.fetch_add(1, Ordering::Relaxed);
        flow(i, u64::from(i) * US, 0, 1, 500)
    }));
    let mut keep = Keep::default();
    let outcome = Simulation::new(plan).run(&mut keep, &mut |progress| {
        let ahead = u64::from(drawn.load(Ordering::Relaxed)) - progress.started;
        assert!(ahead <= 1, "{ahead} flows were drawn before their time");
        true
    });
    assert_eq!(outcome.finished, 1000);
}

/// Results and random numbers of a node do not depend on events at other nodes.
// ENG-08
#[test]
fn what_happens_elsewhere_changes_nothing_here() {
    let topology = TopologySpec::Dumbbell {
        left: 4,
        right: 4,
        link: LINK,
        core: LINK,
    };
    let here: Vec<Flow> = (0..3).map(|i| flow(i, 0, i, 3, 400_000)).collect();
    let mut both = here.clone();
    both.extend((0..3).map(|i| flow(3 + i, 0, 4 + i, 7, 300_000)));
    let run = |flows| {
        let mut s = dctcp(topology.clone(), flows);
        // ECN marks are probabilistic, so the result depends on the random streams.
        s.switch.ecn = Some(red(20_000, 400_000, 0.5));
        let (outcome, keep) = s.run();
        assert!(outcome.counters.marks > 20);
        [keep.fct(0), keep.fct(1), keep.fct(2)]
    };
    assert_eq!(run(here), run(both));
}

/// The choice of a packet can kick another port: if the departure makes the switch resume its
/// upstream node, the resume frame is sent in the same instant, in the next round.
// ENG-04, ENG-32
#[test]
fn a_resume_leaves_at_the_instant_of_the_departure_that_caused_it() {
    let slow = link(1, US);
    let mut s = line_rate(
        named(2, 1, vec![(0, 2, LINK), (1, 2, slow)]),
        vec![flow(0, 0, 0, 1, 100_000)],
    );
    s.switch.mmu.admission = Admission::Pfc(Pfc {
        accounting: Accounting::Pool,
        threshold: PfcThreshold::Static(10_000),
        xon_offset: 4000,
        frame_bytes: 64,
        headroom: None,
        response_ps: 0,
        pause: PauseTime::UntilResumed,
        headroom_pool: None,
        headroom_beside: false,
        victims: None,
    });
    s.nic.ack_every = 1 << 20;
    let (outcome, keep) = s.run();
    assert!(keep.pauses.len() >= 2, "{:?}", keep.pauses);
    // The first frame leaves at its arrival. Every other frame leaves when the transmission of the
    // previous one ends.
    let (first, each) = (FRAME_PS + US, slow.rate.serialisation_ps(FRAME));
    for pause in &keep.pauses {
        assert_eq!((pause.node.bits(), pause.port, pause.class), (0, 0, 2));
        let left = pause.to_ps - US - 64 * 80;
        assert_eq!((left - first) % each, 0, "XON was sent as a packet left");
    }
    let paused: u64 = keep.pauses.iter().map(|p| p.to_ps - p.from_ps).sum();
    let nic = port(&outcome, 0, 2);
    assert_eq!(
        (nic.pauses, nic.paused_ps),
        (keep.pauses.len() as u64, paused)
    );
}

/// Configures three data classes. PFC may pause all but the first class.
fn classes(mut s: Setup) -> Setup {
    let data = s.switch.classes[2];
    s.switch.classes.push(data);
    s.switch.classes.push(data);
    s.switch.classes[2] = ClassConfig {
        pausable: false,
        ..data
    };
    s
}

fn of_class(class: u8, f: Flow) -> Flow {
    Flow { class, ..f }
}

// SW-22, SW-03, NIC-02
#[test]
fn a_lower_class_waits_for_at_most_one_frame_of_a_higher() {
    let flows = vec![
        of_class(2, flow(0, 0, 0, 3, 1_000_000)),
        of_class(1, flow(1, 10 * US, 0, 3, 100_000)),
        of_class(1, flow(2, 20 * US, 1, 3, 1_000_000)),
        of_class(0, flow(3, 30 * US, 2, 3, 200_000)),
    ];
    let (_, keep) = classes(line_rate(star(4), flows)).run();
    let late = |id: u32| {
        let r = keep.flows.iter().find(|r| r.flow.id == id).unwrap();
        keep.fct(id) - r.ideal_received_ps
    };
    // At the NIC and at the switch, a frame of another class may just have started.
    assert!(late(3) <= 2 * FRAME_PS, "class 0 is {} ps late", late(3));
    assert!(late(1) <= 2 * FRAME_PS, "class 1 is {} ps late", late(1));
    // The flow of class 1 waits for 200 packets of class 0. The flow of class 2 waits for all other
    // packets.
    assert!(
        late(2) >= 200 * FRAME_PS && late(2) < 203 * FRAME_PS,
        "{}",
        late(2)
    );
    assert!(late(0) >= 1290 * FRAME_PS, "{}", late(0));
}

// SW-03
#[test]
fn eight_traffic_classes_go_one_after_the_other_and_pfc_pauses_the_last() {
    let send = |(class, src)| {
        let id = u32::from(class) * 2 + src;
        of_class(class, flow(id, u64::from(7 - class) * US, src, 2, 200_000))
    };
    let flows = (0..8).flat_map(|class| [(class, 0), (class, 1)]).map(send);
    let mut s = line_rate(star(3), flows.collect());
    let data = s.switch.classes[2];
    s.switch.classes.resize(MAX_CLASSES, data);
    s.switch.mmu.buffer_bytes = 2_000_000;
    let (outcome, keep) = s.run();
    assert_eq!(outcome.finished, 16);
    let ends = |class: u32| keep.fct(2 * class) + u64::from(7 - class) * US;
    for class in 1..8 {
        assert!(ends(class - 1) < ends(class), "class {class}");
    }
    let paused = keep.pauses.iter().map(|pause| traffic_class(pause.class));
    assert!(paused.clone().all(|class| class.is_some()));
    assert!(paused.clone().any(|class| class == Some(7)));
}

// SW-22, SW-40, NIC-07
#[test]
fn pfc_stops_the_class_that_it_names_and_no_other() {
    // Two senders of class 2 congest host 3. The flow of class 0 from host 0 to host 2 is not
    // paused.
    let flows = vec![
        of_class(2, flow(0, 0, 0, 3, 1_000_000)),
        of_class(2, flow(1, 0, 1, 3, 1_000_000)),
        of_class(0, flow(2, 50 * US, 0, 2, 500_000)),
    ];
    let mut s = classes(line_rate(star(4), flows));
    s.switch.mmu.buffer_bytes = 400_000;
    s.switch.mmu.reserved_bytes = 0;
    s.switch.mmu.admission = Admission::Pfc(Pfc {
        accounting: Accounting::Pool,
        threshold: PfcThreshold::Dynamic(Alpha::new(0.1)),
        xon_offset: 3000,
        frame_bytes: 64,
        headroom: None,
        response_ps: 0,
        pause: PauseTime::UntilResumed,
        headroom_pool: None,
        headroom_beside: false,
        victims: None,
    });
    let (outcome, keep) = s.run();
    assert!(outcome.counters.hop["pfc_pauses"] > 0);
    assert!(
        keep.pauses.iter().all(|p| p.class == 4),
        "data class 2 is class 4 of the wire"
    );
    let r = keep.flows.iter().find(|r| r.flow.id == 2).unwrap();
    assert!(keep.fct(2) <= r.ideal_received_ps + 2 * FRAME_PS);
}

/// Flows of all classes on a small buffer. Classes that PFC can pause are lossless; the first class
/// is not.
// SW-16, SW-18, AUD-05
#[test]
fn several_classes_share_a_small_buffer() {
    // Ten flows at a time, of all classes in turn, to one host.
    let flows: Vec<Flow> = (0..90u32)
        .map(|i| {
            let at = u64::from(i / 10) * 20 * US;
            of_class((i % 3) as u8, flow(i, at, i % 8, 8, 30_000))
        })
        .collect();
    let mut s = classes(line_rate(star(9), flows));
    s.switch.mmu.reserved_bytes = 2000;
    s.switch.mmu.buffer_bytes = 600_000;
    s.nic.recovery = Recovery::go_back_n(MS);
    let (outcome, _) = s.run();
    assert_eq!(outcome.finished, 90);
    assert!(
        outcome.counters.drops.iter().sum::<u64>() > 0,
        "the class without PFC loses packets"
    );
}
