//! A message between ranks of a workload, while the network transmits it as a flow.

use kernel::random::mix64;
use traffic::operations::{Message, Role};

/// Bit of flow IDs that marks messages of ranks. IDs of other flows are counted from 0.
// RNK-01
pub(super) const MESSAGE: u32 = 1 << 31;

/// A message of a rank, with its state in the network.
#[derive(Clone, Copy, Debug)]
pub(super) struct Carried {
    /// Index of the job (workload) of the message.
    pub job: u32,
    pub message: Message,
    /// True if the message goes to the relay host instead of the receiver. // RNK-07
    pub to_relay: bool,
    /// True if a relay host has forwarded the message.
    pub relayed: bool,
}

/// Key of a queue pair that messages share: a job, two of its ranks, a channel, and whether the
/// messages start at a relay host.
// RNK-15
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct QueuePair {
    job: u32,
    from: u32,
    to: u32,
    channel: u16,
    class: u8,
    relayed: bool,
}

impl QueuePair {
    /// Returns the unique hash of the queue pair. The paths of its messages are derived from it.
    pub fn identity(&self) -> u64 {
        let flags = u64::from(self.class) << 1 | u64::from(self.relayed);
        let words = [
            u64::from(self.job) << 32 | u64::from(self.from),
            u64::from(self.to) << 32 | u64::from(self.channel) << 16 | flags,
        ];
        mixed(u64::from(MESSAGE) + 1, &words)
    }
}

fn mixed(seed: u64, words: &[u64]) -> u64 {
    let all = words.iter();
    all.fold(seed, |all, word| mix64(all ^ word))
}

impl Carried {
    /// Returns the queue pair that the message shares with other messages of its channel.
    pub const fn queue_pair(&self) -> QueuePair {
        QueuePair {
            job: self.job,
            from: self.message.from,
            to: self.message.to,
            channel: self.message.channel,
            class: self.message.class,
            relayed: self.relayed,
        }
    }

    /// Returns the unique hash of the message, independent of the order of sending. The paths of
    /// the message are derived from it.
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
        mixed(u64::from(MESSAGE), &words)
    }
}
