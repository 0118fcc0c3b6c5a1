//! Workloads on hosts: the times of collectives agree with closed forms, and are equal for any
//! number of threads.

use crate::common::*;
use dataplane::config::{Admission, IrnConfig, PathChoice, Recovery};
use dataplane::units::{MS, NS, Rate, Time, US};
use fabric::engine::{Simulation, Threads};
use fabric::paths::{FrameSizes, Paths};
use fabric::record::{
    CollectiveRecord, Ending, FlowRecord, OperationRecord, Outcome, RankRecord, Recorder, Rows,
};
use fabric::topology::{LinkSpec, Loss, Servers, TopologySpec, Wiring};
use fabric::workload::{Job, Jobs};
use fabric::{LinkId, NodeId};
use kernel::Wheel;
use proptest::prelude::*;
use std::sync::Arc;
use traffic::collectives::bounds::{least_across, least_bytes};
use traffic::operations::{
    Block, By, Collective, CollectiveKind, Composed, Group, InMemory, Operation, Options,
    QueuePairs, Receive, ReceiveEnd, Send, SendEnd, Slow, Source, Stragglers, Trigger, TriggerKind,
    Who, Work, Workload,
};

const FRAMES: FrameSizes = FrameSizes {
    mtu: 1000,
    header: 48,
    ack: 60,
};

/// Rows that a run with workloads records.
#[derive(Debug, Default, PartialEq)]
struct Kept {
    flows: Vec<FlowRecord>,
    operations: Vec<OperationRecord>,
    collectives: Vec<CollectiveRecord>,
    ranks: Vec<RankRecord>,
}

impl Recorder for Kept {
    fn rows(&mut self, rows: &dyn Rows) {
        self.flows.extend_from_slice(rows.of().unwrap_or_default());
        self.operations
            .extend_from_slice(rows.of().unwrap_or_default());
        self.collectives
            .extend_from_slice(rows.of().unwrap_or_default());
        self.ranks.extend_from_slice(rows.of().unwrap_or_default());
    }
}

fn jobs(jobs: Vec<Job>) -> Jobs {
    Jobs {
        jobs: jobs.into(),
        ..Jobs::default()
    }
}

/// Creates a job in which rank r runs on host r and has the operations `operations[r]`.
fn job(operations: Vec<Vec<Operation>>, options: Options) -> Job {
    let ranks = operations.len() as u32;
    let workload = Workload {
        ranks,
        options,
        ..Workload::default()
    };
    Job {
        name: "work".to_owned(),
        workload: Arc::new(workload),
        source: Arc::new(InMemory {
            operations: operations.into(),
            names: Vec::new(),
        }),
        stragglers: Arc::default(),
        hosts: (0..ranks).map(NodeId::from_bits).collect(),
        start_ps: 0,
        number: 0,
        relay: None,
        by_rail: false,
    }
}

/// Creates a job with one collective of all ranks. A send ends when the message is handed to the
/// network, so the collective ends with the arrival of the last message.
fn collective(kind: CollectiveKind, ranks: u32, bytes: u64, algorithm: &str) -> Job {
    let operation = Operation {
        work: Work::Collective(Box::new(Collective {
            kind,
            bytes,
            algorithm: Some(algorithm.into()),
            ..Collective::default()
        })),
        ..Operation::default()
    };
    let options = Options {
        send_end: SendEnd::Eager,
        ..Options::default()
    };
    job(vec![vec![operation]; ranks as usize], options)
}

fn run_on(setup: &Setup, work: Vec<Job>, threads: Threads) -> (Outcome, Kept) {
    let mut plan = setup.clone().plan();
    plan.jobs = jobs(work);
    plan.threads = threads;
    let mut kept = Kept::default();
    let outcome = Simulation::<Wheel>::new(plan).run(&mut kept, &mut |_| true);
    assert_eq!(outcome.violations, [], "all audits hold");
    (outcome, kept)
}

fn run(setup: &Setup, work: Vec<Job>) -> (Outcome, Kept) {
    run_on(setup, work, Threads::ONE)
}

/// A setup with few ACKs, because ACKs share the links with data.
fn network(topology: TopologySpec) -> Setup {
    let mut setup = line_rate(topology, Vec::new());
    setup.nic.ack_every = 64;
    setup
}

/// Returns the time that one message needs alone between two ports of hosts.
fn alone(setup: &Setup, from: u32, to: u32, bytes: u64) -> Time {
    let graph = Arc::new(setup.topology.build().expect("a network"));
    Paths::new(graph).ideal_received_ps(
        LinkId::from_bits(from),
        LinkId::from_bits(to),
        bytes,
        FRAMES,
    )
}

/// Returns the time of a ring collective of hosts 0 to n − 1 in which each part of the data passes
/// `hops` hops. The part whose hops take longest determines the time.
fn ring_ps(setup: &Setup, n: u32, part_bytes: u64, hops: u32) -> Time {
    let hop = |from: u32| alone(setup, from, (from + 1) % n, part_bytes);
    let hop: Vec<Time> = (0..n).map(hop).collect();
    let way = |first: u32| -> Time { (first..first + hops).map(|k| hop[(k % n) as usize]).sum() };
    (0..n).map(way).max().expect("a ring")
}

/// Returns the time of exchanges of S/2, S/4, … between hosts 0 to n − 1 at distances n/2, n/4, …
/// Pairs at one distance are equally far apart in the network.
fn halving_ps(setup: &Setup, n: u32, bytes: u64) -> Time {
    let rounds = 1..=n.ilog2();
    rounds.map(|k| alone(setup, 0, n >> k, bytes >> k)).sum()
}

/// Returns the time of a collective of hosts 0 to n − 1 with one port each, if only its own
/// messages are in the network.
// RNK-01, RNK-12, OPS-50, OPS-53, OPS-54, OPS-60
fn closed_form_ps(
    setup: &Setup,
    kind: CollectiveKind,
    algorithm: &str,
    n: u32,
    bytes: u64,
) -> Time {
    let all_reduce = if kind == CollectiveKind::AllReduce {
        2
    } else {
        1
    };
    let part = bytes / u64::from(n);
    match algorithm {
        "ring" => ring_ps(setup, n, part, (n - 1) * all_reduce),
        "halving-doubling" => halving_ps(setup, n, bytes) * u64::from(all_reduce),
        // All messages share the links, so they take as long as one message with all bytes.
        "direct" => alone(setup, 0, 1, part * u64::from(n - 1)),
        "hierarchical:server=4" => {
            let inside = alone(setup, 0, 1, bytes / 4 * 3);
            2 * inside + u64::from(2 * (n / 4 - 1)) * alone(setup, 0, 4, part)
        }
        _ => panic!("{algorithm}"),
    }
}

/// A network whose switches spray the packets of a message over all paths.
fn sprayed(topology: TopologySpec) -> Setup {
    let mut setup = network(topology);
    setup.switch.path = PathChoice::Packet;
    setup.nic.recovery = Recovery::NONE;
    setup
}

/// A Clos of two tiers, with 16 hosts on 4 leaves. Half of its 8 spines would be sufficient, so
/// randomly sprayed packets do not queue.
fn two_tiers() -> Setup {
    sprayed(leaf_spine(4, 8, 4))
}

/// A Clos of three tiers, with 16 hosts on 8 switches.
const FAT_TREE: TopologySpec = TopologySpec::FatTree {
    k: 4,
    link: LINK,
    fabric_link: LINK,
};

/// Checks that a time is at least `expected`, and at most 1 % larger.
fn close_to(took: Time, expected: Time, what: &str) {
    assert!(took >= expected, "{what}: {took} ps, below {expected}");
    let most = expected + expected / 100;
    assert!(took <= most, "{what}: {took} ps, more than {most}");
}

fn took(kept: &Kept) -> Time {
    let [one] = &kept.collectives[..] else {
        panic!("{:?}", kept.collectives)
    };
    one.end_ps - one.start_ps
}

// RNK-01, RNK-03, RNK-12
#[test]
fn collectives_on_one_switch_take_the_time_of_their_closed_forms() {
    use CollectiveKind::*;
    let setup = network(star(8));
    let bytes = 4_000_000;
    for (kind, algorithm) in [
        (AllReduce, "ring"),
        (AllGather, "ring"),
        (ReduceScatter, "ring"),
        (AllReduce, "halving-doubling"),
        (AllGather, "halving-doubling"),
        (AllReduce, "hierarchical:server=4"),
        (AllToAll, "direct"),
    ] {
        let expected = closed_form_ps(&setup, kind, algorithm, 8, bytes);
        let what = format!("{kind} by {algorithm}");
        let (outcome, kept) = run(&setup, vec![collective(kind, 8, bytes, algorithm)]);
        assert_eq!(outcome.ending, Ending::Drained, "{what}");
        close_to(took(&kept), expected, &what);
        let whole = &kept.collectives[0];
        assert_eq!((whole.ranks, whole.bytes), (8, bytes));
        let algorithm_bps = bytes as f64 * 8e12 / took(&kept) as f64;
        assert_eq!(whole.algorithm_bps(), Some(algorithm_bps));
        let factor = whole.bus_bps().expect("a factor") / algorithm_bps;
        let expected = match kind {
            AllReduce => 1.75,
            _ => 0.875,
        };
        assert!((factor - expected).abs() < 1e-12);
    }
}

// RNK-01, RNK-12
#[test]
fn collectives_over_a_clos_with_spraying_take_the_time_of_their_closed_forms() {
    use CollectiveKind::*;
    let full = || sprayed(leaf_spine(4, 4, 4));
    for (setup, kind, algorithm, bytes) in [
        (full(), AllReduce, "ring", 16_000_000),
        (full(), AllGather, "ring", 8_000_000),
        (full(), AllToAll, "direct", 16_000_000),
        (two_tiers(), AllReduce, "halving-doubling", 8_000_000),
        (two_tiers(), ReduceScatter, "halving-doubling", 8_000_000),
        (two_tiers(), AllReduce, "hierarchical:server=4", 8_000_000),
        (sprayed(FAT_TREE), AllReduce, "ring", 8_000_000),
        (sprayed(FAT_TREE), AllGather, "ring", 8_000_000),
    ] {
        let what = format!("{kind} by {algorithm} over {:?}", setup.topology);
        let expected = closed_form_ps(&setup, kind, algorithm, 16, bytes);
        let (_, kept) = run(&setup, vec![collective(kind, 16, bytes, algorithm)]);
        close_to(took(&kept), expected, &what);
    }
}

// RNK-01, OPS-60: data inside a server use the scale-up domain, data between servers the rails.
#[test]
fn a_hierarchical_all_reduce_takes_the_time_of_servers_and_rails() {
    let setup = network(RAILS);
    let work = collective(
        CollectiveKind::AllReduce,
        16,
        8_000_000,
        "hierarchical:server=4",
    );
    let (_, kept) = run(&setup, vec![work]);
    // Ports 2g and 2g + 1 of GPU g lead to the switch of its server and to its leaf.
    let (inside, across) = (alone(&setup, 0, 2, 6_000_000), alone(&setup, 1, 9, 500_000));
    close_to(
        took(&kept),
        2 * inside + 6 * across,
        "hierarchical on rails",
    );
}

const RAILS: TopologySpec = TopologySpec::Servers(Servers {
    wiring: Wiring::Rails,
    servers: 4,
    gpus_per_server: 4,
    servers_per_segment: 4,
    nic_ports: 1,
    planes: 1,
    spines: 2,
    scale_up: LinkSpec {
        rate: Rate::from_gbps(800),
        delay_ps: 500 * NS,
        loss: Loss::NONE,
    },
    link: LINK,
    uplink: LINK,
});

// RNK-05: the result does not depend on the thread that runs a rank.
#[test]
fn any_number_of_threads_gives_the_same() {
    let mut topologies = vec![leaf_spine(4, 2, 4), RAILS];
    for topology in topologies.drain(..) {
        let mut setup = dcqcn(topology, (0..40).map(background).collect());
        setup.record = Default::default();
        let work = || {
            let ring = collective(CollectiveKind::AllReduce, 16, 640_000, "ring:channels=2");
            let other = Job {
                number: 1,
                start_ps: 3 * US,
                hosts: (0..8).map(|rank| NodeId::new(15 - rank)).collect(),
                ..collective(CollectiveKind::AllToAll, 8, 200_000, "direct")
            };
            vec![ring, other]
        };
        let (one, kept) = run(&setup, work());
        assert_eq!((one.ending, kept.collectives.len()), (Ending::Drained, 2));
        assert!(kept.ranks.iter().all(|rank| rank.end_ps.is_some()));
        for asked in [2, 4] {
            let (many, keep) = run_on(&setup, work(), forced(asked));
            assert_eq!(many.threads.used, asked);
            assert_eq!(many.digest, one.digest, "{asked} threads");
            assert_eq!(keep, kept, "{asked} threads");
        }
        let mut lanes = setup.clone();
        lanes.lanes = Some(3);
        let (many, keep) = run(&lanes, work());
        assert_eq!((many.digest, keep), (one.digest, kept), "lanes");
    }
}

/// Returns the same job with messages that share queue pairs, or with a queue pair per message.
fn pairs(mut work: Job, queue_pairs: QueuePairs) -> Job {
    Arc::make_mut(&mut work.workload).options.queue_pairs = queue_pairs;
    work
}

// RNK-15, NIC-52: shared queue pairs work even if packets are lost.
#[test]
fn queue_pairs_that_messages_share_give_the_same_on_any_number_of_threads() {
    let mut digests = Vec::new();
    for queue_pairs in [QueuePairs::PerChannel, QueuePairs::PerMessage] {
        for recovery in [Recovery::go_back_n(MS), Recovery::Irn(IrnConfig::paper())] {
            let mut setup = dcqcn(leaf_spine(4, 2, 4), (0..40).map(background).collect());
            setup.nic.recovery = recovery;
            setup.switch.mmu.buffer_bytes = 60_000;
            setup.switch.mmu.admission = Admission::SharedPool;
            setup.nic.ack_every = 4;
            let work = || {
                let ring = collective(CollectiveKind::AllReduce, 16, 640_000, "ring:channels=2");
                let spread = collective(CollectiveKind::AllToAll, 16, 400_000, "direct");
                let spread = Job {
                    number: 1,
                    ..spread
                };
                vec![pairs(ring, queue_pairs), pairs(spread, queue_pairs)]
            };
            let (one, kept) = run(&setup, work());
            assert!(one.counters.retransmissions > 0, "packets are lost");
            assert_eq!((one.ending, kept.collectives.len()), (Ending::Drained, 2));
            let (many, keep) = run_on(&setup, work(), forced(2));
            assert_eq!((many.digest, keep), (one.digest, kept));
            digests.push(one.digest);
        }
    }
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), 4, "it makes a difference");
}

// RNK-15: messages of one queue pair use one path, like messages of one connection.
#[test]
fn messages_of_a_queue_pair_take_one_path() {
    let links = |queue_pairs| {
        let setup = line_rate(leaf_spine(2, 8, 1), Vec::new());
        let operations = vec![
            (0..32).map(|_| send(1, 10_000, &[])).collect(),
            (0..32).map(|_| receive(0, &[])).collect(),
        ];
        let work = pairs(job(operations, Options::default()), queue_pairs);
        let (outcome, kept) = run(&setup, vec![work]);
        let ups = (outcome.ports.iter()).filter(|port| {
            port.node == NodeId::new(2) && port.port >= 1 && port.tx_data_packets > 0
        });
        // Messages are sent one after the other: the flow of a message begins when the previous
        // flow has sent all bytes.
        let mut ends: Vec<Time> = kept.flows.iter().filter_map(|f| f.received_ps).collect();
        ends.sort_unstable();
        (ups.count(), *ends.first().expect("messages"))
    };
    let (shared, first) = links(QueuePairs::PerChannel);
    let (own, together) = links(QueuePairs::PerMessage);
    assert_eq!(shared, 1);
    assert!(own > 4, "{own} of 8 links");
    assert!(
        first * 4 < together,
        "{first} ps, {together} ps where all share the port"
    );
}

// RNK-16
#[test]
fn channels_use_the_ports_of_their_rails() {
    let TopologySpec::Servers(servers) = RAILS else {
        unreachable!()
    };
    let setup = line_rate(
        TopologySpec::Servers(Servers {
            nic_ports: 2,
            planes: 2,
            ..servers
        }),
        Vec::new(),
    );
    // Rank r is the first GPU of server r. Its ports 1 and 2 are those of the NIC.
    let on = |by_rail| {
        let ring = collective(CollectiveKind::AllReduce, 4, 800_000, "ring:channels=2");
        let work = Job {
            hosts: (0..4).map(|server| NodeId::new(server * 4)).collect(),
            by_rail,
            ..ring
        };
        let (outcome, _) = run(&setup, vec![work]);
        let ports = outcome
            .ports
            .iter()
            .filter(|port| port.node == NodeId::new(0));
        let sent: Vec<u64> = ports.map(|port| port.tx_data_packets).collect();
        sent
    };
    let by_rail = on(true);
    assert_eq!(by_rail[0], 0, "nothing stays in the server");
    assert_eq!(by_rail[1], by_rail[2]);
    assert_ne!(on(false)[1], on(false)[2], "hashes are not even");
}

fn background(id: u32) -> traffic::Flow {
    flow(id, Time::from(id) * US, id % 16, (id * 7 + 3) % 16, 20_000)
}

fn send(to: u32, bytes: u64, after: &[u32]) -> Operation {
    Operation {
        work: Work::Send(Send {
            to,
            bytes,
            ..Send::default()
        }),
        after_end: after.to_vec(),
        ..Operation::default()
    }
}

fn receive(from: u32, after: &[u32]) -> Operation {
    Operation {
        work: Work::Receive(Receive {
            from: Some(from),
            tag: Some(0),
            ..Receive::default()
        }),
        after_end: after.to_vec(),
        ..Operation::default()
    }
}

fn calc(duration_ps: Time, after: &[u32]) -> Operation {
    Operation {
        work: Work::Calc { duration_ps },
        after_end: after.to_vec(),
        ..Operation::default()
    }
}

// RNK-04, RNK-10, RNK-11
#[test]
fn long_computations_keep_a_run_alive_and_times_are_told_apart() {
    // Rank 0 computes for a long time and then sends. Rank 1 waits, then computes.
    let setup = network(star(2));
    let bytes = 1_000_000;
    let operations = vec![
        vec![calc(30 * MS, &[]), send(1, bytes, &[0])],
        vec![calc(MS, &[]), receive(0, &[]), calc(2 * MS, &[1])],
    ];
    let (outcome, kept) = run(&setup, vec![job(operations, Options::default())]);
    assert_eq!(outcome.ending, Ending::Drained);
    let there = 30 * MS + alone(&setup, 0, 1, bytes);
    let of = |rank, index| {
        let found = |r: &&OperationRecord| (r.rank, r.index) == (rank, index);
        *kept.operations.iter().find(found).expect("an operation")
    };
    assert_eq!(of(1, 1).end_ps, there);
    assert_eq!(of(1, 2).end_ps, there + 2 * MS);
    assert_eq!(of(1, 2).released_by, Some(1));
    assert_eq!(of(1, 1).ended_by, Some((0, 1)));
    let last_ack = kept.flows[0].acked_ps.expect("acknowledged");
    assert_eq!(of(0, 1).end_ps, last_ack);
    let [zero, one] = kept.ranks[..] else {
        panic!()
    };
    assert_eq!(zero.computing_ps, 30 * MS);
    assert_eq!(zero.exposed_ps, last_ack - 30 * MS);
    assert_eq!(one.computing_ps, 3 * MS);
    assert_eq!(one.exposed_ps, there - MS);
    assert_eq!(
        (one.idle_ps, one.end_ps),
        (0, Some(there + 2 * MS)),
        "it waited for the message all the time"
    );
}

// OPS-70, RNK-05: random delays depend on seed and rank, not on the thread.
#[test]
fn ranks_that_are_slow_by_chance_are_so_on_any_number_of_threads() {
    let by_chance = |by| Slow {
        who: Who::Chance(0.5),
        by,
    };
    let stragglers = Arc::new(Stragglers {
        seed: 5,
        slow: vec![
            by_chance(By::Factor(3.0)),
            by_chance(By::LogNormal { sigma: 0.3 }),
        ],
        noise: None,
    });
    let work = || Job {
        stragglers: Arc::clone(&stragglers),
        ..job(vec![vec![calc(MS, &[])]; 16], Options::default())
    };
    let setup = network(leaf_spine(4, 2, 4));
    let (one, kept) = run(&setup, vec![work()]);
    let mut took: Vec<Time> = kept.ranks.iter().map(|rank| rank.computing_ps).collect();
    for (rank, &took) in (0..).zip(&took) {
        let expected = (MS as f64 * stragglers.factor(rank)).round();
        assert_eq!(took, expected as Time, "rank {rank}");
    }
    took.sort_unstable();
    took.dedup();
    assert!((4..16).contains(&took.len()), "{took:?}");
    let (many, keep) = run_on(&setup, vec![work()], forced(2));
    assert_eq!((many.digest, keep), (one.digest, kept));
}

// RNK-18, OPS-14
#[test]
fn sends_and_receives_end_when_this_end_or_the_other_knows() {
    let setup = network(RAILS);
    // From GPU 1 of server 0 to GPU 2 of server 1, directly over its rail or through the GPU on the
    // other rail.
    for relay in [None, Some(4)] {
        for send_end in [SendEnd::Eager, SendEnd::Acknowledged, SendEnd::Received] {
            for receive_end in [ReceiveEnd::Received, ReceiveEnd::Acknowledged] {
                let options = Options {
                    send_end,
                    receive_end,
                    ..Options::default()
                };
                let mut operations = vec![Vec::new(); 16];
                operations[1].push(send(6, 100_000, &[]));
                operations[6].push(receive(1, &[]));
                let work = Job {
                    relay,
                    ..job(operations, options)
                };
                let (outcome, kept) = run_on(&setup, vec![work], forced(2));
                let (first, last) = (&kept.flows[0], &kept.flows[kept.flows.len() - 1]);
                let there = last.received_ps.expect("all is there");
                let acked = |flow: &FlowRecord| flow.acked_ps.expect("acknowledged");
                assert!(there < acked(last));
                let end = |rank| {
                    let of_rank = |o: &&OperationRecord| o.rank == rank;
                    kept.operations.iter().find(of_rank).map(|o| o.end_ps)
                };
                let sent = match send_end {
                    SendEnd::Eager => 0,
                    SendEnd::Acknowledged => acked(first),
                    SendEnd::Received => there,
                };
                let received = match receive_end {
                    ReceiveEnd::Received => there,
                    ReceiveEnd::Acknowledged => acked(last),
                };
                let what = format!("{send_end:?}, {receive_end:?}, {relay:?}");
                assert_eq!((end(1), end(6)), (Some(sent), Some(received)), "{what}");
                let at_once =
                    send_end == SendEnd::Received || receive_end == ReceiveEnd::Acknowledged;
                assert_eq!(outcome.threads.used == 1, at_once, "{what}");
                let why = outcome.threads.why.unwrap_or_default();
                assert_eq!(why.contains("at another host"), at_once, "{why}");
            }
        }
    }
}

// RNK-18: in a ring, each part is forwarded when the previous part has been acknowledged.
#[test]
fn collectives_go_on_with_the_last_ack_where_receives_end_with_it() {
    let setup = network(star(4));
    let options = Options {
        receive_end: ReceiveEnd::Acknowledged,
        ..Options::default()
    };
    let operations = vec![vec![send(1, 250_000, &[])], vec![receive(0, &[])]];
    let (_, kept) = run(&setup, vec![job(operations, options.clone())]);
    let alone = kept.flows[0].acked_ps.expect("acknowledged");
    let mut ring = collective(CollectiveKind::AllReduce, 4, 1_000_000, "ring");
    Arc::make_mut(&mut ring.workload).options = options;
    let (_, kept) = run(&setup, vec![ring]);
    close_to(took(&kept), 6 * alone, "a ring of four");
}

// RNK-10
#[test]
fn a_workload_that_is_stuck_says_why() {
    let setup = network(star(2));
    let operations = vec![
        vec![send(1, 1000, &[])],
        vec![receive(0, &[]), receive(0, &[0])],
    ];
    let (outcome, kept) = run(&setup, vec![job(operations, Options::default())]);
    assert_eq!(outcome.ending, Ending::Stalled);
    let told = outcome.stall.join("\n");
    assert!(told.contains("workload work"), "{told}");
    assert!(told.contains("rank 1, operation 1 (recv)"), "{told}");
    assert_eq!(kept.operations.len(), 2, "what has ended is kept");
    assert_eq!(kept.ranks[1].end_ps, None);
    assert_eq!((kept.ranks[1].ended, kept.ranks[1].operations), (1, 2));
}

// RNK-10
#[test]
fn a_run_that_is_stopped_keeps_what_has_ended() {
    let mut setup = network(star(2));
    setup.until_ps = 5 * MS;
    let operations = vec![
        vec![calc(MS, &[]), calc(30 * MS, &[0])],
        vec![calc(MS, &[])],
    ];
    let (outcome, kept) = run(&setup, vec![job(operations, Options::default())]);
    assert_eq!(
        (outcome.ending, outcome.end_ps),
        (Ending::TimeLimit, 5 * MS)
    );
    assert_eq!(kept.operations.len(), 2);
    assert_eq!(kept.ranks[0].end_ps, None);
    assert_eq!(kept.ranks[0].idle_ps, 4 * MS, "nothing has ended since");
}

/// A source whose operations cannot be read.
#[derive(Debug)]
struct Unreadable;

impl Source for Unreadable {
    fn count(&self, _rank: u32) -> u32 {
        1
    }

    fn read(&self, _rank: u32, _from: u32) -> Result<Block, traffic::Error> {
        Err(traffic::Error {
            place: None,
            message: "the disk is gone".to_owned(),
        })
    }

    fn name(&self, _rank: u32, _index: u32) -> Option<String> {
        None
    }
}

// RNK-09
#[test]
fn a_workload_that_cannot_be_read_ends_the_run() {
    let work = Job {
        source: Arc::new(Unreadable),
        ..job(vec![vec![calc(MS, &[])]; 2], Options::default())
    };
    let mut plan = network(star(2)).plan();
    plan.jobs = jobs(vec![work]);
    let error = Arc::clone(&plan.jobs.error);
    let simulation = Simulation::<Wheel>::new(plan);
    let outcome = simulation.run(&mut Kept::default(), &mut |_| true);
    assert_eq!(outcome.ending, Ending::Interrupted);
    assert_eq!(error.get().map(String::as_str), Some("the disk is gone"));
}

// RNK-06
#[test]
fn messages_between_ranks_of_one_host_are_there_at_once() {
    let setup = network(star(2));
    let operations = vec![
        vec![send(1, 1000, &[])],
        vec![receive(0, &[]), calc(MS, &[0])],
    ];
    let work = Job {
        hosts: [1, 1].map(NodeId::new).into(),
        ..job(operations, Options::default())
    };
    let (_, kept) = run(&setup, vec![work]);
    assert_eq!(kept.flows, []);
    assert_eq!(kept.operations.iter().map(|o| o.end_ps).max(), Some(MS));
}

// RNK-08
#[test]
fn triggers_act_at_once_on_any_host() {
    let setup = network(star(4));
    let first = Operation {
        work: Work::Send(Send {
            to: 1,
            bytes: 1000,
            on_received: Some(0),
            ..Send::default()
        }),
        ..Operation::default()
    };
    let next = Operation {
        trigger: Some(0),
        ..send(3, 1000, &[])
    };
    let options = Options {
        matching: traffic::operations::Matching::None,
        ..Options::default()
    };
    let mut work = job(vec![vec![first], vec![], vec![next], vec![]], options);
    Arc::make_mut(&mut work.workload).triggers = vec![Trigger {
        kind: TriggerKind::OneShot,
    }];
    let (outcome, kept) = run_on(&setup, vec![work], forced(2));
    assert_eq!(outcome.threads.used, 1);
    let why = outcome.threads.why.expect("a reason");
    assert!(why.contains("trigger"), "{why}");
    assert_eq!(kept.flows[1].flow.start_ps, alone(&setup, 0, 1, 1000));
}

// RNK-07
#[test]
fn a_message_to_another_rail_goes_by_the_gpu_on_that_rail() {
    let setup = network(RAILS);
    // GPU 1 of server 0 sends to GPU 2 of server 1.
    let mut operations = vec![Vec::new(); 16];
    operations[1].push(send(6, 50_000, &[]));
    operations[6].push(receive(1, &[]));
    let relayed = Job {
        relay: Some(4),
        ..job(operations, Options::default())
    };
    let (_, kept) = run(&setup, vec![relayed.clone()]);
    let ends: Vec<(u32, u32)> = (kept.flows.iter())
        .map(|record| (record.flow.src, record.flow.dst))
        .collect();
    assert_eq!(ends, [(1, 2), (2, 6)]);
    // Ports 2g and 2g + 1 of GPU g lead to the switch of its server and to its leaf.
    let there = alone(&setup, 2, 4, 50_000) + alone(&setup, 5, 13, 50_000);
    let received = kept.operations.iter().find(|o| o.rank == 6);
    assert_eq!(received.map(|o| o.end_ps), Some(there));
    // Messages within a server or on one rail need no relay.
    assert_eq!(relayed.relay(NodeId::new(1), NodeId::new(2)), None);
    assert_eq!(relayed.relay(NodeId::new(1), NodeId::new(5)), None);
    assert_eq!(
        relayed.relay(NodeId::new(1), NodeId::new(6)),
        Some(NodeId::new(2))
    );
}

// RNK-02: the path of a message depends on its identity, not on the number of earlier messages.
#[test]
fn messages_take_the_same_paths_whatever_the_scheme() {
    let ways = |mut setup: Setup| {
        setup.nic.ack_every = 1;
        let work = collective(CollectiveKind::AllToAll, 16, 160_000, "direct");
        let (outcome, _) = run(&setup, vec![work]);
        let ups = outcome
            .ports
            .iter()
            .filter(|port| port.node >= NodeId::new(16) && port.port >= 4);
        ups.map(|port| port.tx_data_packets).collect::<Vec<_>>()
    };
    let topology = leaf_spine(4, 4, 4);
    let one = ways(line_rate(topology.clone(), Vec::new()));
    assert_eq!(one, ways(dcqcn(topology.clone(), Vec::new())));
    assert_eq!(one, ways(bfc(topology, Vec::new())));
}

/// Returns a kind of collective with an algorithm, and a number of which the number of ranks must
/// be a multiple; 0: it must be a power of two.
fn kinds() -> impl Strategy<Value = (CollectiveKind, &'static str, u32)> {
    use CollectiveKind::*;
    prop_oneof![
        Just((AllReduce, "ring", 1)),
        Just((AllReduce, "ring:channels=2,chunks=3", 1)),
        Just((AllReduce, "double-binary-tree:chunks=2", 1)),
        Just((AllReduce, "halving-doubling", 1)),
        Just((AllReduce, "hierarchical:server=2", 2)),
        Just((AllReduce, "hierarchical:server=4,inside=ring", 4)),
        Just((AllReduce, "direct", 1)),
        Just((AllGather, "ring", 1)),
        Just((AllGather, "halving-doubling", 0)),
        Just((AllGather, "direct", 1)),
        Just((ReduceScatter, "ring", 1)),
        Just((ReduceScatter, "halving-doubling", 0)),
        Just((AllToAll, "direct:window=2", 1)),
        Just((Broadcast, "binomial-tree", 1)),
    ]
}

/// Returns the minimum time of a collective of hosts 0 to n − 1, ps. It is the time of all bytes
/// with headers that must cross the ports of a host, or the rails of a server, plus the delay of
/// two links.
// RNK-12, OPS-61, OPS-62
fn bound_ps(setup: &Setup, kind: CollectiveKind, n: u32, bytes: u64) -> Time {
    let through = |payload: u64, gbps: u64, link: &LinkSpec| {
        let packets = payload.div_ceil(setup.nic.mtu.into());
        let wire = payload + packets * u64::from(setup.nic.header);
        let way_ps = if payload == 0 { 0 } else { 2 * link.delay_ps };
        wire * 8_000 / gbps + way_ps
    };
    let least = least_bytes(kind, n, bytes).expect("a bound");
    let TopologySpec::Servers(servers) = &setup.topology else {
        return through(least, 100, &LINK);
    };
    let of_server = |first: u32| {
        let inside = (n - first).min(4);
        let least = least_across(kind, n, inside, bytes);
        through(least, 100 * u64::from(inside), &LINK)
    };
    // A host has a port of 800 Gbit/s to its server and, if there are several servers, one of 100
    // Gbit/s to its rail.
    let gbps = if n > 4 { 900 } else { 800 };
    let of_host = through(least, gbps, &servers.scale_up);
    (0..n).step_by(4).map(of_server).fold(of_host, Time::max)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    // RNK-12
    #[test]
    fn no_collective_is_faster_than_its_bound(
        (kind, algorithm, multiple) in kinds(),
        ranks in 2u32..17,
        bytes in (0u32..22).prop_flat_map(|log| 1u64 << log..2 << log),
        fabric in 0usize..4,
        acknowledged: bool,
        shared: bool,
    ) {
        let ranks = match multiple {
            0 => ranks.next_power_of_two(),
            multiple => ranks.next_multiple_of(multiple),
        };
        let topology = match fabric {
            0 => star(ranks),
            1 => leaf_spine(4, 2, 4),
            2 => FAT_TREE,
            _ => RAILS,
        };
        let setup = dcqcn(topology, Vec::new());
        let mut work = collective(kind, ranks, bytes, algorithm);
        if acknowledged {
            work = Job {
                workload: Arc::new(Workload { ranks, ..Workload::default() }),
                ..work
            };
        }
        let queue_pairs = match shared {
            true => QueuePairs::PerChannel,
            false => QueuePairs::PerMessage,
        };
        let (outcome, kept) = run(&setup, vec![pairs(work, queue_pairs)]);
        prop_assert_eq!(outcome.ending, Ending::Drained);
        let bound_ps = bound_ps(&setup, kind, ranks, bytes);
        prop_assert!(took(&kept) >= bound_ps, "{} ps, at least {bound_ps}", took(&kept));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    // RNK-01, RNK-12: the closed form is the time of the required bytes with headers, plus the time
    // of the first packet of each round. ACKs that share the links may add 1 %.
    #[test]
    fn collectives_take_the_time_of_their_closed_forms(
        (kind, algorithm) in prop_oneof![
            Just((CollectiveKind::AllReduce, "ring")),
            Just((CollectiveKind::AllGather, "ring")),
            Just((CollectiveKind::ReduceScatter, "ring")),
            Just((CollectiveKind::AllReduce, "halving-doubling")),
            Just((CollectiveKind::AllGather, "halving-doubling")),
            Just((CollectiveKind::AllReduce, "hierarchical:server=4")),
            Just((CollectiveKind::AllToAll, "direct")),
        ],
        ranks in 2u32..17,
        bytes in 3_000_000u64..7_000_000,
        fabric in 0usize..3,
        queue_pairs in prop_oneof![Just(QueuePairs::PerChannel), Just(QueuePairs::PerMessage)],
    ) {
        let ranks = match algorithm {
            "halving-doubling" => 1 << (ranks % 4 + 1),
            "hierarchical:server=4" => ranks.next_multiple_of(4).max(8),
            _ => ranks,
        };
        // Except for the ring, traffic through the three tiers fills a small fat-tree, and the
        // closed form does not hold there.
        let setup = match (fabric, algorithm) {
            (0, _) => network(star(ranks)),
            (1, "ring") => sprayed(FAT_TREE),
            _ => two_tiers(),
        };
        let work = pairs(collective(kind, ranks, bytes, algorithm), queue_pairs);
        let (_, kept) = run(&setup, vec![work]);
        let n = u64::from(ranks);
        let least = closed_form_ps(&setup, kind, algorithm, ranks, bytes / n * n);
        // The parts of the ranks differ by up to a byte. The last message of an all-to-all may come
        // from another leaf.
        let far = alone(&setup, 0, ranks - 1, 1) - alone(&setup, 0, 1, 1);
        let most = closed_form_ps(&setup, kind, algorithm, ranks, bytes.next_multiple_of(n))
            + if algorithm == "direct" { far } else { 0 };
        let took = took(&kept);
        prop_assert!(took >= least, "{took} ps, at least {least}");
        prop_assert!(took <= most + most / 100, "{took} ps, at most 1 % above {most}");
    }
}

/// Returns the payload fraction of the bytes of a full frame.
fn payload_share(setup: &Setup) -> f64 {
    f64::from(setup.nic.mtu) / f64::from(setup.nic.data_bytes(setup.nic.mtu))
}

fn close(found: Option<f64>, expected: f64) {
    let found = found.expect("a value");
    assert!(
        (found / expected - 1.0).abs() < 1e-9,
        "{found}, not {expected}"
    );
}

// RNK-17
#[test]
fn bounds_are_those_of_the_links() {
    use CollectiveKind::*;
    let rails = |hosts: Vec<u32>, kind| Job {
        hosts: hosts.into_iter().map(NodeId::from_bits).collect(),
        ..collective(kind, 4, 4_000_000, "ring")
    };
    let bound = |setup: &Setup, work: Job| {
        let (_, kept) = run(setup, vec![work]);
        let whole = kept.collectives[0].clone();
        assert!(whole.bus_bps() <= whole.bound_bps(), "{whole:?}");
        whole.bound_bps().expect("a bound") / payload_share(setup)
    };
    let one = network(star(8));
    let all = collective(AllReduce, 8, 4_000_000, "ring");
    close(Some(bound(&one, all)), 100e9);
    // In an all-to-all, four hosts of each leaf send 2 S to the four others, over the two uplinks
    // of the leaf.
    let two = network(leaf_spine(2, 2, 4));
    let all = collective(AllToAll, 8, 4_000_000, "direct");
    close(Some(bound(&two, all)), 0.875 * 200e9 / 2.0);
    // The bound of one server is given by the scale-up domain; that of four GPUs on one rail by
    // their NICs. For two GPUs in each of two servers it is given by their two NICs, over which S
    // (all-reduce) or S/2 (all-gather) must pass in each direction.
    let servers = network(RAILS);
    close(
        Some(bound(&servers, rails(vec![0, 1, 2, 3], AllReduce))),
        800e9,
    );
    close(
        Some(bound(&servers, rails(vec![0, 4, 8, 12], AllReduce))),
        100e9,
    );
    close(
        Some(bound(&servers, rails(vec![0, 1, 4, 5], AllReduce))),
        1.5 * 200e9,
    );
    close(
        Some(bound(&servers, rails(vec![0, 1, 4, 5], AllGather))),
        0.75 * 200e9 / 0.5,
    );
    // If other GPUs relay messages, all NICs of the server can carry them.
    let relayed = Job {
        relay: Some(4),
        ..rails(vec![0, 1, 4, 5], AllReduce)
    };
    close(Some(bound(&servers, relayed)), 1.5 * 400e9);
    // Two ranks on each host: 2 (2 - 1)/2 S must leave a host.
    close(
        Some(bound(&one, rails(vec![0, 0, 1, 1], AllReduce))),
        1.5 * 100e9,
    );
    let (_, kept) = run(&one, vec![rails(vec![3, 3, 3, 3], AllReduce)]);
    assert_eq!(kept.collectives[0].bound_bps(), None);
    let (_, kept) = run(&one, vec![collective(Barrier, 8, 0, "dissemination")]);
    let barrier = &kept.collectives[0];
    let bandwidths = (
        barrier.algorithm_bps(),
        barrier.bus_bps(),
        barrier.bound_bps(),
    );
    assert_eq!(bandwidths, (None, None, None));
}

/// An all-gather of a group with 2,700 kB in total, as one collective or as its individual
/// messages.
fn gathered(composed: bool) -> Job {
    const PART: u64 = 900_000;
    let members = [0, 1, 3];
    let group = Group {
        name: "tensor-0".to_owned(),
        ranks: members.into(),
    };
    let whole = Composed {
        kind: CollectiveKind::AllGather,
        group: Some(0),
        bytes: 3 * PART,
        parts: 12,
    };
    let native = Collective {
        kind: whole.kind,
        group: whole.group,
        bytes: whole.bytes,
        algorithm: Some("direct".into()),
        ..Collective::default()
    };
    let native = Operation {
        work: Work::Collective(Box::new(native)),
        after_end: vec![0],
        ..Operation::default()
    };
    let of = |rank: u32| {
        // The last rank starts late, and one computation does not belong to the collective.
        let mut operations = vec![calc(Time::from(rank) * US, &[])];
        let Some(at) = members.iter().position(|&member| member == rank) else {
            return operations;
        };
        if !composed {
            operations.push(native.clone());
            return operations;
        }
        let others = [members[(at + 1) % 3], members[(at + 2) % 3]];
        let sends = others.map(|to| send(to, PART, &[0]));
        let receives = others.map(|from| receive(from, &[0]));
        operations.extend(sends.into_iter().chain(receives).map(|one| Operation {
            part_of: Some(0),
            ..one
        }));
        operations
    };
    let options = Options {
        send_end: SendEnd::Eager,
        ..Options::default()
    };
    let work = job((0..4).map(of).collect(), options);
    let workload = Workload {
        groups: vec![group],
        collectives: composed.then_some(whole).into_iter().collect(),
        ..(*work.workload).clone()
    };
    Job {
        workload: Arc::new(workload),
        ..work
    }
}

// OPS-38, RNK-20
#[test]
fn messages_that_make_up_a_collective_are_recorded_as_it() {
    let setup = network(star(4));
    let (_, native) = run(&setup, vec![gathered(false)]);
    let (one, kept) = run(&setup, vec![gathered(true)]);
    let [whole] = &kept.collectives[..] else {
        panic!("{:?}", kept.collectives)
    };
    assert!(whole.composed && whole.last_start_ps == 3 * US);
    assert!(whole.bound_bps() > whole.bus_bps() && whole.bus_bps() > Some(0.0));
    let same = CollectiveRecord {
        composed: false,
        ..whole.clone()
    };
    assert_eq!([same], native.collectives[..]);
    let parts = kept.operations.iter().filter(|row| row.part_of.is_some());
    assert_eq!((parts.count(), kept.operations.len()), (12, 16));
    let (two, again) = run_on(
        &setup,
        vec![gathered(true)],
        Threads {
            asked: 2,
            forced: true,
        },
    );
    assert_eq!((two.digest, again), (one.digest, kept));
}

// OPS-31, OPS-61, RNK-17
#[test]
fn an_all_to_allv_is_as_fast_as_its_busiest_member() {
    let sizes: [[u64; 3]; 3] = [[900, 300_000, 500_000], [700_000, 0, 0], [1_000, 2_000, 0]];
    let operations = (0..3).map(|rank| {
        let work = Collective {
            kind: CollectiveKind::AllToAllV,
            group: Some(0),
            to_each: sizes[rank].to_vec(),
            from_each: sizes.iter().map(|row| row[rank]).collect(),
            ..Collective::default()
        };
        vec![Operation {
            work: Work::Collective(Box::new(work)),
            ..Operation::default()
        }]
    });
    let mut work = job(operations.collect(), Options::default());
    Arc::make_mut(&mut work.workload).groups = vec![Group {
        name: "expert-0".to_owned(),
        ranks: [0, 1, 2].into(),
    }];
    let setup = network(star(4));
    let (_, kept) = run(&setup, vec![work.clone()]);
    let mut each: Vec<_> = kept
        .operations
        .iter()
        .map(|one| (one.rank, one.bytes))
        .collect();
    each.sort_unstable();
    assert_eq!(each, [(0, 800_900), (1, 700_000), (2, 3_000)]);
    let whole = &kept.collectives[0];
    assert_eq!(whole.bytes, 1_503_900);
    assert_eq!(whole.group_name.as_deref(), Some("expert-0"));
    // Rank 0 sends 800 KB to other ranks and receives 701 KB.
    close(whole.bus_bps(), 800_000.0 * 8e12 / took(&kept) as f64);
    close(whole.bound_bps(), 100e9 * payload_share(&setup));
    assert!(whole.bus_bps() <= whole.bound_bps());
    let shared = Job {
        hosts: [0, 1, 1].map(NodeId::new).into(),
        ..work
    };
    let (_, kept) = run(&setup, vec![shared]);
    assert_eq!(kept.collectives[0].bound_bps(), None);
    assert!(kept.collectives[0].bus_bps().is_some());
}
