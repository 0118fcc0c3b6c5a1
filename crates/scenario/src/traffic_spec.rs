//! Reads `[[traffic]]`: which hosts send which flows, and when.

use std::collections::BTreeMap;
use std::path::Path;

use dataplane::param::{Value, Values};
use fabric::topology::{CapacityOf, Graph};
use traffic::{
    ArrivalKind, Between, DEFAULT_PORT, Incast, ListedFlow, Pattern, Receiver, Scope, Sizes,
};

use crate::hosts;
use crate::keys::TRAFFIC;
use crate::params::{self, text};
use crate::problem::Code;
use crate::reader::Section;

mod files;

/// Maximum number of entries of `[[traffic]]`.
const MAX_SOURCES: usize = 256;

/// The links whose capacity is the reference of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadOf {
    /// All links of a kind: host links or links of the core.
    Links(CapacityOf),
    /// The links of the senders, if the pattern lists senders.
    Senders,
    /// The links of the receivers, if the pattern lists receivers.
    Receivers,
}

/// How often flows (or events of several flows) arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Frequency {
    /// Arrivals that load links to this fraction of their capacity.
    Load {
        /// Payload rate divided by capacity.
        fraction: f64,
        /// Links whose capacity is the reference.
        of: LoadOf,
    },
    /// Mean time between arrivals, ps.
    Every(u64),
}

/// One entry of `[[traffic]]`: a source of flows.
#[derive(Clone, Debug, PartialEq)]
pub struct TrafficSpec {
    /// Name of the source.
    pub name: String,
    /// Sources and destinations of flows.
    pub pattern: Pattern,
    /// Sizes of flows. `None` for lists of flows, and for incasts with a total size.
    pub sizes: Option<Sizes>,
    /// Distribution and frequency of arrivals. `None`: flows start once, at the start of the time
    /// window.
    pub arrivals: Option<(ArrivalKind, Frequency)>,
    /// Time window in which flows start, ps: start (included) and end (not included).
    pub window_ps: (u64, u64),
    /// Traffic class.
    pub class: u8,
    /// Maximum number of arrivals, if limited.
    pub limit: Option<u64>,
}

/// Context for reading `[[traffic]]`.
pub(crate) struct Around<'a> {
    /// The network, or `None` if the topology has errors. Without a network, hosts are not checked.
    pub graph: Option<&'a Graph>,
    /// Folder to which relative file names refer.
    pub base: &'a Path,
}

/// Reads all entries of `[[traffic]]`.
pub(crate) fn read(root: &Section<'_>, around: &Around<'_>) -> Vec<TrafficSpec> {
    let example = "[[traffic]] with name, pattern, sizes, load and window";
    if root.entry("traffic").is_none() && !root.has("workload") {
        let hint = format!("add {example}");
        root.context.error(
            Code::MissingKey,
            &root.at,
            "traffic",
            "the scenario has neither traffic nor a workload",
            Some(hint),
        );
    }
    let mut names = BTreeMap::new();
    let mut specs = Vec::new();
    for section in params::entries(root, "traffic", MAX_SOURCES, example) {
        let spec = source(&section, around);
        section.finish();
        if let Some(spec) = spec {
            if let Some(first) = names.insert(spec.name.clone(), section.path.clone()) {
                let message = format!("{first} is called \"{}\" already", spec.name);
                section.complain("name", message, "give each source its own name");
            }
            specs.push(spec);
        }
    }
    specs
}

fn source(s: &Section<'_>, around: &Around<'_>) -> Option<TrafficSpec> {
    let Some(variant) = TRAFFIC.chosen(s, "\"uniform\"") else {
        params::read(s, TRAFFIC.common);
        return None;
    };
    let declared = TRAFFIC.common.iter().chain(variant.params);
    let (values, good) = params::gather(s, declared, |key, _| useless(s, variant.word, key));
    if !good {
        return None;
    }
    let pattern = pattern(s, variant.word, &values, around);
    let sizes = match (variant.word, values.get("total")) {
        ("list", _) | (_, Some(_)) => Some(None),
        _ => sizes(s, &values, around).map(Some),
    };
    let arrivals = arrivals(s, variant.word, &values);
    let (pattern, sizes, arrivals) = (pattern?, sizes?, arrivals?);
    let window_ps = match &pattern {
        Pattern::List(flows) => {
            let starts = || flows.iter().map(|flow| flow.start_ps);
            (starts().min().unwrap_or(0), starts().max().unwrap_or(0) + 1)
        }
        _ if arrivals.is_none() => (values.time("start"), values.time("start") + 1),
        _ if values.get("window").is_some() => values.window("window"),
        _ => {
            s.missing("window", "[\"0us\", \"5ms\"]");
            return None;
        }
    };
    Some(TrafficSpec {
        name: text(&values, "name")?.to_owned(),
        pattern,
        sizes,
        arrivals,
        window_ps,
        class: values.count("class") as u8,
        limit: values.some_count("limit"),
    })
}

/// Returns the reason why a key has no effect with the other keys of the entry.
fn useless(s: &Section<'_>, pattern: &str, key: &str) -> Option<&'static str> {
    let given = |key| s.table.get(key).is_some();
    let arrives = given("load") || given("every") || pattern == "uniform";
    match key {
        "sizes" | "size" if pattern == "incast" && given("total") => {
            Some("`total` gives the size of an event")
        }
        "arrivals" if !arrives => {
            Some("without `load` or `every` the flows start once, when the window opens")
        }
        "window" if !arrives => Some("the flows start once; `start` gives the time"),
        "limit" if !arrives => Some("it counts arrivals, and the flows start once"),
        "start" if arrives => Some("arrivals follow `window`"),
        "one_size" if !given("together") => Some("each arrival is one flow without `together`"),
        "crossing" | "sites" if given("scope") => Some("`scope` defines the pairs of hosts"),
        "sites" if given("crossing") => Some("`crossing` defines the pairs of hosts"),
        "scope" if pattern == "uniform" && !given("scope") => {
            (given("crossing") || given("sites")).then_some("other keys define the pairs of hosts")
        }
        "exclude" if given("crossing") || given("sites") => Some("only `scope` goes with it"),
        _ => None,
    }
}

/// Reads the pattern of sources and destinations of flows.
fn pattern(s: &Section<'_>, word: &str, values: &Values, around: &Around<'_>) -> Option<Pattern> {
    let scope = match values.is("scope", "inter-rack") {
        true => Scope::InterRack,
        false => Scope::Any,
    };
    Some(match word {
        "permutation" => Pattern::Permutation,
        "all-to-all" => Pattern::AllToAll,
        "incast" => Pattern::Incast(Incast {
            degree: values.count("degree") as u32,
            total_bytes: values.some_size("total"),
            receiver: match values.get("receiver")? {
                Value::Word(_) => Receiver::Random,
                Value::List(list) => {
                    Receiver::InTurn(listed_hosts(s, "receiver", list, around)?.into())
                }
                one => Receiver::Host(host(s, "receiver", one, around)?),
            },
            with_replacement: values.flag("with_replacement"),
            scope,
        }),
        // TRA-22: chosen hosts
        "between" => {
            let senders = group(s, "senders", values, around);
            let receivers = group(s, "receivers", values, around);
            let together = values.flag("together");
            Pattern::Between(Between {
                senders: senders?,
                receivers: receivers?,
                together,
                one_size: !together || values.flag("one_size"), // without `together` it is not read
            })
        }
        "list" => Pattern::List(listed(s, values, around)?),
        _ => {
            if let Some(crossing) = values.some_number("crossing") {
                return Some(Pattern::Local { crossing });
            }
            if let Some(sites) = values.some_count("sites") {
                let sites = sites as u32;
                return Some(Pattern::Sites { sites });
            }
            // TRA-23: excluded hosts
            match values.some_list("exclude") {
                None => Pattern::Uniform { scope },
                Some(list) => {
                    let mut excluded = listed_hosts(s, "exclude", &list, around)?;
                    excluded.sort_unstable();
                    excluded.dedup();
                    let excluded = excluded.into();
                    Pattern::Among { scope, excluded }
                }
            }
        }
    })
}

/// Returns the index of the host that a value identifies.
fn host(s: &Section<'_>, key: &str, value: &Value, around: &Around<'_>) -> Option<u32> {
    match around.graph {
        Some(graph) => hosts::read(s, key, value, graph).map(|node| node.bits()),
        // The topology already has an error, so the host cannot be checked.
        None => Some(0),
    }
}

/// Returns the indices of the hosts in a list.
fn listed_hosts(
    s: &Section<'_>,
    key: &str,
    list: &[Value],
    around: &Around<'_>,
) -> Option<Vec<u32>> {
    if list.is_empty() {
        let message = format!("`{key}`: the list of hosts is empty");
        s.complain(key, message, "name at least one host");
        return None;
    }
    list.iter().map(|one| host(s, key, one, around)).collect()
}

/// Returns the hosts of a list, or of a range (first host and number of hosts).
fn group(
    s: &Section<'_>,
    key: &'static str,
    values: &Values,
    around: &Around<'_>,
) -> Option<Vec<u32>> {
    let range = match values.get(key)? {
        Value::List(list) => return listed_hosts(s, key, list, around),
        Value::Table(range) => range,
        _ => return None,
    };
    let inner = s.section(key)?;
    let first = host(&inner, "first", range.get("first")?, around)?;
    let number = range.count("count");
    let all = around.graph.map_or(u32::MAX, Graph::hosts);
    if number > u64::from(all - first) {
        let message = format!("there are no {number} hosts from host {first} on");
        let hint = format!("the network has {all} hosts");
        inner.refuse_keys(Code::OutOfRange, &["count"], message, hint);
        return None;
    }
    Some((first..first + number as u32).collect())
}

/// Reads the sizes of flows: a distribution, a fixed size, or a file.
fn sizes(s: &Section<'_>, values: &Values, around: &Around<'_>) -> Option<Sizes> {
    match (values.get("sizes"), values.some_size("size")) {
        (Some(Value::Table(given)), _) => {
            let inner = s.section("sizes")?;
            if let Some(bytes) = given.some_size("fixed") {
                return Some(Sizes::Fixed(bytes));
            }
            if given.get("file").is_some() {
                return files::sizes(&inner, given, around).map(Sizes::Dist);
            }
            inner.missing("fixed", "\"1MB\", or file = \"my.dist\"");
            None
        }
        (Some(Value::Text(name)), _) => match traffic::sizes::find(name) {
            Ok(found) => Some(Sizes::Dist(found)),
            Err(error) => {
                let hint = "`backwater list workloads` shows all names";
                s.refuse_keys(
                    Code::UnknownName,
                    &["sizes"],
                    format!("`sizes`: {error}"),
                    hint,
                );
                None
            }
        },
        (_, Some(bytes)) => Some(Sizes::Fixed(bytes)),
        _ => {
            let message = format!("[{}] does not give the sizes of its flows", s.path);
            let hint = "for example sizes = \"google-allrpc@bfc\", or size = \"1MB\" for flows of one \
                        size; an incast can have total = \"20MB\" for all senders together";
            let hint = Some(hint.to_owned());
            s.context
                .error(Code::MissingKey, &s.at, &s.path, message, hint);
            None
        }
    }
}

/// Reads distribution and frequency of arrivals. Returns `Some(None)` if flows start only once.
fn arrivals(
    s: &Section<'_>,
    pattern: &str,
    values: &Values,
) -> Option<Option<(ArrivalKind, Frequency)>> {
    let frequency = match (values.some_table("load"), values.some_time("every")) {
        (Some(load), _) => load_of(s, &load)?,
        (_, Some(every_ps)) => Frequency::Every(every_ps),
        _ if pattern == "uniform" => {
            let example = "{ fraction = 0.3, of = \"hosts\" }, or every = \"10us\"";
            s.missing("load", example);
            return None;
        }
        _ => return Some(None),
    };
    let kind = match values.some_table("arrivals") {
        Some(given) => match given.word("kind") {
            "lognormal" => ArrivalKind::LogNormal {
                sigma: given.number("sigma"),
            },
            "fixed" => ArrivalKind::Fixed {
                first_ps: given.some_time("first"),
            },
            _ => ArrivalKind::Poisson,
        },
        None => default_arrivals(s, pattern, frequency),
    };
    Some(Some((kind, frequency)))
}

/// Returns the distribution of arrivals if the key `arrivals` is not set.
fn default_arrivals(s: &Section<'_>, pattern: &str, frequency: Frequency) -> ArrivalKind {
    let (kind, word, why) = match frequency {
        Frequency::Every(_) if pattern != "uniform" => {
            let fixed = ArrivalKind::Fixed { first_ps: None };
            (fixed, "fixed", "default: equal gaps")
        }
        _ => (ArrivalKind::Poisson, "poisson", "default: exponential gaps"),
    };
    let text = format!("{{ kind = \"{word}\" }}");
    s.context.compute(&s.path, "arrivals", text, why);
    kind
}

fn load_of(s: &Section<'_>, load: &Values) -> Option<Frequency> {
    let fraction = load.number("fraction");
    if fraction <= 0.0 {
        let hint = "a fraction above 0 and at most 1, such as 0.55 or \"55%\"";
        let inner = s.section("load")?;
        inner.complain("fraction", "a load of 0 sends nothing", hint);
        return None;
    }
    let of = match load.word("of") {
        "core" => LoadOf::Links(CapacityOf::Core),
        "hosts" => LoadOf::Links(CapacityOf::Hosts),
        "senders" => LoadOf::Senders,
        _ => LoadOf::Receivers,
    };
    Some(Frequency::Load { fraction, of })
}

/// Reads a list of flows, from the scenario or from a file.
fn listed(s: &Section<'_>, values: &Values, around: &Around<'_>) -> Option<Vec<ListedFlow>> {
    if let Some(name) = text(values, "file") {
        return files::flows(s, name, around);
    }
    if values.get("flows").is_none() {
        let example = "[{ src = 0, dst = 1, bytes = \"1MB\", start = \"0us\" }]";
        s.missing("flows", &format!("{example}, or file = \"flows.csv\""));
        return None;
    }
    params::each(s, "flows", values, |s, flow| one_flow(s, flow, around))
}

fn one_flow(s: &Section<'_>, values: &Values, around: &Around<'_>) -> Option<ListedFlow> {
    let src = host(s, "src", values.get("src")?, around);
    let dst = host(s, "dst", values.get("dst")?, around);
    let (src, dst) = (src?, dst?);
    if src == dst && around.graph.is_some() {
        let message = "a flow from a host to itself";
        s.complain_of(&["dst"], message, "`src` and `dst` must differ");
        return None;
    }
    let port = values.some_count("port").map(|port| port as u16);
    Some(ListedFlow {
        src,
        dst,
        bytes: values.size("bytes"),
        start_ps: values.some_time("start").unwrap_or(0),
        class: values.some_count("class").map(|class| class as u8),
        // TRA-19: default destination port
        port: port.unwrap_or(DEFAULT_PORT),
        src_port: values.some_count("sport").map(|port| port as u16),
    })
}

/// Returns the end of the last time window with arrivals in ps, or `None` if no source has
/// arrivals.
pub(crate) fn last_arrival_ps(traffic: &[TrafficSpec]) -> Option<u64> {
    let arrivals = traffic.iter().filter(|t| t.arrivals.is_some());
    arrivals.map(|t| t.window_ps.1).max()
}
