//! Accounts: for each flow, the time that it has spent at its NIC, by component of the delay
//! breakdown.

use dataplane::classes::MAX_CLASSES;
use dataplane::ids::IndexVec;
use dataplane::nic::Wait;
use dataplane::units::Time;
use traffic::Flow;

use super::super::super::flow_state::FlowAt;
use super::part::{NO_ROOT, Part, Piece};
use crate::ids::LinkId;

/// Reason (delay component) why a class of a port cannot send, and the congested port that caused
/// it. `None`: the class can send.
type Held = Option<(Part, LinkId)>;

/// Maximum number of class changes that a port stores. When it is reached, the port applies the
/// changes to the accounts of all its flows and clears its list.
const MOST_CHANGES: usize = 1 << 10;

/// Account of a flow: the time that the flow has spent at its NIC up to `since_ps`, by component of
/// the delay breakdown.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Account {
    flow: u32,
    pub link: LinkId,
    /// Port that leads to the receiver of the flow, which is the last one on the path.
    pub last_link: LinkId,
    pub start_ps: Time,
    since_ps: Time,
    wait: Wait,
    /// Congested port that caused the pause for which the flow waits.
    root: LinkId,
    /// Dataplane class of the flow's packets.
    class: u8,
    /// Reason why the class could not send after the first `changes` changes of its port; `None`:
    /// it could send.
    held: Held,
    /// Number of changes of the port that the account has applied.
    changes: u32,
    /// Total transmission time of the flow's packets, including the remaining time of the current
    /// packet. The time of retransmissions counts as waiting time for recovery.
    pub sending_ps: Time,
    /// Waiting times by reason; entries with a time of 0 are free.
    waits: [Spell; SPELLS],
    #[expect(clippy::box_collection, reason = "two cache lines")]
    more: Option<Box<Vec<Spell>>>,
}

/// Number of wait reasons that is enough for most flows. Further reasons are stored in `more`.
const SPELLS: usize = 3;

/// Waiting time of a flow for one reason and, if the reason is a pause, the congested port that
/// caused it.
#[derive(Clone, Copy, Debug)]
struct Spell {
    part: Part,
    root: LinkId,
    spent_ps: Time,
}

impl Spell {
    const FREE: Self = Self {
        part: Part::Turn,
        root: NO_ROOT,
        spent_ps: 0,
    };

    /// Adds `other` if this entry is free or has the same reason. Returns true if it was added.
    #[inline]
    fn take(&mut self, other: Self) -> bool {
        let takes = self.spent_ps == 0 || (self.part, self.root) == (other.part, other.root);
        if takes {
            let spent_ps = self.spent_ps + other.spent_ps;
            *self = Self { spent_ps, ..other };
        }
        takes
    }
}

/// A class of a port changed at `at_ps`. From then on `held` is the reason why the class cannot
/// send; `None`: it can send.
#[derive(Clone, Copy, Debug)]
struct Change {
    at_ps: Time,
    class: u8,
    held: Held,
}

/// Changes of the reason why each class of a host's port cannot send. A change is stored once for
/// all flows of the port. Before the account of a flow is used, it applies the changes that were
/// stored since its last use.
#[derive(Clone, Debug, Default)]
struct HostPort {
    changes: Vec<Change>,
    held: [Held; MAX_CLASSES],
}

/// The accounts of all flows, by the index of the flow among the active flows.
#[derive(Debug)]
pub(super) struct Accounts {
    all: Vec<Account>,
    ports: IndexVec<LinkId, HostPort>,
}

impl Accounts {
    pub fn new(ports: usize) -> Self {
        Self {
            all: Vec::new(),
            ports: vec![HostPort::default(); ports].into(),
        }
    }

    /// Opens the account of a flow. `link` is its NIC port; `last_link` is the port that leads to
    /// its receiver.
    pub fn open(
        &mut self,
        now: Time,
        (flow, at): (&Flow, u32),
        class: u8,
        (link, last_link): (LinkId, LinkId),
    ) {
        let port = &self.ports[link];
        let account = Account {
            flow: flow.id,
            link,
            last_link,
            start_ps: flow.start_ps,
            since_ps: now,
            wait: Wait::Turn,
            root: NO_ROOT,
            class,
            held: port.held[class as usize],
            changes: port.changes.len() as u32,
            sending_ps: 0,
            waits: [Spell::FREE; SPELLS],
            more: None,
        };
        // A flow reuses the index of a flow that has ended, or gets the next index.
        match self.all.get_mut(at as usize) {
            Some(before) => *before = account,
            None => self.all.push(account),
        }
    }

    /// Returns the account of a flow, if it exists, after applying all changes of its port.
    #[inline]
    pub fn get_mut(&mut self, FlowAt { flow, cookie }: FlowAt) -> Option<&mut Account> {
        let account = self
            .all
            .get_mut(cookie as usize)
            .filter(|a| a.flow == flow)?;
        account.catch_up(&self.ports[account.link].changes);
        Some(account)
    }

    /// Records why the classes of a port cannot send from now on. `held` returns the reason for a
    /// class.
    // BLM-12
    pub fn hold_classes(&mut self, now: Time, link: LinkId, held: impl Fn(u8) -> Held) {
        let port = &mut self.ports[link];
        for (class, before) in (0..).zip(&mut port.held) {
            let held = held(class);
            if std::mem::replace(before, held) != held {
                port.changes.push(Change {
                    at_ps: now,
                    class,
                    held,
                });
            }
        }
        if port.changes.len() >= MOST_CHANGES {
            for account in self.all.iter_mut().filter(|a| a.link == link) {
                account.catch_up(&port.changes);
                account.changes = 0;
            }
            port.changes.clear();
        }
    }
}

impl Account {
    fn add(&mut self, part: Part, root: LinkId, spent_ps: Time) {
        let spell = Spell {
            part,
            root,
            spent_ps,
        };
        if spent_ps > 0 && !self.waits.iter_mut().any(|wait| wait.take(spell)) {
            self.add_to_more(spell);
        }
    }

    #[cold]
    fn add_to_more(&mut self, spell: Spell) {
        let more = self.more.get_or_insert_default();
        if !more.iter_mut().any(|wait| wait.take(spell)) {
            more.push(spell);
        }
    }

    /// Returns the waiting times of the flow so far. Each has the port of the wait, the delay
    /// component and the congested port that caused it.
    // BLM-03
    pub fn waited(&self) -> impl Iterator<Item = Piece> {
        let more = self.more.iter().flat_map(|more| more.iter());
        let all = self.waits.iter().filter(|w| w.spent_ps > 0).chain(more);
        all.map(|wait| Piece {
            link: self.link,
            root: wait.root,
            hop: 0,
            part: wait.part,
            spent_ps: wait.spent_ps,
        })
    }

    /// Adds the time from `since_ps` to `now` to the account. During a transmission `since_ps` is
    /// the end of the transmission, so no time is added.
    // BLM-10, BLM-11, BLM-12
    fn settle(&mut self, now: Time) {
        let waited_ps = now.saturating_sub(self.since_ps);
        if waited_ps == 0 {
            return;
        }
        let since_ps = std::mem::replace(&mut self.since_ps, now);
        let mut turn_ps = 0;
        match self.wait {
            Wait::Turn => turn_ps = waited_ps,
            Wait::Pair(until_ps) | Wait::Pace(until_ps) => {
                let part = match self.wait {
                    Wait::Pair(_) => Part::Pair,
                    _ => Part::Pace,
                };
                let before_ps = until_ps.clamp(since_ps, now) - since_ps;
                self.add(part, NO_ROOT, before_ps);
                turn_ps = waited_ps - before_ps;
            }
            Wait::Window => self.add(Part::Window, NO_ROOT, waited_ps),
            Wait::Answers => self.add(Part::Recovery, NO_ROOT, waited_ps),
            Wait::TimedOut => self.add(Part::Timeout, NO_ROOT, waited_ps),
            Wait::Paused(_) => self.add(Part::NicQueuePause, self.root, waited_ps),
            Wait::Destination => self.add(Part::NicDestinationPause, self.root, waited_ps),
            Wait::Receiver => self.add(Part::Receiver, NO_ROOT, waited_ps),
            Wait::Reach => self.add(Part::NoLink, NO_ROOT, waited_ps),
        }
        let (part, root) = self.held.unwrap_or((Part::Turn, NO_ROOT));
        self.add(part, root, turn_ps);
    }

    /// Sets the reason for which the flow waits from now on.
    pub fn waits(&mut self, now: Time, wait: Wait, root: LinkId) {
        // BLM-13: at a timeout, the whole wait before it counts as a wait for the timeout.
        if wait != Wait::TimedOut {
            self.settle(now);
        }
        (self.wait, self.root) = (wait, root);
    }

    /// Applies the class changes of the flow's port that the account has not applied yet.
    // BLM-12
    #[inline]
    fn catch_up(&mut self, changes: &[Change]) {
        if changes.len() > self.changes as usize {
            self.note(changes);
        }
    }

    #[inline(never)]
    fn note(&mut self, changes: &[Change]) {
        for change in &changes[self.changes as usize..] {
            if change.class != self.class {
                continue;
            }
            // Other reasons to wait take precedence over the state of the class.
            if matches!(self.wait, Wait::Turn | Wait::Pair(_) | Wait::Pace(_)) {
                self.settle(change.at_ps);
            }
            self.held = change.held;
        }
        self.changes = changes.len() as u32;
    }

    /// Records that the flow starts a transmission that takes `takes_ps`. `again` is true for a
    /// retransmission.
    // BLM-10, BLM-13
    pub fn sends(&mut self, now: Time, takes_ps: Time, again: bool) {
        self.settle(now);
        self.since_ps = now + takes_ps;
        match again {
            true => self.add(Part::Recovery, NO_ROOT, takes_ps),
            false => self.sending_ps += takes_ps,
        }
    }
}

#[cfg(test)]
mod tests {
    use traffic::DEFAULT_PORT;

    use super::*;

    #[test]
    fn an_account_fits_two_cache_lines() {
        assert_eq!((size_of::<Account>(), align_of::<Account>()), (128, 64));
    }

    fn flow(id: u32, start_ps: Time) -> Flow {
        Flow {
            id,
            start_ps,
            src: 0,
            dst: 1,
            bytes: 1,
            class: 0,
            source: 0,
            incast: false,
            port: DEFAULT_PORT,
            src_port: None,
        }
    }

    /// Returns the waiting times of a flow, by delay component and congested port.
    fn waited(account: &Account) -> Vec<(Part, LinkId, Time)> {
        let all = account.waited();
        all.map(|wait| (wait.part, wait.root, wait.spent_ps))
            .collect()
    }

    // BLM-12
    #[test]
    fn what_held_a_class_is_found_later_also_where_the_port_has_forgotten_it() {
        let mut accounts = Accounts::new(1);
        accounts.open(0, (&flow(7, 0), 0), 0, (LinkId::new(0), LinkId::new(5)));
        accounts.open(0, (&flow(8, 0), 1), 1, (LinkId::new(0), LinkId::new(5)));
        let pauses = 2 * MOST_CHANGES as Time;
        for n in 0..pauses {
            // The class is paused for 3 ps of every 10 ps, each time by the next of five ports.
            let held = Some((Part::NicClassPause, LinkId::from_bits((n % 5) as u32)));
            let of_class_0 = |held: Held| move |class| held.filter(|_| class == 0);
            accounts.hold_classes(10 * n, LinkId::new(0), of_class_0(held));
            accounts.hold_classes(10 * n + 3, LinkId::new(0), of_class_0(None));
            if n == pauses / 2 {
                accounts.open(
                    10 * n + 3,
                    (&flow(9, 10 * n + 3), 2),
                    0,
                    (LinkId::new(0), LinkId::new(5)),
                );
            }
        }
        let now = 10 * pauses;
        assert!(accounts.get_mut(FlowAt { flow: 1, cookie: 0 }).is_none());
        for (flow, cookie) in [(7, 0), (8, 1), (9, 2)] {
            let account = accounts
                .get_mut(FlowAt { flow, cookie })
                .expect("it is open");
            account.sends(now, 1, false);
            let all: Time = account.waited().map(|wait| wait.spent_ps).sum();
            assert_eq!(all, now - account.start_ps);
            let held = waited(account).into_iter();
            let held: Vec<_> = held.filter(|w| w.0 == Part::NicClassPause).collect();
            let held_ps: Time = held.iter().map(|w| w.2).sum();
            let (roots, expected_ps) = match flow {
                7 => (5, 3 * pauses),
                8 => (0, 0),
                _ => (5, 3 * (pauses / 2 - 1)),
            };
            assert_eq!((held.len(), held_ps), (roots, expected_ps), "flow {flow}");
        }
    }
}
