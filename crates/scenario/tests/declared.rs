//! The declared keys of a scenario are the keys that the readers accept and that the documents
//! list.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use scenario::{Changes, PRESETS, Scenario, key_tables, schema, with_key_tables};
use serde_json::Value;

const NETWORK: &str = r#"name = "n"
[[traffic]]
name = "t"
pattern = "permutation"
size = "1MB"
[topology]
kind = "star"
hosts = 4
link = { rate = "100Gbps", delay = "1us" }
"#;

/// Returns docs/scenario.md and the pages in docs/scenario/.
fn documents() -> Vec<PathBuf> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let pages = std::fs::read_dir(docs.join("scenario")).unwrap();
    let mut pages: Vec<PathBuf> = pages.map(|entry| entry.unwrap().path()).collect();
    pages.push(docs.join("scenario.md"));
    pages
}

/// The tables of keys in the documents are up to date. With `UPDATE_DOCS=1` the test writes them
/// instead.
#[test]
fn the_tables_of_the_documents_are_those_of_the_declarations() {
    let mut shown = String::new();
    for path in documents() {
        let text = std::fs::read_to_string(&path).unwrap();
        let fresh = with_key_tables(&text).unwrap();
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, &fresh).unwrap();
        } else {
            let stale = path.display();
            assert!(
                text == fresh,
                "{stale} is stale; generate its tables: make tables"
            );
        }
        shown += &fresh;
    }
    for (name, _) in key_tables() {
        let with_others = name.starts_with("scheme.") && shown.contains("<!-- table: scheme.* -->");
        assert!(
            shown.contains(&format!("<!-- table: {name} -->")) || with_others,
            "no document has the table {name}"
        );
    }
}

#[test]
fn tables_of_a_document_are_replaced_and_the_rest_stays() {
    let text = "a\n<!-- table: switch -->\nold\n<!-- end of table -->\nb\n";
    let fresh = with_key_tables(text).unwrap();
    assert!(fresh.starts_with("a\n<!-- table: switch -->\n\n| key |"));
    assert!(fresh.contains("| `buffer` | a size, ") || fresh.contains("| `buffer` | a size"));
    assert!(
        fresh.ends_with("|\n\n<!-- end of table -->\nb\n"),
        "{fresh}"
    );
    assert_eq!(with_key_tables(&fresh).unwrap(), fresh);
    assert!(with_key_tables("<!-- table: none --><!-- end of table -->").is_err());
    assert!(with_key_tables("<!-- table: switch -->").is_err());
}

/// TRA-28: default class of traffic
#[test]
fn a_source_without_a_class_uses_the_first_data_class() {
    let class = |set: &[&str]| {
        let set = set.iter().map(|s| (*s).to_owned()).collect();
        let changes = Changes {
            set,
            ..Changes::default()
        };
        let scenario = Scenario::parse(NETWORK, "t.toml", Path::new("."), &changes).unwrap();
        scenario.spec.traffic[0].class
    };
    assert_eq!(class(&[]), 0);
    assert_eq!(class(&["traffic.0.class=3"]), 3);
}

/// Returns all errors and warnings of a scenario.
fn said(text: &str, set: &[&str]) -> Vec<scenario::Problem> {
    let set = set.iter().map(|s| (*s).to_owned()).collect();
    let changes = Changes {
        set,
        ..Changes::default()
    };
    match Scenario::parse(text, "t.toml", Path::new("."), &changes) {
        Ok(scenario) => scenario.warnings,
        Err(error) => error.problems,
    }
}

/// Returns the keys that the reader of a table accepts, from the hint of the error about an unknown
/// key.
fn known(text: &str, set: &[&str], table: &str) -> BTreeSet<String> {
    let odd = format!("{table}.zzzzzzzz=1");
    let set: Vec<&str> = set.iter().copied().chain([odd.as_str()]).collect();
    let problems = said(text, &set);
    let unknown = problems
        .iter()
        .find(|p| p.code == scenario::Code::UnknownKey && p.message.contains("zzzzzzzz"));
    let unknown = unknown.unwrap_or_else(|| panic!("{table}: {problems:#?}"));
    let hint = unknown.hint.as_deref().unwrap();
    let names = hint
        .strip_prefix("known here: ")
        .unwrap_or_else(|| panic!("{hint}"));
    names.split(", ").map(str::to_owned).collect()
}

fn declared(schema: &Value) -> BTreeSet<String> {
    let properties = schema["properties"].as_object().unwrap();
    properties.keys().cloned().collect()
}

#[test]
fn readers_and_declarations_know_the_same_keys() {
    let schema = schema();
    let top = &schema["properties"];
    for table in ["switch", "run", "record"] {
        assert_eq!(known(NETWORK, &[], table), declared(&top[table]), "{table}");
    }
    for (key, parts) in top["record"]["properties"].as_object().unwrap() {
        let table = format!("record.{key}");
        assert_eq!(known(NETWORK, &[], &table), declared(parts), "{table}");
    }
    for kind in top["topology"]["oneOf"].as_array().unwrap() {
        let word = kind["properties"]["kind"]["const"].as_str().unwrap();
        let set = format!("topology.kind={word}");
        assert_eq!(
            known(NETWORK, &[&set], "topology"),
            declared(kind),
            "{word}"
        );
    }
    for pattern in top["traffic"]["items"]["oneOf"].as_array().unwrap() {
        let word = pattern["properties"]["pattern"]["const"].as_str().unwrap();
        let pattern_is = format!("traffic.0.pattern={word}");
        // Keys that are refused because they have no effect also count as known.
        let set = [pattern_is.as_str(), "traffic.0.every=\"1us\""];
        assert_eq!(
            known(NETWORK, &set, "traffic.0"),
            declared(pattern),
            "{word}"
        );
    }
    let failures = ["topology.failures=[{ links = [\"host0--switch0\"], zzzzzzzz = 1 }]"];
    let problems = said(NETWORK, &failures);
    let hint = problems[0].hint.clone().unwrap();
    for key in declared(&top["topology"]["oneOf"][0]["properties"]["failures"]["items"]) {
        assert!(hint.contains(&key), "{hint} lacks {key}");
    }
}

/// Every axis accepts the words that are declared for it, and no other words.
#[test]
fn readers_and_declarations_know_the_same_words_and_tables() {
    let schema = schema();
    let scheme = &schema["properties"]["scheme"];
    for (key, axis) in scheme["properties"].as_object().unwrap() {
        let Some(words) = axis["enum"].as_array() else {
            continue;
        };
        let words: BTreeSet<String> = words
            .iter()
            .map(|w| w.as_str().unwrap().to_owned())
            .collect();
        let wrong = format!("scheme.{key}=zzzzzzzz");
        let problems = said(NETWORK, &[&wrong]);
        let hint = problems[0].hint.clone().unwrap();
        let (_, known) = hint
            .split_once("here are: ")
            .unwrap_or_else(|| panic!("{key}: {hint}"));
        // The words are removed one by one instead of splitting the text at commas, because one
        // word contains a comma.
        let mut left = known.to_owned();
        for word in words.iter().rev() {
            assert!(left.contains(word.as_str()), "{key} does not take {word}");
            left = left.replacen(word.as_str(), "", 1);
        }
        assert!(
            left.chars().all(|c| ", +-".contains(c)),
            "{key} takes more: {left}"
        );
    }
    assert_eq!(known(NETWORK, &[], "scheme"), declared(scheme));
}

#[test]
fn every_key_of_a_resolved_scenario_is_declared() {
    let schema = schema();
    let scheme = &schema["properties"]["scheme"];
    for preset in PRESETS {
        let changes = Changes {
            scheme: Some(preset.name.to_owned()),
            ..Changes::default()
        };
        let scenario = Scenario::parse(NETWORK, "t.toml", Path::new("."), &changes).unwrap();
        let mut table = String::new();
        for line in scenario.resolved.lines() {
            if let Some(header) = line.strip_prefix('[') {
                table = header.trim_matches(['[', ']']).to_owned();
                continue;
            }
            let key = line.split_once(" = ").map_or("", |(key, _)| key);
            let mut at = scheme;
            let Some(path) = format!("{table}.{key}")
                .strip_prefix("scheme.")
                .map(str::to_owned)
            else {
                continue;
            };
            if key.is_empty() {
                continue;
            }
            for part in path.split('.') {
                if at == &serde_json::json!({ "type": "object" }) {
                    break;
                }
                at = &at["properties"][part];
                assert!(at.is_object(), "{}: {path} is not declared", preset.name);
            }
        }
    }
}
