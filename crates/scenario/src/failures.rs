//! Reads `[[topology.failures]]`: failing links, listed or drawn at random. The rules are in
//! `specs/links.md`.

use dataplane::param::{Value, Values};
use dataplane::switch::Stranded;
use dataplane::units::Time;
use fabric::LinkId;
use fabric::link_failures::lower_end;
use fabric::topology::{Graph, NodeKind};

use crate::document;
use crate::keys::FAILURES;
use crate::names::port_between;
use crate::params;
use crate::problem::Code;
use crate::reader::{Read, Section, refuse};

/// Separator between the two nodes of a link in its name, see [`Graph::link_name`].
const DASHES: &str = "--";

/// The links from which failing links are drawn.
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
    /// Listed links. Each is identified by the link ID of its first direction.
    Named(Vec<LinkId>),
    /// A number of links that are drawn at random from the candidates.
    Random(u32, Among),
}

/// One entry of `[[topology.failures]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureSpec {
    /// The links that fail.
    pub which: Which,
    /// Time of the failure, ps.
    pub from_ps: Time,
    /// Time of the recovery, ps; `None`: the links do not recover.
    pub until_ps: Option<Time>,
}

/// Link failures, and the reaction of the network to them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailuresSpec {
    /// All entries of `[[topology.failures]]`.
    pub entries: Vec<FailureSpec>,
    /// Time from a failure or recovery to the change of routes, ps.
    pub reconvergence_ps: Time,
    /// Handling of packets for a port whose link is down: drop or keep.
    pub stranded: Stranded,
}

/// Reads the link failures in `[topology]`.
// LNK-04: failures of links
pub(crate) fn read(root: &Section<'_>, graph: Option<&Graph>) -> Option<FailuresSpec> {
    let Some(s) = root.section("topology") else {
        return Some(FailuresSpec::default());
    };
    let is_empty = s.table.get("failures").is_none_or(
        |entry| matches!(&entry.node.value, document::Value::Array(items) if items.is_empty()),
    );
    if is_empty {
        for param in FAILURES.iter().filter(|param| param.key != "failures") {
            s.refuse_useless(param.key, "no link fails (failures)");
        }
        return Some(FailuresSpec::default());
    }
    let values = params::read(&s, FAILURES)?;
    let entries = params::each(&s, "failures", &values, |s, values| one(s, values, graph));
    Some(FailuresSpec {
        entries: entries?,
        reconvergence_ps: values.time("reconvergence"),
        stranded: match values.is("dead_queues", "reroute") {
            true => Stranded::Wait,
            false => Stranded::Drop,
        },
    })
}

fn one(s: &Section<'_>, values: &Values, graph: Option<&Graph>) -> Option<FailureSpec> {
    let (from_ps, until_ps) = (values.time("at"), values.some_time("until"));
    if until_ps.is_some_and(|until_ps| until_ps <= from_ps) {
        let message = "`until`: the link would be back before it fails";
        s.complain("until", message, "`until` is a time after `at`");
        return None;
    }
    Some(FailureSpec {
        which: which(s, values, graph)?,
        from_ps,
        until_ps,
    })
}

/// Returns the listed links, or the number of links to draw with their candidates.
fn which(s: &Section<'_>, values: &Values, graph: Option<&Graph>) -> Option<Which> {
    if let Some(names) = values.some_list("links") {
        return named(s, &names, graph).map(Which::Named);
    }
    let Some(number) = values.some_count("random") else {
        s.missing("links", "[\"leaf0--spine1\"] (or random = 2)");
        return None;
    };
    let among = match values.is("among", "all") {
        true => Among::All,
        false => Among::Fabric,
    };
    let most = graph.map_or(u64::MAX, |graph| candidates(graph, among).len() as u64);
    if number > most {
        let (message, hint) = match most {
            0 => (
                "no link joins two switches".to_owned(),
                "write among = \"all\"".to_owned(),
            ),
            _ => (
                format!("there are no {number} such links"),
                format!("there are {most}"),
            ),
        };
        s.refuse_keys(
            Code::OutOfRange,
            &["random"],
            format!("`random`: {message}"),
            hint,
        );
        return None;
    }
    Some(Which::Random(number as u32, among))
}

fn named(s: &Section<'_>, names: &[Value], graph: Option<&Graph>) -> Option<Vec<LinkId>> {
    if names.is_empty() {
        s.complain(
            "links",
            "no link is named",
            "a list of links such as [\"leaf0--spine1\"]",
        );
        return None;
    }
    let Some(graph) = graph else {
        // The topology already has an error, so links cannot be looked up.
        return Some(Vec::new());
    };
    let mut links = Vec::new();
    for name in names {
        let Value::Text(text) = name else {
            return None;
        };
        match link(text, graph) {
            Ok(link) => links.push(link),
            Err(refusal) => {
                let message = format!("`links`: {}", refusal.message);
                s.refuse_keys(
                    refusal.code,
                    &["links"],
                    message,
                    refusal.hint.unwrap_or_default(),
                );
                return None;
            }
        }
    }
    links.sort_unstable();
    links.dedup();
    Some(links)
}

/// Returns the link between two nodes from a text `a--b`.
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

/// Returns the candidates for random failures, each as the link ID of its first direction.
pub(crate) fn candidates(graph: &Graph, among: Among) -> Vec<LinkId> {
    let is_switch = |node| graph.kind(node) == NodeKind::Switch;
    let wanted = |&link: &LinkId| {
        let ends = (graph.sender(link), graph.port(link).peer);
        let counts = among == Among::All || is_switch(ends.0) && is_switch(ends.1);
        counts && lower_end(graph, link) == link
    };
    graph.link_ids().filter(wanted).collect()
}
