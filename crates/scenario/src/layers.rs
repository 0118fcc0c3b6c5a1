//! Layers of defaults below a scenario: declared defaults, then a preset, then a profile.

use crate::document::{Table, Value, built_in};
use crate::keys::{ROOT, RUN, SWITCH};
use crate::params;
use crate::presets::{Preset, Profile};
use crate::scheme::{axes, tables};

const COMMON: &str = include_str!("../presets/common.toml");

impl Preset {
    /// Returns a one-line description of the preset.
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
    /// Returns the settings of the profile for a scheme with this congestion control and
    /// backpressure, and for this preset.
    pub(crate) fn scheme(&self, control: &str, backpressure: &str, preset: &str) -> Table {
        let table = layer(&format!("profile-{}", self.name), self.text);
        let mut result = Table::default();
        let mut parts = vec!["scheme", control, backpressure];
        // A preset may have the same name as its congestion control or backpressure.
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

/// Returns the declared defaults of keys outside the scheme.
pub(crate) fn defaults() -> Table {
    built_in("defaults", default_text())
}

/// Returns the declared defaults of keys outside the scheme, as TOML text.
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

/// Returns the common base of all presets as TOML text: all declared defaults of the scheme, and
/// the parameter sets of `common.toml`.
#[must_use]
pub fn common() -> String {
    let axes = params::defaults("scheme", &axes()[2..], "");
    let tables = tables().map(|(name, of)| params::defaults(&format!("scheme.{name}"), of, ""));
    axes + &tables.collect::<String>() + COMMON
}

/// Parses the text of one file in `presets/`.
fn layer(name: &str, text: &str) -> Table {
    built_in(&format!("presets/{name}.toml"), text.to_owned())
}
