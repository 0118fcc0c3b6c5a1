//! Finds the hosts that a scenario identifies by number or name.

use dataplane::param::Value;
use fabric::NodeId;
use fabric::topology::Graph;

use crate::problem::Code;
use crate::reader::Section;

/// Returns the host with this name.
pub(crate) fn find(graph: &Graph, name: &str) -> Option<NodeId> {
    graph.find(name).filter(|&node| graph.is_host(node))
}

/// Returns the host that the value of a key identifies by number or name. If there is no such host,
/// reports an error at the key.
pub(crate) fn read(s: &Section<'_>, key: &str, value: &Value, graph: &Graph) -> Option<NodeId> {
    let last = graph.hosts().saturating_sub(1);
    let message = match value {
        Value::Count(number) if *number <= last.into() => {
            return Some(NodeId::from_bits(*number as u32));
        }
        Value::Count(number) => format!("there is no host {number}"),
        Value::Text(name) => match graph.find(name) {
            Some(node) if graph.is_host(node) => return Some(node),
            Some(_) => format!("\"{name}\" is a switch, not a host"),
            None => format!("there is no host \"{name}\""),
        },
        other => format!("{other:?} is not a host"),
    };
    let name = graph.name(NodeId::new(0));
    let hint = format!("a number from 0 to {last}, or a name such as \"{name}\"");
    s.refuse_keys(
        Code::UnknownName,
        &[key],
        format!("`{key}`: {message}"),
        hint,
    );
    None
}
