//! What the parts of a switch must know of its hop scheme.

use crate::units::Time;

/// What a hop scheme needs of the pipeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Packets that it held join queues of their own, behind those of data.
    pub queues_behind: bool,
    /// It pauses single queues.
    pub pauses_queues: bool,
    /// Its pauses name flows.
    pub pauses_flows: bool,
    /// A 1-hop round trip that replaces that of the longest link, ps.
    pub hop_rtt_ps: Option<Time>,
    /// While packets come and go it is called at the multiples of this time, ps.
    pub period_ps: Option<Time>,
    /// INT of packets that it parked reports the bytes in VOQs.
    pub int_reports_voqs: bool,
    /// Only this share of packets is counted in the flow table, in 1/65536; `None`: all are.
    pub sampling: Option<u32>,
}
