//! Capacity of the links of a group's hosts, from which the minimum time of a collective is
//! computed.

use std::collections::{BTreeMap, BTreeSet};

use traffic::collectives::bounds::{least_across, least_between};
use traffic::operations::CollectiveKind;

use crate::ids::NodeId;
use crate::topology::Graph;
use crate::workload::Job;

/// Sets of members of a group whose traffic to other members must cross certain links. Members on
/// one host use the ports of the host. Members on one switch use the links of the switch to other
/// switches, and the links of their hosts to other switches.
// RNK-17
#[derive(Debug, Default)]
pub(super) struct MemberLinks {
    /// Number of members of the group.
    count: u32,
    /// Switches to which the hosts of all members are connected. While their links are up, all
    /// traffic uses them.
    common: BTreeSet<u32>,
    /// Sets of members that share links: number of members, and total rate of these links in bit/s.
    /// Equal sets are stored once.
    sets: BTreeSet<(u32, u128)>,
    /// Divisions of all members into disjoint sets: number of sets, and total rate of their links
    /// in bit/s.
    divisions: BTreeSet<(u32, u128)>,
}

impl MemberLinks {
    pub fn new(graph: &Graph, job: &Job, group: Option<u32>) -> Self {
        let members = job.workload.members(group);
        let count = members.count();
        // Several ranks may be on one host.
        let mut hosts: BTreeMap<NodeId, u32> = BTreeMap::new();
        for position in 0..count {
            let host = job.hosts[members.rank(position) as usize];
            *hosts.entry(host).or_default() += 1;
        }
        let mut found = Self {
            count,
            ..Self::default()
        };
        let on = |host: NodeId| -> BTreeSet<u32> {
            let endpoints = graph.links_of(host);
            endpoints
                .filter(|&endpoint| !graph.is_cable(endpoint))
                .map(|endpoint| graph.switch_of(endpoint))
                .collect()
        };
        let common = hosts.keys().map(|&host| on(host));
        let common = common.reduce(|common, on| &common & &on);
        found.common = common.unwrap_or_default();
        let of_hosts = hosts
            .iter()
            .map(|(&host, &inside)| (inside, found.host_bps(graph, host)));
        let of_hosts = of_hosts.collect();
        found.add(of_hosts);
        // A host can have links to the switch of its server, to other switches, or to both kinds.
        // Each kind gives its own division of the members.
        for scale_up in [true, false] {
            let mut switches: BTreeMap<u32, BTreeSet<NodeId>> = BTreeMap::new();
            let mut once = true;
            for &host in hosts.keys() {
                let mut on = on(host);
                on.retain(|&switch| graph.is_scale_up_switch(switch) == scale_up);
                once &= on.len() == 1;
                for switch in on {
                    switches.entry(switch).or_default().insert(host);
                }
            }
            let sets = switches.iter().map(|(&switch, on)| {
                let inside = on.iter().map(|host| hosts[host]).sum();
                (inside, edge_bps(graph, switch, on, job.relay.is_some()))
            });
            let sets: Vec<_> = sets.collect();
            match once {
                true => found.add(sets),
                false => found.sets.extend(sets),
            }
        }
        found
    }

    /// Adds a division of all members into disjoint sets.
    fn add(&mut self, sets: Vec<(u32, u128)>) {
        let rate_bps = sets.iter().map(|(_, rate_bps)| rate_bps).sum();
        self.divisions.insert((sets.len() as u32, rate_bps));
        self.sets.extend(sets);
    }

    /// Returns the minimum time of a collective whose data cross links, ps. `share` is the payload
    /// fraction of a frame.
    // RNK-17
    pub fn least_ps(&self, kind: CollectiveKind, bytes: u64, share: f64) -> Option<f64> {
        let one_by_one = self.sets.iter().map(|&(inside, rate_bps)| {
            let crossing = least_across(kind, self.count, inside, bytes);
            (crossing as f64, rate_bps)
        });
        let together = self.divisions.iter().map(|&(sets, rate_bps)| {
            let crossing = least_between(kind, sets, bytes);
            (crossing as f64, rate_bps)
        });
        let crossing = one_by_one
            .chain(together)
            .filter(|&(bytes, rate_bps)| bytes > 0.0 && rate_bps > 0);
        crossing
            .map(|(bytes, rate_bps)| needed_ps(bytes, rate_bps, share))
            .reduce(f64::max)
    }

    /// Returns the total rate in bit/s of the ports by which the host of a member reaches other
    /// hosts.
    pub fn host_bps(&self, graph: &Graph, host: NodeId) -> u128 {
        let endpoints = graph.links_of(host);
        graph.sum_bps(endpoints.filter(|&endpoint| {
            self.common.is_empty()
                || graph.is_cable(endpoint)
                || self.common.contains(&graph.switch_of(endpoint))
        }))
    }

    /// Returns true if each member has its own host.
    pub fn are_apart(&self) -> bool {
        self.divisions.iter().any(|&(hosts, _)| hosts == self.count)
    }
}

/// Returns the time in ps that links with the total rate `rate_bps` need for a payload of `bytes`.
/// `share` is the payload fraction of a frame.
pub(super) fn needed_ps(bytes: f64, rate_bps: u128, share: f64) -> f64 {
    bytes * 8e12 / (rate_bps as f64 * share)
}

/// Returns the total rate in bit/s of the links from a switch to other switches, and from hosts at
/// this switch to other switches. `switch` is the index among the switches. The hosts are those of
/// the members, or all hosts if other hosts relay messages.
fn edge_bps(graph: &Graph, switch: u32, members: &BTreeSet<NodeId>, relays: bool) -> u128 {
    let all = || {
        let endpoints = graph.endpoints_on(switch);
        endpoints.map(|endpoint| graph.host_of(endpoint)).collect()
    };
    let hosts = if relays { all() } else { members.clone() };
    let others = hosts.iter().flat_map(|&host| graph.links_of(host));
    let others = others.filter(|&end| graph.is_cable(end) || graph.switch_of(end) != switch);
    graph.sum_bps(graph.fabric_links(switch)) + graph.sum_bps(others)
}
