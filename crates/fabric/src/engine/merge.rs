//! Records of several partitions in one order, which no number of threads changes.

use std::collections::BTreeMap;

use dataplane::units::Time;

use crate::record::{
    BufferSample, DelayBin, FlowRecord, PauseRecord, QueueBin, QueueSample, Recorder, RttBin,
    ThroughputRecord, WaitingRecord,
};

/// Takes what partitions tell and passes it on as if one had told it.
// PAR-09
#[derive(Debug, Default)]
pub(super) struct Merged {
    flows: Vec<FlowRecord>,
    pauses: Vec<PauseRecord>,
    throughput: Vec<ThroughputRecord>,
    port_queues: Vec<QueueSample>,
    histogram: Option<Vec<QueueBin>>,
    rtt: Option<BTreeMap<Time, u64>>,
    delays: Option<Vec<DelayBin>>,
    waiting: Option<Vec<WaitingRecord>>,
}

impl Recorder for Merged {
    fn flows(&mut self, records: &[FlowRecord]) {
        self.flows.extend_from_slice(records);
    }

    /// Probes look at all partitions at once and tell the recorder themselves.
    fn buffers(&mut self, _samples: &[BufferSample]) {}

    fn pauses(&mut self, records: &[PauseRecord]) {
        self.pauses.extend_from_slice(records);
    }

    fn throughput(&mut self, records: &[ThroughputRecord]) {
        self.throughput.extend_from_slice(records);
    }

    fn port_queues(&mut self, samples: &[QueueSample]) {
        self.port_queues.extend_from_slice(samples);
    }

    fn queue_histogram(&mut self, bins: &[QueueBin]) {
        self.histogram
            .get_or_insert_default()
            .extend_from_slice(bins);
    }

    fn waiting(&mut self, records: &[WaitingRecord]) {
        let all = self.waiting.get_or_insert_default();
        all.extend_from_slice(records);
    }

    fn rtt(&mut self, bins: &[RttBin]) {
        let all = self.rtt.get_or_insert_default();
        for bin in bins {
            *all.entry(bin.bin_ps).or_default() += bin.samples;
        }
    }

    fn delay_histogram(&mut self, bins: &[DelayBin]) {
        self.delays.get_or_insert_default().extend_from_slice(bins);
    }
}

impl Merged {
    /// Passes on all that has gathered.
    pub fn deliver(&mut self, recorder: &mut dyn Recorder) {
        if !self.flows.is_empty() {
            // Flows that never finished come last, in the order of their numbers.
            self.flows
                .sort_unstable_by_key(|r| (r.acked_ps.unwrap_or(Time::MAX), r.flow.id));
            recorder.flows(&self.flows);
            self.flows.clear();
        }
        if !self.pauses.is_empty() {
            self.pauses
                .sort_unstable_by_key(|r| (r.open, r.to_ps, r.node, r.port, r.class, r.from_ps));
            recorder.pauses(&self.pauses);
            self.pauses.clear();
        }
        if !self.throughput.is_empty() {
            self.throughput.sort_unstable_by_key(|r| (r.at_ps, r.flow));
            recorder.throughput(&self.throughput);
            self.throughput.clear();
        }
        if !self.port_queues.is_empty() {
            self.port_queues
                .sort_unstable_by_key(|s| (s.at_ps, s.node, s.port));
            recorder.port_queues(&self.port_queues);
            self.port_queues.clear();
        }
        if let Some(mut bins) = self.histogram.take() {
            bins.sort_unstable_by_key(|bin| (bin.node, bin.port, bin.bin_bytes));
            recorder.queue_histogram(&bins);
        }
        if let Some(mut records) = self.waiting.take() {
            records.sort_unstable_by_key(|r| (r.node, r.port, r.incast));
            recorder.waiting(&records);
        }
        if let Some(bins) = self.rtt.take() {
            let bin = |(bin_ps, samples)| RttBin { bin_ps, samples };
            recorder.rtt(&bins.into_iter().map(bin).collect::<Vec<_>>());
        }
        if let Some(mut bins) = self.delays.take() {
            bins.sort_unstable_by_key(|b| (b.node, b.port, b.scheduled, b.bin_ps));
            recorder.delay_histogram(&bins);
        }
    }
}
