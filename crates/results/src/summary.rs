//! The summary of a run (`summary.json`), and the counters and histograms that it is computed from.

use crate::info::{AskedLoad, NodeInfo, ParallelEnd, RunInfo};
use crate::lone_flows::LoneFlows;
use crate::stats::{Bins, Distribution, Histogram};
use crate::workloads::{WorkloadSummary, WorkloadTally};
use dataplane::classes::traffic_class;
use dataplane::ids::IndexVec;
use dataplane::nic::DrivenCounters;
use dataplane::sink::DropCause;
use fabric::NodeId;
use fabric::measure::MEASURES;
use fabric::record::{
    BufferSample, CollectiveRecord, Counters, DROP_NAMES, Ending, FlowRecord, Outcome, PortRecord,
    RankRecord, Rows, StormRecord, ThreadUse,
};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use std::collections::BTreeMap;

/// Maximum payload of a short flow, in bytes.
pub const SHORT_UP_TO_BYTES: u64 = 10_000;

/// A flow with more payload bytes than this is long. A flow that is neither short nor long is
/// medium.
pub const LONG_FROM_BYTES: u64 = 1_000_000;

/// Maximum number of flows faster than their ideal that the summary lists individually.
const EXAMPLES: u64 = 10;

/// The content of `summary.json`.
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
    /// Digest of the trajectory, 16 hexadecimal digits.
    pub digest: String,
    /// Why the run stopped: `drained`, `time-limit`, `stalled`, `deadlock` or `interrupted`.
    pub ending: &'static str,
    /// The run was interrupted. The summary covers the part until then.
    pub partial: bool,
    /// All checks succeeded.
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
    /// Numbers of flows.
    pub flows: Flows,
    /// FCT and FCT slowdown by size of the flow.
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
    /// Results of workloads. The key is omitted if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<WorkloadSummary>,
    /// Names of the checks that succeeded.
    pub checks: Vec<String>,
    /// Checks that did not hold.
    pub violations: Vec<ViolationLine>,
    /// Classes of ports that had storms of pauses. Without any the key is left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub storm_queues: Vec<StormQueue>,
    /// Circles of ports that wait for each other, so that none of them can ever send again.
    pub deadlocks: Vec<Deadlock>,
    /// Who waits on whom, if the run stalled or deadlocked; else flows whose receivers cannot be
    /// reached.
    pub stall: Vec<String>,
    /// Warnings about the scenario and about the results.
    pub warnings: Vec<String>,
    /// Properties of real networks that the model of this scenario omits.
    pub not_modelled: Vec<String>,
    /// Names of the tiers, lowest first. The lowest is the tier of the hosts.
    pub tiers: Vec<String>,
}

/// Counters of the watchdog for one class of a port.
// PFCWD-08
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StormQueue {
    /// The port, as "switch->neighbour".
    pub port: String,
    /// The traffic class.
    pub class: u8,
    /// Storms detected.
    pub storms: u64,
    /// Storms that ended.
    pub restored: u64,
    /// Packets dropped in storms.
    pub dropped: u64,
    /// Packets sent in storms.
    pub sent: u64,
}

/// Numbers of flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Flows {
    /// Flows that started.
    pub started: u64,
    /// Flows that finished: the receiver has all bytes and the sender has the last ACK.
    pub finished: u64,
    /// Flows that started and did not finish.
    pub unfinished: u64,
    /// Flows in the statistics: they started after the warm-up.
    pub measured: u64,
}

/// FCT by size of the flow. Flows of an incast are counted separately, not by size.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FctBins {
    /// Flows of at most [`SHORT_UP_TO_BYTES`].
    pub short: FctBin,
    /// Flows between short and long.
    pub medium: FctBin,
    /// Flows of more than [`LONG_FROM_BYTES`].
    pub long: FctBin,
    /// Flows of an incast, of any size.
    pub incast: FctBin,
}

/// FCT of the flows of one bin, until the event that [`Summary::fct_until`] names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FctBin {
    /// Flows that finished.
    pub finished: u64,
    /// Flows that did not finish. The distributions do not include them.
    pub unfinished: u64,
    /// FCT divided by the FCT that the flow would have alone in the network.
    pub slowdown: Option<Distribution>,
    /// FCT, in ps.
    pub fct_ps: Option<Distribution>,
}

/// Occupancy of the buffers of all switches, over the probes in the measured time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Buffer {
    /// Number of probes.
    pub samples: u64,
    /// Median, in bytes.
    pub p50_bytes: u64,
    /// 99th percentile, in bytes.
    pub p99_bytes: u64,
    /// Maximum over the whole run, in bytes.
    pub max_bytes: u64,
    /// The same values by tier.
    pub tiers: Vec<TierBuffer>,
}

/// Occupancy of the buffers of one tier.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TierBuffer {
    /// Name of the tier.
    pub tier: String,
    /// Median, in bytes.
    pub p50_bytes: u64,
    /// 99th percentile, in bytes.
    pub p99_bytes: u64,
    /// Maximum over the whole run, in bytes.
    pub max_bytes: u64,
}

/// Percentiles of a histogram, for example of sampled queue lengths of switch ports, or of
/// round-trip times that senders measured. Each value is the lower edge of its bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Percentiles {
    /// Unit of the values, `bytes` or `ps`. It is the suffix of their names in `summary.json`.
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
    /// Payload of flows over these links that started in the measured time. Above 1: the flows
    /// offer more than the links can carry.
    pub offered: f64,
    /// Payload of flows over these links that started in the measured time and whose last byte was
    /// received in it.
    pub carried: f64,
    /// All bytes sent over these links in the whole run, mean of both directions.
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
    /// Total capacity, in bit/s.
    pub capacity_bps: u64,
    /// All bytes sent, as a fraction of the capacity.
    pub wire_utilisation: f64,
    /// Bytes of data packets (with headers and retransmissions), as a fraction of the capacity.
    pub data_utilisation: f64,
    /// Time during which PFC paused the sending ports, summed over the ports, in ps.
    pub paused_ps: u64,
    /// The same time as a fraction of (number of ports × duration of the run).
    pub paused_fraction: f64,
    /// How often PFC began to pause a class of a sending port.
    pub pauses: u64,
    /// Number of PFC frames with XOFF that the sending ports received, including repeated ones.
    pub pause_frames: u64,
    /// Number of packets that the sending ports marked.
    pub marked: u64,
    /// Number of packets that the sending ports dropped.
    pub dropped: u64,
    /// Maximum queue length of a sending port, in bytes.
    pub max_queue_bytes: u64,
}

/// The threads of a run. All other results are the same for each number of threads.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ThreadLine {
    /// Number of threads that were requested.
    pub asked: u32,
    /// Number of threads that the run used.
    pub used: u32,
    /// The reason if the two numbers differ.
    pub why: Option<String>,
    /// Simulated time that each thread can process without data from the others, in ps.
    pub look_ahead_ps: Option<u64>,
    /// Number of time windows in which all threads worked.
    pub windows_together: u64,
    /// Number of time windows with so few events that one thread handled them all.
    pub windows_alone: u64,
    /// Number of frames that went from one thread to another.
    pub crossed: u64,
    /// Maximum number of lanes (parts of the network that one thread processes in turn) of a
    /// thread.
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
    /// Number of transmissions of a packet over a link.
    pub packet_hops: u64,
    /// Packet-hops per second of the event loop.
    pub packet_hops_per_s: f64,
    /// Number of events that were handled.
    pub events: u64,
    /// Events per packet-hop.
    pub events_per_hop: f64,
    /// Duration of the event loop, in seconds of wall-clock time.
    pub loop_seconds: f64,
    /// Wall-clock time from opening the directory to writing the summary, in seconds.
    pub wall_seconds: f64,
    /// The threads that the run used.
    pub threads: ThreadLine,
}

/// Ports that wait for each other in a cycle.
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
    /// Numbers of the flows whose packets block other packets.
    pub flows: Vec<u32>,
}

/// A check that failed.
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

#[derive(Default)]
struct BinTally {
    slowdown: Vec<f64>,
    fct_ps: Vec<f64>,
    unfinished: u64,
}

impl BinTally {
    fn bin(mut self) -> FctBin {
        FctBin {
            finished: self.slowdown.len() as u64,
            unfinished: self.unfinished,
            slowdown: Distribution::of(&mut self.slowdown),
            fct_ps: Distribution::of(&mut self.fct_ps),
        }
    }
}

/// The kinds of links that a flow crosses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Links {
    /// Links inside a GPU server.
    InServer,
    /// Host links: both hosts are connected to the same switch.
    Hosts,
    /// Host links, and core links between the switches of the two hosts.
    HostsAndCore,
}

/// Payload of flows in bytes, by the kind of links that the flows cross.
#[derive(Default)]
struct Payload {
    hosts: u128,
    core: u128,
}

impl Payload {
    fn add(&mut self, bytes: u64, links: Links) {
        if links != Links::InServer {
            self.hosts += u128::from(bytes);
        }
        if links == Links::HostsAndCore {
            self.core += u128::from(bytes);
        }
    }
}

/// Collects the statistics of a run while it runs.
pub(crate) struct Tally {
    pub(crate) info: RunInfo,
    short: BinTally,
    medium: BinTally,
    long: BinTally,
    incast: BinTally,
    /// Tier of each node as an index into `tiers`.
    tier_of: IndexVec<NodeId, usize>,
    /// Names of the tiers, lowest first.
    tiers: Vec<String>,
    /// Occupancy of buffers in the measured time, by tier.
    occupancy: Vec<Histogram>,
    /// Maximum occupancy of a buffer in the whole run, by tier.
    fullest: Vec<u64>,
    measured: u64,
    offered: Payload,
    carried: Payload,
    too_fast: Vec<ViolationLine>,
    too_fast_count: u64,
    lone: LoneFlows,
    /// Counts of the tables that declare a summary, by the key that they declare.
    bins: BTreeMap<&'static str, Bins>,
    workloads: WorkloadTally,
}

impl Tally {
    pub(crate) fn new(info: RunInfo) -> Self {
        let ranked: std::collections::BTreeSet<(u8, &str)> = info
            .nodes
            .iter()
            .map(|n| (n.level, n.tier.as_str()))
            .collect();
        let mut tiers: Vec<String> = Vec::new();
        for (_, name) in ranked {
            if !tiers.iter().any(|known| known == name) {
                tiers.push(name.to_owned());
            }
        }
        let place = |node: &NodeInfo| tiers.iter().position(|t| *t == node.tier).unwrap_or(0);
        Self {
            tier_of: info.nodes.iter().map(place).collect(),
            occupancy: vec![Histogram::default(); tiers.len()],
            fullest: vec![0; tiers.len()],
            tiers,
            info,
            short: BinTally::default(),
            medium: BinTally::default(),
            long: BinTally::default(),
            incast: BinTally::default(),
            measured: 0,
            offered: Payload::default(),
            carried: Payload::default(),
            too_fast: Vec::new(),
            too_fast_count: 0,
            lone: LoneFlows::default(),
            workloads: WorkloadTally::default(),
            bins: BTreeMap::new(),
        }
    }

    fn measures(&self, at_ps: u64) -> bool {
        at_ps >= self.info.measure_from_ps && self.info.measure_to_ps.is_none_or(|to| at_ps <= to)
    }

    /// Returns the kinds of links that flows between two hosts cross. A flow crosses the core if no
    /// switch is connected to both hosts. // TOP-27
    fn links_of(&self, src: u32, dst: u32) -> Links {
        let nodes = &self.info.nodes;
        let [from, to] = [src, dst].map(|host| &nodes[host as usize].switches);
        let mut shared = from.iter().filter(|switch| to.contains(switch));
        let inside = |&switch: &u32| nodes[switch as usize].scale_up;
        match shared.clone().next() {
            None => Links::HostsAndCore,
            Some(_) if shared.any(inside) => Links::InServer, // TOP-24
            Some(_) => Links::Hosts,
        }
    }

    fn flow(&mut self, record: &FlowRecord) {
        self.check_speed(record);
        self.lone.add(record);
        let flow = record.flow;
        // TOP-27: payload counts for the kinds of links that the flow crosses.
        if self.measures(flow.start_ps) {
            let links = self.links_of(flow.src, flow.dst);
            self.offered.add(flow.bytes, links);
            if record.received_ps.is_some_and(|at_ps| self.measures(at_ps)) {
                self.carried.add(flow.bytes, links);
            }
        }
        if flow.start_ps < self.info.measure_from_ps {
            return;
        }
        self.measured += 1;
        let bin = match flow.bytes {
            _ if flow.incast => &mut self.incast,
            0..=SHORT_UP_TO_BYTES => &mut self.short,
            bytes if bytes > LONG_FROM_BYTES => &mut self.long,
            _ => &mut self.medium,
        };
        let (slowdown, end_ps) = match self.info.fct_acked {
            false => (record.slowdown(), record.received_ps),
            true => (record.slowdown_acked(), record.acked_ps),
        };
        match slowdown {
            Some(slowdown) if record.is_finished() => {
                bin.slowdown.push(slowdown);
                let end_ps = end_ps.unwrap_or(flow.start_ps);
                bin.fct_ps.push(end_ps.saturating_sub(flow.start_ps) as f64);
            }
            _ => bin.unfinished += 1,
        }
    }

    /// Checks that no flow is faster than it would be alone in the network (slowdown ≥ 1). The
    /// tolerance of one millionth covers link rates whose time per byte is rounded.
    fn check_speed(&mut self, record: &FlowRecord) {
        if self.info.sprays || self.info.paths_change {
            return; // LNK-30
        }
        let ends = [
            (
                "receiver's last byte",
                record.received_ps,
                record.ideal_received_ps,
            ),
            ("sender's last ACK", record.acked_ps, record.ideal_acked_ps),
        ];
        for (what, end_ps, ideal_ps) in ends {
            let Some(end_ps) = end_ps else { continue };
            let fct_ps = end_ps.saturating_sub(record.flow.start_ps);
            if u128::from(fct_ps) * 1_000_000 >= u128::from(ideal_ps) * 999_999 {
                continue;
            }
            self.too_fast_count += 1;
            if self.too_fast_count <= EXAMPLES {
                let flow = &record.flow;
                self.too_fast.push(ViolationLine {
                    check: "slowdown".into(),
                    message: format!(
                        "flow {} ({} bytes, host {} to {}) took {fct_ps} ps to the {what}; \
                         alone in the network it takes {ideal_ps} ps",
                        flow.id, flow.bytes, flow.src, flow.dst
                    ),
                });
            }
        }
    }

    fn buffer(&mut self, sample: &BufferSample) {
        let tier = self.tier_of[sample.node];
        self.fullest[tier] = self.fullest[tier].max(sample.used_bytes);
        let measured = self.measured_probes(sample);
        self.occupancy[tier].add_many(sample.used_bytes, measured);
    }

    /// Returns how many of the probes that a sample summarises are in the measured time.
    fn measured_probes(&self, sample: &BufferSample) -> u64 {
        if sample.probes == 1 {
            return u64::from(self.measures(sample.at_ps));
        }
        let every_ps = (sample.at_ps - sample.from_ps) / (sample.probes - 1).max(1);
        let before = |at_ps: u64| {
            let elapsed = at_ps.saturating_sub(sample.from_ps);
            elapsed.div_ceil(every_ps.max(1)).min(sample.probes)
        };
        let to_ps = self.info.measure_to_ps.unwrap_or(u64::MAX);
        before(to_ps.saturating_add(1)).saturating_sub(before(self.info.measure_from_ps))
    }

    /// Counts the rows of a table. Tables that the summary does not use are ignored.
    pub(crate) fn rows(&mut self, rows: &dyn Rows) {
        if let Some(flows) = rows.of::<FlowRecord>() {
            flows.iter().for_each(|record| self.flow(record));
        } else if let Some(samples) = rows.of::<BufferSample>() {
            samples.iter().for_each(|sample| self.buffer(sample));
        } else if let Some(ranks) = rows.of::<RankRecord>() {
            self.workloads.ranks(ranks);
        } else if let Some(collectives) = rows.of::<CollectiveRecord>() {
            self.workloads.collectives(collectives);
        } else if let Some((key, _)) = rows.table().summary {
            let counts = self.bins.entry(key).or_default();
            for (bin, samples) in rows.bins() {
                counts.add(bin, samples);
            }
        }
    }

    /// Returns the percentiles of each table that declares a summary.
    fn percentiles(&self) -> BTreeMap<&'static str, Option<Percentiles>> {
        let tables = MEASURES.iter().flat_map(|measure| (measure.tables)());
        let keys = tables.filter_map(|table| table.summary);
        let of = |key, unit| {
            let bins = self.bins.get(key)?;
            Some(Percentiles {
                unit,
                samples: bins.len(),
                p50: bins.percentile(0.50)?,
                p95: bins.percentile(0.95)?,
                p99: bins.percentile(0.99)?,
                max: bins.percentile(1.0)?,
            })
        };
        keys.map(|(key, unit)| (key, of(key, unit))).collect()
    }

    pub(crate) fn summary(
        &mut self,
        outcome: &Outcome,
        warnings: &[String],
        wall_seconds: f64,
    ) -> Summary {
        let measure_to_ps = self.measure_to_ps(outcome);
        let violations = self.violations(outcome);
        let links = self.links(outcome);
        Summary {
            backwater: self.info.version.clone(),
            name: self.info.name.clone(),
            scheme: self.info.scheme.clone(),
            seed: self.info.seed,
            key: self.info.key.clone(),
            digest: format!("{:016x}", outcome.digest),
            ending: ending_name(outcome.ending),
            partial: outcome.ending == Ending::Interrupted,
            ok: violations.is_empty(),
            end_ps: outcome.end_ps,
            measure_from_ps: self.info.measure_from_ps,
            fct_until: if self.info.fct_acked {
                "acked"
            } else {
                "received"
            },
            measure_to_ps,
            flows: self.flows(outcome),
            fct: FctBins {
                short: std::mem::take(&mut self.short).bin(),
                medium: std::mem::take(&mut self.medium).bin(),
                long: std::mem::take(&mut self.long).bin(),
                incast: std::mem::take(&mut self.incast).bin(),
            },
            buffer: self.buffers(),
            percentiles: self.percentiles(),
            core: self.core_load(outcome, measure_to_ps),
            host: self.host_load(outcome, measure_to_ps),
            asked: self.info.asked.clone(),
            pfc_paused_ps: links.iter().map(|group| group.paused_ps).sum(),
            links,
            drops: drops(&outcome.counters),
            counters: counters(outcome),
            performance: performance(outcome, wall_seconds),
            workloads: self.workloads.summaries(&self.info.sources),
            checks: self.checks(outcome),
            violations,
            storm_queues: self.storm_queues(outcome),
            deadlocks: self.deadlocks(outcome),
            stall: outcome.stall.clone(),
            warnings: self.warnings(outcome, warnings),
            not_modelled: self.info.not_modelled.clone(),
            tiers: self.tiers.clone(),
        }
    }

    /// Returns the label of a port: "node->peer".
    fn port_label(&self, node: NodeId, port: u16, peer: NodeId) -> String {
        let name = |node: NodeId| self.info.nodes[node.index()].name.as_str();
        let end = |end: &&ParallelEnd| (end.node, end.port) == (node, port);
        let numbered = self.info.parallel.iter().find(end);
        let peer = numbered.map_or(name(peer), |end| end.peer_name.as_str());
        format!("{}->{peer}", name(node))
    }

    fn storm_queues(&self, outcome: &Outcome) -> Vec<StormQueue> {
        let line = |found: &StormRecord| StormQueue {
            port: self.port_label(found.node, found.port, found.peer),
            class: traffic_class(found.class).unwrap_or(found.class),
            storms: found.counts.storms,
            restored: found.counts.restorations,
            dropped: found.counts.drops,
            sent: found.counts.sent,
        };
        outcome.storms.iter().map(line).collect()
    }

    // LNK-42
    fn deadlocks(&self, outcome: &Outcome) -> Vec<Deadlock> {
        let found = outcome.deadlocks.iter().map(|found| Deadlock {
            at_ps: found.at_ps,
            seen_ps: found.seen_ps,
            ports: found
                .ports
                .iter()
                .map(|port| self.port_label(port.node, port.port, port.peer))
                .collect(),
            bytes: found.ports.iter().map(|port| port.bytes).sum(),
            flows: found.flows.clone(),
        });
        found.collect()
    }

    fn measure_to_ps(&self, outcome: &Outcome) -> u64 {
        self.info
            .measure_to_ps
            .unwrap_or(outcome.end_ps)
            .min(outcome.end_ps)
    }

    fn flows(&self, outcome: &Outcome) -> Flows {
        Flows {
            started: outcome.started,
            finished: outcome.finished,
            unfinished: outcome.started.saturating_sub(outcome.finished),
            measured: self.measured,
        }
    }

    fn checks(&self, outcome: &Outcome) -> Vec<String> {
        let mut checks: Vec<String> = outcome.checks.iter().map(ToString::to_string).collect();
        // The engine also reports this check in some runs; it must not be listed twice.
        checks.retain(|check| check != "slowdown");
        if self.too_fast_count == 0 && !self.info.sprays && !self.info.paths_change {
            checks.push("slowdown".into());
        }
        checks
    }

    fn violations(&self, outcome: &Outcome) -> Vec<ViolationLine> {
        let mut lines: Vec<ViolationLine> = outcome
            .violations
            .iter()
            .map(|v| ViolationLine {
                check: v.check.into(),
                message: v.message.clone(),
            })
            .collect();
        lines.extend(self.too_fast.iter().cloned());
        if self.too_fast_count > EXAMPLES {
            lines.push(ViolationLine {
                check: "slowdown".into(),
                message: format!("and {} more of this kind", self.too_fast_count - EXAMPLES),
            });
        }
        lines
    }

    fn warnings(&self, outcome: &Outcome, later: &[String]) -> Vec<String> {
        let mut warnings = self.info.warnings.clone();
        warnings.extend_from_slice(later);
        let unfinished = outcome.started.saturating_sub(outcome.finished);
        if unfinished > 0 {
            warnings.push(format!(
                "{unfinished} of {} flows did not finish; they are in no percentile, \
                 so the slowdown of the sizes they belong to looks better than it is",
                outcome.started
            ));
        }
        warnings.extend(self.lone.warning(
            &outcome.counters,
            outcome.end_ps,
            self.info.hosts_take_time,
        ));
        warnings
    }

    fn buffers(&self) -> Buffer {
        let mut all = Histogram::default();
        let mut tiers = Vec::new();
        for (tier, occupancy) in self.tiers.iter().zip(&self.occupancy) {
            if occupancy.is_empty() {
                continue;
            }
            all.merge(occupancy);
            tiers.push(TierBuffer {
                tier: tier.clone(),
                p50_bytes: occupancy.percentile(0.5),
                p99_bytes: occupancy.percentile(0.99),
                max_bytes: self.fullest[self.tiers.iter().position(|t| t == tier).unwrap_or(0)],
            });
        }
        Buffer {
            samples: all.len(),
            p50_bytes: all.percentile(0.5),
            p99_bytes: all.percentile(0.99),
            max_bytes: self.fullest.iter().copied().max().unwrap_or(0),
            tiers,
        }
    }

    /// Returns the statistics of links by sending and receiving tier, lowest tiers first.
    fn links(&self, outcome: &Outcome) -> Vec<LinkGroup> {
        let mut groups: BTreeMap<(usize, usize), (LinkGroup, u128, u128)> = BTreeMap::new();
        for port in &outcome.ports {
            let key = (self.tier_of[port.node], self.tier_of[port.peer]);
            let (group, wire, data) = groups.entry(key).or_default();
            group.ports += 1;
            group.capacity_bps += port.rate_bps;
            group.paused_ps += port.paused_ps;
            group.pauses += port.pauses;
            group.pause_frames += port.pause_frames;
            group.marked += port.marked;
            group.dropped += port.dropped.iter().sum::<u64>();
            group.max_queue_bytes = group.max_queue_bytes.max(port.max_queue_bytes);
            *wire += u128::from(port.tx_bytes);
            *data += u128::from(port.tx_data_bytes);
        }
        let finish =
            |((from, to), (mut group, wire, data)): ((usize, usize), (LinkGroup, u128, u128))| {
                group.from = self.tiers[from].clone();
                group.to = self.tiers[to].clone();
                group.wire_utilisation = wire_utilisation(wire, group.capacity_bps, outcome.end_ps);
                group.data_utilisation = wire_utilisation(data, group.capacity_bps, outcome.end_ps);
                let port_time = group.ports as f64 * outcome.end_ps as f64;
                group.paused_fraction = if port_time > 0.0 {
                    group.paused_ps as f64 / port_time
                } else {
                    0.0
                };
                group
            };
        groups.into_iter().map(finish).collect()
    }

    /// Returns the load of the core: the links between two switches of which at least one has
    /// hosts. `None`: there are no such links.
    fn core_load(&self, outcome: &Outcome, measure_to_ps: u64) -> Option<Load> {
        let is_host = |node: NodeId| self.info.nodes[node.index()].level == 0;
        let racks: std::collections::BTreeSet<NodeId> = outcome
            .ports
            .iter()
            .filter(|p| is_host(p.peer))
            .map(|p| p.node)
            .collect();
        let of_core = |p: &&PortRecord| {
            !is_host(p.node)
                && !is_host(p.peer)
                && (racks.contains(&p.node) || racks.contains(&p.peer))
        };
        let ports: Vec<&PortRecord> = outcome.ports.iter().filter(of_core).collect();
        let both_directions: u64 = ports.iter().map(|p| p.rate_bps).sum();
        let wire = ports.iter().map(|p| u128::from(p.tx_bytes)).sum();
        if both_directions == 0 {
            return None;
        }
        let load = self.load(
            both_directions / 2,
            measure_to_ps,
            self.offered.core,
            self.carried.core,
        );
        Some(Load {
            wire: wire_utilisation(wire, both_directions, outcome.end_ps),
            ..load
        })
    }

    fn host_load(&self, outcome: &Outcome, measure_to_ps: u64) -> Load {
        let node = |node: NodeId| &self.info.nodes[node.index()];
        let of_hosts = |p: &&PortRecord| {
            let (from, to) = (node(p.node), node(p.peer));
            (from.level == 0 || to.level == 0) && !from.scale_up && !to.scale_up
        };
        let ports = || outcome.ports.iter().filter(of_hosts); // TOP-12: none inside a server
        let both_directions: u64 = ports().map(|p| p.rate_bps).sum();
        let wire = ports().map(|p| u128::from(p.tx_bytes)).sum();
        let load = self.load(
            both_directions / 2,
            measure_to_ps,
            self.offered.hosts,
            self.carried.hosts,
        );
        Load {
            wire: wire_utilisation(wire, both_directions, outcome.end_ps),
            ..load
        }
    }

    fn load(&self, capacity_bps: u64, measure_to_ps: u64, offered: u128, carried: u128) -> Load {
        let time_ps = measure_to_ps.saturating_sub(self.info.measure_from_ps);
        Load {
            capacity_bps,
            offered: utilisation(offered, capacity_bps, time_ps),
            carried: utilisation(carried, capacity_bps, time_ps),
            wire: 0.0,
        }
    }
}

fn ending_name(ending: Ending) -> &'static str {
    match ending {
        Ending::Drained => "drained",
        Ending::TimeLimit => "time-limit",
        Ending::Stalled => "stalled",
        Ending::Deadlocked => "deadlock",
        Ending::Interrupted => "interrupted",
    }
}

/// Returns the [`utilisation`] by bytes that ports sent, at most 1. Ports count all bytes of a
/// frame when its transmission starts, and the run can end during a transmission. // TOP-27
fn wire_utilisation(bytes: u128, capacity_bps: u64, time_ps: u64) -> f64 {
    utilisation(bytes, capacity_bps, time_ps).min(1.0)
}

/// Returns bytes as a fraction of what links of this capacity can carry in this time. Returns 0 if
/// capacity or time is 0.
fn utilisation(bytes: u128, capacity_bps: u64, time_ps: u64) -> f64 {
    let possible = capacity_bps as f64 * (time_ps as f64 / 1e12);
    if possible > 0.0 {
        bytes as f64 * 8.0 / possible
    } else {
        0.0
    }
}

fn drops(counters: &Counters) -> BTreeMap<&'static str, u64> {
    let mut drops: BTreeMap<_, _> = DROP_NAMES.into_iter().zip(counters.drops).collect();
    // XP-03: dropped credits are not losses: a transport drops credits to control its rate.
    let credits = counters.drops[DropCause::CreditLimit as usize];
    drops.insert("total", counters.drops.iter().sum::<u64>() - credits);
    drops
}

/// Returns all counters by name. The pattern lists all fields, so a new field is a compile error
/// here.
fn counters(outcome: &Outcome) -> BTreeMap<&'static str, u64> {
    let Counters {
        packet_hops: _,
        events: _,
        drops: _,
        data_packets,
        acks,
        naks,
        cnps,
        marks,
        int_hops,
        link_changes,
        reroutes,
        rerouted_packets,
        hop,
        retransmissions,
        timeouts,
        discarded,
        overtaken,
        storms,
        storms_restored,
        storm_drops,
        notices,
        trims,
        returned,
        driven,
    } = outcome.counters.clone();
    let mut counters = BTreeMap::from([
        ("data_packets", data_packets),
        ("acks", acks),
        ("naks", naks),
        ("cnps", cnps),
        ("marks", marks),
        ("int_hops", int_hops),
        ("link_changes", link_changes),
        ("reroutes", reroutes),
        ("deadlocks", outcome.deadlocks.len() as u64),
        ("rerouted_packets", rerouted_packets),
        ("retransmissions", retransmissions),
        ("timeouts", timeouts),
        ("discarded", discarded),
        ("overtaken", overtaken),
    ]);
    counters.extend(hop.iter());
    counters.extend([("trims", trims), ("returned", returned)]);
    counters.extend((notices > 0).then_some(("notices", notices)));
    let of_watchdogs = [
        ("storms", storms),
        ("storms_restored", storms_restored),
        ("storm_drops", storm_drops),
    ];
    counters.extend((of_watchdogs.into_iter()).filter(|_| storms > 0));
    counters.extend(driven_counters(&driven));
    counters
}

/// Returns the counters of receiver-driven transports by name.
fn driven_counters(counters: &DrivenCounters) -> [(&'static str, u64); 10] {
    let DrivenCounters {
        requests,
        stops,
        credits,
        credits_used,
        credits_wasted,
        credits_dropped,
        pulls,
        grants,
        headers,
        returned,
    } = *counters;
    [
        ("requests", requests),
        ("stops", stops),
        ("credits", credits),
        ("credits_used", credits_used),
        ("credits_wasted", credits_wasted),
        ("credits_dropped_at_hosts", credits_dropped),
        ("pulls", pulls),
        ("grants", grants),
        ("headers", headers),
        ("returned_home", returned),
    ]
}

fn performance(outcome: &Outcome, wall_seconds: f64) -> Performance {
    let hops = outcome.counters.packet_hops;
    let ratio = |a: f64, b: f64| if b > 0.0 { a / b } else { 0.0 };
    Performance {
        packet_hops: hops,
        packet_hops_per_s: ratio(hops as f64, outcome.loop_seconds),
        events: outcome.counters.events,
        events_per_hop: ratio(outcome.counters.events as f64, hops as f64),
        loop_seconds: outcome.loop_seconds,
        wall_seconds,
        threads: ThreadLine::of(&outcome.threads),
    }
}
