//! The controls as the ns-3 simulator of HPCC computes them: a rate in whole bits per second, from
//! which everything else follows, every product cut, times in nanoseconds (rules in `specs/ns3.md`).
//!
//! The papers' forms are one folder up. These differ in more than rounding: HPCC and DCTCP adjust
//! a rate in the place of a window.

mod dcqcn;
mod dctcp;
mod hpcc;
mod timely;

use crate::config::ControlConfig;
use crate::nic::control::{AckInfo, PathInfo};
use crate::units::{NS, Time};
pub(super) use dcqcn::Tick;

/// The state of one flow's control.
#[derive(Clone, Debug)]
pub(super) struct Control {
    rate_bps: u64,
    scheme: Scheme,
}

#[derive(Clone, Debug)]
enum Scheme {
    /// The rate stays what it is.
    None,
    Hpcc(Box<hpcc::Hpcc>),
    Dcqcn(dcqcn::Dcqcn),
    Timely(timely::Timely),
    Dctcp(dctcp::Dctcp),
}

impl Control {
    /// NS3-30: every flow starts at line rate.
    pub fn new(config: &ControlConfig, path: &PathInfo) -> Self {
        Self {
            rate_bps: line_bps(path),
            scheme: match config {
                // That simulator has no delay window, and scenarios refuse it.
                ControlConfig::LineRate
                | ControlConfig::FixedWindow { .. }
                | ControlConfig::DelayWindow(_) => Scheme::None,
                ControlConfig::Hpcc(_) => Scheme::Hpcc(Box::new(hpcc::Hpcc::new(path))),
                ControlConfig::Dcqcn(_) => Scheme::Dcqcn(dcqcn::Dcqcn::new()),
                ControlConfig::Timely(_) => Scheme::Timely(timely::Timely::new()),
                ControlConfig::Dctcp(_) => Scheme::Dctcp(dctcp::Dctcp::new()),
            },
        }
    }

    /// Bits per second.
    pub fn rate_bps(&self) -> u64 {
        self.rate_bps
    }

    /// Most payload bytes in flight; `u64::MAX`: no limit.
    pub fn window(&self, config: &ControlConfig, path: &PathInfo) -> u64 {
        let bdp = path.bdp_bytes as u64;
        let scaled = || {
            // NS3-33
            let window = u128::from(bdp) * u128::from(self.rate_bps) / u128::from(line_bps(path));
            (window as u64).max(1)
        };
        let (limited, fixed) = match config {
            ControlConfig::LineRate | ControlConfig::DelayWindow(_) => (false, false),
            ControlConfig::FixedWindow { window } => return window.unwrap_or(bdp).max(1),
            ControlConfig::Hpcc(_) => (true, false),
            ControlConfig::Dctcp(c) => (c.window, false),
            ControlConfig::Dcqcn(c) => (c.window, c.fixed_window),
            ControlConfig::Timely(c) => (c.window, c.fixed_window),
        };
        match (limited, fixed) {
            (false, _) => u64::MAX,
            (true, true) => bdp.max(1),
            (true, false) => scaled(),
        }
    }

    /// An acknowledgement came back. Says whether the scheme moves a start that is set already
    /// when it sets the rate, and has set it (only HPCC does).
    pub fn on_ack(&mut self, config: &ControlConfig, path: &PathInfo, ack: &AckInfo<'_>) -> bool {
        let rate = &mut self.rate_bps;
        match (&mut self.scheme, config) {
            (Scheme::Hpcc(x), ControlConfig::Hpcc(c)) => return x.on_ack(rate, c, path, ack),
            (Scheme::Timely(x), ControlConfig::Timely(c)) => x.on_ack(rate, c, path, ack),
            (Scheme::Dctcp(x), ControlConfig::Dctcp(c)) => x.on_ack(rate, c, path, ack),
            _ => {}
        }
        false
    }

    /// A congestion notification came back. Says which clocks it starts, in order.
    pub fn on_cnp(&mut self, config: &ControlConfig, now: Time) -> [Option<(Time, Tick)>; 2] {
        match (&mut self.scheme, config) {
            (Scheme::Dcqcn(x), ControlConfig::Dcqcn(c)) => x.on_cnp(self.rate_bps, c, now),
            _ => [None, None],
        }
    }

    /// A clock of the scheme ticks. Says which ticks come next, in the order of scheduling.
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

/// Line rate in bits per second.
fn line_bps(path: &PathInfo) -> u64 {
    path.line_bps as u64
}

/// A time in whole nanoseconds.
fn ns(ps: Time) -> u64 {
    ps / NS
}

/// `rate · factor`, cut to whole bits per second.
// NS3-31
fn times(rate_bps: u64, factor: f64) -> u64 {
    (rate_bps as f64 * factor) as u64
}

/// NS3-34: the additive increase, given as a rate or as bytes per round trip.
fn increase_bps(as_rate: Option<f64>, bytes: f64, path: &PathInfo) -> u64 {
    as_rate.unwrap_or_else(|| path.rate_of_bytes(bytes)) as u64
}
