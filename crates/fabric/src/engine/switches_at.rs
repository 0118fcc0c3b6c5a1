//! Switches with a configuration of their own.

use std::collections::BTreeMap;

use crate::ids::NodeId;
use dataplane::switch::SwitchConfig;

/// Switches whose configuration differs from the common one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SwitchesAt {
    configs: Vec<SwitchConfig>,
    of: BTreeMap<NodeId, usize>,
}

impl SwitchesAt {
    /// Sets another configuration for the switches with these node IDs.
    pub fn add(&mut self, nodes: impl IntoIterator<Item = NodeId>, config: SwitchConfig) {
        let index = self.configs.len();
        self.configs.push(config);
        self.of.extend(nodes.into_iter().map(|node| (node, index)));
    }

    /// Returns the configuration of a switch; `None`: the switch has the common configuration.
    #[must_use]
    pub fn get(&self, node: NodeId) -> Option<&SwitchConfig> {
        self.of.get(&node).map(|&index| &self.configs[index])
    }

    /// Returns the index of a switch's configuration: 0 is the common one, and n is entry n - 1 of
    /// [`Self::configs`].
    #[must_use]
    pub fn kind(&self, node: NodeId) -> usize {
        self.of.get(&node).map_or(0, |index| index + 1)
    }

    /// Returns all configurations except the common one.
    #[must_use]
    pub fn configs(&self) -> &[SwitchConfig] {
        &self.configs
    }
}
