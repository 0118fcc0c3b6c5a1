//! The look-up table that replaces a division (HPCC paper §4.3).

use std::fmt;
use std::sync::Arc;

use crate::param::{Field, Value};

/// How HPCC divides by U/η.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Division {
    /// Exactly.
    #[default]
    Exact,
    /// By a table of reciprocals. All copies of the configuration share this table.
    Table(Arc<Reciprocals>),
}

/// Creates the table with the largest relative error that the scenario sets. Without this key,
/// division is exact.
impl Field for Division {
    fn of(value: Option<&Value>) -> Self {
        Option::of(value).map_or(Self::Exact, |epsilon| {
            Self::Table(Arc::new(Reciprocals::new(epsilon)))
        })
    }
}

/// Largest integer whose reciprocal is needed.
const LARGEST: u32 = 1 << 22;
/// Index of U/η = 1: U/η is looked up in steps of 1/4096, up to 1024.
const ONE: f64 = 4096.0;

/// Table of 1/n for integers n up to 2²². An integer without an entry uses the entry of the next
/// lower integer that has one. The table has the fewest entries that keep the relative error below
/// ε.
#[derive(Clone, PartialEq)]
pub struct Reciprocals {
    epsilon: f64,
    /// The integers that have an entry, ascending from 1.
    keys: Vec<u32>,
    /// Reciprocal of each integer in `keys`.
    values: Vec<f32>,
}

impl fmt::Debug for Reciprocals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reciprocals")
            .field("epsilon", &self.epsilon)
            .field("entries", &self.entries())
            .finish()
    }
}

impl Reciprocals {
    /// Creates the table whose relative error is at most `epsilon`, which is between 0 and 1.
    // HPCC-35: table of reciprocals
    #[must_use]
    pub fn new(epsilon: f64) -> Self {
        let epsilon = epsilon.clamp(1e-6, 0.5);
        let mut keys = Vec::new();
        let mut next = 1u32;
        while next <= LARGEST {
            keys.push(next);
            // The first integer whose reciprocal is smaller by the relative error ε.
            let far = (f64::from(next) / (1.0 - epsilon)).ceil() as u32;
            next = far.max(next + 1);
        }
        Self {
            epsilon,
            values: keys.iter().map(|n| (1.0 / f64::from(*n)) as f32).collect(),
            keys,
        }
    }

    /// The largest error ε for which the table was made.
    #[must_use]
    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.keys.len()
    }

    /// Returns the size of the table in bytes: four for each integer and four for its reciprocal.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.entries() * 8
    }

    /// Returns 1/`n` from the table, for n ≥ 1.
    #[must_use]
    pub fn reciprocal(&self, n: u32) -> f64 {
        let above = self.keys.partition_point(|key| *key <= n);
        f64::from(self.values[above.saturating_sub(1)])
    }

    /// Returns 1/`n` from the table in units of 2^-32, rounded down, at most 2^32 - 1, for n ≥ 1.
    // HPCC-41: the NIC's circuit
    #[must_use]
    pub fn word(&self, n: u32) -> u32 {
        let above = self.keys.partition_point(|key| *key <= n);
        let key = self.keys[above.saturating_sub(1)];
        ((1 << 32) / u64::from(key)).min(u64::from(u32::MAX)) as u32
    }

    /// Returns the integers that have an entry, ascending from 1.
    #[must_use]
    pub fn keys(&self) -> &[u32] {
        &self.keys
    }

    /// Returns 1/`x` from the table, with `x` rounded to 1/4096.
    #[must_use]
    pub fn inverse(&self, x: f64) -> f64 {
        let n = (x * ONE + 0.5).clamp(1.0, f64::from(LARGEST)) as u32;
        self.reciprocal(n) * ONE
    }
}
