//! `control = "delay-aimd"`: a window that grows while the queueing delay is below a target, and
//! shrinks above it.
//!
//! The queueing delay is the round trip that an ACK measures, minus the base round trip. Below the
//! target the window grows by `step` per round trip. Above the target it shrinks to `keep` of its
//! size, at most once per round trip.

use dataplane::cc::{Control, Feedback, PathInfo, floor_window};
use dataplane::param::{Conflict, Param};
use dataplane::params;
use dataplane::scheme::Scheme;
use dataplane::units::{NS, Time};

params! {
    /// The parameters, the same for all flows.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// Time in queues above which the window shrinks.
        target_ps: Time = Param::time("target", NS).needed("\"4us\""),
        /// Bytes by which the window grows in a round trip.
        step_bytes: u64 = Param::size("step", 1, 1_000_000).default("\"1000B\"", "", "one packet"),
        /// Part of the window that a decrease keeps.
        keep: f64 = Param::fraction("keep", 0.01, 0.99).default("0.7", "", "an example"),
    }
}

/// State of one flow. It is small because a network may have a hundred thousand flows.
#[derive(Debug)]
pub struct DelayAimd {
    window_bytes: f64,
    /// The window does not shrink before this time.
    shrinks_from_ps: Time,
}

/// Declaration of the scheme. The table `[scheme.delay-aimd]`, its checks and its documentation are
/// generated from the parameters.
impl Scheme for DelayAimd {
    const NAME: &'static str = "delay-aimd";
    const TITLE: &'static str = "Delay AIMD";
    const ABOUT: &'static str = "A window follows the time that packets spend in queues.";
    type Params = Config;
    type Config = Config;

    fn configure(params: Config) -> Result<Config, Conflict> {
        Ok(params)
    }
}

/// The functions that the NIC calls.
impl Control for DelayAimd {
    /// Creates the state of a flow. Its first window is one bandwidth-delay product.
    fn new(_config: &Config, path: &PathInfo, _now: Time) -> Self {
        Self {
            window_bytes: path.initial_window_bytes(),
            shrinks_from_ps: 0,
        }
    }

    fn on_feedback(
        &mut self,
        config: &Config,
        path: &PathInfo,
        now: Time,
        feedback: &Feedback<'_>,
    ) {
        // Other kinds of feedback (losses, CNPs, notices) do not concern this scheme.
        let Feedback::Ack(ack) = feedback else {
            return;
        };
        let in_queues_ps = ack.rtt_ps.saturating_sub(path.base_rtt_ps);
        if in_queues_ps < config.target_ps {
            // All ACKs of a round trip together add one step.
            let part = ack.newly as f64 / self.window_bytes;
            self.window_bytes += config.step_bytes as f64 * part;
        } else if now >= self.shrinks_from_ps {
            self.window_bytes *= config.keep;
            self.shrinks_from_ps = now + ack.rtt_ps;
        }
        self.window_bytes = self.window_bytes.clamp(f64::from(path.mtu), path.bdp_bytes);
    }

    /// Packets are sent at the rate of the port. Only the window limits the flow.
    fn rate_bps(&mut self, _config: &Config, _path: &PathInfo, _now: Time) -> f64 {
        f64::INFINITY
    }

    fn window(&mut self, _config: &Config, _path: &PathInfo, _now: Time) -> u64 {
        floor_window(self.window_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dataplane::cc::Ack;
    use dataplane::units::US;

    #[test]
    fn the_window_follows_the_time_in_queues() {
        let config = Config {
            target_ps: 4 * US,
            step_bytes: 1_000,
            keep: 0.5,
        };
        let path = PathInfo {
            base_rtt_ps: 4 * US,
            bdp_bytes: 50_000.0,
            mtu: 1_000,
            ..PathInfo::default()
        };
        let mut flow = DelayAimd::new(&config, &path, 0);
        let mut window_after = |now, rtt_ps, newly| {
            let ack = Ack {
                seq: 0,
                newly,
                snd_nxt: 0,
                marked: false,
                rtt_ps,
                remote_host_ps: 0,
                local_host_ps: 0,
                int: None,
                marks: 0,
            };
            flow.on_feedback(&config, &path, now, &Feedback::Ack(ack));
            flow.window(&config, &path, now)
        };
        assert_eq!(window_after(0, 9 * US, 1_000), 25_000, "half of 50,000");
        assert_eq!(
            window_after(8 * US, 9 * US, 1_000),
            25_000,
            "once per round trip"
        );
        assert_eq!(window_after(9 * US, 9 * US, 1_000), 12_500);
        assert_eq!(
            window_after(20 * US, 5 * US, 12_500),
            13_500,
            "a window of ACKs adds a step"
        );
    }
}
