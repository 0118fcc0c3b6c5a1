//! Properties that hold in every run, for any network, load and scheme.

use super::*;
use crate::common::*;
use dataplane::config::{Admission, Classify, PathChoice, Recovery};
use dataplane::switch::{division, headroom_bytes};
use dataplane::units::US;
use fabric::record::Ending;
use kernel::random::{Purpose, Stream};
use proptest::prelude::*;
use traffic::Flow;

fn topology() -> impl Strategy<Value = TopologySpec> {
    let slow = link(25, 700_001);
    prop_oneof![
        (2u32..9).prop_map(star),
        (1u32..5, 1u32..5).prop_map(move |(left, right)| TopologySpec::Dumbbell {
            left,
            right,
            link: LINK,
            core: slow,
        }),
        (2u32..4, 1u32..4, 1u32..5).prop_map(|(l, s, h)| leaf_spine(l, s, h)),
        Just(TopologySpec::FatTree {
            k: 4,
            link: link(40, US / 2),
            fabric_link: LINK,
        }),
        (1u32..3).prop_map(move |hosts_per_tor| TopologySpec::Clos {
            pods: 2,
            tors_per_pod: 2,
            aggs_per_pod: 2,
            cores: 2,
            hosts_per_tor,
            link: slow,
            agg_link: LINK,
            core_link: link(400, 0),
        }),
    ]
}

/// Flows of many sizes, half of them at a few common start times, a third of them to host 0.
fn flows(hosts: u32, n: u32, largest: u64, seed: u64) -> Vec<Flow> {
    let mut random = Stream::new(seed, 0, Purpose::Test);
    let mut flows: Vec<Flow> = (0..n)
        .map(|_| {
            let src = random.below(u64::from(hosts)) as u32;
            let any = (src + 1 + random.below(u64::from(hosts) - 1) as u32) % hosts;
            let dst = if random.below(3) == 0 && src != 0 {
                0
            } else {
                any
            };
            let start = match random.below(2) {
                0 => random.below(5) * 10 * US,
                _ => random.below(50 * US),
            };
            let most = 1 + random.below(largest);
            let bytes = 1 + random.below(most);
            flow(0, start, src, dst, bytes)
        })
        .collect();
    flows.sort_by_key(|f| f.start_ps);
    for (id, f) in (0..).zip(&mut flows) {
        f.id = id;
    }
    flows
}

/// Sets the minimum buffer of a lossless switch in this network, plus `more` bytes.
fn small_buffer(s: &mut Setup, more: u64) {
    s.switch.mmu.reserved_bytes = 0;
    if let Admission::Pfc(pfc) = s.switch.mmu.admission {
        let graph = s.topology.build().expect("a sound topology");
        let needs = graph.switch_ids().map(|node| {
            let ports = graph.links_of(node).map(|i| graph.port(i));
            let each = ports.map(|p| {
                let frame = s.switch.max_frame;
                headroom_bytes(p.rate, p.delay_ps, frame, 1, &pfc) + u64::from(frame)
            });
            each.sum::<u64>()
        });
        s.switch.mmu.buffer_bytes = needs.max().unwrap_or(0) + more;
        for node in graph.switch_ids() {
            let ports: Vec<_> = graph
                .links_of(node)
                .map(|i| (graph.port(i).rate, graph.port(i).delay_ps))
                .collect();
            assert!(division(&s.switch, &ports).2 > 0, "there is a pool");
        }
    } else {
        s.switch.mmu.buffer_bytes = 10_000 + more;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 160, failure_persistence: None, ..ProptestConfig::default() })]

    // AUD-01, AUD-02, AUD-03, AUD-04, AUD-05, AUD-06, AUD-07, ENG-07, ENG-21, SW-19
    #[test]
    fn every_run_keeps_its_books(
        topology in topology(),
        preset in 0..PRESETS.len(),
        n in 1u32..60,
        largest in prop_oneof![Just(1u64), Just(3_000), Just(100_000)],
        more in 0u64..200_000,
        seed in any::<u64>(),
        queues in 1u16..9,
        ack_every in 1u32..20,
    ) {
        let (name, preset) = PRESETS[preset];
        let hosts = topology.build().expect("a sound topology").hosts();
        let mut s = preset(topology, flows(hosts, n, largest, seed));
        small_buffer(&mut s, more);
        s.seed = seed;
        s.nic.ack_every = ack_every;
        if let Classify::Dynamic { sticky_ps, .. } = s.switch.classify {
            s.switch.classify = Classify::Dynamic { queues, table: 4 * u32::from(queues), sticky_ps };
        }
        let is_lossy = !matches!(s.switch.mmu.admission, Admission::Pfc(_) | Admission::Unlimited);
        let (outcome, keep) = s.run_raw();
        prop_assert_eq!(&outcome.violations, &[], "{}", name);
        prop_assert_eq!(keep.flows.len(), n as usize);
        // If a buffer of about 10 KB drops packets, go-back-N can repeat the same windows without
        // end (docs/faq.md). Such a run reaches its time limit. Its counters still agree, as
        // checked above.
        if outcome.ending == Ending::TimeLimit && is_lossy {
            prop_assert!(outcome.counters.retransmissions > 1000, "{}: it repeats", name);
            return Ok(());
        }
        prop_assert_eq!(outcome.ending, Ending::Drained, "{}", name);
        prop_assert_eq!((outcome.started, outcome.finished), (u64::from(n), u64::from(n)));
        for check in ["conservation", "links", "flows", "delivery", "pauses", "slowdown"] {
            prop_assert!(outcome.checks.contains(&check), "{}: {} was made and held", name, check);
        }
        for record in &keep.flows {
            let (received, acked) = (record.received_ps.unwrap(), record.acked_ps.unwrap());
            prop_assert!(received - record.flow.start_ps >= record.ideal_received_ps);
            prop_assert!(acked > received);
        }
        let c = outcome.counters;
        prop_assert_eq!(c.hop["pfc_pauses"], c.hop["pfc_resumes"]);
        prop_assert_eq!(c.hop["bfc_pauses"], c.hop["bfc_resumes"]);
        let sent: u64 = outcome.ports.iter().map(|p| p.tx_packets).sum();
        prop_assert_eq!(sent, c.packet_hops, "drained: all that was sent arrived");
    }

    // NIC-12
    #[test]
    fn sprayed_runs_without_loss_keep_their_books(
        topology in topology(),
        n in 1u32..60,
        seed in any::<u64>(),
    ) {
        let hosts = topology.build().expect("a sound topology").hosts();
        let mut s = line_rate(topology, flows(hosts, n, 100_000, seed));
        s.switch.mmu.admission = Admission::Unlimited;
        s.switch.path = PathChoice::Packet;
        s.nic.recovery = Recovery::NONE;
        let (outcome, _) = s.run_raw();
        prop_assert_eq!(&outcome.violations, &[]);
        prop_assert_eq!(outcome.ending, Ending::Drained);
        prop_assert_eq!(outcome.counters.retransmissions, 0);
    }
}
