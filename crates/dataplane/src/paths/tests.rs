//! Tests of the policies by which senders select paths, rule by rule (`specs/paths.md`).

use super::*;
use crate::units::MS;

const REPS: RepsConfig = RepsConfig {
    values: 1 << 16,
    ring: 8,
    freeze_ps: 10 * MS,
};

/// A random generator that counts its draws: draw n gives the entropy value 1000 + n.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> impl FnMut() -> u64 + '_ {
        || {
            self.0 += 1;
            (1000 + self.0) << 48
        }
    }
}

fn reps() -> (reps::Reps, Draws) {
    (reps::Reps::new(&REPS, 0), Draws(0))
}

fn next(policy: &mut reps::Reps, now: Time, draws: &mut Draws) -> u32 {
    policy.next(&REPS, now, &mut draws.next())
}

// SPR-10, SPR-11, SPR-12: ring of recycled values
#[test]
fn reps_uses_each_clean_value_once_and_then_fresh_ones() {
    let (mut reps, mut draws) = reps();
    assert_eq!(next(&mut reps, 0, &mut draws), 1001);
    for value in [7, 8, 9] {
        reps.feedback(&REPS, 0, value, Verdict::Clean);
    }
    reps.feedback(&REPS, 0, 10, Verdict::Marked);
    reps.feedback(&REPS, 0, 11, Verdict::Lost);
    let values: Vec<u32> = (0..5).map(|_| next(&mut reps, 0, &mut draws)).collect();
    assert_eq!(values, [7, 8, 9, 1002, 1003]);
}

// SPR-10, SPR-11: full ring
#[test]
fn a_full_ring_loses_its_oldest_value() {
    let (mut reps, mut draws) = reps();
    for value in 1..=10 {
        reps.feedback(&REPS, 0, value, Verdict::Clean);
    }
    let values: Vec<u32> = (0..9).map(|_| next(&mut reps, 0, &mut draws)).collect();
    assert_eq!(values, [3, 4, 5, 6, 7, 8, 9, 10, 1001]);
}

// SPR-13: no new values after a timeout
#[test]
fn a_frozen_flow_uses_no_fresh_values() {
    let (mut reps, mut draws) = reps();
    for value in [5, 6, 7] {
        reps.feedback(&REPS, 0, value, Verdict::Clean);
    }
    reps.feedback(&REPS, MS, 5, Verdict::TimedOut);
    let frozen: Vec<u32> = (0..9)
        .map(|_| next(&mut reps, 2 * MS, &mut draws))
        .collect();
    assert_eq!(frozen, [5, 6, 7, 5, 6, 7, 5, 6, 7]);
    assert_eq!(draws.0, 0, "no value is drawn");
    // An entropy value without mark that returns during this time is used first.
    reps.feedback(&REPS, 3 * MS, 42, Verdict::Clean);
    assert_eq!(next(&mut reps, 3 * MS, &mut draws), 42);
    let filled: Vec<u32> = (0..8)
        .map(|_| next(&mut reps, 3 * MS, &mut draws))
        .collect();
    assert_eq!(filled, [42, 5, 6, 7, 42, 5, 6, 7]);
    assert_eq!(
        next(&mut reps, 11 * MS, &mut draws),
        1001,
        "the freeze is over"
    );
    // If no entropy value has ever returned, a new one is drawn.
    let (mut empty, mut draws) = self::reps();
    empty.feedback(&REPS, 0, 5, Verdict::TimedOut);
    assert_eq!(next(&mut empty, 0, &mut draws), 1001);
}

// SPR-20: rounds of oblivious spraying
#[test]
fn oblivious_uses_each_value_once_per_round() {
    let config = ObliviousConfig { values: 64 };
    let mut policy = oblivious::Oblivious::default();
    let mut state = 1u64;
    let mut draw = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        state
    };
    let mut rounds = Vec::new();
    for _ in 0..8 {
        let round: Vec<u32> = (0..64)
            .map(|_| policy.next(&config, 0, &mut draw))
            .collect();
        let mut sorted = round.clone();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..64));
        rounds.push(round);
    }
    assert!(
        rounds.windows(2).any(|pair| pair[0] != pair[1]),
        "rounds differ"
    );
}

// SPR-30, SPR-31: penalty points
#[test]
fn bitmap_skips_a_value_once_per_point() {
    let config = BitmapConfig {
        values: 4,
        mark: 1,
        loss: 4,
        timeout: 15,
    };
    // With pattern 0, each round has the order 0, 1, 2, 3.
    let mut zero = || 0;
    let mut policy = bitmap::Bitmap::new(&config, 0);
    let mut uses = |policy: &mut bitmap::Bitmap, value: u32, packets: usize| {
        let sent: Vec<u32> = (0..packets)
            .map(|_| policy.next(&config, 0, &mut zero))
            .collect();
        sent.iter().filter(|&&sent| sent == value).count()
    };
    for (verdict, points) in [
        (Verdict::Clean, 0),
        (Verdict::Marked, 1),
        (Verdict::Lost, 4),
        (Verdict::TimedOut, 15),
    ] {
        policy.feedback(&config, 0, 2, verdict);
        // Each round without value 2 has three packets.
        assert_eq!(uses(&mut policy, 2, 3 * points), 0, "{verdict:?}");
        assert_eq!(uses(&mut policy, 2, 4), 1, "{verdict:?}");
    }
    for _ in 0..20 {
        policy.feedback(&config, 0, 2, Verdict::Lost);
    }
    assert_eq!(uses(&mut policy, 2, 3 * 15 + 4), 1, "15 points at most");
    // The policy ignores an entropy value that no packet can have.
    policy.feedback(&config, 0, 1 << 30, Verdict::Lost);
}

// SPR-01, SPR-02, SPR-03, SPR-04: entropy value in the hash
#[test]
fn a_value_stands_in_the_hash_and_comes_back_with_its_verdict() {
    let config = SprayConfig::Bitmap(BitmapConfig {
        values: 4,
        mark: 1,
        loss: 1,
        timeout: 3,
    });
    let hash = 0xabcd_0123;
    let mut zero = || 0;
    let mut spray = Spray::new(&config, hash, 0);
    let mut send = |spray: &mut Spray, psn, acked| spray.next(0, psn, acked, &mut zero) ^ hash;
    assert_eq!(
        [0, 1, 2, 3].map(|psn| send(&mut spray, psn, 0)),
        [0, 1, 2, 3]
    );
    spray.returned(0, hash ^ 1, true);
    spray.returned(0, hash ^ 2, false);
    // Entropy value 1 has one penalty point and is skipped once.
    assert_eq!([4, 5, 6].map(|psn| send(&mut spray, psn, 2)), [0, 2, 3]);
    // Packet 2 had entropy value 2 and is sent again; packet 3 had entropy value 3 and times out.
    assert_eq!(send(&mut spray, 2, 2), 0);
    spray.timed_out(0, 3);
    assert_eq!([7, 8, 9].map(|psn| send(&mut spray, psn, 3)), [1, 0, 1]);
    assert_eq!(
        send(&mut spray, 10, 3),
        2,
        "3 is skipped for the third time next"
    );
}

// SPR-02, NDP-05: indices of paths instead of hashes
#[test]
fn labels_stand_alone() {
    let config = SprayConfig::Permutation(PermutationConfig);
    let mut spray = Spray::new(&config, 0xabcd_0123, 3);
    let mut labels: Vec<u32> = (0..3).map(|psn| spray.next(0, psn, 0, &mut || 0)).collect();
    labels.sort_unstable();
    assert_eq!(labels, [0, 1, 2]);
}
