//! Runs one scenario, and writes its results into a directory.

use std::any::Any;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

use dataplane::properties::{Choice, Property};
use dataplane::sink::DropCause;
use dataplane::transport::Acted;
use fabric::NodeId;
use fabric::engine::{self, Plan, Threads};
use fabric::record::{Ending, Outcome, Progress, Recorder, Rows};
use fabric::topology::{Graph, TopologySpec};
use kernel::mix64;
use results::{NodeInfo, RunInfo, Summary, Writer};
use thiserror::Error;

use crate::build::BuildError;
use crate::loads::asked_loads;
use crate::not_modelled::not_modelled;
use crate::problem::Problem;
use crate::spec::Scenario;
use crate::traffic_spec::last_arrival_ps;
use crate::units::show_time;

/// Options of a run, in addition to its scenario.
pub struct Options<'a> {
    /// Directory for the results.
    pub out_dir: PathBuf,
    /// True: write into the directory even if it contains files that are not results.
    pub force: bool,
    /// Hash of all inputs on which the result depends. The caller computes it, and the summary
    /// contains it.
    pub key: Option<String>,
    /// Number of threads that the run may use.
    pub threads: Threads,
    /// Callback that receives the progress of the run at regular intervals.
    pub progress: Option<&'a mut dyn FnMut(&Progress)>,
    /// Flag that the caller sets to end the run early. The results until then are kept.
    pub interrupt: Option<&'a AtomicBool>,
}

impl fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("out_dir", &self.out_dir)
            .field("force", &self.force)
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}

/// A function that executes a plan: the simulator or another simulation engine. Its error is a
/// message for users.
pub trait Engine:
    FnOnce(Plan, &mut dyn Recorder, &mut dyn FnMut(&Progress) -> bool) -> Result<Outcome, String>
{
}

impl<F> Engine for F where
    F: FnOnce(
        Plan,
        &mut dyn Recorder,
        &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<Outcome, String>
{
}

/// The reason why a run has no results.
#[derive(Debug, Error)]
pub enum RunError {
    /// The scenario could not be built.
    #[error("{0}")]
    Build(BuildError),
    /// The results could not be written.
    #[error("{0}")]
    Results(results::Error),
    /// The flow generator failed during the run.
    #[error("the traffic ended early: {0}")]
    Traffic(String),
    /// The simulation engine returned an error.
    #[error("{0}")]
    Other(String),
    /// The simulation engine panicked, because of a bug in Backwater.
    #[error(
        "the simulator broke down: {message}\nThis is a mistake in backwater {}, not in your \
         scenario. Please report it with the scenario (hash {scenario_hash:016x}, seed \
         {seed}).", env!("CARGO_PKG_VERSION")
    )]
    Engine {
        /// Message of the panic.
        message: String,
        /// Hash of the scenario, see [`Scenario::hash`].
        scenario_hash: u64,
        /// Seed of the run.
        seed: u64,
    },
}

impl RunError {
    /// The error number (`errno`) of the operating system, if the system reported the error.
    #[must_use]
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::Results(error) => error.errno,
            _ => None,
        }
    }
}

/// Passes rows to the writer of results, and sets `failed` if the writer has an error.
struct Recording {
    writer: Writer,
    failed: Rc<Cell<bool>>,
}

impl Recorder for Recording {
    fn rows(&mut self, rows: &dyn Rows) {
        self.writer.rows(rows);
        self.failed.set(self.writer.error().is_some());
    }
}

/// Returns the links whose frames are captured. A link is identified by its two nodes; a parallel
/// link also by its index.
// RCD-31: capture of frames
fn captured(spec: &crate::spec::Spec, graph: &Graph) -> Vec<results::CapturedLink> {
    let listed = spec
        .record
        .capture
        .iter()
        .flat_map(|capture| &capture.links);
    listed
        .map(|&(node, port)| {
            let link = graph.link(node, port);
            results::CapturedLink {
                link,
                name: graph.port_name(link),
                rate_bps: graph.port(link).rate.bps(),
            }
        })
        .collect()
}

/// Returns the ends of parallel links (several links between the same two nodes).
// TOP-05: parallel links have an index
fn parallel_ends(graph: &Graph) -> Vec<results::ParallelEnd> {
    let mut ends = Vec::new();
    for node in graph.node_ids() {
        let peers = graph.links_of(node).map(|link| graph.port(link).peer);
        let mut peers: Vec<NodeId> = peers.collect();
        peers.sort_unstable();
        let mut several: Vec<NodeId> = (peers.windows(2).filter(|pair| pair[0] == pair[1]))
            .map(|pair| pair[0])
            .collect();
        several.dedup();
        for peer in several {
            for (number, link) in (1..).zip(graph.links_to(node, peer)) {
                ends.push(results::ParallelEnd {
                    node,
                    port: link.port(graph.first_link(node)),
                    peer_name: format!("{}#{number}", graph.name(peer)),
                });
            }
        }
    }
    ends
}

impl Scenario {
    /// Returns a hash of all values of the scenario. Two files with the same values have the same
    /// hash, if the version of Backwater is the same.
    #[must_use]
    pub fn hash(&self) -> u64 {
        let text = format!("{:?}", self.spec);
        text.bytes()
            .fold(0, |hash, byte| mix64(hash ^ u64::from(byte)))
    }

    /// Returns the properties of the run that the writer of results needs.
    #[must_use]
    pub fn info(&self) -> RunInfo {
        let spec = &self.spec;
        let asked = asked_loads(spec, &self.graph).into_iter().flat_map(|load| {
            let of = |fraction, of: &str| results::AskedLoad {
                source: load.source.clone(),
                fraction,
                of: of.to_owned(),
            };
            let core = load.of_core.map(|fraction| of(fraction, "core"));
            [Some(of(load.of_hosts, "host")), core]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
        });
        RunInfo {
            name: spec.name.clone(),
            scheme: spec.scheme.preset.clone(),
            seed: spec.seed,
            key: None,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            nodes: self
                .graph
                .node_ids()
                .map(|n| node_info(&spec.topology, &self.graph, n))
                .collect(),
            parallel: parallel_ends(&self.graph),
            sources: (spec.traffic.iter().map(|t| &t.name))
                .chain(spec.workloads.iter().map(|w| &w.name))
                .cloned()
                .collect(),
            workloads: spec.workloads.iter().map(|w| w.name.clone()).collect(),
            measure_from_ps: spec.run.warmup_ps,
            fct_acked: spec.run.fct_acked,
            // TOP-27: workloads send until the end of the run, independent of the windows of
            // traffic
            measure_to_ps: last_arrival_ps(&spec.traffic)
                .filter(|_| spec.workloads.is_empty())
                .map(|to| to.min(spec.run.until_ps)),
            record: spec.record.clone(),
            captured: captured(spec, &self.graph),
            paths_change: !spec.link_failures(&self.graph).changes().is_empty(),
            hosts_take_time: spec.scheme.nic.host.processing.is_some(),
            asked: asked.collect(),
            resolved: self.resolved.clone(),
            warnings: self.warnings.iter().map(one_line).collect(),
            sprays: spec.scheme.switch.path.sprays(),
            not_modelled: not_modelled(self),
        }
    }

    /// Runs the scenario and writes its results.
    ///
    /// # Errors
    /// The scenario cannot be built, the results cannot be written, or the simulation engine fails.
    /// In these cases the directory contains no incomplete files.
    pub fn run(&self, options: Options<'_>) -> Result<Summary, RunError> {
        self.run_by(options, |plan, recorder, watch| {
            Ok(engine::run(plan, recorder, watch))
        })
    }

    /// Runs the scenario as [`Scenario::run`] does, with another simulation engine. The engine must
    /// call the recorder and the progress function as the simulator does.
    ///
    /// # Errors
    /// The errors of [`Scenario::run`], and [`RunError::Other`] with the error of the engine.
    pub fn run_by(&self, options: Options<'_>, engine: impl Engine) -> Result<Summary, RunError> {
        let built = self.build().map_err(RunError::Build)?;
        let info = RunInfo {
            key: options.key,
            ..self.info()
        };
        let writer =
            Writer::create(&options.out_dir, info, options.force).map_err(RunError::Results)?;
        let failed = Rc::new(Cell::new(false));
        let mut recording = Recording {
            writer,
            failed: failed.clone(),
        };
        let mut progress = options.progress;
        let mut watch = |now: &Progress| {
            if let Some(progress) = &mut progress {
                progress(now);
            }
            let stop = options
                .interrupt
                .is_some_and(|flag| flag.load(Ordering::Relaxed));
            !stop && !failed.get()
        };
        let plan = Plan {
            threads: options.threads,
            ..built.plan
        };
        // A panic must not end a comparison of many runs. After a panic the recording is dropped
        // and its files are removed, so no code uses data that the panic left inconsistent.
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            engine(plan, &mut recording, &mut watch)
        }));
        let outcome = outcome.map_err(|panic| RunError::Engine {
            message: panic_text(panic.as_ref()),
            scenario_hash: self.hash(),
            seed: self.spec.seed,
        })?;
        let mut outcome = outcome.map_err(RunError::Other)?;
        if let Some(message) = built.traffic_error.get() {
            return Err(RunError::Traffic(message.clone()));
        }
        let mut warnings = self.idle(&outcome);
        name_the_key(&mut outcome);
        if self.spec.run.may_lose {
            warnings.extend(allowed_losses(&mut outcome));
        }
        recording
            .writer
            .finish(&outcome, &warnings)
            .map_err(RunError::Results)
    }

    /// Returns a warning for each mechanism that the scenario selects but that had no effect in the
    /// run. PFC and its watchdog are exempt, because they act only if another mechanism is not
    /// sufficient.
    fn idle(&self, outcome: &Outcome) -> Vec<String> {
        let scheme = &self.spec.scheme;
        let counters = &outcome.counters;
        let mut warnings = link_warnings(outcome, self.info().paths_change);
        let switch = self.spec.configure(&self.graph).switch;
        // BFC-31: lost pause and resume frames are not repeated
        if let (Ending::Stalled, Some(hop)) = (outcome.ending, switch.hop.declaration())
            && let Some(repair) = hop.repair()
        {
            let lost = counters.drops[DropCause::Link as usize];
            if lost > 0 {
                warnings.push(format!(
                    "the run stalled after links lost {lost} frames, and {} does not repeat lost pauses and \
                     resumes: {repair}",
                    hop.name()
                ));
            }
        }
        let mut say = |idle: bool, what: &str| {
            if idle && counters.data_packets > 0 {
                warnings.push(format!(
                    "{what}; a lighter load than meant, or too high a threshold?"
                ));
            }
        };
        say(
            scheme.switch.ecn.is_some() && counters.marks == 0,
            "ECN marked no packet",
        );
        say(
            scheme.switch.int.is_some() && counters.int_hops == 0,
            "INT wrote nothing",
        );
        say(
            scheme.switch.notifier.is_some() && counters.notices == 0,
            "no switch sent a notice",
        );
        let counted = |name: &str| counters.hop[name];
        for declared in scheme.declarations() {
            declared.idle(&counted, &mut |what| say(true, what));
        }
        let victims = scheme.victims;
        if let Some(idle) = victims.and_then(|victims| victims.idle(|name| counters.hop[name])) {
            say(true, idle);
        }
        let acted = Acted {
            credits_dropped: counters.drops[DropCause::CreditLimit as usize],
            trims: counters.trims,
            nics: counters.driven,
        };
        let idle = scheme.nic.control.transport().and_then(|t| t.idle(&acted));
        say(idle.is_some(), idle.unwrap_or_default());
        say(
            scheme.nic.control.provides().has(Property::ReadsCnps)
                && counters.marks > 0
                && counters.cnps == 0
                && !scheme.nic.host.cnp_on_ack,
            "no CNP was sent",
        );
        warnings
    }
}

/// Adds the key `run.on_loss` to the messages of the check `lossless`.
// AUD-05: `on_loss` makes losses warnings
fn name_the_key(outcome: &mut Outcome) {
    for violation in &mut outcome.violations {
        if violation.check == "lossless" {
            violation.message += "; run.on_loss = \"warn\" allows that";
        }
    }
}

/// Removes the violations of the check `lossless` and returns their messages, which become
/// warnings.
// AUD-05: losses as warnings
fn allowed_losses(outcome: &mut Outcome) -> Vec<String> {
    let lost = outcome.violations.extract_if(.., |v| v.check == "lossless");
    lost.map(|v| v.message).collect()
}

/// Returns warnings if the run ended before the configured link failures, or had deadlocks.
fn link_warnings(outcome: &Outcome, links_change: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    if links_change && outcome.counters.link_changes == 0 {
        warnings.push("no link failed or came back: the run ended before".to_owned());
    }
    if let Some(first) = outcome.deadlocks.first() {
        warnings.push(format!(
            "{} deadlock(s), the first at {}: `deadlocks` in summary.json says who waits for whom",
            outcome.deadlocks.len(),
            show_time(first.at_ps)
        ));
    }
    warnings
}

/// Formats a problem as one line, for the summary of a run.
fn one_line(problem: &Problem) -> String {
    match &problem.at {
        Some(at) => {
            let (line, column) = at.line_column();
            format!("{}:{line}:{column}: {}", at.source.name, problem.message)
        }
        None => problem.message.clone(),
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}

fn node_info(spec: &TopologySpec, graph: &Graph, node: NodeId) -> NodeInfo {
    let level = graph.tier(node).min(255) as u8;
    let switch = graph.switch_number(node);
    let scale_up = switch.is_some_and(|switch| graph.is_scale_up_switch(switch));
    let switches = match switch {
        Some(_) => Vec::new(),
        None => {
            let of_ports = graph
                .links_of(node)
                .map(|link| graph.port(link).peer.bits());
            of_ports.collect::<BTreeSet<u32>>().into_iter().collect()
        }
    };
    NodeInfo {
        name: graph.name(node),
        tier: match scale_up {
            true => "nvswitch".to_owned(),
            false => tier(spec, level),
        },
        level,
        switches,
        scale_up,
    }
}

/// Returns the name of a tier of nodes (such as "leaf") in this kind of topology.
fn tier(spec: &TopologySpec, level: u8) -> String {
    let names: &[&str] = match spec {
        TopologySpec::Star { .. } | TopologySpec::Dumbbell { .. } => &["host", "switch"],
        TopologySpec::LeafSpine { .. } => &["host", "leaf", "spine"],
        TopologySpec::MultiDc { .. } => &["host", "leaf", "spine", "gateway"],
        TopologySpec::Clos { .. } => &["host", "tor", "agg", "core"],
        TopologySpec::DualHomed { .. } => &["host", "tor", "agg"],
        TopologySpec::FatTree { .. } => &["host", "edge", "agg", "core"],
        TopologySpec::Servers(_) => &["gpu", "leaf", "spine"],
        TopologySpec::Links { .. } => &["host"],
    };
    let name = names.get(usize::from(level)).map(|s| (*s).to_owned());
    name.unwrap_or_else(|| format!("switch{level}"))
}
