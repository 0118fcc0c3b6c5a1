//! Converts the text of a scenario to a checked [`Scenario`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dataplane::cc::CONTROLS;
use dataplane::units::Time;
use fabric::engine::OnDeadlock;
use fabric::topology::{Graph, TopologySpec};

use crate::check;
use crate::document::{Entry, Node, Table, Value, apply_override, parse};
use crate::failures;
use crate::in_network;
use crate::keys::{RUN, SWITCH};
use crate::layers::defaults;
use crate::params;
use crate::presets::{PARAMETER_SETS, PRESETS, Preset, Profile};
use crate::problem::{At, Code, Problem, ScenarioError, Severity, Source, SourceKind};
use crate::reader::{Context, Section, choice, count, name};
use crate::record;
use crate::resolve;
use crate::scheme::{self, SchemeSpec};
use crate::spec::{RunSpec, Scenario, Spec};
use crate::topology;
use crate::traffic_spec::{self, Around, TrafficSpec};
use crate::units::TIME;
use crate::workload_spec;

/// Maximum size of a scenario file in bytes.
const MAX_SCENARIO_BYTES: u64 = 64 << 20;
/// Default time for which a run continues after the last flow may start.
const GRACE_PS: Time = 100_000_000_000;
/// Default maximum duration of a run with workloads. Normally the run ends with the workloads.
const WORKLOAD_PS: Time = 1_000 * GRACE_PS;

/// Changes to a scenario from the command line.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Overrides `a.b=c`, in the order of the command line.
    pub set: Vec<String>,
    /// Preset that replaces the preset of the scenario.
    pub scheme: Option<String>,
    /// Seed that replaces the seed of the scenario.
    pub seed: Option<u64>,
    /// Profile that replaces the profile of the scenario.
    pub profile: Option<String>,
}

impl Scenario {
    /// Reads and checks a scenario file.
    ///
    /// # Errors
    /// All errors of the scenario.
    pub fn load(path: &Path, changes: &Changes) -> Result<Self, ScenarioError> {
        let text = read_text(path)?;
        let base = path.parent().map_or_else(PathBuf::new, Path::to_path_buf);
        Self::parse(&text, &path.display().to_string(), &base, changes)
    }

    /// Parses and checks the text of a scenario. Error messages show `name` as the file name.
    /// Relative paths in the scenario start from the folder `base`.
    ///
    /// # Errors
    /// All errors of the scenario.
    pub fn parse(
        text: &str,
        name: &str,
        base: &Path,
        changes: &Changes,
    ) -> Result<Self, ScenarioError> {
        let source = Arc::new(Source {
            name: name.to_owned(),
            text: text.to_owned(),
            kind: SourceKind::File,
        });
        let user = match parse(&source) {
            Ok(table) => table,
            Err(problems) => return Err(ScenarioError { problems }),
        };
        let read = |changes: &Changes, idle: &[(At, String)]| {
            let context = Context::default();
            let user = with_changes(user.clone(), changes, idle, &context);
            let mut root = defaults();
            root.merge(&user);
            let scenario = read_root(&mut root, &source, base, &context);
            (scenario, root, context)
        };
        let mut idle = Vec::new();
        loop {
            let (scenario, root, context) = read(changes, &idle);
            let mut found = match changes.scheme {
                Some(_) => own_errors(&context, &[Code::UselessKey, Code::ImpossibleSet]),
                None => Vec::new(),
            };
            if !found.is_empty() {
                // PRE-291: a conflict with the scenario's own preset is an error with every other
                // preset too
                let own = Changes {
                    scheme: None,
                    ..changes.clone()
                };
                let conflicts = own_errors(&read(&own, &[]).2, &[Code::ImpossibleSet]);
                found.retain(|one| !conflicts.contains(one));
            }
            // The remaining problems do not concern keys that can be omitted.
            if found.iter().all(|one| idle.contains(one)) {
                return finish(scenario, &root, context);
            }
            idle.extend(found);
        }
    }
}

fn read_text(path: &Path) -> Result<String, ScenarioError> {
    let fail = |message: String| {
        ScenarioError::plain(
            Code::Unreadable,
            message,
            Some("name a TOML file; scenarios/ has some".into()),
        )
    };
    let shown = path.display();
    let meta = std::fs::metadata(path).map_err(|e| fail(format!("cannot read {shown}: {e}")))?;
    if !meta.is_file() {
        return Err(fail(format!("{shown} is not a file")));
    }
    if meta.len() > MAX_SCENARIO_BYTES {
        return Err(fail(format!(
            "{shown} is larger than 64 MiB, which is no scenario"
        )));
    }
    let bytes = std::fs::read(path).map_err(|e| fail(format!("cannot read {shown}: {e}")))?;
    String::from_utf8(bytes).map_err(|e| {
        let place = e.utf8_error().valid_up_to();
        fail(format!(
            "{shown} is not text in UTF-8: byte {place} is wrong"
        ))
    })
}

/// Returns the position and message of each error with one of these codes in the scenario's own
/// `[scheme]`. Keys that the command line sets are not included.
// PRE-291: `--scheme` with keys for another preset
fn own_errors(context: &Context, codes: &[Code]) -> Vec<(At, String)> {
    let problems = context.problems.borrow();
    let own = problems.iter().filter_map(|problem| {
        let at = problem.at.as_ref()?;
        let is_own = problem.key.starts_with("scheme.") && at.source.kind == SourceKind::File;
        let is_error = problem.severity == Severity::Error && codes.contains(&problem.code);
        (is_own && is_error).then(|| (at.clone(), problem.message.clone()))
    });
    own.collect()
}

/// Applies the changes of the command line to the scenario. `idle` contains the keys of `[scheme]`
/// that have no effect with the chosen preset.
fn with_changes(
    mut user: Table,
    changes: &Changes,
    idle: &[(At, String)],
    context: &Context,
) -> Table {
    if let Some(preset) = &changes.scheme {
        choose_scheme(&mut user, preset, idle, context);
    }
    if let Some(profile) = &changes.profile {
        set_scheme(&mut user, "profile", profile, "--profile");
    }
    let seed = changes.seed.map(|seed| format!("seed={seed}"));
    for text in changes.set.iter().chain(&seed) {
        if let Err(problem) = apply_override(&mut user, text) {
            context.problems.borrow_mut().push(problem);
        }
    }
    user
}

/// Keys of `[scheme]` whose values distinguish presets. All other keys are parameters.
// PRE-291: choices of a preset
const CHOICES: &[&str] = &[
    "classify",
    "schedule",
    "admission",
    "victims",
    "backpressure",
    "signal",
    "notices",
    "control",
    "recovery",
    "at",
];

/// Sets a key of `[scheme]` to the word of a command-line option.
fn set_scheme(user: &mut Table, key: &str, word: &str, option: &str) {
    let source = Arc::new(Source {
        name: option.to_owned(),
        text: word.to_owned(),
        kind: SourceKind::Override,
    });
    let at = At {
        source,
        span: 0..word.len(),
    };
    let entry = |key: &str, value| Entry {
        key: key.to_owned(),
        key_at: at.clone(),
        node: Node {
            value,
            at: at.clone(),
        },
    };
    if user.get("scheme").is_none() {
        user.set(entry("scheme", Value::Table(Table::default())));
    }
    let scheme = user.entries.iter_mut().find(|e| e.key == "scheme");
    if let Some(Value::Table(scheme)) = scheme.map(|e| &mut e.node.value) {
        scheme.set(entry(key, Value::String(word.to_owned())));
    }
}

/// Replaces the preset of the scenario. Parameters that the scenario sets still apply to each
/// preset that supports them. The scenario's choices for its own preset, and the parameters in
/// `idle`, are omitted with a warning.
// PRE-291: `--scheme`
fn choose_scheme(user: &mut Table, preset: &str, idle: &[(At, String)], context: &Context) {
    if let Some(Entry {
        node: Node {
            value: Value::Table(scheme),
            ..
        },
        ..
    }) = user.entries.iter_mut().find(|e| e.key == "scheme")
    {
        let own = match scheme.get("preset").map(|e| &e.node.value) {
            Some(Value::String(own)) => own.clone(),
            _ => crate::DEFAULT_PRESET.to_owned(),
        };
        if own != preset {
            leave_out(scheme, "scheme", &mut |entry, path| {
                let (message, hint) = if CHOICES.contains(&entry.key.as_str()) && path == "scheme" {
                    let key = &entry.key;
                    (
                        format!("`{key}` is set for {own}, so it is left out for {preset}"),
                        Some(format!(
                            "to set it for every scheme use --set scheme.{key}=.."
                        )),
                    )
                } else {
                    let same = |at: &At| *at == entry.key_at || *at == entry.node.at;
                    let Some((_, why)) = idle.iter().find(|(at, _)| same(at)) else {
                        return true;
                    };
                    let key = &entry.key;
                    (
                        format!("`{key}` of the scenario does not apply to {preset}: {why}"),
                        None,
                    )
                };
                let path = format!("{path}.{}", entry.key);
                context.warn(Code::LeftOut, Some(&entry.key_at), &path, message, hint);
                false
            });
        }
    }
    set_scheme(user, "preset", preset, "--scheme");
}

/// Removes the entries of a table and of its subtables for which `stays` returns false. The
/// arguments of `stays` are an entry and the path of its table.
fn leave_out(table: &mut Table, path: &str, stays: &mut impl FnMut(&Entry, &str) -> bool) {
    table.entries.retain_mut(|entry| {
        if !stays(entry, path) {
            return false;
        }
        if let Value::Table(inner) = &mut entry.node.value {
            leave_out(inner, &format!("{path}.{}", entry.key), stays);
        }
        true
    });
}

/// Reads the whole scenario. Returns `None` after an error, which is stored in the context.
fn read_root(
    root: &mut Table,
    source: &Arc<Source>,
    base: &Path,
    context: &Context,
) -> Option<(Spec, Arc<Graph>)> {
    complete_scheme(root, context);
    let end = source.text.len();
    let at = At {
        source: source.clone(),
        span: if end == 0 { 0..0 } else { 0..1 },
    };
    let s = Section::new(context, root, "", at);
    let title = s.required("name", "\"my-first\"", name);
    let seed = s.required("seed", "1", |n| count(n, 0, u64::MAX));
    let topology = topology::read(&s);
    let draft = draft_scheme(&s);
    let mut graph = topology.as_ref().and_then(|t| build_graph(&s, t));
    if draft.as_ref().is_some_and(|scheme| scheme.cut_times) {
        graph = graph.map(Graph::cut_delays);
    }
    let graph = graph.map(Arc::new);
    let failures = failures::read(&s, graph.as_deref());
    if let (Some(graph), Some(draft)) = (&graph, &draft) {
        let facts = in_network::facts(graph, draft, failures.as_ref());
        context.network.set(Some(facts));
    }
    let section = s.section("scheme");
    let scheme = section.as_ref().and_then(scheme::read);
    let scheme_at = section
        .zip(scheme.as_ref())
        .and_then(|(inner, scheme)| scheme::read_at(&inner, scheme, graph.as_deref()));
    let switch = read_switch(&s);
    let around = Around {
        graph: graph.as_deref(),
        base,
    };
    let traffic = traffic_spec::read(&s, &around);
    let workloads = workload_spec::read(
        &s,
        &workload_spec::Around {
            graph: graph.as_deref(),
            topology: topology.as_ref(),
            seed: seed.unwrap_or(1),
            base,
            traffic: &traffic,
        },
    );
    let run = read_run(&s, &traffic);
    let record = record::read(&s, graph.as_deref(), &traffic, run.as_ref());
    s.finish();
    let (buffer_bytes, reserved_bytes) = switch?;
    let spec = Spec {
        name: title?,
        seed: seed?,
        topology: topology?,
        failures: failures?,
        buffer_bytes,
        reserved_bytes,
        traffic,
        workloads: workloads?,
        run: run?,
        record: record?,
        scheme: scheme?,
        scheme_at: scheme_at?,
    };
    Some((spec, graph?))
}

/// Reads the scheme with declared defaults, before they are adapted to the network. Errors are not
/// reported, because the scheme is read again later.
fn draft_scheme(s: &Section<'_>) -> Option<SchemeSpec> {
    let scratch = Context::default();
    let root = Section::new(&scratch, s.table, "", s.at.clone());
    scheme::read(&root.section("scheme")?)
}

/// Merges `[scheme]` with the preset that it names.
fn complete_scheme(root: &mut Table, context: &Context) {
    let Some(entry) = root.entries.iter_mut().find(|e| e.key == "scheme") else {
        return;
    };
    let Value::Table(user) = &entry.node.value else {
        return;
    };
    let text = |key: &str| match user.get(key).map(|e| &e.node) {
        Some(Node {
            value: Value::String(text),
            ..
        }) => Some(text.clone()),
        _ => None,
    };
    let presets: Vec<(&'static str, &'static Preset)> =
        PRESETS.iter().map(|p| (p.name, p)).collect();
    let sets: Vec<(&'static str, &'static str)> = PARAMETER_SETS.iter().map(|s| (*s, *s)).collect();
    let mut good = true;
    for key in ["preset", "parameters"] {
        let Some(e) = user.get(key) else { continue };
        let checked = if key == "preset" {
            choice(&e.node, &presets).map(|_| ())
        } else {
            choice(&e.node, &sets).map(|_| ())
        };
        if let Err(refusal) = checked {
            let message = format!("`{key}`: {}", refusal.message);
            let path = format!("scheme.{key}");
            let hint = text(key).and_then(|word| of_control(&word));
            let hint = hint.or(refusal.hint);
            context.error(refusal.code, &e.node.at, &path, message, hint);
            good = false;
        }
    }
    let preset = text("preset").and_then(|p| Preset::find(&p));
    if let (true, Some(preset), Some(parameters)) = (good, preset, text("parameters")) {
        let mut full = preset.scheme(&parameters);
        if let Some(profile) = text("profile").and_then(|p| Profile::find(&p)) {
            let answer = |axis: &str| match (text(axis), full.get(axis).map(|e| &e.node.value)) {
                (Some(word), _) => word,
                (None, Some(Value::String(word))) => word.clone(),
                _ => String::new(),
            };
            let layer = profile.scheme(&answer("control"), &answer("backpressure"), preset.name);
            full.merge(&layer);
        }
        full.merge(user);
        entry.node.value = Value::Table(full);
    } else {
        // Without a preset the keys of all axes would be missing. So only the unknown name is
        // reported.
        let mut fallback = PRESETS[0].scheme(PARAMETER_SETS[0]);
        for key in ["preset", "parameters"] {
            if let Some(e) = defaults().get("scheme").and_then(|e| match &e.node.value {
                Value::Table(t) => t.get(key).cloned(),
                _ => None,
            }) {
                fallback.set(e);
            }
        }
        entry.node.value = Value::Table(fallback);
    }
}

/// Returns a hint if a name that is not a preset is that of a control.
fn of_control(word: &str) -> Option<String> {
    let control = CONTROLS.iter().find(|control| control.name == word)?.name;
    Some(format!(
        "{control} is a control without a preset: choose a preset for the switches and set the \
         control, as in --scheme fixed-window --set scheme.control={control}; a sweep can vary \
         scheme.control"
    ))
}

/// Builds the network, or reports the error of the topology builder.
fn build_graph(s: &Section<'_>, spec: &TopologySpec) -> Option<Graph> {
    match spec.build() {
        Ok(graph) => Some(graph),
        Err(error) => {
            s.complain(
                "topology",
                error.to_string(),
                "see docs/scenario.md, [topology]",
            );
            None
        }
    }
}

fn read_switch(root: &Section<'_>) -> Option<(u64, u64)> {
    let s = root.section("switch")?;
    let values = params::read(&s, SWITCH);
    s.finish();
    values.map(|values| (values.size("buffer"), values.size("reserved")))
}

fn read_run(root: &Section<'_>, traffic: &[TrafficSpec]) -> Option<RunSpec> {
    let s = root.section("run")?;
    let values = params::read(&s, RUN);
    s.finish();
    let values = values?;
    let last_start = traffic.iter().map(|t| t.window_ps.1).max().unwrap_or(0);
    let until = values.some_time("until").unwrap_or_else(|| {
        let (until, why) = match root.has("workload") {
            true => (WORKLOAD_PS, "default: workloads end when their ranks have"),
            false => (
                last_start + GRACE_PS,
                "default: 100 ms after the last flow may start",
            ),
        };
        s.context
            .compute(&s.path, "until", format!("\"{}\"", TIME.show(until)), why);
        until
    });
    let warmup = values.time("warmup");
    if warmup >= last_start && last_start > 0 {
        s.complain(
            "warmup",
            "`warmup`: every flow starts within the warm-up, so nothing would be measured",
            "shorten it",
        );
        return None;
    }
    Some(RunSpec {
        until_ps: until,
        probe_ps: values.time("probe"),
        warmup_ps: warmup,
        fct_acked: values.is("fct", "acked"), // PRE-242: FCT until the last ACK
        epoch_ps: values.time("epoch"),       // PRE-90: clock of another simulator
        // LNK-43: continue or end after a deadlock
        on_deadlock: if values.is("on_deadlock", "end") {
            OnDeadlock::End
        } else {
            OnDeadlock::GoOn
        },
        may_lose: values.is("on_loss", "warn"), // AUD-05: allow drops with a warning
    })
}

/// Creates the scenario, or the error that contains all its problems.
fn finish(
    read: Option<(Spec, Arc<Graph>)>,
    root: &Table,
    context: Context,
) -> Result<Scenario, ScenarioError> {
    let places = places(root);
    if let Some((spec, graph)) = &read
        && !context.failed()
    {
        let found = check::network(spec, graph, &places, &context);
        context.problems.borrow_mut().extend(found);
    }
    let failed = context.failed();
    let note = format!(
        "Written by backwater {}: every value, and where it comes from.",
        env!("CARGO_PKG_VERSION")
    );
    let resolved = if failed {
        String::new()
    } else {
        resolve::write(root, &context, &note)
    };
    let mut problems = context.problems.into_inner();
    problems.sort_by(|a, b| order(a).cmp(&order(b)));
    problems.dedup();
    if failed {
        problems.retain(|p| p.severity == Severity::Error);
        return Err(ScenarioError { problems });
    }
    let (notes, warnings) = problems
        .into_iter()
        .partition(|p| p.severity == Severity::Note);
    match read {
        Some((spec, graph)) => Ok(Scenario {
            spec,
            graph,
            warnings,
            notes,
            resolved,
        }),
        // Each failure has reported an error. This case handles a failure that has not.
        None => Err(ScenarioError::plain(
            Code::WrongValue,
            "the scenario could not be read, and no reason was given: this is a mistake in backwater",
            Some("please report it, with the scenario".into()),
        )),
    }
}

/// Sort key of problems: position in the scenario file, then problems of overrides.
fn order(problem: &Problem) -> (u8, &str, usize) {
    problem.at.as_ref().map_or((3, "", 0), |at| {
        let (rank, text) = match at.source.kind {
            SourceKind::File => (0, ""),
            SourceKind::Override => (1, at.source.text.as_str()),
            SourceKind::BuiltIn => (2, at.source.text.as_str()),
        };
        (rank, text, at.span.start)
    })
}

/// Returns the position in the text of every key, by dotted path.
fn places(root: &Table) -> BTreeMap<String, At> {
    fn keys(table: &Table) -> Vec<(String, &Node)> {
        let entries = table.entries.iter();
        entries.map(|e| (e.key.clone(), &e.node)).collect()
    }
    let mut places = BTreeMap::new();
    let mut open = keys(root);
    while let Some((path, node)) = open.pop() {
        let children = match &node.value {
            Value::Table(table) => keys(table),
            Value::Array(items) if ["traffic", "workload"].contains(&path.as_str()) => {
                let numbered = items.iter().enumerate();
                numbered.map(|(i, item)| (i.to_string(), item)).collect()
            }
            _ => Vec::new(),
        };
        let children = children.into_iter();
        open.extend(children.map(|(key, child)| (format!("{path}.{key}"), child)));
        places.insert(path, node.at.clone());
    }
    places
}
