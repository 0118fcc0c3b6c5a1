//! What a run leaves behind: Parquet tables, streamed while it goes, and a summary at its end.
//!
//! A run is one directory (see [`Writer`]): `resolved.toml`, `flows.parquet`, `ports.parquet`,
//! `queues.parquet`, `active.parquet`, `pauses.parquet` and, last of all, `summary.json`; where the
//! scenario requests them also `throughput.parquet`, `port_queues.parquet`,
//! `queue_histogram.parquet`, `rtt.parquet`, `pause_causes.parquet` and `held_flows.parquet`. Every
//! file is written under a temporary name and gets its own at the end, so a file with its final name
//! is always whole. This is the only crate that writes files.

mod directory;
mod error;
mod followed;
mod info;
mod recorded;
mod stats;
mod summary;
mod table;
mod writer;

pub use error::Error;
pub use info::{AskedLoad, NodeInfo, RunInfo};
pub use stats::{Distribution, Histogram, nearest_rank};
pub use summary::{
    Buffer, FctBin, FctBins, Flows, LinkGroup, Load, Performance, QueueLength, RoundTrip, Summary,
    TierBuffer, ViolationLine,
};
pub use summary::{LONG_FROM_BYTES, SHORT_UP_TO_BYTES};
pub use writer::Writer;
