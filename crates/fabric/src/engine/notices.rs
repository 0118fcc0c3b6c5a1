//! Ideal retransmission: notices of dropped packets to their senders. Notices have no size, wait in
//! no queue, and are never lost. No real network has such notices.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use dataplane::config::NicConfig;
use dataplane::packet::{Arena, Packet, PacketId};
use dataplane::switch::Switch;
use dataplane::units::Time;

use super::link_ends::Links;
use crate::ids::{LinkId, LocalNode, NodeId};
use crate::topology::Graph;

/// Notice of a dropped packet, in flight back to the sender. Notices are ordered by arrival.
// REC-34
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Notice {
    at: Time,
    host: NodeId,
    port: u16,
    flow: u32,
    tag: u8,
    psn: u32,
    id: PacketId,
}

/// All notices of drops that have not reached their senders.
#[derive(Debug)]
pub(super) struct Notices {
    /// True if senders are notified of drops.
    pub on: bool,
    /// Delay of a notice; `None`: the propagation delay of the path back to the sender.
    delay_ps: Option<Time>,
    /// Packets that were dropped in the current event, with the switches that dropped them.
    pub dropped: Vec<(LocalNode, PacketId)>,
    under_way: BinaryHeap<Reverse<Notice>>,
}

impl Notices {
    pub fn new(nic: &NicConfig) -> Self {
        let notices = nic.recovery.notices();
        Self {
            on: notices.is_some(),
            delay_ps: notices.and_then(|ideal| ideal.delay_ps),
            dropped: Vec::new(),
            under_way: BinaryHeap::new(),
        }
    }

    /// Sends notices of the packets that were dropped in the current event. Calls `wake` with the
    /// arrival time of each notice.
    pub fn send(
        &mut self,
        now: Time,
        (graph, switches, links): (&Graph, &[Switch], &Links),
        arena: &Arena,
        mut wake: impl FnMut(Time),
    ) {
        for (node, id) in std::mem::take(&mut self.dropped) {
            let packet = arena.hot(id);
            let src = LinkId::from_bits(arena.cold(id).src);
            let delay_ps = self
                .delay_ps
                .unwrap_or_else(|| way_back_ps((graph, switches, links), node, packet, src));
            let host = graph.host_of(src);
            let at = now + delay_ps;
            wake(at);
            self.under_way.push(Reverse(Notice {
                at,
                host,
                port: src.port(graph.first_link(host)),
                flow: packet.flow,
                tag: packet.tag,
                psn: packet.psn,
                id,
            }));
        }
    }

    /// Removes and returns the next notice that has arrived: the host, its port, and the record of
    /// the dropped packet. `None`: no notice has arrived.
    pub fn due(&mut self, now: Time) -> Option<(NodeId, u16, PacketId)> {
        let next = self.under_way.peek().filter(|n| n.0.at <= now)?.0;
        self.under_way.pop();
        Some((next.host, next.port, next.id))
    }

    /// Returns the number of packet records that belong to notices in flight.
    pub fn len(&self) -> u64 {
        self.under_way.len() as u64
    }
}

/// Returns the propagation delay from a switch to the endpoint that sent a packet, over the links
/// that a packet of the same flow would use in that direction.
// REC-31
fn way_back_ps(
    (graph, switches, links): (&Graph, &[Switch], &Links),
    from: LocalNode,
    packet: &Packet,
    src: LinkId,
) -> Time {
    let back = Packet {
        dst: src.bits(),
        ..*packet
    };
    let (mut node, mut delay_ps) = (from, 0);
    // The run has one partition, in which a node has the same index as in the network.
    while let Some(switch) = node.switch(graph.hosts() as usize) {
        let Some(port) = switches[switch].way(&back, packet.dst) else {
            break;
        };
        let link = graph.switch_link(switch as u32, port);
        delay_ps += links.near[link].delay_ps;
        node = links.far[link].node;
    }
    delay_ps
}
