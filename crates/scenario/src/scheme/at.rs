//! Reads `[[scheme.at]]`: switches whose scheme differs from that of all other switches, as during
//! a partial upgrade of a network (BFC paper, section 5).

use std::sync::Arc;

use dataplane::config::Admission;
use dataplane::hop::pfc::VICTIM_WORD;
use dataplane::hop::{self, HopSpec};
use dataplane::link::LinkConfig;
use dataplane::param::{Kind, Param};
use dataplane::properties::Property;
use dataplane::watchdog::WatchdogConfig;
use fabric::NodeId;
use fabric::topology::{Graph, NodeKind};

use super::SchemeSpec;
use crate::document::{Entry, Node, Table, Value};
use crate::names::nodes_like;
use crate::params;
use crate::problem::{Code, Severity, Source, SourceKind};
use crate::reader::{Context, Read, Section, array, refuse_as, string};

/// Keys of an entry that are not keys of `[scheme]`.
pub(crate) const AT: &[Param] = &[Param::list("switches", &Kind::Text)
    .needed("[\"spine*\"]")
    .about("Names of switches; `*` matches any characters, `?` exactly one.")];

/// Keys of `[scheme]` that an entry may set, in addition to the tables of hop-by-hop schemes.
// PRE-292: exceptions for some switches
const KEYS: &[&str] = &[
    "classify",
    "queues",
    "queues_per",
    "schedule",
    "admission",
    "victims",
    "backpressure",
    "dynamic",
    "drr",
    "pfc",
    VICTIM_WORD,
    "egress-dynamic",
    "per-port",
    "guard",
    "link",
];

/// Returns all keys of `[scheme]` that an entry of `[[scheme.at]]` may set.
pub(crate) fn keys_at() -> impl Iterator<Item = &'static str> {
    let hops = hop::words().iter().map(|word| word.name);
    KEYS.iter()
        .copied()
        .chain([WatchdogConfig::NAME])
        .chain(hops)
        .chain(LinkConfig::NAMES.iter().copied())
}

/// The scheme of the switches of one entry.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemeAt {
    /// Node IDs of the switches, in ascending order.
    pub switches: Vec<NodeId>,
    /// The scheme of these switches. Its settings for hosts are ignored.
    pub scheme: SchemeSpec,
}

/// Reads the entries of `[[scheme.at]]`. `s` is the section `[scheme]`.
// PRE-292: exceptions for some switches
pub(crate) fn read(
    s: &Section<'_>,
    base: &SchemeSpec,
    graph: Option<&Graph>,
) -> Option<Vec<SchemeAt>> {
    let Some(entry) = s.entry("at") else {
        return Some(Vec::new());
    };
    s.context.note(&s.child("at"), &entry.node.at);
    if matches!(&entry.node.value, Value::Array(items) if items.is_empty()) {
        return Some(Vec::new());
    }
    let example = "switches = [\"spine*\"], backpressure = \"none\"";
    let mut all: Vec<SchemeAt> = Vec::new();
    let mut good = true;
    for inner in params::entries(s, "at", usize::MAX, example) {
        match one(&inner, s.table, base, graph, &all) {
            Some(at) => all.push(at),
            None => good = false,
        }
    }
    good.then_some(all)
}

fn one(
    s: &Section<'_>,
    base_table: &Table,
    base: &SchemeSpec,
    graph: Option<&Graph>,
    earlier: &[SchemeAt],
) -> Option<SchemeAt> {
    let switches = s.required("switches", "[\"spine*\"]", |node| named(node, graph));
    for key in keys_at() {
        s.has(key);
    }
    s.finish();
    let scheme = scheme_of(s, base_table)?;
    let switches = switches?;
    if let Some(twice) = switches
        .iter()
        .find(|node| earlier.iter().any(|at| at.switches.contains(node)))
    {
        let name = graph.map_or_else(String::new, |graph| graph.name(*twice));
        let message = format!("{name} is named by two entries of [[scheme.at]]");
        s.complain("switches", message, "name each switch once");
        return None;
    }
    fits(s, base, &scheme).then_some(SchemeAt { switches, scheme })
}

/// Returns the switches whose names match a list of patterns.
fn named(node: &Node, graph: Option<&Graph>) -> Read<Vec<NodeId>> {
    let patterns = array(node, "a list of names of switches")?;
    let mut found = Vec::new();
    for pattern in patterns {
        let text = string(pattern)?;
        let Some(graph) = graph else { continue };
        let before = found.len();
        let nodes = nodes_like(&text, graph)?;
        found.extend(
            nodes
                .into_iter()
                .filter(|&node| graph.kind(node) == NodeKind::Switch),
        );
        if found.len() == before {
            return refuse_as(
                Code::UnknownName,
                format!("\"{text}\" names no switch"),
                "`backwater inspect --dot` names the switches of a scenario",
            );
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Returns the complete scheme of an entry: `[scheme]` with the keys of the entry.
fn scheme_of(s: &Section<'_>, base: &Table) -> Option<SchemeSpec> {
    let mut full = base.clone();
    full.entries.retain(|entry| entry.key != "at");
    // Keys of `[scheme]` possibly have no effect with the keys of the entry; built-in keys cause no
    // error then.
    let mut built_in = Vec::new();
    set_built_in(&mut full, &mut built_in);
    let mut own = s.table.clone();
    own.entries.retain(|entry| entry.key != "switches");
    full.merge(&own);
    let scratch = Context::default();
    scratch.network.set(s.context.network.get());
    let inner = Section::new(&scratch, &full, s.path.clone(), s.at.clone());
    let scheme = super::read(&inner);
    for problem in scratch.problems.take() {
        let is_own = (problem.at.as_ref()).is_some_and(|at| at.source.kind != SourceKind::BuiltIn);
        if is_own || problem.severity == Severity::Error {
            s.context.problems.borrow_mut().push(problem);
        }
    }
    note(s.context, &own, &s.path);
    scheme
}

/// Marks the source of all entries of a table as built in.
fn set_built_in(table: &mut Table, known: &mut Vec<(Arc<Source>, Arc<Source>)>) {
    let mut marked = |source: &Arc<Source>| {
        if let Some((_, marked)) = known.iter().find(|(old, _)| Arc::ptr_eq(old, source)) {
            return Arc::clone(marked);
        }
        let marked = Arc::new(Source {
            kind: SourceKind::BuiltIn,
            ..Source::clone(source)
        });
        known.push((Arc::clone(source), Arc::clone(&marked)));
        marked
    };
    for Entry { key_at, node, .. } in &mut table.entries {
        key_at.source = marked(&key_at.source);
        node.at.source = marked(&node.at.source);
    }
    for Entry { node, .. } in &mut table.entries {
        if let Value::Table(inner) = &mut node.value {
            set_built_in(inner, known);
        }
    }
}

/// Records the origin of each key of an entry.
fn note(context: &Context, table: &Table, path: &str) {
    for entry in &table.entries {
        let path = format!("{path}.{}", entry.key);
        context.note(&path, &entry.node.at);
        if let Value::Table(inner) = &entry.node.value {
            note(context, inner, &path);
        }
    }
}

/// Checks that the scheme of an entry is compatible with the scheme of the other switches.
// PRE-292: compatible schemes
fn fits(s: &Section<'_>, base: &SchemeSpec, own: &SchemeSpec) -> bool {
    if own.hop.number() != base.hop.number() {
        let hops = [&own.hop, &base.hop];
        let alone = |hop: &&HopSpec| {
            hop.declaration()
                .is_some_and(|hop| !hop.has(Property::WorksBesideOthers))
        };
        if let Some(hop) = hops.into_iter().find(alone) {
            let message = format!(
                "switches with `backpressure = \"{}\"` need neighbours that have it too, and others have \"{}\"",
                hop.word(),
                match hop == &own.hop {
                    true => base.hop.word(),
                    false => own.hop.word(),
                }
            );
            let hint = "give all switches the same `backpressure`";
            s.complain("backpressure", message, hint);
            return false;
        }
    }
    if !own.switch.link.schemes().eq(base.switch.link.schemes()) {
        let words = |link: &LinkConfig| match link.words().collect::<Vec<_>>().join(", ") {
            words if words.is_empty() => "none".to_owned(),
            words => words,
        };
        let message = format!(
            "both ends of a link need the same schemes of links, and these switches have {} and others {}",
            words(&own.switch.link),
            words(&base.switch.link)
        );
        s.complain(
            "link",
            message,
            "give all switches the same `link` (and `backpressure`)",
        );
        return false;
    }
    if let (Admission::Pfc(all), Admission::Pfc(mine)) =
        (&base.switch.mmu.admission, &own.switch.mmu.admission)
        && (all.pause, all.response_ps, all.frame_bytes)
            != (mine.pause, mine.response_ps, mine.frame_bytes)
    {
        let message = "all switches with PFC need the same pause frames: `pause`, `response` and `frame` of [scheme.pfc]";
        s.complain("pfc", message, "set them in [scheme.pfc]");
        return false;
    }
    true
}
