//! Tests of the engine with whole networks. All tests are in one program, so that they share
//! compiled code.

mod blame;
mod causes;
mod common;
mod credits;
mod determinism;
mod floodgate;
mod flow_paths;
mod known_answers;
mod links;
mod lockstep;
mod loss;
mod ns3;
mod receivers;
mod recording;
mod replay;
mod scenarios;
mod servers;
mod threads;
mod topology_graph;
mod topology_paths;
mod topology_routing;
mod workloads;
