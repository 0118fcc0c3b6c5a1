//! The simulated network: topology, routing, links and probes. Drives the dataplane with the kernel.

pub mod record;
pub mod topology;
