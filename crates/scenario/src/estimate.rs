//! Estimates the duration of workloads on message-level networks, for `backwater estimate`.

use crate::Scenario;
use crate::problem::nearest;
use crate::units::{RATE, TIME};
use crate::workload_file::WorkloadFile;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use traffic::Error;
use traffic::collectives::bounds::{bus_bytes, whole_bytes};
use traffic::estimate::{Dimension, LogGops, Network, Shape, StoreAndForward, estimate};
use traffic::operations::{CollectiveKind, Options, PerByte, Record, Source, Stragglers, Workload};

/// Network of an estimate without a network option.
pub const DEFAULT_NETWORK: &str = "loggops:latency=1us,rate=400Gbps";

/// Result of an estimate.
#[derive(Clone, Debug, Default)]
pub struct Estimated {
    /// Totals, end times of ranks, and collectives, as JSON.
    pub summary: Value,
    /// The operations in the order of their ends, if they were requested.
    pub records: Vec<Record>,
}

/// The reason why an estimate failed.
#[derive(Debug)]
pub enum Failure {
    /// The workload file or the network description is invalid.
    Input(Error),
    /// The operations are blocked forever, or cannot be read.
    Run(Error),
}

/// Estimates the duration of the workload in a file.
///
/// Each of `networks` describes a network, such as `loggops:latency=1us,rate=400Gbps`, or one
/// dimension of a network, such as `ring:size=8,rate=400Gbps,latency=500ns`. If the list is empty,
/// [`DEFAULT_NETWORK`] is used.
///
/// # Errors
/// The file or the network is invalid, or the workload is blocked forever.
pub fn estimate_file(path: &Path, networks: &[String], record: bool) -> Result<Estimated, Failure> {
    let file = Arc::new(WorkloadFile::open(path).map_err(Failure::Input)?);
    let (workload, source) = (file.workload(), file as Arc<dyn Source>);
    let stragglers = Arc::default();
    let name = path.display().to_string();
    estimate_of(&name, &workload, &source, &stragglers, networks, record)
}

/// Estimates the duration of a scenario's only workload, including slow ranks and noise.
///
/// # Errors
/// The scenario has no workload or several, a network is invalid, or the workload is blocked
/// forever.
pub fn estimate_scenario(
    scenario: &Scenario,
    networks: &[String],
    record: bool,
) -> Result<Estimated, Failure> {
    let [workload] = &scenario.spec.workloads[..] else {
        let names: Vec<&str> = scenario.spec.workloads.iter().map(|w| &*w.name).collect();
        let found = match names.len() {
            0 => "this one has none".to_owned(),
            count => format!("this one has {count}: {}", names.join(", ")),
        };
        let message = format!("an estimate takes a scenario with one [[workload]], but {found}");
        return Err(Failure::Input(Error::new(message)));
    };
    let job = workload.job(0);
    estimate_of(
        &job.name,
        &job.workload,
        &job.source,
        &job.stragglers,
        networks,
        record,
    )
}

fn estimate_of(
    name: &str,
    workload: &Workload,
    source: &Arc<dyn Source>,
    stragglers: &Arc<Stragglers>,
    networks: &[String],
    record: bool,
) -> Result<Estimated, Failure> {
    let mut workload = workload.clone();
    let operations: u64 = (0..workload.ranks)
        .map(|r| u64::from(source.count(r)))
        .sum();
    let default = [DEFAULT_NETWORK.to_owned()];
    let words = if networks.is_empty() {
        &default[..]
    } else {
        networks
    };
    let network = network(words, &mut workload)
        .map_err(Error::new)
        .map_err(Failure::Input)?;
    let workload = Arc::new(workload);
    let mut collectives = BTreeMap::new();
    let mut records = Vec::new();
    let mut recorder = |one: &Record| {
        if let Some((key, kind)) = whole_of(one, &workload) {
            let all = collectives.entry(key).or_insert(Together {
                kind,
                bytes: 0,
                moved_bytes: 0,
                members: workload.members(key.1).count(),
                start_ps: one.start_ps,
                end_ps: one.end_ps,
            });
            let bytes = match one.part_of {
                Some(number) => workload.collectives[number as usize].bytes,
                None => one.bytes,
            };
            all.bytes = whole_bytes(kind, all.bytes, bytes);
            all.moved_bytes = all.moved_bytes.max(one.moved_bytes);
            all.start_ps = all.start_ps.min(one.start_ps);
            all.end_ps = all.end_ps.max(one.end_ps);
        }
        if record {
            records.push(one.clone());
        }
    };
    let found = estimate(&workload, source, stragglers, network, &mut recorder)
        .map_err(|error| Failure::Run(Error::new(format!("{name}: {error}"))))?;
    let collectives: Vec<Value> = collectives
        .into_iter()
        .map(|(key, all)| all.told(workload.group_name(key.1), key))
        .collect();
    let end_ps = found.rank_end_ps.iter().max().copied().unwrap_or(0);
    let summary = json!({
        "network": words,
        "ranks": workload.ranks,
        "operations": operations,
        "messages": found.messages,
        "bytes": found.bytes,
        "end_ps": end_ps,
        "rank_end_ps": found.rank_end_ps,
        "rank_computing_ps": found.computing_ps,
        "collectives": collectives,
        "warnings": found.warnings,
    });
    Ok(Estimated { summary, records })
}

/// Identifies a collective: true if it consists of individual operations, its group, and its
/// instance number or index (OPS-30, OPS-38).
type Key = (bool, Option<u32>, u64);

/// Returns the key and kind of the collective that an operation is or belongs to.
fn whole_of(one: &Record, workload: &Workload) -> Option<(Key, CollectiveKind)> {
    if let Some(number) = one.part_of {
        let whole = &workload.collectives[number as usize];
        return Some(((true, whole.group, number.into()), whole.kind));
    }
    let (group, instance) = one.collective?;
    Some(((false, group, instance), CollectiveKind::of_word(one.kind)?))
}

/// The combined records of a collective from all its members.
struct Together {
    kind: CollectiveKind,
    bytes: u64,
    /// For an all-to-allv: bytes that the busiest member sends or receives, whichever are more.
    moved_bytes: u64,
    members: u32,
    start_ps: u64,
    end_ps: u64,
}

impl Together {
    fn told(&self, group: &str, (composed, _, instance): Key) -> Value {
        let seconds = (self.end_ps - self.start_ps) as f64 / 1e12;
        let bus_bytes = bus_bytes(self.kind, self.members, self.bytes, self.moved_bytes);
        let speed = |bytes: f64| (seconds > 0.0).then(|| bytes / seconds);
        json!({
            "group": group,
            "instance": instance,
            "composed": composed,
            "kind": self.kind.word(),
            "members": self.members,
            "bytes": self.bytes,
            "start_ps": self.start_ps,
            "end_ps": self.end_ps,
            "algorithm_bytes_per_second": bus_bytes.and_then(|_| speed(self.bytes as f64)),
            "bus_bytes_per_second": bus_bytes.and_then(speed),
        })
    }
}

/// One network description: the name of the network model, and its parameters.
struct Word<'a> {
    name: &'a str,
    parameters: BTreeMap<&'a str, &'a str>,
}

impl<'a> Word<'a> {
    fn parse(text: &'a str) -> Result<Self, String> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let mut parameters = BTreeMap::new();
        for part in rest.split(',').filter(|part| !part.trim().is_empty()) {
            let (key, value) = part.split_once('=').ok_or_else(|| {
                format!("\"{part}\" in network \"{text}\" is not of the form key=value")
            })?;
            parameters.insert(key.trim(), value.trim());
        }
        Ok(Self {
            name: name.trim(),
            parameters,
        })
    }

    fn take(&mut self, key: &str) -> Option<&'a str> {
        self.parameters.remove(key)
    }

    fn time(&mut self, key: &str) -> Result<Option<u64>, String> {
        let value = self.take(key).map(|text| TIME.parse(text));
        value
            .transpose()
            .map_err(|why| format!("network {}, {key}: {why}", self.name))
    }

    fn rate(&mut self) -> Result<Option<f64>, String> {
        let value = self.take("rate").map(|text| RATE.parse(text));
        let value = value.transpose();
        let value = value.map_err(|why| format!("network {}, rate: {why}", self.name))?;
        match value {
            Some(0) => Err(format!("network {}: a rate of 0 moves nothing", self.name)),
            value => Ok(value.map(|bps| bps as f64)),
        }
    }

    /// Returns an error if a parameter was not used.
    fn done(self, known: &[&str]) -> Result<(), String> {
        match self.parameters.keys().next() {
            None => Ok(()),
            Some(key) => Err(format!(
                "network {} has no parameter \"{key}\"; expected {}",
                self.name,
                known.join(", ")
            )),
        }
    }
}

/// Builds the network from its descriptions. NIC times of LogGOPS are set in the workload's
/// options.
fn network(words: &[String], workload: &mut Workload) -> Result<Network, String> {
    let mut dimensions = Vec::new();
    let mut grain_ps = 1;
    for text in words {
        let mut word = Word::parse(text)?;
        if word.name == "loggops" {
            if words.len() > 1 {
                return Err("network loggops stands alone: it has no dimensions".to_owned());
            }
            return log_gops(word, &mut workload.options);
        }
        let name = word.name;
        let shape = Shape::of_word(name).ok_or_else(|| {
            let known = ["loggops", "ring", "switch", "fully-connected"];
            let hint = nearest(name, known)
                .map_or(format!("expected {}", known.join(", ")), |near| {
                    format!("did you mean {near}?")
                });
            format!("there is no network \"{name}\"; {hint}")
        })?;
        let size = match word.take("size") {
            None if words.len() == 1 => workload.ranks,
            None => {
                return Err(format!(
                    "network {name} needs a size, one of several dimensions"
                ));
            }
            Some(text) => match text.parse() {
                Ok(size) if (1..1 << 30).contains(&size) => size,
                _ => {
                    return Err(format!(
                        "network {name}, size: \"{text}\" is no number of nodes"
                    ));
                }
            },
        };
        let bps = word.rate()?.unwrap_or(400e9);
        dimensions.push(Dimension {
            shape,
            size,
            bytes_per_second: bps / 8.0,
            latency_ps: word.time("latency")?.unwrap_or(500_000),
        });
        if let Some(ps) = word.time("grain")? {
            grain_ps = ps.max(1);
        }
        word.done(&["size", "rate", "latency", "grain"])?;
    }
    let network = StoreAndForward::new(dimensions, grain_ps);
    if network.ranks() != u64::from(workload.ranks) {
        return Err(format!(
            "the network has {} nodes, the workload {} ranks; give each dimension its size",
            network.ranks(),
            workload.ranks
        ));
    }
    Ok(Network::StoreAndForward(network))
}

fn log_gops(mut word: Word<'_>, options: &mut Options) -> Result<Network, String> {
    let latency_ps = word.time("latency")?.unwrap_or(1_000_000);
    if let Some(bps) = word.rate()? {
        options.gap_per_byte = PerByte::from_ps(8e12 / bps).unwrap_or_default();
    }
    if let Some(ps) = word.time("gap")? {
        options.gap_ps = ps;
    }
    if let Some(text) = word.take("nics") {
        options.nics = match text.parse() {
            Ok(count) if count > 0 => count,
            _ => {
                return Err(format!(
                    "network loggops, nics: \"{text}\" is no number of NICs, 1 to 65535"
                ));
            }
        };
    }
    if let Some(ps) = word.time("overhead")? {
        options.overhead_ps = ps;
    }
    word.done(&["latency", "rate", "gap", "overhead", "nics"])?;
    Ok(Network::LogGops(LogGops { latency_ps }))
}
