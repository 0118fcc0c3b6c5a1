//! Bolt's sender (Arslan et al., NSDI 2023). Each ACK raises the window by the packets that
//! switches permitted in its packet's marks, and each notice of a switch lowers the window. Below
//! one packet the flow is paced. The rules are in `specs/bolt.md`.

use super::{Ack, Control, Feedback, PathInfo, Sent};
use crate::packet::{Notice, ramp};
use crate::param::{Conflict, Param};
use crate::properties::{Properties, Property};
use crate::scheme::Scheme;
use crate::units::Time;

crate::params! {
    /// Parameters of Bolt's sender.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct SenderConfig {
        /// Packets by which a window grows per round trip without permission from switches.
        pub ai: f64 = Param::number("ai", 0.0, 1e3)
            .default("1.0", "PRE-222", "a packet per round trip (authors' code)"),
        /// Share of the window that a loss removes. A notice removes the same share if the window is
        /// at most one packet.
        pub md: f64 = Param::fraction("md", 0.01, 0.99)
            .default("0.5", "PRE-222", "(authors' code)"),
        /// Queue length up to which a notice does not decrease the window.
        pub target_queue_bytes: u64 = Param::size("target_queue", 0, 1_000_000_000)
            .default("\"0B\"", "PRE-222", "an empty queue (authors' code)"),
        /// Smallest window; below one packet a flow is paced.
        pub min_window_bytes: u64 = Param::size("min_window", 1, 1_000_000)
            .default("\"15B\"", "PRE-222", "(authors' code)"),
        /// Largest window; one BDP is always permitted.
        pub max_window_bytes: u64 = Param::size("max_window", 1, 1_000_000_000)
            .default("\"373760B\"", "PRE-222", "256 packets of 1460 B (authors' code)"),
    }
}

impl Default for SenderConfig {
    fn default() -> Self {
        Self {
            ai: 1.0,
            md: 0.5,
            target_queue_bytes: 0,
            min_window_bytes: 15,
            max_window_bytes: 373_760,
        }
    }
}

/// State of one flow.
#[derive(Clone, Debug)]
pub struct Bolt {
    /// Window in bytes of payload.
    window: f64,
    /// Round trip of the last ACK in ps; 0 before the first.
    rtt_ps: Time,
    /// Time of the last decrease of the window; before the first one, the start of the flow.
    lowered_ps: Time,
    /// End of the packet that has the mark *additive* and is not acknowledged.
    additive: Option<u64>,
}

impl Scheme for Bolt {
    const NAME: &'static str = "bolt";
    const TITLE: &'static str = "Bolt";
    const ABOUT: &'static str =
        "Switches permit increases of a window by packets, and their notices decrease it.";
    type Params = SenderConfig;
    type Config = SenderConfig;
    const PROVIDES: Properties = Properties::of(&[Property::ReadsNotices]);

    fn configure(config: SenderConfig) -> Result<SenderConfig, Conflict> {
        if config.min_window_bytes > config.max_window_bytes {
            return Err(Conflict::new(
                &["min_window", "max_window"],
                "min_window is above max_window",
                "a window stays between the two",
            ));
        }
        Ok(config)
    }
}

impl Control for Bolt {
    // BOLT-10: a window of one BDP
    fn new(config: &SenderConfig, path: &PathInfo, now: Time) -> Self {
        let mut flow = Self {
            window: path.initial_window_bytes(),
            rtt_ps: 0,
            lowered_ps: now,
            additive: None,
        };
        flow.limit(config, path);
        flow
    }

    fn on_feedback(
        &mut self,
        config: &SenderConfig,
        path: &PathInfo,
        now: Time,
        feedback: &Feedback<'_>,
    ) {
        match feedback {
            Feedback::Ack(ack) => self.acknowledged(config, path, ack),
            Feedback::Notice(notice) => self.notified(config, path, now, notice),
            Feedback::Loss(_) => self.lost(config, now),
            Feedback::Cnp => {} // BOLT-21: marks of ECN change nothing
        }
        self.limit(config, path);
    }

    // BOLT-11, BOLT-12, BOLT-13: marks that let switches permit an increase of the window
    fn mark(&mut self, _config: &SenderConfig, _path: &PathInfo, _now: Time, sent: &Sent) -> u8 {
        let is_first = self.rtt_ps == 0;
        let is_last = sent.left <= (self.window as u64).max(sent.bytes);
        let mut marks = match (is_first, is_last) {
            (true, true) => ramp::FIRST | ramp::LAST,
            (true, false) => ramp::FIRST,
            (false, true) => ramp::LAST,
            (false, false) => ramp::INCREASE,
        };
        if self.additive.is_none() {
            self.additive = Some(sent.seq + sent.bytes);
            marks |= ramp::ADDITIVE;
        }
        marks
    }

    // BOLT-18: below one packet, paced by the last round trip
    #[inline]
    fn rate_bps(&mut self, _config: &SenderConfig, path: &PathInfo, _now: Time) -> f64 {
        let rtt_ps = match self.rtt_ps {
            0 => path.base_rtt_ps,
            measured => measured,
        };
        path.pace_bps(self.window / f64::from(path.mtu), rtt_ps)
    }

    // BOLT-19: the window permits whole packets only
    #[inline]
    fn window(&mut self, _config: &SenderConfig, path: &PathInfo, _now: Time) -> u64 {
        path.whole_packets(self.window / f64::from(path.mtu))
    }
}

impl Bolt {
    // BOLT-13, BOLT-14: the window grows by the marks that switches left on the packet
    fn acknowledged(&mut self, config: &SenderConfig, path: &PathInfo, ack: &Ack<'_>) {
        self.rtt_ps = ack.rtt_ps.max(1);
        if self.additive.is_some_and(|end| ack.seq >= end) {
            self.additive = None;
        }
        let mtu = f64::from(path.mtu);
        if ack.marks & ramp::ADDITIVE != 0 {
            self.window += config.ai * mtu;
        }
        if ack.marks & ramp::INCREASE != 0 {
            self.window += mtu;
        }
    }

    /// Lowers the window by one packet if the last decrease is long enough ago. With this interval
    /// all flows together drain the queue within the round trip of the notice.
    // BOLT-15, BOLT-16: at most one packet less per notice
    fn notified(&mut self, config: &SenderConfig, path: &PathInfo, now: Time, notice: &Notice) {
        let mtu = f64::from(path.mtu);
        if self.window <= mtu {
            self.window *= 1.0 - config.md;
            return;
        }
        let link_bps = f64::from(notice.rate_mbps) * 1e6;
        let queue_bytes = notice.drain_ps as f64 * link_bps / 8e12;
        let excess = queue_bytes - config.target_queue_bytes as f64;
        let packets = excess / f64::from(path.frame_bytes);
        let share = self.own_bps(path) / link_bps;
        let rtt_ps = now.saturating_sub(notice.sent_ps) as f64;
        if (now - self.lowered_ps) as f64 * packets * share >= rtt_ps {
            self.window -= mtu;
            self.lowered_ps = now;
        }
    }

    /// Returns the rate of the flow in bits per second: window / last round trip. Before the first
    /// ACK, this is the rate of the port.
    fn own_bps(&self, path: &PathInfo) -> f64 {
        match self.rtt_ps {
            0 => path.line_bps,
            rtt_ps => self.window * 8e12 / rtt_ps as f64,
        }
    }

    // BOLT-17: a loss lowers the window at most once per round trip
    fn lost(&mut self, config: &SenderConfig, now: Time) {
        if now - self.lowered_ps >= self.rtt_ps {
            self.window *= 1.0 - config.md;
            self.lowered_ps = now;
        }
    }

    // BOLT-20: one BDP is always permitted
    fn limit(&mut self, config: &SenderConfig, path: &PathInfo) {
        let most = (config.max_window_bytes as f64).max(path.initial_window_bytes());
        self.window = self.window.min(most).max(config.min_window_bytes as f64);
    }
}

#[cfg(test)]
mod tests;
