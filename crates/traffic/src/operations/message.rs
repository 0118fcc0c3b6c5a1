//! Messages between ranks.

use super::workload::Workload;

/// A message that the sending rank passes to the network. The network delivers it when the last
/// byte arrives. It contains all fields that the receiver needs for matching. // OPS-05
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Message {
    /// Identity of the message.
    pub id: MessageId,
    /// Sending rank.
    pub from: u32,
    /// Receiving rank.
    pub to: u32,
    /// Payload bytes. For 0, a packet network sends 1 byte.
    pub bytes: u64,
    /// Operations that may receive the message.
    pub scope: Scope,
    /// Tag that the receive must match, in addition to the source rank.
    pub tag: u64,
    /// Channel. Messages of one channel between two ranks may share a queue pair.
    pub channel: u16,
    /// Index of the NIC of the sending rank.
    pub nic: u16,
    /// Traffic class.
    pub class: u8,
    /// Trigger that the arrival activates.
    pub on_received: Option<u32>,
}

/// Identity of a message. It depends on the sending operation, not on the order in which messages
/// are sent.
// OPS-01: identity of operations and messages
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageId {
    /// Rank of the operation.
    pub rank: u32,
    /// Index of the operation.
    pub index: u32,
    /// Number of the message within its operation. It is 0 for a send, and (lane << 32 | step) for
    /// a collective.
    pub part: u64,
    /// Role of the message: data, or control message of a rendezvous.
    pub role: Role,
}

/// Role of a message: data, or control message of a rendezvous.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// The payload.
    Data,
    /// First message of a rendezvous, to the receiver: the sender has data of this size. // OPS-13
    Request {
        /// Bytes of the data.
        bytes: u64,
    },
    /// Second message of a rendezvous, to the sender: the receiver is ready for the data. // OPS-13
    Clear,
}

/// The operations that may receive a message: sends and receives of the workload, or those of one
/// collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Sends and receives of the workload.
    Program,
    /// One collective of a group.
    Collective {
        /// The group. `None`: all ranks.
        group: Option<u32>,
        /// Instance number of the collective.
        instance: u64,
    },
}

impl Message {
    /// Describes the message for error messages and warnings.
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
