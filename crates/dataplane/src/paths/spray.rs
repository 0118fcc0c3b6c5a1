//! Entropy values of the packets of one flow.

use std::collections::VecDeque;

use super::{Chosen, SprayConfig, Verdict};
use crate::units::Time;

/// Selects the entropy value of each packet, and stores the values of the packets that are not
/// acknowledged.
#[derive(Clone, Debug)]
pub(crate) struct Spray {
    policy: Chosen,
    config: SprayConfig,
    /// Hash of a packet with entropy value 0.
    base: u32,
    /// Entropy values of the packets from packet number `first` on.
    sent: VecDeque<u32>,
    first: u32,
}

impl Spray {
    /// Creates the state of a flow with this flow hash and this number of equal-cost paths.
    pub fn new(config: &SprayConfig, hash: u32, paths: u32) -> Self {
        Self {
            policy: Chosen::new(config, paths),
            config: *config,
            base: if config.has_labels() { 0 } else { hash },
            sent: VecDeque::new(),
            first: 0,
        }
    }

    /// Returns the hash that routes packet `psn`, which is sent now. All packets below
    /// `arrived_below` have arrived.
    // SPR-01, SPR-02
    pub fn next(
        &mut self,
        now: Time,
        psn: u32,
        arrived_below: u32,
        draw: &mut impl FnMut() -> u64,
    ) -> u32 {
        while self.first < arrived_below && self.sent.pop_front().is_some() {
            self.first += 1;
        }
        self.report(now, psn, Verdict::Lost);
        let entropy = self.policy.next(&self.config, now, draw);
        let at = psn.wrapping_sub(self.first) as usize;
        match self.sent.get_mut(at) {
            Some(before) => *before = entropy,
            None => {
                debug_assert!(at == self.sent.len(), "packet {psn} is not the next");
                self.sent.push_back(entropy);
            }
        }
        self.base ^ entropy
    }

    /// Processes a reply. `hash` is the hash of the packet that the reply acknowledges.
    // SPR-03
    pub fn returned(&mut self, now: Time, hash: u32, marked: bool) {
        let verdict = if marked {
            Verdict::Marked
        } else {
            Verdict::Clean
        };
        let entropy = hash ^ self.base;
        self.policy.feedback(&self.config, now, entropy, verdict);
    }

    /// Processes a timeout of packet `psn`.
    // SPR-04
    pub fn timed_out(&mut self, now: Time, psn: u32) {
        self.report(now, psn, Verdict::TimedOut);
    }

    /// Reports the outcome of packet `psn` to the policy, if the packet was sent.
    // SPR-04
    fn report(&mut self, now: Time, psn: u32, verdict: Verdict) {
        let at = psn.wrapping_sub(self.first) as usize;
        if let Some(&entropy) = self.sent.get(at) {
            self.policy.feedback(&self.config, now, entropy, verdict);
        }
    }
}
