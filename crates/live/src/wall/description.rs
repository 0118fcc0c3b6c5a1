//! Description of a node on the wall clock and of its links.

use dataplane::units::{Rate, Time};
use wire::Network;

use crate::Error;

/// A node of a network, with its links. Vectors are indexed by port.
#[derive(Clone, Debug)]
pub struct NodeDescription {
    /// Name of the node.
    pub name: String,
    /// Names of the nodes at the other ends of its links.
    pub neighbours: Vec<String>,
    /// Rate, and propagation delay in ps, of its links.
    pub links: Vec<(Rate, Time)>,
    /// Number of endpoints in the network. Each port of a host is one.
    pub endpoints: u32,
    /// Format of the frames on all links of the network.
    pub network: Network,
    /// Seed of the random decisions of the node.
    pub seed: u64,
}

impl NodeDescription {
    /// Checks that there is an interface for each port.
    ///
    /// # Errors
    /// The numbers differ.
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
