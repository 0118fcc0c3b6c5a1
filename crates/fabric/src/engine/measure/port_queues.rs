//! Queues of chosen ports over time (rules RCD-03 and RCD-04 of `specs/record.md`).

use dataplane::event::EventSet;
use dataplane::ids::IndexVec;
use dataplane::param::{Kind, Param, Value as Given, Values};
use dataplane::units::Time;

use super::super::merge::Merged;
use super::watch::{Grid, Watch, WatchedQueues};
use super::{EVERY, Event, Measure, Setup, View, given_port};
use crate::ids::{LinkId, NodeId};
use crate::record::Table;
use crate::record::table::{Column, Row, columns};

/// Configuration of a measure that samples ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Time between two samples, ps; above 0.
    pub every_ps: Time,
    /// Ports to sample.
    pub ports: RecordedPorts,
}

impl Spec {
    /// Reads the configuration, including the key `ports`, from the values of a scenario.
    pub(super) fn given(values: &Values) -> Self {
        Self {
            every_ps: values.time("every"),
            ports: RecordedPorts::given(values),
        }
    }
}

/// Ports that are recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordedPorts {
    /// All ports of all switches.
    Switches,
    /// Listed switch ports, as (switch, index of the port).
    Listed(Vec<(NodeId, u16)>),
}

impl RecordedPorts {
    fn given(values: &Values) -> Self {
        match values.get("ports") {
            Some(Given::List(ports)) => Self::Listed(ports.iter().filter_map(given_port).collect()),
            _ => Self::Switches,
        }
    }

    /// Returns true if a switch port is recorded.
    pub(super) fn include(&self, node: NodeId, port: u16) -> bool {
        match self {
            Self::Switches => true,
            Self::Listed(listed) => listed.contains(&(node, port)),
        }
    }
}

/// Sample of a port's queue that differs from the previous sample, or is the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueSample {
    /// Time of the sample, ps.
    pub at_ps: Time,
    /// The switch that has the queue.
    pub node: NodeId,
    /// Index of the port at this switch.
    pub port: u16,
    /// The node at the other end of the link.
    pub peer: NodeId,
    /// Bytes that wait for the port, of all classes.
    pub bytes: u64,
}

impl Row for QueueSample {
    const TABLE: &'static str = "port_queues";
    const ABOUT: &'static str =
        "A sample of a port's queue that differs from the sample before it.";
    const COLUMNS: &'static [Column<Self>] = columns! {
        U64 at_ps, "When.";
        U32 node = |r| r.node.bits(), "The switch.";
        NodeName name = |r| r.node, "Its name.";
        U16 port, "Its port.";
        U32 peer = |r| r.peer.bits(), "The node at the other end.";
        PeerName peer_name = |r| (r.node, r.port, r.peer),
            "Its name, with the number of the link if there are several.";
        U64 bytes, "Bytes that wait for the port, of all classes.";
    };

    fn order(rows: &mut Vec<Self>) {
        rows.sort_unstable_by_key(|r| (r.at_ps, r.node, r.port));
    }
}

/// Samples of the queues of chosen ports.
#[derive(Debug)]
pub(super) struct QueueSeries {
    grid: Grid,
    /// Sampled queues, with the bytes of the last sample of each; `None`: no sample yet.
    queues: WatchedQueues<Option<u64>>,
    samples: Vec<QueueSample>,
}

/// Returns a function that adds a sample of a queue whose length was constant until a given time.
/// It adds no sample if the previous one is equal, or if no sample time lies in between.
// RCD-04
fn sample(grid: Grid, samples: &mut Vec<QueueSample>) -> impl FnMut(&mut Watch<Option<u64>>, Time) {
    move |watch, until_ps| {
        if watch.kept != Some(watch.bytes)
            && let Some(at_ps) = grid.first(watch.since_ps, until_ps)
        {
            watch.kept = Some(watch.bytes);
            samples.push(QueueSample {
                at_ps,
                node: watch.node,
                port: watch.port,
                peer: watch.peer,
                bytes: watch.bytes,
            });
        }
    }
}

impl Measure for QueueSeries {
    type Spec = Spec;
    const KEY: &'static str = "queues";
    const EXAMPLE: &'static str = "queues = { every = \"1us\", ports = \"switches\" }";
    const ABOUT: &'static str = "Bytes that wait at ports: `port_queues.parquet`.";
    const PARAMS: &'static [Param] = &[
        EVERY.needed("\"1us\""),
        Param::list("ports", &Kind::Port)
            .or(&["switches"])
            .needed("\"switches\"")
            .about("Ports of switches by both ends of their links, or all of them."),
    ];
    const WANTS: EventSet = WatchedQueues::<()>::WANTS;

    fn tables() -> Vec<Table> {
        vec![Table::of::<QueueSample>()]
    }

    fn configure(values: &Values) -> Spec {
        Spec::given(values)
    }

    fn new(spec: &Spec, setup: &Setup<'_>) -> Self {
        let graph = setup.graph;
        let ports = graph.port_count() as usize;
        let mut watched: IndexVec<LinkId, bool> = vec![false; ports].into();
        match &spec.ports {
            RecordedPorts::Switches => {
                watched.as_mut_slice()[graph.endpoints() as usize..].fill(true)
            }
            RecordedPorts::Listed(listed) => {
                for &(node, port) in listed {
                    watched[graph.link(node, port)] = true;
                }
            }
        }
        Self {
            grid: Grid::new((0, Time::MAX), spec.every_ps),
            queues: WatchedQueues::new(graph, setup.switches, |link| watched[link]),
            samples: Vec::new(),
        }
    }

    #[inline(always)]
    fn on(&mut self, event: &Event<'_>, view: &View<'_>) {
        let stayed = sample(self.grid, &mut self.samples);
        self.queues.observe(event, view, stayed);
    }

    fn probe(&mut self, at_ps: Time, out: &mut Merged) {
        let stayed = sample(self.grid, &mut self.samples);
        self.queues.account_all(at_ps, stayed);
        out.add(self.samples.drain(..));
    }

    fn finish(&mut self, end_ps: Time, _: &View<'_>, out: &mut Merged) {
        self.probe(end_ps, out);
    }
}
