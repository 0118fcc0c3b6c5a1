//! Bit-exact telemetry (HPCC-30).

use crate::sets::HpccSets;
use crate::sets::controls::{ack, close, path};
use dataplane::cc::hpcc::Hpcc;
use dataplane::cc::hpcc::HpccConfig;
use dataplane::cc::{Ack, Control, Feedback};
use dataplane::int::wire::{self, WireError};
use dataplane::int::{IntFormat, IntHop, IntStack, Layout, MAX_HOPS};
use proptest::prelude::*;

const PAPER: Layout = Layout::new(1, 16);
const AUTHORS: Layout = Layout::new(4, 17);

fn hop(ts_ps: u64, tx_bytes: u64, qlen_bytes: u32) -> IntHop {
    IntHop {
        ts_ps,
        tx_bytes,
        qlen_bytes,
        rate_mbps: 100_000,
    }
}

/// HPCC-30: fields from the highest bit: rate 2 of the enumeration, 3 ns, 5 units of 128 bytes, 7
/// units of 80 bytes.
#[test]
fn a_record_by_hand() {
    let exact = hop(3_999, 5 * 128 + 127, 7 * 80 + 79);
    let record = PAPER.encode(&exact);
    assert_eq!(record, 2 << 60 | 3 << 36 | 5 << 16 | 7);
    assert_eq!(PAPER.decode(record), hop(3_000, 5 * 128, 7 * 80));
    // 17 bits of queue length leave 3 bits for the rate. The units of the queue length are four
    // times as large.
    let record = AUTHORS.encode(&exact);
    assert_eq!(record, 2 << 61 | 3 << 37 | 1 << 17 | 1);
    assert_eq!(AUTHORS.decode(record), hop(3_000, 512, 320));
}

/// HPCC-30: limits of the fields.
#[test]
fn stamps_and_counters_wrap_and_queue_lengths_saturate() {
    let wrapped = hop((1 << 24) * 1_000 + 9_000, (128 << 20) + 128 * 3, u32::MAX);
    let seen = PAPER.decode(PAPER.encode(&wrapped));
    assert_eq!(seen, hop(9_000, 128 * 3, 0xffff * 80));
    let wider = AUTHORS.decode(AUTHORS.encode(&wrapped));
    assert_eq!(wider.qlen_bytes, 0x1_ffff * 320);
    // The time stamp and the counter wrap around between these two records.
    let last = PAPER.decode(PAPER.encode(&hop(((1 << 24) - 1) * 1_000, (128 << 20) - 128, 0)));
    let format = IntFormat::Wire(PAPER);
    assert_eq!(format.since(&last, &seen), (10_000, 4 * 128));
    assert_eq!(format.since(&seen, &seen), (0, 0));
}

/// HPCC-30: a rate that is not in the enumeration cannot be encoded. A scenario with such a rate is
/// refused.
#[test]
fn an_unknown_rate_reads_as_none() {
    for layout in [PAPER, AUTHORS] {
        let odd = IntHop {
            rate_mbps: 33_000,
            ..hop(1_000, 0, 0)
        };
        assert_eq!(layout.decode(layout.encode(&odd)).rate_mbps, 0);
    }
    // The five rates of the authors come first, in fields of 3 bits and of 4 bits.
    assert_eq!(
        AUTHORS.rates_mbps()[..5],
        [25_000, 50_000, 100_000, 200_000, 400_000]
    );
    assert_eq!(AUTHORS.rates_mbps().len(), 7);
    assert!(PAPER.rates_mbps().starts_with(AUTHORS.rates_mbps()));
}

#[test]
fn a_field_that_is_too_short_or_says_too_much_is_an_error() {
    let record = hop(0, 0, 0);
    let mut field = [0u8; 9];
    let short = WireError::Short {
        needed: 10,
        given: 9,
    };
    assert_eq!(wire::append(PAPER, &mut field, 1, &record), Err(short));
    assert_eq!(field, [0; 9], "an error changes nothing");
    assert_eq!(short.to_string(), "telemetry of 10 bytes in a field of 9");
    field[0] = 0x10;
    assert_eq!(wire::read(PAPER, &field).unwrap_err(), short);
    assert!(wire::read(PAPER, &[0]).is_err());
    let full = wire::header(MAX_HOPS as u8, 0).to_be_bytes();
    let mut field = [0u8; 200];
    field[..2].copy_from_slice(&full);
    assert_eq!(
        wire::append(PAPER, &mut field, 1, &record),
        Err(WireError::Hops(MAX_HOPS as u8 + 1))
    );
    field[0] = 0xf0;
    assert_eq!(wire::read(PAPER, &field).unwrap_err(), WireError::Hops(15));
}

fn any_layout() -> impl Strategy<Value = Layout> {
    (1u32..=Layout::MAX_MULTIPLIER, 16u8..=17).prop_map(|(m, bits)| Layout::new(m, bits))
}

fn any_hop() -> impl Strategy<Value = IntHop> {
    let rate = prop::sample::select(PAPER.rates_mbps());
    (0..u64::MAX / 2, 0..u64::MAX / 2, any::<u32>(), rate).prop_map(|(ts, tx, qlen, rate)| IntHop {
        ts_ps: ts,
        tx_bytes: tx,
        qlen_bytes: qlen,
        rate_mbps: rate,
    })
}

proptest! {
    /// Every record of 64 bits with a known rate encodes exactly one state of a port.
    #[test]
    fn records_and_states_are_one_to_one(layout in any_layout(), record in any::<u64>()) {
        let state = layout.decode(record);
        if state.rate_mbps > 0 {
            prop_assert_eq!(layout.encode(&state), record);
        }
    }

    /// Rounding decreases each field by less than one unit, modulo the range of the field.
    #[test]
    fn rounding_cuts_less_than_a_unit(multiplier in 1u32..=256, bits in 16u8..=17, exact in any_hop()) {
        let layout = Layout::new(multiplier, bits);
        let seen = layout.decode(layout.encode(&exact));
        prop_assert_eq!(layout.encode(&seen), layout.encode(&exact));
        prop_assert_eq!(seen.ts_ps, exact.ts_ps % (1000 << 24) / 1000 * 1000);
        let unit = 128 * u64::from(multiplier);
        prop_assert_eq!(seen.tx_bytes, exact.tx_bytes % (unit << 20) / unit * unit);
        let unit = 80 * u64::from(multiplier);
        let most = ((1 << bits) - 1) * unit;
        let qlen = (u64::from(exact.qlen_bytes) / unit * unit).min(most);
        prop_assert_eq!(u64::from(seen.qlen_bytes), qlen);
    }

    /// Differences are exact even if a field wraps around, as long as they are within its range.
    #[test]
    fn differences_are_right_within_the_range(
        layout in any_layout(), first in any_hop(), ns in 0u64..1 << 24, kilobytes in 0u64..130_000,
    ) {
        let second = IntHop {
            ts_ps: first.ts_ps / 1000 * 1000 + ns * 1000,
            tx_bytes: first.tx_bytes + kilobytes * 1000,
            ..first
        };
        let seen = |hop| layout.decode(layout.encode(hop));
        let (elapsed, sent) = IntFormat::Wire(layout).since(&seen(&first), &seen(&second));
        prop_assert_eq!(elapsed, ns * 1000);
        let exact = kilobytes * 1000;
        prop_assert!(sent.abs_diff(exact) < 256 * 128, "{} for {}", sent, exact);
    }

    /// The sender decodes the same stack of rounded records that the switches appended.
    #[test]
    fn a_field_reads_as_the_stack_that_was_written(
        layout in any_layout(),
        hops in prop::collection::vec((any::<u32>(), any_hop()), 0..=MAX_HOPS),
        room in 0usize..40,
    ) {
        let mut field = vec![0u8; 2 + 8 * hops.len() + room];
        let mut stack = IntStack::default();
        for (switch, hop) in &hops {
            prop_assert_eq!(wire::append(layout, &mut field, *switch, hop), Ok(()));
            stack.push(wire::path_id(*switch), layout.decode(layout.encode(hop)));
        }
        let seen = wire::read(layout, &field).unwrap();
        prop_assert_eq!(seen.hops(), stack.hops());
        prop_assert_eq!(seen.path(), stack.path());
        prop_assert!(seen.path() < 1 << 12);
        prop_assert!(field[2 + 8 * hops.len()..].iter().all(|b| *b == 0));
    }

    #[test]
    fn any_bytes_are_read_or_refused(field in prop::collection::vec(any::<u8>(), 0..100)) {
        if let Ok(stack) = wire::read(PAPER, &field) {
            prop_assert!(2 + 8 * stack.hops().len() <= field.len());
        }
    }
}

/// HPCC-30: if time stamp and counter wrap around, the sender measures the same as with exact
/// numbers.
#[test]
fn a_sender_measures_across_a_wrap() {
    let config = HpccConfig {
        format: IntFormat::Wire(PAPER),
        ..HpccConfig::paper(1e11)
    };
    let mut flow = Hpcc::new(&config, &path(100.0), 0);
    let mut hear = |ts_ns: u64, tx_bytes: u64| {
        let mut stack = IntStack::default();
        stack.push(
            1,
            PAPER.decode(PAPER.encode(&hop(ts_ns * 1000, tx_bytes, 0))),
        );
        let ack = Feedback::Ack(Ack {
            int: Some(stack.telemetry()),
            ..ack(1, 100_000)
        });
        flow.on_feedback(&config, &path(100.0), 0, &ack);
        flow.utilisation()
    };
    // 8 µs in which the time stamp wraps around, with 62 720 bytes (490 units): 0.6272 of the link.
    hear((1 << 24) - 4_000, (128 << 20) - 128 * 90);
    close(hear((1 << 24) + 4_000, (128 << 20) + 128 * 400), 0.6272);
}
