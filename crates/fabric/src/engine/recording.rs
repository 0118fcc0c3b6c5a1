//! What a run records besides flows, buffers and pauses, where the scenario requests it: throughput, queues
//! over time, histograms of queues and of round trips. Looks and counts; changes nothing.
//!
//! Nothing here visits all ports at every sample. A queue is looked at in the instants in which it
//! may have changed, and what it was until then counts for all the samples in between. The rules
//! are in `specs/record.md`.

use std::collections::BTreeMap;

use dataplane::config::Sending;
use dataplane::nic::Nic;
use dataplane::packet::{Arena, Kind, PacketId};
use dataplane::switch::{MixedMap, Switch};
use dataplane::units::Time;

use super::delays::Delays;
use crate::record::{
    QueueBin, QueueHistogram, QueueSample, RecordSpec, RecordedPorts, Recorder, RttBin,
    RttHistogram, ThroughputRecord,
};
use crate::topology::Graph;

use super::waiting::Waiting;

/// No watch.
const NONE: u32 = u32::MAX;

/// Instants `from + k * every`, k = 0, 1, ..., before `to`.
#[derive(Clone, Copy, Debug)]
struct Grid {
    from_ps: Time,
    to_ps: Time,
    every_ps: Time,
}

impl Grid {
    fn new((from_ps, to_ps): (Time, Time), every_ps: Time) -> Self {
        Self {
            from_ps,
            to_ps,
            every_ps: every_ps.max(1),
        }
    }

    /// How many instants of the grid lie before `at_ps`.
    fn before(&self, at_ps: Time) -> u64 {
        let elapsed = at_ps.min(self.to_ps).saturating_sub(self.from_ps);
        elapsed.div_ceil(self.every_ps)
    }

    /// The instant with number `k`.
    fn at(&self, k: u64) -> Time {
        self.from_ps + k * self.every_ps
    }
}

/// Counts of values in bins of equal width. Rare large values lie apart, so that one of them does
/// not fill the memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Bins {
    low: Vec<u64>,
    high: BTreeMap<u64, u64>,
}

impl Bins {
    const LOW: u64 = 1 << 16;

    pub(super) fn add(&mut self, bin: u64, samples: u64) {
        if bin >= Self::LOW {
            *self.high.entry(bin).or_default() += samples;
            return;
        }
        let at = bin as usize;
        if at >= self.low.len() {
            self.low.resize(at + 1, 0);
        }
        self.low[at] += samples;
    }

    /// Bins with at least one sample, lowest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let low = (0..).zip(self.low.iter().copied());
        low.filter(|bin| bin.1 > 0)
            .chain(self.high.iter().map(|(&bin, &samples)| (bin, samples)))
    }
}

/// What one port's queue was, and since when.
#[derive(Debug)]
struct Watch {
    /// Which switch, counted among those of the partition.
    switch: u32,
    node: u32,
    port: u16,
    peer: u32,
    /// Its queue is part of the series.
    in_series: bool,
    bytes: u64,
    since_ps: Time,
    /// Bytes of the last sample of the series.
    drawn: Option<u64>,
    bins: Bins,
}

/// The queues that are watched.
#[derive(Debug)]
struct Queues {
    series: Option<Grid>,
    histogram: Option<(Grid, u64)>,
    /// Per port of the network its watch, or [`NONE`].
    watch_of: Vec<u32>,
    watches: Vec<Watch>,
    /// Watches whose queue may have changed in this instant.
    touched: Vec<u32>,
    samples: Vec<QueueSample>,
}

impl Queues {
    fn new(spec: &RecordSpec, graph: &Graph, switches: &[u32]) -> Option<Self> {
        if spec.queues.is_none() && spec.histogram.is_none() {
            return None;
        }
        let ports = graph.port_count() as usize;
        let switch_ports = graph.endpoints() as usize..ports;
        let mut in_series = vec![false; ports];
        match spec.queues.as_ref().map(|series| &series.ports) {
            Some(RecordedPorts::Switches) => in_series[switch_ports.clone()].fill(true),
            Some(RecordedPorts::Listed(listed)) => {
                for &(node, port) in listed {
                    in_series[graph.port_index(node, port)] = true;
                }
            }
            None => {}
        }
        let mut watch_of = vec![NONE; ports];
        let mut watches = Vec::new();
        for (switch, &node) in (0..).zip(switches) {
            for (port, index) in (0..).zip(graph.port_range(node)) {
                if spec.histogram.is_none() && !in_series[index] {
                    continue;
                }
                watch_of[index] = watches.len() as u32;
                watches.push(Watch {
                    switch,
                    node,
                    port,
                    peer: graph.port(index).peer,
                    in_series: in_series[index],
                    bytes: 0,
                    since_ps: 0,
                    drawn: None,
                    bins: Bins::default(),
                });
            }
        }
        let of = |h: &QueueHistogram| (Grid::new(h.window_ps, h.every_ps), h.bin_bytes.max(1));
        Some(Self {
            series: spec
                .queues
                .as_ref()
                .map(|series| Grid::new((0, Time::MAX), series.every_ps)),
            histogram: spec.histogram.as_ref().map(of),
            watch_of,
            watches,
            touched: Vec::new(),
            samples: Vec::new(),
        })
    }

    /// Counts what the queue of a watch was for all samples before `until_ps`.
    // RCD-04, RCD-05, RCD-06
    fn account(&mut self, watch: u32, until_ps: Time) {
        let watch = &mut self.watches[watch as usize];
        if until_ps <= watch.since_ps {
            return;
        }
        if let Some(grid) = self.series.filter(|_| watch.in_series)
            && watch.drawn != Some(watch.bytes)
        {
            let first = grid.before(watch.since_ps);
            if grid.before(until_ps) > first {
                watch.drawn = Some(watch.bytes);
                self.samples.push(QueueSample {
                    at_ps: grid.at(first),
                    node: watch.node,
                    port: watch.port,
                    peer: watch.peer,
                    bytes: watch.bytes,
                });
            }
        }
        if let Some((grid, bin_bytes)) = &self.histogram {
            let samples = grid.before(until_ps) - grid.before(watch.since_ps);
            if samples > 0 {
                watch.bins.add(watch.bytes / bin_bytes, samples);
            }
        }
        watch.since_ps = until_ps;
    }

    /// The instant `now` is over: looks at the queues that may have changed in it.
    // RCD-03
    fn settle(&mut self, now: Time, switches: &[Switch]) {
        let mut touched = std::mem::take(&mut self.touched);
        for &number in &touched {
            let watch = &self.watches[number as usize];
            let bytes = switches[watch.switch as usize].queued(watch.port).0;
            if bytes != watch.bytes {
                self.account(number, now);
                self.watches[number as usize].bytes = bytes;
            }
        }
        touched.clear();
        self.touched = touched;
    }

    /// Everything up to and with `at_ps` has happened: tells the samples up to then.
    fn hand_over(&mut self, at_ps: Time, recorder: &mut dyn Recorder) {
        for watch in 0..self.watches.len() as u32 {
            self.account(watch, at_ps.saturating_add(1));
        }
        if !self.samples.is_empty() {
            self.samples
                .sort_unstable_by_key(|s| (s.at_ps, s.node, s.port));
            recorder.port_queues(&self.samples);
            self.samples.clear();
        }
    }

    fn finish(&mut self, end_ps: Time, recorder: &mut dyn Recorder) {
        self.hand_over(end_ps, recorder);
        let Some((_, bin_bytes)) = self.histogram else {
            return;
        };
        let bins: Vec<QueueBin> = self
            .watches
            .iter()
            .flat_map(|watch| {
                watch.bins.iter().map(move |(bin, samples)| QueueBin {
                    node: watch.node,
                    port: watch.port,
                    peer: watch.peer,
                    bin_bytes: bin * bin_bytes,
                    samples,
                })
            })
            .collect();
        recorder.queue_histogram(&bins);
    }
}

/// Payload received in order, by flow, in the interval that is under way.
#[derive(Debug)]
struct Throughput {
    every_ps: Time,
    /// End of the interval under way.
    end_ps: Time,
    bytes: MixedMap<u32, u64>,
    /// Of intervals that are over.
    records: Vec<ThroughputRecord>,
}

impl Throughput {
    fn new(every_ps: Time) -> Self {
        let every_ps = every_ps.max(1);
        Self {
            every_ps,
            end_ps: every_ps,
            bytes: MixedMap::default(),
            records: Vec::new(),
        }
    }

    // RCD-02
    fn add(&mut self, now: Time, flow: u32, bytes: u64) {
        if now >= self.end_ps {
            self.end_interval();
            self.end_ps = (now / self.every_ps + 1) * self.every_ps;
        }
        *self.bytes.entry(flow).or_default() += bytes;
    }

    fn end_interval(&mut self) {
        let first = self.records.len();
        let at_ps = self.end_ps;
        let ended = self.bytes.drain();
        self.records
            .extend(ended.map(|(flow, bytes)| ThroughputRecord { at_ps, flow, bytes }));
        self.records[first..].sort_unstable_by_key(|record| record.flow);
    }

    /// Everything up to and with `at_ps` has happened: tells the intervals that are over.
    fn hand_over(&mut self, at_ps: Time, recorder: &mut dyn Recorder) {
        if at_ps >= self.end_ps - 1 {
            self.end_interval();
        }
        if !self.records.is_empty() {
            recorder.throughput(&self.records);
            self.records.clear();
        }
    }
}

/// Round trips that senders saw.
#[derive(Debug)]
struct RoundTrips {
    spec: RttHistogram,
    bins: Bins,
}

impl RoundTrips {
    // RCD-07
    fn add(&mut self, now: Time, rtt_ps: Time) {
        let (from_ps, to_ps) = self.spec.window_ps;
        if (from_ps..to_ps).contains(&now) {
            self.bins.add(rtt_ps / self.spec.bin_ps.max(1), 1);
        }
    }

    fn finish(&self, recorder: &mut dyn Recorder) {
        let bin = |(bin, samples)| RttBin {
            bin_ps: bin * self.spec.bin_ps.max(1),
            samples,
        };
        let bins: Vec<RttBin> = self.bins.iter().map(bin).collect();
        recorder.rtt(&bins);
    }
}

/// A data packet that a NIC is about to take: its flow, and what the NIC had delivered before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heard {
    flow: u32,
    delivered_bytes: u64,
}

/// Everything that is recorded besides.
// RCD-01
#[derive(Debug)]
pub(super) struct Recording {
    throughput: Option<Throughput>,
    queues: Option<Queues>,
    rtt: Option<RoundTrips>,
    delays: Option<Delays>,
    waiting: Option<Waiting>,
}

impl Recording {
    /// A packet came to a switch.
    pub fn came(&mut self, now: Time, id: PacketId) {
        if let Some(delays) = &mut self.delays {
            delays.came(now, id);
        }
        if let Some(waiting) = &mut self.waiting {
            waiting.enter(now, id);
        }
    }

    /// A port, of a switch or not, begins to send a frame.
    pub fn leaves(&mut self, now: Time, link: u32, id: PacketId, arena: &Arena, of_switch: bool) {
        if let Some(delays) = &mut self.delays {
            delays.leaves(now, link, id, arena);
        }
        if let Some(waiting) = &mut self.waiting
            && of_switch
        {
            waiting.leave(now, link, id, arena.hot(id));
        }
    }

    /// Of a partition with these switches; `None` where nothing is requested.
    pub fn new(
        spec: &RecordSpec,
        control: &Sending,
        graph: &Graph,
        switches: &[u32],
    ) -> Option<Box<Self>> {
        let pauses = spec.pauses; // another's work
        if *spec
            == (RecordSpec {
                pauses,
                ..RecordSpec::default()
            })
        {
            return None;
        }
        Some(Box::new(Self {
            throughput: spec.throughput_ps.map(Throughput::new),
            queues: Queues::new(spec, graph, switches),
            rtt: spec.rtt.map(|spec| RoundTrips {
                spec,
                bins: Bins::default(),
            }),
            delays: spec
                .delay
                .map(|spec| Delays::new(spec, control, graph, switches)),
            waiting: spec.waiting_ps.map(|window| Waiting::new(window, graph)),
        }))
    }

    /// A packet is about to be taken by a NIC.
    pub fn hear(&mut self, now: Time, id: PacketId, arena: &Arena, nic: &Nic) -> Option<Heard> {
        match arena.hot(id).kind() {
            Kind::Ack => {
                if let Some(rtt) = &mut self.rtt {
                    rtt.add(now, now - arena.cold(id).sent_ps);
                }
                None
            }
            Kind::Data => self.throughput.is_some().then(|| Heard {
                flow: arena.hot(id).flow,
                delivered_bytes: nic.counters().delivered_bytes,
            }),
            _ => None,
        }
    }

    /// The NIC has taken it.
    pub fn heard(&mut self, now: Time, heard: Heard, nic: &Nic) {
        let bytes = nic.counters().delivered_bytes - heard.delivered_bytes;
        if let Some(throughput) = &mut self.throughput
            && bytes > 0
        {
            throughput.add(now, heard.flow, bytes);
        }
    }

    /// The queue of this port may have changed. Whatever joins a queue kicks its port, and only a
    /// port that was kicked sends: a queue cannot change unseen.
    #[inline]
    pub fn touch(&mut self, link: u32) {
        if let Some(queues) = &mut self.queues {
            let watch = queues.watch_of[link as usize];
            if watch != NONE {
                queues.touched.push(watch);
            }
        }
    }

    /// Nothing more happens at this instant.
    #[inline]
    pub fn settle(&mut self, now: Time, switches: &[Switch]) {
        if let Some(queues) = &mut self.queues
            && !queues.touched.is_empty()
        {
            queues.settle(now, switches);
        }
    }

    /// Everything up to and with `at_ps` has happened: tells what is complete.
    pub fn hand_over(&mut self, at_ps: Time, recorder: &mut dyn Recorder) {
        if let Some(queues) = &mut self.queues {
            queues.hand_over(at_ps, recorder);
        }
        if let Some(throughput) = &mut self.throughput {
            throughput.hand_over(at_ps, recorder);
        }
    }

    /// The run ended at `end_ps`: tells the rest.
    pub fn finish(&mut self, end_ps: Time, graph: &Graph, recorder: &mut dyn Recorder) {
        if let Some(queues) = &mut self.queues {
            queues.finish(end_ps, recorder);
        }
        if let Some(throughput) = &mut self.throughput {
            throughput.hand_over(Time::MAX, recorder);
        }
        if let Some(rtt) = &self.rtt {
            rtt.finish(recorder);
        }
        if let Some(delays) = &self.delays {
            delays.finish(recorder);
        }
        if let Some(waiting) = &self.waiting {
            waiting.finish(graph, recorder);
        }
    }
}
