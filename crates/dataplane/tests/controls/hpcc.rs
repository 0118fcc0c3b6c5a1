use crate::sets::HpccSets;
use crate::sets::controls::{ack, close, loss, path};
use dataplane::cc::Increase;
use dataplane::cc::hpcc::Hpcc;
use dataplane::cc::hpcc::HpccConfig;
use dataplane::cc::{Ack, Control, Feedback};
use dataplane::int::{IntHop, IntStack, MAX_HOPS, padding_bytes};

const US: u64 = 1_000_000;

/// Returns the telemetry record of a port of 100 Gb/s.
pub(crate) fn port(ts_us: u64, tx_bytes: u64, qlen_bytes: u32) -> IntHop {
    IntHop {
        ts_ps: ts_us * US,
        tx_bytes,
        qlen_bytes,
        rate_mbps: 100_000,
    }
}

pub(crate) fn stack(hops: &[IntHop]) -> IntStack {
    let mut stack = IntStack::default();
    for (switch, hop) in (1u32..).zip(hops) {
        stack.push(switch, *hop);
    }
    stack
}

/// A flow at 100 Gb/s with T = 8 µs, so W_init = 100 000 bytes, and the paper's parameters.
pub(crate) struct Flow {
    pub config: HpccConfig,
    pub hpcc: Hpcc,
}

impl Flow {
    fn new() -> Self {
        Self::with(HpccConfig::paper(1e11))
    }

    pub fn with(config: HpccConfig) -> Self {
        Self {
            hpcc: Hpcc::new(&config, &path(100.0), 0),
            config,
        }
    }

    pub fn ack(&mut self, seq: u64, snd_nxt: u64, int: &IntStack) {
        let ack = Feedback::Ack(Ack {
            int: Some(int.telemetry()),
            ..ack(seq, snd_nxt)
        });
        self.hpcc.on_feedback(&self.config, &path(100.0), 0, &ack);
    }

    pub fn window(&self) -> u64 {
        self.hpcc.clone().window(&self.config, &path(100.0), 0)
    }

    pub fn rate_bps(&self) -> f64 {
        self.hpcc.clone().rate_bps(&self.config, &path(100.0), 0)
    }

    pub fn window_bytes(&self) -> f64 {
        self.rate_bps() * 8e-6 / 8.0
    }
}

/// HPCC-05, HPCC-07, HPCC-08: a flow starts at line rate with a window of B·T.
#[test]
fn starts_at_line_rate() {
    let flow = Flow::new();
    assert_eq!(flow.window(), 100_000);
    close(flow.rate_bps(), 1e11);
    close(flow.hpcc.reference_bytes(), 100_000.0);
    close(flow.hpcc.utilisation(), 1.0);
}

/// HPCC-06, HPCC-07, HPCC-09, HPCC-11, HPCC-12, HPCC-14, HPCC-15, HPCC-16, HPCC-17, HPCC-18,
/// HPCC-19: Algorithm 1 on one link, with values by hand.
#[test]
fn worked_example_of_algorithm_1() {
    let mut flow = Flow::new();
    // HPCC-09: the first ACK is only recorded.
    flow.ack(1_000, 100_000, &stack(&[port(1, 0, 50_000)]));
    assert_eq!(flow.window(), 100_000);

    // 25 000 bytes in 2 µs is line rate; min(30 000, 50 000) bytes are 0.3 of B·T: u = 1.3.
    // τ/T = 1/4: U = 3/4 · 1 + 1/4 · 1.3 = 1.075. Above η: W = 100 000 · 0.95 / 1.075 + 80.
    flow.ack(2_000, 101_000, &stack(&[port(3, 25_000, 30_000)]));
    close(flow.hpcc.utilisation(), 1.075);
    close(flow.window_bytes(), 95_000.0 / 1.075 + 80.0);
    close(flow.rate_bps(), (95_000.0 / 1.075 + 80.0) * 1e6);
    assert_eq!(flow.window(), 88_452);
    // Byte 2 000 was sent before lastUpdateSeq = 100 000: W^c does not change.
    close(flow.hpcc.reference_bytes(), 100_000.0);

    // The first packet that was sent after the update: 20 000 bytes in 2 µs (0.8) + 10 000 queued
    // (0.1). U = 3/4 · 1.075 + 1/4 · 0.9 = 1.03125. The window is computed from W^c, not from W.
    flow.ack(101_000, 190_000, &stack(&[port(5, 45_000, 10_000)]));
    close(flow.hpcc.utilisation(), 1.031_25);
    let reference = 95_000.0 / 1.031_25 + 80.0;
    close(flow.window_bytes(), reference);
    close(flow.hpcc.reference_bytes(), reference);

    // 10 µs later, τ is limited to T, so U = u = 62 500 bytes / 10 µs / B = 0.5. U is below η: the
    // window makes one additive step. Byte 150 000 is not beyond 190 000, so W^c does not change.
    flow.ack(150_000, 240_000, &stack(&[port(15, 107_500, 0)]));
    close(flow.hpcc.utilisation(), 0.5);
    close(flow.window_bytes(), reference + 80.0);
    close(flow.hpcc.reference_bytes(), reference);

    // Another ACK within the same round trip: the window is still one step above the same W^c.
    flow.ack(160_000, 250_000, &stack(&[port(25, 170_000, 0)]));
    close(flow.window_bytes(), reference + 80.0);
}

/// HPCC-16, HPCC-17, HPCC-18: maxStage additive updates are followed by a multiplicative one.
#[test]
fn after_max_stage_additive_updates_the_window_multiplies() {
    let mut flow = Flow::new();
    let mut seq = 0;
    let mut sent = 0;
    let mut next = |flow: &mut Flow, bytes_per_10us: u64| {
        sent += bytes_per_10us;
        seq += 1;
        flow.ack(
            seq * 1_000 + 1,
            (seq + 1) * 1_000,
            &stack(&[port(seq * 10, sent, 0)]),
        );
        flow.hpcc.reference_bytes()
    };
    next(&mut flow, 0);
    // u = 2, as the byte counter shows: W = 100 000 · 0.95 / 2 + 80.
    close(next(&mut flow, 250_000), 47_580.0);
    // U = 0.76: five additive steps of 80 bytes, then a factor of 0.95 / 0.76 = 1.25.
    for step in 1..=5 {
        close(next(&mut flow, 95_000), 47_580.0 + 80.0 * f64::from(step));
    }
    close(next(&mut flow, 95_000), 47_980.0 * 1.25 + 80.0);
    close(next(&mut flow, 95_000), 47_980.0 * 1.25 + 160.0);
}

/// HPCC-16: U = η uses the multiplicative step. The window is the same as after an additive step,
/// but incStage is reset to 0.
#[test]
fn utilisation_equal_to_the_target_multiplies() {
    let run = |eta, intervals: &[u64]| {
        let mut flow = Flow::new();
        (flow.config.eta, flow.config.max_stage) = (eta, 1);
        let mut sent = 0;
        for (i, bytes) in (1..).zip(intervals) {
            sent += bytes;
            let hop = port(i * 10, sent, 0);
            flow.ack(i * 1_000 + 1, (i + 1) * 1_000, &stack(&[hop]));
        }
        flow.hpcc
    };
    // This η is exactly the measured U, about 0.5.
    let eta = run(0.5, &[0, 125_000, 62_500]).utilisation();
    // Windows: 100 000 → 50 080 (U = 1) → 50 160 (U = η) → 50 240 (U = 0.25). The last update is
    // additive, because the update with U = η did not count as an additive stage.
    let hpcc = run(eta, &[0, 125_000, 62_500, 31_250]);
    close(hpcc.reference_bytes(), 50_240.0);
}

/// HPCC-12: u' uses the smaller of two consecutive queue lengths.
#[test]
fn a_passing_burst_is_filtered_out() {
    let mut flow = Flow::new();
    for (ts_us, qlen, utilisation) in [(0, 0, 1.0), (8, 90_000, 0.0), (16, 20_000, 0.2)] {
        flow.ack(1, 100_000, &stack(&[port(ts_us, 0, qlen)]));
        assert!((flow.hpcc.utilisation() - utilisation).abs() < 1e-12);
    }
}

/// HPCC-18: the packet that ends at lastUpdateSeq was sent before the update of W^c.
#[test]
fn the_reference_waits_for_a_packet_sent_after_it() {
    let mut flow = Flow::new();
    flow.ack(1_000, 5_000, &stack(&[port(0, 0, 0)]));
    flow.ack(5_000, 9_000, &stack(&[port(8, 200_000, 0)]));
    close(flow.hpcc.reference_bytes(), 100_000.0);
    flow.ack(6_000, 10_000, &stack(&[port(16, 400_000, 0)]));
    close(flow.hpcc.reference_bytes(), 47_580.0);
    // lastUpdateSeq is now 10 000.
    flow.ack(10_000, 14_000, &stack(&[port(24, 600_000, 0)]));
    close(flow.hpcc.reference_bytes(), 47_580.0);
}

/// HPCC-13: the fullest link determines U, with the time τ between its own time stamps.
#[test]
fn the_fullest_link_decides() {
    let mut flow = Flow::new();
    let slow = |ts_us, tx_bytes| IntHop {
        rate_mbps: 25_000,
        ..port(ts_us, tx_bytes, 0)
    };
    flow.ack(
        1,
        100_000,
        &stack(&[port(0, 0, 0), slow(0, 0), port(0, 0, 0)]),
    );
    // Utilisations 0.4, 0.8 and 0.5. τ of the second link is 2 µs: U = 3/4 + 1/4 · 0.8.
    flow.ack(
        2,
        100_000,
        &stack(&[port(8, 40_000, 0), slow(2, 5_000), port(4, 25_000, 0)]),
    );
    close(flow.hpcc.utilisation(), 0.95);
    // Two links have equal utilisation: τ is the time of the first one, 8 µs, so U = u.
    flow.ack(
        3,
        100_000,
        &stack(&[port(16, 120_000, 0), slow(4, 5_000), port(5, 35_000, 0)]),
    );
    close(flow.hpcc.utilisation(), 0.8);
}

/// HPCC-10: telemetry with a new pathID or a new number of switches is recorded and does not change
/// the window.
#[test]
fn a_new_path_discards_the_record() {
    let mut flow = Flow::new();
    let other_path = |hop| {
        let mut stack = IntStack::default();
        stack.push(77, hop);
        stack
    };
    flow.ack(1, 100_000, &stack(&[port(0, 0, 0)]));
    flow.ack(2, 100_000, &stack(&[port(8, 50_000, 0)]));
    close(flow.hpcc.utilisation(), 0.5);
    let window = flow.window();
    flow.ack(
        200_000,
        300_000,
        &other_path(port(16, 1_000_000_000, 9_000)),
    );
    close(flow.hpcc.utilisation(), 0.5);
    assert_eq!(flow.window(), window);
    // U is measured against the telemetry of the new path: 0.75.
    flow.ack(3, 300_000, &other_path(port(24, 1_000_075_000, 0)));
    close(flow.hpcc.utilisation(), 0.75);
    // Two more switches whose identifiers XOR to 0, so that the pathID does not change.
    let mut longer = other_path(port(32, 1_000_075_000, 0));
    longer.push(5, port(32, 0, 0));
    longer.push(5, port(32, 0, 0));
    assert_eq!(longer.path(), 77);
    flow.ack(4, 300_000, &longer);
    close(flow.hpcc.utilisation(), 0.75);
}

/// HPCC-20: links with an unchanged time stamp or without a rate do not count.
#[test]
fn a_clock_that_stands_still_says_nothing() {
    let mut flow = Flow::new();
    flow.ack(1, 100_000, &stack(&[port(5, 0, 0), port(5, 0, 0)]));
    for odd in [port(5, 9_000, 9_000), port(4, 9_000, 9_000)] {
        flow.ack(200_000, 300_000, &stack(&[odd, odd]));
        close(flow.hpcc.utilisation(), 1.0);
        close(flow.hpcc.reference_bytes(), 100_000.0);
    }
    // The second link has a new stamp, with utilisation 0.5 over T. The first link keeps its
    // telemetry of 5 µs.
    flow.ack(
        2,
        100_000,
        &stack(&[port(5, 9_000, 9_000), port(13, 50_000, 0)]),
    );
    close(flow.hpcc.utilisation(), 0.5);
    let unknown = IntHop {
        rate_mbps: 0,
        ..port(90, 100_000, 0)
    };
    flow.ack(3, 100_000, &stack(&[port(13, 75_000, 0), unknown]));
    close(flow.hpcc.utilisation(), 0.75);
}

/// HPCC-11: a byte counter that decreases counts as unchanged.
#[test]
fn a_counter_that_goes_backward_stands_still() {
    let mut flow = Flow::new();
    flow.ack(1, 100_000, &stack(&[port(0, 1_000_000, 0)]));
    flow.ack(2, 100_000, &stack(&[port(8, 0, 0)]));
    close(flow.hpcc.utilisation(), 0.0);
    // U = 0: HPCC-21 limits the window to W_init, also if HPCC-16 divides by U (maxStage = 0).
    close(flow.window_bytes(), 100_000.0);
    flow.config.max_stage = 0;
    flow.ack(3, 100_000, &stack(&[port(16, 0, 0)]));
    close(flow.window_bytes(), 100_000.0);
}

/// HPCC-21: the window is at most W_init and at least lowest rate · T.
#[test]
fn window_and_rate_are_clipped() {
    let mut flow = Flow::new();
    flow.ack(1, 2, &stack(&[port(0, 0, u32::MAX)]));
    flow.ack(3, 4, &stack(&[port(10, 1_000_000_000_000, u32::MAX)]));
    close(flow.rate_bps(), 1e8);
    assert_eq!(flow.window(), 100);
    close(flow.hpcc.reference_bytes(), 100.0);
    for i in 2..200 {
        flow.ack(
            2 * i + 1,
            2 * i + 2,
            &stack(&[port(10 * i, 1_000_000_000_000, 0)]),
        );
    }
    close(flow.rate_bps(), 1e11);
    assert_eq!(flow.window(), 100_000);
}

/// HPCC-04: an ACK without telemetry changes nothing.
#[test]
fn no_telemetry_no_change() {
    let mut flow = Flow::new();
    flow.ack(1, 2, &IntStack::default());
    flow.hpcc
        .on_feedback(&flow.config, &path(100.0), 0, &Feedback::Ack(ack(3, 4)));
    assert_eq!(flow.window(), 100_000);
    // The two ACKs without telemetry were not recorded, so this is the first record.
    flow.ack(5, 6, &stack(&[port(0, 0, 0)]));
    close(flow.hpcc.utilisation(), 1.0);
}

/// HPCC-25: HPCC does not react to losses.
#[test]
fn a_loss_changes_nothing() {
    let config = HpccConfig::paper(1e11);
    let mut control = Hpcc::new(&config, &path(100.0), 0);
    control.on_feedback(&config, &path(100.0), 0, &loss(50_000));
    assert_eq!(control.window(&config, &path(100.0), 0), 100_000);
}

/// HPCC-22, HPCC-23: the rule of thumb for 100 flows at 100 Gb/s and T = 13 µs gives about the
/// paper's W_AI of 80 bytes.
#[test]
fn parameters_and_rule_of_thumb() {
    let config = HpccConfig::paper(1e11);
    assert_eq!(
        (config.eta, config.max_stage, config.wai),
        (0.95, 5, Increase::Bytes(80.0))
    );
    close(HpccConfig::rule_of_thumb_wai(162_500.0, 0.95, 100), 81.25);
    assert!(HpccConfig::rule_of_thumb_wai(162_500.0, 0.95, 0).is_finite());
}

/// HPCC-24: the size of telemetry is two bytes, plus eight bytes per switch.
#[test]
fn telemetry_of_five_switches_takes_42_bytes() {
    assert_eq!(padding_bytes(5), 42);
    assert_eq!(padding_bytes(0), 2);
}

/// HPCC-01, HPCC-02, HPCC-03: the telemetry contains the records of the ports in path order, and
/// the XOR of the switch identifiers. A full stack does not change.
#[test]
fn a_stack_keeps_what_the_switches_wrote() {
    let mut stack = IntStack::default();
    for i in 0..MAX_HOPS as u32 + 3 {
        stack.push(1 << i, port(u64::from(i), 10 * u64::from(i), i));
    }
    assert_eq!(stack.hops().len(), MAX_HOPS);
    assert_eq!(stack.path(), 0xff);
    assert_eq!(stack.hops()[3], port(3, 30, 3));
    stack.push(0x1ff, port(0, 0, 0));
    assert_eq!(stack.path(), 0xff);
    stack.clear();
    assert_eq!((stack.hops().len(), stack.path()), (0, 0));
}

/// HPCC-27: with a constant U the window converges to W_AI / (1 − η/U).
#[test]
fn equilibrium_of_a_constant_utilisation() {
    let mut flow = Flow::new();
    let mut sent = 0;
    for i in 1..3_000 {
        sent += 125_000; // 10 µs of the link at line rate
        flow.ack(
            i * 1_000 + 1,
            (i + 1) * 1_000,
            &stack(&[port(i * 10, sent, 0)]),
        );
    }
    close(flow.hpcc.reference_bytes(), 80.0 / (1.0 - 0.95));
}
