//! Composed collectives: a workload file lists the computations, sends and receives that form one
//! collective.

use std::collections::BTreeMap;

use dataplane::units::Time;

use crate::record::{CollectiveRecord, OperationRecord};

/// Composed collectives of which some operations have ended, but not all, by workload and index in
/// its list of collectives.
#[derive(Debug, Default)]
pub(super) struct OpenComposed(BTreeMap<(u16, u32), Open>);

/// A composed collective of which at least one operation has ended, but not all.
#[derive(Debug)]
struct Open {
    /// Number of operations of the collective that have ended.
    ended: u64,
    /// Time at which each rank started its first operation of the collective.
    started_ps: BTreeMap<u32, Time>,
    whole: CollectiveRecord,
}

impl OpenComposed {
    /// Registers that one of `parts` operations of a composed collective has ended. `number` is the
    /// index of the collective in the list of its workload. `whole` creates the row at the first
    /// operation. Returns the row when all operations have ended.
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
