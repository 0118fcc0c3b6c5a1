//! Requests and reports of a rank to the simulation engine or estimate that runs it.

use super::message::Message;
use crate::Error;
use kernel::Time;

/// Actions that a rank requests from its driver (the simulation engine or the estimate that runs
/// it).
pub trait Actions {
    /// Sends this message now. The driver calls [`super::Rank::on_sent`] when the last ACK of the
    /// message has returned, and [`super::Rank::on_received`] of the receiver when the last byte
    /// has arrived. Options of the workload can change these times. // OPS-14
    fn send(&mut self, message: Message);

    /// Requests a call of [`super::Rank::on_wake`] at this time. Earlier requests stay valid.
    /// Additional calls of `on_wake` are harmless.
    fn wake(&mut self, at_ps: Time);

    /// Reports that an operation has ended.
    fn ended(&mut self, record: &Record);

    /// Activates a trigger; see [`super::Triggers`].
    fn activate(&mut self, trigger: u32);

    /// Reports that the operations cannot be read, so that the run must end.
    fn failed(&mut self, error: Error);
}

/// Report of an operation that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Rank of the operation.
    pub rank: u32,
    /// Index of the operation.
    pub index: u32,
    /// Name of the kind of operation, such as `send`.
    pub kind: &'static str,
    /// The other rank of a send or a receive, if it is known.
    pub peer: Option<u32>,
    /// Group and instance number of a collective. Group `None`: all ranks.
    pub collective: Option<(Option<u32>, u64)>,
    /// The collective that contains the operation, as an index in the workload's list of
    /// collectives.
    // OPS-38: collectives composed of operations
    pub part_of: Option<u32>,
    /// Payload bytes. For a receive, the bytes that arrived. For an all-to-allv, the bytes to all
    /// members.
    pub bytes: u64,
    /// For an all-to-allv: the larger of two sums, the bytes that this rank sends to other members
    /// and the bytes that it receives from other members. // OPS-61
    pub moved_bytes: u64,
    /// Resource that the operation occupied.
    pub resource: Option<u16>,
    /// Time at which the dependencies of the operation were met, ps.
    pub ready_ps: Time,
    /// Start time, ps.
    pub start_ps: Time,
    /// End time, ps.
    pub end_ps: Time,
    /// Index of the operation of this rank for which this operation waited last before its start: a
    /// dependency, or the previous user of the resource. `None`: no such operation, or a trigger.
    pub released_by: Option<u32>,
    /// The message whose arrival ended the operation: rank and index of the send, and number of the
    /// message. // OPS-06
    pub ended_by: Option<(u32, u32, u64)>,
}
