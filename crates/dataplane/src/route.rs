//! Routing: the egress ports of a switch for each destination.
//!
//! Endpoints (ports of hosts) are grouped by the switch to which they are attached. A routing table
//! has one entry per group, not per endpoint.

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
    /// Group of each endpoint: the index of its switch among switches with hosts. If its own link
    /// is down, `groups` is added, and no route leads to such a group.
    pub group: Vec<u32>,
    /// Number of groups.
    pub groups: u32,
    /// Port of its switch to which each endpoint is attached.
    pub port: Vec<u16>,
    /// IP address of each endpoint for [`PathChoice::Tuple`]; otherwise empty.
    pub address: Vec<u32>,
    /// Endpoints per group, if all groups are equal in size and their endpoints and ports are
    /// consecutive.
    per_group: Option<u32>,
}

impl Endpoints {
    /// Creates `groups` groups. Each endpoint has its group, its port there and, for
    /// [`PathChoice::Tuple`], its address.
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

/// Returns the number of endpoints per group, if they are numbered group by group and port by port.
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

/// Sets of ports, stored in one array. If the ports of a set are consecutive, like most uplinks,
/// the first port and their number are sufficient.
#[derive(Clone, Debug, Default)]
pub struct PortSets {
    spans: Vec<Span>,
    ports: Vec<u16>,
}

/// Position of one set.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: u32,
    len: u16,
    first: u16,
    /// True if port `n` is `first + n`.
    in_a_row: bool,
}

impl PortSets {
    /// Adds a set.
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

    /// Returns one of the sets.
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
    /// Formula that replaces the table, if there is one.
    tree: Option<Tree>,
    /// Seed of the hash that selects among equal-cost paths. Each switch has its own, or each tier
    /// with [`PathChoice::Symmetric`].
    pub seed: u32,
    choice: Fixed,
    own_group: u32,
    /// Number of paths through the switches of lower tiers, at least 1. [`PathChoice::Label`]
    /// divides the label by it to get the digit of this tier.
    pub paths_below: NonZeroU32,
    endpoints: Arc<Endpoints>,
    table: Vec<u16>,
    sets: PortSets,
}

/// Returns the `hash` of a packet for [`PathChoice::Tuple`]: source port in the low half,
/// destination port in the high half.
// NS3-41
#[must_use]
pub const fn ports(src: u16, dst: u16) -> u32 {
    src as u32 | (dst as u32) << 16
}

impl Routes {
    /// Creates the routes of a switch. `own_group` is the switch's own group, or `u32::MAX` if it
    /// has no hosts. `table` contains, per group, an index into `sets` of equal-cost egress ports.
    /// An empty set means unreachable.
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
    /// unreachable. For policies that depend on load it uses the hash of the flow, because the
    /// switch makes such choices.
    #[inline(always)]
    #[must_use]
    pub fn port(&self, packet: &Packet, src: impl FnOnce() -> u32) -> Option<u16> {
        // Does not use `ports`: common code for formula and table needs more instructions per
        // packet.
        match &self.tree {
            Some(tree) => {
                let Row { first, len } = tree.to(packet.dst);
                (len > 0).then(|| first + self.choose(len.into(), packet, src) as u16)
            }
            None => self.port_by_table(packet, src),
        }
    }

    /// Implements [`Routes::port`] if there is no formula.
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

    /// Returns the equal-cost egress ports to an endpoint, or `None` if there are none.
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

    /// Implements [`Routes::ports`] if there is no formula. The set may be empty.
    #[inline]
    fn by_table(&self, dst: u32) -> EqualPorts<'_> {
        let group = self.endpoints.group[dst as usize];
        if group == self.own_group {
            let first = self.endpoints.port[dst as usize];
            return EqualPorts::Row { first, len: 1 };
        }
        self.sets.get(usize::from(self.table[group as usize]))
    }

    /// Returns the index, among `n` ports, of the port that a packet takes.
    // TOP-08
    #[inline(always)]
    fn choose(&self, n: usize, packet: &Packet, src: impl FnOnce() -> u32) -> usize {
        match self.choice {
            Fixed::Flow => below(self.flow_hash(packet), n), // XP-05, SPR-02
            Fixed::Packet => {
                let number = mix32(packet.psn.wrapping_add(0x9e37_79b9));
                below(mix32(packet.hash ^ number ^ self.seed), n)
            }
            Fixed::Tuple => self.by_tuple(packet, src(), n),
            Fixed::Label => (packet.hash / self.paths_below) as usize % n, // NDP-05
        }
    }

    /// Returns the hash of the packet's flow with the seed of the switch.
    #[inline(always)]
    pub(crate) const fn flow_hash(&self, packet: &Packet) -> u32 {
        mix32(packet.hash ^ self.seed)
    }

    /// Returns true if a formula replaces the table.
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

    /// Returns the equal-cost ports to each group, in order of groups; none for the own group.
    pub fn groups(&self) -> impl Iterator<Item = &[u16]> {
        self.table.iter().map(|&set| &self.sets[usize::from(set)])
    }

    /// Returns the equal-cost ports to a group of endpoints; none for the own group.
    #[must_use]
    pub fn towards(&self, group: u32) -> &[u16] {
        &self.sets[usize::from(self.table[group as usize])]
    }

    /// Prefetches the data that [`Routes::port`] will read. Control frames between neighbours have
    /// no route.
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

    /// Returns the number of ports on shortest paths to an endpoint; 0 if it is unreachable.
    #[must_use]
    pub fn ways(&self, dst: u32) -> usize {
        let group = self.endpoints.group[dst as usize];
        if group == self.own_group {
            return 1;
        }
        self.sets[self.table[group as usize] as usize].len()
    }

    /// Returns true if this is the first switch of a packet from endpoint `src`.
    #[inline]
    #[must_use]
    pub fn is_first(&self, src: u32) -> bool {
        self.is_own(src)
    }

    /// Returns the set of equal-cost ports to an endpoint, as an index into `sets`. Returns `None`
    /// if the endpoint is attached to this switch.
    #[inline]
    #[must_use]
    pub fn set_of(&self, dst: u32) -> Option<usize> {
        let group = self.endpoints.group[dst as usize];
        (!self.is_own(dst)).then(|| self.table[group as usize] as usize)
    }

    /// Returns the equal-cost ports to an endpoint of another switch; none if it is unreachable or
    /// attached to this switch.
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

    /// NS3-40: selects a port by the hash of addresses and ports, modulo the number of ports.
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
