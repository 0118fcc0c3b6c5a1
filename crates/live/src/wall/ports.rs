//! Which interface stands for which port of a scenario.

use fabric::topology::Graph;

/// Names of the nodes at the other ends of a node's links, in the order of its ports.
///
/// # Errors
/// It has another number of ports than there are interfaces: in words.
pub(crate) fn neighbours(
    graph: &Graph,
    node: u32,
    interfaces: usize,
) -> Result<Vec<String>, String> {
    let peer = |index| graph.name(graph.node_of_port(graph.peer_index(index)));
    let names: Vec<String> = graph.port_range(node).map(peer).collect();
    if names.len() == interfaces {
        return Ok(names);
    }
    Err(format!(
        "{} has {} in the scenario, and {} given: give one for each port, in the order of what they lead to: {}",
        graph.name(node),
        counted(names.len(), "port"),
        match interfaces {
            1 => "1 interface is".to_owned(),
            more => format!("{more} interfaces are"),
        },
        names.join(", ")
    ))
}

fn counted(number: usize, what: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {what}{ending}")
}
