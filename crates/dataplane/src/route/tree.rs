//! Routes of a switch in a regular tree, computed by a formula instead of a table.

use std::num::NonZeroU64;

use super::{Endpoints, PortSets};

/// Consecutive egress ports: `first` to `first + len - 1`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Row {
    pub first: u16,
    pub len: u16,
}

/// Formula for the routes of a switch in a regular tree. Below the switch are blocks of consecutive
/// endpoints, all of one size. Each block is reached through its own consecutive ports. The uplinks
/// lead to all other endpoints. Routing a packet reads only this struct (half a cache line).
// TOP-22
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Tree {
    /// First endpoint below the switch.
    first: u32,
    /// Number of endpoints below the switch.
    count: u32,
    /// 2^32 / (endpoints per block), rounded up: replaces a division by a multiplication.
    per_endpoint: NonZeroU64,
    /// Ports to the first block of endpoints. The ports of the next blocks follow in order.
    down: Row,
    /// Uplinks: ports to all endpoints that are not below the switch.
    up: Row,
}

impl Tree {
    /// Returns the formula that is equivalent to a routing table, if there is one. `own` is the
    /// group of the endpoints attached to the switch.
    pub fn of(endpoints: &Endpoints, own: u32, table: &[u16], sets: &PortSets) -> Option<Self> {
        let size = endpoints.per_group?;
        let table = Table {
            to: table,
            sets,
            own,
        };
        // If uplinks lead to any group, they lead to the last or the first group.
        let groups = 0..endpoints.groups;
        let ups = [groups.end - 1, 0].map(|group| table.row(group));
        let mut ups = ups.into_iter().flatten().chain([Row::default()]);
        ups.find_map(|up| {
            let is_below = |&group: &u32| table.row(group) != Some(up);
            let first = groups.clone().find(is_below).unwrap_or(0);
            let end = groups.clone().rev().find(is_below).map_or(0, |g| g + 1);
            let (down, block) = match table.row(first) {
                Some(down) => {
                    let alike = |&group: &u32| table.row(group) == Some(down);
                    (down, (first..end).take_while(alike).count() as u32 * size)
                }
                None => {
                    let first = endpoints.port[(first * size) as usize];
                    (Row { first, len: 1 }, 1)
                }
            };
            let tree = Self::new(first * size, (end - first) * size, block.max(1), down, up)?;
            let agrees = |group| match table.row(group) {
                Some(row) => row == tree.to(group * size),
                None => group == own && end == first + 1,
            };
            (first..end).all(agrees).then_some(tree)
        })
    }

    /// Creates the formula for blocks of `block` endpoints, if multiplication by `per_endpoint` is
    /// exact for all endpoints.
    fn new(first: u32, count: u32, block: u32, down: Row, up: Row) -> Option<Self> {
        let per_endpoint = (1u64 << 32).div_ceil(block.into());
        let beyond = per_endpoint * u64::from(block) - (1 << 32);
        let exact = beyond * u64::from(count) < 1 << 32;
        exact.then_some(Self {
            first,
            count,
            per_endpoint: NonZeroU64::new(per_endpoint)?,
            down,
            up,
        })
    }

    /// Returns the ports to an endpoint. Uses no branch, because a branch would be unpredictable.
    #[inline(always)]
    pub fn to(&self, dst: u32) -> Row {
        let at = dst.wrapping_sub(self.first);
        let block = ((u64::from(at) * self.per_endpoint.get()) >> 32) as u16;
        let below = Row {
            first: (self.down.first).wrapping_add(block.wrapping_mul(self.down.len)),
            len: self.down.len,
        };
        if at < self.count { below } else { self.up }
    }
}

/// Routing table of a switch.
struct Table<'a> {
    to: &'a [u16],
    sets: &'a PortSets,
    own: u32,
}

impl Table<'_> {
    /// Returns the ports to a group of endpoints, if they are consecutive and the group is not that
    /// of the switch.
    fn row(&self, group: u32) -> Option<Row> {
        let span = self.sets.spans[self.to[group as usize] as usize];
        let row = Row {
            first: span.first,
            len: span.len,
        };
        (span.in_a_row && group != self.own).then_some(row)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::config::PathChoice;
    use crate::packet::{Kind, Packet};
    use crate::paths::switch::EqualPorts;
    use crate::route::Routes;

    /// Test case: routes of a switch in a tree, except for groups in `astray` with other routes.
    #[derive(Clone, Debug)]
    struct Plan {
        groups: u32,
        size: u32,
        /// Groups of endpoints below the switch: the first one, and their number.
        below: (u32, u32),
        block: u32,
        ports_per_block: u16,
        ups: u16,
        /// True if hosts are attached to the switch, false for a switch of a higher tier.
        is_edge: bool,
        astray: Vec<(u32, Vec<u16>)>,
    }

    impl Plan {
        const UP: u16 = 200;

        fn own(&self) -> u32 {
            if self.is_edge { self.below.0 } else { u32::MAX }
        }

        fn ports(&self, group: u32) -> Vec<u16> {
            let astray = self.astray.iter().find(|(g, _)| *g == group);
            let at = group.wrapping_sub(self.below.0);
            let below = if self.is_edge { 1 } else { self.below.1 };
            match astray {
                Some((_, ports)) => ports.clone(),
                None if at < below => {
                    let first = (at / self.block) as u16 * self.ports_per_block;
                    (first..first + self.ports_per_block).collect()
                }
                None => (Self::UP..Self::UP + self.ups).collect(),
            }
        }

        fn routes(&self, choice: PathChoice) -> Routes {
            let endpoints = 0..self.groups * self.size;
            let group = endpoints.clone().map(|e| e / self.size).collect();
            let port = endpoints.map(|e| (e % self.size) as u16 + 3).collect();
            let sets: Vec<_> = (0..self.groups).map(|group| self.ports(group)).collect();
            Routes::new(
                Arc::new(Endpoints::new(self.groups, group, port, Vec::new())),
                self.own(),
                (
                    (0..self.groups as u16).collect(),
                    sets.iter().map(Vec::as_slice).collect(),
                ),
                (choice, 7),
            )
        }
    }

    prop_compose! {
        fn plans()(groups in 1u32..14, size in 1u32..9)(
            from in 0..groups,
            many in 0..=groups,
            block in 1u32..5,
            ports_per_block in 1u16..4,
            ups in 0u16..5,
            is_edge in any::<bool>(),
            astray in prop::collection::vec((0..groups, prop::collection::vec(0u16..9, 0..4)), 0..2),
            groups in Just(groups),
            size in Just(size),
        ) -> Plan {
            let below = (from, many.min(groups - from));
            Plan { groups, size, below, block, ports_per_block, ups, is_edge, astray }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// Checks that a formula is equivalent to its table, and that a tree always has a formula.
        // TOP-22
        #[test]
        fn a_formula_is_as_good_as_its_table(plan in plans(), hash: u32, psn: u32) {
            for choice in [PathChoice::Flow, PathChoice::Packet, PathChoice::Label] {
                let routes = plan.routes(choice);
                prop_assert!(routes.tree.is_some() || !plan.astray.is_empty(), "no formula");
                let listed = |ports: EqualPorts<'_>| {
                    (0..ports.len()).map(|nth| ports.get(nth)).collect::<Vec<u16>>()
                };
                for dst in 0..plan.groups * plan.size {
                    let ports = routes.ports(dst).map(listed).unwrap_or_default();
                    prop_assert_eq!(ports, listed(routes.by_table(dst)));
                    let packet = Packet { dst, hash, psn, ..Packet::new(Kind::Data, 2, 100) };
                    prop_assert_eq!(
                        routes.port(&packet, || 0),
                        routes.port_by_table(&packet, || 0)
                    );
                }
            }
        }
    }

    #[test]
    fn blocks_of_any_size_are_divided_exactly_or_not_at_all() {
        let row = |first| Row { first, len: 1 };
        for block in 1..700u32 {
            let count = 65_000 / block * block;
            let tree = Tree::new(5, count, block, row(0), row(0)).unwrap();
            for nth in 0..count / block {
                let first = 5 + nth * block;
                assert_eq!(tree.to(first), row(nth as u16));
                assert_eq!(tree.to(first + block - 1), row(nth as u16));
            }
        }
        assert_eq!(Tree::new(0, u32::MAX, 3_000, row(0), row(0)), None);
    }
}
