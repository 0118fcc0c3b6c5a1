//! How long data packets wait at the ports of switches, where it is recorded: a histogram per port,
//! packets that a receiver let go apart from those that were sent unasked.

use dataplane::config::ControlConfig;
use dataplane::packet::{Arena, Kind, PacketId};
use dataplane::units::Time;

use super::recording::Bins;
use crate::record::{DelayBin, DelayHistogram, Recorder};
use crate::topology::Graph;

/// One switch port.
#[derive(Debug)]
struct Port {
    node: u32,
    port: u16,
    peer: u32,
    /// Of packets that were sent unasked, and of the others.
    bins: [Bins; 2],
}

/// What all data packets waited.
#[derive(Debug)]
pub(super) struct Delays {
    spec: DelayHistogram,
    /// Homa's packets say which of their message need no grant.
    grants: bool,
    /// When each packet came to the switch that it is in.
    since_ps: Vec<Time>,
    /// Number of the first port of a switch.
    first: usize,
    ports: Vec<Port>,
}

impl Delays {
    pub fn new(spec: DelayHistogram, control: &ControlConfig, graph: &Graph) -> Self {
        let port = |(node, (port, index)): (u32, (u16, usize))| Port {
            node,
            port,
            peer: graph.port(index).peer,
            bins: Default::default(),
        };
        let switches = graph.hosts()..graph.nodes();
        let all = switches.flat_map(|node| {
            let ports = (0..).zip(graph.port_range(node));
            ports.map(move |port| (node, port))
        });
        Self {
            spec,
            grants: matches!(control, ControlConfig::Homa(_)),
            since_ps: Vec::new(),
            first: graph.endpoints() as usize,
            ports: all.map(port).collect(),
        }
    }

    /// A packet came to a switch.
    // RCD-11
    pub fn came(&mut self, now: Time, id: PacketId) {
        let at = id as usize;
        if at >= self.since_ps.len() {
            self.since_ps.resize(at + 1, 0);
        }
        self.since_ps[at] = now;
    }

    /// A packet begins to leave by a link; those of hosts are none of ours.
    // RCD-11
    pub fn leaves(&mut self, now: Time, link: u32, id: PacketId, arena: &Arena) {
        let Some(port) = (link as usize).checked_sub(self.first) else {
            return;
        };
        let packet = arena.hot(id);
        let (from_ps, to_ps) = self.spec.window_ps;
        if packet.kind() != Kind::Data || !(from_ps..to_ps).contains(&now) {
            return;
        }
        let asked = !self.grants || packet.psn >= arena.cold(id).credit;
        let waited_ps = now - self.since_ps[id as usize];
        self.ports[port].bins[usize::from(asked)].add(waited_ps / self.spec.bin_ps.max(1), 1);
    }

    pub fn finish(&self, recorder: &mut dyn Recorder) {
        let mut all = Vec::new();
        for port in &self.ports {
            for (scheduled, bins) in [false, true].into_iter().zip(&port.bins) {
                all.extend(bins.iter().map(|(bin, samples)| DelayBin {
                    node: port.node,
                    port: port.port,
                    peer: port.peer,
                    scheduled,
                    bin_ps: bin * self.spec.bin_ps.max(1),
                    samples,
                }));
            }
        }
        recorder.delay_histogram(&all);
    }
}
