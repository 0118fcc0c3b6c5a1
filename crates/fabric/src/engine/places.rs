//! The partition of each node, and the index of the node in this partition.

use dataplane::ids::IndexVec;

use crate::ids::{LocalNode, NodeId};
use crate::topology::Graph;

/// Where a node is simulated: its partition, its index in the partition, and its lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Partition of the node.
    pub part: u32,
    /// Index of the node in the partition.
    pub at: LocalNode,
    /// Lane of the node (a group of nodes that a thread simulates in turn).
    pub lane: u8,
}

/// Where each node is simulated. In each partition hosts precede switches, and both are sorted by
/// node ID.
#[derive(Debug)]
pub(super) struct Places {
    of: IndexVec<NodeId, Place>,
    nodes: Vec<Vec<NodeId>>,
    hosts: Vec<u32>,
    /// Number of lanes of each partition.
    lanes: Vec<usize>,
}

impl Places {
    /// Assigns all nodes to one partition and one lane.
    pub fn one(graph: &Graph) -> Self {
        let all = IndexVec::from(vec![0; graph.nodes() as usize]);
        Self::new(graph, &all, &all)
    }

    /// Assigns each node to its partition (`part_of`) and its lane (`lane_of`). Partitions are
    /// numbered from 0 without gaps.
    pub fn new(
        graph: &Graph,
        part_of: &IndexVec<NodeId, u32>,
        lane_of: &IndexVec<NodeId, u32>,
    ) -> Self {
        let parts = part_of.iter().max().map_or(1, |&last| last as usize + 1);
        let mut nodes = vec![Vec::new(); parts];
        let mut hosts = vec![0; parts];
        let mut lanes = vec![Vec::new(); parts];
        let place = |((node, &part), &lane): ((NodeId, &u32), &u32)| {
            let there = &mut nodes[part as usize];
            there.push(node);
            hosts[part as usize] += u32::from(graph.is_host(node));
            let lanes = &mut lanes[part as usize];
            let lane = lanes.iter().position(|&l| l == lane).unwrap_or_else(|| {
                lanes.push(lane);
                lanes.len() - 1
            });
            Place {
                lane: lane as u8,
                part,
                at: LocalNode::new(there.len() - 1),
            }
        };
        let nodes_in_order = graph.node_ids().zip(part_of.iter());
        let of = nodes_in_order.zip(lane_of.iter()).map(place).collect();
        let lanes = lanes.iter().map(Vec::len).collect();
        Self {
            of,
            nodes,
            hosts,
            lanes,
        }
    }

    /// Returns the number of lanes of a partition.
    pub fn lanes(&self, part: u32) -> usize {
        self.lanes[part as usize]
    }

    /// Returns the number of partitions.
    pub fn parts(&self) -> usize {
        self.nodes.len()
    }

    /// Returns partition, index and lane of a node.
    pub fn of(&self, node: NodeId) -> Place {
        self.of[node]
    }

    /// Returns the nodes of a partition, sorted by their index in the partition. Hosts and switches
    /// each are sorted by node ID.
    pub fn nodes(&self, part: u32) -> &[NodeId] {
        &self.nodes[part as usize]
    }

    /// Returns the hosts of a partition.
    pub fn hosts(&self, part: u32) -> &[NodeId] {
        &self.nodes(part)[..self.hosts[part as usize] as usize]
    }

    /// Returns the switches of a partition.
    pub fn switches(&self, part: u32) -> &[NodeId] {
        &self.nodes(part)[self.hosts[part as usize] as usize..]
    }
}
