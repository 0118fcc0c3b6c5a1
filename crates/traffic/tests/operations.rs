//! Tests of the start and end times of operations: dependencies, matching of messages, resources,
//! rendezvous and triggers. Also tests the error message for a workload that is stuck.

use crate::programs::{NS, Program, calc, collective, latency, receive, send};
use std::sync::Arc;
use traffic::operations::{
    Actions, Block, CollectiveKind, InMemory, Instances, Matching, Message, Operation, Options,
    PerByte, QueuePairs, Rank, ReadyOrder, Receive, Record, Role, Send, SendEnd, Source,
    Stragglers, TriggerKind, Work, Workload, needed_at,
};
use traffic::{Error, estimate::estimate};

fn free(work: Work, after_end: &[u32]) -> Operation {
    Operation {
        work,
        after_end: after_end.to_vec(),
        ..Operation::default()
    }
}

/// Returns the start and the end time of an operation.
fn times(records: &[Record], rank: u32, index: u32) -> (u64, u64) {
    let is = |record: &&Record| (record.rank, record.index) == (rank, index);
    let record = records.iter().find(is).expect("it has ended");
    (record.start_ps, record.end_ps)
}

/// OPS-02, OPS-06, OPS-20: operations depend on the end or the start of others, with and without a
/// resource. The record contains the cause of each wait.
#[test]
fn dependencies_and_resources() {
    let mut program = Program::new(1, Options::default());
    program.add(0, calc(100), &[]);
    program.add(0, calc(50), &[]);
    program.put(0, free(calc(10), &[0]));
    let mut follows = free(calc(10), &[]);
    follows.after_start = vec![1];
    program.put(0, follows);
    program.put(0, free(calc(0), &[1, 2]));
    let (found, records) = program.recorded(latency(0)).unwrap();
    let all: Vec<_> = (0..5).map(|index| times(&records, 0, index)).collect();
    assert_eq!(
        all,
        [(0, 100), (100, 150), (100, 110), (100, 110), (150, 150)]
    );
    let last = |index| {
        records
            .iter()
            .find(|r| r.index == index)
            .unwrap()
            .released_by
    };
    assert_eq!(
        [0, 1, 2, 3, 4].map(last),
        [None, Some(0), Some(0), Some(1), Some(1)]
    );
    assert_eq!(found.computing_ps, [150]);
}

/// OPS-23: order of ready operations
#[test]
fn ready_operations_have_an_order() {
    for (order, expected) in [
        (ReadyOrder::Index, [3, 0, 1, 2]),
        (ReadyOrder::FirstReady, [0, 1, 3, 2]),
        (ReadyOrder::LastReady, [2, 3, 1, 0]),
    ] {
        let options = Options {
            ready_order: order,
            ..Options::default()
        };
        let mut program = Program::new(1, options);
        for wait_ps in [1, 2, 4, 3] {
            program.put(0, free(calc(wait_ps), &[]));
        }
        program.add(0, calc(100), &[]);
        for (at, priority) in [1, 1, 1, 0].into_iter().enumerate() {
            program.put(
                0,
                Operation {
                    resource: Some(0),
                    priority,
                    ..free(calc(10), &[at as u32])
                },
            );
        }
        let (_, records) = program.recorded(latency(0)).unwrap();
        let done = records.iter().filter(|record| record.index >= 5);
        let done: Vec<_> = done.map(|record| record.index - 5).collect();
        assert_eq!(done, expected, "{order:?}");
    }
}

/// OPS-22: how long a send and a receive occupy their resources.
#[test]
fn resources_may_be_held_to_the_end() {
    for (holds, expected) in [(false, (0, 0)), (true, (10, 20))] {
        let options = Options {
            send_holds_to_end: holds,
            receive_holds_while_waiting: holds,
            ..Options::default()
        };
        let mut program = Program::new(2, options);
        program.add(0, send(1, 5, 0), &[]);
        program.add(0, calc(10), &[]);
        program.add(1, receive(0, 5, 0), &[]);
        program.put(1, free(calc(10), &[]));
        program.add(1, calc(10), &[]);
        let (_, records) = program
            .recorded(latency(if holds { 10 } else { 20 }))
            .unwrap();
        let starts = (times(&records, 0, 1).0, times(&records, 1, 2).0);
        assert_eq!(starts, if holds { (10, 10) } else { expected });
    }
}

/// OPS-14: an eager send ends immediately; an acknowledged send ends when the network reports the
/// last ACK.
#[test]
fn ends_of_sends() {
    let ends = [
        (SendEnd::Eager, 3),
        (SendEnd::Acknowledged, 13),
        (SendEnd::Received, 13),
    ];
    for (send_end, end_ps) in ends {
        let options = Options {
            send_end,
            overhead_ps: 3,
            ..Options::default()
        };
        let mut program = Program::new(2, options);
        program.add(0, send(1, 5, 0), &[]);
        program.add(1, receive(0, 5, 0), &[]);
        let (_, records) = program.recorded(latency(10)).unwrap();
        assert_eq!(times(&records, 0, 0), (0, end_ps));
        assert_eq!(times(&records, 1, 0), (0, 16));
    }
}

/// OPS-13: a rendezvous needs three messages, each with the network latency. The data are sent only
/// when the receiver is ready.
#[test]
fn rendezvous() {
    let options = Options {
        rendezvous_above_bytes: Some(100),
        send_end: SendEnd::Eager,
        ..Options::default()
    };
    let mut program = Program::new(2, options);
    program.add(0, send(1, 101, 0), &[]);
    program.add(0, send(1, 100, 1), &[]);
    let late = program.add(1, calc(1_000), &[]);
    program.add(1, receive(0, 101, 0), &[late]);
    program.add(1, receive(0, 100, 1), &[]);
    let (found, records) = program.recorded(latency(10)).unwrap();
    assert_eq!((found.messages, found.bytes), (4, 101 + 100 + 2 * 64));
    assert_eq!(times(&records, 0, 0), (0, 1_020));
    assert_eq!(times(&records, 0, 1), (0, 0));
    assert_eq!(times(&records, 1, 1), (1_000, 1_020));
}

/// OPS-10, OPS-11, OPS-12: matching by tag (with wildcards), matching by bytes, and no matching.
#[test]
fn matching() {
    let mut program = Program::new(3, Options::default());
    for rank in 1..3 {
        let computed = program.add(rank, calc(u64::from(rank) * 100), &[]);
        program.add(rank, send(0, u64::from(rank), 7), &[computed]);
    }
    for tag in [None, Some(7)] {
        let any = Work::Receive(Receive {
            tag,
            ..Receive::default()
        });
        program.add(0, any, &[]);
    }
    let (_, records) = program.recorded(latency(0)).unwrap();
    let of_0 = records.iter().filter(|record| record.rank == 0);
    let got: Vec<_> = of_0
        .map(|r| (r.index, r.peer, r.bytes, r.ended_by))
        .collect();
    let expected = [
        (0, Some(1), 1, Some((1, 1, 0))),
        (1, Some(2), 2, Some((2, 1, 0))),
    ];
    assert_eq!(got, expected);

    let options = Options {
        matching: Matching::Bytes,
        ..Options::default()
    };
    let mut program = Program::new(2, options);
    for _ in 0..2 {
        program.add(0, send(1, 50, 3), &[]);
    }
    program.add(1, receive(0, 80, 3), &[]);
    program.add(1, receive(0, 20, 3), &[]);
    let (found, _) = program.recorded(latency(9)).unwrap();
    assert_eq!(found.rank_end_ps, [9, 9]);

    let options = Options {
        matching: Matching::None,
        ..Options::default()
    };
    let mut program = Program::new(2, options);
    program.add(0, send(1, 50, 3), &[]);
    let (found, _) = program.recorded(latency(9)).unwrap();
    assert_eq!((found.rank_end_ps, found.warnings.len()), (vec![9, 0], 0));
}

/// OPS-40, OPS-41: a trigger releases operations of other ranks at the same time.
#[test]
fn triggers() {
    let options = Options {
        matching: Matching::None,
        ..Options::default()
    };
    let mut program = Program::new(4, options);
    let one = program.trigger(TriggerKind::OneShot);
    let multi = program.trigger(TriggerKind::MultiShot);
    let barrier = program.trigger(TriggerKind::Barrier { count: 2 });
    for (rank, wait_ps) in [(0, 0), (1, 5)] {
        let computed = program.add(rank, calc(wait_ps), &[]);
        let work = Work::Send(Send {
            to: 3,
            bytes: 1,
            on_sent: Some(if rank == 0 { one } else { multi }),
            on_received: Some(barrier),
            ..Send::default()
        });
        program.add(rank, work, &[computed]);
    }
    for (priority, trigger) in [(0, one), (0, one), (8, multi), (7, multi), (0, barrier)] {
        program.put(
            2,
            Operation {
                trigger: Some(trigger),
                priority,
                ..free(calc(1), &[])
            },
        );
    }
    let stuck = program.recorded(latency(10)).unwrap_err().to_string();
    assert!(
        stuck.contains("rank 2, operation 2 (calc) waits for its trigger"),
        "{stuck}"
    );
    program.operations[2].remove(2);
    let (_, records) = program.recorded(latency(10)).unwrap();
    let starts: Vec<_> = (0..4).map(|index| times(&records, 2, index).0).collect();
    assert_eq!(starts, [10, 10, 15, 15]);
}

/// OPS-08: explains cycles, receives without a send, and sends without a receive.
#[test]
fn what_is_stuck_is_explained() {
    let mut program = Program::new(2, Options::default());
    for rank in 0..2 {
        let received = program.add(rank, receive(1 - rank, 5, 0), &[]);
        program.add(rank, send(1 - rank, 5, 0), &[received]);
    }
    let told = program.run(latency(1)).unwrap_err().to_string();
    for part in [
        "stuck after 0 of its operations",
        "in a cycle",
        "rank 0, operation 0 (recv) waits for a message from rank 1 with tag 0: operation 1 of rank 1",
        "rank 1, operation 1 (send) waits for operation 0 of its rank",
    ] {
        assert!(told.contains(part), "{told}");
    }
    let mut program = Program::new(2, Options::default());
    program.add(0, send(1, 5, 1), &[]);
    program.add(1, receive(0, 5, 2), &[]);
    let told = program.run(latency(1)).unwrap_err().to_string();
    assert!(told.contains("and no send of one is left"), "{told}");
    assert!(
        told.contains("rank 1 never received 5 bytes from rank 0 with tag 1"),
        "{told}"
    );
    let mut program = Program::new(3, Options::default());
    program.everywhere(&collective(CollectiveKind::AllReduce, 30, "ring"));
    program.operations[2].clear();
    let told = program.run(latency(1)).unwrap_err().to_string();
    assert!(
        told.contains("for rank 2, which takes no part in it any more"),
        "{told}"
    );
    assert!(
        told.contains("rank 2 took no part in collective 0 of group \"all\""),
        "{told}"
    );
}

/// OPS-30: operations belong to the same collective if group and instance are equal. If no instance
/// is set, each rank counts its collectives.
#[test]
fn instances() {
    let mut program = Program::new(2, Options::default());
    for rank in 0..2 {
        for at in 0..3_u64 {
            let mut gather = collective(CollectiveKind::AllGather, 10 + at, "ring");
            // Both ranks take part in the same three collectives, in opposite orders.
            gather.instance = Some(if rank == 0 { at } else { 2 - at });
            gather.bytes = 10 + gather.instance.unwrap();
            program.put(rank, free(Work::Collective(Box::new(gather)), &[]));
        }
    }
    let (found, records) = program.recorded(latency(10)).unwrap();
    assert_eq!(
        (found.rank_end_ps, found.bytes),
        (vec![10, 10], 10 + 11 + 12)
    );
    let which = |r: &Record| (r.rank, r.index, r.collective);
    assert!(records.iter().any(|r| which(r) == (1, 0, Some((None, 2)))));
    let mut program = Program::new(2, Options::default());
    for bytes in [10, 20] {
        program.everywhere(&collective(CollectiveKind::AllGather, bytes, "direct"));
    }
    let (_, records) = program.recorded(latency(10)).unwrap();
    assert!(
        records
            .iter()
            .all(|r| r.collective == Some((None, u64::from(r.index))))
    );
}

/// OPS-30: instances are counted in the order of starts. If they were counted by index, each rank
/// would occupy its resource with a collective that the other rank has not started.
#[test]
fn instances_in_the_order_of_starts() {
    let program = |instances| {
        let mut program = Program::new(
            2,
            Options {
                instances,
                ..Options::default()
            },
        );
        for rank in 0..2 {
            // The operation at index 0 becomes ready first at rank 0, and last at rank 1.
            for duration in [10 + u64::from(rank) * 20, 20] {
                program.put(rank, free(calc(duration), &[]));
            }
            for waits in 0..2 {
                let gather = collective(CollectiveKind::AllGather, 10, "ring");
                let work = Work::Collective(Box::new(gather));
                let mut operation = free(work, &[waits]);
                operation.resource = Some(0);
                program.put(rank, operation);
            }
        }
        program
    };
    let told = program(Instances::Index).run(latency(100)).unwrap_err();
    assert!(told.to_string().contains("in a cycle"), "{told}");
    let (_, records) = program(Instances::Start).recorded(latency(100)).unwrap();
    let mut met: Vec<_> = records
        .iter()
        .filter_map(|r| Some((r.rank, r.index, r.collective?.1)))
        .collect();
    met.sort_unstable();
    assert_eq!(met, [(0, 2, 0), (0, 3, 1), (1, 2, 1), (1, 3, 0)]);
}

/// OPS-34, OPS-37: data are copied before they are first sent and after each arrival, and
/// reductions take time. The test compares with closed forms for rings with chunks, windows, trees
/// and direct exchange.
#[test]
fn copies_and_reductions_in_collectives() {
    let options = Options {
        reduction_ps: 7 * NS,
        reduction_per_byte: PerByte::from_ps(1.5).unwrap(),
        reduction_grain_ps: NS,
        copy_ps: 3 * NS,
        ..Options::default()
    };
    let reduced = |bytes: u64| 7 * NS + bytes * 3 / 2 / NS * NS;
    let (latency_ps, copy) = (100 * NS, 3 * NS);
    for (kind, algorithm, expected) in [
        // Two sequential chunks of 14 messages each; 7 of the 14 messages are followed by a
        // reduction.
        (
            CollectiveKind::AllReduce,
            "ring:chunks=2",
            2 * (15 * copy + 14 * latency_ps + 7 * reduced(5_000)),
        ),
        (CollectiveKind::AllGather, "ring", 8 * copy + 7 * latency_ps),
        (
            CollectiveKind::AllReduce,
            "halving-doubling",
            7 * copy + 6 * latency_ps + reduced(40_000) + reduced(20_000) + reduced(10_000),
        ),
        // All messages overlap; in the next case they are sent one after the other.
        (CollectiveKind::AllToAll, "direct", 2 * copy + latency_ps),
        (
            CollectiveKind::AllToAll,
            "direct:window=1",
            8 * copy + 7 * latency_ps,
        ),
    ] {
        let mut program = Program::new(8, options.clone());
        program.everywhere(&collective(kind, 80_000, algorithm));
        let found = program.run(latency(latency_ps)).unwrap();
        assert!(
            found.rank_end_ps.iter().all(|&end| end == expected),
            "{algorithm}: {:?}, expected {expected}",
            found.rank_end_ps
        );
    }
}

/// OPS-17: messages of a collective have separate latencies inside a server and between servers.
#[test]
fn latencies_inside_servers_and_across() {
    let run = |server_ranks: u32, algorithm: &str| {
        let options = Options {
            server_ranks,
            latency_across_ps: 50 * NS,
            ..Options::default()
        };
        let mut program = Program::new(4, options);
        let mut all_gather = collective(CollectiveKind::AllGather, 4_000, algorithm);
        all_gather.latency_ps = 10 * NS;
        program.everywhere(&all_gather);
        let found = program.run(latency(NS)).unwrap();
        *found.rank_end_ps.iter().max().unwrap() / NS
    };
    // First one server. Then two servers, where a block crosses servers once or twice on its way
    // around the ring. Then one server per rank.
    assert_eq!(run(0, "ring"), 3 * 11);
    assert_eq!(run(2, "ring"), 2 * 51 + 11);
    assert_eq!(run(1, "ring"), 3 * 51);
    assert_eq!(run(2, "direct"), 51);
}

/// Each member of an all-to-allv sends a different number of bytes to each member. Empty messages
/// are not sent.
#[test]
fn all_to_allv() {
    let sizes = [[0, 3, 5], [7, 0, 0], [1, 2, 0]];
    let mut program = Program::new(3, Options::default());
    for rank in 0..3 {
        let mut work = collective(CollectiveKind::AllToAllV, 0, "direct");
        work.to_each = sizes[rank].to_vec();
        work.from_each = sizes.iter().map(|row| row[rank]).collect();
        program.put(rank as u32, free(Work::Collective(Box::new(work)), &[]));
    }
    let found = program.run(latency(1)).unwrap();
    assert_eq!(
        (found.messages, found.bytes, found.warnings.len()),
        (5, 18, 0)
    );
}

/// Records all requests of a rank.
#[derive(Default)]
struct Notes {
    sent: Vec<Message>,
    wakes: Vec<u64>,
    ended: Vec<u32>,
}

impl Actions for Notes {
    fn send(&mut self, message: Message) {
        self.sent.push(message);
    }
    fn wake(&mut self, at_ps: u64) {
        self.wakes.push(at_ps);
    }
    fn ended(&mut self, record: &Record) {
        self.ended.push(record.index);
    }
    fn activate(&mut self, _: u32) {}
    fn failed(&mut self, error: Error) {
        panic!("{error}");
    }
}

fn rank(options: Options, source: impl Source + 'static, ranks: u32) -> Rank {
    let workload = Arc::new(Workload {
        ranks,
        options,
        ..Workload::default()
    });
    let source: Arc<dyn Source> = Arc::new(source);
    Rank::new(0, &workload, &source, &Arc::new(Stragglers::default()))
}

/// OPS-01, OPS-05, OPS-07, OPS-15: drives one rank with events from the test. The messages of the
/// rank carry number, tag, channel and NIC.
#[test]
fn a_rank_by_itself() {
    let mut ring = collective(CollectiveKind::AllReduce, 100, "ring:channels=2");
    ring.channel = 4;
    let first = Operation {
        nic: 1,
        ..free(Work::Collective(Box::new(ring)), &[1])
    };
    let plain = Send {
        to: 1,
        bytes: 9,
        tag: 5,
        channel: 3,
        class: 2,
        ..Send::default()
    };
    let operations = vec![calc(7), Work::Send(plain)];
    let mut operations: Vec<_> = operations.into_iter().map(|work| free(work, &[])).collect();
    operations.push(first);
    let source = InMemory {
        operations: vec![operations, vec![], vec![]].into(),
        names: Vec::new(),
    };
    let options = Options {
        queue_pairs: QueuePairs::PerChannel,
        ..Options::default()
    };
    let mut rank = rank(options, source, 3);
    let mut notes = Notes::default();
    rank.start(0, &mut notes);
    assert_eq!(notes.wakes, [7]);
    let message = notes.sent.pop().unwrap();
    assert_eq!(
        (message.id.rank, message.id.index, message.id.part),
        (0, 1, 0)
    );
    assert_eq!(
        (message.bytes, message.tag, message.channel, message.class),
        (9, 5, 3, 2)
    );
    rank.on_wake(7, &mut notes);
    assert_eq!(notes.ended, [0]);
    rank.on_sent(&message.id, 8, &mut notes);
    assert_eq!(notes.ended, [0, 1]);
    let seen: Vec<_> = notes
        .sent
        .iter()
        .map(|m| (m.to, m.channel, m.nic, m.bytes))
        .collect();
    assert_eq!(seen, [(1, 4, 1, 17), (1, 5, 2, 17)]);
    assert_eq!(
        notes
            .sent
            .iter()
            .map(|m| m.id.part >> 32)
            .collect::<Vec<_>>(),
        [0, 1]
    );
    assert!(
        notes
            .sent
            .iter()
            .all(|m| m.id.index == 2 && m.id.role == Role::Data)
    );
    assert_eq!(
        (rank.finished(), rank.progress(), rank.live()),
        (false, (2, 3), 1)
    );
}

/// A source that returns operations in blocks of three.
#[derive(Debug)]
struct InBlocks(InMemory);

impl Source for InBlocks {
    fn count(&self, rank: u32) -> u32 {
        self.0.count(rank)
    }
    fn read(&self, rank: u32, from: u32) -> Result<Block, Error> {
        let mut operations = self.0.read(rank, from)?.operations;
        let rest = operations.split_off(operations.len().min(3));
        Ok(Block {
            operations,
            next_at: needed_at(&rest),
        })
    }
    fn name(&self, _: u32, _: u32) -> Option<String> {
        None
    }
}

/// OPS-04: reading in blocks of three changes no record, for all kinds of dependencies.
#[test]
fn blocks_change_nothing() {
    let mut stream = kernel::Stream::new(5, 0, kernel::Purpose::Test);
    for _ in 0..100 {
        let mut program = Program::new(4, Options::default());
        for step in 0..60_u64 {
            let (from, to) = (stream.below(4) as u32, stream.below(4) as u32);
            let mut pick = |count: u32| -> Vec<u32> {
                let any = u64::from(count).min(stream.below(3));
                (0..any)
                    .map(|_| count - 1 - stream.below(u64::from(count.min(20))) as u32)
                    .collect()
            };
            let count =
                |program: &Program, rank: u32| program.operations[rank as usize].len() as u32;
            let before = pick(count(&program, from));
            if from == to {
                program.add(from, calc(step % 7), &before);
            } else {
                program.add(from, send(to, step + 1, step), &before);
                let before = pick(count(&program, to));
                program.put(to, free(receive(from, step + 1, step), &before));
            }
        }
        let whole = program.recorded(latency(3)).unwrap();
        let source: Arc<dyn Source> = Arc::new(InBlocks(InMemory {
            operations: program.operations.clone().into(),
            names: Vec::new(),
        }));
        assert_eq!(program.from(&source, latency(3)).unwrap(), whole);
    }
}

/// OPS-03, OPS-04: a rank whose operations depend on their predecessors keeps few operations in
/// memory.
#[test]
fn memory_is_that_of_live_operations() {
    const LONG: u32 = 2_000;
    let operations = (0..LONG).map(|index| {
        let before: Vec<u32> = (index > 0).then(|| index - 1).into_iter().collect();
        free(calc(1), &before)
    });
    let source = InBlocks(InMemory {
        operations: vec![operations.collect()].into(),
        names: Vec::new(),
    });
    let mut rank = rank(Options::default(), source, 1);
    let mut notes = Notes::default();
    rank.start(0, &mut notes);
    while let Some(at) = notes.wakes.pop() {
        assert!(rank.live() <= 6);
        rank.on_wake(at, &mut notes);
    }
    assert!(rank.finished());
    assert_eq!(notes.ended.len(), LONG as usize);
}

/// OPS-80: in an estimate the sender is notified at the time of the arrival. No time is counted
/// twice.
#[test]
fn an_estimate_of_nothing() {
    let workload = Arc::new(Workload {
        ranks: 2,
        ..Workload::default()
    });
    let source: Arc<dyn Source> = Arc::new(InMemory {
        operations: vec![vec![], vec![]].into(),
        names: Vec::new(),
    });
    let stragglers = Arc::new(Stragglers::default());
    let found = estimate(&workload, &source, &stragglers, latency(1), &mut |_| {}).unwrap();
    assert_eq!((found.operations, found.messages), (0, 0));
}
