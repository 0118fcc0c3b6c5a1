//! Reads the TOML tree of a scenario, and collects all errors and warnings.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use dataplane::param::{Param, Value as ParamValue};
use dataplane::units::Time;

use crate::document::{Entry, Node, Table, Value, error};
use crate::problem::{At, Code, Problem, Severity, SourceKind, nearest};
use crate::units::{Dimension, TIME, parse_fraction};

/// The origin of a value, for `resolved.toml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The scenario sets the value.
    Scenario,
    /// The command line sets the value.
    Override,
    /// A default or a preset sets the value. The text is the comment for `resolved.toml`.
    BuiltIn(String),
}

/// State that is collected while one scenario is read.
#[derive(Default)]
pub(crate) struct Context {
    pub problems: RefCell<Vec<Problem>>,
    /// Origin of each value that was read, by dotted path.
    pub origins: RefCell<BTreeMap<String, Origin>>,
    /// Computed defaults, by the dotted path of their table.
    pub computed: RefCell<BTreeMap<String, Vec<Computed>>>,
    /// Values whose text in `resolved.toml` differs from the text in the scenario, by dotted path.
    pub rewritten: RefCell<BTreeMap<String, String>>,
    /// Properties of the network on which defaults depend; `None` before the network is built.
    pub network: Cell<Option<NetworkFacts>>,
    /// Values of parameters that depend on the network. They are checked after the scenario is
    /// read.
    pub noted: RefCell<Vec<Noted>>,
}

/// Properties of a network on which defaults depend.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NetworkFacts {
    /// Largest base round trip between two hosts, in ps.
    pub base_rtt_ps: Time,
    /// Sum of the times that both hosts need to process a packet and its ACK, in ps.
    pub hosts_ps: Time,
    /// Rate of the slowest host in bits per second, by which defaults are scaled. `None` disables
    /// scaling.
    pub host_bps: Option<u64>,
    /// True if a link can lose frames or fail.
    pub loses_frames: bool,
}

/// The value of a parameter that depends on the network, for a later check.
#[derive(Clone, Debug)]
pub(crate) struct Noted {
    /// Dotted path of the table that contains the parameter.
    pub table: String,
    pub param: &'static Param,
    pub value: ParamValue,
    /// True if the value is a default that the scenario does not override.
    pub is_default: bool,
}

/// A default that is computed while the scenario is read.
#[derive(Clone, Debug)]
pub(crate) struct Computed {
    pub key: String,
    /// The value as TOML text.
    pub text: String,
    pub why: String,
}

/// The reason why a value is refused, and a hint about valid values.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub code: Code,
    pub message: String,
    pub hint: Option<String>,
}

/// Result of reading one value: the value, or the reason why it is refused.
pub(crate) type Read<T> = Result<T, Refusal>;

/// Returns an error: the value is invalid.
pub(crate) fn refuse<T>(message: impl Into<String>, hint: impl Into<String>) -> Read<T> {
    refuse_as(Code::WrongValue, message, hint)
}

/// Returns an error with this code.
pub(crate) fn refuse_as<T>(
    code: Code,
    message: impl Into<String>,
    hint: impl Into<String>,
) -> Read<T> {
    Err(Refusal {
        code,
        message: message.into(),
        hint: Some(hint.into()),
    })
}

/// Returns an error: the value has another type than expected.
fn wrong_type<T>(node: &Node, expected: &str, hint: impl Into<String>) -> Read<T> {
    let message = format!("expected {expected}, found {}", node.kind());
    refuse_as(Code::WrongType, message, hint)
}

impl Context {
    pub fn error(
        &self,
        code: Code,
        at: &At,
        key: &str,
        message: impl Into<String>,
        hint: Option<String>,
    ) {
        self.problems
            .borrow_mut()
            .push(error(code, at.clone(), key, message, hint));
    }

    pub fn warn(
        &self,
        code: Code,
        at: Option<&At>,
        key: &str,
        message: impl Into<String>,
        hint: Option<String>,
    ) {
        self.problems.borrow_mut().push(Problem {
            severity: Severity::Warning,
            code,
            key: key.to_owned(),
            message: message.into(),
            hint,
            at: at.cloned(),
        });
    }

    /// Records whether the scenario, the command line or a preset sets the value at a path.
    pub fn note(&self, path: &str, at: &At) {
        let origin = match at.source.kind {
            SourceKind::File => Origin::Scenario,
            SourceKind::Override => Origin::Override,
            SourceKind::BuiltIn => Origin::BuiltIn(at.comment().unwrap_or_default().to_owned()),
        };
        self.origins.borrow_mut().insert(path.to_owned(), origin);
    }

    /// Records a computed default, with its value as TOML text.
    pub fn compute(&self, table: &str, key: &str, text: String, why: &str) {
        let value = Computed {
            key: key.to_owned(),
            text,
            why: why.to_owned(),
        };
        self.computed
            .borrow_mut()
            .entry(table.to_owned())
            .or_default()
            .push(value);
    }

    /// Records that `resolved.toml` must contain the full path of a file, because a run of
    /// `resolved.toml` starts in another folder.
    pub fn rewrite(&self, path: &str, file: &std::path::Path) {
        self.rewritten
            .borrow_mut()
            .insert(path.to_owned(), file.to_string_lossy().into_owned());
    }

    /// True if at least one error was reported.
    pub fn failed(&self) -> bool {
        self.problems
            .borrow()
            .iter()
            .any(|p| p.severity == Severity::Error)
    }
}

/// A table that is being read. The keys that the code queries are the allowed keys of the table.
pub(crate) struct Section<'a> {
    pub context: &'a Context,
    pub table: &'a Table,
    /// Dotted path of the table; empty for the top level.
    pub path: String,
    /// Position of the table in the text.
    pub at: At,
    known: RefCell<Vec<&'static str>>,
}

impl<'a> Section<'a> {
    pub fn new(context: &'a Context, table: &'a Table, path: impl Into<String>, at: At) -> Self {
        Self {
            context,
            table,
            path: path.into(),
            at,
            known: RefCell::default(),
        }
    }

    /// Returns the dotted path of a key.
    pub fn child(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }

    /// Name of the table for messages.
    fn title(&self) -> String {
        if self.path.is_empty() {
            "the scenario".to_owned()
        } else {
            format!("[{}]", self.path)
        }
    }

    /// Returns the entry of a key, if it exists. Marks the key as allowed.
    pub fn entry(&self, key: &'static str) -> Option<&'a Entry> {
        self.known.borrow_mut().push(key);
        self.table.get(key)
    }

    /// True if the table contains the key. Marks the key as allowed.
    pub fn has(&self, key: &'static str) -> bool {
        self.entry(key).is_some()
    }

    /// Reads an optional key. Returns `None` if it is missing or invalid.
    pub fn optional<T>(&self, key: &'static str, read: impl FnOnce(&Node) -> Read<T>) -> Option<T> {
        let entry = self.entry(key)?;
        self.read(entry, read)
    }

    /// Reads a required key. Reports an error if it is missing or invalid.
    pub fn required<T>(
        &self,
        key: &'static str,
        example: &str,
        read: impl FnOnce(&Node) -> Read<T>,
    ) -> Option<T> {
        match self.entry(key) {
            Some(entry) => self.read(entry, read),
            None => {
                self.missing(key, example);
                None
            }
        }
    }

    /// Reports that a required key is missing.
    pub fn missing(&self, key: &str, example: &str) {
        let message = format!("{} needs `{key}`", self.title());
        let hint = format!("for example {key} = {example}");
        let path = self.child(key);
        self.context
            .error(Code::MissingKey, &self.at, &path, message, Some(hint));
    }

    fn read<T>(&self, entry: &Entry, read: impl FnOnce(&Node) -> Read<T>) -> Option<T> {
        let path = self.child(&entry.key);
        match read(&entry.node) {
            Ok(value) => {
                self.context.note(&path, &entry.node.at);
                Some(value)
            }
            Err(refusal) => {
                let message = format!("`{}`: {}", entry.key, refusal.message);
                self.context
                    .error(refusal.code, &entry.node.at, &path, message, refusal.hint);
                None
            }
        }
    }

    /// Returns the table under a key, if the key exists and is a table.
    pub fn section(&self, key: &'static str) -> Option<Section<'a>> {
        self.section_or(key, || {
            format!("write [{}] or {key} = {{ ... }}", self.child(key))
        })
    }

    /// Like `section`. If the key does not contain a table, the error shows a hint.
    pub fn section_or(
        &self,
        key: &'static str,
        hint: impl FnOnce() -> String,
    ) -> Option<Section<'a>> {
        let entry = self.entry(key)?;
        match &entry.node.value {
            Value::Table(table) => {
                // A table from dotted keys or a header has no text range of its own, so the error
                // marks its key.
                let at = if entry.node.at.span.is_empty() {
                    &entry.key_at
                } else {
                    &entry.node.at
                };
                Some(Section::new(
                    self.context,
                    table,
                    self.child(key),
                    at.clone(),
                ))
            }
            _ => {
                let message = format!("`{key}` is {}, not a table", entry.node.kind());
                let path = self.child(key);
                self.context.error(
                    Code::WrongType,
                    &entry.node.at,
                    &path,
                    message,
                    Some(hint()),
                );
                None
            }
        }
    }

    /// Reports an error at the value of a key, or at the table if the key is not set.
    pub fn complain(&self, key: &str, message: impl Into<String>, hint: impl Into<String>) {
        self.refuse_keys(Code::WrongValue, &[key], message, hint);
    }

    /// Reports an error that several keys cause together, at the first key that the user has set.
    pub fn complain_of(&self, keys: &[&str], message: impl Into<String>, hint: impl Into<String>) {
        self.refuse_keys(Code::ImpossibleSet, keys, message, hint);
    }

    /// Reports an error with this code, at the first of the keys that the user has set.
    pub fn refuse_keys(
        &self,
        code: Code,
        keys: &[&str],
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        let path = self.child(keys[0]);
        self.context
            .error(code, self.blame(keys), &path, message, Some(hint.into()));
    }

    /// Reports a warning that several keys cause together.
    pub fn warn_of(&self, keys: &[&str], message: impl Into<String>, hint: impl Into<String>) {
        let at = self.blame(keys);
        let at = (at.source.kind != SourceKind::BuiltIn).then_some(at);
        let path = self.child(keys[0]);
        self.context
            .warn(Code::Doubtful, at, &path, message, Some(hint.into()));
    }

    /// Returns the position of the first key that the user has set, else of the first key with a
    /// built-in value, else of the table.
    fn blame(&self, keys: &[&str]) -> &At {
        let places = || {
            keys.iter()
                .filter_map(|k| self.table.get(k))
                .map(|e| &e.node.at)
        };
        places()
            .find(|at| at.source.kind != SourceKind::BuiltIn)
            .or_else(|| places().next())
            .unwrap_or(&self.at)
    }

    /// Reports a key that has no effect with the values of the other keys of the table.
    pub fn refuse_useless(&self, key: &'static str, why: &str) {
        if let Some(entry) = self.entry(key)
            && entry.key_at.source.kind != SourceKind::BuiltIn
        {
            let message = format!("`{key}` would do nothing: {why}");
            let hint = "take it out, or change what it depends on".to_owned();
            let path = self.child(key);
            self.context
                .error(Code::UselessKey, &entry.key_at, &path, message, Some(hint));
        }
    }

    /// Reports every unknown key, that is, every key that the code has not queried.
    pub fn finish(&self) {
        let known = self.known.borrow();
        for entry in &self.table.entries {
            if known.contains(&entry.key.as_str()) {
                continue;
            }
            let hint = match nearest(&entry.key, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => {
                    let mut names: Vec<&str> = known.clone();
                    names.sort_unstable();
                    names.dedup();
                    format!("known here: {}", names.join(", "))
                }
            };
            let message = format!("unknown key `{}` in {}", entry.key, self.title());
            let path = self.child(&entry.key);
            self.context
                .error(Code::UnknownKey, &entry.key_at, &path, message, Some(hint));
        }
    }
}

/// Reads a string.
pub(crate) fn string(node: &Node) -> Read<String> {
    match &node.value {
        Value::String(s) => Ok(s.clone()),
        _ => wrong_type(node, "a string", "write it in quotes"),
    }
}

/// Maximum length of a name in bytes. The name can be the path of a file.
const MAX_NAME_BYTES: usize = 4_096;

/// Reads a string that is a valid name: not empty, and not too long.
pub(crate) fn name(node: &Node) -> Read<String> {
    let text = string(node)?;
    let is_printable = !text.chars().any(char::is_control);
    if !text.is_empty() && text.len() <= MAX_NAME_BYTES && is_printable {
        return Ok(text);
    }
    refuse(
        format!("a name has 1 to {MAX_NAME_BYTES} bytes, all of them printable"),
        "for example \"background\"",
    )
}

/// Reads one of several words, and returns the value of the word.
pub(crate) fn choice<T: Copy>(node: &Node, options: &[(&'static str, T)]) -> Read<T> {
    let text = string(node)?;
    if let Some((_, value)) = options.iter().find(|(name, _)| *name == text) {
        return Ok(*value);
    }
    let names: Vec<&str> = options.iter().map(|(name, _)| *name).collect();
    let hint = match nearest(&text, names.iter().copied()) {
        Some(near) => format!("did you mean \"{near}\"? There are: {}", names.join(", ")),
        None => format!("there are: {}", names.join(", ")),
    };
    refuse_as(Code::UnknownName, format!("there is no \"{text}\""), hint)
}

/// Reads true or false.
pub(crate) fn boolean(node: &Node) -> Read<bool> {
    match &node.value {
        Value::Bool(b) => Ok(*b),
        _ => wrong_type(node, "true or false", "true or false"),
    }
}

/// Reads a quantity with a unit. The limits `min` and `max` are in the base unit.
pub(crate) fn quantity(node: &Node, of: &Dimension, min: u64, max: u64) -> Read<u64> {
    let example = format!("write a {} with its unit, such as {}", of.noun, of.example);
    let text = match &node.value {
        Value::String(text) => text,
        Value::Integer(..) | Value::Float(_) => {
            return refuse_as(
                Code::WrongType,
                format!("a {} needs a unit", of.noun),
                example,
            );
        }
        _ => {
            return wrong_type(node, &format!("a {}", of.noun), example);
        }
    };
    let value = match of.parse(text) {
        Ok(value) => value,
        Err(message) => return refuse_as(Code::WrongType, message, example),
    };
    if value < min || value > max {
        let range = format!("it must be from {} to {}", of.show(min), of.show(max));
        return refuse_as(
            Code::OutOfRange,
            format!("{} is out of range", of.show(value)),
            range,
        );
    }
    Ok(value)
}

/// Reads a pair of times in ps. The first must be before the second, and both at most `max`.
pub(crate) fn time_window(node: &Node, max: u64) -> Read<(u64, u64)> {
    let hint = "two times, from and to: [\"0us\", \"5ms\"]";
    let Value::Array(items) = &node.value else {
        return wrong_type(node, "two times", hint);
    };
    let [from, to] = &items[..] else {
        return refuse(
            format!("{} values, but a window has two", items.len()),
            hint,
        );
    };
    let from = quantity(from, &TIME, 0, max)?;
    let to = quantity(to, &TIME, 0, max)?;
    if from >= to {
        return refuse("the window ends before it begins", hint);
    }
    Ok((from, to))
}

/// Reads a whole number from `min` to `max`.
pub(crate) fn count(node: &Node, min: u64, max: u64) -> Read<u64> {
    let expected = format!("a whole number from {min} to {max}");
    match &node.value {
        Value::Integer(digits, radix) => match u64::from_str_radix(digits, *radix) {
            Ok(value) if (min..=max).contains(&value) => Ok(value),
            _ => refuse_as(
                Code::OutOfRange,
                format!("{digits} is out of range"),
                format!("it must be {expected}"),
            ),
        },
        Value::Float(text) => refuse_as(
            Code::WrongType,
            format!("{text} is not a whole number"),
            format!("it must be {expected}"),
        ),
        _ => wrong_type(node, &expected, &*expected),
    }
}

/// Reads a number from `min` to `max`.
pub(crate) fn number(node: &Node, min: f64, max: f64) -> Read<f64> {
    let expected = format!("a number from {min} to {max}");
    let value = match &node.value {
        Value::Integer(digits, radix) => {
            i64::from_str_radix(digits, *radix).map_or(f64::INFINITY, |i| i as f64)
        }
        Value::Float(text) => text.parse().unwrap_or(f64::NAN),
        _ => {
            return wrong_type(node, &expected, &*expected);
        }
    };
    in_range(value, min, max, &expected)
}

/// Reads a fraction, as a number or a percentage, from `min` to `max`.
pub(crate) fn fraction(node: &Node, min: f64, max: f64) -> Read<f64> {
    let expected = format!("a fraction from {min} to {max}, such as 0.55 or \"55%\"");
    match &node.value {
        Value::String(text) => match parse_fraction(text) {
            Ok(value) => in_range(value, min, max, &expected),
            Err(message) => refuse_as(Code::WrongType, message, format!("write {expected}")),
        },
        Value::Integer(..) | Value::Float(_) => match number(node, min, max) {
            Ok(value) => Ok(value),
            Err(refusal) => refuse_as(refusal.code, refusal.message, format!("write {expected}")),
        },
        _ => wrong_type(node, &expected, &*expected),
    }
}

fn in_range(value: f64, min: f64, max: f64, expected: &str) -> Read<f64> {
    if value >= min && value <= max {
        return Ok(value);
    }
    refuse_as(
        Code::OutOfRange,
        format!("{value} is out of range"),
        format!("it must be {expected}"),
    )
}

/// Reads an array, and returns its items.
pub(crate) fn array<'n>(node: &'n Node, what: &str) -> Read<&'n [Node]> {
    match &node.value {
        Value::Array(items) => Ok(items),
        _ => wrong_type(node, what, what),
    }
}
