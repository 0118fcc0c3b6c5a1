//! Where threads wait for each other between two windows of time.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A thread that had to come will not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("another thread gave up")
    }
}

impl std::error::Error for Broken {}

/// A meeting point for a fixed number of threads, round after round. A thread that comes early looks for
/// the others for a short while and then sleeps: windows are short, so most often the others are
/// nearly there, but a thread that only looks keeps a processor from those that work. // KER-12
#[derive(Debug)]
pub struct Barrier {
    parties: u32,
    /// How often an early thread looks before it sleeps.
    looks: u32,
    arrived: AtomicU32,
    round: AtomicU32,
    broken: AtomicBool,
    asleep: Mutex<u32>,
    wake: Condvar,
}

impl Barrier {
    /// A meeting point of `parties` threads.
    #[must_use]
    pub fn new(parties: u32, looks: u32) -> Self {
        Self {
            parties,
            looks,
            arrived: AtomicU32::new(0),
            round: AtomicU32::new(0),
            broken: AtomicBool::new(false),
            asleep: Mutex::new(0),
            wake: Condvar::new(),
        }
    }

    /// Waits until all have come. What each did before, all see after.
    ///
    /// # Errors
    /// [`Broken`] if one will never come.
    pub fn wait(&self) -> Result<(), Broken> {
        let round = self.round.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.parties {
            // No thread comes to the next round before this one is over.
            self.arrived.store(0, Ordering::Relaxed);
            self.round.store(round.wrapping_add(1), Ordering::Release);
            self.rouse();
            return self.check();
        }
        for _ in 0..self.looks {
            if self.is_over(round) {
                return self.check();
            }
            std::hint::spin_loop();
        }
        let mut asleep = self.lock();
        *asleep += 1;
        // The thread that ends the round takes the lock after it has said so: no wake-up is missed.
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

    /// One thread will not come any more: no other waits from now on.
    pub fn break_up(&self) {
        self.broken.store(true, Ordering::Release);
        self.rouse();
    }

    fn rouse(&self) {
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
        // The count is right whatever happened to who held it.
        self.asleep.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    /// All threads add up rounds; none may be a round ahead of what all have written.
    // KER-12
    fn meet(parties: u32, looks: u32, rounds: u64) {
        let barrier = Barrier::new(parties, looks);
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
    fn nobody_passes_before_all_have_come() {
        meet(1, 0, 10);
        meet(2, 1000, 500);
        meet(5, 0, 300); // all but one sleep
        meet(3, 50, 300);
    }

    #[test]
    fn who_waits_for_one_that_gave_up_is_told() {
        for looks in [0, 1_000_000] {
            let barrier = Barrier::new(3, looks);
            std::thread::scope(|scope| {
                let waiting = [(); 2].map(|()| scope.spawn(|| barrier.wait()));
                barrier.break_up();
                for thread in waiting {
                    assert_eq!(thread.join().unwrap(), Err(Broken));
                }
            });
            assert_eq!(barrier.wait(), Err(Broken), "and also one that comes later");
        }
    }
}
