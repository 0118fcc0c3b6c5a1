//! The tests of traffic and workloads, in one program.

mod arrivals;
mod collectives;
mod feed;
mod floodgate;
mod list;
mod operations;
mod programs;
mod published;
mod sizes;
