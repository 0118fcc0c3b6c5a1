//! Flows that have started and not finished.

use traffic::Flow;

/// Flows that have started and not finished; a finished one leaves its place to the next.
#[derive(Debug, Default)]
pub(super) struct LiveFlows {
    flows: Vec<Option<Flow>>,
    free: Vec<u32>,
}

impl LiveFlows {
    pub fn insert(&mut self, flow: Flow) -> u32 {
        if let Some(at) = self.free.pop() {
            self.flows[at as usize] = Some(flow);
            at
        } else {
            self.flows.push(Some(flow));
            self.flows.len() as u32 - 1
        }
    }

    pub fn remove(&mut self, at: u32) -> Option<Flow> {
        let flow = self.flows[at as usize].take();
        self.free.extend(flow.map(|_| at));
        flow
    }

    /// The flow with this number, unless it has finished.
    pub fn get(&self, at: u32) -> Option<Flow> {
        self.flows.get(at as usize).copied().flatten()
    }

    /// All of them, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Flow> {
        self.flows.iter().flatten()
    }

    pub fn len(&self) -> usize {
        self.flows.len() - self.free.len()
    }
}
