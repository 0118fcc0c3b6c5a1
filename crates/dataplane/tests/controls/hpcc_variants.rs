//! Variants of HPCC with values by hand, and the table that replaces a division.

use std::sync::Arc;

use super::hpcc::{Flow, port, stack};
use crate::sets::HpccSets;
use crate::sets::controls::close;
use dataplane::cc::Increase;
use dataplane::cc::hpcc::Reciprocals;
use dataplane::cc::hpcc::{Division, Fairness, HpccConfig, Reaction};
use dataplane::int::{IntHop, IntStack};
use proptest::prelude::*;

fn paper() -> HpccConfig {
    HpccConfig::paper(1e11)
}

/// HPCC-33: without a reference window, two ACKs for packets in the same queue both reduce the
/// window (Fig. 5). With the reference window, only one reduction results.
#[test]
fn per_ack_reacts_twice_to_the_same_queue() {
    let window_after_two = |reaction| {
        let mut flow = Flow::with(HpccConfig {
            reaction,
            ..paper()
        });
        flow.ack(1_000, 100_000, &stack(&[port(0, 0, 90_000)]));
        // U = u = 1.9 for both ACKs: line rate, and 90 000 bytes in the queue.
        flow.ack(2_000, 101_000, &stack(&[port(8, 100_000, 90_000)]));
        flow.ack(3_000, 101_000, &stack(&[port(16, 200_000, 90_000)]));
        close(flow.hpcc.utilisation(), 1.9);
        flow.window_bytes()
    };
    close(window_after_two(Reaction::Combined), 50_080.0);
    close(window_after_two(Reaction::PerAck), 25_040.0 + 80.0);
}

/// HPCC-33: in "per-ack", every ACK counts as a stage.
#[test]
fn per_ack_counts_every_ack_as_a_stage() {
    let mut flow = Flow::with(HpccConfig {
        reaction: Reaction::PerAck,
        max_stage: 2,
        ..paper()
    });
    flow.ack(1, 100_000, &stack(&[port(0, 0, 0)]));
    flow.ack(2, 100_000, &stack(&[port(8, 200_000, 0)])); // U = 2
    close(flow.window_bytes(), 47_580.0);
    for (nth, wanted) in [(2, 47_660.0), (3, 47_740.0), (4, 47_740.0 * 1.9 + 80.0)] {
        flow.ack(
            3,
            100_000,
            &stack(&[port(8 * nth, 150_000 + 50_000 * (nth - 1), 0)]),
        );
        close(flow.window_bytes(), wanted);
    }
}

/// HPCC-34: in "per-rtt", telemetry between two updates is neither measured nor recorded.
#[test]
fn per_rtt_looks_at_one_ack_of_a_round_trip() {
    let mut flow = Flow::with(HpccConfig {
        reaction: Reaction::PerRtt,
        ..paper()
    });
    flow.ack(1_000, 100_000, &stack(&[port(0, 0, 50_000)]));
    for i in 1..=100 {
        flow.ack(
            i * 1_000,
            100_000 + i * 1_000,
            &stack(&[port(i, 12_500 * i, 0)]),
        );
    }
    assert_eq!(flow.window(), 100_000);
    close(flow.hpcc.utilisation(), 1.0);
    // In the 101 µs since the last recorded telemetry: 1 262 500 bytes, which is line rate, and a
    // queue of 40 000 bytes.
    flow.ack(101_000, 200_000, &stack(&[port(101, 1_262_500, 40_000)]));
    close(flow.hpcc.utilisation(), 1.4);
    close(flow.window_bytes(), 95_000.0 / 1.4 + 80.0);
    close(flow.hpcc.reference_bytes(), flow.window_bytes());
    // lastUpdateSeq is now 200 000.
    flow.ack(200_000, 300_000, &stack(&[port(120, 0, 0)]));
    close(flow.hpcc.utilisation(), 1.4);
}

/// HPCC-10: with every `reaction`, telemetry of another path is recorded immediately.
#[test]
fn per_rtt_sees_a_new_path_at_once() {
    let mut flow = Flow::with(HpccConfig {
        reaction: Reaction::PerRtt,
        ..paper()
    });
    flow.ack(1, 100_000, &stack(&[port(0, 0, 0)]));
    let mut other = IntStack::default();
    other.push(77, port(10, 0, 0));
    flow.ack(2, 100_000, &other);
    let mut later = IntStack::default();
    later.push(77, port(18, 50_000, 0));
    flow.ack(100_001, 200_000, &later);
    close(flow.hpcc.utilisation(), 0.5);
}

/// HPCC-38: between updates, a link without a queue does not count, and its recorded telemetry does
/// not change.
#[test]
fn sampled_feedback_passes_over_empty_links_between_updates() {
    let mut flow = Flow::with(HpccConfig {
        sample_feedback: true,
        ..paper()
    });
    flow.ack(1, 100_000, &stack(&[port(0, 0, 0)]));
    flow.ack(2, 100_000, &stack(&[port(8, 50_000, 0)]));
    close(flow.hpcc.utilisation(), 1.0);
    // A link with a queue counts, relative to its telemetry of 0 µs: 100 000 bytes in 16 µs.
    flow.ack(3, 100_000, &stack(&[port(16, 100_000, 10)]));
    close(flow.hpcc.utilisation(), 0.5);
    // On the ACK of an update, a link without a queue counts too.
    flow.ack(100_001, 200_000, &stack(&[port(24, 190_000, 0)]));
    close(flow.hpcc.utilisation(), 0.9);
}

/// HPCC-23: W_AI by the rule of thumb depends on the number of flows.
#[test]
fn additive_increase_by_the_rule_of_thumb() {
    let mut flow = Flow::with(HpccConfig {
        wai: Increase::Flows(50),
        ..paper()
    });
    flow.ack(1, 100_000, &stack(&[port(0, 0, 0)]));
    flow.ack(2, 100_000, &stack(&[port(8, 190_000, 0)])); // U = 1.9
    close(flow.window_bytes(), 50_000.0 + 100.0);
}

fn registers(alpha: f64) -> Flow {
    Flow::with(HpccConfig {
        alpha: Fairness(Some(alpha)),
        ..paper()
    })
}

/// HPCC-32: two links, α = 1. The registers start at 200 000 each; U = 1.9 and 0.5.
#[test]
fn a_register_per_link() {
    let mut flow = registers(1.0);
    flow.ack(1, 100_000, &stack(&[port(0, 0, 0), port(0, 0, 0)]));
    assert_eq!(flow.window(), 100_000);
    flow.ack(
        100_001,
        200_000,
        &stack(&[port(8, 190_000, 0), port(8, 50_000, 0)]),
    );
    let (first, second) = (100_080.0, 200_080.0);
    close(flow.window_bytes(), 1.0 / (1.0 / first + 1.0 / second));
    close(flow.hpcc.utilisation(), 1.9);
    close(flow.hpcc.reference_bytes(), flow.window_bytes());
    // Within the round trip, the window W changes but the reference windows of both links do not.
    for _ in 0..2 {
        flow.ack(
            2,
            200_000,
            &stack(&[port(16, 290_000, 0), port(16, 150_000, 0)]),
        );
    }
    let (first, second) = (100_080.0 * 0.95 + 80.0, 200_080.0 * 0.95 + 80.0);
    close(flow.window_bytes(), 1.0 / (1.0 / first + 1.0 / second));
}

/// HPCC-32: with infinite α, the flow's window is the smallest window of its links. With a single
/// link, this is Algorithm 1.
#[test]
fn max_min_takes_the_smallest_register() {
    let mut flow = registers(f64::INFINITY);
    flow.ack(1, 100_000, &stack(&[port(0, 0, 0), port(0, 0, 0)]));
    flow.ack(
        100_001,
        200_000,
        &stack(&[port(8, 190_000, 0), port(8, 50_000, 0)]),
    );
    close(flow.window_bytes(), 50_080.0);
    let mut plain = Flow::with(paper());
    let mut one = registers(2.0);
    let mut sent = 0;
    for i in 0..200 {
        sent += 1_000 * (50 + (i * 37) % 90);
        let heard = stack(&[port(8 * i, sent, (i as u32 * 7_919) % 30_000)]);
        for flow in [&mut plain, &mut one] {
            flow.ack(i * 500, i * 500 + 3_000, &heard);
        }
        close(one.hpcc.utilisation(), plain.hpcc.utilisation());
        assert!((one.window_bytes() / plain.window_bytes() - 1.0).abs() < 1e-9);
    }
}

/// HPCC-32: on another path the flow creates new windows per link, with the same α-mean. The upper
/// bound of the windows per link does not limit a flow below line rate.
#[test]
fn a_new_path_makes_new_registers_of_the_same_window() {
    let mut flow = registers(1.0);
    flow.ack(1, 100_000, &stack(&[port(0, 0, 0)]));
    flow.ack(100_001, 200_000, &stack(&[port(8, 190_000, 0)]));
    close(flow.window_bytes(), 50_080.0);
    let hops = |us, sent| vec![port(us, sent, 0); 4];
    flow.ack(3, 200_000, &stack(&hops(0, 0)));
    close(flow.window_bytes(), 50_080.0);
    // All links are at η: only the additive increase of four links changes the window.
    flow.ack(4, 200_000, &stack(&hops(8, 95_000)));
    close(flow.window_bytes(), (4.0 * 50_080.0 + 80.0) / 4.0);
    let mut sent = 95_000;
    for i in 2..400 {
        sent += 9_500;
        let seq = 200_000 + i * 1_000;
        flow.ack(seq, seq, &stack(&hops(8 * i, sent)));
    }
    assert_eq!(flow.window(), 100_000);
    // The upper bound per link is ten times four W_init. After U = 1.9 on the first link, half of
    // this bound is still far above the upper bound of the flow.
    let heard = [
        port(8 * 400, sent + 190_000, 0),
        port(8 * 400, sent + 9_500, 0),
    ];
    let heard: Vec<IntHop> = [0, 1, 1, 1].map(|i| heard[i]).to_vec();
    flow.ack(700_000, 700_001, &stack(&heard));
    assert_eq!(flow.window(), 100_000);
}

/// HPCC-35: size of the table. For ε = 1 % it is about 10 KB, as in the paper.
#[test]
fn size_of_the_table_by_its_error() {
    let sizes = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05].map(|epsilon| {
        let table = Reciprocals::new(epsilon);
        assert_eq!(table.bytes(), 8 * table.entries());
        table.entries()
    });
    assert_eq!(sizes, SIZES);
}

const SIZES: [usize; 6] = [8_915, 4_802, 2_101, 1_117, 590, 251];

/// HPCC-35: 1/n is exact if the table has an entry for every n.
#[test]
fn the_table_is_exact_where_it_has_an_entry() {
    let table = Reciprocals::new(0.01);
    for n in 1..=99 {
        assert_eq!(table.reciprocal(n), f64::from(1.0 / n as f32));
    }
    assert_eq!(table.reciprocal(1 << 22), table.reciprocal(u32::MAX));
    // Ratios outside the range of the table use the nearest ratio in the range.
    close(table.inverse(1e9), table.inverse(1024.0));
    close(table.inverse(0.0), 4096.0);
    assert!(format!("{table:?}").len() < 100);
}

/// HPCC-35: window of Eq. 4 for U/η = 2. This is 8192/4096, which uses the entry below 8192.
#[test]
fn a_window_divided_by_the_table() {
    let table = Arc::new(Reciprocals::new(0.02));
    let mut flow = Flow::with(HpccConfig {
        division: Division::Table(Arc::clone(&table)),
        ..paper()
    });
    flow.ack(1, 100_000, &stack(&[port(0, 0, 0)]));
    flow.ack(2, 100_000, &stack(&[port(8, 190_000, 0)]));
    close(
        flow.window_bytes(),
        100_000.0 * table.reciprocal(8192) * 4096.0 + 80.0,
    );
    let over = flow.window_bytes() / 50_080.0 - 1.0;
    assert!(over > 0.0 && over < 0.021, "{over}");
}

proptest! {
    /// HPCC-35: the table's reciprocal exceeds the exact one by a relative error below ε, and it is
    /// never smaller.
    #[test]
    fn the_error_of_the_table_stays_below_epsilon(n in 1u32..=1 << 22, epsilon in 0.0005f64..0.2) {
        let error = 1.0 - 1.0 / (f64::from(n) * Reciprocals::new(epsilon).reciprocal(n));
        prop_assert!(error > -1e-7 && error < epsilon + 1e-7, "{} of {}: {}", n, epsilon, error);
    }

    /// HPCC-21: with any options, the window is a finite number within its bounds.
    #[test]
    fn options_keep_the_window_within_its_bounds(
        reaction in prop::sample::select(&[Reaction::Combined, Reaction::PerAck, Reaction::PerRtt][..]),
        alpha in prop::option::of(prop::sample::select(&[0.05, 0.5, 1.0, 100.0, f64::INFINITY][..])),
        table in any::<bool>(),
        sample_feedback in any::<bool>(),
        heard in prop::collection::vec((0u64..100, 0u64..1_000_000, any::<u32>(), 1usize..5), 1..60),
    ) {
        let division = match table {
            true => Division::Table(Arc::new(Reciprocals::new(0.01))),
            false => Division::Exact,
        };
        let alpha = Fairness(alpha);
        let config = HpccConfig { reaction, alpha, division, sample_feedback, ..paper() };
        let mut flow = Flow::with(config);
        let (mut now, mut sent) = (0, 0);
        for (i, (us, bytes, qlen, hops)) in heard.into_iter().enumerate() {
            (now, sent) = (now + us, sent + bytes);
            let seq = 1_000 * i as u64;
            flow.ack(seq, seq + 5_000, &stack(&vec![port(now, sent, qlen); hops]));
            let window = flow.window();
            prop_assert!((99..=100_000).contains(&window), "{}", window);
            prop_assert!(flow.rate_bps() >= 0.999e8 && flow.rate_bps() <= 1e11);
        }
    }
}
