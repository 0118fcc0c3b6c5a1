//! Matching of messages and receives.

use super::window::SlotNumber;
use std::collections::{BTreeMap, VecDeque};

/// An arrived message, or an arrived request of a rendezvous, that no receive has matched yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrived {
    /// Rank of the sending operation.
    pub rank: u32,
    pub index: u32,
    pub bytes: u64,
    /// True if the sender still has the data (rendezvous). // OPS-13
    pub request: bool,
}

type Pattern = (Option<u32>, Option<u64>);

/// A FIFO queue for each key. Empty queues are removed. Each element carries the sequence number of
/// its arrival or posting.
type Queues<K, T> = BTreeMap<K, VecDeque<(u64, T)>>;

/// Matching by source and tag: unmatched messages, and posted receives without a message. // OPS-10
#[derive(Debug, Default)]
pub(super) struct ByTag {
    posted: Queues<Pattern, SlotNumber>,
    early: Queues<(u32, u64), Arrived>,
    turn: u64,
}

fn first_turn<K: Ord, T>(queues: &Queues<K, T>, key: &K) -> Option<u64> {
    queues.get(key).map(|queue| queue[0].0)
}

fn push<K: Ord, T>(queues: &mut Queues<K, T>, key: K, turn: u64, value: T) {
    queues.entry(key).or_default().push_back((turn, value));
}

fn pop<K: Ord, T>(queues: &mut Queues<K, T>, key: &K) -> Option<T> {
    let queue = queues.get_mut(key)?;
    let (_, value) = queue.pop_front()?;
    if queue.is_empty() {
        queues.remove(key);
    }
    Some(value)
}

impl ByTag {
    /// Posts a receive. Returns the first arrived message that matches it, if there is one.
    pub fn post(
        &mut self,
        from: Option<u32>,
        tag: Option<u64>,
        slot: SlotNumber,
    ) -> Option<Arrived> {
        let matches = |key: &(u32, u64)| {
            from.is_none_or(|from| from == key.0) && tag.is_none_or(|tag| tag == key.1)
        };
        let key = match (from, tag) {
            (Some(from), Some(tag)) => Some((from, tag)),
            _ => self
                .early
                .iter()
                .filter(|(key, _)| matches(key))
                .min_by_key(|(_, queue)| queue[0].0)
                .map(|(&key, _)| key),
        };
        let found = key.and_then(|key| pop(&mut self.early, &key));
        if found.is_none() {
            self.turn += 1;
            push(&mut self.posted, (from, tag), self.turn, slot);
        }
        found
    }

    /// Handles an arriving message. Returns the first posted receive that matches it, if there is
    /// one.
    pub fn arrive(&mut self, from: u32, tag: u64, arrived: Arrived) -> Option<SlotNumber> {
        let patterns = [
            (Some(from), Some(tag)),
            (Some(from), None),
            (None, Some(tag)),
            (None, None),
        ];
        let first = patterns
            .into_iter()
            .filter_map(|pattern| Some((first_turn(&self.posted, &pattern)?, pattern)))
            .min();
        if let Some((_, pattern)) = first {
            return pop(&mut self.posted, &pattern);
        }
        self.turn += 1;
        push(&mut self.early, (from, tag), self.turn, arrived);
        None
    }

    /// Returns the messages that no receive has matched, with source and tag.
    pub fn left(&self) -> impl Iterator<Item = (u32, u64, Arrived)> {
        self.early.iter().flat_map(|(&(from, tag), queue)| {
            queue.iter().map(move |&(_, arrived)| (from, tag, arrived))
        })
    }
}

/// Matching by bytes: counts of arrived bytes, and receives that wait for bytes. // OPS-11
#[derive(Debug, Default)]
pub(super) struct ByBytes {
    accounts: BTreeMap<(u32, u64), Account>,
}

#[derive(Debug, Default)]
struct Account {
    bytes: u64,
    waiting: VecDeque<(SlotNumber, u64)>,
}

impl ByBytes {
    /// Posts a receive of `bytes` bytes. Returns true if that many unmatched bytes have arrived.
    pub fn post(&mut self, from: u32, tag: u64, bytes: u64, slot: SlotNumber) -> bool {
        let account = self.accounts.entry((from, tag)).or_default();
        let met = account.waiting.is_empty() && account.bytes >= bytes;
        if met {
            account.bytes -= bytes;
        } else {
            account.waiting.push_back((slot, bytes));
        }
        self.tidy(from, tag);
        met
    }

    /// Handles arriving bytes. Returns the receives that now have all their bytes, each with its
    /// number of bytes.
    pub fn arrive(&mut self, from: u32, tag: u64, bytes: u64) -> Vec<(SlotNumber, u64)> {
        let account = self.accounts.entry((from, tag)).or_default();
        account.bytes += bytes;
        let mut met = Vec::new();
        while let Some(&(slot, needed)) = account.waiting.front()
            && needed <= account.bytes
        {
            account.bytes -= needed;
            account.waiting.pop_front();
            met.push((slot, needed));
        }
        self.tidy(from, tag);
        met
    }

    fn tidy(&mut self, from: u32, tag: u64) {
        let account = &self.accounts[&(from, tag)];
        if account.bytes == 0 && account.waiting.is_empty() {
            self.accounts.remove(&(from, tag));
        }
    }

    /// Returns the number of bytes that no receive has matched, with source and tag.
    pub fn left(&self) -> impl Iterator<Item = (u32, u64, u64)> {
        let filled = self
            .accounts
            .iter()
            .filter(|(_, account)| account.bytes > 0);
        filled.map(|(&(from, tag), account)| (from, tag, account.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(index: u32) -> Arrived {
        Arrived {
            rank: 0,
            index,
            bytes: 1,
            request: false,
        }
    }

    /// OPS-10: receives match in the order of posting, and messages in the order of arrival, also
    /// with wildcards.
    #[test]
    fn first_come_first_served() {
        let mut all = ByTag::default();
        assert_eq!(all.arrive(1, 5, message(0)), None);
        assert_eq!(all.arrive(2, 5, message(1)), None);
        assert_eq!(all.arrive(1, 6, message(2)), None);
        assert_eq!(all.arrive(1, 5, message(3)), None);
        assert_eq!(all.post(None, Some(5), 10), Some(message(0)));
        assert_eq!(all.post(Some(1), None, 11), Some(message(2)));
        assert_eq!(all.left().count(), 2);
        assert_eq!(all.post(Some(1), Some(5), 12), Some(message(3)));
        assert_eq!(all.post(None, None, 13), Some(message(1)));
        assert_eq!(all.post(None, None, 14), None);
        assert_eq!(all.post(Some(3), Some(7), 15), None);
        assert_eq!(all.post(Some(3), None, 16), None);
        assert_eq!(all.arrive(3, 7, message(4)), Some(14));
        assert_eq!(all.arrive(3, 8, message(5)), Some(16));
        assert_eq!(all.arrive(3, 7, message(6)), Some(15));
        assert!(all.posted.is_empty() && all.early.is_empty());
    }

    /// OPS-11: one receive can match bytes of two messages, and two receives can match bytes of one
    /// message.
    #[test]
    fn bytes_are_credited_and_debited() {
        let mut all = ByBytes::default();
        assert!(!all.post(1, 5, 100, 10));
        assert!(!all.post(1, 5, 10, 11));
        assert_eq!(all.arrive(1, 5, 60), []);
        assert_eq!(all.arrive(2, 5, 60), []);
        assert_eq!(all.arrive(1, 5, 60), [(10, 100), (11, 10)]);
        assert_eq!(all.left().collect::<Vec<_>>(), [(1, 5, 10), (2, 5, 60)]);
        assert!(all.post(1, 5, 10, 12));
        assert!(!all.post(1, 5, 1, 13));
        assert!(all.post(2, 5, 60, 14));
        assert_eq!(all.accounts.len(), 1);
    }
}
