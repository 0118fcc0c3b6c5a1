//! Nodes of a network by their names.

use fabric::topology::Graph;

use crate::problem::{Code, nearest};
use crate::reader::{Read, refuse_as};

/// The node with this name.
pub(crate) fn find(name: &str, graph: &Graph) -> Read<u32> {
    if let Some(node) = graph.find(name) {
        return Ok(node);
    }
    let names: Vec<String> = (0..graph.nodes()).map(|node| graph.name(node)).collect();
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
