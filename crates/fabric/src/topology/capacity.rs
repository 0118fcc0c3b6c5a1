//! Reference capacities for loads: the capacity of the host links or of the core, and the fraction
//! of uniform traffic that crosses the core.

use std::collections::BTreeMap;

use super::{Graph, TopologyError};
use crate::ids::{LinkId, NodeId};

/// The links whose capacity corresponds to a load of 100 %.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapacityOf {
    /// All host links, except links to the switch of a server.
    Hosts,
    /// All links between a switch with hosts and another switch.
    Core,
}

/// The set of ordered pairs of hosts from which traffic is drawn. All pairs have equal probability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairScope {
    /// Any two different hosts.
    Any,
    /// Any two hosts of different racks.
    InterRack,
}

impl Graph {
    /// Returns the sum of the rates of the links, in one direction, in bits per second.
    ///
    /// # Errors
    ///
    /// [`TopologyError::NoCore`] if no link joins two switches.
    pub fn capacity_bps(&self, of: CapacityOf) -> Result<u128, TopologyError> {
        match of {
            CapacityOf::Hosts => Ok(self.hosts_bps(self.host_ids())),
            CapacityOf::Core => self.core_bps(),
        }
    }

    /// Returns the sum of the rates of the links of some hosts, in bit/s. Links to the scale-up
    /// switches of servers are excluded. // TOP-12
    pub fn hosts_bps(&self, hosts: impl Iterator<Item = NodeId>) -> u128 {
        let ends = hosts.flat_map(|host| self.links_of(host));
        let ends = ends.filter(|&endpoint| !self.is_scale_up(endpoint));
        self.sum_bps(ends)
    }

    /// Returns the sum of the rates of some links, in bit/s.
    pub(crate) fn sum_bps(&self, links: impl Iterator<Item = LinkId>) -> u128 {
        links
            .map(|link| u128::from(self.port(link).rate.bps()))
            .sum()
    }

    /// Returns the sum of the rates of all links from a switch with hosts to another switch, each
    /// counted once. // TOP-12
    fn core_bps(&self) -> Result<u128, TopologyError> {
        let mut sum = 0;
        for group in 0..self.groups() {
            let switch = self.group_switch(group);
            // A link between two switches with hosts is visited from both ends. Only the first
            // visit counts it.
            sum += self.sum_bps(self.fabric_links(switch).filter(|&link| {
                let peer = self.fabric_peer(link);
                self.group_of_switch(peer).is_none() || peer > switch
            }));
        }
        if sum == 0 {
            return Err(TopologyError::NoCore {
                shape: self.shape(),
            });
        }
        Ok(sum)
    }

    /// Returns the fraction of all pairs in `scope` whose hosts are in different racks, so that
    /// their traffic crosses the core. // TOP-13
    ///
    /// # Errors
    ///
    /// [`TopologyError::OneRack`] if inter-rack pairs are requested and there are none.
    pub fn crossing_fraction(&self, scope: PairScope) -> Result<f64, TopologyError> {
        let mut hosts_in = BTreeMap::new();
        for host in self.host_ids() {
            *hosts_in.entry(self.rack_of(host)).or_insert(0u64) += 1;
        }
        let all = u64::from(self.hosts()) * u64::from(self.hosts() - 1);
        let inside: u64 = hosts_in.values().map(|&n| n * n.saturating_sub(1)).sum();
        match scope {
            PairScope::Any => Ok((all - inside) as f64 / all as f64),
            PairScope::InterRack if all == inside => Err(TopologyError::OneRack),
            PairScope::InterRack => Ok(1.0),
        }
    }
}
