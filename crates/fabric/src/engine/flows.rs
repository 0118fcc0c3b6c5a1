//! Starts flows, and records their ends.

use dataplane::nic::FlowEnd;
use kernel::calendar::{Calendar, Event, phase};
use traffic::Flow;

use super::flow_parameters::Way;
use super::measure;
use super::node::NodeSink;
use super::partition::Partition;
use crate::ids::hosts_of;
use crate::record::{FlowRecord, Violation};

impl<C: Calendar> Partition<C> {
    /// Adds a flow that will start in this partition.
    pub(super) fn expect(&mut self, flow: Flow) {
        let lane = self.places.of(hosts_of(&flow).0).lane;
        let coming = &mut self.flows.coming[usize::from(lane)];
        coming.push_back(flow);
        if coming.len() == 1 {
            self.announce_flow(lane);
        }
    }

    /// Schedules the start of the next flow of a lane.
    pub(super) fn announce_flow(&mut self, lane: u8) {
        if let Some(flow) = self.flows.coming[usize::from(lane)].front() {
            let at = flow.start_ps.max(self.core.now);
            let event = Event::new(at, phase::FLOW_START, 0, 0);
            self.core.calendar.push_to(lane, event);
        }
    }

    /// Returns the next flow of the current lane, if its start time has come.
    pub(super) fn next_due(&mut self) -> Option<Flow> {
        let now = self.core.now;
        let coming = &mut self.flows.coming[self.core.calendar.at()];
        let due = coming.front()?.start_ps <= now;
        due.then(|| coming.pop_front()).flatten()
    }

    // ENG-12: flows of one instant start in the order of their IDs
    pub(super) fn start_flows(&mut self) {
        self.progress_ps = self.core.now.max(self.progress_ps);
        let before = self.flows.started;
        while let Some(flow) = self.next_due() {
            self.start_flow(flow);
        }
        // Each start counts as one event, even if the partition starts several flows in one event.
        self.core.events += (self.flows.started - before).saturating_sub(1);
        self.announce_flow(self.core.calendar.at() as u8);
    }

    pub(super) fn start_flow(&mut self, flow: Flow) {
        let hash = self.parameters.hash(&flow);
        self.start_on(flow, &Way::of(hash));
    }

    /// Starts a flow whose path follows from `way`.
    pub(super) fn start_on(&mut self, flow: Flow, way: &Way) {
        let now = self.core.now;
        let ends = self.parameters.endpoints(&flow, way);
        let node = self.places.of(hosts_of(&flow).0).at;
        let cookie = self.flows.live.insert(flow, ends);
        let start = self.parameters.start(&flow, way, ends, cookie);
        self.flows.started += 1;
        self.emit(measure::Event::FlowStarted {
            flow: &flow,
            cookie: start.cookie,
            links: (ends.src, self.graph.reverse(ends.dst)),
        });
        let sink = &mut NodeSink::of(&mut self.core, node);
        self.nics[node.index()].start_on(now, &start, way.pair, sink);
    }

    /// Creates the records of the flows that finished in this event.
    pub(super) fn note_ends(&mut self) {
        let ends = std::mem::take(&mut self.core.ends);
        for end in &ends {
            let Some((flow, ends)) = self.flows.live.remove(end.cookie) else {
                continue;
            };
            self.flows.done += 1;
            self.flows.finished_bytes += flow.bytes;
            let mut record = self.parameters.record(flow, ends);
            record.received_ps = Some(end.received_ps);
            record.acked_ps = Some(end.acked_ps);
            record.retransmitted = end.retransmitted;
            self.check_slowdown(&record, end);
            self.flows.finished.push(record);
            if self.ranks.is_some() {
                self.message_acknowledged(&flow);
            }
        }
        self.core.ends = ends;
        self.core.ends.clear();
    }

    /// ENG-21, AUD-07: checks that a flow is not faster than in an empty network.
    fn check_slowdown(&mut self, record: &FlowRecord, end: &FlowEnd) {
        let took_ps = end.received_ps.saturating_sub(record.flow.start_ps);
        // LNK-30: if paths change, the ideal FCT of the initial path is not a lower bound.
        let bound =
            !self.settings.spraying && !self.faults.states.as_ref().is_some_and(|s| s.change());
        if bound && took_ps < record.ideal_received_ps && self.flows.violations.len() < 20 {
            self.flows.violations.push(Violation {
                check: "slowdown",
                message: format!(
                    "flow {} of {} bytes took {took_ps} ps, alone it takes {} ps",
                    record.flow.id, record.flow.bytes, record.ideal_received_ps
                ),
            });
        }
    }
}
