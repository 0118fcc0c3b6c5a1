//! One host of a plan for a driver other than the simulator: its NIC and its flows.

use std::sync::Arc;

use dataplane::nic::{FlowStart, Nic};
use dataplane::units::Time;
use traffic::Flow;

use super::Plan;
use super::build::{nic, nic_config, path_counts};
use super::flow_parameters::{FlowParameters, Way};
use crate::ids::NodeId;

/// Parameters of the network of a plan that a single host needs.
pub struct SingleHost {
    parameters: FlowParameters,
}

impl std::fmt::Debug for SingleHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SingleHost").finish_non_exhaustive()
    }
}

impl SingleHost {
    /// Creates the parameters for a plan. They do not support flows of workloads that share queue
    /// pairs.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        let config = Arc::new(nic_config(plan));
        Self {
            parameters: FlowParameters::new(plan, config, path_counts(plan)),
        }
    }

    /// Creates the NIC of a host.
    #[must_use]
    pub fn nic(&self, plan: &Plan, host: NodeId) -> Nic {
        nic(plan, &self.parameters.nic, host)
    }

    /// Returns the start parameters of a flow for the NIC of its sender, with the same path as in
    /// the simulator. Also returns the time until the last ACK in an empty network, ps.
    #[must_use]
    pub fn flow(&mut self, flow: &Flow, cookie: u32) -> (FlowStart, Time) {
        let way = Way::of(self.parameters.hash(flow));
        let ends = self.parameters.endpoints(flow, &way);
        let start = self.parameters.start(flow, &way, ends, cookie);
        let alone = self.parameters.record(*flow, ends);
        (start, alone.ideal_acked_ps)
    }
}
