//! Runs in lockstep, in which nodes exchange only frames, have the same results as the simulator.

use fabric::{LinkId, NodeId};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use crate::common::*;
use dataplane::config::{
    Admission, Alpha, Beside, Departures, IrnConfig, PathChoice, PauseTime, Recovery, VictimConfig,
};
use dataplane::hop::HopConfig;
use dataplane::hop::bfc::BitmapConfig;
use dataplane::hop::floodgate::FloodgateConfig;
use dataplane::units::US;
use fabric::engine::lockstep::{self, Carrier, Ended, Error, LinkError};
use fabric::link_failures::{LinkFailure, LinkFailures};
use fabric::record::Outcome;
use fabric::topology::{Graph, LinkSpec, Loss, TopologySpec};
use traffic::Flow;

type Frames = Arc<Mutex<VecDeque<Vec<u8>>>>;

/// Changes a frame on the link. The number counts the sending node's frames with payload.
type Change = fn(u64, &mut Vec<u8>);

/// Frames of more than this number of bytes have a payload.
const PAYLOAD: usize = 500;

/// Carries frames through memory, with a separate queue per link.
struct Bytes {
    out: Vec<Frames>,
    into: Vec<Frames>,
    /// Number of frames that a link accepts per round, and number that it has accepted in this
    /// round.
    room: usize,
    taken: Vec<usize>,
    with_payload: u64,
    change: Change,
}

impl Carrier for Bytes {
    fn begin_round(&mut self) {
        self.taken.fill(0);
    }

    fn send(&mut self, port: u16, frame: &[u8]) -> Result<bool, LinkError> {
        let taken = &mut self.taken[usize::from(port)];
        if *taken == self.room {
            return Ok(false);
        }
        *taken += 1;
        let mut frame = frame.to_vec();
        if frame.len() > PAYLOAD {
            (self.change)(self.with_payload, &mut frame);
            self.with_payload += 1;
        }
        self.out[usize::from(port)].lock().unwrap().push_back(frame);
        Ok(true)
    }

    fn receive(
        &mut self,
        port: u16,
        count: usize,
        take: &mut dyn FnMut(&[u8]) -> Result<(), LinkError>,
    ) -> Result<(), LinkError> {
        for _ in 0..count {
            let frame = self.into[usize::from(port)].lock().unwrap().pop_front();
            let frame = frame.ok_or_else(|| LinkError::carrier("a frame is missing"));
            take(&frame?)?;
        }
        Ok(())
    }
}

/// Creates the carriers of all nodes. Frames that node `changed` sends are modified by `change`.
fn carriers(graph: &Graph, room: usize, changed: NodeId, change: Change) -> Vec<Box<dyn Carrier>> {
    let links: Vec<Frames> = graph.link_ids().map(|_| Frames::default()).collect();
    let carrier = |node: NodeId| {
        let ports = graph.links_of(node);
        let carrier = Bytes {
            out: ports
                .clone()
                .map(|out| links[out.index()].clone())
                .collect(),
            into: ports
                .clone()
                .map(|out| links[graph.reverse(out).index()].clone())
                .collect(),
            room,
            taken: vec![0; ports.len()],
            with_payload: 0,
            change: if node == changed { change } else { |_, _| {} },
        };
        Box::new(carrier) as Box<dyn Carrier>
    };
    graph.node_ids().map(carrier).collect()
}

fn run_changed(setup: &Setup, node: u32, change: Change) -> Result<(Ended, Keep), Error> {
    let plan = setup.clone().plan();
    let carriers = carriers(&plan.graph, usize::MAX, NodeId::from_bits(node), change);
    let mut keep = Keep::default();
    let ended = lockstep::run(plan, carriers, &mut keep, &mut |_| true)?;
    Ok((ended, keep))
}

/// Returns the outcome without the fields that may depend on threads.
fn result(outcome: &Outcome) -> Outcome {
    Outcome {
        threads: Default::default(),
        loop_seconds: 0.0,
        ..outcome.clone()
    }
}

/// Runs a setup in the simulator and in lockstep, and checks that the results agree.
fn same(name: &str, setup: &Setup) -> Ended {
    let (simulated, kept) = setup.clone().run_raw();
    let (ended, keep) =
        run_changed(setup, 0, |_, _| {}).unwrap_or_else(|why| panic!("{name}: {why}"));
    assert_eq!(ended.outcome.digest, simulated.digest, "{name}");
    assert_eq!(result(&ended.outcome), result(&simulated), "{name}");
    assert_eq!(keep.flows, kept.flows, "{name}");
    assert_eq!(keep.buffers, kept.buffers, "{name}");
    assert_eq!(keep.pauses, kept.pauses, "{name}");
    assert!(ended.frames > 1000, "{name}");
    ended
}

fn of(preset: fn(TopologySpec, Vec<Flow>) -> Setup) -> Setup {
    preset(leaf_spine(3, 2, 4), flows(3, 12, 100))
}

// LIV-03, LIV-04, LIV-06
#[test]
fn every_control_and_transport_needs_no_more_than_frames_say() {
    for (name, preset) in PRESETS.into_iter().chain(DRIVEN) {
        let ended = same(name, &of(preset));
        assert_eq!(ended.outcome.violations, [], "{name}");
    }
}

// LIV-03
#[test]
fn pauses_bitmaps_credits_and_victims_need_no_more_than_frames_say() {
    let mut pfc = of(dcqcn);
    pfc.switch.mmu.buffer_bytes = 300_000;
    let paused = same("pauses", &pfc);
    assert!(paused.outcome.ports.iter().any(|port| port.pauses > 0));

    let mut timed = pfc.clone();
    let Admission::Pfc(times) = &mut timed.switch.mmu.admission else {
        panic!("it has pauses");
    };
    times.pause = PauseTime::Quanta {
        quanta: 100,
        refresh: 50,
    };
    times.response_ps = 700_000; // SW-45: response time
    let refreshed = same("pauses with times", &timed);
    assert!(refreshed.outcome.counters.hop["pfc_refreshes"] > 10);

    let mut victims = pfc;
    let Admission::Pfc(pfc) = &mut victims.switch.mmu.admission else {
        panic!("it has pauses");
    };
    pfc.victims = Some(VictimConfig {
        interval_ps: 10 * US,
        k: 60_000,
        rate: None,
        count: Departures::Packets,
        detects_at_once: false,
        unpaused_waits: false,
        resumes_at_once: false,
        beside: Beside::Unbounded,
    });
    same("victims", &victims);

    let mut bitmaps = of(bfc);
    bitmaps.switch.hop.bfc_mut().unwrap().bitmap = Some(BitmapConfig {
        period_ps: 3 * US,
        frame_bytes: 64,
        edges: false,
    });
    bitmaps.until_ps = 300 * US; // bitmaps are repeated without end
    same("bitmaps", &bitmaps);

    same("credits of links", &cbfc(of(dcqcn)));
    for config in [FloodgateConfig::PRACTICAL, FloodgateConfig::IDEAL] {
        let mut setup = of(dcqcn);
        setup.switch.hop = HopConfig::Floodgate(config);
        same("credits of destinations", &setup);
    }
}

// LIV-03
#[test]
fn losses_failing_links_and_ways_back_need_no_more_than_frames_say() {
    let lossy = TopologySpec::LeafSpine {
        leaves: 3,
        spines: 2,
        hosts_per_leaf: 4,
        link: LINK,
        uplink: LinkSpec {
            loss: Loss::of(0.002),
            ..LINK
        },
    };
    for preset in [hpcc, bfc, expresspass] {
        let mut setup = preset(lossy.clone(), flows(5, 12, 100));
        if setup.nic.recovery != Recovery::Own {
            setup.nic.recovery = Recovery::go_back_n(500 * US);
        }
        let ended = same("lossy", &setup);
        assert!(ended.outcome.counters.drops.iter().sum::<u64>() > 0);
    }

    let mut failing = of(hpcc);
    let graph = failing.topology.build().unwrap();
    let spine = graph.nodes() - 1;
    let down = (0..2).map(|n| LinkFailure {
        link: LinkId::from_bits(graph.link(NodeId::from_bits(spine), n).bits()),
        from_ps: (22 + u64::from(n)) * US,
        until_ps: Some((40 + 7 * u64::from(n)) * US),
    });
    let down: Vec<LinkFailure> = down.collect();
    failing.link_failures = Some(LinkFailures::new(&graph, &down, 2 * US));
    failing.nic.recovery = Recovery::go_back_n(500 * US);
    let ended = same("failing links", &failing);
    assert!(ended.outcome.counters.link_changes > 0);

    let mut irn = of(hpcc);
    irn.switch.mmu.buffer_bytes = 200_000;
    irn.switch.mmu.reserved_bytes = 0;
    irn.switch.mmu.admission = Admission::EgressDynamic {
        alpha: Alpha::new(1.0),
        per_queue: false,
    };
    irn.nic.recovery = Recovery::Irn(IrnConfig::paper());
    same("selective repeat", &irn);

    let mut back = of(dcqcn);
    back.switch.acks_return = true;
    same("ACKs go back by the way of their packets", &back);
    let mut spraying = of(dctcp);
    spraying.switch.path = PathChoice::Packet;
    same("spraying", &spraying);

    // SPR-03: the ACK's own hash returns the entropy value.
    let mut reps = of(dctcp);
    reps.switch.path = PathChoice::Entropy;
    reps.nic.spray = Some(REPS);
    reps.nic.recovery = Recovery::Irn(IrnConfig::paper());
    same("paths that senders choose", &reps);
}

// LIV-08
#[test]
fn a_link_without_room_takes_more_rounds_and_nothing_else() {
    let setup = of(hpcc);
    let (simulated, _) = setup.clone().run_raw();
    let rounds = [usize::MAX, 2, 1].map(|room| {
        let plan = setup.clone().plan();
        let carriers = carriers(&plan.graph, room, NodeId::new(0), |_, _| {});
        let ended = lockstep::run(plan, carriers, &mut Keep::default(), &mut |_| true).unwrap();
        assert_eq!(ended.outcome.digest, simulated.digest);
        ended.rounds
    });
    assert!(rounds.is_sorted_by(|a, b| a < b), "{rounds:?}");
}

/// Offset of the byte with ECN in the IP header, after an Ethernet header with a VLAN tag.
const ECN: usize = 14 + 4 + 1;

// LIV-05
#[test]
fn a_changed_frame_changes_the_run_or_ends_it_with_a_reason() {
    let setup = of(dctcp);
    let (simulated, _) = setup.clone().run_raw();
    // Marks one frame (ECN CE) and corrects its IPv4 header checksum. The checksum of RoCEv2 does
    // not cover ECN.
    let mark: Change = |number, frame| {
        if number == 7 && frame[12..14] == [0x81, 0] && frame[ECN] & 3 == 2 {
            frame[ECN] |= 3;
            let sum = u16::from_be_bytes([frame[28], frame[29]]).wrapping_sub(1);
            frame[28..30].copy_from_slice(&sum.to_be_bytes());
        }
    };
    let (marked, _) = run_changed(&setup, 0, mark).unwrap();
    assert_ne!(marked.outcome.digest, simulated.digest);

    let flip: Change = |number, frame| {
        if number == 7
            && let Some(last) = frame.last_mut()
        {
            *last ^= 1;
        }
    };
    let why = run_changed(&setup, 0, flip).unwrap_err();
    let (link, LinkError::Unreadable { why, .. }) = link_error(&why) else {
        panic!("{why}");
    };
    assert_eq!((link, why.header), ("host0->leaf0", "iCRC"));
    let lose: Change = |number, frame| {
        if number == 7 {
            frame.clear();
        }
    };
    let why = run_changed(&setup, 0, lose).unwrap_err();
    let (link, LinkError::Unreadable { .. }) = link_error(&why) else {
        panic!("{why}");
    };
    assert_eq!(link, "host0->leaf0");
}

fn link_error(error: &Error) -> (&str, &LinkError) {
    match error {
        Error::Link { link, why } => (link, why),
        other => panic!("{other}"),
    }
}

// LIV-02
#[test]
fn what_frames_cannot_say_is_refused() {
    let mut ideal = of(dcqcn);
    ideal.nic.recovery = Recovery::ideal(Some(0));
    let why = refused(&ideal);
    assert!(why.starts_with("ideal retransmission"), "{why}");
    let mut in_order = of(dcqcn);
    in_order.in_order = true;
    let why = refused(&in_order);
    assert!(why.contains("in the order of scheduling"), "{why}");
}

fn refused(setup: &Setup) -> &'static str {
    match run_changed(setup, 0, |_, _| {}) {
        Err(Error::Refused(why)) => why,
        other => panic!("{:?}", other.map(drop)),
    }
}
