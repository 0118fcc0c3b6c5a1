//! Ideal retransmission, the sender's half: it is told of each packet that was dropped, so it knows
//! exactly what is missing and repeats nothing else.

use std::collections::VecDeque;

/// What is known to be lost and not sent again yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ideal {
    /// Number and payload of each, in the order of the news.
    lost: VecDeque<(u32, u64)>,
    bytes: u64,
}

impl Ideal {
    // REC-30
    pub fn told(&mut self, psn: u32, payload: u64) {
        self.lost.push_back((psn, payload));
        self.bytes += payload;
    }

    pub fn lost(&self) -> Option<u32> {
        self.lost.front().map(|&(psn, _)| psn)
    }

    pub fn sent_again(&mut self) {
        if let Some((_, payload)) = self.lost.pop_front() {
            debug_assert!(self.bytes >= payload, "lost bytes");
            self.bytes -= payload;
        }
    }

    /// REC-32: what is lost is not in flight.
    pub const fn lost_bytes(&self) -> u64 {
        self.bytes
    }
}
