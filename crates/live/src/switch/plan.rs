//! Which switch of a scenario is to stand between real frames, and what it becomes there.

use std::collections::VecDeque;

use dataplane::classes::{DATA_CLASS, TRAFFIC_CLASSES};
use dataplane::config::{Admission, ClassConfig, PauseTime};
use dataplane::packet::{Kind, Packet};
use dataplane::route::Routes;
use dataplane::switch::{Switch, SwitchConfig, division};
use dataplane::units::{Rate, Time};
use fabric::engine::{Plan, upward};
use fabric::topology::Graph;
use wire::Network;

use super::classes::Classes;
use crate::wall::{neighbours, network};

/// The longest pause, repeated after half of it, where a scenario lets pauses hold until they are resumed.
// WSW-22, QNT-05
const PAUSE: PauseTime = PauseTime::Quanta {
    quanta: u16::MAX,
    refresh: u16::MAX / 2,
};

/// Headers of Ethernet with a tag, and the checksum.
const FRAME_BYTES: u16 = 22;

/// What the user says beside the scenario.
#[derive(Clone, Debug)]
pub struct Choices {
    /// Name of the switch; `None`: the only one.
    pub node: Option<String>,
    /// How many interfaces there are.
    pub ports: usize,
    /// Traffic class of each priority.
    pub classes: Classes,
    /// Priorities that PFC pauses, as bits; `None`: those of the scenario's data.
    pub lossless: Option<u8>,
    /// Largest datagram of IP.
    pub mtu: u16,
}

/// A switch with everything that it knows of its network.
#[derive(Debug)]
pub struct SwitchPlan {
    /// Its name in the scenario.
    pub name: String,
    /// Names of the nodes to which its ports lead.
    pub peers: Vec<String>,
    /// The state machine.
    pub switch: Switch,
    /// Its configuration.
    pub config: SwitchConfig,
    /// Its routes.
    pub routes: Routes,
    /// Endpoints of the network.
    pub endpoints: u32,
    /// What frames look like.
    pub network: Network,
    /// Traffic class of each priority.
    pub classes: Classes,
    /// Rate and delay of the link of each port.
    pub links: Vec<(Rate, Time)>,
    /// An endpoint to which each port leads, if any does.
    pub targets: Vec<Option<u32>>,
    /// Ports by which frames for everybody leave: those of a tree, so that none goes round for ever.
    pub floods: Vec<bool>,
    /// Bytes of the largest frame, without its checksum.
    pub largest_bytes: usize,
    /// Seed of what is left to chance.
    pub seed: u64,
}

/// Makes a switch of a scenario's plan.
///
/// # Errors
/// There is no such switch, it has another number of ports, or it cannot do this on a wall clock: in words.
// WSW-20
pub fn switch_plan(plan: &Plan, choices: &Choices) -> Result<SwitchPlan, String> {
    let graph = &plan.graph;
    let node = find(graph, choices.node.as_deref())?;
    let peers = neighbours(graph, node, choices.ports)?;
    if let Some(why) = refusal(&plan.switch) {
        return Err(why);
    }
    let links = graph.links(node);
    let config = on_the_wall_clock(&plan.switch, choices);
    let (reserved, headroom, shared) = division(&config, &links);
    if shared < i64::from(config.max_frame) && config.mmu.admission != Admission::Unlimited {
        let buffer = config.mmu.buffer_bytes;
        return Err(format!(
            "a buffer of {buffer} B has no room for {headroom} B of headroom and {reserved} B reserved: raise \
             switch.buffer, or give fewer priorities as lossless"
        ));
    }
    let routes = plan.routes[(node - graph.hosts()) as usize].clone();
    let mut switch = Switch::new(node, &config, &links, routes.clone());
    switch.set_upward(&upward(graph, node));
    let target = |port| (0..graph.endpoints()).find(|&dst| leads(&routes, dst, port));
    Ok(SwitchPlan {
        targets: (0..graph.ports(node)).map(target).collect(),
        floods: flooding_ports(graph, node),
        largest_bytes: usize::from(config.max_frame) - 4,
        endpoints: graph.endpoints(),
        classes: choices.classes,
        seed: plan.seed,
        network: network(plan),
        name: graph.name(node),
        peers,
        switch,
        config,
        routes,
        links,
    })
}

/// The switch of this name, or the only one.
fn find(graph: &Graph, name: Option<&str>) -> Result<u32, String> {
    let all = graph.hosts()..graph.nodes();
    let names = || {
        let names: Vec<String> = all.clone().map(|node| graph.name(node)).collect();
        names.join(", ")
    };
    match name {
        Some(name) => all
            .clone()
            .find(|&node| graph.name(node) == name)
            .ok_or_else(|| format!("the scenario has no switch {name}; it has {}", names())),
        None if graph.switches() == 1 => Ok(graph.hosts()),
        None => Err(format!(
            "the scenario has several switches, name one of them: {}",
            names()
        )),
    }
}

/// Why neighbours that are no nodes of the scenario cannot take part; `None`: they can.
// WSW-24
pub(crate) fn refusal(config: &SwitchConfig) -> Option<String> {
    if config.assist.is_some() {
        return Some(
            "receiver-driven transports need hosts of their own, and their switches shape and trim: they run in \
             lockstep only (docs/live.md)"
                .to_owned(),
        );
    }
    let declaration = config.hop.declaration()?;
    let name = declaration.name();
    declaration.is_lossless().then(|| {
        format!(
            "{name} sends only into room that the neighbour has promised, which real hosts do not: it runs in \
             lockstep only (docs/live.md)"
        )
    })
}

/// The configuration with a class for each that real traffic can have.
// WSW-11, WSW-22
fn on_the_wall_clock(config: &SwitchConfig, choices: &Choices) -> SwitchConfig {
    let mut config = config.clone();
    let first = usize::from(DATA_CLASS);
    let of_data = *config.classes.last().expect("there is a class of data");
    let lossless = match choices.lossless {
        Some(priorities) => choices.classes.classes(priorities),
        None => (0..config.classes.len() - first).fold(0, |bits, class| bits | 1 << class),
    };
    let class = |nth: usize| ClassConfig {
        pausable: of_data.pausable && lossless >> nth & 1 != 0,
        ..of_data
    };
    config.classes.truncate(first);
    config.classes.extend((0..TRAFFIC_CLASSES).map(class));
    config.max_frame = config.max_frame.max(choices.mtu + FRAME_BYTES);
    if let Admission::Pfc(pfc) = &mut config.mmu.admission
        && pfc.pause == PauseTime::UntilResumed
    {
        pfc.pause = PAUSE;
    }
    config
}

/// Whether some packet to an endpoint leaves by a port.
fn leads(routes: &Routes, dst: u32, port: u16) -> bool {
    if routes.is_own(dst) {
        let packet = Packet {
            dst,
            ..Packet::new(Kind::Data, 2, 64)
        };
        return routes.port(&packet, || 0) == Some(port);
    }
    routes.next_hops(dst).contains(&port)
}

/// The ports of a switch by which frames for everybody leave: those to hosts, and those of a tree that reaches
/// each switch once.
// WSW-02
fn flooding_ports(graph: &Graph, node: u32) -> Vec<bool> {
    let mut reached = vec![false; graph.nodes() as usize];
    let mut tree = vec![false; graph.port_count() as usize];
    let mut open = VecDeque::from([graph.hosts()]);
    reached[graph.hosts() as usize] = true;
    while let Some(at) = open.pop_front() {
        for index in graph.port_range(at) {
            let peer = graph.port(index).peer;
            if peer < graph.hosts() {
                tree[index] = true;
            } else if !std::mem::replace(&mut reached[peer as usize], true) {
                tree[index] = true;
                tree[graph.peer_index(index)] = true;
                open.push_back(peer);
            }
        }
    }
    graph.port_range(node).map(|index| tree[index]).collect()
}
