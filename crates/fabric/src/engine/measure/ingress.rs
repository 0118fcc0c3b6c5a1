//! Buffered bytes per ingress of chosen switch ports over time, with the PFC threshold (RCD-13 of
//! `specs/record.md`).

use dataplane::classes::classes_of;
use dataplane::event::EventSet;
use dataplane::ids::IndexVec;
use dataplane::param::{Kind, Param, Values};
use dataplane::switch::Switch;
use dataplane::units::Time;

use super::super::merge::Merged;
pub use super::port_queues::Spec;
use super::watch::Grid;
use super::{EVERY, Event, Measure, Setup, View};
use crate::ids::{LinkId, NodeId};
use crate::record::Table;
use crate::record::table::{Column, Row, columns, traffic_class};

/// Sample of an ingress and class that differs from the previous sample, or is the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IngressSample {
    /// Time of the sample, ps.
    pub at_ps: Time,
    /// The switch.
    pub node: NodeId,
    /// The ingress port.
    pub port: u16,
    /// The node at the other end of the ingress port.
    pub peer: NodeId,
    /// The dataplane class.
    pub class: u8,
    /// Buffered bytes and threshold of the ingress.
    pub level: Held,
}

/// Buffered bytes of an ingress and class, with the PFC threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Bytes that packets of the ingress and class occupy in reserve, pool and headroom.
    pub bytes: u64,
    /// PFC threshold of the ingress and class for its bytes in the pool.
    pub threshold_bytes: u64,
    /// True if the ingress is in the victim state, which raises its PFC threshold.
    pub victim: bool,
}

impl Row for IngressSample {
    const TABLE: &'static str = "port_ingress";
    const ABOUT: &'static str =
        "A sample of an ingress and class that differs from the sample before it.";
    const COLUMNS: &'static [Column<Self>] = columns! {
        U64 at_ps, "When.";
        U32 node = |r| r.node.bits(), "The switch.";
        NodeName name = |r| r.node, "Its name.";
        U16 port, "The port by which the packets came.";
        U32 peer = |r| r.peer.bits(), "The node at the other end.";
        PeerName peer_name = |r| (r.node, r.port, r.peer),
            "Its name, with the number of the link if there are several.";
        [traffic_class!()];
        U64 bytes = |r| r.level.bytes,
            "Bytes in the buffer that came in by the port, of this class.";
        U64 threshold_bytes = |r| r.level.threshold_bytes,
            "What those of them in the pool are compared with: more of them pause the neighbour.";
        Bool victim = |r| r.level.victim, "The ingress is a victim port.";
    };

    fn order(rows: &mut Vec<Self>) {
        rows.sort_unstable_by_key(|r| (r.at_ps, r.node, r.port, r.class));
    }
}

/// A watched ingress and class, with its state.
#[derive(Debug)]
struct Watched {
    port: u16,
    peer: NodeId,
    class: u8,
    now: Held,
    since_ps: Time,
    /// State in the last row; `None`: there is no row yet.
    recorded: Option<Held>,
}

impl Watched {
    /// Adds a row for the state up to `until_ps`, unless the previous row is equal or there is no
    /// sample time in between.
    // RCD-13
    fn account(&mut self, until_ps: Time, grid: Grid, node: NodeId, rows: &mut Vec<IngressSample>) {
        if self.recorded != Some(self.now)
            && let Some(at_ps) = grid.first(self.since_ps, until_ps)
        {
            self.recorded = Some(self.now);
            rows.push(IngressSample {
                at_ps,
                node,
                port: self.port,
                peer: self.peer,
                class: self.class,
                level: self.now,
            });
        }
        self.since_ps = until_ps;
    }
}

/// A switch with ingresses that are sampled.
#[derive(Debug)]
struct WatchedSwitch {
    node: NodeId,
    /// Index among the switches of the partition.
    index: usize,
    /// True if bytes or thresholds may have changed in this instant.
    touched: bool,
    /// Sampled ports whose classes have not been determined yet; empty after the first update of
    /// the switch.
    ports: Vec<(u16, NodeId)>,
    all: Vec<Watched>,
}

impl WatchedSwitch {
    /// Reads the switch at the end of the instant `now`.
    fn look(&mut self, now: Time, switch: &Switch, grid: Grid, rows: &mut Vec<IngressSample>) {
        for (port, peer) in self.ports.drain(..) {
            let classes = classes_of(switch.pausable());
            self.all.extend(classes.map(|class| Watched {
                port,
                peer,
                class,
                now: held(now, switch, port, class),
                since_ps: now,
                recorded: None,
            }));
        }
        for watched in &mut self.all {
            let is = held(now, switch, watched.port, watched.class);
            if is != watched.now {
                watched.account(now, grid, self.node, rows);
                watched.now = is;
            }
        }
    }
}

fn held(now: Time, switch: &Switch, port: u16, class: u8) -> Held {
    let level = switch.ingress(now, port, class);
    Held {
        bytes: level.held_bytes,
        threshold_bytes: level.threshold_bytes,
        victim: level.victim,
    }
}

/// Samples of the chosen ingresses.
#[derive(Debug)]
pub(super) struct IngressSeries {
    grid: Grid,
    switches: Vec<WatchedSwitch>,
    /// Per port of the network, the index in `switches` of its switch; `None`: the port is not
    /// sampled.
    switch_of: IndexVec<LinkId, Option<u32>>,
    /// Indices in `switches` of the switches whose bytes or thresholds may have changed in this
    /// instant.
    touched: Vec<u32>,
    samples: Vec<IngressSample>,
}

impl IngressSeries {
    /// Marks the switch of a port, because its bytes or thresholds may have changed.
    #[inline]
    fn touch(&mut self, link: LinkId) {
        if let Some(place) = self.switch_of[link] {
            let touched = &mut self.switches[place as usize].touched;
            if !std::mem::replace(touched, true) {
                self.touched.push(place);
            }
        }
    }

    /// Reads the switches that may have changed in the instant `now`, after all its events.
    #[inline]
    fn look(&mut self, now: Time, switches: &[Switch]) {
        for place in self.touched.drain(..) {
            let watched = &mut self.switches[place as usize];
            watched.touched = false;
            watched.look(now, &switches[watched.index], self.grid, &mut self.samples);
        }
    }
}

impl Measure for IngressSeries {
    type Spec = Spec;
    const KEY: &'static str = "ingress";
    const EXAMPLE: &'static str = "ingress = { every = \"1us\", ports = \"switches\" }";
    const ABOUT: &'static str = "Bytes in the buffer by the port that they came in by, and the threshold of PFC: `port_ingress.parquet`.";
    const PARAMS: &'static [Param] = &[
        EVERY.needed("\"1us\""),
        Param::list("ports", &Kind::Port)
            .or(&["switches"])
            .needed("\"switches\"")
            .about("Ports of switches by which packets come, by both ends of their links, or all of them."),
    ];
    const WANTS: EventSet =
        EventSet::of(&[Event::QUEUE_TOUCHED, Event::ARRIVING, Event::INSTANT_OVER]);

    fn tables() -> Vec<Table> {
        vec![Table::of::<IngressSample>()]
    }

    fn configure(values: &Values) -> Spec {
        Spec::given(values)
    }

    fn new(spec: &Spec, setup: &Setup<'_>) -> Self {
        let graph = setup.graph;
        let mut switch_of = IndexVec::from(vec![None; graph.port_count() as usize]);
        let mut switches: Vec<WatchedSwitch> = Vec::new();
        for (index, &node) in setup.switches.iter().enumerate() {
            let own = (0..).zip(graph.links_of(node));
            let own = own.filter(|&(port, _)| spec.ports.include(node, port));
            let own = own.map(|(port, link)| (port, graph.port(link).peer));
            let ports: Vec<(u16, NodeId)> = own.collect();
            if ports.is_empty() {
                continue;
            }
            for link in graph.links_of(node) {
                switch_of[link] = Some(switches.len() as u32);
            }
            switches.push(WatchedSwitch {
                node,
                index,
                touched: false,
                ports,
                all: Vec::new(),
            });
        }
        Self {
            grid: Grid::new((0, Time::MAX), spec.every_ps),
            switches,
            switch_of,
            touched: Vec::new(),
            samples: Vec::new(),
        }
    }

    #[inline(always)]
    fn on(&mut self, event: &Event<'_>, view: &View<'_>) {
        match *event {
            // When a packet arrives, a hop scheme may park it, so that no queue changes.
            Event::QueueTouched { link } | Event::Arriving { link, .. } => self.touch(link),
            Event::InstantOver => self.look(view.now, view.switches),
            _ => {}
        }
    }

    fn probe(&mut self, at_ps: Time, out: &mut Merged) {
        for switch in &mut self.switches {
            for watched in &mut switch.all {
                let until_ps = at_ps.saturating_add(1);
                watched.account(until_ps, self.grid, switch.node, &mut self.samples);
            }
        }
        out.add(self.samples.drain(..));
    }

    fn finish(&mut self, end_ps: Time, _: &View<'_>, out: &mut Merged) {
        self.probe(end_ps, out);
    }
}
