//! A run in numbers: what `summary.json` says, and how it is counted.

use crate::info::{AskedLoad, NodeInfo, ParallelEnd, RunInfo};
use crate::lone_flows::LoneFlows;
use crate::stats::{Bins, Distribution, Histogram};
use crate::workloads::{WorkloadSummary, WorkloadTally};
use dataplane::ids::IndexVec;
use dataplane::nic::DrivenCounters;
use dataplane::sink::DropCause;
use fabric::NodeId;
use fabric::measure::MEASURES;
use fabric::record::{
    BufferSample, CollectiveRecord, Counters, DROP_NAMES, Ending, FlowRecord, Outcome, PortRecord,
    RankRecord, Rows, ThreadUse,
};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use std::collections::BTreeMap;

/// Flows of at most this many payload bytes are short.
pub const SHORT_UP_TO_BYTES: u64 = 10_000;

/// Flows of more than this many payload bytes are long; those between are medium.
pub const LONG_FROM_BYTES: u64 = 1_000_000;

/// Flows faster than their ideal that are named one by one.
const EXAMPLES: u64 = 10;

/// What `summary.json` says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Version of the program.
    pub backwater: String,
    /// Name of the scenario.
    pub name: String,
    /// Name of the scheme.
    pub scheme: String,
    /// Seed.
    pub seed: u64,
    /// Hash of everything that the result depends on; `None` if the caller did not compute one.
    pub key: Option<String>,
    /// Digest of the trajectory, 16 hexadecimal digits.
    pub digest: String,
    /// Why the run stopped: `drained`, `time-limit`, `stalled`, `deadlock` or `interrupted`.
    pub ending: &'static str,
    /// The run was interrupted: everything here is about its first part.
    pub partial: bool,
    /// No check was violated.
    pub ok: bool,
    /// Simulated time at the end, ps.
    pub end_ps: u64,
    /// Flows that started earlier are not in the statistics, ps.
    pub measure_from_ps: u64,
    /// Until when the time of a flow counts in the statistics: `"received"` or `"acked"`.
    pub fct_until: &'static str,
    /// Where loads and buffer statistics end, ps.
    pub measure_to_ps: u64,
    /// Numbers of flows.
    pub flows: Flows,
    /// FCT slowdown and FCT.
    pub fct: FctBins,
    /// Occupancy of the switches' buffers.
    pub buffer: Buffer,
    /// Percentiles of the tables that declare some ([`Row::SUMMARY`](fabric::record::Row::SUMMARY)), by
    /// their keys; `None` where the table was not recorded.
    #[serde(flatten)]
    pub percentiles: BTreeMap<&'static str, Option<Percentiles>>,
    /// Load of the core (absent where there is none).
    pub core: Option<Load>,
    /// Load of the links of the hosts.
    pub host: Load,
    /// Loads that were requested.
    pub asked: Vec<AskedLoad>,
    /// Links by tier and direction.
    pub links: Vec<LinkGroup>,
    /// Time during which ports were paused by PFC, summed over all ports, ps.
    pub pfc_paused_ps: u64,
    /// Packets dropped, per cause, and `total`.
    pub drops: BTreeMap<&'static str, u64>,
    /// What the mechanisms did.
    pub counters: BTreeMap<&'static str, u64>,
    /// How fast the simulator was.
    pub performance: Performance,
    /// What became of workloads; without any the key is left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<WorkloadSummary>,
    /// Checks that were made and held.
    pub checks: Vec<String>,
    /// Checks that did not hold.
    pub violations: Vec<ViolationLine>,
    /// Circles of ports that wait for each other, so that none of them can ever send again.
    pub deadlocks: Vec<Deadlock>,
    /// Who waits on whom, if the run stalled or deadlocked; else flows whose receivers cannot be reached.
    pub stall: Vec<String>,
    /// What is doubtful.
    pub warnings: Vec<String>,
    /// What the model leaves out.
    pub not_modelled: Vec<String>,
    /// Names of the tiers, from the hosts upwards.
    pub tiers: Vec<String>,
}

/// Numbers of flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Flows {
    /// That started.
    pub started: u64,
    /// That finished: the last byte arrived and the sender knows it.
    pub finished: u64,
    /// That started and did not finish.
    pub unfinished: u64,
    /// That are in the statistics (started after the warm-up).
    pub measured: u64,
}

/// FCT by size of the flow; flows of an incast are apart and in no size bin.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FctBins {
    /// Up to [`SHORT_UP_TO_BYTES`].
    pub short: FctBin,
    /// Between short and long.
    pub medium: FctBin,
    /// Above [`LONG_FROM_BYTES`].
    pub long: FctBin,
    /// Flows of an incast, of any size.
    pub incast: FctBin,
}

/// FCT of some flows, to the receiver's last byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FctBin {
    /// Flows that finished.
    pub finished: u64,
    /// Flows that did not, and are in none of the distributions.
    pub unfinished: u64,
    /// FCT over the FCT of the flow alone in the network.
    pub slowdown: Option<Distribution>,
    /// FCT in ps.
    pub fct_ps: Option<Distribution>,
}

/// Occupancy of the switches' buffers over the probes of the measured time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Buffer {
    /// Probes.
    pub samples: u64,
    /// Median, bytes.
    pub p50_bytes: u64,
    /// 99th percentile, bytes.
    pub p99_bytes: u64,
    /// Largest, bytes, over the whole run.
    pub max_bytes: u64,
    /// Per tier.
    pub tiers: Vec<TierBuffer>,
}

/// Occupancy of the buffers of one tier.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TierBuffer {
    /// Name of the tier.
    pub tier: String,
    /// Median, bytes.
    pub p50_bytes: u64,
    /// 99th percentile, bytes.
    pub p99_bytes: u64,
    /// Largest, bytes, over the whole run.
    pub max_bytes: u64,
}

/// Percentiles of a histogram, such as the queues of all switch ports over their samples, or the round trips
/// that senders saw. Each value is the lower edge of its bin, in the unit of the names in `summary.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Percentiles {
    /// Last part of the names: `bytes` or `ps`.
    pub unit: &'static str,
    /// Samples, all of them together.
    pub samples: u64,
    /// Median.
    pub p50: u64,
    /// 95th percentile.
    pub p95: u64,
    /// 99th percentile.
    pub p99: u64,
    /// Largest.
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

/// Load of the core or of the hosts' links, as a fraction of their capacity in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Load {
    /// Capacity in one direction, bits per second.
    pub capacity_bps: u64,
    /// Payload of the flows over these links that started in the measured time. Above 1 if more is
    /// offered than the links can carry.
    pub offered: f64,
    /// Payload of the flows over these links that started and were received whole in the measured time.
    pub carried: f64,
    /// All bytes on the wire over the whole run, mean of both directions.
    pub wire: f64,
}

/// Links of one tier and direction, over the whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LinkGroup {
    /// Tier that sends.
    pub from: String,
    /// Tier that receives.
    pub to: String,
    /// Number of ports.
    pub ports: u64,
    /// Capacity, bits per second.
    pub capacity_bps: u64,
    /// All bytes over capacity.
    pub wire_utilisation: f64,
    /// Bytes of data packets (headers and retransmissions included) over capacity.
    pub data_utilisation: f64,
    /// Time during which the sending ports were paused by PFC, summed, ps.
    pub paused_ps: u64,
    /// The same as a fraction of ports × time.
    pub paused_fraction: f64,
    /// Times that PFC began to pause a class of a sending port.
    pub pauses: u64,
    /// PFC frames with XOFF that the sending ports received, repetitions included.
    pub pause_frames: u64,
    /// Packets marked.
    pub marked: u64,
    /// Packets dropped.
    pub dropped: u64,
    /// Most bytes ever queued at one of the ports.
    pub max_queue_bytes: u64,
}

/// The threads of a run. Nothing else in the results depends on them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ThreadLine {
    /// That were requested.
    pub asked: u32,
    /// That the run had.
    pub used: u32,
    /// Why that is not the same.
    pub why: Option<String>,
    /// How long each can go on without the others, ps.
    pub look_ahead_ps: Option<u64>,
    /// Windows of time in which all worked.
    pub windows_together: u64,
    /// Windows with so little to do that one did it all.
    pub windows_alone: u64,
    /// Frames that were handed from one to another.
    pub crossed: u64,
    /// Stretches of the network that each worked through in turn, at most.
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

/// How fast the simulator was.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Performance {
    /// Packets that crossed a link.
    pub packet_hops: u64,
    /// Per second of the event loop.
    pub packet_hops_per_s: f64,
    /// Events handled.
    pub events: u64,
    /// Events per packet-hop.
    pub events_per_hop: f64,
    /// Seconds in the event loop.
    pub loop_seconds: f64,
    /// Wall-clock seconds from opening the directory to the summary.
    pub wall_seconds: f64,
    /// On how many threads.
    pub threads: ThreadLine,
}

/// Ports that wait for each other in a circle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Deadlock {
    /// When the pause took effect that closed the circle, ps.
    pub at_ps: u64,
    /// When it was found, ps.
    pub seen_ps: u64,
    /// Ports as `from->to`: each waits for the next, and the last for the first.
    pub ports: Vec<String>,
    /// Bytes that waited in them.
    pub bytes: u64,
    /// Numbers of the flows whose packets hold others.
    pub flows: Vec<u32>,
}

/// A check that did not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ViolationLine {
    /// Name of the check.
    pub check: String,
    /// What is wrong.
    pub message: String,
}

impl Summary {
    /// As indented JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Only maps with other keys than text, and writers that fail, make this fail.
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

/// The links that a flow uses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Links {
    /// Links inside a server of GPUs.
    InServer,
    /// Links of hosts to one switch that both have.
    Hosts,
    /// Links of hosts, and links of the core between their switches.
    HostsAndCore,
}

/// Payload of flows, in bytes, by the links that they use.
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

/// Counts while the run goes.
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
    /// Per tier: occupancy in the measured time.
    occupancy: Vec<Histogram>,
    /// Per tier: largest occupancy of the whole run.
    fullest: Vec<u64>,
    measured: u64,
    offered: Payload,
    carried: Payload,
    too_fast: Vec<ViolationLine>,
    too_fast_count: u64,
    lone: LoneFlows,
    /// Bins of the tables with percentiles, by their keys.
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

    /// The links that flows between two hosts use. A flow crosses the core if its hosts have no
    /// switch in common. // TOP-27
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
        // TOP-27: count the bytes on the links that they use
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

    /// No flow can beat the flow that is alone in the network: slowdown ≥ 1. A millionth is left
    /// for rates whose byte times are rounded.
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

    /// How many of the probes that a sample stands for fall into the measured time.
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

    /// Counts rows of any table.
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

    /// The percentiles of every table that may have some.
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
            deadlocks: self.deadlocks(outcome),
            stall: outcome.stall.clone(),
            warnings: self.warnings(outcome, warnings),
            not_modelled: self.info.not_modelled.clone(),
            tiers: self.tiers.clone(),
        }
    }

    // LNK-42
    fn deadlocks(&self, outcome: &Outcome) -> Vec<Deadlock> {
        let name = |node: NodeId| self.info.nodes[node.index()].name.as_str();
        let found = outcome.deadlocks.iter().map(|found| Deadlock {
            at_ps: found.at_ps,
            seen_ps: found.seen_ps,
            ports: found
                .ports
                .iter()
                .map(|port| {
                    let end = |end: &&ParallelEnd| (end.node, end.port) == (port.node, port.port);
                    let numbered = self.info.parallel.iter().find(end);
                    let peer = numbered.map_or(name(port.peer), |end| end.peer_name.as_str());
                    format!("{}->{peer}", name(port.node))
                })
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
        // The engine may have made this check too.
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

    /// Links by (sending tier, receiving tier), lowest first.
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

    /// The core: links between two switches of which at least one has hosts.
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
        let ports = || outcome.ports.iter().filter(of_hosts); // TOP-12: not those inside servers
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

/// [`utilisation`] by bytes that ports sent. The end of a run can cut the transmission of a frame, whose bytes
/// count from its start: the bound leaves that part out. // TOP-27
fn wire_utilisation(bytes: u128, capacity_bps: u64, time_ps: u64) -> f64 {
    utilisation(bytes, capacity_bps, time_ps).min(1.0)
}

/// Bytes over what the capacity carries in the time; 0 where there is no capacity or no time.
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
    // XP-03: a credit that is dropped is no loss, it does its work.
    let credits = counters.drops[DropCause::CreditLimit as usize];
    drops.insert("total", counters.drops.iter().sum::<u64>() - credits);
    drops
}

/// All counters; taken apart so that a new one cannot be forgotten here.
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
    } = outcome.counters;
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
    let of_guards = [
        ("storms", storms),
        ("storms_restored", storms_restored),
        ("storm_drops", storm_drops),
    ];
    counters.extend((of_guards.into_iter()).filter(|_| storms > 0));
    counters.extend(driven_counters(&driven));
    counters
}

/// What receiver-driven transports did.
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
