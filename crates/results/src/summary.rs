//! Fields of `summary.json`, the summary of a run.

use std::collections::BTreeMap;

use fabric::record::{Outcome, ThreadUse};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::info::AskedLoad;
use crate::stats::Distribution;
use crate::workloads::WorkloadSummary;

/// Maximum payload of a short flow, in bytes.
pub const SHORT_UP_TO_BYTES: u64 = 10_000;

/// Payload in bytes above which a flow is long. Flows between short and long are medium.
pub const LONG_FROM_BYTES: u64 = 1_000_000;

/// Fields of `summary.json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Version of Backwater.
    pub backwater: String,
    /// Name of the scenario.
    pub name: String,
    /// Name of the scheme.
    pub scheme: String,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Hash of all inputs that the result depends on. `None`: the caller did not compute one.
    pub key: Option<String>,
    /// Digest of the run as 16 hexadecimal digits: a hash of all arrivals, drops and final
    /// counters.
    pub digest: String,
    /// Why the run stopped: `drained`, `time-limit`, `stalled`, `deadlock` or `interrupted`.
    pub ending: &'static str,
    /// True if the user interrupted the run. The summary then covers the time until the
    /// interruption.
    pub partial: bool,
    /// True if all checks succeeded.
    pub ok: bool,
    /// Simulated time at which the run ended, in ps.
    pub end_ps: u64,
    /// Start of the measured time, in ps. Flows that started earlier are not in the statistics.
    pub measure_from_ps: u64,
    /// Event that ends the completion time (FCT) of a flow: `"received"` (last byte received) or
    /// `"acked"` (last ACK received).
    pub fct_until: &'static str,
    /// End of the measured time, in ps, for loads and buffer statistics.
    pub measure_to_ps: u64,
    /// Numbers of flows that started, finished, and so on.
    pub flows: Flows,
    /// FCT and FCT slowdown, by flow size.
    pub fct: FctBins,
    /// Occupancy of the buffers of switches.
    pub buffer: Buffer,
    /// Percentiles of tables that declare a summary
    /// ([`Row::SUMMARY`](fabric::record::Row::SUMMARY)), by the key that they declare. `None`: the
    /// table was not recorded.
    #[serde(flatten)]
    pub percentiles: BTreeMap<&'static str, Option<Percentiles>>,
    /// Load of the core links. `None`: the network has no core.
    pub core: Option<Load>,
    /// Load of the links between hosts and switches.
    pub host: Load,
    /// Loads that the scenario requests.
    pub asked: Vec<AskedLoad>,
    /// Statistics of links by tier and direction.
    pub links: Vec<LinkGroup>,
    /// Time during which PFC paused ports, summed over all ports, in ps.
    pub pfc_paused_ps: u64,
    /// Number of dropped packets by cause, and their `total`.
    pub drops: BTreeMap<&'static str, u64>,
    /// Event counters of the schemes and of the network, by name.
    pub counters: BTreeMap<&'static str, u64>,
    /// Speed of the simulator.
    pub performance: Performance,
    /// Results of workloads. The key is omitted without workloads.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<WorkloadSummary>,
    /// Names of the checks that succeeded.
    pub checks: Vec<String>,
    /// Checks that failed.
    pub violations: Vec<ViolationLine>,
    /// Classes of ports in which the watchdog found storms of pauses. The key is omitted if the
    /// list is empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub storm_queues: Vec<StormQueue>,
    /// Deadlocks: cycles of ports that wait for each other, so that none of these ports can ever
    /// send again.
    pub deadlocks: Vec<Deadlock>,
    /// Description of the ports that wait for each other, if the run stalled or deadlocked.
    /// Otherwise, flows whose receivers are unreachable.
    pub stall: Vec<String>,
    /// Warnings about the scenario and about the results.
    pub warnings: Vec<String>,
    /// Properties of real networks that the model of this scenario omits.
    pub not_modelled: Vec<String>,
    /// Names of the tiers, lowest first. The lowest tier is that of the hosts.
    pub tiers: Vec<String>,
}

/// Counters of the PFC watchdog for one class of a port.
// PFCWD-08
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StormQueue {
    /// The port, as "switch->neighbour".
    pub port: String,
    /// The traffic class.
    pub class: u8,
    /// Number of pause storms that the watchdog detected.
    pub storms: u64,
    /// Number of pause storms that ended.
    pub restored: u64,
    /// Number of packets dropped in pause storms.
    pub dropped: u64,
    /// Number of packets sent in pause storms.
    pub sent: u64,
}

/// Numbers of flows of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Flows {
    /// Number of flows that started.
    pub started: u64,
    /// Number of flows that finished: the receiver has all bytes and the sender has the last ACK.
    pub finished: u64,
    /// Number of flows that started and did not finish.
    pub unfinished: u64,
    /// Number of flows in the statistics: they started after the warm-up.
    pub measured: u64,
}

/// FCT by flow size. Flows of an incast are counted separately, not by size.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FctBins {
    /// Flows with at most [`SHORT_UP_TO_BYTES`] of payload.
    pub short: FctBin,
    /// Flows whose payload is between those of short and long flows.
    pub medium: FctBin,
    /// Flows with more than [`LONG_FROM_BYTES`] of payload.
    pub long: FctBin,
    /// Flows of an incast, of any size.
    pub incast: FctBin,
}

/// FCT of the flows of one size, until the event that [`Summary::fct_until`] states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FctBin {
    /// Number of flows that finished.
    pub finished: u64,
    /// Number of flows that did not finish. The distributions do not include them.
    pub unfinished: u64,
    /// FCT slowdown: FCT divided by the ideal FCT, that of a flow alone in the network.
    pub slowdown: Option<Distribution>,
    /// FCT, in ps.
    pub fct_ps: Option<Distribution>,
}

/// Statistics of the bytes buffered in switches, over the probes in the measured time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Buffer {
    /// Number of samples (one per switch and probe).
    pub samples: u64,
    /// Median of the buffered bytes.
    pub p50_bytes: u64,
    /// 99th percentile of the buffered bytes.
    pub p99_bytes: u64,
    /// Maximum of the buffered bytes over the whole run.
    pub max_bytes: u64,
    /// Buffered bytes by tier of the switch.
    pub tiers: Vec<TierBuffer>,
}

/// Buffered bytes of the switches of one tier.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TierBuffer {
    /// Name of the tier.
    pub tier: String,
    /// Median of the buffered bytes.
    pub p50_bytes: u64,
    /// 99th percentile of the buffered bytes.
    pub p99_bytes: u64,
    /// Maximum of the buffered bytes over the whole run.
    pub max_bytes: u64,
}

/// Percentiles of a histogram, for example of queue lengths or RTTs. Each value is the lower edge
/// of a bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Percentiles {
    /// Unit of the values, `bytes` or `ps`. It is the suffix of the keys in `summary.json`.
    pub unit: &'static str,
    /// Total number of samples.
    pub samples: u64,
    /// Median.
    pub p50: u64,
    /// 95th percentile.
    pub p95: u64,
    /// 99th percentile.
    pub p99: u64,
    /// Maximum.
    pub max: u64,
}

impl Serialize for Percentiles {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(5))?;
        map.serialize_entry("samples", &self.samples)?;
        let values = [
            ("p50", self.p50),
            ("p95", self.p95),
            ("p99", self.p99),
            ("max", self.max),
        ];
        for (name, value) in values {
            map.serialize_entry(&format!("{name}_{}", self.unit), &value)?;
        }
        map.end()
    }
}

/// Load of the core links or of the host links, as fractions of their capacity in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Load {
    /// Capacity in one direction, in bit/s.
    pub capacity_bps: u64,
    /// Payload of flows over these links that started in the measured time. The value is above 1 if
    /// the flows offer more than the links can carry.
    pub offered: f64,
    /// Payload of flows over these links that started in the measured time and whose last byte was
    /// received in it.
    pub carried: f64,
    /// All bytes sent over these links in the whole run, including headers and control frames; mean
    /// of both directions.
    pub wire: f64,
}

/// Statistics of all links between two tiers in one direction, over the whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LinkGroup {
    /// Tier of the sending nodes.
    pub from: String,
    /// Tier of the receiving nodes.
    pub to: String,
    /// Number of sending ports.
    pub ports: u64,
    /// Total capacity of the sending ports, in bit/s.
    pub capacity_bps: u64,
    /// All bytes sent (including headers and control frames), as a fraction of the capacity.
    pub wire_utilisation: f64,
    /// Bytes of data packets (with headers and retransmissions), as a fraction of the capacity.
    pub data_utilisation: f64,
    /// Time during which PFC paused the sending ports, summed over the ports, in ps.
    pub paused_ps: u64,
    /// `paused_ps` as a fraction of (number of ports × duration of the run).
    pub paused_fraction: f64,
    /// Number of times that PFC paused a class of a sending port.
    pub pauses: u64,
    /// Number of PFC frames with XOFF that the sending ports received, including repeated ones.
    pub pause_frames: u64,
    /// Number of packets that the sending ports marked (ECN).
    pub marked: u64,
    /// Number of packets that the sending ports dropped.
    pub dropped: u64,
    /// Maximum queue length of a sending port, in bytes.
    pub max_queue_bytes: u64,
}

/// Use of threads by a run. All other results are independent of the number of threads.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ThreadLine {
    /// Number of threads that were requested.
    pub asked: u32,
    /// Number of threads that the run used.
    pub used: u32,
    /// The reason why the used number differs from the requested number; `None` if they are equal.
    pub why: Option<String>,
    /// Lookahead: simulated time that each thread can process without data of other threads, in ps.
    pub look_ahead_ps: Option<u64>,
    /// Number of synchronisation windows in which all threads worked.
    pub windows_together: u64,
    /// Number of synchronisation windows with so few events that one thread did all work.
    pub windows_alone: u64,
    /// Number of frames that went from one thread to another.
    pub crossed: u64,
    /// Maximum number of lanes (groups of nodes that one thread simulates in turn) per thread.
    pub lanes: u32,
}

impl ThreadLine {
    fn of(threads: &ThreadUse) -> Self {
        Self {
            asked: threads.asked,
            used: threads.used,
            why: threads.why.clone(),
            look_ahead_ps: threads.lookahead_ps,
            windows_together: threads.windows.together,
            windows_alone: threads.windows.alone,
            crossed: threads.crossed,
            lanes: threads.lanes,
        }
    }
}

/// Speed of the simulator.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Performance {
    /// Number of packet-hops: transmissions of a packet over a link.
    pub packet_hops: u64,
    /// Packet-hops per second of the event loop.
    pub packet_hops_per_s: f64,
    /// Number of events that were handled.
    pub events: u64,
    /// Events per packet-hop.
    pub events_per_hop: f64,
    /// Duration of the event loop, in seconds of wall-clock time.
    pub loop_seconds: f64,
    /// Wall-clock time from the creation of the results directory to the summary, in seconds.
    pub wall_seconds: f64,
    /// The threads that the run used.
    pub threads: ThreadLine,
}

impl Performance {
    pub(crate) fn of(outcome: &Outcome, wall_seconds: f64) -> Self {
        let hops = outcome.counters.packet_hops;
        let ratio = |a: f64, b: f64| if b > 0.0 { a / b } else { 0.0 };
        Self {
            packet_hops: hops,
            packet_hops_per_s: ratio(hops as f64, outcome.loop_seconds),
            events: outcome.counters.events,
            events_per_hop: ratio(outcome.counters.events as f64, hops as f64),
            loop_seconds: outcome.loop_seconds,
            wall_seconds,
            threads: ThreadLine::of(&outcome.threads),
        }
    }
}

/// A deadlock: ports that wait for each other in a cycle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Deadlock {
    /// Time at which the pause that closed the cycle took effect, in ps.
    pub at_ps: u64,
    /// Time at which the simulator found the cycle, in ps.
    pub seen_ps: u64,
    /// Ports as `from->to`. Each port waits for the next one, and the last port waits for the
    /// first.
    pub ports: Vec<String>,
    /// Bytes in the queues of these ports.
    pub bytes: u64,
    /// IDs of the flows whose packets block other packets.
    pub flows: Vec<u32>,
}

/// A check of the audit that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ViolationLine {
    /// Name of the check.
    pub check: String,
    /// Description of the failure.
    pub message: String,
}

impl Summary {
    /// Returns the summary as indented JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        // This cannot fail: all keys of maps are texts, and writing into a string succeeds.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}
