//! The simulated network: topology, routing, links and probes. It uses the dataplane (switches and
//! NICs) and the kernel (event calendar).

pub mod backpressure_graph;
pub mod engine;
pub mod expected_load;
pub mod ids;
pub mod link_failures;
pub mod ns3;
pub mod paths;
pub mod record;
pub mod routing;
pub mod topology;
pub mod workload;

pub use engine::measure;
pub use ids::{LinkId, NodeId};
