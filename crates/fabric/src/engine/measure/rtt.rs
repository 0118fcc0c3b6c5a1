//! Histogram of the RTTs that senders measured (rule RCD-07 of `specs/record.md`).

use std::collections::BTreeMap;

use dataplane::event::EventSet;
use dataplane::packet::Kind;
use dataplane::param::{Param, Values};
use dataplane::units::Time;

use super::super::merge::Merged;
use super::bins::Bins;
use super::{BIN_TIME, Event, Measure, Setup, View, WINDOW};
use crate::record::Table;
use crate::record::table::{Column, Row, Summarised, columns};

/// Configuration of the RTT histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Width of a bin, ps; above 0.
    pub bin_ps: Time,
    /// ACKs are counted if they arrive from the first time (included) to the second (not included),
    /// ps.
    pub window_ps: (Time, Time),
}

/// Number of RTT samples that fell into one bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttBin {
    /// Lower edge of the bin, ps.
    pub bin_ps: Time,
    /// Number of RTT samples, at least 1.
    pub samples: u64,
}

impl Row for RttBin {
    const TABLE: &'static str = "rtt";
    const ABOUT: &'static str = "A bin of the round trips that senders saw, from the start of a packet's \
                                 transmission to the arrival of its ACK.";
    const COLUMNS: &'static [Column<Self>] = columns! {
        U64 bin_ps, "Lower edge of the bin.";
        U64 samples, "ACKs.";
    };
    const SUMMARY: Option<Summarised<Self>> = Some(Summarised {
        key: "rtt",
        unit: "ps",
        bin: |r| r.bin_ps,
        samples: |r| r.samples,
    });

    /// Adds up the rows of equal bins, because each partition has its own histogram.
    fn order(rows: &mut Vec<Self>) {
        let mut all = BTreeMap::new();
        for bin in rows.drain(..) {
            *all.entry(bin.bin_ps).or_default() += bin.samples;
        }
        let bin = |(bin_ps, samples)| Self { bin_ps, samples };
        rows.extend(all.into_iter().map(bin));
    }
}

/// Histogram of the RTTs that senders measured.
#[derive(Debug)]
pub(super) struct RoundTrips {
    spec: Spec,
    bins: Bins,
}

impl Measure for RoundTrips {
    type Spec = Spec;
    const KEY: &'static str = "rtt";
    const EXAMPLE: &'static str = "rtt = { bin = \"100ns\" }";
    const ABOUT: &'static str = "Round trips of all ACKs: `rtt.parquet`.";
    const PARAMS: &'static [Param] = &[BIN_TIME, WINDOW];
    const WANTS: EventSet = Event::ARRIVING;

    fn tables() -> Vec<Table> {
        vec![Table::of::<RttBin>()]
    }

    fn configure(values: &Values) -> Spec {
        Spec {
            bin_ps: values.time("bin"),
            window_ps: values.window("window"),
        }
    }

    fn new(spec: &Spec, _: &Setup<'_>) -> Self {
        Self {
            spec: *spec,
            bins: Bins::default(),
        }
    }

    // RCD-07: from the start of a packet's transmission to its ACK
    #[inline(always)]
    fn on(&mut self, event: &Event<'_>, view: &View<'_>) {
        if let Event::Arriving {
            to_host: true, id, ..
        } = *event
            && view.arena.hot(id).kind() == Kind::Ack
        {
            let (from_ps, to_ps) = self.spec.window_ps;
            if (from_ps..to_ps).contains(&view.now) {
                let rtt_ps = view.now - view.arena.cold(id).sent_ps;
                self.bins.add(rtt_ps / self.spec.bin_ps.max(1), 1);
            }
        }
    }

    fn finish(&mut self, _: Time, _: &View<'_>, out: &mut Merged) {
        let bin = |(bin, samples)| RttBin {
            bin_ps: bin * self.spec.bin_ps.max(1),
            samples,
        };
        out.add(self.bins.iter().map(bin));
    }
}
