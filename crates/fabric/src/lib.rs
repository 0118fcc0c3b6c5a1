//! The simulated network: topology, routing, links and probes. Drives the dataplane with the kernel.

pub mod backpressure_graph;
pub mod engine;
pub mod ns3;
pub mod outages;
pub mod paths;
pub mod record;
pub mod routing;
pub mod topology;
