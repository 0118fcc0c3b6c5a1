//! What travels between ranks.

use super::workload::Workload;

/// A message: what the sending rank gives to the network, and what the receiving rank is told of
/// when its last byte arrives. It has all that the receiver needs to match it. // OPS-05
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Message {
    /// Whose it is.
    pub id: MessageId,
    /// Rank that sends it.
    pub from: u32,
    /// Rank that receives it.
    pub to: u32,
    /// Payload bytes that travel. May be 0: a network that sends packets takes 1.
    pub bytes: u64,
    /// Which operations it can match.
    pub scope: Scope,
    /// What receives match, beside the source.
    pub tag: u64,
    /// Messages of one channel between two ranks share a queue pair, if the options say so.
    pub channel: u16,
    /// NIC of the sending rank.
    pub nic: u16,
    /// Traffic class.
    pub class: u8,
    /// Trigger that its arrival activates.
    pub on_received: Option<u32>,
}

/// The number of a message, from the operation that sends it and not from the order of sending.
/// // OPS-01
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageId {
    /// Rank of the operation.
    pub rank: u32,
    /// Index of the operation.
    pub index: u32,
    /// Which of the operation's messages: 0 for a send; (lane << 32 | step) in a collective.
    pub part: u64,
    /// What it is for.
    pub role: Role,
}

/// What a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// The payload.
    Data,
    /// First message of a rendezvous, to the receiver: the data of this many bytes is ready. // OPS-13
    Request {
        /// Bytes of the data.
        bytes: u64,
    },
    /// Second message of a rendezvous, back to the sender: the data may come. // OPS-13
    Clear,
}

/// Which operations a message can match: those of the program, or those of one collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Sends and receives of the workload.
    Program,
    /// One collective of a group.
    Collective {
        /// The group, None being all ranks.
        group: Option<u32>,
        /// Which of the group's collectives.
        instance: u64,
    },
}

impl Message {
    /// What it is, in words, for a message to a user.
    #[must_use]
    pub fn described(&self, workload: &Workload) -> String {
        let Self {
            id,
            from,
            to,
            bytes,
            ..
        } = self;
        let of = match self.scope {
            Scope::Program => format!("tag {}", self.tag),
            Scope::Collective { group, instance } => {
                let group = workload.group_name(group);
                format!("collective {instance} of group \"{group}\"")
            }
        };
        let index = id.index;
        format!("{bytes} bytes from rank {from} (operation {index}) to rank {to}, {of}")
    }
}
