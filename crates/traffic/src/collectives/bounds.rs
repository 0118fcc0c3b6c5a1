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
/// of a link, whatever n. None where S is no measure of the work; of an all-to-allv it is what the
/// busiest member sends or receives. // OPS-61
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

/// Bytes of a collective, as its members say them one by one: each says S; of an all-to-allv what it
/// has for all, and these add up. // OPS-31
#[must_use]
pub fn whole_bytes(kind: CollectiveKind, so_far: u64, of_member: u64) -> u64 {
    match kind {
        CollectiveKind::AllToAllV => so_far.saturating_add(of_member),
        _ => so_far.max(of_member),
    }
}

/// Bytes whose speed is the bus bandwidth: S times [`bus_factor`]; of an all-to-allv those that the
/// busiest member moves. None: there is no such speed. // OPS-61
#[must_use]
pub fn bus_bytes(kind: CollectiveKind, members: u32, bytes: u64, moved: u64) -> Option<f64> {
    match kind {
        CollectiveKind::AllToAllV => (moved > 0).then_some(moved as f64),
        _ => bus_factor(kind, members).map(|factor| factor * bytes as f64),
    }
}

/// Bytes that must cross the edge of a set with `inside` of a group's members, in one direction at
/// least, whatever the algorithm. Parts of S/n are rounded down. // OPS-62
///
/// What is outside needs the sum, or the parts, of what is inside, or the other way round. Of an
/// all-to-allv nothing is known here.
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

/// Bytes that must leave this number of sets, which hold all members, taken together: of an
/// all-reduce each byte of the sum needs m − 1 sends to be added up, and m − 1 to be known
/// everywhere. For other kinds the sets one by one say as much. // OPS-62
#[must_use]
pub fn least_between(kind: CollectiveKind, sets: u32, bytes: u64) -> u128 {
    match kind {
        CollectiveKind::AllReduce => 2 * u128::from(bytes) * u128::from(sets.saturating_sub(1)),
        _ => 0,
    }
}
