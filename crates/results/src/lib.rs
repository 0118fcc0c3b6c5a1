//! Writes the results of a run: Parquet tables during the run, and a summary at its end.
//!
//! A run is one directory (see [`Writer`]): `resolved.toml`, the tables of every run
//! ([`fabric::record::tables`]), the tables that its scenario requests ([`fabric::measure`]),
//! captured frames of links as pcapng, and, last of all, `summary.json`. Every file is written
//! under a temporary name and gets its final name at the end, so a file with a final name is
//! complete. This is the only crate that writes files.

mod capture;
mod counters;
mod directory;
mod encoder;
mod error;
mod host;
mod info;
mod lone_flows;
mod names;
mod stats;
mod summary;
mod table;
mod tally;
mod workloads;
mod writer;

pub use capture::CapturedLink;
pub use error::Error;
pub use host::HostFiles;
pub use info::{AskedLoad, NodeInfo, ParallelEnd, RunInfo};
pub use stats::{Distribution, Histogram, nearest_rank};
pub use summary::{
    Buffer, FctBin, FctBins, Flows, LinkGroup, Load, Percentiles, Performance, Summary, TierBuffer,
    ViolationLine,
};
pub use summary::{LONG_FROM_BYTES, SHORT_UP_TO_BYTES};
pub use workloads::WorkloadSummary;
pub use writer::Writer;
