//! Explains why operations have not ended although no event is pending. // OPS-08

use super::options::Matching;
use super::rank::Rank;
use super::source::Source;
use super::window::{Phase, Slot};
use super::workload::Workload;
use crate::operation::{Collective, Operation, Receive, Send, Work};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of operations, and of messages, that the explanation lists.
const MAX_LISTED: usize = 8;

/// Rank and index of an operation.
type Operations = (u32, u32);

/// The reason why an operation waits.
struct Wait {
    /// Description of the reason.
    why: String,
    /// Known operations that could end the wait.
    on: Vec<Operations>,
}

/// Describes the operations that wait for each other in a cycle. Without a cycle, it describes the
/// operations that block others. Then it describes arrived messages that no receive matched.
/// Returns no text if all ranks have finished and all messages were matched.
#[must_use]
pub fn explain<'a>(
    workload: &Workload,
    source: &dyn Source,
    ranks: impl IntoIterator<Item = &'a Rank>,
) -> Vec<String> {
    let stalled = Stalled {
        workload,
        source,
        ranks: ranks.into_iter().map(|r| (r.number(), r)).collect(),
    };
    let ranks = &stalled.ranks;
    let mut waits = BTreeMap::new();
    for (&number, rank) in ranks {
        for slot in rank.window().all() {
            waits.insert((number, slot.index), stalled.wait_of(rank, slot));
        }
    }
    let name = |&(rank, index): &Operations| {
        let kind = ranks
            .get(&rank)
            .and_then(|rank| rank.window().all().find(|slot| slot.index == index))
            .map_or("operation", |slot| slot.work.word());
        let label = source.name(rank, index);
        let label = label.map_or(String::new(), |label| format!(" \"{label}\""));
        format!("rank {rank}, operation {index} ({kind}{label})")
    };
    let sentence = |operation: &Operations| {
        let why = waits.get(operation).map_or("", |wait| &wait.why);
        format!("{} {why}", name(operation))
    };
    let mut listed = Vec::new();
    if let Some(found) = cycle(&waits) {
        listed.push("These operations wait for each other in a cycle:".to_owned());
        listed.extend(found.iter().map(|at| format!("  {}", sentence(at))));
    } else {
        let last: Vec<_> = waits
            .iter()
            .filter(|(_, wait)| wait.on.is_empty())
            .map(|(operation, _)| sentence(operation))
            .collect();
        listed.extend(shortened(&last));
    }
    let left: Vec<_> = ranks
        .values()
        .flat_map(|rank| rank.unreceived(workload))
        .collect();
    listed.extend(shortened(&left));
    listed
}

/// Returns the first few entries, and a text with the number of omitted entries.
fn shortened(all: &[String]) -> Vec<String> {
    let mut listed: Vec<_> = all.iter().take(MAX_LISTED).cloned().collect();
    if all.len() > MAX_LISTED {
        listed.push(format!("and {} more like these", all.len() - MAX_LISTED));
    }
    listed
}

/// Finds operations that wait for each other in a cycle.
fn cycle(waits: &BTreeMap<Operations, Wait>) -> Option<Vec<Operations>> {
    let mut over = BTreeSet::new();
    for &start in waits.keys() {
        // The current path of waits. Each entry contains the index of its next wait to follow.
        let mut path: Vec<(Operations, usize)> = vec![(start, 0)];
        while let Some((at, next)) = path.last_mut() {
            let at = *at;
            let on = waits.get(&at).and_then(|wait| wait.on.get(*next));
            *next += 1;
            match on {
                None => {
                    over.insert(at);
                    path.pop();
                }
                Some(on) if over.contains(on) => {}
                Some(on) => {
                    if let Some(begin) = path.iter().position(|(seen, _)| seen == on) {
                        return Some(path[begin..].iter().map(|&(at, _)| at).collect());
                    }
                    path.push((*on, 0));
                }
            }
        }
    }
    None
}

fn from_words(from: Option<u32>, tag: Option<u64>) -> String {
    let from = from.map_or("any rank".to_owned(), |from| format!("rank {from}"));
    let tag = tag.map_or("any tag".to_owned(), |tag| format!("tag {tag}"));
    format!("{from} with {tag}")
}

/// Finds an operation of a rank that has not ended and whose work satisfies `is`. Operations that
/// have not been read yet are also searched.
fn find(source: &dyn Source, rank: &Rank, mut is: impl FnMut(&Work) -> bool) -> Option<Operations> {
    let number = rank.number();
    if let Some(slot) = rank.window().all().find(|slot| is(&slot.work)) {
        return Some((number, slot.index));
    }
    let mut from = rank.window().frontier();
    while from < source.count(number) {
        for Operation { work, .. } in source.read(number, from).ok()?.operations {
            if is(&work) {
                return Some((number, from));
            }
            from += 1;
        }
    }
    None
}

/// A workload in which no event is pending.
struct Stalled<'a> {
    workload: &'a Workload,
    source: &'a dyn Source,
    /// The ranks, by rank number.
    ranks: BTreeMap<u32, &'a Rank>,
}

impl Stalled<'_> {
    fn wait_of(&self, rank: &Rank, slot: &Slot) -> Wait {
        match (slot.phase, &slot.work) {
            (Phase::Waiting, _) => for_operations(rank, slot),
            (Phase::Ready | Phase::Arrived, _) => for_resource(rank, slot),
            (_, Work::Receive(receive)) => self.for_message(rank, slot, receive),
            (_, Work::Send(send)) => self.for_receiver(rank, send),
            (_, Work::Collective(collective)) => self.for_members(rank, slot, collective),
            (_, Work::Calc { .. }) => Wait {
                why: "computes".to_owned(),
                on: Vec::new(),
            },
        }
    }

    /// Returns the reason why a receive waits for its message.
    fn for_message(&self, rank: &Rank, slot: &Slot, receive: &Receive) -> Wait {
        if let Some(&(from, index)) = rank.cleared_for(slot.index).as_ref() {
            return Wait {
                why: format!("waits for the data of operation {index} of rank {from}"),
                on: vec![(from, index)],
            };
        }
        let number = rank.number();
        let (from, tag) = (receive.from, receive.tag);
        let is_for_it = |work: &Work| {
            matches!(work, Work::Send(send)
                if send.to == number && tag.is_none_or(|tag| tag == send.tag))
        };
        let senders = self
            .ranks
            .iter()
            .filter(|(sender, _)| from.is_none_or(|from| from == **sender));
        let on: Vec<_> = senders
            .filter_map(|(_, sender)| find(self.source, sender, is_for_it))
            .collect();
        let words = from_words(from, tag);
        let why = match (on.first(), self.workload.options.matching) {
            (Some((rank, index)), _) => {
                format!("waits for a message from {words}: operation {index} of rank {rank}")
            }
            (None, Matching::Bytes) => format!(
                "waits for {} bytes from {words}, and no send of them is left",
                receive.bytes
            ),
            (None, _) => {
                format!("waits for a message from {words}, and no send of one is left")
            }
        };
        Wait { why, on }
    }

    /// Returns the reason why a send waits for the network, or for its receiver in a rendezvous.
    fn for_receiver(&self, rank: &Rank, send: &Send) -> Wait {
        let (number, to, tag) = (rank.number(), send.to, send.tag);
        let limit = self.workload.options.rendezvous_above_bytes;
        if limit.is_none_or(|limit| send.bytes <= limit) {
            return Wait {
                why: format!("waits for the network to bring its message to rank {to}"),
                on: Vec::new(),
            };
        }
        let on = self.ranks.get(&to).and_then(|receiver| {
            find(self.source, receiver, |work| {
                matches!(work, Work::Receive(receive)
                    if receive.from.is_none_or(|from| from == number)
                        && receive.tag.is_none_or(|of| of == tag))
            })
        });
        let why = match on {
            Some((_, index)) => format!("waits for rank {to} to receive it (operation {index})"),
            None => format!(
                "waits for rank {to} to receive it with tag {tag}, and no receive for it is left"
            ),
        };
        Wait {
            why,
            on: on.into_iter().collect(),
        }
    }

    /// Returns the reason why a collective waits for other members.
    fn for_members(&self, rank: &Rank, slot: &Slot, collective: &Collective) -> Wait {
        let group = self.workload.group_name(collective.group);
        let which = collective.instance.unwrap_or(0);
        let from = rank.awaited_by(slot.index);
        let on = from.iter().filter_map(|from| {
            find(self.source, self.ranks.get(from)?, |work| {
                matches!(work, Work::Collective(other) if other.group == collective.group
                    && other.instance.is_none_or(|other| other == which))
            })
        });
        let on: Vec<_> = on.collect();
        let list: Vec<_> = from.iter().map(ToString::to_string).collect();
        let none = if on.is_empty() {
            ", which takes no part in it any more"
        } else {
            ""
        };
        Wait {
            why: format!(
                "waits, in collective {which} of group \"{group}\", for rank {}{none}",
                list.join(", ")
            ),
            on,
        }
    }
}

/// Returns the reason why an operation waits for its dependencies or its trigger.
fn for_operations(rank: &Rank, slot: &Slot) -> Wait {
    let before = rank.window().waits_for(slot.index);
    if before.is_empty() {
        let why = "waits for its trigger, which was not activated often enough";
        return Wait {
            why: why.to_owned(),
            on: Vec::new(),
        };
    }
    let list: Vec<_> = before.iter().map(ToString::to_string).collect();
    let number = rank.number();
    Wait {
        why: format!("waits for operation {} of its rank", list.join(", ")),
        on: before.into_iter().map(|index| (number, index)).collect(),
    }
}

/// Returns the reason why an operation waits for its resource or its NIC.
fn for_resource(rank: &Rank, slot: &Slot) -> Wait {
    let holder = slot.resource.and_then(|resource| rank.holder(resource));
    let resource = slot.resource.unwrap_or(0);
    let number = rank.number();
    Wait {
        why: match holder {
            Some(holder) => {
                format!("waits for resource {resource}, which operation {holder} has")
            }
            None => "waits for its NIC".to_owned(),
        },
        on: holder.into_iter().map(|index| (number, index)).collect(),
    }
}
