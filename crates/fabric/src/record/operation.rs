//! Rows of `operations.parquet`, `collectives.parquet` and `ranks.parquet`.

use std::sync::Arc;

use dataplane::units::Time;

use super::table::{Column, Row, columns};
use crate::ids::NodeId;

/// An operation of a rank that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationRecord {
    /// ID of the workload among the traffic sources.
    pub workload: u16,
    /// ID of the rank.
    pub rank: u32,
    /// Index of the operation among those of the rank.
    pub index: u32,
    /// Host of the rank.
    pub host: NodeId,
    /// Kind of operation.
    pub kind: &'static str,
    /// Other rank of a send or a receive; `None`: there is none, or it is unknown.
    pub peer: Option<u32>,
    /// Group of a collective; `None`: all ranks, or the operation is not a collective.
    pub group: Option<u32>,
    /// Index of the collective in its group; `None`: the operation is not a collective.
    pub instance: Option<u64>,
    /// Index of the composed collective that contains the operation, in the list of the workload
    /// file; `None`: no composed collective contains it.
    pub part_of: Option<u32>,
    /// Payload bytes.
    pub bytes: u64,
    /// For an all-to-allv: the bytes that the rank sends to other ranks or receives from them,
    /// whichever is larger.
    pub moved_bytes: u64,
    /// Time at which the dependencies of the operation were met, ps.
    pub ready_ps: Time,
    /// Time at which the operation started, ps.
    pub start_ps: Time,
    /// Time at which the operation ended, ps.
    pub end_ps: Time,
    /// Index of the operation of this rank whose end was the last condition for the start; `None`:
    /// the operation had no condition.
    pub released_by: Option<u32>,
    /// Rank and index of the operation whose message ended this operation; `None`: no message ended
    /// it.
    pub ended_by: Option<(u32, u32)>,
}

impl Row for OperationRecord {
    const TABLE: &'static str = "operations";
    const ABOUT: &'static str = "An operation of a workload that has ended.";
    const COLUMNS: &'static [Column<Self>] = columns! {
        TrafficName workload = |r| r.workload.into(), "Name of the workload.";
        U32 rank, "Its rank.";
        U32 index, "Its place in the list of its rank.";
        U32 host = |r| r.host.bits(), "The host of the rank.";
        Word kind, "What it did.";
        OptionU32 peer, "The other rank of a send or a receive.";
        OptionU32 group, "Group of a collective, by its place in the workload; null: all ranks.";
        OptionU64 instance, "Which of the group's collectives it was.";
        OptionU32 part_of,
            "The collective of the file's list that it was a part of: its `instance` among those \
             that are `composed`.";
        U64 bytes, "Payload.";
        U64 ready_ps, "When its dependencies were met.";
        U64 start_ps, "When it started.";
        U64 end_ps, "When it ended.";
        OptionU32 released_by,
            "The operation of this rank that it waited for last before it started.";
        OptionU32 ended_by_rank = |r| r.ended_by.map(|by| by.0), "The rank whose message ended it.";
        OptionU32 ended_by_index = |r| r.ended_by.map(|by| by.1), "The operation of that rank.";
    };

    /// Sorts the rows by the end time of the operation.
    fn order(rows: &mut Vec<Self>) {
        rows.sort_unstable_by_key(|r| (r.end_ps, r.workload, r.rank, r.index));
    }
}

/// A collective operation of a group that all members have ended.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectiveRecord {
    /// ID of the workload among the traffic sources.
    pub workload: u16,
    /// Group of the collective; `None`: all ranks.
    pub group: Option<u32>,
    /// Name of the group; `None`: all ranks.
    pub group_name: Option<Arc<str>>,
    /// Index of the collective in its group. For a composed collective, the index in the list of
    /// the workload file.
    pub instance: u64,
    /// True if the collective is composed: the workload file lists its computations, sends and
    /// receives.
    pub composed: bool,
    /// Kind of collective.
    pub kind: &'static str,
    /// Number of participating ranks.
    pub ranks: u32,
    /// Bytes of the whole vector. For an all-to-allv, the total bytes of all members.
    pub bytes: u64,
    /// Time at which the first rank started the collective, ps.
    pub start_ps: Time,
    /// Time at which the last rank started the collective, ps.
    pub last_start_ps: Time,
    /// Time at which the last rank ended the collective, ps.
    pub end_ps: Time,
    /// The rank that ended the collective last.
    pub last_rank: u32,
    /// Bytes for the bus bandwidth: the vector's bytes times a factor of the kind of collective.
    /// For an all-to-allv: the maximum bytes that one member sends or receives. `None`: not
    /// defined.
    pub bus_bytes: Option<f64>,
    /// Minimum time that the links of the members' hosts need, ps; `None`: no traffic crosses these
    /// links, or the time is unknown.
    pub least_ps: Option<f64>,
}

impl CollectiveRecord {
    /// Returns the algorithm bandwidth in bit/s: bytes of the vector divided by the time from the
    /// first start to the last end.
    // RNK-12
    #[must_use]
    pub fn algorithm_bps(&self) -> Option<f64> {
        let speed_bps = self.speed_bps(self.bytes as f64);
        speed_bps.filter(|&bps| bps > 0.0)
    }

    /// Returns the bus bandwidth in bit/s, which is comparable with the rate of a link for any
    /// number of ranks.
    // RNK-12
    #[must_use]
    pub fn bus_bps(&self) -> Option<f64> {
        self.speed_bps(self.bus_bytes?)
    }

    /// Returns `bytes` divided by the time from the first start to the last end, in bit/s.
    fn speed_bps(&self, bytes: f64) -> Option<f64> {
        let took_ps = self.end_ps - self.start_ps;
        (took_ps > 0).then(|| bytes * 8e12 / took_ps as f64)
    }

    /// Returns the maximum bus bandwidth in bit/s that the links of the members' hosts allow.
    // RNK-17
    #[must_use]
    pub fn bound_bps(&self) -> Option<f64> {
        Some(self.bus_bytes? * 8e12 / self.least_ps?)
    }
}

impl Row for CollectiveRecord {
    const TABLE: &'static str = "collectives";
    const ABOUT: &'static str = "A collective operation that all its ranks have ended.";
    const COLUMNS: &'static [Column<Self>] = columns! {
        TrafficName workload = |r| r.workload.into(), "Name of the workload.";
        OptionU32 group, "Its group, by its place in the workload; null: all ranks.";
        OptionText group_name = |r| r.group_name.clone(), "The name of the group.";
        U64 instance,
            "Which of the group's collectives it was; of a composed one its place in the list of \
             the workload's file.";
        Bool composed, "Sends, receives and computations of the file make it up.";
        Word kind, "What it did.";
        U32 ranks, "How many took part.";
        U64 bytes,
            "Bytes of the whole vector; of an all-to-allv those that all members have for each.";
        U64 start_ps, "When the first rank started it.";
        U64 last_start_ps, "When the last rank started it.";
        U64 end_ps, "When the last rank ended it.";
        U32 last_rank, "That rank.";
        OptionF64 algorithm_bps = Self::algorithm_bps,
            "Bytes of the vector over the time from the first start to the last end, in bit/s.";
        OptionF64 bus_bps = Self::bus_bps,
            "The same times the factor of its kind, comparable with the rate of a link; of an \
             all-to-allv that of its busiest member.";
        OptionF64 bound_bps = Self::bound_bps,
            "The bus bandwidth that the links of its members' hosts allow at most; null: not \
             known.";
    };

    /// Sorts the rows by the end time of the collective.
    fn order(rows: &mut Vec<Self>) {
        rows.sort_unstable_by_key(|r| (r.end_ps, r.workload, r.group, r.composed, r.instance));
    }
}

/// Summary of a rank of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankRecord {
    /// ID of the workload among the traffic sources.
    pub workload: u16,
    /// ID of the rank.
    pub rank: u32,
    /// Host of the rank.
    pub host: NodeId,
    /// Number of operations of the rank that have ended.
    pub ended: u32,
    /// Total number of operations of the rank.
    pub operations: u32,
    /// Time at which the rank started, ps.
    pub start_ps: Time,
    /// End time of the rank's last operation, ps; `None`: some operations have not ended.
    pub end_ps: Option<Time>,
    /// Total time during which the rank computed, ps.
    pub computing_ps: Time,
    /// Total time during which the rank sent, received or took part in a collective without
    /// computing, ps.
    pub exposed_ps: Time,
    /// Total time, until the end of the rank, during which it had no active operation, ps.
    pub idle_ps: Time,
}

impl Row for RankRecord {
    const TABLE: &'static str = "ranks";
    const ABOUT: &'static str = "A rank of a workload.";
    const COLUMNS: &'static [Column<Self>] = columns! {
        TrafficName workload = |r| r.workload.into(), "Name of the workload.";
        U32 rank, "The rank.";
        U32 host = |r| r.host.bits(), "Its host.";
        U32 ended, "Operations that have ended.";
        U32 operations, "All its operations.";
        U64 start_ps, "When it started.";
        OptionU64 end_ps, "When its last operation ended.";
        U64 computing_ps, "Time in which it computed.";
        U64 exposed_ps,
            "Exposed communication: it sent, received or waited for messages, and did not \
             compute.";
        U64 idle_ps, "Time up to its end in which no operation was under way.";
    };

    /// Sorts by workload and rank.
    fn order(rows: &mut Vec<Self>) {
        rows.sort_unstable_by_key(|r| (r.workload, r.rank));
    }
}
