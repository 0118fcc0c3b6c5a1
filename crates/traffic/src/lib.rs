//! Who sends what to whom and when. Knows hosts and bytes, nothing of switches.
//!
//! A [`SourceSpec`] says what one source of traffic does; a [`Feed`] turns several of them into
//! one sequence of [`Flow`]s, made while it is read. No file is read here: callers hand over text.
//! The rules are in `specs/traffic.md`.

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
    /// Number of the flow in the run: its place in the order of (start, source, place in source).
    pub id: u32,
    /// When it starts, ps.
    pub start_ps: u64,
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// Payload bytes; at least 1.
    pub bytes: u64,
    /// Traffic class, 0 being the default.
    pub class: u8,
    /// Index of the `[[traffic]]` entry that made it.
    pub source: u16,
    /// Belongs to an incast.
    pub incast: bool,
    /// Destination port.
    pub port: u16,
    /// Source port, where the list of flows says it. // FGC-30
    pub src_port: Option<u16>,
}

/// Destination port of flows of which nothing else is said. // TRA-19
pub const DEFAULT_PORT: u16 = 100;

/// Destination port by which users of the ns-3 simulator tell flows of an incast. // TRA-19
pub const INCAST_PORT: u16 = 200;
