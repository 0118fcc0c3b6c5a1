//! Converts IDs of nodes, ports and traffic sources to the names that tables contain.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, DictionaryArray, StringArray, UInt32Array};

use dataplane::ids::IndexVec;
use fabric::NodeId;

use crate::info::RunInfo;

/// Names of nodes, tiers and traffic sources, by the IDs that rows contain.
pub(crate) struct Names {
    /// Names of the nodes, followed by the names of the ends of parallel links.
    pub(crate) nodes: NameList,
    /// Index in `nodes` of the name of each end of a parallel link, by node and port.
    parallel: HashMap<(NodeId, u16), u32>,
    pub(crate) tiers: NameList,
    pub(crate) traffics: NameList,
    /// Level of each node.
    levels: IndexVec<NodeId, u8>,
}

impl Names {
    pub(crate) fn new(info: &RunInfo) -> Self {
        let nodes = info.nodes.iter().map(|n| n.name.as_str());
        let ends = info.parallel.iter().map(|end| end.peer_name.as_str());
        let at = info.parallel.iter().map(|end| (end.node, end.port));
        Self {
            nodes: NameList::new(nodes.chain(ends)),
            parallel: at.zip(info.nodes.len() as u32..).collect(),
            tiers: NameList::new(info.nodes.iter().map(|n| n.tier.as_str())),
            traffics: NameList::new(info.sources.iter().map(String::as_str)),
            levels: info.nodes.iter().map(|n| n.level).collect(),
        }
    }

    /// Returns the index in `nodes` of the name of the node at the other end of a port's link.
    pub(crate) fn peer(&self, (node, port, peer): (NodeId, u16, NodeId)) -> u32 {
        match self.parallel.is_empty() {
            true => peer.bits(),
            false => *self.parallel.get(&(node, port)).unwrap_or(&peer.bits()),
        }
    }

    /// Returns the direction from the first of two nodes to the second: `up`, `down`, or `side`
    /// between nodes of the same level.
    pub(crate) fn direction(&self, from: NodeId, to: NodeId) -> &'static str {
        match self.levels[to].cmp(&self.levels[from]) {
            std::cmp::Ordering::Greater => "up",
            std::cmp::Ordering::Less => "down",
            std::cmp::Ordering::Equal => "side",
        }
    }

    /// Creates the names of nodes, given as (name, tier, level), without traffic sources.
    #[cfg(test)]
    pub(crate) fn of_nodes<'a>(
        nodes: impl Iterator<Item = (&'a str, &'a str, u8)> + Clone,
    ) -> Self {
        Self {
            nodes: NameList::new(nodes.clone().map(|(name, _, _)| name)),
            parallel: HashMap::new(),
            tiers: NameList::new(nodes.clone().map(|(_, tier, _)| tier)),
            traffics: NameList::new(std::iter::empty()),
            levels: nodes.map(|(_, _, level)| level).collect(),
        }
    }
}

/// Names of a list of items. Equal names are stored once.
pub(crate) struct NameList {
    names: ArrayRef,
    /// Index in `names` of each item's name.
    index: Vec<u32>,
}

impl NameList {
    fn new<'a>(all: impl Iterator<Item = &'a str>) -> Self {
        let mut numbers = std::collections::BTreeMap::new();
        let mut names = Vec::new();
        let mut index = Vec::new();
        for name in all {
            index.push(*numbers.entry(name).or_insert_with(|| {
                names.push(name);
                names.len() as u32 - 1
            }));
        }
        Self {
            names: Arc::new(StringArray::from(names)),
            index,
        }
    }

    /// Returns a Parquet column with the names of these items.
    pub(crate) fn column(&self, items: impl Iterator<Item = u32>) -> ArrayRef {
        let keys = UInt32Array::from_iter_values(items.map(|item| self.index[item as usize]));
        Arc::new(DictionaryArray::new(keys, self.names.clone()))
    }
}
