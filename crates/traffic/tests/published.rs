//! Comparison with values that other simulators publish, for the same operations on message-level
//! network models.

use crate::programs::{NS, Program, calc, collective, latency, receive, send, whole_ns};
use traffic::estimate::Shape;
use traffic::operations::{CollectiveKind, Operation, Options, PerByte, SendEnd, Work};

/// Defaults of LogGOPSim: o = 1500 ns, g = 1000 ns, G = 6 ns per byte, eager below 65536 bytes.
fn loggops() -> Options {
    Options {
        send_end: SendEnd::Eager,
        rendezvous_above_bytes: Some(65_535),
        overhead_ps: 1_500 * NS,
        gap_ps: 1_000 * NS,
        gap_per_byte: PerByte::from_ps(6_000.0).unwrap(),
        ..Options::default()
    }
}

/// OPS-16, OPS-21, OPS-81: binomial reduce of 8 ranks and 1024 bytes, from the README of LogGOPSim.
#[test]
fn binomial_reduce_of_loggopsim() {
    let mut program = Program::new(8, loggops());
    for rank in 0..8_u32 {
        let children = (0..3).map(|k| 1 << k).take_while(|bit| rank & bit == 0);
        let received: Vec<u32> = children
            .map(|bit| program.add(rank, receive(rank + bit, 1024, 0), &[]))
            .collect();
        if rank > 0 {
            let parent = rank & (rank - 1);
            program.add(rank, send(parent, 1024, 0), &received);
        }
    }
    let found = program.run(latency(2_500 * NS)).unwrap();
    let ends: Vec<u64> = found.rank_end_ps.iter().map(|end| end / NS).collect();
    assert_eq!(
        ends,
        [34_914, 1_500, 13_138, 1_500, 24_776, 1_500, 13_138, 1_500]
    );
    assert_eq!((found.messages, found.bytes), (7, 7 * 1024));
}

/// OPS-82: 1 MiB from node 1 to node 4 of 16, from the tests of ASTRA-sim's analytical network.
#[test]
fn one_message_of_astra_sim() {
    for (shape, expected_ns) in [
        (Shape::Ring, 60_093),
        (Shape::Switch, 40_062),
        (Shape::FullyConnected, 20_031),
    ] {
        let mut program = Program::new(16, Options::default());
        program.add(1, send(4, 1 << 20, 0), &[]);
        program.add(4, receive(1, 1 << 20, 0), &[]);
        let found = program.run(whole_ns(shape, 16)).unwrap();
        assert_eq!(found.rank_end_ps[4], expected_ns * NS, "{shape:?}");
    }
}

/// OPS-82: with contention. Each of 16 nodes on a ring sends 1 MiB to each other node.
#[test]
fn direct_all_gather_of_astra_sim() {
    let mut program = Program::new(16, Options::default());
    for rank in 0..16 {
        for peer in (0..16).filter(|&peer| peer != rank) {
            program.put(
                rank,
                Operation {
                    work: send(peer, 1 << 20, 0),
                    ..Operation::default()
                },
            );
            program.put(
                rank,
                Operation {
                    work: receive(peer, 1 << 20, 0),
                    ..Operation::default()
                },
            );
        }
    }
    let found = program.run(whole_ns(Shape::Ring, 16)).unwrap();
    let end = found.rank_end_ps.iter().max().unwrap();
    assert_eq!(*end, 704_116 * NS);
}

/// OPS-50, OPS-34, OPS-37: all-reduce of 1 MiB on a ring of 8 in ASTRA-sim, in 4 sequential chunks.
///
/// A chunk takes 14 steps of 610 + 500 ns in the network. Each of its 7 reductions moves each byte
/// three times through a memory of 50 GB/s, which takes 655 ns each time in whole ns. A chunk
/// passes a network end point 15 times (10 ns each): before its first message and after each of the
/// 14 messages. In total: 4 × (14 × 1110 + 7 × 1965 + 15 × 10) ns.
#[test]
fn ring_all_reduce_of_astra_sim() {
    let options = Options {
        reduction_per_byte: PerByte::from_ps(60.0).unwrap(),
        reduction_grain_ps: 3 * NS,
        copy_ps: 10 * NS,
        ..Options::default()
    };
    let mut program = Program::new(8, options);
    let all_reduce = collective(CollectiveKind::AllReduce, 1 << 20, "ring:chunks=4");
    program.everywhere(&all_reduce);
    let found = program.run(whole_ns(Shape::Ring, 8)).unwrap();
    assert!(found.rank_end_ps.iter().all(|&end| end == 117_780 * NS));
}

/// OPS-17, OPS-50: SimAI's quick start takes 1772 µs. It has two all-reduces, of 16 and 64 MiB,
/// among 8 GPUs at 2400 Gb/s, each after 556 µs of computation, with 6 µs before each send.
#[test]
fn quick_start_of_simai() {
    let ps_per_byte = 8e12 / 2.4e12 * (9_048.0 / 9_000.0);
    let options = Options {
        gap_per_byte: PerByte::from_ps(ps_per_byte).unwrap(),
        ..Options::default()
    };
    let mut program = Program::new(8, options);
    for rank in 0..8 {
        let mut last = Vec::new();
        for mebibytes in [16, 64] {
            let computed = program.add(rank, calc(556_000 * NS), &last);
            let mut all_reduce = collective(CollectiveKind::AllReduce, mebibytes << 20, "ring");
            all_reduce.latency_ps = 6_000 * NS;
            let work = Work::Collective(Box::new(all_reduce));
            last = vec![program.add(rank, work, &[computed])];
        }
    }
    let found = program.run(latency(0)).unwrap();
    let end_us = found.rank_end_ps[0] as f64 / 1e6;
    assert!((end_us - 1772.0).abs() < 0.5, "{end_us} µs");
    assert_eq!(found.computing_ps, vec![1_112_000 * NS; 8]);
}
