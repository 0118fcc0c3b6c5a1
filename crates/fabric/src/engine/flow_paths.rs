//! Computes the path of each flow of a plan without a simulation.

use dataplane::packet::{Kind, Packet};
use kernel::Wheel;
use kernel::calendar::Calendar;
use traffic::Flow;

use super::flow_parameters::Way;
use super::flow_state::Ends;
use super::partition::Partition;
use super::{Plan, Simulation, Threads};
use crate::ids::LinkId;

/// Paths of all flows, in the order of flow IDs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowPaths {
    /// Per flow, the end index of its path in `links`. The path starts at the end of the previous
    /// flow's path.
    pub ends: Vec<u32>,
    /// The links of all paths, one path after the other. Each path starts with the sender's link
    /// and ends with the link of the last switch.
    pub links: Vec<LinkId>,
}

/// Returns the path of every flow of a plan; `None` if packets of a flow take several paths.
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
        let (src, packet) = part.first_packet(&flow);
        let mut link = Some(src);
        while let Some(at) = link {
            paths.links.push(at);
            link = part.next_link(at, &packet, src);
        }
        paths.ends.push(paths.links.len() as u32);
    }
    Some(paths)
}

impl<C: Calendar> Partition<C> {
    /// Returns the endpoint at which a flow starts, and one packet of the flow.
    fn first_packet(&mut self, flow: &Flow) -> (LinkId, Packet) {
        let hash = self.parameters.hash(flow);
        let Ends { src, dst } = self.parameters.endpoints(flow, &Way::of(hash));
        let mut packet = Packet::new(Kind::Data, 0, 0);
        packet.dst = dst.bits();
        packet.hash = self.parameters.packet_hash(flow, hash);
        (src, packet)
    }

    /// Returns the next link on the path of a packet after `link`; `None`: the packet has arrived.
    fn next_link(&self, link: LinkId, packet: &Packet, src: LinkId) -> Option<LinkId> {
        let switch = self.graph.switch_number(self.graph.port(link).peer)?;
        let port = self.switches[switch as usize].way(packet, src.bits())?;
        Some(self.graph.switch_link(switch, port))
    }
}
