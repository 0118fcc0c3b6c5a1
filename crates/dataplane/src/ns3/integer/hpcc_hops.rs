//! HPCC with one rate for each hop of the path. The flow uses the lowest rate (`MULTI_RATE 1`).

use super::{hpcc, increase_bps, line_bps, ns};
use crate::cc::hpcc::{HpccConfig, Reaction};
use crate::cc::{Ack, PathInfo};
use crate::int::{IntHop, MAX_HOPS};

/// HPCC state for one hop of the path.
#[derive(Clone, Copy, Debug)]
struct Hop {
    /// INT record of this hop in the last ACK.
    last: IntHop,
    reference_bps: u64,
    /// Smoothed utilisation.
    utilisation: f64,
    stage: u32,
}

#[derive(Clone, Debug)]
pub(super) struct HpccHops {
    hops: [Hop; MAX_HOPS],
    /// Sequence number in bytes that an ACK must pass to change the reference rates; 0 before the
    /// first ACK.
    last_update_seq: u64,
}

impl HpccHops {
    pub fn new(path: &PathInfo) -> Self {
        let hop = Hop {
            last: IntHop::default(),
            reference_bps: line_bps(path),
            utilisation: 1.0,
            stage: 0,
        };
        Self {
            hops: [hop; MAX_HOPS],
            last_update_seq: 0,
        }
    }

    /// Handles an ACK. Returns true if the rate was set.
    // FGC-33
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
            for (hop, new) in self.hops.iter_mut().zip(stack.hops) {
                hop.last = *new;
            }
            return false;
        }
        let full = ack.seq > self.last_update_seq;
        if !full && config.reaction == Reaction::PerRtt {
            return false;
        }
        let (mut lowest, mut any) = (line_bps(path), false);
        for (hop, new) in self.hops.iter_mut().zip(stack.hops) {
            let skipped = config.sample_feedback && !full && new.qlen_bytes == 0;
            let rate = if skipped {
                hop.reference_bps
            } else {
                any = true;
                hop.measure(config, path, new);
                hop.adjust(config, path, full)
            };
            lowest = lowest.min(rate);
        }
        if any {
            *rate_bps = lowest;
        }
        if full {
            self.last_update_seq = self.last_update_seq.max(ack.snd_nxt);
        }
        any
    }
}

impl Hop {
    /// Updates the smoothed utilisation of this hop, as NS3-51 does for the most utilised hop.
    fn measure(&mut self, config: &HpccConfig, path: &PathInfo, new: &IntHop) {
        let base_ns = ns(path.base_rtt_ps) as f64;
        let found = hpcc::utilisation(config, path, &self.last, new);
        self.last = *new;
        if let Some((utilisation, elapsed_ns)) = found {
            let dt = if elapsed_ns < base_ns {
                elapsed_ns
            } else {
                base_ns
            };
            self.utilisation = (self.utilisation * (base_ns - dt) + utilisation * dt) / base_ns;
        }
    }

    /// Returns the rate of this hop, computed as in NS3-50. If `full` (once per round trip), this
    /// rate becomes the reference rate.
    fn adjust(&mut self, config: &HpccConfig, path: &PathInfo, full: bool) -> u64 {
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
        let rate = wanted.saturating_add(step).clamp(least, line);
        if full {
            self.reference_bps = rate;
            self.stage = if multiply { 0 } else { self.stage + 1 };
        }
        rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Increase;
    use crate::cc::hpcc::Fairness;
    use crate::int::IntStack;
    use crate::sets::HpccSets;
    use crate::units::{NS, US};

    const PATH: PathInfo = PathInfo {
        base_rtt_ps: 5 * US,
        line_bps: 100e9,
        bdp_bytes: 62_500.0,
        mtu: 1460,
        frame_bytes: 1048,
        hops: 1,
        class: 0,
    };

    fn config() -> HpccConfig {
        HpccConfig {
            alpha: Fairness(Some(f64::INFINITY)),
            wai: Increase::Rate(50e6),
            ..HpccConfig::paper(100e9)
        }
    }

    /// Returns INT records of two hops without queues, `at_ns` after the start. The first hop sends
    /// at 40 % of 400 Gbps. The second hop (100 Gbps) sends `second_per_us` bytes per microsecond.
    fn stack(at_ns: u64, second_per_us: u64) -> IntStack {
        let mut stack = IntStack::default();
        let hop = |bytes_per_us: u64, gbps: u32| IntHop {
            ts_ps: at_ns * NS,
            tx_bytes: bytes_per_us * at_ns / 1000,
            qlen_bytes: 0,
            rate_mbps: gbps * 1000,
        };
        stack.push(1, hop(20_000, 400));
        stack.push(2, hop(second_per_us, 100));
        stack
    }

    fn ack<'a>(stack: &'a IntStack, seq: u64, snd_nxt: u64) -> Ack<'a> {
        Ack {
            seq,
            newly: 0,
            snd_nxt,
            marked: false,
            rtt_ps: 0,
            remote_host_ps: 0,
            local_host_ps: 0,
            int: Some(stack.telemetry()),
            marks: 0,
        }
    }

    // FGC-33
    #[test]
    fn each_hop_has_a_rate_and_the_lowest_counts() {
        let (config, mut control, mut rate) = (config(), HpccHops::new(&PATH), 100_000_000_000);
        let first = stack(1000, 12_500);
        assert!(!control.on_ack(&mut rate, &config, &PATH, &ack(&first, 1460, 60_000)));
        // A whole base RTT later: utilisation 40 % at the first hop, 100 % at the second.
        let second = stack(6000, 12_500);
        assert!(control.on_ack(&mut rate, &config, &PATH, &ack(&second, 61_000, 120_000)));
        // 100 Gbps / (1 / 0.95) + 50 Mbps by the second hop. The first hop permits the line rate.
        assert_eq!(rate, 95_050_000_000);
        assert_eq!(control.hops[0].reference_bps, 100_000_000_000);
        assert_eq!(control.hops[0].stage, 1);
        assert_eq!(
            (control.hops[1].reference_bps, control.hops[1].stage),
            (rate, 0)
        );
        // Before the end of a round trip the reference rates do not change, but the rate does.
        let third = stack(11_000, 9_000);
        assert!(control.on_ack(&mut rate, &config, &PATH, &ack(&third, 62_000, 130_000)));
        assert_eq!(control.hops[1].reference_bps, 95_050_000_000);
        assert_eq!(rate, 95_100_000_000, "half used: one step more");
    }
}
