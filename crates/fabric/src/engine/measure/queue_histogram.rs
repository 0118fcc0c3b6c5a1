//! Histogram of the queue lengths of switch ports (rules RCD-03, RCD-05 and RCD-06 of
//! `specs/record.md`).

use dataplane::event::EventSet;
use dataplane::param::{Param, Values};
use dataplane::units::Time;

use super::super::merge::Merged;
use super::bins::Bins;
use super::watch::{Grid, Watch, WatchedQueues};
use super::{EVERY, Event, LARGEST_BYTES, Measure, Setup, View, WINDOW};
use crate::ids::NodeId;
use crate::record::Table;
use crate::record::table::{Column, Row, Summarised, columns};

/// Configuration of the queue histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Time between two samples, ps; above 0.
    pub every_ps: Time,
    /// Width of a bin, bytes; above 0.
    pub bin_bytes: u64,
    /// Samples are taken from the first time (included) to the second (not included), ps.
    pub window_ps: (Time, Time),
}

/// Number of samples of one port's queue that fell into one bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueBin {
    /// The switch that has the queue.
    pub node: NodeId,
    /// Index of the port at this switch.
    pub port: u16,
    /// The node at the other end of the link.
    pub peer: NodeId,
    /// Lower edge of the bin, bytes.
    pub bin_bytes: u64,
    /// Number of samples, at least 1.
    pub samples: u64,
}

impl Row for QueueBin {
    const TABLE: &'static str = "queue_histogram";
    const ABOUT: &'static str = "A bin of the lengths of a switch port's queue.";
    const COLUMNS: &'static [Column<Self>] = columns! {
        U32 node = |r| r.node.bits(), "The switch.";
        NodeName name = |r| r.node, "Its name.";
        NodeTier tier = |r| r.node, "Its tier.";
        U16 port, "Its port.";
        U32 peer = |r| r.peer.bits(), "The node at the other end.";
        PeerName peer_name = |r| (r.node, r.port, r.peer),
            "Its name, with the number of the link if there are several.";
        U64 bin_bytes, "Lower edge of the bin.";
        U64 samples, "Samples in the bin.";
    };
    const SUMMARY: Option<Summarised<Self>> = Some(Summarised {
        key: "queue",
        unit: "bytes",
        bin: |r| r.bin_bytes,
        samples: |r| r.samples,
    });

    fn order(rows: &mut Vec<Self>) {
        rows.sort_unstable_by_key(|r| (r.node, r.port, r.bin_bytes));
    }
}

/// Histograms of the queue lengths of switch ports.
#[derive(Debug)]
pub(super) struct QueueHistogram {
    grid: Grid,
    bin_bytes: u64,
    queues: WatchedQueues<Bins>,
}

/// Returns a function that counts the samples of a queue whose length was constant until a given
/// time.
// RCD-05, RCD-06
fn count(grid: Grid, bin_bytes: u64) -> impl FnMut(&mut Watch<Bins>, Time) {
    move |watch, until_ps| {
        let samples = grid.before(until_ps) - grid.before(watch.since_ps);
        if samples > 0 {
            watch.kept.add(watch.bytes / bin_bytes, samples);
        }
    }
}

impl Measure for QueueHistogram {
    type Spec = Spec;
    const KEY: &'static str = "histogram";
    const EXAMPLE: &'static str = "histogram = { every = \"100ns\", bin = \"1KB\" }";
    const ABOUT: &'static str =
        "How long the queues of all switch ports were: `queue_histogram.parquet`.";
    const PARAMS: &'static [Param] = &[
        EVERY.needed("\"100ns\""),
        Param::size("bin", 1, LARGEST_BYTES)
            .needed("\"1KB\"")
            .about("Width of a bin."),
        WINDOW,
    ];
    const WANTS: EventSet = WatchedQueues::<()>::WANTS;

    fn tables() -> Vec<Table> {
        vec![Table::of::<QueueBin>()]
    }

    fn configure(values: &Values) -> Spec {
        Spec {
            every_ps: values.time("every"),
            bin_bytes: values.size("bin"),
            window_ps: values.window("window"),
        }
    }

    fn new(spec: &Spec, setup: &Setup<'_>) -> Self {
        Self {
            grid: Grid::new(spec.window_ps, spec.every_ps),
            bin_bytes: spec.bin_bytes.max(1),
            queues: WatchedQueues::new(setup.graph, setup.switches, |_| true),
        }
    }

    #[inline(always)]
    fn on(&mut self, event: &Event<'_>, view: &View<'_>) {
        let stayed = count(self.grid, self.bin_bytes);
        self.queues.observe(event, view, stayed);
    }

    fn finish(&mut self, end_ps: Time, _: &View<'_>, out: &mut Merged) {
        let bin_bytes = self.bin_bytes;
        self.queues.account_all(end_ps, count(self.grid, bin_bytes));
        out.add(self.queues.all.iter().flat_map(|watch| {
            watch.kept.iter().map(move |(bin, samples)| QueueBin {
                node: watch.node,
                port: watch.port,
                peer: watch.peer,
                bin_bytes: bin * bin_bytes,
                samples,
            })
        }));
    }
}
