//! Closed forms: what collectives cost at least, and what reports divide by. // OPS-61

use crate::operations::CollectiveKind;

/// Bytes that the busiest member must send or receive at least: S times a factor, rounded down. None
/// for an all-to-allv, whose sizes are its own. // OPS-61
///
/// All-reduce 2 (n − 1)/n S; all-gather, reduce-scatter, all-to-all (n − 1)/n S; broadcast S.
#[must_use]
pub fn least_bytes(kind: CollectiveKind, members: u32, bytes: u64) -> Option<u64> {
    let (n, bytes) = (u128::from(members.max(1)), u128::from(bytes));
    let least = match kind {
        CollectiveKind::AllReduce => 2 * bytes * (n - 1) / n,
        CollectiveKind::AllGather | CollectiveKind::ReduceScatter | CollectiveKind::AllToAll => {
            bytes * (n - 1) / n
        }
        CollectiveKind::Broadcast if n > 1 => bytes,
        CollectiveKind::Broadcast | CollectiveKind::Barrier => 0,
        CollectiveKind::AllToAllV => return None,
    };
    u64::try_from(least).ok()
}

/// Bus bandwidth divided by algorithm bandwidth, S/time: what makes it comparable with the speed
/// of a link, whatever n. None where S is no measure of the work. // OPS-61
#[must_use]
pub fn bus_factor(kind: CollectiveKind, members: u32) -> Option<f64> {
    let n = f64::from(members);
    if members < 2 {
        return None;
    }
    match kind {
        CollectiveKind::AllReduce => Some(2.0 * (n - 1.0) / n),
        CollectiveKind::AllGather | CollectiveKind::ReduceScatter | CollectiveKind::AllToAll => {
            Some((n - 1.0) / n)
        }
        CollectiveKind::Broadcast => Some(1.0),
        CollectiveKind::AllToAllV | CollectiveKind::Barrier => None,
    }
}
