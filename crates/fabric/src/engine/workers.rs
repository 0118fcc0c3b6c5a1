//! The worker threads of a run. Each thread simulates one partition. At every probe all partitions
//! return to the leader, the thread that owns traffic, probes and records. The exchange of frames
//! between partitions is not part of this module: each thread receives it as its [`Work`].

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, RecvError, Sender, TryRecvError, channel};
use std::thread::Scope;
use std::time::Instant;

use dataplane::units::Time;
use kernel::calendar::Calendar;
use kernel::{Barrier, Broken};

use super::division::Division;
use super::exchange::{Mailboxes, exchange_frames};
use super::pace::{Mode, Pace};
use super::partition::Partition;
use crate::record::Windows;

/// Number of times that a waiting thread checks the other threads before it sleeps; about 50 µs.
const SPINS: u32 = 2_000;

/// Value with which a thread panicked.
type Panic = Box<dyn Any + Send>;

/// Work of a thread: simulates its partition up to a time, in synchronisation windows that all
/// threads begin together. Returns the number of windows.
pub(super) type Work<'a, C> =
    Box<dyn FnMut(&mut Partition<C>, Time) -> Result<u64, Broken> + Send + 'a>;

/// A worker thread (a thread other than the leader).
#[derive(Debug)]
struct Worker<C> {
    /// Channel to the thread: a partition, and the time up to which the thread simulates it.
    orders: Sender<(Partition<C>, Time)>,
    done: Receiver<Result<Partition<C>, Panic>>,
}

/// The leader and the worker threads.
pub(super) struct WorkerPool<'a, C> {
    /// The work of the leader's own partition.
    own: Work<'a, C>,
    /// Barrier at which all threads wait for each other.
    barrier: &'a Barrier,
    spins: u32,
    workers: Vec<Worker<C>>,
    /// Chooses between one thread and all threads; `None`: all threads always work.
    alternation: Option<Alternation>,
    /// Number of synchronisation windows so far.
    pub windows: Windows,
}

/// State for the choice between one thread and several threads.
#[derive(Debug)]
struct Alternation {
    lookahead_ps: Time,
    pace: Pace,
}

/// Returns the number of checks after which a waiting thread sleeps.
const fn spins(division: Division) -> u32 {
    if division.crowded { 0 } else { SPINS }
}

/// Creates the mailboxes of the threads of a run.
pub(super) fn mailboxes(division: Division) -> Mailboxes {
    Mailboxes::new(division.parts as usize, spins(division))
}

/// Returns the next message of a channel. The thread spins for a while before it sleeps, as at the
/// barrier.
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
    /// Starts the worker threads of a run whose frames pass through mailboxes.
    pub fn new<'scope>(
        division: Division,
        mailboxes: &'a Mailboxes,
        scope: &'scope Scope<'scope, 'a>,
    ) -> Self
    where
        C: 'a,
    {
        let lookahead_ps = division.lookahead_ps;
        let work = |me: u32| -> Work<'a, C> {
            Box::new(move |part, limit| {
                mailboxes.run_before(part, me as usize, lookahead_ps, limit)
            })
        };
        let works = (0..division.parts).map(work).collect();
        let pace = Pace::new(division.parts, division.forced);
        Self {
            alternation: Some(Alternation { lookahead_ps, pace }),
            ..Self::of(works, mailboxes.barrier(), spins(division), scope)
        }
    }

    /// Starts a thread for each [`Work`] except the first, which the leader executes. All threads
    /// share a barrier.
    pub fn of<'scope>(
        works: Vec<Work<'a, C>>,
        barrier: &'a Barrier,
        spins: u32,
        scope: &'scope Scope<'scope, 'a>,
    ) -> Self
    where
        C: 'a,
    {
        let mut works = works.into_iter();
        let own = works.next().unwrap_or_else(|| Box::new(|_, _| Ok(0)));
        let worker = |mut work: Work<'a, C>| {
            let (orders, to_do) = channel::<(Partition<C>, Time)>();
            let (report, done) = channel();
            scope.spawn(move || {
                while let Ok((mut part, limit)) = receive(&to_do, spins) {
                    let result = catch_unwind(AssertUnwindSafe(|| work(&mut part, limit)));
                    let result = match result {
                        Ok(_) => Ok(part),
                        Err(panic) => {
                            barrier.break_up();
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
            own,
            barrier,
            spins,
            workers: works.map(worker).collect(),
            alternation: None,
            windows: Windows::default(),
        }
    }

    /// Handles every event before `limit`, on one thread or on all threads.
    // PAR-08
    pub fn run_before(&mut self, parts: &mut Vec<Partition<C>>, limit: Time) {
        let planned = self.alternation.as_ref();
        let planned = planned.map(|planned| (planned.lookahead_ps, planned.pace.next()));
        let Some((lookahead_ps, mode)) = planned else {
            self.windows.together += self.together(parts, limit);
            return;
        };
        let events = |parts: &[Partition<C>]| parts.iter().map(|p| p.core.events).sum::<u64>();
        let (before, began) = (events(parts), Instant::now());
        let windows = match mode {
            Mode::Together => {
                let windows = self.together(parts, limit);
                self.windows.together += windows;
                windows
            }
            Mode::Alone => {
                let windows = alone(parts, lookahead_ps, limit);
                self.windows.alone += windows;
                windows
            }
        };
        let took_ns = began.elapsed().as_nanos() as u64;
        if let Some(Alternation { pace, .. }) = &mut self.alternation {
            pace.note(events(parts) - before, windows, took_ns);
        }
    }

    /// Runs every partition on its own thread.
    fn together(&mut self, parts: &mut Vec<Partition<C>>, limit: Time) -> u64 {
        for (worker, part) in self.workers.iter().zip(parts.drain(1..)) {
            // If the thread has ended, the send fails. The reason is read below.
            let _ = worker.orders.send((part, limit));
        }
        let own = catch_unwind(AssertUnwindSafe(|| (self.own)(&mut parts[0], limit)));
        if own.is_err() {
            self.barrier.break_up();
        }
        let mut panic = None;
        for worker in &self.workers {
            match receive(&worker.done, self.spins) {
                Ok(Ok(part)) => parts.push(part),
                Ok(Err(why)) => panic = panic.or(Some(why)),
                Err(gone) => panic = panic.or(Some(Box::new(gone.to_string()))),
            }
        }
        match (own, panic) {
            (Err(why), _) | (_, Some(why)) => resume_unwind(why),
            // A thread that stopped without a panic has stored its error.
            (Ok(windows), None) => windows.unwrap_or(0),
        }
    }
}

/// Simulates all partitions in turn on the leader, in the same synchronisation windows. Returns
/// their number.
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
