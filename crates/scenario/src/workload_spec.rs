//! Reads `[[workload]]`: operations of ranks, the hosts of the ranks, and start times.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use dataplane::param::{Conflict, Value, Values};
use dataplane::units::Time;
use fabric::NodeId;
use fabric::topology::{Graph, TopologySpec, Wiring};
use fabric::workload::Job;
use kernel::{Purpose, Stream};
use traffic::operations::{
    By, Collective, CollectiveKind, InMemory, Noise, Operation, Options, QueuePairs, ReceiveEnd,
    SendEnd, Slow, Source, Stragglers, Who, Work, Workload,
};

use crate::keys::WORKLOAD;
use crate::params;
use crate::reader::Section;
use crate::traffic_spec::TrafficSpec;
use crate::workload_algorithm::{ALGORITHMS_HINT, Chosen, checked_algorithm};
use crate::workload_file::WorkloadFile;
use crate::workload_steps::{self, StepsSpec};

/// Maximum number of entries of `[[workload]]`.
const MAX_WORKLOADS: usize = 256;

/// A collective that all ranks execute repeatedly.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectiveSpec {
    /// Kind of the collective.
    pub kind: CollectiveKind,
    /// Algorithm, or `None` for the default of the kind.
    pub algorithm: Option<String>,
    /// Bytes of the whole vector.
    pub bytes: u64,
    /// Number of repetitions.
    pub repeats: u32,
    /// Computation time of each rank before each repetition, ps.
    pub compute_ps: Time,
    /// Latency that is added to each message before it is sent, ps.
    pub latency_ps: Time,
    /// Traffic class of the messages.
    pub class: u8,
    /// Event at which a send ends.
    pub send_end: SendEnd,
}

/// A workload file. Two values are equal if the contents of their files are equal.
#[derive(Clone)]
pub struct FileSpec {
    /// Hash of the file's bytes.
    pub hash: u64,
    /// The parsed file.
    pub file: Arc<WorkloadFile>,
}

impl fmt::Debug for FileSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileSpec({:016x})", self.hash)
    }
}

impl PartialEq for FileSpec {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
    }
}

/// The operations of the ranks of a workload.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkSpec {
    /// One collective, repeated.
    Collective(CollectiveSpec),
    /// Steps that are executed one after the other.
    Steps(StepsSpec),
    /// Operations from a file.
    File(FileSpec),
}

/// One entry of `[[workload]]`.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadSpec {
    /// Name of the workload.
    pub name: String,
    /// The operations of the ranks.
    pub work: WorkSpec,
    /// The host of each rank.
    pub hosts: Arc<[NodeId]>,
    /// Start time of all ranks, ps.
    pub start_ps: Time,
    /// Number of GPUs per server if messages are relayed inside the sender's server to the rail of
    /// the receiver (PXN); else `None`.
    pub relay: Option<u32>,
    /// Slow ranks and random noise.
    pub stragglers: Stragglers,
    /// Rule for the messages that share a queue pair.
    pub queue_pairs: QueuePairs,
    /// Event at which a receive ends.
    pub receive_end: ReceiveEnd,
    /// True if the NIC index of a message selects the port (rail) of the host.
    pub by_rail: bool,
}

/// Context for reading `[[workload]]`.
pub(crate) struct Around<'a> {
    /// The network, or `None` if the topology has errors.
    pub graph: Option<&'a Graph>,
    /// The topology as specified in the scenario.
    pub topology: Option<&'a TopologySpec>,
    /// Seed of all random decisions.
    pub seed: u64,
    /// Folder to which relative file names refer.
    pub base: &'a Path,
    /// Sources of flows. The names of workloads must differ from the names of sources.
    pub traffic: &'a [TrafficSpec],
}

/// Reads all entries of `[[workload]]`. Returns `None` after an error.
pub(crate) fn read(root: &Section<'_>, around: &Around<'_>) -> Option<Vec<WorkloadSpec>> {
    let example = "[[workload]] with name, collective and size";
    let mut names: BTreeMap<&str, String> = BTreeMap::new();
    for (i, traffic) in around.traffic.iter().enumerate() {
        names.insert(&traffic.name, format!("traffic.{i}"));
    }
    let mut good = true;
    let mut specs: Vec<WorkloadSpec> = Vec::new();
    for section in params::entries(root, "workload", MAX_WORKLOADS, example) {
        let spec = params::read_where(&section, WORKLOAD, |key, _| beside_steps(key, &section))
            .and_then(|values| one(&section, &values, around));
        section.finish();
        let Some(spec) = spec else {
            good = false;
            continue;
        };
        let before = (specs.iter().position(|other| other.name == spec.name))
            .map(|first| format!("workload.{first}"))
            .or_else(|| names.get(spec.name.as_str()).cloned());
        if let Some(first) = before {
            let message = format!("{first} is called \"{}\" already", spec.name);
            section.complain("name", message, "give each workload its own name");
            good = false;
        }
        specs.push(spec);
    }
    good.then_some(specs)
}

/// Returns the reason why a key has no effect in an entry with (or without) `steps`.
fn beside_steps(key: &str, s: &Section<'_>) -> Option<&'static str> {
    match key {
        "collective" | "algorithm" | "size" | "compute" if s.has("steps") => {
            Some("`steps` say what the ranks do")
        }
        "groups" if !s.has("steps") => Some("only `steps` name groups"),
        _ => None,
    }
}

fn one(s: &Section<'_>, values: &Values, around: &Around<'_>) -> Option<WorkloadSpec> {
    let file = match params::text(values, "file") {
        Some(name) => Some(file(s, name, around)?),
        None => None,
    };
    let ranks = match &file {
        Some(file) => Some(u64::from(file.file.workload().ranks)),
        None => values.some_count("ranks"),
    };
    let hosts = hosts(s, values, ranks, around)?;
    let mut work = match file {
        Some(file) => WorkSpec::File(file),
        None if values.get("steps").is_some() => {
            let ranks = hosts.len() as u32;
            WorkSpec::Steps(workload_steps::read(s, values, ranks, send_end(values))?)
        }
        None => WorkSpec::Collective(collective(s, values)?),
    };
    if let WorkSpec::Collective(collective) = &mut work {
        let members = hosts.len() as u32;
        let (bytes, text) = (collective.bytes, collective.algorithm.as_deref());
        match checked_algorithm(collective.kind, text, bytes, members) {
            Ok(algorithm) => collective.algorithm = algorithm,
            Err(why) => {
                s.complain_of(&["algorithm", "collective"], why, ALGORITHMS_HINT);
                return None;
            }
        }
    }
    let (queue_pairs, receive_end) = match &work {
        WorkSpec::File(file) => {
            let of_file = file.file.workload();
            (of_file.options.queue_pairs, of_file.options.receive_end)
        }
        WorkSpec::Collective(_) | WorkSpec::Steps(_) => {
            (QueuePairs::PerChannel, ReceiveEnd::Received) // RNK-15: share queue pairs as NCCL does
        }
    };
    Some(WorkloadSpec {
        name: params::text(values, "name")?.to_owned(),
        by_rail: values.is("ports", "rail"),
        queue_pairs: match values.get("queue_pairs") {
            None => queue_pairs,
            Some(_) if values.is("queue_pairs", "per-channel") => QueuePairs::PerChannel,
            Some(_) => QueuePairs::PerMessage,
        },
        receive_end: match values.some_word("receive_end") {
            None => receive_end,
            Some("acknowledged") => ReceiveEnd::Acknowledged,
            Some(_) => ReceiveEnd::Received,
        },
        start_ps: values.time("start"),
        relay: relay(s, values, around)?,
        stragglers: stragglers(s, values, hosts.len() as u32, work.computes(), around.seed)?,
        hosts,
        work,
    })
}

fn collective(s: &Section<'_>, values: &Values) -> Option<CollectiveSpec> {
    let kind = CollectiveKind::of_word(values.word("collective"))?;
    let bytes = values.some_size("size");
    match (kind, bytes) {
        (CollectiveKind::Barrier, Some(_)) => {
            s.complain("size", "a barrier moves no data", "leave `size` out");
            return None;
        }
        (CollectiveKind::Barrier, None) => {}
        (_, None) => {
            s.missing("size", "\"64MB\"");
            return None;
        }
        _ => {}
    }
    Some(CollectiveSpec {
        kind,
        algorithm: params::text(values, "algorithm").map(str::to_owned),
        bytes: bytes.unwrap_or(0),
        repeats: values.count("repeats") as u32,
        compute_ps: values.time("compute"),
        latency_ps: values.time("latency"),
        class: values.count("class") as u8,
        send_end: send_end(values),
    })
}

fn send_end(values: &Values) -> SendEnd {
    match values.word("send_end") {
        "eager" => SendEnd::Eager,
        "received" => SendEnd::Received,
        _ => SendEnd::Acknowledged,
    }
}

/// Reads a workload file and checks its complete contents.
fn file(s: &Section<'_>, name: &str, around: &Around<'_>) -> Option<FileSpec> {
    let path = around.base.join(name);
    let opened = WorkloadFile::open(&path).map_err(|error| error.to_string());
    let opened = opened.and_then(|file| Ok((file, hash_of(&path).map_err(|e| e.to_string())?)));
    match opened {
        Ok((file, hash)) => {
            let full = path.canonicalize().unwrap_or(path);
            s.context.rewrite(&s.child("file"), &full);
            let file = Arc::new(file);
            Some(FileSpec { hash, file })
        }
        Err(why) => {
            let hint = "the path is relative to the folder of the scenario; docs/workloads.md has the format";
            s.complain("file", why, hint);
            None
        }
    }
}

/// Returns a hash of the bytes of a file.
fn hash_of(path: &Path) -> std::io::Result<u64> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 1 << 16];
    let mut hash = 0;
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(hash);
        }
        for word in buffer[..read].chunks(8) {
            let word = word
                .iter()
                .fold(0, |word, &byte| word << 8 | u64::from(byte));
            hash = kernel::mix64(hash ^ word);
        }
    }
}

/// Returns the host of each rank.
// RNK-14: placement of ranks
fn hosts(
    s: &Section<'_>,
    values: &Values,
    number: Option<u64>,
    around: &Around<'_>,
) -> Option<Arc<[NodeId]>> {
    let graph = around.graph?;
    if let Some(Value::List(listed)) = values.get("placement") {
        let hosts: Option<Vec<NodeId>> = listed
            .iter()
            .map(|host| crate::hosts::read(s, "placement", host, graph))
            .collect();
        let hosts = hosts?;
        if let Some(number) = number.filter(|&number| number != hosts.len() as u64) {
            let message = format!("`placement` lists {} hosts for {number} ranks", hosts.len());
            s.complain(
                "placement",
                message,
                "one host for each rank; leave `ranks` out",
            );
            return None;
        }
        if number.is_none() && hosts.len() < 2 {
            s.complain(
                "placement",
                "a workload needs two ranks",
                "list at least two hosts",
            );
            return None;
        }
        return Some(hosts.into());
    }
    let all = graph.hosts();
    let number = number.unwrap_or(all.into());
    if number > all.into() {
        let message = format!("{number} ranks do not fit on {all} hosts");
        s.complain(
            "ranks",
            message,
            "`placement` can list a host several times",
        );
        return None;
    }
    let mut hosts: Vec<NodeId> = graph.host_ids().collect();
    if values.is("placement", "random") {
        // The first hosts of a random shuffle are used. Each workload has its own shuffle.
        let mut stream = Stream::new(around.seed, entity_of(values), Purpose::Placement);
        for at in 0..hosts.len() - 1 {
            let other = at + stream.below((hosts.len() - at) as u64) as usize;
            hosts.swap(at, other);
        }
    } else if values.is("placement", "round-robin") {
        let mut seen: BTreeMap<u32, u32> = BTreeMap::new();
        let mut turn = |host: NodeId| {
            let before = seen.entry(graph.rack_of(host)).or_default();
            *before += 1;
            *before
        };
        let mut turns: Vec<(u32, NodeId)> = hosts.iter().map(|&host| (turn(host), host)).collect();
        turns.sort_unstable();
        hosts = turns.into_iter().map(|(_, host)| host).collect();
    }
    hosts.truncate(number as usize);
    Some(hosts.into())
}

/// Returns the entity ID of a workload's random streams: a hash of its name. Thus workloads draw
/// independently.
// RNK-14, OPS-70: random draws of a workload
fn entity_of(values: &Values) -> u64 {
    let name = params::text(values, "name").unwrap_or_default();
    let mix = |hash, byte| kernel::mix64(hash ^ u64::from(byte));
    name.bytes().fold(0, mix)
}

/// Returns the number of GPUs per server, if messages are relayed inside the server (PXN).
// RNK-07: relay to the receiver's rail
fn relay(s: &Section<'_>, values: &Values, around: &Around<'_>) -> Option<Option<u32>> {
    if !values.flag("pxn") {
        return Some(None);
    }
    match around.topology {
        Some(TopologySpec::Servers(servers)) if servers.wiring == Wiring::Rails => {
            Some(Some(servers.gpus_per_server))
        }
        _ => {
            let message = "messages can go by the receiver's rail only where there are rails";
            s.complain(
                "pxn",
                message,
                "topology.kind = \"rail-optimised\" has them",
            );
            None
        }
    }
}

// OPS-70: slow ranks and noise
fn stragglers(
    s: &Section<'_>,
    values: &Values,
    ranks: u32,
    computes: bool,
    seed: u64,
) -> Option<Stragglers> {
    let mut slow = Vec::new();
    for (index, entry) in values.some_list("slow").iter().flatten().enumerate() {
        let Value::Table(entry) = entry else { continue };
        let who = match entry.some_number("probability") {
            Some(probability) => Who::Chance(probability),
            None => Who::Rank(entry.count("rank") as u32),
        };
        if let Who::Rank(rank) = who
            && rank >= ranks
        {
            let message = format!("there is no rank {rank} that could be slow");
            let hint = format!("ranks are 0 to {}", ranks - 1);
            let conflict = Conflict::new(&["rank"], message, hint);
            return params::settle(s, Err(conflict.in_item("slow", index)));
        }
        let by = match entry.some_number("sigma") {
            Some(sigma) => By::LogNormal { sigma },
            None => By::Factor(entry.number("factor")),
        };
        slow.push(Slow { who, by });
    }
    let noise = values
        .some_table("noise")
        .map(|noise| match noise.word("kind") {
            "uniform" => Noise::Uniform {
                width: noise.number("width"),
            },
            "lognormal" => Noise::LogNormal {
                sigma: noise.number("sigma"),
            },
            _ => Noise::Delay {
                probability: noise.number("probability"),
                mean_ps: noise.time("mean") as f64,
            },
        });
    let seed = kernel::mix64(seed ^ entity_of(values));
    if !computes && (!slow.is_empty() || noise.is_some()) {
        let key = if slow.is_empty() { "noise" } else { "slow" };
        let message = format!("`{key}` is about computations, and there are none");
        s.complain(
            key,
            message,
            "set `compute`, the time before each collective, or a step",
        );
        return None;
    }
    Some(Stragglers { seed, slow, noise })
}

impl WorkloadSpec {
    /// The highest traffic class of the workload's messages.
    #[must_use]
    pub fn max_class(&self) -> u8 {
        match &self.work {
            WorkSpec::Collective(collective) => collective.class,
            WorkSpec::Steps(steps) => steps.class,
            WorkSpec::File(file) => file.file.max_class,
        }
    }

    /// Upper bound of the size of a message in bytes: the largest message, or the largest vector of
    /// a collective.
    #[must_use]
    pub fn max_bytes(&self) -> u64 {
        match &self.work {
            WorkSpec::Collective(collective) => collective.bytes,
            WorkSpec::Steps(steps) => steps.max_bytes(),
            WorkSpec::File(file) => file.file.max_bytes,
        }
    }
}

impl WorkSpec {
    /// True if some rank may compute.
    fn computes(&self) -> bool {
        match self {
            Self::File(_) => true,
            Self::Collective(collective) => collective.compute_ps > 0,
            Self::Steps(steps) => steps.computes(),
        }
    }
}

impl WorkloadSpec {
    /// Returns the collectives whose algorithms the scenario sets. Collectives in workload files
    /// are not included.
    pub(crate) fn collectives(&self) -> Vec<Chosen<'_>> {
        let members = self.hosts.len() as u32;
        match &self.work {
            WorkSpec::Collective(collective) => (collective.algorithm.as_deref())
                .map(|algorithm| Chosen {
                    algorithm,
                    bytes: collective.bytes,
                    members,
                })
                .into_iter()
                .collect(),
            WorkSpec::Steps(steps) => steps.collectives(members).collect(),
            WorkSpec::File(_) => Vec::new(),
        }
    }
}

impl CollectiveSpec {
    fn collective(&self) -> Collective {
        Collective {
            kind: self.kind,
            bytes: self.bytes,
            algorithm: self.algorithm.as_deref().map(Into::into),
            class: self.class,
            latency_ps: self.latency_ps,
            ..Collective::default()
        }
    }

    fn workload(&self, ranks: u32) -> Workload {
        Workload {
            ranks,
            options: Options {
                send_end: self.send_end,
                ..Options::default()
            },
            ..Workload::default()
        }
    }

    /// Returns the operations of one rank: `repeats` times a computation and the collective.
    // RNK-13: one collective
    fn operations(&self) -> Vec<Operation> {
        let mut operations: Vec<Operation> = Vec::new();
        for _ in 0..self.repeats {
            let work = Work::Collective(Box::new(self.collective()));
            let duration_ps = self.compute_ps;
            let compute = (duration_ps > 0).then_some(Work::Calc { duration_ps });
            for work in compute.into_iter().chain([work]) {
                let after_end = (operations.len() as u32).checked_sub(1);
                operations.push(Operation {
                    work,
                    after_end: after_end.into_iter().collect(),
                    ..Operation::default()
                });
            }
        }
        operations
    }
}

fn in_memory(
    workload: Workload,
    operations: Vec<Vec<Operation>>,
) -> (Arc<Workload>, Arc<dyn Source>) {
    let source = InMemory {
        operations: operations.into(),
        names: Vec::new(),
    };
    (Arc::new(workload), Arc::new(source))
}

impl WorkloadSpec {
    /// Converts the workload for the simulation engine. `number` is its index among the sources of
    /// flows.
    #[must_use]
    pub fn job(&self, number: u16) -> Job {
        let ranks = self.hosts.len();
        let (mut workload, source): (_, Arc<dyn Source>) = match &self.work {
            WorkSpec::File(file) => (file.file.workload(), file.file.clone()),
            WorkSpec::Collective(collective) => {
                let operations = vec![collective.operations(); ranks];
                in_memory(collective.workload(ranks as u32), operations)
            }
            WorkSpec::Steps(steps) => {
                let operations = steps.operations(ranks as u32);
                in_memory(steps.workload(ranks as u32), operations)
            }
        };
        let options = &workload.options;
        if (options.queue_pairs, options.receive_end) != (self.queue_pairs, self.receive_end) {
            let options = &mut Arc::make_mut(&mut workload).options;
            options.queue_pairs = self.queue_pairs;
            options.receive_end = self.receive_end;
        }
        Job {
            name: self.name.clone(),
            workload,
            source,
            stragglers: Arc::new(self.stragglers.clone()),
            hosts: Arc::clone(&self.hosts),
            start_ps: self.start_ps,
            number,
            relay: self.relay,
            by_rail: self.by_rail,
        }
    }
}
