//! Records of a run: rows of tables, counters and the outcome. The crate `results` writes them to
//! files.

mod buffer;
mod flow;
mod operation;
mod pause;
mod port;
pub mod table;

use crate::ids::NodeId;
use dataplane::hop::HopCounters;
use dataplane::nic::DrivenCounters;
use dataplane::sink::DROP_CAUSES;
use dataplane::units::Time;
use dataplane::watchdog::StormCounters;

pub use buffer::BufferSample;
pub use flow::FlowRecord;
pub use operation::{CollectiveRecord, OperationRecord, RankRecord};
pub use pause::PauseRecord;
pub use port::{ActiveRecord, DROP_NAMES, PortRecord};
pub use table::{Row, Rows, Table};

/// Returns the tables that every run writes, in the order of the documentation.
#[must_use]
pub fn tables() -> [Table; 5] {
    [
        Table::of::<FlowRecord>(),
        Table::of::<PortRecord>(),
        Table::of::<BufferSample>(),
        Table::of::<ActiveRecord>(),
        Table::of::<PauseRecord>(),
    ]
}

/// Returns the additional tables of runs with workloads.
#[must_use]
pub fn workload_tables() -> [Table; 3] {
    [
        Table::of::<OperationRecord>(),
        Table::of::<CollectiveRecord>(),
        Table::of::<RankRecord>(),
    ]
}

/// Queues of switches that wait for each other, so that none of them can ever send again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadlockRecord {
    /// Start of the pause that closed the cycle, ps; equal to `seen_ps` if only queues are paused.
    pub at_ps: Time,
    /// Time at which the deadlock was found, ps.
    pub seen_ps: Time,
    /// Ports of the cycle. Each port waits for the next, and the last waits for the first.
    pub ports: Vec<DeadPort>,
    /// Flows whose packets block other packets, ascending.
    pub flows: Vec<u32>,
}

/// A port of a switch in a deadlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadPort {
    /// The switch.
    pub node: NodeId,
    /// Blocked port of that switch.
    pub port: u16,
    /// The switch at the other end, which has paused the port.
    pub peer: NodeId,
    /// Class of the paused queue.
    pub class: u8,
    /// Bytes in the queue when the deadlock was found.
    pub bytes: u64,
}

/// Counters of the mechanisms, summed over the network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Number of links that packets crossed (data, ACK, control), the measure of simulation work.
    pub packet_hops: u64,
    /// Events that the engine handled.
    pub events: u64,
    /// Number of data packets that NICs sent, including retransmissions.
    pub data_packets: u64,
    /// Number of ACKs that receivers sent.
    pub acks: u64,
    /// Number of NAKs that receivers sent.
    pub naks: u64,
    /// Number of CNPs that receivers sent.
    pub cnps: u64,
    /// Number of packets that switches marked (ECN).
    pub marks: u64,
    /// Number of INT records that switches added to packets.
    pub int_hops: u64,
    /// Number of links that failed or recovered during the run.
    pub link_changes: u64,
    /// Number of times that all switches received new routes.
    pub reroutes: u64,
    /// Number of packets that waited for a port whose link failed, and left by another port.
    pub rerouted_packets: u64,
    /// Counters of hop schemes.
    pub hop: HopCounters,
    /// Number of retransmitted data packets.
    pub retransmissions: u64,
    /// Number of retransmission timeouts.
    pub timeouts: u64,
    /// Number of dropped packets, per `DropCause`.
    pub drops: [u64; DROP_CAUSES],
    /// Number of data packets that a later packet of their flow overtook, without a loss.
    pub overtaken: u64,
    /// Number of data packets that arrived out of order or twice, and that the receiver discarded.
    pub discarded: u64,
    /// Number of pause storms that PFC watchdogs detected.
    pub storms: u64,
    /// Number of pause storms that ended.
    pub storms_restored: u64,
    /// Number of packets that were dropped in pause storms.
    pub storm_drops: u64,
    /// Number of notices that switches sent to senders.
    pub notices: u64,
    /// Number of data packets that switches trimmed to their headers.
    pub trims: u64,
    /// Number of trimmed headers that switches returned to the senders.
    pub returned: u64,
    /// Counters of receiver-driven transports.
    pub driven: DrivenCounters,
}

/// A failed check of the audit, such as a lost byte or a drop that the scheme excludes. It is an
/// error of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Short name of the check, such as `conservation`.
    pub check: &'static str,
    /// Description of the violation, with location and numbers.
    pub message: String,
}

/// Why a run stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every flow has finished, and all remaining events change nothing.
    Drained,
    /// The time limit of the scenario was reached.
    TimeLimit,
    /// No event makes progress, but flows are unfinished.
    Stalled,
    /// Ports wait for each other in a cycle, and the scenario ends a run at a deadlock.
    Deadlocked,
    /// The user interrupted the run.
    Interrupted,
}

/// Requested and used number of threads of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadUse {
    /// Number of threads that the user requested.
    pub asked: u32,
    /// Number of threads that the run used.
    pub used: u32,
    /// Reason why `used` differs from `asked`; `None`: they are equal.
    pub why: Option<String>,
    /// Lookahead: time that each thread can simulate without data of other threads, ps; `None`: the
    /// run has one thread.
    pub lookahead_ps: Option<Time>,
    /// Number of synchronisation windows.
    pub windows: Windows,
    /// Number of frames that passed from one thread to another.
    pub crossed: u64,
    /// Maximum over all partitions of the number of lanes (groups of nodes that a thread simulates
    /// in turn).
    pub lanes: u32,
}

impl Default for ThreadUse {
    /// Returns the report of a run with one requested and one used thread.
    fn default() -> Self {
        Self {
            asked: 1,
            used: 1,
            why: None,
            lookahead_ps: None,
            windows: Windows::default(),
            crossed: 0,
            lanes: 1,
        }
    }
}

/// Number of synchronisation windows, by the number of threads that worked in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    /// Number of synchronisation windows in which all threads worked.
    pub together: u64,
    /// Number of synchronisation windows with so few events that one thread did all work.
    pub alone: u64,
}

/// Outcome of a run: ending, counters and results of the audit.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Why the run stopped.
    pub ending: Ending,
    /// Simulated time at the end, ps.
    pub end_ps: Time,
    /// 64-bit hash of the frames that links carried and the packets that nodes dropped.
    pub digest: u64,
    /// Number of flows that started.
    pub started: u64,
    /// Number of flows that finished.
    pub finished: u64,
    /// Counters of the mechanisms.
    pub counters: Counters,
    /// Classes of ports that had a pause storm, in order of node, port and class.
    pub storms: Vec<StormRecord>,
    /// One record per port of every node, in order of node and port.
    pub ports: Vec<PortRecord>,
    /// Names of the audit checks that passed.
    pub checks: Vec<&'static str>,
    /// Violations that the audit found.
    pub violations: Vec<Violation>,
    /// Deadlocks in the order in which they were found: cycles of ports that wait for each other.
    pub deadlocks: Vec<DeadlockRecord>,
    /// Description of the ports that wait for each other, if the run stalled or deadlocked.
    /// Otherwise, flows whose receivers are unreachable.
    pub stall: Vec<String>,
    /// Use of threads by the run. No other field depends on the number of threads.
    pub threads: ThreadUse,
    /// Wall-clock time of the event loop, in seconds.
    pub loop_seconds: f64,
}

/// A class of a port that had pause storms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StormRecord {
    /// The switch.
    pub node: NodeId,
    /// The port whose class was paused by its neighbour.
    pub port: u16,
    /// The neighbour.
    pub peer: NodeId,
    /// The class.
    pub class: u8,
    /// Counters of the watchdog.
    pub counts: StormCounters,
}

/// Progress of a run so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Simulated time, ps.
    pub now_ps: Time,
    /// Start time of the last flow or end of the run, whichever is later, ps.
    pub until_ps: Time,
    /// Number of flows that started.
    pub started: u64,
    /// Number of flows that finished.
    pub finished: u64,
    /// Total number of flows, if it is known in advance.
    pub flows: Option<u64>,
    /// Number of finished operations of ranks, including finished fractions of collectives, and the
    /// total number; `None`: the run has no ranks.
    pub operations: Option<(f64, u64)>,
    /// Number of frames that have arrived at the end of a link so far, over all links.
    pub packet_hops: u64,
    /// Time of the last arrival of a packet or start of a flow, ps.
    pub moved_ps: Time,
    /// The node ID of the switch with the most buffered bytes, and these bytes; `None`: all buffers
    /// are empty.
    pub fullest: Option<(NodeId, u64)>,
}

/// Receives the rows of tables during a run. It is called at probe times, never during an event.
pub trait Recorder {
    /// Receives rows of one table, in the order of [`Row::order`]. A table can need many calls. The
    /// rows are:
    ///
    /// - flows that finished since the last call and, at the end of the run, unfinished flows,
    /// - probes of all switches at one instant,
    /// - pauses that ended,
    /// - rows of the [`measures`](crate::measure) of the run.
    fn rows(&mut self, rows: &dyn Rows);
}
