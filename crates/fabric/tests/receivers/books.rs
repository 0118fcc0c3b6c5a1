//! Audits of receiver-driven transports under random load, in lossless and lossy networks.

use super::*;
use dataplane::units::US;
use kernel::random::{Purpose, Stream};
use proptest::prelude::*;

/// Random flows between all hosts, some of them with equal start times.
fn flows(hosts: u32, many: u32, largest: u64, seed: u64) -> Vec<Flow> {
    let mut random = Stream::new(seed, 0, Purpose::Test);
    let mut flows: Vec<Flow> = (0..many)
        .map(|_| {
            let src = random.below(hosts.into()) as u32;
            let dst = (src + 1 + random.below(u64::from(hosts) - 1) as u32) % hosts;
            let start = random.below(30) * US;
            flow(0, start, src, dst, 1 + random.below(largest))
        })
        .collect();
    flows.sort_by_key(|flow| flow.start_ps);
    for (id, flow) in (0..).zip(&mut flows) {
        flow.id = id;
    }
    flows
}

fn shape(nth: u32) -> TopologySpec {
    match nth {
        0 => star(6),
        1 => leaf_spine(3, 2, 3),
        2 => TopologySpec::DualHomed {
            pairs: 2,
            hosts: 8,
            aggs: 2,
            link: LINK,
            uplink: LINK,
        },
        _ => TopologySpec::FatTree {
            k: 4,
            link: LINK,
            fabric_link: LINK,
        },
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    // AUD-01, AUD-02, AUD-04, AUD-10
    #[test]
    fn every_run_keeps_its_books(
        nth in 0u32..4,
        which in 0usize..3,
        many in 1u32..80,
        largest in prop_oneof![Just(1u64), Just(3_000), Just(200_000)],
        seed in any::<u64>(),
    ) {
        let topology = shape(nth);
        let hosts = topology.build().expect("a sound topology").hosts();
        let (name, preset) = DRIVEN[which];
        let mut s = preset(topology, flows(hosts, many, largest, seed));
        s.seed = seed;
        let (outcome, _) = s.run_raw();
        prop_assert_eq!(&outcome.violations, &[], "{}", name);
        prop_assert_eq!(outcome.ending, Ending::Drained, "{}", name);
        prop_assert_eq!(outcome.finished, u64::from(many), "{}", name);
        prop_assert!(outcome.checks.contains(&"receivers"));
        let c = outcome.counters;
        prop_assert_eq!(c.timeouts, 0, "{}: nothing is lost", name);
        if name != "ndp" {
            prop_assert_eq!(c.retransmissions, 0, "{}", name);
        }
    }
}

// AUD-10
#[test]
fn what_lossy_links_take_bounds_what_receivers_miss() {
    for (name, preset) in DRIVEN {
        let (outcome, _) = finish(preset(lossy(5, 0.01), incast(4, 100_000)));
        assert!(outcome.checks.contains(&"receivers"), "{name}");
        let c = outcome.counters;
        assert!(
            c.data_packets > 4 * 69,
            "{name}: some were sent twice, {c:?}"
        );
    }
}
