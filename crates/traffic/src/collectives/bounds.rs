//! Closed forms of collectives: minimum bytes to transfer, and factors for bus bandwidth. // OPS-61

use crate::operations::CollectiveKind;

/// Minimum number of bytes that the busiest member must send or receive: S times a factor, rounded
/// down. `None` for an all-to-allv, whose members have separate sizes. // OPS-61
///
/// The factor is 2 (n − 1)/n for all-reduce, (n − 1)/n for all-gather, reduce-scatter and
/// all-to-all, and 1 for broadcast.
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

/// Returns the factor (bus bandwidth) / (algorithm bandwidth S/time), as in nccl-tests. Bus
/// bandwidth is comparable with the link rate for any number of members. Returns `None` for an
/// all-to-allv and other cases in which S does not measure the transferred bytes; see
/// [`bus_bytes`]. // OPS-61
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

/// Returns the bytes of a collective after one more member has reported its bytes. Each member
/// reports S, so the result is S. For an all-to-allv each member reports its bytes to all members,
/// and the reports are added up. // OPS-31
#[must_use]
pub fn whole_bytes(kind: CollectiveKind, so_far: u64, of_member: u64) -> u64 {
    match kind {
        CollectiveKind::AllToAllV => so_far.saturating_add(of_member),
        _ => so_far.max(of_member),
    }
}

/// Bytes that, divided by the duration, give the bus bandwidth: S times [`bus_factor`], or for an
/// all-to-allv the bytes of the busiest member. `None` if no bus bandwidth is defined. // OPS-61
#[must_use]
pub fn bus_bytes(kind: CollectiveKind, members: u32, bytes: u64, moved: u64) -> Option<f64> {
    match kind {
        CollectiveKind::AllToAllV => (moved > 0).then_some(moved as f64),
        _ => bus_factor(kind, members).map(|factor| factor * bytes as f64),
    }
}

/// Minimum number of bytes that must leave or enter a set of `inside` members of a group, in one
/// direction, with any algorithm. S is the `bytes` of the vector, n the number of `members`; S/n is
/// rounded down. // OPS-62
///
/// The minimum is S for all-reduce and broadcast, (n − `inside`) · S/n for all-gather and
/// reduce-scatter, and `inside` · (n − `inside`) · S/n for all-to-all. It is 0 for a barrier, and
/// for an all-to-allv, for which no bound is known here.
#[must_use]
pub fn least_across(kind: CollectiveKind, members: u32, inside: u32, bytes: u64) -> u64 {
    let outside = members.saturating_sub(inside);
    if inside == 0 || outside == 0 {
        return 0;
    }
    let parts = |count: u64| (bytes / u64::from(members)).saturating_mul(count);
    match kind {
        CollectiveKind::AllReduce | CollectiveKind::Broadcast => bytes,
        CollectiveKind::AllGather | CollectiveKind::ReduceScatter => parts(outside.into()),
        CollectiveKind::AllToAll => parts(u64::from(inside) * u64::from(outside)),
        CollectiveKind::AllToAllV | CollectiveKind::Barrier => 0,
    }
}

/// Minimum number of bytes that must leave the `sets` disjoint sets that together contain all
/// members, summed over the sets. In an all-reduce each byte of the vector needs `sets` − 1
/// transfers between sets for the sum, and as many for the distribution of the sum. For other kinds
/// it is 0, because [`least_across`] of each single set is as strong. // OPS-62
#[must_use]
pub fn least_between(kind: CollectiveKind, sets: u32, bytes: u64) -> u128 {
    match kind {
        CollectiveKind::AllReduce => 2 * u128::from(bytes) * u128::from(sets.saturating_sub(1)),
        _ => 0,
    }
}
