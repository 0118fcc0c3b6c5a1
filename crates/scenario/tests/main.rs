//! All tests of scenarios, in one program so that the simulation engine is compiled and linked
//! once.

mod allocations;
mod bad_input;
mod blame;
mod configurations;
mod controls;
mod declared;
mod failures;
mod floodgate;
mod links;
mod lossless;
mod ns3;
mod presets;
mod profile;
mod receivers;
mod scheme_at;
#[path = "../../dataplane/tests/sets/mod.rs"]
mod sets;
mod utilisation;
mod whole;
mod workload_file;
mod workloads;
