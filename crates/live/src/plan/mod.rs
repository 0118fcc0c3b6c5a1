//! Converts nodes of a simulator plan to descriptions for the wall clock.

mod flow_table;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use dataplane::ids::IndexVec;
use fabric::engine::{Plan, SingleHost, lockstep, upward};
use fabric::topology::Graph;
use fabric::{LinkId, NodeId};
use results::HostFiles;
use wire::Network;
use wire::frame::mac;

use crate::Error;
use crate::host::description::{HostDescription, unknown_host};
use crate::host::{self, Ended};
use crate::switch::plan::{SwitchDescription, check_scheme};
use crate::wall::NodeDescription;

/// Returns the description of a switch in a plan. If `name` is `None`, the plan must have exactly
/// one switch.
///
/// # Errors
/// The plan has no such switch.
// WSW-20: scheme, buffer, rates and delays are as in the scenario
pub fn switch_of(plan: &Plan, name: Option<&str>) -> Result<SwitchDescription, Error> {
    let graph = &plan.graph;
    let switch = find_switch(graph, name)?;
    let node = graph.switch_node(switch);
    Ok(SwitchDescription {
        node: node_of(plan, node),
        number: node.bits(),
        config: plan.switch_of(node).clone(),
        routes: plan.routes[switch as usize].clone(),
        upward: upward(graph, node),
        floods: flooding_ports(graph, node),
    })
}

/// Returns the description of a host in a plan.
///
/// # Errors
/// The plan has no such host, or the scenario cannot run on real frames.
// HST-01, HST-03: flows and addresses of a host
pub fn host_of(plan: Plan, name: &str) -> Result<HostDescription, Error> {
    let graph = plan.graph.clone();
    let names: Vec<String> = graph.host_ids().map(|host| graph.name(host)).collect();
    let found = graph.find(name).filter(|&node| graph.is_host(node));
    let host = found.ok_or_else(|| unknown_host(name, &names))?;
    check(&plan)?;
    let mut single = SingleHost::new(&plan);
    let end = |endpoint: LinkId| {
        let of = graph.sender(endpoint);
        let port = endpoint.port(graph.first_link(of));
        (of.bits(), mac(of.bits(), port))
    };
    let first = graph.first_link(host).bits();
    Ok(HostDescription {
        node: node_of(&plan, host),
        host: host.bits(),
        nic: single.nic(&plan, host),
        start_flow: Box::new(move |flow, cookie| single.flow(flow, cookie)),
        own: first..first + u32::from(graph.ports(host)),
        mtu: plan.nic.mtu,
        ends: graph.endpoint_ids().map(end).collect(),
        names,
        feed: plan.feed,
    })
}

/// Directory and options for the results of a host.
#[derive(Clone, Debug)]
pub struct Results {
    /// Directory of the results.
    pub out_dir: PathBuf,
    /// True: write into the directory even if it contains other results.
    pub force: bool,
    /// The contents of `resolved.toml`: the scenario with explicit values of all keys.
    pub resolved: String,
}

/// Runs a host of a plan as [`host::run`] does, and writes its results.
///
/// # Errors
/// The errors of [`host::run`], or the results cannot be written.
// HST-30: results are also written if the run ends with an error
pub fn run_host(
    plan: Plan,
    name: &str,
    setup: &host::Setup,
    results: &Results,
    stop: &AtomicBool,
    ready: &mut host::Ready<'_>,
) -> Result<Ended, Error> {
    let mut description = host_of(plan, name)?;
    // The setup is checked before the directory is created, so that an error leaves no files.
    setup.apply(&mut description)?;
    let files = HostFiles::create(&results.out_dir, results.force)?;
    let ended = host::run(description, setup, stop, ready)?;
    let last = serde_json::to_string_pretty(&ended.last);
    let last = last.expect("a snapshot has only names, texts and numbers");
    files.finish(&results.resolved, &ended.flows, &last)?;
    Ok(ended)
}

fn node_of(plan: &Plan, node: NodeId) -> NodeDescription {
    let graph = &plan.graph;
    let peer = |link| graph.name(graph.port(link).peer);
    NodeDescription {
        name: graph.name(node),
        neighbours: graph.links_of(node).map(peer).collect(),
        links: graph.rates_and_delays(node),
        endpoints: graph.endpoints(),
        // WSW-22: on the wall clock, pauses expire
        network: Network {
            timed_pauses: true,
            ..lockstep::network(plan)
        },
        seed: plan.seed,
    }
}

/// Returns the index of a switch among the switches.
fn find_switch(graph: &Graph, name: Option<&str>) -> Result<u32, Error> {
    let known = graph.switch_ids().map(|node| graph.name(node));
    match name {
        Some(name) => {
            let node = graph.find(name);
            let switch = node.and_then(|node| graph.switch_number(node));
            switch.ok_or_else(|| Error::UnknownSwitch {
                name: name.to_owned(),
                known: known.collect(),
            })
        }
        None if graph.switches() == 1 => Ok(0),
        None => Err(Error::SeveralSwitches {
            known: known.collect(),
        }),
    }
}

/// Refuses plans whose nodes need information that frames do not carry, and schemes that cannot run
/// on the wall clock.
// HST-02: the error contains the refused feature
fn check(plan: &Plan) -> Result<(), Error> {
    if let Some(why) = lockstep::refusal(plan) {
        return Err(Error::NeedsMoreThanFrames(why));
    }
    plan.switch_configs().try_for_each(check_scheme)
}

/// For each port of a switch, returns true if flooded frames leave by the port: ports to hosts, and
/// ports of a spanning tree between switches.
// WSW-02: each switch receives a flooded frame once
fn flooding_ports(graph: &Graph, node: NodeId) -> Vec<bool> {
    let mut reached = IndexVec::from(vec![false; graph.nodes() as usize]);
    let mut tree: IndexVec<LinkId, bool> = vec![false; graph.port_count() as usize].into();
    let first = graph.switch_node(0);
    let mut open = VecDeque::from([first]);
    reached[first] = true;
    while let Some(at) = open.pop_front() {
        for link in graph.links_of(at) {
            let peer = graph.port(link).peer;
            if graph.is_host(peer) {
                tree[link] = true;
            } else if !std::mem::replace(&mut reached[peer], true) {
                tree[link] = true;
                tree[graph.reverse(link)] = true;
                open.push_back(peer);
            }
        }
    }
    graph.links_of(node).map(|link| tree[link]).collect()
}
