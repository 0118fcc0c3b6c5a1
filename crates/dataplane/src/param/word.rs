//! Values of a key that selects a scheme or an option.

use super::{Conflict, Param, Values};

/// A value of a key of `[scheme]`, as data.
#[derive(Debug)]
pub struct Word<C: 'static> {
    /// The value.
    pub name: &'static str,
    /// Name in messages and documents; empty if it is the value.
    pub title: &'static str,
    /// Description; empty if the description of the key includes it.
    pub about: &'static str,
    /// Name of the table of its parameters.
    pub table: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// Returns its configuration for values of the parameters.
    pub configure: fn(&Values) -> Result<C, Conflict>,
}

// A derived implementation would require `C: Clone`.
impl<C> Clone for Word<C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Word<C> {}

impl<C> Word<C> {
    /// Creates a value whose parameters are in a table of the same name.
    #[must_use]
    pub const fn new(
        name: &'static str,
        params: &'static [Param],
        configure: fn(&Values) -> Result<C, Conflict>,
    ) -> Self {
        Self {
            name,
            title: "",
            about: "",
            table: name,
            params,
            configure,
        }
    }

    /// Creates a value without parameters.
    #[must_use]
    pub const fn plain(name: &'static str, configure: fn(&Values) -> Result<C, Conflict>) -> Self {
        Self::new(name, &[], configure)
    }

    /// Sets the name of the table of its parameters.
    #[must_use]
    pub const fn in_table(self, table: &'static str) -> Self {
        Self { table, ..self }
    }

    /// Sets the title, and the description: a phrase for the help of the key, or a sentence.
    #[must_use]
    pub const fn titled(self, title: &'static str, about: &'static str) -> Self {
        Self {
            title,
            about,
            ..self
        }
    }
}
