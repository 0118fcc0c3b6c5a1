//! Measurements and counters of a host, for printing and as JSON.

use dataplane::units::{MS, Time};
use serde::Serialize;

use super::node::Node;
use crate::wall::{PortSocket, named};

/// Maximum number of unfinished flows that are reported individually.
const MOST_NAMED: usize = 20;

/// State of a host at a time of its run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Snapshot {
    /// Name of the host.
    pub name: String,
    /// Wall-clock duration of the run so far.
    pub seconds: f64,
    /// Totals over all flows.
    pub flows: Totals,
    /// Unfinished flows (the first few).
    pub unfinished: Vec<Unfinished>,
    /// State of the ports.
    pub ports: Vec<PortState>,
    /// Counters as (name, value).
    pub counters: Vec<(String, u64)>,
}

/// Totals over the flows of a host.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Totals {
    /// Number of started flows.
    pub started: u64,
    /// Number of flows whose last acknowledgement has arrived.
    pub finished: u64,
    /// Payload bytes of the finished flows.
    pub finished_bytes: u64,
    /// Median FCT (start to last acknowledgement), ps.
    pub fct_p50_ps: Option<Time>,
    /// Maximum FCT (start to last acknowledgement), ps.
    pub fct_max_ps: Option<Time>,
    /// Time from the first start to the last completion, ps.
    pub span_ps: Option<Time>,
}

/// A flow that has started and has not finished.
#[derive(Clone, Debug, Serialize)]
pub struct Unfinished {
    /// Index of the flow in the scenario.
    pub id: u32,
    /// Name of the receiving host.
    pub to: String,
    /// Payload bytes of the flow.
    pub bytes: u64,
    /// Acknowledged payload bytes.
    pub acked_bytes: u64,
    /// Reason why the flow does not send.
    pub why: String,
    /// True if any packet has arrived from the receiving host.
    pub heard: bool,
}

/// State of a port of the host.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PortState {
    /// Name of the network interface.
    pub interface: String,
    /// True if the link is up.
    pub up: bool,
    /// Counters as (name, value).
    pub counters: Vec<(String, u64)>,
}

impl Snapshot {
    /// Returns the current state of the host. `names` contains its name and the names of all hosts.
    // HST-30: report of a host
    pub(super) fn of(
        names: (&str, &[String]),
        now: Time,
        node: &Node,
        sockets: &mut [PortSocket],
    ) -> Self {
        let port = |(port, socket): (u16, &mut PortSocket)| PortState {
            interface: socket.name().to_owned(),
            up: node.is_up(port),
            counters: socket.lost(),
        };
        Self {
            name: names.0.to_owned(),
            seconds: now as f64 / (1000 * MS) as f64,
            flows: Totals::of(node),
            unfinished: unfinished(node, names.1),
            ports: (0..).zip(sockets).map(port).collect(),
            counters: counters(node),
        }
    }

    /// Returns the value of a counter, or 0 if the counter does not exist.
    #[must_use]
    pub fn counted(&self, name: &str) -> u64 {
        let found = self.counters.iter().find(|(of, _)| of == name);
        found.map_or(0, |(_, value)| *value)
    }
}

impl Totals {
    fn of(node: &Node) -> Self {
        let started = node.flows().started();
        let ended = || started.iter().filter(|flow| flow.acked_ps.is_some());
        let mut times: Vec<Time> = ended().filter_map(|flow| flow.fct_ps()).collect();
        times.sort_unstable();
        let first = started.iter().map(|flow| flow.flow.start_ps).min();
        let last = ended().filter_map(|flow| flow.acked_ps).max();
        Self {
            started: started.len() as u64,
            finished: times.len() as u64,
            finished_bytes: ended().map(|flow| flow.flow.bytes).sum(),
            fct_p50_ps: times.get(times.len().saturating_sub(1) / 2).copied(),
            fct_max_ps: times.last().copied(),
            span_ps: first
                .zip(last)
                .map(|(first, last)| last.saturating_sub(first)),
        }
    }
}

fn unfinished(node: &Node, names: &[String]) -> Vec<Unfinished> {
    let mut all = Vec::new();
    node.nic().for_each_flow(|sent| {
        let own = &node.flows().started()[sent.cookie as usize];
        if all.len() < MOST_NAMED && own.acked_ps.is_none() {
            all.push(Unfinished {
                id: own.flow.id,
                to: names[own.flow.dst as usize].clone(),
                bytes: own.flow.bytes,
                acked_bytes: sent.acked_bytes,
                why: sent.why.to_owned(),
                heard: node.received_from(own.flow.dst) > 0,
            });
        }
    });
    all.sort_unstable_by_key(|flow| flow.id);
    all
}

fn counters(node: &Node) -> Vec<(String, u64)> {
    let (nic, own) = (node.nic().counters(), node.counters());
    named(&[
        ("data_packets", nic.data_packets),
        ("payload_bytes", nic.payload_bytes),
        ("retransmissions", nic.retransmissions),
        ("timeouts", nic.timeouts),
        ("packets_delivered", nic.received - nic.discarded),
        ("delivered_bytes", nic.delivered_bytes),
        ("discarded", nic.discarded),
        ("acks_sent", nic.acks),
        ("naks_sent", nic.naks),
        ("cnps_sent", nic.cnps),
        ("cnps_received", own.cnps_received),
        ("ecn_marks_received", own.marks_received),
        ("ecn_echoes_received", own.echoes_received),
        ("int_stacks_received", own.int_stacks),
        ("int_hops_received", own.int_hops),
        ("pauses_received", own.pauses_received),
        ("neighbour_frames", own.neighbour_frames),
        ("pauses_obeyed", own.pauses_obeyed),
        ("pfc_expiries", node.nic().expired_pauses()),
        ("frames_received", own.received),
        ("frames_of_others", own.others),
        ("malformed", own.malformed),
        ("global_pauses", own.global_pauses),
        ("misdirected", own.misdirected),
        ("impostors", own.impostors),
        ("unexpected", own.unexpected),
        ("answers_lost_with_link", own.dropped),
        ("link_changes", own.link_changes),
        ("overruns", own.overruns),
        ("unwritable", own.unwritable),
    ])
}
