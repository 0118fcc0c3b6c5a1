//! Routing: the egress ports of a switch for each destination.
//!
//! Endpoints (ports of hosts) are grouped by the switch to which they are attached. A routing table
//! has one entry per such *group*, not per endpoint.

mod tree;

use std::num::NonZeroU32;
use std::ops::Index;
use std::sync::Arc;

use crate::hash::{below, mix32, murmur3};
use crate::packet::Packet;
use crate::paths::switch::{EqualPorts, PathChoice};
use crate::prefetch::prefetch;

use tree::{Row, Tree};

/// Attachment of all endpoints of the network; the same for all switches.
#[derive(Debug)]
pub struct Endpoints {
    /// Group of each endpoint: index of its switch among the switches with hosts. If the link of
    /// the endpoint is down, `groups` is added to this index. No route leads to such a group.
    pub group: Vec<u32>,
    /// Number of groups, that is, of switches with hosts.
    pub groups: u32,
    /// Switch port to which each endpoint is attached.
    pub port: Vec<u16>,
    /// IP address of each endpoint for [`PathChoice::Tuple`]; otherwise empty.
    pub address: Vec<u32>,
    /// Number of endpoints per group, if all groups have the same size and consecutive endpoints
    /// and ports.
    per_group: Option<u32>,
}

impl Endpoints {
    /// Creates the attachment of endpoints to `groups` switches. The vectors have the group, switch
    /// port and (for [`PathChoice::Tuple`]) IP address of each endpoint.
    #[must_use]
    pub fn new(groups: u32, group: Vec<u32>, port: Vec<u16>, address: Vec<u32>) -> Self {
        Self {
            per_group: per_group(groups, &group, &port),
            groups,
            group,
            port,
            address,
        }
    }
}

/// Returns the number of endpoints per group, if endpoints are numbered group by group and port by
/// port.
fn per_group(groups: u32, group: &[u32], port: &[u16]) -> Option<u32> {
    let all = group.len() as u32;
    let size = all.checked_div(groups).filter(|&size| size > 0)?;
    let regular = |(endpoint, (&group, &port_here)): (u32, (&u32, &u16))| {
        let nth = endpoint % size;
        let first = port[(endpoint - nth) as usize];
        group == endpoint / size && u32::from(port_here) == u32::from(first) + nth
    };
    let each = group.iter().zip(port);
    (size * groups == all && (0..).zip(each).all(regular)).then_some(size)
}

/// Sets of equal-cost egress ports, stored in one array. If the ports of a set are consecutive,
/// like most uplinks, a lookup reads only its first port and its size.
#[derive(Clone, Debug, Default)]
pub struct PortSets {
    spans: Vec<Span>,
    ports: Vec<u16>,
}

/// Position of a set of ports in the array.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: u32,
    len: u16,
    first: u16,
    /// True if the ports are consecutive: port `n` of the set is `first + n`.
    in_a_row: bool,
}

impl PortSets {
    /// Adds a set of ports.
    pub fn push(&mut self, ports: &[u16]) {
        let first = ports.first().copied().unwrap_or(0);
        self.spans.push(Span {
            start: self.ports.len() as u32,
            len: ports.len() as u16,
            first,
            in_a_row: (u32::from(first)..)
                .zip(ports)
                .all(|(n, &port)| n == u32::from(port)),
        });
        self.ports.extend_from_slice(ports);
    }

    /// Returns the number of sets.
    #[must_use]
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Returns true if there are no sets.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Returns all sets in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u16]> {
        (0..self.len()).map(|set| &self[set])
    }

    /// Returns the set with this index.
    #[inline(always)]
    fn get(&self, set: usize) -> EqualPorts<'_> {
        let Span {
            start,
            len,
            first,
            in_a_row,
        } = self.spans[set];
        match in_a_row {
            true => EqualPorts::Row { first, len },
            false => EqualPorts::List(&self.ports[start as usize..][..len as usize]),
        }
    }
}

impl Index<usize> for PortSets {
    type Output = [u16];

    fn index(&self, set: usize) -> &[u16] {
        let span = self.spans[set];
        &self.ports[span.start as usize..][..span.len as usize]
    }
}

impl<'a> FromIterator<&'a [u16]> for PortSets {
    fn from_iter<T: IntoIterator<Item = &'a [u16]>>(sets: T) -> Self {
        let mut all = Self::default();
        sets.into_iter().for_each(|set| all.push(set));
        all
    }
}

/// Selection of one of several equal-cost ports by a function of the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fixed {
    Flow,
    Packet,
    Tuple,
    Label,
}

impl Fixed {
    const fn of(choice: PathChoice) -> Self {
        match choice {
            PathChoice::Packet => Self::Packet,
            PathChoice::Tuple => Self::Tuple,
            PathChoice::Label => Self::Label,
            _ => Self::Flow,
        }
    }
}

/// Routes of one switch.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Routes {
    /// Formula that replaces the table in a regular tree, if there is one.
    tree: Option<Tree>,
    /// Seed of the hash that selects among equal-cost ports. It differs between switches, or with
    /// [`PathChoice::Symmetric`] only between tiers.
    pub seed: u32,
    choice: Fixed,
    own_group: u32,
    /// Number of paths through the switches of lower tiers, at least 1. With [`PathChoice::Label`]
    /// a packet uses port (path label / `paths_below`) mod n of n equal-cost ports.
    pub paths_below: NonZeroU32,
    endpoints: Arc<Endpoints>,
    table: Vec<u16>,
    sets: PortSets,
}

/// Returns the `hash` field of a packet for [`PathChoice::Tuple`]: UDP source port in the low half,
/// destination port in the high half.
// NS3-41
#[must_use]
pub const fn ports(src: u16, dst: u16) -> u32 {
    src as u32 | (dst as u32) << 16
}

impl Routes {
    /// Creates the routes of a switch. `own_group` is the group of its own hosts, or `u32::MAX` if
    /// it has no hosts. `table` contains the index in `sets` of the equal-cost egress ports to each
    /// group. An empty set means that the group is unreachable.
    #[must_use]
    pub fn new(
        endpoints: Arc<Endpoints>,
        own_group: u32,
        (table, sets): (Vec<u16>, PortSets),
        (choice, seed): (PathChoice, u32),
    ) -> Self {
        Self {
            tree: Tree::of(&endpoints, own_group, &table, &sets),
            seed,
            choice: Fixed::of(choice),
            own_group,
            paths_below: NonZeroU32::MIN,
            endpoints,
            table,
            sets,
        }
    }

    /// Returns the egress port of a packet from endpoint `src()`, or `None` if its destination is
    /// unreachable. If the path policy depends on load, uses the hash of the flow instead: the
    /// switch applies such policies itself (`Pipeline::port_by_load`).
    #[inline(always)]
    #[must_use]
    pub fn port(&self, packet: &Packet, src: impl FnOnce() -> u32) -> Option<u16> {
        // Does not call `Self::ports`: common code for formula and table would need more
        // instructions per packet.
        match &self.tree {
            Some(tree) => {
                let Row { first, len } = tree.to(packet.dst);
                (len > 0).then(|| first + self.choose(len.into(), packet, src) as u16)
            }
            None => self.port_by_table(packet, src),
        }
    }

    /// Implements [`Routes::port`] with the table.
    #[inline]
    fn port_by_table(&self, packet: &Packet, src: impl FnOnce() -> u32) -> Option<u16> {
        let dst = packet.dst as usize;
        let group = self.endpoints.group[dst];
        if group == self.own_group {
            return Some(self.endpoints.port[dst]);
        }
        let ports = self.sets.get(usize::from(self.table[group as usize]));
        (ports.len() > 0).then(|| ports.get(self.choose(ports.len(), packet, src)))
    }

    /// Returns the equal-cost egress ports to an endpoint, or `None` if it is unreachable.
    // TOP-22
    pub(crate) fn ports(&self, dst: u32) -> Option<EqualPorts<'_>> {
        let ports = match &self.tree {
            Some(tree) => {
                let Row { first, len } = tree.to(dst);
                EqualPorts::Row { first, len }
            }
            None => self.by_table(dst),
        };
        (ports.len() > 0).then_some(ports)
    }

    /// Implements [`Routes::ports`] with the table. The set is empty for an unreachable endpoint.
    #[inline]
    fn by_table(&self, dst: u32) -> EqualPorts<'_> {
        let group = self.endpoints.group[dst as usize];
        if group == self.own_group {
            let first = self.endpoints.port[dst as usize];
            return EqualPorts::Row { first, len: 1 };
        }
        self.sets.get(usize::from(self.table[group as usize]))
    }

    /// Returns the index (below `n`) of the equal-cost port that the path policy selects for a
    /// packet.
    // TOP-08
    #[inline(always)]
    fn choose(&self, n: usize, packet: &Packet, src: impl FnOnce() -> u32) -> usize {
        match self.choice {
            Fixed::Flow => below(self.flow_hash(packet), n), // XP-05, SPR-02: ECMP by flow
            Fixed::Packet => {
                let number = mix32(packet.psn.wrapping_add(0x9e37_79b9));
                below(mix32(packet.hash ^ number ^ self.seed), n)
            }
            Fixed::Tuple => self.by_tuple(packet, src(), n),
            Fixed::Label => (packet.hash / self.paths_below) as usize % n, // NDP-05
        }
    }

    /// Returns the ECMP hash: the hash of the packet's flow mixed with the seed of the switch.
    #[inline(always)]
    pub(crate) const fn flow_hash(&self, packet: &Packet) -> u32 {
        mix32(packet.hash ^ self.seed)
    }

    /// Returns true if a formula replaces the routing table.
    // TOP-22
    #[must_use]
    pub fn has_formula(&self) -> bool {
        self.tree.is_some()
    }

    /// Returns the attachment of all endpoints of the network.
    #[must_use]
    pub fn endpoints(&self) -> &Endpoints {
        &self.endpoints
    }

    /// Returns the sets of equal-cost egress ports.
    #[must_use]
    pub fn sets(&self) -> &PortSets {
        &self.sets
    }

    /// Returns the equal-cost ports to each group of endpoints, in order. The set of the switch's
    /// own group is empty.
    pub fn groups(&self) -> impl Iterator<Item = &[u16]> {
        self.table.iter().map(|&set| &self.sets[usize::from(set)])
    }

    /// Returns the equal-cost ports to a group of endpoints. Empty for the switch's own group.
    #[must_use]
    pub fn towards(&self, group: u32) -> &[u16] {
        &self.sets[usize::from(self.table[group as usize])]
    }

    /// Prefetches the table entry that [`Routes::port`] will read for a packet to `dst()`. Control
    /// frames between neighbours have no route.
    #[inline]
    pub fn prefetch(&self, dst: impl FnOnce() -> u32) {
        if self.has_formula() {
            return;
        }
        if let Some(&group) = self.endpoints.group.get(dst() as usize) {
            prefetch(&self.table, group as usize);
            prefetch(&self.sets.spans, 0);
        }
    }

    /// Returns the number of equal-cost ports to an endpoint; 0 if it is unreachable.
    #[must_use]
    pub fn ways(&self, dst: u32) -> usize {
        let group = self.endpoints.group[dst as usize];
        if group == self.own_group {
            return 1;
        }
        self.sets[self.table[group as usize] as usize].len()
    }

    /// Returns true if this switch is the first on the path of packets from endpoint `src`.
    #[inline]
    #[must_use]
    pub fn is_first(&self, src: u32) -> bool {
        self.is_own(src)
    }

    /// Returns the index in [`Self::sets`] of the equal-cost ports to an endpoint. Returns `None`
    /// if the endpoint is attached to this switch.
    #[inline]
    #[must_use]
    pub fn set_of(&self, dst: u32) -> Option<usize> {
        let group = self.endpoints.group[dst as usize];
        (!self.is_own(dst)).then(|| self.table[group as usize] as usize)
    }

    /// Returns the equal-cost ports to an endpoint of another switch. Empty if the endpoint is
    /// unreachable or attached to this switch.
    #[inline]
    #[must_use]
    pub fn next_hops(&self, dst: u32) -> &[u16] {
        self.set_of(dst).map_or(&[], |set| &self.sets[set])
    }

    /// Returns true if an endpoint is attached to this switch, even if its link is down.
    #[inline]
    #[must_use]
    pub fn is_own(&self, endpoint: u32) -> bool {
        let (group, groups) = (
            self.endpoints.group[endpoint as usize],
            self.endpoints.groups,
        );
        group == self.own_group || group >= groups && group - groups == self.own_group
    }

    /// NS3-40: selects an egress port by the hash of IP addresses and UDP ports, modulo the number
    /// of egress ports.
    fn by_tuple(&self, packet: &Packet, src: u32, n: usize) -> usize {
        let address = &self.endpoints.address;
        let words = [
            address[src as usize],
            address[packet.dst as usize],
            packet.hash,
        ];
        murmur3(words, self.seed) as usize % n
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_the_same_in_a_row_or_not() {
        let sets: [&[u16]; 5] = [&[], &[7], &[3, 4, 5], &[5, 4], &[1, 2, 4]];
        let all: PortSets = sets.into_iter().collect();
        assert_eq!((all.len(), all.is_empty()), (5, false));
        for (n, set) in sets.into_iter().enumerate() {
            assert_eq!(&all[n], set);
            let found = all.get(n);
            let ports: Vec<u16> = (0..found.len()).map(|nth| found.get(nth)).collect();
            assert_eq!(ports, set);
        }
        assert!(all.iter().eq(sets));
    }
}
