//! Swift's sender. It has two windows: one keeps the delay in the network near its target, the
//! other the delay in hosts. The smaller window is used. Below one packet the flow is paced (rules
//! in `specs/swift.md`).

use super::{Ack, Control, Feedback, Loss, PathInfo};
use crate::param::{Conflict, InNetwork, Param};
use crate::properties::{Properties, Property};
use crate::scheme::Scheme;
use crate::units::{Time, US};

crate::params! {
    /// Swift's parameters (`specs/swift.md`).
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct SwiftConfig {
        /// Packets by which a window grows per round trip while the delay is below its target.
        pub ai: f64 = Param::number("ai", 1e-3, 1e3)
            .default("1.0", "PRE-204", "a packet per round trip (csg-htsim)"),
        /// Multiplicative decrease: window · `beta` · (delay − target) / delay is subtracted.
        pub beta: f64 = Param::number("beta", 0.0, 1.0).default("0.8", "PRE-204", "(csg-htsim)"),
        /// Largest relative decrease of a window in one step.
        pub max_mdf: f64 = Param::fraction("max_mdf", 0.01, 0.99)
            .default("0.5", "PRE-204", "(csg-htsim)"),
        /// Target of the delay in the network, without the terms for hops and flow scaling.
        pub base_target_ps: Time = Param::time("base_target", 1_000)
            .default("\"20us\"", "PRE-204", "(csg-htsim)")
            .in_network(InNetwork::Target { with_hosts: false }),
        /// Time that each switch on the path adds to the target of the network delay.
        pub hop_ps: Time = Param::time("hop", 0)
            .default("\"2us\"", "PRE-205", "a link of 1 us, there and back, our choice")
            .in_network(InNetwork::PerHop("base_target")),
        /// Largest time that flow scaling adds to the target of the network delay, for the smallest
        /// windows.
        pub fs_range_ps: Option<Time> = Param::time("fs_range", 1).or(&["off"])
            .default("\"100us\"", "PRE-204", "five base targets (csg-htsim)"),
        /// At or below this window in packets, flow scaling adds `fs_range`.
        pub fs_min_cwnd: f64 = Param::number("fs_min_cwnd", 1e-3, 1e6)
            .default("0.1", "PRE-204", "(csg-htsim)")
            .without("fs_range", &["off"], "`fs_range` is \"off\""),
        /// At or above this window in packets, flow scaling adds nothing.
        pub fs_max_cwnd: f64 = Param::number("fs_max_cwnd", 1e-3, 1e6)
            .default("100.0", "PRE-204", "(csg-htsim)")
            .without("fs_range", &["off"], "`fs_range` is \"off\""),
        /// Target of the delay in both hosts together.
        pub endpoint_target_ps: Time = Param::time("endpoint_target", 1_000)
            .default("\"100us\"", "PRE-205", "our choice").in_network(InNetwork::HostTarget),
        /// The first window in packets.
        pub initial_cwnd: Option<f64> = Param::number("initial_cwnd", 1e-6, 1e6).or(&["bdp"])
            .default("\"bdp\"", "PRE-205", "as the other controls, our choice"),
        /// The smallest window in packets. A flow with a window below 1 is paced.
        pub min_cwnd: f64 = Param::number("min_cwnd", 1e-6, 1e6)
            .default("0.01", "PRE-205", "our choice"),
        /// The largest window in packets.
        pub max_cwnd: Option<f64> = Param::number("max_cwnd", 1e-6, 1e6).or(&["target"])
            .default("\"target\"", "PRE-205", "what the line sends in the target, our choice"),
        /// Number of timeouts in a row that reset both windows to the smallest one.
        pub retransmit_reset: u32 = Param::count("retransmit_reset", 1, 1_000)
            .default("5", "PRE-204", "(csg-htsim)"),
    }
}

impl Default for SwiftConfig {
    fn default() -> Self {
        // SWIFT-40, SWIFT-41: values of the presets
        Self {
            ai: 1.0,
            beta: 0.8,
            max_mdf: 0.5,
            base_target_ps: 20 * US,
            hop_ps: 2 * US,
            fs_range_ps: Some(100 * US),
            fs_min_cwnd: 0.1,
            fs_max_cwnd: 100.0,
            endpoint_target_ps: 100 * US,
            initial_cwnd: None,
            min_cwnd: 0.01,
            max_cwnd: None,
            retransmit_reset: 5,
        }
    }
}

impl SwiftConfig {
    /// Returns the time in ps that flow scaling adds to the target of the network delay, for a
    /// window of `cwnd` packets: a/√cwnd + b, limited to the range 0 to `fs_range`.
    // SWIFT-14: flow scaling
    #[inline]
    fn scaling_ps(&self, cwnd: f64) -> f64 {
        let Some(range_ps) = self.fs_range_ps else {
            return 0.0;
        };
        let range_ps = range_ps as f64;
        let least = 1.0 / self.fs_max_cwnd.sqrt();
        let a = range_ps / (1.0 / self.fs_min_cwnd.sqrt() - least);
        (a * (1.0 / cwnd.sqrt() - least)).clamp(0.0, range_ps)
    }
}

/// One of Swift's two windows: for the delay in the network, or for the delay in hosts.
#[derive(Clone, Copy, Debug)]
struct Window {
    /// Window in packets; it can be a fraction.
    cwnd: f64,
    /// Time of the last decrease; `None` before the first.
    shrank_ps: Option<Time>,
}

impl Window {
    /// Updates the window after an ACK with a measured delay, in ps.
    fn on_delay(&mut self, config: &SwiftConfig, most: f64, ack: &Acked, delay: f64, target: f64) {
        let before = self.cwnd;
        if delay < target {
            self.cwnd += if self.cwnd >= 1.0 {
                config.ai * ack.packets / self.cwnd // SWIFT-05
            } else {
                config.ai * ack.packets // SWIFT-06
            };
        } else if self.may_shrink(ack.now, ack.rtt_ps) {
            let least = 1.0 - config.max_mdf;
            self.cwnd *= (1.0 - config.beta * (delay - target) / delay).max(least); // SWIFT-07
        }
        self.limit(config, most, ack.now, before);
    }

    /// Updates the window after a loss report.
    fn on_loss(&mut self, config: &SwiftConfig, most: f64, now: Time, rtt_ps: Time) {
        let before = self.cwnd;
        if self.may_shrink(now, rtt_ps) {
            self.cwnd *= 1.0 - config.max_mdf;
        }
        self.limit(config, most, now, before);
    }

    // SWIFT-08: at most one decrease per round trip
    fn may_shrink(&self, now: Time, rtt_ps: Time) -> bool {
        self.shrank_ps.is_none_or(|at| now - at >= rtt_ps)
    }

    fn limit(&mut self, config: &SwiftConfig, most: f64, now: Time, before: f64) {
        self.cwnd = self.cwnd.min(most).max(config.min_cwnd); // SWIFT-10: bounds
        if self.cwnd < before {
            self.shrank_ps = Some(now); // SWIFT-09: time of the last decrease
        }
    }
}

/// Fields of an ACK that both windows use.
struct Acked {
    now: Time,
    rtt_ps: Time,
    /// Packets that this ACK acknowledges for the first time.
    packets: f64,
}

/// State of one flow.
#[derive(Clone, Debug)]
pub struct Swift {
    fabric: Window,
    endpoint: Window,
    /// Round trip of the last ACK including host delays, in ps.
    rtt_ps: Time,
    /// Number of retransmission timeouts in a row.
    timeouts: u32,
}

impl Scheme for Swift {
    const NAME: &'static str = "swift";
    const TITLE: &'static str = "Swift";
    const ABOUT: &'static str = "Two windows, for the delays in the network and in hosts; below one packet flows are paced.";
    type Params = SwiftConfig;
    type Config = SwiftConfig;
    const PROVIDES: Properties = Properties::of(&[Property::ReadsHops]);

    fn configure(config: SwiftConfig) -> Result<SwiftConfig, Conflict> {
        if config.fs_range_ps.is_some() && config.fs_min_cwnd >= config.fs_max_cwnd {
            return Err(Conflict::new(
                &["fs_min_cwnd", "fs_max_cwnd"],
                "fs_min_cwnd is not below fs_max_cwnd",
                "flow scaling falls from the one window to the other",
            ));
        }
        if config.max_cwnd.is_some_and(|most| most < config.min_cwnd) {
            return Err(Conflict::new(
                &["min_cwnd", "max_cwnd"],
                "min_cwnd is above max_cwnd",
                "a window stays between the two",
            ));
        }
        Ok(config)
    }
}

impl Control for Swift {
    fn new(config: &SwiftConfig, path: &PathInfo, _now: Time) -> Self {
        let bdp = path.initial_window_bytes() / f64::from(path.mtu);
        let first = config.initial_cwnd.unwrap_or(bdp); // SWIFT-12: first window
        let window = Window {
            cwnd: first.min(most(config, path)).max(config.min_cwnd),
            shrank_ps: None,
        };
        Self {
            fabric: window,
            endpoint: window,
            rtt_ps: path.base_rtt_ps,
            timeouts: 0,
        }
    }

    fn on_feedback(
        &mut self,
        config: &SwiftConfig,
        path: &PathInfo,
        now: Time,
        feedback: &Feedback<'_>,
    ) {
        match feedback {
            Feedback::Ack(ack) => self.acknowledged(config, path, now, ack),
            Feedback::Loss(loss) => self.lost(config, path, now, loss),
            _ => {} // SWIFT-20: notices change nothing.
        }
    }

    #[inline]
    fn rate_bps(&mut self, _config: &SwiftConfig, path: &PathInfo, _now: Time) -> f64 {
        path.pace_bps(self.cwnd(), self.rtt_ps) // SWIFT-16, SWIFT-17: pacing
    }

    #[inline]
    fn window(&mut self, _config: &SwiftConfig, path: &PathInfo, _now: Time) -> u64 {
        path.whole_packets(self.cwnd()) // SWIFT-17: at least one packet
    }
}

impl Swift {
    fn acknowledged(&mut self, config: &SwiftConfig, path: &PathInfo, now: Time, ack: &Ack<'_>) {
        self.timeouts = 0; // SWIFT-18: reset by an ACK
        self.rtt_ps = ack.rtt_ps;
        let most = most(config, path);
        let acked = Acked {
            now,
            rtt_ps: ack.rtt_ps, // SWIFT-01, SWIFT-03: whole round trip
            packets: ack.newly as f64 / f64::from(path.mtu),
        };
        // SWIFT-02: network delay = round trip − host delays
        let endpoint_ps = ack.remote_host_ps + ack.local_host_ps;
        let fabric_ps = ack.rtt_ps.saturating_sub(endpoint_ps);
        let target_ps = fabric_target_ps(config, path, self.fabric.cwnd);
        self.fabric
            .on_delay(config, most, &acked, fabric_ps as f64, target_ps);
        let target_ps = config.endpoint_target_ps as f64; // SWIFT-15: target of the hosts
        self.endpoint
            .on_delay(config, most, &acked, endpoint_ps as f64, target_ps);
    }

    fn lost(&mut self, config: &SwiftConfig, path: &PathInfo, now: Time, loss: &Loss) {
        let most = most(config, path);
        self.timeouts = if loss.timeout { self.timeouts + 1 } else { 0 };
        if self.timeouts >= config.retransmit_reset.max(1) {
            // SWIFT-18: several timeouts in a row reset both windows
            for window in [&mut self.fabric, &mut self.endpoint] {
                let before = window.cwnd;
                window.cwnd = config.min_cwnd;
                window.limit(config, most, now, before);
            }
        } else {
            self.fabric.on_loss(config, most, now, self.rtt_ps); // SWIFT-18, SWIFT-19
        }
    }

    /// Returns the flow's window in packets: the smaller of the two windows.
    // SWIFT-04: two windows
    #[inline]
    #[must_use]
    pub fn cwnd(&self) -> f64 {
        self.fabric.cwnd.min(self.endpoint.cwnd)
    }
}

/// Returns the target of the network delay in ps without flow scaling.
fn unscaled_target_ps(config: &SwiftConfig, path: &PathInfo) -> f64 {
    (config.base_target_ps + u64::from(path.hops) * config.hop_ps) as f64
}

/// Returns the target of the network delay in ps.
// SWIFT-13: hops and flow scaling
fn fabric_target_ps(config: &SwiftConfig, path: &PathInfo, cwnd: f64) -> f64 {
    unscaled_target_ps(config, path) + config.scaling_ps(cwnd)
}

/// Returns the largest window in packets.
fn most(config: &SwiftConfig, path: &PathInfo) -> f64 {
    config.max_cwnd.unwrap_or_else(|| {
        // SWIFT-11: what the line sends in the unscaled target
        let bytes = path.line_bps * unscaled_target_ps(config, path) / 8e12;
        (bytes / f64::from(path.mtu)).max(1.0)
    })
}
