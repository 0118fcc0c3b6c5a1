//! Sets of equal-cost paths between switches.

use std::collections::HashMap;

use dataplane::units::Time;

use crate::topology::Graph;

/// Maximum number of equal-cost paths between two switches that are stored individually. If more
/// paths remain after dominated ones are removed, one path replaces them that is at least as good
/// as each of them.
// TOP-16
const MAX_ALTERNATIVES: usize = 32;

/// A path between two switches: for each link its rate in bits per second and its delay in ps.
pub(super) type Core = Vec<(u64, Time)>;

/// Sets of equal-cost paths between switches. Each set is stored once and has an index.
#[derive(Clone, Debug)]
pub(super) struct Cores {
    pub(super) sets: Vec<Vec<Core>>,
    numbers: HashMap<Vec<Core>, u32>,
    /// Index of the set that results if all paths of a set are extended by one link, by the indices
    /// of the set and of the kind of link.
    extended: HashMap<(u32, u32), u32>,
    /// Index of the union of two sets, by their indices.
    joined: HashMap<(u32, u32), u32>,
}

/// Index of the set from a switch to itself: one path without links.
pub(super) const HERE: u32 = 0;

impl Cores {
    pub(super) fn new() -> Self {
        let here = vec![Core::new()];
        Self {
            sets: vec![here.clone()],
            numbers: HashMap::from([(here, HERE)]),
            extended: HashMap::new(),
            joined: HashMap::new(),
        }
    }

    fn number(&mut self, paths: Vec<Core>) -> u32 {
        let paths = best(paths);
        if let Some(&number) = self.numbers.get(&paths) {
            return number;
        }
        let number = self.sets.len() as u32;
        self.sets.push(paths.clone());
        self.numbers.insert(paths, number);
        number
    }

    pub(super) fn extend(&mut self, graph: &Graph, set: u32, kind: u32) -> u32 {
        if let Some(&number) = self.extended.get(&(set, kind)) {
            return number;
        }
        let link = graph.link_spec(kind);
        let mut paths = self.sets[set as usize].clone();
        for path in &mut paths {
            path.push((link.rate.bps(), link.delay_ps));
        }
        let number = self.number(paths);
        self.extended.insert((set, kind), number);
        number
    }

    pub(super) fn join(&mut self, a: u32, b: u32) -> u32 {
        if a == b {
            return a;
        }
        if let Some(&number) = self.joined.get(&(a, b)) {
            return number;
        }
        let paths = [a, b]
            .iter()
            .flat_map(|&set| self.sets[set as usize].clone())
            .collect();
        let number = self.number(paths);
        self.joined.insert((a, b), number);
        number
    }
}

fn total_delay(path: &Core) -> u128 {
    path.iter().map(|&(_, delay_ps)| u128::from(delay_ps)).sum()
}

/// Returns true if a flow of any size is at least as fast on `a` as on `b`: no link is slower, and
/// the total delay is not longer. The distribution of the delay over the path does not matter.
fn at_least_as_good(a: &Core, b: &Core) -> bool {
    a.iter().zip(b).all(|(a, b)| a.0 >= b.0) && total_delay(a) <= total_delay(b)
}

/// Removes dominated paths: those for which another path is at least as good. // TOP-16
fn best(mut paths: Vec<Core>) -> Vec<Core> {
    paths.sort_unstable();
    paths.dedup();
    let beaten = |i: usize| {
        paths.iter().enumerate().any(|(j, other)| {
            j != i
                && at_least_as_good(other, &paths[i])
                && (j < i || !at_least_as_good(&paths[i], other))
        })
    };
    let beaten: Vec<bool> = (0..paths.len()).map(beaten).collect();
    let mut beaten = beaten.into_iter();
    paths.retain(|_| beaten.next() == Some(false));
    if paths.len() > MAX_ALTERNATIVES {
        vec![sum_up(&paths)]
    } else {
        paths
    }
}

/// Returns a path that is at least as good as each of the given paths: the best rate and delay of
/// each link.
fn sum_up(paths: &[Core]) -> Core {
    let mut sum = paths[0].clone();
    for path in paths {
        for (best, link) in sum.iter_mut().zip(path) {
            *best = (best.0.max(link.0), best.1.min(link.1));
        }
    }
    sum
}
