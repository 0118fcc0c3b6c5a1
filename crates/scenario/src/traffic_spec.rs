//! `[[traffic]]`: which hosts send which flows, and when, as the scenario describes it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dataplane::classes::TRAFFIC_CLASSES;
use fabric::NodeId;
use fabric::topology::{CapacityOf, Graph};
use traffic::sizes::{MAX_FLOW_BYTES, utf8};
use traffic::{
    ArrivalKind, DEFAULT_PORT, Distribution, Incast, Interpolation, KnownHosts, ListedFlow,
    MAX_CLASS, Pattern, Receiver, Scope, Sizes,
};

use crate::document::{Node, Value};
use crate::problem::Code;
use crate::reader::{
    Read, Refusal, Section, array, boolean, choice, count, fraction, name, number, quantity,
    refuse, refuse_as, string, time_window,
};
use crate::units::{MAX_TIME_PS, SIZE, TIME};

mod between;

/// Highest traffic class.
pub const MAX_TRAFFIC_CLASS: u64 = MAX_CLASS as u64;
const _: () = assert!(MAX_TRAFFIC_CLASS as usize + 1 == TRAFFIC_CLASSES);
/// Maximum number of entries of `[[traffic]]`.
const MAX_SOURCES: usize = 256;
/// Largest file that a scenario may refer to.
const MAX_FILE_BYTES: u64 = 1 << 30;
/// Latest time of a window: a thousand seconds of simulated time.
pub(crate) const MAX_WINDOW_PS: u64 = MAX_TIME_PS / 1_000;

/// The links to which a load refers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadOf {
    /// All links of a kind.
    Links(CapacityOf),
    /// The links of the senders, if the pattern lists senders.
    Senders,
    /// The links of the receivers, if the pattern lists receivers.
    Receivers,
}

/// Frequency of arrivals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Frequency {
    /// Arrivals that load these links by this fraction.
    Load {
        /// Payload divided by capacity.
        fraction: f64,
        /// The links.
        of: LoadOf,
    },
    /// Mean time between arrivals, ps.
    Every(u64),
}

/// One entry of `[[traffic]]`.
#[derive(Clone, Debug, PartialEq)]
pub struct TrafficSpec {
    /// Name of the source.
    pub name: String,
    /// Sources and destinations of flows.
    pub pattern: Pattern,
    /// Sizes of flows. `None` for lists and for incasts with a total.
    pub sizes: Option<Sizes>,
    /// Kind and frequency of arrivals. `None`: once, at the start of the window.
    pub arrivals: Option<(ArrivalKind, Frequency)>,
    /// Window in which flows start, ps: start (included) and end (not included).
    pub window_ps: (u64, u64),
    /// Traffic class.
    pub class: u8,
    /// Maximum number of arrivals.
    pub limit: Option<u64>,
}

/// Context for reading traffic.
pub(crate) struct Around<'a> {
    /// The network, or `None` if the topology has errors. Then hosts are not checked.
    pub graph: Option<&'a Graph>,
    /// Hosts by name, if the scenario defines names.
    pub names: BTreeMap<&'a str, NodeId>,
    /// Folder for relative file names.
    pub base: &'a Path,
}

#[derive(Clone, Copy, PartialEq)]
enum Word {
    Uniform,
    Permutation,
    AllToAll,
    Incast,
    Between,
    List,
}

const PATTERNS: &[(&str, Word)] = &[
    ("uniform", Word::Uniform),
    ("permutation", Word::Permutation),
    ("all-to-all", Word::AllToAll),
    ("incast", Word::Incast),
    ("between", Word::Between),
    ("list", Word::List),
];

/// Reads all of `[[traffic]]`.
pub(crate) fn read(root: &Section<'_>, around: &Around<'_>) -> Vec<TrafficSpec> {
    let example = "[[traffic]] with name, pattern, sizes, load and window";
    let Some(entry) = root.entry("traffic") else {
        if root.has("workload") {
            return Vec::new();
        }
        let hint = format!("add {example}");
        root.context.error(
            Code::MissingKey,
            &root.at,
            "traffic",
            "the scenario has neither traffic nor a workload",
            Some(hint),
        );
        return Vec::new();
    };
    let Value::Array(items) = &entry.node.value else {
        let hint = format!("write [[traffic]] in double brackets: {example}");
        let message = format!("`traffic` is {}, not an array of tables", entry.node.kind());
        root.context.error(
            Code::WrongType,
            &entry.key_at,
            "traffic",
            message,
            Some(hint),
        );
        return Vec::new();
    };
    if items.is_empty() || items.len() > MAX_SOURCES {
        let message = format!("`traffic` has {} entries", items.len());
        root.context.error(
            Code::OutOfRange,
            &entry.node.at,
            "traffic",
            message,
            Some(format!("1 to {MAX_SOURCES} are needed")),
        );
        return Vec::new();
    }
    let mut names = BTreeMap::new();
    let mut specs = Vec::new();
    for (i, item) in items.iter().enumerate() {
        let path = format!("traffic.{i}");
        let Value::Table(table) = &item.value else {
            let message = format!("an entry of `traffic` is {}, not a table", item.kind());
            root.context.error(
                Code::WrongType,
                &item.at,
                &path,
                message,
                Some(format!("write {example}")),
            );
            continue;
        };
        let section = Section::new(root.context, table, path, item.at.clone());
        let spec = source(&section, around);
        section.finish();
        if let Some(spec) = spec {
            if let Some(first) = names.insert(spec.name.clone(), i) {
                let message = format!("traffic.{first} is called \"{}\" already", spec.name);
                section.complain("name", message, "give each source its own name");
            }
            specs.push(spec);
        }
    }
    specs
}

fn source(s: &Section<'_>, around: &Around<'_>) -> Option<TrafficSpec> {
    let title = s.required("name", "\"background\"", name);
    let word = s.required("pattern", "\"uniform\"", |n| choice(n, PATTERNS));
    let class = s.optional("class", |n| count(n, 0, MAX_TRAFFIC_CLASS));
    if s.table.get("class").is_none() {
        s.context.compute(
            &s.path,
            "class",
            "0".into(),
            "default: the first data class",
        );
    }
    let Some(word) = word else {
        // The other allowed keys are not known, so do not report any key as unknown.
        s.accept_all();
        return None;
    };
    let rest = if word == Word::List {
        list(s, around)
    } else {
        generated(s, word, around)
    };
    let limit = read_limit(s, &rest);
    let (pattern, sizes, arrivals, window_ps) = rest?;
    Some(TrafficSpec {
        name: title?,
        pattern,
        sizes,
        arrivals,
        window_ps,
        class: class.unwrap_or(0) as u8,
        limit,
    })
}

/// Reads `limit`, which counts arrivals and therefore needs them.
fn read_limit(s: &Section<'_>, rest: &Option<Rest>) -> Option<u64> {
    if matches!(rest, Some((_, _, None, _))) {
        s.refuse_useless("limit", "it counts arrivals, and the flows start once");
        return None;
    }
    s.optional("limit", |n| count(n, 1, u64::from(u32::MAX)))
}

type Rest = (
    Pattern,
    Option<Sizes>,
    Option<(ArrivalKind, Frequency)>,
    (u64, u64),
);

fn generated(s: &Section<'_>, word: Word, around: &Around<'_>) -> Option<Rest> {
    let (sizes, total) = sizes(s, word, around);
    let arrivals = arrivals(s, word);
    let window = window(s, matches!(arrivals, Ok(Some(_)) | Err(())));
    let pairs = match word {
        Word::Uniform => uniform(s, around),
        Word::Incast => scope(s).map(|scope| Pattern::Uniform { scope }),
        _ => Some(Pattern::Uniform { scope: Scope::Any }),
    };
    let incast = (word == Word::Incast).then(|| incast(s, around));
    let between = (word == Word::Between).then(|| between::read(s, around));
    let pairs = pairs?;
    let pattern = match word {
        Word::Uniform => pairs,
        Word::Permutation => Pattern::Permutation,
        Word::AllToAll => Pattern::AllToAll,
        Word::Between => Pattern::Between(between??),
        Word::Incast | Word::List => {
            let (degree, receiver, with_replacement) = incast??;
            let Pattern::Uniform { scope } = pairs else {
                return None;
            };
            Pattern::Incast(Incast {
                degree,
                total_bytes: total,
                receiver,
                with_replacement,
                scope,
            })
        }
    };
    if sizes.is_none() && total.is_none() {
        return None;
    }
    Some((pattern, sizes, arrivals.ok()?, window?))
}

/// Reads uniform traffic: between any two hosts of the scope, with a share that crosses, or within
/// sites.
fn uniform(s: &Section<'_>, around: &Around<'_>) -> Option<Pattern> {
    let given: Vec<&'static str> = ["scope", "crossing", "sites"]
        .into_iter()
        .filter(|k| s.has(k))
        .collect();
    if matches!(given.first(), Some(&"crossing" | &"sites")) {
        s.refuse_useless("exclude", "only `scope` goes with it");
    }
    if let [first, second, ..] = given[..] {
        let message = format!("`{first}` and `{second}` contradict each other");
        s.complain_of(
            &[second],
            message,
            "each says which pairs may talk; keep one",
        );
        return None;
    }
    match given.first() {
        Some(&"crossing") => s
            .optional("crossing", |n| fraction(n, 0.0, 1.0))
            .map(|crossing| Pattern::Local { crossing }),
        Some(&"sites") => s
            .optional("sites", |n| count(n, 1, u64::from(u16::MAX)))
            .map(|sites| Pattern::Sites {
                sites: sites as u32,
            }),
        _ => among(s, around),
    }
}

/// Reads uniform traffic over all pairs of the scope, possibly without some hosts.
// TRA-23
fn among(s: &Section<'_>, around: &Around<'_>) -> Option<Pattern> {
    let scope = scope(s);
    if !s.has("exclude") {
        return scope.map(|scope| Pattern::Uniform { scope });
    }
    let excluded = s.optional("exclude", |n| hosts(n, around))?;
    let mut excluded: Vec<u32> = excluded.to_vec();
    excluded.sort_unstable();
    excluded.dedup();
    Some(Pattern::Among {
        scope: scope?,
        excluded: excluded.into(),
    })
}

/// Reads a list of hosts, by number or name.
fn hosts(node: &Node, around: &Around<'_>) -> Read<Arc<[u32]>> {
    let items = array(node, "a list of hosts such as [0, 16]")?;
    if items.is_empty() {
        return refuse("the list of hosts is empty", "name at least one host");
    }
    items.iter().map(|item| host(item, around)).collect()
}

fn scope(s: &Section<'_>) -> Option<Scope> {
    if s.table.get("scope").is_none() {
        s.has("scope");
        s.context.compute(
            &s.path,
            "scope",
            "\"any\"".into(),
            "default: any two hosts (BFC paper 6.2.1)",
        );
        return Some(Scope::Any);
    }
    s.optional("scope", |n| {
        choice(n, &[("any", Scope::Any), ("inter-rack", Scope::InterRack)])
    })
}

fn flow_bytes(node: &Node) -> Read<u64> {
    quantity(node, &SIZE, 1, MAX_FLOW_BYTES)
}

/// Reads exactly one of `sizes`, `size` and (for an incast) `total`.
fn sizes(s: &Section<'_>, word: Word, around: &Around<'_>) -> (Option<Sizes>, Option<u64>) {
    let keys: &[&'static str] = if word == Word::Incast {
        &["total", "size", "sizes"]
    } else {
        &["sizes", "size"]
    };
    let given: Vec<&'static str> = keys.iter().copied().filter(|k| s.has(k)).collect();
    let example = if word == Word::Incast {
        "total = \"20MB\" for all senders together, or size = \"200KB\" for each"
    } else {
        "sizes = \"google-allrpc@bfc\", or size = \"1MB\" for flows of one size"
    };
    if given.len() > 1 {
        let message = format!("`{}` and `{}` contradict each other", given[0], given[1]);
        s.complain_of(&[given[1]], message, format!("keep one of them: {example}"));
        return (None, None);
    }
    match given.first() {
        None => {
            let message = format!("[{}] does not say how large its flows are", s.path);
            s.context.error(
                Code::MissingKey,
                &s.at,
                &s.path,
                message,
                Some(format!("for example {example}")),
            );
            (None, None)
        }
        Some(&"total") => (
            None,
            s.optional("total", |n| quantity(n, &SIZE, 1, 1 << 48)),
        ),
        Some(&"size") => (s.optional("size", flow_bytes).map(Sizes::Fixed), None),
        Some(_) => (read_sizes(s, around), None),
    }
}

/// Reads sizes: a name, `{ fixed = .. }` or `{ file = .. }`.
fn read_sizes(s: &Section<'_>, around: &Around<'_>) -> Option<Sizes> {
    let entry = s.entry("sizes")?;
    if !matches!(entry.node.value, Value::Table(_)) {
        let named = s.optional("sizes", |n| match &n.value {
            Value::String(text) => traffic::sizes::find(text).map_err(|e| Refusal {
                code: Code::UnknownName,
                message: e.to_string(),
                hint: Some("`backwater list workloads` shows all names".into()),
            }),
            _ => refuse(
                format!("expected a distribution, found {}", n.kind()),
                "a name such as \"google-allrpc@bfc\", { fixed = \"1MB\" } or { file = \"my.dist\" }",
            ),
        });
        return named.map(Sizes::Dist);
    }
    let inner = s.section("sizes")?;
    let (has_fixed, has_file) = (inner.has("fixed"), inner.has("file"));
    if !has_file {
        inner.refuse_useless("interpolation", "only a CSV file needs it (`file`)");
    }
    let spec = if has_fixed && has_file {
        inner.complain_of(
            &["file"],
            "`fixed` and `file` contradict each other",
            "keep one of them",
        );
        None
    } else if has_file {
        sizes_in_file(&inner, around)
    } else {
        inner
            .required("fixed", "\"1MB\"", flow_bytes)
            .map(Sizes::Fixed)
    };
    inner.finish();
    spec
}

/// Reads sizes from the file in the key `file`.
// TRA-27
fn sizes_in_file(s: &Section<'_>, around: &Around<'_>) -> Option<Sizes> {
    let modes = [
        ("linear", Interpolation::Linear),
        ("step", Interpolation::Step),
    ];
    let mode = match s.has("interpolation") {
        true => Some(s.optional("interpolation", |n| choice(n, &modes))?),
        false => None,
    };
    let (path, bytes) = s.optional("file", |n| load_file(n, around.base))?;
    s.context.rewrite(&s.child("file"), &path);
    let text = in_file(s, &path, utf8(&bytes).map_err(|error| vec![error]))?;
    let found = match (Distribution::is_csv(text), mode) {
        (true, Some(mode)) => {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let read = Distribution::parse_csv(text, &name, mode);
            let (found, warnings) = in_file(s, &path, read)?;
            warn_in_file(s, &path, &warnings);
            found
        }
        (true, None) => {
            s.missing(
                "interpolation",
                "\"linear\" or \"step\": a CSV does not say what lies between two points",
            );
            return None;
        }
        (false, Some(_)) => {
            let message = format!(
                "{} says itself what lies between two points",
                path.display()
            );
            s.complain_of(
                &["interpolation"],
                message,
                "leave `interpolation` out, or name a CSV file",
            );
            return None;
        }
        (false, None) => in_file(s, &path, Distribution::parse(text))?,
    };
    Some(Sizes::Dist(Arc::new(found)))
}

/// Describes a position in a file.
fn place_in(path: &Path, error: &traffic::Error) -> String {
    let place = error.place.map(|p| format!(":{}:{}", p.line, p.column));
    format!(
        "{}{}: {}",
        path.display(),
        place.unwrap_or_default(),
        error.message
    )
}

/// Returns the content of the file in the key `file`, or reports each of its errors.
// TRA-26: all errors of a file together
fn in_file<T>(s: &Section<'_>, path: &Path, read: Result<T, Vec<traffic::Error>>) -> Option<T> {
    let report = |errors: Vec<traffic::Error>| {
        for error in &errors {
            let hint = "docs/scenario.md shows the format of the file";
            s.complain("file", place_in(path, error), hint);
        }
    };
    read.map_err(report).ok()
}

fn warn_in_file(s: &Section<'_>, path: &Path, warnings: &[traffic::Error]) {
    for warning in warnings {
        let hint = "remove the column from the file, or correct its name";
        s.warn_of(&["file"], place_in(path, warning), hint);
    }
}

/// Reads a whole file.
fn load_file(node: &Node, base: &Path) -> Read<(PathBuf, Vec<u8>)> {
    let text = string(node)?;
    if text.is_empty() || text.contains('\0') {
        return refuse(
            "this is no file name",
            "a path, relative to the folder of the scenario",
        );
    }
    let path = base.join(&text);
    let failed = |e: std::io::Error| Refusal {
        code: Code::Unreadable,
        message: format!("cannot read {}: {e}", path.display()),
        hint: Some("the path is relative to the folder of the scenario".into()),
    };
    let file = File::open(&path).map_err(failed)?;
    // Allow only regular files, because a pipe or a device could block forever.
    if !file.metadata().map_err(failed)?.is_file() {
        return refuse(
            format!("{} is not a file", path.display()),
            "name a plain file",
        );
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return refuse(
            format!("{} is larger than 1 GiB", path.display()),
            "use a shorter file",
        );
    }
    let path = path.canonicalize().unwrap_or(path);
    Ok((path, bytes))
}

/// Reads `arrivals`, `load` and `every`. Returns `Err` if they have errors.
fn arrivals(s: &Section<'_>, word: Word) -> Result<Option<(ArrivalKind, Frequency)>, ()> {
    let (has_load, has_every) = (s.has("load"), s.has("every"));
    if has_load && has_every {
        s.complain_of(
            &["every"],
            "`load` and `every` contradict each other",
            "keep one of them",
        );
        s.has("arrivals");
        return Err(());
    }
    if !has_load && !has_every {
        if word == Word::Uniform {
            s.missing(
                "load",
                "{ fraction = 0.3, of = \"hosts\" }, or every = \"10us\"",
            );
            s.has("arrivals");
            return Err(());
        }
        s.refuse_useless(
            "arrivals",
            "without `load` or `every` the flows start once, when the window opens",
        );
        return Ok(None);
    }
    let frequency = if has_load {
        load(s, word)
    } else {
        s.optional("every", |n| quantity(n, &TIME, 1, MAX_WINDOW_PS))
            .map(Frequency::Every)
    };
    let kind = arrival_kind(s, word, has_every);
    match (kind, frequency) {
        (Some(kind), Some(frequency)) => Ok(Some((kind, frequency))),
        _ => Err(()),
    }
}

fn load(s: &Section<'_>, word: Word) -> Option<Frequency> {
    const ANY: [(&str, LoadOf); 4] = [
        ("core", LoadOf::Links(CapacityOf::Core)),
        ("hosts", LoadOf::Links(CapacityOf::Hosts)),
        ("senders", LoadOf::Senders),
        ("receivers", LoadOf::Receivers),
    ];
    let words = if word == Word::Between {
        &ANY[..]
    } else {
        &ANY[..2]
    };
    let inner = s.section_or("load", || {
        "write load = { fraction = 0.55, of = \"hosts\" }".to_owned()
    })?;
    let share = inner.required("fraction", "0.55", |n| {
        let value = fraction(n, 0.0, 1.0)?;
        if value > 0.0 {
            return Ok(value);
        }
        refuse(
            "a load of 0 sends nothing",
            "a fraction above 0 and at most 1, such as 0.55 or \"55%\"",
        )
    });
    let of = inner.required("of", "\"core\"", |n| choice(n, words));
    inner.finish();
    Some(Frequency::Load {
        fraction: share?,
        of: of?,
    })
}

fn arrival_kind(s: &Section<'_>, word: Word, periodic: bool) -> Option<ArrivalKind> {
    if s.table.get("arrivals").is_none() {
        s.has("arrivals");
        let fixed = word != Word::Uniform && periodic;
        let text = if fixed {
            "{ kind = \"fixed\" }"
        } else {
            "{ kind = \"poisson\" }"
        };
        let why = if fixed {
            "default: equal gaps"
        } else {
            "default: exponential gaps"
        };
        s.context.compute(&s.path, "arrivals", text.into(), why);
        return Some(if fixed {
            ArrivalKind::Fixed { first_ps: None }
        } else {
            ArrivalKind::Poisson
        });
    }
    let inner = s.section_or("arrivals", || {
        "write arrivals = { kind = \"poisson\" }".to_owned()
    })?;
    let words = [("poisson", 0u8), ("lognormal", 1), ("fixed", 2)];
    let kind = inner.required("kind", "\"poisson\"", |n| choice(n, &words));
    let result = match kind {
        Some(0) => Some(ArrivalKind::Poisson),
        Some(1) => inner
            .required("sigma", "2.0", |n| number(n, 0.0, 10.0))
            .map(|sigma| ArrivalKind::LogNormal { sigma }),
        Some(_) => {
            let first_ps = inner.optional("first", |n| quantity(n, &TIME, 0, MAX_WINDOW_PS));
            Some(ArrivalKind::Fixed { first_ps })
        }
        None => None,
    };
    match kind {
        Some(0) => inner.refuse_useless("sigma", "only log-normal arrivals have it"),
        Some(2) => inner.refuse_useless("sigma", "only log-normal arrivals have it"),
        None => inner.accept_all(),
        _ => {}
    }
    inner.finish();
    result
}

/// Reads a window such as `["0us", "5ms"]`. For flows that start once, `start` has the same
/// meaning.
fn window(s: &Section<'_>, arrivals: bool) -> Option<(u64, u64)> {
    if arrivals {
        s.refuse_useless("start", "arrivals follow `window`");
        return s.required("window", "[\"0us\", \"5ms\"]", |n| {
            time_window(n, MAX_WINDOW_PS)
        });
    }
    s.refuse_useless("window", "the flows start once; `start` says when");
    if s.table.get("start").is_none() {
        s.has("start");
        s.context.compute(
            &s.path,
            "start",
            "\"0s\"".into(),
            "default: at the beginning",
        );
        return Some((0, 1));
    }
    s.optional("start", |n| quantity(n, &TIME, 0, MAX_WINDOW_PS))
        .map(|from| (from, from + 1))
}

fn incast(s: &Section<'_>, around: &Around<'_>) -> Option<(u32, Receiver, bool)> {
    let degree = s.required("degree", "100", |n| count(n, 1, 1_000_000));
    let receiver = if s.table.get("receiver").is_none() {
        s.has("receiver");
        s.context.compute(
            &s.path,
            "receiver",
            "\"random\"".into(),
            "default: a host drawn for each event",
        );
        Some(Receiver::Random)
    } else {
        s.optional("receiver", |n| match &n.value {
            Value::String(text) if text == "random" => Ok(Receiver::Random),
            Value::Array(_) => hosts(n, around).map(Receiver::InTurn),
            _ => host(n, around).map(Receiver::Host),
        })
    };
    let replacement = if s.table.get("with_replacement").is_none() {
        s.has("with_replacement");
        s.context.compute(
            &s.path,
            "with_replacement",
            "false".into(),
            "default: distinct senders",
        );
        Some(false)
    } else {
        s.optional("with_replacement", boolean)
    };
    let degree = degree? as u32;
    Some((degree, receiver?, replacement?))
}

/// Reads a host by its number or its name.
fn host(node: &Node, around: &Around<'_>) -> Read<u32> {
    let Some(graph) = around.graph else {
        // The topology already has an error, so the host cannot be checked.
        return Ok(0);
    };
    let last = u64::from(graph.hosts()).saturating_sub(1);
    match &node.value {
        Value::Integer(..) => count(node, 0, last).map(|h| h as u32).map_err(|r| Refusal {
            code: Code::UnknownName,
            message: format!("there is no such host: {}", r.message),
            hint: Some(format!("hosts are 0 to {last}")),
        }),
        Value::String(text) => match around
            .names
            .get(text.as_str())
            .copied()
            .or_else(|| graph.find(text))
        {
            Some(node) if graph.is_host(node) => Ok(node.bits()),
            Some(_) => refuse(
                format!("\"{text}\" is a switch"),
                "traffic runs between hosts",
            ),
            None => refuse_as(
                Code::UnknownName,
                format!("there is no host \"{text}\""),
                format!(
                    "a number from 0 to {last}, or a name such as \"{}\"",
                    graph.name(NodeId::new(0))
                ),
            ),
        },
        _ => refuse(
            format!("expected a host, found {}", node.kind()),
            format!("a number from 0 to {last}"),
        ),
    }
}

fn list(s: &Section<'_>, around: &Around<'_>) -> Option<Rest> {
    let (has_flows, has_file) = (s.has("flows"), s.has("file"));
    let flows = if has_flows && has_file {
        s.complain_of(
            &["file"],
            "`flows` and `file` contradict each other",
            "keep one of them",
        );
        None
    } else if has_file {
        listed_in_file(s, around)
    } else {
        listed(s, around)
    };
    let flows = flows?;
    let first = flows.iter().map(|f| f.start_ps).min().unwrap_or(0);
    let last = flows.iter().map(|f| f.start_ps).max().unwrap_or(0);
    Some((Pattern::List(flows), None, None, (first, last + 1)))
}

/// Reads the flows from the file in the key `file`.
// TRA-26
fn listed_in_file(s: &Section<'_>, around: &Around<'_>) -> Option<Vec<ListedFlow>> {
    let (path, bytes) = s.optional("file", |n| load_file(n, around.base))?;
    s.context.rewrite(&s.child("file"), &path);
    // The topology already has an error, so hosts cannot be looked up.
    let graph = around.graph?;
    let find = |name: &str| {
        let node = around
            .names
            .get(name)
            .copied()
            .or_else(|| graph.find(name))?;
        graph.is_host(node).then_some(node.bits())
    };
    let hosts = KnownHosts {
        count: graph.hosts(),
        find: &find,
        max_class: MAX_TRAFFIC_CLASS as u8,
    };
    let read = traffic::list::parse_flow_csv_bytes(&bytes, &hosts);
    let file = in_file(s, &path, read)?;
    warn_in_file(s, &path, &file.warnings);
    Some(file.flows)
}

/// Reads `flows = [{ src, dst, bytes, start, class }, ..]`.
fn listed(s: &Section<'_>, around: &Around<'_>) -> Option<Vec<ListedFlow>> {
    let example = "[{ src = 0, dst = 1, bytes = \"1MB\", start = \"0us\" }]";
    let Some(entry) = s.entry("flows") else {
        s.missing("flows", &format!("{example}, or file = \"flows.csv\""));
        return None;
    };
    let Value::Array(items) = &entry.node.value else {
        let message = format!("`flows` is {}, not an array", entry.node.kind());
        s.complain("flows", message, example);
        return None;
    };
    s.context.note(&s.child("flows"), &entry.node.at);
    if items.is_empty() {
        s.complain("flows", "the list of flows is empty", example);
    }
    let flows: Vec<Option<ListedFlow>> = items
        .iter()
        .enumerate()
        .map(|(i, item)| one_flow(s, item, i, around))
        .collect();
    flows
        .into_iter()
        .collect::<Option<Vec<_>>>()
        .filter(|f| !f.is_empty())
}

fn one_flow(s: &Section<'_>, item: &Node, i: usize, around: &Around<'_>) -> Option<ListedFlow> {
    let path = s.child(&format!("flows.{i}"));
    let Value::Table(table) = &item.value else {
        let hint = "{ src = 0, dst = 1, bytes = \"1MB\" }".to_owned();
        let message = format!("a flow is a table, not {}", item.kind());
        s.context
            .error(Code::WrongType, &item.at, &path, message, Some(hint));
        return None;
    };
    let inner = Section::new(s.context, table, path, item.at.clone());
    let src = inner.required("src", "0", |n| host(n, around));
    let dst = inner.required("dst", "1", |n| host(n, around));
    let bytes = inner.required("bytes", "\"1MB\"", flow_bytes);
    let start = inner.optional("start", |n| quantity(n, &TIME, 0, MAX_WINDOW_PS));
    let start = if inner.table.get("start").is_some() {
        start?
    } else {
        0
    };
    let class = inner
        .optional("class", |n| count(n, 0, MAX_TRAFFIC_CLASS))
        .map(|c| c as u8);
    // TRA-19: default destination ports
    let port = inner.optional("port", |n| count(n, 0, u64::from(u16::MAX)));
    let src_port = inner.optional("sport", |n| count(n, 0, u64::from(u16::MAX)));
    inner.finish();
    let (src, dst) = (src?, dst?);
    if src == dst && around.graph.is_some() {
        inner.complain_of(
            &["dst"],
            "a flow from a host to itself",
            "`src` and `dst` must differ",
        );
        return None;
    }
    Some(ListedFlow {
        src,
        dst,
        bytes: bytes?,
        start_ps: start,
        class,
        port: port.map_or(DEFAULT_PORT, |port| port as u16),
        src_port: src_port.map(|port| port as u16),
    })
}

/// Returns the end of the last window of arrivals in ps, or `None` if no source has arrivals over
/// time.
pub(crate) fn last_arrival_ps(traffic: &[TrafficSpec]) -> Option<u64> {
    let arrivals = traffic.iter().filter(|t| t.arrivals.is_some());
    arrivals.map(|t| t.window_ps.1).max()
}
