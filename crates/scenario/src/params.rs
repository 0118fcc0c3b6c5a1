//! Reads tables as their parameters are declared ([`dataplane::param`]), and writes their defaults as TOML.

use std::fmt::Write as _;

use dataplane::param::{Conflict, Fallback, Kind, Param, Value, Values};

use crate::document::{self, Node};
use crate::reader::{
    Read, Refusal, Section, array, boolean, choice, count, fraction, number, quantity, refuse,
};
use crate::units::{RATE, SIZE, TIME, parse_fraction};

/// Reads all parameters of a table; `None` where one of them is wrong, which has been said then.
pub(crate) fn read(s: &Section<'_>, params: &'static [Param]) -> Option<Values> {
    read_without(s, params, &[])
}

/// The same where some keys do nothing for a reason outside of the table: each with the reason.
pub(crate) fn read_without(
    s: &Section<'_>,
    params: &'static [Param],
    useless: &[(&str, &str)],
) -> Option<Values> {
    let mut values = Values::default();
    let mut good = true;
    for param in params {
        let from_outside = useless.iter().find(|(key, _)| *key == param.key);
        let why = from_outside.map(|(_, why)| *why);
        if let Some(why) = why.or_else(|| param.useless(&values)) {
            s.refuse_useless(param.key, why);
            continue;
        }
        match one(s, param) {
            Some(Some(value)) => values.insert(param.key, value),
            Some(None) => {}
            None => good = false,
        }
    }
    good.then_some(values)
}

/// Reads the table of a word where the word was chosen, and refuses it elsewhere.
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
    match configure(&values?) {
        Ok(config) => Some(config),
        Err(conflict) => {
            complain(&inner, conflict);
            None
        }
    }
}

/// Reports values that cannot go together.
pub(crate) fn complain(s: &Section<'_>, conflict: Conflict) {
    s.complain_of(conflict.keys, conflict.message, conflict.hint);
}

/// The table under a key that must be there.
fn inner<'a>(s: &Section<'a>, key: &'static str) -> Option<Section<'a>> {
    let inner = s.section(key);
    if inner.is_none() && s.table.get(key).is_none() {
        s.missing(key, "{ ... }");
    }
    inner
}

/// One parameter: `Some(None)` where it was left out and may be, `None` where it is wrong.
fn one(s: &Section<'_>, param: &'static Param) -> Option<Option<Value>> {
    if let Kind::Table(params) = param.kind {
        let inner = inner(s, param.key)?;
        let values = read(&inner, params);
        inner.finish();
        return values.map(|values| Some(Value::Table(values)));
    }
    if s.has(param.key) {
        return s.optional(param.key, |n| value(n, &param.kind)).map(Some);
    }
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

/// The value of a default.
fn default(param: &Param) -> Option<Value> {
    let Fallback::Value(toml) = param.fallback else {
        return None;
    };
    let text = format!("{} = {toml}", param.key);
    let entry = document::built_in("default", text).get(param.key).cloned();
    let node = entry.expect("a default is TOML, which a test checks").node;
    Some(value(&node, &param.kind).expect("a default is in its range, which a test checks"))
}

/// The value of a node that may be of this kind.
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
        Kind::Either(kinds) => either(node, kinds),
        Kind::List(of) => {
            let what = format!("a list such as [{}]", example(of));
            let items = array(node, &what)?.iter().map(|item| value(item, of));
            items.collect::<Read<_>>().map(Value::List)
        }
        Kind::Table(_) => unreachable!("a table is read as a section"),
    }
}

/// A whole number with its noun behind it.
fn counted(node: &Node, noun: &str, min: u64, max: u64) -> Read<Value> {
    let hint = format!("for example \"{}\"", sample(noun));
    let document::Value::String(text) = &node.value else {
        return refuse(
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

/// One of several kinds. Words are taken first. Of the others those are tried that the value could be, and the
/// last of these says what is wrong.
fn either(node: &Node, kinds: &[Kind]) -> Read<Value> {
    let words = kinds.iter().filter_map(|kind| match kind {
        Kind::Word(words) => Some(*words),
        _ => None,
    });
    let words: Vec<&'static str> = words.flatten().copied().collect();
    if let document::Value::String(text) = &node.value
        && let Some(word) = words.iter().find(|word| *word == text)
    {
        return Ok(Value::Word(word));
    }
    let others = kinds.iter().filter(|kind| !matches!(kind, Kind::Word(_)));
    let best = others.clone().map(|kind| likeness(node, kind)).max();
    let candidates = others
        .clone()
        .filter(|kind| Some(likeness(node, kind)) == best);
    let mut refusal = None;
    for kind in candidates {
        match value(node, kind) {
            Ok(value) => return Ok(value),
            Err(refused) => refusal = Some(refused),
        }
    }
    let Refusal { message, hint } = refusal.expect("besides words there is another kind");
    let mut choices: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    if others.clone().count() == 1 {
        choices.extend(hint);
    } else {
        choices.extend(others.map(description));
    }
    refuse(message, choices.join(", or "))
}

/// How much a value looks like one of a kind: 0 for not at all.
fn likeness(node: &Node, kind: &Kind) -> u8 {
    match (&node.value, kind) {
        (document::Value::String(text), Kind::Counted { noun, .. }) => {
            2 * u8::from(text.ends_with(noun))
        }
        (document::Value::String(text), Kind::Fraction { .. }) => {
            2 * u8::from(parse_fraction(text).is_ok())
        }
        (document::Value::String(_), Kind::Size { .. } | Kind::Time { .. } | Kind::Rate { .. }) => {
            1
        }
        (
            document::Value::Integer(..) | document::Value::Float(_),
            Kind::Count { .. }
            | Kind::Number { .. }
            | Kind::Multiple { .. }
            | Kind::Fraction { .. },
        ) => 1,
        (document::Value::Bool(_), Kind::Flag) => 1,
        (document::Value::Array(_), Kind::List(_)) => 1,
        _ => 0,
    }
}

/// What a kind is, in words, with an example.
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
        Kind::List(_) => "a list".to_owned(),
        Kind::Flag | Kind::Word(_) | Kind::Either(_) | Kind::Table(_) => return example(kind),
    };
    format!("{noun} such as {}", example(kind))
}

/// A value of a kind, as TOML.
fn example(kind: &Kind) -> String {
    match kind {
        Kind::Size { .. } => "\"90KB\"".to_owned(),
        Kind::Time { .. } => "\"4us\"".to_owned(),
        Kind::Rate { .. } => "\"50Mbps\"".to_owned(),
        Kind::Count { .. } => "8".to_owned(),
        Kind::Number { .. } | Kind::Multiple { .. } => "2.0".to_owned(),
        Kind::Fraction { .. } => "\"11%\"".to_owned(),
        Kind::Flag => "true or false".to_owned(),
        Kind::Word(words) => {
            let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
            words.join(", ")
        }
        Kind::Counted { noun, .. } => format!("\"{}\"", sample(noun)),
        Kind::Either(kinds) => kinds.iter().map(example).collect::<Vec<_>>().join(" or "),
        Kind::List(of) => format!("[{}]", example(of)),
        Kind::Table(_) => "{ ... }".to_owned(),
    }
}

/// The defaults of a table as TOML, below the table's header: behind each its rule and where it comes from.
pub(crate) fn defaults(header: &str, params: &[Param]) -> String {
    let mut text = format!("[{header}]\n");
    let tables = |param: &&Param| matches!(param.kind, Kind::Table(_));
    for param in params.iter().filter(|param| !tables(param)) {
        if let Fallback::Value(toml) = param.fallback {
            let _ = writeln!(
                text,
                "{} = {toml}  # {}: {}",
                param.key, param.rule, param.source
            );
        }
    }
    for param in params.iter().filter(tables) {
        if let Kind::Table(inner) = param.kind {
            text += &defaults(&format!("{header}.{}", param.key), inner);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::At;
    use crate::reader::Context;
    use crate::scheme::TABLES;

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
        Param::either(
            "fair",
            &[
                Kind::Word(&["off", "most"]),
                Kind::Number { min: 0.5, max: 2.0 },
            ],
        )
        .default("\"off\"", "PRE-01", "our choice"),
        Param::number("gain", 0.0, 1.0)
            .default("0.5", "PRE-01", "our choice")
            .without("fair", &["off"], "nothing is fair"),
        Param::list("cuts", &Kind::Size { min: 1, max: 9 }).absent("no cuts"),
    ];

    /// What a text gives, or everything that is wrong with it.
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
                match param.kind {
                    Kind::Table(inner) => complete(&what, inner),
                    _ => assert!(!param.rule.is_empty(), "{what} follows a rule"),
                }
            }
        }
        for (name, params) in TABLES {
            complete(name, params);
            let text = defaults("t", params)
                .replace("[t]\n", "")
                .replace("[t.", "[");
            let values = read_text(&text, params);
            assert!(values.is_ok(), "{name}: {values:?}\n{text}");
        }
    }
}
