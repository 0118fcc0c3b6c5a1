//! One operation of a rank.

use std::fmt;

/// One operation of a rank. It is identified by (rank, index), where the index is its position in
/// the rank's list. // OPS-01
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Operation {
    /// The work of the operation.
    pub work: Work,
    /// Operations of the same rank, with smaller indices, that must have ended. // OPS-02
    pub after_end: Vec<u32>,
    /// Operations of the same rank, with smaller indices, that must have started. // OPS-02
    pub after_start: Vec<u32>,
    /// Trigger that must have fired, as an index in the workload's list of triggers. // OPS-40
    pub trigger: Option<u32>,
    /// Resource of the rank that the operation occupies: a stream, an engine, a threadblock.
    /// `None`: no resource. // OPS-20
    pub resource: Option<u16>,
    /// NIC of the rank that the messages of the operation occupy. // OPS-21
    pub nic: u16,
    /// Priority among ready operations: the smallest value is first, and equal values are ordered
    /// by index.
    // OPS-23: order of ready operations
    pub priority: u64,
    /// The collective that contains the operation, as an index in the workload's list of
    /// collectives.
    // OPS-38: collectives composed of operations
    pub part_of: Option<u32>,
}

/// The work of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// A computation.
    Calc {
        /// Duration, ps.
        duration_ps: u64,
    },
    /// Sends one message.
    Send(Send),
    /// Waits for one message, or for a number of bytes.
    Receive(Receive),
    /// Takes part in a collective operation of a group.
    Collective(Box<Collective>),
}

impl Default for Work {
    /// A computation of zero time.
    fn default() -> Self {
        Self::Calc { duration_ps: 0 }
    }
}

impl Work {
    /// Name of the kind in files and results.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Calc { .. } => "calc",
            Self::Send(_) => "send",
            Self::Receive(_) => "recv",
            Self::Collective(collective) => collective.kind.word(),
        }
    }
}

/// A message to another rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Send {
    /// Receiving rank.
    pub to: u32,
    /// Payload bytes. 0 is possible (a message without payload).
    pub bytes: u64,
    /// Tag that a receive must match.
    pub tag: u64,
    /// Channel. Messages of one channel to one rank may share a queue pair. // OPS-15
    pub channel: u16,
    /// Traffic class.
    pub class: u8,
    /// Time from the start of the operation until the message enters the network, in addition to
    /// the host's overhead, ps. // OPS-17
    pub latency_ps: u64,
    /// Trigger that the end of the send activates. // OPS-40
    pub on_sent: Option<u32>,
    /// Trigger that the arrival of the last byte activates. // OPS-40
    pub on_received: Option<u32>,
}

/// A receive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Receive {
    /// Rank that sends the message; `None` accepts every rank.
    pub from: Option<u32>,
    /// Expected bytes. With [`Matching::Bytes`](crate::operations::Matching::Bytes) the receive
    /// ends when that many bytes have arrived. Otherwise the number is only recorded.
    pub bytes: u64,
    /// Tag of the message; `None` accepts every tag.
    pub tag: Option<u64>,
}

/// The contribution of one rank to a collective operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collective {
    /// Kind of the collective.
    pub kind: CollectiveKind,
    /// The group, as an index in the workload's list of groups. `None`: all ranks.
    pub group: Option<u32>,
    /// Instance number, the same at all members. `None`: each rank counts the collectives of the
    /// group, as the workload's option defines. // OPS-30
    pub instance: Option<u64>,
    /// Bytes S of the whole vector; see [`CollectiveKind`]. Unused for an all-to-allv. // OPS-31
    pub bytes: u64,
    /// Position in the group of the member that broadcasts.
    pub root: u32,
    /// Algorithm as text, such as `ring:channels=2`. `None`: the workload's algorithm for this kind
    /// of collective.
    pub algorithm: Option<Box<str>>,
    /// First channel that the messages of the collective use.
    pub channel: u16,
    /// Traffic class of the messages.
    pub class: u8,
    /// Latency of each message, as for a send, ps.
    pub latency_ps: u64,
    /// All-to-allv: bytes to each member, in the order of the group.
    pub to_each: Vec<u64>,
    /// All-to-allv: bytes from each member, in the order of the group.
    pub from_each: Vec<u64>,
}

impl Collective {
    /// Returns S. For an all-to-allv, returns the bytes to all members, including the member
    /// itself. // OPS-31
    #[must_use]
    pub fn vector_bytes(&self) -> u64 {
        match self.kind {
            CollectiveKind::AllToAllV => sum(&self.to_each),
            _ => self.bytes,
        }
    }

    /// For an all-to-allv: the larger of two sums, the bytes that the member at `position` sends to
    /// other members and the bytes that it receives from other members. // OPS-61
    #[must_use]
    pub fn moved_bytes(&self, position: u32) -> u64 {
        without(&self.to_each, position).max(without(&self.from_each, position))
    }
}

fn sum(each: &[u64]) -> u64 {
    each.iter().fold(0, |sum, &bytes| sum.saturating_add(bytes))
}

fn without(each: &[u64], position: u32) -> u64 {
    sum(each).saturating_sub(each.get(position as usize).copied().unwrap_or(0))
}

/// Collective operations. n is the number of members, S the bytes of the operation. // OPS-31
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CollectiveKind {
    /// Each member has S bytes, and ends with their sum of S bytes.
    #[default]
    AllReduce,
    /// Each member has S/n bytes, and ends with all S bytes.
    AllGather,
    /// Each member has S bytes, and ends with its own S/n of their sum.
    ReduceScatter,
    /// Each member has S/n bytes for each member, and ends with S/n bytes from each.
    AllToAll,
    /// Each member has a separate number of bytes for each member.
    AllToAllV,
    /// The root has S bytes, and each member ends with them.
    Broadcast,
    /// No member ends before all have begun.
    Barrier,
}

impl CollectiveKind {
    /// All kinds.
    pub const ALL: [Self; 7] = [
        Self::AllReduce,
        Self::AllGather,
        Self::ReduceScatter,
        Self::AllToAll,
        Self::AllToAllV,
        Self::Broadcast,
        Self::Barrier,
    ];

    /// Names of all kinds in files and results, in the order of `ALL`.
    pub const WORDS: [&'static str; Self::ALL.len()] = {
        let mut words = [""; Self::ALL.len()];
        let mut nth = 0;
        while nth < words.len() {
            words[nth] = Self::ALL[nth].word();
            nth += 1;
        }
        words
    };

    /// Name of the kind in files and results.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::AllReduce => "all-reduce",
            Self::AllGather => "all-gather",
            Self::ReduceScatter => "reduce-scatter",
            Self::AllToAll => "all-to-all",
            Self::AllToAllV => "all-to-allv",
            Self::Broadcast => "broadcast",
            Self::Barrier => "barrier",
        }
    }

    /// Returns the kind that a word names in files, if the word is valid.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

impl fmt::Display for CollectiveKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
