//! Tests of the causes of PFC pauses: every pause has a cause, causes form trees, and flows that
//! wait without causing congestion are reported as victims.

use fabric::NodeId;
use std::collections::BTreeMap;

use crate::common::*;
use dataplane::config::{
    Admission, Beside, Departures, PathChoice, Pfc, PfcThreshold, VictimConfig,
};
use dataplane::units::{Time, US};
use fabric::measure::{CauseRecord, PauseRecording};
use kernel::random::{Purpose, Stream};
use traffic::Flow;

const FOLLOW: Option<PauseRecording> = Some(PauseRecording { flows: true });

fn with_threshold(mut setup: Setup, bytes: u64) -> Setup {
    let Admission::Pfc(pfc) = setup.switch.mmu.admission else {
        panic!("PFC")
    };
    setup.switch.mmu.admission = Admission::Pfc(Pfc {
        threshold: PfcThreshold::Static(bytes),
        ..pfc
    });
    setup.switch.mmu.reserved_bytes = 0;
    setup.record.pauses = FOLLOW;
    setup
}

type Key = (NodeId, u16, u8, u32);

fn key(c: &CauseRecord) -> Key {
    (c.peer, c.peer_port, c.class, c.number)
}

/// Checks properties of every run: each pause has one cause, a cause is an earlier pause of the
/// egress port, and each tree has one root.
fn check(keep: &Keep) -> usize {
    let by_key: BTreeMap<Key, &CauseRecord> = keep.causes.iter().map(|c| (key(c), c)).collect();
    assert_eq!(by_key.len(), keep.causes.len(), "no pause is told twice");
    assert!(keep.causes.is_sorted_by_key(|c| c.at_ps));
    let from: BTreeMap<Key, (Time, Time)> = keep
        .pauses
        .iter()
        .map(|p| {
            let number = p.number.expect("followed");
            ((p.node, p.port, p.class, number), (p.from_ps, p.to_ps))
        })
        .collect();
    assert_eq!(from.len(), keep.pauses.len());
    for (key, (from_ps, _)) in &from {
        assert!(by_key[key].at_ps < *from_ps, "told before it is felt");
        assert!(key.3 == 1 || from.contains_key(&(key.0, key.1, key.2, key.3 - 1)));
    }
    let mut over = 0;
    for c in &keep.causes {
        assert!(
            c.held_bytes >= c.egress_bytes && c.egress_bytes > 0,
            "{c:?}"
        );
        let Some(number) = c.parent else {
            let root = (c.root_node, c.root_port, c.root_peer);
            assert_eq!((c.depth, root), (1, (c.node, c.egress, c.egress_peer)));
            continue;
        };
        let parent = by_key[&(c.node, c.egress, c.class, number)];
        assert_eq!(parent.depth + 1, c.depth);
        assert_eq!(
            (parent.root_node, parent.root_port),
            (c.root_node, c.root_port)
        );
        let (from_ps, to_ps) = from[&key(parent)];
        assert!(from_ps <= c.at_ps, "the cause is felt here already");
        over += usize::from(to_ps < c.at_ps);
    }
    over
}

// SPFC-40, SPFC-41, SPFC-42, SPFC-44
#[test]
fn a_congested_receiver_is_the_root_of_all_and_the_other_flow_is_the_victim() {
    let flows = vec![
        flow(0, 0, 0, 3, 300_000),
        flow(1, 0, 0, 4, 300_000),
        flow(2, 0, 1, 4, 300_000),
        flow(3, 0, 2, 4, 300_000),
    ];
    let (_, keep) = with_threshold(line_rate(star(5), flows), 20_000).run();
    check(&keep);
    assert!(keep.causes.len() > 5);
    for c in &keep.causes {
        assert_eq!(
            (c.depth, c.parent, c.root_peer.bits()),
            (1, None, 4),
            "{c:?}"
        );
        assert!(!c.victim && c.held_bytes > 20_000 && c.threshold_bytes == 20_000);
        assert!(c.pool_bytes >= c.held_bytes);
    }
    let held = |flow: u32| keep.held_flows.iter().find(|h| h.flow == flow);
    let (innocent, guilty) = (held(0).unwrap(), held(1).unwrap());
    assert!(innocent.victim && !guilty.victim);
    assert_eq!(
        [innocent.node, innocent.peer, innocent.root_peer],
        [0, 5, 4].map(NodeId::from_bits)
    );
    // Each flow waits while its host is paused, as long as it has data to send.
    let of_host: Vec<_> = keep
        .pauses
        .iter()
        .filter(|p| p.node == NodeId::new(0))
        .collect();
    let all: Time = of_host.iter().map(|p| p.to_ps - p.from_ps).sum();
    let longest = keep
        .held_flows
        .iter()
        .filter(|h| h.node == NodeId::new(0))
        .map(|h| h.held_ps)
        .max();
    assert_eq!(longest, Some(all));
    assert!(innocent.pauses <= of_host.len() as u64 && innocent.held_ps > 0);
}

// SPFC-41, SPFC-42, SPFC-44
#[test]
fn congestion_spreads_hop_by_hop_as_one_tree() {
    // Hosts 0 to 3 are on one leaf, hosts 4 to 7 on the other, with one spine. Hosts on both leaves
    // send to host 4.
    let flows = vec![
        flow(0, 0, 0, 4, 2_000_000),
        flow(1, 0, 5, 4, 2_000_000),
        flow(2, 0, 6, 4, 2_000_000),
        flow(3, 100 * US, 1, 7, 400_000),
    ];
    let (_, keep) = with_threshold(line_rate(leaf_spine(2, 1, 4), flows), 20_000).run();
    check(&keep);
    let at = |depth: u16| keep.causes.iter().filter(move |c| c.depth == depth);
    let leaf = keep.causes[0].root_node;
    assert!(
        keep.causes
            .iter()
            .all(|c| (c.root_node, c.root_peer) == (leaf, NodeId::new(4))),
        "one root"
    );
    // The receiver's leaf pauses the spine, the spine pauses the senders' leaf, and this leaf
    // pauses host 0 and later host 1.
    assert!(at(1).all(|c| c.node == leaf));
    assert!(at(2).count() > 0 && at(2).all(|c| c.peer != leaf && c.node != leaf));
    assert!(at(3).any(|c| c.peer == NodeId::new(0)) && at(3).all(|c| c.peer < NodeId::new(2)));
    assert_eq!(at(4).count(), 0);
    let victims: Vec<u32> = keep
        .held_flows
        .iter()
        .filter(|h| h.victim)
        .map(|h| h.flow)
        .collect();
    assert!(
        !victims.is_empty() && victims.iter().all(|&flow| flow == 3),
        "{victims:?}"
    );
    let at_leaf = keep
        .held_flows
        .iter()
        .find(|h| h.victim && h.node >= NodeId::new(8));
    assert!(at_leaf.is_some(), "it waits behind the others in the leaf");
}

fn busy(seed: u64) -> Vec<Flow> {
    let mut random = Stream::new(seed, 0, Purpose::Test);
    let mut flows: Vec<Flow> = (0..150)
        .map(|id| {
            let src = random.below(8) as u32;
            let near = (src + 1 + random.below(7) as u32) % 8;
            let dst = if random.below(3) == 0 {
                u32::from(src == 0)
            } else {
                near
            };
            flow(
                id,
                random.below(60 * US),
                src,
                dst,
                1 + random.below(60_000),
            )
        })
        .collect();
    flows.sort_by_key(|f| f.start_ps);
    (0..).zip(&mut flows).for_each(|(id, f)| f.id = id);
    flows
}

// RCD-01, SPFC-40, SPFC-41
#[test]
fn following_changes_nothing_and_does_not_depend_on_elision_or_probes() {
    let mut over = 0;
    for seed in 0..6 {
        let plain = line_rate(leaf_spine(2, 2, 4), busy(seed));
        let followed = with_threshold(plain, 8_000 + 4_000 * seed);
        let mut quiet = followed.clone();
        quiet.record.pauses = None;
        let (a, keep) = followed.clone().run();
        let (b, nothing) = quiet.run();
        assert_eq!(a.digest, b.digest);
        assert!(nothing.causes.is_empty() && nothing.pauses.iter().all(|p| p.number.is_none()));
        assert!(keep.causes.len() > 20, "{}", keep.causes.len());
        over += check(&keep);
        let mut other = Setup {
            elide: false,
            probe_ps: 3 * US,
            ..followed.clone()
        };
        let again = other.clone().run().1;
        assert_eq!(
            (&keep.causes, &keep.held_flows),
            (&again.causes, &again.held_flows)
        );
        other.record.pauses = Some(PauseRecording { flows: false });
        let unnamed = other.clone().run().1;
        assert_eq!(keep.causes, unnamed.causes);
        assert!(unnamed.held_flows.is_empty());
    }
    assert!(
        over > 0,
        "some pauses are caused by one that is over and still felt"
    );
}

// PAR-07
#[test]
fn pauses_are_followed_by_one_thread_with_the_same_result() {
    let one = with_threshold(line_rate(leaf_spine(4, 2, 2), busy(3)), 10_000);
    let mut asked = one.clone();
    asked.threads = forced(2);
    let (a, of_one) = one.run();
    let (b, of_two) = asked.clone().run();
    assert_eq!((a.digest, &of_one.causes), (b.digest, &of_two.causes));
    assert_eq!(b.threads.used, 1);
    assert!(
        b.threads
            .why
            .is_some_and(|why| why.contains("follows pauses"))
    );
    asked.record.pauses = None;
    let (c, _) = asked.run();
    assert_eq!((c.digest, c.threads.used), (a.digest, 2));
}

// SPFC-44
#[test]
fn sprayed_flows_are_not_named() {
    let mut setup = with_threshold(line_rate(leaf_spine(2, 2, 4), busy(1)), 10_000);
    setup.switch.path = PathChoice::Packet;
    setup.nic.recovery = dataplane::config::Recovery::NONE;
    let (_, keep) = setup.run();
    assert!(!keep.causes.is_empty() && keep.held_flows.is_empty());
}

// SPFC-01, SPFC-07, SPFC-40
#[test]
fn a_port_with_a_victim_keeps_sending_where_a_dynamic_threshold_stops_it() {
    // Host 0 sends to hosts 6 and 7. Five hosts send bursts to host 7 while both flows are active.
    let mut flows = vec![flow(0, 0, 0, 6, 4_000_000), flow(1, 0, 0, 7, 700_000)];
    flows.extend((1..6).map(|src| flow(src + 1, 50 * US, src, 7, 300_000)));
    let run = |victims: Option<VictimConfig>| {
        let mut setup = line_rate(star(8), flows.clone());
        let Admission::Pfc(pfc) = setup.switch.mmu.admission else {
            panic!("PFC")
        };
        setup.switch.mmu.admission = Admission::Pfc(Pfc {
            victims,
            threshold: PfcThreshold::Dynamic(dataplane::config::Alpha::new(0.25)),
            headroom_pool: None,
            headroom_beside: true,
            ..pfc
        });
        setup.switch.mmu.buffer_bytes = 1_000_000;
        setup.record.pauses = FOLLOW;
        setup.run()
    };
    let (dt, of_dt) = run(None);
    let (selective, of_spfc) = run(Some(VictimConfig {
        interval_ps: 20 * US,
        k: 3 << 16,
        rate: None,
        count: Departures::Packets,
        detects_at_once: false,
        unpaused_waits: false,
        resumes_at_once: false,
        beside: Beside::Bytes(0),
    }));
    let paused = |keep: &Keep| {
        keep.pauses
            .iter()
            .filter(|p| p.node == NodeId::new(0))
            .count()
    };
    assert!(
        paused(&of_dt) > 0,
        "the dynamic threshold makes a victim of flow 0"
    );
    assert!(paused(&of_spfc) < paused(&of_dt));
    assert!(of_spfc.fct(0) < of_dt.fct(0));
    assert_eq!(
        (dt.counters.hop["spfc_spared"], selective.counters.drops),
        (0, [0; 5])
    );
    assert!(selective.counters.hop["spfc_spared"] > 0);
    assert!(selective.violations.is_empty() && dt.violations.is_empty());
}
