//! Which host of a scenario is to stand between real frames, and what it becomes there.

use std::collections::HashMap;
use std::ops::Range;

use dataplane::nic::Nic;
use dataplane::units::{Rate, Time};
use fabric::engine::{Plan, SingleHost, lockstep};
use fabric::topology::Graph;
use traffic::Flow;
use wire::Network;
use wire::ethernet::Mac;
use wire::frame::mac;

use crate::switch::plan::refusal;
use crate::wall::{neighbours, network};

/// What the user says beside the scenario.
#[derive(Clone, Debug)]
pub struct Choices {
    /// Name of the host.
    pub node: String,
    /// How many interfaces there are.
    pub ports: usize,
    /// Addresses of other hosts, by their names.
    pub peers: Vec<(String, Mac)>,
}

/// A host with everything that it knows of its network.
pub struct HostPlan {
    /// Its name in the scenario.
    pub name: String,
    /// Names of the nodes to which its ports lead.
    pub peers: Vec<String>,
    /// Its number there.
    pub host: u32,
    /// The state machine.
    pub nic: Nic,
    /// What its flows are given.
    pub single: SingleHost,
    /// Flows of the scenario, of all hosts, in the order of start.
    pub feed: Box<dyn Iterator<Item = Flow> + Send>,
    /// What frames look like.
    pub network: Network,
    /// Rate and delay of the link of each port.
    pub links: Vec<(Rate, Time)>,
    /// Its own endpoints, one for each port.
    pub own: Range<u32>,
    /// Payload bytes of a full packet.
    pub mtu: u16,
    /// Per endpoint: its host, and the address to which frames for it go.
    pub ends: Vec<(u32, Mac)>,
    /// Names of all hosts.
    pub names: Vec<String>,
    /// Seed of what is left to chance.
    pub seed: u64,
}

impl std::fmt::Debug for HostPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostPlan")
            .field("name", &self.name)
            .field("own", &self.own)
            .finish_non_exhaustive()
    }
}

/// Makes a host of a scenario's plan.
///
/// # Errors
/// There is no such host or peer, it has another number of ports, or it cannot do this on a wall clock: in words.
// HST-01, HST-03
pub fn host_plan(mut plan: Plan, choices: &Choices) -> Result<HostPlan, String> {
    let graph = plan.graph.clone();
    let host = find(&graph, &choices.node)?;
    let peers = neighbours(&graph, host, choices.ports)?;
    refuse(&plan)?;
    let mut given = HashMap::new();
    for (peer, address) in &choices.peers {
        given.insert(find(&graph, peer)?, *address);
    }
    let single = SingleHost::new(&plan);
    let end = |endpoint: usize| {
        let of = graph.node_of_port(endpoint);
        let port = (endpoint - graph.port_range(of).start) as u16;
        (of, given.get(&of).copied().unwrap_or(mac(of, port)))
    };
    let index = graph.port_range(host);
    Ok(HostPlan {
        nic: single.nic(&plan, host),
        feed: std::mem::replace(&mut plan.feed, Box::new(std::iter::empty())),
        network: network(&plan),
        links: graph.links(host),
        own: index.start as u32..index.end as u32,
        mtu: plan.nic.mtu,
        ends: (0..graph.endpoints() as usize).map(end).collect(),
        names: (0..graph.hosts()).map(|host| graph.name(host)).collect(),
        seed: plan.seed,
        name: graph.name(host),
        peers,
        host,
        single,
    })
}

/// The host of this name.
fn find(graph: &Graph, name: &str) -> Result<u32, String> {
    let found = graph.find(name).filter(|&node| node < graph.hosts());
    found.ok_or_else(|| {
        let (first, last) = (graph.name(0), graph.name(graph.hosts() - 1));
        format!("the scenario has no host {name}; it has {first} to {last}")
    })
}

/// What needs more than frames, or more of a neighbour than a switch on the wall clock does.
// HST-02
fn refuse(plan: &Plan) -> Result<(), String> {
    if let Some(why) = lockstep::refusal(plan) {
        return Err(format!(
            "this scenario cannot run on real frames, where nodes know of each other what frames say: {why}"
        ));
    }
    refusal(&plan.switch).map_or(Ok(()), Err)
}
