//! What a flow has spent at its NIC.

use dataplane::nic::Wait;
use dataplane::switch::MixedMap;
use dataplane::units::Time;
use traffic::Flow;

use super::part::{NO_ROOT, Part, Spent};

/// The account of a flow at its NIC. Up to `since_ps` everything is accounted for.
#[derive(Debug)]
pub(super) struct Account {
    pub link: u32,
    /// The port that leads to its receiver.
    pub last_link: u32,
    /// Class of its packets.
    pub class: u8,
    pub start_ps: Time,
    since_ps: Time,
    wait: Wait,
    /// The port that the pause goes back to for which it waits.
    root: u32,
    /// What keeps its class from sending, and the port that it goes back to.
    held: Option<(Part, u32)>,
    /// What it has spent up to the end of the packet that it sends.
    pub spent: Spent,
}

/// The accounts of all flows that have started and not ended. Places are used again.
#[derive(Debug)]
pub(super) struct Accounts {
    all: Vec<Account>,
    free: Vec<u32>,
    /// Of each its port and its place in the list of that. Apart from the rest: what is around an account that ends
    /// is seldom in the caches.
    places: Vec<(u32, u32)>,
    /// By flow.
    of: MixedMap<u32, u32>,
    /// Per port of a host.
    at_port: Vec<Vec<u32>>,
}

impl Accounts {
    pub fn new(ports: usize) -> Self {
        Self {
            all: Vec::new(),
            free: Vec::new(),
            places: Vec::new(),
            of: MixedMap::default(),
            at_port: vec![Vec::new(); ports],
        }
    }

    /// Opens that of a flow that leaves by the first of these ports and comes to its receiver by the last.
    pub fn open(&mut self, now: Time, flow: &Flow, class: u8, (link, last_link): (u32, u32)) {
        let at = self.free.pop().unwrap_or(self.all.len() as u32);
        let here = &mut self.at_port[link as usize];
        let mut spent = match self.all.get_mut(at as usize) {
            Some(before) => std::mem::take(&mut before.spent),
            None => Spent::default(),
        };
        spent.clear();
        let account = Account {
            link,
            last_link,
            class,
            start_ps: flow.start_ps,
            since_ps: now,
            wait: Wait::Turn,
            root: NO_ROOT,
            held: None,
            spent,
        };
        let place = (link, here.len() as u32);
        here.push(at);
        self.of.insert(flow.id, at);
        if let Some(before) = self.all.get_mut(at as usize) {
            *before = account;
            self.places[at as usize] = place;
        } else {
            self.all.push(account);
            self.places.push(place);
        }
    }

    #[inline]
    pub fn get_mut(&mut self, flow: u32) -> Option<&mut Account> {
        let at = *self.of.get(&flow)?;
        self.all.get_mut(at as usize)
    }

    /// A flow has ended.
    pub fn close(&mut self, flow: u32) {
        let Some(at) = self.of.remove(&flow) else {
            return;
        };
        let (link, nth) = self.places[at as usize];
        let here = &mut self.at_port[link as usize];
        here.swap_remove(nth as usize);
        if let Some(&moved) = here.get(nth as usize) {
            self.places[moved as usize].1 = nth;
        }
        self.free.push(at);
    }

    /// Calls `visit` with every account of a port.
    pub fn for_each_at(&mut self, link: u32, mut visit: impl FnMut(&mut Account)) {
        for &at in &self.at_port[link as usize] {
            visit(&mut self.all[at as usize]);
        }
    }
}

impl Account {
    fn add(&mut self, part: Part, root: u32, spent_ps: Time) {
        self.spent.add((0, self.link), part, root, spent_ps);
    }

    /// Accounts for the time up to now. While a packet of the flow is sent, nothing is to be accounted for.
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
            Wait::Pace(until_ps) => {
                let paced_ps = until_ps.clamp(since_ps, now) - since_ps;
                self.add(Part::Pace, NO_ROOT, paced_ps);
                turn_ps = waited_ps - paced_ps;
            }
            Wait::Window => self.add(Part::Window, NO_ROOT, waited_ps),
            Wait::Answers | Wait::TimedOut => self.add(Part::Recovery, NO_ROOT, waited_ps),
            Wait::Paused(_) => self.add(Part::NicQueuePause, self.root, waited_ps),
            Wait::Destination => self.add(Part::NicDestinationPause, self.root, waited_ps),
            Wait::Receiver => self.add(Part::Receiver, NO_ROOT, waited_ps),
            Wait::Reach => self.add(Part::NoLink, NO_ROOT, waited_ps),
        }
        let (part, root) = self.held.unwrap_or((Part::Turn, NO_ROOT));
        self.add(part, root, turn_ps);
    }

    /// What it waits for from now on.
    pub fn waits(&mut self, now: Time, wait: Wait, root: u32) {
        // BLM-13: what it has waited for until now is told only now.
        if wait != Wait::TimedOut {
            self.settle(now);
        }
        (self.wait, self.root) = (wait, root);
    }

    /// What keeps its class from sending from now on.
    pub fn class_held(&mut self, now: Time, held: Option<(Part, u32)>) {
        self.settle(now);
        self.held = held;
    }

    /// It sends a packet that takes so long, for the first time or again.
    // BLM-10, BLM-13
    pub fn sends(&mut self, now: Time, takes_ps: Time, again: bool) {
        self.settle(now);
        self.since_ps = now + takes_ps;
        match again {
            true => self.add(Part::Recovery, NO_ROOT, takes_ps),
            false => self.spent.sending_ps += takes_ps,
        }
    }
}
