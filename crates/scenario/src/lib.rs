//! Reads a TOML scenario, checks it, builds its network, and runs it.
//!
//! A scenario is read into a tree in which each value has its position in the text ([`problem`]).
//! All problems are reported together. The result is a [`Scenario`]: the values with all defaults
//! ([`Spec`]), the network, and the text of `resolved.toml`. Presets are in `presets/`. These files
//! and `specs/presets.md` state the source of each value.

mod build;
mod check;
mod check_buffers;
mod check_defaults;
mod check_flows;
mod check_links;
mod document;
pub mod estimate;
pub mod failures;
mod findings;
mod fitted;
pub mod floodgate_resources;
mod help;
mod hosts;
mod in_network;
mod key_tables;
mod keys;
mod layers;
mod link_failures;
mod load;
mod loads;
pub mod locate;
mod messages;
mod names;
mod not_modelled;
mod params;
mod presets;
pub mod problem;
mod reader;
mod record;
mod resolve;
pub mod resources;
mod run;
mod schema;
pub mod scheme;
mod spec;
mod surroundings;
pub mod switch_state;
pub mod thresholds;
pub mod topology;
mod traffic_spec;
pub mod units;
mod workload_algorithm;
pub mod workload_file;
mod workload_spec;
mod workload_steps;

pub use build::{BuildError, Built};
pub use check_links::LinkEpoch;
pub use key_tables::{key_tables, with_key_tables};
pub use layers::{common, default_text};
pub use load::Changes;
pub use loads::{AskedLoad, asked_loads};
pub use presets::{PARAMETER_SETS, PRESETS, PROFILES, Preset, Profile};
pub use problem::{Code, Problem, ScenarioError, Severity};
pub use reader::Origin;
pub use run::{Engine, Options, RunError};
pub use schema::schema;
pub use scheme::{SchemeConfig, SchemeSpec};
pub use spec::{RunSpec, Scenario, Spec};
pub use surroundings::surroundings;
pub use traffic_spec::{Frequency, TrafficSpec};
pub use workload_spec::{CollectiveSpec, FileSpec, WorkSpec, WorkloadSpec};
pub use workload_steps::{Step, StepWork, StepsSpec};

/// Name of the default preset (PRE-44).
pub(crate) const DEFAULT_PRESET: &str = "bfc";
