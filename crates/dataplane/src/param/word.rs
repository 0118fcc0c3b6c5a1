//! Values of a key that selects a scheme or an option.

use super::{Conflict, Param, Values};

/// A word that a key of `[scheme]` accepts, with the parameters that belong to it.
#[derive(Debug)]
pub struct Word<C: 'static> {
    /// The word as scenarios write it.
    pub name: &'static str,
    /// Name in messages and documents; empty if the word itself is used.
    pub title: &'static str,
    /// Description of the word; empty if the description of the key includes it.
    pub about: &'static str,
    /// Name of the table that holds the word's parameters.
    pub table: &'static str,
    /// Parameters in that table.
    pub params: &'static [Param],
    /// Returns the configuration that the values of the parameters give.
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
    /// Creates a word whose parameters are in a table of the same name.
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

    /// Creates a word without parameters.
    #[must_use]
    pub const fn plain(name: &'static str, configure: fn(&Values) -> Result<C, Conflict>) -> Self {
        Self::new(name, &[], configure)
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
