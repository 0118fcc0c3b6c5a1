//! The flows of a partition: future flows, active flows, and records of finished flows.

use std::collections::VecDeque;

use traffic::Flow;

use crate::ids::LinkId;
use crate::record::{FlowRecord, Violation};

/// The flows of a partition.
#[derive(Debug)]
pub(super) struct FlowState {
    /// Per lane, the generated flows that will start in this partition.
    pub coming: Vec<VecDeque<Flow>>,
    /// Flows whose start event is scheduled but has not happened.
    pub starting: VecDeque<Flow>,
    pub live: LiveFlows,
    /// Records of finished flows that no recorder has received.
    pub finished: Vec<FlowRecord>,
    pub started: u64,
    pub done: u64,
    pub finished_bytes: u64,
    pub violations: Vec<Violation>,
}

impl FlowState {
    pub fn new(lanes: usize) -> Self {
        Self {
            coming: vec![VecDeque::new(); lanes],
            starting: VecDeque::new(),
            live: LiveFlows::default(),
            finished: Vec::new(),
            started: 0,
            done: 0,
            finished_bytes: 0,
            violations: Vec::new(),
        }
    }
}

/// The ports that a flow uses at both hosts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    /// Link on which the sender's port sends.
    pub src: LinkId,
    /// Link on which the receiver's port sends.
    pub dst: LinkId,
}

/// A flow that has started and has not finished.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowAt {
    /// ID of the flow.
    pub flow: u32,
    /// Index of the flow among the active flows.
    pub cookie: u32,
}

/// Active flows with their endpoints. A new flow reuses the index of a finished flow.
#[derive(Debug, Default)]
pub(super) struct LiveFlows {
    flows: Vec<Option<(Flow, Ends)>>,
    free: Vec<u32>,
}

impl LiveFlows {
    pub fn insert(&mut self, flow: Flow, ends: Ends) -> u32 {
        if let Some(at) = self.free.pop() {
            self.flows[at as usize] = Some((flow, ends));
            at
        } else {
            self.flows.push(Some((flow, ends)));
            self.flows.len() as u32 - 1
        }
    }

    pub fn remove(&mut self, at: u32) -> Option<(Flow, Ends)> {
        let flow = self.flows[at as usize].take();
        self.free.extend(flow.map(|_| at));
        flow
    }

    /// Returns the active flow with index `at`; `None`: it has finished.
    pub fn get(&self, at: u32) -> Option<Flow> {
        Some(self.flows.get(at as usize)?.as_ref()?.0)
    }

    /// Returns all active flows, in any order.
    pub fn iter(&self) -> impl Iterator<Item = &(Flow, Ends)> {
        self.flows.iter().flatten()
    }

    pub fn len(&self) -> usize {
        self.flows.len() - self.free.len()
    }
}
