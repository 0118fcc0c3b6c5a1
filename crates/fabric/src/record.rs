//! What a run tells while it goes and when it ends. Writing it down is another crate's work.

use dataplane::nic::DrivenCounters;
use dataplane::sink::DROP_CAUSES;
use dataplane::switch::FloodgateCounters;
use dataplane::units::Time;
use traffic::Flow;

/// One flow, finished or not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowRecord {
    /// What was asked.
    pub flow: Flow,
    /// When the receiver had the last byte, in ps; `None`: it never had.
    pub received_ps: Option<Time>,
    /// When the sender had the last acknowledgement, in ps; `None`: it never had.
    pub acked_ps: Option<Time>,
    /// FCT to the receiver's last byte of the flow alone in the network, in ps.
    pub ideal_received_ps: Time,
    /// FCT to the sender's last ACK of the flow alone in the network, in ps.
    pub ideal_acked_ps: Time,
    /// Data packets sent again.
    pub retransmitted: u32,
}

/// A probe of one switch, or equal ones in a row: while the network is empty, all see the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferSample {
    /// When; of several, the last.
    pub at_ps: Time,
    /// When the first of them was; equal to `at_ps` where it is one.
    pub from_ps: Time,
    /// How many probes, at equal distances; at least 1.
    pub probes: u64,
    /// Which node.
    pub node: u32,
    /// Bytes in its shared buffer.
    pub used_bytes: u64,
    /// Bytes queued at its fullest port, with what is held for it.
    pub max_port_bytes: u64,
}

/// One interval during which PFC held a port's class, or that was still open at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseRecord {
    /// The node that had to wait.
    pub node: u32,
    /// Its port.
    pub port: u16,
    /// The class.
    pub class: u8,
    /// XOFF took effect, ps.
    pub from_ps: Time,
    /// XON took effect, or the run ended, ps.
    pub to_ps: Time,
    /// XON never came: the interval was still open when the run ended.
    pub open: bool,
    /// Which of the pauses that held this port and class it was, counted from 1, where pauses are
    /// followed.
    pub number: Option<u32>,
}

/// What is recorded of single pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseRecording {
    /// Name the flows that wait for them.
    pub flows: bool,
}

/// A pause (PFC) at the moment that a switch decided on it: which, with what in its buffer, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CauseRecord {
    /// When, ps.
    pub at_ps: Time,
    /// The switch, and the ingress that it pauses.
    pub node: u32,
    /// Port of the switch.
    pub port: u16,
    /// The node upstream, which is held.
    pub peer: u32,
    /// Its port.
    pub peer_port: u16,
    /// The class.
    pub class: u8,
    /// Which of the pauses of this port and class, counted from 1.
    pub number: u32,
    /// Bytes of the ingress and class, in reserve, pool and headroom.
    pub held_bytes: u64,
    /// What its bytes in the pool were compared with.
    pub threshold_bytes: u64,
    /// Bytes of the pool in use, by all.
    pub pool_bytes: u64,
    /// The ingress was a victim port until then (SPFC).
    pub victim: bool,
    /// Egress port at which most of the bytes wait.
    pub egress: u16,
    /// The node that it leads to.
    pub egress_peer: u32,
    /// Bytes of the ingress and class that wait there.
    pub egress_bytes: u64,
    /// The pause that caused this one: its number among those that hold `egress` and the class; `None`:
    /// a root.
    pub parent: Option<u32>,
    /// 1 for a root, one more than its cause's for others.
    pub depth: u16,
    /// The switch with the congested port.
    pub root_node: u32,
    /// The congested port.
    pub root_port: u16,
    /// The node that it leads to.
    pub root_peer: u32,
}

/// What pauses with a common congested port did to a flow at a port that they held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldFlowRecord {
    /// Number of the flow.
    pub flow: u32,
    /// The node that was held.
    pub node: u32,
    /// Its port.
    pub port: u16,
    /// The node that this port leads to.
    pub peer: u32,
    /// The switch with the congested port.
    pub root_node: u32,
    /// The congested port.
    pub root_port: u16,
    /// The node that it leads to.
    pub root_peer: u32,
    /// Pauses for which the flow waited.
    pub pauses: u64,
    /// How long, ps.
    pub held_ps: Time,
    /// Its path does not lead through the congested port.
    pub victim: bool,
}

/// Queues of switches that wait for each other, so that none of them can ever send again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadlockRecord {
    /// When the pause took effect that closed the circle, ps; where BFC pauses, `seen_ps`.
    pub at_ps: Time,
    /// When it was found, ps.
    pub seen_ps: Time,
    /// Each waits for the next, and the last for the first.
    pub ports: Vec<DeadPort>,
    /// Flows with packets in them that hold others, ascending.
    pub flows: Vec<u32>,
}

/// A port of a switch in a deadlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeadPort {
    /// The switch.
    pub node: u32,
    /// Its port.
    pub port: u16,
    /// The switch at the other end, which holds it.
    pub peer: u32,
    /// Class of the queue that is held.
    pub class: u8,
    /// Bytes in that queue when it was found.
    pub bytes: u64,
}

/// What is recorded besides what every run tells; nothing by default. The rules are in
/// `specs/record.md`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordSpec {
    /// Bytes that each flow's receiver got, per interval of this length, ps.
    pub throughput_ps: Option<Time>,
    /// Queues of chosen ports over time.
    pub queues: Option<QueueSeries>,
    /// How often the queues of switch ports had which length.
    pub histogram: Option<QueueHistogram>,
    /// How often senders saw which round trip.
    pub rtt: Option<RttHistogram>,
    /// How often data packets waited how long at switch ports.
    pub delay: Option<DelayHistogram>,
    /// Single pauses: what was in the buffer, which caused which, which flows they held.
    pub pauses: Option<PauseRecording>,
    /// How long data waited in switches: packets that leave from the first (included) to the second
    /// (not included), ps.
    pub waiting_ps: Option<(Time, Time)>,
}

/// How often data packets waited how long at switch ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayHistogram {
    /// Width of a bin, ps; above 0.
    pub bin_ps: Time,
    /// Packets count that leave from the first (included) to the second (not included), ps.
    pub window_ps: (Time, Time),
}

/// How many data packets waited so long at one port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayBin {
    /// The node that holds the queue.
    pub node: u32,
    /// Its port.
    pub port: u16,
    /// The node at the other end.
    pub peer: u32,
    /// The packets were granted by their receiver (Homa), or the scheme knows no others.
    pub scheduled: bool,
    /// Lower edge of the bin, ps.
    pub bin_ps: Time,
    /// Packets, at least 1.
    pub samples: u64,
}

/// Queues of chosen ports over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueSeries {
    /// Time between two samples, ps; above 0.
    pub every_ps: Time,
    /// Of which ports.
    pub ports: RecordedPorts,
}

/// Ports that are recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordedPorts {
    /// All ports of all switches.
    Switches,
    /// These ports of switches, as (node, port).
    Listed(Vec<(u32, u16)>),
}

/// How often the queues of switch ports had which length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueHistogram {
    /// Time between two samples, ps; above 0.
    pub every_ps: Time,
    /// Width of a bin, bytes; above 0.
    pub bin_bytes: u64,
    /// Samples are taken from the first (included) to the second (not included), ps.
    pub window_ps: (Time, Time),
}

/// How often senders saw which round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttHistogram {
    /// Width of a bin, ps; above 0.
    pub bin_ps: Time,
    /// ACKs count that arrive from the first (included) to the second (not included), ps.
    pub window_ps: (Time, Time),
}

/// How long data packets waited in a switch before they left by a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingRecord {
    /// The switch.
    pub node: u32,
    /// The port by which they left.
    pub port: u16,
    /// The node at the other end of its link.
    pub peer: u32,
    /// Whether their flows belong to an incast.
    pub incast: bool,
    /// How many packets.
    pub packets: u64,
    /// From the arrival of each to the start of its transmission, together, ps.
    pub total_ps: u128,
    /// The longest of these times, ps.
    pub max_ps: Time,
}

/// Payload that one flow's receiver got in order in one interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThroughputRecord {
    /// End of the interval, ps.
    pub at_ps: Time,
    /// Number of the flow.
    pub flow: u32,
    /// Payload bytes, at least 1.
    pub bytes: u64,
}

/// A sample of one port's queue that differs from the sample before it, or is the port's first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueSample {
    /// When.
    pub at_ps: Time,
    /// The node that holds the queue.
    pub node: u32,
    /// Its port.
    pub port: u16,
    /// The node at the other end.
    pub peer: u32,
    /// Bytes queued for the port, of all classes.
    pub bytes: u64,
}

/// How many samples of one port's queue fell into one bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueBin {
    /// The node that holds the queue.
    pub node: u32,
    /// Its port.
    pub port: u16,
    /// The node at the other end.
    pub peer: u32,
    /// Lower edge of the bin, bytes.
    pub bin_bytes: u64,
    /// Samples, at least 1.
    pub samples: u64,
}

/// How many round trips fell into one bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttBin {
    /// Lower edge of the bin, ps.
    pub bin_ps: Time,
    /// Round trips, at least 1.
    pub samples: u64,
}

/// Everything counted at one port (its sending direction), over the whole run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PortRecord {
    /// Node that sends.
    pub node: u32,
    /// Port of the node.
    pub port: u16,
    /// Node at the other end.
    pub peer: u32,
    /// Speed in bits per second.
    pub rate_bps: u64,
    /// Propagation delay in ps.
    pub delay_ps: Time,
    /// Frames sent.
    pub tx_packets: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Of them data packets.
    pub tx_data_packets: u64,
    /// Bytes of data packets, headers included.
    pub tx_data_bytes: u64,
    /// Bytes of ACKs, NAKs and CNPs.
    pub tx_reply_bytes: u64,
    /// Bytes of Floodgate's credits.
    pub tx_credit_bytes: u64,
    /// Data packets that left marked by this port.
    pub marked: u64,
    /// Packets dropped that were to leave by this port, per `DropCause`; by `Link`: that left by it
    /// and were lost on its link.
    pub dropped: [u64; DROP_CAUSES],
    /// Most bytes ever queued at this port.
    pub max_queue_bytes: u64,
    /// The same with what Floodgate held for this port in VOQs.
    pub max_port_bytes: u64,
    /// XOFF transitions received.
    pub pauses: u64,
    /// XON transitions received.
    pub resumes: u64,
    /// Time during which at least one class was paused by PFC, ps.
    pub paused_ps: Time,
    /// Histogram of active flows (at least one packet queued at the port) over the probes:
    /// element n counts the probes that saw n; the last element counts those that saw more.
    pub active_flows: Vec<u64>,
}

/// What the mechanisms did, summed over the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets (data, ACK, control) that crossed a link: the unit of work.
    pub packet_hops: u64,
    /// Events that the engine handled.
    pub events: u64,
    /// Data packets injected by NICs, retransmissions included.
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
    /// Links that failed or came back during the run.
    pub link_changes: u64,
    /// Times that all switches got new routes.
    pub reroutes: u64,
    /// Packets that waited for a link that had failed, and went on by another.
    pub rerouted_packets: u64,
    /// PFC pause frames sent.
    pub pfc_pauses: u64,
    /// PFC resume frames sent.
    pub pfc_resumes: u64,
    /// BFC pause frames sent.
    pub bfc_pauses: u64,
    /// BFC resume frames sent.
    pub bfc_resumes: u64,
    /// BFC bitmaps sent.
    pub bfc_bitmaps: u64,
    /// BFC: flows that got a queue which the periodic map wrongly called empty.
    pub bfc_stale_assignments: u64,
    /// BFC: flows that found all queues taken and shared one.
    pub bfc_shared_queue: u64,
    /// BFC: new flows whose flow-table entry was in use by another flow.
    pub bfc_table_collisions: u64,
    /// What Floodgate did; the largest values are those of the switch that had them.
    pub floodgate: FloodgateCounters,
    /// SPFC: packets that victim ports kept though the normal threshold would have paused them.
    pub spfc_spared: u64,
    /// SPFC: pauses of ports that were victim ports.
    pub spfc_victim_pauses: u64,
    /// Data packets sent again.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Packets dropped, per `DropCause`.
    pub drops: [u64; DROP_CAUSES],
    /// Data packets that were overtaken by a later one of their flow, without a loss.
    pub overtaken: u64,
    /// Data packets that arrived at their receiver out of order or twice, and were discarded.
    pub discarded: u64,
    /// Data packets that switches trimmed to their headers.
    pub trims: u64,
    /// Headers that switches sent back to their senders.
    pub returned: u64,
    /// What receiver-driven transports did.
    pub driven: DrivenCounters,
}

/// A broken law of conservation, or a promise not kept: the run is in error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Short name of the check, such as `conservation`.
    pub check: &'static str,
    /// What is wrong, where, with numbers.
    pub message: String,
}

/// Why a run stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Nothing that can make progress is left, and every flow finished.
    Drained,
    /// The time limit of the scenario.
    TimeLimit,
    /// Nothing can make progress, but flows are unfinished.
    Stalled,
    /// Ports wait for each other in a circle, and the scenario wants no more of it.
    Deadlocked,
    /// The user interrupted it.
    Interrupted,
}

/// How many threads a run was to have and had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadUse {
    /// Threads that were requested.
    pub asked: u32,
    /// Threads that the run had.
    pub used: u32,
    /// Why that is not the same.
    pub why: Option<String>,
    /// Of several threads, how long each can go on without the others (the lookahead), ps.
    pub lookahead_ps: Option<Time>,
    /// The windows in which they went on.
    pub windows: Windows,
    /// Frames that were handed from thread to thread.
    pub crossed: u64,
    /// Lanes of the partition that has most of them.
    pub lanes: u32,
}

impl Default for ThreadUse {
    /// One, as asked.
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

/// Windows of time between which threads meet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    /// In which all threads worked.
    pub together: u64,
    /// With so little to do that one thread did it all.
    pub alone: u64,
}

/// A run as a whole.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Why it stopped.
    pub ending: Ending,
    /// Simulated time at the end, ps.
    pub end_ps: Time,
    /// 64-bit digest of the trajectory.
    pub digest: u64,
    /// Flows that started.
    pub started: u64,
    /// Flows that finished.
    pub finished: u64,
    /// What the mechanisms did.
    pub counters: Counters,
    /// One record per port of every node, in order of node and port.
    pub ports: Vec<PortRecord>,
    /// Checks that were made and held, by name.
    pub checks: Vec<&'static str>,
    /// Checks that failed.
    pub violations: Vec<Violation>,
    /// Circles of ports that wait for each other, in the order in which they were found.
    pub deadlocks: Vec<DeadlockRecord>,
    /// For a run that stalled or deadlocked: who waits on whom; for others, flows whose receivers cannot be reached.
    pub stall: Vec<String>,
    /// How many threads did it. All else in here does not depend on that.
    pub threads: ThreadUse,
    /// Process time of the event loop in seconds, and the wall-clock time.
    pub loop_seconds: f64,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Simulated time, ps.
    pub now_ps: Time,
    /// When the last flow starts or the run ends at the latest, ps.
    pub until_ps: Time,
    /// Flows started.
    pub started: u64,
    /// Flows finished.
    pub finished: u64,
    /// Flows that the traffic has in all, where that is known beforehand.
    pub flows: Option<u64>,
    /// Packet-hops so far.
    pub packet_hops: u64,
}

/// Takes what a run tells while it goes. Calls come at probe times, never from inside an event.
pub trait Recorder {
    /// Flows that finished since the last call (in order of time, then flow), and at the end of
    /// the run the unfinished ones.
    fn flows(&mut self, records: &[FlowRecord]);
    /// Probes of all switches at one instant.
    fn buffers(&mut self, samples: &[BufferSample]);
    /// Pause intervals that ended, and at the end of the run those that did not.
    fn pauses(&mut self, records: &[PauseRecord]);
    /// Throughput of intervals that are over, in order of time, then flow. Like all that follows
    /// only called where a [`RecordSpec`] requests it.
    fn throughput(&mut self, _records: &[ThroughputRecord]) {}
    /// Samples of queues, in order of time, then node and port.
    fn port_queues(&mut self, _samples: &[QueueSample]) {}
    /// At the end of the run: the histogram of queues, in order of node, port and bin.
    fn queue_histogram(&mut self, _bins: &[QueueBin]) {}
    /// At the end of the run: the histogram of round trips, in order of the bins.
    fn rtt(&mut self, _bins: &[RttBin]) {}
    /// At the end of the run: the histogram of waiting times, in order of node, port, whether they
    /// were scheduled, and bin.
    fn delay_histogram(&mut self, _bins: &[DelayBin]) {}
    /// Pauses that switches decided on since the last call, in order of time.
    fn causes(&mut self, _records: &[CauseRecord]) {}
    /// At the end of the run: flows that pauses held, in order of flow, held port and congested port.
    fn held_flows(&mut self, _records: &[HeldFlowRecord]) {}
    /// At the end of the run: how long data waited, in order of node and port, incasts last.
    fn waiting(&mut self, _records: &[WaitingRecord]) {}
}
