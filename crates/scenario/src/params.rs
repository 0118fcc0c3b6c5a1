//! Reads tables by the declarations of their parameters ([`dataplane::param`]), and writes the
//! declared defaults as TOML.

use std::fmt::Write as _;

use dataplane::param::{Acts, Conflict, Fallback, Kind, Param, Value, Values, Word};

use crate::document::{self, Node};
use crate::fitted::fitted;
use crate::problem::Code;
use crate::reader::{
    Read, Section, array, boolean, choice, count, fraction, name, number, quantity, refuse,
    refuse_as, time_window,
};
use crate::units::{RATE, SIZE, TIME, parse_fraction};

/// Reads all parameters of a table. Returns `None` after an error, which has been reported.
pub(crate) fn read(s: &Section<'_>, params: &'static [Param]) -> Option<Values> {
    read_where(s, params, |_, _| None)
}

/// Like `read`, for keys that have no effect because of another table. `useless` returns the
/// reason, from the key and the values read so far.
pub(crate) fn read_where<'w>(
    s: &Section<'_>,
    params: &'static [Param],
    useless: impl Fn(&str, &Values) -> Option<&'w str>,
) -> Option<Values> {
    let (values, good) = gather(s, params, useless);
    good.then_some(values)
}

/// Returns all valid values of a table, and true if all values are valid.
pub(crate) fn gather<'w>(
    s: &Section<'_>,
    params: impl IntoIterator<Item = &'static Param>,
    useless: impl Fn(&str, &Values) -> Option<&'w str>,
) -> (Values, bool) {
    let mut values = Values::default();
    let mut good = true;
    for param in params {
        if let Some(why) = useless(param.key, &values).or_else(|| param.useless(&values)) {
            s.refuse_useless(param.key, why);
            continue;
        }
        match one(s, param) {
            Some(Some(value)) => {
                let value = fitted(s, param, value, || default(param), &values);
                values.insert(param.key, value);
            }
            Some(None) => {}
            None => good = false,
        }
    }
    (values, good)
}

/// Reads the tables of all words of a key, and returns the configuration of the chosen word.
pub(crate) fn chosen<C>(
    s: &Section<'_>,
    key: &str,
    name: &str,
    words: &'static [Word<C>],
) -> Option<C> {
    // The tables of words that were not chosen are also read, so that they are refused.
    let read = words
        .iter()
        .filter_map(|of| word(s, key, of, of.name == name));
    read.last()
}

/// Like `chosen`, for a key that also accepts the word "none".
pub(crate) fn optional<C>(
    s: &Section<'_>,
    key: &str,
    name: &str,
    words: &'static [Word<C>],
) -> Option<Option<C>> {
    let read = chosen(s, key, name, words);
    match name {
        "none" => Some(None),
        _ => read.map(Some),
    }
}

/// Reads the table of a word if the word was chosen; otherwise refuses the table.
pub(crate) fn word<C>(
    s: &Section<'_>,
    key: &str,
    word: &'static Word<C>,
    is_chosen: bool,
) -> Option<C> {
    if word.params.is_empty() {
        let config = is_chosen.then(|| (word.configure)(&Values::NONE));
        return config.and_then(Result::ok);
    }
    let why = format!("`{key}` is not \"{}\"", word.name);
    let useless = (!is_chosen).then_some(why.as_str());
    table(s, word.table, word.params, useless, word.configure)
}

/// Reads a table of parameters, or refuses it for the reason `useless`.
pub(crate) fn table<T>(
    s: &Section<'_>,
    key: &'static str,
    params: &'static [Param],
    useless: Option<&str>,
    configure: impl FnOnce(&Values) -> Result<T, Conflict>,
) -> Option<T> {
    if let Some(why) = useless {
        s.refuse_useless(key, why);
        return None;
    }
    let inner = inner(s, key)?;
    let values = read(&inner, params);
    inner.finish();
    settle(&inner, configure(&values?))
}

/// Returns the configuration, or reports that its values conflict.
pub(crate) fn settle<T>(s: &Section<'_>, configured: Result<T, Conflict>) -> Option<T> {
    let conflict = match configured {
        Ok(config) => return Some(config),
        Err(conflict) => conflict,
    };
    let complain = |s: &Section<'_>| {
        s.complain_of(
            conflict.keys,
            conflict.message.as_str(),
            conflict.hint.as_str(),
        );
    };
    let items = |(key, index)| item(s, key, index);
    match conflict.item.and_then(items) {
        Some(inner) => complain(&inner),
        None => complain(s),
    }
    None
}

/// Returns the value of a key with a text, if the key is set.
pub(crate) fn text<'a>(values: &'a Values, key: &str) -> Option<&'a str> {
    match values.get(key) {
        Some(Value::Text(text)) => Some(text),
        _ => None,
    }
}

/// Returns the entry at an index of an array of tables.
fn item<'a>(s: &Section<'a>, key: &str, index: usize) -> Option<Section<'a>> {
    let document::Value::Array(items) = &s.table.get(key)?.node.value else {
        return None;
    };
    let node = items.get(index)?;
    let document::Value::Table(table) = &node.value else {
        return None;
    };
    let path = format!("{}.{index}", s.child(key));
    Some(Section::new(s.context, table, path, node.at.clone()))
}

/// Reads an array of tables with `read`. Returns `None` if an entry is invalid. All entries are
/// read, so that all errors are reported.
pub(crate) fn each<T>(
    s: &Section<'_>,
    key: &str,
    values: &Values,
    mut read: impl FnMut(&Section<'_>, &Values) -> Option<T>,
) -> Option<Vec<T>> {
    let Some(Value::List(tables)) = values.get(key) else {
        return None;
    };
    let mut one = |(index, table): (usize, &Value)| match table {
        Value::Table(values) => read(&item(s, key, index)?, values),
        _ => None,
    };
    let all: Vec<Option<T>> = tables.iter().enumerate().map(&mut one).collect();
    all.into_iter().collect()
}

/// Returns the entries of `[[key]]`. Reports entries that are not tables, and a wrong number of
/// entries.
pub(crate) fn entries<'a>(
    root: &Section<'a>,
    key: &'static str,
    most: usize,
    example: &str,
) -> Vec<Section<'a>> {
    let Some(entry) = root.entry(key) else {
        return Vec::new();
    };
    let path = root.child(key);
    let refuse = |code, at: &_, path: &str, message: String| {
        let hint = format!(
            "write [[{}]] in double brackets: {example}",
            root.child(key)
        );
        root.context.error(code, at, path, message, Some(hint));
    };
    let document::Value::Array(nodes) = &entry.node.value else {
        let message = format!("`{key}` is {}, not an array of tables", entry.node.kind());
        refuse(Code::WrongType, &entry.key_at, &path, message);
        return Vec::new();
    };
    if nodes.is_empty() || nodes.len() > most {
        let message = format!("`{key}` has {} entries, not 1 to {most}", nodes.len());
        refuse(Code::OutOfRange, &entry.node.at, &path, message);
        return Vec::new();
    }
    let sections = nodes.iter().enumerate().map(|(index, node)| {
        let section = item(root, key, index);
        if section.is_none() {
            let message = format!("an entry of `{key}` is {}, not a table", node.kind());
            let path = format!("{path}.{index}");
            refuse(Code::WrongType, &node.at, &path, message);
        }
        section
    });
    sections.flatten().collect()
}

/// Returns the values of all entries of an array of tables, or `None` if an entry is invalid.
fn items(
    s: &Section<'_>,
    key: &'static str,
    noun: &str,
    params: &'static [Param],
) -> Option<Vec<Value>> {
    let example = format!("[{}]", example_table(params));
    let nodes = s.optional(key, |n| {
        match array(n, &format!("a list of {noun}s"))?.to_vec() {
            nodes if nodes.is_empty() => refuse(format!("there is no {noun} in it"), &example),
            nodes => Ok(nodes),
        }
    })?;
    let mut all = Vec::new();
    let mut good = true;
    for (index, node) in nodes.iter().enumerate() {
        let Some(inner) = item(s, key, index) else {
            let message = format!("a {noun} is a table, not {}", node.kind());
            let path = format!("{}.{index}", s.child(key));
            s.context.error(
                Code::WrongType,
                &node.at,
                &path,
                message,
                Some(example.clone()),
            );
            return None;
        };
        let values = read(&inner, params);
        inner.finish();
        match values {
            Some(values) => all.push(Value::Table(values)),
            None => good = false,
        }
    }
    good.then_some(all)
}

/// Returns the table under a required key, or reports that it is missing.
pub(crate) fn inner<'a>(s: &Section<'a>, key: &'static str) -> Option<Section<'a>> {
    let inner = s.section(key);
    if inner.is_none() && s.table.get(key).is_none() {
        s.missing(key, "{ ... }");
    }
    inner
}

/// Reads one parameter. Returns `Some(None)` if an optional parameter is not set, and `None` if it
/// is invalid.
pub(crate) fn one(s: &Section<'_>, param: &'static Param) -> Option<Option<Value>> {
    if !s.has(param.key) {
        return left_out(s, param);
    }
    let kind = match param.kind {
        Kind::Either(kinds) if is_table(s, param.key) => {
            let table = kinds.iter().find(|kind| matches!(kind, Kind::Table(_)));
            *table.unwrap_or(&param.kind)
        }
        kind => kind,
    };
    match kind {
        Kind::Table(params) => {
            let hint = || format!("write {} = {}", param.key, example_table(params));
            let inner = s.section_or(param.key, hint)?;
            let values = read(&inner, params);
            inner.finish();
            values.map(Value::Table)
        }
        Kind::Tables { noun, of } => items(s, param.key, noun, of).map(Value::List),
        _ => s.optional(param.key, |n| word_or(n, param)),
    }
    .map(Some)
}

/// True if the value of a key is a table.
fn is_table(s: &Section<'_>, key: &str) -> bool {
    let entry = s.table.get(key);
    entry.is_some_and(|entry| matches!(entry.node.value, document::Value::Table(_)))
}

/// Returns the value of a parameter that is not set.
fn left_out(s: &Section<'_>, param: &'static Param) -> Option<Option<Value>> {
    match param.fallback {
        Fallback::Needed(example) => {
            s.missing(param.key, example);
            None
        }
        Fallback::Absent(_) => Some(None),
        Fallback::Value(toml) => {
            let why = format!("default: {}, {}", param.rule, param.source);
            s.context.compute(&s.path, param.key, toml.to_owned(), &why);
            default(param).map(Some)
        }
    }
}

/// Returns the declared default of a parameter.
fn default(param: &Param) -> Option<Value> {
    let Fallback::Value(toml) = param.fallback else {
        return None;
    };
    let text = format!("{} = {toml}", param.key);
    let entry = document::built_in("default", text).get(param.key).cloned();
    let node = entry.expect("a default is TOML, which a test checks").node;
    Some(word_or(&node, param).expect("a default is in its range, which a test checks"))
}

/// Reads a value that is one of the words of a parameter or has the parameter's kind.
fn word_or(node: &Node, param: &Param) -> Read<Value> {
    if let document::Value::String(text) = &node.value
        && let Some(word) = param.words.iter().find(|word| *word == text)
    {
        return Ok(Value::Word(word));
    }
    // A word may replace a list with one element. So a wrong word must not be reported as a missing
    // list.
    let is_text = matches!(node.value, document::Value::String(_));
    if is_text && matches!(param.kind, Kind::List(Kind::Word(_))) && !param.words.is_empty() {
        let words: Vec<_> = param.words.iter().map(|word| (*word, *word)).collect();
        return choice(node, &words).map(Value::Word);
    }
    value(node, &param.kind).map_err(|mut refusal| {
        let words = param.words.iter().map(|word| format!("\"{word}\""));
        let choices: Vec<String> = words.chain(refusal.hint).collect();
        refusal.hint = Some(choices.join(", or "));
        refusal
    })
}

/// Reads a value of the given kind.
fn value(node: &Node, kind: &Kind) -> Read<Value> {
    match *kind {
        Kind::Size { min, max } => quantity(node, &SIZE, min, max).map(Value::Size),
        Kind::Time { min, max } => quantity(node, &TIME, min, max).map(Value::Time),
        Kind::Rate { min, max } => quantity(node, &RATE, min, max).map(Value::Rate),
        Kind::Count { min, max } => count(node, min, max).map(Value::Count),
        Kind::Number { min, max } | Kind::Multiple { min, max, .. } => {
            number(node, min, max).map(Value::Number)
        }
        Kind::Fraction { min, max } => fraction(node, min, max).map(Value::Number),
        Kind::Flag => boolean(node).map(Value::Flag),
        Kind::Word(words) => {
            let words: Vec<_> = words.iter().map(|word| (*word, *word)).collect();
            choice(node, &words).map(Value::Word)
        }
        Kind::Counted { noun, min, max } => counted(node, noun, min, max),
        Kind::Text => name(node).map(Value::Text),
        Kind::Port | Kind::Links => unreachable!("read where the network is known"),
        Kind::Window { max } => time_window(node, max).map(|(from, to)| Value::Window(from, to)),
        Kind::Either(kinds) => either(node, kinds),
        Kind::List(of) => {
            let what = format!("a list such as [{}]", example(of));
            let items = array(node, &what)?.iter().map(|item| value(item, of));
            items.collect::<Read<_>>().map(Value::List)
        }
        Kind::Table(_) | Kind::Tables { .. } => unreachable!("tables are read as sections"),
    }
}

/// Reads a whole number followed by a noun, such as `"100 flows"`.
fn counted(node: &Node, noun: &str, min: u64, max: u64) -> Read<Value> {
    let hint = format!("for example \"{}\"", sample(noun));
    let document::Value::String(text) = &node.value else {
        return refuse_as(
            Code::WrongType,
            format!("expected a number of {noun}, found {}", node.kind()),
            hint,
        );
    };
    let number = text
        .strip_suffix(noun)
        .and_then(|n| n.trim_end().parse::<u64>().ok());
    match number {
        Some(number) if (min..=max).contains(&number) => Ok(Value::Counted(number)),
        _ => refuse(
            format!("`{text}` is not a number of {noun} from {min} to {max}"),
            hint,
        ),
    }
}

fn sample(noun: &str) -> String {
    format!("100 {noun}")
}

/// Reads a value that may have several kinds. Only the kinds most similar to the value are tried.
/// If all fail, the error of the last one is returned.
fn either(node: &Node, kinds: &[Kind]) -> Read<Value> {
    let best = kinds.iter().map(|kind| likeness(node, kind)).max();
    let mut refused = Code::WrongType;
    let mut said = String::new();
    for kind in kinds {
        // Tables are read elsewhere, as a section.
        if Some(likeness(node, kind)) != best || matches!(kind, Kind::Table(_)) {
            continue;
        }
        match value(node, kind) {
            Ok(value) => return Ok(value),
            Err(refusal) => (refused, said) = (refusal.code, refusal.message),
        }
    }
    let choices: Vec<String> = kinds.iter().map(description).collect();
    refuse_as(refused, said, choices.join(", or "))
}

/// Returns how similar a value is to a kind, from 0 (not similar).
fn likeness(node: &Node, kind: &Kind) -> u8 {
    match (&node.value, kind) {
        (document::Value::String(text), Kind::Counted { noun, .. }) => {
            2 * u8::from(text.ends_with(noun))
        }
        (document::Value::String(text), Kind::Fraction { .. }) => {
            2 * u8::from(parse_fraction(text).is_ok())
        }
        (
            document::Value::String(_),
            Kind::Size { .. }
            | Kind::Time { .. }
            | Kind::Rate { .. }
            | Kind::Text
            | Kind::Port
            | Kind::Links,
        ) => 1,
        (
            document::Value::Integer(..) | document::Value::Float(_),
            Kind::Count { .. }
            | Kind::Number { .. }
            | Kind::Multiple { .. }
            | Kind::Fraction { .. },
        ) => 1,
        (document::Value::Bool(_), Kind::Flag) => 1,
        (document::Value::Array(items), Kind::List(of)) => {
            1 + u8::from(items.iter().any(|item| likeness(item, of) > 0))
        }
        (document::Value::Array(_), Kind::Window { .. }) => 1,
        _ => 0,
    }
}

/// Describes a kind of value, with an example.
fn description(kind: &Kind) -> String {
    let noun = match kind {
        Kind::Size { .. } => "a size".to_owned(),
        Kind::Time { .. } => "a time".to_owned(),
        Kind::Rate { .. } => "a rate".to_owned(),
        Kind::Count { .. } => "a whole number".to_owned(),
        Kind::Number { .. } => "a number".to_owned(),
        Kind::Multiple { of, .. } => format!("a number of {of}"),
        Kind::Fraction { .. } => "a fraction".to_owned(),
        Kind::Counted { noun, .. } => format!("a number of {noun}"),
        Kind::Text => "a text".to_owned(),
        Kind::Port => "a port".to_owned(),
        Kind::Links => "links".to_owned(),
        Kind::Window { .. } => "two times".to_owned(),
        Kind::List(_) => "a list".to_owned(),
        Kind::Flag | Kind::Word(_) | Kind::Either(_) | Kind::Table(_) | Kind::Tables { .. } => {
            return example(kind);
        }
    };
    format!("{noun} such as {}", example(kind))
}

/// Returns an example of a value of this kind, as TOML.
fn example(kind: &Kind) -> String {
    match kind {
        Kind::Size { .. } => "\"90KB\"".to_owned(),
        Kind::Time { .. } => "\"4us\"".to_owned(),
        Kind::Rate { .. } => "\"50Mbps\"".to_owned(),
        Kind::Count { .. } => "8".to_owned(),
        Kind::Number { .. } | Kind::Multiple { .. } => "1.5".to_owned(),
        Kind::Fraction { .. } => "\"11%\"".to_owned(),
        Kind::Flag => "true or false".to_owned(),
        Kind::Word(words) => {
            let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
            words.join(", ")
        }
        Kind::Counted { noun, .. } => format!("\"{}\"", sample(noun)),
        Kind::Text => "\"name\"".to_owned(),
        Kind::Port => "\"leaf0->host3\"".to_owned(),
        Kind::Links => "\"leaf0->spine1\"".to_owned(),
        Kind::Window { .. } => "[\"0us\", \"5ms\"]".to_owned(),
        Kind::Either(kinds) => kinds.iter().map(example).collect::<Vec<_>>().join(" or "),
        Kind::List(of) => format!("[{}]", example(of)),
        Kind::Table(params) => example_table(params),
        Kind::Tables { of, .. } => format!("[{}]", example_table(of)),
    }
}

/// Returns a TOML table with an example for each required parameter. If no parameter is required,
/// the table contains all parameters.
fn example_table(params: &[Param]) -> String {
    let is_needed = |param: &&Param| {
        matches!(param.fallback, Fallback::Needed(_)) && param.acts == Acts::Always
    };
    let needs_none = params.iter().filter(is_needed).count() == 0;
    let shown = params.iter().filter(|param| needs_none || is_needed(param));
    let pairs = shown.map(|param| {
        let value = match param.fallback {
            Fallback::Value(toml) | Fallback::Needed(toml) => toml.to_owned(),
            Fallback::Absent(_) => example(&param.kind),
        };
        format!("{} = {value}", param.key)
    });
    format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
}

/// Returns the defaults of a table as TOML, below the header of the table. `header` is empty for
/// the whole scenario. A comment after each value contains `remark`, the rule and the source of the
/// value.
pub(crate) fn defaults(header: &str, params: &[Param], remark: &str) -> String {
    let mut text = match header {
        "" => String::new(),
        header => format!("[{header}]\n"),
    };
    let colon = if remark.is_empty() { ": " } else { ", " };
    let tables = |param: &&Param| matches!(param.kind, Kind::Table(_));
    for param in params.iter().filter(|param| !tables(param)) {
        if let Fallback::Value(toml) = param.fallback {
            let why = format!("{remark}{}{colon}{}", param.rule, param.source);
            let _ = writeln!(text, "{} = {toml}  # {why}", param.key);
        }
    }
    for param in params.iter().filter(tables) {
        if let Kind::Table(inner) = param.kind {
            text += &defaults(&format!("{header}.{}", param.key), inner, remark);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::At;
    use crate::reader::Context;
    use crate::scheme::tables;

    const PARAMS: &[Param] = &[
        Param::either(
            "wai",
            &[
                Kind::Counted {
                    noun: "flows",
                    min: 1,
                    max: 1_000,
                },
                Kind::Rate { min: 1, max: 1_000 },
                Kind::Size { min: 1, max: 1_000 },
            ],
        ),
        Param::number("fair", 0.5, 2.0)
            .or(&["off", "most"])
            .default("\"off\"", "PRE-01", "our choice"),
        Param::number("gain", 0.0, 1.0)
            .default("0.5", "PRE-01", "our choice")
            .without("fair", &["off"], "nothing is fair"),
        Param::list("cuts", &Kind::Size { min: 1, max: 9 }).absent("no cuts"),
    ];

    /// Returns the values that a text sets, or all errors in the text.
    fn read_text(text: &str, params: &'static [Param]) -> Result<Values, String> {
        let context = Context::default();
        let root = document::built_in("t", text.to_owned());
        let at = At {
            source: std::sync::Arc::new(crate::problem::Source {
                name: "t".to_owned(),
                text: text.to_owned(),
                kind: crate::problem::SourceKind::File,
            }),
            span: 0..0,
        };
        let section = Section::new(&context, &root, "", at);
        let values = read(&section, params);
        section.finish();
        let problems = context.problems.into_inner();
        let said: Vec<String> = problems
            .iter()
            .map(|p| format!("{}; {}", p.message, p.hint.clone().unwrap_or_default()))
            .collect();
        values.filter(|_| said.is_empty()).ok_or(said.join("\n"))
    }

    #[test]
    fn values_are_of_the_kind_that_they_look_like() {
        let wai = |toml: &str| read_text(&format!("wai = {toml}"), &PARAMS[..1]);
        let value = |toml: &str| wai(toml).unwrap().get("wai").cloned().unwrap();
        assert_eq!(value("\"3 flows\""), Value::Counted(3));
        assert_eq!(value("\"3bps\""), Value::Rate(3));
        assert_eq!(value("\"3B\""), Value::Size(3));
        let said = |toml: &str| wai(toml).unwrap_err();
        assert!(said("\"0 flows\"").contains("is not a number of flows from 1 to 1000"));
        assert!(said("\"3us\"").contains("is not a unit of size"));
        assert!(said("3").contains("a size needs a unit"));
        let hint = "a number of flows such as \"100 flows\", or a rate such as \"50Mbps\", or a size such as \"90KB\"";
        assert!(said("true").contains(hint), "{}", said("true"));
    }

    #[test]
    fn a_word_may_stand_in_the_place_of_a_number() {
        let fair = |text: &str| read_text(text, &PARAMS[1..]);
        let values = fair("").unwrap();
        assert!(values.is("fair", "off"), "the default");
        assert_eq!(values.some_number("gain"), None, "it does not act");
        let values = fair("fair = 2\ngain = 1").unwrap();
        assert_eq!((values.number("fair"), values.number("gain")), (2.0, 1.0));
        assert_eq!(fair("fair = \"most\"").unwrap().number("gain"), 0.5);
        let said = fair("fair = 3").unwrap_err();
        assert!(
            said.starts_with("`fair`: 3 is out of range; \"off\", or \"most\", or "),
            "{said}"
        );
        let said = fair("cuts = [\"3B\", 5]").unwrap_err();
        assert_eq!(
            said,
            "`cuts`: a size needs a unit; write a size with its unit, such as \"12MB\""
        );
        assert!(
            fair("cut = []")
                .unwrap_err()
                .contains("did you mean `cuts`?")
        );
    }

    #[test]
    fn every_default_is_in_its_range_and_every_parameter_says_what_it_does() {
        fn complete(name: &str, params: &[Param]) {
            for param in params {
                let what = format!("{name}.{}", param.key);
                assert!(param.about.ends_with('.'), "{what} says what it does");
                if let Kind::Table(inner) | Kind::Tables { of: inner, .. } = param.kind {
                    complete(&what, inner);
                }
                let defaults = matches!(param.fallback, Fallback::Value(_));
                assert!(!defaults || !param.rule.is_empty(), "{what} follows a rule");
            }
        }
        for (name, params) in tables() {
            complete(name, params);
            let text = defaults("t", params, "")
                .replace("[t]\n", "")
                .replace("[t.", "[");
            let values = read_text(&text, params);
            assert!(values.is_ok(), "{name}: {values:?}\n{text}");
        }
    }
}
