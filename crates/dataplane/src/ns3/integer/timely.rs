//! TIMELY with integer rates in bits per second, and round trips in whole nanoseconds.

use super::{line_bps, ns, times};
use crate::cc::timely::TimelyConfig;
use crate::cc::{Ack, PathInfo};

#[derive(Clone, Debug)]
pub(super) struct Timely {
    last_rtt_ns: u64,
    rtt_diff_ns: f64,
    increases: u32,
    last_update_seq: u64,
}

impl Timely {
    pub fn new() -> Self {
        Self {
            last_rtt_ns: 0,
            rtt_diff_ns: 0.0,
            increases: 0,
            last_update_seq: 0,
        }
    }

    /// NS3-56: handles an ACK.
    pub fn on_ack(
        &mut self,
        rate_bps: &mut u64,
        config: &TimelyConfig,
        path: &PathInfo,
        ack: &Ack<'_>,
    ) {
        if ack.seq <= self.last_update_seq {
            return;
        }
        let rtt_ns = ns(ack.rtt_ps);
        if self.last_update_seq != 0 {
            self.update(rate_bps, config, path, rtt_ns);
        }
        // After go-back-N there may be no new data in flight. Then the old sequence number is kept.
        if ack.snd_nxt > self.last_update_seq {
            self.last_update_seq = ack.snd_nxt;
            self.last_rtt_ns = rtt_ns;
        }
    }

    fn update(&mut self, rate_bps: &mut u64, config: &TimelyConfig, path: &PathInfo, rtt_ns: u64) {
        let diff_ns = rtt_ns as f64 - self.last_rtt_ns as f64;
        self.rtt_diff_ns = (1.0 - config.alpha) * self.rtt_diff_ns + config.alpha * diff_ns;
        let gradient = self.rtt_diff_ns / ns(config.min_rtt_ps) as f64;
        let (low_ns, high_ns) = (ns(config.t_low_ps), ns(config.t_high_ps));
        let factor = if rtt_ns < low_ns {
            None
        } else if rtt_ns > high_ns {
            Some(1.0 - config.beta * (1.0 - high_ns as f64 / rtt_ns as f64))
        } else if gradient <= 0.0 {
            None
        } else {
            Some((1.0 - config.beta * gradient).max(0.0))
        };
        match factor {
            None => {
                let counts = config.hai_below_low || rtt_ns >= low_ns;
                let hyper = counts && self.increases >= config.hai_after;
                let step = if hyper { config.hai_bps } else { config.ai_bps };
                *rate_bps = (*rate_bps + step as u64).min(line_bps(path));
                self.increases += u32::from(counts);
            }
            Some(factor) => {
                let least = (config.min_rate_bps as u64).min(line_bps(path));
                *rate_bps = times(*rate_bps, factor).max(least);
                self.increases = 0;
            }
        }
    }
}
