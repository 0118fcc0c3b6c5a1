//! Which node is in which partition, and under which number there.

use crate::topology::Graph;

/// Where a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Its partition.
    pub part: u32,
    /// Its number there.
    pub at: u32,
    /// Its lane there.
    pub lane: u8,
}

/// The places of all nodes. In each partition hosts come before switches, both in the order of
/// their numbers in the network.
#[derive(Debug)]
pub(super) struct Places {
    of: Vec<Place>,
    nodes: Vec<Vec<u32>>,
    hosts: Vec<u32>,
    /// How many lanes each partition has.
    lanes: Vec<usize>,
}

impl Places {
    /// The whole network in one partition.
    pub fn one(graph: &Graph) -> Self {
        let all = vec![0; graph.nodes() as usize];
        Self::new(graph, &all, &all)
    }

    /// A partition for each node, counted from 0 without a gap.
    pub fn new(graph: &Graph, part_of: &[u32], lane_of: &[u32]) -> Self {
        let parts = part_of.iter().max().map_or(1, |&last| last as usize + 1);
        let mut nodes = vec![Vec::new(); parts];
        let mut hosts = vec![0; parts];
        let mut lanes = vec![Vec::new(); parts];
        let place = |((node, &part), &lane): ((u32, &u32), &u32)| {
            let there = &mut nodes[part as usize];
            there.push(node);
            hosts[part as usize] += u32::from(node < graph.hosts());
            let lanes = &mut lanes[part as usize];
            let lane = lanes.iter().position(|&l| l == lane).unwrap_or_else(|| {
                lanes.push(lane);
                lanes.len() - 1
            });
            Place {
                lane: lane as u8,
                part,
                at: there.len() as u32 - 1,
            }
        };
        let of = (0..).zip(part_of).zip(lane_of).map(place).collect();
        let lanes = lanes.iter().map(Vec::len).collect();
        Self {
            of,
            nodes,
            hosts,
            lanes,
        }
    }

    /// How many lanes a partition has.
    pub fn lanes(&self, part: u32) -> usize {
        self.lanes[part as usize]
    }

    /// How many partitions there are.
    pub fn parts(&self) -> usize {
        self.nodes.len()
    }

    /// Where a node is.
    pub fn of(&self, node: u32) -> Place {
        self.of[node as usize]
    }

    /// The nodes of a partition in the order of their numbers there, which is that of the network.
    pub fn nodes(&self, part: u32) -> &[u32] {
        &self.nodes[part as usize]
    }

    /// The hosts of a partition.
    pub fn hosts(&self, part: u32) -> &[u32] {
        &self.nodes(part)[..self.hosts[part as usize] as usize]
    }

    /// The switches of a partition.
    pub fn switches(&self, part: u32) -> &[u32] {
        &self.nodes(part)[self.hosts[part as usize] as usize..]
    }
}
