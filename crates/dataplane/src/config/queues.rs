//! Configuration of the queues of a switch: which queue a packet joins, and which queue sends next.

use super::Alpha;
use crate::param::{Field, Kind, MAX_TIME_PS, Param, Params, Value, Word};
use crate::properties::{Choice, Finding, Properties, Property, Rule};
use crate::units::{NS, Time};

/// Selection of the egress queue of its class that a packet joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Classify {
    /// One FIFO per class.
    Fifo,
    /// A hash of the flow selects the queue. The hash is equal at all switches.
    Hash {
        /// Number of queues per class.
        queues: u16,
    },
    /// A flow table assigns a queue to each flow when the flow becomes active (BFC).
    Dynamic {
        /// Number of queues per class.
        queues: u16,
        /// Number of flow-table entries per egress port.
        table: u32,
        /// Time in ps for which a flow without packets in the switch keeps its queue. Replaced by
        /// [`AssignConfig::sticky_hrtts`] if that is set.
        sticky_ps: Time,
    },
    /// Each flow with packets in the switch has a separate queue (ideal).
    PerFlow,
    /// The priority level in the packet selects the queue.
    Priority {
        /// Number of priority levels, and of queues, per class.
        levels: u16,
    },
}

/// Start of the search for an empty queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchStart {
    /// The search starts at the queue after the last assigned queue.
    Rotating,
    /// The search starts at a random number: that of a queue, or a reserved number. From a reserved
    /// number the search continues with the first queue.
    Random {
        /// Number of reserved numbers, which belong to no data queue.
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
    /// Method by which a flow table assigns a queue to a flow.
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
        /// Source host, source port and length of the flow, see [`crate::source_hash`].
        Source = "source",
    }
}

/// Details of dynamic queue assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AssignConfig {
    /// Number of 1-hop round trips, in units of 1/65536, for which a flow without packets in the
    /// switch keeps its queue. If set, replaces the time in [`Classify::Dynamic`].
    pub sticky_hrtts: Option<u32>,
    /// Method by which a flow is assigned its queue: an empty queue, or the queue of its hash.
    pub by: AssignBy,
    /// Which fields of a packet select the flow-table entry.
    pub slot: SlotBy,
    /// Period in ps at which the bitmap of empty queues is updated; `None`: immediately.
    pub bitmap_ps: Option<Time>,
    /// True if an empty queue that the downstream neighbour has paused may be assigned.
    pub paused_eligible: bool,
    /// Start of the search for an empty queue.
    pub start: SearchStart,
    /// Queue that a flow is assigned if no queue is empty.
    pub when_full: WhenFull,
    /// True if flows that the workload labels as incast share one queue per egress port and class,
    /// which no other flow uses.
    pub incast_queue: bool,
    /// Number of ingress pipelines of the switch, at least 1. Each has its own section of the flow
    /// table and its own bitmap of empty queues.
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

/// Time for which a flow keeps its queue after its last packet has left the switch.
#[derive(Clone, Copy, Debug)]
enum Sticky {
    /// This number of 1-hop round trips.
    HopRtts(f64),
    /// A time in ps.
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

/// Value of `assign` with which the switch searches for an empty queue, and the message for keys of
/// the search that have no effect with the other value.
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
        /// Queue of a new flow: an empty one, or that of its hash, empty or not.
        by: AssignBy = Param::word("assign", AssignBy::WORDS)
            .default("\"empty\"", "PRE-20", "an empty queue (BFC paper 3.3.1)"),
        /// How long a flow keeps its queue after its last packet has left.
        sticky: Sticky = Param::either("sticky", &[
            Kind::Time { min: 0, max: MAX_TIME_PS },
            Kind::Multiple { of: "1-hop round trips", min: 0.0, max: 1e6 },
        ])
            .default("2.0", "PRE-21", "in 1-hop RTTs (BFC paper 3.3.2)")
            .with("assign", SEARCHED, HASHED),
        /// Update interval of the bitmap of empty queues; `"immediate"`: always up to date.
        bitmap_ps: Option<Time> = Param::time("bitmap", NS).or(&["immediate"])
            .default("\"immediate\"", "PRE-51", "the map of empty queues is always up to date (BFC paper 3.3.1)")
            .with("assign", SEARCHED, HASHED),
        /// An empty queue that is paused may be assigned.
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
        /// Queue of a new flow if no queue is empty.
        when_full: WhenFull = Param::word("when_full", WhenFull::WORDS)
            .default("\"random\"", "PRE-51", "any queue by chance (BFC paper 3.3.1)")
            .with("assign", SEARCHED, HASHED),
        /// Incast flows share a queue that no other flow uses.
        incast_queue: bool = Param::flag("incast_queue")
            .default("false", "PRE-54", "the variant BFC + IncastLabel sets it (BFC paper A.7)"),
        /// Ingress pipelines of the switch, each with its own flow table.
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
    /// Values of the scenario key `classify`. Numbers of queues and levels are 0, and the flow
    /// table has only the entries for one queue, until [`Self::complete`] sets them.
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

    /// Sets the number of queues and of priority levels per class in a value of [`Self::WORDS`].
    /// `of_port` is the number of queues of all classes of a port: the flow table has entries for
    /// each of them.
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

/// Selection of the queue of a class that sends next. Between classes there is strict priority: the
/// lowest class sends first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// In the order of arrival, for classes with a single queue.
    Fifo,
    /// Deficit round robin with this quantum in bytes.
    Drr {
        /// Bytes that a queue may send per round. 0 until [`Schedule::complete`] sets it to the
        /// size of the largest frame.
        quantum: u32,
    },
    /// Round robin: one packet per queue and round.
    RoundRobin,
    /// Round robin in the order of queue numbers: one packet per queue. A queue that becomes
    /// nonempty is served when its number is next, not after all other queues.
    Cyclic,
    /// Serves the queue whose first packet belongs to the flow with the fewest remaining bytes.
    ShortestRemaining,
    /// Serves the nonempty queue with the lowest number.
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
    /// Values of the scenario key `schedule`.
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

    /// Sets the DRR quantum of a value of [`Self::WORDS`] to `max_frame` if the scenario has none.
    #[must_use]
    pub const fn complete(self, max_frame: u16) -> Self {
        match self {
            Self::Drr { quantum: 0 } => Self::Drr {
                quantum: max_frame as u32,
            },
            other => other,
        }
    }

    /// Returns a warning if the DRR quantum is smaller than the largest frame.
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
