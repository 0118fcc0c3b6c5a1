//! PowerTCP's sender: the window follows the power of the path's fullest link. Power is (arrival
//! rate) · (bytes queued and in flight). The rules are in `specs/powertcp.md`.
//!
//! The first half of this file is shared with θ-PowerTCP, which computes the power from round trips
//! (`theta_powertcp.rs`).

use super::{ADDITIVE_INCREASE, Control, Feedback, Increase, PathInfo, floor_window};
use crate::declaration::Around;
use crate::int::{IntFormat, IntHop, MAX_HOPS, Telemetry};
use crate::param::{Conflict, Param};
use crate::properties::{Properties, Property};
use crate::scheme::Scheme;
use crate::units::Time;

crate::params! {
    /// Parameters of PowerTCP and θ-PowerTCP (`specs/powertcp.md`).
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct PowerConfig {
        /// Weight of the new window in the average of old and new window.
        pub gamma: f64 = Param::fraction("gamma", 0.01, 1.0)
            .default("0.9", "PRE-206", "(PowerTCP paper 3.3)"),
        /// Additive increase: a size, what a rate sends in a base round trip, or BDP / number of
        /// flows.
        pub beta: Increase = Param::either("beta", ADDITIVE_INCREASE)
            .default("\"600Mbps\"", "PRE-207", "150 Mbps at 25 Gbps (authors' code of PowerTCP)"),
        /// Target power, relative to the power of a full link.
        pub eta: f64 = Param::fraction("eta", 0.5, 1.0)
            .default("1.0", "PRE-206", "the whole link (PowerTCP paper, Alg. 1)"),
        /// Lower bound of the measured current, relative to the rate of the link.
        pub floor: f64 = Param::fraction("floor", 0.0, 1.0)
            .default("0.5", "PRE-207", "(authors' code of PowerTCP)"),
        /// Lowest rate of a flow.
        pub min_rate_bps: f64 = Param::rate("min_rate")
            .default("\"100Mbps\"", "PRE-207", "(authors' code of PowerTCP)"),
    }
}

impl PowerConfig {
    /// Returns the values of the paper, with the increase and floor of the authors' code, for
    /// senders of `line_bps`.
    #[must_use]
    pub fn paper(line_bps: f64) -> Self {
        // POWER-30, POWER-31: the paper's and the authors' values
        Self {
            gamma: 0.9,
            beta: Increase::Rate(line_bps * 0.006),
            eta: 1.0,
            floor: 0.5,
            min_rate_bps: line_bps / 1000.0,
        }
    }
}

/// The power that an ACK reports, and the duration of the measurement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    pub power: f64,
    pub elapsed_ps: f64,
}

/// A window that is computed from the power.
#[derive(Clone, Copy, Debug)]
pub(super) struct PowerWindow {
    /// Window W in bytes.
    pub bytes: f64,
    /// Smoothed power Γ; 1 is a full link without queues.
    pub power: f64,
}

impl PowerWindow {
    /// Creates the window of a flow that starts at line rate.
    pub fn new(path: &PathInfo) -> Self {
        Self {
            bytes: path.initial_window_bytes(), // POWER-01
            power: 1.0,                         // POWER-04
        }
    }

    /// Averages the smoothed power with a measurement.
    // POWER-04: weight is the duration / base round trip
    pub fn smooth(&mut self, path: &PathInfo, measured: Measured) {
        let base_rtt_ps = path.base_rtt_ps.max(1) as f64;
        let weight = measured.elapsed_ps.min(base_rtt_ps) / base_rtt_ps;
        self.power = (1.0 - weight) * self.power + weight * measured.power;
    }

    /// Sets the window from a reference window and the smoothed power.
    pub fn update(&mut self, config: &PowerConfig, path: &PathInfo, reference_bytes: f64) {
        let share = config.eta * reference_bytes / self.power; // POWER-07
        let wanted = share + config.beta.bytes(path);
        let mixed = config.gamma * wanted + (1.0 - config.gamma) * self.bytes; // POWER-02
        let most = path.initial_window_bytes();
        let least = path.bytes_per_rtt(config.min_rate_bps).min(most);
        self.bytes = mixed.min(most).max(least); // POWER-05
    }
}

crate::words! {
    /// The reference window W', which is divided by the power.
    pub enum Reference {
        /// The window at the time when the acknowledged packet was sent.
        Packet = "packet",
        /// One window per round trip.
        RoundTrip = "round-trip",
    }
}

crate::params! {
    /// Parameters of PowerTCP.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct PowerTcpConfig {
        ..
        /// Parameters that θ-PowerTCP has too.
        pub power: PowerConfig,
        /// Reference window, which is divided by the power: the window at the time when the packet
        /// was sent, or one window per round trip.
        pub reference: Reference = Param::word("reference", Reference::WORDS)
            .default("\"packet\"", "PRE-206", "the window that the packet was sent under (PowerTCP paper, Alg. 1)"),
    } + {
        /// How switches write telemetry.
        pub format: IntFormat = IntFormat::Exact,
    }
}

impl PowerTcpConfig {
    /// Returns the values of the paper, with the increase and floor of the authors' code, for
    /// senders of `line_bps`; see [`PowerConfig::paper`].
    #[must_use]
    pub fn paper(line_bps: f64) -> Self {
        Self {
            power: PowerConfig::paper(line_bps),
            reference: Reference::Packet,
            format: IntFormat::Exact,
        }
    }
}

/// State of one flow.
#[derive(Clone, Debug)]
pub struct PowerTcp {
    window: PowerWindow,
    /// Reference window W' in bytes: the new window is about W' / power.
    reference_bytes: f64,
    /// An ACK beyond this byte is for a packet that was sent after the current round trip began.
    round_end: u64,
    /// Telemetry of the last ACK and past windows; `None` before the first telemetry.
    links: Option<Box<Links>>,
}

/// Telemetry of the last ACK for each link of the path, and past windows.
#[derive(Clone, Debug)]
struct Links {
    hops: [IntHop; MAX_HOPS],
    len: usize,
    path: u16,
    past: Past,
}

/// Past windows of a flow. One window is kept per 1/16 of a round trip. If the array is full, every
/// second window is deleted and the interval doubles.
#[derive(Clone, Debug)]
struct Past {
    /// For each window: the first byte that was sent under this window, and the window in bytes.
    windows: [(u64, f64); WINDOWS],
    len: usize,
    /// Minimum time between two kept windows, in ps.
    every_ps: Time,
    next_ps: Time,
}

/// Largest number of past windows that a flow keeps.
const WINDOWS: usize = 32;

impl Past {
    /// Creates the history of a flow that sent all packets so far under this window.
    fn new(path: &PathInfo, window_bytes: f64) -> Self {
        Self {
            windows: [(0, window_bytes); WINDOWS],
            len: 1,
            every_ps: path.base_rtt_ps / 16,
            next_ps: 0,
        }
    }

    /// Returns the window under which the packet that ends at byte `seq` was sent, and deletes
    /// older windows.
    // POWER-12: the window of the packet
    fn at(&mut self, seq: u64) -> f64 {
        let held = &self.windows[..self.len];
        let old = held.iter().take_while(|(from, _)| *from < seq).count();
        let forget = old.saturating_sub(1);
        self.windows.copy_within(forget..self.len, 0);
        self.len -= forget;
        self.windows[0].1
    }

    /// Keeps the window under which bytes from `seq` on are sent, if `every_ps` has passed since
    /// the last kept window.
    fn record(&mut self, now: Time, seq: u64, window_bytes: f64) {
        if now < self.next_ps {
            return;
        }
        if self.len == WINDOWS {
            for nth in 0..WINDOWS / 2 {
                self.windows[nth] = self.windows[2 * nth];
            }
            self.len = WINDOWS / 2;
            self.every_ps *= 2;
        }
        self.windows[self.len] = (seq, window_bytes);
        self.len += 1;
        self.next_ps = now + self.every_ps;
    }
}

impl Links {
    fn new(stack: Telemetry<'_>, past: Past) -> Self {
        let hops = stack.hops;
        let mut links = Self {
            hops: [IntHop::default(); MAX_HOPS],
            len: hops.len(),
            path: stack.path,
            past,
        };
        links.hops[..hops.len()].copy_from_slice(hops);
        links
    }

    /// Returns the measurement of the link with the greatest power since the last ACK. `None` if
    /// the ACK has no new measurement.
    fn measure(
        &mut self,
        config: &PowerTcpConfig,
        path: &PathInfo,
        stack: Telemetry<'_>,
    ) -> Option<Measured> {
        let new = stack.hops;
        if self.path != stack.path || self.len != new.len() {
            *self = Self::new(stack, self.past.clone());
            return None; // POWER-11: another path
        }
        let mut greatest: Option<Measured> = None;
        for (last, new) in self.hops.iter_mut().zip(new) {
            let Some(link) = power_of_link(config, path, last, new) else {
                continue;
            };
            *last = *new;
            if greatest.is_none_or(|most| link.power > most.power) {
                greatest = Some(link); // POWER-10
            }
        }
        greatest
    }
}

impl Scheme for PowerTcp {
    const NAME: &'static str = "powertcp";
    const TITLE: &'static str = "PowerTCP";
    const ABOUT: &'static str =
        "A window that follows the power of the path's fullest link, read from telemetry.";
    type Params = Self::Config;
    type Config = PowerTcpConfig;
    const PROVIDES: Properties = Properties::of(&[Property::ReadsInt]);

    fn configure(config: PowerTcpConfig) -> Result<PowerTcpConfig, Conflict> {
        Ok(config)
    }

    fn complete(config: PowerTcpConfig, around: &Around) -> PowerTcpConfig {
        PowerTcpConfig {
            format: around.telemetry,
            ..config
        }
    }
}

impl Control for PowerTcp {
    fn new(_config: &PowerTcpConfig, path: &PathInfo, _now: Time) -> Self {
        let window = PowerWindow::new(path);
        Self {
            window,
            reference_bytes: window.bytes,
            round_end: 0,
            links: None,
        }
    }

    fn on_feedback(
        &mut self,
        config: &PowerTcpConfig,
        path: &PathInfo,
        now: Time,
        feedback: &Feedback<'_>,
    ) {
        let Feedback::Ack(ack) = feedback else {
            return; // POWER-09: losses do not change the window.
        };
        let Some(stack) = ack.int.filter(|stack| !stack.hops.is_empty()) else {
            return;
        };
        let Some(links) = &mut self.links else {
            // POWER-11: the first telemetry is only recorded
            let past = Past::new(path, self.window.bytes);
            self.links = Some(Box::new(Links::new(stack, past)));
            self.round_end = ack.snd_nxt;
            return;
        };
        let Some(measured) = links.measure(config, path, stack) else {
            return;
        };
        self.window.smooth(path, measured);
        // POWER-12: reference window
        if config.reference == Reference::Packet {
            self.reference_bytes = links.past.at(ack.seq);
        }
        self.window
            .update(&config.power, path, self.reference_bytes);
        links.past.record(now, ack.snd_nxt, self.window.bytes);
        if ack.seq > self.round_end {
            self.round_end = ack.snd_nxt;
            if config.reference == Reference::RoundTrip {
                self.reference_bytes = self.window.bytes;
            }
        }
    }

    #[inline]
    fn rate_bps(&mut self, _config: &PowerTcpConfig, path: &PathInfo, _now: Time) -> f64 {
        path.rate_of_window(self.window.bytes) // POWER-03
    }

    #[inline]
    fn window(&mut self, _config: &PowerTcpConfig, _path: &PathInfo, _now: Time) -> u64 {
        floor_window(self.window.bytes)
    }
}

/// Returns the power Γ of one link between two ACKs. `None` if the newer ACK has no new
/// measurement.
// POWER-10: current · voltage
fn power_of_link(
    config: &PowerTcpConfig,
    path: &PathInfo,
    last: &IntHop,
    new: &IntHop,
) -> Option<Measured> {
    let (elapsed_ps, sent_bytes) = config.format.since(last, new);
    if elapsed_ps == 0 || new.rate_mbps == 0 {
        return None; // POWER-11: stamp not later
    }
    let elapsed_ps = elapsed_ps as f64;
    let bytes_per_ps = f64::from(new.rate_mbps) * 1.25e-7;
    let grown_bytes = f64::from(new.qlen_bytes) - f64::from(last.qlen_bytes);
    let arrived_bytes = sent_bytes as f64 + grown_bytes;
    let current = (arrived_bytes / elapsed_ps / bytes_per_ps).max(config.power.floor); // POWER-08
    let held_bytes = bytes_per_ps * path.base_rtt_ps.max(1) as f64;
    let voltage = f64::from(new.qlen_bytes) / held_bytes + 1.0;
    Some(Measured {
        power: current * voltage,
        elapsed_ps,
    })
}

#[cfg(test)]
mod tests;
