//! One host of a plan without the simulator, for use with real interfaces: its NIC and its flows.

use std::sync::Arc;

use dataplane::nic::{FlowStart, Nic};
use dataplane::units::Time;
use traffic::Flow;

use super::Plan;
use super::build::{nic, nic_config, path_counts};
use super::flow_parameters::{FlowParameters, Way};
use crate::ids::NodeId;

/// Network parameters of a plan that a single host needs.
pub struct SingleHost {
    parameters: FlowParameters,
}

impl std::fmt::Debug for SingleHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SingleHost").finish_non_exhaustive()
    }
}

impl SingleHost {
    /// Creates the parameters for a plan. Flows of workloads that share queue pairs are not
    /// supported.
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

    /// Returns the start parameters of a flow for the sender's NIC, with the same path as in the
    /// simulator. Also returns the ideal FCT until the last ACK, ps.
    #[must_use]
    pub fn flow(&mut self, flow: &Flow, cookie: u32) -> (FlowStart, Time) {
        let way = Way::of(self.parameters.hash(flow));
        let ends = self.parameters.endpoints(flow, &way);
        let start = self.parameters.start(flow, &way, ends, cookie);
        let alone = self.parameters.record(*flow, ends);
        (start, alone.ideal_acked_ps)
    }
}
