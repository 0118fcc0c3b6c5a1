//! A list of schemes. A program can add its own schemes until the list is first read.

use std::any::Any;
use std::sync::{Mutex, OnceLock, PoisonError};

/// A value of any type behind a trait object that can be compared with others.
pub(crate) trait AnyEq {
    fn as_any(&self) -> &dyn Any;
    fn is_equal(&self, other: &dyn Any) -> bool;
}

impl<T: PartialEq + 'static> AnyEq for T {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn is_equal(&self, other: &dyn Any) -> bool {
        other.downcast_ref().is_some_and(|other| self == other)
    }
}

/// List with the entries of this crate and those that the program added.
pub(crate) struct List<T: 'static> {
    inside: &'static [T],
    added: Mutex<Vec<T>>,
    all: OnceLock<Vec<T>>,
}

impl<T: Copy> List<T> {
    pub const fn new(inside: &'static [T]) -> Self {
        Self {
            inside,
            added: Mutex::new(Vec::new()),
            all: OnceLock::new(),
        }
    }

    /// Adds an entry.
    ///
    /// # Panics
    /// If the list was read before, or if it has an entry for which `is_same` returns true.
    pub fn add(&self, entry: T, is_same: impl Fn(&T) -> bool, name: &str) {
        let mut added = self.added.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(
            self.all.get().is_none(),
            "add {name} at the start of the program, before a scenario is read"
        );
        let mut others = self.inside.iter().chain(added.iter());
        assert!(
            !others.any(is_same),
            "a scheme with the name or number of {name} exists"
        );
        added.push(entry);
    }

    /// Returns all entries.
    pub fn all(&self) -> &[T] {
        self.all.get_or_init(|| {
            let added = self.added.lock().unwrap_or_else(PoisonError::into_inner);
            self.inside.iter().chain(added.iter()).copied().collect()
        })
    }

    /// Returns the entries that the program added.
    pub fn added(&self) -> &[T] {
        &self.all()[self.inside.len()..]
    }
}
