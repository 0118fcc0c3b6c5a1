//! Waiting time of data packets in switches, per port, with separate rows for incasts (RCD-11 of
//! `specs/record.md`).

use dataplane::event::EventSet;
use dataplane::ids::IndexVec;
use dataplane::packet::{Kind, flag};
use dataplane::param::{Param, Values};
use dataplane::units::Time;

use super::super::merge::Merged;
use super::stays::{Departure, Stays};
use super::{Event, Measure, Setup, View, WINDOW};
use crate::ids::{LinkId, NodeId};
use crate::record::Table;
use crate::record::table::{Column, Row, columns};

/// Configuration of the waiting-time measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Packets are counted if they leave from the first time (included) to the second (not
    /// included), ps.
    pub window_ps: (Time, Time),
}

/// Waiting time of data packets in a switch, per egress port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingRecord {
    /// The switch.
    pub node: NodeId,
    /// The egress port of the packets.
    pub port: u16,
    /// The node at the other end of its link.
    pub peer: NodeId,
    /// True if the flows of the packets belong to an incast.
    pub incast: bool,
    /// Number of packets.
    pub packets: u64,
    /// Sum of the waiting times (arrival to start of transmission), ps.
    pub total_ps: u128,
    /// Longest waiting time (arrival to start of transmission), ps.
    pub max_ps: Time,
}

impl WaitingRecord {
    /// Returns the mean waiting time (arrival to start of transmission), ps, rounded down.
    #[must_use]
    pub fn mean_ps(&self) -> Time {
        (self.total_ps / u128::from(self.packets.max(1))) as u64
    }
}

impl Row for WaitingRecord {
    const TABLE: &'static str = "waiting";
    const ABOUT: &'static str = "How long data packets were in a switch before they left by a port, from the \
                                 arrival of each, whole, to the start of its transmission.";
    const COLUMNS: &'static [Column<Self>] = columns! {
        U32 node = |r| r.node.bits(), "The switch.";
        NodeName name = |r| r.node, "Its name.";
        NodeTier tier = |r| r.node, "Its tier.";
        U16 port, "The port by which they left.";
        U32 peer = |r| r.peer.bits(), "The node at the other end.";
        PeerName peer_name = |r| (r.node, r.port, r.peer),
            "Its name, with the number of the link if there are several.";
        Bool incast, "Their flows belong to an incast.";
        U64 packets, "Packets.";
        U64 mean_ps = Self::mean_ps, "Mean of their times.";
        U64 max_ps, "The longest of their times.";
    };

    fn order(rows: &mut Vec<Self>) {
        rows.sort_unstable_by_key(|r| (r.node, r.port, r.incast));
    }
}

/// Number, sum and maximum of the waiting times of packets.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    packets: u64,
    total_ps: u128,
    max_ps: Time,
}

/// Waiting times of the packets that have left a switch.
#[derive(Debug)]
pub(super) struct Waiting {
    window_ps: (Time, Time),
    stays: Stays,
    /// Sums of the waiting times, per egress port of the network: first for flows outside incasts,
    /// then for flows of incasts.
    sums: IndexVec<LinkId, [Sum; 2]>,
}

impl Waiting {
    /// Adds the waiting time of a packet that leaves a switch.
    // RCD-11: packets of incasts separately
    fn leaves(&mut self, departure: &Departure, view: &View<'_>) {
        let packet = view.arena.hot(departure.id);
        let (from_ps, to_ps) = self.window_ps;
        if packet.kind() != Kind::Data || !(from_ps..to_ps).contains(&view.now) {
            return;
        }
        let waited_ps = departure.waited_ps;
        let sum = &mut self.sums[departure.link][usize::from(packet.has(flag::INCAST))];
        sum.packets += 1;
        sum.total_ps += u128::from(waited_ps);
        sum.max_ps = sum.max_ps.max(waited_ps);
    }
}

impl Measure for Waiting {
    type Spec = Spec;
    const KEY: &'static str = "waiting";
    const EXAMPLE: &'static str = "waiting = {}";
    const ABOUT: &'static str =
        "How long data packets were in a switch, those of incasts apart: `waiting.parquet`.";
    const PARAMS: &'static [Param] = &[WINDOW];
    const WANTS: EventSet = Stays::WANTS;

    fn tables() -> Vec<Table> {
        vec![Table::of::<WaitingRecord>()]
    }

    fn configure(values: &Values) -> Spec {
        Spec {
            window_ps: values.window("window"),
        }
    }

    fn new(spec: &Spec, setup: &Setup<'_>) -> Self {
        Self {
            window_ps: spec.window_ps,
            stays: Stays::default(),
            sums: vec![Default::default(); setup.graph.port_count() as usize].into(),
        }
    }

    #[inline(always)]
    fn on(&mut self, event: &Event<'_>, view: &View<'_>) {
        if let Some(departure) = self.stays.observe(event, view) {
            self.leaves(&departure, view);
        }
    }

    fn finish(&mut self, _: Time, view: &View<'_>, out: &mut Merged) {
        let graph = view.graph;
        for node in graph.switch_ids() {
            for (port, index) in (0..).zip(graph.links_of(node)) {
                let sums = [false, true].into_iter().zip(self.sums[index]);
                let sums = sums.filter(|(_, sum)| sum.packets > 0);
                out.add(sums.map(|(incast, sum)| WaitingRecord {
                    node,
                    port,
                    peer: graph.port(index).peer,
                    incast,
                    packets: sum.packets,
                    total_ps: sum.total_ps,
                    max_ps: sum.max_ps,
                }));
            }
        }
    }
}
