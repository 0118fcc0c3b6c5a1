//! Tests each key of `[scheme]` with its smallest and its largest value. The scenario is refused,
//! or runs without a panic.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use dataplane::param::{Acts, Fallback, Kind, Param};
use fabric::engine;
use fabric::record::{Recorder, Rows};

use super::NETWORK;
use scenario::scheme::{axes, tables};
use scenario::{Changes, Scenario};

/// The settings of `[record]` for each run: captured frames, and the delay breakdown of flows if
/// the schemes allow it.
const RECORDERS: [&str; 2] = [
    r#"[run]
until = "200us"
[record]
capture = { links = ["*->*"] }
blame = {}
"#,
    r#"[run]
until = "200us"
[record]
capture = { links = ["*->*"] }
"#,
];

/// Presets that together use every table of `[scheme]`. The test fails if a table is missing.
const PRESETS: [&str; 21] = [
    "bfc",
    "bfc+window",
    "hpcc",
    "hpcc-no-pfc",
    "dcqcn",
    "dcqcn+floodgate",
    "dcqcn+floodgate-ideal",
    "dcqcn+pfc-tag",
    "dcqcn+spfc",
    "dcqcn+cbfc",
    "dctcp",
    "timely",
    "swift",
    "powertcp",
    "theta-powertcp",
    "bolt",
    "reps",
    "expresspass",
    "ndp",
    "homa",
    "fixed-window",
];

/// Number of runs per value, with the first presets that accept the value.
const RUNS_PER_VALUE: usize = 2;

struct Discard;

impl Recorder for Discard {
    fn rows(&mut self, _rows: &dyn Rows) {}
}

/// Returns the smallest and the largest value of a parameter, as TOML.
fn extremes(kind: &Kind) -> Vec<String> {
    let ends = |min: u64, max: u64, unit: &str| {
        [min, max]
            .map(|value| format!("\"{value}{unit}\""))
            .to_vec()
    };
    match *kind {
        Kind::Size { min, max } => ends(min, max, "B"),
        Kind::Time { min, max } => ends(min, max, "ps"),
        Kind::Rate { min, max } => ends(min, max, "bps"),
        Kind::Counted { noun, min, max } => ends(min, max, &format!(" {noun}")),
        Kind::Count { min, max } => [min, max].map(|value| value.to_string()).to_vec(),
        Kind::Number { min, max }
        | Kind::Multiple { min, max, .. }
        | Kind::Fraction { min, max } => [min, max].map(|value| format!("{value:?}")).to_vec(),
        Kind::Flag => vec!["true".to_owned(), "false".to_owned()],
        Kind::Word(words) => words.iter().map(|word| format!("\"{word}\"")).collect(),
        Kind::Either(kinds) => kinds.iter().flat_map(extremes).collect(),
        Kind::List(of) => {
            let of_one = extremes(of).into_iter();
            of_one.map(|value| format!("[{value}]")).collect()
        }
        Kind::Table(params) => tables_of(params),
        Kind::Tables { of, .. } => {
            let of_one = tables_of(of).into_iter();
            of_one.map(|table| format!("[{table}]")).collect()
        }
        // No key of `[scheme]` is of one of these kinds.
        Kind::Text | Kind::Port | Kind::Links | Kind::Window { .. } => Vec::new(),
    }
}

/// Returns two tables: one with all keys at the lower ends of their ranges, and one with all at the
/// upper ends.
fn tables_of(params: &[Param]) -> Vec<String> {
    let table = |end: fn(&[String]) -> Option<&String>| {
        let keys: Vec<String> = params
            .iter()
            .filter_map(|param| Some(format!("{} = {}", param.key, end(&extremes(&param.kind))?)))
            .collect();
        format!("{{ {} }}", keys.join(", "))
    };
    vec![table(|ends| ends.first()), table(|ends| ends.last())]
}

/// Returns the other settings that a parameter requires in order to have an effect.
fn beside(table: &str, params: &[Param], param: &Param) -> Vec<String> {
    let word = match param.acts {
        Acts::With(other) => Some((other.key, other.words[0])),
        Acts::Without(other) => {
            let of = params.iter().find(|param| param.key == other.key);
            let words = match of.map(|param| param.kind) {
                Some(Kind::Word(words)) => words,
                _ => &["true", "false"],
            };
            let word = words.iter().find(|word| !other.words.contains(word));
            word.map(|word| (other.key, *word))
        }
        Acts::Always | Acts::Unless { .. } => None,
    };
    let mut set: Vec<String> = word
        .map(|(key, word)| format!("scheme.{table}{key}={word}"))
        .into_iter()
        .collect();
    match (table, param.key) {
        ("flowlet.", _) => set.push("scheme.path=flowlet".to_owned()),
        ("irn.", _) => set.push("scheme.recovery=irn".to_owned()),
        ("watchdog.", _) => set.push("scheme.guard=watchdog".to_owned()),
        ("bolt-switch.", _) => set.push("scheme.notices=bolt".to_owned()),
        ("llr.", _) => set.push("scheme.link=llr".to_owned()),
        ("bitmap.", _) => set.push("scheme.path=bitmap".to_owned()),
        ("oblivious.", _) => set.push("scheme.path=oblivious".to_owned()),
        ("pfc.", "headroom_delays") => set.push("scheme.pfc.xoff=0.5".to_owned()),
        _ => {}
    }
    set
}

/// Runs a scenario. Returns `Ok(false)` if it is refused, and `Err` if it panics or an audit fails.
fn run(preset: &str, set: &[String]) -> Result<bool, String> {
    let changes = Changes {
        scheme: Some(preset.to_owned()),
        set: set.to_vec(),
        ..Changes::default()
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let built = RECORDERS.iter().find_map(|recorders| {
            let text = format!("{NETWORK}{recorders}");
            let scenario = Scenario::parse(&text, "x.toml", Path::new("."), &changes).ok()?;
            scenario.build().ok()
        })?;
        Some(engine::run(built.plan, &mut Discard, &mut |_| true))
    }));
    match outcome {
        Ok(None) => Ok(false),
        Ok(Some(outcome)) if outcome.violations.is_empty() => Ok(true),
        Ok(Some(outcome)) => Err(format!("{:?}", outcome.violations)),
        Err(_) => Err("panics".to_owned()),
    }
}

#[test]
fn extreme_values_are_refused_or_run() {
    let all = [("", axes())].into_iter().chain(tables());
    let (mut failed, mut never) = (Vec::new(), Vec::new());
    for (name, params, param) in
        all.flat_map(|(name, params)| params.iter().map(move |param| (name, params, param)))
    {
        let table = match name {
            "" => String::new(),
            name => format!("{name}."),
        };
        let words = param.words.iter().map(|word| format!("\"{word}\""));
        let default = match param.fallback {
            Fallback::Value(value) => vec![value.to_owned()],
            _ => Vec::new(),
        };
        let ends: Vec<String> = extremes(&param.kind).into_iter().chain(words).collect();
        let mut runs = 0;
        // For some keys, both ends of the range conflict with the defaults of other keys. So the
        // default is also tested.
        for value in ends.iter().chain(&default) {
            let key = format!("scheme.{table}{}={value}", param.key);
            let mut both = beside(&table, params, param);
            both.push(key.clone());
            let sets = [vec![key], both];
            let trials = PRESETS
                .iter()
                .flat_map(|preset| sets.iter().map(move |set| (*preset, set)));
            let outcomes = trials.filter_map(|(preset, set)| match run(preset, set) {
                Ok(false) => None,
                Ok(true) => Some(Ok(())),
                Err(message) => Some(Err(format!("{preset} {set:?}: {message}"))),
            });
            for outcome in outcomes.take(RUNS_PER_VALUE) {
                match outcome {
                    Ok(()) => runs += 1,
                    Err(message) => failed.push(message),
                }
            }
        }
        if runs == 0 {
            never.push(format!("{table}{}", param.key));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert_eq!(never, [""; 0], "no value of these keys runs");
}
