//! Digest, counters and every table of a run are independent of the numbers of threads and lanes.

use dataplane::hop::HopConfig;
use dataplane::hop::bfc::BitmapConfig;
use dataplane::hop::floodgate::FloodgateConfig;
use fabric::{LinkId, NodeId};
use std::sync::Arc;

use crate::common::*;
use dataplane::config::{
    Admission, Alpha, Classify, FlowletConfig, IrnConfig, LeastLoaded, PathChoice, PauseTime,
    Recovery,
};
use dataplane::route::{Endpoints, PortSets, Routes};
use dataplane::units::{MS, NS, Rate, US};
use fabric::engine::{Simulation, Threads};
use fabric::link_failures::{LinkFailure, LinkFailures};
use fabric::measure::{
    Blame, CaptureSpec, DelayHistogram, IngressSeries, QueueHistogram, QueueSeries, RecordSpec,
    RecordedPorts, RttHistogram, Throughput, Utilisation, Waiting,
};
use fabric::record::{Ending, Outcome};
use fabric::topology::{LinkSpec, Loss, TopologySpec};
use kernel::random::{Purpose, Stream};
use proptest::prelude::*;

/// Enables all measures except the one that needs a single thread.
fn everything() -> RecordSpec {
    RecordSpec {
        throughput: Some(Throughput { every_ps: 7 * US }),
        utilisation: Some(Utilisation { every_ps: 3 * US }),
        queues: Some(QueueSeries {
            every_ps: 500 * NS,
            ports: RecordedPorts::Switches,
        }),
        ingress: Some(IngressSeries {
            every_ps: 700 * NS,
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
        delay: Some(DelayHistogram {
            bin_ps: 100 * NS,
            window_ps: (0, 1000 * US),
        }),
        pauses: None, // this measure needs one thread
        blame: Some(Blame { hops: true }),
        capture: Some(CaptureSpec {
            links: vec![(NodeId::new(0), 0), (NodeId::new(1), 0)],
            from_ps: 0,
            until_ps: u64::MAX,
            snaplen: 64,
            limit_bytes: 100_000,
            files: 1,
        }),
        waiting: Some(Waiting {
            window_ps: (2 * US, 90 * US),
        }),
    }
}

/// Returns the outcome without the fields that may depend on the number of threads.
fn result(outcome: &Outcome) -> Outcome {
    Outcome {
        threads: Default::default(),
        loop_seconds: 0.0,
        ..outcome.clone()
    }
}

/// Runs a setup with one thread and with the given numbers of threads, and checks that the results
/// agree. The run for the first number has all measures enabled. The runs for the other numbers
/// have none, so that they use other code paths of the engine, and lanes. Returns the outcome of
/// the last run.
fn same_with(setup: &Setup, counts: &[u32]) -> Outcome {
    let recorded = Setup {
        record: everything(),
        ..setup.clone()
    };
    let mut last = same(&recorded, &counts[..1]);
    if counts.len() > 1 {
        last = same(setup, &counts[1..]);
    }
    last
}

fn same(setup: &Setup, counts: &[u32]) -> Outcome {
    let (one, kept) = setup.clone().run_raw();
    assert_eq!(one.threads.used, 1);
    let mut last = one.clone();
    let ways = counts.iter().flat_map(|&asked| {
        let alone = (Threads::ONE, Some(asked + 1));
        let together = (forced(asked), Some(2 * asked));
        match setup.record == RecordSpec::default() {
            true => vec![alone, together],
            false => vec![(forced(asked), None)], // runs with measures have no lanes
        }
    });
    for (threads, lanes) in ways {
        let (many, keep) = Setup {
            threads,
            lanes,
            ..setup.clone()
        }
        .run_raw();
        let told = format!("{} threads, lanes {lanes:?}", threads.asked);
        assert_eq!(many.digest, one.digest, "{told}");
        assert_eq!(result(&many), result(&one), "{told}");
        assert_eq!(keep.flows, kept.flows, "{told}");
        assert_eq!(keep.buffers, kept.buffers, "{told}");
        assert_eq!(keep.pauses, kept.pauses, "{told}");
        assert_eq!(keep.throughput, kept.throughput, "{told}");
        assert_eq!(keep.utilisation, kept.utilisation, "{told}");
        assert_eq!(keep.port_queues, kept.port_queues, "{told}");
        assert_eq!(keep.ingress, kept.ingress, "{told}");
        assert_eq!(keep.histogram, kept.histogram, "{told}");
        assert_eq!(keep.rtt, kept.rtt, "{told}");
        assert_eq!(keep.delays, kept.delays, "{told}");
        assert_eq!(keep.waiting, kept.waiting, "{told}");
        assert_eq!(keep.blame, kept.blame, "{told}");
        assert_eq!(keep.hops, kept.hops, "{told}");
        last = many;
    }
    last
}

// PAR-03, PAR-05, PAR-09
#[test]
fn all_controls_give_the_same_on_any_number_of_threads() {
    let bolt: [(&str, Preset); 1] = [("bolt", bolt)];
    for (name, preset) in PRESETS.into_iter().chain(DRIVEN).chain(bolt) {
        let setup = preset(leaf_spine(8, 4, 4), flows(3, 32, 300));
        let outcome = same_with(&setup, &[2, 4, 8]);
        assert_eq!(outcome.violations, [], "{name}");
        assert_eq!(outcome.threads.used, 8, "{name}");
        assert!(outcome.threads.crossed > 1000, "{name}");
        assert!(outcome.threads.windows.together > 30, "{name}");
        assert!(outcome.threads.lanes > 1, "{name}");
        assert_eq!(outcome.ending, Ending::Drained, "{name}");
    }
}

fn fat_tree() -> TopologySpec {
    TopologySpec::FatTree {
        k: 4,
        link: LINK,
        fabric_link: LINK,
    }
}

fn far(delay_ps: u64) -> LinkSpec {
    LinkSpec { delay_ps, ..LINK }
}

/// Topologies with links of one length and of several lengths, with several ports per host, and
/// with links that lose frames.
fn shapes() -> Vec<(&'static str, TopologySpec)> {
    let clos = TopologySpec::Clos {
        pods: 2,
        tors_per_pod: 2,
        aggs_per_pod: 2,
        cores: 4,
        hosts_per_tor: 4,
        link: LINK,
        agg_link: far(600 * NS),
        core_link: LinkSpec {
            rate: Rate::from_gbps(400),
            ..far(5 * US)
        },
    };
    let dual = TopologySpec::DualHomed {
        pairs: 4,
        hosts: 16,
        aggs: 2,
        link: LINK,
        uplink: far(US),
    };
    let sites = TopologySpec::MultiDc {
        sites: 2,
        leaves: 2,
        spines: 2,
        hosts_per_leaf: 4,
        link: LINK,
        uplink: LINK,
        gateway_link: LINK,
        interconnect: far(100 * US),
    };
    let dumbbell = TopologySpec::Dumbbell {
        left: 8,
        right: 8,
        link: LINK,
        core: LINK,
    };
    let lossy = TopologySpec::LeafSpine {
        leaves: 4,
        spines: 2,
        hosts_per_leaf: 4,
        link: LINK,
        uplink: LinkSpec {
            loss: Loss::of(0.002),
            ..LINK
        },
    };
    vec![
        ("fat-tree", fat_tree()),
        ("clos", clos),
        ("dual-homed", dual),
        ("multi-dc", sites),
        ("dumbbell", dumbbell),
        ("lossy", lossy),
    ]
}

// PAR-01, PAR-02
#[test]
fn all_shapes_give_the_same_on_any_number_of_threads() {
    for (name, topology) in shapes() {
        for preset in [hpcc, bfc] {
            let mut setup = preset(topology.clone(), flows(5, 16, 150));
            setup.nic.recovery = Recovery::go_back_n(500 * US);
            let outcome = same_with(&setup, &[2, 4]);
            assert!(outcome.threads.used > 1, "{name}");
            assert_eq!(outcome.ending, Ending::Drained, "{name}");
            let lost = outcome.counters.drops.iter().sum::<u64>() > 0;
            assert_eq!(lost, name == "lossy", "{name}");
        }
    }
}

// PAR-04
#[test]
fn pauses_bitmaps_and_drops_cross_as_they_are() {
    let of = |preset: fn(_, _) -> Setup| preset(leaf_spine(4, 2, 4), flows(3, 16, 400));
    let mut pfc = of(line_rate);
    pfc.switch.mmu.buffer_bytes = 300_000;
    let outcome = same_with(&pfc, &[2, 4]);
    let up = outcome
        .ports
        .iter()
        .filter(|p| p.node >= NodeId::new(20) && p.pauses > 0);
    assert!(up.count() > 0, "leaves pause spines, across a cut");

    // QNT-05: pauses that expire
    let Admission::Pfc(timed) = &mut pfc.switch.mmu.admission else {
        panic!("this is PFC")
    };
    timed.pause = PauseTime::Quanta {
        quanta: 100,
        refresh: 50,
    };
    timed.response_ps = 700_000; // SW-45: response time
    let outcome = same_with(&pfc, &[2, 4]);
    assert!(outcome.counters.hop["pfc_refreshes"] > 10);

    let mut small = of(bfc);
    small.switch.mmu.buffer_bytes = 60_000;
    let outcome = same_with(&small, &[2, 4]);
    assert!(outcome.counters.hop["bfc_pauses"] > 0 && outcome.counters.retransmissions > 0);

    let mut bitmaps = of(bfc);
    bitmaps.switch.hop.bfc_mut().unwrap().bitmap = Some(BitmapConfig {
        period_ps: 3 * US,
        frame_bytes: 64,
        edges: false,
    });
    bitmaps.until_ps = 300 * US; // bitmaps are repeated without end
    let outcome = same_with(&bitmaps, &[2, 4]);
    assert!(outcome.counters.hop["bfc_bitmaps"] > 100);

    let mut irn = of(hpcc);
    irn.switch.mmu.buffer_bytes = 200_000;
    irn.switch.mmu.reserved_bytes = 0;
    irn.switch.mmu.admission = Admission::EgressDynamic {
        alpha: Alpha::new(1.0),
        per_queue: false,
    };
    irn.nic.recovery = Recovery::Irn(IrnConfig::paper());
    let outcome = same_with(&irn, &[2, 4]);
    assert!(outcome.counters.retransmissions > 0);

    let mut spraying = of(dctcp);
    spraying.switch.path = PathChoice::Packet;
    let outcome = same_with(&spraying, &[2, 4]);
    assert!(outcome.counters.overtaken + outcome.counters.naks > 0);

    // PTH-03: flowlets, least load
    let flowlets = FlowletConfig {
        gap_ps: US,
        entries: 16,
    };
    for path in [
        PathChoice::LeastLoaded(LeastLoaded),
        PathChoice::Flowlet(flowlets),
    ] {
        let mut by_load = of(dctcp);
        by_load.switch.path = path;
        same_with(&by_load, &[2, 4]);
    }

    // SPR-01, SPR-06: path policies of senders
    let mut reps = of(dctcp);
    reps.switch.path = PathChoice::Entropy;
    reps.nic.spray = Some(REPS);
    reps.nic.reorders = true;
    reps.nic.recovery = Recovery::Irn(IrnConfig::paper());
    let outcome = same_with(&reps, &[2, 4]);
    assert!(outcome.counters.overtaken > 0);
}

// PAR-03, PAR-04
#[test]
fn held_packets_credits_and_failing_links_are_the_same_on_any_number_of_threads() {
    let of = |preset: fn(_, _) -> Setup| preset(leaf_spine(4, 2, 4), flows(3, 16, 300));
    for config in [FloodgateConfig::PRACTICAL, FloodgateConfig::IDEAL] {
        let mut setup = of(dcqcn);
        setup.switch.hop = HopConfig::Floodgate(config);
        let outcome = same_with(&setup, &[2, 4]);
        assert_eq!(outcome.violations, [], "{config:?}");
        assert_eq!(outcome.ending, Ending::Drained, "{config:?}");
        assert!(outcome.threads.used == 4 && outcome.threads.crossed > 1000);
    }

    let mut failing = of(hpcc);
    let graph = failing.topology.build().unwrap();
    let spine = graph.nodes() - 1;
    let link_failures = (0..3).map(|n| LinkFailure {
        link: LinkId::from_bits(graph.link(NodeId::from_bits(spine), n).bits()),
        from_ps: (22 + u64::from(n)) * US,
        until_ps: Some((40 + 7 * u64::from(n)) * US),
    });
    let link_failures: Vec<LinkFailure> = link_failures.collect();
    failing.link_failures = Some(LinkFailures::new(&graph, &link_failures, 2 * US));
    failing.nic.recovery = Recovery::go_back_n(500 * US);
    let outcome = same_with(&failing, &[2, 4]);
    assert!(outcome.counters.link_changes > 0 && outcome.counters.retransmissions > 0);
}

// PAR-06, ENG-07
#[test]
fn a_run_ends_at_the_same_time_whatever_ends_it() {
    // The run reaches its time limit while packets are everywhere in the network.
    let mut limit = hpcc(leaf_spine(4, 2, 4), flows(3, 16, 400));
    limit.until_ps = 33_333_333;
    assert_eq!(same_with(&limit, &[2, 4]).ending, Ending::TimeLimit);

    // A long idle time, and two flows that start at the same instant after it.
    let mut idle = bfc(leaf_spine(4, 2, 4), flows(3, 16, 20));
    idle.flows.push(flow(35, 40 * MS + 1, 0, 15, 3000));
    idle.flows.push(flow(36, 40 * MS + 1, 14, 1, 3000));
    assert_eq!(same_with(&idle, &[2, 4]).ending, Ending::Drained);

    // Lost packets are never retransmitted, so the run stalls.
    let mut stalled = line_rate(shapes().pop().unwrap().1, flows(3, 16, 400));
    stalled.nic.recovery = Recovery::NONE;
    let outcome = same_with(&stalled, &[2, 4]);
    assert_eq!(outcome.ending, Ending::Stalled);
    assert!(!outcome.stall.is_empty());

    // A cycle of pauses through all partitions.
    let mut ring = bfc(ring(6), Vec::new());
    ring.switch.classify = Classify::Dynamic {
        queues: 1,
        table: 100,
        sticky_ps: 4 * US,
    };
    ring.flows = (0..6)
        .flat_map(|i| (0..2).map(move |j| (i, j)))
        .map(|(i, j)| flow(2 * i + j, 0, 2 * i + j, (2 * i + 4 + j) % 12, 2_000_000))
        .collect();
    ring.until_ps = 20 * MS;
    same_with(&ring, &[2, 3]);

    // The user interrupts the run at a probe.
    let interrupted = |asked| {
        let mut setup = hpcc(leaf_spine(4, 2, 4), flows(3, 16, 400));
        setup.threads = forced(asked);
        let mut probes = 0;
        let mut keep = Keep::default();
        let outcome = Simulation::new(setup.plan()).run(&mut keep, &mut |now| {
            probes += 1;
            assert!(now.now_ps <= probes * 10 * US);
            probes < 4
        });
        assert_eq!(outcome.ending, Ending::Interrupted);
        (result(&outcome), keep.flows, keep.buffers)
    };
    assert_eq!(interrupted(1), interrupted(4));
}

/// If any thread of the engine panics, the run ends, and no thread waits without end.
// KER-12
#[test]
fn a_thread_that_breaks_down_takes_the_run_with_it() {
    for leaf in [0, 3] {
        let mut setup = line_rate(leaf_spine(4, 2, 4), flows(3, 16, 50));
        setup.threads = forced(4);
        let mut plan = setup.plan();
        let nowhere = Arc::new(Endpoints::new(0, vec![], vec![], vec![]));
        let none = (vec![], PortSets::default());
        plan.routes[leaf] = Routes::new(nowhere, u32::MAX, none, (PathChoice::Flow, 1));
        let simulation = Simulation::new(plan);
        let run = || simulation.run(&mut Keep::default(), &mut |_| true);
        let broken = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
        let why = broken.expect_err("its routes are gone");
        let why = why.downcast_ref::<String>().expect("a message");
        let expected = match cfg!(debug_assertions) {
            true => "is not in the network",
            false => "index out of bounds",
        };
        assert!(why.contains(expected), "leaf {leaf}: {why}");
    }
}

/// A ring of switches with two hosts each.
fn ring(switches: u32) -> TopologySpec {
    let hosts = 2 * switches;
    let access = (0..hosts).map(|host| (host, hosts + host / 2, LINK));
    let circle = (0..switches).map(|i| (hosts + i, hosts + (i + 1) % switches, LINK));
    TopologySpec::Links {
        hosts: (0..hosts).map(|i| format!("h{i}")).collect(),
        switches: (0..switches).map(|i| format!("s{i}")).collect(),
        links: access.chain(circle).collect(),
    }
}

// ENG-12
#[test]
fn very_many_flows_are_told_in_stretches() {
    // More flows at one instant than are generated in advance, and the same number spread over the
    // time after it.
    let many = 70_000u32;
    let start = |id: u32| u64::from(id.saturating_sub(many)) * 20 * NS;
    let flows = (0..2 * many)
        .map(|id| flow(id, start(id), id % 16, (id % 16 + 1 + id % 15) % 16, 100))
        .collect();
    let mut setup = line_rate(leaf_spine(4, 2, 4), flows);
    setup.until_ps = 100 * MS;
    let outcome = same_with(&setup, &[4]);
    assert_eq!(outcome.finished, u64::from(2 * many));
}

// PAR-07, PAR-08
#[test]
fn one_thread_does_it_where_several_would_not_be_faster_and_says_why() {
    let many = |asked| Threads {
        asked,
        forced: false,
    };
    let why = |setup: Setup, asked| {
        let plan = Setup {
            threads: many(asked),
            ..setup
        }
        .plan();
        let outcome = fabric::engine::run(plan, &mut Keep::default(), &mut |_| true);
        assert_eq!(outcome.threads.asked, asked);
        (outcome.threads.used, outcome.threads.why)
    };
    let few = || vec![flow(0, 0, 0, 5, 10_000)];

    let (used, said) = why(hpcc(star(16), few()), 2);
    assert_eq!(used, 1);
    assert!(said.unwrap().contains("cannot be cut"));

    let mut in_order = hpcc(leaf_spine(4, 2, 4), few());
    in_order.in_order = true;
    let (used, said) = why(in_order, 2);
    assert_eq!(used, 1);
    assert!(said.unwrap().contains("order of scheduling"));

    let mut oracle = hpcc(leaf_spine(4, 2, 4), few());
    oracle.nic.recovery = Recovery::ideal(None);
    let (used, said) = why(oracle.clone(), 2);
    assert_eq!(used, 1);
    assert!(said.unwrap().contains("ideal retransmission"));
    oracle.threads = forced(4);
    assert_eq!(oracle.run().0.threads.used, 1, "also where it is forced");

    assert_eq!(why(hpcc(leaf_spine(4, 2, 4), few()), 1), (1, None));
}

// PAR-08
#[test]
fn windows_with_little_to_do_are_done_by_one_thread_and_change_nothing() {
    if std::thread::available_parallelism().map_or(1, std::num::NonZero::get) < 2 {
        return; // this machine has too few processors
    }
    let mut flows = flows(3, 64, 400);
    // Few slow flows, then many at the same time, then few again.
    flows.retain(|f| f.start_ps >= 20 * US);
    flows.insert(0, flow(0, 0, 0, 63, 20_000));
    flows.push(flow(0, 800 * US, 63, 0, 20_000));
    for (id, f) in (0..).zip(&mut flows) {
        f.id = id;
    }
    let setup = dcqcn(leaf_spine(16, 8, 4), flows);
    let (one, kept) = setup.clone().run();
    let (two, keep) = Setup {
        threads: Threads {
            asked: 2,
            forced: false,
        },
        ..setup
    }
    .run();
    assert_eq!(two.threads.used, 2);
    assert!(two.threads.windows.alone > 0, "{:?}", two.threads);
    assert!(two.threads.windows.together > 0, "{:?}", two.threads);
    assert_eq!(result(&two), result(&one));
    assert_eq!(keep.flows, kept.flows);
    assert_eq!(keep.buffers, kept.buffers);
}

/// A random connected network of switches, with links of all lengths and rates, and one or two
/// hosts on most switches.
fn random_network(seed: u64) -> TopologySpec {
    let mut random = Stream::new(seed, 1, Purpose::Test);
    let switches = 3 + random.below(8) as u32;
    let mut on: Vec<u32> = (0..switches).flat_map(|s| [s, s]).collect();
    on.retain(|_| random.below(4) > 0);
    on.extend([0, switches - 1]);
    let hosts = on.len() as u32;
    let mut link = || LinkSpec {
        rate: Rate::from_gbps([10, 25, 100, 400][random.below(4) as usize]),
        delay_ps: [0, 10 * NS, 300 * NS, US, 1_234_567, 20 * US][random.below(6) as usize],
        loss: Loss::NONE,
    };
    let mut links: Vec<(u32, u32, LinkSpec)> = Vec::new();
    for (host, &switch) in (0..).zip(&on) {
        links.push((host, hosts + switch, link()));
    }
    // A spanning tree, and the same number of additional links.
    let mut pairs: Vec<(u32, u32)> = (1..switches).map(|s| (s / 2, s)).collect();
    pairs.extend((1..switches).map(|s| (s * 7 % switches, (s * 5 + 2) % switches)));
    pairs.retain(|(a, b)| a != b);
    for pair in &mut pairs {
        *pair = (pair.0.min(pair.1), pair.0.max(pair.1));
    }
    pairs.sort_unstable();
    pairs.dedup();
    links.extend(pairs.iter().map(|&(a, b)| (hosts + a, hosts + b, link())));
    TopologySpec::Links {
        hosts: (0..hosts).map(|i| format!("h{i}")).collect(),
        switches: (0..switches).map(|i| format!("s{i}")).collect(),
        links,
    }
}

// PAR-10
#[test]
fn large_networks_have_lanes_and_small_ones_and_those_that_need_one_order_have_not() {
    let fat_tree = |k| TopologySpec::FatTree {
        k,
        link: LINK,
        fabric_link: LINK,
    };
    let run = |setup: Setup| {
        let (outcome, _) = setup.run_raw();
        (outcome.threads.lanes, outcome.digest)
    };
    let large = |lanes| Setup {
        lanes,
        ..hpcc(fat_tree(20), flows(3, 2000, 100))
    };
    // 2000 ports of hosts, and 20 ports on each of 500 switches.
    let (lanes, digest) = run(large(None));
    assert_eq!(lanes, 11);
    assert_eq!(run(large(Some(1))), (1, digest));
    // 1024 ports of hosts, and 16 ports on each of 320 switches: fewer than the 8192 ports for
    // lanes.
    assert_eq!(run(hpcc(fat_tree(16), flows(3, 1024, 100))).0, 1);
    let small = hpcc(fat_tree(4), flows(3, 16, 100));
    assert_eq!(run(small.clone()).0, 1);
    let some = |setup: Setup| Setup {
        lanes: Some(4),
        ..setup
    };
    assert_eq!(run(some(small.clone())).0, 4);
    let recorded = Setup {
        record: everything(),
        ..small.clone()
    };
    assert_eq!(run(some(recorded)).0, 1);
    let mut oracle = small;
    oracle.nic.recovery = Recovery::ideal(None);
    assert_eq!(run(some(oracle)).0, 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    // PAR-03
    #[test]
    fn random_networks_give_the_same_on_any_number_of_threads(
        seed in 0..1_000_000u64,
        preset in 0..PRESETS.len(),
        buffer in prop::sample::select(vec![100_000u64, 400_000, 12_000_000]),
    ) {
        let topology = random_network(seed);
        let TopologySpec::Links { hosts, .. } = &topology else { unreachable!() };
        let hosts = hosts.len() as u32;
        let mut setup = PRESETS[preset].1(topology, flows(seed, hosts, 60));
        setup.switch.mmu.buffer_bytes = buffer;
        setup.until_ps = 30 * MS;
        same_with(&setup, &[2, 3, 5]);
    }
}
