//! Generates the tables of keys in docs/scenario.md from the declarations.

use std::fmt::Write as _;

use dataplane::param::{Fallback, InNetwork, Kind, Param, TIMEOUT_ROUND_TRIPS};

use crate::keys::{
    FAILURE, FAILURES, HOST, ROOT, RUN, SERVERS, SWITCH, TOPOLOGY, TRAFFIC, WORKLOAD,
};
use crate::problem::Code;
use crate::scheme;
use crate::units::{Dimension, RATE, SIZE, TIME};

/// Returns the name and the Markdown lines of each generated table of docs/scenario.md. In the
/// document a table is between `<!-- table: NAME -->` and `<!-- end of table -->`.
#[must_use]
pub fn key_tables() -> Vec<(String, String)> {
    let named = |name: &str, params: &[Param]| (name.to_owned(), keys(params));
    let mut tables = vec![
        named("root", ROOT),
        ("topology".to_owned(), topologies()),
        named("servers", SERVERS),
        named("failure", FAILURE),
        named("failures", &FAILURES[1..]),
        named("switch", SWITCH),
        ("traffic".to_owned(), traffic()),
        ("patterns".to_owned(), patterns()),
        named("workload", WORKLOAD),
        named("run", RUN),
        named("record", fabric::measure::PARAMS),
        ("files".to_owned(), files()),
        named("scheme", scheme::axes()),
        named("at", scheme::AT),
        ("codes".to_owned(), codes()),
    ];
    for (name, params) in scheme::tables() {
        tables.push(named(&format!("scheme.{name}"), params));
    }
    tables
}

/// Returns the text of a document with all generated tables updated. The tables of `[scheme]`, with
/// their generated headings, replace the one table `scheme.*` of the document.
///
/// # Errors
/// The error is the name of a table that is unknown, or whose end is missing.
pub fn with_key_tables(text: &str) -> Result<String, String> {
    const BEGIN: &str = "<!-- table: ";
    const END: &str = "<!-- end of table -->";
    let tables = key_tables();
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(BEGIN) {
        let name_at = at + BEGIN.len();
        let close = rest[name_at..].find(" -->").ok_or("a marker has no end")? + name_at;
        let name = &rest[name_at..close];
        let body = close + " -->".len();
        let end = rest[body..].find(END).ok_or(format!("{name} has no end"))? + body;
        let _ = write!(out, "{}\n\n", &rest[..body]);
        if name == "scheme.*" {
            for (title, table) in tables
                .iter()
                .filter(|(name, _)| name.starts_with("scheme."))
            {
                let word = title.trim_start_matches("scheme.");
                let _ = write!(out, "#### `{word}`\n\n{table}\n");
            }
        } else {
            let table = tables.iter().find(|(known, _)| known == name);
            let (_, table) = table.ok_or(format!("there is no table {name}"))?;
            let _ = writeln!(out, "{table}");
        }
        rest = &rest[end..];
        out += END;
        rest = &rest[END.len()..];
    }
    Ok(out + rest)
}

fn keys(params: &[Param]) -> String {
    let mut rows = Rows::new(&["key", "takes", "default", ""]);
    for param in params {
        add(&mut rows, "", param, None);
    }
    rows.text
}

/// Returns the table of topology kinds with their keys.
fn topologies() -> String {
    let mut rows = Rows::new(&["`kind`", "network", "keys"]);
    for variant in TOPOLOGY.each {
        let keys: Vec<String> = variant
            .params
            .iter()
            .map(|p| format!("`{}`", p.key))
            .collect();
        let about = variant.about.trim_end_matches('.');
        rows.add(&[&word(variant.word), about, &keys.join(", ")]);
    }
    rows.text
}

fn patterns() -> String {
    let mut rows = Rows::new(&["`pattern`", ""]);
    for variant in TRAFFIC.each {
        rows.add(&[&word(variant.word), variant.about]);
    }
    rows.text
}

/// Returns the table of traffic keys, each with the patterns to which it applies.
fn traffic() -> String {
    let mut rows = Rows::new(&["key", "for", "takes", "default", ""]);
    for param in TRAFFIC.common {
        add(&mut rows, "", param, Some("all"));
    }
    let mut done: Vec<&Param> = Vec::new();
    for param in TRAFFIC.each.iter().flat_map(|variant| variant.params) {
        if done.contains(&param) {
            continue;
        }
        done.push(param);
        let having: Vec<&str> = TRAFFIC
            .each
            .iter()
            .filter(|variant| variant.params.contains(param))
            .map(|variant| variant.word)
            .collect();
        let all_but_list = having.len() == TRAFFIC.each.len() - 1 && !having.contains(&"list");
        let having = match having.len() {
            _ if all_but_list => "all but list".to_owned(),
            n if n == TRAFFIC.each.len() => "all".to_owned(),
            _ => having.join(", "),
        };
        add(&mut rows, "", param, Some(&having));
    }
    rows.text
}

/// Returns the table of the result files of a run, with their columns.
fn files() -> String {
    let mut rows = Rows::new(&["file", "a row is", "columns"]);
    let requested = fabric::measure::MEASURES.iter();
    let requested = requested.flat_map(|measure| (measure.tables)());
    let workloads = fabric::record::workload_tables();
    for table in (fabric::record::tables().into_iter())
        .chain(requested)
        .chain(workloads)
    {
        let column = |column: fabric::record::table::ColumnInfo| {
            format!("`{}`: {}", column.name, clause(column.about))
        };
        let columns: Vec<String> = table.columns().into_iter().map(column).collect();
        let file = format!("`{}`", table.file());
        rows.add(&[&file, &clause(table.about), &columns.join("; ")]);
    }
    rows.text
}

/// Converts a sentence to a clause: without full stop, and with a small first letter.
fn clause(sentence: &str) -> String {
    let mut letters = sentence.trim_end_matches('.').chars();
    let Some(first) = letters.next() else {
        return String::new();
    };
    let rest = letters.as_str();
    let is_word = rest
        .chars()
        .next()
        .is_none_or(|second| !second.is_uppercase());
    if is_word {
        format!("{}{rest}", first.to_lowercase())
    } else {
        format!("{first}{rest}")
    }
}

fn codes() -> String {
    let mut rows = Rows::new(&["code", "meaning"]);
    for code in Code::ALL {
        rows.add(&[&format!("`{}`", code.name()), code.about()]);
    }
    rows.text
}

/// Adds the row of a key, and the rows of the keys in its table.
fn add(rows: &mut Rows, prefix: &str, param: &Param, of: Option<&str>) {
    let key = format!("`{prefix}{}`", param.key);
    let default = match param.fallback {
        Fallback::Value(toml) => format!("`{toml}`"),
        Fallback::Needed(_) => "needed".to_owned(),
        Fallback::Absent(sentence) => sentence.to_owned(),
    };
    let nested = match param.kind {
        Kind::Table(params) | Kind::Tables { of: params, .. } => params,
        _ => &[],
    };
    let takes = takes(param);
    let mut cells = vec![key.as_str()];
    cells.extend(of);
    let about = format!("{}{}", param.about, in_network(param));
    cells.extend([takes.as_str(), default.as_str(), about.as_str()]);
    rows.add(&cells);
    for inner in nested {
        add(rows, &format!("{prefix}{}.", param.key), inner, of);
    }
}

/// Returns a sentence about how the default of a parameter depends on the network.
fn in_network(param: &Param) -> String {
    match (param.network, param.fallback) {
        (InNetwork::Timeout, Fallback::Value(toml)) if !toml.contains("off") => {
            format!(
                " The default is at least {TIMEOUT_ROUND_TRIPS} times the largest base round trip."
            )
        }
        (InNetwork::AtRate(bps), _) => format!(
            " The default is for hosts of {} and scales with their rate, unless `parameters` names a set.",
            RATE.show(bps)
        ),
        (InNetwork::RepairsLosses { word, .. }, _) => {
            format!(" The default is `\"{word}\"` where links can lose frames or fail.")
        }
        _ => String::new(),
    }
}

/// Describes the values that a parameter accepts.
fn takes(param: &Param) -> String {
    let words: Vec<String> = param.words.iter().map(|text| word(text)).collect();
    let kind = kind(&param.kind);
    if words.is_empty() {
        return kind;
    }
    format!("{}, or {kind}", words.join(", "))
}

fn word(text: &str) -> String {
    format!("`\"{text}\"`")
}

fn kind(of: &Kind) -> String {
    match *of {
        Kind::Size { min, max } => quantity(&SIZE, min, max),
        Kind::Time { min, max } => quantity(&TIME, min, max),
        Kind::Rate { min, max } => quantity(&RATE, min, max),
        Kind::Count { min, max } if max >= u64::from(u32::MAX) => {
            format!("a whole number from {min} on")
        }
        Kind::Count { min, max } => format!("a whole number, {min} to {max}"),
        Kind::Number { min, max } => format!("a number, {min} to {max}"),
        Kind::Multiple { of, min, max } => format!("a number of {of}, {min} to {max}"),
        Kind::Fraction { min, max } => format!("a fraction, {min} to {max}"),
        Kind::Flag => "`true`, `false`".to_owned(),
        Kind::Word(words) => {
            let words: Vec<String> = words.iter().map(|text| word(text)).collect();
            words.join(", ")
        }
        Kind::Counted { noun, .. } => format!("`\"100 {noun}\"`"),
        Kind::Text => "a name".to_owned(),
        Kind::Port => "a port such as `\"leaf0->host3\"`".to_owned(),
        Kind::Links => "links such as `\"leaf0->spine1\"`, `\"host*:*\"`".to_owned(),
        Kind::Window { .. } => "two times: `[\"0us\", \"5ms\"]`".to_owned(),
        Kind::Either(_) if *of == HOST => "a host".to_owned(),
        Kind::Either(kinds) => {
            let kinds: Vec<String> = kinds.iter().map(kind).collect();
            kinds.join(", or ")
        }
        Kind::List(of) if *of == HOST => "a list of hosts".to_owned(),
        Kind::List(Kind::Text) => "a list of names".to_owned(),
        Kind::List(Kind::List(of)) => format!("a list of lists of these: {}", kind(of)),
        Kind::List(of) => format!("a list of these: {}", kind(of)),
        Kind::Table(_) => "a table".to_owned(),
        Kind::Tables { noun, .. } => format!("a list of tables, each a {noun}"),
    }
}

/// Describes a quantity with its range. Limits that apply to all quantities are omitted.
fn quantity(of: &Dimension, min: u64, max: u64) -> String {
    let noun = of.noun;
    match (min > 1, max < of.max()) {
        (false, false) => format!("a {noun}"),
        (true, false) => format!("a {noun} from {} on", of.show(min)),
        (false, true) => format!("a {noun} up to {}", of.show(max)),
        (true, true) => format!("a {noun}, {} to {}", of.show(min), of.show(max)),
    }
}

/// A Markdown table that is being written.
struct Rows {
    text: String,
}

impl Rows {
    fn new(titles: &[&str]) -> Self {
        let mut rows = Self {
            text: String::new(),
        };
        rows.add(titles);
        rows.text += &format!("|{}\n", "---|".repeat(titles.len()));
        rows
    }

    fn add(&mut self, cells: &[&str]) {
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        let line = format!("| {} |", cells.join(" | ")).replace("|  |", "| |");
        self.text += &line;
        self.text.push('\n');
    }
}
