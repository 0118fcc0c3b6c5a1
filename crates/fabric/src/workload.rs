//! Workloads with dependencies on the hosts of a network.

use std::sync::{Arc, OnceLock};

use dataplane::config::{Arbiter, NicConfig};
use dataplane::units::Time;
use traffic::operations::{QueuePairs, ReceiveEnd, SendEnd, Source, Stragglers, Workload};

use crate::ids::NodeId;

/// A workload and the hosts of its ranks.
#[derive(Clone, Debug)]
pub struct Job {
    /// Name of the workload, for error messages.
    pub name: String,
    /// Properties that are common to all ranks.
    pub workload: Arc<Workload>,
    /// Source of the operations of the ranks.
    pub source: Arc<dyn Source>,
    /// Model of slow ranks and of random computation times.
    pub stragglers: Arc<Stragglers>,
    /// The host of each rank.
    pub hosts: Arc<[NodeId]>,
    /// Start time of all ranks, ps.
    pub start_ps: Time,
    /// ID of the workload among the traffic sources.
    pub number: u16,
    /// Number of GPUs per server, if messages are relayed: a message to another rail of another
    /// server first crosses the scale-up domain, to the GPU on the receiver's rail. `None`:
    /// messages are not relayed. // RNK-07
    pub relay: Option<u32>,
    /// True if a message uses the port with the index of its NIC (rail), at both ends, among
    /// equally near ports.
    // RNK-16
    pub by_rail: bool,
}

/// Returns true if flows can share queue pairs at a NIC with this configuration. Receiver-driven
/// transports keep no state between messages, and in the ns-3 simulator each message has its own
/// queue pair.
// NIC-53
#[must_use]
pub fn can_share_queue_pairs(nic: &NicConfig) -> bool {
    let replays = nic.host.arbiter == Arbiter::Scan || nic.host.ports_in_hash;
    nic.control.transport().is_none() && !replays
}

impl Job {
    /// Returns true if messages of the workload share queue pairs, one for each channel and peer of
    /// a rank.
    // OPS-15, RNK-15
    #[must_use]
    pub fn shares_queue_pairs(&self, nic: &NicConfig) -> bool {
        let wanted = self.workload.options.queue_pairs == QueuePairs::PerChannel;
        wanted && can_share_queue_pairs(nic)
    }

    /// Returns the reason why the ranks cannot run on several threads: an event at one host affects
    /// another host without delay. `None`: there is no such event.
    #[must_use]
    pub fn acts_at_once(&self) -> Option<&'static str> {
        let options = &self.workload.options;
        if !self.workload.triggers.is_empty() {
            Some("a trigger of a workload acts on other hosts at once") // RNK-08: triggers
        } else if options.receive_end == ReceiveEnd::Acknowledged {
            Some("receives of a workload end with the last ACK at another host") // RNK-18: last ACK
        } else if options.send_end == SendEnd::Received {
            Some("sends of a workload end with the last byte at another host") // RNK-18: last byte
        } else {
            None
        }
    }

    /// Returns the host that relays a message between two hosts; `None`: the message is not
    /// relayed.
    // RNK-07
    #[must_use]
    pub fn relay(&self, from: NodeId, to: NodeId) -> Option<NodeId> {
        let gpus = self.relay?;
        let (from, to) = (from.bits(), to.bits());
        let relay = from / gpus * gpus + to % gpus;
        (from / gpus != to / gpus && relay != from).then_some(NodeId::from_bits(relay))
    }
}

/// All workloads of a run.
#[derive(Clone, Debug, Default)]
pub struct Jobs {
    /// The workloads with their hosts.
    pub jobs: Arc<[Job]>,
    /// First error of a source whose operations could not be read. The error ends the run.
    pub error: Arc<OnceLock<String>>,
}
