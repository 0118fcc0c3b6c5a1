//! The JSON Schema (2020-12) of a scenario, generated from the declarations of its keys.

use dataplane::param::{Fallback, Kind, Param};
use serde_json::{Map, Value, json};

use crate::document::{self, Node};
use crate::keys::{ROOT, RUN, SWITCH, TOPOLOGY, TRAFFIC, Variants, WORKLOAD};
use crate::scheme;
use crate::units::{Dimension, RATE, SIZE, TIME};

/// Regular expression of a decimal number as [`crate::units`] parses it: digits, point and
/// exponent.
const DECIMAL: &str = r"\s*(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)([eE][+-]?\d+)?\s*";

/// Returns the JSON Schema of a scenario with all keys, the types of their values, words, ranges of
/// numbers, and defaults. Rules that depend on several keys, on the network, or on the range of a
/// quantity with a unit are not in the schema; only [`crate::Scenario`] checks them.
#[must_use]
pub fn schema() -> Value {
    let mut top = object(ROOT);
    let described = |mut schema: Value, about: &str| {
        schema["description"] = json!(about);
        schema
    };
    top["properties"]["topology"] = described(variants(&TOPOLOGY), "The network.");
    top["properties"]["switch"] = described(object(SWITCH), "Every switch.");
    let traffic = json!({ "type": "array", "items": variants(&TRAFFIC), "minItems": 1 });
    top["properties"]["traffic"] = described(traffic, "Sources of flows.");
    let workload = json!({ "type": "array", "items": object(WORKLOAD), "minItems": 1 });
    top["properties"]["workload"] = described(workload, "What ranks do together, step after step.");
    top["properties"]["run"] =
        described(object(RUN), "How long the run lasts, and what is measured.");
    let about = "What is recorded besides flows, ports, buffers and pauses.";
    top["properties"]["record"] = described(object(fabric::measure::PARAMS), about);
    let mut scheme = object(scheme::axes());
    for (name, params) in scheme::tables() {
        let about = format!("Parameters of {name}.");
        scheme["properties"][name] = described(object(params), &about);
    }
    let mut at = object(scheme::AT);
    for key in scheme::keys_at() {
        at["properties"][key] = scheme["properties"][key].clone();
    }
    let at = json!({ "type": "array", "items": at });
    scheme["properties"]["at"] =
        described(at, "Switches whose scheme differs from that of the others.");
    let about = "A preset, and any axis set alone. The table of a word is for scenarios in which that word is chosen.";
    top["properties"]["scheme"] = described(scheme, about);
    top["required"] = json!(["name", "topology"]);
    top["anyOf"] = json!([{ "required": ["traffic"] }, { "required": ["workload"] }]);
    top["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    top["$id"] = json!("urn:backwater:scenario");
    top["title"] = json!("Scenario of Backwater");
    top
}

/// Returns the schema of a table that allows only these keys.
fn object(params: &[Param]) -> Value {
    let properties = params
        .iter()
        .map(|param| (param.key.to_owned(), property(param)));
    let needed =
        |param: &&Param| matches!(param.fallback, Fallback::Needed(_)) && acts_always(param);
    let required: Vec<&str> = params
        .iter()
        .filter(needed)
        .map(|param| param.key)
        .collect();
    let mut schema = json!({
        "type": "object",
        "properties": properties.collect::<Map<String, Value>>(),
        "additionalProperties": false,
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn acts_always(param: &Param) -> bool {
    param.acts == dataplane::param::Acts::Always
}

/// Returns the schema of a table whose kind one of its keys selects.
fn variants(variants: &Variants) -> Value {
    let each = variants.each.iter().map(|variant| {
        let params = [variants.common, variant.params].concat();
        let mut schema = object(&params);
        schema["description"] = json!(variant.about);
        schema["properties"][variants.key] =
            json!({ "const": variant.word, "description": variants.about });
        let mut required = vec![json!(variants.key)];
        required.extend(schema["required"].as_array().into_iter().flatten().cloned());
        schema["required"] = json!(required);
        schema
    });
    json!({ "type": "object", "oneOf": each.collect::<Vec<_>>() })
}

/// Returns the schema of the value of a key.
fn property(param: &Param) -> Value {
    let mut schema = kind(&param.kind);
    if !param.words.is_empty() {
        let mut any = match schema.get("anyOf") {
            Some(Value::Array(any)) => any.clone(),
            _ => vec![schema],
        };
        any.insert(0, json!({ "enum": param.words }));
        schema = json!({ "anyOf": any });
    }
    let mut about = param.about.to_owned();
    match param.fallback {
        Fallback::Value(toml) => {
            schema["default"] = json_of(&node(toml));
            about += &format!(" Default: {} ({}).", param.source, param.rule);
        }
        Fallback::Absent(sentence) => about += &format!(" Without it: {sentence}."),
        Fallback::Needed(_) if matches!(param.kind, Kind::Table(_)) => {}
        Fallback::Needed(toml) => schema["examples"] = json!([json_of(&node(toml))]),
    }
    schema["description"] = json!(about);
    schema
}

fn kind(of: &Kind) -> Value {
    match *of {
        Kind::Size { .. } => quantity(&SIZE),
        Kind::Time { .. } => quantity(&TIME),
        Kind::Rate { .. } => quantity(&RATE),
        Kind::Count { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Kind::Number { min, max } | Kind::Multiple { min, max, .. } => {
            json!({ "type": "number", "minimum": min, "maximum": max })
        }
        Kind::Fraction { min, max } => json!({ "anyOf": [
            { "type": "number", "minimum": min, "maximum": max },
            { "type": "string", "pattern": format!("^{DECIMAL}%?\\s*$") },
        ] }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Word(words) => json!({ "enum": words }),
        Kind::Counted { noun, .. } => {
            json!({ "type": "string", "pattern": format!("^\\d+\\s*{noun}$") })
        }
        Kind::Text => json!({ "type": "string", "minLength": 1, "maxLength": 200 }),
        Kind::Port => json!({ "type": "string", "pattern": "->" }),
        Kind::Links => json!({ "type": "string", "pattern": "->|:" }),
        Kind::Window { .. } => {
            json!({ "type": "array", "items": quantity(&TIME), "minItems": 2, "maxItems": 2 })
        }
        Kind::Either(kinds) => json!({ "anyOf": kinds.iter().map(kind).collect::<Vec<_>>() }),
        Kind::List(of) => json!({ "type": "array", "items": kind(of) }),
        Kind::Table(params) => object(params),
        Kind::Tables { of, .. } => {
            json!({ "type": "array", "items": object(of), "minItems": 1 })
        }
    }
}

/// Returns the schema of a number with a unit.
fn quantity(of: &Dimension) -> Value {
    let units: Vec<&str> = of.unit_names().collect();
    json!({ "type": "string", "pattern": format!("^{DECIMAL}({})\\s*$", units.join("|")) })
}

/// Parses a value that is written as TOML.
fn node(toml: &str) -> Node {
    let table = document::built_in("default", format!("value = {toml}"));
    let entry = table.get("value").expect("it has just been written");
    entry.node.clone()
}

/// Converts a TOML value to JSON.
fn json_of(node: &Node) -> Value {
    match &node.value {
        document::Value::String(text) => json!(text),
        document::Value::Integer(digits, radix) => json!(i64::from_str_radix(digits, *radix).ok()),
        document::Value::Float(digits) => json!(digits.parse::<f64>().ok()),
        document::Value::Bool(value) => json!(value),
        document::Value::Datetime => Value::Null,
        document::Value::Array(items) => items.iter().map(json_of).collect(),
        document::Value::Table(table) => {
            let pairs = table
                .entries
                .iter()
                .map(|e| (e.key.clone(), json_of(&e.node)));
            Value::Object(pairs.collect())
        }
    }
}
