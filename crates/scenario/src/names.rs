//! Looks up nodes of a network by name.

use fabric::topology::Graph;
use fabric::{LinkId, NodeId};

use crate::problem::{Code, nearest};
use crate::reader::{Read, refuse, refuse_as};

/// Returns the node with this name.
pub(crate) fn find(name: &str, graph: &Graph) -> Read<NodeId> {
    if let Some(node) = graph.find(name) {
        return Ok(node);
    }
    let names: Vec<String> = graph.node_ids().map(|node| graph.name(node)).collect();
    let hint = match nearest(name, names.iter().map(String::as_str)) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!(
            "nodes are called \"{}\", \"{}\", ..",
            names[0],
            names[names.len() - 1]
        ),
    };
    refuse_as(
        Code::UnknownName,
        format!("there is no node \"{name}\""),
        hint,
    )
}

/// Returns the link from node `a` to node `b`. If several links connect the two nodes, `b` ends
/// with the index of the link, as in `spine1#2`.
// TOP-05: parallel links have an index
pub(crate) fn port_between(a: &str, b: &str, graph: &Graph) -> Read<LinkId> {
    let (b, number) = match b.rsplit_once('#') {
        Some((name, number)) if graph.find(b).is_none() => (name, Some(number)),
        _ => (b, None),
    };
    let (from, to) = (find(a, graph)?, find(b, graph)?);
    let ports: Vec<LinkId> = graph.links_to(from, to).collect();
    let nth = match number {
        Some(number) => number.parse::<usize>().unwrap_or(0),
        None if ports.len() < 2 => 1,
        None => 0,
    };
    if let Some(&link) = nth.checked_sub(1).and_then(|nth| ports.get(nth)) {
        return Ok(link);
    }
    if ports.is_empty() {
        let near = graph.links_of(from).take(5);
        let near: Vec<String> = near.map(|link| graph.name(graph.port(link).peer)).collect();
        return refuse(
            format!("no link joins {a} and {b}"),
            format!("{a} is linked to {}, ..", near.join(", ")),
        );
    }
    let (links, one) = match ports.len() {
        1 => ("one link joins".to_owned(), String::new()),
        n => (format!("{n} links join"), "#1".to_owned()),
    };
    refuse_as(
        Code::UnknownName,
        format!("{links} {a} and {b}"),
        format!(
            "write \"{b}{one}\" for the other end of the first, in the order of the list of links"
        ),
    )
}

/// Returns the nodes whose names match a pattern, in ascending order. A name without `*` and `?`
/// must exist.
pub(crate) fn nodes_like(pattern: &str, graph: &Graph) -> Read<Vec<NodeId>> {
    if !pattern.contains(['*', '?']) {
        return Ok(vec![find(pattern, graph)?]);
    }
    let fits = |&node: &NodeId| is_like(graph.name(node).as_bytes(), pattern.as_bytes());
    Ok(graph.node_ids().filter(fits).collect())
}

/// True if a name matches a pattern. `*` matches any characters, and `?` matches one character.
fn is_like(name: &[u8], pattern: &[u8]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, first) => first.is_none(),
        (Some((b'*', rest)), _) => (0..=name.len()).any(|from| is_like(&name[from..], rest)),
        (Some((letter, rest)), Some((first, others))) => {
            (*letter == b'?' || letter == first) && is_like(others, rest)
        }
        (Some(_), None) => false,
    }
}
