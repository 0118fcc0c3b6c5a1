//! Estimates the duration of a workload without simulating packets: whole messages cross a network
//! that is described by a few parameters.
//!
//! The same state machines start the operations as in a packet simulation. Only the network
//! differs. [`Network`] contains the two network models.

mod network;

pub use network::{Dimension, LogGops, Network, Shape, StoreAndForward};

use crate::Error;
use crate::operations::{
    Actions, Message, MessageId, Rank, Record, Source, Stragglers, Triggers, Workload, explain,
};
use kernel::Time;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

/// Result of an estimate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// End time of the last operation of each rank, ps.
    pub rank_end_ps: Vec<Time>,
    /// Computation time of each rank, ps.
    pub computing_ps: Vec<Time>,
    /// Number of operations that ended.
    pub operations: u64,
    /// Number of messages, including the control messages of rendezvous.
    pub messages: u64,
    /// Total bytes of the messages.
    pub bytes: u64,
    /// Warnings about messages that no receive matched.
    pub warnings: Vec<String>,
}

/// An event of the estimate. Events at the same time are handled in the order in which they were
/// created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A message (its number) reaches the end of a link of its path. The second value is the index
    /// of the next link.
    Hop(u64, u32),
    /// A rank (its number) requested a callback at this time.
    Wake(u32),
}

/// State of an estimate: its pending events, its messages in the network, and the requests of ranks
/// at the current time.
struct Loop<'a> {
    events: BinaryHeap<Reverse<(Time, u64, Event)>>,
    made: u64,
    now: Time,
    network: Network,
    under_way: BTreeMap<u64, Message>,
    activated: Vec<u32>,
    failed: Option<Error>,
    found: Estimate,
    computing: Vec<Intervals>,
    recorder: &'a mut dyn FnMut(&Record),
}

impl Loop<'_> {
    fn push(&mut self, at: Time, event: impl FnOnce(u64) -> Event) {
        self.made += 1;
        self.events.push(Reverse((at, self.made, event(self.made))));
    }

    /// Sends a message over the next link of its path.
    fn hop(&mut self, number: u64, hop: u32) {
        let message = self.under_way[&number];
        if let Some(at) = self.network.hop(&message, hop, self.now) {
            self.push(at, |_| Event::Hop(number, hop + 1));
        } else {
            self.push(self.now, |_| Event::Hop(number, u32::MAX));
        }
    }
}

/// Receiver of the requests of one rank. The second value is the number of the rank.
struct Of<'a, 'b>(&'a mut Loop<'b>, u32);

impl Actions for Of<'_, '_> {
    fn send(&mut self, message: Message) {
        self.0.found.messages += 1;
        self.0.found.bytes += message.bytes;
        self.0.made += 1;
        let number = self.0.made;
        self.0.under_way.insert(number, message);
        self.0.hop(number, 0);
    }

    fn wake(&mut self, at_ps: Time) {
        self.0.push(at_ps, |_| Event::Wake(self.1));
    }

    fn ended(&mut self, record: &Record) {
        let rank = record.rank as usize;
        self.0.found.operations += 1;
        self.0.found.rank_end_ps[rank] = record.end_ps;
        if record.kind == "calc" {
            self.0.computing[rank].add(record.start_ps, record.end_ps);
        }
        (self.0.recorder)(record);
    }

    fn activate(&mut self, trigger: u32) {
        self.0.activated.push(trigger);
    }

    fn failed(&mut self, error: Error) {
        self.0.failed.get_or_insert(error);
    }
}

/// Runs a workload on a network of messages. Calls `recorder` for each operation that ends.
///
/// # Errors
/// Operations cannot be read, or operations wait forever. The error lists the waiting operations
/// and the causes.
pub fn estimate(
    workload: &Arc<Workload>,
    source: &Arc<dyn Source>,
    stragglers: &Arc<Stragglers>,
    network: Network,
    recorder: &mut dyn FnMut(&Record),
) -> Result<Estimate, Error> {
    let count = workload.ranks as usize;
    let mut triggers = Triggers::new(workload, &**source)?;
    let mut ranks: Vec<Rank> = (0..workload.ranks)
        .map(|rank| Rank::new(rank, workload, source, stragglers))
        .collect();
    let mut state = Loop {
        events: BinaryHeap::new(),
        made: 0,
        now: 0,
        network,
        under_way: BTreeMap::new(),
        activated: Vec::new(),
        failed: None,
        found: Estimate {
            rank_end_ps: vec![0; count],
            ..Estimate::default()
        },
        computing: vec![Intervals::default(); count],
        recorder,
    };
    for rank in &mut ranks {
        let number = rank.number();
        rank.start(0, &mut Of(&mut state, number));
    }
    fire(&mut state, &mut triggers, &mut ranks);
    while let Some(Reverse((at, _, event))) = state.events.pop() {
        state.now = at;
        match event {
            Event::Wake(rank) => {
                ranks[rank as usize].on_wake(at, &mut Of(&mut state, rank));
            }
            Event::Hop(number, u32::MAX) => {
                let message = state.under_way.remove(&number).expect("it is under way");
                deliver(&message, at, &mut state, &mut ranks);
            }
            Event::Hop(number, hop) => state.hop(number, hop),
        }
        fire(&mut state, &mut triggers, &mut ranks);
        if let Some(error) = state.failed {
            return Err(error);
        }
    }
    let told = explain(workload, &**source, &ranks);
    if !ranks.iter().all(Rank::finished) {
        let what = format!(
            "the workload is stuck after {} of its operations:\n{}",
            state.found.operations,
            told.join("\n")
        );
        return Err(Error::new(what));
    }
    state.found.computing_ps = state.computing.iter().map(Intervals::covered).collect();
    state.found.warnings = told;
    Ok(state.found)
}

/// Delivers a message to its receiver, and notifies the sender at the same time. // OPS-80
fn deliver(message: &Message, now: Time, state: &mut Loop<'_>, ranks: &mut [Rank]) {
    let Message { id, from, to, .. } = *message;
    ranks[to as usize].on_received(message, now, &mut Of(state, to));
    let sent: MessageId = id;
    ranks[from as usize].on_sent(&sent, now, &mut Of(state, from));
}

fn fire(state: &mut Loop<'_>, triggers: &mut Triggers, ranks: &mut [Rank]) {
    while let Some(trigger) = (!state.activated.is_empty()).then(|| state.activated.remove(0)) {
        let released = triggers.activate(trigger).to_vec();
        for (rank, index) in released {
            let now = state.now;
            ranks[rank as usize].release(index, now, &mut Of(state, rank));
        }
    }
}

/// Union of time intervals. Intervals are added in the order of their end times.
#[derive(Clone, Debug, Default)]
struct Intervals(Vec<(Time, Time)>);

impl Intervals {
    fn add(&mut self, mut from: Time, to: Time) {
        while let Some(&(begin, end)) = self.0.last()
            && end >= from
        {
            from = from.min(begin);
            self.0.pop();
        }
        self.0.push((from, to));
    }

    fn covered(&self) -> Time {
        self.0.iter().map(|(from, to)| to - from).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::Intervals;

    #[test]
    fn overlapping_computations_count_once() {
        let mut all = Intervals::default();
        all.add(0, 5);
        all.add(7, 8);
        all.add(8, 9);
        all.add(4, 10);
        all.add(12, 13);
        assert_eq!(all.covered(), 11);
    }
}
