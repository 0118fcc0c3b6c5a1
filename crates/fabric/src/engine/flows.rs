//! Flows: their start, and the record of their end.

use dataplane::cc::PathInfo;
use dataplane::config::{BaseRtt, NicConfig};
use dataplane::nic::{FlowEnd, FlowStart};
use dataplane::units::{Rate, Time};
use kernel::calendar::{Calendar, Event, phase};
use kernel::random::mix64;
use traffic::Flow;

use super::Partition;
use super::node::NodeSink;
use crate::record::{FlowRecord, Violation};

impl<C: Calendar> Partition<C> {
    /// One more flow that will start here.
    pub(super) fn expect(&mut self, flow: Flow) {
        let lane = self.places.of(flow.src).lane;
        let coming = &mut self.coming[usize::from(lane)];
        coming.push_back(flow);
        if coming.len() == 1 {
            self.announce_flow(lane);
        }
    }

    /// Puts the start of the next flow of a lane into its calendar.
    pub(super) fn announce_flow(&mut self, lane: u8) {
        if let Some(flow) = self.coming[usize::from(lane)].front() {
            let at = flow.start_ps.max(self.core.now);
            let event = Event::new(at, phase::FLOW_START, 0, 0);
            self.core.calendar.push_to(lane, event);
        }
    }

    /// The next flow, if its time has come.
    pub(super) fn next_due(&mut self) -> Option<Flow> {
        let now = self.core.now;
        let coming = &mut self.coming[self.core.calendar.at()];
        let due = coming.front()?.start_ps <= now;
        due.then(|| coming.pop_front()).flatten()
    }

    // ENG-12
    pub(super) fn start_flows(&mut self) {
        self.progress_ps = self.core.now.max(self.progress_ps);
        let before = self.started;
        while let Some(flow) = self.next_due() {
            self.start_flow(flow);
        }
        // Each start counts as an event, in whichever partition others of its instant are.
        self.core.events += (self.started - before).saturating_sub(1);
        self.announce_flow(self.core.calendar.at() as u8);
    }

    /// ENG-10: the flow's identity is its number; every run of a scenario hashes it alike.
    pub(super) fn flow_hash(&self, flow: &Flow) -> u64 {
        mix64(self.seed ^ mix64(u64::from(flow.id) + 1))
    }

    pub(super) fn start_flow(&mut self, flow: Flow) {
        let now = self.core.now;
        let hash = self.flow_hash(&flow);
        let (src, dst) = self.endpoints(&flow, hash);
        let port = (src - self.graph.endpoints_of(flow.src).start) as u16;
        let node = self.places.of(flow.src).at;
        let first = self.core.nodes[node as usize].base;
        let rate = self.core.links.rates[(first + u32::from(port)) as usize];
        let (base_rtt_ps, bdp_bytes) = self.baseline(src, dst, rate);
        let start = FlowStart {
            flow: flow.id,
            cookie: self.live.insert(flow),
            port,
            src,
            dst,
            bytes: flow.bytes,
            hash: if self.nic.host.ports_in_hash {
                self.source_ports.next(&flow)
            } else {
                hash as u32
            },
            class: flow.class,
            incast: flow.incast,
            path: PathInfo {
                base_rtt_ps,
                line_bps: rate.bps() as f64,
                bdp_bytes: bdp_bytes as f64,
                mtu: u32::from(self.nic.mtu),
                class: flow.class,
            },
            // NDP-05
            ways: self
                .path_counts
                .as_ref()
                .map_or(0, |counts| counts.between(&self.graph, src, dst)),
        };
        self.started += 1;
        let sink = &mut NodeSink::of(&mut self.core, node);
        self.nics[node as usize].start(now, &start, sink);
    }

    /// Ports of the two hosts that a flow uses; hosts with several spread their flows over them.
    // ENG-11
    pub(super) fn endpoints(&mut self, flow: &Flow, hash: u64) -> (u32, u32) {
        let nth = |salt: u64, of: usize| match of {
            1 => 0,
            _ => (mix64(hash ^ salt) % of as u64) as usize,
        };
        let ports = |host| self.graph.endpoints_of(host);
        let (from, to) = (ports(flow.src), ports(flow.dst));
        if from.len() == 1 && to.len() == 1 {
            return (from.start, to.start);
        }
        let (from, to) = (self.usable(flow.src), self.usable(flow.dst));
        let src = from[nth(1, from.len())];
        if let [dst] = to[..] {
            return (src, dst);
        }
        let hops = |dst| (self.paths.hops(src, dst), dst);
        let mut nearest: Vec<(usize, u32)> = to.into_iter().map(hops).collect();
        nearest.sort_unstable();
        let fewest = nearest[0].0;
        nearest.retain(|end| end.0 == fewest);
        (src, nearest[nth(2, nearest.len())].1)
    }

    /// Ports of a host that a flow may use: those whose link is ever up, if there are any.
    // LNK-15
    fn usable(&self, host: u32) -> Vec<u32> {
        let mut ports: Vec<u32> = self.graph.endpoints_of(host).collect();
        if ports.iter().any(|&port| !self.paths.is_down(port)) {
            ports.retain(|&port| !self.paths.is_down(port));
        }
        ports
    }

    /// T and BDP of a flow that sends at `rate`.
    fn baseline(&mut self, src: u32, dst: u32, rate: Rate) -> (Time, u64) {
        let (frame, ack) = (self.nic.mtu + self.nic.header, self.nic.ack);
        let rtt_ps = match self.base_rtt {
            BaseRtt::Fixed(rtt_ps) => rtt_ps,
            BaseRtt::Ns3Pair => return self.baselines.of_pair(src, dst),
            BaseRtt::Ns3Network => return self.baselines.largest(),
            BaseRtt::Pair => self.paths.base_rtt_ps(src, dst, frame, ack),
            BaseRtt::Network => {
                let paths = &mut self.paths;
                *self
                    .network_rtt_ps
                    .get_or_insert_with(|| paths.max_base_rtt_ps(frame, ack))
            }
        };
        (rtt_ps, rate.bytes_in(rtt_ps))
    }

    /// Turns the flows that finished in this event into records.
    pub(super) fn note_ends(&mut self) {
        let ends = std::mem::take(&mut self.core.ends);
        for end in &ends {
            let Some(flow) = self.live.remove(end.cookie) else {
                continue;
            };
            self.done += 1;
            self.finished_bytes += flow.bytes;
            let mut record = self.record(flow);
            record.received_ps = Some(end.received_ps);
            record.acked_ps = Some(end.acked_ps);
            record.retransmitted = end.retransmitted;
            self.check_slowdown(&record, end);
            self.finished.push(record);
        }
        self.core.ends = ends;
        self.core.ends.clear();
    }

    /// The record of a flow that has not finished yet.
    pub(super) fn record(&mut self, flow: Flow) -> FlowRecord {
        let hash = self.flow_hash(&flow);
        let (src, dst) = self.endpoints(&flow, hash);
        let &NicConfig {
            mtu, header, ack, ..
        } = &*self.nic;
        FlowRecord {
            flow,
            received_ps: None,
            acked_ps: None,
            ideal_received_ps: self
                .paths
                .ideal_received_ps(src, dst, flow.bytes, mtu, header),
            ideal_acked_ps: self
                .paths
                .ideal_acked_ps(src, dst, flow.bytes, mtu, header, ack),
            retransmitted: 0,
        }
    }

    /// ENG-21, AUD-07: nothing is faster than a flow alone.
    fn check_slowdown(&mut self, record: &FlowRecord, end: &FlowEnd) {
        let took_ps = end.received_ps.saturating_sub(record.flow.start_ps);
        // LNK-30: where paths become others, that of the start is no bound.
        let bound = !self.spraying && !self.link_states.as_ref().is_some_and(|s| s.change());
        if bound && took_ps < record.ideal_received_ps && self.violations.len() < 20 {
            self.violations.push(Violation {
                check: "slowdown",
                message: format!(
                    "flow {} of {} bytes took {took_ps} ps, alone it takes {} ps",
                    record.flow.id, record.flow.bytes, record.ideal_received_ps
                ),
            });
        }
    }
}
