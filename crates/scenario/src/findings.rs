//! Findings of checks.

use std::collections::BTreeMap;

use dataplane::properties::Finding;

use crate::problem::{At, Code, Problem, Severity, SourceKind};

/// Collects the findings of checks, each at the position of a key.
pub(crate) struct Findings<'a> {
    pub(crate) places: &'a BTreeMap<String, At>,
    pub(crate) problems: Vec<Problem>,
}

impl Findings<'_> {
    fn add(&mut self, severity: Severity, code: Code, keys: &[&str], message: String, hint: &str) {
        let mut places = keys.iter().filter_map(|k| Some((k, self.places.get(*k)?)));
        let found = places.find(|(_, at)| at.source.kind != SourceKind::BuiltIn);
        let at = found.map(|(_, at)| at.clone());
        // The first key that the scenario has, or the one that it should have.
        let key = found.map(|(key, _)| key).or(keys.first());
        let key = key.copied().unwrap_or_default().to_owned();
        self.problems.push(Problem {
            severity,
            code,
            key,
            message,
            hint: Some(hint.to_owned()),
            at,
        });
    }

    pub(crate) fn error(&mut self, keys: &[&str], message: String, hint: &str) {
        self.add(Severity::Error, Code::ImpossibleSet, keys, message, hint);
    }

    /// Adds a finding of a scheme.
    pub(crate) fn of_scheme(&mut self, finding: Finding) {
        match finding {
            Finding::Wrong(said) => self.error(said.keys, said.message, &said.hint),
            Finding::Doubtful(said) => self.warn(said.keys, said.message, &said.hint),
        }
    }

    /// Adds a note about a value that is valid and unusual.
    pub(crate) fn note(&mut self, keys: &[&str], message: String, hint: &str) {
        self.add(Severity::Note, Code::Unusual, keys, message, hint);
    }

    pub(crate) fn warn(&mut self, keys: &[&str], message: String, hint: &str) {
        self.add(Severity::Warning, Code::Doubtful, keys, message, hint);
    }
}
