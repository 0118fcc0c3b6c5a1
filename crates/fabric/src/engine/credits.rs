//! Functions of hop schemes that concern the whole network: which ports lead to a higher tier, if a
//! run may end, and the audit of the credits of all switches.

use dataplane::hop::CreditSums;
use kernel::calendar::Calendar;

use super::Simulation;
use super::network::Network;
use crate::ids::NodeId;
use crate::topology::Graph;

/// Returns, for each port of a switch, true if it leads to a higher tier, away from the hosts.
#[must_use]
// FG-14
pub fn upward(graph: &Graph, node: NodeId) -> Vec<bool> {
    let own = graph.tier(node);
    let peers = graph.links_of(node).map(|index| graph.port(index).peer);
    peers.map(|peer| graph.tier(peer) > own).collect()
}

impl<C: Calendar> Network<C> {
    /// Returns true if all credits of hop schemes that can return have returned.
    // FG-28
    pub fn is_at_rest(&self) -> bool {
        self.each_switch().all(|(_, switch, _)| switch.is_at_rest())
            && self.each_nic().all(|(_, nic, _)| nic.is_at_rest())
    }
}

impl<C: Calendar + Send> Simulation<C> {
    /// FG-28: checks that every credit is accounted for. It is on a link (as a data packet or
    /// credit frame), belongs to a waiting packet, has not been returned yet, or is back at its
    /// switch. In a drained network all credit windows are full. If links lose frames, only the
    /// counters within each switch are checked.
    pub(super) fn audit_credits(&self, drained: bool) -> Vec<String> {
        let mut sum = CreditSums::default();
        let switches = self.net.each_switch();
        for books in switches.filter_map(|(_, switch, _)| switch.credit_sums()) {
            sum.sent += books.sent;
            sum.arrived += books.arrived;
            sum.told += books.told;
            sum.taken += books.taken;
            sum.in_flight += books.in_flight;
        }
        let CreditSums {
            sent,
            arrived,
            told,
            taken,
            in_flight,
        } = sum;
        let mut broken = Vec::new();
        if self.losing || self.links_change {
            return broken;
        }
        if arrived > sent || taken > told {
            broken.push(format!(
                "switches sent each other {sent} units and got {arrived}, told {told} and took {taken} back"
            ));
        }
        if drained && (arrived != sent || taken != told || in_flight > 0) {
            broken.push(format!(
                "the network is empty, and of {sent} units that switches sent each other {taken} came back: \
                 {in_flight} are missing in windows"
            ));
        }
        broken
    }
}
