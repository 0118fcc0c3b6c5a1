//! HPCC that controls a rate instead of a window.

use super::{increase_bps, line_bps, ns};
use crate::cc::hpcc::{HpccConfig, Reaction};
use crate::cc::{Ack, PathInfo};
use crate::int::{IntHop, MAX_HOPS, Telemetry};

#[derive(Clone, Debug)]
pub(super) struct Hpcc {
    /// INT records of the last ACK, per hop.
    links: [IntHop; MAX_HOPS],
    /// Reference rate (Wc of the HPCC paper, as a rate).
    reference_bps: u64,
    /// Smoothed utilisation of the most utilised hop (U of the HPCC paper).
    utilisation: f64,
    stage: u32,
    /// Sequence number in bytes that an ACK must pass to change the reference rate; 0 before the
    /// first ACK.
    last_update_seq: u64,
}

impl Hpcc {
    pub fn new(path: &PathInfo) -> Self {
        Self {
            links: [IntHop::default(); MAX_HOPS],
            reference_bps: line_bps(path),
            utilisation: 1.0,
            stage: 0,
            last_update_seq: 0,
        }
    }

    /// NS3-50: handles an ACK. Returns true if the rate was set.
    pub fn on_ack(
        &mut self,
        rate_bps: &mut u64,
        config: &HpccConfig,
        path: &PathInfo,
        ack: &Ack<'_>,
    ) -> bool {
        let Some(stack) = ack.int else { return false };
        if self.last_update_seq == 0 {
            self.last_update_seq = ack.snd_nxt;
            let hops = stack.hops;
            self.links[..hops.len()].copy_from_slice(hops);
            return false;
        }
        let full = ack.seq > self.last_update_seq;
        if !full && config.reaction == Reaction::PerRtt {
            return false;
        }
        self.measure(config, path, stack, full);
        let line = line_bps(path);
        let step = increase_bps(config.wai.rate_bps(), config.additive_bytes(path), path);
        let over = self.utilisation / config.eta;
        let multiply = over >= 1.0 || self.stage >= config.max_stage;
        let wanted = if multiply {
            (self.reference_bps as f64 / over) as u64 // NS3-31: rounded down
        } else {
            self.reference_bps
        };
        let least = (config.min_rate_bps as u64).min(line);
        *rate_bps = wanted.saturating_add(step).clamp(least, line);
        if full {
            self.reference_bps = *rate_bps;
            self.stage = if multiply { 0 } else { self.stage + 1 };
            self.last_update_seq = self.last_update_seq.max(ack.snd_nxt);
        }
        true
    }

    /// NS3-51: updates the smoothed utilisation with the utilisation of the most utilised hop.
    fn measure(&mut self, config: &HpccConfig, path: &PathInfo, stack: Telemetry<'_>, full: bool) {
        let base_ns = ns(path.base_rtt_ps) as f64;
        let (mut most, mut most_ns) = (0.0, 0.0);
        for (last, new) in self.links.iter_mut().zip(stack.hops) {
            if config.sample_feedback && !full && new.qlen_bytes == 0 {
                continue;
            }
            let found = utilisation(config, path, last, new);
            *last = *new;
            if let Some((utilisation, elapsed_ns)) = found
                && utilisation > most
            {
                (most, most_ns) = (utilisation, elapsed_ns);
            }
        }
        let dt = if most_ns < base_ns { most_ns } else { base_ns };
        self.utilisation = (self.utilisation * (base_ns - dt) + most * dt) / base_ns;
    }
}

/// NS3-51: returns the utilisation of a hop and the time between its two INT records in ns, or
/// `None` if that time is 0.
pub(super) fn utilisation(
    config: &HpccConfig,
    path: &PathInfo,
    last: &IntHop,
    new: &IntHop,
) -> Option<(f64, f64)> {
    let (elapsed_ps, sent_bytes) = config.format.since(last, new);
    let elapsed_ns = ns(elapsed_ps);
    if elapsed_ns == 0 || new.rate_mbps == 0 {
        return None;
    }
    let queued = new.qlen_bytes.min(last.qlen_bytes);
    let rate = u64::from(new.rate_mbps) as f64 * 1e6;
    let tx_rate = (sent_bytes * 8) as f64 / (elapsed_ns as f64 * 1e-9);
    let waiting = f64::from(queued) * path.line_bps / rate / path.bdp_bytes;
    Some((tx_rate / rate + waiting, elapsed_ns as f64))
}
