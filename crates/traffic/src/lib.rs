//! Generates traffic: which hosts send which flows, and when. The crate does not model switches.
//!
//! A [`SourceSpec`] describes one source of traffic. A [`Feed`] combines several sources into one
//! sequence of [`Flow`]s, created on demand. The crate reads no files; callers pass text. The rules
//! are in `specs/traffic.md`.

pub mod arrivals;
pub mod between;
pub mod collectives;
mod csv;
mod error;
pub mod estimate;
pub mod feed;
pub mod hosts;
pub mod list;
mod operation;
pub mod operations;
pub mod pattern;
pub mod sizes;
pub mod source;

pub use arrivals::{ArrivalKind, Arrivals, mean_gap_ps};
pub use between::Between;
pub use error::{Error, Place};
pub use feed::{Feed, MAX_FLOWS};
pub use hosts::{Hosts, Scope};
pub use list::{FlowFile, KnownHosts, ListedFlow, MAX_CLASS, parse_flow_csv};
pub use pattern::{Incast, Pattern, Receiver};
pub use sizes::{Distribution, Interpolation};
pub use source::{Sizes, SourceSpec};

/// One flow (message) to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Index of the flow in the run. Flows are ordered by start, then by source, then by position
    /// in their source.
    pub id: u32,
    /// Start time, ps.
    pub start_ps: u64,
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// Payload bytes; at least 1.
    pub bytes: u64,
    /// Traffic class. The default is 0.
    pub class: u8,
    /// Index of the flow's `[[traffic]]` entry in the scenario.
    pub source: u16,
    /// True if the flow belongs to an incast.
    pub incast: bool,
    /// Destination port number (as in UDP).
    pub port: u16,
    /// Source port number, if the list of flows contains it. // FGC-30
    pub src_port: Option<u16>,
}

/// Default destination port number of a flow. // TRA-19
pub const DEFAULT_PORT: u16 = 100;

/// Destination port number that marks flows of an incast. Traffic files of ns-3 use the same
/// number.
// TRA-19
pub const INCAST_PORT: u16 = 200;
