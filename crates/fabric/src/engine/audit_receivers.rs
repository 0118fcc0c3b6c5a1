//! The audit of receiver-driven transports. Each data packet that was sent has arrived complete,
//! has arrived or returned as a trimmed header, or was dropped. Each credit permitted a packet, was
//! wasted, or was dropped.

use dataplane::sink::DropCause;
use kernel::calendar::Calendar;

use super::Simulation;

impl<C: Calendar + Send> Simulation<C> {
    /// AUD-10: checks that every packet and credit of a receiver-driven transport is accounted for.
    /// Drops are not counted by kind of frame, so the check allows all drops for each kind.
    pub(super) fn audit_driven(&self, drained: bool) -> Vec<String> {
        let mut broken = Vec::new();
        if !self.owns_repair {
            return broken;
        }
        let counters = self.net.counters();
        let of = counters.driven;
        let limited = counters.drops[DropCause::CreditLimit as usize];
        let lost = counters.drops.iter().sum::<u64>() - limited;
        let mut compare = |what: &str, sent: u64, known: u64| {
            if known > sent || drained && known + lost < sent {
                broken.push(format!(
                    "{sent} {what}, of which {known} are accounted for, and {lost} frames were dropped"
                ));
            }
        };
        let nics = || self.net.each_nic().map(|(_, nic, _)| nic);
        let waiting: u64 = nics().map(|nic| nic.waiting_credits()).sum();
        let settled = of.credits_used + of.credits_wasted + of.credits_dropped;
        compare("credits were made", of.credits, settled + limited + waiting);
        let received: u64 = nics().map(|nic| nic.counters().received).sum();
        let arrived = received + of.headers + of.returned;
        compare("data packets were sent", counters.data_packets, arrived);
        compare(
            "data packets were trimmed",
            counters.trims,
            of.headers + of.returned,
        );
        broken
    }
}
