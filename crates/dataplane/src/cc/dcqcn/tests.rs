use crate::sets::controls::{close, path};
use crate::sets::{DcqcnSets, PAPER_CNP_INTERVAL_PS};
use dataplane::cc::Limit;
use dataplane::cc::PathInfo;
use dataplane::cc::dcqcn::Dcqcn;
use dataplane::cc::dcqcn::{CnpReaction, DcqcnConfig};
use dataplane::cc::{Control, Feedback};
use proptest::prelude::*;

const US: u64 = 1_000_000;
const G: f64 = 1.0 / 256.0;

struct Flow {
    config: DcqcnConfig,
    path: PathInfo,
    dcqcn: Dcqcn,
}

impl Flow {
    fn new(config: DcqcnConfig, gbps: f64) -> Self {
        let path = path(gbps);
        Self {
            config,
            path,
            dcqcn: Dcqcn::new(&config, &path, 0),
        }
    }

    fn cnp(&mut self, us: u64) {
        self.dcqcn
            .on_feedback(&self.config, &self.path, us * US, &Feedback::Cnp);
    }

    fn send(&mut self, us: u64, bytes: u64) {
        self.dcqcn.on_send(&self.config, &self.path, us * US, bytes);
    }

    /// Returns the rate in Gb/s at `us` microseconds.
    fn gbps(&mut self, us: u64) -> f64 {
        self.dcqcn.rate_bps(&self.config, &self.path, us * US) / 1e9
    }

    fn alpha(&self, us: u64) -> f64 {
        let mut copy = self.dcqcn.clone();
        copy.advance(&self.config, &self.path, us * US);
        copy.settle_alpha(&self.config, us * US);
        copy.alpha
    }
}

fn paper() -> Flow {
    Flow::new(DcqcnConfig::paper(), 40.0)
}

fn vendor() -> Flow {
    Flow::new(DcqcnConfig::vendor(1e11), 100.0)
}

/// DCQCN-01, DCQCN-02, DCQCN-03: the rate stays at line rate before the first CNP.
#[test]
fn line_rate_until_the_first_cnp() {
    for mut flow in [paper(), vendor()] {
        let line = flow.path.line_bps / 1e9;
        flow.send(0, 20_000_000);
        assert_eq!(flow.gbps(1_000_000), line);
        assert_eq!(flow.alpha(1_000_000), 1.0);
        close(flow.dcqcn.target_bps, flow.path.line_bps);
    }
}

/// DCQCN-05, DCQCN-12, DCQCN-13, DCQCN-14, DCQCN-16: one CNP halves the rate. Each of five timer
/// periods halves the distance to the target. Then the target grows up to line rate.
#[test]
fn a_cnp_and_the_way_back() {
    let mut flow = paper();
    flow.cnp(100);
    assert_eq!(flow.gbps(100), 20.0);
    assert_eq!(flow.gbps(154), 20.0);
    for (us, rate) in [
        (155, 30.0),
        (210, 35.0),
        (265, 37.5),
        (320, 38.75),
        (375, 39.375),
    ] {
        assert_eq!(flow.gbps(us), rate);
        assert_eq!(flow.dcqcn.target_bps, 40e9);
    }
    assert_eq!(flow.gbps(430), 39.6875);
    assert_eq!(flow.dcqcn.target_bps, 40e9);
}

/// DCQCN-31: α starts at 1/2, and each CNP raises α before the rate cut.
#[test]
fn alpha_may_start_at_a_half_and_rise_before_the_cut() {
    let config = DcqcnConfig {
        alpha_start: 0.5,
        alpha_first: true,
        ..DcqcnConfig::paper()
    };
    let mut flow = Flow::new(config, 40.0);
    assert_eq!(flow.alpha(99), 0.5);
    flow.cnp(100);
    let first = (1.0 - G) * 0.5 + G;
    close(flow.alpha(100), first);
    close(flow.gbps(100), 40.0 * (1.0 - first / 2.0));
    flow.cnp(150);
    let second = (1.0 - G) * first + G;
    close(flow.alpha(150), second);
    close(
        flow.gbps(150),
        40.0 * (1.0 - first / 2.0) * (1.0 - second / 2.0),
    );
}

/// DCQCN-04, DCQCN-05, DCQCN-06, DCQCN-08, DCQCN-18: the second CNP arrives at the time of two
/// ticks and takes effect after them. α has decayed twice between the two CNPs.
#[test]
fn alpha_and_target_at_the_second_cnp() {
    let mut flow = paper();
    flow.cnp(100);
    assert_eq!(flow.alpha(154), 1.0); // (1 − g) · 1 + g
    assert_eq!(flow.alpha(155), 1.0 - G);
    assert_eq!(flow.alpha(209), 1.0 - G);
    let alpha = (255.0 * 255.0) / (256.0 * 256.0);
    close(flow.alpha(210), alpha);
    flow.cnp(210);
    let rate = 35.0 * (1.0 - alpha / 2.0);
    close(flow.gbps(210), rate);
    assert_eq!(flow.dcqcn.target_bps, 35e9);
    close(flow.alpha(210), alpha * (1.0 - G) + G);
    // The CNP restarts the timer: no increase at 264 µs, half of the distance at 265 µs.
    close(flow.gbps(264), rate);
    close(flow.gbps(265), (rate + 35.0) / 2.0);
    // DCQCN-14: at the sixth event the target grows by 40 Mb/s.
    flow.gbps(485);
    assert_eq!(flow.dcqcn.target_bps, 35e9);
    flow.gbps(540);
    assert_eq!(flow.dcqcn.target_bps, 35.04e9);
}

/// DCQCN-12, DCQCN-13, DCQCN-15: the byte counter causes increase events too. One packet can cause
/// several. The target grows by R_HAI only when both counts are above F.
#[test]
fn byte_counter_and_hyper_increase() {
    let mut flow = paper();
    flow.config.fast_recovery = 1;
    flow.cnp(0);
    flow.send(0, 9_999_999);
    assert_eq!(flow.gbps(0), 20.0);
    flow.send(0, 1);
    assert_eq!(flow.gbps(0), 30.0);
    flow.cnp(1); // α is still 1
    assert_eq!(flow.gbps(1), 15.0);
    flow.send(1, 30_000_000); // one fast recovery to 22.5 Gb/s, two additive increases
    assert_eq!(flow.dcqcn.target_bps, 30.08e9);
    flow.gbps(56); // count of the timer 0 → 1: AI
    flow.gbps(111); // count 1 → 2: AI, because min(1, 3) is not above F = 1
    assert_eq!(flow.dcqcn.target_bps, 30.16e9);
    flow.gbps(166); // min(2, 3) > 1: HAI
    assert_eq!(flow.dcqcn.target_bps, 30.56e9);
    flow.send(167, 10_000_000); // min(3, 3) > 1: HAI
    assert_eq!(flow.dcqcn.target_bps, 30.96e9);
    // A reduction resets all counts: the next event of the byte counter is fast recovery.
    flow.send(168, 9_999_999);
    flow.cnp(168);
    let target = flow.dcqcn.target_bps;
    flow.send(168, 9_999_999);
    let rate = flow.gbps(168);
    flow.send(168, 1);
    assert_eq!(flow.dcqcn.target_bps, target);
    close(flow.gbps(168), (rate + target / 1e9) / 2.0);
}

/// DCQCN-07: CNPs within `decrease_interval` after a reduction are ignored.
#[test]
fn reductions_keep_their_interval() {
    let mut flow = paper();
    flow.config.decrease_interval_ps = 50 * US;
    flow.cnp(100);
    flow.cnp(149);
    assert_eq!(flow.gbps(149), 20.0);
    flow.cnp(150);
    assert_eq!(flow.gbps(150), 10.0);
    assert_eq!(flow.dcqcn.target_bps, 20e9);
}

/// DCQCN-17: the rate does not fall below `min_rate`.
#[test]
fn the_lowest_rate_holds() {
    let mut flow = paper();
    for us in 0..40 {
        flow.cnp(us);
    }
    assert_eq!(flow.gbps(40), 0.04);
    flow.config.min_rate_bps = 1e15; // above line rate: line rate is the lowest rate
    flow.cnp(41);
    assert_eq!(flow.gbps(41), 40.0);
}

/// DCQCN-09, DCQCN-10, DCQCN-11: expected values of the vendor's timers, computed by hand. α ticks
/// at 1, 2, 3 and 4 µs after the first CNP, without another CNP. The rate falls at 4 µs.
#[test]
fn the_vendor_samples_cnps() {
    let keep = 1.0 - G;
    let mut flow = vendor();
    flow.cnp(10);
    assert_eq!(flow.gbps(13), 100.0);
    close(flow.alpha(14), keep.powi(4));
    let first = 100.0 * (1.0 - keep.powi(4) / 2.0);
    close(flow.gbps(14), first);
    // The α tick at 16 µs and the decrease tick at 18 µs react to a CNP at 15 µs.
    flow.cnp(15);
    let alpha = (keep.powi(6) + G) * keep.powi(2);
    close(flow.alpha(18), alpha);
    close(flow.gbps(17), first);
    close(flow.gbps(18), first * (1.0 - alpha / 2.0));
    // DCQCN-04: no increase since the last cut, so the target is still line rate.
    assert_eq!(flow.dcqcn.target_bps, 100e9);
    // No CNP arrived since then: the decrease ticks at 22, 26, … µs do nothing.
    close(flow.gbps(317), first * (1.0 - alpha / 2.0));
}

/// DCQCN-13, DCQCN-14, DCQCN-15 in the vendor's form: one fast recovery, one AI, then HAI.
#[test]
fn the_vendor_increases() {
    let mut flow = vendor();
    flow.cnp(0); // reduced at 4 µs
    flow.gbps(304);
    flow.cnp(305); // cut at 308 µs: after an increase, so the target becomes the rate
    let before = flow.gbps(307);
    flow.gbps(308);
    close(flow.dcqcn.target_bps, before * 1e9);
    let mut wanted = before;
    for (us, step) in [(608, 0.0), (908, 0.02), (1_208, 0.2), (1_508, 0.2)] {
        wanted += step;
        flow.gbps(us);
        close(flow.dcqcn.target_bps, wanted * 1e9);
    }
}

/// DCQCN-10: decrease ticks keep the phase that the first CNP started. A CNP takes effect at the
/// next of these ticks.
#[test]
fn decrease_ticks_keep_their_lattice() {
    let mut flow = vendor();
    flow.cnp(0);
    flow.gbps(1_000);
    flow.cnp(1_001); // ticks at 1 000 and 1 004
    let before = flow.gbps(1_003);
    assert!(flow.gbps(1_004) < before);
    let before = flow.gbps(1_007);
    flow.cnp(1_008); // DCQCN-18: the CNP comes after the tick at 1 008 µs
    assert_eq!(flow.gbps(1_011), before);
    assert!(flow.gbps(1_012) < before);
}

/// DCQCN-18: if increase and decrease ticks fall on the same time, the increase goes first.
#[test]
fn increase_before_decrease_at_one_instant() {
    let mut flow = vendor();
    flow.cnp(0);
    flow.cnp(303); // increase and decrease are both due at 304 µs
    let before = flow.gbps(303);
    let alpha = flow.alpha(304);
    close(flow.gbps(304), (before + 100.0) / 2.0 * (1.0 - alpha / 2.0));
}

/// DCQCN-20: window = BDP · rate / line rate.
#[test]
fn window_follows_the_rate() {
    let mut flow = paper();
    assert_eq!(flow.dcqcn.window(&flow.config, &flow.path, 0), u64::MAX);
    flow.config.window = Limit::Rate;
    assert_eq!(flow.dcqcn.window(&flow.config, &flow.path, 0), 40_000);
    flow.cnp(0);
    assert_eq!(flow.dcqcn.window(&flow.config, &flow.path, 0), 20_000);
    assert_eq!(flow.dcqcn.window(&flow.config, &flow.path, 55 * US), 30_000);
}

/// DCQCN-21, DCQCN-22: values of the parameter sets.
#[test]
fn parameter_sets() {
    let paper = DcqcnConfig::paper();
    assert_eq!(paper.reaction, CnpReaction::Immediate);
    assert_eq!(
        (paper.alpha_timer_ps, paper.increase_timer_ps),
        (55 * US, 55 * US)
    );
    assert_eq!(
        (paper.byte_counter, paper.fast_recovery),
        (Some(10_000_000), 5)
    );
    assert_eq!(PAPER_CNP_INTERVAL_PS, 50 * US);
    let vendor = DcqcnConfig::vendor(1e11);
    assert_eq!(vendor.reaction, CnpReaction::Sampled);
    assert_eq!((vendor.ai_bps, vendor.hai_bps, vendor.g), (20e6, 200e6, G));
    assert_eq!(DcqcnConfig::vendor(25e9).hai_bps, 50e6);
}

/// DCQCN-19: hours without a CNP cost little computation and end at line rate, also if increases
/// are off or the flow cannot reach line rate.
#[test]
fn a_long_silence_is_cheap() {
    const HOURS: u64 = u64::MAX / 2 / US;
    for mut flow in [paper(), vendor()] {
        flow.cnp(0);
        let line = flow.path.line_bps / 1e9;
        assert!(flow.gbps(HOURS) > line * (1.0 - 1e-12));
        assert_eq!(flow.alpha(HOURS), 0.0);
        flow.cnp(HOURS + 1);
        // α is at most g again, so a CNP cuts the rate by less than g.
        assert!(flow.gbps(HOURS + 9) > line * (1.0 - G));
        assert!(flow.alpha(HOURS + 2) > 0.0);
    }
    let mut flow = vendor();
    (flow.config.ai_bps, flow.config.hai_bps) = (0.0, 0.0);
    flow.cnp(0);
    flow.gbps(304);
    flow.cnp(304);
    let target = flow.gbps(304);
    close(flow.gbps(HOURS), target);
}

/// Reference model for the tests: DCQCN that computes every tick of every timer, one by one.
struct Eager {
    config: DcqcnConfig,
    line: f64,
    rate: f64,
    target: f64,
    alpha: f64,
    alpha_tick: Option<u64>,
    increase_tick: Option<u64>,
    decrease_tick: Option<u64>,
    no_cut_before: u64,
    bytes: u64,
    timer: u32,
    counter: u32,
    alpha_flag: bool,
    decrease_flag: bool,
}

impl Eager {
    fn new(config: DcqcnConfig, line: f64) -> Self {
        Self {
            config,
            line,
            rate: line,
            target: line,
            alpha: config.alpha_start,
            alpha_tick: None,
            increase_tick: None,
            decrease_tick: None,
            no_cut_before: 0,
            bytes: 0,
            timer: 0,
            counter: 0,
            alpha_flag: false,
            decrease_flag: false,
        }
    }

    /// Computes all ticks up to and including `end`, one by one.
    fn live(&mut self, end: u64) {
        loop {
            let order = [self.alpha_tick, self.increase_tick, self.decrease_tick];
            let Some(now) = order.into_iter().flatten().min().filter(|t| *t <= end) else {
                return;
            };
            if self.alpha_tick == Some(now) {
                self.alpha *= 1.0 - self.config.g;
                if std::mem::take(&mut self.alpha_flag) {
                    self.alpha += self.config.g;
                }
                self.alpha_tick = Some(now + self.config.alpha_timer_ps);
            } else if self.increase_tick == Some(now) {
                self.increase();
                self.timer += 1;
                self.increase_tick = Some(now + self.config.increase_timer_ps);
            } else {
                if std::mem::take(&mut self.decrease_flag) {
                    self.cut(now);
                }
                self.decrease_tick = Some(now + self.config.decrease_interval_ps);
            }
        }
    }

    fn increase(&mut self) {
        let f = self.config.fast_recovery;
        let counts = match self.config.byte_counter {
            Some(_) => [self.timer, self.counter],
            None => [self.timer, self.timer],
        };
        if counts.iter().all(|count| *count > f) {
            self.target += self.config.hai_bps;
        } else if counts.iter().any(|count| *count >= f) {
            self.target += self.config.ai_bps;
        }
        if self.target > self.line {
            self.target = self.line;
        }
        self.rate = (self.rate + self.target) / 2.0;
    }

    fn cut(&mut self, now: u64) {
        if self.config.clamp_target || self.timer + self.counter > 0 {
            self.target = self.rate;
        }
        self.rate *= 1.0 - self.alpha / 2.0;
        if self.rate < self.config.min_rate_bps {
            self.rate = self.config.min_rate_bps;
        }
        (self.timer, self.counter, self.bytes) = (0, 0, 0);
        self.increase_tick = Some(now + self.config.increase_timer_ps);
    }

    fn cnp(&mut self, now: u64) {
        self.live(now);
        if self.config.reaction == CnpReaction::Sampled {
            self.decrease_flag = true;
            if self.alpha_tick.is_none() {
                self.alpha_tick = Some(now + self.config.alpha_timer_ps);
                self.decrease_tick = Some(now + self.config.decrease_interval_ps);
            } else {
                self.alpha_flag = true;
            }
        } else if now >= self.no_cut_before {
            let raised = (1.0 - self.config.g) * self.alpha + self.config.g;
            if self.config.alpha_first {
                self.alpha = raised;
            }
            self.cut(now);
            self.alpha = raised;
            self.alpha_tick = Some(now + self.config.alpha_timer_ps);
            self.no_cut_before = now + self.config.decrease_interval_ps;
        }
    }

    fn send(&mut self, now: u64, bytes: u64) {
        self.live(now);
        let Some(period) = self.config.byte_counter else {
            return;
        };
        if self.increase_tick.is_some() {
            self.bytes += bytes;
            while self.bytes >= period {
                self.bytes -= period;
                self.increase();
                self.counter += 1;
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Cnp,
    Send(u64),
    Look,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        Just(Op::Cnp),
        (1u64..9_000).prop_map(Op::Send),
        Just(Op::Look)
    ]
}

/// Gaps between operations in µs: mostly short, so that ties are frequent, and sometimes long.
fn gap() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0u64..6, 2 => 0u64..100, 1 => 0u64..20_000]
}

fn config() -> impl Strategy<Value = DcqcnConfig> {
    let periods = (1u64..8, 1u64..40, 1u64..9);
    let rest = (
        any::<bool>(),
        prop::option::of(1_000u64..30_000),
        0u32..6,
        any::<bool>(),
    );
    let steps = (0.001f64..0.5, 0.0f64..1e9, 0.0f64..5e9);
    let starts = (0.0f64..=1.0, any::<bool>());
    (periods, rest, steps, starts).prop_map(|(periods, rest, steps, starts)| DcqcnConfig {
        reaction: if rest.0 {
            CnpReaction::Sampled
        } else {
            CnpReaction::Immediate
        },
        alpha_start: starts.0,
        alpha_first: starts.1,
        g: steps.0,
        alpha_timer_ps: periods.0 * US,
        increase_timer_ps: periods.1 * US,
        byte_counter: rest.1,
        fast_recovery: rest.2,
        ai_bps: steps.1,
        hai_bps: steps.2,
        min_rate_bps: 1e8,
        decrease_interval_ps: periods.2 * US,
        clamp_target: rest.3,
        window: Limit::Rate,
        ..DcqcnConfig::paper()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// DCQCN-18, DCQCN-19: computing ticks late gives bit-identical results to computing every tick
    /// on time. Reading the rate changes nothing.
    #[test]
    fn lazy_is_eager(config in config(), ops in prop::collection::vec((gap(), op()), 1..80)) {
        let mut lazy = Flow::new(config, 100.0);
        let mut silent = Flow::new(config, 100.0);
        let mut eager = Eager::new(config, 1e11);
        let mut us = 0;
        for (gap, op) in ops {
            us += gap;
            match op {
                Op::Cnp => {
                    lazy.cnp(us);
                    silent.cnp(us);
                    eager.cnp(us * US);
                }
                Op::Send(bytes) => {
                    lazy.send(us, bytes);
                    silent.send(us, bytes);
                    eager.send(us * US, bytes);
                }
                Op::Look => {
                    let rate = lazy.gbps(us) * 1e9;
                    eager.live(us * US);
                    let alpha = lazy.alpha(us);
                    prop_assert!((rate - eager.rate).abs() <= 1e-9 * eager.rate, "{} {}", rate, eager.rate);
                    prop_assert!((lazy.dcqcn.target_bps - eager.target).abs() <= 1e-9 * eager.target);
                    prop_assert!((alpha - eager.alpha).abs() <= 1e-9 * eager.alpha + 1e-290);
                    prop_assert!((1e8..=1e11).contains(&rate));
                    let window = lazy.dcqcn.window(&lazy.config, &lazy.path, us * US);
                    prop_assert!((1..=100_000).contains(&window));
                }
            }
        }
        prop_assert_eq!(lazy.gbps(us).to_bits(), silent.gbps(us).to_bits());
        prop_assert_eq!(lazy.alpha(us).to_bits(), silent.alpha(us).to_bits());
    }
}
