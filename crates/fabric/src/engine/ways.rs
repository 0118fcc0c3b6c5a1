//! Which ports each flow of a plan leaves by on its way to the receiver, without running it.

use dataplane::config::PathChoice;
use dataplane::packet::{Kind, Packet};
use kernel::Wheel;
use kernel::calendar::Calendar;
use traffic::Flow;

use super::network::Network;
use super::{Plan, Simulation, Threads};

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
    let (clock, mut feed) = (plan.clock, plan.feed);
    let plan = Plan {
        feed: Box::new(std::iter::empty()),
        threads: Threads::ONE,
        ..plan
    };
    let mut simulation: Simulation<Wheel> = Simulation::new(plan);
    let mut ways = Ways::default();
    while let Some(mut flow) = feed.next() {
        flow.start_ps = clock.start(flow.start_ps);
        simulation.net.follow(&flow, &mut ways.ports);
        ways.ends.push(ways.ports.len() as u32);
    }
    Some(ways)
}

impl<C: Calendar> Network<C> {
    /// Adds the ports of a flow's way. All nodes are in one partition.
    fn follow(&mut self, flow: &Flow, ports: &mut Vec<(u32, u16)>) {
        let part = &mut self.parts[0];
        let hash = part.flow_hash(flow);
        let (src, dst) = part.endpoints(flow, hash);
        let mut packet = Packet::new(Kind::Data, 0, 0);
        packet.dst = dst;
        packet.hash = if part.nic.host.ports_in_hash {
            part.source_ports.next(flow)
        } else {
            hash as u32
        };
        let first = part.graph.endpoints_of(flow.src).start;
        let mut at = (flow.src, (src - first) as u16);
        loop {
            ports.push(at);
            let node = self.graph.port(self.graph.port_index(at.0, at.1)).peer;
            if node < self.graph.hosts() {
                return;
            }
            match self.switch(node).0.way(&packet, src) {
                Some(port) => at = (node, port),
                None => return,
            }
        }
    }
}
