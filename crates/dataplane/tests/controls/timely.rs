use crate::sets::controls::{ack, close, loss, path};
use crate::sets::{PATCHED, TimelySets};
use dataplane::cc::timely::Timely;
use dataplane::cc::timely::TimelyConfig;
use dataplane::cc::{Ack, Control, Feedback, Limit};

const US: u64 = 1_000_000;

/// A flow at 10 Gb/s with the paper's values. Each ACK is a completion event.
struct Flow {
    config: TimelyConfig,
    timely: Timely,
    seq: u64,
}

impl Flow {
    fn new() -> Self {
        let config = TimelyConfig::paper();
        Self {
            config,
            timely: Timely::new(&config, &path(10.0), 0),
            seq: 0,
        }
    }

    /// Returns the rate in Mb/s after a completion event with a round trip of `rtt_us`.
    fn rtt(&mut self, rtt_us: u64) -> f64 {
        self.seq += 1_000;
        let ack = Feedback::Ack(Ack {
            rtt_ps: rtt_us * US,
            ..ack(self.seq + 1, self.seq + 1_000)
        });
        self.timely.on_feedback(&self.config, &path(10.0), 0, &ack);
        self.rate_bps() / 1e6
    }

    fn rate_bps(&self) -> f64 {
        self.timely.clone().rate_bps(&self.config, &path(10.0), 0)
    }

    fn window(&self) -> u64 {
        self.timely.clone().window(&self.config, &path(10.0), 0)
    }
}

/// TIMELY-01, TIMELY-04, TIMELY-05, TIMELY-06, TIMELY-09, TIMELY-10: rates with values by hand.
#[test]
fn gradient_between_the_thresholds() {
    let mut flow = Flow::new();
    close(flow.rate_bps(), 10e9);
    close(flow.rtt(60), 10_000.0);
    // Smoothed difference d = 0.875 · 20 µs = 17.5 µs, gradient 0.875, factor 1 − 0.8 · 0.875 =
    // 0.3.
    close(flow.rtt(80), 3_000.0);
    // d = 0.125 · 17.5 − 0.875 · 10 = −6.5625 µs: increase.
    close(flow.rtt(70), 3_010.0);
    // d = −0.8203125 µs is negative although the round trip is constant: increase.
    close(flow.rtt(70), 3_020.0);
    // d = 0.125 · −0.8203125 + 0.875 · 2 = 1.6474609375 µs.
    close(flow.rtt(72), 3_020.0 * (1.0 - 0.8 * 1.647_460_937_5 / 20.0));
}

/// TIMELY-09: the rate increases if the gradient is 0.
#[test]
fn a_constant_round_trip_grows() {
    let mut flow = Flow::new();
    flow.rtt(1_000);
    close(flow.rtt(1_000), 6_000.0);
    flow.config.t_high_ps = 2_000 * US; // 1 000 µs is now between the thresholds
    close(flow.rtt(1_000), 6_010.0);
}

/// TIMELY-07: below T_low the rate grows by AI for any gradient.
#[test]
fn below_t_low_it_grows() {
    let mut flow = Flow::new();
    flow.rtt(10);
    flow.rtt(600); // to fall below the line rate: 1 − 0.8 · (1 − 500/600)
    let start = 10_000.0 * (1.0 - 0.8 / 6.0);
    close(flow.rate_bps() / 1e6, start);
    for i in 1..=12 {
        close(flow.rtt(i), start + 10.0 * i as f64);
    }
    // A round trip of 50 µs is not below T_low: with a steep gradient, the rate falls.
    assert!(flow.rtt(50) < start);
}

/// TIMELY-08: above T_high the rate falls for any gradient. A round trip of 500 µs is not above
/// T_high.
#[test]
fn above_t_high_it_falls() {
    let mut flow = Flow::new();
    flow.rtt(2_000);
    close(flow.rtt(1_000), 6_000.0);
    close(flow.rtt(501), 6_000.0 * (1.0 - 0.8 * (1.0 - 500.0 / 501.0)));
    let before = flow.rate_bps() / 1e6;
    close(flow.rtt(500), before + 10.0);
}

/// TIMELY-10, TIMELY-13: if a gradient would make the rate negative, the rate is set to the lowest
/// rate. The rate never exceeds the line rate.
#[test]
fn the_rate_keeps_its_bounds() {
    let mut flow = Flow::new();
    flow.rtt(60);
    close(flow.rtt(400), 10.0);
    let mut flow = Flow::new();
    flow.rtt(20);
    close(flow.rtt(20), 10_000.0);
    flow.config.min_rate_bps = 1e15;
    close(flow.rtt(2_000), 10_000.0);
}

/// TIMELY-11: five increases by AI in a row are followed by increases by HAI. A decrease resets the
/// count.
#[test]
fn hyperactive_after_five() {
    let mut flow = Flow::new();
    flow.rtt(60);
    let mut rate = flow.rtt(80);
    for step in [10.0, 10.0, 10.0, 10.0, 10.0, 50.0, 50.0] {
        rate += step;
        close(flow.rtt(60), rate);
    }
    rate = flow.rtt(80);
    close(flow.rtt(60), rate + 10.0);
}

/// TIMELY-12: with `hai_below_low`, increases below T_low count as increases in a row.
#[test]
fn hyperactive_below_t_low() {
    let mut flow = Flow::new();
    flow.config.hai_below_low = true;
    flow.rtt(60);
    let mut rate = flow.rtt(80);
    for step in [10.0, 10.0, 10.0, 10.0, 10.0, 50.0] {
        rate += step;
        close(flow.rtt(20), rate);
    }
}

/// TIMELY-02, TIMELY-03: at most one update per round trip. An update requires an ACK beyond the
/// byte that was next to be sent at the last update.
#[test]
fn once_per_round_trip() {
    let mut flow = Flow::new();
    let mut on = |seq, snd_nxt, rtt_us| {
        let ack = Feedback::Ack(Ack {
            rtt_ps: rtt_us * US,
            ..ack(seq, snd_nxt)
        });
        flow.timely.on_feedback(&flow.config, &path(10.0), 0, &ack);
        flow.rate_bps()
    };
    on(1_000, 50_000, 60);
    close(on(2_000, 51_000, 900), 10e9);
    close(on(50_000, 99_000, 900), 10e9);
    assert!(on(50_001, 99_000, 900) < 10e9);
}

/// TIMELY-14: window = BDP · rate / line rate.
#[test]
fn window_follows_the_rate() {
    let mut flow = Flow::new();
    assert_eq!(flow.window(), u64::MAX);
    flow.config.window = Limit::Rate;
    assert_eq!(flow.window(), 10_000);
    flow.rtt(1_000);
    flow.rtt(1_000);
    assert_eq!(flow.window(), 6_000);
    for _ in 0..40 {
        flow.rtt(1_000_000);
    }
    assert_eq!(flow.window(), 10);
}

/// TIMELY-15, TIMELY-16: values of the parameter sets.
#[test]
fn parameter_sets() {
    let paper = TimelyConfig::paper();
    assert_eq!((paper.alpha, paper.beta, paper.hai_after), (0.875, 0.8, 5));
    assert_eq!(
        (paper.t_low_ps, paper.t_high_ps, paper.min_rtt_ps),
        (50 * US, 500 * US, 20 * US)
    );
    let hpcc = TimelyConfig::hpcc_comparison(1e11);
    assert_eq!((hpcc.ai_bps, hpcc.hai_bps), (100e6, 500e6));
    assert!(hpcc.hai_below_low && !paper.hai_below_low);
}

/// TIMELY-17: a loss does not change the rate.
#[test]
fn a_loss_changes_nothing() {
    let config = TimelyConfig::paper();
    let mut control = Timely::new(&config, &path(10.0), 0);
    control.on_feedback(&config, &path(10.0), 0, &loss(50_000));
    close(control.rate_bps(&config, &path(10.0), 0), 10e9);
}

fn patched() -> Flow {
    let mut flow = Flow::new();
    flow.config.patched = Some(PATCHED);
    flow
}

/// TIMELY-30, TIMELY-31: rates by hand. α = 0.875, smallest round trip 20 µs, reference 50 µs.
#[test]
fn the_patched_band_weighs_growth_against_the_reference() {
    let mut flow = patched();
    flow.rtt(60);
    // Smoothed difference d = 17.5 µs. The gradient 0.875 is above the range: weight 1, error
    // 30/50.
    let mut rate = 10_000.0 * (1.0 - 0.008 * 0.6);
    close(flow.rtt(80), rate);
    // d = 0.125 · 17.5 − 0.875 · 10 = −6.5625 µs, gradient below −1/4: weight 0.
    rate += 10.0;
    close(flow.rtt(70), rate);
    // d = −0.8203125 µs, gradient −0.041015625: weight 0.5 − 0.08203125.
    let weight = 0.5 - 2.0 * 0.041_015_625;
    rate = 10.0 * (1.0 - weight) + rate * (1.0 - 0.008 * weight * 0.4);
    close(flow.rtt(70), rate);
}

/// TIMELY-30: for a constant round trip there is one rate at which increase and decrease are equal.
/// At 75 µs, weight and error are 1/2, so an increase of 5 Mb/s equals 0.002 of the rate.
#[test]
fn the_patched_band_has_one_fixed_point() {
    for start_us in [60, 400] {
        let mut flow = patched();
        flow.rtt(start_us);
        for _ in 0..200 {
            flow.rtt(start_us);
        }
        let mut rate = 0.0;
        for _ in 0..10_000 {
            rate = flow.rtt(75);
        }
        assert!((rate - 2_500.0).abs() < 1e-3, "{rate} Mb/s");
    }
}

/// TIMELY-32: outside the two thresholds, the patch has no effect. Between the thresholds, no
/// increase is hyperactive.
#[test]
fn the_patch_is_for_the_band_only() {
    let (mut old, mut new) = (Flow::new(), patched());
    for rtt_us in [600, 700, 20, 10, 49, 501, 30] {
        close(new.rtt(rtt_us), old.rtt(rtt_us));
    }
    // Neither an increase below T_low nor a decrease between the thresholds counts as an increase
    // in a row, so the step is always the same.
    let mut flow = patched();
    flow.config.hai_below_low = true;
    flow.rtt(2_000);
    flow.rtt(1_900);
    let mut rtt_us = 450;
    let mut rate = flow.rtt(rtt_us);
    for _ in 0..7 {
        rtt_us -= 50;
        rate += 10.0;
        close(flow.rtt(rtt_us), rate);
    }
    // The count of increases starts when the round trip is outside the thresholds again.
    for step in [10.0, 10.0, 10.0, 10.0, 10.0, 50.0] {
        rate += step;
        close(flow.rtt(20), rate);
    }
}
