//! Any number of threads gives the same results: digest, counters, and every table.

mod common;

use common::*;
use dataplane::config::{Admission, Alpha, IrnConfig, PathChoice, Recovery};
use dataplane::units::{MS, NS, Rate, US};
use fabric::engine::Threads;
use fabric::record::{
    Ending, Outcome, QueueHistogram, QueueSeries, RecordSpec, RecordedPorts, RttHistogram,
};
use fabric::topology::{LinkSpec, Loss, TopologySpec};
use kernel::random::{Purpose, Stream};
use proptest::prelude::*;
use traffic::Flow;

/// So many threads, however many processors there are and however little there is to do.
fn forced(asked: u32) -> Threads {
    Threads {
        asked,
        forced: true,
    }
}

/// Everything that can be recorded.
fn everything() -> RecordSpec {
    RecordSpec {
        throughput_ps: Some(7 * US),
        queues: Some(QueueSeries {
            every_ps: 500 * NS,
            ports: RecordedPorts::Switches,
        }),
        histogram: Some(QueueHistogram {
            every_ps: 300 * NS,
            bin_bytes: 1000,
            window_ps: (5 * US, 80 * US),
        }),
        rtt: Some(RttHistogram {
            bin_ps: 100 * NS,
            window_ps: (0, 1000 * US),
        }),
    }
}

/// The outcome without what may depend on the number of threads.
fn result(outcome: &Outcome) -> Outcome {
    Outcome {
        threads: Default::default(),
        loop_seconds: 0.0,
        ..outcome.clone()
    }
}

/// Runs with one thread and with several; all has to be the same. Returns the outcome with most.
fn same_with(setup: &Setup, counts: &[u32]) -> Outcome {
    let setup = Setup {
        record: everything(),
        ..setup.clone()
    };
    let (one, kept) = setup.clone().run_raw();
    assert_eq!(one.threads.used, 1);
    let mut last = one.clone();
    for &asked in counts {
        let threads = forced(asked);
        let (many, keep) = Setup {
            threads,
            ..setup.clone()
        }
        .run_raw();
        assert_eq!(many.digest, one.digest, "{asked} threads");
        assert_eq!(result(&many), result(&one), "{asked} threads");
        assert_eq!(keep.flows, kept.flows, "{asked} threads");
        assert_eq!(keep.buffers, kept.buffers, "{asked} threads");
        assert_eq!(keep.pauses, kept.pauses, "{asked} threads");
        assert_eq!(keep.throughput, kept.throughput, "{asked} threads");
        assert_eq!(keep.port_queues, kept.port_queues, "{asked} threads");
        assert_eq!(keep.histogram, kept.histogram, "{asked} threads");
        assert_eq!(keep.rtt, kept.rtt, "{asked} threads");
        last = many;
    }
    last
}

/// Random flows between `hosts` hosts, many at the same instants, and an incast to host 0.
fn flows(seed: u64, hosts: u32, many: u32) -> Vec<Flow> {
    let mut random = Stream::new(seed, 0, Purpose::Test);
    let mut flows: Vec<Flow> = (0..many)
        .map(|_| {
            let src = random.below(u64::from(hosts)) as u32;
            let dst = (src + 1 + random.below(u64::from(hosts) - 1) as u32) % hosts;
            let bytes = 1 + random.below(40_000);
            flow(0, random.below(40) * US, src, dst, bytes)
        })
        .collect();
    flows.extend((1..hosts).map(|src| Flow {
        incast: true,
        ..flow(0, 20 * US, src, 0, 60_000)
    }));
    flows.sort_by_key(|f| f.start_ps);
    for (id, f) in (0..).zip(&mut flows) {
        f.id = id;
    }
    flows
}

// PAR-03, PAR-05, PAR-09
#[test]
fn all_controls_give_the_same_on_any_number_of_threads() {
    for (name, preset) in PRESETS {
        let setup = preset(leaf_spine(8, 4, 4), flows(3, 32, 300));
        let outcome = same_with(&setup, &[2, 4, 8]);
        assert_eq!(outcome.violations, [], "{name}");
        assert_eq!(outcome.threads.used, 8, "{name}");
        assert!(outcome.threads.crossed > 1000, "{name}");
        assert!(outcome.threads.windows.together > 30, "{name}");
        assert_eq!(outcome.ending, Ending::Drained, "{name}");
    }
}
