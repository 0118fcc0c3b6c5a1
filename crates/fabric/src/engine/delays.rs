//! How long data packets wait at the ports of switches, where it is recorded: a histogram per port,
//! packets that a receiver let go apart from those that were sent unasked.

use dataplane::config::{Sending, TransportConfig};
use dataplane::packet::{Arena, Kind, PacketId};
use dataplane::units::Time;

use super::recording::Bins;
use crate::record::{DelayBin, DelayHistogram, Recorder};
use crate::topology::Graph;

/// No switch's port of this partition.
const NONE: u32 = u32::MAX;

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
    /// Per port of the network its place in `ports`, or [`NONE`].
    place_of: Vec<u32>,
    ports: Vec<Port>,
}

impl Delays {
    /// Of a partition with these switches.
    pub fn new(spec: DelayHistogram, control: &Sending, graph: &Graph, switches: &[u32]) -> Self {
        let mut place_of = vec![NONE; graph.port_count() as usize];
        let mut ports = Vec::new();
        for &node in switches {
            for (port, index) in (0..).zip(graph.port_range(node)) {
                place_of[index] = ports.len() as u32;
                ports.push(Port {
                    node,
                    port,
                    peer: graph.port(index).peer,
                    bins: Default::default(),
                });
            }
        }
        Self {
            spec,
            grants: matches!(control, Sending::Transport(TransportConfig::Homa(_))),
            since_ps: Vec::new(),
            place_of,
            ports,
        }
    }

    /// A packet came to a switch.
    // RCD-20
    pub fn came(&mut self, now: Time, id: PacketId) {
        let at = id as usize;
        if at >= self.since_ps.len() {
            self.since_ps.resize(at + 1, 0);
        }
        self.since_ps[at] = now;
    }

    /// A packet begins to leave by a link; those of hosts are none of ours.
    // RCD-20
    pub fn leaves(&mut self, now: Time, link: u32, id: PacketId, arena: &Arena) {
        let port = self.place_of[link as usize];
        if port == NONE {
            return;
        }
        let packet = arena.hot(id);
        let (from_ps, to_ps) = self.spec.window_ps;
        if packet.kind() != Kind::Data || !(from_ps..to_ps).contains(&now) {
            return;
        }
        let asked = !self.grants || packet.psn >= arena.cold(id).credit;
        let waited_ps = now - self.since_ps[id as usize];
        self.ports[port as usize].bins[usize::from(asked)]
            .add(waited_ps / self.spec.bin_ps.max(1), 1);
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
