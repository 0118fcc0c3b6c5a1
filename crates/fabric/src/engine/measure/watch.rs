//! Tracks the lengths of the queues of switch ports for sampling. A queue is read only at instants
//! in which it may have changed.
//!
//! The code does not visit all ports at every sample time. The length of a queue before a change is
//! the value of all samples since the previous change.

use dataplane::event::EventSet;
use dataplane::ids::IndexVec;
use dataplane::switch::Switch;
use dataplane::units::Time;

use super::{Event, View};
use crate::ids::{LinkId, NodeId};
use crate::topology::Graph;

/// Index of a port whose queue is not sampled.
const NONE: u32 = u32::MAX;

/// Sample times: `from + k * every` for k = 0, 1, ..., before `to`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    from_ps: Time,
    to_ps: Time,
    every_ps: Time,
}

impl Grid {
    pub fn new((from_ps, to_ps): (Time, Time), every_ps: Time) -> Self {
        Self {
            from_ps,
            to_ps,
            every_ps: every_ps.max(1),
        }
    }

    /// Returns the number of sample times before `at_ps`.
    pub fn before(&self, at_ps: Time) -> u64 {
        let elapsed = at_ps.min(self.to_ps).saturating_sub(self.from_ps);
        elapsed.div_ceil(self.every_ps)
    }

    /// Returns the first sample time in the range `from_ps` (included) to `until_ps` (not
    /// included); `None`: there is none.
    pub fn first(&self, from_ps: Time, until_ps: Time) -> Option<Time> {
        let number = self.before(from_ps);
        (self.before(until_ps) > number).then(|| self.at(number))
    }

    /// Returns the sample time with index `k`.
    fn at(&self, k: u64) -> Time {
        self.from_ps + k * self.every_ps
    }
}

/// State of a sampled queue: its length, the time of the last change of the length, and data of the
/// measure.
#[derive(Debug)]
pub(super) struct Watch<T> {
    /// Index of the switch among those of the partition.
    switch: u32,
    pub node: NodeId,
    pub port: u16,
    pub peer: NodeId,
    pub bytes: u64,
    pub since_ps: Time,
    pub kept: T,
}

impl<T> Watch<T> {
    /// Calls `stayed` with the state of the queue and the time until which the queue kept its
    /// length.
    fn account(&mut self, until_ps: Time, stayed: impl FnOnce(&mut Self, Time)) {
        if until_ps > self.since_ps {
            stayed(self, until_ps);
            self.since_ps = until_ps;
        }
    }
}

/// All sampled queues of a partition.
#[derive(Debug)]
pub(super) struct WatchedQueues<T> {
    /// Per port of the network, the index of its queue's [`Watch`], or [`NONE`].
    watch_of: IndexVec<LinkId, u32>,
    pub all: Vec<Watch<T>>,
    /// Indices of the queues (`Watch`) that may have changed in this instant.
    touched: Vec<u32>,
}

impl<T> WatchedQueues<T> {
    /// Kinds of events that [`observe`](Self::observe) needs.
    pub const WANTS: EventSet = EventSet::of(&[Event::QUEUE_TOUCHED, Event::INSTANT_OVER]);
}

impl<T: Default> WatchedQueues<T> {
    /// Starts to sample the queues of the ports of these switches for which `is_watched` returns
    /// true.
    pub fn new(graph: &Graph, switches: &[NodeId], is_watched: impl Fn(LinkId) -> bool) -> Self {
        let mut watch_of = IndexVec::from(vec![NONE; graph.port_count() as usize]);
        let mut all = Vec::new();
        for (switch, &node) in (0..).zip(switches) {
            for (port, index) in (0..).zip(graph.links_of(node)) {
                if !is_watched(index) {
                    continue;
                }
                watch_of[index] = all.len() as u32;
                all.push(Watch {
                    switch,
                    node,
                    port,
                    peer: graph.port(index).peer,
                    bytes: 0,
                    since_ps: 0,
                    kept: T::default(),
                });
            }
        }
        Self {
            watch_of,
            all,
            touched: Vec::new(),
        }
    }

    /// Observes an event. Calls `stayed` with each queue whose length has changed, and with the
    /// time until which the queue kept its length.
    #[inline(always)]
    pub fn observe(
        &mut self,
        event: &Event<'_>,
        view: &View<'_>,
        stayed: impl FnMut(&mut Watch<T>, Time),
    ) {
        match *event {
            Event::QueueTouched { link } => self.touch(link),
            Event::InstantOver => self.settle(view.now, view.switches, stayed),
            _ => {}
        }
    }

    /// Marks the queue of a port, because its length may have changed. No change is missed: a
    /// packet that joins a queue kicks the port, and only a kicked port sends.
    #[inline]
    fn touch(&mut self, link: LinkId) {
        let watch = self.watch_of[link];
        if watch != NONE {
            self.touched.push(watch);
        }
    }

    /// Reads the queues that may have changed in the instant `now`, after all its events.
    // RCD-03
    #[inline]
    fn settle(
        &mut self,
        now: Time,
        switches: &[Switch],
        mut stayed: impl FnMut(&mut Watch<T>, Time),
    ) {
        for number in self.touched.drain(..) {
            let watch = &mut self.all[number as usize];
            let bytes = switches[watch.switch as usize].queued(watch.port).0;
            if bytes != watch.bytes {
                watch.account(now, &mut stayed);
                watch.bytes = bytes;
            }
        }
    }

    /// Calls `stayed` for all queues, after all events up to and including `at_ps`.
    pub fn account_all(&mut self, at_ps: Time, mut stayed: impl FnMut(&mut Watch<T>, Time)) {
        for watch in &mut self.all {
            watch.account(at_ps.saturating_add(1), &mut stayed);
        }
    }
}
