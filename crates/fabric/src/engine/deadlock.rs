//! Deadlocks: queues that pause each other so that none of them can ever send again. The rules are
//! in `specs/links.md`.
//!
//! The backpressure graph states which port can pause which other one, and a deadlock is a cycle in
//! this graph. During a run only ports in cycles of the graph are searched, and only while
//! something is paused. A run that stalled is searched once more with all its ports, to report
//! which port waits for which.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use std::sync::Arc;

use dataplane::config::{Admission, PathChoice};
use dataplane::ids::QueueId;
use dataplane::properties::Property;
use dataplane::switch::{Holds, Pairs};
use dataplane::units::Time;
use kernel::calendar::Calendar;

use super::node::class_at;
use super::{Plan, Simulation};
use crate::backpressure_graph::{cycles, used_pairs};
use crate::ids::{LinkId, NodeId};
use crate::link_failures::LinkFailures;
use crate::record::{DeadPort, DeadlockRecord};
use crate::routing::routes;
use crate::topology::Graph;

/// The reaction of a run to a deadlock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDeadlock {
    /// The run continues with the packets that can still be sent.
    #[default]
    GoOn,
    /// The run ends.
    End,
}

/// A queue of a switch: the node ID of the switch, and the index of the queue.
type QueueAt = (NodeId, QueueId);

/// A pause that a switch has sent: the switch, its ingress port, and the class, queue or flow that
/// is paused upstream.
type HeldAt = (NodeId, u16, Holds);

/// A queue that cannot send, with the pauses that block it.
#[derive(Clone, Debug)]
struct Stuck {
    link: LinkId,
    class: u8,
    bytes: u64,
    /// The pauses that block the queue, one entry for each.
    held: Vec<HeldAt>,
}

/// Searches for deadlocks.
#[derive(Debug)]
pub(super) struct DeadlockSearch {
    on_deadlock: OnDeadlock,
    /// True if schemes of this run pause only whole classes, so that there is no deadlock while no
    /// class is paused.
    classes_only: bool,
    link_failures: Option<Arc<LinkFailures>>,
    /// Times at which routing changes, each with the links that the new routes avoid.
    /// [`Self::learn`] removes the entries that it has applied.
    epochs: VecDeque<(Time, Vec<LinkId>)>,
    /// Number of links that have failed or recovered so far.
    changes: usize,
    seed: u64,
    choice: PathChoice,
    /// Per switch, the pairs (ingress, egress) that routes have used so far.
    used: Vec<Pairs>,
    /// Ports that are in a cycle of the backpressure graph of `used`, ascending.
    ports: Vec<LinkId>,
    /// Queues that are deadlocked: they can never send again.
    dead: BTreeSet<QueueAt>,
    pub found: Vec<DeadlockRecord>,
}

impl DeadlockSearch {
    /// Returns `None` if queues cannot pause each other in a cycle.
    pub fn new(plan: &Plan) -> Option<Box<Self>> {
        let graph = &plan.graph;
        let classes = plan
            .switch_configs()
            .any(|switch| match switch.mmu.admission {
                Admission::Pfc(_) => switch.classes.iter().any(|c| c.buffered && c.pausable),
                _ => false,
            });
        let link_failures = plan
            .link_failures
            .clone()
            .filter(|link_failures| !link_failures.is_empty());
        let elided = match &link_failures {
            Some(link_failures) => link_failures.elide_backpressure,
            None => plan.backpressure.is_some(),
        };
        let mut configs = plan.switch_configs();
        let by_hop = configs.any(|c| {
            c.hop
                .declaration()
                .is_some_and(|hop| hop.has(Property::CanDeadlock))
        });
        let mut configs = plan.switch_configs();
        let by_link = configs.any(|c| {
            c.link
                .declarations()
                .any(|link| link.has(Property::CanDeadlock))
        });
        let names = by_hop || by_link;
        // Routes of regular topologies go up, then down, so the backpressure graph has no cycle.
        let possible = (classes || by_hop && !elided || by_link)
            && (link_failures.is_some() || !graph.is_regular());
        let epochs = link_failures
            .as_ref()
            .map(|link_failures| link_failures.epochs());
        let none = |switch| Pairs::none(graph.ports(switch));
        possible.then(|| {
            Box::new(Self {
                on_deadlock: plan.on_deadlock,
                classes_only: !names,
                link_failures,
                epochs: epochs.unwrap_or_else(|| vec![(0, Vec::new())]).into(),
                changes: 0,
                seed: plan.seed,
                choice: plan.switch.path,
                used: graph.switch_ids().map(none).collect(),
                ports: Vec::new(),
                dead: BTreeSet::new(),
                found: Vec::new(),
            })
        })
    }

    /// Applies all changes of routes and links up to `now`. Port pairs of earlier routes stay in
    /// `used`, because packets on those routes may still exist.
    // LNK-40
    fn learn(&mut self, graph: &Graph, now: Time) {
        let changes = self
            .link_failures
            .iter()
            .flat_map(|link_failures| link_failures.changes());
        let changes = changes.take_while(|change| change.at_ps <= now).count();
        if changes != self.changes {
            // Queues that were deadlocked may be able to send again.
            self.changes = changes;
            self.dead.clear();
        }
        if self.epochs.front().is_none_or(|epoch| epoch.0 > now) {
            return;
        }
        let due = self.epochs.partition_point(|epoch| epoch.0 <= now);
        for (_, down) in self.epochs.drain(..due) {
            let known = graph.without(&down);
            let routes = routes(&known, self.seed, self.choice).unwrap_or_default();
            let pairs = used_pairs(&known, &routes);
            for (used, more) in self.used.iter_mut().zip(pairs) {
                used.unite(&more);
            }
        }
        self.dead.clear();
        self.ports = cycles(graph, &self.used).concat();
        self.ports.sort_unstable();
    }
}

impl<C: Calendar> Simulation<C> {
    /// Searches for a deadlock that has not been reported. Returns true if one is found and the run
    /// must end.
    // LNK-41, LNK-42
    pub(super) fn find_new_deadlock(&mut self, now: Time) -> bool {
        let Some(mut deadlock_search) = self.deadlock_search.take() else {
            return false;
        };
        let ends = deadlock_search.on_deadlock == OnDeadlock::End;
        let mut parts = self.net.parts.iter();
        let quiet = deadlock_search.classes_only && parts.all(|part| part.core.paused.is_empty());
        let found = !quiet && self.look_for_deadlock(&mut deadlock_search, now);
        self.deadlock_search = Some(deadlock_search);
        found && ends
    }

    fn look_for_deadlock(&self, deadlock_search: &mut DeadlockSearch, now: Time) -> bool {
        deadlock_search.learn(&self.net.graph, now);
        let links = self.candidates(deadlock_search);
        if links.is_empty() {
            return false;
        }
        let stuck = self.stuck_queues(&links);
        let known = |queue: &QueueAt| deadlock_search.dead.contains(queue);
        if stuck.keys().all(known) {
            return false;
        }
        if self.not_released(&stuck).iter().all(known) {
            let all = || self.waiting(&links, stuck.clone()).never_again();
            debug_assert!(all().iter().all(known), "a deadlock at {now} ps is missed");
            return false;
        }
        let waiting = self.waiting(&links, stuck);
        let dead = waiting.never_again();
        let mut new = dead.iter();
        let fresh = new.any(|queue| !deadlock_search.dead.contains(queue));
        if let Some(cycle) = waiting.cycle(&dead, &deadlock_search.dead) {
            let record = self.deadlock_record(now, &cycle, &waiting);
            deadlock_search.found.push(record);
        }
        deadlock_search.dead.extend(dead);
        fresh
    }

    /// Returns the ports with blocked packets that can pause each other in a cycle according to the
    /// routes. The list is nearly always empty.
    fn candidates(&self, deadlock_search: &DeadlockSearch) -> Vec<LinkId> {
        let graph = &self.net.graph;
        let may_be_stuck = |&link: &LinkId| {
            let (switch, port) = self.sender(link);
            self.net.switch(switch).0.may_be_stuck(port)
        };
        let ports = deadlock_search.ports.iter().copied();
        let mut links: Vec<LinkId> = ports.filter(may_be_stuck).collect();
        loop {
            let before = links.len();
            let all = links.clone();
            links.retain(|&link| {
                let far = graph.port(link);
                let Some(switch) = graph.switch_number(far.peer) else {
                    return false;
                };
                let first = graph.first_link(far.peer);
                let used = &deadlock_search.used[switch as usize];
                let end = first.at_port(graph.ports(far.peer));
                let onward = &all[all.partition_point(|&link| link < first)..];
                let mut onward = onward.iter().take_while(|&&link| link < end);
                onward.any(|link| used.contains(far.peer_port, link.port(first)))
            });
            if links.len() == before {
                return links;
            }
        }
    }

    /// Returns the node that sends on a link, and the index of its port.
    fn sender(&self, link: LinkId) -> (NodeId, u16) {
        let node = self.net.node_of(link);
        (node, link.port(self.net.graph.first_link(node)))
    }

    fn stuck_queues(&self, links: &[LinkId]) -> BTreeMap<QueueAt, Stuck> {
        let mut stuck = BTreeMap::new();
        for &link in links {
            let (own, port) = self.sender(link);
            let far = self.net.graph.port(link);
            let (switch, arena) = self.net.switch(own);
            switch.for_each_stuck(port, arena, |q| {
                let by_class = q.by_class.then_some(Holds::Class(q.class));
                let by_name = q.by_name.map(Holds::Named);
                let held = by_class.into_iter().chain(by_name);
                let of = Stuck {
                    link,
                    class: q.class,
                    bytes: q.bytes,
                    held: held.map(|holds| (far.peer, far.peer_port, holds)).collect(),
                };
                stuck.insert((own, q.queue), of);
            });
        }
        stuck
    }

    /// Returns stuck queues that may be deadlocked. A queue is not deadlocked if each of its pauses
    /// waits for a packet in a queue that can still send. The result contains more queues than
    /// [`Waiting::never_again`] only if a resume frame is in flight. The search stops at the first
    /// packet of each pause that can still be sent, so it is fast if there is no deadlock.
    // LNK-41
    fn not_released(&self, stuck: &BTreeMap<QueueAt, Stuck>) -> BTreeSet<QueueAt> {
        let mut kept: BTreeSet<HeldAt> = stuck.values().flat_map(|of| &of.held).copied().collect();
        let mut left: BTreeSet<QueueAt> = stuck.keys().copied().collect();
        let mut looked_at = BTreeSet::new();
        loop {
            let mut peers: Vec<NodeId> = kept.iter().map(|held| held.0).collect();
            peers.dedup();
            for peer in peers {
                let of_peer = (peer, 0, Holds::Class(0))..=(peer, u16::MAX, Holds::Named(u32::MAX));
                let mut open = kept.range(of_peer).count();
                let (switch, arena) = self.net.switch(peer);
                let moves =
                    |queue| !left.contains(&(peer, queue)) && looked_at.insert((peer, queue));
                switch.holding().any_in(arena, moves, |ingress, holds| {
                    open -= usize::from(kept.remove(&(peer, ingress, holds)));
                    open == 0
                });
            }
            let before = left.len();
            left.retain(|queue| stuck[queue].held.iter().any(|held| kept.contains(held)));
            if left.len() == before {
                return left;
            }
        }
    }

    /// Returns the stuck queues at the ports of `links`, with the packets that cause the pauses of
    /// these queues.
    fn waiting(&self, links: &[LinkId], stuck: BTreeMap<QueueAt, Stuck>) -> Waiting {
        let peer = |&link: &LinkId| self.net.graph.port(link).peer;
        let peers: BTreeSet<NodeId> = links.iter().map(peer).collect();
        let mut waiting = Waiting {
            stuck,
            ..Waiting::default()
        };
        for peer in peers {
            let (switch, arena) = self.net.switch(peer);
            switch.for_each_hold(arena, |ingress, holds, queue, flow| {
                let at = waiting.holders.entry((peer, ingress, holds)).or_default();
                at.insert((peer, queue));
                let in_queue = waiting.flows.entry((peer, queue)).or_default();
                in_queue.insert(flow);
            });
        }
        waiting
    }

    /// AUD-09: describes a cycle of ports that wait for each other in a run that stalled. Returns
    /// `None` if there is no cycle.
    pub(super) fn explain_deadlock(&self) -> Option<String> {
        let graph = &self.net.graph;

        let between_switches = |&link: &LinkId| !graph.is_host(graph.port(link).peer);
        let ports = graph.link_ids().skip(graph.endpoints() as usize);
        let links: Vec<LinkId> = ports.filter(between_switches).collect();
        let waiting = self.waiting(&links, self.stuck_queues(&links));
        let cycle = waiting.cycle(&waiting.never_again(), &BTreeSet::new())?;
        let name = |queue: &QueueAt| graph.port_name(waiting.stuck[queue].link);
        let names: Vec<String> = cycle.iter().map(name).collect();
        Some(format!(
            "deadlock: {} waits for {} again",
            names.join(" waits for "),
            names[0]
        ))
    }

    // LNK-42: a deadlock is reported as a cycle of ports
    fn deadlock_record(&self, now: Time, cycle: &[QueueAt], waiting: &Waiting) -> DeadlockRecord {
        let port = |queue: &QueueAt| {
            let of = &waiting.stuck[queue];
            let (node, port) = self.sender(of.link);
            DeadPort {
                node,
                port,
                peer: self.net.graph.port(of.link).peer,
                class: of.class,
                bytes: of.bytes,
            }
        };
        // Start of the pause that closed the cycle. For pauses of queues the start is not recorded.
        let since = |queue: &QueueAt| {
            let of = &waiting.stuck[queue];
            let key = class_at(of.link, of.class);
            let part = self.net.part_of(queue.0);
            part.core.paused.get(&key).map_or(now, |pause| pause.0)
        };
        let flows = cycle
            .iter()
            .filter_map(|queue| waiting.flows.get(queue))
            .flatten();
        let flows: BTreeSet<u32> = flows.copied().collect();
        DeadlockRecord {
            at_ps: cycle.iter().map(since).max().unwrap_or(now),
            seen_ps: now,
            ports: cycle.iter().map(port).collect(),
            flows: flows.into_iter().collect(),
        }
    }
}

/// Stuck queues (queues that cannot send), and the downstream queues for which they wait.
#[derive(Debug, Default)]
struct Waiting {
    stuck: BTreeMap<QueueAt, Stuck>,
    /// Per pause, the downstream queues whose packets cause it.
    holders: BTreeMap<HeldAt, BTreeSet<QueueAt>>,
    /// Flows of the packets that cause pauses, by queue.
    flows: BTreeMap<QueueAt, BTreeSet<u32>>,
}

impl Waiting {
    /// Returns the stuck queues that can never send again. A queue can never send again if, for one
    /// of its pauses, all packets that cause the pause are in queues that can never send again.
    // LNK-41
    fn never_again(&self) -> BTreeSet<QueueAt> {
        let mut dead: BTreeSet<QueueAt> = self.stuck.keys().copied().collect();
        loop {
            let for_ever = |held: &HeldAt| {
                // If no packet causes the pause any more, the resume frame is in flight.
                let holders = self.holders.get(held);
                holders.is_some_and(|queues| queues.is_subset(&dead))
            };
            let left: BTreeSet<QueueAt> = dead
                .iter()
                .filter(|queue| self.stuck[queue].held.iter().any(for_ever))
                .copied()
                .collect();
            if left.len() == dead.len() {
                return dead;
            }
            dead = left;
        }
    }

    /// Returns the first cycle of deadlocked queues that contains a queue which was not deadlocked
    /// before. Each queue waits for the next, and the last waits for the first.
    fn cycle(&self, dead: &BTreeSet<QueueAt>, before: &BTreeSet<QueueAt>) -> Option<Vec<QueueAt>> {
        // Every dead queue waits for a dead queue, so the chain ends in a cycle.
        let next = |queue: &QueueAt| -> Option<QueueAt> {
            let held = self.stuck.get(queue)?.held.iter();
            let all_dead = |at: &&BTreeSet<QueueAt>| at.is_subset(dead);
            let mut queues = held
                .filter_map(|held| self.holders.get(held))
                .filter(all_dead);
            queues.next()?.first().copied()
        };
        // A queue that only waits for a known cycle does not form a new one.
        let is_fresh = |queue: &QueueAt| !before.contains(queue);
        let mut starts = dead.iter().copied().filter(is_fresh);
        starts.find_map(|start| {
            let mut path = vec![start];
            loop {
                let at = next(path.last()?)?;
                if let Some(from) = path.iter().position(|queue| *queue == at) {
                    path.drain(..from);
                    return path.iter().any(is_fresh).then_some(path);
                }
                path.push(at);
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns queue `number` of switch `number`, in a network with one queue per switch.
    fn of_port(number: u32) -> QueueAt {
        (NodeId::from_bits(number), QueueId::new(number as usize))
    }

    fn held_by(peer: NodeId) -> HeldAt {
        (peer, 0, Holds::Class(2))
    }

    /// Builds the stuck queues of a test case. Queue n of switch n waits for the queues that
    /// `edges` lists.
    fn case(edges: &[(u32, &[u32])]) -> Waiting {
        let mut waiting = Waiting::default();
        for &(queue, waits_for) in edges {
            let of = Stuck {
                link: LinkId::from_bits(queue),
                class: 2,
                bytes: 1,
                held: vec![held_by(NodeId::from_bits(queue))],
            };
            waiting.stuck.insert(of_port(queue), of);
            let at: BTreeSet<QueueAt> = waits_for.iter().map(|&to| of_port(to)).collect();
            if !at.is_empty() {
                waiting
                    .holders
                    .insert(held_by(NodeId::from_bits(queue)), at);
            }
        }
        waiting
    }

    fn dead(edges: &[(u32, &[u32])]) -> Vec<u32> {
        let dead = case(edges).never_again();
        dead.into_iter().map(|(node, _)| node.bits()).collect()
    }

    // LNK-41
    #[test]
    fn only_what_waits_for_nothing_but_the_dead_is_dead() {
        assert_eq!(dead(&[(1, &[2]), (2, &[3]), (3, &[1])]), [1, 2, 3]);
        // Queue 3 also waits for queue 9, which can send. So queue 3 will be resumed, and then
        // queues 1 and 2.
        assert_eq!(dead(&[(1, &[2]), (2, &[3]), (3, &[1, 9])]), [0; 0]);
        // The chain of waiting queues ends in a queue that can send, or in a resume frame that is
        // in flight.
        assert_eq!(dead(&[(1, &[2]), (2, &[9])]), [0; 0]);
        assert_eq!(dead(&[(1, &[2]), (2, &[])]), [0; 0]);
        // Queue 4 is not in the cycle but waits for it.
        assert_eq!(dead(&[(1, &[2]), (2, &[1]), (4, &[1])]), [1, 2, 4]);
    }

    // AUD-09
    #[test]
    fn a_cycle_is_found_and_a_tree_has_none() {
        let cycle = |edges: &[(u32, &[u32])]| {
            let waiting = case(edges);
            let found = waiting.cycle(&waiting.never_again(), &BTreeSet::new());
            found.map(|cycle| {
                cycle
                    .into_iter()
                    .map(|(node, _)| node.bits())
                    .collect::<Vec<_>>()
            })
        };
        assert_eq!(cycle(&[(0, &[1, 2]), (1, &[2]), (2, &[])]), None);
        assert_eq!(
            cycle(&[(0, &[1]), (1, &[3]), (2, &[]), (3, &[1])]),
            Some(vec![1, 3])
        );
        assert_eq!(cycle(&[(0, &[0])]), Some(vec![0]));
    }

    // LNK-42
    #[test]
    fn a_cycle_is_reported_once_and_in_the_order_of_waiting() {
        let waiting = case(&[(0, &[1]), (1, &[3]), (2, &[1]), (3, &[2])]);
        let dead = waiting.never_again();
        let found = waiting.cycle(&dead, &BTreeSet::new());
        assert_eq!(found, Some([1, 3, 2].map(of_port).to_vec()));
        let before: BTreeSet<QueueAt> = [1, 2, 3].map(of_port).into();
        assert_eq!(waiting.cycle(&dead, &before), None, "0 only waits");
    }
}
