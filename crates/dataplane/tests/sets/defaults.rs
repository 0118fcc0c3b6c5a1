//! Default values of declared parameters, without a TOML reader.

use dataplane::param::{Fallback, Kind, Param, Value, Values};

/// Returns the default values of a scheme's parameters.
pub fn defaults(params: &'static [Param]) -> Values {
    let mut values = Values::default();
    for param in params {
        if let (None, Fallback::Value(toml)) = (param.useless(&values), param.fallback) {
            let text = toml.trim_matches('"');
            let word = param.words.iter().find(|word| **word == text);
            let value = word.map(|word| Value::Word(word));
            let value = value.or_else(|| of_kind(&param.kind, text));
            values.insert(
                param.key,
                value.unwrap_or_else(|| panic!("{}: {toml}", param.key)),
            );
        }
    }
    values
}

const SIZES: &[(&str, f64)] = &[("KB", 1e3), ("MB", 1e6), ("GB", 1e9), ("B", 1.0)];
const TIMES: &[(&str, f64)] = &[("ns", 1e3), ("us", 1e6), ("ms", 1e9), ("s", 1e12)];
const RATES: &[(&str, f64)] = &[("Mbps", 1e6), ("Gbps", 1e9)];

fn of_kind(kind: &Kind, text: &str) -> Option<Value> {
    let with_unit = |units: &[(&str, f64)]| {
        let number = |(unit, factor): &(&str, f64)| {
            let number: f64 = text.strip_suffix(unit)?.parse().ok()?;
            Some((number * factor) as u64)
        };
        units.iter().find_map(number)
    };
    match kind {
        Kind::Size { .. } => with_unit(SIZES).map(Value::Size),
        Kind::Time { .. } => with_unit(TIMES).map(Value::Time),
        Kind::Rate { .. } => with_unit(RATES).map(Value::Rate),
        Kind::Count { .. } => text.parse().ok().map(Value::Count),
        Kind::Number { .. } | Kind::Multiple { .. } | Kind::Fraction { .. } => {
            let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |n| (n, 0.01));
            let number: Option<f64> = number.parse().ok();
            number.map(|number| Value::Number(number * scale))
        }
        Kind::Flag => text.parse().ok().map(Value::Flag),
        Kind::Word(words) => words
            .iter()
            .find(|word| **word == text)
            .map(|word| Value::Word(word)),
        Kind::Either(kinds) => kinds.iter().find_map(|kind| of_kind(kind, text)),
        _ => None,
    }
}
