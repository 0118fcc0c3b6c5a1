//! Where a packet goes: the egress ports of a switch by destination.
//!
//! Endpoints (ports of hosts) are grouped by the switch that they hang on, so a table has one
//! entry per such switch, not per host.

mod tree;

use std::num::NonZeroU32;
use std::ops::Index;
use std::sync::Arc;

use crate::config::PathChoice;
use crate::packet::Packet;
use crate::prefetch::prefetch;

use tree::Tree;

/// Where the endpoints of the network are; the same for all switches.
#[derive(Debug)]
pub struct Endpoints {
    /// Group of each endpoint: the index of its switch among switches with hosts; where its own link
    /// is down, that and `groups`, to which nothing leads.
    pub group: Vec<u32>,
    /// How many groups there are.
    pub groups: u32,
    /// Port of that switch that leads to it.
    pub port: Vec<u16>,
    /// IP address of each, for [`PathChoice::Tuple`]; else empty.
    pub address: Vec<u32>,
    /// Endpoints of each group, where all have as many, one after the other, at ports in a row.
    per_group: Option<u32>,
}

impl Endpoints {
    /// Of `groups` groups. Per endpoint its group, its port there and, for [`PathChoice::Tuple`], its address.
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

/// How many endpoints each group has, if they are numbered group by group and port by port.
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

/// Sets of ports, all in one array. Ports in a row, as uplinks mostly are, are told from the first of
/// them and their number alone.
#[derive(Clone, Debug, Default)]
pub struct PortSets {
    spans: Vec<Span>,
    ports: Vec<u16>,
}

/// Where one of the sets is.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: u32,
    len: u16,
    first: u16,
    /// Port `n` is `first + n`.
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

    /// How many sets there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// All sets in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u16]> {
        (0..self.len()).map(|set| &self[set])
    }

    /// Port `nth` of a span.
    #[inline(always)]
    fn port(&self, span: Span, nth: usize) -> u16 {
        match span.in_a_row {
            true => span.first + nth as u16,
            false => self.ports[span.start as usize + nth],
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

/// The routes of one switch.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Routes {
    /// What the rest says, where there is a formula for it.
    tree: Option<Tree>,
    /// Seed of the hash that chooses among equal paths. Each switch has its own, or, with
    /// [`PathChoice::Symmetric`], each tier.
    pub seed: u32,
    /// ECMP or spraying.
    pub choice: PathChoice,
    own_group: u32,
    /// Number of paths through the switches of lower tiers, at least 1. [`PathChoice::Label`] divides
    /// the label by it to get the digit of this tier.
    pub paths_below: NonZeroU32,
    endpoints: Arc<Endpoints>,
    table: Vec<u16>,
    sets: PortSets,
}

/// A cheap hash with full avalanche (finaliser of MurmurHash3).
#[inline]
#[must_use]
pub const fn mix32(mut h: u32) -> u32 {
    h ^= h >> 16;
    h = h.wrapping_mul(0x85eb_ca6b);
    h ^= h >> 13;
    h = h.wrapping_mul(0xc2b2_ae35);
    h ^ (h >> 16)
}

/// MurmurHash3, its 32-bit form, of three words that stand for twelve bytes in little-endian order.
// NS3-40
#[must_use]
pub const fn murmur3(words: [u32; 3], seed: u32) -> u32 {
    let mut h = seed;
    let mut at = 0;
    while at < words.len() {
        let k = words[at].wrapping_mul(0xcc9e_2d51).rotate_left(15);
        h ^= k.wrapping_mul(0x1b87_3593);
        h = h.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
        at += 1;
    }
    mix32(h ^ 12)
}

/// What [`PathChoice::Tuple`] wants in a packet's `hash`: source port below, destination port above.
// NS3-41
#[must_use]
pub const fn ports(src: u16, dst: u16) -> u32 {
    src as u32 | (dst as u32) << 16
}

impl Routes {
    /// `own_group`: the switch's own, `u32::MAX` where no host hangs on it. `table`: per group an index into
    /// `sets`, distinct sets of equal-cost egress ports; an empty one means unreachable.
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
            choice,
            own_group,
            paths_below: NonZeroU32::MIN,
            endpoints,
            table,
            sets,
        }
    }

    /// Egress port of a packet from endpoint `src()`; `None` where nothing leads to its destination.
    #[inline(always)]
    #[must_use]
    pub fn port(&self, packet: &Packet, src: impl FnOnce() -> u32) -> Option<u16> {
        match &self.tree {
            Some(tree) => {
                let row = tree.to(packet.dst);
                (row.len > 0).then(|| row.first + self.choose(row.len, packet, src) as u16)
            }
            None => self.by_table(packet, src),
        }
    }

    /// [`Routes::port`] where there is no formula.
    #[inline]
    fn by_table(&self, packet: &Packet, src: impl FnOnce() -> u32) -> Option<u16> {
        let dst = packet.dst as usize;
        let group = self.endpoints.group[dst];
        if group == self.own_group {
            return Some(self.endpoints.port[dst]);
        }
        let set = self.sets.spans[self.table[group as usize] as usize];
        (set.len > 0).then(|| self.sets.port(set, self.choose(set.len, packet, src)))
    }

    /// Which one of `ways` ports, at least one, a packet takes. One port too: whether there are others nothing foretells.
    // TOP-08
    #[inline(always)]
    fn choose(&self, ways: u16, packet: &Packet, src: impl FnOnce() -> u32) -> usize {
        let n = usize::from(ways);
        let hashed = |key: u32| {
            let h = mix32(key ^ self.seed);
            ((u64::from(h) * n as u64) >> 32) as usize
        };
        match self.choice {
            // XP-05, SPR-02
            PathChoice::Flow | PathChoice::Symmetric | PathChoice::Entropy => hashed(packet.hash),
            PathChoice::Packet => hashed(packet.hash ^ mix32(packet.psn.wrapping_add(0x9e37_79b9))),
            PathChoice::Tuple => self.by_tuple(packet, src(), n),
            PathChoice::Label => (packet.hash / self.paths_below) as usize % n, // NDP-05
        }
    }

    /// Whether a formula tells where packets go, not the table.
    // TOP-22
    #[must_use]
    pub fn has_formula(&self) -> bool {
        self.tree.is_some()
    }

    /// Where the endpoints of the network are.
    #[must_use]
    pub fn endpoints(&self) -> &Endpoints {
        &self.endpoints
    }

    /// The sets of equal-cost egress ports.
    #[must_use]
    pub fn sets(&self) -> &PortSets {
        &self.sets
    }

    /// The equal-cost ports to each group, in order of groups; none to the own one.
    pub fn groups(&self) -> impl Iterator<Item = &[u16]> {
        self.table.iter().map(|&set| &self.sets[usize::from(set)])
    }

    /// The equal-cost ports to a group of endpoints; none to the own one.
    #[must_use]
    pub fn towards(&self, group: u32) -> &[u16] {
        &self.sets[usize::from(self.table[group as usize])]
    }

    /// Prefetches what [`Routes::port`] will read. Frames between neighbours go nowhere.
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

    /// How many ports begin a shortest way to an endpoint; 0: none leads there.
    #[must_use]
    pub fn ways(&self, dst: u32) -> usize {
        let group = self.endpoints.group[dst as usize];
        if group == self.own_group {
            return 1;
        }
        self.sets[self.table[group as usize] as usize].len()
    }

    /// Whether this is the first switch of a packet from endpoint `src`.
    #[inline]
    #[must_use]
    pub fn is_first(&self, src: u32) -> bool {
        self.is_own(src)
    }

    /// The set of equal-cost ports towards an endpoint, as an index of `sets`; `None`: it hangs on
    /// this switch.
    #[inline]
    #[must_use]
    pub fn set_of(&self, dst: u32) -> Option<usize> {
        let group = self.endpoints.group[dst as usize];
        (!self.is_own(dst)).then(|| self.table[group as usize] as usize)
    }

    /// The ports by which the ways to an endpoint begin that hangs on another switch; none where no way
    /// leads there, or it hangs here.
    #[inline]
    #[must_use]
    pub fn next_hops(&self, dst: u32) -> &[u16] {
        self.set_of(dst).map_or(&[], |set| &self.sets[set])
    }

    /// Whether an endpoint hangs on this switch, also if its link is down.
    #[inline]
    #[must_use]
    pub fn is_own(&self, endpoint: u32) -> bool {
        let (group, groups) = (
            self.endpoints.group[endpoint as usize],
            self.endpoints.groups,
        );
        group == self.own_group || group >= groups && group - groups == self.own_group
    }

    /// NS3-40: the hash of addresses and ports, by division.
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
            let span = all.spans[n];
            let ports: Vec<u16> = (0..set.len()).map(|nth| all.port(span, nth)).collect();
            assert_eq!(ports, set);
        }
        assert!(all.iter().eq(sets));
    }

    // NS3-40
    #[test]
    fn murmur3_gives_the_published_numbers() {
        // Of the zero key of 12 bytes, and of the bytes 1 to 12: from the reference implementation
        // rewritten in another language.
        assert_eq!(murmur3([0; 3], 0), 0xd941_144b);
        assert_eq!(
            murmur3([0x0403_0201, 0x0807_0605, 0x0c0b_0a09], 128),
            0xb360_d5a9
        );
    }
}
