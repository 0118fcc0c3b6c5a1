//! Tests of the delay breakdown: exact times where they can be computed by hand, and in every case
//! components whose sum is the FCT.

use crate::common::*;
use dataplane::config::{Admission, Alpha, IrnConfig, Processing, Recovery};
use dataplane::hop::HopConfig;
use dataplane::hop::floodgate::FloodgateConfig;
use dataplane::units::{Rate, Time, US};
use fabric::NodeId;
use fabric::measure::{Blame, BlameRecord, Part};
use fabric::topology::{LinkSpec, Loss, TopologySpec};
use kernel::random::{Purpose, Stream};
use traffic::Flow;

/// Transmission time of a frame of 1048 B at 100 Gbit/s, ps.
const FRAME_PS: Time = 83_840;

fn blamed(mut setup: Setup) -> Keep {
    setup.record.blame = Some(Blame { hops: true });
    let without = setup.clone();
    let (with, keep) = setup.run();
    let plain = Setup {
        record: Default::default(),
        ..without
    };
    assert_eq!(plain.run().0.digest, with.digest);
    for row in &keep.blame {
        assert_eq!(row.parts.sum(), row.fct_ps, "{row:?}");
        assert_eq!(row.fct_ps, keep.fct(row.flow));
    }
    assert_eq!(keep.blame.len(), keep.flows.len());
    keep
}

fn row(keep: &Keep, flow: u32) -> &BlameRecord {
    keep.blame.iter().find(|row| row.flow == flow).unwrap()
}

/// Returns the delay components of a flow that are not 0, in the order of their list.
fn parts(keep: &Keep, flow: u32) -> Vec<(Part, Time)> {
    let all = Part::ALL.iter().copied().zip(row(keep, flow).parts.all());
    all.filter(|part| part.1 > 0).collect()
}

fn of_incast(flow: Flow) -> Flow {
    Flow {
        incast: true,
        ..flow
    }
}

// BLM-10, BLM-20
#[test]
fn a_lone_flow_is_sent_and_crosses_its_links() {
    let keep = blamed(line_rate(star(2), vec![flow(0, 0, 0, 1, 10_000)]));
    let expected = [
        (Part::Sending, 10 * FRAME_PS),
        (Part::Propagation, 2 * US),
        (Part::Serialisation, FRAME_PS),
    ];
    assert_eq!(parts(&keep, 0), expected);
}

// BLM-11, BLM-12
#[test]
fn flows_of_a_nic_take_turns() {
    let flows = vec![flow(0, 0, 0, 1, 10_000), flow(1, 0, 0, 2, 10_000)];
    let keep = blamed(line_rate(star(3), flows));
    let turn = |flow| row(&keep, flow).parts.get(Part::Turn);
    // Flow 0 waits for nine packets of flow 1 before its last packet, flow 1 for all ten packets of
    // flow 0.
    assert_eq!((turn(0), turn(1)), (9 * FRAME_PS, 10 * FRAME_PS));
}

// BLM-21
#[test]
fn a_packet_waits_behind_what_its_port_sends() {
    // Two hosts send an incast. A third host sends one packet, which waits behind the incast.
    let flows = vec![
        of_incast(flow(0, 0, 0, 3, 10_000)),
        of_incast(flow(1, 0, 1, 3, 10_000)),
        flow(2, 5 * FRAME_PS, 2, 3, 1000),
    ];
    let keep = blamed(line_rate(star(4), flows));
    let behind = [
        Part::BehindOwn,
        Part::BehindOther,
        Part::BehindIncast,
        Part::BehindControl,
    ];
    let of = |flow| behind.map(|part| row(&keep, flow).parts.get(part));
    let [own, other, incast, control] = of(2);
    assert_eq!([own, other, control], [0; 3]);
    assert!([5, 6, 7].contains(&(incast / FRAME_PS)) && incast % FRAME_PS == 0);
    // The incast flow's own packets do not count as packets of other flows.
    for flow in [0, 1] {
        let [own, other, incast, _] = of(flow);
        assert!(
            own > 3 * FRAME_PS && incast > 3 * FRAME_PS && other > 0,
            "{own} {other} {incast}"
        );
    }
}

/// One host on each of three leaves sends to the fourth leaf. A neighbour of one of them sends
/// elsewhere.
fn head_of_line(preset: Preset) -> Keep {
    let incast = |(id, src)| of_incast(flow(id, 0, src, 6, 300_000));
    let mut flows: Vec<Flow> = (0..).zip([0, 2, 4]).map(incast).collect();
    flows.push(flow(3, 40 * US, 1, 3, 2000));
    let mut setup = preset(leaf_spine(4, 1, 2), flows);
    setup.switch.mmu.buffer_bytes = 200_000;
    setup.switch.mmu.reserved_bytes = 0;
    blamed(setup)
}

/// The port of the spine that leads to the fourth leaf.
const CONGESTED: Option<(NodeId, u16, NodeId)> = Some((NodeId::new(12), 3, NodeId::new(11)));

// BLM-22, BLM-30
#[test]
fn a_victim_of_pauses_names_the_port_that_they_go_back_to() {
    let keep = head_of_line(line_rate);
    let paused = |p: &Part| matches!(p, Part::ClassPause | Part::NicClassPause);
    let of_victim = keep.hops.iter().filter(|h| h.flow == 3 && paused(&h.part));
    let held: Vec<_> = of_victim.map(|h| (h.root, h.spent_ps)).collect();
    assert!(held.iter().map(|h| h.1).sum::<Time>() > 5 * US, "{held:?}");
    assert!(held.iter().all(|h| h.0 == CONGESTED), "{held:?}");
}

// BLM-11, BLM-32
#[test]
fn pauses_of_queues_hold_the_incast_and_go_back_to_its_port() {
    let keep = head_of_line(bfc);
    let held = keep.hops.iter().filter(|h| h.part == Part::NicQueuePause);
    let held: Vec<_> = held.collect();
    assert!(held.iter().map(|h| h.spent_ps).sum::<Time>() > 5 * US);
    assert!(
        held.iter().all(|h| h.flow < 3 && h.root == CONGESTED),
        "{held:?}"
    );
    let victim = row(&keep, 3).parts.all();
    assert_eq!(victim[Part::QueuePause as usize], 0);
    assert_eq!(victim[Part::NicQueuePause as usize], 0);
}

// BLM-23
#[test]
fn a_host_that_takes_time_has_its_part() {
    let mut setup = line_rate(
        star(3),
        vec![flow(0, 0, 0, 2, 10_000), flow(1, 0, 1, 2, 10_000)],
    );
    setup.nic.host.processing = Some(Processing {
        delay_ps: 3 * US,
        rate: None,
    });
    let keep = blamed(setup.clone());
    for flow in [0, 1] {
        assert_eq!(row(&keep, flow).parts.get(Part::Host), 3 * US);
    }
    setup.nic.host.processing = Some(Processing {
        delay_ps: US,
        rate: Some(Rate::from_gbps(50)),
    });
    let keep = blamed(setup);
    assert!(row(&keep, 1).parts.get(Part::Host) > 10 * FRAME_PS);
}

fn busy() -> Vec<Flow> {
    let mut random = Stream::new(5, 0, Purpose::Test);
    let mut flows: Vec<Flow> = (0..200u32)
        .map(|id| {
            let src = random.below(16) as u32;
            let dst = (src + 1 + random.below(15) as u32) % 16;
            flow(
                id,
                random.below(40) * US,
                src,
                dst,
                1 + random.below(40_000),
            )
        })
        .collect();
    flows.extend((1..16).map(|src| of_incast(flow(0, 10 * US, src, 0, 60_000))));
    flows.sort_by_key(|f| f.start_ps);
    for (id, f) in flows.iter_mut().enumerate() {
        f.id = id as u32;
    }
    flows
}

// BLM-02, BLM-13
#[test]
fn what_was_lost_is_in_the_account_of_its_flow() {
    let small = |mut setup: Setup, buffer_bytes, recovery| {
        setup.switch.mmu.buffer_bytes = buffer_bytes;
        setup.switch.mmu.reserved_bytes = 0;
        setup.switch.mmu.admission = Admission::EgressDynamic {
            alpha: Alpha::new(1.0),
            per_queue: false,
        };
        setup.nic.recovery = recovery;
        setup
    };
    let go_back = Recovery::go_back_n(100 * US);
    for recovery in [
        go_back,
        Recovery::Irn(IrnConfig::paper()),
        Recovery::ideal(None),
    ] {
        let setup = small(hpcc(leaf_spine(4, 2, 4), busy()), 150_000, recovery);
        let keep = blamed(setup);
        let lost = |row: &&BlameRecord| row.parts.get(Part::Recovery) > 0;
        assert!(keep.blame.iter().filter(lost).count() > 5, "{recovery:?}");
        let again = |id| {
            keep.flows
                .iter()
                .any(|f| f.flow.id == id && f.retransmitted > 0)
        };
        assert!(keep.blame.iter().filter(lost).all(|row| again(row.flow)));
        // BLM-14: each drop is counted once, at a port of a switch.
        assert!(drops(&keep) > 0);
        for loss in &keep.losses {
            assert!(
                loss.node >= NodeId::new(16) && loss.port.is_some(),
                "{loss:?}"
            );
            assert_eq!(loss.cause, "egress_threshold");
        }
        let repaired = |row: &BlameRecord| keep.losses.iter().any(|loss| loss.flow == row.flow);
        assert!(keep.blame.iter().filter(lost).all(repaired));
    }
}

fn drops(keep: &Keep) -> u64 {
    let all = keep.losses.iter();
    all.map(|loss| loss.packets + loss.answers).sum()
}

// BLM-14
#[test]
fn what_a_link_lost_names_the_link_and_not_the_host_that_repairs_it() {
    let lossy = LinkSpec {
        loss: Loss::of(0.02),
        ..LINK
    };
    // Host 0 sends to host 1 through switch 2. Only the link to host 1 loses frames.
    let topology = TopologySpec::Links {
        hosts: vec!["h0".into(), "h1".into()],
        switches: vec!["s0".into()],
        links: vec![(0, 2, LINK), (1, 2, lossy)],
    };
    let mut setup = line_rate(topology, vec![flow(0, 0, 0, 1, 1_000_000)]);
    setup.nic.recovery = Recovery::go_back_n(100 * US);
    setup.record.blame = Some(Blame { hops: true });
    let threads = forced(2);
    let one = setup.clone().run();
    let two = Setup { threads, ..setup }.run();
    for (outcome, keep) in [&one, &two] {
        assert_eq!(drops(keep), outcome.counters.drops.iter().sum::<u64>());
        let places: Vec<_> = keep
            .losses
            .iter()
            .map(|l| (l.flow, l.node.bits(), l.port, l.cause))
            .collect();
        // Data packets are lost on the forward direction, ACKs on the reverse direction.
        assert_eq!(places, [(0, 1, Some(0), "link"), (0, 2, Some(1), "link")]);
        let [answers, data] = keep.losses[..] else {
            panic!("two directions")
        };
        assert_eq!((answers.packets, data.answers), (0, 0));
        assert!(answers.answers > 0 && data.packets > 0);
    }
    assert_eq!(one.1.losses, two.1.losses);
    assert!(row(&one.1, 0).parts.get(Part::Recovery) > 0);
}

// BLM-04, BLM-31
#[test]
fn accounts_go_with_packets_from_thread_to_thread() {
    for (name, preset) in PRESETS {
        let mut setup = preset(leaf_spine(4, 2, 4), busy());
        setup.switch.mmu.buffer_bytes = 300_000;
        setup.record.blame = Some(Blame { hops: true });
        for setup in [setup.clone(), cbfc(setup)] {
            let (_, one) = setup.clone().run();
            let threads = forced(3);
            let (outcome, three) = Setup { threads, ..setup }.run();
            assert!(
                outcome.threads.used > 1,
                "{name}: {:?}",
                outcome.threads.why
            );
            assert_eq!(one.blame, three.blame, "{name}");
            assert_eq!(one.hops, three.hops, "{name}");
            assert_eq!(one.losses, three.losses, "{name}");
        }
    }
}

// BLM-20, FG-15, FG-61
#[test]
fn a_packet_that_only_passes_through_a_voq_waits_at_its_port() {
    // The VOQ of host 6 still exists after the incast, so the packets of the last flow enter it and
    // leave immediately.
    let config = FloodgateConfig {
        vup_ps: Some(1000 * US),
        ..FloodgateConfig::PRACTICAL
    };
    let (hosts, spine) = (8, 12);
    let mut flows: Vec<Flow> = (0..6)
        .map(|src| of_incast(flow(src, 0, src, 6, 300_000)))
        .collect();
    flows.push(flow(6, 400 * US, 0, 6, 20_000));
    flows.push(flow(7, 400 * US, 1, 6, 20_000));
    let mut setup = line_rate(leaf_spine(4, 1, 2), flows);
    setup.switch.hop = HopConfig::Floodgate(config);
    let keep = blamed(setup);
    assert!(
        keep.hops
            .iter()
            .any(|hop| hop.flow > 5 && hop.node == NodeId::new(8))
    );
    for hop in &keep.hops {
        let expected = match hop.node.bits() {
            host if host < hosts => 0,
            node if node == spine => 3,
            11 => 0,
            _ => 2,
        };
        assert_eq!(hop.port, expected, "{hop:?}");
    }
}
