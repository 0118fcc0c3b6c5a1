//! Collective operations as a whole, put together from the operations of their ranks.

use std::collections::BTreeMap;

use traffic::collectives::bounds::bus_factor;
use traffic::operations::CollectiveKind;

use crate::record::{CollectiveRecord, OperationRecord};
use crate::workload::Jobs;

/// Workload, group, and which of the group's collectives.
type Key = (u16, Option<u32>, u64);

/// The collectives that some ranks have ended and others have not.
#[derive(Debug)]
pub(super) struct Collectives {
    jobs: Jobs,
    /// How many of the ranks have ended each.
    open: BTreeMap<Key, (u32, CollectiveRecord)>,
}

impl Collectives {
    pub fn new(jobs: &Jobs) -> Self {
        Self {
            jobs: jobs.clone(),
            open: BTreeMap::new(),
        }
    }

    /// The workloads that they are of.
    pub fn jobs(&self) -> &Jobs {
        &self.jobs
    }

    /// Whether the operations of a workload could not be read.
    // RNK-09
    pub fn failed(&self) -> bool {
        self.jobs.error.get().is_some()
    }

    /// A rank has ended an operation. Returns the collective that is whole with it.
    pub fn add(&mut self, record: &OperationRecord) -> Option<CollectiveRecord> {
        let kind = CollectiveKind::of_word(record.kind)?;
        let key = (record.workload, record.group, record.instance?);
        let members = || {
            let mut jobs = self.jobs.jobs.iter();
            let job = jobs.find(|job| job.number == record.workload);
            job.map_or(0, |job| job.workload.members(record.group).count())
        };
        let (ended, whole) = self.open.entry(key).or_insert_with(|| {
            let ranks = members();
            let whole = CollectiveRecord {
                workload: record.workload,
                group: record.group,
                instance: key.2,
                kind: record.kind,
                ranks,
                bytes: record.bytes,
                start_ps: record.start_ps,
                last_start_ps: record.start_ps,
                end_ps: record.end_ps,
                last_rank: record.rank,
                bus_factor: bus_factor(kind, ranks),
            };
            (0, whole)
        });
        *ended += 1;
        whole.bytes = whole.bytes.max(record.bytes);
        whole.start_ps = whole.start_ps.min(record.start_ps);
        whole.last_start_ps = whole.last_start_ps.max(record.start_ps);
        let last = (whole.end_ps, whole.last_rank).max((record.end_ps, record.rank));
        (whole.end_ps, whole.last_rank) = last;
        let is_whole = *ended == whole.ranks;
        is_whole.then(|| self.open.remove(&key).map(|(_, whole)| whole))?
    }
}
