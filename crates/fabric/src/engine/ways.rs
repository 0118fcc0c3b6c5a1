//! Which ports each flow of a plan leaves by on its way to the receiver, without running it.

use dataplane::config::PathChoice;
use dataplane::packet::{Kind, Packet};
use kernel::Wheel;

use super::{Plan, Simulation};

/// The ways of all flows, in the order of their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ways {
    /// Where the way of each flow ends in `ports`; it begins where that of the flow before ends.
    pub ends: Vec<u32>,
    /// Ports as (node, port), from the sender's own to that of the last switch.
    pub ports: Vec<(u32, u16)>,
}

/// The way of every flow of a plan; `None` where the packets of a flow take several.
// ENG-10, ENG-11
#[must_use]
pub fn ways(plan: Plan) -> Option<Ways> {
    if plan.switch.path == PathChoice::Packet {
        return None;
    }
    let mut simulation: Simulation<Wheel> = Simulation::new(plan);
    let mut ways = Ways::default();
    while let Some(flow) = simulation.next_flow.take() {
        simulation.next_flow = simulation.draw_flow();
        let hash = simulation.flow_hash(&flow);
        let (src, dst) = simulation.endpoints(&flow, hash);
        let mut packet = Packet::new(Kind::Data, 0, 0);
        packet.dst = dst;
        packet.hash = if simulation.nic.host.ports_in_hash {
            simulation.source_ports.next(&flow)
        } else {
            hash as u32
        };
        let first = simulation.graph.endpoints_of(flow.src).start;
        let mut at = (flow.src, (src - first) as u16);
        loop {
            ways.ports.push(at);
            let index = simulation.graph.port_index(at.0, at.1);
            let node = simulation.graph.port(index).peer;
            let Some(switch) = node.checked_sub(simulation.graph.hosts()) else {
                break;
            };
            match simulation.switches[switch as usize].way(&packet, src) {
                Some(port) => at = (node, port),
                None => break,
            }
        }
        ways.ends.push(ways.ports.len() as u32);
    }
    Some(ways)
}
