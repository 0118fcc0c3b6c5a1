//! Problems (errors, warnings, notes) of a scenario: description, position and remedy.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// The text from which a value was read: the scenario file, a `--set` override, or a preset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Name of the source in messages: the path of the file, or `--set`.
    pub name: String,
    /// The complete text of the source.
    pub text: String,
    /// Kind of the source.
    pub kind: SourceKind,
}

/// Kinds of sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// The scenario file.
    File,
    /// An override from the command line.
    Override,
    /// A built-in preset or default.
    BuiltIn,
}

/// A range of the text of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At {
    /// The source that contains the range.
    pub source: Arc<Source>,
    /// Byte range in the text of the source.
    pub span: Range<usize>,
}

impl At {
    /// Line and column of the start of the range, counted from 1. The column counts characters.
    #[must_use]
    pub fn line_column(&self) -> (usize, usize) {
        let text = &self.source.text;
        let start = floor_char(text, self.span.start);
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        let line = before.bytes().filter(|b| *b == b'\n').count() + 1;
        (line, before[line_start..].chars().count() + 1)
    }

    /// Returns the line in which the range starts, without its line end, and the number of
    /// characters of this line in the range (at least 1).
    fn excerpt(&self) -> (&str, usize) {
        let text = &self.source.text;
        let start = floor_char(text, self.span.start);
        let line_start = text[..start].rfind('\n').map_or(0, |i| i + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |i| start + i);
        let end = floor_char(text, self.span.end).clamp(start, line_end);
        let line = text[line_start..line_end].trim_end_matches('\r');
        (line, text[start..end].trim_end().chars().count().max(1))
    }

    /// Returns the TOML comment at the end of the line in which the range starts, without `#`.
    #[must_use]
    pub fn comment(&self) -> Option<&str> {
        let (line, _) = self.excerpt();
        line.rsplit_once("# ").map(|(_, comment)| comment.trim())
    }
}

/// Returns the largest character boundary that is at most `index`.
fn floor_char(text: &str, index: usize) -> usize {
    let mut at = index.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The severity of a [`Problem`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The scenario cannot run.
    Error,
    /// The scenario can run, but perhaps not as intended.
    Warning,
    /// A value is valid, but unusual in real networks of this kind. Runs do not print notes.
    Note,
}

impl Severity {
    /// Name of the severity in output for programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// Code of a [`Problem`] for programs. Codes are stable; messages may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// A file cannot be read.
    Unreadable,
    /// The text is not TOML.
    NotToml,
    /// A `--set` override has no key or no value.
    BadOverride,
    /// The key does not exist.
    UnknownKey,
    /// A required key is missing.
    MissingKey,
    /// The value has the wrong type, or is not a number with a valid unit.
    WrongType,
    /// The value is below the minimum or above the maximum.
    OutOfRange,
    /// No option, host, link or workload has this name.
    UnknownName,
    /// Any other error of one value.
    WrongValue,
    /// The key has no effect with the values of the other keys.
    UselessKey,
    /// The values contradict each other, or do not fit the network.
    ImpossibleSet,
    /// A key of the scenario is omitted, because it does not apply to the chosen preset.
    LeftOut,
    /// The scenario can run, but perhaps not as intended.
    Doubtful,
    /// A value is valid, but unusual in real networks of this kind.
    Unusual,
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
        Self::Unusual,
    ];

    /// Name of the code in output for programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.told().0
    }

    /// Meaning of the code, as one sentence.
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
            Self::MissingKey => ("missing-key", "A required key is missing."),
            Self::WrongType => (
                "wrong-type",
                "A value of another type, or a quantity that is not a number with one of its units.",
            ),
            Self::OutOfRange => ("out-of-range", "A value below the least or above the most."),
            Self::UnknownName => (
                "unknown-name",
                "No option, host, link or workload has this name.",
            ),
            Self::WrongValue => ("wrong-value", "Another error in one value."),
            Self::UselessKey => (
                "useless-key",
                "The key has no effect together with the other keys.",
            ),
            Self::ImpossibleSet => (
                "impossible-set",
                "Values that do not work together, or not with the network.",
            ),
            Self::LeftOut => (
                "left-out",
                "A key that the scenario sets does not apply to the preset of `--scheme`.",
            ),
            Self::Doubtful => (
                "doubtful",
                "The scenario can be run, but its results may not be what you intend.",
            ),
            Self::Unusual => (
                "unusual",
                "A note: the value is valid, and real networks of this kind have another.",
            ),
        }
    }
}

/// One error, warning or note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Error, warning or note.
    pub severity: Severity,
    /// Kind of the problem, for programs.
    pub code: Code,
    /// Dotted path of the key, such as `traffic.0.load.fraction`. Empty if the problem concerns the
    /// whole file.
    pub key: String,
    /// Description of the problem.
    pub message: String,
    /// The expected value, or an action that solves the problem.
    pub hint: Option<String>,
    /// Position of the problem, or `None` if it has no single position.
    pub at: Option<At>,
}

impl Problem {
    /// Line number of the problem, counted from 1. `None`: it has no position.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.at.as_ref().map(|at| at.line_column().0)
    }

    /// Column number of the problem, counted from 1. `None`: it has no position.
    #[must_use]
    pub fn column(&self) -> Option<usize> {
        self.at.as_ref().map(|at| at.line_column().1)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.severity == Severity::Note {
            // A note is printed on one line, without its position.
            let hint = self.hint.as_deref().map(|hint| format!("; {hint}"));
            return write!(f, "note: {}{}", self.message, hint.unwrap_or_default());
        }
        let word = self.severity.name();
        write!(f, "{word}: {}", self.message)?;
        if let Some(at) = &self.at {
            let (line, column) = at.line_column();
            let (text, carets) = at.excerpt();
            let name = &at.source.name;
            let number = line.to_string();
            let margin = " ".repeat(number.len());
            // Tabs are kept, so that the caret is below the marked text.
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

/// The error of a scenario that cannot run. It contains all problems of the scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// The problems (at least one), in the order of the file.
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
    /// Creates an error without a position.
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

/// Returns the known name that is most similar to `wrong`, if a similar one exists.
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
