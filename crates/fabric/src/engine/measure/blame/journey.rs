//! Journeys: paths of packets through the network, and the time of each packet by delay component
//! and port.
//!
//! A queue records why it cannot send, and a port records the frames that it sends. A packet reads
//! both records when it leaves. Only packets that can wait behind packets of their own flow are
//! updated at each change of the queue.

use std::collections::VecDeque;

use dataplane::ids::{IndexVec, QueueId};
use dataplane::packet::{Arena, PacketId, flag};
use dataplane::prefetch::prefetch_whole;
use dataplane::switch::MixedMap;
use dataplane::units::Time;

use super::super::Sending;
use super::account::Account;
use super::part::{NO_ROOT, Part, Spent};
use super::ports::{Port, SORTS, Sort};
use crate::ids::LinkId;

/// Number of bits of a word of a bit set.
const WORD: usize = u64::BITS as usize;

/// Returns the word index and the mask of the bit of a packet.
const fn bit_of(id: PacketId) -> (usize, u64) {
    (id as usize / WORD, 1 << (id as usize % WORD))
}

/// The reason why a packet cannot leave its queue, other than packets in front of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Obstacle {
    /// Delay component to which the waiting time belongs; `None`: there is no obstacle.
    pub part: Option<Part>,
    pub root: LinkId,
}

impl Obstacle {
    pub const NONE: Self = Self {
        part: None,
        root: NO_ROOT,
    };
}

/// A packet that waits in a switch. Its waiting time up to `since_ps` is already in the delay
/// breakdown.
#[derive(Clone, Copy, Debug)]
struct Stay {
    link: LinkId,
    queue: QueueId,
    since_ps: Time,
    /// Current obstacle of the packet. It is unused if the packet is the only one of its flow,
    /// because [`Queue::obstacle`] then has the current obstacle.
    obstacle: Obstacle,
    /// Number of obstacle changes of the queue before the packet joined the queue.
    changes: u32,
    /// Time that the port had spent sending up to `since_ps`, by kind of frame.
    sent_ps: [Time; SORTS],
    /// Time that the port had spent sending packets of the packet's own flow up to `since_ps`.
    own_ps: Time,
}

impl Stay {
    /// Returns true if a hop scheme has parked the packet.
    fn is_held_back(&self) -> bool {
        self.obstacle.part == Some(Part::Held)
    }
}

/// A queue with followed packets, each of which is the only packet of its flow.
#[derive(Debug)]
struct Queue {
    queue: QueueId,
    /// Obstacle that currently blocks the packets of the queue.
    obstacle: Obstacle,
    /// Past changes of the obstacle that at least one waiting packet has not added to its delay
    /// yet.
    changes: VecDeque<Change>,
    /// Number of changes that have been removed from the front of `changes`.
    forgotten: u32,
    /// Number of waiting packets that arrived after the last obstacle change.
    newest: u32,
}

/// A change of the obstacle of a queue.
#[derive(Clone, Copy, Debug)]
struct Change {
    at_ps: Time,
    before: Obstacle,
    /// Time that the port had spent sending up to `at_ps`, by kind of frame.
    sent_ps: [Time; SORTS],
    /// Number of waiting packets that arrived between the previous change and this one.
    packets: u32,
}

impl Queue {
    fn new(queue: QueueId, obstacle: Obstacle) -> Self {
        Self {
            queue,
            obstacle,
            changes: VecDeque::new(),
            forgotten: 0,
            newest: 0,
        }
    }

    // BLM-22: the obstacle of a queue, such as a pause, has changed
    fn meets(&mut self, now: Time, obstacle: Obstacle, port: &Port) {
        if obstacle == self.obstacle {
            return;
        }
        let before = std::mem::replace(&mut self.obstacle, obstacle);
        self.changes.push_back(Change {
            at_ps: now,
            before,
            sent_ps: port.sent_ps(now),
            packets: std::mem::take(&mut self.newest),
        });
    }

    /// Adds a packet to the queue. Returns the number of obstacle changes of the queue so far.
    fn join(&mut self) -> u32 {
        self.newest += 1;
        self.forgotten + self.changes.len() as u32
    }

    /// Returns the obstacle changes of the queue after the first `changes` ones. This is the number
    /// that [`Self::join`] returned for a packet, so the result is the changes since it joined.
    fn since(&self, changes: u32) -> impl Iterator<Item = &Change> {
        self.changes.range((changes - self.forgotten) as usize..)
    }

    /// Removes a packet that joined the queue after `changes` obstacle changes. Returns true if the
    /// queue is now empty.
    fn leave(&mut self, changes: u32) -> bool {
        match self.changes.get_mut((changes - self.forgotten) as usize) {
            Some(change) => change.packets -= 1,
            None => self.newest -= 1,
        }
        while self.changes.front().is_some_and(|c| c.packets == 0) {
            self.changes.pop_front();
            self.forgotten += 1;
        }
        self.changes.is_empty() && self.newest == 0
    }
}

/// Port and queue at which a packet starts to wait, with the current obstacle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub link: LinkId,
    /// Queue in which the packet is stored.
    pub queue: QueueId,
    pub obstacle: Obstacle,
}

/// A packet whose delay is recorded on its path (a followed packet), with the time that the packet
/// has spent so far.
#[derive(Debug, Default)]
pub(in crate::engine) struct Journey {
    id: PacketId,
    pub(super) flow: u32,
    incast: bool,
    /// True if the packet is the only one of its flow.
    alone: bool,
    /// Start time of the flow.
    pub(super) start_ps: Time,
    /// Port by which the packet will leave its current node, or by which it left the previous node.
    link: LinkId,
    /// Index of the port `link` on the path; 0 is the NIC.
    hop: u16,
    pub(super) spent: Spent,
    stay: Option<Stay>,
}

impl Journey {
    /// Returns the index on the path and the ID of the port by which the packet will leave its
    /// current node, or by which it left the previous node.
    pub fn place(&self) -> (u16, LinkId) {
        (self.hop, self.link)
    }

    /// Adds the waiting time of the packet since `Stay::since_ps` to its delay breakdown.
    /// `obstacle` blocked the packet during this time. `sent_ps` is the time that the port has
    /// spent sending up to `now`, by kind of frame. `own_ps` is the part of it that the port spent
    /// on packets of the packet's own flow.
    // BLM-21, BLM-22
    fn settle(&mut self, now: Time, obstacle: Obstacle, sent_ps: [Time; SORTS], own_ps: Time) {
        let Some(stay) = &mut self.stay else {
            return;
        };
        let waited_ps = now - stay.since_ps;
        if waited_ps == 0 {
            return;
        }
        let here = (self.hop, self.link);
        if let Some(part) = obstacle.part {
            self.spent.add(here, part, obstacle.root, waited_ps);
        } else {
            let mut behind = [0; SORTS];
            for (sort, behind) in behind.iter_mut().enumerate() {
                *behind = sent_ps[sort] - stay.sent_ps[sort];
            }
            let behind_own_ps = own_ps - stay.own_ps;
            let sort = match self.incast {
                true => Sort::Incast,
                false => Sort::Other,
            };
            behind[sort as usize] -= behind_own_ps;
            let [control_ps, other_ps, incast_ps] = behind;
            let idle_ps = waited_ps - behind_own_ps - behind.iter().sum::<Time>();
            for (part, spent_ps) in [
                (Part::BehindOwn, behind_own_ps),
                (Part::BehindOther, other_ps),
                (Part::BehindIncast, incast_ps),
                (Part::BehindControl, control_ps),
                (Part::LinkDown, idle_ps),
            ] {
                self.spent.add(here, part, NO_ROOT, spent_ps);
            }
        }
        (stay.since_ps, stay.sent_ps, stay.own_ps) = (now, sent_ps, own_ps);
    }
}

/// Number of packets of a flow that wait at a port, and the time that the port has spent sending
/// packets of this flow while other packets of the flow waited.
#[derive(Clone, Copy, Debug, Default)]
struct Own {
    waiting: u32,
    sent_ps: Time,
}

/// All followed packets of a partition.
#[derive(Debug)]
pub(super) struct Journeys {
    all: Vec<Journey>,
    free: Vec<u32>,
    /// Index in `all` of the journey of each followed packet, by packet ID.
    of: Vec<u32>,
    /// One bit per packet, set if it is followed. The bits of all packets fit into the CPU caches.
    followed: Vec<u64>,
    /// Queues with followed packets that are the only packets of their flows, by port.
    queues: IndexVec<LinkId, Vec<Queue>>,
    /// Indices in `all` of the followed packets that wait in a switch and are not the only packets
    /// of their flows, by port.
    at_port: IndexVec<LinkId, Vec<u32>>,
    /// Position of each journey in its list in `at_port`.
    nth: Vec<u32>,
    /// Number of waiting packets and time spent sending, by port and flow.
    own: MixedMap<u64, Own>,
    /// True if links do not fail, so that a port that can send is never idle.
    never_idle: bool,
}

impl Journeys {
    pub fn new(ports: usize, never_idle: bool) -> Self {
        Self {
            all: Vec::new(),
            free: Vec::new(),
            of: Vec::new(),
            followed: Vec::new(),
            queues: (0..ports).map(|_| Vec::new()).collect(),
            at_port: vec![Vec::new(); ports].into(),
            nth: Vec::new(),
            own: MixedMap::default(),
            never_idle,
        }
    }

    /// Returns true if a packet is followed.
    #[inline]
    pub fn follows(&self, id: PacketId) -> bool {
        let (word, bit) = bit_of(id);
        self.followed.get(word).is_some_and(|bits| bits & bit != 0)
    }

    /// Prefetches the journey of a packet into the CPU cache, if the packet is followed.
    #[inline]
    pub fn prefetch(&self, id: PacketId) {
        if let Some(journey) = self.of(id).and_then(|at| self.all.get(at as usize)) {
            prefetch_whole(journey);
        }
    }

    /// Returns the index in `all` of the journey of a packet; `None`: the packet is not followed.
    #[inline]
    fn of(&self, id: PacketId) -> Option<u32> {
        self.follows(id).then(|| self.of[id as usize])
    }

    /// Starts to follow a packet. Reuses a free journey if there is one.
    fn begin(&mut self, id: PacketId) -> &mut Journey {
        let at = self.free.pop().unwrap_or_else(|| {
            self.all.push(Journey::default());
            self.nth.push(0);
            self.all.len() as u32 - 1
        });
        if self.of.len() <= id as usize {
            self.of.resize(id as usize + 1, 0);
            self.followed.resize(id as usize / WORD + 1, 0);
        }
        self.of[id as usize] = at;
        let (word, bit) = bit_of(id);
        self.followed[word] |= bit;
        &mut self.all[at as usize]
    }

    /// Starts to follow a packet that leaves its host.
    // BLM-20
    pub fn leaves_host(&mut self, sending: &Sending, arena: &Arena, account: &Account) {
        let Sending { id, link, .. } = *sending;
        let packet = arena.hot(id);
        let is_last = arena.cold(id).is_last();
        let journey = self.begin(id);
        (journey.id, journey.flow) = (id, packet.flow);
        journey.incast = packet.has(flag::INCAST);
        // The only packet of a flow cannot wait behind packets of its own flow.
        journey.alone = is_last && packet.psn == 0;
        journey.start_ps = account.start_ps;
        (journey.hop, journey.link) = (0, link);
        journey.stay = None;
        journey.spent.begin(account.sending_ps, account.waited());
        journey.spent.propagation_ps = sending.delay_ps;
    }

    /// Continues the journey of a packet that arrived from another partition.
    pub fn take_over(&mut self, id: PacketId, journey: Journey) {
        *self.begin(id) = Journey { id, ..journey };
    }

    /// Stops following a packet that has arrived at its receiver. Returns the index of the journey,
    /// which the caller must [release](Self::release); `None`: the packet was not followed.
    pub fn arrives(&mut self, id: PacketId, ports: &mut IndexVec<LinkId, Port>) -> Option<u32> {
        let at = self.of(id)?;
        let (word, bit) = bit_of(id);
        self.followed[word] &= !bit;
        self.leave_list(at, ports);
        Some(at)
    }

    /// Frees the journey with index `at` for another packet.
    pub fn release(&mut self, at: u32) {
        self.free.push(at);
    }

    /// Stops following a packet, if it was followed, and frees its journey.
    pub fn end(&mut self, id: PacketId, ports: &mut IndexVec<LinkId, Port>) {
        if let Some(at) = self.arrives(id, ports) {
            self.release(at);
        }
    }

    pub fn get_mut(&mut self, at: u32) -> &mut Journey {
        &mut self.all[at as usize]
    }

    /// Updates the obstacles that block the packets in the queues of a port.
    // BLM-22
    pub fn look_again(
        &mut self,
        now: Time,
        link: LinkId,
        port: &Port,
        obstacle: impl Fn(QueueId) -> Obstacle,
        is_there: impl Fn(PacketId) -> bool,
    ) {
        for queue in &mut self.queues[link] {
            queue.meets(now, obstacle(queue.queue), port);
        }
        let mut last = None;
        for nth in 0..self.at_port[link].len() {
            let at = self.at_port[link][nth];
            let journey = &self.all[at as usize];
            let Some(stay) = journey.stay.filter(|stay| !stay.is_held_back()) else {
                continue;
            };
            if !is_there(journey.id) {
                continue;
            }
            // All packets of a queue have the same obstacle.
            let now_there = match last {
                Some((queue, known)) if queue == stay.queue => known,
                _ => obstacle(stay.queue),
            };
            last = Some((stay.queue, now_there));
            if stay.obstacle != now_there {
                self.settle(now, at, port);
                if let Some(stay) = &mut self.all[at as usize].stay {
                    stay.obstacle = now_there;
                }
            }
        }
    }

    /// Records that a packet has arrived at a switch and waits at `place`.
    // BLM-20, BLM-31
    pub fn comes(
        &mut self,
        now: Time,
        id: PacketId,
        place: Place,
        ports: &mut IndexVec<LinkId, Port>,
    ) {
        if let Some(at) = self.of(id) {
            let journey = &mut self.all[at as usize];
            (journey.hop, journey.link) = (journey.hop + 1, place.link);
            journey.spent.leads_to(place.link);
            self.join_list(now, at, place, ports);
        }
    }

    /// Records that a parked packet has been released and waits in a queue.
    // BLM-24
    pub fn is_released(
        &mut self,
        now: Time,
        id: PacketId,
        place: Place,
        ports: &mut IndexVec<LinkId, Port>,
    ) {
        if let Some(at) = self.of(id) {
            self.settle(now, at, &ports[place.link]);
            self.leave_list(at, ports);
            self.join_list(now, at, place, ports);
        }
    }

    /// Adds a journey to the list of its port in `at_port`.
    // BLM-21
    fn join_list(&mut self, now: Time, at: u32, place: Place, ports: &mut IndexVec<LinkId, Port>) {
        let link = place.link;
        let journey = &mut self.all[at as usize];
        let port = &mut ports[link];
        let mut own_ps = 0;
        if !journey.alone {
            let left_ps = port.left_ps(now, journey.flow);
            let own = self.own.entry(link.key_with(journey.flow)).or_insert(Own {
                waiting: 0,
                sent_ps: left_ps,
            });
            own.waiting += 1;
            own_ps = own.sent_ps - left_ps;
            port.not_alone += 1;
        }
        let mut stay = Stay {
            link,
            queue: place.queue,
            since_ps: now,
            obstacle: place.obstacle,
            changes: 0,
            sent_ps: port.sent_ps(now),
            own_ps,
        };
        if !journey.alone {
            let here = &mut self.at_port[link];
            self.nth[at as usize] = here.len() as u32;
            here.push(at);
        } else if !stay.is_held_back() {
            let here = &mut self.queues[link];
            let known = here.iter().position(|q| q.queue == place.queue);
            let nth = known.unwrap_or_else(|| {
                here.push(Queue::new(place.queue, place.obstacle));
                here.len() - 1
            });
            here[nth].meets(now, place.obstacle, port);
            stay.changes = here[nth].join();
        }
        journey.stay = Some(stay);
    }

    /// Records that a packet leaves its switch, and adds its waiting time to its delay breakdown.
    // BLM-20
    pub fn leaves(&mut self, now: Time, sending: &Sending, ports: &mut IndexVec<LinkId, Port>) {
        let Sending { link, id, .. } = *sending;
        let Some(at) = self.of(id) else {
            return;
        };
        self.catch_up(at);
        let journey = &mut self.all[at as usize];
        if let Some(stay) = &mut journey.stay
            && journey.link != link
        {
            // BLM-25: the packet was moved to another port.
            let waited_ps = now - std::mem::replace(&mut stay.since_ps, now);
            journey.link = link;
            let here = (journey.hop, link);
            journey.spent.add(here, Part::LinkDown, NO_ROOT, waited_ps);
        }
        journey.spent.serialisation_ps += sending.takes_ps;
        journey.spent.propagation_ps += sending.delay_ps;
        self.settle(now, at, &ports[link]);
        self.leave_list(at, ports);
    }

    /// Records that a port sends a packet of a flow for `takes_ps`.
    // BLM-21
    pub fn own_sent(&mut self, link: LinkId, flow: u32, takes_ps: Time) {
        if let Some(own) = self.own.get_mut(&link.key_with(flow)) {
            own.sent_ps += takes_ps;
        }
    }

    /// Returns `idle_ps`, the time that a packet waited while its port could send but was idle, if
    /// this time shows an error of the breakdown. Returns `None` if `idle_ps` is 0, or if links can
    /// fail.
    // BLM-21
    pub fn idle(&self, idle_ps: Time) -> Option<Time> {
        (self.never_idle && idle_ps > 0).then_some(idle_ps)
    }

    /// Adds the waiting time of a packet to its delay breakdown, up to the last obstacle change of
    /// the packet's queue.
    // BLM-22
    #[inline]
    fn catch_up(&mut self, at: u32) {
        let journey = &mut self.all[at as usize];
        let Some(stay) = journey.stay.filter(|s| journey.alone && !s.is_held_back()) else {
            return;
        };
        let mut queues = self.queues[stay.link].iter();
        let Some(queue) = queues.find(|q| q.queue == stay.queue) else {
            return;
        };
        for change in queue.since(stay.changes) {
            journey.settle(change.at_ps, change.before, change.sent_ps, 0);
        }
        if let Some(stay) = &mut journey.stay {
            stay.obstacle = queue.obstacle;
        }
    }

    /// Adds the waiting time of a packet up to `now` to its delay breakdown. Call
    /// [`catch_up`](Self::catch_up) before.
    fn settle(&mut self, now: Time, at: u32, port: &Port) {
        let journey = &mut self.all[at as usize];
        let Some(stay) = &journey.stay else {
            return;
        };
        let own_ps = match journey.alone {
            true => 0,
            false => {
                let own = self.own.get(&stay.link.key_with(journey.flow)).copied();
                own.unwrap_or_default().sent_ps - port.left_ps(now, journey.flow)
            }
        };
        journey.settle(now, stay.obstacle, port.sent_ps(now), own_ps);
    }

    /// Removes a journey from the list of its port in `at_port`.
    #[inline]
    fn leave_list(&mut self, at: u32, ports: &mut IndexVec<LinkId, Port>) {
        let journey = &mut self.all[at as usize];
        let Some(stay) = journey.stay.take() else {
            return;
        };
        let (flow, alone) = (journey.flow, journey.alone);
        if alone {
            let here = &mut self.queues[stay.link];
            let nth = here.iter().position(|q| q.queue == stay.queue);
            if let Some(nth) = nth.filter(|_| !stay.is_held_back())
                && here[nth].leave(stay.changes)
            {
                here.swap_remove(nth);
            }
            return;
        }
        let here = &mut self.at_port[stay.link];
        let nth = self.nth[at as usize];
        here.swap_remove(nth as usize);
        if let Some(&moved) = here.get(nth as usize) {
            self.nth[moved as usize] = nth;
        }
        ports[stay.link].not_alone -= 1;
        let key = stay.link.key_with(flow);
        if let Some(own) = self.own.get_mut(&key) {
            own.waiting -= 1;
            if own.waiting == 0 {
                self.own.remove(&key);
            }
        }
    }
}
