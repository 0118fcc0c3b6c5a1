//! Bytes that each port sent per interval (RCD-12 of `specs/record.md`).

use dataplane::event::EventSet;
use dataplane::ids::IndexVec;
use dataplane::param::{Param, Values};
use dataplane::units::Time;

use super::super::merge::Merged;
use super::{EVERY, Event, Measure, Sending, Setup, View};
use crate::ids::{LinkId, NodeId};
use crate::record::Table;
use crate::record::table::{Column, Row, columns};

/// Configuration of the utilisation series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Length of an interval, ps; above 0.
    pub every_ps: Time,
}

/// Bytes that one port sent in one interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UtilisationRecord {
    /// End of the interval, ps.
    pub at_ps: Time,
    /// The node that sends.
    pub node: NodeId,
    /// Sending port of that node.
    pub port: u16,
    /// The node at the other end of the port.
    pub peer: NodeId,
    /// Bytes of the frames whose transmission began in the interval.
    pub bytes: u64,
    /// Time that the port spent sending in the interval, ps; above 0.
    pub busy_ps: Time,
}

impl Row for UtilisationRecord {
    const TABLE: &'static str = "utilisation";
    const ABOUT: &'static str =
        "What a port of a host or switch sent in one interval; only where it sent something.";
    const COLUMNS: &'static [Column<Self>] = columns! {
        U64 at_ps, "End of the interval.";
        U32 node = |r| r.node.bits(), "The node that sends.";
        NodeName name = |r| r.node, "Its name.";
        U16 port, "Its port.";
        U32 peer = |r| r.peer.bits(), "The node at the other end.";
        PeerName peer_name = |r| (r.node, r.port, r.peer),
            "Its name, with the number of the link if there are several.";
        U64 bytes, "Bytes of the frames whose transmission began in the interval.";
        U64 busy_ps, "How long the port sent in the interval.";
    };

    fn order(rows: &mut Vec<Self>) {
        rows.sort_unstable_by_key(|r| (r.at_ps, r.node, r.port));
    }
}

/// State of a port in the current interval.
#[derive(Debug)]
struct Port {
    node: NodeId,
    port: u16,
    peer: NodeId,
    bytes: u64,
    /// Transmission time of the port's frames in the interval, including the remaining time of a
    /// frame of the previous interval.
    takes_ps: Time,
    /// Time at which the transmission of the last frame ends.
    until_ps: Time,
}

/// Bytes that ports sent in the current interval.
#[derive(Debug)]
pub(super) struct Utilisation {
    every_ps: Time,
    /// End of the current interval.
    end_ps: Time,
    /// State of each port of the network.
    ports: IndexVec<LinkId, Port>,
    /// Ports that sent in the current interval.
    active: Vec<LinkId>,
    /// Rows of completed intervals.
    records: Vec<UtilisationRecord>,
}

impl Utilisation {
    /// Ends all intervals whose end is at or before `now`.
    fn end_intervals(&mut self, now: Time) {
        while self.end_ps <= now && !self.active.is_empty() {
            self.end_interval();
            self.end_ps += self.every_ps;
        }
        if self.end_ps <= now {
            self.end_ps = (now / self.every_ps + 1) * self.every_ps;
        }
    }

    /// Adds a frame of `size` bytes that a port starts to send.
    // RCD-12: bytes and busy time per interval
    #[inline(never)]
    fn add(&mut self, now: Time, sending: &Sending, size: u16) {
        if now >= self.end_ps {
            self.end_intervals(now);
        }
        let port = &mut self.ports[sending.link];
        if port.takes_ps == 0 {
            self.active.push(sending.link);
        }
        port.bytes += u64::from(size);
        port.takes_ps += sending.takes_ps;
        port.until_ps = now + sending.takes_ps;
    }

    // RCD-12: a row per port that sent in the interval
    fn end_interval(&mut self) {
        let at_ps = self.end_ps;
        let (ports, records) = (&mut self.ports, &mut self.records);
        self.active.retain(|&link| {
            let of = &mut ports[link];
            let left_ps = of.until_ps.saturating_sub(at_ps);
            records.push(UtilisationRecord {
                at_ps,
                node: of.node,
                port: of.port,
                peer: of.peer,
                bytes: std::mem::take(&mut of.bytes),
                busy_ps: of.takes_ps - left_ps,
            });
            of.takes_ps = left_ps;
            left_ps > 0
        });
    }
}

impl Measure for Utilisation {
    type Spec = Spec;
    const KEY: &'static str = "utilisation";
    const EXAMPLE: &'static str = "utilisation = { every = \"10us\" }";
    const ABOUT: &'static str = "What each port sent in each interval: `utilisation.parquet`.";
    const PARAMS: &'static [Param] = &[EVERY.needed("\"10us\"")];
    const WANTS: EventSet = Event::SENDING;

    fn tables() -> Vec<Table> {
        vec![Table::of::<UtilisationRecord>()]
    }

    fn configure(values: &Values) -> Spec {
        Spec {
            every_ps: values.time("every"),
        }
    }

    fn new(spec: &Spec, setup: &Setup<'_>) -> Self {
        let graph = setup.graph;
        let of_node = |node| (0..).zip(graph.links_of(node)).map(move |at| (node, at));
        let all = graph.node_ids().flat_map(of_node);
        let every_ps = spec.every_ps.max(1);
        Self {
            every_ps,
            end_ps: every_ps,
            ports: all
                .map(|(node, (port, index))| Port {
                    node,
                    port,
                    peer: graph.port(index).peer,
                    bytes: 0,
                    takes_ps: 0,
                    until_ps: 0,
                })
                .collect(),
            active: Vec::new(),
            records: Vec::new(),
        }
    }

    #[inline(always)]
    fn on(&mut self, event: &Event<'_>, view: &View<'_>) {
        if let Event::Sending(sending) = event {
            self.add(view.now, sending, view.arena.hot(sending.id).size);
        }
    }

    fn probe(&mut self, at_ps: Time, out: &mut Merged) {
        self.end_intervals(at_ps.saturating_add(1));
        out.add(self.records.drain(..));
    }

    /// Ends the last interval with its full length, and outputs all rows.
    fn finish(&mut self, end_ps: Time, _: &View<'_>, out: &mut Merged) {
        self.probe(end_ps, out);
        if !self.active.is_empty() {
            self.end_interval();
        }
        out.add(self.records.drain(..));
    }
}
