//! A barrier at which the threads of a run wait for each other between two windows of simulated
//! time.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Error of a wait: a thread that should reach the barrier has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("another thread stopped")
    }
}

impl std::error::Error for Broken {}

/// A reusable barrier for a fixed number of threads. // KER-12
///
/// A thread that arrives early first spins for a short while and then sleeps. Spinning is usually
/// enough, because the simulated windows are short. Longer spinning would keep a processor from
/// threads that still simulate.
#[derive(Debug)]
pub struct Barrier {
    parties: u32,
    /// Number of times that a waiting thread checks if all have arrived before it sleeps.
    spins: u32,
    arrived: AtomicU32,
    round: AtomicU32,
    broken: AtomicBool,
    asleep: Mutex<u32>,
    wake: Condvar,
}

impl Barrier {
    /// Returns a barrier for `parties` threads, each of which spins at most `spins` times.
    #[must_use]
    pub fn new(parties: u32, spins: u32) -> Self {
        Self {
            parties,
            spins,
            arrived: AtomicU32::new(0),
            round: AtomicU32::new(0),
            broken: AtomicBool::new(false),
            asleep: Mutex::new(0),
            wake: Condvar::new(),
        }
    }

    /// Waits until all threads have arrived. Writes before the call are visible to all threads
    /// after it.
    ///
    /// # Errors
    /// [`Broken`] if a thread has called [`Barrier::break_up`].
    pub fn wait(&self) -> Result<(), Broken> {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.parties {
            // No thread can arrive for the next round before the round counter below changes.
            self.arrived.store(0, Ordering::Relaxed);
            self.round.store(round.wrapping_add(1), Ordering::Release);
            self.wake_sleepers();
            return self.check();
        }
        for _ in 0..self.spins {
            if self.is_over(round) {
                return self.check();
            }
            std::hint::spin_loop();
        }
        let mut asleep = self.lock();
        *asleep += 1;
        // The last thread changes `round` before it acquires this lock, so no wake-up is lost.
        while !self.is_over(round) {
            asleep = self
                .wake
                .wait(asleep)
                .unwrap_or_else(PoisonError::into_inner);
        }
        *asleep -= 1;
        drop(asleep);
        self.check()
    }

    /// Ends all current and future waits with [`Broken`], because a thread will never arrive.
    pub fn break_up(&self) {
        self.broken.store(true, Ordering::Release);
        self.wake_sleepers();
    }

    fn wake_sleepers(&self) {
        if *self.lock() > 0 {
            self.wake.notify_all();
        }
    }

    fn is_over(&self, round: u32) -> bool {
        self.round.load(Ordering::Acquire) != round || self.broken.load(Ordering::Acquire)
    }

    fn check(&self) -> Result<(), Broken> {
        match self.broken.load(Ordering::Acquire) {
            true => Err(Broken),
            false => Ok(()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, u32> {
        // A thread that panicked while it held the lock cannot have left a wrong count.
        self.asleep.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    /// Lets each thread add its number to one sum per round. After each wait the sum must be
    /// complete.
    // KER-12
    fn meet(parties: u32, spins: u32, rounds: u64) {
        let barrier = Barrier::new(parties, spins);
        let sums: Vec<AtomicU64> = (0..rounds).map(|_| AtomicU64::new(0)).collect();
        std::thread::scope(|scope| {
            for number in 1..=u64::from(parties) {
                let (barrier, sums) = (&barrier, &sums);
                scope.spawn(move || {
                    for sum in sums {
                        sum.fetch_add(number, Ordering::Relaxed);
                        barrier.wait().unwrap();
                        let all = u64::from(parties * (parties + 1) / 2);
                        assert_eq!(sum.load(Ordering::Relaxed), all);
                    }
                });
            }
        });
    }

    #[test]
    fn no_thread_passes_before_all_have_arrived() {
        meet(1, 0, 10);
        meet(2, 1000, 500);
        meet(5, 0, 300); // all but one thread sleep
        meet(3, 50, 300);
    }

    #[test]
    fn a_broken_barrier_ends_all_waits() {
        for spins in [0, 1_000_000] {
            let barrier = Barrier::new(3, spins);
            std::thread::scope(|scope| {
                let waiting = [(); 2].map(|()| scope.spawn(|| barrier.wait()));
                barrier.break_up();
                for thread in waiting {
                    assert_eq!(thread.join().unwrap(), Err(Broken));
                }
            });
            assert_eq!(barrier.wait(), Err(Broken), "a later wait fails as well");
        }
    }
}
