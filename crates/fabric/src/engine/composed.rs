//! Collectives that computations, sends and receives of a file make up.

use std::collections::BTreeMap;

use dataplane::units::Time;

use crate::record::{CollectiveRecord, OperationRecord};

/// The collectives of workloads' lists of which some parts have ended and others have not, by the
/// workload and the place in its list.
#[derive(Debug, Default)]
pub(super) struct OpenComposed(BTreeMap<(u16, u32), Open>);

/// A collective of which some parts have ended.
#[derive(Debug)]
struct Open {
    /// Number of parts that have ended.
    ended: u64,
    /// When each rank started its first one.
    started_ps: BTreeMap<u32, Time>,
    whole: CollectiveRecord,
}

impl OpenComposed {
    /// A part of the collective at a place of its workload's list has ended; `parts` is how many there
    /// are, `whole` makes the row where this is the first. Returns the row when all have ended.
    // OPS-38, RNK-20
    pub fn add(
        &mut self,
        record: &OperationRecord,
        number: u32,
        parts: u64,
        whole: impl FnOnce() -> CollectiveRecord,
    ) -> Option<CollectiveRecord> {
        let key = (record.workload, number);
        let open = self.0.entry(key).or_insert_with(|| Open {
            ended: 0,
            started_ps: BTreeMap::new(),
            whole: whole(),
        });
        open.ended += 1;
        let first = open.started_ps.entry(record.rank);
        let first = first.or_insert(record.start_ps);
        *first = record.start_ps.min(*first);
        let last = (open.whole.end_ps, open.whole.last_rank).max((record.end_ps, record.rank));
        (open.whole.end_ps, open.whole.last_rank) = last;
        if open.ended < parts {
            return None;
        }
        let Open {
            started_ps,
            mut whole,
            ..
        } = self.0.remove(&key)?;
        whole.start_ps = started_ps.values().copied().min()?;
        whole.last_start_ps = started_ps.values().copied().max()?;
        Some(whole)
    }
}
