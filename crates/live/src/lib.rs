//! Runs switches and hosts of the dataplane on real frames.
//!
//! [`switch`] and [`host`] run one node of a network on real interfaces and on the wall clock
//! (`specs/wall-clock.md`, `specs/wall-clock-host.md`). They use the dataplane without the
//! simulator.
//!
//! The feature `simulator` adds the modules that need the simulator. `plan` describes nodes of a
//! scenario for `switch` and `host`. `run` runs a scenario in lockstep (`specs/lockstep.md`,
//! docs/live.md): each node of the simulated network is in its own network namespace, and each link
//! is a pair of virtual interfaces. The nodes run under the simulator's virtual clock with separate
//! memory, and every frame passes through the kernel as bytes. This needs Linux, but no privileges.

#![cfg(target_os = "linux")]

#[cfg(feature = "simulator")]
mod compare;
mod error;
pub mod host;
mod interface;
#[cfg(feature = "simulator")]
mod lockstep;
#[cfg(feature = "simulator")]
pub mod namespace;
#[cfg(feature = "simulator")]
pub mod network;
#[cfg(feature = "simulator")]
pub mod packet_socket;
#[cfg(feature = "simulator")]
pub mod plan;
pub mod switch;
#[cfg(feature = "simulator")]
pub mod veth;
pub mod wall;

pub use error::Error;

#[cfg(feature = "simulator")]
pub use compare::{Compared, Difference, compare, first_difference, simulated_digest};
#[cfg(feature = "simulator")]
pub use lockstep::{Carriers, LockstepError, Report, run, run_over};
#[cfg(feature = "simulator")]
pub use namespace::enter_user_namespace;
