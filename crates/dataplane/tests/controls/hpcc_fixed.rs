//! HPCC in fixed point (HPCC-41).

use std::sync::Arc;

use super::hpcc::Flow;
use crate::sets::HpccSets;
use crate::sets::controls::path;
use dataplane::cc::hpcc::{Arithmetic, Constants, Division, HpccConfig, Reciprocals};
use dataplane::int::{IntFormat, IntHop, IntStack, Layout};
use proptest::prelude::*;

const LAYOUT: Layout = Layout::new(1, 16);

fn fixed(epsilon: f64) -> HpccConfig {
    HpccConfig {
        arithmetic: Arithmetic::Fixed,
        division: Division::Table(Arc::new(Reciprocals::new(epsilon))),
        format: IntFormat::Wire(LAYOUT),
        ..HpccConfig::paper(1e11)
    }
}

/// Returns telemetry in the switch format: time in ns, bytes in units of 128, queue in units of 80.
fn seen(hops: &[(u64, u64, u32)]) -> IntStack {
    let mut stack = IntStack::default();
    for (switch, &(ns, sent, queued)) in (1u32..).zip(hops) {
        let hop = IntHop {
            ts_ps: ns * 1_000,
            tx_bytes: sent * 128,
            qlen_bytes: queued * 80,
            rate_mbps: 100_000,
        };
        stack.push(switch, LAYOUT.decode(LAYOUT.encode(&hop)));
    }
    stack
}

fn constants() -> Constants {
    Constants::new(&fixed(0.01), &path(100.0), LAYOUT)
}

/// Constants with values by hand: T = 8 µs, B = 12.5 bytes per ns, B·T = 100 000 bytes.
#[test]
fn constants_by_hand() {
    let c = constants();
    assert_eq!((c.base_rtt_ns, c.per_base_rtt), (8_000, (1 << 36) / 8_000));
    assert_eq!((c.eta, c.per_eta), (996_147, 1_103_764));
    assert_eq!((c.wai, c.least, c.most), (80 * 64, 100 * 64, 100_000 * 64));
    assert_eq!(c.line, 25 << 19);
    // One unit is 80 bytes of queue, relative to 100 000 bytes; or 128 sent bytes, at 12.5 bytes
    // per ns.
    assert_eq!(c.queue_factor(100_000), (80 << 32) / 100_000);
    assert_eq!(c.sent_factor(100_000), 671_088);
    // Both factors saturate at 2^32 - 1.
    assert_eq!(c.queue_factor(0), u64::from(u32::MAX));
    assert_eq!(c.sent_factor(0), u64::from(u32::MAX));
}

/// HPCC-41: one ACK with values by hand. 160 units of 128 bytes in 2048 ns are 10 bytes per ns, or
/// 0.8 of the line rate. 125 units of 80 bytes are 0.1 of B·T. The table has no entry for 2048 ns
/// and for U/η.
#[test]
fn an_ack_by_hand() {
    let table = Reciprocals::new(0.01);
    let key = |n: u32| u64::from(*table.keys().iter().rfind(|key| **key <= n).unwrap());
    let config = fixed(0.01);
    let mut flow = Flow::with(config);
    assert_eq!(flow.window(), 100_000);
    flow.ack(1, 1_000, &seen(&[(0, 0, 125)]));
    flow.ack(1_001, 2_000, &seen(&[(2_048, 160, 125)]));
    let per_ns = (160 * ((1u64 << 32) / key(2_048))) >> 8;
    let rate = (per_ns * 671_088) >> 20;
    let queue = (125 * ((80u64 << 32) / 100_000)) >> 12;
    let weight = (2_048 * ((1u64 << 36) / 8_000)) >> 16;
    let u = (rate + queue) as i64;
    let one = 1i64 << 20;
    let utilisation = one + ((weight as i64 * (u - one)) >> 20);
    assert_eq!(flow.hpcc.utilisation(), utilisation as f64 / one as f64);
    // U is above η: the window shrinks.
    let over = (utilisation as u64 * 1_103_764 + (1 << 27)) >> 28;
    let window = ((6_400_000 * ((1u64 << 32) / key(over as u32))) >> 20) + 5_120;
    assert_eq!(flow.hpcc.reference_bytes(), window as f64 / 64.0);
    assert_eq!(flow.window(), window / 64);
    let rate = (window * ((1u64 << 36) / 8_000)) >> 22;
    assert_eq!(flow.rate_bps(), rate as f64 / f64::from(1 << 20) * 8e9);
    // The expected values use the integers of the circuit. Real arithmetic gives similar values.
    assert!((flow.hpcc.utilisation() / (0.744 + 0.256 * 0.9) - 1.0).abs() < 0.01);
}

/// Special cases of a measurement: a time stamp that is not later, wrap-around of time stamp and
/// counter, a time above the largest table index, and a time of at least T.
#[test]
fn corners_of_a_measurement() {
    let (c, table) = (constants(), Reciprocals::new(0.01));
    let link = |last: (u64, u64, u32), new: (u64, u64, u32)| {
        c.link(&table, &seen(&[last]).hops()[0], &seen(&[new]).hops()[0])
    };
    assert_eq!(link((5, 0, 0), (5, 9, 9)), None);
    let plain = link((1_000, 1_000, 7), (3_000, 1_200, 9)).unwrap();
    let wrapped = link(((1 << 24) - 1_000, (1 << 20) - 100, 7), (1_000, 100, 9));
    assert_eq!(wrapped, Some(plain));
    assert_eq!(plain.1, 2_000);
    // 5 000 000 ns use the table entry of 1 250 000.
    let long = link((0, 0, 0), (5_000_000, 400_000, 0)).unwrap();
    let exact = 400_000.0 * 128.0 / 5e6 / 12.5 * f64::from(1 << 20);
    assert!(
        (long.0 as f64 / exact - 1.0).abs() < 0.01,
        "{long:?} {exact}"
    );
    // A counter with a large jump saturates U.
    assert_eq!(
        link((0, 0, 0), (1, (1 << 20) - 1, 0)).unwrap().0,
        (1 << 30) - 1
    );
    assert_eq!(c.smooth(17, 4_711, 8_000), 4_711);
    assert_eq!(c.smooth(17, 4_711, 9_000), 4_711);
    assert_eq!(c.smooth(4_711, 4_711, 3), 4_711);
    assert!(c.smooth(17, 4_711, 7_999) < 4_711);
}

/// Integer arithmetic, as in the circuit, gives the same table.
#[test]
fn integers_make_the_same_table() {
    for ppm in [1_000u64, 2_000, 5_000, 10_000, 20_000, 50_000] {
        let table = Reciprocals::new(ppm as f64 / 1e6);
        let mut key = 1u64;
        for &found in table.keys() {
            assert_eq!(u64::from(found), key, "{ppm}");
            key = (key * 1_000_000).div_ceil(1_000_000 - ppm).max(key + 1);
        }
        assert!(key > 1 << 22);
    }
}

proptest! {
    /// With a fine table and the same telemetry, U and W in fixed point differ from real arithmetic
    /// by thousandths.
    #[test]
    fn fixed_point_follows_real_numbers(
        steps in prop::collection::vec((80u64..2_000, 0u64..14, 0u32..700, 1usize..5), 1..150)
    ) {
        let config = fixed(0.0005);
        let real = HpccConfig { arithmetic: Arithmetic::Real, division: Division::Exact, ..config.clone() };
        let mut flows = [Flow::with(config), Flow::with(real)];
        let (mut ns, mut sent) = (0, 0);
        for (i, (wait, bytes_per_ns, queued, hops)) in steps.into_iter().enumerate() {
            (ns, sent) = (ns + wait, sent + wait * bytes_per_ns / 128);
            let heard = seen(&vec![(ns, sent, queued); hops]);
            for flow in &mut flows {
                flow.ack(1_000 * i as u64, 1_000 * i as u64 + 5_000, &heard);
            }
            let [fixed, real] = &flows;
            let gap = fixed.hpcc.utilisation() - real.hpcc.utilisation();
            prop_assert!(gap.abs() < 2e-3 * real.hpcc.utilisation().max(0.5), "U {}", gap);
            let window = fixed.window();
            prop_assert!((100..=100_000).contains(&window), "{}", window);
        }
    }
}
