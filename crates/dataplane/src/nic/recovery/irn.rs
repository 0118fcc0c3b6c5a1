//! IRN, the sender's half: which packets have arrived beyond a gap, which are lost, which of those
//! have been sent again.

use super::numbers::Numbers;
use super::{News, Progress, Reply};
use crate::cc::PathInfo;
use crate::config::{IrnConfig, IrnWindow};
use crate::units::{NEVER, Time};

/// Payload bytes that may be in flight, whatever the control says.
// REC-15
#[inline]
pub(super) fn cap(config: &IrnConfig, path: &PathInfo) -> u64 {
    match config.window {
        IrnWindow::Bdp => path.initial_window_bytes() as u64,
        IrnWindow::Bytes(bytes) => bytes,
        IrnWindow::Off => u64::MAX,
    }
}

/// State of one flow.
#[derive(Clone, Debug)]
pub(crate) struct Irn {
    /// Packets that have arrived beyond the first gap.
    sacked: Numbers,
    /// One above the highest number that ever arrived beyond a gap.
    top: u32,
    lost_after: u32,
    /// In recovery while something below this is not acknowledged.
    until: u32,
    /// Since the last timeout all lost packets below this have been sent again.
    looked: u32,
    /// A timeout requests the first unacknowledged packet.
    head: bool,
    /// When the packet that a timeout requested was sent; [`NEVER`]: none is on its way.
    probe_ps: Time,
    /// First number that had not been sent at the last timeout.
    probed: u32,
    /// What is below and has not arrived is lost: an answered probe has overtaken it.
    overtaken: u32,
}

impl Irn {
    pub fn new(config: &IrnConfig) -> Self {
        Self {
            sacked: Numbers::default(),
            top: 0,
            lost_after: config.lost_after.max(1),
            until: 0,
            looked: 0,
            head: false,
            probe_ps: NEVER,
            probed: 0,
            overtaken: 0,
        }
    }

    /// The next packet that is lost and has not been sent again.
    pub fn lost(&self, acked: u32) -> Option<u32> {
        if self.head {
            return Some(acked); // REC-17
        }
        // REC-13, REC-18
        let limit = self.top.saturating_sub(self.lost_after).max(self.overtaken);
        let from = self.looked.max(acked);
        if from >= limit {
            return None;
        }
        Some(self.sacked.first_absent(from)).filter(|&psn| psn < limit)
    }

    pub fn sent_again(&mut self, now: Time, psn: u32) {
        self.looked = psn + 1; // REC-14
        if self.head {
            self.head = false;
            self.probe_ps = now;
        }
    }

    pub fn replied(&mut self, at: &Progress, reply: &Reply) -> News {
        let known = u64::from(self.sacked.forget_below(at.acked)) * u64::from(at.mtu);
        let mut newly = reply.newly.saturating_sub(known);
        // REC-11
        if let Some(psn) = reply.beyond_gap.filter(|&psn| psn >= at.acked)
            && self.sacked.insert(psn)
        {
            debug_assert!(psn < at.next, "packet {psn} was not sent"); // REC-11
            self.top = self.top.max(psn + 1);
            newly += u64::from(at.mtu);
        }
        // REC-18
        if reply.sent_ps >= self.probe_ps {
            self.probe_ps = NEVER;
            self.overtaken = self.probed;
        }
        // REC-12
        let loss = at.acked >= self.until && self.lost(at.acked).is_some();
        if loss {
            self.until = at.next;
        }
        News { newly, loss }
    }

    // REC-17
    pub fn timed_out(&mut self, at: &Progress) {
        self.head = true;
        self.looked = at.acked;
        self.until = at.next;
        self.probed = at.next;
        self.probe_ps = NEVER;
    }
}
