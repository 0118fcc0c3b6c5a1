//! Congestion controls as computed by the ns-3 simulator of HPCC. Rates are whole bits per second,
//! windows are computed from rates, products are rounded down, and times are in nanoseconds (rules
//! in `specs/ns3.md`).
//!
//! The controls of the papers are in `cc/`. The controls here differ in more than rounding: HPCC
//! and DCTCP adjust a rate instead of a window.

mod dcqcn;
mod dctcp;
mod hpcc;
mod hpcc_hops;
mod timely;

use crate::cc::{Ack, ControlConfig, Limit, PathInfo};
use crate::units::{NS, Time};
pub(crate) use dcqcn::Tick;

/// Congestion control state of one flow.
#[derive(Clone, Debug)]
pub(crate) struct Control {
    rate_bps: u64,
    scheme: Scheme,
}

#[derive(Clone, Debug)]
enum Scheme {
    /// No state: the rate is constant.
    None,
    Hpcc(Box<hpcc::Hpcc>),
    HpccHops(Box<hpcc_hops::HpccHops>),
    Dcqcn(dcqcn::Dcqcn),
    Timely(timely::Timely),
    Dctcp(dctcp::Dctcp),
}

impl Control {
    /// NS3-30: creates the state of a flow, which starts at line rate.
    pub fn new(config: &ControlConfig, path: &PathInfo) -> Self {
        Self {
            rate_bps: line_bps(path),
            scheme: match config {
                ControlConfig::Hpcc(c) if c.alpha.0.is_some() => {
                    Scheme::HpccHops(Box::new(hpcc_hops::HpccHops::new(path))) // FGC-33
                }
                ControlConfig::Hpcc(_) => Scheme::Hpcc(Box::new(hpcc::Hpcc::new(path))),
                ControlConfig::Dcqcn(_) => Scheme::Dcqcn(dcqcn::Dcqcn::new()),
                ControlConfig::Timely(_) => Scheme::Timely(timely::Timely::new()),
                ControlConfig::Dctcp(_) => Scheme::Dctcp(dctcp::Dctcp::new()),
                // Controls without state. A scenario with any other control is refused.
                _ => Scheme::None,
            },
        }
    }

    /// Returns the rate in bits per second.
    pub fn rate_bps(&self) -> u64 {
        self.rate_bps
    }

    /// Returns the maximum number of payload bytes in flight; `u64::MAX` without a limit.
    pub fn window(&self, config: &ControlConfig, path: &PathInfo) -> u64 {
        let bdp = path.bdp_bytes as u64;
        let scaled = || {
            // NS3-33: window = BDP · rate / line rate
            let window = u128::from(bdp) * u128::from(self.rate_bps) / u128::from(line_bps(path));
            (window as u64).max(1)
        };
        let limit = match config {
            ControlConfig::FixedWindow(c) => return c.window.unwrap_or(bdp).max(1),
            ControlConfig::Hpcc(_) => Limit::Rate,
            ControlConfig::Dctcp(c) if c.window => Limit::Rate,
            ControlConfig::Dcqcn(c) => c.window,
            ControlConfig::Timely(c) => c.window,
            _ => Limit::None,
        };
        match limit {
            Limit::None => u64::MAX,
            Limit::Bdp => bdp.max(1),
            Limit::Rate => scaled(),
        }
    }

    /// Handles an ACK. Returns true if the rate changed and the pacing time of the next packet must
    /// be recomputed (only HPCC does this).
    pub fn on_ack(&mut self, config: &ControlConfig, path: &PathInfo, ack: &Ack<'_>) -> bool {
        let rate = &mut self.rate_bps;
        match (&mut self.scheme, config) {
            (Scheme::Hpcc(x), ControlConfig::Hpcc(c)) => return x.on_ack(rate, c, path, ack),
            (Scheme::HpccHops(x), ControlConfig::Hpcc(c)) => {
                return x.on_ack(rate, c, path, ack);
            }
            (Scheme::Timely(x), ControlConfig::Timely(c)) => x.on_ack(rate, c, path, ack),
            (Scheme::Dctcp(x), ControlConfig::Dctcp(c)) => x.on_ack(rate, c, path, ack),
            _ => {}
        }
        false
    }

    /// Handles a CNP. Returns the timers to start, in order.
    pub fn on_cnp(&mut self, config: &ControlConfig, now: Time) -> [Option<(Time, Tick)>; 2] {
        match (&mut self.scheme, config) {
            (Scheme::Dcqcn(x), ControlConfig::Dcqcn(c)) => x.on_cnp(self.rate_bps, c, now),
            _ => [None, None],
        }
    }

    /// Handles the expiry of a timer. Returns the timers to start, in the order of scheduling.
    pub fn tick(
        &mut self,
        config: &ControlConfig,
        path: &PathInfo,
        now: Time,
        tick: Tick,
    ) -> [Option<(Time, Tick)>; 2] {
        match (&mut self.scheme, config) {
            (Scheme::Dcqcn(x), ControlConfig::Dcqcn(c)) => {
                x.tick(&mut self.rate_bps, c, path, now, tick)
            }
            _ => [None, None],
        }
    }
}

/// Returns the line rate in bits per second.
fn line_bps(path: &PathInfo) -> u64 {
    path.line_bps as u64
}

/// Returns a time in whole nanoseconds.
fn ns(ps: Time) -> u64 {
    ps / NS
}

/// Returns `rate · factor`, rounded down to whole bits per second.
// NS3-31
fn times(rate_bps: u64, factor: f64) -> u64 {
    (rate_bps as f64 * factor) as u64
}

/// NS3-34: returns the additive increase, given as a rate or as bytes per round trip.
fn increase_bps(as_rate: Option<f64>, bytes: f64, path: &PathInfo) -> u64 {
    as_rate.unwrap_or_else(|| path.rate_of_bytes(bytes)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Increase;
    use crate::cc::dcqcn::DcqcnConfig;
    use crate::cc::dctcp::DctcpConfig;
    use crate::cc::hpcc::HpccConfig;
    use crate::cc::timely::TimelyConfig;
    use crate::int::{IntHop, IntStack};
    use crate::sets::{DcqcnSets, DctcpSets, HpccSets, TimelySets};
    use crate::units::US;

    const PATH: PathInfo = PathInfo {
        base_rtt_ps: 8 * US,
        line_bps: 1e11,
        frame_bytes: 1048,
        hops: 1,
        bdp_bytes: 1e5,
        mtu: 1000,
        class: 0,
    };
    const LINE: u64 = 100_000_000_000;

    fn ack(seq: u64, snd_nxt: u64, marked: bool, rtt_ps: Time) -> Ack<'static> {
        Ack {
            seq,
            newly: 0,
            snd_nxt,
            marked,
            rtt_ps,
            remote_host_ps: 0,
            local_host_ps: 0,
            int: None,
            marks: 0,
        }
    }

    // NS3-30, NS3-33
    #[test]
    fn windows_follow_the_rate_in_whole_bytes_or_stay() {
        let mut config = DcqcnConfig {
            window: Limit::Rate,
            ..DcqcnConfig::vendor(1e11)
        };
        let mut control = Control::new(&ControlConfig::Dcqcn(config), &PATH);
        assert_eq!(control.rate_bps(), LINE);
        control.rate_bps = 33_333_333_333;
        let window = |c| control.window(&ControlConfig::Dcqcn(c), &PATH);
        assert_eq!(window(config), 33_333);
        config.window = Limit::Bdp;
        assert_eq!(window(config), 100_000);
        config.window = Limit::None;
        assert_eq!(window(config), u64::MAX);
    }

    // NS3-31, NS3-52, NS3-53, NS3-54, NS3-55
    #[test]
    fn dcqcn_ticks() {
        let config = ControlConfig::Dcqcn(DcqcnConfig {
            ..DcqcnConfig::vendor(1e11)
        });
        let mut control = Control::new(&config, &PATH);
        let first = control.on_cnp(&config, 0);
        let decrease_ps = 4 * US + NS;
        assert_eq!(
            first,
            [Some((US, Tick::Alpha)), Some((decrease_ps, Tick::Decrease))]
        );
        assert_eq!(
            control.on_cnp(&config, 10),
            [None, None],
            "clocks run already"
        );
        // α is updated at 1 µs with the second CNP. Then α decays three times.
        for nth in 1..=4 {
            let next = control.tick(&config, &PATH, nth * US, Tick::Alpha);
            assert_eq!(next, [Some(((nth + 1) * US, Tick::Alpha)), None]);
        }
        let next = control.tick(&config, &PATH, decrease_ps, Tick::Decrease);
        let increase_ps = decrease_ps + 300 * US;
        assert_eq!(next[1], Some((increase_ps, Tick::Increase)));
        // α = (255/256)³, so the rate is 10¹¹ · (1 - α/2) = 50 583 651 661.8…, rounded down.
        assert_eq!(control.rate_bps(), 50_583_651_661);
        let idle = control.tick(&config, &PATH, decrease_ps + 4 * US, Tick::Decrease);
        assert_eq!(idle[1], None, "no CNP, no reduction");
        let stale = control.tick(&config, &PATH, increase_ps - NS, Tick::Increase);
        assert_eq!(stale, [None, None], "called off");
        control.tick(&config, &PATH, increase_ps, Tick::Increase);
        // (rate + target) / 2, each half rounded down: 25 291 825 830 + 50 000 000 000.
        assert_eq!(control.rate_bps(), 75_291_825_830);
        control.tick(&config, &PATH, increase_ps + 300 * US, Tick::Increase);
        // Stage 1 = F, the end of fast recovery: the target increases by AI, up to the line rate.
        assert_eq!(control.rate_bps(), 37_645_912_915 + LINE / 2);
    }

    // NS3-56
    #[test]
    fn timely_steps() {
        let config = ControlConfig::Timely(TimelyConfig {
            min_rate_bps: 1e9,
            ..TimelyConfig::hpcc_comparison(1e11)
        });
        let mut control = Control::new(&config, &PATH);
        let mut rtt = |seq, snd_nxt, us: u64| {
            control.on_ack(&config, &PATH, &ack(seq, snd_nxt, false, us * US));
            control.rate_bps()
        };
        assert_eq!(rtt(1000, 10_000, 10), LINE, "only noted");
        assert_eq!(rtt(9000, 20_000, 90), LINE, "not beyond the mark");
        // The RTT increases by 50 µs: gradient 0.875 · 50 / 20. The rate is reduced by 0.8 ·
        // gradient, but not below the minimum rate.
        assert_eq!(rtt(11_000, 30_000, 60), 1_000_000_000);
        assert_eq!(rtt(31_000, 40_000, 40), 1_100_000_000, "below Tlow");
        assert_eq!(rtt(41_000, 41_000, 40), 1_200_000_000);
        // The RTT increases by 20 µs. Smoothed difference: 0.125 · (0.125 · (0.125 · 43.75 - 17.5)
        // + 0) + 17.5 = 17.31 µs, gradient 0.8656.
        assert_eq!(rtt(42_000, 50_000, 60), 1_000_000_000);
    }

    // NS3-57, NS3-34
    #[test]
    fn dctcp_batches() {
        let config = ControlConfig::Dctcp(DctcpConfig {
            ai_bps: Some(615e6),
            min_rate_bps: Some(1e9),
            ..DctcpConfig::line_rate_start()
        });
        let mut control = Control::new(&config, &PATH);
        let mut on = |seq, snd_nxt, marked| {
            control.on_ack(&config, &PATH, &ack(seq, snd_nxt, marked, 0));
            control.rate_bps()
        };
        assert_eq!(on(1000, 10_000, true), LINE / 2, "α is 1 at first");
        assert_eq!(
            on(2000, 11_000, true),
            LINE / 2,
            "once until 10 000 are acknowledged"
        );
        assert_eq!(on(11_000, 20_000, false), LINE / 2 + 615_000_000);
        // Two of eleven ACKs were marked: α = 15/16 + 1/16 · 2/11.
        let alpha = 15.0 / 16.0 + 2.0 / 11.0 / 16.0;
        let expected = (50_615_000_000.0 * (1.0 - alpha / 2.0)) as u64;
        assert_eq!(on(12_000, 21_000, true), expected);
    }

    fn stack(ts_ps: Time, tx_bytes: u64, qlen_bytes: u32) -> IntStack {
        let mut stack = IntStack::default();
        let hop = IntHop {
            ts_ps,
            tx_bytes,
            qlen_bytes,
            rate_mbps: 100_000,
        };
        stack.push(1, hop);
        stack
    }

    // NS3-50, NS3-51, NS3-34
    #[test]
    fn hpcc_adjusts_a_rate() {
        let config = ControlConfig::Hpcc(HpccConfig {
            max_stage: 0,
            wai: Increase::Rate(5e7),
            ..HpccConfig::paper(1e11)
        });
        let mut control = Control::new(&config, &PATH);
        let mut on = |seq, stack: &IntStack| {
            let ack = Ack {
                int: Some(stack.telemetry()),
                ..ack(seq, seq + 50_000, false, 0)
            };
            let set = control.on_ack(&config, &PATH, &ack);
            (set, control.rate_bps())
        };
        assert_eq!(on(1000, &stack(0, 0, 50_000)), (false, LINE), "only noted");
        // 6250 bytes in 1 µs are half of the link rate. The smaller of the two queue lengths is
        // 25 000 bytes, a quarter of the BDP. So the sample is 0.75. With weight 1/8, U = 0.96875,
        // and the rate is 10¹¹ / (U / 0.95) + AI.
        let rate = (1e11 / (0.968_75 / 0.95)) as u64 + 50_000_000;
        assert_eq!(rate, 98_114_516_129);
        assert_eq!(on(2000, &stack(US, 6250, 25_000)), (true, rate));
        // The same sample again: U falls below η. The reference rate is unchanged, because the ACK
        // does not pass byte 51 000. The computed rate is limited to the line rate.
        assert_eq!(on(3000, &stack(2 * US, 12_500, 25_000)), (true, LINE));
        // No bytes sent and no queue: no hop has a utilisation above 0, and U is unchanged.
        assert_eq!(on(4000, &stack(3 * US, 12_500, 0)), (true, LINE));
        // Utilisation 2 for a full T: half of the reference rate.
        let halved = (1e11 / (2.0 / 0.95)) as u64 + 50_000_000;
        assert_eq!(on(5000, &stack(11 * US, 212_500, 0)), (true, halved));
    }
}
