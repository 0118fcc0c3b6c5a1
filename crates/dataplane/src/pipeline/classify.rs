//! The classifier: it selects the egress queue of a packet.

use crate::classes::DATA_CLASS;
use crate::config::{Classify, SwitchConfig};
use crate::ids::QueueId;
use crate::mixed::MixedMap;
use crate::packet::{Kind, Packet};
use crate::pipeline::flow_table::{FlowTable, sticky_ps};
use crate::pipeline::place::{Place, hashed};
use crate::pipeline::queueing::Queueing;
use crate::units::{Rate, Time};

/// The classifier of a switch: the rule that selects the queue of a packet in its class.
#[derive(Debug)]
pub(crate) enum Classifier {
    Fifo,
    Hash { queues: u16, flow_bits: u32 },
    Dynamic(Box<FlowTable>),
    PerFlow(Box<MixedMap<u64, QueueId>>), // SW-25: a queue per flow
    Priority { levels: u16 },
}

/// Returns the key in `PerFlow` of the data packets of a flow at a port.
#[inline]
const fn flow_at(port: u16, flow: u32) -> u64 {
    flow as u64 | (port as u64) << 32
}

/// Returns the key in `PerFlow` of the flow and direction (data or replies) of a packet at a port.
#[inline]
pub(crate) fn flow_key(port: u16, packet: &Packet) -> u64 {
    // Data packets and replies of a flow have the same flow ID.
    let backward = u64::from(packet.kind() != Kind::Data);
    flow_at(port, packet.flow) | backward << 48
}

impl Classifier {
    pub fn new<H>(
        config: &SwitchConfig<H>,
        hop_rtt_ps: Option<Time>,
        ports: &[(Rate, Time)],
        queueing: &Queueing,
    ) -> Self {
        match config.classify {
            Classify::Fifo => Self::Fifo,
            Classify::Hash { queues } => Self::Hash {
                queues,
                flow_bits: config.path.flow_bits(),
            },
            Classify::Dynamic { queues, table, .. } => {
                let sticky_ps = sticky_ps(config, hop_rtt_ps, ports);
                let assign = config.assign;
                let table = FlowTable::new(ports.len(), queues, table, sticky_ps, assign, queueing);
                Self::Dynamic(Box::new(table.with_flow_bits(config.path.flow_bits())))
            }
            Classify::PerFlow => Self::PerFlow(Box::default()),
            Classify::Priority { levels } => Self::Priority { levels },
        }
    }

    /// Selects the queue of a packet. Changes no state except that of the random generator.
    #[inline(always)]
    pub fn place(
        &self,
        now: Time,
        port: u16,
        packet: &Packet,
        queueing: &Queueing,
        draw: &mut dyn FnMut() -> u64,
    ) -> Place {
        let class = packet.class();
        match self {
            Self::Fifo => Place::at(queueing.queue_of(port, class, 0)),
            _ if class < DATA_CLASS => Place::at(queueing.queue_of(port, class, 0)),
            Self::Hash { queues, flow_bits } => {
                let number = hashed(packet.hash & flow_bits, *queues);
                Place::at(queueing.queue_of(port, class, number))
            }
            Self::Dynamic(table) => table.place(now, port, packet, queueing, draw),
            // HOM-03: the packet contains its priority level
            Self::Priority { levels } => {
                let first = queueing.first_number(class);
                let level = packet.upstream_queue.saturating_sub(first);
                Place::at(queueing.queue_of(port, class, level.min(levels - 1)))
            }
            Self::PerFlow(flows) => Place::at(
                flows
                    .get(&flow_key(port, packet))
                    .copied()
                    .unwrap_or(QueueId::NONE),
            ),
        }
    }

    /// Prefetches the queue of a packet that will leave by `port`. If a flow table assigns queues,
    /// prefetches the table entry of the flow instead.
    #[inline]
    pub fn prefetch(&self, port: u16, packet: &Packet, queueing: &Queueing) {
        match self {
            Self::Dynamic(table) if packet.class() >= DATA_CLASS => table.prefetch(port, packet),
            _ => {
                let place = self.place(0, port, packet, queueing, &mut || 0);
                queueing.prefetch_queue(place.queue);
            }
        }
    }

    /// Prefetches the queue of a packet whose flow-table entry [`Classifier::prefetch`] has
    /// prefetched.
    #[inline]
    pub fn prefetch_named(&self, port: u16, packet: &Packet, queueing: &Queueing) {
        if let Self::Dynamic(table) = self
            && packet.class() >= DATA_CLASS
            && let Some(number) = table.queue(port, packet)
            && let Some(queue) = queueing.by_number(port, number)
        {
            queueing.prefetch_queue(queue);
        }
    }

    /// Returns three counters of the flow table: flows assigned a queue that the bitmap wrongly
    /// showed as empty, flows that had to share a queue, and collisions of flows in an entry.
    pub const fn assignments(&self) -> (u64, u64, u64) {
        match self {
            Self::Dynamic(table) => (table.stale, table.shared, table.collisions),
            _ => (0, 0, 0),
        }
    }

    /// Returns the queue of a flow if each flow has a separate queue, and `None` otherwise.
    pub fn own_queue(&self, port: u16, flow: u32) -> Option<QueueId> {
        match self {
            Self::PerFlow(flows) => flows.get(&flow_at(port, flow)).copied(),
            _ => None,
        }
    }
}
