//! The dataplane on real frames.
//!
//! [`run`] builds the network of a scenario out of network namespaces and pairs of virtual interfaces, and runs it
//! in lockstep: the state machines of the simulator under its virtual clock, each node alone with its memory,
//! every frame as bytes through the kernel (`specs/lockstep.md`, docs/live.md). It needs no privileges, and
//! Linux.

#![cfg(target_os = "linux")]

mod compare;
pub mod host;
mod interface;
mod lockstep;
pub mod namespace;
pub mod network;
pub mod packet_socket;
pub mod switch;
pub mod veth;
pub mod wall;

pub use compare::{Compared, Difference, compare, first_difference, simulated_digest};
pub use lockstep::{Carriers, Report, run, run_over};
pub use namespace::enter_user_namespace;
