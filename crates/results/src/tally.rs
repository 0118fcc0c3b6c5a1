//! Collects the data of a run from which the summary is computed.

use std::collections::{BTreeMap, BTreeSet};

use dataplane::classes::traffic_class;
use dataplane::ids::IndexVec;
use fabric::NodeId;
use fabric::measure::MEASURES;
use fabric::record::{
    BufferSample, CollectiveRecord, Ending, FlowRecord, Outcome, PortRecord, RankRecord, Rows,
    StormRecord,
};

use crate::counters::{counters, drops};
use crate::info::{NodeInfo, ParallelEnd, RunInfo};
use crate::lone_flows::LoneFlows;
use crate::stats::{Bins, Distribution, Histogram};
use crate::summary::{
    Buffer, Deadlock, FctBin, FctBins, Flows, LONG_FROM_BYTES, LinkGroup, Load, Percentiles,
    Performance, SHORT_UP_TO_BYTES, StormQueue, Summary, TierBuffer, ViolationLine,
};
use crate::workloads::WorkloadTally;

/// Maximum number of flows that the summary lists individually because they were faster than their
/// ideal FCT.
const EXAMPLES: u64 = 10;

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

/// The kinds of links on the path of a flow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Links {
    /// Links to the scale-up switch of a GPU server.
    InServer,
    /// Host links: both hosts are connected to the same switch.
    Hosts,
    /// Host links, and core links between the switches of the two hosts.
    HostsAndCore,
}

/// Payload bytes of flows, by the kinds of links on their paths.
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
    /// Per node, the index of its tier in `tiers`.
    tier_of: IndexVec<NodeId, usize>,
    /// Names of the tiers, lowest first.
    tiers: Vec<String>,
    /// Histogram of buffered bytes in the measured time, by tier.
    occupancy: Vec<Histogram>,
    /// Maximum of the buffered bytes in the whole run, by tier.
    fullest: Vec<u64>,
    measured: u64,
    offered: Payload,
    carried: Payload,
    too_fast: Vec<ViolationLine>,
    too_fast_count: u64,
    lone: LoneFlows,
    /// Histograms of the tables that declare a summary, by the key that they declare.
    bins: BTreeMap<&'static str, Bins>,
    workloads: WorkloadTally,
}

impl Tally {
    pub(crate) fn new(info: RunInfo) -> Self {
        let ranked: BTreeSet<(u8, &str)> = info
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

    /// Returns the kinds of links on the path between two hosts. Flows cross the core if no switch
    /// is connected to both hosts. // TOP-27
    fn links_of(&self, src: u32, dst: u32) -> Links {
        let nodes = &self.info.nodes;
        let [from, to] = [src, dst].map(|host| &nodes[host as usize].switches);
        let mut shared = from.iter().filter(|switch| to.contains(switch));
        let inside = |&switch: &u32| nodes[switch as usize].scale_up;
        match shared.clone().next() {
            None => Links::HostsAndCore,
            Some(_) if shared.any(inside) => Links::InServer, // TOP-24: scale-up links first
            Some(_) => Links::Hosts,
        }
    }

    fn flow(&mut self, record: &FlowRecord) {
        self.check_speed(record);
        self.lone.add(record);
        let flow = record.flow;
        // TOP-27: add the payload to the kinds of links on the path of the flow.
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

    /// Checks that no flow is faster than its ideal FCT (slowdown ≥ 1). The tolerance of one
    /// millionth covers link rates whose time per byte is rounded.
    fn check_speed(&mut self, record: &FlowRecord) {
        if self.info.sprays || self.info.paths_change {
            return; // LNK-30: paths change
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

    /// Returns the number of probes in the measured time, among the probes that a sample
    /// summarises.
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

    /// Adds the rows of a table. Tables that the summary does not use are ignored.
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

    /// Returns the percentiles of each table that declares a summary, by the key that it declares.
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
            performance: Performance::of(outcome, wall_seconds),
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

    // LNK-42: a deadlock is reported as a cycle of ports
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
        // The engine also reports this check in some runs. It must not be listed twice.
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
        let tallies = self.occupancy.iter().zip(self.fullest.iter().copied());
        for (tier, (occupancy, max_bytes)) in self.tiers.iter().zip(tallies) {
            if occupancy.is_empty() {
                continue;
            }
            all.merge(occupancy);
            tiers.push(TierBuffer {
                tier: tier.clone(),
                p50_bytes: occupancy.percentile(0.5),
                p99_bytes: occupancy.percentile(0.99),
                max_bytes,
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
    /// hosts; `None` if there are no such links.
    fn core_load(&self, outcome: &Outcome, measure_to_ps: u64) -> Option<Load> {
        let is_host = |node: NodeId| self.info.nodes[node.index()].level == 0;
        let to_hosts = outcome.ports.iter().filter(|port| is_host(port.peer));
        let racks: BTreeSet<NodeId> = to_hosts.map(|port| port.node).collect();
        let of_core = |port: &&PortRecord| {
            let ends = [port.node, port.peer];
            !ends.into_iter().any(is_host) && ends.iter().any(|node| racks.contains(node))
        };
        let payload = [self.offered.core, self.carried.core];
        self.load(outcome, measure_to_ps, of_core, payload)
    }

    /// Returns the load of the links between hosts and switches, without scale-up links of servers
    /// (TOP-12).
    fn host_load(&self, outcome: &Outcome, measure_to_ps: u64) -> Load {
        let of_hosts = |port: &&PortRecord| {
            let ends = [port.node, port.peer].map(|node| &self.info.nodes[node.index()]);
            ends.iter().any(|node| node.level == 0) && !ends.iter().any(|node| node.scale_up)
        };
        let payload = [self.offered.hosts, self.carried.hosts];
        let load = self.load(outcome, measure_to_ps, of_hosts, payload);
        load.unwrap_or_default()
    }

    /// Returns the load of some ports, which are both directions of their links; `None` if there
    /// are no such ports.
    fn load(
        &self,
        outcome: &Outcome,
        measure_to_ps: u64,
        belongs: impl Fn(&&PortRecord) -> bool,
        payload: [u128; 2],
    ) -> Option<Load> {
        let ports: Vec<_> = outcome.ports.iter().filter(belongs).collect();
        let both_bps: u64 = ports.iter().map(|port| port.rate_bps).sum();
        let wire = ports.iter().map(|port| u128::from(port.tx_bytes)).sum();
        let capacity_bps = both_bps / 2;
        let time_ps = measure_to_ps.saturating_sub(self.info.measure_from_ps);
        let [offered, carried] = payload.map(|bytes| utilisation(bytes, capacity_bps, time_ps));
        (both_bps > 0).then(|| Load {
            capacity_bps,
            offered,
            carried,
            wire: wire_utilisation(wire, both_bps, outcome.end_ps),
        })
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

/// Returns the [`utilisation`] by the bytes that ports sent, at most 1. A port counts all bytes of
/// a frame when the transmission starts, and the run can end during a transmission. // TOP-27
fn wire_utilisation(bytes: u128, capacity_bps: u64, time_ps: u64) -> f64 {
    utilisation(bytes, capacity_bps, time_ps).min(1.0)
}

/// Returns `bytes` as a fraction of the bytes that links of this capacity can carry in `time_ps`.
/// Returns 0 if capacity or time is 0.
fn utilisation(bytes: u128, capacity_bps: u64, time_ps: u64) -> f64 {
    let possible = capacity_bps as f64 * (time_ps as f64 / 1e12);
    if possible > 0.0 {
        bytes as f64 * 8.0 / possible
    } else {
        0.0
    }
}
