//! The delay window of the BFC paper (App. A.1, Algorithm 1). It keeps the round trip near a target
//! far above the base round trip. So a flow does not have many more bytes in the network than it
//! needs.
//!
//! The rules are in `specs/bfc.md`.

use super::{Control, Feedback, PathInfo, floor_window};
use crate::param::{Conflict, Param};
use crate::scheme::Scheme;
use crate::units::Time;

crate::params! {
    /// Parameters of the delay window (`specs/bfc.md`, BFC-34).
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct DelayWindowConfig {
        /// Round trip that the window aims at, in base round trips.
        pub target: f64 = Param::number("target", 1.0, 1e6)
            .default("2.5", "PRE-55", "in base RTTs (BFC paper A.1)"),
        /// The window is at most what the line sends in the target round trip.
        pub capped: bool = Param::flag("capped")
            .default("true", "PRE-55", "at what the line sends in the target, our choice"),
    }
}

/// The window of one flow.
#[derive(Clone, Debug)]
pub struct DelayWindow {
    window_bytes: f64,
    target_ps: f64,
    most_bytes: f64,
}

impl Scheme for DelayWindow {
    const NAME: &'static str = "delay-window";
    const TITLE: &'static str = "the delay window";
    const ABOUT: &'static str =
        "A window that keeps the round trip near a target far above the base.";
    type Params = DelayWindowConfig;
    type Config = DelayWindowConfig;

    fn configure(config: DelayWindowConfig) -> Result<DelayWindowConfig, Conflict> {
        Ok(config)
    }
}

impl Control for DelayWindow {
    /// Creates a flow whose first window is one BDP.
    // BFC-34: parameters of the delay window
    fn new(config: &DelayWindowConfig, path: &PathInfo, _now: Time) -> Self {
        let target_ps = config.target * path.base_rtt_ps as f64;
        let most_bytes = if config.capped {
            (config.target * path.bdp_bytes).max(f64::from(path.mtu)) // BFC-46: cap of the window
        } else {
            f64::INFINITY
        };
        Self {
            window_bytes: path.initial_window_bytes(),
            target_ps,
            most_bytes,
        }
    }

    /// Updates the window by Algorithm 1 of the paper, once for each packet that this ACK is the
    /// first to acknowledge.
    // BFC-34: Algorithm 1
    #[inline]
    fn on_feedback(
        &mut self,
        _config: &DelayWindowConfig,
        path: &PathInfo,
        _now: Time,
        feedback: &Feedback<'_>,
    ) {
        let Feedback::Ack(ack) = feedback else {
            return;
        };
        if ack.rtt_ps == 0 {
            return;
        }
        // The paper counts the window in packets: each acknowledged packet adds (target − RTT) /
        // RTT packets.
        let change = (self.target_ps - ack.rtt_ps as f64) / ack.rtt_ps as f64;
        let window = self.window_bytes + change * ack.newly as f64;
        self.window_bytes = window.clamp(f64::from(path.mtu).min(self.most_bytes), self.most_bytes);
    }

    #[inline]
    fn rate_bps(&mut self, _config: &DelayWindowConfig, _path: &PathInfo, _now: Time) -> f64 {
        f64::INFINITY
    }

    #[inline]
    fn window(&mut self, _config: &DelayWindowConfig, _path: &PathInfo, _now: Time) -> u64 {
        floor_window(self.window_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Ack;
    use crate::sets::DELAY_WINDOW;
    use crate::units::US;

    const PATH: PathInfo = PathInfo {
        base_rtt_ps: 8 * US,
        line_bps: 1e11,
        bdp_bytes: 1e5,
        mtu: 1000,
        frame_bytes: 1048,
        hops: 1,
        class: 0,
    };

    fn ack(rtt_ps: u64, newly: u64) -> Feedback<'static> {
        Feedback::Ack(Ack {
            seq: 0,
            newly,
            snd_nxt: 0,
            marked: false,
            rtt_ps,
            remote_host_ps: 0,
            local_host_ps: 0,
            int: None,
            marks: 0,
        })
    }

    /// Acknowledges one window of packets at a constant RTT.
    fn round(w: &mut DelayWindow, rtt_ps: u64) {
        let config = DELAY_WINDOW;
        for _ in 0..w.window(&config, &PATH, 0) / 1000 {
            w.on_feedback(&config, &PATH, 0, &ack(rtt_ps, 1000));
        }
    }

    // BFC-34: after a round trip, window = old window · target / RTT
    #[test]
    fn in_a_round_trip_the_window_goes_to_window_times_target_over_rtt() {
        let config = DELAY_WINDOW;
        let mut w = DelayWindow::new(&config, &PATH, 0);
        assert_eq!(w.window(&config, &PATH, 0), 100_000, "one BDP at first");
        w.on_feedback(&config, &PATH, 0, &ack(20 * US, 1000));
        assert_eq!(
            w.window(&config, &PATH, 0),
            100_000,
            "at the target nothing changes"
        );
        round(&mut w, 40 * US);
        assert_eq!(w.window(&config, &PATH, 0), 50_000);
        round(&mut w, 10 * US);
        assert_eq!(w.window(&config, &PATH, 0), 100_000);
        // One ACK for four packets has the effect of four ACKs.
        let (mut one, mut four) = (w.clone(), w.clone());
        (0..4).for_each(|_| one.on_feedback(&config, &PATH, 0, &ack(40 * US, 1000)));
        four.on_feedback(&config, &PATH, 0, &ack(40 * US, 4000));
        assert_eq!(
            one.window(&config, &PATH, 0),
            four.window(&config, &PATH, 0)
        );
    }

    // BFC-46: bounds of the window
    #[test]
    fn the_window_stays_between_a_packet_and_what_the_line_sends_in_the_target() {
        let config = DELAY_WINDOW;
        let mut w = DelayWindow::new(&config, &PATH, 0);
        (0..1000).for_each(|_| w.on_feedback(&config, &PATH, 0, &ack(8 * US, 1000)));
        assert_eq!(w.window(&config, &PATH, 0), 250_000);
        (0..10_000).for_each(|_| w.on_feedback(&config, &PATH, 0, &ack(800 * US, 1000)));
        assert_eq!(w.window(&config, &PATH, 0), 1000);
        let free = DelayWindowConfig {
            capped: false,
            ..config
        };
        let mut w = DelayWindow::new(&free, &PATH, 0);
        (0..1000).for_each(|_| w.on_feedback(&free, &PATH, 0, &ack(8 * US, 1000)));
        assert_eq!(w.window(&free, &PATH, 0), 1_600_000);
    }
}
