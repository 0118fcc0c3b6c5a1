//! DCQCN of the NIC vendor, with timers that expire as simulation events.
//!
//! `cc/dcqcn.rs` computes the effect of expired timers when its rate is queried. That is not exact
//! enough here: if a CNP arrives in the nanosecond in which a timer expires, the order of the two
//! events decides if the CNP counts. So each expiry is an event.

use super::{line_bps, times};
use crate::cc::PathInfo;
use crate::cc::dcqcn::DcqcnConfig;
use crate::units::{NEVER, NS, Time};

/// Timers of DCQCN for a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tick {
    /// Update of α, which rises if a CNP arrived and decays otherwise.
    Alpha,
    /// Rate reduction, if a CNP arrived since the last expiry.
    Decrease,
    /// Rate increase.
    Increase,
}

#[derive(Clone, Debug)]
pub(super) struct Dcqcn {
    target_bps: u64,
    alpha: f64,
    /// Number of rate increases since the last rate reduction.
    stage: u32,
    /// `alpha_cnp`, `decrease_cnp`: true if a CNP arrived since the last expiry of the timer for α,
    /// or of the timer for rate reductions.
    alpha_cnp: bool,
    decrease_cnp: bool,
    started: bool,
    /// Time of the next rate increase. Timers that expire at another time are cancelled.
    increase_at_ps: Time,
}

impl Dcqcn {
    pub fn new() -> Self {
        Self {
            target_bps: 0,
            alpha: 1.0,
            stage: 0,
            alpha_cnp: false,
            decrease_cnp: false,
            started: false,
            increase_at_ps: NEVER,
        }
    }

    /// NS3-52: handles a CNP. Returns the timers to start.
    pub fn on_cnp(
        &mut self,
        rate_bps: u64,
        config: &DcqcnConfig,
        now: Time,
    ) -> [Option<(Time, Tick)>; 2] {
        self.alpha_cnp = true;
        self.decrease_cnp = true;
        if self.started {
            return [None, None];
        }
        self.started = true;
        self.alpha_cnp = false;
        self.target_bps = rate_bps;
        // The reduction is one nanosecond later, so that α is updated first.
        [
            Some((now + config.alpha_timer_ps, Tick::Alpha)),
            Some((now + config.decrease_interval_ps + NS, Tick::Decrease)),
        ]
    }

    pub fn tick(
        &mut self,
        rate_bps: &mut u64,
        config: &DcqcnConfig,
        path: &PathInfo,
        now: Time,
        tick: Tick,
    ) -> [Option<(Time, Tick)>; 2] {
        match tick {
            Tick::Alpha => {
                // NS3-53: update of α
                let seen = if self.alpha_cnp { config.g } else { 0.0 };
                self.alpha = (1.0 - config.g) * self.alpha + seen;
                self.alpha_cnp = false;
                [Some((now + config.alpha_timer_ps, Tick::Alpha)), None]
            }
            Tick::Decrease => {
                let next = Some((now + config.decrease_interval_ps, Tick::Decrease));
                let rise = self.decrease(rate_bps, config, path, now);
                [next, rise.map(|at| (at, Tick::Increase))]
            }
            Tick::Increase if now != self.increase_at_ps => [None, None],
            Tick::Increase => {
                self.increase_at_ps = now + config.increase_timer_ps;
                self.increase(rate_bps, config, path);
                [Some((self.increase_at_ps, Tick::Increase)), None]
            }
        }
    }

    /// NS3-54: reduces the rate if a CNP arrived since the last expiry, and restarts the timer for
    /// rate increases.
    fn decrease(
        &mut self,
        rate_bps: &mut u64,
        config: &DcqcnConfig,
        path: &PathInfo,
        now: Time,
    ) -> Option<Time> {
        if !self.decrease_cnp {
            return None;
        }
        if config.clamp_target || self.stage != 0 {
            self.target_bps = *rate_bps;
        }
        let least = (config.min_rate_bps as u64).min(line_bps(path));
        *rate_bps = times(*rate_bps, 1.0 - self.alpha / 2.0).max(least);
        self.stage = 0;
        self.decrease_cnp = false;
        self.increase_at_ps = now + config.increase_timer_ps;
        Some(self.increase_at_ps)
    }

    /// NS3-55: increases the rate, and the target rate after the fast recovery.
    fn increase(&mut self, rate_bps: &mut u64, config: &DcqcnConfig, path: &PathInfo) {
        if self.stage >= config.fast_recovery {
            let step = if self.stage == config.fast_recovery {
                config.ai_bps
            } else {
                config.hai_bps
            };
            self.target_bps = (self.target_bps + step as u64).min(line_bps(path));
        }
        *rate_bps = *rate_bps / 2 + self.target_bps / 2;
        self.stage += 1;
    }
}
