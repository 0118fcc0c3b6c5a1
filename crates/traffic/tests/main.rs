//! One test program for all tests of traffic and workloads.

mod arrivals;
mod collectives;
mod feed;
mod floodgate;
mod list;
mod operations;
mod programs;
mod published;
mod sizes;
