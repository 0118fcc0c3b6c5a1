//! Requests and reports of a rank to its driver.

use super::message::Message;
use crate::Error;
use kernel::Time;

/// Actions that a rank requests from its driver.
pub trait Actions {
    /// Sends this message now. The driver calls [`super::Rank::on_sent`] when its last ACK has returned,
    /// and [`super::Rank::on_received`] of the receiver when its last byte has arrived. Options can change
    /// these times. // OPS-14
    fn send(&mut self, message: Message);

    /// Requests a call of [`super::Rank::on_wake`] at this time. Earlier requests stay valid. Additional
    /// calls have no effect.
    fn wake(&mut self, at_ps: Time);

    /// Reports that an operation has ended.
    fn ended(&mut self, record: &Record);

    /// Activates a trigger; see [`super::Triggers`].
    fn activate(&mut self, trigger: u32);

    /// Reports that the operations cannot be read, so the run must end.
    fn failed(&mut self, error: Error);
}

/// An operation that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Rank of the operation.
    pub rank: u32,
    /// Index of the operation.
    pub index: u32,
    /// Name of the kind.
    pub kind: &'static str,
    /// The other rank of a send or a receive, if it is known.
    pub peer: Option<u32>,
    /// Group and instance of a collective.
    pub collective: Option<(Option<u32>, u64)>,
    /// The collective of which the operation is a part, as an index in the workload's list.
    // OPS-38
    pub part_of: Option<u32>,
    /// Bytes. For a receive, those that arrived. For an all-to-allv, those to all members.
    pub bytes: u64,
    /// For an all-to-allv, the larger of the bytes that this rank sends to others and receives from
    /// others. // OPS-61
    pub moved_bytes: u64,
    /// Resource that it occupied.
    pub resource: Option<u16>,
    /// Time at which its dependencies were met, ps.
    pub ready_ps: Time,
    /// Start time, ps.
    pub start_ps: Time,
    /// End time, ps.
    pub end_ps: Time,
    /// Last cause of waiting before its start: an operation of this rank that was a dependency or
    /// used the resource. `None`: no such operation, or a trigger.
    pub released_by: Option<u32>,
    /// The message whose arrival ended it: rank, index and part. // OPS-06
    pub ended_by: Option<(u32, u32, u64)>,
}
