//! The counters of a run, by their names in `summary.json`.

use std::collections::BTreeMap;

use dataplane::nic::DrivenCounters;
use dataplane::sink::DropCause;
use fabric::record::{Counters, DROP_NAMES, Outcome};

/// Returns the number of dropped packets by cause, and their total.
pub(crate) fn drops(counters: &Counters) -> BTreeMap<&'static str, u64> {
    let mut drops: BTreeMap<_, _> = DROP_NAMES.into_iter().zip(counters.drops).collect();
    // XP-03: dropped credits do not count as losses, because the transport controls its rate by
    // credit drops
    let credits = counters.drops[DropCause::CreditLimit as usize];
    drops.insert("total", counters.drops.iter().sum::<u64>() - credits);
    drops
}

/// Returns the fields of the first list with their names. If the struct has a field that is in
/// neither list, the compiler reports an error.
macro_rules! by_name {
    ($Type:ident { $($field:ident),*; $($other:ident),* } = $counters:expr) => {{
        let $Type { $($field,)* $($other: _,)* } = $counters;
        [$((stringify!($field), $field)),*]
    }};
}

/// Returns all counters by name.
pub(crate) fn counters(outcome: &Outcome) -> BTreeMap<&'static str, u64> {
    let all = &outcome.counters;
    let mut counters = BTreeMap::from(by_name!(
        Counters {
            data_packets, acks, naks, cnps, marks, int_hops, link_changes, reroutes,
            rerouted_packets, retransmissions, timeouts, discarded, overtaken, trims, returned;
            packet_hops, events, drops, hop, notices, storms, storms_restored, storm_drops, driven
        } = *all
    ));
    counters.insert("deadlocks", outcome.deadlocks.len() as u64);
    counters.extend(all.hop.iter());
    if all.notices > 0 {
        counters.insert("notices", all.notices);
    }
    if all.storms > 0 {
        counters.insert("storms", all.storms);
        counters.insert("storms_restored", all.storms_restored);
        counters.insert("storm_drops", all.storm_drops);
    }
    counters.extend(by_name!(
        DrivenCounters {
            requests, stops, credits, credits_used, credits_wasted, pulls, grants, headers;
            credits_dropped, returned
        } = all.driven
    ));
    counters.insert("credits_dropped_at_hosts", all.driven.credits_dropped);
    counters.insert("returned_home", all.driven.returned);
    counters
}
