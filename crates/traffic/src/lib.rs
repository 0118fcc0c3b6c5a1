//! Who sends what to whom and when. Knows hosts and bytes, nothing of switches.

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
}
