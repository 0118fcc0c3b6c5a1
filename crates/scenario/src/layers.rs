//! What a scenario starts from: declared defaults, then a preset, then a profile.

use crate::document::{Table, Value, built_in};
use crate::keys::{ROOT, RUN, SWITCH};
use crate::params;
use crate::presets::{Preset, Profile};
use crate::scheme::{AXES, tables};

const COMMON: &str = include_str!("../presets/common.toml");

impl Preset {
    /// What it is, in a line.
    #[must_use]
    pub fn summary(&self) -> String {
        match layer(self.name, self.text)
            .get("summary")
            .map(|e| &e.node.value)
        {
            Some(Value::String(text)) => text.clone(),
            _ => String::new(),
        }
    }

    /// Its answers, on top of what all presets start from.
    pub(crate) fn scheme(&self, parameters: &str) -> Table {
        let mut result = Table::default();
        let common = built_in("presets/common.toml", common());
        for table in [common, layer(self.name, self.text)] {
            for part in ["scheme", parameters] {
                if let Some(Value::Table(part)) = table.get(part).map(|e| &e.node.value) {
                    result.merge(part);
                }
            }
        }
        result
    }
}

impl Profile {
    /// What it sets in a scheme with this control and backpressure, and in this preset.
    pub(crate) fn scheme(&self, control: &str, backpressure: &str, preset: &str) -> Table {
        let table = layer(&format!("profile-{}", self.name), self.text);
        let mut result = Table::default();
        let mut parts = vec!["scheme", control, backpressure];
        // A preset may have the name of its control or backpressure.
        if !parts.contains(&preset) {
            parts.push(preset);
        }
        for part in parts {
            if let Some(Value::Table(part)) = table.get(part).map(|e| &e.node.value) {
                result.merge(part);
            }
        }
        result
    }
}

/// Defaults of keys outside the scheme.
pub(crate) fn defaults() -> Table {
    built_in("defaults", default_text())
}

/// Defaults of keys outside the scheme, as TOML.
#[must_use]
pub fn default_text() -> String {
    let scheme = &AXES[..2];
    [
        ("", ROOT),
        ("switch", SWITCH),
        ("run", RUN),
        ("scheme", scheme),
    ]
    .map(|(header, params)| params::defaults(header, params, "default: "))
    .concat()
}

/// What every preset starts from, as TOML: all declared defaults, and the sets of parameters of `common.toml`.
#[must_use]
pub fn common() -> String {
    let axes = params::defaults("scheme", &AXES[2..], "");
    let tables = tables().map(|(name, of)| params::defaults(&format!("scheme.{name}"), of, ""));
    axes + &tables.collect::<String>() + COMMON
}

/// The table of one of the texts in `presets/`.
fn layer(name: &str, text: &str) -> Table {
    built_in(&format!("presets/{name}.toml"), text.to_owned())
}
