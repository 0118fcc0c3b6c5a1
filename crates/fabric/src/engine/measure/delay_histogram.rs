//! Queueing delay of data packets at switch ports: a histogram per port. Packets with a grant
//! (credit) of their receiver and packets that were sent without a grant are counted separately
//! (RCD-20 of `specs/record.md`).

use dataplane::event::EventSet;
use dataplane::ids::IndexVec;
use dataplane::packet::Kind;
use dataplane::param::{Param, Values};
use dataplane::properties::{Choice, Property};
use dataplane::units::Time;

use super::super::merge::Merged;
use super::bins::Bins;
use super::stays::{Departure, Stays};
use super::{BIN_TIME, Event, Measure, Setup, View, WINDOW};
use crate::ids::{LinkId, NodeId};
use crate::record::Table;
use crate::record::table::{Column, Row, columns};

/// Configuration of the delay histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Width of a bin, ps; above 0.
    pub bin_ps: Time,
    /// Packets are counted if they leave from the first time (included) to the second (not
    /// included), ps.
    pub window_ps: (Time, Time),
}

/// Number of data packets at one port whose waiting time falls into one bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayBin {
    /// The switch that has the queue.
    pub node: NodeId,
    /// Index of the port at this switch.
    pub port: u16,
    /// The node at the other end of the link.
    pub peer: NodeId,
    /// True if the receiver granted the packets, or if the scheme has no grants.
    pub scheduled: bool,
    /// Lower edge of the bin, ps.
    pub bin_ps: Time,
    /// Number of packets, at least 1.
    pub samples: u64,
}

impl Row for DelayBin {
    const TABLE: &'static str = "delay_histogram";
    const ABOUT: &'static str = "A bin of the times that data packets waited at a switch port.";
    const COLUMNS: &'static [Column<Self>] = columns! {
        U32 node = |r| r.node.bits(), "The switch.";
        NodeName name = |r| r.node, "Its name.";
        NodeTier tier = |r| r.node, "Its tier.";
        U16 port, "Its port.";
        U32 peer = |r| r.peer.bits(), "The node at the other end.";
        PeerName peer_name = |r| (r.node, r.port, r.peer),
            "Its name, with the number of the link if there are several.";
        Bool scheduled,
            "The packets were granted by their receiver, or the scheme knows no others.";
        U64 bin_ps, "Lower edge of the bin.";
        U64 samples, "Data packets.";
    };

    fn order(rows: &mut Vec<Self>) {
        rows.sort_unstable_by_key(|r| (r.node, r.port, r.scheduled, r.bin_ps));
    }
}

/// Histograms of the waiting times at a port: of packets that were sent without a grant, then of
/// all other packets.
type PortBins = [Bins; 2];

/// Histograms of the waiting times of data packets in switches.
#[derive(Debug)]
pub(super) struct Delays {
    spec: Spec,
    /// True if the scheme has grants. The record of a packet then contains the number of packets of
    /// its message that need no grant.
    grants: bool,
    stays: Stays,
    /// Histograms per port of the network. Only ports of switches of this partition have entries.
    ports: IndexVec<LinkId, PortBins>,
}

impl Delays {
    /// Adds the waiting time of a packet that leaves a switch.
    // RCD-20: granted packets separately
    fn leaves(&mut self, departure: &Departure, view: &View<'_>) {
        let packet = view.arena.hot(departure.id);
        let (from_ps, to_ps) = self.spec.window_ps;
        if packet.kind() != Kind::Data || !(from_ps..to_ps).contains(&view.now) {
            return;
        }
        let scheduled = !self.grants || packet.psn >= view.arena.cold(departure.id).credit;
        let bin = departure.waited_ps / self.spec.bin_ps.max(1);
        self.ports[departure.link][usize::from(scheduled)].add(bin, 1);
    }
}

impl Measure for Delays {
    type Spec = Spec;
    const KEY: &'static str = "delay";
    const EXAMPLE: &'static str = "delay = { bin = \"100ns\" }";
    const ABOUT: &'static str =
        "How long data packets waited at each switch port: `delay_histogram.parquet`.";
    const PARAMS: &'static [Param] = &[BIN_TIME, WINDOW];
    const WANTS: EventSet = Stays::WANTS;

    fn tables() -> Vec<Table> {
        vec![Table::of::<DelayBin>()]
    }

    fn configure(values: &Values) -> Spec {
        Spec {
            bin_ps: values.time("bin"),
            window_ps: values.window("window"),
        }
    }

    fn new(spec: &Spec, setup: &Setup<'_>) -> Self {
        Self {
            spec: *spec,
            grants: setup
                .nic
                .control
                .transport()
                .is_some_and(|t| t.provides().has(Property::Grants)),
            stays: Stays::default(),
            ports: vec![PortBins::default(); setup.graph.port_count() as usize].into(),
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
        let bin_ps = self.spec.bin_ps.max(1);
        for node in graph.switch_ids() {
            for (port, index) in (0..).zip(graph.links_of(node)) {
                for (scheduled, bins) in [false, true].into_iter().zip(&self.ports[index]) {
                    out.add(bins.iter().map(|(bin, samples)| DelayBin {
                        node,
                        port,
                        peer: graph.port(index).peer,
                        scheduled,
                        bin_ps: bin * bin_ps,
                        samples,
                    }));
                }
            }
        }
    }
}
