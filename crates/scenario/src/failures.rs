//! `[[topology.failures]]`: links that fail, listed or drawn at random. The rules are in
//! `specs/links.md`.

use dataplane::switch::Stranded;
use dataplane::units::Time;
use fabric::LinkId;
use fabric::link_failures::lower_end;
use fabric::topology::{Graph, NodeKind};

use crate::document::{Node, Value};
use crate::names::port_between;
use crate::problem::Code;
use crate::reader::{Read, Section, array, choice, count, quantity, refuse, string};
use crate::units::{MAX_TIME_PS, TIME};

/// Separator between the two ends of a link in its name, see [`Graph::link_name`].
const DASHES: &str = "--";

/// The links that may be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Among {
    /// Links between switches.
    Fabric,
    /// All links.
    All,
}

/// The links that fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// Listed links, each by its lower direction.
    Named(Vec<LinkId>),
    /// A number of links, drawn at random.
    Random(u32, Among),
}

/// One entry of `failures`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureSpec {
    /// The links.
    pub which: Which,
    /// Time of the failure, ps.
    pub from_ps: Time,
    /// Time of the recovery, ps; `None`: never.
    pub until_ps: Option<Time>,
}

/// Link failures and their consequences.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailuresSpec {
    /// All entries.
    pub entries: Vec<FailureSpec>,
    /// Delay of new routes after a change, ps.
    pub reconvergence_ps: Time,
    /// Handling of packets for a port whose link is down.
    pub stranded: Stranded,
}

/// Keys of `[topology]` for failures.
pub(crate) const KEYS: [&str; 3] = ["failures", "reconvergence", "dead_queues"];

/// Reads the failures in `[topology]`.
// LNK-04
pub(crate) fn read(root: &Section<'_>, graph: Option<&Graph>) -> Option<FailuresSpec> {
    let Some(s) = root.section("topology") else {
        return Some(FailuresSpec::default());
    };
    let Some(entry) = s.entry("failures") else {
        let why = "no link fails (failures)";
        s.refuse_useless("reconvergence", why);
        s.refuse_useless("dead_queues", why);
        return Some(FailuresSpec::default());
    };
    let items = match array(&entry.node, "an array of tables") {
        Ok(items) => items,
        Err(refusal) => {
            let message = format!("`failures`: {}", refusal.message);
            s.complain("failures", message, "write [[topology.failures]]");
            return None;
        }
    };
    s.context.note(&s.child("failures"), &entry.node.at);
    let entries: Vec<Option<FailureSpec>> = items
        .iter()
        .enumerate()
        .map(|(i, item)| one(&s, item, i, graph))
        .collect();
    let reconvergence = or(&s, "reconvergence", "0us", |n| {
        quantity(n, &TIME, 0, MAX_TIME_PS)
    });
    let words = [("drop", Stranded::Drop), ("reroute", Stranded::Wait)];
    let stranded = or(&s, "dead_queues", "drop", |n| choice(n, &words));
    Some(FailuresSpec {
        entries: entries.into_iter().collect::<Option<_>>()?,
        reconvergence_ps: reconvergence?.unwrap_or(0),
        stranded: stranded?.unwrap_or_default(),
    })
}

/// Reads an optional key. Returns `Some(None)` if it is missing, and records its default.
fn or<T>(
    s: &Section<'_>,
    key: &'static str,
    default: &str,
    read: impl FnOnce(&Node) -> Read<T>,
) -> Option<Option<T>> {
    if s.has(key) {
        return s.optional(key, read).map(Some);
    }
    let text = format!("\"{default}\"");
    s.context
        .compute(&s.path, key, text, "default: LNK-04, our choice");
    Some(None)
}

fn one(s: &Section<'_>, item: &Node, i: usize, graph: Option<&Graph>) -> Option<FailureSpec> {
    let path = s.child(&format!("failures.{i}"));
    let Value::Table(table) = &item.value else {
        let message = format!("a failure is a table, not {}", item.kind());
        let hint = "{ links = [\"leaf0--spine1\"], at = \"0us\" }".to_owned();
        s.context
            .error(Code::WrongType, &item.at, &path, message, Some(hint));
        return None;
    };
    let inner = Section::new(s.context, table, path, item.at.clone());
    let which = which(&inner, graph);
    let from = match inner.has("at") {
        true => inner.optional("at", |n| quantity(n, &TIME, 0, MAX_TIME_PS)),
        false => Some(0),
    };
    let until = match inner.has("until") {
        true => inner
            .optional("until", |n| {
                let until = quantity(n, &TIME, 1, MAX_TIME_PS)?;
                match from {
                    Some(from) if until <= from => refuse(
                        "the link would be back before it fails",
                        "`until` is a time after `at`",
                    ),
                    _ => Ok(until),
                }
            })
            .map(Some),
        false => Some(None),
    };
    inner.finish();
    Some(FailureSpec {
        which: which?,
        from_ps: from?,
        until_ps: until?,
    })
}

/// Reads `links`, or `random` with `among`.
fn which(s: &Section<'_>, graph: Option<&Graph>) -> Option<Which> {
    match (s.has("links"), s.has("random")) {
        (true, true) => {
            s.complain_of(
                &["random", "links"],
                "`links` and `random` both say which links fail",
                "make two entries of it",
            );
            None
        }
        (true, false) => {
            s.refuse_useless("among", "the links are named");
            s.optional("links", |n| named(n, graph)).map(Which::Named)
        }
        (false, true) => {
            let words = [("fabric", Among::Fabric), ("all", Among::All)];
            let among = match s.has("among") {
                true => s.optional("among", |n| choice(n, &words))?,
                false => Among::Fabric,
            };
            let most = graph.map_or(u64::from(u32::MAX), |g| candidates(g, among).len() as u64);
            let number = s.optional("random", |n| {
                if most == 0 {
                    return refuse("no link joins two switches", "write among = \"all\"");
                }
                count(n, 1, most)
            })?;
            Some(Which::Random(number as u32, among))
        }
        (false, false) => {
            s.entry("among");
            s.missing("links", "[\"leaf0--spine1\"] (or random = 2)");
            None
        }
    }
}

fn named(node: &Node, graph: Option<&Graph>) -> Read<Vec<LinkId>> {
    let example = "a list of links such as [\"leaf0--spine1\"]";
    let items = array(node, example)?;
    if items.is_empty() {
        return refuse("no link is named", example);
    }
    let Some(graph) = graph else {
        // The topology already has an error, so links cannot be looked up.
        return Ok(Vec::new());
    };
    let links: Read<Vec<LinkId>> = items
        .iter()
        .map(|item| link(&string(item)?, graph))
        .collect();
    let mut links = links?;
    links.sort_unstable();
    links.dedup();
    Ok(links)
}

/// Returns a link from the names of both its ends.
fn link(text: &str, graph: &Graph) -> Read<LinkId> {
    let Some((a, b)) = text.split_once(DASHES) else {
        return refuse(
            format!("\"{text}\" names no link"),
            "write its two ends with two dashes between them, such as \"leaf0--spine1\"",
        );
    };
    let link = port_between(a.trim(), b.trim(), graph)?;
    Ok(lower_end(graph, link))
}

/// Returns the links that may be drawn, in the order of their lower ends.
pub(crate) fn candidates(graph: &Graph, among: Among) -> Vec<LinkId> {
    let is_switch = |node| graph.kind(node) == NodeKind::Switch;
    let wanted = |&link: &LinkId| {
        let ends = (graph.sender(link), graph.port(link).peer);
        let counts = among == Among::All || is_switch(ends.0) && is_switch(ends.1);
        counts && lower_end(graph, link) == link
    };
    graph.link_ids().filter(wanted).collect()
}
