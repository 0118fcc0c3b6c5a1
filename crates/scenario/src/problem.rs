//! What is wrong with a scenario, where, and what to do about it.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A text that a value came from: the scenario file, one `--set` override, or a preset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// How it is named in messages: the path of the file, or `--set`.
    pub name: String,
    /// The whole text.
    pub text: String,
    /// What it is.
    pub kind: SourceKind,
}

/// Kinds of [`Source`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// The scenario.
    File,
    /// An override of the command line.
    Override,
    /// A preset or default that is built in.
    BuiltIn,
}

/// A stretch of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At {
    /// Where from.
    pub source: Arc<Source>,
    /// Bytes of its text.
    pub span: Range<usize>,
}

impl At {
    /// Line and column of the start, both from 1; the column counts characters.
    #[must_use]
    pub fn line_column(&self) -> (usize, usize) {
        let text = &self.source.text;
        let start = floor_char(text, self.span.start);
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        let line = before.bytes().filter(|b| *b == b'\n').count() + 1;
        (line, before[line_start..].chars().count() + 1)
    }

    /// The line that the stretch starts in, without its end, and how many characters of it the
    /// stretch covers (at least 1).
    fn excerpt(&self) -> (&str, usize) {
        let text = &self.source.text;
        let start = floor_char(text, self.span.start);
        let line_start = text[..start].rfind('\n').map_or(0, |i| i + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |i| start + i);
        let end = floor_char(text, self.span.end).clamp(start, line_end);
        let line = text[line_start..line_end].trim_end_matches('\r');
        (line, text[start..end].trim_end().chars().count().max(1))
    }

    /// The comment at the end of the line that the stretch starts in, without its `#`.
    #[must_use]
    pub fn comment(&self) -> Option<&str> {
        let (line, _) = self.excerpt();
        line.rsplit_once("# ").map(|(_, comment)| comment.trim())
    }
}

/// The nearest character boundary at or below `index`.
fn floor_char(text: &str, index: usize) -> usize {
    let mut at = index.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Whether a [`Problem`] stops the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The scenario cannot be run.
    Error,
    /// It can, but its answer may not be what was meant.
    Warning,
}

/// What a [`Problem`] is about, for programs: the message is for people and may change, the code stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// A file cannot be read.
    Unreadable,
    /// The text is not TOML.
    NotToml,
    /// An override of the command line names no key, or no value.
    BadOverride,
    /// There is no such key.
    UnknownKey,
    /// A key that must be there is not.
    MissingKey,
    /// A value of another type, or a quantity that is not a number with one of its units.
    WrongType,
    /// A value below the least or above the most.
    OutOfRange,
    /// No word, host, link or workload has this name.
    UnknownName,
    /// Anything else that is wrong with one value.
    WrongValue,
    /// The key would do nothing beside what the other keys say.
    UselessKey,
    /// Values that cannot go together, or not with the network.
    ImpossibleSet,
    /// A key that the scenario sets is left out, because it does not apply to the preset that was chosen.
    LeftOut,
    /// It can be run, but its answer may not be what was meant.
    Doubtful,
}

impl Code {
    /// All codes.
    pub const ALL: &[Self] = &[
        Self::Unreadable,
        Self::NotToml,
        Self::BadOverride,
        Self::UnknownKey,
        Self::MissingKey,
        Self::WrongType,
        Self::OutOfRange,
        Self::UnknownName,
        Self::WrongValue,
        Self::UselessKey,
        Self::ImpossibleSet,
        Self::LeftOut,
        Self::Doubtful,
    ];

    /// The name that programs see.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.told().0
    }

    /// What it means, in one sentence.
    #[must_use]
    pub const fn about(self) -> &'static str {
        self.told().1
    }

    const fn told(self) -> (&'static str, &'static str) {
        match self {
            Self::Unreadable => ("unreadable", "A file cannot be read."),
            Self::NotToml => ("not-toml", "The text is not TOML."),
            Self::BadOverride => (
                "bad-override",
                "An override of the command line names no key or no value.",
            ),
            Self::UnknownKey => ("unknown-key", "There is no such key."),
            Self::MissingKey => ("missing-key", "A key that must be there is not."),
            Self::WrongType => (
                "wrong-type",
                "A value of another type, or a quantity that is not a number with one of its units.",
            ),
            Self::OutOfRange => ("out-of-range", "A value below the least or above the most."),
            Self::UnknownName => (
                "unknown-name",
                "No word, host, link or workload has this name.",
            ),
            Self::WrongValue => ("wrong-value", "Anything else that is wrong with one value."),
            Self::UselessKey => (
                "useless-key",
                "The key would do nothing beside what the other keys say.",
            ),
            Self::ImpossibleSet => (
                "impossible-set",
                "Values that cannot go together, or not with the network.",
            ),
            Self::LeftOut => (
                "left-out",
                "A key that the scenario sets does not apply to the preset of `--scheme`.",
            ),
            Self::Doubtful => (
                "doubtful",
                "The scenario can be run, but its answer may not be what was meant.",
            ),
        }
    }
}

/// One thing that is wrong or doubtful.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Error or warning.
    pub severity: Severity,
    /// What it is about, for programs.
    pub code: Code,
    /// Dotted path of the key, such as `traffic.0.load.fraction`; empty for the whole file.
    pub key: String,
    /// What is wrong.
    pub message: String,
    /// What was expected, or what to do.
    pub hint: Option<String>,
    /// Where; `None` where no single place is to blame.
    pub at: Option<At>,
}

impl Problem {
    /// Line, from 1, where there is a place.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.at.as_ref().map(|at| at.line_column().0)
    }

    /// Column, from 1, where there is a place.
    #[must_use]
    pub fn column(&self) -> Option<usize> {
        self.at.as_ref().map(|at| at.line_column().1)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{word}: {}", self.message)?;
        if let Some(at) = &self.at {
            let (line, column) = at.line_column();
            let (text, carets) = at.excerpt();
            let name = &at.source.name;
            let number = line.to_string();
            let margin = " ".repeat(number.len());
            // Tabs keep their width so that the caret stands below what it points at.
            let lead: String = text
                .chars()
                .take(column - 1)
                .map(|c| if c == '\t' { '\t' } else { ' ' })
                .collect();
            write!(
                f,
                "\n{margin}--> {name}:{line}:{column}\n{margin} |\n{number} | {text}"
            )?;
            write!(f, "\n{margin} | {lead}{}", "^".repeat(carets))?;
            if let Some(hint) = &self.hint {
                write!(f, "\n{margin} = {hint}")?;
            }
        } else if let Some(hint) = &self.hint {
            write!(f, "\n  = {hint}")?;
        }
        Ok(())
    }
}

/// A scenario that cannot be run, with everything that is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// At least one problem, in the order of the file.
    pub problems: Vec<Problem>,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            if i > 0 {
                write!(f, "\n\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ScenarioError {}

impl ScenarioError {
    /// An error that has no place in a text.
    #[must_use]
    pub fn plain(code: Code, message: impl Into<String>, hint: Option<String>) -> Self {
        let problem = Problem {
            severity: Severity::Error,
            code,
            key: String::new(),
            message: message.into(),
            hint,
            at: None,
        };
        Self {
            problems: vec![problem],
        }
    }
}

/// The name nearest to `wrong`, if one is near enough to be meant.
#[must_use]
pub fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = wrong.to_lowercase();
    known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&lower, &name.to_lowercase()), name))
        .filter(|(score, _)| *score >= 0.78)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}
