//! The TOML text of a scenario as a tree in which each key and value has its position in the text.

use std::ops::Range;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::problem::{At, Code, Problem, Severity, Source, SourceKind, nearest};

/// A value of the TOML text with its position.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub value: Value,
    pub at: At,
}

/// The types of values. Numbers keep their text, so that they are not rounded.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    String(String),
    /// Digits of the integer, and their radix.
    Integer(String, u32),
    Float(String),
    Bool(bool),
    Datetime,
    Array(Vec<Node>),
    Table(Table),
}

/// A table. Its keys are in the order of the text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub entries: Vec<Entry>,
}

/// A key of a table with its position and its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub key: String,
    pub key_at: At,
    pub node: Node,
}

impl Node {
    /// Name of the value's type, for error messages.
    pub fn kind(&self) -> &'static str {
        match self.value {
            Value::String(_) => "a string",
            Value::Integer(..) => "an integer",
            Value::Float(_) => "a number",
            Value::Bool(_) => "true or false",
            Value::Datetime => "a date",
            Value::Array(_) => "an array",
            Value::Table(_) => "a table",
        }
    }
}

impl Table {
    /// Adds the keys of table `over`. They replace existing keys; subtables are merged key by key.
    pub fn merge(&mut self, over: &Self) {
        for entry in &over.entries {
            let Some(old) = self.get_mut(&entry.key) else {
                self.entries.push(entry.clone());
                continue;
            };
            match (&mut old.node.value, &entry.node.value) {
                (Value::Table(inner), Value::Table(above)) => {
                    inner.merge(above);
                    old.key_at = entry.key_at.clone();
                    old.node.at = entry.node.at.clone();
                }
                _ => *old = entry.clone(),
            }
        }
    }

    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|e| e.key == key)
    }

    fn get_mut(&mut self, key: &str) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|e| e.key == key)
    }

    /// Sets the value of a key. Replaces an existing value.
    pub fn set(&mut self, entry: Entry) {
        match self.get_mut(&entry.key) {
            Some(old) => *old = entry,
            None => self.entries.push(entry),
        }
    }
}

/// Creates an error at a position of the text.
pub(crate) fn error(
    code: Code,
    at: At,
    key: &str,
    message: impl Into<String>,
    hint: Option<String>,
) -> Problem {
    let severity = Severity::Error;
    Problem {
        severity,
        code,
        key: key.to_owned(),
        message: message.into(),
        hint,
        at: Some(at),
    }
}

/// Parses TOML. If the syntax is invalid, returns every error that the parser found.
pub(crate) fn parse(source: &Arc<Source>) -> Result<Table, Vec<Problem>> {
    let (table, errors) = DeTable::parse_recoverable(&source.text);
    if errors.is_empty() {
        return Ok(convert_table(table.get_ref(), source, 0));
    }
    let hint = "a scenario is a TOML file; strings stand in quotes, tables in [brackets]";
    let problems = errors.iter().take(10).map(|e| {
        let end = source.text.len();
        let span = e.span().unwrap_or(end..end);
        let message = format!(
            "this is not valid TOML: {}",
            e.message().replace('\n', ", ")
        );
        error(
            Code::NotToml,
            At {
                source: source.clone(),
                span,
            },
            "",
            message,
            Some(hint.to_owned()),
        )
    });
    Err(problems.collect())
}

/// Parses a built-in text, which is known to be valid.
pub(crate) fn built_in(name: &str, text: String) -> Table {
    let source = Arc::new(Source {
        name: name.to_owned(),
        text,
        kind: SourceKind::BuiltIn,
    });
    parse(&source).expect("the built-in texts are valid TOML, which a test checks")
}

fn place(source: &Arc<Source>, span: Range<usize>, shift: isize) -> At {
    let moved = |i: usize| i.saturating_add_signed(shift);
    At {
        source: source.clone(),
        span: moved(span.start)..moved(span.end),
    }
}

fn convert_table(table: &DeTable<'_>, source: &Arc<Source>, shift: isize) -> Table {
    let mut entries: Vec<Entry> = table
        .iter()
        .map(|(key, value)| Entry {
            key: key.get_ref().to_string(),
            key_at: place(source, key.span(), shift),
            node: convert(value, source, shift),
        })
        .collect();
    entries.sort_by_key(|e| e.key_at.span.start);
    Table { entries }
}

fn convert(value: &Spanned<DeValue<'_>>, source: &Arc<Source>, shift: isize) -> Node {
    let at = place(source, value.span(), shift);
    let value = match value.get_ref() {
        DeValue::String(s) => Value::String(s.to_string()),
        DeValue::Integer(i) => Value::Integer(i.as_str().to_owned(), i.radix()),
        DeValue::Float(x) => Value::Float(x.as_str().to_owned()),
        DeValue::Boolean(b) => Value::Bool(*b),
        DeValue::Datetime(_) => Value::Datetime,
        DeValue::Array(items) => {
            Value::Array(items.iter().map(|v| convert(v, source, shift)).collect())
        }
        DeValue::Table(t) => Value::Table(convert_table(t, source, shift)),
    };
    Node { value, at }
}

/// Applies one override `a.b=c` of the command line to the tree.
pub(crate) fn apply_override(root: &mut Table, text: &str) -> Result<(), Problem> {
    let source = Arc::new(Source {
        name: "--set".to_owned(),
        text: text.to_owned(),
        kind: SourceKind::Override,
    });
    let at = |span: Range<usize>| At {
        source: source.clone(),
        span,
    };
    let Some(equals) = text.find('=') else {
        let hint = "write it as key=value, such as switch.buffer=8MB".to_owned();
        return Err(error(
            Code::BadOverride,
            at(0..text.len()),
            "",
            format!("`{text}` has no `=`"),
            Some(hint),
        ));
    };
    let path = text[..equals].trim_end();
    let parts: Vec<&str> = path.split('.').map(str::trim).collect();
    if parts.iter().any(|p| p.is_empty()) {
        let hint = "write the keys from the outside in, such as traffic.0.load.fraction".to_owned();
        return Err(error(
            Code::BadOverride,
            at(0..equals),
            path,
            "the override names no key",
            Some(hint),
        ));
    }
    let value = override_value(&source, equals + 1);
    let (last, outer) = parts.split_last().expect("split gives at least one part");
    let mut cursor = Cursor::Table(root);
    for part in outer {
        cursor = cursor.step(part, &at(0..equals), path)?;
    }
    cursor.put(last, at(0..path.len()), value, path)
}

/// Parses the right side of an override: as TOML if it is valid TOML, else as a string.
fn override_value(source: &Arc<Source>, start: usize) -> Node {
    let text = &source.text[start..];
    let probe = format!("v={text}");
    if let Ok(table) = DeTable::parse(&probe)
        && let [(key, value)] = table.get_ref().iter().collect::<Vec<_>>()[..]
        && key.get_ref() == "v"
    {
        return convert(value, source, start as isize - 2);
    }
    let at = At {
        source: source.clone(),
        span: start..source.text.len(),
    };
    Node {
        value: Value::String(text.trim().to_owned()),
        at,
    }
}

/// The node of the tree that the first keys of an override lead to.
enum Cursor<'a> {
    Table(&'a mut Table),
    Array(&'a mut Vec<Node>),
}

impl<'a> Cursor<'a> {
    /// Descends to the node of one key. Creates a missing table.
    fn step(self, part: &str, at: &At, path: &str) -> Result<Self, Problem> {
        let node = match self {
            Self::Table(table) => {
                if table.get(part).is_none() {
                    let value = Value::Table(Table::default());
                    let node = Node {
                        value,
                        at: at.clone(),
                    };
                    table.set(Entry {
                        key: part.to_owned(),
                        key_at: at.clone(),
                        node,
                    });
                }
                &mut table
                    .get_mut(part)
                    .expect("it was there or has just been put there")
                    .node
            }
            Self::Array(items) => {
                let index = find_item(items, part).map_err(|hint| {
                    error(
                        Code::BadOverride,
                        at.clone(),
                        path,
                        format!("`{path}`: there is no `{part}`"),
                        Some(hint),
                    )
                })?;
                &mut items[index]
            }
        };
        let kind = node.kind();
        match &mut node.value {
            Value::Table(table) => Ok(Self::Table(table)),
            Value::Array(items) => Ok(Self::Array(items)),
            _ => {
                let message = format!("`{part}` is {kind}, so nothing can be set inside it");
                let hint = format!("set the whole of `{part}`, or write it as a table");
                Err(error(
                    Code::BadOverride,
                    at.clone(),
                    path,
                    message,
                    Some(hint),
                ))
            }
        }
    }

    fn put(self, part: &str, at: At, node: Node, path: &str) -> Result<(), Problem> {
        match self {
            Self::Table(table) => {
                table.set(Entry {
                    key: part.to_owned(),
                    key_at: at,
                    node,
                });
                Ok(())
            }
            Self::Array(items) => match find_item(items, part) {
                Ok(index) => {
                    items[index] = node;
                    Ok(())
                }
                Err(hint) => Err(error(
                    Code::BadOverride,
                    at,
                    path,
                    format!("`{path}`: there is no `{part}`"),
                    Some(hint),
                )),
            },
        }
    }
}

/// Finds an item of an array by its index or its `name`. The error lists the existing items.
fn find_item(items: &[Node], part: &str) -> Result<usize, String> {
    if let Ok(index) = part.parse::<usize>()
        && index < items.len()
    {
        return Ok(index);
    }
    let name = |node: &Node| match &node.value {
        Value::Table(t) => t.get("name").and_then(|e| match &e.node.value {
            Value::String(s) => Some(s.clone()),
            _ => None,
        }),
        _ => None,
    };
    let names: Vec<Option<String>> = items.iter().map(name).collect();
    if let Some(index) = names.iter().position(|n| n.as_deref() == Some(part)) {
        return Ok(index);
    }
    let near = nearest(part, names.iter().flatten().map(String::as_str));
    Err(match near {
        Some(near) => format!("did you mean `{near}`?"),
        None if items.is_empty() => "the array is empty".to_owned(),
        None => {
            let known: Vec<&str> = names.iter().flatten().map(String::as_str).collect();
            format!(
                "use a number from 0 to {} or a name: {}",
                items.len() - 1,
                known.join(", ")
            )
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Table {
        parse(&Arc::new(Source {
            name: "t.toml".into(),
            text: text.into(),
            kind: SourceKind::File,
        }))
        .unwrap()
    }

    fn integer(node: &Node) -> &str {
        match &node.value {
            Value::Integer(s, _) => s,
            _ => panic!("{node:?}"),
        }
    }

    #[test]
    fn keys_keep_the_order_of_the_file() {
        let t = table("z = 1\na = 2\n[m]\nb = 3\n");
        let keys: Vec<&str> = t.entries.iter().map(|e| e.key.as_str()).collect();
        assert_eq!(keys, ["z", "a", "m"]);
        assert_eq!(t.entries[1].node.at.line_column(), (2, 5));
    }

    #[test]
    fn overrides_reach_tables_and_arrays() {
        let mut t = table("[[traffic]]\nname = \"a\"\n[[traffic]]\nname = \"b\"\n");
        apply_override(&mut t, "traffic.b.degree=7").unwrap();
        apply_override(&mut t, "traffic.0.degree=5").unwrap();
        apply_override(&mut t, "switch.buffer=8MB").unwrap();
        let Value::Array(items) = &t.get("traffic").unwrap().node.value else {
            panic!()
        };
        let degree = |i: usize| match &items[i].value {
            Value::Table(t) => integer(&t.get("degree").unwrap().node).to_owned(),
            _ => panic!(),
        };
        assert_eq!((degree(0), degree(1)), ("5".to_owned(), "7".to_owned()));
        let Value::Table(switch) = &t.get("switch").unwrap().node.value else {
            panic!()
        };
        let buffer = &switch.get("buffer").unwrap().node;
        assert!(matches!(&buffer.value, Value::String(s) if s == "8MB"));
        assert_eq!(buffer.at.line_column(), (1, 15));
    }

    #[test]
    fn bad_overrides_are_refused() {
        let mut t = table("seed = 1\n[[traffic]]\nname = \"incast\"\n");
        let says = |p: Problem, part: &str| assert!(p.to_string().contains(part), "{p}");
        says(apply_override(&mut t, "seed").unwrap_err(), "no `=`");
        says(apply_override(&mut t, "=3").unwrap_err(), "names no key");
        says(
            apply_override(&mut t, "seed.a=3").unwrap_err(),
            "nothing can be set inside",
        );
        says(
            apply_override(&mut t, "traffic.incst.degree=3").unwrap_err(),
            "did you mean `incast`",
        );
        says(
            apply_override(&mut t, "traffic.9.degree=3").unwrap_err(),
            "0 to 0",
        );
    }

    #[test]
    fn an_override_cannot_smuggle_in_a_second_key() {
        let mut t = table("");
        apply_override(&mut t, "a=1\nb=2").unwrap();
        assert_eq!(t.entries.len(), 1);
        assert!(matches!(&t.entries[0].node.value, Value::String(_)));
    }
}
