//! Links that fail and recover: the times of the changes, and the later times at which routing
//! avoids or uses them again.

use std::collections::BTreeSet;

use dataplane::switch::Stranded;
use dataplane::units::Time;

use crate::ids::LinkId;
use crate::topology::Graph;

/// A period during which a link is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkFailure {
    /// The failed link, given by either of its directions.
    pub link: LinkId,
    /// Time of the failure, ps.
    pub from_ps: Time,
    /// Time of recovery, ps; `None`: the link does not recover.
    pub until_ps: Option<Time>,
}

/// A failure or recovery of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    /// Time of the change, ps.
    pub at_ps: Time,
    /// The link, given by its direction with the lower ID.
    pub link: LinkId,
    /// True if the link recovers, false if it fails.
    pub up: bool,
}

/// All link failures of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkFailures {
    /// Links that are down when the run starts, ascending. Each is given by its direction with the
    /// lower ID.
    initial: Vec<LinkId>,
    /// Failures and recoveries of links during the run, sorted by time, then by link.
    changes: Vec<Change>,
    /// Delay from a failure or recovery until routes change, ps.
    pub reconvergence_ps: Time,
    /// What switches do with packets that wait for a port whose link fails.
    pub stranded: Stranded,
    /// True to exempt port pairs that could form a pause cycle from backpressure. The pairs are
    /// computed again after each change of links.
    pub elide_backpressure: bool,
}

impl LinkFailures {
    /// Sorts the failures of all links. Overlapping or adjacent failures of one link are merged.
    // LNK-03
    #[must_use]
    pub fn new(graph: &Graph, link_failures: &[LinkFailure], reconvergence_ps: Time) -> Self {
        let mut all: Vec<LinkFailure> = link_failures
            .iter()
            .map(|link_failure| LinkFailure {
                link: lower_end(graph, link_failure.link),
                ..*link_failure
            })
            .collect();
        all.sort_unstable();
        let mut merged: Vec<LinkFailure> = Vec::new();
        for link_failure in all {
            match merged.last_mut() {
                Some(last) if last.link == link_failure.link && touches(last, &link_failure) => {
                    last.until_ps = match (last.until_ps, link_failure.until_ps) {
                        (Some(a), Some(b)) => Some(a.max(b)),
                        _ => None,
                    };
                }
                _ => merged.push(link_failure),
            }
        }
        let mut changes = Vec::new();
        for link_failure in &merged {
            let change = |at_ps, up| Change {
                at_ps,
                link: link_failure.link,
                up,
            };
            if link_failure.from_ps > 0 {
                changes.push(change(link_failure.from_ps, false));
            }
            changes.extend(link_failure.until_ps.map(|at_ps| change(at_ps, true)));
        }
        changes.sort_unstable();
        let initial = merged
            .iter()
            .filter(|link_failure| link_failure.from_ps == 0);
        Self {
            initial: initial.map(|link_failure| link_failure.link).collect(),
            changes,
            reconvergence_ps,
            stranded: Stranded::Drop,
            elide_backpressure: false,
        }
    }

    /// Returns the links that are down when the run starts. Routes exclude them from the first
    /// packet on.
    #[must_use]
    pub fn initial(&self) -> &[LinkId] {
        &self.initial
    }

    /// Returns the failures and recoveries during the run, sorted by time, then by link.
    #[must_use]
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Returns true if no link ever fails.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.initial.is_empty() && self.changes.is_empty()
    }

    /// Returns the links that are down during the whole run. Base RTTs and ideal FCTs exclude these
    /// links.
    // LNK-14
    #[must_use]
    pub fn lasting(&self) -> Vec<LinkId> {
        let back: BTreeSet<LinkId> = self.changes.iter().map(|change| change.link).collect();
        let lasting = self.initial.iter().filter(|link| !back.contains(link));
        lasting.copied().collect()
    }

    /// Returns the times at which routes change, each with the links that the new routes avoid. The
    /// first entry is the start of the run.
    // LNK-12
    #[must_use]
    pub fn epochs(&self) -> Vec<(Time, Vec<LinkId>)> {
        let mut down: BTreeSet<LinkId> = self.initial.iter().copied().collect();
        let mut epochs = vec![(0, self.initial.clone())];
        for of_an_instant in self.changes.chunk_by(|a, b| a.at_ps == b.at_ps) {
            for change in of_an_instant {
                if change.up {
                    down.remove(&change.link);
                } else {
                    down.insert(change.link);
                }
            }
            let at_ps = of_an_instant[0].at_ps.saturating_add(self.reconvergence_ps);
            epochs.push((at_ps, down.iter().copied().collect()));
        }
        epochs
    }
}

/// Returns the direction of a link that has the lower ID.
#[must_use]
pub fn lower_end(graph: &Graph, link: LinkId) -> LinkId {
    link.min(graph.reverse(link))
}

/// Returns true if a failure starts before or at the end of an earlier failure of the same link.
fn touches(earlier: &LinkFailure, later: &LinkFailure) -> bool {
    earlier.until_ps.is_none_or(|until| later.from_ps <= until)
}

/// Returns the connected component of the network, per endpoint;
/// [`CUT_OFF`](dataplane::nic::CUT_OFF) if the link of the endpoint is down. Endpoints of one
/// component can reach each other.
// LNK-13
#[must_use]
pub fn parts(graph: &Graph) -> Vec<u32> {
    let mut part = vec![u32::MAX; graph.switches() as usize];
    for start in 0..graph.switches() {
        if part[start as usize] != u32::MAX {
            continue;
        }
        part[start as usize] = start;
        let mut open = vec![start];
        while let Some(switch) = open.pop() {
            for index in graph.live_links(switch) {
                let peer = graph.fabric_peer(index);
                if part[peer as usize] == u32::MAX {
                    part[peer as usize] = start;
                    open.push(peer);
                }
            }
        }
    }
    graph
        .endpoint_ids()
        .map(|endpoint| match graph.is_down(endpoint) {
            true => dataplane::nic::CUT_OFF,
            // A host-to-host link with its two ends is a separate component.
            false if graph.is_cable(endpoint) => graph.plane_of(endpoint),
            false => part[graph.switch_of(endpoint) as usize],
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::NodeId;
    use crate::topology::{LinkSpec, Loss, TopologySpec};
    use dataplane::units::{Rate, US};

    fn graph() -> Graph {
        let link = LinkSpec {
            rate: Rate::from_gbps(100),
            delay_ps: US,
            loss: Loss::NONE,
        };
        let spec = TopologySpec::LeafSpine {
            leaves: 2,
            spines: 2,
            hosts_per_leaf: 1,
            link,
            uplink: link,
        };
        spec.build().unwrap()
    }

    fn link_failure(link: LinkId, from_ps: Time, until_ps: Option<Time>) -> LinkFailure {
        LinkFailure {
            link,
            from_ps,
            until_ps,
        }
    }

    // LNK-03, LNK-12
    #[test]
    fn outages_of_a_link_are_merged_and_ordered_by_time() {
        let graph = graph();
        let uplink = graph.link(NodeId::new(2), 1);
        let other_end = graph.reverse(uplink);
        let [first, second] = [0, 1].map(LinkId::from_bits);
        let of = [
            link_failure(uplink, 30, Some(50)),
            link_failure(other_end, 10, Some(30)), // same link, adjacent in time
            link_failure(first, 0, Some(20)),
            link_failure(second, 0, None),
            link_failure(second, 5, Some(7)), // within the failure above
        ];
        let all = LinkFailures::new(&graph, &of, 3);
        assert_eq!(all.initial(), [first, second]);
        let change = |at_ps, link, up| Change { at_ps, link, up };
        let expected = [
            change(10, uplink, false),
            change(20, first, true),
            change(50, uplink, true),
        ];
        assert_eq!(all.changes(), expected);
        assert_eq!(all.lasting(), [second]);
        let epochs = [
            (0, vec![first, second]),
            (13, vec![first, second, uplink]),
            (23, vec![second, uplink]),
            (53, vec![second]),
        ];
        assert_eq!(all.epochs(), epochs);
    }

    // LNK-13
    #[test]
    fn parts_are_told_apart_by_switches_and_own_links() {
        let graph = graph();
        assert_eq!(parts(&graph), [0, 0]);
        let one = [graph.link(NodeId::new(2), 1)];
        assert_eq!(
            parts(&graph.without(&one)),
            [0, 0],
            "the other spine is left"
        );
        let both: Vec<LinkId> = graph.fabric_links(0).collect();
        let apart = parts(&graph.without(&both));
        assert_ne!(apart[0], apart[1]);
        let own = parts(&graph.without(&[LinkId::new(0)]));
        assert_eq!(own, [dataplane::nic::CUT_OFF, 0]);
        assert!(!graph.without(&[]).lacks_links());
        assert!(
            graph
                .without(&[LinkId::new(0)])
                .is_down(graph.reverse(LinkId::new(0)))
        );
        assert!(
            !graph
                .without(&[LinkId::new(0)])
                .whole()
                .is_down(LinkId::new(0))
        );
    }
}
