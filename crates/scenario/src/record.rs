//! Reads `[record]`: the additional measurements of a run that are written to its results.

use dataplane::ids::IndexVec;
use dataplane::param::{Kind, Param, Value as Given, Values};
use dataplane::units::Time;
use fabric::measure::{Declaration, MEASURES, RecordSpec};
use fabric::topology::{Graph, NodeKind};
use fabric::{LinkId, NodeId};

use crate::document::{Node, Value};
use crate::names::{nodes_like, port_between};
use crate::params;
use crate::reader::{Read, Section, array, refuse, string, time_window};
use crate::spec::RunSpec;
use crate::traffic_spec::{TrafficSpec, last_arrival_ps};
use crate::units::TIME;

/// Separator between the two nodes of a link in the name of a port.
const ARROW: &str = "->";

/// Reads `[record]`. Without this table, no additional measurement is enabled.
// RCD-01: `[record]`
pub(crate) fn read(
    root: &Section<'_>,
    graph: Option<&Graph>,
    traffic: &[TrafficSpec],
    run: Option<&RunSpec>,
) -> Option<RecordSpec> {
    if !root.has("record") {
        return Some(RecordSpec::default());
    }
    let s = root.section("record")?;
    let around = Around {
        graph,
        measured: run.map(|run| measured(traffic, run)),
    };
    let mut spec = RecordSpec::default();
    let mut good = true;
    for measure in MEASURES.iter().filter(|measure| s.has(measure.key)) {
        match values(&s, measure, &around) {
            Some(values) => (measure.configure)(&mut spec, &values),
            None => good = false,
        }
    }
    s.finish();
    good.then_some(spec)
}

/// Context for reading the keys of a measurement.
struct Around<'a> {
    /// The network. `None` if the topology has errors, which were already reported.
    graph: Option<&'a Graph>,
    measured: Option<(Time, Time)>,
}

/// Reads the table of a measurement. Returns `None` after an error, which has been reported.
fn values(s: &Section<'_>, measure: &Declaration, around: &Around<'_>) -> Option<Values> {
    let inner = s.section(measure.key)?;
    let mut values = Values::default();
    let mut good = true;
    for param in measure.params {
        match value(&inner, param, around) {
            Some(value) => values.insert(param.key, value),
            None => good = false,
        }
    }
    inner.finish();
    good.then_some(values)
}

fn value(s: &Section<'_>, param: &'static Param, around: &Around<'_>) -> Option<Given> {
    match param.kind {
        Kind::Window { max } => window_or(s, param.key, max, around.measured),
        Kind::List(Kind::Port) => s.required(param.key, "\"switches\"", |n| ports(n, around.graph)),
        Kind::List(Kind::Links) => {
            s.required(param.key, "[\"leaf0->spine1\"]", |n| links(n, around.graph))
        }
        _ => params::one(s, param).flatten(),
    }
}

/// Returns the time window to which the summary of a run refers. // RCD-08
fn measured(traffic: &[TrafficSpec], run: &RunSpec) -> (Time, Time) {
    let end = last_arrival_ps(traffic).map_or(run.until_ps, |to| to.min(run.until_ps));
    (run.warmup_ps, end)
}

/// Returns the time window that a key sets, else the window of the summary.
fn window_or(
    s: &Section<'_>,
    key: &'static str,
    max_ps: Time,
    measured: Option<(Time, Time)>,
) -> Option<Given> {
    if s.has(key) {
        let window = s.optional(key, |n| time_window(n, max_ps));
        return window.map(|(from, to)| Given::Window(from, to));
    }
    let (from, to) = measured?;
    let text = format!("[\"{}\", \"{}\"]", TIME.show(from), TIME.show(to));
    s.context
        .compute(&s.path, key, text, "default: the measured time");
    Some(Given::Window(from, to))
}

/// Returns the ports that a list identifies, or all ports of switches.
fn ports(node: &Node, graph: Option<&Graph>) -> Read<Given> {
    let example = "\"switches\" for all of them, or a list such as [\"switch0->host3\"]";
    if let Value::String(word) = &node.value {
        return match word.as_str() {
            "switches" => Ok(Given::Word("switches")),
            _ => refuse(format!("there is no \"{word}\""), example),
        };
    }
    let items = array(node, example)?;
    if items.is_empty() {
        return refuse("no port is named", example);
    }
    let Some(graph) = graph else {
        // The topology already has an error, so ports cannot be looked up.
        return Ok(Given::List(Vec::new()));
    };
    let mut listed: Vec<(NodeId, u16)> = items
        .iter()
        .map(|item| port(&string(item)?, graph))
        .collect::<Read<_>>()?;
    listed.sort_unstable();
    listed.dedup();
    let port = |(node, port): (NodeId, u16)| Given::Port(node.bits(), port);
    Ok(Given::List(listed.into_iter().map(port).collect()))
}

/// Returns the sending ports of links that match the patterns of a list.
// RCD-33: patterns of links
fn links(node: &Node, graph: Option<&Graph>) -> Read<Given> {
    let example = "a list such as [\"leaf0->spine1\", \"host0:*\"]";
    let items = array(node, example)?;
    if items.is_empty() {
        return refuse("no link is named", example);
    }
    let Some(graph) = graph else {
        return Ok(Given::List(Vec::new()));
    };
    let mut listed = Vec::new();
    for item in items {
        listed.extend(matching(&string(item)?, graph)?);
    }
    listed.sort_unstable();
    listed.dedup();
    let port = |(node, port): (NodeId, u16)| Given::Port(node.bits(), port);
    Ok(Given::List(listed.into_iter().map(port).collect()))
}

/// Returns the sending ports of the links that match one pattern.
fn matching(text: &str, graph: &Graph) -> Read<Vec<(NodeId, u16)>> {
    let (from, to, both) = match (text.split_once(ARROW), text.split_once(':')) {
        (Some((from, to)), _) => (from.trim(), to.trim(), false),
        (None, Some((of, "*"))) => (of.trim(), "*", true),
        _ => {
            return refuse(
                format!("\"{text}\" names no links"),
                "write \"leaf0->spine1\" for one direction, \"leaf0:*\" for all links of a node; * stands for \
                 any letters",
            );
        }
    };
    // TOP-05: parallel links have an index
    let (to, number) = match to.rsplit_once('#') {
        Some((nodes, number)) if graph.find(to).is_none() => (nodes, Some(number)),
        _ => (to, None),
    };
    let is_numbered = |link: LinkId| match number {
        Some(number) => (graph.port_name(link).rsplit_once('#')).is_some_and(|n| n.1 == number),
        None => true,
    };
    let of = |pattern: &str| -> Read<IndexVec<NodeId, bool>> {
        let named = nodes_like(pattern, graph)?;
        Ok(graph
            .node_ids()
            .map(|node| named.binary_search(&node).is_ok())
            .collect())
    };
    let (senders, receivers) = (of(from)?, of(to)?);
    let joins = |a: NodeId, b: NodeId| senders[a] && receivers[b];
    let mut found = Vec::new();
    for node in graph.node_ids() {
        for (port, link) in (0..).zip(graph.links_of(node)) {
            let peer = graph.port(link).peer;
            let fits = joins(node, peer) || both && joins(peer, node);
            if fits && is_numbered(link) {
                found.push((node, port));
            }
        }
    }
    if found.is_empty() {
        let names = [0, graph.nodes() - 1].map(|node| graph.name(NodeId::from_bits(node)));
        return refuse(
            format!("no link is like \"{text}\""),
            format!(
                "nodes are called \"{}\", \"{}\", ..; `backwater inspect --dot` names the links",
                names[0], names[1]
            ),
        );
    }
    Ok(found)
}

/// Returns the port of a switch from a text `from->to` with the two nodes of its link.
fn port(text: &str, graph: &Graph) -> Read<(NodeId, u16)> {
    let Some((from, to)) = text.split_once(ARROW) else {
        return refuse(
            format!("\"{text}\" names no port"),
            "write the switch and its neighbour, such as \"switch0->host3\"",
        );
    };
    let link = port_between(from.trim(), to.trim(), graph)?;
    let (from, to) = (graph.sender(link), graph.port(link).peer);
    if graph.kind(from) == NodeKind::Host {
        return refuse(
            format!(
                "{} is a host, and only switches have queues",
                graph.name(from)
            ),
            format!(
                "the other direction is \"{}{ARROW}{}\"",
                graph.name(to),
                graph.name(from)
            ),
        );
    }
    Ok((from, link.port(graph.first_link(from))))
}
