//! Double binary tree: two trees, each for half of the vector. Chunks of the half are summed up on
//! the way to the root of the tree. Then the root broadcasts them down the tree. A member with
//! children in one tree is a leaf of the other tree (except one member, if the number of members is
//! odd). // OPS-56

use super::{Plan, Span, Step};

/// The contribution of one member: for each channel two trees, each with a lane for the reduction
/// (up) and a lane for the broadcast (down).
#[derive(Clone, Debug)]
pub(super) struct DoubleBinaryTree {
    pub position: u32,
    pub members: u32,
    pub bytes: u64,
    pub channels: u32,
    /// Number of chunks into which each tree divides its half of the vector. They are sent in
    /// sequence.
    pub chunks: u32,
}

/// The parent and the children of a member in a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub parent: Option<u32>,
    pub children: [Option<u32>; 2],
}

const fn lowest_bit(place: u32) -> u32 {
    place & place.wrapping_neg()
}

/// Returns the neighbours of a member in a tree. Member i is at position i + 1 of tree 0, and at
/// position i of tree 1 (member 0 at position n). Positions 1 to n form a binary search tree: odd
/// positions are leaves, and the root is the largest power of two. // OPS-56
pub(super) fn node(tree: u32, member: u32, members: u32) -> Node {
    let to_member = |place: u32| (place + members - 1 + tree) % members;
    let place = if tree == 0 || member == 0 {
        if tree == 0 { member + 1 } else { members }
    } else {
        member
    };
    let bit = lowest_bit(place);
    let parent = if place.is_power_of_two() && 2 * place > members {
        None
    } else {
        let inner = (place ^ bit) | (bit << 1);
        Some(if inner <= members { inner } else { place ^ bit })
    };
    let mut right = place + bit / 2;
    while right > members && lowest_bit(right) > 1 {
        right -= lowest_bit(right) / 2;
    }
    let left = (bit > 1).then_some(place - bit / 2);
    let right = (bit > 1 && right <= members).then_some(right);
    Node {
        parent: parent.map(to_member),
        children: [left.map(to_member), right.map(to_member)],
    }
}

impl DoubleBinaryTree {
    /// Converts the index of a lane to channel, tree, direction (true for down), and tree
    /// neighbours.
    fn of_lane(&self, lane: u32) -> (u32, u32, bool, Node) {
        let (channel, tree, down) = (lane / 4, lane / 2 % 2, lane % 2 == 1);
        let node = node(tree, self.position, self.members);
        (channel, tree, down, node)
    }

    /// Returns the number of steps per chunk. In the broadcast (down), the root first waits for its
    /// own sum. In the reduction (up), the root sends nothing. A leaf waits before it sends, which
    /// limits its chunks in flight.
    fn per_chunk(&self, node: &Node, down: bool) -> u32 {
        let children = node.children.iter().flatten().count() as u32;
        let is_leaf = children == 0;
        children + u32::from(down || node.parent.is_some()) + u32::from(!down && is_leaf)
    }

    /// Returns the maximum number of chunks that a leaf has in flight: the number of tree levels,
    /// up and down. With more chunks, the NIC of the leaf would be busy with them, and would delay
    /// the chunks that the member forwards in the other tree. // OPS-56
    fn under_way(&self) -> u32 {
        2 * (self.members.ilog2() + 1)
    }
}

impl Plan for DoubleBinaryTree {
    fn lanes(&self) -> u32 {
        4 * self.channels
    }

    fn channel(&self, lane: u32) -> u16 {
        (lane / 4) as u16
    }

    fn steps(&self, lane: u32) -> u32 {
        let (_, _, down, node) = self.of_lane(lane);
        self.chunks * self.per_chunk(&node, down)
    }

    fn step(&self, lane: u32, step: u32) -> Step {
        let (channel, tree, down, node) = self.of_lane(lane);
        let per_chunk = self.per_chunk(&node, down);
        let (chunk, at) = (step / per_chunk, step % per_chunk);
        let span = Span::whole(self.bytes)
            .part(tree, 2)
            .part(channel, self.channels)
            .part(chunk, self.chunks);
        let tag = u64::from(lane) << 32 | u64::from(chunk);
        let children: Vec<u32> = node.children.into_iter().flatten().collect();
        let child = |at: u32| children.get(at as usize).copied();
        if down {
            match (at.checked_sub(1), node.parent) {
                (None, None) => Step::Await {
                    lane: lane - 1,
                    steps: (chunk + 1) * self.per_chunk(&node, false),
                },
                (None, Some(parent)) => Step::Receive {
                    from: parent,
                    span,
                    tag,
                    reduce: false,
                },
                (Some(at), _) => Step::Send {
                    to: child(at).expect("a step for each child"),
                    span,
                    tag,
                },
            }
        } else if let Some(from) = child(at) {
            Step::Receive {
                from,
                span,
                tag,
                reduce: true,
            }
        } else if children.is_empty() && at == 0 {
            let before = (chunk + 1).saturating_sub(self.under_way());
            Step::Await {
                lane: lane + 1,
                steps: before * self.per_chunk(&node, true),
            }
        } else {
            Step::Send {
                to: node
                    .parent
                    .expect("only a node with a parent has this step"),
                span,
                tag,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::node;

    /// OPS-56: trees of any size have one root and consistent parents and children, and contain all
    /// members. At most one member is a leaf in both trees or has children in both trees.
    #[test]
    fn trees_are_trees() {
        for members in 2..200 {
            let mut inner = vec![0; members as usize];
            for tree in 0..2 {
                let nodes: Vec<_> = (0..members).map(|m| node(tree, m, members)).collect();
                let roots = nodes.iter().filter(|node| node.parent.is_none());
                assert_eq!(roots.count(), 1, "{members} members");
                for (member, node) in (0..).zip(&nodes) {
                    for child in node.children.into_iter().flatten() {
                        assert_eq!(nodes[child as usize].parent, Some(member), "{members}");
                    }
                    let mut at = member;
                    let mut height = 0;
                    while let Some(parent) = nodes[at as usize].parent {
                        assert!(nodes[parent as usize].children.contains(&Some(at)));
                        at = parent;
                        height += 1;
                    }
                    assert!(height <= members.ilog2() + 1);
                    inner[member as usize] += i32::from(node.children != [None, None]);
                }
            }
            assert!(inner.iter().all(|&trees| trees <= 1), "{members} members");
            let leaves = inner.iter().filter(|&&trees| trees == 0).count();
            assert!(leaves <= 2, "{leaves} of {members} members only receive");
        }
    }
}
