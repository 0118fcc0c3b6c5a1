//! Records of a run, during the run and at its end. Another crate writes them to files.

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

/// Returns the tables of every run, in the order of the documents.
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
    /// Ports of the cycle. Each waits for the next, and the last waits for the first.
    pub ports: Vec<DeadPort>,
    /// Flows whose packets block other packets, ascending.
    pub flows: Vec<u32>,
}

/// A port of a switch in a deadlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadPort {
    /// The switch.
    pub node: NodeId,
    /// Port of that switch.
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
    /// Packets (data, ACK, control) that crossed a link: the unit of work.
    pub packet_hops: u64,
    /// Events that the engine handled.
    pub events: u64,
    /// Data packets that NICs sent, including retransmissions.
    pub data_packets: u64,
    /// ACKs sent by receivers.
    pub acks: u64,
    /// NAKs sent by receivers.
    pub naks: u64,
    /// CNPs sent by receivers.
    pub cnps: u64,
    /// Packets marked by ECN.
    pub marks: u64,
    /// INT records written.
    pub int_hops: u64,
    /// Number of links that failed or recovered during the run.
    pub link_changes: u64,
    /// Number of times that all switches received new routes.
    pub reroutes: u64,
    /// Packets that waited for a failed link and left by another link.
    pub rerouted_packets: u64,
    /// Counters of hop schemes.
    pub hop: HopCounters,
    /// Retransmitted data packets.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Packets dropped, per `DropCause`.
    pub drops: [u64; DROP_CAUSES],
    /// Data packets that a later packet of their flow overtook, without a loss.
    pub overtaken: u64,
    /// Data packets that arrived at their receiver out of order or twice, and were discarded.
    pub discarded: u64,
    /// Number of pause storms that watchdogs detected.
    pub storms: u64,
    /// Number of pause storms that ended.
    pub storms_restored: u64,
    /// Packets dropped in pause storms.
    pub storm_drops: u64,
    /// Notices that switches sent to senders.
    pub notices: u64,
    /// Data packets that switches trimmed to their headers.
    pub trims: u64,
    /// Headers that switches sent back to their senders.
    pub returned: u64,
    /// Counters of receiver-driven transports.
    pub driven: DrivenCounters,
}

/// A violated conservation law, or a loss that the scheme excludes. It is an error of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Short name of the check, such as `conservation`.
    pub check: &'static str,
    /// Description of the violation, with place and numbers.
    pub message: String,
}

/// Why a run stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every flow finished, and no event that makes progress is left.
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

/// Requested and used threads of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadUse {
    /// Threads that were requested.
    pub asked: u32,
    /// Threads that the run used.
    pub used: u32,
    /// Reason why `used` differs from `asked`; `None`: they are equal.
    pub why: Option<String>,
    /// Time that each thread can simulate without data of the others (lookahead), ps; `None`: one
    /// thread.
    pub lookahead_ps: Option<Time>,
    /// Numbers of synchronisation windows.
    pub windows: Windows,
    /// Number of frames that passed from one thread to another.
    pub crossed: u64,
    /// Largest number of lanes (groups of nodes that a thread simulates in turn) of a partition.
    pub lanes: u32,
}

impl Default for ThreadUse {
    /// One requested thread, and one used.
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

/// Numbers of windows of simulated time, at whose ends the threads synchronise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    /// Windows in which all threads worked.
    pub together: u64,
    /// Windows with so few events that one thread did all work.
    pub alone: u64,
}

/// A run as a whole.
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
    /// Names of the checks that passed.
    pub checks: Vec<&'static str>,
    /// Checks that failed.
    pub violations: Vec<Violation>,
    /// Cycles of ports that wait for each other, in the order in which they were found.
    pub deadlocks: Vec<DeadlockRecord>,
    /// For a run that stalled or deadlocked: a description of the ports that wait for each other.
    /// For others: flows whose receivers are unreachable.
    pub stall: Vec<String>,
    /// Use of threads by the run. No other field depends on it.
    pub threads: ThreadUse,
    /// Process time of the event loop in seconds, and the wall-clock time.
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
    /// Latest time of the start of the last flow, or of the end of the run, ps.
    pub until_ps: Time,
    /// Number of flows that started.
    pub started: u64,
    /// Number of flows that finished.
    pub finished: u64,
    /// Total number of flows, if it is known in advance.
    pub flows: Option<u64>,
    /// Number of finished operations of ranks, including finished parts of collectives, and the
    /// total number; `None`: there are no ranks.
    pub operations: Option<(f64, u64)>,
    /// Number of packet-hops so far: frames that reached the end of a link.
    pub packet_hops: u64,
    /// Time of the last arrival of a packet or start of a flow, ps.
    pub moved_ps: Time,
    /// The node number of the switch with the fullest buffer, and its bytes; `None`: all buffers
    /// are empty.
    pub fullest: Option<(NodeId, u64)>,
}

/// Receives the tables during a run. Calls come at probe times, never during an event.
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
