//! Workloads with dependencies: what each rank computes, sends and receives, and what waits for what.
//!
//! A [`Workload`] says what holds for all ranks: their number, groups, options, triggers. A
//! [`Source`] gives the [`Operation`]s of each rank, block by block. The document for users, with the
//! file format, is `docs/workloads.md`; the rules are in `specs/operations.md`, cited as `OPS-01`.

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
pub use message::{Message, MessageId, Role, Scope};
pub use options::{
    Instances, Matching, Options, PerByte, QueuePairs, ReadyOrder, ReceiveEnd, SendEnd,
};
pub use rank::{Actions, Rank, Record};
pub use source::{Block, InMemory, Source, needed_at};
pub use stragglers::{By, Noise, Slow, Stragglers, Who};
pub use stuck::explain;
pub use triggers::Triggers;
pub use workload::{Composed, Group, Members, Trigger, TriggerKind, Workload};
