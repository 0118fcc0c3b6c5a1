//! Values of `scheme.backpressure` in scenarios.

use std::fmt::{self, Debug, Formatter};

use super::{HopConfig, HopScheme};
use crate::declaration::{Around, Counter, Declaration, Spec};
use crate::packet::{Packet, SchemeNumber};
use crate::param::{Conflict, Param, Params, Values};
use crate::ports::Ports;
use crate::properties::{Choice, Properties, Rule};

/// A value of `scheme.backpressure`, as data.
#[derive(Clone, Copy, Debug)]
pub struct HopWord {
    /// The value, and the name of the table of its parameters.
    pub name: &'static str,
    /// Parameters.
    pub params: &'static [Param],
    /// Number of the scheme in its frames.
    pub number: SchemeNumber,
    /// Counters of the scheme.
    pub counters: &'static [Counter],
    /// Returns the configuration of a switch for parameter values and network properties.
    configure: Configure,
    /// Applies a frame of the scheme to a port.
    pub(crate) obey: fn(&mut dyn Ports, u16, &Packet, &[u32]),
}

type Configure = fn(&Values, &Around) -> Result<HopConfig, Conflict>;

impl HopWord {
    pub(crate) const fn of<S: Spec, H: HopScheme<Config = S::Config>>(
        configure: Configure,
    ) -> Self {
        Self {
            name: S::NAME,
            params: S::Params::PARAMS,
            number: H::NUMBER,
            counters: H::COUNTERS,
            configure,
            obey: |ports, port, frame, list| H::obey(ports, port, frame, list),
        }
    }

    /// Returns the scenario-level configuration with these parameter values.
    ///
    /// # Errors
    /// Values that contradict each other.
    pub fn with(&'static self, values: &Values) -> Result<HopSpec, Conflict> {
        Ok(HopSpec(Some(Chosen {
            word: self,
            values: values.clone(),
            anywhere: (self.configure)(values, &Around::default())?,
        })))
    }
}

/// Scenario-level configuration of a hop scheme. The default is none.
#[derive(Clone, Default)]
pub struct HopSpec(Option<Chosen>);

#[derive(Clone)]
struct Chosen {
    word: &'static HopWord,
    values: Values,
    /// Configuration computed without the properties of a network.
    anywhere: HopConfig,
}

impl HopSpec {
    /// Returns the value of `scheme.backpressure`; `"none"` without a scheme.
    #[must_use]
    pub fn word(&self) -> &'static str {
        self.0.as_ref().map_or("none", |chosen| chosen.word.name)
    }

    fn values(&self) -> Option<&Values> {
        self.0.as_ref().map(|chosen| &chosen.values)
    }

    /// Returns the number of the scheme in its frames, or `None` without a scheme.
    #[must_use]
    pub fn number(&self) -> Option<SchemeNumber> {
        self.0.as_ref().map(|chosen| chosen.word.number)
    }

    /// Returns the configuration of a switch in a network.
    ///
    /// # Panics
    /// If [`Spec::configure`] refuses values that it has accepted for another network.
    #[must_use]
    pub fn configure(&self, around: &Around) -> HopConfig {
        self.0.as_ref().map_or(HopConfig::None, |chosen| {
            let config = (chosen.word.configure)(&chosen.values, around);
            config.expect("the same values have been accepted")
        })
    }

    /// Returns the declaration of the scheme, computed without the properties of a network, or
    /// `None` without a scheme.
    #[must_use]
    pub fn declaration(&self) -> Option<&dyn Declaration> {
        self.0.as_ref()?.anywhere.declaration()
    }
}

impl PartialEq for HopSpec {
    fn eq(&self, other: &Self) -> bool {
        self.word() == other.word() && self.values() == other.values()
    }
}

impl Debug for HopSpec {
    /// Writes the same text in every process, because the hash of a scenario contains it.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_tuple(self.word()).field(&self.values()).finish()
    }
}

impl Choice for HopSpec {
    fn provides(&self) -> Properties {
        self.declaration()
            .map_or(Properties::NONE, Choice::provides)
    }

    fn rules(&self) -> Vec<Rule> {
        self.declaration().map_or_else(Vec::new, Choice::rules)
    }
}
