//! Parameters of a flow at its start: its ports, its hash, the base RTT and BDP of its congestion
//! control, and its ideal completion times in an empty network.

use std::sync::Arc;

use dataplane::cc::PathInfo;
use dataplane::config::{BaseRtt, NicConfig};
use dataplane::nic::FlowStart;
use dataplane::source_hash::SourceHashes;
use dataplane::units::{Rate, Time};
use kernel::random::mix64;
use traffic::Flow;

use super::flow_state::Ends;
use super::{Clock, Plan};
use crate::ids::{LinkId, hosts_of};
use crate::ns3::{Baselines, SourcePorts};
use crate::paths::{FrameSizes, Paths};
use crate::record::FlowRecord;
use crate::routing::PathCounts;
use crate::topology::Graph;

/// Inputs from which the path of a flow is determined.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    /// Hash of the identity of the flow.
    pub hash: u64,
    /// Queue pair that the flow shares at its NIC; `None`: it has a queue pair of its own.
    pub pair: Option<u32>,
    /// Index of the port that the flow uses at both hosts; `None`: its hash selects the ports.
    // RNK-16
    pub rail: Option<u16>,
}

impl Way {
    /// Creates the inputs of a flow whose path depends on its hash only.
    pub const fn of(hash: u64) -> Self {
        Self {
            hash,
            pair: None,
            rail: None,
        }
    }
}

/// The data from which the parameters of flows are computed.
pub(super) struct FlowParameters {
    graph: Arc<Graph>,
    seed: u64,
    clock: Clock,
    pub nic: Arc<NicConfig>,
    base_rtt: BaseRtt,
    paths: Paths,
    baselines: Baselines,
    source_ports: SourcePorts,
    /// Packet hashes that select entries of flow tables by source host; `None`: packets carry
    /// another hash.
    slots: Option<SourceHashes>,
    /// Maximum base RTT of the network; `None`: not computed yet.
    network_rtt_ps: Option<Time>,
    /// Number of equal-cost paths between switches; `None`: senders do not choose paths.
    path_counts: Option<Arc<PathCounts>>,
}

impl FlowParameters {
    pub fn new(plan: &Plan, nic: Arc<NicConfig>, path_counts: Option<Arc<PathCounts>>) -> Self {
        let graph = &plan.graph;
        // LNK-14: base RTTs exclude links that are down in the whole run
        let lasting = plan
            .link_failures
            .as_ref()
            .map_or(Vec::new(), |o| o.lasting());
        let paths = Paths::new(match lasting.is_empty() {
            true => Arc::clone(graph),
            false => Arc::new(graph.without(&lasting)),
        });
        Self {
            graph: Arc::clone(graph),
            seed: plan.seed,
            clock: plan.clock,
            base_rtt: plan.base_rtt,
            paths: match plan.clock {
                Clock::Exact => paths,
                Clock::Nanoseconds { .. } => paths.cut(),
            },
            baselines: Baselines::new(Arc::clone(graph), u64::from(nic.mtu)),
            source_ports: SourcePorts::default(),
            slots: SourceHashes::of(&plan.switch),
            network_rtt_ps: None,
            path_counts,
            nic,
        }
    }

    /// ENG-10: returns the hash of a flow. It depends on the flow ID only, so it is the same in
    /// every run of a scenario.
    pub fn hash(&self, flow: &Flow) -> u64 {
        self.hash_of(u64::from(flow.id) + 1)
    }

    /// Returns the hash of an identity: a pair (flow ID, 1), or the identity of a message.
    pub fn hash_of(&self, identity: u64) -> u64 {
        mix64(self.seed ^ mix64(identity))
    }

    /// Returns the hash of a flow's packets, which selects paths and flow-table entries: the hash
    /// of the flow, or a hash of the ports of both hosts.
    pub fn packet_hash(&mut self, flow: &Flow, hash: u64) -> u32 {
        if let Some(slots) = &mut self.slots {
            let packets = flow.bytes.div_ceil(u64::from(self.nic.mtu)).max(1) as u32;
            slots.next(flow.src, flow.src_port, packets, hash as u32)
        } else if self.nic.host.ports_in_hash {
            self.source_ports.next(flow)
        } else {
            hash as u32
        }
    }

    /// Returns the number of equal-cost paths between two endpoints, or 0 if senders do not choose
    /// paths.
    // NDP-05
    fn path_count(&self, src: LinkId, dst: LinkId) -> u32 {
        let counts = self.path_counts.as_ref();
        counts.map_or(0, |counts| counts.between(&self.graph, src, dst))
    }

    /// Returns the ports of both hosts that a flow uses. Hosts with several ports distribute their
    /// flows over the ports.
    // ENG-11
    pub fn endpoints(&mut self, flow: &Flow, way: &Way) -> Ends {
        let nth = |salt: u64, of: usize| match (of, way.rail) {
            (1, _) => 0,
            (_, Some(rail)) => usize::from(rail) % of,
            _ => (mix64(way.hash ^ salt) % of as u64) as usize,
        };
        let (from, to) = hosts_of(flow);
        let (first, last) = (self.graph.first_link(from), self.graph.first_link(to));
        if self.graph.ports(from) == 1 && self.graph.ports(to) == 1 {
            return Ends {
                src: first,
                dst: last,
            };
        }
        // TOP-06: two hosts with a flow always have at least one pair of ports.
        let mut pairs = self.paths.nearest_endpoints(from, to);
        let mut senders: Vec<LinkId> = pairs.iter().map(|pair| pair.0).collect();
        senders.dedup();
        let src = senders[nth(1, senders.len())];
        pairs.retain(|pair| pair.0 == src);
        // RNK-16: prefer the receiver's port with the same index, if it is among the nearest.
        let same = last.at_port(src.port(first));
        let dst = match way.rail.is_some() && pairs.contains(&(src, same)) {
            true => same,
            false => pairs[nth(2, pairs.len())].1,
        };
        Ends { src, dst }
    }

    /// Returns the start parameters of a flow for its NIC. The NIC reports `cookie` at the end of
    /// the flow.
    pub fn start(
        &mut self,
        flow: &Flow,
        way: &Way,
        Ends { src, dst }: Ends,
        cookie: u32,
    ) -> FlowStart {
        let rate = self.clock.of(self.graph.port(src).rate);
        let (base_rtt_ps, bdp_bytes) = self.baseline(src, dst, rate);
        FlowStart {
            flow: flow.id,
            cookie,
            port: src.port(self.graph.first_link(hosts_of(flow).0)),
            src: src.bits(),
            dst: dst.bits(),
            bytes: flow.bytes,
            hash: self.packet_hash(flow, way.hash),
            class: flow.class,
            incast: flow.incast,
            path: PathInfo {
                base_rtt_ps,
                line_bps: rate.bps() as f64,
                bdp_bytes: bdp_bytes as f64,
                mtu: u32::from(self.nic.mtu),
                frame_bytes: self.full_frame_bytes(),
                hops: self.hops(src, dst),
                class: flow.class,
            },
            ways: self.path_count(src, dst),
        }
    }

    /// Returns the base RTT and the BDP of a flow that sends at `rate`.
    fn baseline(&mut self, src: LinkId, dst: LinkId, rate: Rate) -> (Time, u64) {
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

    /// Returns the size of a full packet on the wire in bytes.
    fn full_frame_bytes(&self) -> u32 {
        self.nic.data_bytes(self.nic.mtu).into()
    }

    /// Returns the number of switches between two endpoints; 0 if no congestion control needs it.
    fn hops(&mut self, src: LinkId, dst: LinkId) -> u16 {
        if !self.nic.control.reads_hops() {
            return 0;
        }
        (self.paths.hops(src, dst) - 1) as u16
    }

    /// Returns the record of a flow at its start, without the times of its end.
    pub fn record(&mut self, flow: Flow, Ends { src, dst }: Ends) -> FlowRecord {
        let frames = FrameSizes::of(&self.nic);
        FlowRecord {
            flow,
            received_ps: None,
            acked_ps: None,
            ideal_received_ps: self.paths.ideal_received_ps(src, dst, flow.bytes, frames),
            ideal_acked_ps: self.paths.ideal_acked_ps(src, dst, flow.bytes, frames),
            retransmitted: 0,
        }
    }
}
