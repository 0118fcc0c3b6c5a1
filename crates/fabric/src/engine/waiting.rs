//! How long data waits in switches, port by port, incasts apart (rule RCD-11 of `specs/record.md`).
//! Looks and counts; changes nothing.

use dataplane::packet::{Kind, Packet, PacketId, flag};
use dataplane::units::Time;

use crate::record::{Recorder, WaitingRecord};
use crate::topology::Graph;

/// Sum of the times of some packets.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    packets: u64,
    total_ps: u128,
    max_ps: Time,
}

/// When packets came into the switch that they are in, and how long those waited that have left.
#[derive(Debug)]
pub(super) struct Waiting {
    window_ps: (Time, Time),
    /// Of each packet that is in a switch; as long as the highest packet that ever was in one.
    entered_ps: Vec<Time>,
    /// Per port of the network: flows of no incast, and of incasts.
    sums: Vec<[Sum; 2]>,
}

impl Waiting {
    pub fn new(window_ps: (Time, Time), graph: &Graph) -> Self {
        Self {
            window_ps,
            entered_ps: Vec::new(),
            sums: vec![Default::default(); graph.port_count() as usize],
        }
    }

    /// A packet has come, whole, to a switch.
    pub fn enter(&mut self, now: Time, id: PacketId) {
        let at = id as usize;
        if at >= self.entered_ps.len() {
            self.entered_ps.resize(at + 1, 0);
        }
        self.entered_ps[at] = now;
    }

    /// A switch begins to send a packet by the port that this link leaves.
    // RCD-11
    pub fn leave(&mut self, now: Time, link: u32, id: PacketId, packet: &Packet) {
        let (from_ps, to_ps) = self.window_ps;
        if packet.kind() != Kind::Data || !(from_ps..to_ps).contains(&now) {
            return;
        }
        let waited_ps = now - self.entered_ps[id as usize];
        let sum = &mut self.sums[link as usize][usize::from(packet.has(flag::INCAST))];
        sum.packets += 1;
        sum.total_ps += u128::from(waited_ps);
        sum.max_ps = sum.max_ps.max(waited_ps);
    }

    /// Tells all ports that sent something, of those that are here.
    pub fn finish(&self, graph: &Graph, recorder: &mut dyn Recorder) {
        let mut records = Vec::new();
        for node in graph.hosts()..graph.nodes() {
            for (port, index) in (0..).zip(graph.port_range(node)) {
                for (incast, sum) in [false, true].into_iter().zip(&self.sums[index]) {
                    if sum.packets > 0 {
                        records.push(WaitingRecord {
                            node,
                            port,
                            peer: graph.port(index).peer,
                            incast,
                            packets: sum.packets,
                            total_ps: sum.total_ps,
                            max_ps: sum.max_ps,
                        });
                    }
                }
            }
        }
        recorder.waiting(&records);
    }
}
