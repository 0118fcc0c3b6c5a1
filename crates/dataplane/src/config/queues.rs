//! Queues of a switch: selection of the queue that a packet joins, and of the queue that sends next.

use super::Alpha;
use crate::param::{Field, Kind, MAX_TIME_PS, Param, Params, Value, Word};
use crate::properties::{Choice, Finding, Properties, Property, Rule};
use crate::units::{NS, Time};

/// Selection of the egress queue of its class that a packet joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Classify {
    /// One FIFO per class.
    Fifo,
    /// Stochastic: a hash of the flow, equal at all switches, selects one of `queues` queues per
    /// class.
    Hash {
        /// Queues per class.
        queues: u16,
    },
    /// Dynamic assignment over `queues` queues per class.
    Dynamic {
        /// Queues per class.
        queues: u16,
        /// Flow-table entries per egress port.
        table: u32,
        /// Time in ps without packets in the switch after which a flow loses its queue; has no
        /// effect with [`AssignConfig::sticky_hrtts`].
        sticky_ps: Time,
    },
    /// One queue for each flow that has packets in the switch (ideal).
    PerFlow,
    /// The queue of the packet's priority level.
    Priority {
        /// Number of levels, and of queues, per class.
        levels: u16,
    },
}

/// Start of the search for an empty queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchStart {
    /// The search starts one queue further after each assignment.
    Rotating,
    /// The search starts at a random number: at a queue, or at one of the reserved numbers, from
    /// which it continues with the first queue.
    Random {
        /// Number of reserved numbers, which are no data queues.
        reserved: u16,
    },
}

crate::words! {
    /// Queue of a flow if no queue is empty.
    pub enum WhenFull {
        /// A random queue.
        Random = "random",
        /// A fixed queue per flow-table entry.
        ByEntry = "by-entry",
    }
}

crate::words! {
    /// Queues that a flow table assigns to flows.
    pub enum AssignBy {
        /// Empty queues.
        Empty = "empty",
        /// The queue given by the flow's hash, empty or not. The table then only counts packets.
        Hash = "hash",
    }
}

crate::words! {
    /// Key that selects the entry of a flow in a flow table.
    pub enum SlotBy {
        /// Hash of the complete flow identity.
        Flow = "flow",
        /// Source, source port and length, see [`crate::source_hash`].
        Source = "source",
    }
}

/// Details of dynamic queue assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AssignConfig {
    /// Number of 1-hop round trips of the switch, in 1/65536, for which a flow keeps its queue.
    /// Replaces the time in [`Classify::Dynamic`].
    pub sticky_hrtts: Option<u32>,
    /// How the queue of a flow is found: an empty one, or one by hash.
    pub by: AssignBy,
    /// Which fields of a packet select the flow-table entry.
    pub slot: SlotBy,
    /// Period in ps at which the bitmap of empty queues is updated; `None`: immediately.
    pub bitmap_ps: Option<Time>,
    /// True if an empty queue that the downstream neighbour has paused may be assigned.
    pub paused_eligible: bool,
    /// Queue or number at which the search for an empty queue starts.
    pub start: SearchStart,
    /// Queue of a flow if no queue is empty.
    pub when_full: WhenFull,
    /// True if incast flows (according to the traffic) share one queue per egress and class, which
    /// no other flow gets.
    pub incast_queue: bool,
    /// Number of ingress pipelines, at least 1. Each has its share of the flow table and its own
    /// bitmap.
    pub pipelines: u16,
}

impl AssignConfig {
    /// Assignment of §3.3.1 of the BFC paper, on a switch with one pipeline.
    // BFC-02
    pub const PAPER: Self = Self {
        sticky_hrtts: None,
        by: AssignBy::Empty,
        slot: SlotBy::Flow,
        bitmap_ps: None,
        paused_eligible: false,
        start: SearchStart::Rotating,
        when_full: WhenFull::Random,
        incast_queue: false,
        pipelines: 1,
    };
}

/// How long a flow keeps its queue after its last packet has left.
#[derive(Clone, Copy, Debug)]
enum Sticky {
    /// For this many 1-hop round trips.
    HopRtts(f64),
    /// For this time in ps.
    Fixed(Time),
}

impl Field for Sticky {
    fn of(value: Option<&Value>) -> Self {
        match value {
            Some(Value::Number(hop_rtts)) => Self::HopRtts(*hop_rtts),
            time => Self::Fixed(Time::of(time)),
        }
    }
}

crate::words! {
    /// Start of the search for an empty queue.
    enum Start {
        /// See [`SearchStart::Rotating`].
        Rotating = "rotating",
        /// See [`SearchStart::Random`].
        Random = "random",
    }
}

/// Value of `assign` with which the switch searches for an empty queue, and the reason why keys of
/// the search have no effect with the other value.
const SEARCHED: &[&str] = &["empty"];
const HASHED: &str = "`assign` = \"hash\" searches for no queue";

crate::params! {
    /// Parameters of the dynamic assignment of queues.
    #[derive(Clone, Copy, Debug)]
    struct Dynamic {
        /// Flow-table entries per queue.
        table: u32 = Param::count("table", 1, 1_000_000)
            .default("100", "PRE-20", "flow-table entries per queue (BFC paper 3.3.1)"),
        /// Key of a flow's entry: a hash of the flow, or only its source, source port and length.
        slot: SlotBy = Param::word("slot", SlotBy::WORDS)
            .default("\"flow\"", "PRE-20", "a hash of the flow (BFC paper 3.3.1)"),
        /// Queue that a flow gets: an empty one, or that of its hash, empty or not.
        by: AssignBy = Param::word("assign", AssignBy::WORDS)
            .default("\"empty\"", "PRE-20", "an empty queue (BFC paper 3.3.1)"),
        /// How long a flow keeps its queue after its last packet has left.
        sticky: Sticky = Param::either("sticky", &[
            Kind::Time { min: 0, max: MAX_TIME_PS },
            Kind::Multiple { of: "1-hop round trips", min: 0.0, max: 1e6 },
        ])
            .default("2.0", "PRE-21", "in 1-hop RTTs (BFC paper 3.3.2)")
            .with("assign", SEARCHED, HASHED),
        /// Interval at which the map of empty queues is updated; `"immediate"`: always up to date.
        bitmap_ps: Option<Time> = Param::time("bitmap", NS).or(&["immediate"])
            .default("\"immediate\"", "PRE-51", "the map of empty queues is always up to date (BFC paper 3.3.1)")
            .with("assign", SEARCHED, HASHED),
        /// An empty queue that is paused may be taken.
        paused_eligible: bool = Param::flag("paused_eligible")
            .default("false", "PRE-51", "a paused queue is not taken (authors' code of BFC)")
            .with("assign", SEARCHED, HASHED),
        /// Where the search for an empty queue starts.
        start: Start = Param::word("start", Start::WORDS)
            .default("\"rotating\"", "PRE-51", "the search goes on where it stopped (BFC paper 4)")
            .with("assign", SEARCHED, HASHED),
        /// Additional numbers without a data queue at which a random search may start. It then
        /// continues with the first queue.
        reserved: u16 = Param::count("reserved", 0, 1000)
            .default("0", "PRE-51", "the search starts at queues for data")
            .with("start", &["random"], "only a search that starts by chance starts there"),
        /// Queue that a flow takes if none is empty.
        when_full: WhenFull = Param::word("when_full", WhenFull::WORDS)
            .default("\"random\"", "PRE-51", "any queue by chance (BFC paper 3.3.1)")
            .with("assign", SEARCHED, HASHED),
        /// Incast flows share a queue of their own.
        incast_queue: bool = Param::flag("incast_queue")
            .default("false", "PRE-54", "the variant BFC + IncastLabel sets it (BFC paper A.7)"),
        /// Pipelines of the switch, each with a flow table of its own.
        pipelines: u16 = Param::count("pipelines", 1, 64)
            .default("1", "PRE-51", "one flow table (BFC paper 3.3.1)"),
    }
}

impl From<Dynamic> for (Classify, AssignConfig) {
    fn from(of: Dynamic) -> Self {
        let (sticky_hrtts, sticky_ps) = match of.sticky {
            Sticky::HopRtts(n) => (Some(Alpha::new(n).0), 0),
            Sticky::Fixed(ps) => (None, ps),
        };
        let assign = AssignConfig {
            sticky_hrtts,
            by: of.by,
            slot: of.slot,
            bitmap_ps: of.bitmap_ps,
            paused_eligible: of.paused_eligible,
            start: match of.start {
                Start::Rotating => SearchStart::Rotating,
                Start::Random => SearchStart::Random {
                    reserved: of.reserved,
                },
            },
            when_full: of.when_full,
            incast_queue: of.incast_queue,
            pipelines: of.pipelines,
        };
        let classify = Classify::Dynamic {
            queues: 0,
            table: of.table,
            sticky_ps,
        };
        (classify, assign)
    }
}

impl Classify {
    /// Values of `classify`. The numbers of queues and levels are 0, and the table has the entries
    /// of one queue, until [`Self::complete`].
    pub const WORDS: &[Word<(Self, AssignConfig)>] = &[
        Word::plain("fifo", |_| Ok((Self::Fifo, AssignConfig::PAPER))),
        Word::plain("hash", |_| {
            Ok((Self::Hash { queues: 0 }, AssignConfig::PAPER))
        }),
        Word::new("dynamic", Dynamic::PARAMS, |values| {
            Ok(Dynamic::read(values).into())
        }),
        Word::plain("per-flow", |_| Ok((Self::PerFlow, AssignConfig::PAPER))),
        Word::plain("priority", |_| {
            Ok((Self::Priority { levels: 0 }, AssignConfig::PAPER))
        }),
    ];

    /// Completes a value of [`Self::WORDS`] with the number of queues and levels per class. The
    /// flow table gets entries for `of_port` queues, those of all classes of a port.
    #[must_use]
    pub const fn complete(self, queues: u16, of_port: u16, levels: u16) -> Self {
        match self {
            Self::Hash { .. } => Self::Hash { queues },
            Self::Dynamic {
                table, sticky_ps, ..
            } => {
                let table = table.saturating_mul(of_port as u32);
                Self::Dynamic {
                    queues,
                    table: if table < MAX_TABLE { table } else { MAX_TABLE },
                    sticky_ps,
                }
            }
            Self::Priority { .. } => Self::Priority { levels },
            Self::Fifo | Self::PerFlow => self,
        }
    }
}

/// Maximum number of entries of a flow table.
const MAX_TABLE: u32 = 1 << 22;

impl Choice for Classify {
    fn provides(&self) -> Properties {
        use Property::{FlowQueues, HashedQueues, OneQueue, PriorityQueues, QueuesByHash};
        Properties::of(match self {
            Self::Fifo => &[OneQueue],
            Self::Hash { .. } => &[HashedQueues, QueuesByHash],
            Self::Dynamic { .. } => &[QueuesByHash],
            Self::PerFlow => &[FlowQueues],
            Self::Priority { .. } => &[QueuesByHash, PriorityQueues],
        })
    }
}

/// Selection of the queue of a class that sends next. Between classes: strict priority, lower class
/// first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// Order of arrival, for classes with a single queue.
    Fifo,
    /// Deficit round robin with this quantum in bytes.
    Drr {
        /// Bytes that a queue may send per round; 0 in a scenario: one largest frame.
        quantum: u32,
    },
    /// One packet per queue and round.
    RoundRobin,
    /// One packet per queue, in the order of queue numbers. A queue that gets a packet is served
    /// when its number is next, not after all other queues.
    Cyclic,
    /// The queue whose first packet belongs to the flow with the fewest remaining bytes.
    ShortestRemaining,
    /// The nonempty queue with the lowest number.
    Strict,
}

crate::params! {
    /// Parameters of deficit round robin.
    #[derive(Clone, Copy, Debug)]
    struct Drr {
        /// Bytes that a queue may send in a round; `"frame"`: one largest frame.
        quantum: Option<u32> = Param::size("quantum", 64, 1_000_000).or(&["frame"])
            .default("\"frame\"", "PRE-10", "one largest frame a round, our choice"),
    }
}

impl Schedule {
    /// Values of `schedule`.
    pub const WORDS: &[Word<Self>] = &[
        Word::plain("fifo", |_| Ok(Self::Fifo)),
        Word::new("drr", Drr::PARAMS, |values| {
            let quantum = Drr::read(values).quantum.unwrap_or(0);
            Ok(Self::Drr { quantum })
        }),
        Word::plain("round-robin", |_| Ok(Self::RoundRobin)),
        Word::plain("srf", |_| Ok(Self::ShortestRemaining)),
        Word::plain("cyclic", |_| Ok(Self::Cyclic)),
        Word::plain("strict", |_| Ok(Self::Strict)),
    ];

    /// Completes a value of [`Self::WORDS`] with the size of the largest frame in bytes.
    #[must_use]
    pub const fn complete(self, max_frame: u16) -> Self {
        match self {
            Self::Drr { quantum: 0 } => Self::Drr {
                quantum: max_frame as u32,
            },
            other => other,
        }
    }

    /// Returns a warning about a quantum below the largest frame.
    #[must_use]
    pub fn small_quantum(self, max_frame: u16) -> Option<Finding> {
        let Self::Drr { quantum } = self else {
            return None;
        };
        (quantum < max_frame.into()).then(|| {
            let message =
                format!("a DRR quantum of {quantum} B is below the largest frame, {max_frame} B");
            Finding::doubtful(
                &["drr"],
                message,
                "a queue then waits several rounds for one packet",
            )
        })
    }
}

impl Choice for Schedule {
    fn provides(&self) -> Properties {
        Properties::NONE.with(Property::StrictOrder, *self == Self::Strict)
    }

    fn rules(&self) -> Vec<Rule> {
        let mut rules = match self {
            Self::Fifo => {
                return crate::rules! {
                    wrong ["schedule", "classify"] without [OneQueue, PriorityQueues]:
                        "\"fifo\" is the order of a single queue, and `classify` makes several",
                        "set schedule = \"round-robin\", \"drr\" or \"srf\", or classify = \"fifo\"";
                };
            }
            Self::Cyclic => crate::rules! {
                wrong ["schedule", "classify"] with [FlowQueues]:
                    "\"cyclic\" serves queues by their numbers, and those of `classify` = \"per-flow\" have none",
                    "set schedule = \"round-robin\", or classify to \"dynamic\" or \"hash\"";
            },
            Self::Drr { .. } | Self::RoundRobin | Self::ShortestRemaining | Self::Strict => {
                Vec::new()
            }
        };
        rules.extend(crate::rules! {
            wrong ["schedule"] with [OneQueue]:
                "with `classify` = \"fifo\" a class has a single queue, so there is nothing to schedule",
                "set schedule = \"fifo\", or classify to \"hash\", \"dynamic\" or \"per-flow\"";
        });
        rules
    }
}
