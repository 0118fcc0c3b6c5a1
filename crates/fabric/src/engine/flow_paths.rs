//! The path of each flow of a plan, found without running it.

use dataplane::packet::{Kind, Packet};
use kernel::Wheel;
use kernel::calendar::Calendar;
use traffic::Flow;

use super::flow_parameters::Way;
use super::partition::Partition;
use super::{Plan, Simulation, Threads};

/// The paths of all flows, in the order of their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowPaths {
    /// Where the path of each flow ends in `ports`; it begins where that of the flow before ends.
    pub ends: Vec<u32>,
    /// Ports as (node, port), from the sender's own to that of the last switch.
    pub ports: Vec<(u32, u16)>,
}

/// The path of every flow of a plan; `None` where the packets of a flow take several.
// ENG-10, ENG-11
#[must_use]
pub fn flow_paths(mut plan: Plan) -> Option<FlowPaths> {
    if !plan.switch.path.is_predictable() {
        return None;
    }
    let clock = plan.clock;
    let feed = std::mem::replace(&mut plan.feed, Box::new(std::iter::empty()));
    plan.threads = Threads::ONE;
    let Simulation { mut net, .. } = Simulation::<Wheel>::new(plan);
    let part = net.parts.first_mut()?;
    let mut paths = FlowPaths::default();
    for mut flow in feed {
        flow.start_ps = clock.start(flow.start_ps);
        let (mut at, packet, src) = part.first_packet(&flow);
        loop {
            paths.ports.push(at);
            match part.next_hop(at, &packet, src) {
                Some(next) => at = next,
                None => break,
            }
        }
        paths.ends.push(paths.ports.len() as u32);
    }
    Some(paths)
}

impl<C: Calendar> Partition<C> {
    /// The port by which a flow leaves its host, a packet of it, and its source.
    fn first_packet(&mut self, flow: &Flow) -> ((u32, u16), Packet, u32) {
        let hash = self.parameters.hash(flow);
        let (src, dst) = self.parameters.endpoints(flow, &Way::of(hash));
        let mut packet = Packet::new(Kind::Data, 0, 0);
        packet.dst = dst;
        packet.hash = self.parameters.packet_hash(flow, hash);
        let first = self.graph.endpoints_of(flow.src).start;
        ((flow.src, (src - first) as u16), packet, src)
    }

    /// The port by which a packet goes on that left a node by a port; `None`: it has arrived.
    fn next_hop(&self, at: (u32, u16), packet: &Packet, src: u32) -> Option<(u32, u16)> {
        let index = self.graph.port_index(at.0, at.1);
        let node = self.graph.port(index).peer;
        let switch = node.checked_sub(self.graph.hosts())?;
        let port = self.switches[switch as usize].way(packet, src)?;
        Some((node, port))
    }
}
