//! Triggers: the ends of messages of any rank activate them, and they release operations of any
//! rank.

use super::source::Source;
use super::workload::{TriggerKind, Workload};
use crate::Error;

/// The state of all triggers of a workload. It is global, because released operations start at the
/// same time on any host. Therefore a run with triggers uses one thread. // OPS-40
#[derive(Clone, Debug, Default)]
pub struct Triggers {
    all: Vec<State>,
}

#[derive(Clone, Debug)]
struct State {
    kind: TriggerKind,
    activations: u64,
    /// Operations (rank, index) that wait for the trigger, sorted by priority, rank and index.
    targets: Vec<(u32, u32)>,
}

impl Triggers {
    /// Creates the triggers of a workload, each with the operations that wait for it.
    ///
    /// # Errors
    /// The operations cannot be read.
    pub fn new(workload: &Workload, source: &dyn Source) -> Result<Self, Error> {
        let mut targets = vec![Vec::new(); workload.triggers.len()];
        if !targets.is_empty() {
            for rank in 0..workload.ranks {
                let mut from = 0;
                while from < source.count(rank) {
                    for operation in source.read(rank, from)?.operations {
                        if let Some(trigger) = operation.trigger {
                            targets[trigger as usize].push((operation.priority, rank, from));
                        }
                        from += 1;
                    }
                }
            }
        }
        let all = workload.triggers.iter().zip(targets);
        let all = all.map(|(trigger, mut targets)| {
            targets.sort_unstable();
            State {
                kind: trigger.kind,
                activations: 0,
                targets: targets
                    .into_iter()
                    .map(|(_, rank, at)| (rank, at))
                    .collect(),
            }
        });
        Ok(Self { all: all.collect() })
    }

    /// Activates a trigger. Returns the operations (rank, index) that it releases now. // OPS-41
    pub fn activate(&mut self, trigger: u32) -> &[(u32, u32)] {
        let state = &mut self.all[trigger as usize];
        state.activations += 1;
        let fires = match state.kind {
            TriggerKind::OneShot => state.activations == 1,
            TriggerKind::Barrier { count } => state.activations == u64::from(count),
            TriggerKind::MultiShot => {
                let at = state.activations as usize - 1;
                return state.targets.get(at..=at).unwrap_or_default();
            }
        };
        if fires { &state.targets } else { &[] }
    }

    /// True if the workload has triggers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}
