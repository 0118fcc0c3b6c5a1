//! The worker threads of a run. Each works on one partition; at every probe all partitions come back
//! to the leader, which owns traffic, probes and records.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, RecvError, Sender, TryRecvError, channel};
use std::thread::Scope;
use std::time::Instant;

use dataplane::units::Time;
use kernel::calendar::Calendar;

use super::division::Division;
use super::exchange::{Mailboxes, exchange_frames};
use super::pace::{Mode, Pace};
use super::partition::Partition;
use crate::record::Windows;

/// How often a thread checks for the others before it sleeps; some 50 µs.
const SPINS: u32 = 2_000;

/// Why a thread panicked.
type Panic = Box<dyn Any + Send>;

/// A thread besides the leader's.
#[derive(Debug)]
struct Worker<C> {
    /// A partition to work on, and until when.
    orders: Sender<(Partition<C>, Time)>,
    done: Receiver<Result<Partition<C>, Panic>>,
}

/// The leader and the other threads.
#[derive(Debug)]
pub(super) struct WorkerPool<'a, C> {
    division: Division,
    mailboxes: &'a Mailboxes,
    workers: Vec<Worker<C>>,
    pace: Pace,
    /// The windows so far.
    pub windows: Windows,
}

/// How often a thread of this run checks before it sleeps.
const fn spins(division: Division) -> u32 {
    if division.crowded { 0 } else { SPINS }
}

/// The mailboxes of a run's threads.
pub(super) fn mailboxes(division: Division) -> Mailboxes {
    Mailboxes::new(division.parts as usize, spins(division))
}

/// The next message; the thread spins for a while before it sleeps, as at the barrier.
// KER-12
fn receive<T>(from: &Receiver<T>, spins: u32) -> Result<T, RecvError> {
    for _ in 0..spins {
        match from.try_recv() {
            Ok(message) => return Ok(message),
            Err(TryRecvError::Empty) => std::hint::spin_loop(),
            Err(TryRecvError::Disconnected) => return Err(RecvError),
        }
    }
    from.recv()
}

impl<'a, C: Calendar + Send> WorkerPool<'a, C> {
    /// Starts the other threads.
    pub fn new<'scope>(
        division: Division,
        mailboxes: &'a Mailboxes,
        scope: &'scope Scope<'scope, 'a>,
    ) -> Self
    where
        C: 'a,
    {
        let worker = |me: u32| {
            let (orders, to_do) = channel::<(Partition<C>, Time)>();
            let (report, done) = channel();
            scope.spawn(move || {
                while let Ok((mut part, limit)) = receive(&to_do, spins(division)) {
                    let work = || {
                        mailboxes.run_before(&mut part, me as usize, division.lookahead_ps, limit)
                    };
                    let result = catch_unwind(AssertUnwindSafe(work));
                    let result = match result {
                        Ok(_) => Ok(part),
                        Err(panic) => {
                            mailboxes.break_up();
                            Err(panic)
                        }
                    };
                    if report.send(result).is_err() {
                        return;
                    }
                }
            });
            Worker { orders, done }
        };
        Self {
            division,
            mailboxes,
            workers: (1..division.parts).map(worker).collect(),
            pace: Pace::new(division.parts, division.forced),
            windows: Windows::default(),
        }
    }

    /// Handles every event before `limit`.
    // PAR-08
    pub fn run_before(&mut self, parts: &mut Vec<Partition<C>>, limit: Time) {
        let events = |parts: &[Partition<C>]| parts.iter().map(|p| p.core.events).sum::<u64>();
        let (before, began) = (events(parts), Instant::now());
        let windows = match self.pace.next() {
            Mode::Together => {
                let windows = self.together(parts, limit);
                self.windows.together += windows;
                windows
            }
            Mode::Alone => {
                let windows = alone(parts, self.division.lookahead_ps, limit);
                self.windows.alone += windows;
                windows
            }
        };
        let took_ns = began.elapsed().as_nanos() as u64;
        self.pace.note(events(parts) - before, windows, took_ns);
    }

    /// Every partition has a thread of its own.
    fn together(&mut self, parts: &mut Vec<Partition<C>>, limit: Time) -> u64 {
        for (worker, part) in self.workers.iter().zip(parts.drain(1..)) {
            // A thread that is gone has said why, or will: see below.
            let _ = worker.orders.send((part, limit));
        }
        let work = || {
            let lookahead_ps = self.division.lookahead_ps;
            self.mailboxes
                .run_before(&mut parts[0], 0, lookahead_ps, limit)
        };
        let own = catch_unwind(AssertUnwindSafe(work));
        if own.is_err() {
            self.mailboxes.break_up();
        }
        let mut panic = None;
        for worker in &self.workers {
            match receive(&worker.done, spins(self.division)) {
                Ok(Ok(part)) => parts.push(part),
                Ok(Err(why)) => panic = panic.or(Some(why)),
                Err(gone) => panic = panic.or(Some(Box::new(gone.to_string()))),
            }
        }
        match (own, panic) {
            (Err(why), _) | (_, Some(why)) => resume_unwind(why),
            // No thread panicked, so none broke the barrier.
            (Ok(windows), None) => windows.unwrap_or(0),
        }
    }
}

/// The leader does everything: the same windows, one partition after the other.
fn alone<C: Calendar>(parts: &mut [Partition<C>], lookahead_ps: Time, limit: Time) -> u64 {
    let mut windows = 0;
    let mut next_ps = parts.iter_mut().map(|part| part.next_ps(limit)).min();
    while let Some(first_ps) = next_ps.filter(|&next| next < limit) {
        let window_ps = limit.min(first_ps.saturating_add(lookahead_ps));
        let each = parts.iter_mut();
        next_ps = each.map(|part| part.run_window(window_ps, limit)).min();
        exchange_frames(parts);
        windows += 1;
    }
    windows
}
