//! Rows of collective operations, combined from the rows of the operations of their ranks.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use traffic::collectives::bounds::{bus_bytes, whole_bytes};
use traffic::operations::{CollectiveKind, Composed};

use super::Plan;
use super::composed::OpenComposed;
use super::member_links::{MemberLinks, needed_ps};
use crate::record::{CollectiveRecord, OperationRecord};
use crate::topology::Graph;
use crate::workload::{Job, Jobs};

/// Key of a collective: the workload, the group of ranks, and the index of the collective in the
/// group.
type Key = (u16, Option<u32>, u64);

/// Collectives that some of their ranks have ended, but not all.
#[derive(Debug)]
pub(super) struct Collectives {
    jobs: Jobs,
    graph: Arc<Graph>,
    /// Payload fraction of the bytes of a full frame.
    payload_share: f64,
    open: BTreeMap<Key, Open>,
    composed: OpenComposed,
    /// Properties of each group of ranks of a workload. Only groups that have ended a collective
    /// have an entry.
    groups: BTreeMap<(u16, Option<u32>), Group>,
}

/// A collective that at least one rank has ended, but not all.
#[derive(Debug)]
struct Open {
    /// Number of ranks that have ended the collective.
    ended: u32,
    /// For an all-to-allv, the maximum over all ranks: the bytes that one rank sends or receives,
    /// and the time in ps that the links of its host need for these bytes.
    moved: (u64, f64),
    whole: CollectiveRecord,
}

/// Properties that all collectives of a group of ranks share.
#[derive(Debug)]
struct Group {
    name: Option<Arc<str>>,
    ranks: u32,
    links: MemberLinks,
}

impl Group {
    fn new(graph: &Graph, job: &Job, group: Option<u32>) -> Self {
        Self {
            name: group.map(|_| job.workload.group_name(group).into()),
            ranks: job.workload.members(group).count(),
            links: MemberLinks::new(graph, job, group),
        }
    }

    /// Creates the row of a collective when the first of its ranks has ended it.
    fn begun(
        &self,
        record: &OperationRecord,
        group: Option<u32>,
        instance: u64,
        kind: CollectiveKind,
    ) -> CollectiveRecord {
        CollectiveRecord {
            workload: record.workload,
            group,
            group_name: self.name.clone(),
            instance,
            composed: false,
            kind: kind.word(),
            ranks: self.ranks,
            bytes: 0,
            start_ps: record.start_ps,
            last_start_ps: record.start_ps,
            end_ps: record.end_ps,
            last_rank: record.rank,
            bus_bytes: None,
            least_ps: None,
        }
    }
}

impl Collectives {
    pub fn new(plan: &Plan) -> Self {
        let nic = &plan.nic;
        Self {
            jobs: plan.jobs.clone(),
            graph: Arc::clone(&plan.graph),
            payload_share: f64::from(nic.mtu) / f64::from(nic.data_bytes(nic.mtu)),
            open: BTreeMap::new(),
            composed: OpenComposed::default(),
            groups: BTreeMap::new(),
        }
    }

    /// Returns the workloads of the collectives.
    pub fn jobs(&self) -> &Jobs {
        &self.jobs
    }

    /// Returns true if the file of a workload could not be read completely.
    // RNK-09
    pub fn failed(&self) -> bool {
        self.jobs.error.get().is_some()
    }

    /// Registers that a rank has ended an operation. Returns the row of the collective if all ranks
    /// have ended it.
    // RNK-12
    pub fn add(&mut self, record: &OperationRecord) -> Option<CollectiveRecord> {
        if let Some(number) = record.part_of {
            return self.add_part(record, number);
        }
        let kind = CollectiveKind::of_word(record.kind)?;
        let of = (record.workload, record.group);
        let group = group_of(&mut self.groups, &self.jobs, &self.graph, of)?;
        let key = (record.workload, record.group, record.instance?);
        let open = self.open.entry(key).or_insert_with(|| Open {
            ended: 0,
            moved: (0, 0.0),
            whole: group.begun(record, of.1, key.2, kind),
        });
        open.ended += 1;
        let whole = &mut open.whole;
        whole.start_ps = whole.start_ps.min(record.start_ps);
        whole.last_start_ps = whole.last_start_ps.max(record.start_ps);
        let last = (whole.end_ps, whole.last_rank).max((record.end_ps, record.rank));
        (whole.end_ps, whole.last_rank) = last;
        whole.bytes = whole_bytes(kind, whole.bytes, record.bytes);
        if kind == CollectiveKind::AllToAllV {
            let bytes = record.moved_bytes;
            let rate_bps = group.links.host_bps(&self.graph, record.host);
            let least_ps = needed_ps(bytes as f64, rate_bps, self.payload_share);
            open.moved = (open.moved.0.max(bytes), open.moved.1.max(least_ps));
        }
        if open.ended < group.ranks {
            return None;
        }
        let Open {
            moved: (moved_bytes, moved_ps),
            mut whole,
            ..
        } = self.open.remove(&key)?;
        whole.bus_bytes = bus_bytes(kind, group.ranks, whole.bytes, moved_bytes);
        // RNK-17: the links of the members bound the bandwidth
        whole.least_ps = match kind {
            CollectiveKind::AllToAllV => {
                (moved_bytes > 0 && group.links.are_apart()).then_some(moved_ps)
            }
            _ => (group.links).least_ps(kind, whole.bytes, self.payload_share),
        };
        Some(whole)
    }

    /// Registers that a rank has ended one operation of a collective that the workload lists as
    /// composed. Returns the row of the collective if all its operations have ended.
    // RNK-20
    fn add_part(&mut self, record: &OperationRecord, number: u32) -> Option<CollectiveRecord> {
        let jobs = &self.jobs.jobs;
        let job = jobs.iter().find(|job| job.number == record.workload)?;
        let &Composed {
            kind,
            group: of_group,
            bytes,
            parts,
        } = job.workload.collectives.get(number as usize)?;
        let of = (record.workload, of_group);
        let group = group_of(&mut self.groups, &self.jobs, &self.graph, of)?;
        let whole = || CollectiveRecord {
            bytes,
            composed: true,
            ..group.begun(record, of_group, number.into(), kind)
        };
        let mut whole = self.composed.add(record, number, parts, whole)?;
        whole.bus_bytes = bus_bytes(kind, group.ranks, bytes, 0);
        whole.least_ps = group.links.least_ps(kind, bytes, self.payload_share);
        Some(whole)
    }
}

/// Returns the shared properties of a group of ranks of a workload, and creates them at the first
/// call.
fn group_of<'a>(
    groups: &'a mut BTreeMap<(u16, Option<u32>), Group>,
    jobs: &Jobs,
    graph: &Graph,
    of: (u16, Option<u32>),
) -> Option<&'a Group> {
    Some(match groups.entry(of) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(place) => {
            let job = jobs.jobs.iter().find(|job| job.number == of.0)?;
            place.insert(Group::new(graph, job, of.1))
        }
    })
}
