//! Results of workloads in `summary.json`.

use std::collections::BTreeMap;

use fabric::record::{CollectiveRecord, RankRecord};
use serde::Serialize;

/// Results of one workload. All times are in ps.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WorkloadSummary {
    /// Name of the workload.
    pub name: String,
    /// Number of ranks.
    pub ranks: u32,
    /// Number of ranks whose operations have all ended.
    pub finished: u32,
    /// Number of operations that have ended.
    pub operations: u64,
    /// Time from the start of the ranks to the end of the last rank; `None`: some ranks have not
    /// ended.
    pub took_ps: Option<u64>,
    /// The rank that ended last. `None`: some ranks have not ended.
    pub last_rank: Option<u32>,
    /// Total time during which a rank computed: mean over the ranks.
    pub mean_computing_ps: f64,
    /// Total time during which a rank communicated without computing: mean over the ranks.
    pub mean_exposed_ps: f64,
    /// Total time during which a rank communicated without computing: maximum over the ranks.
    pub max_exposed_ps: u64,
    /// Total time during which a rank neither computed nor communicated: mean over the ranks.
    pub mean_idle_ps: f64,
    /// Number of collectives that have ended on all ranks of their groups.
    pub collectives: u64,
    /// Duration of a collective from its first start to its last end: mean over the collectives.
    pub mean_collective_ps: Option<f64>,
    /// Duration of a collective from its first start to its last end: maximum over the collectives.
    pub max_collective_ps: Option<u64>,
    /// Bus bandwidth of a collective, in bit/s: mean over the collectives that define one.
    pub mean_bus_bps: Option<f64>,
    /// Bus bandwidth of a collective, in bit/s: minimum over the collectives that define one.
    pub min_bus_bps: Option<f64>,
}

/// Sums up the records of ranks and collectives, by workload.
#[derive(Debug, Default)]
pub(crate) struct WorkloadTally {
    of: BTreeMap<u16, Sums>,
}

#[derive(Debug, Default)]
struct Sums {
    summary: WorkloadSummary,
    end_ps: u64,
    computing_ps: u64,
    exposed_ps: u64,
    idle_ps: u64,
    collective_ps: u64,
    bus_bps: f64,
    with_bus: u64,
}

impl WorkloadTally {
    pub fn ranks(&mut self, records: &[RankRecord]) {
        for record in records {
            let sums = self.of.entry(record.workload).or_default();
            let of = &mut sums.summary;
            of.ranks += 1;
            of.operations += u64::from(record.ended);
            of.max_exposed_ps = of.max_exposed_ps.max(record.exposed_ps);
            sums.computing_ps += record.computing_ps;
            sums.exposed_ps += record.exposed_ps;
            sums.idle_ps += record.idle_ps;
            if let Some(end_ps) = record.end_ps {
                of.finished += 1;
                if of.last_rank.is_none() || end_ps > sums.end_ps {
                    of.last_rank = Some(record.rank);
                    of.took_ps = Some(end_ps - record.start_ps);
                    sums.end_ps = end_ps;
                }
            }
        }
    }

    pub fn collectives(&mut self, records: &[CollectiveRecord]) {
        for record in records {
            let sums = self.of.entry(record.workload).or_default();
            let took_ps = record.end_ps - record.start_ps;
            let of = &mut sums.summary;
            of.collectives += 1;
            of.max_collective_ps = of.max_collective_ps.max(Some(took_ps));
            sums.collective_ps += took_ps;
            if let Some(bus_bps) = record.bus_bps() {
                of.min_bus_bps = Some(of.min_bus_bps.map_or(bus_bps, |least| least.min(bus_bps)));
                sums.bus_bps += bus_bps;
                sums.with_bus += 1;
            }
        }
    }

    /// Returns the results of each workload. `names` are the names of all traffic sources.
    pub fn summaries(&self, names: &[String]) -> Vec<WorkloadSummary> {
        let one = |(number, sums): (&u16, &Sums)| {
            let ranks = f64::from(sums.summary.ranks.max(1));
            let whole = sums.summary.finished == sums.summary.ranks;
            let mean = |sum: f64, of: u64| (of > 0).then(|| sum / of as f64);
            WorkloadSummary {
                name: names[usize::from(*number)].clone(),
                took_ps: sums.summary.took_ps.filter(|_| whole),
                last_rank: sums.summary.last_rank.filter(|_| whole),
                mean_computing_ps: sums.computing_ps as f64 / ranks,
                mean_exposed_ps: sums.exposed_ps as f64 / ranks,
                mean_idle_ps: sums.idle_ps as f64 / ranks,
                mean_collective_ps: mean(sums.collective_ps as f64, sums.summary.collectives),
                mean_bus_bps: mean(sums.bus_bps, sums.with_bus),
                ..sums.summary.clone()
            }
        };
        self.of.iter().map(one).collect()
    }
}
