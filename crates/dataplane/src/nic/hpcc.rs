//! HPCC's sender: Algorithm 1 of the paper (rules in `specs/hpcc.md`).
//!
//! A sender keeps the telemetry of its last ACK. Each ACK gives, per link, the bytes in flight as
//! a share of what the link can hold at full use; the fullest link says by how much the window
//! must shrink or may grow. The window is computed from a reference that changes only once per
//! round trip, so that two ACKs which saw the same queue do not both count.

use crate::config::HpccConfig;
use crate::int::{IntHop, IntStack, MAX_HOPS};
use crate::nic::control::{AckInfo, PathInfo, floor_window};

/// State of one flow.
#[derive(Clone, Debug)]
pub struct Hpcc {
    /// Telemetry of the last ACK (L in the paper).
    links: [IntHop; MAX_HOPS],
    /// Links recorded; 0: none yet.
    hops: u8,
    /// pathID of the record.
    path: u16,
    /// AI steps since the last multiplicative one.
    inc_stage: u32,
    /// An ACK beyond this byte belongs to a packet sent after the last change of the reference.
    last_update_seq: u64,
    /// U: smoothed bytes in flight over B·T on the fullest link.
    utilisation: f64,
    /// W^c, bytes.
    reference_bytes: f64,
    /// W, bytes.
    window_bytes: f64,
    /// R, bits per second.
    rate_bps: f64,
}

impl Hpcc {
    /// A flow that starts at line rate.
    #[must_use]
    pub fn new(_config: &HpccConfig, path: &PathInfo) -> Self {
        let initial_bytes = path.initial_window_bytes(); // HPCC-05
        Self {
            links: [IntHop::default(); MAX_HOPS],
            hops: 0,
            path: 0,
            inc_stage: 0,
            last_update_seq: 0,
            utilisation: 1.0, // HPCC-15
            reference_bytes: initial_bytes,
            window_bytes: initial_bytes,
            rate_bps: path.line_bps,
        }
    }

    /// Procedure NewAck.
    pub fn on_ack(&mut self, config: &HpccConfig, path: &PathInfo, ack: &AckInfo<'_>) {
        let Some(stack) = ack.int.filter(|stack| !stack.hops().is_empty()) else {
            return; // HPCC-04
        };
        if self.hops == 0 {
            // HPCC-09
            self.last_update_seq = ack.snd_nxt;
            self.record(stack);
        } else if self.path != stack.path() || usize::from(self.hops) != stack.hops().len() {
            self.record(stack); // HPCC-10
        } else if self.measure(config, path, stack) {
            self.adjust(config, path, ack);
        }
    }

    /// Pacing rate in bits per second.
    #[inline]
    #[must_use]
    pub fn rate_bps(&self) -> f64 {
        self.rate_bps
    }

    /// Most bytes in flight.
    #[inline]
    #[must_use]
    pub fn window(&self) -> u64 {
        floor_window(self.window_bytes) // HPCC-06
    }

    /// U, the smoothed bytes in flight over B·T on the path's fullest link.
    #[must_use]
    pub fn utilisation(&self) -> f64 {
        self.utilisation
    }

    /// W^c, the reference window in bytes.
    #[must_use]
    pub fn reference_bytes(&self) -> f64 {
        self.reference_bytes
    }

    fn record(&mut self, stack: &IntStack) {
        let hops = stack.hops();
        self.links[..hops.len()].copy_from_slice(hops);
        self.hops = hops.len() as u8;
        self.path = stack.path();
    }

    /// Function MeasureInflight; records the links on the way. False if the ACK says nothing new.
    fn measure(&mut self, config: &HpccConfig, path: &PathInfo, stack: &IntStack) -> bool {
        let base_rtt_ps = path.base_rtt_ps.max(1) as f64; // HPCC-08
        let mut fullest: Option<(f64, f64)> = None;
        for (last, new) in self.links.iter_mut().zip(stack.hops()) {
            let (elapsed_ps, sent_bytes) = config.telemetry.since(last, new);
            if elapsed_ps == 0 || new.rate_mbps == 0 {
                continue; // HPCC-20
            }
            let elapsed_ps = elapsed_ps as f64;
            let bytes_per_ps = f64::from(new.rate_mbps) * 1.25e-7;
            let tx_rate = sent_bytes as f64 / elapsed_ps; // HPCC-11
            let queued = f64::from(new.qlen_bytes.min(last.qlen_bytes));
            let in_flight = (queued / base_rtt_ps + tx_rate) / bytes_per_ps; // HPCC-12
            if fullest.is_none_or(|(most, _)| in_flight > most) {
                fullest = Some((in_flight, elapsed_ps)); // HPCC-13
            }
            *last = *new; // HPCC-19
        }
        let Some((in_flight, elapsed_ps)) = fullest else {
            return false;
        };
        let weight = elapsed_ps.min(base_rtt_ps) / base_rtt_ps; // HPCC-14
        self.utilisation = (1.0 - weight) * self.utilisation + weight * in_flight; // HPCC-15
        true
    }

    /// Function ComputeWind, and what NewAck does with its result.
    fn adjust(&mut self, config: &HpccConfig, path: &PathInfo, ack: &AckInfo<'_>) {
        let wai_bytes = match config.ai_bps {
            Some(bps) => path.bytes_per_rtt(bps), // NS3-34
            None => config.wai_bytes,
        };
        let multiply = self.utilisation >= config.eta || self.inc_stage >= config.max_stage;
        let wanted = if multiply {
            self.reference_bytes / (self.utilisation / config.eta) + wai_bytes // HPCC-16
        } else {
            self.reference_bytes + wai_bytes // HPCC-17
        };
        let most = path.initial_window_bytes();
        let least = path.bytes_per_rtt(config.min_rate_bps).min(most);
        self.window_bytes = wanted.max(least).min(most); // HPCC-21
        self.rate_bps = path.rate_of_window(self.window_bytes); // HPCC-07
        if ack.seq > self.last_update_seq {
            // HPCC-18
            self.inc_stage = if multiply { 0 } else { self.inc_stage + 1 };
            self.reference_bytes = self.window_bytes;
            self.last_update_seq = ack.snd_nxt;
        }
    }
}
