//! Reads frames with errors: `cargo run --release -p backwater-wire --example fuzz_frames [MUTATIONS] [SEED]`, by
//! default 10⁸. None may panic, and what is read must be read alike again from the frame that it makes.

#![allow(clippy::print_stdout)]

#[path = "../tests/common/check.rs"]
mod check;
#[path = "../tests/common/mod.rs"]
#[allow(dead_code)]
mod common;

use std::time::Instant;

use common::{Random, any, link, mutate, network, repair};
use dataplane::packet::Arena;
use wire::encode;
use wire::frame::MOST_BYTES;

/// Mutations of one frame, each of which stays for the next.
const EACH: u64 = 20;

fn main() {
    let mut numbers = std::env::args()
        .skip(1)
        .map(|word| match word.parse::<u64>() {
            Ok(number) => number,
            Err(_) => panic!("expected a number of mutations, and a seed; got `{word}`"),
        });
    let (wanted, seed) = (
        numbers.next().unwrap_or(100_000_000),
        numbers.next().unwrap_or(1),
    );
    let mut random = Random::new(seed.wrapping_mul(2) + 1);
    let mut arena = Arena::new();
    let (mut place, mut again) = (vec![0; MOST_BYTES], vec![0; MOST_BYTES]);
    let (mut done, mut read) = (0, 0);
    let start = Instant::now();
    while done < wanted {
        let network = network(&mut random);
        let id = any(&mut random, &network, &mut arena);
        let bytes = encode(&link(&network), &arena, id, &mut place).expect("it fits");
        arena.free(id);
        for _ in 0..EACH.min(wanted - done) {
            let end = mutate(&mut random, &mut place, bytes);
            if random.flip() {
                repair(&mut place[..end]);
            }
            read += u64::from(
                check::read_twice(&network, &place[..end], &mut arena, &mut again).is_ok(),
            );
            done += 1;
        }
        assert_eq!(arena.alive(), 0, "what is refused leaves no record");
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("{done} mutations in {seconds:.1} s, of which {read} are still frames; no panic");
}
