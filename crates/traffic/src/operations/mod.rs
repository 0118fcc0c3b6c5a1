//! Workloads with dependencies: what each rank computes, sends and receives, and the dependencies
//! between these operations.
//!
//! A [`Workload`] contains the properties of all ranks: their number, groups, options, triggers. A
//! [`Source`] returns the [`Operation`]s of each rank, block by block. `docs/workloads.md`
//! describes the file format for users. The rules are in `specs/operations.md`, cited as `OPS-01`.

mod actions;
mod lanes;
mod matching;
mod message;
mod options;
mod rank;
mod resources;
mod source;
mod stragglers;
mod stuck;
mod triggers;
mod window;
mod workload;

pub use crate::operation::{Collective, CollectiveKind, Operation, Receive, Send, Work};
pub use actions::{Actions, Record};
pub use message::{Message, MessageId, Role, Scope};
pub use options::{
    Instances, Matching, Options, PerByte, QueuePairs, ReadyOrder, ReceiveEnd, SendEnd,
};
pub use rank::Rank;
pub use source::{Block, InMemory, Source, needed_at};
pub use stragglers::{By, Noise, Slow, Stragglers, Who};
pub use stuck::explain;
pub use triggers::Triggers;
pub use workload::{Composed, Group, Members, Trigger, TriggerKind, Workload};
