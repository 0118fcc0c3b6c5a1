//! The error type of this crate.

use std::fmt;

/// Position of an error in a text. Line and column count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Line number.
    pub line: usize,
    /// Column number, in characters.
    pub column: usize,
}

/// An error with its position and a message that contains the problem and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Position in the text, if the error is in a text. It does not contain the name of the file.
    pub place: Option<Place>,
    /// Description of the error, what was expected, and what to do.
    pub message: String,
}

impl Error {
    /// Creates an error without a position.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            place: None,
            message: message.into(),
        }
    }

    /// Creates an error at a position.
    pub(crate) fn at(line: usize, column: usize, message: impl Into<String>) -> Self {
        Self {
            place: Some(Place { line, column }),
            message: message.into(),
        }
    }

    /// Puts the name of the item with the error before the message.
    pub(crate) fn of(mut self, what: impl fmt::Display) -> Self {
        self.message = format!("{what}: {}", self.message);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Place { line, column }) = self.place {
            write!(f, "line {line}, column {column}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// Maximum number of errors of one file that are reported individually. Further errors are only
/// counted.
const MOST_FAULTS: usize = 20;

/// All errors of a file.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    errors: Vec<Error>,
    more: u64,
}

impl Faults {
    pub(crate) fn add(&mut self, error: Error) {
        match self.errors.len() < MOST_FAULTS {
            true => self.errors.push(error),
            false => self.more += 1,
        }
    }

    /// Returns the value of a successful result, or collects the error of a failed one.
    pub(crate) fn note<T>(&mut self, result: Result<T, Error>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.add(error);
                None
            }
        }
    }

    /// Returns all collected errors, or `Ok` if there are none.
    pub(crate) fn result(mut self) -> Result<(), Vec<Error>> {
        if self.more > 0 {
            let what = format!("{} more errors in this file are not shown", self.more);
            self.errors.push(Error::new(what));
        }
        if self.errors.is_empty() {
            Ok(())
        } else {
            Err(self.errors)
        }
    }
}

/// Returns the candidate that is most similar to `word`, if one is similar enough.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let word: String = word.chars().take(64).collect();
    let mut best: Option<(&str, f64)> = None;
    for candidate in candidates {
        let score = strsim::jaro_winkler(&word, candidate);
        if score > best.map_or(0.7, |(_, score)| score) {
            best = Some((candidate, score));
        }
    }
    best.map(|(candidate, _)| candidate)
}

/// Shortens a word to 40 characters and escapes control characters, for a message.
pub(crate) fn shown(word: &str) -> String {
    let mut text: String = word.chars().take(40).flat_map(char::escape_debug).collect();
    if word.chars().nth(40).is_some() {
        text.push('…');
    }
    text
}
