//! Finds the hosts that a scenario gives by number or name.

use std::collections::BTreeMap;

use dataplane::param::Value;
use fabric::NodeId;
use fabric::topology::{Graph, TopologySpec};

use crate::problem::Code;
use crate::reader::Section;

/// The hosts of a network.
pub(crate) struct Hosts<'a> {
    pub graph: &'a Graph,
    /// Hosts by name, if the scenario defines names.
    names: BTreeMap<&'a str, NodeId>,
}

impl<'a> Hosts<'a> {
    pub fn new(graph: &'a Graph, topology: Option<&'a TopologySpec>) -> Self {
        let names = match topology {
            Some(TopologySpec::Links { hosts, .. }) => {
                let numbers = (0..).map(NodeId::from_bits);
                hosts.iter().map(String::as_str).zip(numbers).collect()
            }
            _ => BTreeMap::new(),
        };
        Self { graph, names }
    }

    /// Returns the host with this name.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.node(name).filter(|&node| self.graph.is_host(node))
    }

    fn node(&self, name: &str) -> Option<NodeId> {
        let named = self.names.get(name).copied();
        named.or_else(|| self.graph.find(name))
    }

    /// Returns the host of a value, or reports at the key that there is none.
    pub fn read(&self, s: &Section<'_>, key: &str, value: &Value) -> Option<NodeId> {
        let last = self.graph.hosts().saturating_sub(1);
        let (found, message) = match value {
            Value::Count(number) => {
                let host = (*number <= last.into()).then(|| NodeId::from_bits(*number as u32));
                (host, format!("there is no host {number}"))
            }
            Value::Text(name) => {
                let message = match self.node(name) {
                    Some(_) => format!("\"{name}\" is a switch, not a host"),
                    None => format!("there is no host \"{name}\""),
                };
                (self.find(name), message)
            }
            other => (None, format!("{other:?} is not a host")),
        };
        if found.is_none() {
            let name = self.graph.name(NodeId::new(0));
            let hint = format!("a number from 0 to {last}, or a name such as \"{name}\"");
            s.refuse_keys(
                Code::UnknownName,
                &[key],
                format!("`{key}`: {message}"),
                hint,
            );
        }
        found
    }
}
