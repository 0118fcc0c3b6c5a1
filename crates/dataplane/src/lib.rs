//! Switch and NIC as state machines, without input, output, clock or threads. They implement the
//! schemes of the papers.
//!
//! The *driver* is the program that calls them: the simulator, in virtual time, or the live switch,
//! in real time. It passes packets and the time to a switch or NIC, which returns packets and the
//! time of its next call. The driver owns links, clock and files.

#[cfg(test)]
extern crate self as dataplane;
#[cfg(test)]
#[path = "../tests/sets/mod.rs"]
mod sets;

mod added;
pub mod cc;
pub mod classes;
pub mod config;
mod counters;
pub mod declaration;
pub mod event;
mod fifo;
mod flow;
mod gate;
pub mod hash;
pub mod hop;
pub mod ids;
mod incoming;
pub mod int;
pub mod link;
mod mixed;
pub mod nic;
pub mod ns3;
pub mod outside;
pub mod packet;
pub mod param;
pub mod paths;
pub mod pause_time;
mod pipeline;
mod ports;
pub mod prefetch;
pub mod properties;
pub mod reliability;
mod replies;
pub mod requirements;
pub mod route;
pub mod scheme;
mod shaping;
pub mod signal;
pub mod sink;
pub mod source_hash;
mod space;
pub mod switch;
mod timers;
pub mod trail;
pub mod transport;
pub mod units;
mod wait;
pub mod watchdog;
