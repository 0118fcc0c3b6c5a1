//! Layers below a scenario: declared defaults, then a preset, then a profile.

use crate::document::{Table, Value, built_in};
use crate::keys::{ROOT, RUN, SWITCH};
use crate::params;
use crate::presets::{Preset, Profile};
use crate::scheme::{axes, tables};

const COMMON: &str = include_str!("../presets/common.toml");

impl Preset {
    /// Describes the preset in one line.
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

    /// Returns the settings of the preset, merged with the common defaults of all presets.
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
    /// Returns the settings of the profile for a scheme with this control and backpressure, and for
    /// this preset.
    pub(crate) fn scheme(&self, control: &str, backpressure: &str, preset: &str) -> Table {
        let table = layer(&format!("profile-{}", self.name), self.text);
        let mut result = Table::default();
        let mut parts = vec!["scheme", control, backpressure];
        // A preset may have the same name as its control or backpressure.
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

/// Returns the defaults of keys outside the scheme.
pub(crate) fn defaults() -> Table {
    built_in("defaults", default_text())
}

/// Returns the defaults of keys outside the scheme, as TOML.
#[must_use]
pub fn default_text() -> String {
    let scheme = &axes()[..2];
    [
        ("", ROOT),
        ("switch", SWITCH),
        ("run", RUN),
        ("scheme", scheme),
    ]
    .map(|(header, params)| params::defaults(header, params, "default: "))
    .concat()
}

/// Returns the common base of all presets as TOML: all declared defaults, and the sets of
/// parameters of `common.toml`.
#[must_use]
pub fn common() -> String {
    let axes = params::defaults("scheme", &axes()[2..], "");
    let tables = tables().map(|(name, of)| params::defaults(&format!("scheme.{name}"), of, ""));
    axes + &tables.collect::<String>() + COMMON
}

/// Parses one of the texts in `presets/`.
fn layer(name: &str, text: &str) -> Table {
    built_in(&format!("presets/{name}.toml"), text.to_owned())
}
