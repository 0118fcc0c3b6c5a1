//! Description of a node that runs on the wall clock, with its links.

use dataplane::units::{Rate, Time};
use wire::Network;

use crate::Error;

/// A node of a network, with its links. All lists are indexed by port.
#[derive(Clone, Debug)]
pub struct NodeDescription {
    /// Name of the node.
    pub name: String,
    /// Names of the neighbours.
    pub neighbours: Vec<String>,
    /// Rate and propagation delay (ps) of the links.
    pub links: Vec<(Rate, Time)>,
    /// Number of endpoints in the network. Each port of a host is an endpoint.
    pub endpoints: u32,
    /// Format of the frames on all links of the network.
    pub network: Network,
    /// Seed of the random decisions of the node.
    pub seed: u64,
}

impl NodeDescription {
    /// Checks that there is one network interface for each port.
    ///
    /// # Errors
    /// The number of interfaces differs from the number of ports.
    pub fn check_interfaces(&self, given: usize) -> Result<(), Error> {
        if self.neighbours.len() == given {
            return Ok(());
        }
        Err(Error::Interfaces {
            node: self.name.clone(),
            neighbours: self.neighbours.clone(),
            given,
        })
    }
}
