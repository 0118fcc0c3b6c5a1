//! Payload that the receiver of each flow received per interval (rule RCD-02 of `specs/record.md`).

use dataplane::event::EventSet;
use dataplane::packet::Kind;
use dataplane::param::{Param, Values};
use dataplane::switch::MixedMap;
use dataplane::units::Time;

use super::super::merge::Merged;
use super::{EVERY, Event, Measure, Setup, View};
use crate::ids::LocalNode;
use crate::record::Table;
use crate::record::table::{Column, Row, columns};

/// Configuration of the throughput series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Length of an interval, ps; above 0.
    pub every_ps: Time,
}

/// Payload that the receiver of a flow received in order in one interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThroughputRecord {
    /// End of the interval, ps.
    pub at_ps: Time,
    /// ID of the flow.
    pub flow: u32,
    /// Payload bytes received in order in the interval, at least 1.
    pub bytes: u64,
}

impl Row for ThroughputRecord {
    const TABLE: &'static str = "throughput";
    const ABOUT: &'static str =
        "Payload that a flow's receiver got in one interval; only where there was some.";
    const COLUMNS: &'static [Column<Self>] = columns! {
        U64 at_ps, "End of the interval.";
        U32 flow, "Number of the flow.";
        U64 bytes, "Payload received in order in the interval.";
    };

    fn order(rows: &mut Vec<Self>) {
        rows.sort_unstable_by_key(|r| (r.at_ps, r.flow));
    }
}

/// Payload received in order, by flow, in the current interval.
#[derive(Debug)]
pub(super) struct Throughput {
    every_ps: Time,
    /// End of the current interval.
    end_ps: Time,
    bytes: MixedMap<u32, u64>,
    /// Bytes of the flow that the NIC had delivered before the packet that it is processing.
    before_bytes: u64,
    /// Rows of completed intervals.
    records: Vec<ThroughputRecord>,
}

impl Throughput {
    /// Adds payload that a receiver has received in order.
    // RCD-02: sums per interval
    fn add(&mut self, now: Time, flow: u32, bytes: u64) {
        if now >= self.end_ps {
            self.end_interval();
            self.end_ps = (now / self.every_ps + 1) * self.every_ps;
        }
        *self.bytes.entry(flow).or_default() += bytes;
    }

    fn end_interval(&mut self) {
        let at_ps = self.end_ps;
        let ended = self.bytes.drain();
        self.records
            .extend(ended.map(|(flow, bytes)| ThroughputRecord { at_ps, flow, bytes }));
    }
}

impl Measure for Throughput {
    type Spec = Spec;
    const KEY: &'static str = "throughput";
    const EXAMPLE: &'static str = "throughput = { every = \"10us\" }";
    const ABOUT: &'static str =
        "Payload that each flow received in order in each interval: `throughput.parquet`.";
    const PARAMS: &'static [Param] = &[EVERY.needed("\"10us\"")];
    const WANTS: EventSet = EventSet::of(&[Event::ARRIVING, Event::ARRIVED]);

    fn tables() -> Vec<Table> {
        vec![Table::of::<ThroughputRecord>()]
    }

    fn configure(values: &Values) -> Spec {
        Spec {
            every_ps: values.time("every"),
        }
    }

    fn new(spec: &Spec, _: &Setup<'_>) -> Self {
        let every_ps = spec.every_ps.max(1);
        Self {
            every_ps,
            end_ps: every_ps,
            bytes: MixedMap::default(),
            before_bytes: 0,
            records: Vec::new(),
        }
    }

    #[inline(always)]
    fn on(&mut self, event: &Event<'_>, view: &View<'_>) {
        let delivered = |node: LocalNode| view.nics[node.index()].counters().delivered_bytes;
        match *event {
            Event::Arriving {
                to_host: true,
                node,
                ..
            } => self.before_bytes = delivered(node),
            Event::Arrived {
                to_host: true,
                node,
                packet,
                ..
            } if packet.kind() == Kind::Data => {
                let bytes = delivered(node) - self.before_bytes;
                if bytes > 0 {
                    self.add(view.now, packet.flow, bytes);
                }
            }
            _ => {}
        }
    }

    fn probe(&mut self, at_ps: Time, out: &mut Merged) {
        if at_ps >= self.end_ps - 1 {
            self.end_interval();
        }
        out.add(self.records.drain(..));
    }

    fn finish(&mut self, _: Time, _: &View<'_>, out: &mut Merged) {
        self.probe(Time::MAX, out);
    }
}
