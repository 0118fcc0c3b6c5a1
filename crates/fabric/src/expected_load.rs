//! Expected load of each link, computed from the routes and the rates between hosts.

use std::collections::BTreeMap;
use std::sync::Arc;

use dataplane::ids::IndexVec;

use dataplane::route::Routes;

use crate::ids::{LinkId, NodeId};
use crate::paths::Paths;
use crate::topology::Graph;

/// Adds up the rates between pairs of hosts, and distributes them over the links.
// TOP-25: expected load of a link
#[derive(Debug)]
pub struct ExpectedLoad {
    graph: Arc<Graph>,
    paths: Paths,
    /// Rate on each link of a host, bit/s. Entries of other links are 0.
    at_hosts: IndexVec<LinkId, f64>,
    /// Rate from one group of endpoints to another, bit/s.
    between: BTreeMap<(u32, u32), f64>,
}

impl ExpectedLoad {
    /// Creates the load of a network without traffic.
    #[must_use]
    pub fn new(graph: Arc<Graph>) -> Self {
        Self {
            paths: Paths::new(Arc::clone(&graph)),
            at_hosts: vec![0.0; graph.port_count() as usize].into(),
            between: BTreeMap::new(),
            graph,
        }
    }

    /// Adds the rate from host `src` to host `dst`. It is divided evenly among the ports that flows
    /// of this pair may use.
    pub fn add(&mut self, src: NodeId, dst: NodeId, bps: f64) {
        let pairs = self.paths.nearest_endpoints(src, dst);
        // ENG-11: divide the rate evenly among the sender's ports, then among those of the
        // receiver.
        let mut senders: Vec<LinkId> = pairs.iter().map(|pair| pair.0).collect();
        senders.dedup();
        for &from in &senders {
            let receivers = pairs.iter().filter(|pair| pair.0 == from);
            let each = bps / senders.len() as f64 / receivers.clone().count() as f64;
            for &(_, to) in receivers {
                self.at_hosts[from] += each;
                if self.graph.is_cable(from) {
                    continue;
                }
                self.at_hosts[self.graph.reverse(to)] += each;
                let groups = (self.graph.group_of(from), self.graph.group_of(to));
                if groups.0 != groups.1 {
                    *self.between.entry(groups).or_default() += each;
                }
            }
        }
    }

    /// Returns the rate on each link, in bit/s. Each switch divides its traffic to a destination
    /// evenly among the equal-cost ports.
    #[must_use]
    pub fn by_port(&self, routes: &[Routes]) -> IndexVec<LinkId, f64> {
        let graph = &*self.graph;
        let mut load = self.at_hosts.clone();
        let mut arriving = vec![0.0; graph.switches() as usize];
        for group in 0..graph.groups() {
            let mut order = from_far_to_near(graph, group);
            for &switch in &order {
                let from = graph.group_of_switch(switch);
                let sent = from.and_then(|from| self.between.get(&(from, group)));
                arriving[switch as usize] = sent.copied().unwrap_or(0.0);
            }
            order.pop(); // skip the switch of the group
            for switch in order {
                let ports = routes[switch as usize].towards(group);
                let each = arriving[switch as usize] / ports.len().max(1) as f64;
                if each > 0.0 {
                    for &port in ports {
                        let index = graph.switch_link(switch, port);
                        load[index] += each;
                        arriving[graph.fabric_peer(index) as usize] += each;
                    }
                }
            }
        }
        load
    }
}

/// Returns the switches on the paths to a group of endpoints, the most distant first. The last one
/// is the switch of the group.
fn from_far_to_near(graph: &Graph, group: u32) -> Vec<u32> {
    let mut order = vec![graph.group_switch(group)];
    let mut is_found = vec![false; graph.switches() as usize];
    is_found[order[0] as usize] = true;
    let mut next = 0;
    while let Some(&switch) = order.get(next) {
        next += 1;
        for index in graph.live_links(switch) {
            let peer = graph.fabric_peer(index);
            if !std::mem::replace(&mut is_found[peer as usize], true) {
                order.push(peer);
            }
        }
    }
    order.reverse();
    order
}
