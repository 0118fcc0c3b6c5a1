//! What the engine knows of Floodgate: which ports lead up, when a run may end, and whether the credits
//! of all switches add up.

use dataplane::switch::{FloodgateBooks, Switch};
use kernel::calendar::Calendar;

use super::Simulation;
use crate::topology::Graph;

/// Tells every switch which of its ports lead away from the hosts.
// FG-14
pub(super) fn set_upward(graph: &Graph, switches: &mut [Switch]) {
    for (node, switch) in (graph.hosts()..).zip(switches) {
        let own = graph.tier(node);
        let peers = graph.port_range(node).map(|index| graph.port(index).peer);
        let upward: Vec<bool> = peers.map(|peer| graph.tier(peer) > own).collect();
        switch.set_upward(&upward);
    }
}

impl<C: Calendar> Simulation<C> {
    /// No switch owes credits, and none misses any that it can still get.
    // FG-28
    pub(super) fn floodgates_rest(&self) -> bool {
        let mut all = self.switches.iter().filter_map(Switch::floodgate);
        all.all(|(.., at_rest)| at_rest)
    }

    /// FG-28: what switches sent to each other is on links, waits, is owed, told or back; and windows
    /// are full when nothing is left. Where links lose frames only the switches' own books hold.
    pub(super) fn audit_credits(&self, drained: bool) -> Vec<String> {
        let mut sum = FloodgateBooks::default();
        for (_, books, _) in self.switches.iter().filter_map(Switch::floodgate) {
            sum.sent += books.sent;
            sum.arrived += books.arrived;
            sum.told += books.told;
            sum.taken += books.taken;
            sum.in_flight += books.in_flight;
        }
        let FloodgateBooks {
            sent,
            arrived,
            told,
            taken,
            in_flight,
        } = sum;
        let mut broken = Vec::new();
        if !self.losses.none() {
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
