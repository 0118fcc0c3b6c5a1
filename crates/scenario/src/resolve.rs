//! Writes `resolved.toml`: the scenario with explicit values of all keys, and the origin of each
//! value.

use std::fmt::Write as _;

use crate::document::{Node, Table, Value};
use crate::reader::{Context, Origin};

/// Order of the tables in `resolved.toml`.
const ORDER: &[&str] = &[
    "topology", "switch", "traffic", "workload", "run", "record", "scheme",
];

/// Writes the whole scenario as TOML. Reading the output gives the same scenario.
pub(crate) fn write(root: &Table, context: &Context, note: &str) -> String {
    let mut writer = Writer {
        context,
        out: String::new(),
    };
    for line in note.lines() {
        let _ = writeln!(writer.out, "# {line}");
    }
    writer.scalars(root, "");
    for key in ORDER {
        if let Some(entry) = root.get(key) {
            writer.entry(key, &entry.node, key);
        }
    }
    writer.out
}

struct Writer<'a> {
    context: &'a Context,
    out: String,
}

impl Writer<'_> {
    /// Writes a table or an array of tables with its header.
    fn entry(&mut self, header: &str, node: &Node, path: &str) {
        match &node.value {
            Value::Table(table) => {
                let _ = writeln!(self.out, "\n[{header}]");
                self.table(header, table, path);
            }
            Value::Array(items) => {
                for (i, item) in items.iter().enumerate() {
                    if let Value::Table(table) = &item.value {
                        let _ = writeln!(self.out, "\n[[{header}]]");
                        self.table(header, table, &format!("{path}.{i}"));
                    }
                }
            }
            _ => {}
        }
    }

    /// Writes the contents of a table: first single values, then its subtables.
    fn table(&mut self, header: &str, table: &Table, path: &str) {
        self.scalars(table, path);
        for entry in &table.entries {
            let inner = format!("{path}.{}", entry.key);
            if matches!(entry.node.value, Value::Table(_)) && self.was_read(&inner) {
                self.entry(
                    &format!("{header}.{}", key(&entry.key)),
                    &entry.node,
                    &inner,
                );
            }
        }
    }

    /// True if the key at a path, or a key below it, was read.
    fn was_read(&self, path: &str) -> bool {
        let below = format!("{path}.");
        let origins = self.context.origins.borrow();
        // The next path after `path` can be that of another table: `scheme.pfc-tag.frame` is before
        // `scheme.pfc.xoff`.
        let inside = origins.range(below.clone()..).next();
        origins.contains_key(path)
            || inside.is_some_and(|(p, _)| p.starts_with(&below))
            || self.context.computed.borrow().contains_key(path)
    }

    fn scalars(&mut self, table: &Table, path: &str) {
        for entry in &table.entries {
            let inner = if path.is_empty() {
                entry.key.clone()
            } else {
                format!("{path}.{}", entry.key)
            };
            if matches!(entry.node.value, Value::Table(_)) {
                continue;
            }
            let origins = self.context.origins.borrow();
            let Some(origin) = origins.get(&inner) else {
                continue;
            };
            let value = match self.context.rewritten.borrow().get(&inner) {
                Some(file) => quoted(file),
                None => literal(&entry.node),
            };
            let from = match origin {
                Origin::Scenario => "scenario",
                Origin::Override => "--set",
                Origin::BuiltIn(why) => why,
            };
            let _ = writeln!(self.out, "{} = {value}  # {from}", key(&entry.key));
        }
        for computed in self
            .context
            .computed
            .borrow()
            .get(path)
            .into_iter()
            .flatten()
        {
            let _ = writeln!(
                self.out,
                "{} = {}  # {}",
                key(&computed.key),
                computed.text,
                computed.why
            );
        }
    }
}

/// Formats a value as TOML.
fn literal(node: &Node) -> String {
    match &node.value {
        Value::String(text) => quoted(text),
        Value::Integer(digits, 2) => format!("0b{digits}"),
        Value::Integer(digits, 8) => format!("0o{digits}"),
        Value::Integer(digits, 16) => format!("0x{digits}"),
        Value::Integer(digits, _) | Value::Float(digits) => digits.clone(),
        Value::Bool(value) => value.to_string(),
        // No key accepts a date, so this value does not occur.
        Value::Datetime => String::new(),
        Value::Array(items) if items.iter().any(|i| matches!(i.value, Value::Table(_))) => {
            let lines: Vec<String> = items
                .iter()
                .map(|i| format!("    {},\n", literal(i)))
                .collect();
            format!("[\n{}]", lines.concat())
        }
        Value::Array(items) => {
            format!(
                "[{}]",
                items.iter().map(literal).collect::<Vec<_>>().join(", ")
            )
        }
        Value::Table(table) => {
            let pair =
                |e: &crate::document::Entry| format!("{} = {}", key(&e.key), literal(&e.node));
            format!(
                "{{ {} }}",
                table
                    .entries
                    .iter()
                    .map(pair)
                    .collect::<Vec<_>>()
                    .join(", ")
            )
        }
    }
}

/// Formats a string in quotes, with TOML escapes.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Formats a key, in quotes if TOML requires them.
fn key(text: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !text.is_empty() && text.chars().all(bare) {
        text.to_owned()
    } else {
        quoted(text)
    }
}
