//! Finds the positions of keys and values in a TOML text, and parses quantities. For programs that
//! read TOML files other than scenarios.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::units::{RATE, SIZE, TIME};

/// A key or an index on the path to a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Key of a table.
    Key(String),
    /// Index in an array, from 0.
    Index(usize),
}

/// A value of a TOML text with its position. Offsets count characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// Keys and indices on the path from the root to the value.
    pub path: Vec<Step>,
    /// Range of the key; for an element of an array, range of the element.
    pub key: Range<usize>,
    /// Range of the value.
    pub value: Range<usize>,
}

/// Returns the position of every value of a TOML text. If the syntax is invalid, values can be
/// missing.
#[must_use]
pub fn locate(text: &str) -> Vec<Located> {
    let (table, _) = DeTable::parse_recoverable(text);
    let mut search = Search {
        characters: characters(text),
        path: Vec::new(),
        found: Vec::new(),
    };
    search.table(table.get_ref());
    search.found
}

/// For each byte, returns the number of characters before the byte. Empty if the text is ASCII.
fn characters(text: &str) -> Vec<usize> {
    if text.is_ascii() {
        return Vec::new();
    }
    let mut before = 0;
    let counts = (0..=text.len()).map(|byte| {
        let at = before;
        before += usize::from(text.is_char_boundary(byte + 1));
        at
    });
    counts.collect()
}

struct Search {
    characters: Vec<usize>,
    path: Vec<Step>,
    found: Vec<Located>,
}

impl Search {
    fn table(&mut self, table: &DeTable<'_>) {
        for (key, value) in table {
            self.path.push(Step::Key(key.get_ref().to_string()));
            self.value(key.span(), value);
            self.path.pop();
        }
    }

    fn value(&mut self, key: Range<usize>, value: &Spanned<DeValue<'_>>) {
        self.found.push(Located {
            path: self.path.clone(),
            key: self.range(key),
            value: self.range(value.span()),
        });
        match value.get_ref() {
            DeValue::Table(table) => self.table(table),
            DeValue::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.path.push(Step::Index(index));
                    self.value(item.span(), item);
                    self.path.pop();
                }
            }
            _ => {}
        }
    }

    fn range(&self, bytes: Range<usize>) -> Range<usize> {
        let at = |byte| self.characters.get(byte).copied().unwrap_or(byte);
        at(bytes.start)..at(bytes.end)
    }
}

/// A quantity with its unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// Kind of the quantity: `rate`, `time` or `size`.
    pub kind: &'static str,
    /// Value in bits per second, picoseconds or bytes.
    pub value: u64,
    /// The unit as written in the text.
    pub unit: String,
    /// Value of one unit in bits per second, picoseconds or bytes.
    pub scale: u64,
}

/// Parses a rate, time or size. Returns `None` if the text is not a number with a unit, or if the
/// value is too large or not a whole number of base units.
#[must_use]
pub fn quantity(text: &str) -> Option<Quantity> {
    [&RATE, &TIME, &SIZE].into_iter().find_map(|dimension| {
        let value = dimension.parse(text).ok()?;
        let digit = |c: char| c.is_ascii_digit() || c == '.';
        let unit = &text[text.rfind(digit)? + 1..];
        let unit = unit.trim();
        Some(Quantity {
            kind: dimension.noun,
            value,
            unit: unit.to_owned(),
            scale: dimension.parse(&format!("1{unit}")).ok()?,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters() {
        let text = "é = 1\n[ü]\nlist = [\"ö\", { a.b = 2 }]\n";
        let found = locate(text);
        let shown = |range: &Range<usize>| {
            let inside = text.chars().skip(range.start).take(range.len());
            inside.collect::<String>()
        };
        let values: Vec<_> = (found.iter()).map(|one| shown(&one.value)).collect();
        assert!(values.contains(&"\"ö\"".to_owned()), "{values:?}");
        let last = found.iter().find(|one| one.path.len() == 5).unwrap();
        assert_eq!(
            (shown(&last.key), shown(&last.value)),
            ("b".into(), "2".into())
        );
        assert_eq!(last.path[2], Step::Index(1));
    }

    #[test]
    fn a_quantity_keeps_its_unit() {
        let found = quantity("1.5 KiB").unwrap();
        assert_eq!((found.kind, found.value), ("size", 1536));
        assert_eq!((found.unit.as_str(), found.scale), ("KiB", 1024));
        let slow = quantity("2µs").unwrap();
        assert_eq!(
            (slow.kind, slow.value, slow.scale),
            ("time", 2_000_000, 1_000_000)
        );
        for wrong in [
            "",
            "5",
            "Gbps",
            "1.5 Gbit",
            "0.5ps",
            "-1us",
            "99999999999Tbps",
        ] {
            assert_eq!(quantity(wrong), None, "{wrong}");
        }
    }
}
