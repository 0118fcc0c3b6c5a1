//! Passes frames between partitions at the end of each synchronisation window, on one thread or on
//! several.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use dataplane::units::Time;
use kernel::calendar::{Calendar, Event, phase};
use kernel::{Barrier, Broken};

use super::measure;
use super::outbox::FrameBatch;
use super::partition::Partition;

impl<C: Calendar> Partition<C> {
    /// Runs all events before `window_ps`. Frames for other partitions stay in the outbox. Returns
    /// the time of the next event of this partition before `limit`, or of the first arrival of a
    /// frame in the outbox, whichever is earlier; [`Time::MAX`] if there is neither.
    pub(super) fn run_window(&mut self, window_ps: Time, limit: Time) -> Time {
        self.outbox.begin(window_ps);
        self.run_before(window_ps);
        self.next_ps(limit).min(self.outbox.first_ps())
    }

    /// Returns the time of the next event if it is before `limit`, [`Time::MAX`] otherwise.
    pub(super) fn next_ps(&mut self, limit: Time) -> Time {
        match self.core.calendar.first_ps(limit) {
            none if none >= limit => Time::MAX,
            first => first,
        }
    }

    /// Schedules the arrivals of a batch of frames from another partition, and empties the batch.
    // PAR-05
    fn take_in(&mut self, batch: &mut FrameBatch) {
        let (calendar, links) = (&mut self.core.calendar, &self.core.links);
        let is_observed = self.core.wants.intersects(measure::Event::ENTERING);
        let mut entering = Vec::new();
        batch.unpack(&mut self.arena, |at, link, id, journey| {
            if is_observed {
                entering.push((id, journey));
            }
            let lane = links.near[link].lane;
            calendar.push_to(lane, Event::new(at, phase::ARRIVAL, link.bits(), id));
        });
        for (id, journey) in entering {
            self.reply.journey.set(journey);
            self.emit(measure::Event::Entering { id });
        }
        for (flow, carried) in batch.messages.drain(..) {
            self.expect_message(flow, carried);
        }
    }
}

/// Passes the frames in all outboxes to their partitions, if one thread runs all partitions.
pub(super) fn exchange_frames<C: Calendar>(parts: &mut [Partition<C>]) {
    for from in 0..parts.len() {
        let Partition { outbox, arena, .. } = &mut parts[from];
        outbox.pack_all(arena);
        for to in 0..parts.len() {
            if !parts[from].outbox.to[to].is_empty() {
                let mut batch = std::mem::take(&mut parts[from].outbox.to[to]);
                parts[to].take_in(&mut batch);
                parts[from].outbox.to[to] = batch;
            }
        }
    }
}

/// An atomic number on its own cache lines, so that threads do not share a line.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Alone(pub AtomicU64);

/// Data that the threads exchange at the end of a synchronisation window. There are two sets, used
/// in alternating windows (parity 0 and 1). One thread may still read the set of one window while
/// another thread is at the end of the next window.
#[derive(Debug)]
pub(super) struct Mailboxes {
    parts: usize,
    barrier: Barrier,
    /// Per parity and partition, the time of the earliest event that the partition has scheduled.
    next_ps: [Vec<Alone>; 2],
    /// Frames between partitions, per parity, sending partition and receiving partition.
    mail: [Vec<Mutex<FrameBatch>>; 2],
}

fn open(mail: &Mutex<FrameBatch>) -> MutexGuard<'_, FrameBatch> {
    // A thread that panicked ends the run, so no other thread reads its incomplete data.
    mail.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Mailboxes {
    pub fn new(parts: usize, looks: u32) -> Self {
        let numbers = || (0..parts).map(|_| Alone::default()).collect();
        let mail = || {
            let boxes = (0..parts * parts).map(|_| Mutex::default());
            boxes.collect()
        };
        Self {
            parts,
            barrier: Barrier::new(parts as u32, looks),
            next_ps: [numbers(), numbers()],
            mail: [mail(), mail()],
        }
    }

    /// Returns the barrier at which the threads wait for each other.
    pub fn barrier(&self) -> &Barrier {
        &self.barrier
    }

    /// Runs a partition up to `limit`, in windows that all partitions begin together. Returns the
    /// number of windows.
    // PAR-02, PAR-06
    pub fn run_before<C: Calendar>(
        &self,
        part: &mut Partition<C>,
        me: usize,
        lookahead_ps: Time,
        limit: Time,
    ) -> Result<u64, Broken> {
        let mut parity = 0;
        let mut windows = 0;
        let mut next_ps = part.next_ps(limit);
        loop {
            self.next_ps[parity][me].0.store(next_ps, Ordering::Relaxed);
            self.barrier.wait()?;
            self.collect(part, me, parity);
            let all = self.next_ps[parity].iter();
            let first_ps = all.map(|next| next.0.load(Ordering::Relaxed)).min();
            let first_ps = first_ps.unwrap_or(Time::MAX);
            if first_ps >= limit {
                // Other threads may still read this set. The next call uses the same parity only
                // after all threads have returned their partitions to the leader.
                return Ok(windows);
            }
            let window_ps = limit.min(first_ps.saturating_add(lookahead_ps));
            next_ps = part.run_window(window_ps, limit);
            parity ^= 1;
            self.post(part, me, parity);
            windows += 1;
        }
    }

    /// Puts the frames for the other partitions into their mailboxes.
    fn post<C>(&self, part: &mut Partition<C>, me: usize, parity: usize) {
        part.outbox.pack_all(&mut part.arena);
        for to in (0..self.parts).filter(|&to| to != me) {
            let mine = &mut part.outbox.to[to];
            if !mine.is_empty() {
                std::mem::swap(mine, &mut open(&self.mail[parity][me * self.parts + to]));
            }
        }
    }

    /// Schedules the arrivals of the frames from the other partitions.
    fn collect<C: Calendar>(&self, part: &mut Partition<C>, me: usize, parity: usize) {
        for from in (0..self.parts).filter(|&from| from != me) {
            part.take_in(&mut open(&self.mail[parity][from * self.parts + me]));
        }
    }
}
