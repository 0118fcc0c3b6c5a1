//! DCTCP that controls a rate instead of a window.

use super::{increase_bps, line_bps, times};
use crate::cc::dctcp::DctcpConfig;
use crate::cc::{Ack, PathInfo};

#[derive(Clone, Debug)]
pub(super) struct Dctcp {
    alpha: f64,
    /// Number of marked ACKs in the current round trip (batch).
    marked: u64,
    /// Number of ACKs expected in the current round trip.
    batch: u64,
    last_update_seq: u64,
    /// If `reduced`: sequence number in bytes that an ACK must pass before the next rate reduction.
    reduced_until: u64,
    reduced: bool,
}

impl Dctcp {
    pub fn new() -> Self {
        Self {
            alpha: 1.0,
            marked: 0,
            batch: 0,
            last_update_seq: 0,
            reduced_until: 0,
            reduced: false,
        }
    }

    /// NS3-57: handles an ACK.
    pub fn on_ack(
        &mut self,
        rate_bps: &mut u64,
        config: &DctcpConfig,
        path: &PathInfo,
        ack: &Ack<'_>,
    ) {
        self.marked += u64::from(ack.marked);
        let new_batch = ack.seq > self.last_update_seq;
        if new_batch {
            self.end_batch(config, path, ack);
        }
        if self.reduced && ack.seq > self.reduced_until {
            self.reduced = false;
        }
        let line = line_bps(path);
        if ack.marked && !self.reduced {
            let least = match config.min_rate_bps {
                Some(bps) => bps as u64,
                None => increase_bps(None, f64::from(path.mtu), path),
            };
            *rate_bps = times(*rate_bps, 1.0 - self.alpha / 2.0).max(least.min(line));
            self.reduced = true;
            self.reduced_until = ack.snd_nxt;
        }
        if !self.reduced && new_batch {
            let step = increase_bps(config.ai_bps, f64::from(path.mtu), path);
            *rate_bps = (*rate_bps + step).min(line);
        }
    }

    fn end_batch(&mut self, config: &DctcpConfig, path: &PathInfo, ack: &Ack<'_>) {
        let packets = |bytes: u64| bytes / u64::from(path.mtu) + 1;
        if self.last_update_seq == 0 {
            self.batch = packets(ack.snd_nxt);
        } else {
            let share = (self.marked as f64 / self.batch as f64).min(1.0);
            self.alpha = (1.0 - config.g) * self.alpha + config.g * share;
            self.marked = 0;
            self.batch = packets(ack.snd_nxt.saturating_sub(ack.seq));
        }
        self.last_update_seq = ack.snd_nxt;
    }
}
