//! Counters of PFC, the hop schemes and the link schemes.

use std::ops::Index;

use super::{COUNTER_LISTS, Hop, LIST};
use crate::declaration::Counter;
use crate::link;
use crate::pipeline::Pipeline;
use crate::pipeline::pfc::Pfc;

/// Counters of all schemes that send frames to neighbours, PFC first. Counters of unused schemes
/// are 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HopCounters(Vec<u64>);

impl Default for HopCounters {
    fn default() -> Self {
        Self(vec![0; Self::names().count()])
    }
}

impl HopCounters {
    /// Returns the counters of a switch.
    pub(crate) fn of(hop: &Hop, core: &Pipeline) -> Self {
        let mut counters = Self::default();
        let (own, others) = counters.0.split_at_mut(Pfc::COUNTERS.len());
        core.pfc.count(core.queueing.gate.expired_pauses(), own);
        hop.count_all(core, others);
        let of_links = core.links.iter().flat_map(|links| links.counted(false));
        of_links.for_each(|(name, count)| counters.add_to(name, count));
        if let Hop::Outside(state) = hop {
            let counted = state.counted(core).into_iter();
            counted.for_each(|(name, count)| counters.add_to(name, count));
        }
        counters
    }

    fn names() -> impl Iterator<Item = &'static Counter> {
        let lists = COUNTER_LISTS.iter().chain(link::COUNTER_LISTS).copied();
        lists
            .chain(LIST.added().iter().map(|word| word.counters))
            .flatten()
    }

    /// Returns the name and value of each counter. Optional counters of 0 are left out.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let all = Self::names().zip(self.0.iter().copied());
        all.filter(|(counter, count)| !counter.optional || *count > 0)
            .map(|(counter, count)| (counter.name, count))
    }

    /// Adds a value to a counter, for nodes other than switches. Ignores names of which no scheme
    /// has a counter.
    pub fn add_to(&mut self, name: &str, more: u64) {
        if let Some(nth) = Self::names().position(|counter| counter.name == name) {
            self.0[nth] += more;
        }
    }

    /// Adds the counters of another switch. For counters of maxima, keeps the larger value.
    pub fn add(&mut self, other: &Self) {
        for ((own, more), counter) in self.0.iter_mut().zip(&other.0).zip(Self::names()) {
            *own = match counter.largest {
                true => (*own).max(*more),
                false => *own + *more,
            };
        }
    }
}

impl Index<&str> for HopCounters {
    type Output = u64;

    /// # Panics
    /// If no scheme has a counter of this name.
    fn index(&self, name: &str) -> &u64 {
        let nth = Self::names().position(|counter| counter.name == name);
        match nth {
            Some(nth) => &self.0[nth],
            None => panic!("no scheme counts `{name}`"),
        }
    }
}
