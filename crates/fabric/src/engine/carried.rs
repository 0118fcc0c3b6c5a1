//! A message of a rank on its way through the network.

use kernel::random::mix64;
use traffic::operations::{Message, Role};

/// Numbers of flows that are messages have this bit; those of other flows count from 0.
// RNK-01
pub(super) const MESSAGE: u32 = 1 << 31;

/// A message on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Carried {
    /// Number of its job.
    pub job: u32,
    pub message: Message,
    /// It is on its way to the host that sends it on. // RNK-07
    pub to_relay: bool,
    /// It has been there.
    pub relayed: bool,
}

impl Carried {
    /// What distinguishes a message from all others, whatever the order of sending: its paths follow from
    /// it.
    // RNK-02
    pub fn identity(&self) -> u64 {
        let id = self.message.id;
        let role = match id.role {
            Role::Data => 0,
            Role::Request { .. } => 1,
            Role::Clear => 2,
        };
        let words = [
            u64::from(self.job) << 32 | u64::from(id.rank),
            u64::from(id.index) << 32 | role << 1 | u64::from(self.relayed),
            id.part,
        ];
        let seed = u64::from(MESSAGE);
        words.into_iter().fold(seed, |all, word| mix64(all ^ word))
    }
}
