//! State of a switch, for printing and for Prometheus.

use std::fmt::Write as _;

use dataplane::classes::traffic_class;
use dataplane::sink::DROP_CAUSES;
use dataplane::units::{MS, Time};
use serde::Serialize;

use super::node::Node;
use crate::wall::{PortSocket, named};

/// Names of the drop counters, in the order of [`DropCause`](dataplane::sink::DropCause).
const CAUSES: [&str; DROP_CAUSES] = [
    "dropped_buffer",
    "dropped_egress_threshold",
    "dropped_no_route",
    "dropped_link",
    "dropped_credit_limit",
];

/// State of a switch at a time of its run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Snapshot {
    /// Name of the switch.
    pub name: String,
    /// Wall-clock duration of the run so far.
    pub seconds: f64,
    /// Bytes in the buffer at this time.
    pub buffer_bytes: u64,
    /// Maximum number of bytes in the buffer so far.
    pub buffer_most_bytes: u64,
    /// Number of stations (MAC addresses) whose port is known.
    pub stations: usize,
    /// State of the ports.
    pub ports: Vec<PortState>,
    /// Counters as (name, value).
    pub counters: Vec<(String, u64)>,
    /// Descriptions of violated invariants. Always empty unless the program has a bug.
    pub broken: Vec<String>,
}

/// State of a port of the switch.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PortState {
    /// Name of the network interface.
    pub interface: String,
    /// True if the link is up.
    pub up: bool,
    /// Priorities that the neighbour has paused.
    pub paused: Vec<u8>,
    /// Bytes in the egress queues of the port.
    pub queued_bytes: u64,
    /// Maximum number of bytes in the egress queues so far.
    pub queued_most_bytes: u64,
    /// Egress queues that are not empty.
    pub queues: Vec<QueueOf>,
    /// Counters as (name, value).
    pub counters: Vec<(String, u64)>,
}

/// An egress queue that is not empty.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct QueueOf {
    /// Traffic class, or `None` if it is not a data queue.
    pub class: Option<u8>,
    /// Index of the queue at its port.
    pub queue: u32,
    /// Bytes in the queue.
    pub bytes: u64,
}

impl Snapshot {
    /// Returns the current state of the switch.
    pub(super) fn of(name: &str, now: Time, node: &Node, sockets: &mut [PortSocket]) -> Self {
        let mut ports = Vec::new();
        for (port, socket) in (0..).zip(sockets) {
            let mut state = PortState::of(node, port);
            socket.name().clone_into(&mut state.interface);
            state.counters.extend(socket.lost());
            ports.push(state);
        }
        Self {
            name: name.to_owned(),
            seconds: now as f64 / (1000 * MS) as f64,
            ports,
            ..Self::of_node(node)
        }
    }

    /// Returns the current state without the counters of the sockets.
    #[must_use]
    pub fn of_node(node: &Node) -> Self {
        let switch = node.switch();
        let counters = node.counters();
        let own = switch.counters();
        let mut all = named(&[
            ("received", own.received),
            ("sent", own.sent),
            ("dropped", own.dropped),
            ("ecn_marks", own.marks),
            ("ecn_marked_frames", counters.marked),
            ("ecn_unmarkable", counters.unmarkable),
            ("int_hops", own.int_hops),
            ("flooded", counters.flooded),
            ("returned", counters.returned),
            ("reserved", counters.reserved),
            ("malformed", counters.malformed),
            ("oversized", counters.oversized),
            ("nowhere", counters.nowhere),
            ("unwritable", counters.unwritable),
        ]);
        for (cause, name) in CAUSES.iter().enumerate() {
            let of_cause = counters.dropped.iter().map(|class| class[cause]);
            all.push(((*name).to_owned(), of_cause.sum()));
        }
        let hop = switch.hop_counters();
        all.extend(hop.iter().map(|(name, value)| (name.to_owned(), value)));
        Self {
            buffer_bytes: switch.buffer_used(),
            buffer_most_bytes: switch.buffer_peak().0,
            stations: node.stations(),
            ports: (0..node.ports()).map(|p| PortState::of(node, p)).collect(),
            counters: all,
            broken: node.audit(),
            ..Self::default()
        }
    }

    /// Formats the state in the text format of Prometheus.
    // WSW-43: metrics
    #[must_use]
    pub fn prometheus(&self) -> String {
        let mut text = String::new();
        let switch = format!("switch=\"{}\"", self.name);
        let mut gauge = |name: &str, labels: &str, value: f64| {
            let _ = writeln!(text, "backwater_{name}{{{labels}}} {value}");
        };
        gauge("uptime_seconds", &switch, self.seconds);
        gauge("buffer_bytes", &switch, self.buffer_bytes as f64);
        gauge("buffer_most_bytes", &switch, self.buffer_most_bytes as f64);
        gauge("stations", &switch, self.stations as f64);
        for (name, value) in &self.counters {
            gauge(&format!("{name}_total"), &switch, *value as f64);
        }
        for port in &self.ports {
            let labels = format!("{switch},port=\"{}\"", port.interface);
            gauge("port_up", &labels, f64::from(u8::from(port.up)));
            gauge("port_queued_bytes", &labels, port.queued_bytes as f64);
            for priority in 0..8 {
                let labels = format!("{labels},priority=\"{priority}\"");
                let paused = port.paused.contains(&priority);
                gauge("port_paused", &labels, f64::from(u8::from(paused)));
            }
            for (name, value) in &port.counters {
                gauge(&format!("port_{name}_total"), &labels, *value as f64);
            }
        }
        text
    }

    /// Returns the value of a counter, or 0 if the counter does not exist.
    #[must_use]
    pub fn counted(&self, name: &str) -> u64 {
        let found = self.counters.iter().find(|(of, _)| of == name);
        found.map_or(0, |(_, value)| *value)
    }
}

impl PortState {
    fn of(node: &Node, port: u16) -> Self {
        let switch = node.switch();
        let counters = node.port_counters(port);
        let paused = node.paused(port);
        let (queued_bytes, queued_most_bytes) = switch.queued(port);
        let mut queues = Vec::new();
        switch.for_each_queue(port, |queue| {
            queues.push(QueueOf {
                class: traffic_class(switch.class_of(queue.queue)),
                queue: queue.queue.index() as u32,
                bytes: queue.bytes,
            });
        });
        Self {
            interface: String::new(),
            up: node.is_up(port),
            paused: (0..8).filter(|nth| paused >> nth & 1 != 0).collect(),
            queued_bytes,
            queued_most_bytes,
            queues,
            counters: named(&[
                ("received", counters.received),
                ("received_bytes", counters.received_bytes),
                ("sent", counters.sent),
                ("sent_bytes", counters.sent_bytes),
                ("pauses_received", counters.pauses_received),
                ("pauses_sent", counters.pauses_sent),
                ("resumes_sent", counters.resumes_sent),
                ("global_pauses", counters.global_pauses),
                ("malformed_pauses", counters.malformed_pauses),
                ("link_changes", counters.link_changes),
            ]),
        }
    }
}
