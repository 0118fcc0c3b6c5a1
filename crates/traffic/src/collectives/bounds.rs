//! Closed forms: minimum costs of collectives, and the factors of bus bandwidth. // OPS-61

use crate::operations::CollectiveKind;

/// Minimum number of bytes that the busiest member must send or receive: S times a factor, rounded
/// down. `None` for an all-to-allv, which has individual sizes. // OPS-61
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

/// Returns the ratio of bus bandwidth and algorithm bandwidth S/time. Bus bandwidth is comparable
/// with the rate of a link for any n. Returns `None` if S does not measure the work. For an
/// all-to-allv the bytes of the busiest member are used instead. // OPS-61
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

/// Combines the bytes of a collective that its members report one by one. Each reports S. For an
/// all-to-allv each reports its bytes to all members, and these are added up. // OPS-31
#[must_use]
pub fn whole_bytes(kind: CollectiveKind, so_far: u64, of_member: u64) -> u64 {
    match kind {
        CollectiveKind::AllToAllV => so_far.saturating_add(of_member),
        _ => so_far.max(of_member),
    }
}

/// Bytes that define the bus bandwidth: S times [`bus_factor`], or for an all-to-allv the bytes of
/// the busiest member. `None` if there is no bus bandwidth. // OPS-61
#[must_use]
pub fn bus_bytes(kind: CollectiveKind, members: u32, bytes: u64, moved: u64) -> Option<f64> {
    match kind {
        CollectiveKind::AllToAllV => (moved > 0).then_some(moved as f64),
        _ => bus_factor(kind, members).map(|factor| factor * bytes as f64),
    }
}

/// Minimum number of bytes that must leave or enter a set with `inside` members of a group, in one
/// direction, with any algorithm. Parts of S/n are rounded down. // OPS-62
///
/// Members outside need the sum or the parts of the members inside, or the other way round. For an
/// all-to-allv the function knows no bound.
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

/// Minimum number of bytes that must leave all of `sets` sets, which contain all members, in total.
/// In an all-reduce each byte of the sum needs `sets` − 1 sends to be added up, and as many to be
/// distributed. For other kinds the bounds of single sets are as strong. // OPS-62
#[must_use]
pub fn least_between(kind: CollectiveKind, sets: u32, bytes: u64) -> u128 {
    match kind {
        CollectiveKind::AllReduce => 2 * u128::from(bytes) * u128::from(sets.saturating_sub(1)),
        _ => 0,
    }
}
