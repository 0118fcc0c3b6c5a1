//! Generates traffic: which hosts send which flows, and when. The crate has no notion of switches.
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
    /// Number of the flow in the run: its index in the order of (start, source, position in
    /// source).
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
    /// Index of the `[[traffic]]` entry of the flow.
    pub source: u16,
    /// True if the flow belongs to an incast.
    pub incast: bool,
    /// Destination port.
    pub port: u16,
    /// Source port, if the list of flows gives it. // FGC-30
    pub src_port: Option<u16>,
}

/// Default destination port. // TRA-19
pub const DEFAULT_PORT: u16 = 100;

/// Destination port of flows that belong to an incast, as users of the ns-3 simulator mark them.
// TRA-19
pub const INCAST_PORT: u16 = 200;
