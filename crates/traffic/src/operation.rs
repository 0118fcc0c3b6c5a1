//! One operation of a rank.

use std::fmt;

/// One operation of a rank. Its number is (rank, index): its place in the rank's list. // OPS-01
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Operation {
    /// What is done.
    pub work: Work,
    /// Operations of the same rank, by smaller index, that must have ended. // OPS-02
    pub after_end: Vec<u32>,
    /// Operations of the same rank, by smaller index, that must have started. // OPS-02
    pub after_start: Vec<u32>,
    /// Trigger that must have fired for it, by its place in the workload's list. // OPS-40
    pub trigger: Option<u32>,
    /// What it occupies of the rank: a stream, an engine, a threadblock. None: nothing. // OPS-20
    pub resource: Option<u16>,
    /// The NIC, of those of its rank, that its messages occupy. // OPS-21
    pub nic: u16,
    /// Smaller is first among operations that are ready; equal ones by index. // OPS-23
    pub priority: u64,
    /// The collective that it is a part of, by its place in the workload's list. // OPS-38
    pub part_of: Option<u32>,
}

/// What an operation does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// Takes time.
    Calc {
        /// How long, ps.
        duration_ps: u64,
    },
    /// Sends one message.
    Send(Send),
    /// Waits for one message, or for bytes.
    Receive(Receive),
    /// Takes part in a collective operation of a group.
    Collective(Box<Collective>),
}

impl Default for Work {
    /// Takes no time.
    fn default() -> Self {
        Self::Calc { duration_ps: 0 }
    }
}

impl Work {
    /// The word for it in files and results.
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
    /// Payload bytes; 0 is possible (a message without payload).
    pub bytes: u64,
    /// What the receiver matches.
    pub tag: u64,
    /// Messages of one channel to one rank may share a queue pair. // OPS-15
    pub channel: u16,
    /// Traffic class.
    pub class: u8,
    /// From the start of the operation until the message is given to the network, on top of the
    /// host's overhead, ps. // OPS-17
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
    /// Bytes expected: debited where bytes are counted, else for the record only.
    pub bytes: u64,
    /// Tag of the message; `None` accepts every tag.
    pub tag: Option<u64>,
}

/// A collective operation, as one rank takes part in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collective {
    /// Which.
    pub kind: CollectiveKind,
    /// The group, by its place in the workload's list. None: all ranks.
    pub group: Option<u32>,
    /// Which of the group's collectives it is; the members agree on it. None: counted, per rank and
    /// group, as the workload's option says. // OPS-30
    pub instance: Option<u64>,
    /// Bytes S of the whole vector; see the kinds. Of an all-to-allv nothing reads it. // OPS-31
    pub bytes: u64,
    /// Position in the group of the rank that broadcasts.
    pub root: u32,
    /// Algorithm, as written: `ring:channels=2`. None: the workload's for this kind.
    pub algorithm: Option<Box<str>>,
    /// First of the channels that its messages use.
    pub channel: u16,
    /// Traffic class of its messages.
    pub class: u8,
    /// As for a send, for each of its messages, ps.
    pub latency_ps: u64,
    /// All-to-allv: bytes for each member, in the order of the group.
    pub to_each: Vec<u64>,
    /// All-to-allv: bytes from each member, in the order of the group.
    pub from_each: Vec<u64>,
}

impl Collective {
    /// S; of an all-to-allv the bytes for all members, this one's own among them. // OPS-31
    #[must_use]
    pub fn vector_bytes(&self) -> u64 {
        match self.kind {
            CollectiveKind::AllToAllV => sum(&self.to_each),
            _ => self.bytes,
        }
    }

    /// All-to-allv: bytes that the member at a position sends to others or receives from others,
    /// whichever are more. // OPS-61
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
    /// Each has S bytes; each ends with their sum, S bytes.
    #[default]
    AllReduce,
    /// Each has S/n bytes; each ends with all, S bytes.
    AllGather,
    /// Each has S bytes; each ends with its own S/n of their sum.
    ReduceScatter,
    /// Each has S/n bytes for each; each ends with S/n from each.
    AllToAll,
    /// Each has bytes of its own choice for each.
    AllToAllV,
    /// The root has S bytes; each ends with them.
    Broadcast,
    /// None ends before all have begun.
    Barrier,
}

impl CollectiveKind {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::AllReduce,
        Self::AllGather,
        Self::ReduceScatter,
        Self::AllToAll,
        Self::AllToAllV,
        Self::Broadcast,
        Self::Barrier,
    ];

    /// The words of all, in this order.
    pub const WORDS: [&'static str; Self::ALL.len()] = {
        let mut words = [""; Self::ALL.len()];
        let mut nth = 0;
        while nth < words.len() {
            words[nth] = Self::ALL[nth].word();
            nth += 1;
        }
        words
    };

    /// The word for it in files and results.
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

    /// The kind that a word stands for.
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
